"""Does ``observe`` know what a statement settles about the user? Statements of strangers.

    python benchmarks/slots.py [--misses] [--json OUT] [FILE ...]

Each line of a file like ``training/slots/g01.jsonl`` is said by a user of its own, and the slots of
what was learned are compared with its label. Of statements that end something, a user first has
the value that is ended, as a memory with that key. The default is ``training/slots/sealed``, which
is measured as totals only, and never read.

    stored      statements that give a value: something was learned
    right       of these: the slot is the one
    wrong       slots that were filled and should not have been, of all statements
    ended       of statements that end a value and give no new one: the slot has another holder
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


def judge(memory: MemoryManager, row: Mapping[str, Any]) -> dict[str, bool]:
    """Let one user make a statement; return what is true of it."""
    key, value, ended = f"user/{row['slot']}", row.get("value"), row.get("ended")
    ends = ended is not None and not value
    if ends:
        memory.add(f"My {row['slot']} is {ended or 'Alpha'}.", key=key, kind="fact")
    seen = memory.observe(row["text"], session="said")
    keys = {one.memory.key for one in seen.learned if one.memory.key}
    filled = {one for one in keys if one.removeprefix("user/") in SLOTS}
    held = memory.value(key) if ends else None
    wanted = {key} if value else set()
    return {
        "statements": True,
        "give a value": bool(value),
        "stored": bool(value and seen.learned),
        "right": bool(value and key in filled),
        "wrong": bool(filled - wanted - ({key} if ends else set())),
        "end a value": ends,
        "ended": ends and (held is None or held.text == row["text"] or held.text in row["text"]),
    }


def count(paths: Iterable[Path], *, misses: bool) -> Counter[str]:
    """Count what is true of the statements of some files."""
    totals = Counter[str]()
    rows = [row for path in paths for row in map(json.loads, path.open(encoding="utf-8"))]
    with tempfile.TemporaryDirectory() as folder, MemoryManager(folder) as memory:
        for number, row in enumerate(rows):
            found = judge(memory.of(f"user{number}"), row)
            totals.update(name for name, true in found.items() if true)
            missed = found["give a value"] and not found["right"]
            if misses and (missed or found["wrong"] or found["end a value"] != found["ended"]):
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
          "ended": "end a value"}  # fmt: skip
    shares = [(name, f"{totals[name]} of {totals[whole]}", f"{totals[name] / totals[whole]:.0%}")
              for name, whole in of.items()]  # fmt: skip
    print(table(("figure", "count", "share"), shares))
    if args.json:
        write_json(args.json, dict(totals))


if __name__ == "__main__":
    main()
