"""Our own evaluation sets, and the script that puts them to the product."""

import itertools
from collections import Counter

import own
import pytest
from dialogues import Conversation, Query
from sets.make_identifiers import cases
from sets.make_pairs import pairs

from memento.retrieve.by_name import MIN_TYPO, one_edit
from memento.text.words import terms, words
from memento.types import Draft


@pytest.fixture(scope="module")
def languages():
    """The facts and questions in every language."""
    return own.read_languages()


@pytest.fixture(scope="module")
def called():
    """The memories that have names."""
    return own.read_lines("names.jsonl")


def test_eight_languages_have_twenty_facts_and_questions(languages):
    """Each language has 20 different facts and as many different questions, Arabic twice."""
    codes = ["en", "de", "fr", "tr", "ru", "ar", "zh", "ja", "ar2"]
    assert [one.code for one in languages] == codes
    for one in languages:
        assert len(set(one.facts)) == len(set(one.questions)) == 20
        assert not set(one.facts) & set(one.questions)


def test_no_fact_stands_in_two_languages(languages):
    """All facts in one store are as many memories."""
    assert len({fact for one in languages for fact in one.facts}) == 180


def test_the_pairs_are_those_the_script_makes():
    """The file of pairs can be made again."""
    assert own.read_lines("pairs.jsonl") == pairs()


def test_a_correction_changes_the_object_alone():
    """Both statements of a pair are the same up to one span; no question gives it away."""
    known = pairs()
    assert len(known) == 200
    assert len({pair["older"] for pair in known} | {pair["newer"] for pair in known}) == 400
    for pair in known:
        older, newer = pair["older"].split(), pair["newer"].split()
        start = _same(older, newer)
        end = _same(older[start:][::-1], newer[start:][::-1])
        objects = " ".join(newer[start : len(newer) - end])
        assert objects
        assert start + end >= 2
        assert objects not in pair["question"]


def _same(one, other):
    alike = (a == b for a, b in zip(one, other, strict=False))
    return sum(1 for _ in itertools.takewhile(bool, alike))


def test_shuffled_pairs_keep_their_order():
    """However they are shuffled, every correction is added after what it corrects."""
    drafts = [draft.id for draft in own.shuffled_pairs(pairs())]
    assert len(drafts) == 400
    assert all(drafts.index(f"older-{n}") < drafts.index(f"newer-{n}") for n in range(200))


def test_fifty_memories_are_called_twice_each(called):
    """100 cases: half ask for nothing but the name."""
    assert len(called) == 50
    assert all(one["key"] or one["aliases"] for one in called)
    assert len({one[asked] for one in called for asked in ("alone", "first", "unlike")}) == 150


def test_a_look_alike_is_no_typing_error_of_a_name(called):
    """A text that must not match holds no name, nor a word that is one forgiven error from one."""
    for one in called:
        key = one["key"] or ""
        for name in (key, key.rsplit("/", 1)[-1], *one["aliases"]):
            phrase, said = terms(name), terms(one["unlike"])
            if phrase:
                spans = zip(*(said[n:] for n in range(len(phrase))), strict=False)
                assert not any(_forgiven(span, phrase) for span in spans)


def _forgiven(span, phrase):
    return all(
        a == b or (len(b) >= MIN_TYPO and a[:2] == b[:2] and one_edit(a, b))
        for a, b in zip(span, phrase, strict=True)
    )


def test_two_hundred_identifiers_are_of_twenty_kinds():
    """No identifier is part of another, and none is given away by its words alone."""
    known = cases()
    assert set(Counter(case.kind for case in known).values()) == {10}
    assert len(known) == 200
    for case in known:
        holders = [one for one in known if case.identifier in one.text]
        assert holders == [case]
        assert case.identifier in case.question
    twins = Counter(tuple(sorted(words(case.identifier))) for case in known)
    assert max(twins.values()) > 1


@pytest.mark.parametrize(
    ("right", "wrong", "area"),
    [([2, 3], [0, 1], 1), ([0, 1], [2, 3], 0), ([1], [1], 0.5), ([0.9, 0.5], [0.5, 0.1], 0.875)],
)
def test_auc_counts_wins(right, wrong, area):
    """The area is the share of pairs in the right order, ties half."""
    assert own.auc(right, wrong) == area


def test_names_are_swapped_as_words():
    """A question about some people becomes one about others, whole words only."""
    assert own.renamed("Is Ann's banner Ann-made?", ["Ann"], ["Bea"]) == "Is Bea's banner Bea-made?"


@pytest.mark.parametrize(
    ("asked", "named", "found", "right"),
    [("alone", ["a"], ["a", "b"], True), ("alone", ["a", "b"], ["a", "b"], False),
     ("alone", ["a"], ["b", "a"], False), ("first", [], ["a", "b"], True),
     ("first", [], [], False), ("unlike", ["b"], [], True), ("unlike", ["b", "a"], [], False)],
)  # fmt: skip
def test_a_call_by_name_is_judged(asked, named, found, right):
    """Alone, first, or not at all."""
    assert own.called_rightly(asked, "a", named, found) is right


def test_the_groups_run_without_an_embedder():
    """Every group that needs no file gives figures through the public interface."""
    outcomes = [own.languages(None), own.pairs(None), own.names(None), own.identifiers(None, 300)]
    for outcome in outcomes:
        assert all(0 <= figure.value <= 100 for figure in outcome.figures)
        assert all(figure.verdict != "-" for figure in outcome.figures)
    order = outcomes[0].figures[0]
    assert (order.what, order.value) == ("same call, same order", 100)


def test_a_conversation_is_surer_of_its_own_questions():
    """The confidence is higher where the answer is there than in another's store."""
    one, other = _talk("Ann", "sourdough starter"), _talk("Bea", "violin strings")
    own_questions, foreign = own.doubt(one, other, None)
    assert own.people(one) == ["Ann"]
    assert own.auc(own_questions, foreign) == 1


def _talk(who, thing):
    drafts = (Draft(f"I bought {thing} today", actor=who, id="1"),)
    turns = frozenset({"1"})
    return Conversation(who, drafts, (Query("q", f"Did {who} buy {thing}?", "x", turns, turns),))


def test_off_topic_needs_a_file():
    """Without a file that line says so."""
    figure = own.run("off-topic", [], None).figures[0]
    assert figure.value is None
    assert "file" in figure.note


def test_the_command_prints_and_writes(tmp_path, capsys):
    """One table with floor, aim and verdict; the same and the misses as JSON."""
    out = tmp_path / "out.json"
    own.main(["--only", "names", "off-topic", "--no-embedder", "--misses", "--json", str(out)])
    printed = capsys.readouterr().out
    assert "named by key or alias" in printed
    assert "floor" in printed
    assert "not measured" in printed
    assert '"misses"' in out.read_text(encoding="utf-8")
