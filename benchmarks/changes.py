"""Does whoever reads see what changed? Natural changes of invented people, and both statements.

    python benchmarks/changes.py [--split train|dev] [--misses] [--json OUT] [FOLDER]
    python benchmarks/changes.py --pairs [--misses] [--json OUT] [FILE ...]
    python benchmarks/changes.py --diaries [--misses] [--json OUT] [FILE ...]

FOLDER is a folder like ``training/voices``, the default. Each labelled statement of a voice becomes
a memory with its date, and each statement that a later one replaces or ends is asked for in its own
words: the hardest question, since nothing fits it better than the older statement itself. Of an
earlier message with several statements, the one nearest in meaning is meant.

With ``--diaries``, each person of a file like ``training/changes/sealed/e01.jsonl`` tells about 80
notes, a few days apart, and the question of each note that changes an earlier one is asked.

With ``--pairs``, each person of a file like ``training/changes/d01.jsonl`` tells all earlier
statements, and a month later all later ones; then the question of each pair is asked. The default
is what is sealed, which is measured as totals only, and never read.

    newer first   the newer statement is among the ten hits, before the older one or without it
    seen          that, or the older one is marked (``newer=``, ended, superseded)
    passed        of statements that nothing changes: not the first hit, or, of a pair, not before
                  the later one
    marked        of these: marked all the same
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from common import table, write_json

from memento import MemoryManager
from memento.testing import ManualClock

VOICES = Path(__file__).parents[1] / "training" / "voices"
SEALED = Path(__file__).parents[1] / "training" / "changes" / "sealed"
MONTH = timedelta(days=30)
_SPLITS = {"dev": (1,), "train": (2, 3, 4)}
"""Split to the rests of the numbers of its voices, divided by 5; those without a rest are sealed.
"""
DEPTH = 10
FLOORS = {"newer first": 0.85, "seen": 0.9}


@dataclass(frozen=True, slots=True)
class Statement:
    """A labelled statement, and when it was made."""

    text: str
    at: datetime
    turn: str


@dataclass(slots=True)
class Voice:
    """The statements of one person in order, and the pairs (older, newer, how) that change."""

    name: str
    said: list[Statement] = field(default_factory=list)
    changes: list[tuple[str, int, str]] = field(default_factory=list)


def read(path: Path) -> Voice:
    """Read a voice and its labels; a change names the earlier turn."""
    voice = Voice(path.stem)
    labels = [json.loads(line) for line in _lines(path.parent / "labels" / path.name)]
    dates = {
        f"{one['chat']}.{one['turn']}": one["date"]
        for one in map(json.loads, _lines(path))
        if "turn" in one
    }
    for label in sorted(labels, key=lambda one: dates[f"{one['chat']}.{one['turn']}"]):
        turn = f"{label['chat']}.{label['turn']}"
        at = datetime.fromisoformat(dates[turn][:10]).replace(tzinfo=UTC)
        first = len(voice.said)
        voice.said += [Statement(span["text"], at, turn) for span in label["spans"]]
        voice.changes += [(one["of"], first + one["span"], one["what"]) for one in label["changes"]]
    return voice


def _lines(path: Path) -> Iterator[str]:
    return (line for line in path.read_text(encoding="utf-8").splitlines() if line.strip())


def ask(voice: Voice) -> list[dict[str, Any]]:
    """Tell a store the statements, and ask for each in its own words."""
    clock = ManualClock(voice.said[0].at)
    with (
        tempfile.TemporaryDirectory() as root,
        MemoryManager(root=root, clock=clock) as memory,
    ):
        ids = []
        for one in voice.said:
            clock.advance(max(one.at - clock(), timedelta()))
            ids.append(memory.add(one.text, occurred_at=one.at).id)
        memory.flush(wait=True)
        vectors = np.array(memory.store.embed([one.text for one in voice.said]))
        pairs = list(_pairs(voice, vectors))
        changed = {older for older, *_ in pairs}
        cases = [
            _case(memory, voice, ids, older, newer, what, float(vectors[older] @ vectors[newer]))
            for older, newer, what in pairs
        ]
        stays = (at for at in range(len(voice.said)) if at not in changed)
        return cases + [_case(memory, voice, ids, at, None, "stays", 0.0) for at in stays]


def _pairs(voice: Voice, vectors: Any) -> Iterator[tuple[int, int, str]]:
    for turn, newer, what in voice.changes:
        meant = [at for at in range(newer) if voice.said[at].turn == turn]
        if meant:
            yield max(meant, key=lambda at: float(vectors[at] @ vectors[newer])), newer, what


def _case(
    memory: MemoryManager,
    voice: Voice,
    ids: list[str],
    older: int,
    newer: int | None,
    what: str,
    cosine: float,
) -> dict[str, Any]:
    both = ids[older], None if newer is None else ids[newer]
    return {
        "voice": voice.name,
        "what": what,
        "older": voice.said[older].text,
        "newer": voice.said[newer].text if newer is not None else None,
        "cosine": round(cosine, 3),
        **_found(memory, voice.said[older].text, *both),
    }


def _found(memory: MemoryManager, query: str, older: str, newer: str | None) -> dict[str, bool]:
    """Ask; tell where the two statements are."""
    hits = memory.retrieve(query, DEPTH, record=False).hits
    places = {one: place for place, hit in enumerate(hits) for one in (hit.id, *hit.folded)}
    old, new = places.get(older, DEPTH), places.get(newer or "", DEPTH)
    marked = old < DEPTH and (
        hits[old].newer is not None or hits[old].memory.valid_until is not None
    )
    return {
        "newer first": new < old,
        "found": new < DEPTH,
        "seen": new < old or marked or old == DEPTH,
        "marked": marked,
        "first": old == 0,
        "before": old < new,
    }


def ask_pairs(path: Path) -> list[dict[str, Any]]:
    """Tell a store what the people of a file said, each in a namespace, and ask their questions."""
    people: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in map(json.loads, _lines(path)):
        people[row["person"]].append(row)
    clock = ManualClock(datetime(2026, 3, 2, 9, tzinfo=UTC))
    cases: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as root, MemoryManager(root=root, clock=clock) as store:
        for number, rows in enumerate(people.values()):
            memory = store.of(f"person{number}")
            cases += _asked(memory, rows, clock)
    return cases


def _asked(
    memory: MemoryManager, rows: Sequence[dict[str, str]], clock: ManualClock
) -> Iterator[dict[str, Any]]:
    ids: dict[str, list[str]] = {"older": [], "newer": []}
    for part, some in ids.items():
        for row in rows:
            some.append(memory.add(row[part]).id)
            clock.advance(timedelta(hours=7))
        clock.advance(MONTH)
    memory.flush(wait=True)
    for row, older, newer in zip(rows, ids["older"], ids["newer"], strict=True):
        found = _found(memory, row["question"], older, newer)
        if row["what"] == "stays":
            yield row | found | {"newer": None, "first": found["before"]}
        else:
            yield row | found


def ask_diary(path: Path) -> list[dict[str, Any]]:
    """Tell a store the notes of a person, and ask the question of each that changes one."""
    rows = [*map(json.loads, _lines(path))]
    clock = ManualClock(datetime(2026, 1, 5, 9, tzinfo=UTC))
    with tempfile.TemporaryDirectory() as root, MemoryManager(root=root, clock=clock) as memory:
        ids = {}
        for row in rows:
            ids[row["n"]] = memory.add(row["text"]).id
            clock.advance(timedelta(days=4))
        memory.flush(wait=True)
        changed = {older for row in rows for older in row["changes"]}
        cases = [
            {"person": path.stem, "what": "replaces", "older": "", "newer": row["text"]}
            | _found(memory, row["question"], ids[older], ids[row["n"]])
            for row in rows
            for older in row["changes"]
        ]
        return cases + [
            {"what": "stays", "newer": None} | _found(memory, row["text"], ids[row["n"]], None)
            for row in rows
            if row["n"] not in changed
        ]


def report(cases: list[dict[str, Any]]) -> dict[str, Any]:
    """Count."""
    changed = [case for case in cases if case["newer"] is not None]
    stays = [case for case in cases if case["newer"] is None]
    found = {}
    for what in ("replaces", "ends"):
        some = [case for case in changed if case["what"] == what]
        found[what] = {
            name: [sum(case[name] for case in some), len(some)]
            for name in ("found", "newer first", "seen")
        }
    found["all"] = {
        name: [sum(case[name] for case in changed), len(changed)]
        for name in ("found", "newer first", "seen")
    }
    found["stays"] = {
        "passed": [sum(not case["first"] for case in stays), len(stays)],
        "marked": [sum(case["marked"] for case in stays), len(stays)],
    }
    return found


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("paths", type=Path, nargs="*")
    parser.add_argument("--pairs", action="store_true", help="pairs with a question")
    parser.add_argument("--diaries", action="store_true", help="diaries with some questions")
    parser.add_argument("--split", choices=_SPLITS, default="dev")
    parser.add_argument("--misses", action="store_true", help="print each change that is missed")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if args.pairs or args.diaries:
        paths = args.paths or sorted(SEALED.glob("s*" if args.pairs else "e*"))
        asked = ask_pairs if args.pairs else ask_diary
        cases = [case for path in paths for case in asked(path)]
    else:
        (folder,) = args.paths or [VOICES]
        paths = [
            path
            for path in sorted(folder.glob("v*.jsonl"))
            if int(path.stem[1:]) % 5 in _SPLITS[args.split]
            and (path.parent / "labels" / path.name).exists()
        ]
        cases = [case for path in paths for case in ask(read(path))]
    result = report(cases)
    print(f"{len(paths)} {'files' if args.pairs or args.diaries else 'voices'}")
    rows = [
        [what, name, f"{right} of {n}", f"{right / max(n, 1):.0%}", f"{FLOORS.get(name, 0):.0%}"]
        for what, figures in result.items()
        for name, (right, n) in figures.items()
    ]
    print(table(["what", "figure", "count", "share", "floor"], rows))
    for case in cases if args.misses else ():
        if case["newer"] is not None and not case["newer first"]:
            print(
                f"- {case.get('voice') or case['person']}: {case['what']}"
                f" found={case['found']} seen={case['seen']}\n"
                f"    {case['older']}\n    {case['newer']}"
            )
    if args.json:
        write_json(args.json, {"figures": result, "cases": cases})


if __name__ == "__main__":
    main()
