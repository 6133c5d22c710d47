"""How fast a service answers over loopback: adds and searches, from one and from 16 connections.

    python benchmarks/serve.py [--seconds 5] [--memories 10000] [--chroma] [--minutes 10] [--flood]

It starts ``memento serve`` on a new store and sends real requests by kept connections, one at a
time on each. Figures are of one machine and one moment, and "CPU" is that of the service; compare
rows of one run. Exit status 1 if a floor is missed: p50 of an add 2 ms on one connection, 1,000
durable adds a second on 16.

``--flood`` instead asks a short question ten times a second, alone and while another token sends
heavy searches from 24 connections, as often as the default limits let it.

``--chroma`` sends the same number of texts, with vectors, to Chroma's HTTP server. ``--minutes``
sends searches and adds, nine to one, at 80 % of what was answered before, and holds memory to
growth of 10 % after the first quarter. Services that are killed are a row of ``trust.py``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

from corpus import Corpus

from memento import MemoryManager
from memento.resident import tokens

P50, ADDS = 2.0, 1_000.0
SHARE, GROWTH = 0.8, 1.1
DIMENSION = 384


def hexadecimal(number: int) -> str:
    """Return a text of words that no person writes, and few others have."""
    name = sha256(str(number).encode()).hexdigest()
    return f"note {number}: " + " ".join(name[at : at + 4] for at in range(0, 32, 4))


class Calls(NamedTuple):
    """What is called, and the place.

    Attributes:
        port: Port on the loopback interface.
        request: Makes a request from its number.
    """

    port: int
    request: Callable[[int], bytes]


def calls_of(port: int, path: str, body: Callable[[int], object], token: str = "") -> Calls:
    """Return calls of one path; the body of each is sent as JSON."""
    key = f"Authorization: Bearer {token}\r\n" if token else ""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{key}"

    def request(number: int) -> bytes:
        said = json.dumps(body(number)).encode()
        kind = f"Content-Type: application/json\r\nContent-Length: {len(said)}\r\n\r\n"
        return (head + kind).encode() + said

    return Calls(port, request)


class Connection:
    """A connection that is kept. It takes less time than a client, which the service has not."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, request: bytes) -> bytes:
        """Send a request, and return the body of the answer.

        Raises:
            ConnectionError: If none comes.
            AssertionError: If it is an error.
        """
        self._socket.sendall(request)
        got = b""
        while b"\r\n\r\n" not in got:
            got += self._more()
        head, _, body = got.partition(b"\r\n\r\n")
        assert head.split(b" ", 2)[1][:1] == b"2", got
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        while len(body) < length:
            body += self._more()
        return body

    def _more(self) -> bytes:
        if not (got := self._socket.recv(65_536)):
            raise ConnectionError
        return got


