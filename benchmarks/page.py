"""What each page weighs and costs in a large store.

    python benchmarks/page.py [--memories 100000] [--rounds 9] [--root DIR]

It starts ``memento serve`` on a store of so many memories, comes in as ``memento open`` does, and
loads each page by a kept connection. Bytes are those of a whole answer, headers included. Exit
status 1 if a floor is missed: a search of at most 60 kB with its first byte after 150 ms, a page
of links of at most 100 kB. With ``--root``, the store is kept, and used again.
"""

from __future__ import annotations

import argparse
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from time import perf_counter
from urllib.parse import quote

from serve import hexadecimal, running, service, spent

from memento import MemoryManager
from memento.serve.page.door import code_for

SEARCH_KB, SEARCH_MS, LINKS_KB = 60.0, 150.0, 100.0
LINKED = 300
"""Memories linked to the one that is asked for, each with another one behind it."""


def filled(root: Path, count: int) -> str:
    """Fill a store that is empty; returns the id of a memory with many links."""
    with MemoryManager(root, embedder=None) as memory:
        if not memory.store.stats().memories:
            for first in range(0, count, 5_000):
                memory.add_many(
                    [
                        {"text": hexadecimal(at), "session": f"talk {at // 40}"}
                        for at in range(first, min(first + 5_000, count))
                    ]
                )
            memory.add("The hub of many links", id="hub")
            for at in range(LINKED):
                near = memory.add(f"Spoke {at} {hexadecimal(at)[:40]}", related="hub")
                memory.add(f"Behind {at} {hexadecimal(at)[40:]}", related=near.id)
            for at in range(100):
                memory.add(f"Offer {hexadecimal(count + at)}", source="web")
        memory.flush(wait=True)
    return "hub"


def free_port() -> int:
    """Return a port that nobody has."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def loaded(opened: HTTPConnection, path: str, cookie: str) -> tuple[int, float]:
    """Load a page; returns its bytes, and the milliseconds to the first of them."""
    began = perf_counter()
    opened.request("GET", path, headers={"Cookie": cookie})
    answer = opened.getresponse()
    first = 1_000 * (perf_counter() - began)
    head = sum(len(name) + len(value) + 4 for name, value in answer.getheaders())
    body = answer.read()
    assert answer.status == 200, (path, body[:200])
    return head + len(body), first


def measured(root: Path, count: int, rounds: int) -> Iterator[tuple[str, float, float, float]]:
    """Load each page so often; yields its name, kB, milliseconds and CPU milliseconds."""
    hub = filled(root, count)
    word = hexadecimal(count // 2).split()[-1]
    search = f"/?q={quote(f'note {count // 2} {word}')}"
    pages = {
        "search": search, "first page": "/", "memory": f"/m/{hub}", "links": f"/links?m={hub}",
        "timeline": "/timeline", "compare": "/compare", "changes": "/changes", "inbox": "/inbox",
        "rules": "/rules", "sessions": "/sessions", "session": "/session?id=talk%201",
        "health": "/health", "playground": f"/playground?q={quote(word)}",
    }  # fmt: skip
    port = free_port()
    with (
        running(service(root, port), port) as served,
        closing(HTTPConnection("127.0.0.1", port)) as opened,
    ):
        opened.request("POST", "/enter", f"code={code_for(root)}")
        answer = opened.getresponse()
        answer.read()
        cookie = answer.headers["Set-Cookie"].split(";")[0]
        for name, path in pages.items():
            loaded(opened, path, cookie)  # what a first question reads is kept
            before = spent(served.pid)
            found = [loaded(opened, path, cookie) for _ in range(rounds)]
            used = 1_000 * (spent(served.pid) - before) / rounds
            yield name, found[0][0] / 1_000, median(one[1] for one in found), used


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--root", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'page':12}{'kB':>8}{'ms to the first byte':>22}{'CPU ms':>8}")
        of = {}
        for name, kb, ms, cpu in measured(asked.root or Path(folder), asked.memories, asked.rounds):
            print(f"{name:12}{kb:8.1f}{ms:22.1f}{cpu:8.1f}", flush=True)
            of[name] = kb, ms
    held = of["search"][0] <= SEARCH_KB and of["search"][1] <= SEARCH_MS
    return 0 if held and of["links"][0] <= LINKS_KB else 1


if __name__ == "__main__":
    sys.exit(main())
