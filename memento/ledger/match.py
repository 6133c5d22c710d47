"""Expressions over words to look up in the full text, without any engine's syntax. Pure.

The read path builds them, each engine's `contract.Words` answers them. Every value is a word to be
found and never syntax: quotes, operators and wildcards in it mean nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Column: TypeAlias = Literal["title", "head", "rest"]
"""Part of a memory that is indexed by itself, see ``text.words.Columns``."""


@dataclass(frozen=True, slots=True)
class Word:
    """Rows that hold a word, in any form the index folds into one.

    A word that the index splits into several must occur as a whole. A word without letters or
    digits matches nothing.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Start:
    """Rows that hold a word with this prefix; see `Word`."""

    text: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """Rows that hold words one right after the other, at least one, in one column."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class In:
    """Rows that match in one column."""

    column: Column
    what: Word | Start | Phrase


@dataclass(frozen=True, slots=True)
class All:
    """Rows that every one of several expressions matches."""

    parts: tuple[Match, ...]


@dataclass(frozen=True, slots=True)
class Any:
    """Rows that at least one of several expressions matches."""

    parts: tuple[Match, ...]


Match: TypeAlias = Word | Start | Phrase | In | All | Any
"""An expression. Equal ones match the same rows, and are one key of a cache."""
