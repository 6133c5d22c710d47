"""Recognise the language of a message by its script and its function words. Pure."""

from __future__ import annotations

import re
from functools import cache

from memento.observe import cues

ENGLISH = "en"
_SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("zh", re.compile(r"[\u4e00-\u9fff]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
    ("ar", re.compile(r"[\u0600-\u06ff]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("th", re.compile(r"[\u0e00-\u0e7f]")),
    ("hi", re.compile(r"[\u0900-\u097f]")),
)
"""Scripts, in order: a Japanese text also has Chinese characters."""
_SHARE = 0.25
"""Minimum share of the letters for a script to name the language: English may quote one word."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")  # noqa: RUF001 - a real apostrophe
_COMMON = frozenset(
    """the a an i i'm i've i'd i'll you she it we they my your her its our their is are was
    were be been am do does did don't doesn't didn't have has had not no and or but if of to in on
    at for with from by about this that these those what which who when where why how can could
    will would should may might must please never always use there here up out so very just like
    want need than then them me us it's that's let's we're isn't can't won't as any some all
    only now new get keep stop make know think say said tell ask im ive id theyre thats whats dont
    doesnt didnt isnt wasnt cant wont couldnt btw pls""".split()  # noqa: SIM905 - words read better as one text
)

_IN_THE = re.compile(r"\b[Ii]m (?=[A-ZÄÖÜ])")
"""The German word before a noun: "im Garten", not "im starving"."""


def recognise(text: str) -> str:
    """Return the ISO 639-1 code of a text's language.

    Args:
        text: A message; hidden characters do not matter.

    Returns:
        The code; English for a Latin text without a function word of another language, "" for a
        text without a letter.

    >>> recognise("Ich wohne in Leipzig."), recognise("Never push to main."), recognise("...")
    ('de', 'en', '')
    """
    letters = sum(character.isalpha() for character in text)
    if not letters:
        return ""
    for code, script in _SCRIPTS:
        if len(script.findall(text)) >= _SHARE * letters:
            return code
    spoken = [word.lower().replace("’", "'") for word in _WORD.findall(text)]  # noqa: RUF001 - as above
    best, most = ENGLISH, sum(word in _COMMON for word in spoken) - len(_IN_THE.findall(text))
    for code, common in _others():
        if (found := sum(word in common for word in spoken)) > most:
            best, most = code, found
    return best


@cache
def _others() -> tuple[tuple[str, frozenset[str]], ...]:
    return tuple((code, cues.load(code).common) for code in cues.LANGUAGES)
