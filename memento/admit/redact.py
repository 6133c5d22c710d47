"""Remove secrets and shown memory blocks from a memory before it is stored. Pure.

A key that was pasted into a conversation must not be stored, embedded, logged or shown again.
Validation replaces each match of a format of `memento.admit.secrets` by a marker that names its
kind, such as ``[redacted:github-token]``. Removed secrets are counted by kind, and not kept.

Only the listed formats are detected: a password that looks like a word, or a key of another
format, goes unnoticed.

A block of memories that was shown in a prompt is removed too, whatever the policy on secrets: a
copy of it would outlive the memories in it, see `memento.base.blocks`.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from memento.admit.secret_validators import MARK
from memento.admit.secrets import (
    ANYWHERE,
    BESIDE,
    BREAK,
    IN_RUNS,
    LONG,
    ORDER,
    RUNS,
    SecretFormat,
    SecretPlace,
)
from memento.base import blocks
from memento.errors import SecretFound

if TYPE_CHECKING:
    from memento.ledger.rows import Row

Span: TypeAlias = tuple[int, int, str]
"""Start, end and kind of a secret."""

MOST_BREAKS = 2
"""Maximum number of ends of lines inside one key."""

_RUN = bytes(LONG)
_HIDDEN = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+")
"""Invisible characters that text from web pages brings: soft hyphens, joiners, direction marks."""
_BREAK = re.compile(BREAK)
_WORD = re.compile(rf"\S{{{LONG},}}")


class Secrets(StrEnum):
    """The treatment of a text that holds a secret."""

    REDACT = "redact"
    """A marker takes the place of the secret."""
    REJECT = "reject"
    """The text is refused with ``SecretFound``."""
    ALLOW = "allow"
    """It is kept as it is; nothing is searched for."""


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
    spans = _secrets_in(text)
    return _marked(text, spans, found) if spans else text


def _secrets_in(text: str) -> list[Span]:
    """Return the spans of the secrets in a text."""
    spans = _spans(text)
    return _united(spans + _spans_behind(text)) if _has_hidden(text) else spans


def _marked(text: str, spans: Sequence[Span], found: Counter[str]) -> str:
    """Replace each span by the marker of its kind, and count the kinds."""
    pieces, at = [], 0
    for start, end, kind in sorted(spans):
        found[kind] += 1
        pieces += [text[at:start], f"{MARK}{kind}]"]
        at = end
    return "".join((*pieces, text[at:]))


def redact_value(value: Any, found: Counter[str]) -> Any:
    """Replace every secret in the strings and the names of a JSON value.

    Names that become equal are numbered. A string under a name such as ``password`` is looked at as
    if the name stood before it.
    """
    if isinstance(value, str):
        return redact(value, found)
    if isinstance(value, Mapping):
        named: dict[str, Any] = {}
        for name, item in value.items():
            named[_free(redact(name, found), named)] = _named(name, item, found)
        return named
    if isinstance(value, list | tuple):
        return [redact_value(item, found) for item in value]
    return value


class Redaction:
    """Removes secrets and shown blocks from the fields of one memory, and counts them.

    Args:
        policy: What to do with a field that holds a secret.

    Attributes:
        found: Number of removed secrets and blocks, by kind.
    """

    __slots__ = ("_policy", "found")

    def __init__(self, policy: Secrets | str) -> None:
        self._policy = policy
        self.found: Counter[str] = Counter()

    def text(self, field: str, text: str) -> str:
        """Return a text without its secrets and without memento's own blocks.

        Raises:
            SecretFound: If it has a secret and the policy is to refuse it.
        """
        text = self._shown(text, blocks.hide(text))
        if self._policy == Secrets.ALLOW:
            return text
        spans = _secrets_in(text)
        if not spans:
            return text
        found: Counter[str] = Counter()
        kept = _marked(text, spans, found)
        self._note(field, found)
        return kept

    def name(self, field: str, name: str | None) -> str | None:
        """Like ``text``, but None stays None."""
        return None if name is None else self.text(field, name)

    def slot(self, field: str, name: str | None) -> str | None:
        """Return a key unchanged; redacting two keys could make them the same slot.

        Raises:
            SecretFound: If it holds a secret, unless the policy is ``ALLOW``.
        """
        if name is None or self._policy == Secrets.ALLOW:
            return name
        found: Counter[str] = Counter()
        redact(name, found)
        if found:
            raise SecretFound(field, found, "choose a key without them")
        return name

    def names(self, field: str, names: tuple[str, ...]) -> tuple[str, ...]:
        """Like ``text``, for each item."""
        return tuple([self.text(field, name) for name in names]) if names else names

    def listed(self, field: str, encoded: str) -> str:
        """Like ``text``, for each string of a JSON list."""
        if encoded == "[]":
            return encoded
        return json.dumps(self.names(field, tuple(json.loads(encoded))), ensure_ascii=False)

    def json(self, field: str, encoded: str) -> str:
        """Like ``text``, for the strings and field names of a JSON object."""
        if encoded == "{}":
            return encoded
        encoded = self._shown(encoded, blocks.hide_in_json(encoded))
        if self._policy == Secrets.ALLOW:
            return encoded
        if not _suspected(encoded)[0] and not _has_hidden(encoded):
            return encoded
        found: Counter[str] = Counter()
        kept = redact_value(json.loads(encoded), found)
        if not found:
            return encoded
        self._note(field, found)
        return json.dumps(kept, ensure_ascii=False)

    def row(self, row: Row) -> None:
        """Redact the fields of a row except its key: two redacted keys could be one slot."""
        row.text = self.text("text", row.text)
        row.aliases, row.tags = self.listed("aliases", row.aliases), self.listed("tags", row.tags)
        row.metadata = self.json("metadata", row.metadata)
        row.actor, row.role = self.name("actor", row.actor), self.name("role", row.role)
        row.condition = self.name("condition", row.condition)
        row.source_uri = self.name("source.uri", row.source_uri)
        row.source_model = self.name("source.model", row.source_model)

    def _shown(self, before: str, after: str) -> str:
        if after != before:
            self.found["block"] += 1
        return after

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


def _free(name: str, taken: Collection[str]) -> str:
    """Return the name if it is free, else the name with the lowest free number from 2."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} {number}"
    return free


