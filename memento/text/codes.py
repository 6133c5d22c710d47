"""Identifiers in a question that may be written otherwise in a memory. Pure; standard library only.

``E2207``, ``E-2207`` and ``E 2207`` are one identifier, ``DE89 3704 0044`` and ``DE8937040044``
too; ``C++`` and ``C#`` are two words though they have the same letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

from memento.text.words import META_WORDS, STOP_WORDS, WEAK_WORDS, squeeze

_TOKEN = re.compile(r"[a-z0-9]+(?:[-_/#]+[a-z0-9]+)*", re.ASCII)
_EDGES = ".,;:!?\"'()[]{}<>\u201c\u201d\u2018\u2019`*#"
_DIGIT = re.compile(r"\d")
_PARTS = re.compile(r"[a-z]+|[0-9]+", re.ASCII)
_YEAR = re.compile(r"(?:19|20)\d\d", re.ASCII)
_IBAN = re.compile(r"[a-z]{2}\d{2}[a-z0-9]{8,30}", re.ASCII)
_PREFIX = 6
"""Maximum number of letters in a word before a number that may be its prefix: ``INV 20391``."""
_UNIT = 3
"""Maximum number of letters in a word after a number that may be its unit: ``5 km``."""
_NUMBER = 3
"""Minimum number of digits in a number that stands apart from its prefix."""
_SHORT = 3
"""Maximum number of letters to which a word before a number is shortened: ``ERR-14``."""
_BARE = 4
"""Minimum number of digits in a number that may stand for an identifier without its prefix."""
_MOST_GROUPS = 16
"""Maximum number of groups in which one long number is written; an IBAN has up to nine."""
_GROUPED = 7
"""Minimum number of digits in a number that people write in groups."""
_MOST_PARTS = 4
"""Maximum number of parts for which every way of joining them is tried."""
_GROUPS = (4, 3)

_BEFORE, _AFTER = r"(?<![\w+#.])", r"(?![\w+#]|[.,]\d)"
_SYMBOLS = re.compile(
    r"""(?<![^\s"'(])(?:
        [a-z]{1,10}\+\+ | [a-z]{1,2}[#+] | [A-Z]{1,2}- | \.[a-z]{2,10} | [+-]\d+(?:[.,]\d+)?
    )(?=[?!.,;:)"'°%]*(?:\s|$)|°|%)""",
    re.VERBOSE | re.ASCII | re.IGNORECASE,
)
_MARKS = frozenset("+#-.")
_MINUS = str.maketrans("\u2212\u2013", "--")


@dataclass(frozen=True, slots=True)
class Code:
    """An identifier in a question.

    Attributes:
        parts: Its runs of letters and of digits, folded, in order.
        words: Its words as written in the question.
        sure: Whether it is certainly one; "5 km" and "27b" may be amounts.
        short: Abbreviations of its word: "error 14" may be ``E-14`` or ``ERR14``.
    """

    parts: tuple[str, ...]
    words: tuple[str, ...]
    sure: bool
    short: tuple[str, ...] = ()

    def spellings(self) -> list[tuple[str, ...]]:
        """List the sequences of words in which it may be written, the given one first."""
        joined = "".join(self.parts)
        found = [self.words, *_ways(self.parts)]
        if joined.isdigit() or _is_grouped(self.parts):
            found += [_cut(joined, size) for size in _GROUPS]
        for letters in self.short:
            found += _ways((letters, self.parts[-1]))
        return list(dict.fromkeys(found))

    def pattern(self) -> re.Pattern[str]:
        """Make the pattern that finds it in a squeezed text, however it is written.

        If unsure, a number counts only after an abbreviated word: "14 errors" is no code.
        """
        joined = "".join(self.parts)
        if joined.isdigit() or _is_grouped(self.parts):
            written = r"[-\s]?".join(joined)
        else:
            written = r"[-_/#\s]{0,2}".join(self.parts)
        ways = [written] if self.sure or not self.short else []
        ways += [f"{letters}[-_/#]?{self.parts[-1]}" for letters in self.short]
        return re.compile(rf"(?<!\w)(?:{'|'.join(ways)})(?!\w)")


def codes(text: str) -> list[Code]:
    """List the identifiers of a question that have letters and digits, or digits in groups.

    >>> [code.parts for code in codes("what is E-2207, or KL 1583?")]
    [('e', '2207'), ('kl', '1583')]
    """
    if text.isascii() and not _DIGIT.search(text):
        return []
    squeezed = squeeze(text)
    if not _DIGIT.search(squeezed):
        return []
    tokens = [token.strip(_EDGES) for token in squeezed.split()]
    raw = text.split()
    capital = [one.strip(_EDGES).isupper() for one in raw] if len(raw) == len(tokens) else []
    found: list[Code] = []
    at = 0
    while at < len(tokens):
        size = _run(tokens[at : at + _MOST_GROUPS])
        if size > 1:
            words = tuple(word for token in tokens[at : at + size] for word in _words(token))
            found.append(_code(words, sure=True))
        else:
            found += _single(tokens[at])
            if _run(tokens[at + 1 : at + 1 + _MOST_GROUPS]) == 1:
                found += _pair(tokens[at : at + 2], loud=bool(capital) and capital[at])
        at += size
    return found


def numbers(text: str) -> list[str]:
    """List the numbers of a question that may stand for an identifier without its prefix.

    >>> numbers("and 4471? not 2024, nor 12")
    ['4471']
    """
    found = [token.strip(_EDGES) for token in text.split()]
    return [
        token
        for token in found
        if token.isascii()
        and token.isdigit()
        and len(token) >= _BARE
        and not _YEAR.fullmatch(token)
    ]


def numbered(number: str) -> re.Pattern[str]:
    """Make the pattern that finds an identifier by its number in a text that is not folded.

    >>> found = numbered("4471").search
    >>> bool(found("see E-4471")), bool(found("paid 4471 euros")), bool(found("see E-4417"))
    (True, False, False)
    """
    return re.compile(
        rf"(?:#|(?<![^\W_])[A-Za-z]{{1,{_PREFIX}}}[-_/#]?|(?<!\w)[A-Z]{{2,{_PREFIX}}}\s#?)"
        rf"{number}(?!\w)"
    )


def symbols(text: str) -> list[str]:
    """List the words of a question that a symbol distinguishes from others.

    >>> symbols("do I prefer C++ or C#? was it -5 outside")
    ['C++', 'C#', '-5']
    """
    if text.isascii() and _MARKS.isdisjoint(text):
        return []
    return [match.group() for match in _SYMBOLS.finditer(text.translate(_MINUS))
            if not match.group().endswith("-") or match.group().isupper()]  # fmt: skip


def has_symbol(text: str, symbol: str) -> bool:
    """Return whether a text has a word with its symbol.

    >>> has_symbol("I know C++ well", "c++"), has_symbol("I know C# well", "c++")
    (True, False)
    """
    before = r"(?<!\w)" if symbol[0] == "." else _BEFORE
    pattern = rf"{before}{re.escape(squeeze(symbol))}{_AFTER}"
    return re.search(pattern, squeeze(text.translate(_MINUS))) is not None


def _words(token: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", token)


def _code(words: tuple[str, ...], *, sure: bool) -> Code:
    return Code(tuple(part for word in words for part in _PARTS.findall(word)), words, sure)


def _run(tokens: Sequence[str]) -> int:
    """Count the tokens at the start that are the groups of one long number."""
    size = 0
    for token in tokens:
        grouped = token.isascii() and token.isalnum() and (token.isdigit() or not size or size > 1)
        if not grouped or not any(map(str.isdigit, token)):
            break
        size += 1
    while size > 1:
        joined = "".join(tokens[:size])
        if joined.isdigit() and len(joined) >= _GROUPED and min(map(len, tokens[:size])) > 1:
            return size
        if _IBAN.fullmatch(joined) and len(tokens[0]) == 4:  # noqa: PLR2004 - its groups
            return size
        size -= 1
    return 1


def _single(token: str) -> Iterator[Code]:
    if not _TOKEN.fullmatch(token):
        return
    words = tuple(_words(token))
    parts = _PARTS.findall(token)
    letters = any(part.isalpha() for part in parts)
    digits = any(part.isdigit() for part in parts)
    if (letters and digits) or (token.isdigit() and len(token) >= _GROUPED):
        yield _code(words, sure=not (parts[0].isdigit() and len(parts) == 2))  # noqa: PLR2004


def _pair(tokens: Sequence[str], *, loud: bool) -> Iterator[Code]:
    """Yield the identifier in two tokens: a word and a number, or a number and its unit."""
    if len(tokens) < 2 or not all(token.isascii() and token.isalnum() for token in tokens):  # noqa: PLR2004
        return
    first, second = tokens
    if first.isalpha() and not second.isalpha():
        plain = not _tells(first) or first in WEAK_WORDS
        year = bool(_YEAR.fullmatch(second)) and not loud
        digits = sum(map(str.isdigit, second))
        sure = len(first) <= _PREFIX and digits >= _NUMBER
        if plain or year:
            return
        short = _shortened(first) if second.isdigit() else ()
        if sure or short:
            yield replace(_code((first, second), sure=sure), short=short)
    elif first.isdigit() and second.isalpha() and len(second) <= _UNIT and _tells(second):
        yield _code((first, second), sure=False)


def _shortened(word: str) -> tuple[str, ...]:
    """List the abbreviations of a word that may stand before a number."""
    return tuple(word[:size] for size in range(1, min(_SHORT + 1, len(word))))


def _tells(word: str) -> bool:
    return word not in STOP_WORDS and word not in META_WORDS


def _is_grouped(parts: Sequence[str]) -> bool:
    return bool(_IBAN.fullmatch("".join(parts))) and len("".join(parts)) >= 15  # noqa: PLR2004 - shortest IBAN


def _cut(joined: str, size: int) -> tuple[str, ...]:
    return tuple(joined[at : at + size] for at in range(0, len(joined), size))


def _ways(parts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the ways to write parts as words: all apart, all joined, some joined."""
    yield parts
    yield ("".join(parts),)
    if len(parts) > _MOST_PARTS:
        return
    for count in range(1, len(parts) - 1):
        for cuts in combinations(range(1, len(parts)), count):
            edges = (0, *cuts, len(parts))
            yield tuple("".join(parts[a:b]) for a, b in pairwise(edges))
