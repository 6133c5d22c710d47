"""A Chroma server that is away, wrong or killed: nothing waits for it, is lost, or stays unsaid.

One store in a folder and, where PostgreSQL is installed, one on a server are fed to a Chroma server
of the harness's own. It is made ill in every way, memories are added and questions asked
meanwhile, and it is mended again. Right is what exact search over the same ledger says.

Alone: ``python benchmarks/trust.py --full --only chroma_server``.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from unittest import mock

from trust_result import TrustResult

from memento import Config, MemoryManager
from memento.config import ChromaConfig, IndexConfig
from memento.testing import HashEmbedder

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import postgres
from chroma_host import ChromaHost, Stub

T = TypeVar("T")

ROWS = 120
ADDED = 3
"""Memories added one by one while the server is ill."""
WRITTEN = 400
"""Memories of which it is fed some when it is killed."""
QUESTIONS = 3
MOST_SECONDS = 10.0
"""Longest call on a busy machine; the deadline of a call to the server is `DEADLINE`."""
DEADLINE = 2.0
BACK_SECONDS = 300.0
"""Longest time until a mended server answers again, on a busy machine."""
NEVER = 20.0
"""Deadline of the control."""
WORDS = [a + b + c for a in "bdfgklmnprst" for b in ("an", "el", "or") for c in ("dy", "mu", "sta")]


@dataclass
class Round:
    """A store, its Chroma server, and what became of the promise."""

    memory: MemoryManager
    exact: MemoryManager
    host: ChromaHost
    dice: random.Random
    kept: dict[str, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    longest: float = 0.0
    calls: int = 0

    def timed(self, call: Callable[[], T]) -> T:
        """Call, and note how long it took."""
        began = time.monotonic()
        answer = call()
        self.longest = max(self.longest, time.monotonic() - began)
        self.calls += 1
        return answer

    def add(self, count: int) -> None:
        """Add memories one by one."""
        for _ in range(count):
            text = " ".join(self.dice.sample(WORDS, 5))
            self.kept[self.timed(lambda text=text: self.memory.add(text, "long")).id] = text

    def write(self, count: int) -> None:
        """Add many, which the server is then fed."""
        texts = [" ".join(self.dice.sample(WORDS, 5)) for _ in range(count)]
        stored = self.memory.add_many([{"text": text, "tier": "long"} for text in texts])
        self.kept |= {one.id: one.text for one in stored}

    def ask(self, ill: str) -> str:
        """Compare the answers with those of exact search; return what they say is missing."""
        missing = ""
        for _ in range(QUESTIONS):
            question = " ".join(self.dice.sample(WORDS, 4))
            after = self.due(question)
            before = None
            while before != after:  # vectors are still being stored
                before = after
                found = self.timed(lambda q=question: self.memory.retrieve(q, 5, record=False))
                after = self.due(question)
            if [one.id for one in found] != after:
                self.wrong.append(f"{ill}: another answer to {question!r}")
            missing = found.missing.get("long", missing)
        return missing

    def due(self, question: str) -> list[str]:
        """Return what exact search finds."""
        return [one.id for one in self.exact.retrieve(question, 5, record=False)]

    def until(self, true: Callable[[], object], what: str) -> None:
        """Wait until something is true; note it if it does not come to pass."""
        ends = time.monotonic() + BACK_SECONDS
        while not true():
            if time.monotonic() > ends:
                self.wrong.append(what)
                return
            time.sleep(0.05)

    def settle(self, ill: str) -> None:
        """Wait until the server has everything and answers, and look for what is lost."""
        self.until(lambda: self.memory.flush(wait=True, timeout=5), f"{ill}: not fed again")
        self.until(lambda: self.is_answering(ill), f"{ill}: not in use again, or still named")
        there = {one.id: one.text for one in self.memory.list(limit=1_000_000)}
        self.wrong += [f"{ill}: lost {one}" for one in self.kept.items() - there.items()]

    def is_answering(self, ill: str) -> bool:
        """Return whether questions are answered through the server, and nothing is missing."""
        return not self.ask(f"after {ill}") and self.memory.store.stats().long == "ready"


def _killed(one: Round) -> Callable[[], None]:
    one.host.kill()
    return one.host.start


def _frozen(one: Round) -> Callable[[], None]:
    one.host.freeze()
    return one.host.thaw


def _killed_while_writing(one: Round) -> Callable[[], None]:
    one.write(WRITTEN)
    time.sleep(one.dice.uniform(0.0, 0.5))
    return _killed(one)


def _emptied(one: Round) -> Callable[[], None]:
    one.host.kill()

    def mend() -> None:
        shutil.rmtree(one.host.folder)
        one.host.start()

    return mend


def _replaced(answers: dict[str, str]) -> Callable[[Round], Callable[[], None]]:
    def ill(one: Round) -> Callable[[], None]:
        one.host.kill()
        stub = Stub(answers, one.host.port)

        def mend() -> None:
            stub.end()
            one.host.start()

        return mend

    return ill


ILLS: dict[str, Callable[[Round], Callable[[], None]]] = {
    "killed": _killed,
    "frozen": _frozen,
    "killed while writing": _killed_while_writing,
    "restarted empty": _emptied,
    "replaced by an old version": _replaced({"/version": "1.5.8"}),
    "replaced by something else": _replaced({}),
}
"""Each makes the server ill, and returns what mends it."""


def a_chroma_server_holds_nothing_up(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Make the server ill in every way, and use the store meanwhile."""
    dice, times = random.Random(seed), 2 if full else 1
    ills = ILLS if full else {name: ILLS[name] for name in ("killed while writing", "frozen")}
    wrong, longest, calls, cases = [], 0.0, 0, 0
    for name, root in _places(folder).items():
        with _opened(folder / name, root, dice, DEADLINE) as one:
            for ill in [*ills] * times:
                cases += 1
                mend = ills[ill](one)
                one.add(ADDED)
                one.until(lambda one=one, ill=ill: one.ask(ill), f"{ill}: not named")
                mend()
                one.settle(ill)
        if one.longest > MOST_SECONDS:
            wrong.append(f"{name}: a call of {one.longest:.1f} s")
        wrong += [f"{name}: {what}" for what in one.wrong]
        longest, calls = max(longest, one.longest), calls + one.calls
    with _opened(folder / "control", folder / "control" / "store", dice, NEVER) as control:
        control.host.freeze()
        control.ask("control")
    return TrustResult(
        name="a Chroma server that is away, wrong or killed while it is fed",
        promise="No add and no question waits for a Chroma server longer than its deadline, the"
        " answers are those of exact search, `missing` names the server, nothing is lost, and the"
        " index comes back by itself.",
        cases=cases,
        failures=len(wrong),
        control=f"a deadline of {NEVER:g} s, and a frozen server",
        control_failed=control.longest > MOST_SECONDS,
        seed=seed,
        figures={
            "the ledger is": " and ".join(_places(folder)), "ills": ", ".join(ills),
            "calls meanwhile": calls, "deadline of a call to the server, s": DEADLINE,
            "longest call, s": round(longest, 2),
            "control: longest call, s": round(control.longest, 2),
        },
        details=tuple(wrong[:10]),
        skipped=f"on PostgreSQL: {reason}" if (reason := postgres.missing()) else "",
    )  # fmt: skip