def _has_hidden(text: str) -> bool:
    """Return whether a text has invisible characters; the cheap tests come first."""
    return not (text.isascii() or text.isprintable()) and _HIDDEN.search(text) is not None


def _spans(text: str) -> list[Span]:
    """Return the spans of the secrets in a text, none overlapping."""
    suspected, words = _suspected(text)
    if not suspected:
        return []
    formats = sorted({id(one): one for one in suspected}.values(), key=lambda o: ORDER[id(o)])
    spans: list[Span] = []
    taken = bytearray(len(text))
    for one in formats:
        spans += _occurrences(one, text, words, taken)
    if "\n" in text:
        for one in formats:
            if one.over_lines:
                spans += _wrapped(one, text, taken)
    return spans


def _spans_behind(text: str) -> list[Span]:
    """Return the spans of secrets that invisible characters interrupt."""
    ends = [match.span() for match in _HIDDEN.finditer(text)]
    starts = [0, *(end for _, end in ends)]
    kept = [*zip(starts, [*(start for start, _ in ends), len(text)], strict=True)]
    before, size = [], 0
    for start, end in kept:
        before.append(size)
        size += end - start

    def place(at: int) -> int:
        piece = bisect_right(before, at) - 1
        return kept[piece][0] + at - before[piece]

    joined = "".join([text[start:end] for start, end in kept])
    return [(place(start), place(end - 1) + 1, kind) for start, end, kind in _spans(joined)]


def _united(spans: list[Span]) -> list[Span]:
    """Join overlapping spans; the joined span has the kind of the first."""
    united: list[Span] = []
    for start, end, kind in sorted(spans):
        if united and start < united[-1][1]:
            first, last, name = united[-1]
            united[-1] = (first, max(last, end), name)
        else:
            united.append((start, end, kind))
    return united


