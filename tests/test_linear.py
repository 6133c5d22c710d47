"""No text makes an expression slow: what four times the text takes is about four times as long.

Each expression is pumped with texts made from itself, as long as the longest that reaches it.
"""

from __future__ import annotations

import random
import re
import signal
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from expressions import patterns, pumped, ways

from memento.insight.names import _LONGEST
from memento.observe.split import LONGEST

REACH = {
    "memento.insight.names": _LONGEST,
    "memento.text.words._CODED": 300,
    "memento.text.words._DOTTED": 300,
    "memento.text.when._": 48,
    "memento.base.layout": 255,
    "memento.learning.reading": LONGEST,
    "memento.observe": LONGEST,
}
"""Longest text, characters, that reaches the expressions of a module that reads no longer ones."""
LONG = {
    "memento.text.when._LINK", "memento.text.when._SPAN", "memento.text.when._TO",
    "memento.observe.language", "memento.observe.mask", "memento.observe.split",
}  # fmt: skip
"""Of these modules, what is applied to a whole text all the same."""
SIZE = 1_000
"""Characters that are tried first where a whole text is read; it may have a million."""
FLOOR = 0.001
"""Seconds of the processor's time below which growth is noise."""
MOST = 8
"""Times as long that four times the text may take; what grows with its square takes 16."""


class TooLongError(BaseException):
    """An expression has taken a second, and is stopped."""


def _stop(*_: object) -> None:
    raise TooLongError


def seconds(run: Callable[[Any], object], text: Any, times: int = 1) -> float:
    """Return the least time of the processor that a run takes, infinite beyond a second."""
    return min(_seconds(run, text) for _ in range(times))


def _seconds(run: Callable[[Any], object], text: Any) -> float:
    before = signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, 1)
    began = time.thread_time()
    try:
        run(text)
    except TooLongError:
        return float("inf")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return time.thread_time() - began


def runner(pattern: Any, way: str) -> Callable[[Any], object]:
    """Return what applies an expression to a text."""
    if way in {"sub", "subn"}:
        return lambda text: pattern.sub(text[:0], text)
    if way == "finditer":
        return lambda text: [None for _ in pattern.finditer(text)]
    return getattr(pattern, way)


def reach(name: str) -> int:
    """Return how long the texts are that an expression is pumped to."""
    named = [most for start, most in REACH.items() if name.startswith(start)]
    return SIZE if any(map(name.startswith, LONG)) else min([*named, SIZE])


def slow(name: str, pattern: Any) -> list[str]:
    """List what makes an expression slow."""
    rng, size, found = random.Random(name), reach(name), []
    for lead, pump in pumped(pattern, rng):
        end = rng.choice(["", "\0", "!\n"])

        def text(much: int, lead: str = lead, pump: str = pump, end: str = end) -> str | bytes:
            made = lead + pump * max(2, much // len(pump)) + end
            return made.encode() if isinstance(pattern.pattern, bytes) else made

        for way in ways(name):
            run = runner(pattern, way)
            if seconds(run, text(size)) >= FLOOR and grows(run, text, size):
                found.append(f"{name}.{way}: {lead!r} + {pump!r} * n + {end!r}")
    return found


def grows(run: Callable[[Any], object], text: Callable[[int], str | bytes], size: int) -> bool:
    """Tell whether four times the text takes much more than four times as long.

    Where any text is read, longer ones have to show it as well: what looks ahead for as far as
    2,000 characters only seems to grow with the square.
    """
    sizes = [size, 4 * size, 16 * size] if size == SIZE else [size // 4, size]
    took = [seconds(run, text(much), 3) for much in sizes]
    return all(more > max(4 * FLOOR, MOST * less) for less, more in pairwise(took))


def test_no_expression_grows_with_the_square_of_a_text():
    """Pumped with what each of its steps takes, none takes much more than its share."""
    found = [said for name, pattern in patterns().items() for said in slow(name, pattern)]
    assert found == []


@pytest.mark.parametrize("way", ["search", "sub"])
def test_the_measure_sees_a_square(way):
    """A null control: spaces before a mark that is not there."""
    assert grows(runner(re.compile(r"\s+!"), way), lambda much: " " * much, SIZE)
