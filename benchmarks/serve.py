"""How fast a service answers over loopback: adds and searches, from one and from 16 connections.

    python benchmarks/serve.py [--seconds 5] [--memories 10000]

It starts ``memento serve`` on a new store and sends real requests by kept connections, one at a
time on each. Figures are of one machine and one moment; the ratio of a row to the same call in the
process of the service says more. Exit status 1 if a floor is missed: p50 of an add 2 ms on one
connection, 1,000 durable adds a second on 16.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from statistics import median, quantiles

from memento import MemoryManager
from memento.resident import tokens

P50, ADDS = 2.0, 1_000.0


def text_of(number: int) -> str:
    """Return a text of words that no person writes, which few others have."""
    name = sha256(str(number).encode()).hexdigest()
    return f"note {number}: " + " ".join(name[at : at + 4] for at in range(0, 32, 4))


def asked(
    port: int,
    token: str,
    path: str,
    body_of: Callable[[int], dict[str, str]],
    seconds: float,
    connections: int,
) -> list[float]:
    """Send calls for some seconds; returns the duration of each, seconds."""
    took: list[float] = []
    end = time.perf_counter() + seconds
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def one(first: int) -> None:
        opened = http.client.HTTPConnection("127.0.0.1", port)
        number, own = first * 1_000_000, []
        while (began := time.perf_counter()) < end:
            opened.request("POST", path, json.dumps(body_of(number)), headers)
            answer = opened.getresponse()
            read = answer.read()
            assert answer.status == 200, read
            own.append(time.perf_counter() - began)
            number += 1
        took.extend(own)

    threads = [threading.Thread(target=one, args=(at + 1,)) for at in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took


def started(root: Path, port: int) -> subprocess.Popen[bytes]:
    """Start a service, and wait until it answers."""
    words = ["serve", "--root", str(root), "--embedder", "none", "--listen", str(port)]
    running = subprocess.Popen([sys.executable, "-m", "memento", *words, "--rate", "0"])
    for _ in range(200):
        try:
            opened = http.client.HTTPConnection("127.0.0.1", port)
            opened.request("GET", "/readyz")
            if opened.getresponse().status == 200:
                return running
        except OSError:
            time.sleep(0.05)
    raise SystemExit("the service did not start")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--port", type=int, default=18_765)
    options = parser.parse_args()
    floors = {}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "store")
        with MemoryManager(root, embedder=None) as memory:
            for first in range(0, options.memories, 1000):
                memory.add_many([text_of(first + at) for at in range(1000)])
            memory.flush(wait=True)
            began = time.process_time()
            for number in range(100):
                memory.retrieve(text_of(number * 7), record=False)
            alone = (time.process_time() - began) * 10
        token = tokens.add(root, "bench", namespace="default", trust="user")
        running = started(root, options.port)
        print(f"{'':28}{'calls/s':>9}{'p50 ms':>9}{'p99 ms':>9}{'CPU ms':>9}")
        for name, path, body_of, connections in (
            ("add, 1 connection", "/v1/add", lambda n: {"text": text_of(n)}, 1),
            ("add, 16 connections", "/v1/add", lambda n: {"text": text_of(n)}, 16),
            ("search, 1 connection", "/v1/retrieve", lambda n: {"query": text_of(n % 7919)}, 1),
            ("search, 16 connections", "/v1/retrieve", lambda n: {"query": text_of(n % 7919)}, 16),
        ):
            before = spent(running.pid)
            took = asked(options.port, token, path, body_of, options.seconds, connections)
            cpu = (spent(running.pid) - before) / len(took) * 1000
            p50, p99 = median(took) * 1000, quantiles(took, n=100)[98] * 1000
            rate = len(took) / options.seconds
            print(f"{name:28}{rate:9.0f}{p50:9.2f}{p99:9.2f}{cpu:9.2f}")
            floors[name] = (rate, p50)
        running.terminate()
        status = running.wait()
    print(f"the same search in process   {alone:.2f} ms CPU; exit status of the service {status}")
    fast = floors["add, 1 connection"][1] <= P50
    many = floors["add, 16 connections"][0] >= ADDS
    return 0 if fast and many and status == 0 else 1


def spent(pid: int) -> float:
    """Return the CPU time of a process so far, seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
