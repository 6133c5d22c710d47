"""Does it find what one person told it? A life, as told over months, and questions to it.

    python benchmarks/everyday.py [LIFE.json ...] [--alone] [--misses]
                                  [--no-embedder | --embedder NAME] [--json OUT]

A life is a JSON file in the shape that lives.py documents; without one it is our own,
``sets/life_dev.json``. A store is filled through the public interface, memory by memory, with its
clock at the moment each was told; a question is put to what was told until its own moment. It is
put to ``retrieve`` (ten hits) and to ``prompt``, both with their default settings, and in the same
run to two plain indexes of all the texts, see bare.py: vectors alone (the same embedder's cosine)
and words alone (BM25). A question with previous turns is put to ``recall``, as a program would that
has a conversation: it knows who said which turn (the user first, then by turns), and what it finds
by default is the prompt. The indexes get these turns and then the question as one text, and so does
``retrieve``, for comparison. ``--alone`` leaves the turns out.

    rank 1, top 3, top 10   one of the right memories is first, among the first three, the ten
    off-topic               questions that nothing answers: how many put anything into the prompt
    shown                   of the questions with a right memory among the ten hits, those whose
                            prompt shows one
    sure and wrong          the first hit is not right, at a confidence of 0.5 or more
    calibration             confidence of the first hit beside the share that is right, off-topic
                            questions included; ECE as in reliability.py

A near-identical memory folded into a hit does not count as found.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bare import Vectors, Words
from common import embedder_named, table, write_json
from lives import Asked, Life, Told, read
from metrics import wilson
from reliability import bins, calibration_error

from memento import MemoryManager, Turn
from memento.errors import MementoError
from memento.protocols import Embedder
from memento.testing import ManualClock
from memento.types import Hit

LIVES = (Path(__file__).with_name("sets") / "life_dev.json",)
DEPTH = 10
DEPTHS = {"rank 1": 1, "top 3": 3, "top 10": DEPTH}
SURE = 0.5
OURS, VECTORS, WORDS = "memento", "vectors alone", "words alone"


@dataclass(slots=True)
class Answered:
    """A question and what came of it.

    Attributes:
        life: Name of the life.
        question: The question.
        found: Arm to what it found, best first; each a set of names, as equal texts are one memory.
        confidence: Confidence of the first hit, 0 without hits.
        prompt: Names of the memories in the prompt.
        joined: For a question with previous turns, what ``retrieve`` found for all as one text.
    """

    life: str
    question: Asked
    found: dict[str, list[frozenset[str]]]
    confidence: float
    prompt: list[frozenset[str]]
    joined: list[frozenset[str]] = field(default_factory=list)

    def rank(self, arm: str) -> int | None:
        """Return the rank of the first right memory, from 1; None if it is not among the ten."""
        answers = self.question.answers
        return next((n for n, names in enumerate(self.found[arm], 1) if names & answers), None)

    def right(self, arm: str, depth: int) -> bool:
        """Tell whether a right memory is among the first ``depth``."""
        return (self.rank(arm) or DEPTH + 1) <= depth

    def joined_right(self, depth: int) -> bool:
        """Tell whether a right memory is among the first ``depth`` found for one text."""
        return any(names & self.question.answers for names in self.joined[:depth])

    @property
    def shown(self) -> bool:
        """Whether the prompt shows a right memory."""
        return any(names & self.question.answers for names in self.prompt)

    @property
    def sure_and_wrong(self) -> bool:
        """Whether the first hit is not right although its confidence is high."""
        return self.confidence >= SURE and not self.right(OURS, 1)

    def known_wrong(self, arm: str) -> bool:
        """Tell whether the first is one that the life names as wrong."""
        return any(names & self.question.wrong for names in self.found[arm][:1])


@dataclass(slots=True)
class Telling:
    """A store that is told a life, and the plain indexes that are told the same.

    Attributes:
        life: Name of the life.
        memory: The store.
        clock: Its clock.
        vectors: Plain index by meaning, or None without an embedder.
        words: Plain index by words.
        names: Id in the store to names in the file.
        told: Names in the order told.
    """

    life: str
    memory: MemoryManager
    clock: ManualClock
    vectors: Vectors | None
    words: Words
    names: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    told: list[str] = field(default_factory=list)

    def tell(self, memories: Sequence[Told]) -> None:
        """Add memories one by one, each at its moment, and wait until all are indexed."""
        for one in memories:
            self.clock.advance(one.at - self.clock())
            try:
                self._add(one)
            except MementoError as error:
                raise ValueError(f"memory {one.id}: {error}") from error
        self.memory.flush(wait=True)
        texts = [one.arguments["text"] for one in memories]
        self.words.add(texts)
        if self.vectors is not None:
            self.vectors.add(texts)

    def _add(self, one: Told) -> None:
        ids = {name: stored for stored, names in self.names.items() for name in names}
        links = {
            link: [ids[name] for name in one.arguments[link]]
            for link in ("supersedes", "related")
            if link in one.arguments
        }
        kept = self.memory.add(**{**one.arguments, **links})
        if one.approve:
            self.memory.quarantine.approve(kept.id)
        self.names[kept.id].add(one.id)
        self.told.append(one.id)

    def ask(self, question: Asked, *, alone: bool) -> Answered:
        """Put a question to the store and to the indexes; return what came of it."""
        query = query_of(question, alone=alone)
        self.clock.advance(question.at - self.clock())
        hits: Sequence[Hit] = self.memory.retrieve(query, DEPTH, record=False).hits
        joined: list[frozenset[str]] = []
        found: dict[str, list[frozenset[str]]] = {}
        if question.previous and not alone:
            joined = self._names(hits)
            hits, prompt = self._recall(question)
        else:
            prompt = self._prompt(query)
        found[OURS] = self._names(hits)
        for arm, index in ((VECTORS, self.vectors), (WORDS, self.words)):
            if index is not None:
                found[arm] = [frozenset({self.told[n]}) for n in index.rank(query, DEPTH)]
        sure = hits[0].confidence if hits else 0.0
        return Answered(self.life, question, found, sure, prompt, joined)

    def _recall(self, question: Asked) -> tuple[Sequence[Hit], list[frozenset[str]]]:
        """Return what ``recall`` finds for a question with previous turns, and its prompt."""
        texts = (*question.previous, question.text)
        turns = [Turn(text, ("user", "assistant")[at % 2]) for at, text in enumerate(texts)]
        hits = self.memory.recall(turns, k=DEPTH, record=False).hits
        return hits, self._names(self.memory.recall(turns, record=False).hits)

    def _names(self, hits: Iterable[Hit]) -> list[frozenset[str]]:
        return [frozenset(self.names[hit.id]) for hit in hits]

    def _prompt(self, query: str) -> list[frozenset[str]]:
        """Return the names of the memories that the prompt for a question shows."""
        block = self.memory.prompt(query, show_ids=True, record=False)
        records = [json.loads(line) for line in block.splitlines() if line.startswith("{")]
        return [frozenset(self.names[record["id"]]) for record in records]


def query_of(question: Asked, *, alone: bool) -> str:
    """Return the text that is asked: the question after what was said just before."""
    return question.text if alone else "\n".join([*question.previous, question.text])


@contextmanager
def telling(life: Life, embedder: Embedder | None) -> Iterator[Telling]:
    """Open an empty store, with its clock at the first moment of a life."""
    clock = ManualClock(life.memories[0].at)
    with (
        TemporaryDirectory(prefix="memento-everyday-") as root,
        MemoryManager(root=root, embedder=embedder, clock=clock) as memory,
        closing(Words()) as words,
    ):
        yield Telling(
            life.name, memory, clock, Vectors(memory.store.embed) if embedder else None, words
        )


def ask_all(life: Life, embedder: Embedder | None, *, alone: bool = False) -> list[Answered]:
    """Tell a life and put its questions, each at its moment.

    Returns:
        What came of each question, in the order of the file.

    Raises:
        ValueError: If the store refuses a memory.
    """
    answered = {}
    left = list(life.memories)
    with telling(life, embedder) as store:
        for question in sorted(life.questions, key=lambda one: one.at):
            due = [one for one in left if one.at <= question.at]
            left = left[len(due) :]
            if due:
                store.tell(due)
            answered[question.id] = store.ask(question, alone=alone)
    return [answered[question.id] for question in life.questions]


# What is reported


def share(right: Iterable[bool]) -> dict[str, float] | None:
    """Return a share with its 95 % interval; None if there are no cases."""
    known = list(right)
    if not known:
        return None
    low, high = wilson(sum(known), len(known))
    return {
        "right": sum(known),
        "n": len(known),
        "share": sum(known) / len(known),
        "low": low,
        "high": high,
    }


def group(cases: Sequence[Answered], arms: Sequence[str]) -> dict[str, Any]:
    """Return how often each arm was right among some questions."""
    by_arm = {
        arm: {
            name: share(case.right(arm, depth) for case in cases) for name, depth in DEPTHS.items()
        }
        for arm in arms
    }
    return {"questions": len(cases), **by_arm}


def report(answered: Sequence[Answered]) -> dict[str, Any]:
    """Put the figures of some lives together."""
    cases = [case for case in answered if case.question.answers]
    off_topic = [case for case in answered if not case.question.answers]
    arms = list(answered[0].found)
    groups = {}
    for kind in dict.fromkeys(case.question.kind for case in cases):
        groups[kind] = group([case for case in cases if case.question.kind == kind], arms)
    lives = dict.fromkeys(case.life for case in cases)
    for life in lives if len(lives) > 1 else ():
        groups[f"all of {life}"] = group([case for case in cases if case.life == life], arms)
    held = bins([case.confidence for case in answered], [case.right(OURS, 1) for case in answered])
    return {
        "groups": {**groups, "all": group(cases, arms)},
        "against": {arm: against(cases, arm) for arm in arms if arm != OURS},
        "known wrong first": {arm: share(c.known_wrong(arm) for c in cases if c.question.wrong)
                              for arm in arms},
        "previous turns as one text": {
            name: share(case.joined_right(depth) for case in cases if case.joined)
            for name, depth in DEPTHS.items()
        },
        "off-topic in prompt": share(bool(case.prompt) for case in off_topic),
        "shown": share(case.shown for case in cases if case.rank(OURS)),
        "sure and wrong": share(case.sure_and_wrong for case in cases),
        "sure and wrong, off-topic": share(case.sure_and_wrong for case in off_topic),
        "calibration": [{"confidence": said, "right": seen, "n": n} for said, seen, n in held],
        "ece": calibration_error(held),
        "questions": [record(case) for case in answered],
    }  # fmt: skip


def against(cases: Sequence[Answered], arm: str) -> dict[str, int]:
    """Count the questions that only memento, or only the other, answers at rank 1."""
    ours = [case.right(OURS, 1) for case in cases]
    other = [case.right(arm, 1) for case in cases]
    pairs = list(zip(ours, other, strict=True))
    return {"won": pairs.count((True, False)), "lost": pairs.count((False, True))}


def record(case: Answered) -> dict[str, Any]:
    """Return one question with what came of it, as JSON."""
    first = case.found[OURS][:1]
    return {
        "life": case.life,
        "id": case.question.id,
        "class": case.question.kind,
        "text": case.question.text,
        "answers": sorted(case.question.answers),
        "rank": {arm: case.rank(arm) for arm in case.found},
        "first": sorted(first[0]) if first else [],
        "confidence": round(case.confidence, 4),
        "in prompt": len(case.prompt),
        "shown": case.shown,
    }


# What is printed


def show(result: dict[str, Any]) -> None:
    """Print the figures."""
    arms = [name for name in result["groups"]["all"] if name != "questions"]
    columns = (f"{arm.split()[0]} {depth}" for arm in arms for depth in DEPTHS.values())
    headers = ["% (95 %) among first", "n", *columns]
    rows = [
        [name, str(one["questions"]), *(cell(one[arm][depth]) for arm in arms for depth in DEPTHS)]
        for name, one in result["groups"].items()
    ]
    print(table(headers, rows), "\n")
    for arm, pairs in result["against"].items():
        print(f"rank 1 against {arm}: {pairs['won']} won, {pairs['lost']} lost")
    for arm, wrong in result["known wrong first"].items():
        print(f"a known wrong one is first, {arm}: {counted(wrong)}")
    for depth, right in result["previous turns as one text"].items():
        print(f"with previous turns as one text, through retrieve, {depth}: {counted(right)}")
    print(f"\noff-topic: something in the prompt: {counted(result['off-topic in prompt'])}")
    print(f"found among ten, and shown in the prompt: {counted(result['shown'])}")
    print(f"first wrong, confidence >= {SURE}: {counted(result['sure and wrong'])}")
    print(f"the same, off-topic: {counted(result['sure and wrong, off-topic'])}\n")
    print(f"calibration of the first hit, ECE {result['ece']:.3f}")
    lines = [
        [f"{one['confidence']:.2f}", f"{one['right']:.2f}", str(one["n"])]
        for one in result["calibration"]
    ]
    print(table(["confidence", "right", "n"], lines))


def cell(one: dict[str, float]) -> str:
    """Return a share with its interval, in per cent."""
    return f"{100 * one['share']:.0f} ({100 * one['low']:.0f}-{100 * one['high']:.0f})"


def counted(one: dict[str, float] | None) -> str:
    """Return a share with its counts."""
    return "no such question" if one is None else f"{one['right']} of {one['n']}, {cell(one)} %"


def show_misses(result: dict[str, Any]) -> None:
    """Print every question without a right memory first, and what off-topic ones brought up."""
    for one in result["questions"]:
        if one["rank"][OURS] == 1:
            continue
        wanted = ", ".join(one["answers"]) or f"nothing; {one['in prompt']} in the prompt"
        ranks = ", ".join(f"{arm} {rank or '-'}" for arm, rank in one["rank"].items())
        first = ", ".join(one["first"]) or "nothing"
        print(f"\n{one['id']} ({one['class']}): {one['text']}\n    wanted: {wanted}")
        print(f"    first:  {first}, confidence {one['confidence']:.2f}; ranks: {ranks}")


# The command


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "files", type=Path, nargs="*", metavar="LIFE.json", help="see lives.py; default: ours"
    )
    parser.add_argument("--alone", action="store_true", help="leave out what was said before")
    parser.add_argument("--misses", action="store_true", help="print each case that went wrong")
    parser.add_argument("--no-embedder", dest="embedder", action="store_const", const="none",
                        default="default", help="full text alone")  # fmt: skip
    parser.add_argument("--embedder", metavar="NAME", help="any that MemoryManager takes by name")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the result there")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    options = parsed(arguments)
    lives = [read(path) for path in options.files or LIVES]
    embedder = embedder_named(options.embedder)
    answered = [case for life in lives for case in ask_all(life, embedder, alone=options.alone)]
    result = report(answered)
    for life in lives:
        print(f"{life.name}: {len(life.memories)} memories, {len(life.questions)} questions")
    print(f"embedder {options.embedder}\n")
    show(result)
    if options.misses:
        show_misses(result)
    told = {life.name: len(life.memories) for life in lives}
    write_json(options.json, {"memories": told, "embedder": options.embedder, **result})


if __name__ == "__main__":
    main()
