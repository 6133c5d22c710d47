"""Encode each value of a memory in an export, and read it again, validated as by ``add``.

Values of the caller's own file keep their size: a store holds longer ones than ``add`` accepts, for
example where the mark of a secret is longer than the secret, and limits can be lowered later.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, NamedTuple, NoReturn

from memento import check
from memento.admit.draft import to_json
from memento.base.clock import from_micros
from memento.base.plain import composed
from memento.base.scopes import MAX_LABEL, contains, parse_namespace, parse_scope
from memento.errors import InvalidInput
from memento.ledger import session_rows
from memento.ledger.contract import Transaction
from memento.ledger.rows import (
    BITS,
    IMPORTANCE_GIVEN,
    PINNED,
    TIER_GIVEN,
    Row,
    State,
    columns_of,
    lock_of,
    state_of,
)
from memento.ledger.scope_rows import Place, Share
from memento.ledger.session_rows import Begun, Noted
from memento.messages import named
from memento.text.words import Columns, cues
from memento.types import Kind, Status, Tier, Trust
from memento.write.session_marks import KINDS

LOCK = "lock"
"""Field of a locked memory, besides ``FIELDS``: its level."""
FORMAT = 1
"""The version of the format that this code reads and writes."""
OURS = "ours"
"""Field of a memory whose tier or importance memento chose, besides ``FIELDS``: which of them."""

ANY_SIZE = check.Limits(check.MAX_INTEGER, check.MAX_INTEGER)
"""The limits of values in the caller's own file."""

MADE_HERE = {"docid", "ns", "rev", "words", "head_words", "cues", "checksum", "given"}
FIELDS = tuple(field.name for field in fields(Row) if field.name not in MADE_HERE)
_TYPES = {field.name: str(field.type) for field in fields(Row)}
_SCOPE = ("path", "title", "aliases", "created_at", "merged_at", "merged_into")
_SESSION = ("id", "scope", "goal", "started", "touched", "ended", "outcome")
_MOMENTS = {name for name in (*FIELDS, *_SCOPE) if name.endswith("_at")} | {
    "valid_from", "valid_until", "started", "touched", "ended"
}  # fmt: skip
_JSON = {"aliases", "tags", "metadata", "source_parents"}
_BITS_OF_GIVEN = {"tier": TIER_GIVEN, "importance": IMPORTANCE_GIVEN}
_CHOICES = {"tier": Tier, "kind": Kind, "status": Status, "trust": Trust}


class SessionLine(NamedTuple):
    """A session, with its checkpoints."""

    begun: Begun
    checkpoints: Sequence[Noted]


class ShareLine(NamedTuple):
    """A share, and the labels of the namespace that sees it."""

    share: Share
    seen_by: tuple[str, ...]


def spelt_state(state: State) -> dict[str, Any]:
    """Encode an earlier state of a memory."""
    line = state._asdict() | {"until": spelt_moment(state.until)}
    earlier = json.loads(state.earlier)
    line["earlier"] = {
        name: value if name == "content_hash" else spelt(name, value)
        for name, value in earlier.items()
        if name not in MADE_HERE and name != "ended"
    }
    line["earlier"] |= spelt_marks(earlier["pinned"], earlier["given"])
    return line


def spelt_marks(pinned: int, given: int) -> dict[str, Any]:
    """Encode the lock of a memory, and what memento chose; each field only if there is any."""
    level = lock_of(pinned)
    ours = [name for name, bit in _BITS_OF_GIVEN.items() if not given & bit]
    return ({} if level is None else {LOCK: level}) | ({OURS: ours} if ours else {})


def spelt(name: str, value: Any) -> Any:
    """Encode the value of a column as in the file."""
    if value is None:
        return None
    if name in _MOMENTS:
        return spelt_moment(value)
    if name in _JSON:
        return json.loads(value)
    if name == "pinned":
        return bool(value & PINNED)
    return value.hex() if isinstance(value, bytes) else value


def spelt_moment(micros: int) -> str:
    """Write microseconds since 1970 as ISO 8601, UTC, always with the same length."""
    return from_micros(micros).isoformat(timespec="microseconds").replace("+00:00", "Z")


