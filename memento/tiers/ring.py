"""Short tier: the newest turns of each session in a ring buffer in RAM, with a JSON snapshot.

The ledger holds the same rows; a ring caches the newest ones and follows the ledger by revision, so
that turns added by another thread or process appear in order. With the snapshot a restarted process
has its rings without reading the ledger, and people can read them with any tool.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import Any

from memento.base import layout
from memento.base.clock import in_name, system_clock
from memento.base.files import read_regular, remove_litter, write_atomically
from memento.config import ShortConfig
from memento.ledger import erasure, memories, past
from memento.ledger.contract import Ledger, Transaction
from memento.ledger.rows import NAMES, Row
from memento.status import having
from memento.types import Tier

FORMAT = 1
IN_RING = frozenset(having("in_ring"))
SESSIONS = 256
"""Rings kept in RAM and in the snapshot, those used last."""
CATCH_UP = 256
"""Maximum number of changed rows that a ring follows one by one; with more, it is reread."""

log = logging.getLogger("memento.tiers.ring")


Key = tuple[int, str | None]


class ShortTier:
    """Rings over the newest rows of the ledger, one per session. Thread-safe."""

    def __init__(self, ledger: Ledger, config: ShortConfig) -> None:
        self._ledger = ledger
        self._config = config
        self._path = ledger.root / layout.SNAPSHOT
        self._lock = threading.Lock()  # taken within a transaction, never the other way round
        self._rings: OrderedDict[Key, deque[Row]] = OrderedDict()
        self._seen: dict[int, int] = {}
        self._touched = False
        self._writing = threading.Lock()  # taken before the other; guards the fields below
        self._spelt: dict[Key, tuple[list[tuple[int, int]], str]] = {}
        """Rings as JSON in the snapshot, with the row ids and revisions they were made from."""
        self._saved = ""

    def recent(self, ns: int, session: str | None, n: int | None, now: int) -> list[Row]:
        """Return the n newest rows of a session's ring that hold now, or all; oldest first."""

        def followed(connection: Transaction) -> list[Row]:
            with self._lock:
                ring = self._follow(connection, (ns, session))
                return [row for row in ring if _holds(row, now)]

        live = self._ledger.read(followed, space=ns)
        return live if n is None else live[-n:]

    def touch(self, ns: int, sessions: Iterable[str | None]) -> None:
        """Note that sessions have new turns, so that the next snapshot contains them."""
        with self._lock:
            for session in sessions:
                self._rings.setdefault((ns, session), deque(maxlen=0))
                self._used((ns, session))
            self._touched = True

    @property
    def stale(self) -> bool:
        """Whether anything changed since the last snapshot."""
        return self._touched

    def load(self) -> None:
        """Fill the rings from the snapshot if it is intact and of the latest revision.

        A damaged snapshot is set aside; the rings are then read from the ledger.
        """
        if not self._ledger.read_only:
            remove_litter(self._path)
        try:
            revs, rings = _parse(read_regular(self._path))
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            aside = self._path.with_name(f"{layout.SNAPSHOT}.bad-{in_name(system_clock())}")
            log.warning(
                "snapshot %s is damaged (%s); it was set aside as %s", self._path, error, aside.name
            )
            try:
                self._path.rename(aside)
            except OSError as refusal:
                log.warning("snapshot %s cannot be set aside: %s", self._path, refusal)
            return
        present = self._ledger.read(lambda c: {ns: memories.latest_rev(c, ns) for ns in revs})
        with self._lock:
            for (ns, session), rows in rings.items():
                if present[ns] == revs[ns]:
                    self._rings[ns, session] = deque(rows, maxlen=self._config.capacity)
                    self._seen[ns] = revs[ns]

    def snapshot(self) -> None:
        """Write the rings to JSON by atomic replace, unless nothing changed.

        Only another snapshot waits for it, and only changed rings are encoded again. Turns that
        another process erases in the meantime are removed before this returns.
        """
        if self._ledger.read_only:
            return
        with self._writing:
            self._touched = False
            erasures = -1
            while erasures != (erasures := self._ledger.read(erasure.erasures)):
                revs, rings = self._ledger.read(self._collect)
                content, digest = self._encode(revs, rings)
                if digest != self._saved:
                    # The file may belong to another store by now.
                    write_atomically(self._path, content, check=self._ledger.check_present)
                    self._saved = digest

    def rewrite(self) -> None:
        """Write the snapshot again and replace the file that is there."""
        with self._writing:
            self._saved = ""
        self.snapshot()

    def _encode(self, revs: dict[int, int], rings: dict[Key, list[Row]]) -> tuple[bytes, str]:
        """Encode a snapshot; returns it and the digest of its content."""
        before, self._spelt = self._spelt, {}
        for (ns, session), rows in rings.items():
            key, state = (ns, session), [(row.docid, row.rev) for row in rows]
            known = before.get(key)
            if known is None or known[0] != state:
                ring = {"ns": ns, "session": session, "memories": [_plain(row) for row in rows]}
                known = state, _dumps(ring)
            self._spelt[key] = known
        told = _dumps({str(ns): rev for ns, rev in revs.items()})
        content = f'{{"revs": {told}, "rings": [{", ".join(x for _, x in self._spelt.values())}]}}'
        digest = sha256(content.encode()).hexdigest()
        whole = f'{{"format": {FORMAT}, "sha256": "{digest}", "content": {content}}}\n'
        return whole.encode(), digest

    def _collect(self, connection: Transaction) -> tuple[dict[int, int], dict[Key, list[Row]]]:
        with self._lock:
            rings = {key: list(self._follow(connection, key)) for key in list(self._rings)}
            told = {key: rows for key, rows in rings.items() if rows}  # drop names without turns
            return {ns: self._seen[ns] for ns, _ in told}, told

    def _follow(self, connection: Transaction, key: Key) -> deque[Row]:
        """Bring one ring up to date with the ledger. Caller holds the lock."""
        ns = key[0]
        latest = memories.latest_rev(connection, ns)
        seen = self._seen.get(ns)
        if seen is not None and seen < latest:
            self._apply(ns, seen, connection)
        self._seen[ns] = latest
        ring = self._rings.get(key)
        if ring is None or ring.maxlen == 0:
            rows = memories.newest_short(connection, ns, key[1], self._config.capacity)
            ring = self._rings[key] = deque(reversed(rows), maxlen=self._config.capacity)
        self._used(key)
        return ring

    def _used(self, key: Key) -> None:
        """Mark a ring as used last; drop those used least recently. Caller holds the lock."""
        self._rings.move_to_end(key)
        while len(self._rings) > SESSIONS:
            self._rings.popitem(last=False)

    def _apply(self, ns: int, seen: int, connection: Transaction) -> None:
        if gone := set(past.erased_since(connection, ns, seen)):
            self._keep(ns, lambda row, _session: row.docid not in gone)
        changed = past.changes_since(connection, ns, seen, limit=CATCH_UP + 1)
        if len(changed) > CATCH_UP:
            for key in [key for key in self._rings if key[0] == ns]:
                self._rings[key] = deque(maxlen=0)
            return
        for session in {row.session for row in changed}:
            ring = self._rings.get((ns, session))
            if ring is not None and ring.maxlen:
                _place(ring, [row for row in changed if row.session == session])
        moved = {row.docid: row.session for row in changed if row.version != 1}  # or damaged
        if moved:
            self._keep(ns, lambda row, session: moved.get(row.docid, session) == session)

    def _keep(self, ns: int, stays: Callable[[Row, str | None], bool]) -> None:
        """Remove the rows of a namespace for which ``stays(row, session)`` is False."""
        for (at, session), ring in self._rings.items():
            if at == ns and not all(stays(row, session) for row in ring):
                kept = [row for row in ring if stays(row, session)]
                ring.clear()
                ring.extend(kept)


