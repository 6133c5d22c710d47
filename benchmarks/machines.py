"""Do several machines with one database keep what they acknowledged, and each tenant to itself?

    python benchmarks/machines.py [--minutes 10] [--every 30] [--tenants 64] [--clients 8]
                                  [--embedder default] [--json OUT]

Two machines, which are folders and ports of this one, each run ``memento serve --workers 2`` on one
PostgreSQL database; the long tier is on a Chroma server. Clients add, ask, list, correct and forget
for their tenants, mostly at the machine that a router would choose. Every so many seconds one is
killed with SIGKILL, in turns: a worker, every process of the database, Chroma. What was killed is
started again. At the end the store is opened once more and compared with what was acknowledged.

The exit status is 0 if nothing acknowledged is lost, nothing came twice, and no tenant ever saw a
text of another; also if the service did not answer again after each kill, it is 1. Needs the
PostgreSQL and the Chroma of the tests.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from typing import Any

import httpx
from common import table, write_json

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import postgres
from chroma_host import ChromaHost, free_port

from memento import MemoryManager
from memento.errors import MementoError
from memento.remote.client import connect
from memento.resident import tokens

MACHINES = 2
ELSEWHERE = 0.1
"""Share of the calls that go to another machine than the one of their tenant."""
SUBJECTS = ("ferry", "harbour", "lantern", "orchard", "violin", "glacier", "market", "compass")
MOST_SECONDS = 60.0
"""A call that fails for so long ends the run: the service did not come back."""


class Machine:
    """One ``memento serve`` with two workers, in a folder of its own."""

    def __init__(self, folder: Path, address: str, environ: dict[str, str], embedder: str) -> None:
        self.port = free_port()
        self._log = (folder.parent / f"{folder.name}.log").open("w")
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "memento", "serve", "--workers", "2", "--rate", "0"),
                *("--root", address, "--embedder", embedder, "--no-page"),
                *("--listen", f"127.0.0.1:{self.port}"),
            ],
            env={**environ, "MEMENTO_CACHE": str(folder)},
            stdout=self._log,
            stderr=self._log,
        )

    def ready(self) -> None:
        """Wait until it answers."""
        ends = time.monotonic() + 2 * MOST_SECONDS
        while time.monotonic() < ends:
            with suppress(httpx.HTTPError):
                if httpx.get(f"http://127.0.0.1:{self.port}/readyz", timeout=5).is_success:
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError("a machine does not serve")

    def workers(self) -> list[int]:
        """Return the processes of its workers."""
        own = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [int(one) for one in own if b"spawn_main" in _command(one)]

    def end(self) -> int:
        """Ask it to end, if it runs; returns its status."""
        if self.process.returncode is not None:
            return self.process.returncode
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(MOST_SECONDS)
        except subprocess.TimeoutExpired:  # the exit status tells; the store is looked at anyway
            self.process.kill()
            status = self.process.wait()
        self._log.close()
        return status


def _command(process: str) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes()
    return b""


class Tenant:
    """What one tenant was told, and what it must never see."""

    def __init__(self, number: int, token: str) -> None:
        self.number, self.token = number, token
        self.tag = f"tenant{number:03}"
        self.lock = threading.Lock()
        self.kept: dict[str, str] = {}
        """Acknowledged memories that are active, by id."""
        self.unsure: set[str] = set()
        """Ids of calls that were given up."""
        self.count = 0


class Load:
    """The clients, and what became of their calls."""

    def __init__(self, machines: list[Machine], tenants: list[Tenant]) -> None:
        self.machines, self.tenants = machines, tenants
        self.stop = threading.Event()
        self.took: dict[str, list[float]] = {}
        self.crossings: list[str] = []
        self.failed: Counter[str] = Counter()
        self.gone_back: list[str] = []
        self.longest_outage = 0.0
        self._lock = threading.Lock()

    def run(self, seed: int) -> None:
        """Make one call after the other until all is over."""
        dice = random.Random(seed)
        clients: dict[tuple[int, int], Any] = {}
        while not self.stop.is_set():
            tenant = dice.choice(self.tenants)
            at = tenant.number % MACHINES
            if dice.random() < ELSEWHERE:
                at = (at + 1) % MACHINES
            key = at, tenant.number
            if key not in clients:
                url = f"http://127.0.0.1:{self.machines[at].port}"
                clients[key] = connect(url, token=tenant.token, timeout=20)
            kind = dice.choices(["add", "retrieve", "list", "forget"], [50, 40, 6, 4])[0]
            with tenant.lock:  # so that what must be there is known
                self._one(kind, tenant, clients[key], dice)
        for one in clients.values():
            one.close()

    def _one(self, kind: str, tenant: Tenant, memory: Any, dice: random.Random) -> None:
        call = getattr(self, kind)(tenant, memory, dice)
        began = time.monotonic()
        while not self.stop.is_set():
            tried = time.monotonic()
            try:
                call()
            except (MementoError, OSError) as error:
                with self._lock:
                    self.failed[type(error).__name__] += 1
                    self.longest_outage = max(self.longest_outage, time.monotonic() - began)
                if time.monotonic() - began > MOST_SECONDS:
                    raise
                time.sleep(0.1)
                continue
            with self._lock:
                self.took.setdefault(kind, []).append(time.monotonic() - tried)
            return

    def _see(self, tenant: Tenant, hits: Any) -> list[str]:
        for one in hits:
            if tenant.tag not in one.text:
                self.crossings.append(f"{tenant.tag} saw {one.text!r}")
        return [one.id for one in hits]

    def add(self, tenant: Tenant, memory: Any, dice: random.Random) -> Any:
        """Add a memory; the same id each time, so that it comes once."""
        tenant.count += 1
        name, about = f"{tenant.tag}-{tenant.count}", " and the ".join(dice.sample(SUBJECTS, 3))
        text = f"{tenant.tag} saw the {about}, number {tenant.count}"
        tier = dice.choice(["medium", "long"])
        tenant.unsure.add(name)

        def call() -> None:
            memory.add(text, tier, id=name)
            tenant.kept[name] = text
            tenant.unsure.discard(name)

        return call

    def retrieve(self, tenant: Tenant, memory: Any, dice: random.Random) -> Any:
        """Ask by meaning and words."""
        question = f"where is the {dice.choice(SUBJECTS)}"
        return lambda: self._see(tenant, memory.retrieve(question, k=8))

    def list(self, tenant: Tenant, memory: Any, _: random.Random) -> Any:
        """Look at the newest: what was acknowledged is there at once, on every machine."""

        def call() -> None:
            seen = self._see(tenant, memory.list(limit=10_000))
            if lost := tenant.kept.keys() - seen:
                self.gone_back += [f"{tenant.tag} did not see {sorted(lost)[:3]}"]

        return call

    def forget(self, tenant: Tenant, memory: Any, dice: random.Random) -> Any:
        """Forget one."""
        name = dice.choice([*tenant.kept]) if tenant.kept else None

        def call() -> None:
            if name is not None:
                memory.forget(name)
                tenant.kept.pop(name, None)

        if name is not None:
            tenant.unsure.add(name)
        return call


class Faults:
    """Kills in turns, and starts again what nothing else does."""

    def __init__(self, machines: list[Machine], server: postgres.Server, host: ChromaHost) -> None:
        self._machines, self._server, self._host = machines, server, host
        self._turns = [self.worker, self.database, self.chroma]
        self.done: Counter[str] = Counter()

    def next(self, dice: random.Random) -> str:
        """Kill the next one; returns its name."""
        turn = self._turns[sum(self.done.values()) % len(self._turns)]
        turn(dice)
        self.done[turn.__name__] += 1
        return turn.__name__

    def worker(self, dice: random.Random) -> None:
        """Kill a worker; its parent starts another."""
        if own := dice.choice(self._machines).workers():
            os.kill(dice.choice(own), signal.SIGKILL)

    def database(self, _: random.Random) -> None:
        """Kill every process of the database, and start it again."""
        head = int((self._server.data / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{head}/task/{head}/children").read_text().split()
        for one in (head, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        ends = time.monotonic() + MOST_SECONDS
        while True:
            time.sleep(0.5)
            try:
                self._server.start()
            except subprocess.CalledProcessError:
                if time.monotonic() > ends:
                    raise
            else:
                return

    def chroma(self, _: random.Random) -> None:
        """Kill Chroma, and start it again a moment later."""
        self._host.kill()
        time.sleep(3)
        self._host.start()


def checked(address: str, tenants: list[Tenant]) -> tuple[list[str], list[str], int]:
    """Open the store anew; returns what is lost, what is there twice, and how many are there."""
    lost, twice, there = [], [], 0
    with MemoryManager(address, embedder=None) as memory:
        for one in tenants:
            found = memory.of("t", one.tag).list(limit=1_000_000)
            there += len(found)
            have = {each.id: each.text for each in found}
            for name, text in one.kept.items():
                if name not in one.unsure and have.get(name) != text:
                    lost.append(name)
            twice += [text for text, n in Counter(each.text for each in found).items() if n > 1]
            strange = [each.text for each in found if one.tag not in each.text]
            assert not strange, strange[:3]
    return lost, twice, there


def main() -> int:
    """Run it and print what came of it; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument(
        "--every", type=float, default=30.0, help="seconds from one kill to the next"
    )
    parser.add_argument("--tenants", type=int, default=64)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--embedder", default="default")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if reason := postgres.missing():
        parser.error(reason)
    with TemporaryDirectory(prefix="machines-") as folder:
        return _run(Path(folder), options)


