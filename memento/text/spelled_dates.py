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
    r"\s*(?:-|\u2013|to|until|till|through|and|bis(?:\s+zum)?|und(?:\s+dem)?|au|et|al|y)\s*"
    r"(?:the\s+)?"
)
_DAYS_THEN_MONTH = re.compile(
    rf"(?<![\d.:/-])(?P<first>{_DAY})(?P<to>{_TO})"
    rf"(?P<last>{_DAY})(?P<month>\s+(?:of\s+|de\s+)?{_MONTHS}{_YEAR})",
    re.IGNORECASE,
)
_MONTH_THEN_DAYS = re.compile(
    rf"\b(?P<month>{_MONTHS}\s+)(?P<first>{_DAY})(?P<to>{_TO})"
    rf"(?P<last>{_DAY})(?!\s*{_MONTHS})(?![\d:])(?P<year>{_YEAR})",
    re.IGNORECASE,
)
_DAYS_OF_HAN = re.compile(
    r"(?P<month>(?:\d{4}年)?\d{1,2}月)(?P<first>\d{1,2}[日号號])(?P<to>から|到|至|-|~|\uff5e)(?P<last>\d{1,2}[日号號])"
)
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
    if not any(char.isdigit() for char in text):
        return text
    text = _ORDINAL.sub(lambda found: found[1] or f"{found[2]}.", text)
    text = _DAYS_THEN_MONTH.sub(_with_month_behind, text)
    return _MONTH_THEN_DAYS.sub(_with_month_before, text)


def _with_month_behind(found: re.Match[str]) -> str:
    month = found["month"]
    return f"{found['first']}{month}{_apart(found['to'])}{found['last']}{month}"


def _with_month_before(found: re.Match[str]) -> str:
    month, year = found["month"], found["year"]
    return f"{month}{found['first']}{year}{_apart(found['to'])}{month}{found['last']}{year}"


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
