"""Measure whether a request to forget hides what it means, and nothing else.

    python benchmarks/forgets.py [--split train|dev] [--show]
    python benchmarks/forgets.py --people FILE [--show]

Each voice of ``training/voices`` talks to a store of its own up to its requests to forget; what
each means was labelled by hand (``forgets.jsonl``). A stand-in hears the part that asks, so that
only what is done with it is measured. A request is right if all messages that it means are hidden,
and what was learned from them; ``may`` are messages that may be hidden. Afterwards a new session
asks for the words of the request: ``shown`` counts the requests after which a prompt still shows
a message that was meant.

With ``--people``, the people of a file like ``sets/forgets_held.jsonl`` are measured through
``observe`` alone: each request is made to a fresh copy of what its person told, and then all
``others``, which are no requests and must hide nothing. ``forgets.jsonl`` was read while the rules
were written, ``forgets_held.jsonl`` was written afterwards: its first run was 31 of 36, no other
message hidden, and nothing by 68 others.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

from observe_voices import VOICES, voices

from memento import MemoryManager
from memento.learning import reading
from memento.observe.candidates import find
from memento.observe.signals import Candidate, Found, Signal, Span
from memento.observe.values import Observation


@dataclass
class Tally:
    """Counts over requests."""

    asked: int = 0
    meaning: int = 0
    hidden: int = 0
    right: int = 0
    others: int = 0
    others_in: int = 0
    shown: int = 0
    own: int = 0
    learned: int = 0
    none: int = 0
    none_hid: int = 0
    notes: list[str] = field(default_factory=list)

    def line(self) -> str:
        """Describe it in one line."""
        return (
            f"{self.asked} requests: {self.hidden} of {self.meaning} hide all that they mean,"
            f" {self.right} that and nothing else; {self.others} other messages hidden by"
            f" {self.others_in} requests; {self.shown} shown afterwards; {self.learned} of"
            f" {self.own} about their own message learned something of it; {self.none_hid} of"
            f" {self.none} that are no requests hide something"
        )


def heard(part: str | None) -> Any:
    """Return a reader that hears one part of a message as a request to forget."""

    def read(text: str, **options: Any) -> Found:
        found = find(text, **options)
        kept = [
            one
            for one in found.candidates
            if one.signal is not Signal.FORGET and one.span.text.strip()
        ]
        start = text.find(part) if part else -1
        if part and start >= 0:
            end = start + len(part)
            kept = [one for one in kept if one.span.end <= start or one.span.start >= end]
            request = Span(start, end, part)
            kept.append(Candidate(request, Signal.FORGET, 0.99, sure=True, reasons=("labelled",)))
        kept.sort(key=lambda one: one.span.start)
        return Found(tuple(kept), found.vetoed, found.skipped, found.language, found.how, None)

    return read


def sessions_of(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the session of each message; a single one that answers continues that before it."""
    names, last = [], ""
    for one in messages:
        if one["chat"]:
            names.append(f"chat-{one['chat']}")
            continue
        last = last if one["previous"] and last else f"single-{one['turn']}"
        names.append(last)
    return names


def told(
    name: str, messages: Sequence[Mapping[str, Any]], gold: Mapping[str, Any], tally: Tally
) -> None:
    """Let a voice talk to a new store, and judge each request when it is made."""
    said = sorted(messages, key=lambda one: (one["date"], one["chat"], one["turn"]))
    turns: dict[str, str] = {}
    gone: set[str] = set()
    with tempfile.TemporaryDirectory() as root, MemoryManager(root) as memory:
        for one, session in zip(said, sessions_of(said), strict=True):
            here = f"{one['chat']}.{one['turn']}"
            asked = gold.get(here)
            spoken = [{"role": "user", "content": one["text"]}]
            if one["previous"]:
                spoken.insert(0, {"role": "assistant", "content": one["previous"]})
            day = datetime.fromisoformat(one["date"]).replace(hour=12, tzinfo=UTC)
            with mock.patch.object(reading, "find", heard(one["forget"] if asked else None)):
                seen = memory.observe(messages=spoken, session=session, occurred_at=day)
            own = next(turn.id for turn in reversed(seen.turns) if turn.role == "user")
            turns[own] = here
            if not asked:
                continue
            states = {turns[row]: memory.get(row).status for row in turns if turns[row] != here}
            now = {key for key, status in states.items() if status == "forgotten"}
            judge(name, one, asked, now - gone, memory, turns, seen, tally)
            gone |= now | {here}


