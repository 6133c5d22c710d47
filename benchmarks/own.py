"""Does it find what it should on our own sets? Languages, corrections, names, identifiers, doubt.

    python benchmarks/own.py [FILE ...] [--only GROUP ...] [--misses]
                             [--no-embedder | --embedder NAME] [--json OUT]

The sets in ``benchmarks/sets/`` were written for this project. FILE is LoCoMo or BEAM (see
dialogues.py), which you bring yourself; only the group ``off-topic`` needs one. Every store is
filled and asked through the public interface alone. Floor and aim hold for the default embedder.

    languages    20 facts and 20 questions in each of eight languages, alone and all in one store;
                 in Arabic 20 more, written after its stemmer was done
    pairs        200 statements, each later corrected: is the correction first?
    names        memories called by key or alias, mistyped or not: first, and of names alone
                 nothing else; a word that only looks alike is no name
    identifiers  200 ticket numbers, paths, hashes ... among 10,000 memories: is the one first?
    off-topic    AUC of ``Retrieval.confidence``: a conversation's own questions against those of
                 the next conversation, put in the names of this one
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from bisect import bisect_left, bisect_right
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from common import Figure, embedder_named, measured, write_json
from corpus import Corpus
from dialogues import ADVERSARIAL, Conversation, Dataset, load
from sets.make_identifiers import cases

from memento import MemoryManager
from memento.types import Draft

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from memento.protocols import Embedder
    from memento.types import Retrieval

SETS = Path(__file__).with_name("sets")
LIMIT = 5
DEPTH = 10
IDENTIFIERS_AMONG = 10_000
SHUFFLE_SEED = 3

LANGUAGE_MARKS = (90, 95)
PAIR_MARKS = (95, 99)
NAME_MARKS = (95, 99)
ALWAYS = (100, 100)
OFF_TOPIC_MARKS = {"locomo": (0.87, 0.93), "beam": (0.95, 0.99)}
"""Floor and aim of each group, in per cent; AUC for the last, by benchmark."""


@dataclass(slots=True)
class Outcome:
    """The figures of a group, and each case that went wrong, for people to read."""

    figures: list[Figure] = field(default_factory=list)
    misses: list[str] = field(default_factory=list)


@contextmanager
def store(drafts: Sequence[Draft], embedder: Embedder | None) -> Iterator[MemoryManager]:
    """Open a fresh store that holds these, in this order, all of them indexed."""
    with (
        TemporaryDirectory(prefix="memento-own-") as root,
        MemoryManager(root=root, embedder=embedder) as memory,
    ):
        memory.add_many(drafts)
        memory.flush(wait=True)
        yield memory


def ids(found: Retrieval) -> list[str]:
    """Return the ids of the hits, best first."""
    return [hit.id for hit in found]


def percent(values: Iterable[bool]) -> float:
    """Return the share of true values in per cent; there is at least one."""
    known = list(values)
    return 100 * sum(known) / len(known)


def miss(question: str, wanted: str, found: Retrieval) -> str:
    """Describe a case that went wrong."""
    best = found[0].text if found else "nothing"
    return f"{question}\n    wanted: {wanted}\n    found:  {best}"


# Languages


@dataclass(frozen=True, slots=True)
class Language:
    """Facts and questions in one language; question n is answered by fact n only."""

    code: str
    name: str
    facts: tuple[str, ...]
    questions: tuple[str, ...]

    @property
    def drafts(self) -> list[Draft]:
        """The facts as memories."""
        return [Draft(fact, id=f"{self.code}-{n}") for n, fact in enumerate(self.facts)]


def read_languages() -> list[Language]:
    """Read the facts and questions in all languages."""
    known = json.loads((SETS / "languages.json").read_text(encoding="utf-8"))
    return [
        Language(
            code,
            one["name"],
            tuple(fact for fact, _ in one["pairs"]),
            tuple(question for _, question in one["pairs"]),
        )
        for code, one in known.items()
    ]


def ask(memory: MemoryManager, one: Language, misses: list[str] | None = None) -> dict[str, float]:
    """Put the questions of a language to a store; return recall@5 and any@1 in per cent."""
    ranks: list[int] = []
    for n, question in enumerate(one.questions):
        found = memory.retrieve(question, LIMIT, record=False)
        here = ids(found)
        ranks.append(here.index(f"{one.code}-{n}") if f"{one.code}-{n}" in here else LIMIT)
        if misses is not None and ranks[-1] == LIMIT:
            misses.append(f"{one.name}: {miss(question, one.facts[n], found)}")
    return {
        "recall@5": percent(rank < LIMIT for rank in ranks),
        "any@1": percent(rank == 0 for rank in ranks),
    }


def languages(embedder: Embedder | None) -> Outcome:
    """Ask in eight languages, each in a store of its own and then all in one."""
    every = read_languages()
    outcome = Outcome()
    alone: dict[str, dict[str, dict[str, float]]] = {one.code: {} for one in every}
    together: dict[str, dict[str, dict[str, float]]] = {one.code: {} for one in every}
    for name, model in (("given", embedder), ("none", None)):
        for one in every:
            with store(one.drafts, model) as memory:
                alone[one.code][name] = ask(memory, one)
        with store([draft for one in every for draft in one.drafts], model) as memory:
            for one in every:
                misses = outcome.misses if name == "given" else None
                together[one.code][name] = ask(memory, one, misses)
            if name == "given":
                outcome.figures.append(same_order(memory, every))
    for one in every:
        outcome.figures += [
            language_figure(f"{one.name}, {len(one.facts)} facts", alone[one.code]),
            language_figure(f"{one.name} among {sum(len(o.facts) for o in every)}",
                            together[one.code]),
        ]  # fmt: skip
    return outcome


def language_figure(where: str, found: dict[str, dict[str, float]]) -> Figure:
    """Return recall@5, with any@1 and what full text alone finds beside it."""
    bare = found["none"]
    note = (
        f"any@1 {found['given']['any@1']:.0f}; full text alone: "
        f"recall@5 {bare['recall@5']:.0f}, any@1 {bare['any@1']:.0f}"
    )
    value = found["given"]["recall@5"]
    return Figure(f"{where}: recall@5", value, *LANGUAGE_MARKS, "%", higher=True, note=note)


def same_order(memory: MemoryManager, every: Sequence[Language]) -> Figure:
    """Ask everything twice, the second time after all else was asked and recorded."""
    asked = [question for one in every for question in one.questions]
    first = [ids(memory.retrieve(question, DEPTH, record=False)) for question in asked]
    for question in asked:
        memory.retrieve(question, DEPTH)
    second = [ids(memory.retrieve(question, DEPTH, record=False)) for question in asked]
    same = percent(one == other for one, other in zip(first, second, strict=True))
    note = f"{len(asked)} questions, twice, others recorded in between"
    return Figure("same call, same order", same, *ALWAYS, "%", higher=True, note=note)


# Pairs


def read_lines(name: str) -> list[dict[str, Any]]:
    """Read a set with one JSON object a line."""
    lines = (SETS / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def shuffled_pairs(known: Sequence[dict[str, Any]]) -> list[Draft]:
    """Shuffle the statements of all pairs, each correction after what it corrects."""
    slots = [n for n in range(len(known)) for _ in range(2)]
    random.Random(SHUFFLE_SEED).shuffle(slots)
    seen: set[int] = set()
    drafts: list[Draft] = []
    for n in slots:
        which = "newer" if n in seen else "older"
        drafts.append(Draft(known[n][which], id=f"{which}-{n}"))
        seen.add(n)
    return drafts


def pairs(embedder: Embedder | None) -> Outcome:
    """Ask what was said and later corrected."""
    known = read_lines("pairs.jsonl")
    outcome = Outcome()
    first: list[bool] = []
    above: list[bool] = []
    with store(shuffled_pairs(known), embedder) as memory:
        for n, pair in enumerate(known):
            found = memory.retrieve(pair["question"], DEPTH, record=False)
            here = [name for name in ids(found) if name in {f"newer-{n}", f"older-{n}"}]
            first.append(bool(found) and found[0].id == f"newer-{n}")
            above.append(here[:1] == [f"newer-{n}"])
            if not first[-1]:
                outcome.misses.append(miss(pair["question"], pair["newer"], found))
    note = f"{len(known)} pairs in one store; above the older {percent(above):.3g} %"
    outcome.figures.append(
        Figure(
            "corrected: the newer is first",
            percent(first),
            *PAIR_MARKS,
            "%",
            higher=True,
            note=note,
        )
    )
    return outcome


# Names


def names_drafts(known: Sequence[dict[str, Any]]) -> list[Draft]:
    """Return what is named, and for each a text that has the same words and another sense."""
    named = [
        Draft(one["text"], key=one["key"], aliases=one["aliases"], id=f"named-{n}")
        for n, one in enumerate(known)
    ]
    return named + [Draft(one["near"], id=f"near-{n}") for n, one in enumerate(known)]


def names(embedder: Embedder | None) -> Outcome:
    """Call memories by their names."""
    known = read_lines("names.jsonl")
    outcome = Outcome()
    held: dict[str, list[bool]] = {"alone": [], "first": [], "unlike": []}
    with store(names_drafts(known), embedder) as memory:
        for n, one in enumerate(known):
            for asked, right in held.items():
                by_name = ids(memory.retrieve(one[asked], LIMIT, match="names", record=False))
                found = memory.retrieve(one[asked], LIMIT, record=False)
                right.append(called_rightly(asked, f"named-{n}", by_name, ids(found)))
                if not right[-1]:
                    wanted = f"{asked}: {one['text']} ({one['key']}, {one['aliases']})"
                    outcome.misses.append(miss(one[asked], wanted, found))
    cases_right = held["alone"] + held["first"]
    note = (
        f"{len(cases_right)} cases; nothing else asked, first, and alone by name: "
        f"{percent(held['alone']):.3g} %; more asked, first: {percent(held['first']):.3g} %"
    )
    alike = f"{len(held['unlike'])} words and half phrases that look alike"
    outcome.figures += [
        Figure(
            "named by key or alias", percent(cases_right), *NAME_MARKS, "%", higher=True, note=note
        ),
        Figure(
            "no name taken for one",
            percent(held["unlike"]),
            *NAME_MARKS,
            "%",
            higher=True,
            note=alike,
        ),
    ]
    return outcome


def called_rightly(asked: str, wanted: str, named: Sequence[str], found: Sequence[str]) -> bool:
    """Tell whether a call by name was answered as it should be.

    A name alone finds what bears it first, and with ``match="names"`` nothing else.
    """
    if asked == "unlike":
        return wanted not in named
    return list(found[:1]) == [wanted] and (asked != "alone" or list(named) == [wanted])


# Identifiers


def identifiers(embedder: Embedder | None, among: int = IDENTIFIERS_AMONG) -> Outcome:
    """Ask for identifiers, each in one of many memories."""
    known = cases()
    texts = Corpus(SHUFFLE_SEED).texts(among - len(known), sentences=1)
    drafts = [Draft(text) for text in texts]
    drafts += [Draft(case.text, id=f"case-{n}") for n, case in enumerate(known)]
    random.Random(SHUFFLE_SEED).shuffle(drafts)
    outcome = Outcome()
    by_kind: dict[str, list[bool]] = {}
    with store(drafts, embedder) as memory:
        for n, case in enumerate(known):
            found = memory.retrieve(case.question, LIMIT, record=False)
            right = bool(found) and found[0].id == f"case-{n}"
            by_kind.setdefault(case.kind, []).append(right)
            if not right:
                outcome.misses.append(miss(case.question, case.text, found))
    weak = {kind: f"{percent(right):.0f}" for kind, right in by_kind.items() if not all(right)}
    note = f"{len(known)} of {len(by_kind)} kinds among {among} memories"
    note += "".join(f"; {kind} {share} %" for kind, share in weak.items())
    value = percent(right for group in by_kind.values() for right in group)
    outcome.figures.append(
        Figure("identifier: rank 1", value, *ALWAYS, "%", higher=True, note=note)
    )
    return outcome


# Off-topic questions


def auc(right: Sequence[float], wrong: Sequence[float]) -> float:
    """Return the chance that one of ``right`` is larger than one of ``wrong``, ties half.

    Source: Mann & Whitney, Annals of Mathematical Statistics 1947.

    >>> auc([0.9, 0.5], [0.5, 0.1])
    0.875
    """
    ordered = sorted(wrong)
    wins = sum(bisect_left(ordered, one) + bisect_right(ordered, one) for one in right)
    return wins / (2 * len(right) * len(wrong))


def people(conversation: Conversation) -> list[str]:
    """Return who takes part, in alphabetical order."""
    return sorted({draft.actor for draft in conversation.drafts if draft.actor})


def renamed(question: str, was: Sequence[str], now: Sequence[str]) -> str:
    """Put a question about some people in the names of others."""
    for one, other in zip(was, now, strict=False):
        question = re.sub(rf"\b{re.escape(one)}\b", other, question)
    return question


def questions_of(conversation: Conversation) -> list[str]:
    """Return the questions that have an answer."""
    return [query.text for query in conversation.queries if query.category != ADVERSARIAL]


def doubt(
    conversation: Conversation, other: Conversation, embedder: Embedder | None
) -> tuple[list[float], list[float]]:
    """Return the confidence for a conversation's own questions and for another's."""
    swapped = [renamed(text, people(other), people(conversation)) for text in questions_of(other)]
    with store(conversation.drafts, embedder) as memory:
        own, foreign = (
            [memory.retrieve(text, DEPTH, record=False).confidence for text in asked]
            for asked in (questions_of(conversation), swapped)
        )
    return own, foreign


def off_topic(dataset: Dataset, embedder: Embedder | None) -> Figure:
    """Hold a file's conversations against each other, each against the next."""
    own: list[float] = []
    foreign: list[float] = []
    every = dataset.conversations
    for n, conversation in enumerate(every):
        own_here, foreign_here = doubt(conversation, every[(n + 1) % len(every)], embedder)
        own += own_here
        foreign += foreign_here
    note = f"{len(every)} stores, {len(own)} own and {len(foreign)} foreign questions"
    value, marks = auc(own, foreign), OFF_TOPIC_MARKS[dataset.name]
    return Figure(f"off-topic, {dataset.name}", value, *marks, "AUC", higher=True, note=note)