def _run(folder: Path, options: argparse.Namespace) -> int:
    with ExitStack() as started:
        server = started.enter_context(postgres.Server())
        host = ChromaHost(folder / "chroma")
        started.callback(host.kill)
        address = server.address()
        os.environ["MEMENTO_CACHE"] = str(folder / "checker")
        with MemoryManager(address, embedder=None), tokens.kept_at(address) as kept:
            tenants = [
                Tenant(n, tokens.add(kept, f"t{n}", namespace=f"t/tenant{n:03}", trust="user"))
                for n in range(options.tenants)
            ]
        environ = os.environ | {"MEMENTO_CHROMA_URL": host.url, "MEMENTO_LONG_INDEX": "chroma"}
        machines = []
        for n in range(MACHINES):
            machines.append(Machine(folder / f"machine{n}", address, environ, options.embedder))
            started.callback(machines[-1].end)
        for one in machines:
            one.ready()
        load, faults = Load(machines, tenants), Faults(machines, server, host)
        came_back = _through(load, faults, options)
        statuses = [one.end() for one in machines]
        lost, twice, there = checked(address, tenants)
        return _told(load, faults, options, came_back, statuses, lost, twice, there)


def _through(load: Load, faults: Faults, options: argparse.Namespace) -> bool:
    """Call and kill for as long as is asked; tells whether the service always came back."""
    dice = random.Random(options.seed)
    threads = [
        threading.Thread(target=load.run, args=(n,), daemon=True) for n in range(options.clients)
    ]
    for one in threads:
        one.start()
    ends = time.monotonic() + 60 * options.minutes
    while (left := ends - time.monotonic()) > 0 and all(one.is_alive() for one in threads):
        time.sleep(min(options.every, left))
        if ends - time.monotonic() > options.every / 2:
            name = faults.next(dice)
            print(f"killed: {name}; {sum(map(len, load.took.values()))} calls", flush=True)
    came_back = all(one.is_alive() for one in threads)
    load.stop.set()
    for one in threads:
        one.join()
    return came_back


