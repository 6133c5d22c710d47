"""Web pages and tables become facts: a page as Markdown would, a table a fact for each row.

Every step is linear in the size of the file, whatever a page leaves open.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from html import unescape
from itertools import chain, repeat
from pathlib import Path

from memento.ingest.documents import BLOCK_CHARS, facts, facts_of_blocks
from memento.ingest.markup import BLOCKS, visible
from memento.ingest.source import FilePlace, bounded, lines, plain_name
from memento.types import Draft

_SPACE = re.compile(r"\s+")
_NUMBER = re.compile(r"&#0*([0-9]{1,8})[0-9]*")
"""A character by its number; Python refuses numbers of thousands of digits."""
COLUMN_CHARS = 100
"""Most characters of a column's name; each row repeats it, and a short row could be any length."""
_HEADING = re.compile(r"h[1-6]")
_LINES = {"br", "li", "tr", "dt", "dd", "option", "caption"}


def read_html(path: Path, name: str) -> Iterator[Draft]:
    """Read a web page: a fact for each paragraph, list or table, with its heading."""
    page = "\n".join(bounded(path, FilePlace(path.name)))
    yield from facts_of_blocks(html_blocks(page), name)


def html_blocks(page: str) -> Iterator[tuple[int, str]]:
    """Yield (level, heading) and (0, paragraph) of a page in order, as a reader sees them.

    >>> list(html_blocks("<h2>Tea</h2><p>Green &amp; <b>black</b>.<script>x()</script>"))
    [(2, 'Tea'), (0, 'Green & black.')]
    """
    said: list[str] = []
    level = held = 0
    verbatim = False
    for tag, text in visible(page):
        name = tag.removeprefix("/")
        verbatim = tag == "pre" if name == "pre" else verbatim
        if not tag:
            shown = unescape(_NUMBER.sub(r"&#\1", text))
            said.append(shown if verbatim else _SPACE.sub(" ", shown))
            held += len(text)
        elif name in _LINES:
            said.append("\n- " if tag == "li" else "\n")
        elif tag in ("td", "th"):
            said.append(" | ")
        if name in BLOCKS or held > BLOCK_CHARS:
            yield from _closed(level, said)
            said, held = [], 0
            level = int(tag[1]) if _HEADING.fullmatch(tag) else 0
    yield from _closed(level, said)


def _closed(level: int, said: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield a block, if it has any text."""
    tidy = [" ".join(line.split()).strip("| ") for line in "".join(said).split("\n")]
    text = "\n".join(line for line in tidy if line not in ("", "-"))
    if text:
        yield level, text.replace("\n", " ") if level else text


def read_csv(path: Path, name: str) -> Iterator[Draft]:
    """Read a table whose first row names the columns: a fact for each further row.

    The columns are separated by tabs in a ``.tsv`` file, and else by commas, or by semicolons if
    the first row has more of these.
    """
    tabs = plain_name(path).lower().endswith(".tsv")
    for row in _rows(path, (f"{line}\n" for _, line in lines(path)), "\t" if tabs else None):
        yield from facts(row, name)


def _rows(path: Path, table: Iterable[str], separator: str | None) -> Iterator[str]:
    """Yield each row with the names of its columns."""
    rest = iter(table)
    first = next(rest, "")
    if separator is None:
        separator = ";" if first.count(";") > first.count(",") else ","
    header: list[str] | None = None
    reader = csv.reader(_with(first, rest), delimiter=separator)
    try:
        for row in reader:
            if header is None:
                header = [" ".join(name.split())[:COLUMN_CHARS] for name in row]
                continue
            named = zip(chain(header, repeat("")), row, strict=False)
            if said := [_cell(*pair) for pair in named if pair[1]]:
                yield "; ".join(said)
    except csv.Error as error:
        raise FilePlace(f"{path.name}:{reader.line_num}").error(f"is not CSV: {error}") from error


def _with(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _cell(column: str, value: str) -> str:
    """Write a cell with the name of its column, if that has one."""
    said = " ".join(value.split())
    return f"{column}: {said}" if column else said
