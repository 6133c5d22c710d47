"""The children of speed.py: what a process of its own has to be started for.

    python benchmarks/startup.py import            CPU seconds of importing the manager
    python benchmarks/startup.py add ROOT          first ``add`` from the start of the process
    python benchmarks/startup.py retrieve ROOT     first hybrid ``retrieve`` likewise
    python benchmarks/startup.py fill N            memory and disk of N memories

Each prints one JSON object. Nothing is imported before it is measured.
"""

import json
import os
import sys
import time
from collections.abc import Callable


def since_start() -> dict[str, float]:
    """Return the seconds since this process began, on the wall and of its CPU."""
    with open("/proc/self/stat", encoding="ascii") as stat:  # noqa: PTH123 - pathlib would be imported
        began = int(stat.read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
    return {"wall": time.clock_gettime(time.CLOCK_BOOTTIME) - began, "cpu": time.process_time()}


def import_memento() -> dict[str, float]:
    """Import the manager, as its first use does."""
    before = time.process_time()
    from memento import MemoryManager  # noqa: F401, PLC0415 - this is what is measured

    return {"cpu": time.process_time() - before}


def first_add(root: str) -> dict[str, float]:
    """Open a store and add to it."""
    from memento import MemoryManager  # noqa: PLC0415 - part of what is measured

    memory = MemoryManager(root=root)
    memory.add(f"The pump was replaced, said process {os.getpid()}")
    result = since_start()
    memory.close()
    return result


def first_retrieve(root: str) -> dict[str, float]:
    """Open a store and ask it something; fails if vectors had no part in the answer."""
    from memento import MemoryManager  # noqa: PLC0415 - part of what is measured

    memory = MemoryManager(root=root)
    found = memory.retrieve("what does the customer say about the laptop?", k=5, record=False)
    result = since_start()
    memory.close()
    if not any("meaning" in hit.ranks for hit in found):
        raise RuntimeError(f"not hybrid: {dict(found.missing)}")
    return result


def fill(n: str) -> dict[str, object]:
    """Take n memories, index them, answer questions; say what that took."""
    from pathlib import Path  # noqa: PLC0415 - nothing before it is needed
    from tempfile import TemporaryDirectory  # noqa: PLC0415

    from corpus import Corpus  # noqa: PLC0415

    from memento import MemoryManager  # noqa: PLC0415

    with TemporaryDirectory(prefix="memento-fill-") as root:
        with MemoryManager(root=root) as memory:
            corpus = Corpus()
            for _ in range(0, int(n), 1_000):
                memory.add_many(corpus.texts(1_000))
            memory.flush(wait=True)
            for question in corpus.questions(20):
                memory.retrieve(question, k=10, record=False)
        sizes: dict[str, float] = {}
        for file in Path(root).rglob("*"):
            if file.is_file():
                part = file.relative_to(root).parts[0]
                sizes[part] = sizes.get(part, 0) + file.stat().st_size / 2**20
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (peak,) = (int(line.split()[1]) / 2**10 for line in status.splitlines() if "VmHWM" in line)
    parts = ", ".join(f"{name} {size:.1f}" for name, size in sorted(sizes.items()) if size > 0.1)
    return {"rss_mb": peak, "disk_mb": sum(sizes.values()), "parts": parts}


STEPS: dict[str, Callable[..., object]] = {
    "import": import_memento,
    "add": first_add,
    "retrieve": first_retrieve,
    "fill": fill,
}

if __name__ == "__main__":
    print(json.dumps(STEPS[sys.argv[1]](*sys.argv[2:])))
