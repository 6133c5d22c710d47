"""Validate single values, by the same rules everywhere. Pure.

``add``, the filters, ``update``, an import, the command line and the adapters all use these checks.
A value that cannot be accepted raises ``InvalidInput`` naming the field; nothing is changed
silently.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from math import inf, isfinite
from typing import Any, TypeVar

from memento.base.clock import to_micros
from memento.base.plain import composed
from memento.errors import InvalidInput
from memento.protocols import Progress
from memento.types import Hit, Memory, Source, Trust

E = TypeVar("E", bound=StrEnum)

MAX_NAME = 256
"""Maximum length of a key, alias, tag, actor, role or session, characters."""
MAX_ID = 128
MAX_URI = 2048
MAX_INTEGER = 2**63 - 1
MAX_WAIT = 86_400.0
"""Maximum time a call may wait for an index, seconds."""
WAIT = 5.0
"""Default time for which a question waits until what was just told is embedded, seconds."""
MAX_PLACE = 200
"""Maximum number of characters in the place of a value in a message."""
MAX_DEPTH = 64
"""Deepest nesting of metadata; SQLite reads JSON to 1,000 levels, Python to fewer."""
MAX_ITEMS = 64
"""Maximum number of aliases, tags or links on one memory."""
MAX_K = 10_000
"""Maximum number of hits one call may ask for."""
MAX_IDS = 100_000
"""Maximum number of ids one call may choose among."""
MAX_TOKENS = 1 << 40
"""Maximum budget of tokens that one call may have."""
PROMPT_TOKENS = 1_500
"""Default budget of ``MemoryManager.prompt``: five long passages and the frame."""
TALK_TOKENS = 400
"""Default budget of ``recall``, and of ``resume`` of a session."""
MAX_SECONDS = 1000 * 366 * 86_400.0
ABOVE_0 = sys.float_info.min
"""Minimum value of a number that must not be 0."""
_TINY = 1e-6


@dataclass(frozen=True, slots=True)
class Limits:
    """The maximum size of a text and of its metadata.

    Attributes:
        text_chars: Maximum length of a text in characters, >= 1.
        metadata_bytes: Maximum size of the metadata as JSON, in bytes, >= 2. Metadata is read
            whenever its memory is, so store large data elsewhere and keep only its address here.
    """

    text_chars: int = 65_536
    metadata_bytes: int = 1_048_576

    def __post_init__(self) -> None:
        check_count("limits.text_chars", self.text_chars, most=MAX_INTEGER)
        check_count("limits.metadata_bytes", self.metadata_bytes, least=2, most=MAX_INTEGER)


def check_text(text: object, limits: Limits) -> str:
    """Accept a text that is not empty, not too long, and can be stored as UTF-8."""
    if not isinstance(text, str):
        raise InvalidInput("text", f"must be a string, not {type_name(text)}")
    text = storable("text", text)
    if not text.strip():
        raise InvalidInput("text", "is empty")
    if len(text) > limits.text_chars:
        raise InvalidInput(
            "text",
            f"has {len(text):,} characters; the limit is {limits.text_chars:,}. Split it, or "
            "store it"
            " with documents.add",
        )
    return text


def check_query(query: object) -> str:
    """Return a query."""
    if not isinstance(query, str):
        raise InvalidInput("query", f"must be a string, not {type_name(query)}")
    return query


def check_moment(field: str, moment: object) -> int:
    """Accept a timezone-aware datetime; returns microseconds since 1970 UTC."""
    if not isinstance(moment, datetime):
        raise InvalidInput(field, f"must be a datetime, not {type_name(moment)}")
    try:
        zoned = moment.tzinfo is not None and moment.utcoffset() is not None
        micros = to_micros(moment.astimezone(UTC)) if zoned else None
    except OverflowError:
        raise InvalidInput(field, "must be between the years 1 and 9999 in UTC") from None
    except Exception as error:  # its time zone may be any code
        raise InvalidInput(field, f"its time zone raised {type_name(error)}") from error
    if micros is None:
        raise InvalidInput(field, "has no time zone; use, for example, datetime.now(UTC)")
    return micros


def said_moment(field: str, text: str | None, now: datetime) -> datetime | None:
    """Read a moment as models write it: ISO 8601, or words such as ``last monday``.

    Args:
        field: What an error calls it.
        text: The words; None for no moment.
        now: The present, in the time zone of a moment that names none.
    """
    if text is None:
        return None
    from memento.text.when import moment_of  # noqa: PLC0415 - its tables take long to load

    try:
        return moment_of(text, now)
    except ValueError as error:
        raise InvalidInput(field, str(error)) from None


def check_number(field: str, value: object, least: float = 0.0, most: float = inf) -> float:
    """Accept a finite number from ``least`` to ``most``."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not least <= value <= min(most, sys.float_info.max):  # type: ignore[operator]
        low = "above 0" if 0 < least < _TINY else f"from {least:g}"
        high = "" if most == inf else f" to {most:g}"
        raise InvalidInput(field, f"must be a number {low}{high}, not {shown(value)}")
    return float(value) + 0.0  # type: ignore[arg-type]  # never -0.0, which a ledger changes


