"""Which slot a statement fills, and with which value; most fill none. Pure but for ``told``.

Tried in this order: the forms of ``slots.toml`` ("my name is ..."), the sets of ``choices.toml``
("use uv, not pip"), what the reader tells about the speaker (``personal``), where the caller has
asked it, then "my X is Y" for things of which people have one. Matters with several values at a
time, such as allergies or languages spoken, have no slot. No slot is better than a wrong one, which
would hide what still holds.
"""

from __future__ import annotations

import logging
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from memento.errors import EmbedderError
from memento.observe.language import ENGLISH, recognise
from memento.observe.nouns import KIN, OCCUPATIONS, OURS, PLACES, POSSESSIONS, TONGUES
from memento.observe.personal import HEARD_AT, SLOTS, SURE_AT, Personal, is_told
from memento.observe.signals import Signal
from memento.observe.wording import condition_of, labelled, without_condition, without_lead

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Slot:
    """The slot that a statement fills.

    Attributes:
        key: Its name, such as ``user/editor`` or ``style/emoji@commit-messages``.
        value: The value, folded: two statements with equal values say the same.
        single: Whether the slot certainly has one value at a time, so that another one replaces it.
        told: Whether the reader told it, and no form: it takes the slot and supersedes nothing.
    """

    key: str
    value: str
    single: bool
    told: bool = field(default=False, repr=False)


_CAPITAL = r"(?-i:[^\W\d_a-z][\w'-]*)"
_PATTERNS = {
    "NAME": rf"{_CAPITAL}(?: {_CAPITAL}){{0,2}}",
    "CITY": rf"(?:(?:st|mt|ft)\. )?{_CAPITAL}(?: {_CAPITAL}){{0,2}}",
    "PLACE": r"(?!(?:fear|hope|peace|denial|the (?:past|moment|future|now))\b)"
    r"(?:(?:st|mt|ft)\. )?[\w' -]{2,50}",
    "THING": r"(?:the )?(?-i:[A-Z0-9][\w&.'-]*)(?: (?-i:[A-Z0-9&])[\w&.'-]*){0,3}",
    "TONGUE": rf"(?:(?:british|american|simple|plain) )?(?:{'|'.join(TONGUES)})\b",
    "OCCUPATION": rf"(?:[\w-]+ ){{0,3}}(?:{'|'.join(OCCUPATIONS)})\b(?! (?:of|myself))",
}
_PLACEHOLDER = re.compile("|".join(_PATTERNS))
_DEMONYM = re.compile(r"(?:ian|ish|ese|ean|ch|man|ss)$")
_TYPED = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "\u00a0": " "})  # noqa: RUF001 - real quotation marks


def slot_of(text: str, signal: Signal, facts: Sequence[Personal] = ()) -> Slot | None:
    """Return the slot that a statement fills, or None if it fills none or that is in doubt.

    Args:
        text: One statement, as said.
        signal: Its class.
        facts: What the reader tells about its speaker, the surest first.

    >>> slot_of("Please use tabs.", Signal.RULE)
    Slot(key='style/indent', value='tabs', single=True)
    >>> slot_of("I'm allergic to nuts.", Signal.FACT) is None
    True
    """
    return next(_slots_of(text, (signal,), facts), None)


_ILLNESS = re.compile(
    r"\ball?[eé]rg|\bintol[eé]r|\bc(?:o?|œ)eliac|\bcelíac|\bcœliaque|\bzöliak|\bdiab[eéè]t",
    re.IGNORECASE,
)


def names_illness(text: str) -> bool:
    """Return whether a statement says what somebody must never eat, beside whatever else it says.

    It is no diet, which a later one ends.

    >>> names_illness("I'm vegan and allergic to nuts"), names_illness("I'm vegan")
    (True, False)
    """
    return _ILLNESS.search(text) is not None


