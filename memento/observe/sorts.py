"""Return whether two statements give their subject the same sort of value. Pure.

A statement with a word of change takes the place of an earlier one only if it says the same sort of
thing of the same subject: "Our CI is Buildkite now" follows "Our CI is Jenkins", and "Our CI is
slow now" stands beside it. In doubt both stay.
"""

from __future__ import annotations

import re

from memento.observe.nouns import KIN, TONGUES
from memento.observe.wording import without_lead

_KIN = "|".join(KIN)
_PERSON = re.compile(
    rf"my (?:(?P<which>[\w-]+) )?(?:{_KIN})\b(?!'s)(?:,? (?P<name>[^\W\d_][\w'-]*))?", re.IGNORECASE
)
_OTHERS = frozenset(
    """younger older elder youngest oldest eldest big little former ex old other late twin half
    first second third last previous step middle""".split()  # noqa: SIM905 - words read better as one text
)
"""Words that tell one person from another of the same kin."""
_SUBJECT_LAST = re.compile(
    r"(?P<value>[^\W\d_][\w'-]*(?: [^\W\d_][\w'-]*){0,2}) (?:is|are) (?:now )?(?:my|our)"
    r" (?:new )?(?P<what>[\w -]+)$"
)
"""The subject behind the verb: "Tom is my new manager"."""
_BE = frozenset({"is", "are", "was", "'s", "called", "named"})
_VERB = re.compile(
    r"(?:(?<!the )(?<!my )(?<!our )\b(?P<verb>is|are|was|called|named|lives?|works?|runs?"
    r"|uses?|has|have|costs?|drives?|speaks?|stud(?:y|ies)|plays?|goes|go|drinks?|eats?|teaches"
    r"|plans|wants|likes?|loves?|hates?|moved|starts?|begins?|ends?|opens?|closes?|takes?|weighs?"
    r"|reports?|belongs?|stays?|sits?|means|needs?|gets?|got|does|did|keeps?|looks?|feels?|comes?"
    r"|makes?|knows?|sells?)\b"
    r"|(?<=\w)(?P<short>'s)\b(?= (?!boss|name)))",
    re.IGNORECASE,
)
"""The verb that tells what a statement says of its subject."""
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


def is_of_another_sort(old: str, new: str) -> bool:
    """Return whether a statement about the same slot does not give it another value.

    It is about another person, uses another verb, or says where or how the thing is and not which.

    >>> is_of_another_sort("Our CI is Jenkins.", "Our CI is slow now.")
    True
    >>> is_of_another_sort("My son Leo is six.", "My son Max is two now.")
    True
    >>> is_of_another_sort("Our CI is Jenkins.", "Our CI is Buildkite now.")
    False
    """
    first, second = _plain(old), _plain(new)
    if _is_another_person(first, second):
        return True
    one, other = _SUBJECT_LAST.match(first), _SUBJECT_LAST.match(second)
    if one and other and one["what"] != other["what"]:
        return True
    told, tells = _told_of(first), _told_of(second)
    if told is None or tells is None:
        return False
    return told[0] != tells[0] or not _is_followed_by(told[1], tells[1])


def _plain(text: str) -> str:
    plain = without_lead(text.replace("’", "'")).strip().rstrip(".!;")  # noqa: RUF001 - real
    return re.sub(r"[, ]+(?:now|actually|instead|these days|any ?more)$", "", plain)


def _is_another_person(first: str, second: str) -> bool:
    one, other = _PERSON.match(first), _PERSON.match(second)
    if not one or not other:
        return False
    which = (other["which"] or "").casefold()
    if which in _OTHERS and which != (one["which"] or "").casefold():
        return True
    known, named = one["name"] or "", other["name"] or ""
    if known[:1].isupper() and named[:1].isupper():
        return known != named
    return False


def _told_of(plain: str) -> tuple[str, str] | None:
    """Return the verb of a statement and the sort of what follows it, or None."""
    turned = _SUBJECT_LAST.match(plain)
    if turned is not None and turned["value"][0].isupper():
        return "is", _sort_of(turned["value"])
    found = _VERB.search(plain, 3)
    if found is None:
        return None
    verb = (found["verb"] or found["short"]).casefold()
    said = plain[found.end() :].strip()
    return "is" if verb in _BE else verb.rstrip("s"), _sort_of(said)


def _sort_of(said: str) -> str:
    """Return the sort of a complement: name, number, date, place, colour, tongue, what or how."""
    named = _NAMED.search(said)
    value = _FILLERS.sub("", named["value"] if named else said, count=1)
    counted = next((sort for sort, one in _COUNTED if one.match(value)), None)
    if counted is not None:
        return "how" if _COMPARED.search(value) else _with_unit(counted, value)
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


_UNIT = re.compile(rf"(?P<money>[€$£]|\b(?:euros?|dollars?|pounds?|k)\b)|(?P<time>\b{_UNITS}\b)")
_MEASURE = re.compile(r"\d[\d.,:]* ?(?P<unit>[a-z]{1,10})\b", re.IGNORECASE)


def _with_unit(sort: str, value: str) -> str:
    """Name a number with what it counts: "number money", "number cm"."""
    if sort != "number":
        return sort
    known = _UNIT.search(value)
    if known is not None:
        return f"number {known.lastgroup}"
    measure = _MEASURE.match(value)
    return "number" if measure is None else f"number {measure['unit'].casefold()}"


_FOLLOWERS = {
    "name": frozenset({"name", "model"}),
    "model": frozenset({"model", "name"}),
    "what": frozenset({"what", "model", "name"}),
    "number": frozenset({"number", "number money", "number time"}),
    "number money": frozenset({"number", "number money"}),
    "number time": frozenset({"number", "number time"}),
}
"""Sorts of a value that another one may follow, where they are not the same."""


def _is_followed_by(old: str, new: str) -> bool:
    return new in _FOLLOWERS.get(old, frozenset({old}))


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
