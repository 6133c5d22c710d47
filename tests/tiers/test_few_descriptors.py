"""A process that has no file descriptors left for a moment does not lose its index for that."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from memento.tiers import chroma

CANNOT_OPEN = "Query error: Database error: (code: 14) unable to open database file"
THREADS = """
import os, resource, sys, threading
from pathlib import Path

from memento import MemoryManager
from memento.errors import MementoError
from memento.testing import HashEmbedder

memory = MemoryManager(sys.argv[1], embedder=HashEmbedder(8))
memory.add("a heron near the house")
assert memory.flush(wait=True, timeout=60)
memory.retrieve("heron")
begin, tried, end, problems = threading.Barrier(30), threading.Semaphore(0), threading.Event(), []

def ask():
    begin.wait()
    try:
        problems.extend(memory.retrieve("heron", record=False).missing.values())
        memory.add(threading.current_thread().name)
    except MementoError as error:
        problems.append(str(error))
    tried.release()
    end.wait()

threads = [threading.Thread(target=ask) for _ in range(30)]
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 12, most))
for thread in threads:
    thread.start()
for thread in threads:
    tried.acquire()
memory.flush(wait=True, timeout=0.5)  # the indexer works while nothing can be opened
end.set()
for thread in threads:
    thread.join()
resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 1024), most))
assert problems, "there were enough descriptors"
while not memory.flush(wait=True, timeout=60):
    pass
assert "meaning" in memory.retrieve("heron", record=False)[0].ranks
assert not list(Path(sys.argv[1]).glob("chroma.bad*")), "the index was set aside"
memory.close()
"""


@contextlib.contextmanager
def few_descriptors(spare):
    """Leave this process so many descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(one.name) for one in Path("/proc/self/fd").iterdir())
    taken = [os.open(os.devnull, os.O_RDONLY) for _ in range(highest + 1)]  # fills the gaps
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(taken) + 1 + spare, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in taken:
            os.close(descriptor)


@pytest.mark.parametrize("spare", [0, 3])
def test_a_file_that_cannot_be_opened_for_want_of_descriptors_is_not_damaged(spare):
    """SQLite gives no other reason than that it cannot open the file."""
    with few_descriptors(spare):
        assert chroma.will_pass(CANNOT_OPEN)
    assert not chroma.will_pass(CANNOT_OPEN)


def test_the_index_survives_a_moment_without_descriptors(tmp_path):
    """Thirty threads ask at once with twelve descriptors; afterwards the same index answers."""
    paths = os.pathsep.join(filter(None, sys.path))
    command = [sys.executable, "-c", THREADS, str(tmp_path / "store")]
    ran = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
