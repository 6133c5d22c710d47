"""Read and check the lines of an export and prepare them for the ledger; needs no store."""

from __future__ import annotations

import base64
import json
import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, NamedTuple, TypeAlias

from memento import check
from memento.admit.draft import Entry
from memento.admit.redact import Redaction, Secrets
from memento.base.scopes import parse_namespace
from memento.errors import InvalidInput
from memento.ledger.contract import Rules
from memento.ledger.rows import Row, State, content_hash
from memento.ledger.scope_rows import Place
from memento.status import having
from memento.types import Kind, Trust
from memento.upkeep.line_format import (
    ANY_SIZE,
    SessionLine,
    ShareLine,
    measure,
    read_moment,
    read_row,
    read_scope,
    read_session,
    read_share,
    read_state,
    refuse,
)

TAKEN = having("current")
"""Statuses of the memories that are imported; others are hidden in the exported store."""

UNNAMED = "import"
"""Source of a memory that names none itself."""


BITE = 256
"""Maximum number of lines written by one transaction: about 20 ms, during which an ``add``
waits."""
BITE_BYTES = 1 << 20
"""Maximum number of bytes of the file written by one transaction, unless a single line has more."""
MAX_LINE = 64 * 1024 * 1024
"""Maximum length of a line that is read, bytes, except of the caller's own file, where a memory
with all its earlier states may be longer."""

_GARBLED = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
"""Errors from reading a line with wrong fields."""

_UNIT = 0.01
"""Maximum distance from 1 of the length of a vector."""

Labels: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms on which an import accepts memories."""

    limits: check.Limits
    rules: Rules
    secrets: Secrets | str
    trust: Trust
    """How far the file is trusted."""
    now: int
    """The present moment, microseconds; no memory was created later."""

    @property
    def is_own(self) -> bool:
        """Whether the file is the caller's own, which is imported unchanged."""
        return self.trust == Trust.USER

    @property
    def longest(self) -> int:
        """Maximum length of a line in bytes; -1 for any."""
        return longest_line(self.trust)


def longest_line(trust: str) -> int:
    """Return the maximum length of a line of a file with a trust class, in bytes; -1 for any."""
    return -1 if trust == Trust.USER else MAX_LINE


class Arrival(NamedTuple):
    """A memory to write, with its earlier states and its vector."""

    entry: Entry
    states: Sequence[State]
    vector: bytes | None


class Link(NamedTuple):
    """A link to write."""

    ends: tuple[str, str]
    relation: str
    weight: float


class EventLine(NamedTuple):
    """An event to append."""

    at: int
    kind: str
    memory: str | None
    detail: Mapping[str, Any] | None


What: TypeAlias = Arrival | Link | EventLine | SessionLine | Place | ShareLine


class Item(NamedTuple):
    """The content of a line: its number from 1, its bytes, its target, and what to write."""

    line: int
    size: int
    labels: Labels
    what: What


class Lines:
    """Reads the lines of an export that can be imported; for one iteration.

    ``targets`` maps each namespace of the file to the one it goes into; without ``dim`` vectors are
    left out. ``damaged``, ``hidden`` and ``demoted`` are those of `Imported`.
    """

    def __init__(
        self, stream: IO[bytes], targets: Mapping[Labels, Labels], dim: int | None, terms: Terms
    ) -> None:
        self.damaged: list[str] = []
        self.hidden = self.demoted = 0
        self._stream, self._targets, self._dim, self._terms = stream, targets, dim, terms
        self._ids: set[tuple[Labels, str]] = set()

    def __iter__(self) -> Iterator[Item]:
        """Yield the content of the lines; an error names the line."""
        self._stream.seek(0)
        for number, data in enumerate(each_line(self._stream, self._terms.longest), start=1):
            line = json.loads(data)
            if line["type"] not in KINDS:
                continue
            try:
                labels = self._targets[parse_namespace(line["namespace"])]
                what = self._read(labels, line)
            except InvalidInput as error:
                raise error.within(f"line {number}") from error
            except _GARBLED as error:
                raise InvalidInput(
                    f"line {number}", f"a field is missing or damaged: {error!r}"
                ) from error
            if what is not None:
                yield Item(number, len(data), labels, what)

    def _read(self, labels: Labels, line: Mapping[str, Any]) -> What | None:
        """Read a line; None if it is left out, as most types of another person's file."""
        kind, own = line["type"], self._terms.is_own
        if kind == "memory":
            return self._memory(labels, line)
        if kind == "link":
            return _link(line)
        if kind == "event":
            return _event(line) if own else None
        found = _OTHERS[kind](line)
        if isinstance(found, ShareLine):  # what goes into another namespace is not shared by it
            own &= labels == parse_namespace(line["namespace"]) and labels != found.seen_by
        return found if own else None

    def _memory(self, labels: Labels, line: Mapping[str, Any]) -> Arrival | None:
        if line.get("damaged"):
            self.damaged.append(check.check_id(line["id"]))
            return None
        own = self._terms.is_own
        row, document = read_row(line, None if own else self._terms.limits)
        if (labels, row.id) in self._ids:
            raise InvalidInput("id", f"{row.id!r} occurs twice")
        self._ids.add((labels, row.id))
        if own:
            states = [read_state(state, row) for state in line["versions"]]
            vector = None if self._dim is None else _vector(line.get("vector"), self._dim)
            return Arrival(Entry(row=row, text=document, chosen_id=True), states, vector)
        if row.status not in TAKEN:
            self.hidden += 1
            return None
        self.demoted += row.kind == Kind.RULE or bool(row.pinned)
        found = _made_ordinary(row, self._terms)
        entry = Entry(row=row, text=measure(row), chosen_id=True, redacted=found)
        return Arrival(entry, (), None)


