"""Encode each value of a memory in an export, and read it again, validated as by ``add``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, NoReturn

from memento import check
from memento.admit import draft
from memento.clock import from_micros
from memento.errors import InvalidInput
from memento.language.words import Columns, cues
from memento.ledger.rows import (
    IMPORTANCE_GIVEN,
    TIER_GIVEN,
    Row,
    State,
    columns_of,
    state_of,
)
from memento.levels import BITS, PINNED, lock_of
from memento.scopes import parse_scope
from memento.types import Kind, Status, Tier, Trust

LOCK = "lock"
"""Field of a memory that is locked, besides ``FIELDS``: its level."""
FORMAT = 1
"""The version of the format that this code reads and writes."""
OURS = "ours"
"""Field of a memory whose tier or importance memento chose, besides ``FIELDS``: which of them."""

MADE_HERE = {"docid", "ns", "rev", "words", "head_words", "cues", "checksum", "given"}
FIELDS = tuple(field.name for field in fields(Row) if field.name not in MADE_HERE)
_TYPES = {field.name: str(field.type) for field in fields(Row)}
_MOMENTS = {name for name in FIELDS if name.endswith("_at")} | {"valid_from", "valid_until"}
_JSON = {"aliases", "tags", "metadata", "source_parents"}
_BITS_OF_GIVEN = {"tier": TIER_GIVEN, "importance": IMPORTANCE_GIVEN}
_CHOICES = {"tier": Tier, "kind": Kind, "status": Status, "trust": Trust}


def spelt_state(state: State) -> dict[str, Any]:
    """Encode an earlier state of a memory."""
    line = state._asdict() | {"until": spelt_moment(state.until)}
    earlier = json.loads(state.earlier)
    line["earlier"] = {
        name: value if name == "content_hash" else spelt(name, value)
        for name, value in earlier.items()
        if name not in MADE_HERE and name != "ended"
    }
    line["earlier"] |= spelt_lock(earlier["pinned"])
    line["earlier"] |= spelt_ours(earlier["given"])
    return line


def spelt_lock(pinned: int) -> dict[str, str]:
    """Encode the lock of a memory, which most have not: the field ``lock``, or nothing."""
    level = lock_of(pinned)
    return {} if level is None else {LOCK: level}


def spelt_ours(given: int) -> dict[str, list[str]]:
    """Encode what memento chose: the field ``ours``, or nothing if the caller chose both."""
    ours = [name for name, bit in _BITS_OF_GIVEN.items() if not given & bit]
    return {OURS: ours} if ours else {}


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


def read_row(line: Mapping[str, Any], limits: check.Limits) -> tuple[Row, Columns]:
    """Make a row from a line, validated as by ``add``; also the columns for full text."""
    values = {name: _read(name, line[name], limits) for name in FIELDS}
    values["id"] = check.check_id(values["id"])
    values["pinned"] |= _lock(line)
    values["given"] = _given(line)
    row = Row(**values, docid=0, ns=0, rev=0, words=0, head_words=0, cues=0, checksum=b"")
    return row, measure(row)


def read_state(line: Mapping[str, Any], present: Row, limits: check.Limits) -> State:
    """Make an earlier state of the memory ``present`` from a line."""
    columns = {
        name: _read(name, line[name], limits) for name in ("version", "text", "status", "tier")
    }
    until, reason = read_moment("until", line["until"]), check.short_name("reason", line["reason"])
    earlier = line["earlier"]
    named = [name for name in earlier if name not in (LOCK, OURS)]
    values = {name: _read(name, earlier[name], limits) for name in named}
    values["given"] = _given(earlier)
    if LOCK in earlier:
        values["pinned"] |= _lock(earlier)
    past = replace(present, **columns, **values)
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
    """Read which of tier and importance the caller chose; both, if nothing is said."""
    ours = line.get(OURS, [])
    if not isinstance(ours, list) or any(name not in _BITS_OF_GIVEN for name in ours):
        refuse(OURS, f"must be a list of: {', '.join(_BITS_OF_GIVEN)}")
    return sum(bit for name, bit in _BITS_OF_GIVEN.items() if name not in ours)


def _read(name: str, value: Any, limits: check.Limits) -> Any:
    """Turn a value of the file into the value of the column, or refuse it."""
    if name not in FIELDS:
        raise InvalidInput(name, "is not a field of this format")
    if value is None:
        return None if "None" in _TYPES[name] else refuse(name, "must not be null")
    if name in _CHOICES:
        return check.member(_CHOICES[name], name, value).value
    if name in _MOMENTS:
        return read_moment(name, value)
    if name in _JSON:
        return _read_json(name, value, limits)
    return _read_plain(name, value, limits)


def _read_json(name: str, value: Any, limits: check.Limits) -> str:
    if name == "metadata":
        return check.check_metadata(value, limits)
    return draft.to_json(check.names(name, value))


def _read_plain(name: str, value: Any, limits: check.Limits) -> Any:
    checks: dict[str, Callable[[], Any]] = {
        "text": lambda: check.check_text(value, limits),
        "scope": lambda: parse_scope(value),
        "pinned": lambda: int(check.check_flag(name, value)),
        "importance": lambda: check.check_share(name, value),
        "content_hash": lambda: bytes.fromhex(value),
    }
    if name in checks:
        return checks[name]()
    if _TYPES[name].startswith("int"):
        whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53
        return value if whole else refuse(name, "must be a whole number, at least 0")
    if not isinstance(value, str) or len(value) > check.MAX_URI:
        refuse(name, f"must be a string of at most {check.MAX_URI} characters")
    return check.storable(name, value)


def refuse(name: str, problem: str) -> NoReturn:
    """Refuse a value of a field."""
    raise InvalidInput(name, problem)


def read_moment(name: str, value: Any) -> int:
    """Read a moment in ISO 8601 as microseconds since 1970 UTC."""
    try:
        return check.check_moment(name, datetime.fromisoformat(value))
    except (TypeError, ValueError) as error:
        raise InvalidInput(name, f"must be ISO 8601 with a zone, not {value!r:.60}") from error
