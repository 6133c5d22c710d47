"""Reduce a text to what it says, so that two texts that say the same are equal. Pure.

Only case, spacing, fillers and the full stop at the end make no difference. Everything else does:
"C#" is not "C++", +5 is not -5, 5 mW is not 5 MW, and a question is not a statement.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

FILLERS = frozenset("a an the really just also very so please well oh and that".split())  # noqa: SIM905 - words read better as one text
"""Words without which a text says the same."""
_STOPS = ".!?…。！？؟"  # noqa: RUF001 - real stops
_SPACES = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_ENDS = _STOPS + _SPACES
_ASKS = re.compile("[?？؟]")  # noqa: RUF001 - real question marks
_PAUSES = ",;:"
_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")
_NUMBER = re.compile(r"\d")


def gist(text: str) -> str:
    """Return what a text says; equal for two texts that say the same.

    >>> gist("Oh, I really like  the red bike!") == gist("i like red bike")
    True
    >>> gist("We settled on C#.") == gist("We settled on C++.")
    False
    """
    plain = _plain(text)
    said = _without_stops(plain)
    asks = "?" if _ASKS.search(plain, len(said)) else ""
    kept = list(_kept(said.split(), units=_NUMBER.search(said) is not None))
    return f"{' '.join(kept)}{asks}" if kept else plain


def ending(text: str) -> str:
    """Return the last word of a text; texts with an equal gist have the same one.

    A cheap first test: texts with different endings never have an equal gist.

    >>> ending("I really like the red bike!")
    'bike'
    """
    said = _without_stops(text if text.isascii() else _plain(text))
    return said.rsplit(maxsplit=1)[-1].casefold() if said else ""


def _plain(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).translate(_QUOTES)
    return text.strip()


def _without_stops(plain: str) -> str:
    """Drop the stops and the spaces between them from the end of a text."""
    return plain.rstrip(_ENDS)


def _kept(tokens: list[str], *, units: bool) -> Iterator[str]:
    """Yield the tokens that are no fillers, in lower case unless they may be a unit.

    Args:
        tokens: The tokens.
        units: Whether there is a digit in one of them.
    """
    before, last = "", len(tokens) - 1
    for at, token in enumerate(tokens):
        word = token.rstrip(_PAUSES)
        # "vitamin A" and "Columbus, OH" end with a word, and not with a filler
        if word.lower() in FILLERS and at != last and (not before or word.islower()):
            continue
        is_unit = units and (before[-1:].isdecimal() or _has_digit(token))
        yield token if is_unit else token.casefold()
        before = token


def _has_digit(token: str) -> bool:
    return not token.isalpha() and _NUMBER.search(token) is not None
