"""Server-sent events for new memories and changes in a namespace.

The ledger is polled, so that writes of other processes are included.
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
"""Seconds between two polls."""
MOST = 100
"""Maximum number of memories, and of changes, in one poll; if more were missed, ids have a gap."""
_SHOWN = ("active", "quarantined")


async def events(
    call: Call, leaving: asyncio.Event, after: tuple[int, int] | None
) -> AsyncIterator[bytes]:
    """Yield an event for each memory that arrives and each change, until the service ends.

    An event has the id ``SEQ.CHANGE``: the newest memory and change so far. A client that sends it
    as ``Last-Event-ID`` continues from there (``after``); None to start with what comes next.
    """
    seen = after
    yield b"retry: 1000\n\n"
    while not leaving.is_set():
        new, seen = await _look(call, seen)
        for kind, value in new:
            told = json.dumps(plain(value))
            yield f"id: {seen[0]}.{seen[1]}\nevent: {kind}\ndata: {told}\n\n".encode()
        if not new:
            yield b": \n\n"  # fails if the client is gone
        try:
            await asyncio.wait_for(leaving.wait(), EVERY)
        except TimeoutError:
            continue


def last_seen(last: str) -> tuple[int, int]:
    """Parse the id of an event.

    Raises:
        InvalidInput: If it is not valid.
    """
    try:
        seq, change = map(int, last.split("."))
    except ValueError as error:
        raise InvalidInput("Last-Event-ID", "is not an event id of this stream") from error
    return seq, change


async def _look(
    call: Call, seen: tuple[int, int] | None
) -> tuple[list[tuple[str, Any]], tuple[int, int]]:
    """Return the new memories and changes, oldest first, and the newest of each now."""
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
