"""Short tier: a ring buffer of the newest turns of each session, with a JSON snapshot.

The ledger bounds each ring (``memories.overflow``) and finds its rows by an index of their own. The
snapshot is for people, who can read it with any tool; memento never reads it.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from memento.base import layout
from memento.base.files import remove_litter, write_atomically
from memento.config import ShortConfig
from memento.ledger import erasure, memories
from memento.ledger.contract import Ledger, Session
from memento.ledger.rows import NAMES, Row

FORMAT = 2
SESSIONS = 64
"""Rings in the snapshot, those written to last."""

Key = tuple[int, str | None]


class ShortTier:
    """Reads the rings of a store, one per session, and writes their snapshot. Thread-safe."""

    def __init__(self, ledger: Ledger, config: ShortConfig) -> None:
        self._ledger = ledger
        self._config = config
        self._path = ledger.root / layout.SNAPSHOT
        self._lock = threading.Lock()
        self._keys: OrderedDict[Key, None] | None = None  # None until the first snapshot asks
        self._touched: OrderedDict[Key, None] = OrderedDict()
        self._writing = threading.Lock()  # taken before the other; guards the next field
        self._saved = b""

    def recent(self, ns: int, session: str | None, n: int | None, now: int) -> list[Row]:
        """Return the n newest rows of a session's ring that hold now, or all; oldest first."""
        rows = self._ledger.read(
            lambda c: memories.newest_short(c, ns, session, self._config.capacity)
        )
        live = [row for row in reversed(rows) if _holds(row, now)]
        return live if n is None else live[-n:]

    def touch(self, ns: int, sessions: Iterable[str | None]) -> None:
        """Note that sessions have new turns, so that the next snapshot contains them."""
        with self._lock:
            for session in sessions:
                _used(self._touched, (ns, session))

    @property
    def stale(self) -> bool:
        """Whether something changed since the last snapshot."""
        return bool(self._touched)

    def tidy(self) -> None:
        """Remove what a killed process left of a snapshot."""
        if not self._ledger.read_only:
            remove_litter(self._path)

    def snapshot(self) -> None:
        """Write the rings to JSON by atomic replace, unless nothing changed.

        Only another snapshot waits for it. Turns that another process erases in the meantime are
        removed before this returns.
        """
        if self._ledger.read_only:
            return
        with self._writing:
            erasures = -1
            while erasures != (erasures := self._ledger.read(erasure.erasures)):
                rings = self._ledger.read(self._collect)
                content = {"format": FORMAT, "content": {"rings": rings}}
                data = f"{json.dumps(content, ensure_ascii=False)}\n".encode()
                digest = sha256(data).digest()
                if digest != self._saved:
                    # The file may belong to another store by now.
                    write_atomically(self._path, data, check=self._ledger.check_present)
                    self._saved = digest

    def rewrite(self) -> None:
        """Write the snapshot again and replace the file that is there."""
        with self._writing:
            self._saved = b""
        self.snapshot()

    def _collect(self, connection: Session) -> list[dict[str, Any]]:
        """Return the rings that were written to last, those that were touched by this process."""
        with self._lock:
            if self._keys is None:
                found = memories.newest_rings(connection, SESSIONS)
                self._keys = OrderedDict.fromkeys(reversed(found))
            for key in self._touched:
                _used(self._keys, key)
            self._touched.clear()
            keys = list(self._keys)
        rings = []
        for ns, session in keys:
            rows = memories.newest_short(connection, ns, session, self._config.capacity)
            if rows:  # no name without turns stays
                turns = [_plain(row) for row in reversed(rows)]
                rings.append({"ns": ns, "session": session, "memories": turns})
        return rings


def _used(keys: OrderedDict[Key, None], key: Key) -> None:
    """Keep the rings used last."""
    keys[key] = None
    keys.move_to_end(key)
    while len(keys) > SESSIONS:
        keys.popitem(last=False)


def _holds(row: Row, now: int) -> bool:
    ends = (end for end in (row.expires_at, row.valid_until) if end is not None)
    return all(end > now for end in ends)


def _plain(row: Row) -> dict[str, Any]:
    plain = dict(zip(NAMES, row.values(), strict=True))
    return plain | {name: plain[name].hex() for name in ("content_hash", "checksum")}
