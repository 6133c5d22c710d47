"""Measure what ``observe`` finds in messages: what is stored, of which class, at what cost.

    python benchmarks/observe.py [UTTERANCES.jsonl [PAIRS.jsonl]] [--show 40]
    python benchmarks/observe.py --pairs [PAIRS.jsonl]
    python benchmarks/observe.py --natural FILE [--show 40]
    python benchmarks/observe.py --cost
    python benchmarks/observe.py [UTTERANCES.jsonl] --model oracle

UTTERANCES is a file of one message a line: ``id``, ``text``, ``previous`` (the turn before),
``language``, ``expect`` (classes, empty for nothing to store) and ``key`` (its slot, or null). The
default is the repository's own test file, which the training never reads. FILE is a text with a
sentence a line, LoCoMo's JSON, or BEAM's lines of JSON (either may be compressed with gzip).
With --model a scripted model points at sentences in the mode ``full``. No language model is run:
``oracle`` knows the expected classes, so that its recall is the most that any model can reach
through the checks; ``greedy`` points at every sentence with every class, so that its precision is
the least that the checks leave.
The exit code is 1 if a floor is missed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from observe_pairs import SET as PAIRS
from observe_pairs import report

from memento.observe import mask, pointing, split
from memento.observe.candidates import find
from memento.observe.derive import derive
from memento.observe.signals import Candidate, Found, Signal

OWN = Path(__file__).parent / "sets" / "observe_test.jsonl"
FLOORS = {"store": (0.93, 0.72), "class": (0.88, 0.66)}
"""English messages: precision and recall of "store or not", and of the right class."""
CLASS_FLOOR = (0.88, 0.62)
HELD = ("rule", "correction", "forget")
"""Classes that have a floor of their own."""
LANGUAGE_FLOOR = (0.90, 0.35)
MOST_WRONG_SLOTS, LEAST_RIGHT_SLOTS = 1.0, 0.5
"""Wrong slots in 100 messages, and right ones of those expected."""
MOST_NATURAL = 3.5
"""Most candidates stored in 100 sentences of natural talk."""
MOST_CPU_MS = 10.0
SAID_AT = datetime(2026, 5, 1, 12, tzinfo=UTC)
ENOUGH = 20
"""Least messages to store of a class or language for its floor to be judged."""


@dataclass
class Tally:
    """Counts of one group of messages: expected to be stored, stored, and rightly so."""

    expected: int = 0
    stored: int = 0
    right: int = 0

    def rates(self) -> tuple[float, float]:
        """Return precision and recall; nothing stored is precise."""
        return self.right / self.stored if self.stored else 1.0, self.right / max(1, self.expected)

    def line(self, name: str) -> str:
        """Describe it on one line."""
        precision, recall = self.rates()
        return (
            f"{name:<14} P {precision:.2f}  R {recall:.2f}   "
            f"(expected {self.expected}, stored {self.stored}, right {self.right})"
        )


@dataclass
class Slots:
    """Counts of the slots that messages fill."""

    messages: int = 0
    wrong: int = 0
    expected: int = 0
    right: int = 0

    def take(self, row: Mapping[str, Any], sure: Sequence[Candidate]) -> None:
        """Count one message."""
        lessons = [derive(one, answered=row["previous"], said_at=SAID_AT) for one in sure]
        keys = {one.slot.key for one in lessons if one is not None and one.slot is not None}
        self.messages += 1
        self.wrong += bool(keys - {row["key"]})
        self.expected += row["key"] is not None
        self.right += row["key"] in keys

    def add(self, other: Slots) -> None:
        """Add the counts of other messages."""
        self.messages += other.messages
        self.wrong += other.wrong
        self.expected += other.expected
        self.right += other.right

    def report(self) -> list[str]:
        """Print the counts; return the floors that are missed."""
        wrong, right = 100 * self.wrong / max(1, self.messages), self.right / max(1, self.expected)
        print(
            f"slots          wrong {wrong:.1f} of 100 messages   "
            f"right {self.right} of {self.expected} ({right:.0%})"
        )
        missed = []
        if wrong > MOST_WRONG_SLOTS:
            missed.append(f"slots: {wrong:.1f} wrong in 100 messages, most {MOST_WRONG_SLOTS}")
        if self.expected >= ENOUGH and right < LEAST_RIGHT_SLOTS:
            missed.append(f"slots: {right:.0%} right, floor {LEAST_RIGHT_SLOTS:.0%}")
        return missed


@dataclass
class Score:
    """All counts of a run."""

    store: Tally = field(default_factory=Tally)
    kind: Tally = field(default_factory=Tally)
    classes: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    wrong: list[str] = field(default_factory=list)
    slots: Slots = field(default_factory=Slots)

    def take(self, row: Mapping[str, Any], sure: Sequence[Candidate]) -> None:
        """Count one message. A message counts once for "store or not" and for its class."""
        expected, found = set(row["expect"]), {str(one.signal) for one in sure}
        self.slots.take(row, sure)
        agreed = expected & found
        for tally, right in ((self.store, expected and found), (self.kind, agreed)):
            tally.expected += bool(expected)
            tally.stored += bool(found)
            tally.right += bool(right)
        for name in expected | found:
            one = self.classes[name]
            one.expected += name in expected
            one.stored += name in found
            one.right += name in agreed
        if expected != found:
            text = row["text"].replace("\n", "\\n")[:90]
            self.wrong.append(f"{sorted(expected) or '-'} -> {sorted(found) or '-'}  {text}")


def read(path: Path) -> list[dict[str, Any]]:
    """Read a file of one JSON object a line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def sure(found: Found) -> list[Candidate]:
    """Return the candidates that are stored."""
    return [one for one in found.candidates if one.sure]