def _slots_of(
    text: str, signals: Iterable[Signal], facts: Sequence[Personal] = ()
) -> Iterator[Slot]:
    plain = labelled(without_lead(text.translate(_TYPED)).strip())
    plain = _FROM_NOW_ON.sub("", plain.rstrip(".!;: ")).rstrip(".!;:, ")
    if "?" in plain or _HEARSAY.search(plain):
        if (found := _of_person(plain, facts)) is not None and _STATING.intersection(signals):
            yield found
        return
    body = without_condition(plain)
    near, formed = _near(body), _any_form().match(body) is not None
    for signal in signals:
        if signal in _FILLING:
            found = (_of_form(body, signal) if formed else None) or _of_choice(near, body, signal)
            if found is None and signal in _STATING:
                named = _of_thing(body) if _OTHER_LABEL.match(body) else None
                found = named or _of_person(body, facts) or _of_thing(body)
            if found is not None and not (found.key == "user/diet" and names_illness(plain)):
                yield _qualified(found, plain)


def slot_under(
    text: str, signal: Signal, condition: str | None, facts: Sequence[Personal] = ()
) -> Slot | None:
    """Return the slot of a statement under a condition that it may not contain itself.

    The key includes the condition, so a rule under one replaces neither a rule that always holds
    nor one under another condition.

    >>> slot_under("Use tabs", Signal.RULE, "when I write Go").key
    'style/indent@when-i-write-go'
    """
    return next(slots_under(text, (signal,), condition, facts), None)


def slots_under(
    text: str,
    signals: Iterable[Signal],
    condition: str | None,
    facts: Sequence[Personal] = (),
) -> Iterator[Slot]:
    """Yield the slots of a statement that may be of several classes, in the order of these."""
    for slot in _slots_of(text, signals, facts):
        if condition is None or condition_of(text) is not None:
            yield slot
        else:
            yield replace(slot, key=f"{slot.key}@{slug(condition)}")


def told(text: str) -> tuple[Personal, ...]:
    """Return what a statement settles about its speaker, the surest first.

    At most one value of each slot, and at most one end; nothing in other languages than English,
    or if the reader does not work, see ``missing``.
    """
    if recognise(text) != ENGLISH:
        return ()
    from memento.observe.slot_reader import SlotReader  # noqa: PLC0415 - importing loads numpy

    try:
        found = SlotReader.load().read(text)
    except EmbedderError as error:
        if _MISSING.get("slots") != str(error):
            log.warning("what a statement settles about the user is not read: %s", error)
        _MISSING["slots"] = str(error)
        return ()
    _MISSING.clear()
    return found


_MISSING: dict[str, str] = {}
"""Of this process, as the files of the reader are."""


def missing() -> Mapping[str, str]:
    """Return ``slots`` with the reason, if the reader could not read the last statement."""
    return dict(_MISSING)


def may_tell(text: str, key: str) -> bool:
    """Return whether a statement may be about what fills a slot of its speaker.

    Of the slots that the reader knows, it must have heard of this one: "Ann isn't vegan anymore"
    says nothing of the user. In other languages, and of other slots, nothing tells.
    """
    prefix, _, slot = key.partition("/")
    if prefix != "user" or slot not in SLOTS or recognise(text) != ENGLISH:
        return True
    return any(one.slot == slot and one.probability >= HEARD_AT for one in told(text))


_SEVERAL = frozenset({"diet", "language"})
"""Slots of which a person may have several values, whatever the reader is sure of."""


def _of_person(plain: str, facts: Sequence[Personal]) -> Slot | None:
    """Return the slot that the reader is surest of; in doubt the value takes it from no other."""
    one = next((one for one in facts if not one.ended and is_told(one)), None)
    if one is None:
        return None
    key, (_, _, rest) = f"user/{one.slot}", plain.partition(one.words)
    test = _HEARD.get(key) or _SANE.get(key)
    sane = test is None or test(one.words, plain)
    sure = one.probability >= SURE_AT and sane and not _OF_ANOTHER.match(rest)
    value = " ".join(one.words.casefold().split())
    return Slot(key, value, single=sure and one.slot not in _SEVERAL, told=True)


