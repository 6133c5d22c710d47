"""A memory as a row and back: the one place that knows the order of the columns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, fields, replace
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from itertools import compress
from operator import attrgetter
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Protocol, TypeVar
from unicodedata import normalize

from memento.base import layout
from memento.base.clock import from_micros
from memento.check import first_of
from memento.errors import StoreUnusable
from memento.ledger.contract import Transaction
from memento.ledger.dialect import SKIP_IF_THERE, or_replace
from memento.ledger.schema import SEQ_BITS, SEQ_MASK
from memento.text.words import Columns, columns
from memento.types import Kind, Memory, Source, Status, Tier, Trust

PINNED, PROMOTED, USER = 1, 2, 4
"""Bits of ``pinned``: pinned; locked because it proved itself; locked by the user."""
LOCKS = PROMOTED | USER
BITS = {"promoted": PROMOTED, "user": USER}
"""The levels of a lock, and the bit of each."""

MOST_LOCKED = 100
"""Maximum number of memories in a namespace that the user may lock."""
WARN_LOCKED = 80
"""Number of locked memories from which ``stats`` warns."""


def lock_of(pinned: int) -> Literal["promoted", "user"] | None:
    """Return the level of the lock in the column ``pinned``; the higher one of two.

    >>> lock_of(1), lock_of(3), lock_of(6)
    (None, 'promoted', 'user')
    """
    if pinned & USER:
        return "user"
    return "promoted" if pinned & PROMOTED else None


TIER_GIVEN, IMPORTANCE_GIVEN = 1, 2
"""Bits of ``given``: the caller chose the tier, or the importance; the sleep leaves it alone."""
GIVEN = TIER_GIVEN | IMPORTANCE_GIVEN
"""The value of older rows, for which it is unknown, and of imported ones."""


@dataclass(slots=True)
class Row:
    """One row of ``memories``, fields in the order of its columns.

    Times are integer microseconds since 1970 UTC; ``aliases``, ``tags``, ``metadata`` and
    ``source_parents`` are JSON text.
    """

    docid: int
    ns: int
    rev: int
    id: str
    text: str
    tier: str
    kind: str
    status: str
    scope: str
    session: str | None
    actor: str | None
    role: str | None
    key: str | None
    aliases: str
    importance: float
    tags: str
    metadata: str
    trust: str
    source_uri: str | None
    source_model: str | None
    source_parents: str
    pinned: int
    occurred_at: int
    created_at: int
    updated_at: int
    valid_from: int
    valid_until: int | None
    expires_at: int | None
    superseded_by: str | None
    reinforced: int
    version: int
    words: int
    head_words: int
    cues: int
    content_hash: bytes
    checksum: bytes
    given: int = GIVEN
    signal: str | None = None
    condition: str | None = None
    due_at: int | None = None

    def values(self) -> tuple[Any, ...]:
        """Return the values in column order, to be bound."""
        return _all(self)

    def present(self) -> tuple[tuple[str, ...], list[Any]]:
        """Return the columns that are not null, and their values, to be bound.

        SQLite's driver takes ten times as long to bind a null or ``bytes`` as a string, since it
        looks for an adapter for their type.
        """
        found = _all(self)
        held = [value is not None for value in found]
        values = compress(found, held)
        bound = [bytearray(value) if type(value) is bytes else value for value in values]
        return tuple(compress(NAMES, held)), bound

    def seal(self) -> None:
        """Recompute the checksum after a change of content."""
        self.checksum = checksum(self)


NAMES = tuple(field.name for field in fields(Row))
COLUMNS = ", ".join(NAMES)
HOLES = ", ".join("?" * len(NAMES))


def select(db: Transaction, where: str, values: Sequence[Any] = ()) -> Iterator[Row]:
    """Yield the memories of a query, given its end: conditions, order and limit."""
    found = db.execute(f"SELECT {COLUMNS} FROM memories WHERE {where}", values)
    return (Row(*one) for one in found)


def first(db: Transaction, where: str, values: Sequence[Any]) -> Row | None:
    """Read the first memory of a query as in `select`; None if there is none."""
    return next(select(db, where, values), None)


def column(db: Transaction, query: str, values: Sequence[Any] = ()) -> list[Any]:
    """Read the first column of all rows that a query finds."""
    return [found[0] for found in db.execute(query, values).fetchall()]


def single(db: Transaction, query: str, values: Sequence[Any] = ()) -> Any:
    """Read the first value of the first row that a query finds; None if it finds none."""
    found = db.execute(query, values).fetchone()
    return None if found is None else found[0]


_SEALED = (
    "id", "text", "kind", "scope", "session", "actor", "role", "key", "aliases", "tags",
    "metadata", "trust", "source_uri", "source_model", "source_parents", "occurred_at",
    "created_at", "valid_from", "valid_until", "expires_at", "status", "superseded_by",
    "importance", "pinned", "reinforced", "version", "content_hash", "signal", "condition",
    "due_at",
)  # fmt: skip
"""All that matters except the tier: turns that leave the ring are moved without being read.

