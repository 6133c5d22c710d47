"""Stem the words that FTS5's English stemmer does not change. Pure; standard library only.

Only the script decides; the language is not guessed. Cyrillic words lose their endings (the list
is made for Russian); Arabic words lose the article, the "and" before a word and their endings. The
stemming is light on purpose: a stem need not be a word, but it must be the same for all forms of
one word and keep most of its letters.
"""

from __future__ import annotations

import re

_KEPT = 3
"""Fewest letters that a stem keeps; an Arabic word may lose one letter down to two."""

_CYRILLIC = re.compile("[\u0400-\u04ff]{4,}")
_REFLEXIVE = ("ся", "сь")
_REFLEXIVE_FROM = 6  # letters; in a shorter word it is part of the stem
# Written as in a folded text: without the marks on short i and io.
_CYRILLIC_WRITTEN = """
    а е и о у ы ь ю я ам ах ов ев еи ем ом ои ою ею ям ях ия ие ии ию ьи ья ье ьев ьям
    иям иях иями ами ями ием
    ыи ая яя ое ее ые ого его ому ему ым им ых их ую юю ыми ими
    ть ти ет ит ют ят ут ат ешь ишь ете ите ать ять ить еть ала яла ила ела ало ило ело
    али яли или ели ает яет ают яют ует уют ла ло ли нныи нная нное нные
"""  # noqa: RUF001 - Cyrillic letters are meant
_CYRILLIC_ENDINGS = frozenset(_CYRILLIC_WRITTEN.split())

_ARABIC = re.compile("(?<![\u0600-\u06ff])[\u0621-\u064a]{3,}(?![\u0600-\u06ff])")
_MARBUTA = str.maketrans("\u0629\u0649", "\u0647\u064a")  # teh marbuta, alef maksura
# The article, alone or after a particle; "and" before it or alone. Other particles alone are kept:
# far more words begin with those letters (a book, a house).
_ARABIC_PREFIXES = re.compile(f"(?:(?:[وبكف]?ال|لل)(?=.{{{_KEPT}}})|و(?=.{{{_KEPT + 1}}})){{0,2}}")
_ARABIC_WRITTEN = "تهما تهم تكم تنا تها هما ها ان ات ون ين يه نا هم كم تي ته تك وا ه ي"  # noqa: RUF001 - Arabic letters are meant
_ARABIC_ENDINGS = frozenset(_ARABIC_WRITTEN.split())
_LONGEST = 4  # letters of an ending


def stemmed(text: str) -> str:
    """Bring the Cyrillic and Arabic words of a folded text to their stems.

    Source: the endings are a part of those of Snowball's Russian stemmer; the Arabic affixes are
    those of light10 (Larkey, Ballesteros & Connell, Light Stemming for Arabic Information
    Retrieval, 2007) and the possessive endings.

    >>> stemmed("кошками кошка"), stemmed("والمكتبة مكتبات")
    ('кошк кошк', 'مكتب مكتب')
    """
    return _ARABIC.sub(_arabic, _CYRILLIC.sub(_cyrillic, text))


def _cyrillic(found: re.Match[str]) -> str:
    word = found.group()
    if len(word) >= _REFLEXIVE_FROM and word.endswith(_REFLEXIVE):
        word = word[:-2]
    stem = _without_ending(word, _CYRILLIC_ENDINGS, _KEPT)
    return stem[:-1] if stem.endswith("нн") and len(stem) > _KEPT + 1 else stem


def _arabic(found: re.Match[str]) -> str:
    word = _ARABIC_PREFIXES.sub("", found.group().translate(_MARBUTA), count=1)
    return _without_ending(word, _ARABIC_ENDINGS, _KEPT - 1)


def _without_ending(word: str, endings: frozenset[str], least: int) -> str:
    """Drop the longest ending; ``least`` letters stay for one letter dropped, `_KEPT` for more."""
    for length in range(min(_LONGEST, len(word) - _KEPT), 1, -1):
        if word[-length:] in endings:
            return word[:-length]
    return word[:-1] if len(word) > least and word[-1] in endings else word
