"""Split a document into parts that are each kept as a memory, in order. Pure.

The splitter is the one of ``memento ingest``, with its knowledge of headings, paragraphs and fenced
code, and no new dependency: packages such as semchunk or text-splitter cut at the same places but
return strings, without the headings, and their parts move when an earlier one changes. Here a
part ends as soon as it is long enough, so after an edit the later parts soon are what they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memento.ingest.documents import TAG_LIMIT, markdown_blocks, paragraphs
from memento.ingest.parts import pieces

PART_LIMIT = 1_000
"""Longest part, in characters: what a prompt shows whole, and one window of the default embedder
(256 tokens)."""
ENOUGH = 300
"""Length at which a part ends with its paragraph, in characters; shorter paragraphs go together."""


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
        return tuple(heading for heading in self.headings[-1:] if len(heading) <= TAG_LIMIT)


def parts(lines: Iterable[str], *, markdown: bool, limit: int = PART_LIMIT) -> Iterator[Part]:
    r"""Split the lines of a document into parts.

    Args:
        lines: The lines, without their ends.
        markdown: Whether headings, rules and fenced code have their meaning.
        limit: Longest part, characters, >= 1.

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
        headings = [outer for outer in headings if outer[0] < level]
        headings += [(level, text)] if text else []
        above.append(f"{'#' * level} {text}".strip())
    yield from _section([*said, *above], headings, limit)


def _section(
    said: Sequence[str], headings: Sequence[tuple[int, str]], limit: int
) -> Iterator[Part]:
    """Put the paragraphs under one heading together into parts."""
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
