"""Cut a text into words and stops, with short forms written out; and tell its language. Pure."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from memento.claims.claim_words import common, language_of, vocabulary

_WORD = re.compile(
    r"[^\W_]+(?:[.:,'/+#_@&-]+[^\W_]+)*[+#%]*|[,;!?]|\.(?=\s|$)|:(?=\s)|[。，；！？：]"  # noqa: RUF001 - real stops
)
_STOP = {"。": ".", "，": ",", "；": ";", "！": "!", "？": "?", "：": "=", ":": "=", "!": "."}  # noqa: RUF001 - real stops
_ELISION = re.compile(r"\b(j|l|d|n|s|m|t|qu|c)'", re.IGNORECASE)
_SHORT = re.compile(r"(?<![A-Za-z])[A-Za-z]++'[a-z]+|\bdont\b|\bim\b")
_TITLE = re.compile(
    r"\b(Dr|Dra|Mr|Mrs|Ms|Mx|Prof|Rev|Hon|Capt|Col|Gen|Sgt|Hr|Sr|Sra|St|Ste|Mt|Ft)\.(?=\s+[^\W\d_a-z])"
)
"""A title or a part of a place's name that is cut off: its full stop ends no sentence."""
_HAN = re.compile(r"[\u4e00-\u9fff]")


def tokens_of(text: str) -> tuple[list[str], str]:
    """Cut a text into words and stops; and tell its language, as an ISO 639-1 code.

    >>> tokens_of("My dentist is Dr. Silva.")
    (['My', 'dentist', 'is', 'Dr', 'Silva', '.'], 'en')
    """
    plain = _TITLE.sub(r"\1", text.replace("’", "'"))  # noqa: RUF001 - a real apostrophe
    if _HAN.search(plain):
        return _cut(plain), "zh"
    whole = _SHORT.sub(lambda found: common().short.get(found[0].lower(), found[0]), plain)
    whole = _ELISION.sub(r"\1 ", whole)
    tokens = _WORD.findall(_joined().sub(lambda found: common().joined[found[0]], whole))
    return tokens, language_of([token.lower() for token in tokens])


@cache
def _joined() -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, common().joined)))


def _cut(text: str) -> list[str]:
    """Cut Chinese text at the words of the vocabulary; what is between them stays whole."""
    cuts = vocabulary("zh").cuts
    pattern = _cutter(cuts)
    return [token for token in _WORD.findall(pattern.sub(r" \g<0> ", text)) if token]


@lru_cache(maxsize=2)
def _cutter(cuts: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, cuts)))


def small(token: str) -> str:
    """Return a token in lower case; a stop in its plain form."""
    return _STOP.get(token) or token.lower()