def score(rows: Iterable[Mapping[str, Any]], model: str | None = None) -> Score:
    """Run ``find`` over messages, and what a scripted model adds."""
    total = Score()
    for row in rows:
        stored = sure(find(row["text"], previous=row["previous"]))
        if model is not None:
            stored += assisted(row, model, {one.span.start for one in stored})
        total.take(row, stored)
    return total


def assisted(row: Mapping[str, Any], model: str, taken: set[int]) -> list[Candidate]:
    """Return the sentences that a scripted model adds, after all checks of a reply."""
    sentences = pointing.pointable(row["text"], previous=row["previous"])
    classes = row["expect"] if model == "oracle" else [str(one) for one in pointing.POINTABLE]
    pairs = [(one, name) for one in sentences for name in classes if name in pointing.POINTABLE]
    if model == "oracle":  # at the sentence that looks most like the class
        pairs = [
            max(
                (pair for pair in pairs if pair[1] == name),
                key=lambda pair: pair[0].chances.get(Signal(pair[1]), 0.0),
            )
            for name in dict.fromkeys(name for _, name in pairs)
        ]
    shown = [pointing.Shown(sentences, taken=frozenset(taken))]
    found = []
    for sentence, name in pairs:  # one reply each, as a reply has few items
        item = {"turn": 0, "quote": sentence.span.text, "class": name}
        found += pointing.pointed_at({"items": [item]}, shown)[0]
    return [Candidate(one.span, one.signal, one.probability, sure=True) for one in found]


def below(name: str, tally: Tally, floor: tuple[float, float]) -> list[str]:
    """List what a group misses of its floor."""
    return [
        f"{name}: {what} {rate:.2f}, floor {least:.2f}"
        for what, rate, least in zip(("precision", "recall"), tally.rates(), floor, strict=True)
        if rate < least
    ]


def utterances(path: Path, *, show: int, model: str | None = None) -> list[str]:
    """Print the rates of a file of messages; return the floors that are missed."""
    rows = read(path)
    english = [row for row in rows if row["language"] == "en"]
    others = [row for row in rows if row["language"] != "en"]
    total = score(english, model)
    scripted = f", and a scripted {model} instead of a language model" if model else ""
    print(f"{path.name}: {len(english)} English messages{scripted}")
    print(total.store.line("store or not"), total.kind.line("right class"), sep="\n")
    for name in sorted(total.classes):
        print("  " + total.classes[name].line(name))
    print(*total.wrong[:show], sep="\n")
    if model is not None:
        return []  # the floors are those of the reader alone
    missed = floors(total)
    missed += languages(others, show, total.slots) if others else []
    if any(row["key"] is not None for row in rows):
        missed += total.slots.report()
    return missed


