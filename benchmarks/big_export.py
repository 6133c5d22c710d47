"""How much memory a large ChatGPT export takes to be read in, and whether the bar moves.

    python benchmarks/big_export.py [MB]      1024 by default; without vectors, which come later

Writes an export of that size, ingests it into an empty store in a child, and prints the largest
resident set of the child, the time, and how many steps of progress there were in each half.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memento import MemoryManager
from memento.ingest import survey
from memento.protocols import Progress

WORDS = (
    "boat",
    "sails",
    "to",
    "Porto",
    "with",
    "tea",
    "and",
    "a",
    "red",
    "quince",
    "Ilse",
    "planted",
)


def conversations(megabytes: int) -> Iterator[str]:
    """Yield conversations of ChatGPT, as JSON, up to a size."""
    rng, written, number = random.Random(7), 0, 0
    while written < megabytes * 1_000_000:
        text = json.dumps(conversation(rng, number))
        number, written = number + 1, written + len(text)
        yield text


def conversation(rng: random.Random, number: int) -> dict[str, Any]:
    """Make a conversation with answers of some length, and the nodes that tell nothing."""
    tree: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    parent = "root"
    for turn in range(rng.randrange(4, 40)):
        role = ("user", "assistant", "tool")[turn % 3]
        long = rng.randrange(5, 60) if role == "user" else rng.randrange(200, 1500)
        name = f"{number}-{turn}"
        tree[name] = {
            "id": name,
            "parent": parent,
            "children": [],
            "message": {
                "id": name,
                "author": {"role": role},
                "create_time": 1_714_550_000 + number * 1000 + turn,
                "content": {
                    "content_type": "text",
                    "parts": [f"{number} {turn}: " + " ".join(rng.choices(WORDS, k=long))],
                },
                "metadata": {"padding": "x" * rng.randrange(500)},
            },
        }
        parent = name
    about = {"conversation_id": f"c-{number}", "title": f"Talk {number}", "create_time": 1.0}
    return {**about, "mapping": tree, "current_node": parent}


def child(path: str, root: str) -> None:
    """Ingest the export; print what it took."""
    steps = {"reading": 0, "adding": 0}

    def step(name: str) -> Progress:
        return lambda _done, _total: steps.__setitem__(name, steps[name] + 1)

    began = time.monotonic()
    looked = survey(path, progress=step("reading"))
    checked = time.monotonic()
    with MemoryManager(root, embedder=None) as memory:
        (report,) = memory.documents.ingest(looked, progress=step("adding"))
    took = {"check_s": round(checked - began), "all_s": round(time.monotonic() - began)}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"rss_mb": peak, "new": report.new, **took, **steps}))


def main() -> None:
    """Write, ingest, report."""
    if len(sys.argv) == 3:
        child(*sys.argv[1:])
        return
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "conversations.json")
        with path.open("w", encoding="utf-8") as file:
            for number, text in enumerate(conversations(megabytes)):
                file.write(f"{',' if number else '['}\n{text}")
            file.write("]\n")
        print(f"{path.stat().st_size / 1e6:.0f} MB", flush=True)
        subprocess.run(
            [sys.executable, __file__, str(path), str(Path(folder, "store"))], check=True
        )


if __name__ == "__main__":
    main()
