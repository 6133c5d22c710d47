"""What an agent was told is kept, though the process that agents share is killed.

Each round an agent says many calls to ``memento mcp`` at once, and the process behind it is killed
while they are carried out. The null control takes what was said for what was done: then memories
are missing.

Alone: ``python benchmarks/trust.py --full --only resident``.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from common import child_environment
from trust_result import TrustResult

from memento import MemoryManager
from memento.resident.client import Unreachable, call

ROUNDS = {False: 3, True: 60}
CALLS = 25
SECONDS = 120.0


class Agent:
    """An agent at ``memento mcp``, which says all its calls at once."""

    def __init__(self, root: Path, number: int) -> None:
        words = ["--root", str(root), "--embedder", "none"]
        self._root = root
        self._process = subprocess.Popen(
            [sys.executable, "-m", "memento", "mcp", *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=child_environment() | {"XDG_RUNTIME_DIR": os.environ["XDG_RUNTIME_DIR"]},
        )  # fmt: skip
        self.texts = [f"Shelf {n} of aisle {number} holds box {number}-{n}" for n in range(CALLS)]
        for n, text in enumerate(self.texts):
            params = {"name": "remember", "arguments": {"text": text}}
            message = {"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params}
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def hear(self, count: int) -> list[str]:
        """Return the texts that the next answers say are kept."""
        answers = [json.loads(self._process.stdout.readline() or "{}") for _ in range(count)]
        return [
            self.texts[one["id"]]
            for one in answers
            if "Remembered" in str(one.get("result")) or "Known already" in str(one.get("result"))
        ]

    def kill_the_process(self) -> None:
        """Kill the process that carries out the calls, as soon as there is one."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                pid = call(self._root, {"call": "status"}, seconds=5)["pid"]
            except Unreachable:
                continue
            os.kill(pid, signal.SIGKILL)
            return

    def end(self) -> None:
        """End it, without a word."""
        self._process.kill()
        self._process.communicate()


def agents_lose_nothing(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Kill the shared process while calls are carried out, and look for what was answered."""
    throws, told, said = random.Random(seed), set[str](), set[str]()
    unanswered = 0
    with (
        TemporaryDirectory(prefix="memento-sockets-") as sockets,
        patch.dict(os.environ, {"XDG_RUNTIME_DIR": sockets}),
    ):
        for number in range(ROUNDS[full]):
            agent = Agent(folder / "store", number)
            heard = agent.hear(before := throws.randrange(CALLS))
            agent.kill_the_process()
            heard += agent.hear(CALLS - before)
            agent.end()
            unanswered += CALLS - len(heard)
            told.update(heard)
            control = Agent(folder / "control", number)
            control.kill_the_process()
            control.end()
            said.update(control.texts)
        for root in (folder / "store", folder / "control"):
            _stop(root)
    kept = [_texts(folder / name) for name in ("store", "control")]
    lost = told - kept[0]
    return TrustResult(
        name="the process that agents share is killed",
        promise="Each call of an agent is answered, and what it was told is kept, though the"
        " process that the agents of a store share is killed while it carries out calls.",
        cases=ROUNDS[full] * CALLS,
        failures=len(lost) + unanswered,
        control="an agent that takes what it has said for what is done",
        control_failed=bool(said - kept[1]),
        seed=seed,
        figures={
            "kills": ROUNDS[full], "answered": len(told), "lost": len(lost),
            "lost by the control": len(said - kept[1]),
        },
        details=tuple(sorted(lost)[:10]),
    )  # fmt: skip


def _stop(root: Path) -> None:
    try:
        pid = call(root, {"call": "stop"}, seconds=5)["pid"]
    except Unreachable:
        return
    end = time.monotonic() + SECONDS
    while Path(f"/proc/{pid}").exists() and time.monotonic() < end:
        time.sleep(0.01)


def _texts(root: Path) -> set[str]:
    with MemoryManager(root, embedder=None) as memory:
        return {one.text for one in memory.list(limit=10_000)}


HARNESSES = (agents_lose_nothing,)