def check_share(field: str, value: object) -> float:
    """Accept a number in [0, 1]."""
    return check_number(field, value, most=1.0)


def check_seconds(field: str, value: object) -> float:
    """Accept a time to wait, from none to a day."""
    return check_number(field, value, most=MAX_WAIT)


def check_count(field: str, value: object, *, least: int = 1, most: int = MAX_K) -> int:
    """Accept a whole number from ``least`` to ``most``."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(field, f"must be a whole number, not {shown(value)}")
    if not least <= value <= most:
        raise InvalidInput(field, f"must be from {least} to {most:,}, not {shown(value)}")
    return value


def check_progress(progress: Progress | None) -> Progress | None:
    """Check a progress callback, or None."""
    if progress is not None and not callable(progress):
        raise InvalidInput(
            "progress", f"must be a callable(done, total), not {type_name(progress)}"
        )
    return progress


def check_flag(field: str, value: object) -> bool:
    """Accept a bool."""
    if not isinstance(value, bool):
        raise InvalidInput(field, f"must be True or False, not {type_name(value)}")
    return value


def check_id(value: object, field: str = "id") -> str:
    """Accept an id that the caller chose: 1 to 128 printable characters."""
    if isinstance(value, Memory | Hit):
        cure = ".id" if isinstance(value, Memory) else ".memory.id"
        raise InvalidInput(field, f"must be an id, not a {type_name(value)}; pass its {cure}")
    said = composed(value) if isinstance(value, str) else ""
    if not 0 < len(said) <= MAX_ID or not said.isprintable():
        raise InvalidInput(
            field, f"must consist of 1 to {MAX_ID} printable characters, not {shown(value)}"
        )
    return said


def check_metadata(metadata: object, limits: Limits) -> str:
    """Accept a JSON object; returns it as JSON text."""
    if not isinstance(metadata, Mapping):
        raise InvalidInput("metadata", f"must be a mapping, not {type_name(metadata)}")
    if not metadata:
        return "{}"
    plain = _plain(dict(metadata), ())
    try:
        encoded = json.dumps(plain, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidInput("metadata", f"is not JSON-serializable: {error}") from error
    if len(encoded.encode()) > limits.metadata_bytes:
        raise InvalidInput("metadata", f"is larger than {limits.metadata_bytes:,} bytes as JSON")
    return encoded


def _plain(value: Any, path: tuple[str | int, ...]) -> Any:
    """Return JSON data in its stored form; refuse what ``json`` or SQLite would not keep intact."""
    if len(path) >= MAX_DEPTH:
        raise InvalidInput("metadata", f"is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        if wrong := [key for key in value if not isinstance(key, str)]:
            raise InvalidInput("metadata", f"keys must be strings, not {shown(wrong[0])}")
        names = [composed(storable("metadata", key)) for key in value]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InvalidInput("metadata", f"contains {shown(twice)} twice, in two Unicode forms")
        items = zip(names, value.values(), strict=True)
        return {name: _plain(item, (*path, name)) for name, item in items}
    if isinstance(value, list | tuple):
        return [_plain(item, (*path, at)) for at, item in enumerate(value)]
    if isinstance(value, float) and not isfinite(value):
        raise InvalidInput("metadata", f"at {_place(path)} is {value}, which JSON cannot represent")
    if not isinstance(value, str | int | float | None):
        said = f"at {_place(path)} has the type {type_name(value)}, which JSON cannot represent"
        raise InvalidInput("metadata", f"{said}; use str, int, float, bool, None, list or dict")
    return storable("metadata", value) if isinstance(value, str) else value


def _place(path: Sequence[str | int]) -> str:
    """Format the path to a value in the metadata.

    >>> _place(["a", "b c", 1])
    "['a']['b c'][1]"
    """
    return "".join(f"[{shown(step)}]" for step in path)[:MAX_PLACE]


def check_source(source: object) -> Source:
    """Accept a Source, a trust class, or nothing (the user)."""
    if source is None:
        return Source()
    if not isinstance(source, Source):
        return Source(member(Trust, "source", source))
    return Source(
        member(Trust, "source.kind", source.kind),
        None if source.uri is None else short_name("source.uri", source.uri, most=MAX_URI),
        optional_name("source.model", source.model),
        ids("source.parents", source.parents),
    )


def expiry(expires_in: object, now: int) -> int | None:
    """Turn a time to live, in seconds or as timedelta, into a moment in microseconds."""
    if expires_in is None:
        return None
    if isinstance(expires_in, timedelta):
        seconds = expires_in.total_seconds()
    elif isinstance(expires_in, int | float) and not isinstance(expires_in, bool):
        seconds = expires_in
    else:
        raise InvalidInput(
            "expires_in", f"must be seconds or a timedelta, not {type_name(expires_in)}"
        )
    if not 0.0 < seconds < MAX_SECONDS:
        raise InvalidInput(
            "expires_in", f"must be > 0 and at most 1,000 years, not {shown(expires_in)}"
        )
    return now + int(seconds * 1_000_000)


def member(kind: type[E], field: str, value: object) -> E:
    """Accept a member of an enumeration or its value; nothing else."""
    if isinstance(value, kind):
        return value
    try:
        # The message of the enumeration would contain the value, whatever its size.
        return kind(str.__str__(value) if isinstance(value, str) else "")
    except ValueError:
        known = ", ".join(item.value for item in kind)
        raise InvalidInput(field, f"{shown(value)} is not one of: {known}") from None


def check_word(field: str, value: object, known: Iterable[str]) -> str:
    """Accept one of some words."""
    words = tuple(known)
    if not isinstance(value, str) or value not in words:
        raise InvalidInput(field, f"{shown(value)} is not one of: {', '.join(words)}")
    return value


def names(
    field: str, values: object, *, most: int = MAX_NAME, items: int = MAX_ITEMS
) -> tuple[str, ...]:
    """Accept up to ``items`` short non-empty strings; repeats are dropped, order kept."""
    if isinstance(values, tuple) and not values:
        return ()
    if isinstance(values, str) or not isinstance(values, Sequence | set | frozenset):
        raise InvalidInput(field, f"must be a list of strings, not {type_name(values)}")
    if len(values) > items:
        raise InvalidInput(field, f"has more than {items} items")
    checked = dict.fromkeys(short_name(field, value, most=most) for value in values)
    return tuple(sorted(checked) if isinstance(values, set | frozenset) else checked)


def optional_name(field: str, value: object) -> str | None:
    """Accept a short non-empty string or None."""
    return None if value is None else short_name(field, value)


def ids(field: str, values: object) -> tuple[str, ...]:
    """Accept one id or several."""
    if isinstance(values, tuple) and not values:
        return ()
    if isinstance(values, str):
        return (check_id(values, field),)
    if not isinstance(values, Sequence):
        raise InvalidInput(field, f"must be an id or a list of ids, not {type_name(values)}")
    if len(values) > MAX_ITEMS:
        raise InvalidInput(field, f"has more than {MAX_ITEMS} items")
    return tuple(dict.fromkeys(check_id(value, field) for value in values))


def short_name(field: str, value: object, *, most: int = MAX_NAME) -> str:
    """Return a string that must not be blank or longer than ``most`` characters, in NFC."""
    if not isinstance(value, str):
        raise InvalidInput(field, f"must be a string, not {type_name(value)}")
    value = composed(storable(field, value))
    if not value.strip():
        raise InvalidInput(field, "is empty")
    if len(value) > most:
        raise InvalidInput(field, f"is longer than {most} characters")
    return value


_OF_CONDITION = frozenset({"words", "all_words", "context"})


def optional_condition(field: str, value: object) -> str | None:
    """Accept a condition of a rule: a clause, or a JSON object that can hold.

    >>> optional_condition("condition", "when I ask about recipes")
    'when I ask about recipes'
    """
    name = optional_name(field, value)
    if name is None or not name.lstrip().startswith("{"):
        return name
    try:
        said = json.loads(name)
    except (ValueError, RecursionError):
        return name  # a text that starts with a brace
    if not said or not said.keys() <= _OF_CONDITION:
        raise InvalidInput(field, "may only contain words, all_words and context")
    for part, told in said.items():
        named = part == "context"
        listed = [*told.values()] if named and isinstance(told, dict) else told
        fits = isinstance(listed, list) and listed and all(isinstance(one, str) for one in listed)
        if not fits or named != isinstance(told, dict):
            wanted = "patterns by name" if named else "a list of words"
            raise InvalidInput(f"{field}.{part}", f"must be {wanted}, not {told!r:.60}")
    return name


def storable(field: str, value: str) -> str:
    """Accept a string that SQLite and UTF-8 can hold; returns a ``str`` of no subclass."""
    value = str.__str__(value)
    if "\0" in value:
        raise InvalidInput(field, "contains a NUL character")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidInput(
            field, "contains a lone surrogate; decode the original bytes with the correct encoding"
        ) from None
    return value


MOST_NAMED = 5
"""Maximum number of ids, files or problems that one message names."""
SHOWN = 60
"""Maximum number of characters in a value that a message repeats."""
MAX_SAID = 400
"""Maximum number of characters in a message of an embedder or reranker that are passed on."""
CUT = " [...]"


def shown(value: object) -> str:
    """Write a value for a message, in at most 60 characters."""
    plain = isinstance(value, str | float | timedelta | None)
    if plain or (isinstance(value, int) and abs(value) <= MAX_INTEGER):
        return f"{str.__repr__(value) if isinstance(value, str) else repr(value):.60}"
    return f"this {type_name(value)}"


def first_of(names: Sequence[str]) -> str:
    """Write the first few of some names for a message.

    >>> first_of(["a", "b"]), first_of("abcdefg")
    ("'a', 'b'", "'a', 'b', 'c', 'd', 'e' ...")
    """
    rest = " ..." if len(names) > MOST_NAMED else ""
    return ", ".join(f"{name!r:.60}" for name in names[:MOST_NAMED]) + rest


def type_name(value: object) -> str:
    """Return the name of a value's type, for a message."""
    return type(value).__name__


def unquoted(message: str, asked: str) -> str:
    """Cut a foreign message where it repeats more than 60 characters of the query.

    >>> unquoted("cannot embed: " + "word " * 40, "word " * 40)[-20:]
    ' word word wor [...]'
    """
    said = message[:MAX_SAID]
    for spelt in (asked, repr(asked), json.dumps(asked)):
        for at in range(len(said) - SHOWN):
            if said[at : at + SHOWN + 1] in spelt:
                return f"{said[: at + SHOWN - len(CUT)]}{CUT}"
    return said


def check_context(context: object) -> dict[str, str]:
    """Check the facts that a program gives of the moment: names and their values."""
    if context is None:
        return {}
    if not isinstance(context, Mapping):
        raise InvalidInput("context", f"must be a mapping, not {type_name(context)}")
    said: dict[str, str] = {}
    for name, value in context.items():
        if not isinstance(value, str):
            raise InvalidInput("context", f"{name!r:.60} must be a string, not {type_name(value)}")
        said[short_name("context", name)] = composed(value)
    return said