_OTHERS: dict[str, Callable[[Mapping[str, Any]], SessionLine | Place | ShareLine]] = {
    "session": read_session,
    "scope": read_scope,
    "share": read_share,
}
KINDS = frozenset({"memory", "link", "event", *_OTHERS})
"""Types of the lines between the first and the last."""


def _link(line: Mapping[str, Any]) -> Link:
    ends = (check.check_id(line["from"]), check.check_id(line["to"]))
    return Link(ends, check.short_name("relation", line["relation"]), _number(line["weight"]))


def _event(line: Mapping[str, Any]) -> EventLine:
    """Read an event of the caller's own file; its detail may have any size."""
    memory_id, detail = line["memory"], line["detail"]
    if detail is not None:
        check.check_metadata(detail, ANY_SIZE)
    if memory_id is not None:
        check.check_id(memory_id)
    elif isinstance(detail, dict):
        for one in detail.get("ids", ()):
            if one != "":  # one that was erased
                check.check_id(one)
    kind, at = check.short_name("kind", line["kind"]), read_moment("at", line["at"])
    return EventLine(at, kind, memory_id, detail)


def _made_ordinary(row: Row, terms: Terms) -> Counter[str]:
    """Make an ordinary memory of a row from a file that is not the caller's own.

    Call ``measure`` afterwards. Returns the number of removed secrets, by kind.
    """
    given, clean = row.occurred_at != row.created_at, Redaction(terms.secrets)
    clean.row(row)
    if clean.name("key", row.key) != row.key:
        row.key = None  # two redacted keys could become the same slot
    row.source_uri = row.source_uri or UNNAMED
    row.trust = Trust.least([Trust(row.trust), terms.trust]).value
    if row.kind == Kind.RULE:
        row.kind = Kind.FACT.value
    row.pinned = row.reinforced = 0
    row.version, row.superseded_by = 1, None
    row.created_at = row.updated_at = min(row.created_at, terms.now)
    row.content_hash = content_hash(
        row.text,
        row.scope,
        row.key,
        row.session,
        row.actor,
        row.role,
        row.occurred_at if given else None,
        condition=row.condition,
    )
    return clean.found


def bites(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Divide items among transactions, each with few lines and few bytes."""
    bite: list[Item] = []
    size = 0
    for item in items:
        if bite and (len(bite) == BITE or size + item.size > BITE_BYTES):
            yield bite
            bite, size = [], 0
        bite.append(item)
        size += item.size
    if bite:
        yield bite


def each_line(stream: IO[bytes], longest: int) -> Iterator[bytes]:
    """Yield the lines of an export from the present position of the stream.

    A line of more than ``longest`` bytes is cut; -1 for no limit.
    """
    while data := stream.readline(longest):
        yield data


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        refuse("weight", "must be a finite number")
    return float(value) + 0.0  # never -0.0, which a ledger does not give back


def _vector(encoded: Any, dim: int) -> bytes | None:
    """Decode a vector, which must be of the embedder's dimension and of unit length."""
    if encoded is None:
        return None
    vector = array("f", blob := base64.b64decode(encoded, validate=True))
    if len(vector) != dim:
        refuse("vector", f"has {len(vector)} numbers, but its embedder produces {dim}")
    length = math.sqrt(sum(x * x for x in vector))
    if not abs(length - 1) < _UNIT:
        refuse("vector", "is not of unit length")
    return blob
