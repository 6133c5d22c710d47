"""Write short forms of dates out in full: "3 to 5 March" is "3 March to 5 March". Pure."""

from __future__ import annotations

import re

_MONTHS = (
    r"(?:jan(?:uary|uar|vier)?|feb(?:ruary|ruar)?|f[eé]vrier|mar(?:ch|s|zo)?|märz|maerz|apr(?:il)?"
    r"|avril|abril|may|mai|mayo|june?|juni|juin|junio|july?|juli|juillet|julio|aug(?:ust)?|ao[uû]t"
    r"|agosto|sept?(?:ember|embre|iembre)?|okt(?:ober)?|oct(?:ober|obre|ubre)?|nov(?:ember|embre"
    r"|iembre)?|de[cz](?:ember)?|d[eé]cembre|diciembre|enero|febrero)\b\.?"
)
_YEAR = r"(?:,?\s+(?:de\s+|del\s+)?\d{4}\b)?"
_DAY = r"\d{1,2}(?:st|nd|rd|th|\.)?"
_TO = (
    r"\s*+(?:,\s*+)?(?:-|\u2013|to|until|till|through|and|or|bis(?:\s+zum)?|und|oder|au|et|ou|al|y|o)\s*"
    r"(?:(?:the|am|dem|den|le|el)\s+)?"
)
_DAYS = rf"(?:{_DAY},\s?(?:the\s)?){{0,6}}+{_DAY}"
"""One day of a month or several: "3, 5" of "3, 5 and 9 June"."""
_SEVERAL = re.compile(_DAY, re.IGNORECASE)
_DAYS_THEN_MONTH = re.compile(
    rf"(?<![\d.:/-])(?P<first>{_DAYS})(?P<to>{_TO})"
    rf"(?P<last>{_DAY})(?P<month>\s+(?:of\s+|de\s+)?{_MONTHS}{_YEAR})",
    re.IGNORECASE,
)
_MONTH_THEN_DAYS = re.compile(
    rf"\b(?P<month>{_MONTHS}\s+)(?P<first>{_DAYS})(?P<to>{_TO})"
    rf"(?P<last>{_DAY})(?!\s*{_MONTHS})(?![\d:])(?P<year>{_YEAR})",
    re.IGNORECASE,
)
_DAYS_OF_HAN = re.compile(
    r"(?P<month>(?:\d{4}年)?\d{1,2}月)(?P<first>\d{1,2}[日号號])(?P<to>から|到|至|-|~|\uff5e)(?P<last>\d{1,2}[日号號])"
)
_SPOKEN = (
    """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth
    fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first
    twenty-second twenty-third twenty-fourth twenty-fifth twenty-sixth twenty-seventh twenty-eighth
    twenty-ninth thirtieth thirty-first""",
    """erst zweit dritt viert fünft sechst siebt acht neunt zehnt elft zwölft dreizehnt vierzehnt
    fünfzehnt sechzehnt siebzehnt achtzehnt neunzehnt zwanzigst einundzwanzigst zweiundzwanzigst
    dreiundzwanzigst vierundzwanzigst fünfundzwanzigst sechsundzwanzigst siebenundzwanzigst
    achtundzwanzigst neunundzwanzigst dreißigst einunddreißigst""",
    "premier",
    """primero dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince
    dieciséis diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro
    veinticinco veintiséis veintisiete veintiocho veintinueve treinta""",
)
"""The days of a month in words, from the first, in English, German, French and Spanish."""
_NUMBER_OF = {word: at for row in _SPOKEN for at, word in enumerate(row.split(), 1)}
_NUMBER_OF |= {
    word + ending: at
    for at, word in enumerate(_SPOKEN[1].split(), 1)
    for ending in ("e", "en", "em", "er")
}
_IN_WORDS = "|".join(sorted(_NUMBER_OF, key=len, reverse=True)).replace("-", r"[-\s]")
_CAPITAL = r"(?-i:(?=[A-ZÀ-Ý]))"
"""Distinguishes months from the verbs "may" and "march"."""
_MONTH = re.compile(rf"\b{_MONTHS}", re.IGNORECASE)
_WORD_THEN_MONTH = re.compile(
    rf"\b({_IN_WORDS})(?=\s+(?:(?:of|de)\s+|{_CAPITAL}|(?<=premier )){_MONTHS})", re.IGNORECASE
)
_THEN_WORD = re.compile(
    rf"\b(?P<led>{_CAPITAL}{_MONTHS}(?:\s+the)?|(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s+the)"
    rf"\s+(?P<day>{_IN_WORDS})\b(?=\s*(?:$|[.,;:!?)]|(?:and|at|for|i|or|to|we)\b))",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+")
_ORDINAL = re.compile(r"\b(\d{1,2})(?:º|°|er)(?=\s)|\b(\d{1,2})ten\b", re.IGNORECASE)
_HAN = re.compile("[〇零一二三四五六七八九十]{1,4}(?=[年月日号號])")
_DIGITS = {one: str(at) for at, one in enumerate("零一二三四五六七八九")} | {"\u3007": "0"}


def spelled_out(text: str) -> str:
    """Write the short forms of dates in a text out in full.

    >>> spelled_out("from 3 to 5 March 2025")
    'from 3 March 2025 to 5 March 2025'
    >>> spelled_out("March 3-5, 2025"), spelled_out("三月十四号")
    ('March 3, 2025 - March 5, 2025', '3月14日')
    """
    if not text.isascii():
        text = _HAN.sub(lambda found: _number(found[0]), text)
        text = re.sub(r"(?<=\d)[号號]", "日", text)
        text = _DAYS_OF_HAN.sub(r"\g<month>\g<first>\g<to>\g<month>\g<last>", text)
    if not _NUMBER_OF.keys().isdisjoint(_WORD.findall(text.lower())):
        if _MONTH.search(text):
            text = _WORD_THEN_MONTH.sub(lambda found: str(_day(found[1])), text)
        text = _THEN_WORD.sub(lambda found: f"{found['led']} {_day(found['day'])}th", text)
    if not any(char.isdigit() for char in text):
        return text
    text = _ORDINAL.sub(lambda found: found[1] or f"{found[2]}.", text)
    text = _DAYS_THEN_MONTH.sub(_with_month_behind, text)
    return _MONTH_THEN_DAYS.sub(_with_month_before, text)


def _day(word: str) -> int:
    return _NUMBER_OF["-".join(word.lower().replace("-", " ").split())]


def _with_month_behind(found: re.Match[str]) -> str:
    month = found["month"]
    days = ", ".join(day + month for day in _SEVERAL.findall(found["first"]))
    return f"{days}{_apart(found['to'])}{found['last']}{month}"


def _with_month_before(found: re.Match[str]) -> str:
    month, year = found["month"], found["year"]
    days = ", ".join(month + day + year for day in _SEVERAL.findall(found["first"]))
    return f"{days}{_apart(found['to'])}{month}{found['last']}{year}"


def _apart(link: str) -> str:
    return f" {link.strip()} "


def _number(said: str) -> str:
    """Return a Chinese number in digits: years digit by digit, others up to 99.

    >>> _number("二〇二五"), _number("十四"), _number("二十")
    ('2025', '14', '20')
    """
    tens, ten, ones = said.partition("十")
    if not ten:
        return "".join(_DIGITS[one] for one in said)
    return f"{_DIGITS.get(tens, '1')}{_DIGITS.get(ones, '0')}"
