"""How often is the disk asked to make it last? fsyncs of ``add`` and of ``add_many(1000)``.

    python benchmarks/fsyncs.py [--json OUT]

Counted by strace, on the calling thread and in the whole process, with the indexer off
(``embedder=None``) and on. Needs strace.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from common import EMBEDDERS, child_environment, embedder_named, table, write_json
from corpus import Corpus

from memento import MemoryManager

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ADDS = 20
BATCH = 1_000
TRACED = "trace=fsync,fdatasync,?access,?faccessat,?faccessat2"
MARK = "/memento-mark-"
_LINE = re.compile(rf'^(\d+) .*?(?:(f(?:data)?sync)\(|"{MARK}(\w+)")')


def measure(embedder: str) -> dict[str, dict[str, float]]:
    """Count the fsyncs of a child process.

    Args:
        embedder: One of EMBEDDERS.

    Returns:
        ``add`` and ``add_many`` to fsyncs a call: ``caller`` on the calling thread, ``process``
        in all threads.

    Raises:
        subprocess.CalledProcessError: If strace or the child failed.
    """
    with TemporaryDirectory(prefix="memento-fsyncs-") as folder:
        log = Path(folder, "strace.log")
        child = [sys.executable, __file__, "--child", f"{folder}/store", "--embedder", embedder]
        strace = ["strace", "-f", "--seccomp-bpf", "-qq", "-e", TRACED, "-o", str(log)]
        subprocess.run([*strace, *child], check=True, env=child_environment())
        return counted(log.read_text().splitlines())


def counted(lines: Iterable[str]) -> dict[str, dict[str, float]]:
    """Count fsyncs between the marks of a strace log.

    Args:
        lines: Lines that begin with a thread id. A mark is made by the calling thread: it opens
            the phase it names, and ``end`` closes it.
    """
    phase, caller = "end", ""
    counts: dict[str, Counter[str]] = {"add": Counter(), "add_many": Counter()}
    for line in lines:
        found = _LINE.match(line)
        if found is None:
            continue
        thread, _, mark = found.groups()
        if mark:
            phase, caller = mark, thread
        elif phase != "end":
            counts[phase]["process"] += 1
            counts[phase]["caller"] += thread == caller
    calls = {"add": ADDS, "add_many": 1}
    return {
        name: {who: counts[name][who] / calls[name] for who in ("caller", "process")}
        for name in counts
    }


def mark(phase: str) -> None:
    """Leave a trace in the log: a call that fails and is seen."""
    os.access(f"{MARK}{phase}", os.F_OK)


def work(root: str, embedder: str) -> None:
    """Add memories between marks; the first ones, which open files, before them."""
    corpus = Corpus()
    with MemoryManager(root=root, embedder=embedder_named(embedder)) as memory:
        for text in corpus.texts(5):
            memory.add(text)
        memory.flush(wait=True)
        mark("add")
        for text in corpus.texts(ADDS):
            memory.add(text)
        mark("end")
        memory.flush(wait=True)
        batch = corpus.texts(BATCH)
        mark("add_many")
        memory.add_many(batch)
        mark("end")


def main(arguments: Sequence[str] | None = None) -> None:
    """Count and print, or be the child that is counted."""
    parser = argparse.ArgumentParser(description="fsyncs of add and add_many")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the result there")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--embedder", choices=EMBEDDERS, default="none", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        work(options.child, options.embedder)
        return
    if shutil.which("strace") is None:
        sys.exit("strace is not installed: nothing counted")
    results = {embedder: measure(embedder) for embedder in ("none", "default")}
    rows = [
        (
            f"{call}{'(1000)' * (call == 'add_many')}, embedder {embedder}",
            *map("{:g}".format, n.values()),
        )
        for embedder, calls in results.items()
        for call, n in calls.items()
    ]
    print(table(["fsyncs a call", "calling thread", "whole process"], rows))
    write_json(options.json, results)


if __name__ == "__main__":
    main()
