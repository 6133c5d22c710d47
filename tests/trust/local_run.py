"""A full local run, as a child of `harness_private`: every part of memento that touches the disk.

    python local_run.py ROOT UMASK EMBEDDER [--call-home]

Prints the modes of what is on the disk while the store is open and after it was closed, as JSON.
``--call-home`` is the control: it also opens a socket, as telemetry would.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path

os.umask(int(sys.argv[2], 8))

from memento import MemoryManager  # noqa: E402 - the umask comes before anything is opened
from memento.cli import main  # noqa: E402
from memento.testing import HashEmbedder  # noqa: E402

TALK = [{"role": "user", "content": "my bicycle is green"}, {"role": "assistant", "content": "ok"}]


def modes(folder: Path) -> dict[str, str]:
    """Read the mode of the folder and of everything in it."""
    found = [folder, *folder.rglob("*")]
    return {str(one.relative_to(folder.parent)): f"{one.stat().st_mode:o}" for one in found}


def run(root: Path, embedder: str) -> dict[str, dict[str, str]]:
    """Write, find, change, back up and look after a store; return the modes seen."""
    chosen = HashEmbedder(32) if embedder == "hash" else embedder
    with MemoryManager(root / "store", embedder=chosen) as memory:
        for tier in ("short", "medium", "long"):
            memory.add(f"a memory of the {tier} tier", tier, session="s")
        memory.add_many([f"number {n} of the long tier" for n in range(40)])
        memory.update(memory.add("first", "long").id, text="second")
        memory.forget(memory.add("to be forgotten", "long").id)
        memory.add("a page says so", source="web")
        memory.flush(wait=True)
        assert memory.retrieve("which memory is of the long tier?")
        assert memory.prompt("the long tier")
        assert all(found.ok for found in memory.store.doctor())
        memory.store.backup(root / "backup.db")
        backup = f"{(root / 'backup.db').stat().st_mode:o}"
        seen = {"open": modes(root / "store") | {"backup.db": backup}}
    (root / "talk.jsonl").write_text("\n".join(json.dumps(one) for one in TALK))
    name = "none" if embedder == "hash" else embedder
    where = ["--root", str(root / "store"), "--embedder", name]
    assert main(["ingest", str(root / "talk.jsonl"), *where]) == 0
    assert main(["retrieve", "bicycle", *where]) == 0
    return seen | {"closed": modes(root / "store")}


if __name__ == "__main__":
    seen = run(Path(sys.argv[1]), sys.argv[3])
    if "--call-home" in sys.argv:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as telemetry:
            telemetry.settimeout(0.1)
            telemetry.connect_ex(("127.0.0.1", 9))
    sys.stdout.write(f"\n{json.dumps(seen)}\n")
