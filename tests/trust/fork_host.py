"""A parent that forks, as a child of `harness_forks`.

    python fork_host.py ROOT prefork|pool EMBEDDER DELAY [--control]

It adds one memory, waits for so many seconds, and forks four children: workers that each retrieve
and add, or a pool that does so twenty times. It ends with 0 if they found what they should and
everything that they added is there. ``--control`` takes away what a fork waits for; the seconds
then count from the moment the background thread is loading something, and loading takes seconds,
as on a slow disk, so that the fork comes in the middle of it on any machine.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from importlib.abc import MetaPathFinder

from memento import MemoryManager
from memento.base import forks
from memento.testing import HashEmbedder

WORKERS = 4
SLOW = 0.02
"""Seconds that a background thread takes longer to find each module, in the control."""


class SlowDisk(MetaPathFinder):
    """Finds nothing, and takes its time in every thread but the main one."""

    def find_spec(self, *_: object) -> None:
        """Wait, and leave the module to the other finders."""
        if threading.current_thread() is not threading.main_thread():
            time.sleep(SLOW)


def use(number: int) -> bool:
    """Ask for what the parent said, and add something."""
    found = any(hit.id == "parent" for hit in memory.retrieve("said by the parent", 50))
    memory.add(f"worker says {number}", id=f"w{number}")
    return found and any(hit.id == f"w{number}" for hit in memory.retrieve(f"says {number}", 50))


def prefork() -> int:
    """Be the parent of workers; returns how many memories they should have added."""
    children = []
    for number in range(WORKERS):
        child = os.fork()
        if not child:
            os._exit(0 if use(number) else 4)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert codes == [0] * WORKERS, codes
    return WORKERS


def pool() -> int:
    """Let a pool do it; returns how many memories it should have added."""
    with multiprocessing.get_context("fork").Pool(WORKERS) as workers:
        assert all(workers.map(use, range(20)))
    return 20


def until_loading() -> None:
    """Wait until the background thread is doing work that a fork must not interrupt."""
    deadline = time.monotonic() + 30
    while not forks.gate._others():
        assert time.monotonic() < deadline, "nothing is being loaded"
        time.sleep(0.001)


if __name__ == "__main__":
    root, way, embedder, delay, *control = sys.argv[1:]
    if control:
        sys.meta_path.insert(0, SlowDisk())
    memory = MemoryManager(root, embedder=HashEmbedder(16) if embedder == "hash" else embedder)
    memory.add("said by the parent", id="parent")
    if control:
        until_loading()
        forks.gate._others = lambda: False  # type: ignore[method-assign]
    time.sleep(float(delay))
    added = prefork() if way == "prefork" else pool()
    assert memory.flush(wait=True, timeout=60)
    listed = {one.id for one in memory.list(limit=1_000)}
    assert listed == {"parent", *(f"w{number}" for number in range(added))}, listed
    memory.close()
