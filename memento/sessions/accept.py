"""Accept or refuse what a caller says of a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memento.admit.redact import Redaction
from memento.check import Limits, check_metadata, optional_name, short_name, shown
from memento.errors import InvalidInput
from memento.lifecycle.sessions import KINDS
from memento.sessions.handle import Named

MAX_LINE = 1_000
"""Longest goal, and longest item of ``done``, ``next`` and ``blocked``, characters."""
MAX_LINES = 64
"""Most items of each."""
MAX_NOTE = 4_000
"""Longest note of a checkpoint, characters."""
MAX_DATA = 65_536
"""Largest ``data`` of a checkpoint as JSON, bytes."""


def name_of(session: object) -> str:
    """Accept a session or the name of one."""
    return session.id if isinstance(session, Named) else short_name("session", session)


def kind(said: object) -> str:
    """Accept a kind of checkpoint."""
    if not isinstance(said, str) or said not in KINDS:
        raise InvalidInput("kind", f"{shown(said)} is not one of: {', '.join(KINDS)}")
    return said


def line(field: str, text: object) -> str | None:
    """Accept one line of text, or None."""
    return None if text is None else short_name(field, text, most=MAX_LINE)


def lines(field: str, texts: object, clean: Redaction) -> list[str]:
    """Accept several lines of text, and take the secrets out of them."""
    if isinstance(texts, str) or not isinstance(texts, Sequence):
        raise InvalidInput(field, f"must be a list of strings, not {type(texts).__name__}")
    if len(texts) > MAX_LINES:
        raise InvalidInput(field, f"has more than {MAX_LINES} items")
    return [clean.text(field, short_name(field, text, most=MAX_LINE)) for text in texts]


def files(said: object, clean: Redaction) -> dict[str, str]:
    """Accept paths, or paths with digests."""
    if not isinstance(said, Mapping):
        return dict.fromkeys(lines("files", said, clean), "")
    if len(said) > MAX_LINES:
        raise InvalidInput("files", f"has more than {MAX_LINES} items")
    digests = {path: optional_name("files", digest or None) for path, digest in said.items()}
    return {
        clean.text("files", short_name("files", path, most=MAX_LINE)): clean.text(
            "files", digest or ""
        )
        for path, digest in digests.items()
    }


def note(said: object) -> str:
    """Accept a note, which may be empty."""
    return "" if said == "" else short_name("note", said, most=MAX_NOTE)


def data(said: object) -> str:
    """Accept a JSON object; returns it as JSON text."""
    try:
        given = {} if said is None else said
        return check_metadata(given, Limits(metadata_bytes=MAX_DATA))
    except InvalidInput as error:
        raise InvalidInput("data", error.problem) from error