Every stored checksum covers exactly these. A column that comes later joins the digest only where it
is not null: see "Change the schema" in CONTRIBUTING.
"""

_all = attrgetter(*NAMES)
_sealed = attrgetter(*_SEALED)


_ELSEWHERE = {
    "docid", "ns", "rev", "id", "version", "text", "status", "tier", "content_hash", "checksum",
}  # fmt: skip
EARLIER = tuple(name for name in NAMES if name not in _ELSEWHERE)
"""Fields in ``versions.earlier``: those without a column there that may change or be derived."""


class State(NamedTuple):
    """An earlier state of a memory, as ``versions`` has it: until when, and why it ended.

    ``earlier`` holds the other fields as JSON, see ``state_of``.
    """

    version: int
    text: str
    status: str
    tier: str
    until: int
    reason: str
    earlier: str


STATE = ", ".join(State._fields)
_SUMS = ("content_hash", "checksum", "ended")
"""Fields that ``state_of`` adds: digests in hexadecimal, the last of how it ended."""


def state_of(row: Row, until: int, reason: str) -> State:
    """Return a row as ``versions`` keeps it, replaced at a moment for a reason."""
    earlier = {name: getattr(row, name) for name in EARLIER}
    earlier["content_hash"] = _hex(row.content_hash)
    earlier["checksum"] = _hex(row.checksum)
    earlier["ended"] = _ended(earlier["checksum"], until, reason)
    spelt = json.dumps(earlier, ensure_ascii=False, default=repr)
    return State(row.version, row.text, row.status, row.tier, until, reason, spelt)


def _hex(digest: object) -> str:
    """Return a digest in hexadecimal; a damaged one becomes a value that matches nothing."""
    return digest.hex() if isinstance(digest, bytes) and digest else "00"


def _ended(checksum: str, until: object, reason: object) -> str:
    """Digest when and why a state ended."""
    return seal_of(checksum, until, reason).hex()


def earlier_state(row: Row, state: State) -> Row | None:
    """Return a row as it was in an earlier state; None if that is damaged beyond reading."""
    past = replace(row, **{name: getattr(state, name) for name in _IN_BOTH})
    try:
        said = json.loads(state.earlier)
        past.content_hash = bytes.fromhex(said["content_hash"])
        past.checksum = bytes.fromhex(said["checksum"])
        for name in said.keys() - set(_SUMS):
            setattr(past, name, said[name])
    except (ValueError, TypeError, AttributeError, KeyError):
        return None
    return past


_IN_BOTH = ("version", "text", "status", "tier")


def amended(row: Row, state: State, changes: dict[str, Any]) -> str:
    """Return ``earlier`` of a state after changes of columns; it is sound if it was sound."""
    past, sound = earlier_state(row, state), not is_changed_state(row, state)
    earlier: dict[str, Any] = json.loads(state.earlier) | changes
    if past is not None and sound and is_whole(past):
        for name, value in changes.items():
            setattr(past, name, value)
        earlier["checksum"] = checksum(past).hex()
        earlier["ended"] = _ended(earlier["checksum"], state.until, state.reason)
    return json.dumps(earlier, ensure_ascii=False)


def is_whole(row: Row | None) -> bool:
    """Return whether a row, or an earlier state of one, is as it was written."""
    return row is not None and checksum(row) == row.checksum


def is_sound(row: Row) -> bool:
    """Return whether a memory, its place and its namespace are as they were written."""
    placed = row.docid >> SEQ_BITS == row.ns and isinstance(row.rev, int) and row.rev <= SEQ_MASK
    return placed and row.tier in _TIERS and is_whole(row)


def sound(row: Row, memory_id: str | None = None) -> Row:
    """Return a row if it is as written; else raise ``StoreUnusable`` with the id asked for."""
    if not is_sound(row):
        raise StoreUnusable(layout.LEDGER, damaged([memory_id or row.id]))
    return row


def damaged(ids: Sequence[str]) -> str:
    """Return the message that memories are damaged, and what to do."""
    several = "memories" if len(ids) > 1 else "memory"
    return f"{several} {first_of(ids)}: damaged on the disk, not as written; run `memento doctor`"


def is_changed_state(row: Row, state: State) -> bool:
    """Return whether an earlier state of a row, or how it ended, is not as it was written."""
    past = earlier_state(row, state)
    if past is None or state.tier not in _TIERS or not is_whole(past):
        return True
    right = _ended(past.checksum.hex(), state.until, state.reason)
    return bool(json.loads(state.earlier).get("ended") != right)


def seal_of(*parts: object) -> bytes:
    """Digest what is not a memory, such as a link or an event, to notice damage on the disk."""
    return blake2b(repr(parts).encode(errors="surrogatepass"), digest_size=8).digest()


def is_changed(*values: object) -> bool:
    """Return whether a link or an event, its seal the last value, is not as it was written."""
    return values[-1] != seal_of(*values[:-1])


def checksum(row: Row) -> bytes:
    """Digest what a memory says and where it comes from, to notice damage on the disk."""
    return blake2b(repr(_sealed(row)).encode(), digest_size=8).digest()


def content_hash(*parts: object, condition: str | None = None) -> bytes:
    """Digest what makes two memories the same: equal parts, in any Unicode form, give one hash.

    The parts are text, scope, key, session, actor, role and time; a condition is added if given.
    """
    said = parts if condition is None else (*parts, condition)
    parts = tuple(normalize("NFC", one) if isinstance(one, str) else one for one in said)
    return blake2b(repr(parts).encode(), digest_size=16).digest()


IDENTIFYING = ("text", "scope", "key", "condition")
"""Columns that a change may set and on which the identity of a memory depends."""


def identity(row: Row, wanted: Mapping[str, Any]) -> bytes:
    """Return the content hash of a memory with some columns changed."""

    def digest(
        when: int | None, text: str, scope: str, key: str | None, holds: str | None
    ) -> bytes:
        said_by = (key, row.session, row.actor, row.role)
        return content_hash(text, scope, *said_by, when, condition=holds)

    timeless = row.content_hash == digest(None, row.text, row.scope, row.key, row.condition)
    present = (wanted.get(name, getattr(row, name)) for name in IDENTIFYING)
    return digest(None if timeless else row.occurred_at, *present)


def docid_of(ns: int, seq: int) -> int:
    """Compose a row id from the namespace number and the position in the ledger."""
    return ns << SEQ_BITS | seq


LATEST = (
    "(SELECT max(docid) FROM memories WHERE docid BETWEEN ?1 AND ?2),"
    f" (SELECT max(rev) FROM memories WHERE ns = ?3 AND rev <> (docid & {SEQ_MASK})"
    f" AND rev <= {SEQ_MASK}),"
    f" (SELECT max(rev) FROM erased WHERE ns = ?3 AND rev <= {SEQ_MASK})"
)
"""Three values of a query whose parameters are the range of row ids and the namespace. A damaged
revision, too large or a text, would put new rows into another namespace."""


def rev_of(low: int, newest: int | None, changed: int | None, erased: int | None) -> int:
    """Return the newest revision by what `LATEST` finds in the rows from ``low`` on."""
    return max((newest or low) & SEQ_MASK, int(changed or 0), int(erased or 0))


def docid_range(ns: int) -> tuple[int, int]:
    """Return the lowest and highest row id a namespace can have."""
    return ns << SEQ_BITS, ns << SEQ_BITS | SEQ_MASK


def to_memory(row: Row, namespace: tuple[str, ...]) -> Memory:
    """Convert a row into a ``Memory``; ``StoreUnusable`` if it cannot be read."""
    try:
        return _memory(row, namespace)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise StoreUnusable(
            layout.LEDGER, f"memory {row.id!r} is damaged ({error}); run `memento doctor`"
        ) from error


# A look-up here costs a third of calling the enumeration.
_TIERS = {tier.value: tier for tier in Tier}
_KINDS = {kind.value: kind for kind in Kind}
_STATUSES = {status.value: status for status in Status}
_TRUSTS = {trust.value: trust for trust in Trust}


def _memory(row: Row, namespace: tuple[str, ...]) -> Memory:
    return Memory(
        id=row.id,
        seq=row.docid & SEQ_MASK,
        namespace=namespace,
        text=row.text,
        tier=_TIERS[row.tier],
        kind=_KINDS[row.kind],
        status=_STATUSES[row.status],
        scope=row.scope,
        session=row.session,
        actor=row.actor,
        role=row.role,
        key=row.key,
        aliases=_strings(row.aliases),
        importance=row.importance,
        tags=_strings(row.tags),
        metadata=_mapping(row.metadata),
        source=_source(row.trust, row.source_uri, row.source_model, row.source_parents),
        pinned=bool(row.pinned & PINNED),
        lock=lock_of(row.pinned),
        valid_until=_moment(row.valid_until),
        expires_at=_moment(row.expires_at),
        due_at=_moment(row.due_at),
        occurred_at=from_micros(row.occurred_at),
        created_at=from_micros(row.created_at),
        updated_at=from_micros(row.updated_at),
        valid_from=from_micros(row.valid_from),
        superseded_by=row.superseded_by,
        reinforced=row.reinforced,
        version=row.version,
        signal=row.signal,
        condition=row.condition,
    )


@lru_cache(maxsize=256)  # most memories have one of a few sources
def _source(trust: str, uri: str | None, model: str | None, parents: str) -> Source:
    return Source(_TRUSTS[trust], uri, model, _strings(parents))


def columns_of(row: Row) -> Columns:
    """Return what is indexed of a memory; of a damaged one, what can be read."""
    return columns(
        string_in(row.text) or "",
        actor=string_in(row.actor),
        role=string_in(row.role),
        key=string_in(row.key),
        aliases=strings_in(row.aliases),
        tags=strings_in(row.tags),
    )


def string_in(value: object) -> str | None:
    """Read a string; None if it is damaged, which the checksum tells."""
    return value if isinstance(value, str) else None


def strings_in(text: str) -> tuple[str, ...]:
    """Read a list of strings from JSON; empty if it is damaged, which the checksum tells."""
    if text == "[]":
        return ()
    try:
        found = json.loads(text)
    except (ValueError, TypeError):
        return ()
    return tuple(x for x in found if isinstance(x, str)) if isinstance(found, list) else ()


def mapping_in(text: object) -> dict[str, Any]:
    """Read a JSON object; empty if it is damaged."""
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def _strings(text: str) -> tuple[str, ...]:
    return () if text == "[]" else tuple(json.loads(text))


def _mapping(text: str) -> dict[str, Any]:
    return {} if text == "{}" else json.loads(text)


class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


R = TypeVar("R", bound=_Dataclass)


class Table(Generic[R]):
    """One table: its columns are the fields of a dataclass, in their order, and the seal.

    ``key`` names the columns that identify a row. ``unsealed`` is an integer that changes too often
    to be sealed; ``query`` the ``SELECT`` of all columns.
    """

    def __init__(self, name: str, kind: type[R], key: Sequence[str], unsealed: str = "") -> None:
        names = [field.name for field in fields(kind)]
        columns, holes = ", ".join([*names, "seal"]), ", ".join("?" * (len(names) + 1))
        changed = [name for name in (*names, "seal") if name not in key]
        insert = f"INSERT INTO {name} ({columns}) VALUES ({holes})"
        self._kind, self._unsealed = kind, unsealed
        self._all = attrgetter(*names)
        self._sealed = attrgetter(*[one for one in names if one != unsealed])
        self.query = f"SELECT {columns} FROM {name}"
        self._add = f"{insert} {SKIP_IF_THERE}"
        self._put = f"{insert} {or_replace(', '.join(key), *changed)}"

    def put(self, db: Transaction, one: R) -> None:
        """Write a row, new or changed. Inside a transaction."""
        db.execute(self._put, self.values(one))

    def add(self, db: Transaction, one: R) -> bool:
        """Write a row unless its key exists; return whether it did so. Inside a transaction."""
        return db.execute(self._add, self.values(one)).rowcount > 0

    def values(self, one: R) -> tuple[Any, ...]:
        """Return the values of a row in the order of the columns, the seal last."""
        return (*self._all(one), seal_of(*self._sealed(one)))

    def whole(self, values: Sequence[Any]) -> R | None:
        """Make a row from the values of its columns; None if it is not as it was written."""
        made = self._kind(*values[:-1])
        sound = not self._unsealed or isinstance(getattr(made, self._unsealed), int)
        return made if sound and self.values(made) == tuple(values) else None

    def select(self, db: Transaction, rest: str = "", values: Sequence[Any] = ()) -> Iterator[R]:
        """Yield the sound rows of a ``SELECT``, given its end."""
        found = db.execute(f"{self.query} {rest}", tuple(values)).fetchall()
        return (one for one in map(self.whole, found) if one is not None)

    def find(self, db: Transaction, rest: str, values: Sequence[Any]) -> R | None:
        """Read the one row that fits; None if there is none, or if it is damaged."""
        return next(self.select(db, rest, values), None)

    def damaged(self, db: Transaction) -> int:
        """Count the rows that are not as they were written."""
        return sum(self.whole(values) is None for values in db.execute(self.query))
