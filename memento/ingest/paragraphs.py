"""Split documents into facts, one for each paragraph; in Markdown with its headings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from memento.types import Draft, Kind, Source

PARAGRAPH_LIMIT = 2_000
"""Maximum length of a paragraph kept in one piece, in characters; a longer one is split at sentence
ends.

Some 400 tokens: as much as a reader takes in at once, and two windows of the default embedder.
"""
TURN_LIMIT = 50_000
"""Maximum length of a turn kept in one piece, in characters; pasted text may be a whole book."""
SENTENCE_END = re.compile(r"[.!?…][\"')\]]*\s+|[。！？]|\n")  # noqa: RUF001 - the full-width marks of Chinese and Japanese are meant


def pieces(text: str, limit: int) -> Iterator[str]:
    """Split a text longer than the limit at the last sentence end that fits, else at a word end."""
    at, end, last = 0, len(text), len(text.rstrip())
    while end - at > limit:
        ends = [one.end() for one in SENTENCE_END.finditer(text, at + limit // 2, at + limit)]
        cut = ends[-1] if ends else text.rfind(" ", at, at + limit) + 1 or at + limit
        yield text[at:cut].strip()
        at, end = cut, last
        while at < end and text[at].isspace():
            at += 1
    if at < end:
        yield text[at:end]


BLOCK_CHARS = 1_000_000
"""Maximum length of a paragraph that is put together from lines; a longer one is taken for
several."""
HEADER_LINES = 1_000
"""Longest YAML header of a Markdown file."""
TAG_LIMIT = 100
"""Maximum length of a heading that also becomes a tag, in characters."""
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t](.*))?$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_HEADER_LINE = re.compile(r"[\w.-]+\s*:|[ \t]+\S|#|-")
_FIRST_OF_HEADER = re.compile(r"[\w.-]+\s*:|#")
_LIST = re.compile(r" {0,3}(?:\||[-*+] |\d{1,9}[.)] )")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


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


def under_headings(blocks: Iterable[tuple[int, str]]) -> Iterator[tuple[str, list[str]]]:
    """Yield each paragraph with the headings above it, from blocks of (level or 0, text).

    A table or a list, which says little alone, gets its heading as its first line.
    """
    headings: list[tuple[int, str]] = []
    for level, text in blocks:
        if level:
            headings = _headings(headings, level, text)
            continue
        above = [heading for _, heading in headings]
        bare = above and _LIST.match(text)
        yield (f"{above[-1]}\n\n{text}" if bare else text), above


def without_front_matter(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines after a YAML header between ``---`` lines, which is not part of the text."""
    return front_matter(lines)[1]


def front_matter(lines: Iterable[str]) -> tuple[list[str], Iterator[str]]:
    """Return the lines of a YAML header between ``---`` lines, if there is one, and the rest."""
    rest = iter(lines)
    header = [line for line in [next(rest, None)] if line is not None]
    if header and header[0].rstrip() == "---":
        for line in rest:
            if line.rstrip() in {"---", "..."}:
                return header[1:], rest
            header.append(line)
            known = _FIRST_OF_HEADER if len(header) == 2 else _HEADER_LINE  # noqa: PLR2004
            if not known.match(line) or len(header) > HEADER_LINES:  # a rule, no header
                break
    return [], chain(header, rest)


def markdown_blocks(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield (level, heading) and (0, paragraph) in order; a fenced block is never broken up."""
    block: list[str] = []
    fence, held = "", 0
    for line in chain(lines, [""]):
        fence = _fence_after(line, fence)
        level, text = (0, "") if fence else _heading(line, block)
        if level and len(block) == 1 and not line.lstrip().startswith("#"):
            block = []  # the line before is a heading, underlined by this one
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


def _tags(headings: Sequence[str]) -> tuple[str, ...]:
    return tuple(heading for heading in headings[-1:] if len(heading) <= TAG_LIMIT)


def _headings(above: Sequence[tuple[int, str]], level: int, text: str) -> list[tuple[int, str]]:
    """Return the headings, as (level, text), that apply below a new heading."""
    return [outer for outer in above if outer[0] < level] + ([(level, text)] if text else [])


def facts(paragraph: str, like: Draft, headings: Sequence[str] = ()) -> Iterator[Draft]:
    """Yield a fact for a paragraph, or several if it is long."""
    metadata = {**like.metadata, **({"heading": " > ".join(headings)} if headings else {})}
    for text in pieces(paragraph.strip(), PARAGRAPH_LIMIT):
        yield replace(like, text=text, metadata=metadata)


def document(name: str, **given: Any) -> Draft:
    """Return a draft without text, with the fields that the facts of a document share."""
    source, metadata = Source(uri=name), {**given.pop("metadata", {}), "document": name}
    return Draft("", kind=Kind.FACT, source=source, metadata=metadata, **given)


PART_LIMIT = 1_000
"""Maximum length of a part, in characters: a prompt shows that many whole, and it is one window of
the default embedder (256 tokens)."""
ENOUGH = 300
"""Length from which a part gets no further paragraph, in characters."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a document.

    Attributes:
        text: The text, with a heading that comes right before it.
        headings: Headings that it is under, outermost first.
    """

    text: str
    headings: tuple[str, ...] = ()

    @property
    def tags(self) -> tuple[str, ...]:
        """The innermost heading, by which the part is also found."""
        return _tags(self.headings)


def parts(lines: Iterable[str], *, markdown: bool, limit: int = PART_LIMIT) -> Iterator[Part]:
    r"""Split the lines of a document into parts.

    Args:
        lines: The lines, without their ends.
        markdown: Whether to interpret headings, rules and fenced code.
        limit: Maximum length of a part, characters, >= 1.

    >>> [part.text for part in parts(["# Tea", "", "Green tea.", "", "# Coffee"], markdown=True)]
    ['# Tea\n\nGreen tea.', '# Coffee']
    """
    blocks = markdown_blocks(lines) if markdown else ((0, one) for one in paragraphs(lines))
    headings: list[tuple[int, str]] = []
    above: list[str] = []
    said: list[str] = []
    for level, text in blocks:
        if not level:
            said.append("\n\n".join([*above, text]))
            above = []
            continue
        yield from _section(said, headings, limit)
        said = []
        headings = _headings(headings, level, text)
        above.append(f"{'#' * level} {text}".strip())
    yield from _section([*said, *above], headings, limit)


def _section(
    said: Sequence[str], headings: Sequence[tuple[int, str]], limit: int
) -> Iterator[Part]:
    """Join the paragraphs under one heading into parts."""
    path = tuple(heading for _, heading in headings)
    groups: list[str] = []
    for text in said:
        joined = f"{groups[-1]}\n\n{text}" if groups else text
        if groups and len(groups[-1]) < ENOUGH and len(joined) <= limit:
            groups[-1] = joined
        else:
            groups.append(text)
    joined = "\n\n".join(groups[-2:])
    if len(groups) > 1 and len(groups[-1]) < ENOUGH and len(joined) <= limit:
        groups[-2:] = [joined]
    for group in groups:
        for text in pieces(group.strip(), limit):
            yield Part(text, path)
