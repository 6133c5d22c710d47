"""Is "And his sister?" understood after "Tell me about Bob."?

    python benchmarks/follow_ups.py [DIALOGUES.json] [--misses] [--json OUT]

A file of dialogues, see ``sets/follow_ups.json``, holds facts and dialogues of two or three
questions with their answers; the last question has no answer yet. A store is told the facts. For
each dialogue, ``recall`` is asked twice: with the last question alone, and with the whole dialogue,
which was kept turn by turn. Everything else has its default.

    block    the block of ``recall`` with its default k shows a right fact
    three    the block of at most three memories does
    first    the first memory of the block is a right fact

The dialogues with ``held_out`` were written before anything was measured; nothing was tuned on
them. A dialogue that says thanks after the last answer must put nothing into the prompt.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common import embedder_named, table, write_json
from metrics import wilson

from memento import MemoryManager, Turn

DIALOGUES = Path(__file__).with_name("sets") / "follow_ups.json"
FEW = 3
THANKS = ("thanks!", "ok great", "perfect, thank you")
MEASURES = ("block", "three", "first")
GROUPS: Mapping[str, Sequence[bool]] = {
    "development": (False,),
    "held out": (True,),
    "all": (False, True),
}


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A dialogue.

    Attributes:
        name: Its name in the file.
        turns: What was said, the user first and last.
        answers: Names of the facts any of which is right.
        held_out: Whether nothing was tuned on it.
    """

    name: str
    turns: tuple[Turn, ...]
    answers: frozenset[str]
    held_out: bool


def read(path: Path) -> tuple[dict[str, str], list[Dialogue]]:
    """Read the facts, by name, and the dialogues of a file.

    Raises:
        ValueError: If a dialogue does not end with a question of the user, or names no known fact.
    """
    whole = json.loads(path.read_text(encoding="utf-8"))
    facts = {fact["id"]: fact["text"] for fact in whole["facts"]}
    dialogues = []
    for one in whole["dialogues"]:
        said, answers = one["turns"], frozenset(one["answers"])
        if len(said) % 2 == 0:
            raise ValueError(f"{one['id']}: must end with a question of the user")
        if not answers or not answers <= facts.keys():
            raise ValueError(f"{one['id']}: no such fact: {sorted(answers - facts.keys())}")
        turns = tuple(
            Turn(text, ("user", "assistant")[at % 2], str(at)) for at, text in enumerate(said)
        )
        dialogues.append(Dialogue(one["id"], turns, answers, one["held_out"]))
    return facts, dialogues


def shown(memory: MemoryManager, names: Mapping[str, str], turns: Sequence[Turn], session: str,
          **options: Any) -> list[str]:  # fmt: skip
    """Return the names of the facts in the block, best first; ``""`` for what is no fact."""
    block = memory.recall(turns, session=session, record=False, **options).block
    records = [json.loads(line) for line in block.splitlines() if line.startswith("{")]
    return [names.get(record["text"], "") for record in records]


def measured(
    memory: MemoryManager, names: Mapping[str, str], dialogue: Dialogue, turns: Sequence[Turn]
) -> dict[str, bool]:
    """Return what a recall with some of the turns of a dialogue gets right."""
    block = shown(memory, names, turns, dialogue.name)
    few = shown(memory, names, turns, dialogue.name, k=FEW)
    return {
        "block": not dialogue.answers.isdisjoint(block),
        "three": not dialogue.answers.isdisjoint(few),
        "first": not dialogue.answers.isdisjoint(block[:1]),
    }


def run(path: Path, embedder: str) -> dict[str, Any]:
    """Tell the facts and ask every dialogue."""
    facts, dialogues = read(path)
    names = {text: name for name, text in facts.items()}
    cases, noise = [], 0
    with (
        TemporaryDirectory(prefix="memento-follow-ups-") as root,
        MemoryManager(root, embedder=embedder_named(embedder)) as memory,
    ):
        memory.add_many({"text": text, "tier": "long"} for text in facts.values())
        for one in dialogues:
            memory.keep(one.turns, session=one.name)
        memory.flush(wait=True)
        for at, one in enumerate(dialogues):
            arms = {"alone": one.turns[-1:], "dialogue": one.turns}
            found = {arm: measured(memory, names, one, turns) for arm, turns in arms.items()}
            cases.append({"id": one.name, "held_out": one.held_out, **found})
            polite = [*one.turns, Turn("Done."), Turn(THANKS[at % len(THANKS)])]
            noise += bool(shown(memory, names, polite, one.name))
    return {"facts": len(facts), "cases": cases, "thanks": {"shown": noise, "n": len(dialogues)}}


def counted(cases: Sequence[Mapping[str, Any]], arm: str, measure: str) -> str:
    """Return how many are right, with the 95 % interval of the share."""
    right = sum(case[arm][measure] for case in cases)
    low, high = wilson(right, len(cases))
    return f"{right} of {len(cases)} ({100 * low:.0f}-{100 * high:.0f} %)"


def show(result: Mapping[str, Any]) -> None:
    """Print the figures."""
    rows = []
    for name, flags in GROUPS.items():
        cases = [case for case in result["cases"] if case["held_out"] in flags]
        rows += [
            [name, arm, *(counted(cases, arm, measure) for measure in MEASURES)]
            for arm in ("alone", "dialogue")
        ]
    print(table(["dialogues", "asked with", *MEASURES], rows))
    thanks = result["thanks"]
    print(f"\nafter thanks: something in the prompt: {thanks['shown']} of {thanks['n']}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("file", type=Path, nargs="?", default=DIALOGUES, metavar="DIALOGUES.json")
    parser.add_argument("--misses", action="store_true", help="name those not shown at all")
    parser.add_argument("--embedder", default="default", metavar="NAME")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the result there")
    options = parser.parse_args(arguments)
    result = run(options.file, options.embedder)
    show(result)
    if options.misses:
        for case in result["cases"]:
            if not case["held_out"] and not case["dialogue"]["first"]:
                print(f"{case['id']}: {case['dialogue']}")
    write_json(options.json, result)


if __name__ == "__main__":
    main()