def _wrapped(one: SecretFormat, text: str, taken: bytearray) -> list[Span]:
    """Find the keys of a format that are broken over lines, and mark them in ``taken``.

    Only for formats whose keys all have the same length: otherwise nothing shows whether the next
    line continues the key. Each match starts at an anchor and stops at the first character that no
    such key has, so line ends elsewhere cost nothing.
    """
    fresh: list[Span] = []
    for match in _beginning(one.anchors, one.broken, text):
        several = 0 < match[0].count("\n") <= MOST_BREAKS
        broken = several and one.proof(_BREAK.sub("", match[0]))
        if broken and taken.find(1, *match.span()) < 0:
            fresh.append((*match.span(), one.kind))
            taken[match.start() : match.end()] = b"\1" * len(match[0])
    return fresh


def _beginning(
    anchors: tuple[str, ...], finder: re.Pattern[str], text: str
) -> Iterator[re.Match[str]]:
    """Yield the matches that start at an anchor, from left to right, none overlapping."""
    end = 0
    for at in sorted([at for anchor in anchors for at in _places(anchor, text)]):
        if at >= end and (match := finder.match(text, at)):
            yield match
            end = match.end()


def _places(anchor: str, text: str) -> Iterator[int]:
    at = text.find(anchor)
    while at >= 0:
        yield at
        at = text.find(anchor, at + 1)


def _suspected(text: str) -> tuple[list[SecretFormat], list[tuple[int, int]]]:
    """Return the formats whose anchors occur in a text, and the spans of its long words.

    Without a long run of key characters, or without formats, the list of spans is empty. Cheap for
    a text without anchors. A secret whose anchor is in a long word lies within that word.
    """
    data = text.encode("utf-8", "replace")
    lower = data.lower()
    suspected: list[SecretFormat] = []
    for anchor, formats in ANYWHERE:
        if anchor in lower:
            suspected += formats
    if _RUN not in data.translate(RUNS):
        return suspected, []
    long = " ".join([word for word in text.split() if len(word) >= LONG])
    for gate, anchors in IN_RUNS:
        if gate in long:
            suspected += [one for anchor, one in anchors if anchor in long]
    for anchor, formats in BESIDE:
        if anchor in lower:
            suspected += formats
    return suspected, [match.span() for match in _WORD.finditer(text)] if suspected else []


def _holding(one: SecretFormat, text: str, words: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans of the long words that contain an anchor of a format."""
    held: set[tuple[int, int]] = set()
    for anchor in one.anchors:
        at = text.find(anchor)
        while at >= 0:
            word = bisect_right(words, (at, len(text))) - 1
            if word >= 0 and at < words[word][1]:
                held.add(words[word])
            word += 1
            at = text.find(anchor, words[word][0]) if word < len(words) else -1
    return sorted(held)


def _found(one: SecretFormat, text: str, words: list[tuple[int, int]]) -> Iterator[re.Match[str]]:
    """Yield the unproved matches of a format; words without one of its anchors are skipped."""
    if one.leading:
        yield from _beginning(one.anchors, one.finder, text)
    elif one.place is SecretPlace.RUN:
        for begin, stop in _holding(one, text, words):
            yield from one.finder.finditer(text, begin, stop)
    else:
        yield from one.finder.finditer(text)


def _occurrences(
    one: SecretFormat, text: str, words: list[tuple[int, int]], taken: bytearray
) -> list[Span]:
    """Return the spans of a format that no earlier format has taken, and mark them as taken.

    ``taken`` has one byte per character, 1 where an earlier format matched; so the check takes time
    in proportion to the match, not to the number of earlier ones.
    """
    group = "secret" if "secret" in one.finder.groupindex else 0
    fresh = []
    for match in _found(one, text, words):
        start, end = match.span(group)
        if taken.find(1, start, end) < 0 and one.proof(text[start:end]):
            fresh.append((start, end, one.kind))
    for start, end, _ in fresh:
        taken[start:end] = b"\1" * (end - start)
    return fresh
