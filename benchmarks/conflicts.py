"""Does memento see that two statements conflict, and keep silent in real talk?

    python benchmarks/conflicts.py [PAIRS.jsonl ...] [--slots SLOTS ...] [--talk FILE ...]
                                   [--misses] [--json OUT]

Statements are compared as the settling pass compares them, see ``memento.claims``: by rules, with
no model. Four lines, each with its floor and its aim:

    pairs    labelled pairs, see ``sets/conflicts.jsonl``: an older and a newer statement, and what
             they are. A flag is ``updates`` or ``contradicts``
    slots    statements about things that change, see ``sets/conflict_slots.json``: each value of a
             slot said in several ways, changes that name the old value, and what is no conflict:
             the past, somebody else, a question. Most ways share no words
    updates  of the same pairs: what may supersede without asking
    talk     dialogues in a form that dialogues.py reads: flags per 1,000 statements of a
             conversation. Nobody takes much back there, so a detector is judged by its silence

A statement of a dialogue is a sentence of a turn. It is compared with the 12 last ones of the same
speaker that claim something about the same subject and attribute or share its two rarest words.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path

from common import FIGURE_HEADERS, Figure, table, write_json
from dialogues import Conversation, load
from slot_files import SETS, Slot, read_slots

from memento.claims.claim_reader import Statement, read
from memento.claims.relation import Verdict, relation
from memento.text.sentences import statements
from memento.text.words import content

_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")
PAIRS, SLOTS = SETS / "conflicts.jsonl", SETS / "conflict_slots.json"
FLAGS = ("updates", "contradicts")
CANDIDATES = 12
PAIR_MARKS, SLOT_MARKS = (0.95, 0.98, 0.65, 0.80), (0.95, 0.99, 0.35, 0.55)
UPDATE_MARKS = (0.99, 0.995, 0.50, 0.75)
"""Floor and aim of the precision, and of the recall."""
VALUES = 3
"""Values of a slot that are compared with each other."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two statements and what they are to each other.

    Attributes:
        old: The earlier statement.
        new: The later one.
        label: ``updates``, ``contradicts``, or another verdict if they do not conflict.
        names_old: Whether the new one names the old value or takes it back.
        language: ISO 639-1 code.
    """

    old: str
    new: str
    label: str
    names_old: bool = False
    language: str = "en"


@dataclass(slots=True)
class Counts:
    """How often a detector was right.

    Attributes:
        right: Conflicts that were flagged.
        wrong: Flags where there is no conflict.
        missed: Conflicts without a flag.
        mistakes: The pairs of the last two, each with the verdict.
    """

    right: int = 0
    wrong: int = 0
    missed: int = 0
    mistakes: list[tuple[Pair, Verdict]] = field(default_factory=list)

    @property
    def precision(self) -> float:
        """Share of the flags that are right."""
        return self.right / max(1, self.right + self.wrong)

    @property
    def recall(self) -> float:
        """Share of the conflicts that were flagged."""
        return self.right / max(1, self.right + self.missed)

    def note(self, pair: Pair, verdict: Verdict, *, is_one: bool, flagged: bool) -> None:
        """Count one pair."""
        self.right += is_one and flagged
        self.wrong += flagged and not is_one
        self.missed += is_one and not flagged
        if is_one != flagged:
            self.mistakes.append((pair, verdict))


def read_pairs(path: Path) -> list[Pair]:
    """Read labelled pairs, one JSON object a line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Pair(**json.loads(line)) for line in lines if line.strip()]


def pairs_of(path: Path) -> Iterator[Pair]:
    """Make pairs of the slots of a file: every way to say a value against every other."""
    for slot in read_slots(path, SLOTS).values():
        values = slot["values"]
        for old, new in permutations(values[:VALUES], 2):
            yield from _slot_pairs(slot, old, new)


def _slot_pairs(slot: Slot, old: str, new: str) -> Iterator[Pair]:
    for first in slot["say"]:
        said = first.format(v=old)
        for other in slot["say"]:
            yield Pair(said, other.format(v=new), "contradicts")
            if other != first:
                yield Pair(said, other.format(v=old), "distinct")
        for change in slot["change"]:
            yield Pair(said, change.format(o=old, v=new), "updates", names_old=True)
        for kind in ("past", "other", "maybe"):
            for none in slot[kind]:
                yield Pair(said, none.format(o=new, v=new), "distinct")
                yield Pair(none.format(o=new, v=new), said, "distinct")


def compare(pair: Pair) -> Verdict:
    """Compare the statements of a pair, both said by one person."""
    return relation(read(pair.new), read(pair.old))