def _places(folder: Path) -> dict[str, Path | str]:
    there: dict[str, Path | str] = {"in a folder": folder / "in a folder" / "store"}
    if not postgres.missing():
        there["on PostgreSQL"] = postgres.server().address("chroma")
    return there


@contextmanager
def _opened(folder: Path, root: Path | str, dice: random.Random, seconds: float) -> Iterator[Round]:
    folder.mkdir()
    host = ChromaHost(folder / "chroma")
    settings = Config(
        chroma=ChromaConfig(url=host.url, call_seconds=seconds),
        long_index="chroma",
        index=IndexConfig(poll_seconds=0.1, retry_seconds=0.2),
    )
    with mock.patch.dict(os.environ, MEMENTO_CACHE=str(folder / "cache")):
        try:
            with (
                MemoryManager(root, embedder=HashEmbedder(64), config=settings) as memory,
                MemoryManager(
                    root, embedder=HashEmbedder(64), config=Config(long_index="exact")
                ) as exact,
            ):
                one = Round(memory, exact, host, dice)
                one.write(ROWS)
                one.settle("at first")
                one.longest = 0.0
                yield one
                host.thaw()
        finally:
            host.thaw()
            host.kill()


HARNESSES = (a_chroma_server_holds_nothing_up,)
TIMED = (a_chroma_server_holds_nothing_up,)