# The command


def run(group: str, files: Sequence[Path], embedder: Embedder | None) -> Outcome:
    """Measure one group."""
    if group == "off-topic":
        unmeasured = Figure("off-topic", None, note="needs a LoCoMo or BEAM file")
        return Outcome([off_topic(load(file), embedder) for file in files] or [unmeasured])
    return GROUPS[group](embedder)


GROUPS: dict[str, Callable[[Embedder | None], Outcome]] = {
    "languages": languages,
    "pairs": pairs,
    "names": names,
    "identifiers": identifiers,
}
EVERY_GROUP = (*GROUPS, "off-topic")


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", type=Path, nargs="*", help="LoCoMo or BEAM, gzipped or not")
    parser.add_argument("--only", nargs="+", choices=EVERY_GROUP, metavar="GROUP",
                        default=EVERY_GROUP, help=", ".join(EVERY_GROUP))  # fmt: skip
    parser.add_argument("--no-embedder", dest="embedder", action="store_const", const="none",
                        default="default", help="full text alone")  # fmt: skip
    parser.add_argument("--embedder", metavar="NAME", help="any that MemoryManager takes by name")
    parser.add_argument("--misses", action="store_true", help="print each case that went wrong")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the result there")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 1 if a group failed."""
    options = parsed(arguments)
    embedder = embedder_named(options.embedder)
    misses: dict[str, list[str]] = {}

    def figures_of(group: str) -> list[Figure]:
        outcome = run(group, options.files, embedder)
        misses[group] = outcome.misses
        return outcome.figures

    found, failed = measured({group: partial(figures_of, group) for group in options.only})
    figures = [figure for group in found.values() for figure in group]
    if options.misses:
        for group, wrong in misses.items():
            print(f"\n{group}: {len(wrong)} wrong", *wrong, sep="\n  ")
    write_json(options.json, {"figures": figures, "misses": misses, "failed": failed})
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