def _told(
    load: Load,
    faults: Faults,
    options: argparse.Namespace,
    came_back: bool,
    statuses: list[int],
    lost: list[str],
    twice: list[str],
    there: int,
) -> int:
    rows = []
    for kind, took in sorted(load.took.items()):
        cut = quantiles(took, n=100) if len(took) > 1 else [0.0] * 99
        rows.append([kind, str(len(took)), *(f"{1000 * cut[at]:.0f}" for at in (49, 89, 98))])
    print(table(["call", "answered", "p50 ms", "p90 ms", "p99 ms"], rows))
    acknowledged = sum(len(one.kept) for one in load.tenants)
    print(
        f"kills {dict(faults.done)}; {there} memories, {acknowledged} acknowledged and not"
        f" forgotten: {len(lost)} lost, {len(twice)} twice; {len(load.gone_back)} lists lacked"
        f" one; {len(load.crossings)} crossings; calls that failed and were repeated:"
        f" {dict(load.failed)}, for {load.longest_outage:.1f} s at most; ends {statuses}"
    )
    for one in [*lost[:5], *twice[:5], *load.crossings[:5], *load.gone_back[:5]]:
        print("  ", one)
    fine = not (lost or twice or load.crossings or load.gone_back) and came_back
    if options.json:
        bad = {"lost": len(lost), "twice": len(twice), "crossings": len(load.crossings)}
        write_json(options.json, {"rows": rows, **bad})
    return 0 if fine and not any(statuses) else 1


if __name__ == "__main__":
    sys.exit(main())