def asked(
    calls: Calls, seconds: float, connections: int, rate: float = 0.0, first: int = 1
) -> list[float]:
    """Send calls for some seconds; returns the duration of each, seconds.

    Args:
        calls: What to call.
        seconds: For how long.
        connections: How many send, each one call at a time.
        rate: Calls a second of all together; 0 for as many as are answered.
        first: Number of the first call, in millions: each number is sent once.
    """
    took: list[float] = []
    began = time.perf_counter()

    def one(at: int) -> None:
        own: list[float] = []
        opened, number = Connection(calls.port), (first + at) * 1_000_000
        while (now := time.perf_counter()) < began + seconds:
            due = began + len(own) * connections / rate if rate else now
            if due > now:
                time.sleep(due - now)
                continue
            opened.send(calls.request(number))
            own.append(time.perf_counter() - now)
            number += 1
        took.extend(own)

    threads = [threading.Thread(target=one, args=(at,)) for at in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took


@contextmanager
def running(words: list[str], port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Start a server, wait until it takes connections, and end it."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            time.sleep(0.05)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def service(root: Path, port: int, rate: int = 0) -> list[str]:
    """Return the words that start a service."""
    words = ["serve", "--root", str(root), "--embedder", "none", "--listen", str(port)]
    return [sys.executable, "-m", "memento", *words, "--rate", str(rate)]


def row(
    name: str,
    process: subprocess.Popen[bytes],
    calls: Calls,
    seconds: float,
    n: int,
    rate: float = 0.0,
) -> Row:
    """Measure and print one row."""
    before = spent(process.pid)
    took = asked(calls, seconds, n, rate)
    cpu = (spent(process.pid) - before) / len(took) * 1000
    found = Row(len(took) / seconds, median(took) * 1000, quantiles(took, n=100)[98] * 1000)
    print(f"{name + f', {n}':30}{found.rate:9.0f}{found.p50:9.2f}{found.p99:9.2f}{cpu:9.2f}")
    return found


class Row(NamedTuple):
    """Calls a second, and milliseconds of a call."""

    rate: float
    p50: float
    p99: float


def resident(pid: int) -> int:
    """Return the memory of a process, bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def spent(pid: int) -> float:
    """Return the CPU time of a process so far, seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def soaked(process: subprocess.Popen[bytes], mixed: Calls, minutes: float) -> bool:
    """Send calls at `SHARE` of what is answered; returns whether memory stayed as it was."""
    most = len(asked(mixed, 10.0, 16, first=100)) / 10.0
    sizes: list[int] = []
    over = threading.Event()

    def watch() -> None:
        while not over.wait(minutes * 60 / 40):
            sizes.append(resident(process.pid))

    watching = threading.Thread(target=watch)
    watching.start()
    took = asked(mixed, minutes * 60, 16, rate=most * SHARE, first=200)
    over.set()
    watching.join()
    early, late = max(sizes[: len(sizes) // 4]), max(sizes[len(sizes) // 4 :])
    print(
        f"{minutes:g} minutes at {len(took) / minutes / 60:.0f} of {most:.0f} calls a second:"
        f" p99 {quantiles(took, n=100)[98] * 1000:.0f} ms, no error,"
        f" memory {early >> 20} MiB, then at most {late >> 20} MiB"
    )
    return late <= early * GROWTH


def flooded(root: Path, port: int, questions: list[str], seconds: float) -> None:
    """Measure a short question alone, and beside heavy searches of another token."""
    short, flood = (
        tokens.add(root, name, namespace="default", rights="read") for name in ("short", "flood")
    )
    calls = calls_of(port, "/v1/retrieve", lambda n: {"query": questions[n % 4900]}, short)
    long = " ".join(questions)[:4000]
    heavy = calls_of(port, "/v1/retrieve", lambda _: {"query": long, "k": 1000}, flood)
    over = threading.Event()

    def send() -> None:
        opened = Connection(port)
        while not over.is_set():
            try:
                opened.send(heavy.request(0))
            except AssertionError:  # too many calls
                opened = Connection(port)
                over.wait(0.05)

    with running(service(root, port, 20), port) as process:
        asked(calls, 1.0, 1, rate=10)
        print(f"{'calls, connections':30}{'calls/s':>9}{'p50 ms':>9}{'p99 ms':>9}{'CPU ms':>9}")
        alone = row("short question, alone", process, calls, seconds, 1, rate=10)
        senders = [threading.Thread(target=send) for _ in range(24)]
        for sender in senders:
            sender.start()
        beside = row("short question, beside", process, calls, seconds, 1, rate=10)
        over.set()
        for sender in senders:
            sender.join()
    print(f"beside a flood, a short question takes {beside.p50 / alone.p50:.1f} times as long")


def chroma(folder: Path, port: int, texts: list[str], seconds: float) -> None:
    """Measure Chroma's server, with vectors that cost nothing."""
    words = ["chroma", "run", "--path", str(folder), "--port", str(port)]
    place = "/api/v2/tenants/default_tenant/databases/default_database/collections"
    random_ = random.Random(1)

    def vector() -> list[float]:
        return [random_.uniform(-1, 1) for _ in range(DIMENSION)]

    def added(number: int) -> object:
        text = texts[number % len(texts)]
        return {"ids": [f"{number}"], "documents": [text], "embeddings": [vector()]}

    with running(words, port) as process:
        made = Connection(port).send(calls_of(port, place, lambda _: {"name": "bench"}).request(0))
        where = f"{place}/{json.loads(made)['id']}"
        for n in (1, 16):
            row("Chroma: add", process, calls_of(port, f"{where}/add", added), seconds, n)
        query = calls_of(port, f"{where}/query", lambda _: {"query_embeddings": [vector()]})
        for n in (1, 16):
            row("Chroma: query", process, query, seconds, n)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--port", type=int, default=18_765)
    parser.add_argument("--chroma", action="store_true")
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--flood", action="store_true")
    options = parser.parse_args()
    seconds, port = options.seconds, options.port
    corpus = Corpus(1)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "store")
        with MemoryManager(root, embedder=None) as memory:
            for _ in range(0, options.memories, 1000):
                memory.add_many(corpus.texts(1000))
            memory.flush(wait=True)
            questions = corpus.questions(5000)
            began = time.process_time()
            for question in questions[-100:]:
                memory.retrieve(question, record=False)
            alone = (time.process_time() - began) * 10
        if options.flood:
            flooded(root, port, questions, seconds)
            return 0
        token = tokens.add(root, "bench", namespace="default", trust="user")
        texts = corpus.texts(100_000)
        fresh = iter(texts)
        calls = {
            "search": calls_of(
                port, "/v1/retrieve", lambda n: {"query": questions[n % 4900]}, token
            ),
            "add": calls_of(port, "/v1/add", lambda _: {"text": next(fresh)}, token),
            "add, no person's words": calls_of(
                port, "/v1/add", lambda n: {"text": hexadecimal(n)}, token
            ),
        }
        with running(service(root, port), port) as process:
            asked(calls["add"], 1.0, 1)  # what is loaded on first use
            print(f"{'calls, connections':30}{'calls/s':>9}{'p50 ms':>9}{'p99 ms':>9}{'CPU ms':>9}")
            found = {
                (name, n): row(name, process, one, seconds, n)
                for name, one in calls.items()
                for n in (1, 16)
            }
            flat = True
            if options.minutes:
                mixed = Calls(port, lambda n: calls["search" if n % 10 else "add"].request(n))
                flat = soaked(process, mixed, options.minutes)
        print(f"a search in process: {alone:.2f} ms CPU; the service ended: {process.returncode}")
        if options.chroma:
            chroma(Path(folder, "chroma"), port + 1, texts, seconds)
    fast = found["add", 1].p50 <= P50
    many = found["add", 16].rate >= ADDS
    return 0 if fast and many and flat and process.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
