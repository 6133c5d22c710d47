"""Tell of which sort a value is: a name, a number, a date, or how something is. Pure."""

from __future__ import annotations

import re

from memento.observe.nouns import TONGUES

_FILLERS = re.compile(
    r"(?:(?:now|actually|currently|still|just|due|not|no longer|called|named|roughly|about|around"
    r"|almost|nearly|only|exactly|up to|down to|over|under|another|different"
    r"|an? (?:guy|man|woman|person|one|thing|new)|the (?:new )?one) )+",
    re.IGNORECASE,
)
"""Words between the verb and the value."""
_NAMED = re.compile(r"\b(?:called|named) (?P<value>\w.*)$", re.IGNORECASE)
_PLACE = re.compile(
    r"(?:at|on|in|near|by|behind|beside|under|opposite|next to|over) (?=\w)", re.IGNORECASE
)
_ARTICLE = re.compile(r"(?:an?|the|my|our|his|her|their|some|one of) (?=\S)", re.IGNORECASE)
_UNITS = r"(?:hours?|minutes?|days?|weeks?|months?|years?|euros?|dollars?|pounds?|metres?|miles?)"
_NUMBER = re.compile(
    rf"[€$£]? ?\d|(?:half )?an? (?:half )?{_UNITS}\b|a (?:hundred|thousand|million|dozen|couple)\b"
    r"|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen"
    r"|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
    r"|hundred|half)\b",
    re.IGNORECASE,
)
_COMPARED = re.compile(
    r"%|\b(?:higher|lower|faster|slower|times|more|less|fewer|late|early|away|ago|behind|ahead|off"
    r"|spent|used|left|over|short|better|worse|bigger|smaller|longer|shorter|percent)\b",
    re.IGNORECASE,
)
_MONTHS = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may"
    r"|june?|july?|aug(?:ust)?|sep(?:t|tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_DAYS = rf"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|{_MONTHS}"
_DATE = re.compile(
    rf"(?:on |in |at |the |next |this )*(?:{_DAYS})\b|(?:on |the )+\d+(?:st|nd|rd|th)"
    r"|(?:today|tomorrow|tonight|next|this)\b|in \w+ (?:days?|weeks?|months?|years?)\b"
    r"|(?:at |by )?(?:the )?(?:end|start|beginning|middle) of\b"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_DAYS})\b"
    r"|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?![.\d])",
    re.IGNORECASE,
)
_COUNTED = (("date", _DATE), ("number", _NUMBER))
_COLOURS = frozenset(
    """black white grey gray red green blue yellow orange purple violet pink brown beige silver gold
    turquoise teal navy""".split()  # noqa: SIM905 - as above
)
_STATES = frozenset(
    """slow fast down up broken fixed live dead alive offline online late early full empty done
    ready stolen frozen forgotten gone away back sick ill pregnant tall short busy free off on out
    in spent stable flaky better worse great good bad fine ok okay awol asap paid unpaid open
    closed shut weekly daily monthly always never often sold lost found stuck home here there
    new old clean dirty hot cold warm wet dry safe dangerous loud quiet happy sad angry tired
    bored retired married single divorced engaged famous rich poor strong weak hard easy long
    wrong right true false high low cheap expensive ugly beautiful nice lovely awful terrible
    horrible perfect amazing ancient modern huge tiny big small bigger smaller taller older
    younger longer shorter higher lower faster slower cheaper deaf blind mad crazy asleep
    awake outside inside abroad nearby overdue due tight useless useful private public secret
    flat round square sharp blunt green mine yours ours theirs gold not almost too
    very so really quite pretty rather super totally completely mostly half fully partly more
    less much many all over under again also only even then when where what who how why
    because as like than with without from for to of if that this these those it""".split()  # noqa: SIM905 - as above
)
"""Words that say how something is for now."""
_STATE_ENDINGS = re.compile(r"[a-z]{2,}(?:ed|ing|ful|less|ous|able|ible|ly)[,;]?$")


def _sort_of(said: str) -> str:
    """Return the sort of a complement: name, number, date, place, colour, tongue, what or how."""
    named = _NAMED.search(said)
    value = _FILLERS.sub("", named["value"] if named else said, count=1)
    counted = next((sort for sort, one in _COUNTED if one.match(value)), None)
    if counted is not None:
        return "how" if _COMPARED.search(value) else counted
    article = _ARTICLE.match(value)
    place = None if article else _PLACE.match(value)
    if place is not None:
        return f"place {place[0].casefold().strip()}"
    return _sort_of_words(value[article.end() if article else 0 :].split(), bare=article is None)


def _sort_of_words(words: list[str], *, bare: bool) -> str:
    """Return the sort of other words; bare ones stand without an article."""
    word = words[0].casefold().strip(",;:\"'") if words else ""
    sort = "name" if bare else "model" if any(one[0].isupper() for one in words) else "what"
    if word in _COLOURS and len(words) == 1:
        sort = "colour"
    elif word.endswith("'s"):
        sort = "whose"
    elif not word or word in _STATES or _STATE_ENDINGS.match(words[0]):
        sort = "how"
    elif word in TONGUES:
        sort = "tongue"
    return sort


def names(value: str) -> bool:
    """Return whether a complement is a name or a number: "Jenkins", "10.0.0.7", not "Broken"."""
    return _sort_of(value).partition(" ")[0] in ("name", "number")


def is_date(value: str) -> bool:
    """Return whether a value is a day or a month: "Monday"."""
    return _DATE.match(value) is not None


_DAY_OF_YEAR = re.compile(
    rf"(?:the )?(?:\d{{1,2}}(?:st|nd|rd|th)?\.?(?: of)? [^\W\d_]{{3,}}|(?:{_MONTHS})\b.*\d"
    r"|\d{1,4}[-/.]\d{1,2}(?:[-/.]\d{1,4})?(?![.\d]))",
    re.IGNORECASE,
)


def is_day_of_year(value: str) -> bool:
    """Return whether a value is a day that comes every year: "3 May", "24/12", not "tomorrow"."""
    return _DAY_OF_YEAR.match(value) is not None
