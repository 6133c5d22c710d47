"""The cost of the lifecycle: each figure beside its limit, in one run; a group of ``speed.py``.

Questions are asked in turns with and without the effects of uses and verdicts: of a store without
an event, and of one with a verdict on every memory. Ticks are CPU of the process.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from common import Figure
from corpus import Corpus

from memento import Config, MemoryManager
from memento.claims.settings import Conflicts
from memento.config import Auto, Sleep
from memento.dynamics.formulas import Effect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

QUIET = Config(sleep=Sleep(auto=Auto.OFF))
"""No background sleep: it would fall into one of the turns."""
JUDGED = 100
"""Memories in one verdict while all of a store are judged."""


def figures(
    n: int, rounds: int, in_turns: Callable[..., float], cost: Callable[..., Any], questions: Any
) -> Iterator[Figure]:
    """Measure the lifecycle in a store of n memories.

    Args:
        n: Memories.
        rounds: Rounds of questions and adds.
        in_turns: Measures two things in turns, see ``speed.py``.
        cost: Measures calls, see ``speed.py``.
        questions: Makes a source of questions from a seed, see ``speed.py``.
    """
    with TemporaryDirectory(prefix="memento-speed-") as root:
        unread = replace(QUIET, conflicts=Conflicts(pairs=0))  # a doubt of ours is an event as well
        with MemoryManager(root=root, config=unread) as memory:
            fill(memory, n)
        ratio = asked_in_turns(root, 4 * rounds, in_turns, cost, questions)
        yield Figure("retrieve with effects, no event, CPU against none", ratio, 1.01)
    with TemporaryDirectory(prefix="memento-speed-") as root:
        with MemoryManager(root=root, config=QUIET) as memory:
            fill(memory, n)
            yield from ticks(memory, n)
            before = size_of(memory)
            judge_all(memory)
            added = (size_of(memory) - before) / n
            yield Figure("disk of a memory that was judged once", added, 250, unit="B")
        ratio = asked_in_turns(root, 4 * rounds, in_turns, cost, questions)
        yield Figure("retrieve with effects, all judged, CPU against none", ratio, 1.05)
        with MemoryManager(root, config=QUIET) as memory:
            texts = Corpus(5).texts(rounds * 25)
            ids = [one.id for one in memory.list(limit=rounds * 25)]
            praise = partial(memory.feedback.rate, useful=True)
            ratio = in_turns(
                rounds,
                lambda: cost(praise, take(ids)).p50,
                lambda: cost(memory.add, take(texts)).p50,
            )
            yield Figure("feedback against add, p50 on the wall", ratio, note="one fsync each")


def fill(memory: MemoryManager, n: int) -> None:
    """Add n memories and wait for their vectors."""
    memory.add_many(Corpus(1).texts(n))
    memory.flush(wait=True)


def asked_in_turns(
    root: str, rounds: int, in_turns: Callable[..., float], cost: Callable[..., Any], questions: Any
) -> float:
    """Ask one store the same with the effects of uses and verdicts and without: ratio of CPU.

    The second of two that ask is faster, so each must be the first as often: rounds is even.
    """
    off = replace(QUIET, effect=Effect.off())
    with MemoryManager(root, config=QUIET) as acts, MemoryManager(root, config=off) as rests:

        def asker(memory: MemoryManager) -> Callable[[], float]:
            ask, own = partial(memory.retrieve, record=False), questions(79)
            return lambda: cost(ask, own.next(25)).process

        ours, theirs = asker(acts), asker(rests)
        ours(), theirs()
        return in_turns(rounds, ours, theirs)


def ticks(memory: MemoryManager, n: int) -> Iterator[Figure]:
    """A sleep over n new memories, and one with nothing new."""
    began = time.process_time()
    while not memory.sleep.run(seconds=600).done:
        pass
    note = f"{n:,} memories"
    yield Figure("sleep, all new, CPU", time.process_time() - began, 5, unit="s", note=note)
    began = time.process_time()
    memory.sleep.run()
    took = 1e3 * (time.process_time() - began)
    yield Figure("sleep, nothing new, CPU", took, 20, unit="ms", note=note)


def judge_all(memory: MemoryManager) -> None:
    """Say of every memory that it was useful, and fold the verdicts."""
    ids = [one.id for one in memory.list(limit=1_000_000)]
    for first in range(0, len(ids), JUDGED):
        memory.feedback.rate(ids[first : first + JUDGED], useful=True)
    memory.flush(wait=True)
    memory.feedback.strength(ids[0])


def take(items: list[str], count: int = 25) -> Sequence[str]:
    """Take the next items from a list."""
    taken = items[:count]
    del items[:count]
    return taken


def size_of(memory: MemoryManager) -> int:
    """Return the size of the ledger without its log, bytes."""
    memory.store.backup(copy := memory.store.root.with_suffix(".backup"), overwrite=True)
    size = copy.stat().st_size
    copy.unlink()
    return size