def judge(
    name: str,
    one: Mapping[str, Any],
    asked: Mapping[str, Any],
    hidden: set[str],
    memory: MemoryManager,
    turns: Mapping[str, str],
    seen: Observation,
    tally: Tally,
) -> None:
    """Count one request."""
    means = set(asked["means"])
    others = hidden - means - set(asked.get("may", ()))
    by_place = {place: row for row, place in turns.items()}
    left = {place for place in means if memory.get(by_place[place]).status != "forgotten"}
    statements = [
        row
        for place in means
        for row in memory.list(limit=1_000)
        if by_place[place] in row.source.parents
    ]
    whole = not left
    tally.asked += 1
    tally.meaning += bool(means)
    tally.hidden += bool(means) and whole
    tally.right += whole and not others
    tally.others += len(others)
    tally.others_in += bool(others)
    tally.own += asked["this"]
    tally.learned += asked["this"] and bool(seen.learned)
    block = memory.prompt(one["forget"], min_confidence=0, k=10)
    texts = [memory.get(by_place[place]).text for place in means]
    shown = [text for text in texts if json.dumps(text)[1:60] in block or text[:60] in block]
    tally.shown += bool(shown)
    if left or others or shown or (asked["this"] and seen.learned):
        about = seen.forget[0].about if seen.forget else None
        tally.notes.append(
            f"{name} {one['chat']}.{one['turn']} about {about!r}: left {sorted(left)},"
            f" others {sorted(others)}, shown {len(shown)}, statements {len(statements)}"
        )


def asked_by(person: Mapping[str, Any], tally: Tally) -> None:
    """Make each request of a person to a copy of what the person told; then say what is none."""
    with tempfile.TemporaryDirectory() as root:
        base, turns = Path(root, "told"), dict[str, str]()
        with MemoryManager(base) as memory:
            for tag, text in person["told"].items():
                turns[tag] = _say(memory, text, f"told-{tag}").turns[0].id
        for at, asked in enumerate(person["requests"]):
            copy = shutil.copytree(base, Path(root, str(at)))
            with MemoryManager(copy) as memory:
                here = dict(turns)
                if "before" in asked:
                    here["before"] = _say(memory, asked["before"], "now").turns[0].id
                seen = _say(memory, asked["text"], "now")
                hidden = {tag for tag, row in here.items() if _is_forgotten(memory, row)}
                one = {"chat": person["person"], "turn": at, "forget": asked["text"]}
                gold = {"means": asked["means"], "this": False}
                places = {row: tag for tag, row in here.items()}
                judge("", one, gold, hidden, memory, places, seen, tally)
        with MemoryManager(base) as memory:
            for at, text in enumerate(person["others"]):
                seen = _say(memory, text, f"other-{at}")
                hides = [row for request in seen.forget for row in request.forgotten]
                tally.none += 1
                tally.none_hid += bool(hides)
                if seen.forget:
                    tally.notes.append(f"no request: {text!r} hides {len(hides)}")


def _say(memory: MemoryManager, text: str, session: str) -> Observation:
    return memory.observe(text, "All right.", session=session)


def _is_forgotten(memory: MemoryManager, row: str) -> bool:
    return memory.get(row).status == "forgotten"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--split", choices=("train", "dev"), default="dev")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--people", type=Path)
    args = parser.parse_args()
    total = Tally()
    if args.people:
        for line in args.people.read_text(encoding="utf-8").splitlines():
            asked_by(json.loads(line), total)
        print(total.line(), *(total.notes if args.show else ()), sep="\n  ")
        return
    gold: dict[str, dict[str, Any]] = {}
    for line in (VOICES / "forgets.jsonl").read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        gold.setdefault(one["voice"], {})[f"{one['chat']}.{one['turn']}"] = one
    for name, messages in voices(VOICES, args.split):
        if name in gold:
            told(name, messages, gold[name], total)
    print(total.line())
    for line in total.notes if args.show else ():
        print(" ", line)


if __name__ == "__main__":
    main()
