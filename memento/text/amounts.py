"""Return whether two statements give two values of the same size: 840 and 910, Monday and Friday.

People seldom say that a new value replaces an old one: "The rent is 840", and a year later "The
landlord wants 910". For a question that asks for such a value as it is at present, a number of
about the same size, or another weekday, is a sign that both tell the same thing. It is too little
by itself: the statements must be alike in meaning as well. Pure; standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence

from memento.text.alike import shared_start
from memento.text.answer_form import NO_NAMES
from memento.text.fast_pattern import Small
from memento.text.words import STOP_WORDS, words

_READ = 400  # characters of a text
_LEAST, _MOST = 0.4, 2.5  # share of the older number that a newer one of the same thing has

_PAST = Small(
    r"\b(?:did|was|were|had|been|used\ to|ago|before|previous|former|earlier|then|old|first|last"
    r"|war|waren|hatte|damals|früher|fue|era|antes|était|avait|avant)\b",
    re.VERBOSE,
)
_ASKS_NUMBER = Small(
    r"""\b(?: how\ (?:much|many|big|high|heavy|fast|long|far|tall|large)
    | (?:rent|rate|fee|prices?|costs?|pay|charged?|earn|salary|wage|size|weigh|weight)
    | (?:which|what)\ (?:room|cabin|class|line|desk|floor|number|platform|page|level)
    | wie\ ?(?:viele?|hoch|groß|schwer|lang|alt|weit) | miete | kostet | verdien\w*
    | cu[aá]nt[oa]s? | cuesta | gan[oa] | combien | loyer | coûte | gagne
    )\b""",
    re.VERBOSE,
)
_ASKS_TIME = Small(
    r"""\b(?: when | (?:which|what)\ (?:days?|night|evening|weekday|time) | how\ (?:late|early)
    | wann | um\ wie\ ?viel\ uhr | cu[aá]ndo | a\ qué\ hora | quand | à\ quelle\ heure )\b""",
    re.VERBOSE,
)
_DATES = re.compile(
    r"""\b\d{1,2}(?:st|nd|rd|th)?\ (?:of\ )?(?:{months})\b | \b(?:{months})\ \d{1,2}\b
    | \b(?:19|20)\d\d\b | \b\d{1,2}[:.]\d\d\ ?(?:am|pm|uhr|h)\b | \b\d{1,2}:\d\d\b
    """.replace(
        "{months}",
        "january|february|march|april|may|june|july|august|september|october|november|december",
    ),
    re.VERBOSE,
)
_FIGURE = re.compile(r"(?<![\w.,-])\d{1,3}(?:,\d{3})+(?![\w-])|(?<![\w.,-])\d+(?:\.\d+)?(?![\w-])")
_SPELLED = {
    word: number
    for number, word in enumerate(
        """two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
        sixteen seventeen eighteen nineteen twenty""".split(),  # noqa: SIM905 - words read better as one text
        start=2,
    )
} | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_WEEKDAY = re.compile(
    r"\b(mon|tues|wednes|thurs|fri|satur|sun)days?\b"
    r"|\b(montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s?\b"
    r"|\b(lunes|martes|miércoles|jueves|viernes|sábado|domingo)s?\b"
    r"|\b(lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)s?\b"
)
_CLOCK = re.compile(
    r"\b(?:at|until|till|from|past|to|by|um|ab|bis) (\d{1,2}(?:[:.]\d\d)?|noon|midnight|one|two"
    r"|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b"
)
_NOT_SO = Small(
    r"""\b(?: no | not | never | refused | cancel\w* | used\ to | ago | would | could | might
    | should | will\ (?:be|cost|come|go|have|pay|rise|move) | (?:was|were|had|did)\b(?=.{0,12}\d)
    | if | maybe | perhaps | tomorrow | tonight | this\ (?:week|month|once|time)
    | once | nicht | kein\w*
    )\b | n['’]t\b | \?\W*$""",  # noqa: RUF001 - a real apostrophe
    re.VERBOSE,
)
"""A statement that tells of another moment than the present, or of what is not so."""
_NUMBERED = re.compile(r"\d|(?<=[a-z] )[A-HJ-Z]\b")
"""A thing that the question names by its number or letter."""
_OPENS = re.compile(
    r"(?i:the|a|an|they|he|she|it|i|we|you|this|that|there|these|those|from|since|as|now|new|only"
    r"|my|our|his|her|their|il|elle|on|el|la|los|las|yo|\d\S*)\b"
)
"""A beginning of a statement that is not a name."""
_GERMAN = re.compile(r"(?i:er|sie|es|wir|ich|der|die|das|den|ein|eine|mein|meine|im|am|ab)\b")
"""A beginning of a German statement, where every noun has a capital letter."""
_OF = re.compile(r"(?i:\b(?:of|for) (?:the|my|our|his|her|their)|^\W*(?:my|our)) ((?:\w+ ?){1,2})")
_NAMES = re.compile(r"(?<=[\w,;] )[A-ZÀ-Þ][\w-]{2,}")
_OWNER = re.compile(r"(?<![\w-])-*+([\w-]++)(?=['’]s\b)")  # noqa: RUF001 - a real apostrophe
Other = Callable[[str, str], bool]
"""Tells of an older and a newer text whether they give two values of the same kind and size."""


