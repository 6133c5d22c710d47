"""Documents become facts: a paragraph each, in Markdown with its heading."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from memento.ingest.parts import PARAGRAPH_LIMIT, pieces
from memento.ingest.source import lines, source_named
from memento.types import Draft, Kind

BLOCK_CHARS = 1_000_000
"""Longest paragraph that is put together from lines; a longer one is taken for several."""
HEADER_LINES = 1_000
"""Longest YAML header of a Markdown file."""
TAG_LIMIT = 100
"""Longest heading that also becomes a tag, in characters."""
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t](.*))?$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_HEADER_LINE = re.compile(r"[\w.-]+\s*:|[ \t]+\S|#|-")
_FIRST_OF_HEADER = re.compile(r"[\w.-]+\s*:|#")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def read_text(path: Path, name: str) -> Iterator[Draft]:
    """Read plain text: a fact for each paragraph."""
    for paragraph in paragraphs(line for _, line in lines(path)):
        yield from facts(paragraph, name)


def paragraphs(lines: Iterable[str]) -> Iterator[str]:
    """Yield the paragraphs of plain text: runs of lines between blank ones."""
    block: list[str] = []
    held = 0
    for line in chain(lines, [""]):
        if line.strip():
            block.append(line.rstrip())
            held += len(line) + 1
        if block and (held > BLOCK_CHARS or not line.strip()):
            yield "\n".join(block)
            block, held = [], 0


def read_markdown(path: Path, name: str) -> Iterator[Draft]:
    """Read Markdown: a fact for each paragraph, with its heading."""
    text = without_front_matter(line for _, line in lines(path))
    yield from facts_of_blocks(markdown_blocks(text), name)


def facts_of_blocks(blocks: Iterable[tuple[int, str]], name: str) -> Iterator[Draft]:
    """Make facts of (0, paragraph), each with the headings above it, which are (level, text)."""
    headings: list[tuple[int, str]] = []
    for level, text in blocks:
        if level:
            headings = [outer for outer in headings if outer[0] < level]
            headings += [(level, text)] if text else []
        else:
            yield from facts(text, name, [heading for _, heading in headings])


def without_front_matter(lines: Iterable[str]) -> Iterator[str]:
    """Drop a YAML header between ``---`` lines: it describes the file, it is not in the text."""
    rest = iter(lines)
    header = [line for line in [next(rest, None)] if line is not None]
    if header and header[0].rstrip() == "---":
        for line in rest:
            if line.rstrip() in {"---", "..."}:
                header = []
                break
            header.append(line)
            known = _FIRST_OF_HEADER if len(header) == 2 else _HEADER_LINE  # noqa: PLR2004
            if not known.match(line) or len(header) > HEADER_LINES:  # a rule, then text
                break
    yield from header
    yield from rest


def markdown_blocks(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield (level, heading) and (0, paragraph) in order; a fenced block is never broken up."""
    block: list[str] = []
    fence, held = "", 0
    for line in chain(lines, [""]):
        fence = _fence_after(line, fence)
        level, text = (0, "") if fence else _heading(line, block)
        if level and len(block) == 1 and not line.lstrip().startswith("#"):
            block = []  # the line was underlined: it is the heading
        if fence or (line.strip() and not level and not _RULE.match(line)):
            block.append(line.rstrip())
            held += len(line) + 1
            if held <= BLOCK_CHARS:
                continue
        yield from _closed(block)
        block, held = [], 0
        if level:
            yield level, text
    yield from _closed(block)


def _closed(block: Sequence[str]) -> Iterator[tuple[int, str]]:
    text = "\n".join(block)
    if text.strip():
        yield 0, text


def _fence_after(line: str, fence: str) -> str:
    """Return the fence that is open after this line, ``""`` for none."""
    mark = _FENCE.match(line)
    if not fence:
        return mark[1] if mark else ""
    closes = mark and mark[1].startswith(fence) and not line.strip().strip(fence[0])
    return "" if closes else fence


def _heading(line: str, block: Sequence[str]) -> tuple[int, str]:
    """Return level and text of the heading that ends with this line; level 0 if none does."""
    if marked := _HEADING.match(line):
        text = (marked[2] or "").strip()
        open_end = text.rstrip("#")  # "## Setup ##" is closed, "## In C#" is not
        return len(marked[1]), text if open_end[-1:].strip() else open_end.strip()
    if len(block) == 1 and (underline := _UNDERLINE.match(line)):
        return (1 if underline[1][0] == "=" else 2), block[0].strip()
    return 0, ""


def facts(paragraph: str, name: str, headings: Sequence[str] = ()) -> Iterator[Draft]:
    """Make a fact of a paragraph, or several if it is long."""
    metadata = {"heading": " > ".join(headings)} if headings else {}
    tags = tuple(heading for heading in headings[-1:] if len(heading) <= TAG_LIMIT)
    for text in pieces(paragraph.strip(), PARAGRAPH_LIMIT):
        yield Draft(
            text,
            kind=Kind.FACT,
            session=name,
            source=source_named(name),
            tags=tags,
            metadata=metadata,
        )