_FROM_NOW_ON = re.compile(
    r"(?:from now on|going forward|in future|in the future),?\s+"
    r"|(?<!\s)\s++(?:instead|please|from now on|now)$",
    re.IGNORECASE,
)
_FILLING = frozenset(Signal) - {Signal.FEEDBACK, Signal.FORGET, Signal.TODO, Signal.PROCEDURE}
_HEARSAY = re.compile(r"\b(?:used to|would|if i|might|maybe|perhaps|wish|could)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Form:
    key: str
    signals: frozenset[Signal]
    patterns: tuple[str, ...]


@cache
def _forms() -> tuple[_Form, ...]:
    return tuple(
        _Form(
            one["key"],
            frozenset(Signal(name) for name in one["signals"]),
            tuple(map(_filled, one["forms"])),
        )
        for one in _table("slots.toml")["slot"]
    )


@cache
def _any_form() -> re.Pattern[str]:
    """Return a pattern that matches what any form matches: most statements have none."""
    forms = "|".join(f"(?:{one})" for form in _forms() for one in form.patterns)
    return re.compile(re.sub(r"\(\?P<\w+>", "(?:", forms), re.IGNORECASE)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _table(name: str) -> Mapping[str, Any]:
    return tomllib.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))


def _filled(form: str) -> str:
    return _PLACEHOLDER.sub(lambda match: _PATTERNS[match[0]], form)


def _of_form(plain: str, signal: Signal) -> Slot | None:
    for form in _forms():
        if signal not in form.signals:
            continue
        for pattern in form.patterns:
            match = _compiled(pattern).match(plain)
            if match is not None and _is_sane(form.key, match, plain):
                return Slot(form.key, _value_in(form.key, plain, match["value"]), single=True)
    return None


_PLACE_NAME = re.compile(
    rf"(?:the |downtown |central |greater |(?:north|south|east|west)(?:ern)? |near )?"
    rf"(?:\d{{1,6}}\w? )?{_CAPITAL}",
    re.IGNORECASE,
)
"""The beginning of the name of a place, or of an address: "I live in jeans" gives none."""
_LOWER_PLACE = re.compile(
    r"(?!(?:an?|the|my|our|this|that|these)\b)[\w'-]{1,40}(?: [\w'-]{1,40}){0,2}$"
)
"""A place in a statement of somebody who writes no capitals."""
_NO_PLACE = re.compile(
    r"(?:team|department|group|squad|marketing|sales|finance|engineering|legal|support|operations"
    r"|product|design|research|hr|it|qa|devops|procurement|logistics|accounting)\b",
    re.IGNORECASE,
)
"""Parts of a firm, to which people move as well."""
_NUMBER = re.compile(r"\d+(?:[:.]\d+)*\s*(?:[ap]m|h)?", re.IGNORECASE)
"""A count or a clock time: "I work at 7", "I work for 3 teams"."""
_FROM = re.compile(r"\bwork(?:ing|s|ed)?\s+from\s+(?:the\s+)?$", re.IGNORECASE)
_MOVED = re.compile(r"\b(?:moved|am moving) (?:from [\w' ]+ )?to\b", re.IGNORECASE)
_DWELLS = re.compile(
    r"\b(?:live|living|rent(?:ing)?|relocat\w+|home|house|flat|apartment|room in|city|town"
    r"|village|suburbs?|neighbou?rhood|street|address|country|abroad"
    r"|with my (?:family|partner|wife|husband|kids))\b"
    r"|\w(?:street|road|avenue|lane|stra(?:ße|sse|at)|gata|gade)\b|\b(?:st|ave|rd|rue|via|calle)\b",
    re.IGNORECASE,
)
"""Words that show that people live in the place they moved to."""
_FOR_NOW = re.compile(
    r"\b(?:today|tonight|tomorrow|sometimes|often"
    r"|this (?:week|morning|afternoon|evening|summer|month)"
    r"|on (?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:the )?weekends?)"
    r"|in (?:an?|the) (?:game|book|film|movie|play|story|novel))\b",
    re.IGNORECASE,
)
"""What holds for a time, or in a story, is nobody's job or employer."""
_OF_ANOTHER = re.compile(r"[.,;]? (?:he|she|they)\b", re.IGNORECASE)
"""The sentence goes on with somebody else: the value may be theirs."""
_NO_JOB = re.compile(
    r"(?:team|group|couple|pair|duo|unit|family|favou?r|result|rule|volunteer)\b", re.IGNORECASE
)


