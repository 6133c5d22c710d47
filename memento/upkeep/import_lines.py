"""Read and check the lines of an export and prepare them for the ledger; needs no store."""

from __future__ import annotations

import base64
import json
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, NamedTuple, TypeAlias

from memento import check
from memento.admit import draft
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
"""Most lines written by one transaction: about 20 ms, during which an ``add`` waits."""
BITE_BYTES = 1 << 20
"""Most bytes of the file written by one transaction, unless a single line has more."""
MAX_LINE = 64 * 1024 * 1024
"""Longest line that is read, bytes; a file with a longer one is not an export."""

_GARBLED = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
"""Errors from reading a line with wrong fields."""

_UNIT = 0.01
"""Largest distance from 1 of the length of a vector."""

Labels: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms on which an import accepts memories.

    Attributes:
        limits: Largest values of a memory.
        rules: The settings that a write obeys.
        secrets: How secrets are treated.
        trust: How far the file is trusted.
        now: The present moment, microseconds; no memory was created later.
    """

    limits: check.Limits
    rules: Rules
    secrets: Secrets | str
    trust: Trust
    now: int

    @property
    def is_own(self) -> bool:
        """Whether the file is the caller's own, which is imported unchanged."""
        return self.trust == Trust.USER


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


class Item(NamedTuple):
    """The content of one line.

    Attributes:
        line: Its number, from 1.
        size: Its length, bytes.
        labels: The namespace it goes into.
        what: The memory, link, event, session, scope or share to write.
    """

    line: int
    size: int
    labels: Labels
    what: Arrival | Link | EventLine | SessionLine | Place | ShareLine


class Lines:
    """Reads the lines of an export that can be imported; for one iteration.

    Args:
        stream: The export.
        targets: Namespaces of the file to those they go into.
        dim: Dimension of the vectors; None to leave them out.
        terms: The terms on which memories are accepted.

    Attributes:
        damaged: Ids of memories that were damaged in the exported store.
        hidden: Number of memories that were left out because they are hidden there.
        demoted: Number of memories that are a rule or pinned there and are neither here.
    """

    def __init__(
        self, stream: IO[bytes], targets: Mapping[Labels, Labels], dim: int | None, terms: Terms
    ) -> None:
        self.damaged: list[str] = []
        self.hidden = self.demoted = 0
        self._stream = stream
        self._targets = targets
        self._dim = dim
        self._terms = terms
        self._ids: set[tuple[Labels, str]] = set()

    def __iter__(self) -> Iterator[Item]:
        """Yield the content of the lines.

        Raises:
            InvalidInput: If a value cannot be accepted; the message names the line.
            SecretFound: If a memory holds a secret and secrets are refused.
        """
        read = {
            "memory": self._memory,
            "link": self._link,
            "event": self._event,
            "session": self._session,
            "scope": self._scope,
            "share": self._share,
        }
        self._stream.seek(0)
        for number, data in enumerate(each_line(self._stream), start=1):
            line = json.loads(data)
            if line["type"] not in read:
                continue
            try:
                labels = self._targets[parse_namespace(line["namespace"])]
                what = read[line["type"]](labels, line)
            except InvalidInput as error:
                raise error.within(f"line {number}") from error
            except _GARBLED as error:
                raise InvalidInput(
                    f"line {number}", f"a field is missing or damaged: {error!r}"
                ) from error
            if what is not None:
                yield Item(number, len(data), labels, what)

    def _memory(self, labels: Labels, line: Mapping[str, Any]) -> Arrival | None:
        if line.get("damaged"):
            self.damaged.append(check.check_id(line["id"]))
            return None
        row, document = read_row(line, self._terms.limits)
        if (labels, row.id) in self._ids:
            raise InvalidInput("id", f"{row.id!r} comes twice")
        self._ids.add((labels, row.id))
        if self._terms.is_own:
            states = [read_state(state, row, self._terms.limits) for state in line["versions"]]
            vector = None if self._dim is None else _vector(line.get("vector"), self._dim)
            return Arrival(Entry(row=row, text=document, chosen_id=True), states, vector)
        if row.status not in TAKEN:
            self.hidden += 1
            return None
        self.demoted += row.kind == Kind.RULE or bool(row.pinned)
        found = _made_ordinary(row, self._terms)
        entry = Entry(row=row, text=measure(row), chosen_id=True, redacted=found)
        return Arrival(entry, (), None)

    def _link(self, _labels: Labels, line: Mapping[str, Any]) -> Link:
        ends = (check.check_id(line["from"]), check.check_id(line["to"]))
        return Link(ends, check.short_name("relation", line["relation"]), _number(line["weight"]))

    def _event(self, _labels: Labels, line: Mapping[str, Any]) -> EventLine | None:
        if not self._terms.is_own:
            return None
        memory_id, detail = line["memory"], line["detail"]
        if detail is not None:
            check.check_metadata(detail, self._terms.limits)
        if memory_id is not None:
            check.check_id(memory_id)
        elif isinstance(detail, dict):
            for one in detail.get("ids", ()):
                if one != "":  # one that was erased
                    check.check_id(one)
        kind, at = check.short_name("kind", line["kind"]), read_moment("at", line["at"])
        return EventLine(at, kind, memory_id, detail)

    def _session(self, _labels: Labels, line: Mapping[str, Any]) -> SessionLine | None:
        found = read_session(line)
        return found if self._terms.is_own else None

    def _scope(self, _labels: Labels, line: Mapping[str, Any]) -> Place | None:
        found = read_scope(line)
        return found if self._terms.is_own else None

    def _share(self, labels: Labels, line: Mapping[str, Any]) -> ShareLine | None:
        """Read a share; what goes into another namespace is not shared by that one."""
        found = read_share(line)
        same = labels == parse_namespace(line["namespace"]) and labels != found.seen_by
        return found if same and self._terms.is_own else None


def _made_ordinary(row: Row, terms: Terms) -> Counter[str]:
    """Change the row of a file that is not the caller's own so that it may be imported.

    Measures and checksum are to be renewed.

    Returns:
        The secrets that were removed, by kind.

    Raises:
        SecretFound: If it holds a secret and secrets are refused.
    """
    given = row.occurred_at != row.created_at
    found = _redact(row, Redaction(terms.secrets))
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
    return found


def _redact(row: Row, clean: Redaction) -> Counter[str]:
    draft.redact_row(row, clean)
    if clean.name("key", row.key) != row.key:
        row.key = None  # two redacted keys could become the same slot
    row.source_uri = row.source_uri or UNNAMED
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


def each_line(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of an export from the present position of the stream."""
    while data := stream.readline(MAX_LINE):
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
        refuse("vector", f"has {len(vector)} numbers, its embedder makes {dim}")
    length = math.sqrt(sum(x * x for x in vector))
    if not abs(length - 1) < _UNIT:
        refuse("vector", "is not of unit length")
    return blob
