"""The formats that can be read: one line each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Self

from memento.ingest.conversations import read_chat, read_locomo, read_sharegpt
from memento.ingest.documents import read_markdown, read_text
from memento.ingest.drafts import read_drafts
from memento.ingest.pages import read_csv, read_html
from memento.types import Draft

Reader = Callable[[Path, str], Iterator[Draft]]
"""Takes a file and the name of its source; yields its drafts in order."""


class Format(StrEnum):
    """The formats of files that can be read.

    To add a format, write a function that reads it and add one line here: its name, that function,
    and how it is recognised.

    Attributes:
        reader: Reads a file of this format.
        marks: Fields of a JSON record, each of which tells that it has this format. Formats are
            tried in the order of this class, so an earlier one wins.
        suffixes: Endings of file names, in lower case, that tell that a file has this format.
    """

    reader: Reader
    marks: tuple[str, ...]
    suffixes: tuple[str, ...]

    def __new__(
        cls, name: str, reader: Reader, marks: tuple[str, ...] = (), suffixes: tuple[str, ...] = ()
    ) -> Self:
        """Make a format of its line."""
        format_ = str.__new__(cls, name)
        format_._value_ = name
        format_.reader, format_.marks, format_.suffixes = reader, marks, suffixes
        return format_

    TEXT = "text", read_text
    MARKDOWN = "markdown", read_markdown, (), (".md", ".markdown")
    HTML = "html", read_html, (), (".html", ".htm", ".xhtml")
    CSV = "csv", read_csv, (), (".csv", ".tsv")
    CHAT = "chat", read_chat, ("messages",)
    SHAREGPT = "sharegpt", read_sharegpt, ("conversations",)
    LOCOMO = "locomo", read_locomo, ("conversation", "session_1")
    DRAFTS = "drafts", read_drafts, ("text",)