def _is_sane(key: str, match: re.Match[str], plain: str) -> bool:
    """Return whether a value is plausible for its slot; "I'm German" gives no name."""
    value = match["value"]
    if key.startswith("user/") and _OF_ANOTHER.match(plain, match.end()):
        return False
    test = _SANE.get(key)
    return test is None or test(value, plain)


def _is_persons(value: str) -> bool:
    known = value.casefold() in (*TONGUES, *KIN)
    return (
        not _DEMONYM.search(value)
        and not known
        and not _DATE.match(value)
        and not _HOW.match(value)
    )


def _is_home(value: str, plain: str) -> bool:
    """Return whether a value is a home; after "moved to" alone, it must be a known place."""
    if _MOVED.search(plain) and not _DWELLS.search(plain):
        return value.casefold() in PLACES
    return _is_place(value, plain)


def _is_place(value: str, plain: str) -> bool:
    """Return whether a value has the form of a place's name."""
    place = _PLACE_NAME if plain != plain.casefold() else _LOWER_PLACE
    named = place.match(value) and not _NO_PLACE.match(value)
    return bool(named) and not is_choice(value) and not _DATE.match(value)


def _is_employer(value: str, plain: str) -> bool:
    """Return whether a value is a firm, and not an hour, a number or where somebody works from."""
    before, _, _ = plain.partition(value)
    return not (_NUMBER.fullmatch(value) or _FOR_NOW.search(plain) or _FROM.search(before))


def _is_job(value: str, plain: str) -> bool:
    return not _NO_JOB.match(value) and not _FOR_NOW.search(plain)


_MONTHS = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may"
    r"|june?|july?|aug(?:ust)?|sep(?:t|tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_DATE = re.compile(
    rf"(?:next |this )*(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|{_MONTHS}|today|tomorrow"
    r"|tonight)\b",
    re.IGNORECASE,
)
_DAY_OF_YEAR = re.compile(
    rf"(?:the )?(?:\d{{1,2}}(?:st|nd|rd|th)?\.?(?: of)? [^\W\d_]{{3,}}|(?:{_MONTHS})\b.*\d"
    r"|\d{1,4}[-/.]\d{1,2}(?:[-/.]\d{1,4})?(?![.\d]))",
    re.IGNORECASE,
)
"""A day that comes every year: "3 May", "24/12", not "tomorrow"."""
_HOW = re.compile(
    r"(?:now|not|no|the|an?|in|on|at|always|never|too|very|so|yours|mine|wrong|right|late|early"
    r"|crazy|mad|home|back|here|there|when|if|as|later|maybe|[a-z]{2,}(?:ed|ing|ful|less|ous|able))\b",
    re.IGNORECASE,
)
"""The beginning of a description, which names nothing."""


_SANE: Mapping[str, Callable[[str, str], bool]] = {
    "user/name": lambda value, _: _is_persons(value),
    "user/home": _is_home,
    "user/job": _is_job,
    "user/employer": _is_employer,
    "user/birthday": lambda value, _: _DAY_OF_YEAR.match(value) is not None,
    "user/timezone": lambda value, _: not _HOW.match(value),
}
"""Slots whose forms also match wrong values, to the check of a value."""


def _is_heard_home(value: str, plain: str) -> bool:
    """Return whether a value that the reader takes for a home is one; "Lane 2" is none."""
    numbered = _MOVED.search(plain) and not _DWELLS.search(plain) and re.search(r"\d", value)
    return not numbered and _is_place(value, plain)


