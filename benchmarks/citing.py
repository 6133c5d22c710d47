"""Which memories an answer rests on: ``cite`` against answers whose sources are known.

Each line of a file of answers is a JSON object: the ``life`` (a file beside it, see ``lives.py``),
the id of its ``question``, the ``answer`` that a model gave, and ``rests_on``, the ids in the life
of the memories that the answer repeats; none if it rests on no memory::

    {"life": "life_dev2.json", "question": "q3", "answer": "At nine.", "rests_on": ["eye1"]}

The life is told to a store, the question is put to ``retrieve``, and ``cite`` compares its hits
with the answer. Precision is the share of cited memories that the answer rests on; recall is the
share cited of the hits that it rests on.

    python benchmarks/citing.py [ANSWERS.jsonl ...] [--misses]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from common import embedder_named
from everyday import Telling, telling
from lives import Asked, read

ANSWERS = Path(__file__).parent / "sets" / "answers.jsonl"
PRECISION, RECALL = 0.90, 0.60
"""Floors."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer whose sources are known.

    Attributes:
        life: The file of the life.
        question: Id of the question in the life.
        text: The answer.
        rests_on: Ids in the life.
    """

    life: Path
    question: str
    text: str
    rests_on: frozenset[str]


@dataclass(frozen=True, slots=True)
class Cited:
    """The outcome of one answer, as texts of memories.

    Attributes:
        answer: The answer.
        right: Hits that were cited rightly.
        wrong: Hits that were cited although the answer does not rest on them.
        missed: Hits that the answer rests on and that were not cited.
    """

    answer: Answer
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    missed: tuple[str, ...]


def answers_of(path: Path) -> list[Answer]:
    """Read a file of answers."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        life = path.parent / one["life"]
        found.append(Answer(life, one["question"], one["answer"], frozenset(one["rests_on"])))
    return found


def cited(answers: Sequence[Answer], embedder: str) -> Iterator[Cited]:
    """Tell each life once, put the questions and cite the answers."""
    for path, group in groupby(answers, key=lambda one: one.life):
        life = read(path)
        asked = {question.id: question for question in life.questions}
        mine = sorted(group, key=lambda one: asked[one.question].at)
        left = list(life.memories)
        with telling(life, embedder_named(embedder)) as store:
            for answer in mine:
                question = asked[answer.question]
                due = [one for one in left if one.at <= question.at]
                left = left[len(due) :]
                if due:
                    store.tell(due)
                yield outcome(store, question, answer)


def outcome(store: Telling, question: Asked, answer: Answer) -> Cited:
    """Put one question, cite its answer, and compare."""
    store.clock.advance(question.at - store.clock())
    found = store.memory.retrieve(question.text, record=False)
    used = store.memory.feedback.cite(found, answer.text)
    sources = {hit.id for hit in found if store.names[hit.id] & answer.rests_on}
    texts = {hit.id: hit.text for hit in found}
    return Cited(
        answer,
        tuple(texts[name] for name in used if name in sources),
        tuple(texts[name] for name in used if name not in sources),
        tuple(texts[name] for name in sources if name not in used),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; returns 1 if a floor is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", type=Path, nargs="*", metavar="ANSWERS.jsonl", default=[ANSWERS])
    parser.add_argument("--misses", action="store_true", help="print each case that went wrong")
    parser.add_argument("--embedder", metavar="NAME", default="default")
    options = parser.parse_args(arguments)
    answers = [one for path in options.files for one in answers_of(path)]
    outcomes = list(cited(answers, options.embedder))
    right, wrong, missed = (
        sum(len(getattr(one, name)) for one in outcomes) for name in ("right", "wrong", "missed")
    )
    precision, recall = right / max(1, right + wrong), right / max(1, right + missed)
    print(f"{len(answers)} answers, {right + missed} hits that they rest on")
    print(f"precision {precision:.3f} (floor {PRECISION}), recall {recall:.3f} (floor {RECALL})")
    if options.misses:
        for one in outcomes:
            for name in ("wrong", "missed"):
                for text in getattr(one, name):
                    print(f"{name}: {one.answer.text!r} <- {text!r}")
    return 0 if precision >= PRECISION and recall >= RECALL else 1


if __name__ == "__main__":
    sys.exit(main())
