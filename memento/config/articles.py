"""The settings of articles: texts that a sleep puts together from statements about one topic."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from memento.check import check_count, check_share
from memento.errors import InvalidInput

_MOST_CHARS = 20_000


class Writer(StrEnum):
    """Who writes the articles."""

    OFF = "off"
    """Nobody: no article is made by itself. ``consolidate(steps=["articles"])`` makes them from the
    words of their sources."""
    EXTRACTIVE = "extractive"
    """memento: an article quotes its sources word for word."""
    MODEL = "model"
    """The model of ``Config.llm``, within its limits; a text that loses or invents a number, a name
    or the like is not kept, and the sources are quoted instead."""


@dataclass(frozen=True, slots=True)
class Articles:
    """Settings of the step ``articles`` of the sleep.

    Attributes:
        writer: ``off``, ``extractive`` or ``model``, see ``Writer``.
        cosine: Least cosine of a statement to another one of its topic, [0, 1].
        overlap: The same for a store without an embedder, as the cosine of their words, [0, 1].
        least: Fewest statements of which an article is made, 2 to 40.
        most: Most statements of one topic, from ``least`` to 100.
        chars: Most characters of an article, 200 to 20,000. A model gets sources of three times as
            many, and an article that quotes what it lost is longer.
        calls: Most articles that a model is asked for in one sleep, >= 0.
    """

    writer: Writer | Literal["off", "extractive", "model"] = Writer.OFF
    cosine: float = 0.55
    overlap: float = 0.15
    least: int = 4
    most: int = 40
    chars: int = 1_200
    calls: int = 20

    def __post_init__(self) -> None:
        if self.writer not in tuple(Writer):
            known = ", ".join(Writer)
            raise InvalidInput("articles.writer", f"{self.writer!r} is not one of: {known}")
        check_share("articles.cosine", self.cosine)
        check_share("articles.overlap", self.overlap)
        check_count("articles.least", self.least, least=2, most=40)
        check_count("articles.most", self.most, least=self.least, most=100)
        check_count("articles.chars", self.chars, least=200, most=_MOST_CHARS)
        check_count("articles.calls", self.calls, least=0)