_HEARD: Mapping[str, Callable[[str, str], bool]] = {"user/home": _is_heard_home}
"""The same for a value that the reader hears: it knows "moved to Ulm" from "moved to Slack"."""


def _value_in(key: str, plain: str, value: str) -> str:
    if key == "style/emoji":
        return "no" if _AGAINST.search(plain) else "yes"
    return " ".join(value.casefold().split())


_AGAINST = re.compile(
    r"\b(?:no|not|never|don't|stop|without|avoid|skip|drop|leave out|less|fewer|kein\w*|nie|niemals"
    r"|ohne|jamais|pas|sans|nunca|jamás|mai|senza|sem|nooit|geen|zonder)\b|不|别|勿",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """A set of values that exclude each other; see ``choices.toml``."""

    key: str
    pattern: re.Pattern[str]
    names: Mapping[str, str]
    doubtful: frozenset[str]
    cue: re.Pattern[str] | None
    about: re.Pattern[str] | None


@cache
def _choices() -> tuple[_Choice, ...]:
    return tuple(_choice(one) for one in _table("choices.toml")["set"])


@cache
def _by_word() -> Mapping[str, list[_Choice]]:
    """Return for each word the sets with a name that begins with it."""
    found: dict[str, list[_Choice]] = {}
    for one in _choices():
        for word in {_WORD.findall(name)[0] for name in one.names}:
            found.setdefault(word, []).append(one)
    return found


def _near(plain: str) -> list[_Choice]:
    """Return the sets of which a statement may name a value."""
    words, known = {*_WORD.findall(plain.casefold())}, _by_word()
    found = {one.key: one for word in words if word in known for one in known[word]}
    return [] if found and _BESIDE.search(plain) else [*found.values()]


def _choice(one: Mapping[str, Any]) -> _Choice:
    names: dict[str, str] = {}
    doubtful = set()
    for line in one["members"]:
        name, _, others = line.removeprefix("?").partition(" = ")
        names |= dict.fromkeys([name, *filter(None, others.split(", "))], name)
        if line.startswith("?"):
            doubtful.add(name)
    longest = sorted(names, key=len, reverse=True)
    spelt = "|".join(re.escape(name) for name in longest)
    return _Choice(
        one["key"],
        re.compile(rf"(?<![\w-])(?:{spelt})(?![\w-])", re.IGNORECASE),
        names,
        frozenset(doubtful),
        _any_of(one.get("cue", ())),
        _any_of(one.get("about", ())),
    )


def _any_of(words: list[str]) -> re.Pattern[str] | None:
    spelt = "|".join(re.escape(word) for word in words)
    return re.compile(rf"\b(?:{spelt})\b", re.IGNORECASE) if words else None


_WORD = re.compile(r"\w+")
_BESIDE = re.compile(
    r"\b(?:also|too|as well|sometimes|both)\b"
    r"|^(?:please )?use \S+(?: \S+){0,2}? (?:to|and) (?!be\b)[a-z]+\b",
    re.IGNORECASE,
)
"""Words for a value beside others, or for one task: "We also use npm", "Use npm to install it"."""
_REFUSED = re.compile(
    r"(?:\b(?:instead of|rather than|in lieu of|over|than|from|off|no|no more|without|avoid"
    r"|stop(?:ped)?|away from|left|leav(?:e|ing)|quit|ditch(?:ed|ing)?|dropp?(?:ed|ing)?"
    r"|replac(?:e|ed|ing)|hates?|dislike|unlike)"
    r"(?: (?:using|use|like|want|need|prefer|have|on|the|a|our|my|any|ever|write|in|with))*"
    r"|(?:\b(?:not|never|against|no longer)|n't)"
    r"(?: (?:us(?:e|ing)|like|want|need|prefer|have|on|the|a|our|my|any|ever|write|in|with|to|over"
    r"|back|from \S+|be|been|going|planning|really|switch(?:ing|ed)?|migrat(?:e|ing|ed)"
    r"|mov(?:e|ing|ed)|chang(?:e|ing|ed)|run(?:ning)?|adopt(?:ing|ed)?|go|gone|deploy(?:ing|ed)?)"
    r")*)\s+$",
    re.IGNORECASE,
)
"""Words before a value that the statement is against: a negation covers the verb of its clause."""
_DOING = re.compile(
    r"(?<![\w'-])(?P<governor>[\w'-]{1,40}) (?:us|switch|migrat|mov|runn|adopt|go|chang|stick)ing\b"
    r"(?:(?! (?:and|but|so|because) )[^,;:]){0,60}$",
    re.IGNORECASE,
)
"""A verb that ends in -ing and reaches up to a value, and the word that governs it."""
_DONE = re.compile(
    r".*'(?:m|re|ve|s)|am|is|are|was|were|be|been|keep|kept|start(?:ed)?|began|begun|continued?"
    r"|finish(?:ed)?|completed|done|up|after|since|by|and|prefer(?:red)?|likes?|loves?|enjoy"
    r"|recommend|to|on|not?|never|now|just|already|still|also|always|only|please|back|\w+ly",
    re.IGNORECASE,
)
"""What governs such a verb if it is done: "we are moving to", not "we considered moving to"."""
_USE = re.compile(
    r"\b(?:us(?:e|es|ed|ing)|switch(?:ed|ing)?|migrat(?:e|ed|ing)|mov(?:e|ed|ing) to|runs?|running"
    r"|deploy(?:ed|s)? (?:on|to)|hosted on|built with|written in|go with|went with|chose|decided on"
    r"|settled on|stick(?:ing)? (?:with|to)|adopt(?:ed|ing)?)\b",
    re.IGNORECASE,
)
_LIKING = re.compile(
    r"\b(?:prefer|like|want|rather(?: have)?|favou?rite|is|are|it's|keep|be|answer|write|format"
    r"|indent|give me|love it|always|'m|am)\b",
    re.IGNORECASE,
)
_CHANGES = re.compile(r"\b(?:switch|migrat|mov(?:e|ed|ing) (?:from|to|over))", re.IGNORECASE)
_MINE = re.compile(r"(?:i|i'm|i've|i'd|for me|on \w+,? i|at \w+,? i)\b", re.IGNORECASE)
_MY_TOOL = re.compile(
    r"my (?:new |main |favou?rite |default |preferred |usual |current )*(?:text |code |operating )?"
    r"(?:editor|ide|shell|os|system|browser|terminal|keyboard|layout|theme|diet|phone|coffee|laptop"
    r"|computer|machine|desktop|seat)\b",
    re.IGNORECASE,
)
_OURS = re.compile(
    r"(?:we|we're|we've|we'll|our|let's"
    r"|the (?:team|project|company|app|backend|frontend|service|repo)"
    r"|this (?:project|repo|app)|everything|it's)\b",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"(?:(?:please|always|only|just|never|do not|don't|stop|you (?:should|must)|i want you to"
    r"|make sure (?:to|you)|that was wrong,?|no,?|you can) )*"
    r"(?:use|using|prefer|stick (?:with|to)|stay with|go with|write|answer|reply|respond|keep"
    r"|format|switch to|give|be|install|indent|merge|convert|show|no|call|address|spell)\b",
    re.IGNORECASE,
)


def _of_choice(near: Sequence[_Choice], plain: str, signal: Signal) -> Slot | None:
    """Return the slot of the one set from which a statement chooses a value."""
    found = [slot for one in near if (slot := _chosen(one, plain, signal)) is not None]
    return found[0] if len(found) == 1 else None


def _chosen(one: _Choice, plain: str, signal: Signal) -> Slot | None:
    found = _taken(one, plain)
    if found is None or signal is Signal.RELATION:
        return None
    if signal in (Signal.DECISION, Signal.PLAN) and not _CHANGES.search(plain):
        return None
    return found


@lru_cache(maxsize=64)  # the same for each class that a statement may be of
def _taken(one: _Choice, plain: str) -> Slot | None:
    """Return the slot of a set if a statement takes one of its values."""
    named = {m: one.names.get(m[0].casefold(), "") for m in one.pattern.finditer(plain)}
    is_about = one.about is None or one.about.search(plain)
    # "VİM" matches regardless of case, but is not among the names
    if not named or "" in named.values() or not is_about or not _speaks(one, plain):
        return None
    taken = {name for match, name in named.items() if not _is_refused(plain, match)}
    if len(taken) != 1:
        return None
    (value,) = taken
    several = len({*named.values()}) > 1
    used = _USE.search(plain) is not None
    if value in one.doubtful and not (several or used or (one.cue and one.cue.search(plain))):
        return None
    if not (used or several or _LIKING.search(plain)):
        return None
    return Slot(one.key, value, single=True)


_NEAR = 60
"""Maximum number of characters between a value and a verb that has to do with it."""


def _is_refused(plain: str, match: re.Match[str]) -> bool:
    """Return whether a statement is against one of the values it names, or only considers it."""
    if _REFUSED.search(plain, max(0, match.start() - _NEAR), match.start()):
        return True
    doing = _DOING.search(plain[max(0, match.start() - _NEAR) : match.start()])
    return doing is not None and not _DONE.fullmatch(doing["governor"])


def _speaks(one: _Choice, plain: str) -> bool:
    """Return whether the user speaks for the owner of the slot: themselves or the project."""
    mine = _MINE.match(plain) is not None or _MY_TOOL.match(plain) is not None
    if one.key.startswith("user/"):
        return mine
    asked = _ORDER.match(plain) is not None
    if one.key.startswith("style/"):
        return asked or mine or _OURS.match(plain) is not None
    return (
        asked or _OURS.match(plain) is not None or bool(_MINE.match(plain) and _USE.search(plain))
    )


def is_choice(value: str) -> bool:
    """Return whether a value is one of some set: "moved to Postgres" names no place.

    >>> is_choice("Postgres"), is_choice("Porto")
    (True, False)
    """
    return any(one.pattern.fullmatch(value.strip()) for one in _choices())


_KIN = "|".join(KIN)
_OF_KIN = re.compile(rf"my (?:\w+ )?(?P<noun>{_KIN})(?![\w-]|'s (?!name))", re.IGNORECASE)
_IS_KIN = re.compile(
    rf"(?<!\w){_CAPITAL}(?: {_CAPITAL})? is (?:now )?my (?:new )?(?P<noun>{_KIN})\b(?!'s)",
    re.IGNORECASE,
)
_ANY_KIN = re.compile(rf"\b(?:{_KIN})\b", re.IGNORECASE)
_FAVOURITE = re.compile(
    r"my (?:all-time )?favou?rite (?P<noun>[a-z][\w-]*(?: [a-z][\w-]*)?) (?:is|are)\b",
    re.IGNORECASE,
)
_IS = r"(?:is|are|'s|was)\b"
_MY_THING = re.compile(
    rf"my (?:new |current |own )?(?P<noun>{'|'.join(POSSESSIONS)}) {_IS}", re.IGNORECASE
)
_OUR_THING = re.compile(
    rf"(?:our|the project's) (?:new |current )?(?P<noun>{'|'.join(OURS)}) {_IS}", re.IGNORECASE
)
_OF_PROJECT = re.compile(
    rf"the (?P<noun>{'|'.join(OURS)}) (?:for|of) (?:this|the|our) project {_IS}", re.IGNORECASE
)
_STATING = frozenset(
    {Signal.FACT, Signal.IDENTITY, Signal.RELATION, Signal.PREFERENCE, Signal.CORRECTION}
)


@lru_cache(maxsize=64)  # the same for each class that a statement may be of
def _of_thing(plain: str) -> Slot | None:
    """Read "my X is Y" and its like; the value is what follows."""
    for prefix, pattern in (
        ("user", _IS_KIN),
        ("user", _OF_KIN),
        ("user/favourite", _FAVOURITE),
        ("user", _MY_THING),
        ("project", _OUR_THING),
        ("project", _OF_PROJECT),
    ):
        match = pattern.match(plain)
        if match is not None and len(set(_ANY_KIN.findall(plain.casefold()))) <= 1:
            rest = f"{plain[: match.start('noun')]}{plain[match.end() :]}"
            return Slot(f"{prefix}/{slug(match['noun'])}", _folded(rest), single=False)
    return None


def _folded(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def slug(text: str) -> str:
    """Spell some words as a part of a key.

    >>> slug("Commit  messages")
    'commit-messages'
    """
    return "-".join(re.findall(r"[\w.+#]+", text.casefold()))[:60].strip(".-")


_QUALIFIER = re.compile(
    r"\b(?:in|inside|within|for|on)\s+(?:the |my |our |your |all |any |every )?"
    r"(?P<what>[\w.+#'-]+(?: [\w.+#'-]+){0,2}?)(?=$|[,;]| (?:please|and|but|with|when)\b)",
    re.IGNORECASE,
)
_PLACE_OF_USE = re.compile(
    r"\bat (?P<what>work|home|school|the office|university)\b", re.IGNORECASE
)
_NO_QUALIFIER = re.compile(
    r"(?:this|that|it|me|us|here|now|general|future|answers?|repl(?:y|ies)|responses?|chats?"
    r"|everything|everywhere|tests? again|once|all|default|conversation|this .*|case|fact|favou?r"
    r"|mind|(?:the )?rest.*|life|(?:.* )?(?:years?|months?|weeks?|days?|ages|while)|work"
    r"|example|january|february|march|april|may|june|july|august|september|october|november|december|monday|tuesday|wednesday|thursday"
    r"|friday|saturday|sunday|\d+.*)",
    re.IGNORECASE,
)


def _qualified(slot: Slot, plain: str) -> Slot:
    """Add to a slot what limits it: a condition, "in commit messages", "at work"."""
    named = [*_limits(slot, plain)]
    return replace(slot, key=f"{slot.key}@{named[0]}") if named else slot


def _limits(slot: Slot, plain: str) -> Iterator[str]:
    noun = slot.key.partition("/")[2] if slot.key.startswith("user/") else None
    if noun in _LABELLED and (label := _OTHER_LABEL.match(plain)):
        yield slug(label["which"])
    if noun in _BY_PLACE and (place := _PLACE_OF_USE.search(plain)):
        yield slug(place["what"].removeprefix("the "))
    if noun is None and (condition := condition_of(plain)):
        yield slug(condition)
    if slot.key == "style/length" or not slot.single or noun not in {None, *_BY_PLACE}:
        return
    for match in _QUALIFIER.finditer(plain):
        what = slug(match["what"])
        named = _NO_QUALIFIER.fullmatch(match["what"]) or is_choice(match["what"])
        if not named and what not in TONGUES and what != slug(slot.value):
            yield what


_BY_PLACE = frozenset({"editor", "shell", "os", "browser", "terminal", "keyboard", "theme"})
"""Slots of which people may have one value at work and another at home."""
_LABELLED = frozenset({"name", "phone", "email"})
_OTHER_LABEL = re.compile(
    r"my (?!(?:first|full|real|new|current|own|proper|given|phone|mobile|cell|telephone|e-?mail"
    r"|personal|private|main|direct)\b)(?P<which>[\w-]+)"
    r" (?:(?:phone|mobile|cell|telephone|e-?mail) )?(?:name|number|address|e-?mail|phone|mobile)"
    r"(?: number| address)?(?: is|'s)\b",
    re.IGNORECASE,
)
"""A name, number or address beside the usual one: "my work number is"."""