def read_row(line: Mapping[str, Any], limits: check.Limits | None) -> tuple[Row, Columns]:
    """Make a row from a line, validated as by ``add``; also the columns for full text.

    Without ``limits``, for the caller's own file, values may have any size.
    """
    values = {name: _read(name, line[name], limits) for name in FIELDS}
    values["id"] = check.check_id(values["id"])
    values["pinned"] |= _lock(line)
    values["given"] = _given(line)
    row = Row(**values, docid=0, ns=0, rev=0, words=0, head_words=0, cues=0, checksum=b"")
    return row, measure(row)


def read_state(line: Mapping[str, Any], present: Row) -> State:
    """Make an earlier state of the memory ``present`` from a line of the caller's own file."""
    columns = {
        name: _read(name, line[name], None) for name in ("version", "text", "status", "tier")
    }
    until, reason = read_moment("until", line["until"]), check.short_name("reason", line["reason"])
    earlier = line["earlier"]
    columns |= {
        name: _read(name, value, None)
        for name, value in earlier.items()
        if name not in (LOCK, OURS)
    }
    columns["given"] = _given(earlier)
    if LOCK in earlier:
        columns["pinned"] |= _lock(earlier)
    past = replace(present, **columns)
    measure(past)
    return state_of(past, until, reason)


def measure(row: Row) -> Columns:
    """Set the derived columns, the checksum last; returns the columns for full text."""
    document = columns_of(row)
    row.words, row.head_words = document.words, document.head_words
    row.cues = cues(row.text, row.role)
    row.seal()
    return document


def _lock(line: Mapping[str, Any]) -> int:
    """Read the bit of a lock; 0 if there is none."""
    level = line.get(LOCK)
    if level is None:
        return 0
    known = isinstance(level, str) and level in BITS
    return BITS[level] if known else refuse(LOCK, f"is not one of: {', '.join(BITS)}")


def _given(line: Mapping[str, Any]) -> int:
    """Read which of tier and importance the caller chose; both if the field is missing."""
    ours = line.get(OURS, [])
    if not isinstance(ours, list) or any(name not in _BITS_OF_GIVEN for name in ours):
        refuse(OURS, f"must be a list of these values: {', '.join(_BITS_OF_GIVEN)}")
    return sum(bit for name, bit in _BITS_OF_GIVEN.items() if name not in ours)


def _read(name: str, value: Any, limits: check.Limits | None) -> Any:
    """Turn a value of the file into the value of the column, or refuse it."""
    if name not in FIELDS:
        raise InvalidInput(name, "is not a field of this format")
    if value is None:
        return None if "None" in _TYPES[name] else refuse(name, "must not be null")
    if name in _CHOICES:
        return check.member(_CHOICES[name], name, value).value
    if name in _MOMENTS:
        return read_moment(name, value)
    if name in _JSON and name != "metadata":
        return to_json(_read_names(name, value, own=limits is None))
    return _read_plain(name, value, limits)


def _read_names(name: str, value: Any, *, own: bool) -> Sequence[str]:
    if own:
        return check.names(name, value, most=check.MAX_INTEGER, items=check.MAX_INTEGER)
    given = check.names(name, value)
    return check.ids(name, given) if name == "source_parents" else given


def _read_plain(name: str, value: Any, limits: check.Limits | None) -> Any:
    sizes = limits or ANY_SIZE
    checks: dict[str, Callable[[], Any]] = {
        "text": lambda: check.check_text(value, sizes),
        "metadata": lambda: check.check_metadata(value, sizes),
        "scope": lambda: parse_scope(value, most=MAX_LABEL if limits else check.MAX_INTEGER),
        "pinned": lambda: int(check.check_flag(name, value)),
        "importance": lambda: check.check_share(name, value),
        "content_hash": lambda: bytes.fromhex(value),
    }
    if name in checks:
        return checks[name]()
    if _TYPES[name].startswith("int"):
        whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53
        return value if whole else refuse(name, "must be a whole number, at least 0")
    if not isinstance(value, str):
        refuse(name, "must be a string")
    return composed(check.storable(name, value)) if limits is None else _read_name(name, value)


def _read_name(name: str, value: str) -> str | None:
    """Check a name of somebody else's file as ``add`` does, so that calls can name it."""
    match name:
        case "source_uri":
            return check.short_name(name, value, most=check.MAX_URI)
        case "superseded_by":
            return check.check_id(value, name)
        case "condition":
            return check.optional_condition(name, value)
        case "role":
            return named(check.short_name(name, value))
    return check.short_name(name, value)


def refuse(name: str, problem: str) -> NoReturn:
    """Refuse a value of a field."""
    raise InvalidInput(name, problem)


