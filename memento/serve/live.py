"""What is stored and changed in a namespace, as it happens: server-sent events.

The ledger is looked at again and again, so that what other processes write is there too.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from memento.errors import InvalidInput
from memento.remote.values import plain

Call = Callable[[str, Mapping[str, Any]], Awaitable[Any]]
"""Calls a method of the manager, by name and with its arguments."""
EVERY = 0.5
"""Seconds from one look to the next."""
MOST = 100
"""Memories and changes of one look; whoever misses more is told so by the gap."""
_SHOWN = ("active", "quarantined")


async def events(
    call: Call, leaving: asyncio.Event, after: tuple[int, int] | None
) -> AsyncIterator[bytes]:
    """Yield an event for each memory that arrives and each change, until the service ends.

    An event has the id ``SEQ.CHANGE``: the newest memory and change so far. A client that gives it
    as ``Last-Event-ID`` goes on from there (``after``); None for what comes from now on.
    """
    seen = after
    yield b"retry: 1000\n\n"
    while not leaving.is_set():
        new, seen = await _look(call, seen)
        for kind, value in new:
            told = json.dumps(plain(value))
            yield f"id: {seen[0]}.{seen[1]}\nevent: {kind}\ndata: {told}\n\n".encode()
        if not new:
            yield b": \n\n"  # whoever has left is noticed
        try:
            await asyncio.wait_for(leaving.wait(), EVERY)
        except TimeoutError:
            continue


def last_seen(last: str) -> tuple[int, int]:
    """Read the id of an event.

    Raises:
        InvalidInput: If it is none.
    """
    try:
        seq, change = map(int, last.split("."))
    except ValueError as error:
        raise InvalidInput("Last-Event-ID", "is none of this stream") from error
    return seq, change


async def _look(
    call: Call, seen: tuple[int, int] | None
) -> tuple[list[tuple[str, Any]], tuple[int, int]]:
    """Return what is new, oldest first, and what is the newest now."""
    kept = await call("list", {"status": [*_SHOWN], "newest_first": True, "limit": MOST})
    changed = await call("changes.list", {"limit": MOST})
    newest = (
        max((one.seq for one in kept), default=0),
        max((one.number for one in changed), default=0),
    )
    if seen is None:
        return [], newest
    found = [("memory", one) for one in reversed(kept) if one.seq > seen[0]]
    found += [("change", one) for one in reversed(changed) if one.number > seen[1]]
    return found, (max(newest[0], seen[0]), max(newest[1], seen[1]))