def asked(question: str) -> Other | None:
    """Read from a question whether it asks for a number or a time as it is at present.

    Returns:
        What compares two statements; None if it asks for something else, or for what was.

    >>> other = asked("how much is the rent")
    >>> other is not None and other("Rent for the flat is 840 a month", "The landlord wants 910")
    True
    >>> asked("how much was the rent") is None
    True
    """
    if _PAST.found_in(question):
        return None
    other = _other_time if _ASKS_TIME.found_in(question) else _other_number
    if other is _other_number and not _ASKS_NUMBER.found_in(question):
        return None
    if _NUMBERED.search(question) or not _SPELLED.keys().isdisjoint(words(question)):
        return None  # room 4 is not room 5
    asked_of = set(words(question))
    return lambda older, newer: other(older, newer) and _may_be_the_same(asked_of, older, newer)


def _other_number(older: str, newer: str) -> bool:
    """Return whether two texts hold numbers of about the same size, and not the same ones.

    >>> _other_number("Sorin pays 210 euros", "Sorin wants two weeks")
    False
    """
    before, after = _numbers(older), _numbers(newer)
    near = any(_LEAST * old <= new <= _MOST * old for old in before if old for new in after)
    return near and before.isdisjoint(after)


def _numbers(text: str) -> set[float]:
    """Return the numbers of a text that are no dates, times or parts of identifiers."""
    small = text[:_READ].lower()
    plain = _DATES.sub(" ", small)
    found = {float(figure.replace(",", "")) for figure in _FIGURE.findall(plain)}
    return found | {float(_SPELLED[word]) for word in words(plain) if word in _SPELLED}


def _other_time(older: str, newer: str) -> bool:
    """Return whether two texts name other weekdays, or without any, other hours.

    >>> _other_time("Diesel is delivered on Wednesdays", "The tanker turns up on Fridays")
    True
    >>> _other_time("The office closes at six", "Office shuts on Friday at five")
    False
    """
    before, after = older[:_READ].lower(), newer[:_READ].lower()
    for pattern in (_WEEKDAY, _CLOCK):
        old, new = set(pattern.findall(before)), set(pattern.findall(after))
        if old or new:
            return bool(old and new) and old.isdisjoint(new)
    return False


def _may_be_the_same(asked_of: Collection[str], older: str, newer: str) -> bool:
    """Return whether nothing in two statements says that they speak of different things.

    A newer one that is denied, past or planned says so, one that is of somebody or something whom
    neither the older one nor the question names, and one that is the same statement of something
    else: insulin at breakfast, and insulin at dinner.

    >>> _may_be_the_same({"rent"}, "Rent for the flat is 840 a month", "The landlord wants 910")
    True
    >>> _may_be_the_same({"rent"}, "My rent is 840 a month", "Tom pays 910 rent a month")
    False
    """
    before, after = older[:_READ].lower(), newer[:_READ].lower()
    owners = set(_OWNER.findall(after)) - set(_OWNER.findall(before))
    if _NOT_SO.found_in(after) or any(f" for {owner}" not in before for owner in owners):
        return False
    known = {*asked_of, *words(before)}
    for named in _of_others(newer[:_READ]):
        telling = set(words(named)) - STOP_WORDS - _SPELLED.keys()
        if telling and telling.isdisjoint(known):
            return False
    return not _swaps_words(_frame(before), _frame(after))


def _of_others(text: str) -> Iterator[str]:
    """Yield the words that say of whom or of what a statement may be."""
    for match in _OF.finditer(text):
        yield match[1]
    if _GERMAN.match(text):
        return
    if not _OPENS.match(text):
        yield text.split(maxsplit=1)[0] if text.split() else ""
    for name in _NAMES.findall(text):
        if name.lower() not in NO_NAMES and not _WEEKDAY.match(name.lower()):
            yield name


def _frame(small: str) -> list[str]:
    """List the words of content of a text, with the same mark for every value."""
    marked = _FIGURE.sub("0", _WEEKDAY.sub("0", small))
    kept = [word for word in words(marked) if word not in STOP_WORDS]
    return ["0" if word in _SPELLED else word for word in kept]


def _swaps_words(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two statements are the same but for one span, which has words in both.

    >>> _swaps_words("tom works 0".split(), "anna works 0".split())
    True
    """
    start = shared_start(one, other)
    end = min(shared_start(one[::-1], other[::-1]), min(len(one), len(other)) - start)
    if 2 * (start + end) < max(len(one), len(other)):
        return False
    return start + end < min(len(one), len(other))