def _holds(row: Row, now: int) -> bool:
    ends = (end for end in (row.expires_at, row.valid_until) if end is not None)
    return all(end > now for end in ends)


def _place(ring: deque[Row], changed: Sequence[Row]) -> None:
    """Put changed rows in their places in a ring, or remove them.

    All at once, so that a row that left in the same transaction does not push out an older one.
    """
    rows = {row.docid: row for row in (*ring, *changed)}
    ring.clear()
    ring.extend(
        row for _, row in sorted(rows.items()) if row.tier == Tier.SHORT and row.status in IN_RING
    )


def _dumps(value: object) -> str:
    """Encode JSON in the one form whose digest is compared."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _parse(data: bytes) -> tuple[dict[int, int], dict[Key, list[Row]]]:
    """Parse a snapshot; if it is invalid, `ValueError` or what its values raise."""
    outer = json.loads(data)
    if outer["format"] != FORMAT:
        raise ValueError(f"format {outer['format']!r}")
    content = outer["content"]
    if sha256(_dumps(content).encode()).hexdigest() != outer["sha256"]:
        raise ValueError("digest does not match")
    rings = {
        (int(ring["ns"]), ring["session"]): [_row(item) for item in ring["memories"]]
        for ring in content["rings"]
    }
    revs = {int(ns): int(rev) for ns, rev in content["revs"].items()}
    if absent := {ns for ns, _ in rings} - revs.keys():
        raise ValueError(f"no revision for namespaces {sorted(absent)}")
    return revs, rings


def _plain(row: Row) -> dict[str, Any]:
    plain = dict(zip(NAMES, row.values(), strict=True))
    return plain | {name: plain[name].hex() for name in ("content_hash", "checksum")}


def _row(plain: dict[str, Any]) -> Row:
    return Row(**plain | {n: bytes.fromhex(plain[n]) for n in ("content_hash", "checksum")})
