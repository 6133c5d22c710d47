"""Take out of a memory what must not be kept, before anything keeps it. Pure.

A key that was pasted into a conversation must not be stored, embedded, logged or shown again. It
is taken out at validation: a match of one of the formats of `memento.admit.secrets` is replaced by
a marker that names its kind, such as ``[redacted:github-token]``. Secrets taken out are counted by
kind; the secrets themselves are not kept.

Formats are promised, not secrecy: a password that looks like a word, or a key of a format not
listed, is not noticed.

A block of memories that was shown goes the same way, whatever the policy on secrets: a copy of it
would outlive the memories in it, see `memento.base.blocks`.
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
"""Where a secret stands, and its kind."""

MOST_BREAKS = 2
"""Maximum number of ends of lines inside one key."""

_RUN = bytes(LONG)
_HIDDEN = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+")
"""Characters nobody sees, copied along from web pages: soft hyphens, joiners, directions."""
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
    """Find where the secrets of a text stand."""
    spans = _spans(text)
    return _united(spans + _spans_behind(text)) if _has_hidden(text) else spans


def _marked(text: str, spans: Sequence[Span], found: Counter[str]) -> str:
    """Replace some places of a text by the markers of what stands there, and count them."""
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
    """Takes secrets and shown blocks out of the parts of one memory, and counts them.

    Args:
        policy: What becomes of a part that holds a secret.

    Attributes:
        found: What was taken out, by kind, and how often.
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

    def listed(self, field: str, encoded: str) -> str:
        """As ``text``, for each string of a JSON list."""
        if encoded == "[]":
            return encoded
        return json.dumps(self.names(field, tuple(json.loads(encoded))), ensure_ascii=False)

    def json(self, field: str, encoded: str) -> str:
        """As ``text``, for the strings of a JSON object and the names of its fields."""
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
        """Take the secrets out of a row, but for its key: two redacted keys would be one slot."""
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
    """Return a name that is not taken: it itself, or it with the lowest number that is free."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} {number}"
    return free


def _has_hidden(text: str) -> bool:
    """Return whether a text has characters nobody sees; the cheap questions come first."""
    return not (text.isascii() or text.isprintable()) and _HIDDEN.search(text) is not None


def _spans(text: str) -> list[Span]:
    """Find where the secrets of a text stand, none overlapping."""
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
    """Find secrets that are whole once the characters nobody sees are left out of a text."""
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
    """Make one of those that overlap; it is called what the first of them is."""
    united: list[Span] = []
    for start, end, kind in sorted(spans):
        if united and start < united[-1][1]:
            first, last, name = united[-1]
            united[-1] = (first, max(last, end), name)
        else:
            united.append((start, end, kind))
    return united


def _wrapped(one: SecretFormat, text: str, taken: bytearray) -> list[Span]:
    """Find where a key that is broken over two or three lines stands, and take it.

    Only of formats whose keys are all equally long: of others nothing tells whether the next line
    goes on with the key or begins with a word. A look begins at an anchor and ends with the first
    character no such key has, so that line ends cost nothing where no key begins.
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
    """Find what begins with one of some anchors, none overlapping, from left to right."""
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
    """List the formats whose anchors a text holds, and if there are any, where its long words are.

    Cheap for a text that holds none. Formats with an anchor in a long word lie within one.
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
    """List the long words that hold an anchor of a format, without a look at the others."""
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
    """Find what may be a secret of a format; words that hold no anchor of it are not looked at."""
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
    """Find where a format stands in a text, apart from what is taken already, and take it.

    ``taken`` is one byte per character, 1 where an earlier format has been found: a look at it
    costs what the find is long, however many there were before.
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