def judged(pairs: Sequence[Pair]) -> tuple[Counts, Counts]:
    """Count flags, and updates that may supersede: those that name the old value."""
    flags, updates = Counts(), Counts()
    for pair in pairs:
        verdict = compare(pair)
        conflict = pair.label in FLAGS
        flags.note(pair, verdict, is_one=conflict, flagged=verdict.kind in FLAGS)
        explicit = verdict.kind == "updates" and verdict.explicit
        updates.note(pair, verdict, is_one=pair.names_old, flagged=explicit)
    return flags, updates


def flags_in(talk: Conversation) -> tuple[int, list[tuple[str, str, Verdict]]]:
    """Compare the sentences of a conversation; returns their number and what was flagged."""
    heard: dict[str, list[tuple[str, Statement, frozenset[str]]]] = defaultdict(list)
    frequency: Counter[str] = Counter()
    count, flagged = 0, []
    for draft in talk.drafts:
        speaker = str(draft.actor or draft.role)
        for sentence in _sentences(draft.text):
            count += 1
            said, words = read(sentence), frozenset(content(sentence.lower().split()))
            rare = frozenset(sorted(words, key=lambda word: (frequency[word], word))[:2])
            for text, other, _ in _candidates(heard[speaker], said, rare):
                verdict = relation(said, other)
                if verdict.kind in FLAGS:
                    flagged.append((text, sentence, verdict))
                    break
            heard[speaker].append((sentence, said, words))
            frequency.update(words)
    return count, flagged


def _sentences(text: str) -> Iterator[str]:
    for piece in statements(text, questions=True):
        yield from filter(None, _SENTENCE.split(piece))


def _candidates(
    heard: Sequence[tuple[str, Statement, frozenset[str]]], said: Statement, rare: frozenset[str]
) -> Iterator[tuple[str, Statement, frozenset[str]]]:
    slots = {(one.subject, one.attribute) for one in said.claims}
    found = 0
    for one in reversed(heard):
        same = any((claim.subject, claim.attribute) in slots for claim in one[1].claims)
        if same or (rare and rare <= one[2]):
            yield one
            found += 1
            if found == CANDIDATES:
                return


def _shares(name: str, counts: Counts, marks: tuple[float, ...], note: str) -> Iterator[Figure]:
    floor, aim, least, wanted = marks
    yield Figure(f"{name}, precision", counts.precision, floor, aim, "", higher=True, note=note)
    yield Figure(f"{name}, recall", counts.recall, least, wanted, "", higher=True)


def _show(name: str, counts: Counts) -> None:
    for pair, verdict in counts.mistakes:
        print(f"{name}: {pair.label}, got {verdict.kind} ({verdict.why}): {pair.old} | {pair.new}")


def main() -> None:
    """Compare and print the four lines."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pairs", nargs="*", type=Path, default=[PAIRS])
    parser.add_argument("--slots", nargs="*", type=Path, default=[SLOTS])
    parser.add_argument("--talk", nargs="*", type=Path, default=[])
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    own = [pair for path in given.pairs for pair in read_pairs(path)]
    flags, updates = judged(own)
    slots, slot_updates = judged([pair for path in given.slots for pair in pairs_of(path)])
    figures = [
        *_shares("pairs", flags, PAIR_MARKS, f"{len(own)} pairs"),
        *_shares("slots", slots, SLOT_MARKS, "paraphrases share few words"),
        *_shares("updates", updates, UPDATE_MARKS, "of the pairs that name the old value"),
        *_shares("updates in slots", slot_updates, UPDATE_MARKS, "the same"),
    ]
    for path in given.talk:
        found = [flags_in(talk) for talk in load(path).conversations]
        count, said = sum(n for n, _ in found), [one for _, some in found for one in some]
        rate = 1000 * len(said) / max(1, count)
        note = f"{len(said)} flags of {count}"
        figures.append(Figure(f"{path.name}, flags per 1,000", rate, 2, 1, unit="", note=note))
        if given.misses:
            for old, new, verdict in said:
                print(f"{path.name}: {verdict.kind} ({verdict.why}): {old} | {new}")
    if given.misses:
        _show("pairs", flags)
        _show("updates", updates)
        _show("slots", slots)
    print(table(FIGURE_HEADERS, [figure.cells() for figure in figures]))
    by_language = Counter(pair.language for pair in own)
    write_json(given.json, {"figures": figures, "languages": dict(by_language)})


if __name__ == "__main__":
    main()
