"""Split a text into statements worth remembering, by rules. Pure.

The text is split along its own structure and never reworded: list items (with the line that
introduces them), paragraphs (with their heading), and long paragraphs at the ends of sentences.
Questions are left out, because they would be found before their own answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from memento.language.questions import merely_asks

PIECE = 400
"""Longest statement, characters; about 100 tokens, so that a few fit any prompt."""
QUESTION_MARKS = ("?", "？", "؟")  # noqa: RUF001 - real question marks

_FENCE = re.compile(r"\s*(```|~~~)")
_HEADING = re.compile(r"#{1,6}\s++(?P<text>.*)")
_ITEM = re.compile(r"\s*(?:[-*+•‣◦]|\d{1,3}[.)])\s++(?P<text>.*)")
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])\s*|\n+")  # noqa: RUF001 - real stops
_WORD = re.compile(r"\w")
_COURTESY = re.compile(
    r"(?:sure|certainly|of course|absolutely|great|done|thanks|thank you)\W*"
    r"|(?:please )?(?:let me know|feel free|i hope th(?:is|at)|i'm happy to)\b[^\n]*",
    re.IGNORECASE,
)
_PREAMBLE = re.compile(
    r"(?:\w+[!,. ]+)?(?:here (?:is|are)|here's|below (?:is|are)|the following|as requested)\b.*",
    re.IGNORECASE,
)
"""A line that only introduces the lines after it."""


def statements(text: str, *, questions: bool = False) -> list[str]:
    r"""Split a text along its own structure; questions and courtesies are left out.

    Args:
        text: Any text.
        questions: Return questions also, if they have any content.

    Returns:
        Statements in order, at most ``PIECE`` characters each.

    >>> statements("# Venue\n- The Old Mill\n- seats 80\n\nAnything else?")
    ['Venue: The Old Mill', 'Venue: seats 80']
    """
    reader = _Reader()
    for line in text.splitlines():
        reader.take(line)
    reader.end()
    pieces = (piece for block in reader.blocks for piece in cut(block))
    return [piece for piece in pieces if _says_something(piece, questions=questions)]


def _closed(heading: str) -> str:
    """Drop the hashes that close a heading; those of a word, as in "C#", stay.

    A pattern with a lazy text before spaces takes the square of their number.
    """
    bare = heading.rstrip("#")
    return bare.rstrip() if not bare or bare[-1].isspace() else heading


def cut(text: str, limit: int = PIECE) -> list[str]:
    """Cut a text at sentence ends, or between words, or anywhere if there are neither.

    Args:
        text: Any text.
        limit: Longest piece, in characters, >= 1.

    >>> cut("One. Two. Three.", limit=10)
    ['One. Two.', 'Three.']
    """
    if len(text) <= limit:
        return [text]
    units: list[str] = []
    for sentence in _SENTENCE.split(text):
        units += [sentence] if len(sentence) <= limit else _words(sentence, limit)
    return _pack(units, limit)


@dataclass(slots=True)
class _Reader:
    """Reads a text line by line and joins lines of the same paragraph or item."""

    blocks: list[str] = field(default_factory=list)
    heading: str = ""
    lead: str = ""
    lead_used: bool = True
    open: list[str] = field(default_factory=list)
    code: bool = False
    item: bool = False

    def take(self, line: str) -> None:
        if _FENCE.match(line):
            self.close()
            self.code = not self.code
        elif self.code:
            self.open.append(line)
        elif not line.strip():
            self.close()
        elif heading := _HEADING.fullmatch(line):
            self.end()
            self.heading = _closed(heading["text"].rstrip()).rstrip(":")
        elif item := _ITEM.fullmatch(line):
            self.close()
            self.item = True
            self.open.append(item["text"])
        else:
            if self.item and not line.startswith((" ", "\t")):
                self.close()
            self.open.append(line.strip())

    def close(self) -> None:
        """Finish the current paragraph or item."""
        text = ("\n" if self.code else " ").join(self.open).strip()
        item, self.open, self.item = self.item, [], False
        if not text:
            return
        if text.endswith((":", "：")) and not self.code and not item:  # noqa: RUF001 - a real colon
            self._drop_lead()
            self.lead, self.lead_used = text[:-1].strip(), False
            return
        if not item and self.lead_used:
            self.lead = ""  # a list is over
        above = self.lead or self.heading
        self.lead_used = True
        shown = above and not _PREAMBLE.fullmatch(above)
        self.blocks.append(f"{above}: {text}" if shown else text)

    def end(self) -> None:
        """Finish everything, including the list that an earlier line introduced."""
        self.close()
        self._drop_lead()

    def _drop_lead(self) -> None:
        if not self.lead_used and not _PREAMBLE.fullmatch(self.lead):
            self.blocks.append(self.lead)
        self.lead, self.lead_used = "", True


def _says_something(piece: str, *, questions: bool) -> bool:
    return (
        _WORD.search(piece) is not None
        and (questions or not merely_asks(piece))
        and not _COURTESY.fullmatch(piece)
    )


def _words(sentence: str, limit: int) -> Iterator[str]:
    for word in sentence.split():
        yield from (word[at : at + limit] for at in range(0, len(word), limit))


def _pack(units: Iterable[str], limit: int) -> list[str]:
    pieces: list[str] = []
    for unit in units:
        if pieces and len(pieces[-1]) + 1 + len(unit) <= limit:
            pieces[-1] += f" {unit}"
        elif unit:
            pieces.append(unit)
    return pieces
