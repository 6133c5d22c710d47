"""How each value of a memory is spelt in an export, and read again: checked as at the door."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, NoReturn

from memento.errors import InvalidInput
from memento.ledger import fulltext
from memento.ledger.rows import Row, State, from_micros, state_of
from memento.observe import admit
from memento.scopes import parse_scope
from memento.text import Columns, cues
from memento.types import Kind, Status, Tier, Trust

FORMAT = 1
"""Version of the format this code writes, and the newest it reads."""

MADE_HERE = {"docid", "ns", "rev", "words", "head_words", "cues", "checksum"}
FIELDS = tuple(field.name for field in fields(Row) if field.name not in MADE_HERE)
_TYPES = {field.name: str(field.type) for field in fields(Row)}
_MOMENTS = {name for name in FIELDS if name.endswith("_at")} | {"valid_from", "valid_until"}
_JSON = {"aliases", "tags", "metadata", "source_parents"}
_CHOICES = {"tier": Tier, "kind": Kind, "status": Status, "trust": Trust}


def spelt_state(state: State) -> dict[str, Any]:
    """Spell an earlier state of a memory."""
    line = state._asdict() | {"until": spelt_moment(state.until)}
    if state.earlier is not None:
        line["earlier"] = {
            name: value if name == "content_hash" else spelt(name, value)
            for name, value in json.loads(state.earlier).items()
            if name not in MADE_HERE and name != "ended"
        }
    return line


def spelt(name: str, value: Any) -> Any:
    """Spell the value of a column as it is in the file."""
    if value is None:
        return None
    if name in _MOMENTS:
        return spelt_moment(value)
    if name in _JSON:
        return json.loads(value)
    if name == "pinned":
        return bool(value)
    return value.hex() if isinstance(value, bytes) else value


def spelt_moment(micros: int) -> str:
    """Spell microseconds since 1970 as ISO 8601, UTC, always of one length."""
    return from_micros(micros).isoformat(timespec="microseconds").replace("+00:00", "Z")


def read_row(line: Mapping[str, Any], limits: admit.Limits) -> tuple[Row, Columns]:
    """Make a row of a line, each value checked as at the door; also what full text indexes."""
    values = {name: _read(name, line[name], limits) for name in FIELDS}
    values["id"] = admit.check_id(values["id"])
    row = Row(**values, docid=0, ns=0, rev=0, words=0, head_words=0, cues=0, checksum=b"")
    return row, measure(row)


def read_state(line: Mapping[str, Any], present: Row, limits: admit.Limits) -> State:
    """Make an earlier state of a line, of the memory that has become ``present``."""
    columns = {
        name: _read(name, line[name], limits) for name in ("version", "text", "status", "tier")
    }
    until, reason = read_moment("until", line["until"]), admit.short_name("reason", line["reason"])
    if line["earlier"] is None:
        return State(**columns, until=until, reason=reason, earlier=None)
    values = {name: _read(name, value, limits) for name, value in line["earlier"].items()}
    past = replace(present, **columns, **values)
    measure(past)
    return state_of(past, until, reason)


def measure(row: Row) -> Columns:
    """Set what is derived from the rest, the seal last; returns what full text indexes of it."""
    document = fulltext.columns_of(row)
    row.words, row.head_words = document.words, document.head_words
    row.cues = cues(row.text, row.role)
    row.seal()
    return document


def _read(name: str, value: Any, limits: admit.Limits) -> Any:
    """Turn a value of the file into that of the column, or refuse it."""
    if name not in FIELDS:
        raise InvalidInput(name, "is no field of this format")
    if value is None:
        return None if "None" in _TYPES[name] else refuse(name, "must not be null")
    if name in _CHOICES:
        return admit.member(_CHOICES[name], name, value).value
    if name in _MOMENTS:
        return read_moment(name, value)
    if name in _JSON:
        return _read_json(name, value, limits)
    return _read_plain(name, value, limits)


def _read_json(name: str, value: Any, limits: admit.Limits) -> str:
    if name == "metadata":
        return admit.check_metadata(value, limits)
    return admit.to_json(admit.names(name, value))


def _read_plain(name: str, value: Any, limits: admit.Limits) -> Any:
    checks: dict[str, Callable[[], Any]] = {
        "text": lambda: admit.check_text(value, limits),
        "scope": lambda: parse_scope(value),
        "pinned": lambda: int(admit.check_flag(name, value)),
        "importance": lambda: admit.check_share(name, value),
        "content_hash": lambda: bytes.fromhex(value),
    }
    if name in checks:
        return checks[name]()
    if _TYPES[name].startswith("int"):
        whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53
        return value if whole else refuse(name, "must be a whole number, at least 0")
    if not isinstance(value, str) or len(value) > admit.MAX_URI:
        refuse(name, f"must be a string of at most {admit.MAX_URI} characters")
    return admit.storable(name, value)


def refuse(name: str, problem: str) -> NoReturn:
    """Refuse a value of a field."""
    raise InvalidInput(name, problem)


def read_moment(name: str, value: Any) -> int:
    """Read a moment in ISO 8601 as microseconds since 1970 UTC."""
    try:
        return admit.check_moment(name, datetime.fromisoformat(value))
    except (TypeError, ValueError) as error:
        raise InvalidInput(name, f"is no moment in ISO 8601 with a zone: {value!r:.60}") from error