def read_moment(name: str, value: Any) -> int:
    """Read a moment in ISO 8601 as microseconds since 1970 UTC."""
    try:
        return check.check_moment(name, datetime.fromisoformat(value))
    except (TypeError, ValueError) as error:
        raise InvalidInput(name, f"must be ISO 8601 with a zone, not {value!r:.60}") from error


def _moment(name: str, value: Any) -> int | None:
    return None if value is None else read_moment(name, value)


def spelt_scope(one: Place) -> dict[str, Any]:
    """Encode a scope."""
    return {name: spelt(name, getattr(one, name)) for name in _SCOPE}


def read_scope(line: Mapping[str, Any]) -> Place:
    """Make a scope from a line of the caller's own file; its namespace is set later."""
    path, title, into = line["path"], line["title"], line["merged_into"]
    merged_at = line["merged_at"]
    if not isinstance(title, str) or (into is None) != (merged_at is None):
        refuse("scope", "has no title, or lacks the time or target of its merge")
    path = parse_scope(path, "path") or refuse("path", "is everywhere")
    into = None if into is None else parse_scope(into, "merged_into")
    if into is not None and contains(path, into):
        refuse("merged_into", "is the scope itself or inside it")
    return Place(
        ns=0,
        path=path,
        title=check.short_name("title", title) if title else "",
        aliases=to_json(_read_names("aliases", line["aliases"], own=True)),
        created_at=read_moment("created_at", line["created_at"]),
        merged_at=_moment("merged_at", merged_at),
        merged_into=into,
        merges=json.dumps([]),
    )


def spelt_share(one: Share, labels: tuple[str, ...]) -> dict[str, Any]:
    """Encode a share and the labels of the namespace that sees it."""
    return {"scope": one.scope, "with": list(labels), "since": spelt_moment(one.since)}


def read_share(line: Mapping[str, Any]) -> ShareLine:
    """Make a share from a line; the numbers of its namespaces are set later."""
    share = Share(0, parse_scope(line["scope"]), 0, read_moment("since", line["since"]))
    return ShareLine(share, parse_namespace(line["with"]))


MOST = 1 << 20
"""Maximum number of checkpoints in a session that are read."""
_PARTS = ("kind", "goal", "done", "next", "blocked", "files", "note", "data")
"""The parts of a checkpoint, in the order in which they are written."""


def spelt_session(db: Transaction, one: Begun) -> dict[str, Any]:
    """Encode a session and its checkpoints, the oldest first."""
    noted = reversed(session_rows.checkpoints(db, one.ns, one.id, MOST))
    checkpoints = [{"at": spelt_moment(each.at)} | json.loads(each.body) for each in noted]
    line = {name: spelt(name, getattr(one, name)) for name in _SESSION}
    return line | {"checkpoints": checkpoints}


def read_session(line: Mapping[str, Any]) -> SessionLine:
    """Make a session and checkpoints from a line; namespace and revisions are set later."""
    name = check.short_name("id", line["id"])
    begun = Begun(
        ns=0,
        id=name,
        scope=parse_scope(line["scope"]),
        goal=_text("goal", line["goal"]),
        started=read_moment("started", line["started"]),
        touched=read_moment("touched", line["touched"]),
        ended=_moment("ended", line["ended"]),
        outcome=_text("outcome", line["outcome"]),
        owner="",
        epoch=0,
        head=None,
    )
    checkpoints = [
        Noted(
            ns=0,
            session=name,
            number=number,
            at=read_moment("at", said["at"]),
            rev=0,
            body=json.dumps({part: _part(part, said[part]) for part in _PARTS}, ensure_ascii=False),
        )
        for number, said in enumerate(line["checkpoints"], start=1)
    ]
    return SessionLine(begun, checkpoints)


def _part(name: str, value: Any) -> Any:
    if name == "kind":
        return value if value in KINDS else refuse(name, f"is not one of: {', '.join(KINDS)}")
    if name in ("files", "data"):
        return json.loads(check.check_metadata(value, ANY_SIZE))
    if name in ("goal", "note"):
        return _text(name, value)
    if not isinstance(value, list):
        refuse(name, "must be a list")
    return [_text(name, str(item)) for item in value]


def _text(name: str, text: object) -> str | None:
    if text is None:
        return None
    return check.storable(name, text) if isinstance(text, str) else refuse(name, "must be text")
