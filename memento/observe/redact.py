"""Take secrets out of what is to be remembered, before anything keeps it. Pure.

A key that was pasted into a conversation must not be stored, embedded, logged or shown again. It
is taken out at the door: what is found by one of the formats of `memento.observe.formats` is
replaced by a marker that says what stood there, such as ``[redacted:github-token]``. What was
taken out is counted by kind; the secret itself is kept nowhere.

Formats are promised, not secrecy: a password that looks like a word, or a key of a format not
listed, is not noticed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from memento.errors import SecretFound
from memento.observe.formats import (
    ANYWHERE,
    BESIDE,
    IN_RUNS,
    LONG,
    MARK,
    ORDER,
    RUNS,
    Format,
    Place,
)

_RUN = bytes(LONG)
_WORD = re.compile(rf"\S{{{LONG},}}")


class Secrets(StrEnum):
    """What becomes of a text that holds a secret."""

    REDACT = "redact"
    """A marker takes the place of the secret."""
    REJECT = "reject"
    """The text is refused with ``SecretFound``."""
    ALLOW = "allow"
    """It is kept as it is; nothing is looked for."""


def redact(text: str, found: Counter[str]) -> str:
    """Replace every secret in a text by its marker.

    Args:
        text: Any text.
        found: Counts what was replaced, by kind.

    Returns:
        The text, the same object if there was nothing to replace.

    >>> redact("It is postgres://ada:w0nderland@db/x", Counter())
    'It is postgres://ada:[redacted:url-password]@db/x'
    """
    suspected, words = _suspected(text)
    if not suspected:
        return text
    spans: list[tuple[int, int, str]] = []
    for one in sorted({id(one): one for one in suspected}.values(), key=lambda o: ORDER[id(o)]):
        spans += _occurrences(one, text, words, spans)
    if not spans:
        return text
    pieces, at = [], 0
    for start, end, kind in sorted(spans):
        found[kind] += 1
        pieces += [text[at:start], f"{MARK}{kind}]"]
        at = end
    return "".join((*pieces, text[at:]))


def redact_value(value: Any, found: Counter[str]) -> Any:
    """Replace every secret in the strings of a JSON value.

    A string under a name such as ``password`` is looked at as if the name stood before it.
    """
    if isinstance(value, str):
        return redact(value, found)
    if isinstance(value, Mapping):
        return {name: _named(name, item, found) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact_value(item, found) for item in value]
    return value


class Redaction:
    """Takes the secrets out of the parts of one memory, and counts them.

    Args:
        policy: What becomes of a part that holds one.

    Attributes:
        found: What was taken out, by kind, and how often.
    """

    __slots__ = ("_policy", "found")

    def __init__(self, policy: Secrets | str) -> None:
        self._policy = policy
        self.found: Counter[str] = Counter()

    def text(self, field: str, text: str) -> str:
        """Return a text without its secrets.

        Raises:
            SecretFound: If it has any and the policy is to refuse it.
        """
        if self._policy == Secrets.ALLOW:
            return text
        found: Counter[str] = Counter()
        kept = redact(text, found)
        if found:
            self._note(field, found)
        return kept

    def name(self, field: str, name: str | None) -> str | None:
        """As ``text``, for what may be absent."""
        return None if name is None else self.text(field, name)

    def slot(self, field: str, name: str | None) -> str | None:
        """Return the name of a slot, which must hold no secret: two would become one slot.

        Raises:
            SecretFound: If it holds one and secrets are not to be kept.
        """
        if name is None or self._policy == Secrets.ALLOW:
            return name
        found: Counter[str] = Counter()
        redact(name, found)
        if found:
            raise SecretFound(field, found, "name the slot without them")
        return name

    def names(self, field: str, names: tuple[str, ...]) -> tuple[str, ...]:
        """As ``text``, for each of several."""
        return tuple([self.text(field, name) for name in names]) if names else names

    def json(self, field: str, encoded: str) -> str:
        """As ``text``, for the strings of a JSON object; names of fields stay as they are."""
        if self._policy == Secrets.ALLOW or encoded == "{}" or not _suspected(encoded)[0]:
            return encoded
        found: Counter[str] = Counter()
        kept = redact_value(json.loads(encoded), found)
        if not found:
            return encoded
        self._note(field, found)
        return json.dumps(kept, ensure_ascii=False)

    def _note(self, field: str, found: Counter[str]) -> None:
        if self._policy == Secrets.REJECT:
            raise SecretFound(field, found)
        self.found.update(found)


def _named(name: str, value: Any, found: Counter[str]) -> Any:
    if not isinstance(value, str):
        return redact_value(value, found)
    inside: Counter[str] = Counter()
    kept = redact(value, inside)
    if not inside and not any(char.isspace() for char in value):
        lead = f"{name}="
        whole = redact(lead + value, inside)
        if inside and whole.startswith(lead):
            kept = whole[len(lead) :]
        else:
            inside.clear()
    found.update(inside)
    return kept


def _suspected(text: str) -> tuple[list[Format], list[tuple[int, int]]]:
    """List the formats whose anchors a text holds, and where its long words are.

    Cheap for a text that holds none. Formats with an anchor in a long word lie within one.
    """
    data = text.encode("utf-8", "replace")
    lower = data.lower()
    suspected: list[Format] = []
    for anchor, formats in ANYWHERE:
        if anchor in lower:
            suspected += formats
    if _RUN not in data.translate(RUNS):
        return suspected, []
    words = [match.span() for match in _WORD.finditer(text)]
    long = " ".join([text[start:end] for start, end in words])
    for gate, anchors in IN_RUNS:
        if gate in long:
            suspected += [one for anchor, one in anchors if anchor in long]
    for anchor, formats in BESIDE:
        if anchor in lower:
            suspected += formats
    return suspected, words


def _occurrences(
    one: Format, text: str, words: list[tuple[int, int]], taken: list[tuple[int, int, str]]
) -> list[tuple[int, int, str]]:
    """Find where a format stands in a text, apart from what is taken already."""
    group = "secret" if "secret" in one.finder.groupindex else 0
    fresh = []
    for begin, stop in words if one.place is Place.RUN else [(0, len(text))]:
        for match in one.finder.finditer(text, begin, stop):
            start, end = match.span(group)
            if any(start < last and first < end for first, last, _ in taken):
                continue
            if one.proof(text[start:end]):
                fresh.append((start, end, one.kind))
    return fresh
