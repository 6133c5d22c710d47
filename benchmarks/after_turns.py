"""Is a question after other turns understood in the store of one person's life?

    python benchmarks/after_turns.py [--held-out] [--misses] [--embedder NAME] [--json OUT]

``sets/after_turns.json`` holds dialogues about the facts of three development lives. The store is
told a whole life, and the last turn of each dialogue is put to ``recall`` with the turns before
it, as in everyday.py, which prints the same table and compares with all turns as one text.

Every second dialogue is held out: written before anything was measured, and never tuned on. Only
``--held-out`` asks these.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from common import embedder_named, write_json
from everyday import ask_all, report, show, show_misses
from lives import Asked, Life
from lives import read as read_life

SETS = Path(__file__).with_name("sets")
DIALOGUES = SETS / "after_turns.json"
KIND = "after turns"


def read(path: Path, *, held_out: bool) -> list[Life]:
    """Read the lives that the dialogues of a file are about, with these as their only questions.

    Raises:
        ValueError: If a dialogue does not end with a question of the user, or names no known fact.
    """
    asked = defaultdict(list)
    for at, one in enumerate(json.loads(path.read_text(encoding="utf-8"))["dialogues"]):
        if len(one["turns"]) % 2 == 0:
            raise ValueError(f"dialogue {at}: must end with a question of the user")
        if one["held_out"] == held_out:
            asked[one["life"]].append((f"d{at}", one))
    return [_asking(read_life(SETS / f"{name}.json"), ours) for name, ours in asked.items()]


def _asking(life: Life, dialogues: Sequence[tuple[str, Mapping[str, list[str]]]]) -> Life:
    """Ask the last turns of dialogues after a life is told."""
    known = {memory.id for memory in life.memories}
    today = max(question.at for question in life.questions)
    questions = []
    for name, one in dialogues:
        answers = frozenset(one["answers"])
        if not answers or not answers <= known:
            raise ValueError(f"{name}: {life.name} has no memories {sorted(answers - known)}")
        *before, last = one["turns"]
        questions.append(Asked(name, KIND, last, today, answers, previous=tuple(before)))
    return replace(life, questions=tuple(questions))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--held-out", action="store_true", help="ask those that were held out")
    parser.add_argument("--misses", action="store_true", help="print each case that went wrong")
    parser.add_argument("--embedder", default="default", metavar="NAME")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the result there")
    options = parser.parse_args(arguments)
    lives = read(DIALOGUES, held_out=options.held_out)
    embedder = embedder_named(options.embedder)
    result = report([case for life in lives for case in ask_all(life, embedder)])
    show(result)
    if options.misses:
        show_misses(result)
    write_json(options.json, result)


if __name__ == "__main__":
    main()