def floors(total: Score) -> list[str]:
    """List the floors that English messages miss."""
    missed = below("store or not", total.store, FLOORS["store"])
    missed += below("right class", total.kind, FLOORS["class"])
    for name in HELD:
        if total.classes[name].expected >= ENOUGH // 2:
            missed += below(name, total.classes[name], CLASS_FLOOR)
    return missed


def languages(rows: list[dict[str, Any]], show: int, slots: Slots) -> list[str]:
    """Print the rates of messages in other languages; return the floors that are missed.

    Their slots are added to ``slots``.
    """
    groups = defaultdict(list)
    for row in rows:
        groups[row["language"]].append(row)
    for code in sorted(groups):
        print(score(groups[code]).store.line(f"language {code}"))
    total = score(rows)
    slots.add(total.slots)
    print(total.store.line("other languages"), total.kind.line("right class"), sep="\n")
    print(*total.wrong[:show], sep="\n")
    few = total.store.expected < ENOUGH // 2
    return [] if few else below("other languages", total.store, LANGUAGE_FLOOR)


def natural_texts(path: Path) -> Iterator[str]:
    """Yield the turns of people in a file of natural talk."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        if ".jsonl" in path.name:
            for line in file:
                yield from (
                    str(turn.get("text") or turn.get("content"))
                    for turn in json.loads(line)["turns"]
                    if turn.get("role", "user") == "user"
                )
        elif ".json" in path.name:
            for talk in json.load(file):
                yield from (
                    turn["text"]
                    for turns in talk["conversation"].values()
                    if isinstance(turns, list)
                    for turn in turns
                )
        else:
            yield from (line.strip() for line in file if line.strip())


def natural(path: Path, *, show: int) -> list[str]:
    """Print how much of natural talk is stored, and some of it, to be judged by hand."""
    sentences, stored = 0, []
    for text in natural_texts(path):
        sentences += len(split.sentences(mask.hide(text), text))
        stored += sure(find(text))
    rate = 100 * len(stored) / max(1, sentences)
    print(f"{path.name}: {len(stored)} of {sentences} sentences stored, {rate:.1f} in 100")
    for one in stored[:: max(1, len(stored) // show)] if show else ():
        print(f"  {one.signal} {one.probability:.2f}  {one.span.text[:150]}")
    too_many = f"natural talk: {rate:.1f} stored in 100 sentences, most {MOST_NATURAL}"
    return [too_many] if rate > MOST_NATURAL else []


def cost() -> list[str]:
    """Print the CPU time of a message of three sentences, beside the write."""
    rows = [row["text"] for row in read(OWN) if row["text"].endswith(".")]
    messages = [" ".join(rows[at : at + 3]) for at in range(0, 150, 3)]
    find(messages[0])
    started = time.process_time()
    for message in messages:
        find(message)
    each = 1000 * (time.process_time() - started) / len(messages)
    print(f"{each:.1f} ms CPU a message of three sentences")
    return [f"cost: {each:.1f} ms, most {MOST_CPU_MS}"] if each > MOST_CPU_MS else []


def main() -> int:
    """Measure what the arguments ask for; 1 if a floor is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("utterances", nargs="?", type=Path, default=OWN)
    parser.add_argument("both", nargs="?", type=Path, metavar="pairs")
    parser.add_argument("--pairs", nargs="?", type=Path, const=PAIRS, help="pairs alone")
    parser.add_argument("--natural", type=Path, action="append", default=[])
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--model", choices=("oracle", "greedy"), help="a scripted model")
    parser.add_argument("--show", type=int, default=0, help="examples to print")
    given = parser.parse_args()
    missed = [line for path in given.natural for line in natural(path, show=given.show)]
    if given.cost:
        missed += cost()
    if not given.natural and not given.cost and given.pairs is None:
        missed += utterances(given.utterances, show=given.show, model=given.model)
    for path in filter(None, (given.pairs, given.both)):
        missed += report(path)
    for line in missed:
        print(f"MISSED {line}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
