"""Measure what ``observe`` learns from invented people whom no rule was written for.

    python benchmarks/observe_voices.py [--split train|dev] [--show 40] [--store-at 0.8] [FOLDER]
    python benchmarks/observe_voices.py --sealed --note "why"
    python benchmarks/observe_voices.py training/strangers

Each voice talks to a store of its own, message by message with its dates, and what the store learnt
is compared with the labels: a statement is right if it shares at least half of the shorter of both
with a labelled one. What two careful people could disagree on counts neither for nor against.
FOLDER is a folder like ``training/voices``, which is the default, or like ``training/strangers``,
where each message is another person's and carries its labels: a file is told to one store. With
--sealed the voices that nobody reads are measured: only totals are printed, and the run is noted
in ``SEALED.md`` there.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memento import Config, MemoryManager
from memento.config import ObserveConfig
from memento.observe.values import Learned

VOICES = Path(__file__).parents[1] / "training" / "voices"
SHARED = 0.5
"""Least share of the shorter of two spans that both have in common."""
_SPLITS = {"sealed": (0,), "dev": (1,), "train": (2, 3, 4)}
"""Split to the rests of the numbers of its voices, divided by 5."""


@dataclass(frozen=True, slots=True)
class Gold:
    """A labelled part of a message; ``sure`` is False where careful people could disagree."""

    start: int
    end: int
    name: str
    sure: bool


@dataclass
class Tally:
    """Counts of one or several voices."""

    messages: int = 0
    stored: int = 0
    right: int = 0
    classed: int = 0
    gold: int = 0
    found: int = 0
    found_classed: int = 0
    asked: int = 0
    heard: int = 0
    overheard: int = 0
    wrong: list[str] = field(default_factory=list)
    rules: int = 0
    missed: Counter[str] = field(default_factory=Counter)

    def line(self) -> str:
        """Describe it in one line."""
        return (
            f"store P {self.right / max(1, self.stored):.3f} R {self.found / max(1, self.gold):.3f}"
            f"  class P {self.classed / max(1, self.stored):.3f}"
            f" R {self.found_classed / max(1, self.gold):.3f}"
            f"  (labelled {self.gold}, stored {self.stored} of {self.messages} messages,"
            f" false rules {self.rules})  forget {self.heard} of {self.asked},"
            f" {self.overheard} others"
        )


def voices(folder: Path, split: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield names and messages of the voices of a split that have labels, or of all strangers."""
    if not (folder / "labels").is_dir():
        for path in sorted(folder.glob("m*.jsonl")):
            alone = {"chat": 0, "date": "2026-01-13"}
            yield path.stem, [{**alone, "turn": n, **one} for n, one in enumerate(_lines(path))]
        return
    for path in sorted((folder / "labels").glob("v*.jsonl")):
        if int(path.stem[1:]) % 5 in _SPLITS[split]:
            said = _lines(folder / path.name)[1:]
            labels = {(one["chat"], one["turn"]): one for one in _lines(path)}
            yield path.stem, [{**one, **labels[one["chat"], one["turn"]]} for one in said]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def gold_of(message: Mapping[str, Any]) -> list[Gold]:
    """Return the labelled parts of a message."""
    found = []
    for span in message["spans"]:
        start = message["text"].find(span["text"])
        end = start + len(span["text"])
        found.append(Gold(start, end, span["class"], span.get("sure", True)))
    return found


def told(name: str, messages: Sequence[Mapping[str, Any]], tally: Tally, config: Config) -> None:
    """Let a voice talk to a new store, and count."""
    with tempfile.TemporaryDirectory() as root, MemoryManager(root, config=config) as memory:
        for one in sorted(messages, key=lambda one: (one["date"], one["chat"], one["turn"])):
            session = f"chat-{one['chat']}" if one["chat"] else f"single-{one['turn']}"
            day = datetime.fromisoformat(one["date"]).replace(hour=12, tzinfo=UTC)
            turns = [{"role": "user", "content": one["text"]}]
            if one["previous"]:
                turns.insert(0, {"role": "assistant", "content": one["previous"]})
            seen = memory.observe(messages=turns, session=session, occurred_at=day)
            compare(name, one, seen.learned, tally)
            tally.asked += one["forget"] is not None
            tally.heard += one["forget"] is not None and bool(seen.forget)
            tally.overheard += one["forget"] is None and bool(seen.forget)


def compare(
    name: str, message: Mapping[str, Any], learned: Sequence[Learned], tally: Tally
) -> None:
    """Count what was learnt of one message."""
    gold = gold_of(message)
    met: set[int] = set()
    classed: set[int] = set()
    tally.messages += 1
    for one in learned:
        shares = [_overlap(one, each) for each in gold]
        at = max(range(len(gold)), key=shares.__getitem__, default=None)
        if at is None or shares[at] < SHARED * min(_length(one), _length(gold[at])):
            tally.stored += 1
            tally.rules += one.signal == "rule"
            tally.wrong.append(f"{name} {one.signal:<10} {one.span.text!r}")
            continue
        within = {
            place for place, each in enumerate(gold) if shares[place] >= SHARED * _length(each)
        }
        met |= {at} | within
        classed |= {place for place in {at} | within if gold[place].name == one.signal}
        if gold[at].sure:
            tally.stored += 1
            tally.right += 1
            tally.classed += gold[at].name == one.signal
    for place, each in enumerate(gold):
        if each.sure:
            tally.gold += 1
            tally.found += place in met
            tally.found_classed += place in classed
            if place not in met:
                tally.missed[each.name] += 1


def _length(one: Learned | Gold) -> int:
    return one.end - one.start if isinstance(one, Gold) else one.span.end - one.span.start


def _overlap(one: Learned, each: Gold) -> int:
    return max(0, min(one.span.end, each.end) - max(one.span.start, each.start))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=VOICES)
    parser.add_argument("--split", choices=("train", "dev"), default="dev")
    parser.add_argument("--sealed", action="store_true")
    parser.add_argument("--note", default="")
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--store-at", type=float, default=ObserveConfig().store_at)
    args = parser.parse_args()
    split = "sealed" if args.sealed else args.split
    total = Tally()
    config = Config(observe=ObserveConfig(store_at=args.store_at))
    for name, messages in voices(args.folder, split):
        mine = Tally()
        told(name, messages, mine, config)
        if not args.sealed:
            print(f"{name}  {mine.line()}")
        for key, value in vars(mine).items():
            setattr(total, key, getattr(total, key) + value)
    print(f"all  {total.line()}")
    if args.sealed:
        with (args.folder / "SEALED.md").open("a", encoding="utf-8") as file:
            file.write(f"\n- {datetime.now(UTC):%Y-%m-%d}, {args.note}: {total.line()}\n")
        return
    print("missed", dict(total.missed.most_common()))
    for line in total.wrong[: args.show]:
        print(" ", line)


if __name__ == "__main__":
    main()
