"""The benchmark of conflicts, and its floors: they hold without a model, so they are a test."""

from dataclasses import replace

import conflicts
import pytest
from dialogues import Conversation

from memento.claims import relation as rules
from memento.types import Draft

MARKED = [
    (conflicts.read_pairs(conflicts.PAIRS), conflicts.PAIR_MARKS),
    (list(conflicts.pairs_of(conflicts.SLOTS)), conflicts.SLOT_MARKS),
]


@pytest.mark.parametrize(("pairs", "marks"), MARKED)
def test_the_floors_hold(pairs, marks):
    """Precision before recall, for all flags and for the updates that may supersede."""
    flags, updates = conflicts.judged(pairs)
    assert flags.precision >= marks[0]
    assert flags.recall >= marks[2]
    assert updates.precision >= conflicts.UPDATE_MARKS[0]
    assert updates.recall >= conflicts.UPDATE_MARKS[2]


def test_a_detector_without_the_subject_fails(monkeypatch):
    """Null control: without regard to subjects, the precision falls below its floor."""
    whole = rules.relation

    def blind(new, old, *, same_speaker=True):
        return whole(_nobodys(new), _nobodys(old), same_speaker=same_speaker)

    monkeypatch.setattr(conflicts, "relation", blind)
    flags, _ = conflicts.judged(conflicts.read_pairs(conflicts.PAIRS))
    assert flags.precision < conflicts.PAIR_MARKS[0]


def _nobodys(statement):
    claims = tuple(replace(claim, subject=("self",)) for claim in statement.claims)
    return replace(statement, claims=claims)


def test_both_files_have_their_share_of_every_language():
    """Six languages, at least 20 pairs of each in each file, conflicts and others."""
    for name in ("conflicts.jsonl", "conflicts_held.jsonl"):
        pairs = conflicts.read_pairs(conflicts.SETS / name)
        assert len(pairs) >= 200
        for language in ("en", "de", "fr", "es", "pt", "zh"):
            labels = [pair.label for pair in pairs if pair.language == language]
            assert len(labels) >= 20
            assert {"updates", "contradicts", "distinct"} <= set(labels)


def test_a_conversation_is_compared_sentence_by_sentence():
    """Of one speaker only."""
    turns = ("I live in Ghent. It rains.", "I live in Turku now.")
    drafts = [Draft(text, actor="Ada") for text in turns]
    count, flagged = conflicts.flags_in(Conversation("c", tuple(drafts), ()))
    assert (count, len(flagged)) == (3, 1)
    apart = (drafts[0], Draft(turns[1], actor="Bo"))
    assert conflicts.flags_in(Conversation("c", apart, ())) == (3, [])
