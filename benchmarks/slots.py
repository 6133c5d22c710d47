"""Does ``observe`` know what a statement settles about the user? Statements of strangers.

    python benchmarks/slots.py [--misses] [--json OUT] [FILE ...]

Each line of a file like ``training/slots/g01.jsonl`` is said by two users of its own, and the slots
of what was learned are compared with its label. The first user knows nothing, but the value that is
ended, if the statement only ends one. The second has a value in each of the slots, as memories with
their keys: the one that is ended, or one of ``HELD``. The default is ``training/slots/sealed``,
which is measured as totals only, and never read.

    stored      statements that give a value: something was learned
    right       of these: the slot is the one
    wrong       slots that were filled and should not have been, of all statements
    ended       of statements that end a value and give no new one: the slot has another holder
    taken       of statements that give a value: what held their slot no longer does
    displaced   statements after which a held value of a slot that is not theirs no longer holds it
    hidden      of these: the held memory is no longer found
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from common import table, write_json

from memento import MemoryManager
from memento.observe.personal import SLOTS

SEALED = Path(__file__).parents[1] / "training" / "slots" / "sealed"


HELD = {
    "name": ("My name is {}.", "Marlene", "Tobias"),
    "home": ("I live in {}.", "Aberdeen", "Valletta"),
    "employer": ("I work at {}.", "Bosch", "Lidl"),
    "job": ("I work as a {}.", "welder", "florist"),
    "birthday": ("My birthday is on {}.", "14 March", "30 October"),
    "age": ("I'm {} years old.", "44", "61"),
    "pronouns": ("My pronouns are {}.", "they/them", "ze/zir"),
    "timezone": ("My time zone is {}.", "UTC+7", "AEST"),
    "language": ("My native language is {}.", "Finnish", "Tamil"),
    "email": ("My email is {}.", "mt@alder.example", "post@birch.example"),
    "phone": ("My phone number is {}.", "+49 30 5550 142", "+44 20 5550 177"),
    "diet": ("My diet is {}.", "kosher", "pescatarian"),
    "partner": ("My partner is {}.", "Ingrid", "Mateus"),
}
"""What a user holds in each slot: how they say it, and a value and another one."""


def held(slot: str, row: Mapping[str, Any]) -> str:
    """Return what holds a slot before a statement: what that ends, or a value it does not name."""
    form, one, other = HELD[slot]
    ended = row.get("ended") if row["slot"] == slot else None
    return form.format(ended or (other if one.casefold() in row["text"].casefold() else one))


def judge(memory: MemoryManager, row: Mapping[str, Any]) -> dict[str, bool]:
    """Let a user make a statement; return what is true of it."""
    key, value = f"user/{row['slot']}", row.get("value")
    ends = row.get("ended") is not None and not value
    before = memory.add(held(row["slot"], row), key=key).id if ends else None
    seen = memory.observe(row["text"], session="said")
    keys = {one.memory.key for one in seen.learned if one.memory.key}
    filled = {one for one in keys if one.removeprefix("user/") in SLOTS}
    wanted = {key} if value or ends else set()
    holder = memory.value(key) if ends else None
    return {
        "statements": True,
        "give a value": bool(value),
        "stored": bool(value and seen.learned),
        "right": bool(value and key in filled),
        "wrong": bool(filled - wanted),
        "end a value": ends,
        "ended": ends and (holder is None or holder.id != before),
    }


def harm(memory: MemoryManager, row: Mapping[str, Any]) -> dict[str, bool]:
    """Let a user who has a value in each slot make a statement; return what is true of it."""
    before = {slot: memory.add(held(slot, row), key=f"user/{slot}").id for slot in SLOTS}
    memory.observe(row["text"], session="said")
    holders = {slot: memory.value(f"user/{slot}") for slot in SLOTS}
    lost = {slot for slot, one in holders.items() if one is None or one.id != before[slot]}
    found = {one.id for one in memory.list(kind="fact")}
    hidden = {slot for slot, one in before.items() if one not in found}
    return {
        "taken": bool(row.get("value") and row["slot"] in lost),
        "displaced": bool(lost - {row["slot"]}),
        "hidden": bool(hidden - {row["slot"]}),
    }


def count(paths: Iterable[Path], *, misses: bool) -> Counter[str]:
    """Count what is true of the statements of some files."""
    totals = Counter[str]()
    texts = [path.read_text(encoding="utf-8") for path in paths]
    rows = [row for text in texts for row in map(json.loads, text.splitlines())]
    with tempfile.TemporaryDirectory() as folder, MemoryManager(folder) as memory:
        for number, row in enumerate(rows):
            found = judge(memory.of(f"user{number}"), row)
            found |= harm(memory.of(f"holder{number}"), row)
            totals.update(name for name, true in found.items() if true)
            missed = found["give a value"] and not (found["right"] and found["taken"])
            wrong = found["wrong"] or found["displaced"] or found["end a value"] != found["ended"]
            if misses and (missed or wrong):
                print({name for name, true in found.items() if true}, row)
    return totals


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--misses", action="store_true", help="print what is missed or wrong")
    parser.add_argument("--json", type=Path, metavar="OUT")
    args = parser.parse_args()
    if args.misses and not args.files:
        parser.error("the sealed statements are never read: name the files")
    totals = count(args.files or sorted(SEALED.glob("*.jsonl")), misses=args.misses)
    of = {"stored": "give a value", "right": "give a value", "wrong": "statements",
          "ended": "end a value", "taken": "give a value", "displaced": "statements",
          "hidden": "statements"}  # fmt: skip
    shares = [(name, f"{totals[name]} of {totals[whole]}", f"{totals[name] / totals[whole]:.0%}")
              for name, whole in of.items()]  # fmt: skip
    print(table(("figure", "count", "share"), shares))
    if args.json:
        write_json(args.json, dict(totals))


if __name__ == "__main__":
    main()
