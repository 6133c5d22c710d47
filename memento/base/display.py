"""Display memories and results: as one line, a row of a table, or JSON.

Stored text may come from anywhere: its control characters are replaced and its markup is escaped.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any

SHORT = 60
"""Maximum number of characters in a text in a ``repr``."""
CELL = 300
"""Maximum number of characters in a text in a table of a notebook."""

_CONTROLS = [*range(32), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_HARMLESS = dict.fromkeys(_CONTROLS, "\N{REPLACEMENT CHARACTER}") | {
    ord("\n"): "\n",
    ord("\t"): " ",
    ord("\r"): "",
}


def plain(text: str) -> str:
    r"""Make a text safe to print: control characters and text-direction overrides are replaced.

    >>> plain("red \x1b[31malert")
    'red \ufffd[31malert'
    """
    return text.translate(_HARMLESS)


def one_line(text: str) -> str:
    r"""Make a text safe to print on one line.

    >>> one_line("a\n  b")
    'a b'
    """
    return " ".join(plain(text).split())


def cut(text: str, most: int = SHORT) -> str:
    """Return a text as one line of at most ``most`` characters, cut with an ellipsis.

    >>> cut("one two three", most=8)
    'one two…'
    """
    line = one_line(text[: 4 * most])  # a long text is not copied for its first words
    whole = len(line) <= most and len(text) <= 4 * most
    return line if whole else line[: most - 1].rstrip() + "\N{HORIZONTAL ELLIPSIS}"


def data(value: Any) -> Any:
    """Convert a value of memento into what ``json.dumps`` accepts.

    Data classes and mappings become dictionaries, tuples become lists, moments become ISO 8601,
    enumerations become their values and paths become strings. A data class that has ``to_dict``
    decides itself.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        convert = getattr(value, "to_dict", None)
        return fields(value) if convert is None else convert()
    said = value
    match value:
        case Enum():
            said = value.value
        case date():
            said = value.isoformat()
        case Path():
            said = str(value)
        case Mapping():
            said = {str(key): data(item) for key, item in value.items()}
        case list() | tuple():
            said = [data(item) for item in value]
    return said


def fields(value: Any) -> dict[str, Any]:
    """Convert a data class into a dictionary of its fields, as ``data`` does."""
    return {field.name: data(getattr(value, field.name)) for field in dataclasses.fields(value)}


def spelt(value: Any) -> str:
    """Format the ``data`` of a field for people; empty if it is not set."""
    if isinstance(value, Mapping):
        parts = {str(name): spelt(item) for name, item in value.items()}
        return "; ".join(f"{name}: {part}" for name, part in parts.items() if part)
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return "" if value is None or value is False else str(value)


LINE = 200
"""Maximum number of characters in the ``repr`` of a result."""


def brief(value: Any) -> str:
    """Return a short ``repr`` of a data class: the fields that are set, containers as counts.

    >>> from memento.types import Undone
    >>> Undone(changes=(7,), undone=(5, 6), memories=())
    <Undone changes: 1, undone: 2>
    """
    said = {one.name: _brief(getattr(value, one.name)) for one in dataclasses.fields(value)}
    line = ", ".join(f"{name}: {words}" for name, words in said.items() if words)
    return f"<{type(value).__name__} {cut(line, LINE)}>"


def _brief(value: Any) -> str:
    """Format the value of a field in a few words; ``""`` if it is not set."""
    if isinstance(value, str) and not isinstance(value, Enum):
        return repr(cut(value)) if value else ""
    if isinstance(value, Mapping) and all(isinstance(one, int) for one in value.values()):
        return cut(", ".join(f"{count} {name}" for name, count in value.items() if count))
    if isinstance(value, Mapping | list | tuple):
        return str(len(value) or "")
    if isinstance(value, float):
        return f"{value:.2f}"
    if dataclasses.is_dataclass(value):
        return repr(cut(getattr(value, "text", "") or type(value).__name__))
    return "" if value is None or value is False else str(value)


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out a table in HTML; all text in it is escaped and cut.

    >>> table("", ["a"], [["<b>"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    head = f"<thead>{_row('th', header)}</thead>" if header else ""
    body = "".join(_row("td", row) for row in rows)
    title = f"<caption>{_escaped(caption)}</caption>" if caption else ""
    return f"<table>{title}{head}<tbody>{body}</tbody></table>"


def _row(cell: str, texts: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<{cell}>{_escaped(text)}</{cell}>" for text in texts) + "</tr>"


def _escaped(text: str) -> str:
    from html import escape  # noqa: PLC0415 - for notebooks only

    return escape(cut(text, CELL))
