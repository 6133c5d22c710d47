"""One memory behind one protocol. ``peers.py`` starts this in the environment of each peer.

    python benchmarks/peers_child.py ADAPTER

Every line of standard input is a JSON object, and a line of standard output answers it:

    {"do": "open", "folder": F, "now": T}            {}
    {"do": "add", "items": [ITEM], "bulk": BOOL}     COST
    {"do": "settle"}                                 COST
    {"do": "retrieve", "queries": [TEXT], "k": N}    COST, "found": [[ID]], "raised": [MESSAGE]
    {"do": "state"}                                  "count": N, "rss_mb": X, "version": V
    {"do": "close"}                                  {}

COST is "wall": [SECONDS], "cpu": SECONDS: of each call, and of the process for all. An ITEM has
``id`` and ``text``, and may have ``actor``, ``role``, ``session``, ``at`` (ISO 8601). A query
that raises finds nothing, and the message is told; whatever else goes wrong is answered with
{"error": "Type: message"}. The output of a peer goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from peers_adapters import ADAPTERS, Adapter, Item

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BITE = 1_000
"""Items a bulk call."""


def timed(calls: Sequence[Callable[[], Any]]) -> tuple[dict[str, Any], list[Any]]:
    """Make calls one after the other; return what they cost and what they returned."""
    wall: list[float] = []
    results: list[Any] = []
    cpu = time.process_time()
    for call in calls:
        began = time.perf_counter()
        results.append(call())
        wall.append(time.perf_counter() - began)
    return {"wall": wall, "cpu": time.process_time() - cpu}, results


def peak_rss() -> float:
    """Return the most memory this process ever held, MB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (peak,) = (int(line.split()[1]) / 2**10 for line in status.splitlines() if "VmHWM" in line)
    return peak


def told(error: Exception) -> str:
    """Return what an exception says."""
    return f"{type(error).__name__}: {error}"


class Desk:
    """Does what the lines ask of one adapter.

    Args:
        adapter: The memory.
    """

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Do what one line asks.

        Raises:
            ValueError: If the protocol knows no such thing.
        """
        do = asked.pop("do")
        if do not in {"open", "add", "settle", "retrieve", "state", "close"}:
            raise ValueError(f"the protocol has no {do!r}")
        result: dict[str, Any] = getattr(self, do)(**asked)
        return result

    def open(self, folder: str, now: str | None = None) -> dict[str, Any]:
        """Open a store."""
        self._adapter.open(folder, now)
        return {}

    def add(self, items: list[Item], *, bulk: bool) -> dict[str, Any]:
        """Store items, many in a call or one."""
        if bulk:
            bites = [items[first : first + BITE] for first in range(0, len(items), BITE)]
            return timed([partial(self._adapter.add_many, bite) for bite in bites])[0]
        return timed([partial(self._adapter.add, item) for item in items])[0]

    def settle(self) -> dict[str, Any]:
        """Wait for what goes on in the background."""
        return timed([self._adapter.settle])[0]

    def retrieve(self, queries: list[str], k: int) -> dict[str, Any]:
        """Put queries; one that raises finds nothing."""
        raised: list[str] = []

        def found(query: str) -> list[str]:
            try:
                return self._adapter.retrieve(query, k)
            except Exception as error:  # noqa: BLE001 - whatever a peer raises is told
                raised.append(told(error))
                return []

        cost, results = timed([partial(found, query) for query in queries])
        return {**cost, "found": results, "raised": raised}

    def state(self) -> dict[str, Any]:
        """Say what the store holds and what the process took."""
        count, version = self._adapter.count(), self._adapter.version()
        return {"count": count, "rss_mb": peak_rss(), "version": version}

    def close(self) -> dict[str, Any]:
        """Close the store."""
        self._adapter.close()
        return {}


def serve(adapter: Adapter, requests: TextIO, answers: TextIO) -> None:
    """Answer requests until there are no more."""
    desk = Desk(adapter)
    for line in requests:
        try:
            result = desk.answer(json.loads(line))
        except Exception as error:  # noqa: BLE001 - whatever a peer raises is told
            result = {"error": told(error)}
        answers.write(json.dumps(result) + "\n")
        answers.flush()


def main() -> None:
    """Serve the adapter named on the command line."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)  # whatever a peer prints
        serve(ADAPTERS[sys.argv[1]](), sys.stdin, answers)


if __name__ == "__main__":
    main()
