"""A host of a store outside of its working directory, as a child of `test_probe_code`.

    python probe_host.py die | look | look-unprotected

``die`` makes a store in ``$STORE`` with an index and kills itself with SIGKILL, so that the next
one looks at the index from a child process. ``look`` opens it again and prints, as JSON, what that
child answered and the state of the index. ``look-unprotected`` starts the child by ``-m`` from the
working directory. With ``$EMPTY_FIRST`` the path begins with "", as in a shell; ``$GO_TO`` is where
the host goes once memento is imported.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

if "EMPTY_FIRST" in os.environ:
    sys.path.insert(0, "")

import numpy as np  # noqa: F401 - the host has it before it goes elsewhere

from memento import MemoryManager
from memento.testing import HashEmbedder
from memento.tiers import check_in_child, long_tier

ROOT = os.environ["STORE"]


def die() -> None:
    """Feed an index and end at once."""
    memory = MemoryManager(ROOT, embedder=HashEmbedder(8))
    memory.add_many([f"text {n}" for n in range(20)])
    assert memory.flush(wait=True, timeout=60)
    os.kill(os.getpid(), signal.SIGKILL)


def look() -> None:
    """Open the store and say how its index was found."""
    verdicts: list[str | None] = []
    found = long_tier.probe

    def noting(*given: Any, **named: Any) -> str | None:
        verdicts.append(found(*given, **named))
        return verdicts[-1]

    long_tier.probe = noting
    with MemoryManager(ROOT, embedder=HashEmbedder(8)) as memory:
        memory.add("another", "long")
        assert memory.flush(wait=True, timeout=60)
        said = {"verdicts": verdicts, "state": memory.store.stats().long}
    sys.stdout.write(f"\n{json.dumps(said)}\n")


def unprotected() -> None:
    """Let the child be started from the working directory, which ``-m`` puts first."""
    popen = subprocess.Popen

    def start(_command: Any, *, env: Any, **named: Any) -> Any:
        named.pop("cwd", None)
        return popen([sys.executable, "-m", "memento.tiers.check_in_child"], env=env, **named)

    check_in_child.subprocess.Popen = start  # type: ignore[assignment, misc]


if __name__ == "__main__":
    os.chdir(os.environ.get("GO_TO", "."))
    if sys.argv[1] == "look-unprotected":
        unprotected()
    die() if sys.argv[1] == "die" else look()
