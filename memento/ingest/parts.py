"""Split a long text into parts that are each kept as a memory. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

PARAGRAPH_LIMIT = 2_000
"""Longest paragraph kept in one piece, in characters; a longer one is split at sentence ends.

Some 400 tokens: as much as a reader takes in at once, and two windows of the default embedder.
"""
TURN_LIMIT = 50_000
"""Longest turn kept in one piece, in characters; pasted text may be a whole book."""
SENTENCE_END = re.compile(r"[.!?…][\"')\]]*\s+|[。！？]|\n")  # noqa: RUF001 - the full-width marks of Chinese and Japanese are meant


def pieces(text: str, limit: int) -> Iterator[str]:
    """Split a text longer than the limit at the last sentence end that fits, or else word."""
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
