"""Read the present state that a statement claims, and the states that it takes back. Pure; English.

A state is one value of one thing: "My bike is in the cellar", "I keep my bike in the cellar". No
attribute needs to be known, because a state is only ever taken back by a statement that names the
same thing and the same value: "I moved my bike from the cellar to the shed", "My bike is in the
shed now, not in the cellar". Everything here is a closed form on purpose: a statement that says
more than a state, or says it of a time, a part, another owner or an indefinite thing, has none. So
it is never taken back, and what it says besides cannot be lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from memento.claims.claim_words import common, vocabulary

LANGUAGE = "en"
"""The language whose statements are read."""
_THING, _VALUE = 5, 4
"""Maximum number of words in a thing and of a value."""


@dataclass(frozen=True, slots=True)
class State:
    """A value of a thing.

    Attributes:
        thing: Its words, the owner first; "lock of my bike" has the words of "my bike lock".
        value: The words of the value, without a preposition and an article.
    """

    thing: tuple[str, ...]
    value: tuple[str, ...]


_PREP = "(?:in|on|at|under|behind|inside|by|with|near|through)"
_KEPT = "(?:kept|stored|parked|located|based|hosted|filed|held|scheduled)"
_ITS = "(?:its|their|his|her|the)"
_MEAL = "(?P<meal>breakfast|lunch|dinner|supper)"
_I = "(?P<i>i|we)"
_MOVED = (
    "(?:moved|switched|changed|transferred|migrated|shifted|postponed|rescheduled|relocated"
    "|converted)"
)
_PASSIVE = "(?:has|have|was|were|has been|have been)"
_REPLACED = "(?:replaced|swapped|exchanged)"
_ENDED = "(?:gave away|gave up|sold|got rid of|dropped|scrapped|left|returned|threw away)"
_ORDER = "(?:show|display|list|print|format|write|quote|give)(?: me)?"

_STATES = tuple(
    re.compile(f"^{form}$")
    for form in (
        "the (?:place|location|spot) (?:of|for) (?P<t>.+?) is (?P<v>.+)",
        f"{_I} (?:keep|store|park|hold|file|host) (?P<t>.+?) {_PREP} (?P<v>.+)",
        f"(?:for|at) {_MEAL}(?: ,)? {_I} (?:have|eat|drink) (?P<v>.+)",
        f"{_I} (?:have|eat|drink) (?P<v>.+?) (?:for|at) {_MEAL}",
        f"(?P<order>{_ORDER}) (?P<t>.+?) in (?P<v>.+)",
        "(?:i|we) use (?P<v>.+?) as (?P<t>.+)",
        f"(?P<t>.+?) uses? (?P<v>.+?) as {_ITS} (?P<role>.+)",
        f"(?P<t>.+?) uses? (?P<v>.+?) for (?:{_ITS} )?(?P<part>.+)",
        "(?P<t>.+?) (?:uses?|runs? on) (?P<v>.+)",
        f"(?P<t>.+?) (?:is|are)(?: {_KEPT})? (?P<v>.+)",
    )
)
"""The forms of a present state, the first that fits. Nothing but a verb of state is in them."""
_MOVES = tuple(
    re.compile(f"^{form}$")
    for form in (
        f"(?:i|we) (?:have )?{_MOVED} (?P<t>.+?) from (?P<o>.+?) (?:over )?to (?P<v>.+)",
        f"(?P<t>.+?) (?:{_PASSIVE} )?{_MOVED} from (?P<o>.+?) (?:over )?to (?P<v>.+)",
        f"(?:i|we) (?:have )?{_REPLACED} (?P<o>.+?) (?:with|by|for) (?P<v>.+?) as (?P<t>.+)",
        "(?P<order>switch|change) from (?P<o>.+?) to (?P<v>.+?) (?:for|in) (?P<t>.+)",
        "(?P<order>switch|change) (?P<t>.+?) from (?P<o>.+?) to (?P<v>.+)",
    )
)
"""The forms of a change that names the thing, the old and the new value."""
_INSTEAD = re.compile(
    r"^(?P<state>.+?)(?: ,)?(?: and)? (?:instead of|rather than|not|no longer) (?P<o>.+)$"
)
_GIVEN_UP = re.compile(rf"^(?:i|we) (?:have )?{_ENDED} (?P<o>.+?) (?:, and|,|and) (?P<state>.+)$")
_DENIED = (
    re.compile(r"^(?P<s>.+? (?:is|are)) (?:no longer|not) (?P<rest>.+)$"),
    re.compile(r"^(?P<s>i|we) (?:no longer|do not) (?P<rest>(?:keep|store|park|hold|host) .+)$"),
)
_DROPPED = re.compile(
    r"\b(?:from now on|these days|at the moment|right now|any ?more|now|nowadays|currently|still"
    r"|already|finally|just|actually)\b"
)
_OPENING = re.compile(r"^(?:please|well|ok|okay|hey|yes|so|and|but|oh|,|today|this morning| )+ ")
_ENDING = re.compile(
    r"(?: (?:yesterday|today|this (?:morning|week|month)|last (?:night|week|month))"
    r"|(?: ,)? because .*)$"
)
_NOT_WHOLE = frozenset(
    """except unless only until till while when whenever during temporarily briefly back again if
    never nearly almost sometimes often usually mostly partly would could should might may must
    cannot can will""".split()  # noqa: SIM905 - words read better as one text
)
"""Words of a statement that takes nothing back, or not for good, or not all of it."""
_NO_NOUN = frozenset(
    """about above across after against ago along among around as at away before below beside
    besides between beyond by down due except far for from in inside into last like near
    next off on onto out outside over past per since than then there through till to toward
    under until up upon via with within without always ever usually often sometimes never
    only just even quite very too so such any each every some few many more most much less
    several other another same half part all both neither either none no not nor or and but
    because if when while where which who whom whose that this these those what how why
    whether be been being was were is are am has have had do does did done will would can
    could may might must shall should let made got gets going my our""".split()  # noqa: SIM905 - words read better as one text
)
"""Words that no thing and no value contains."""
_COUNTED = frozenset(
    """one two three four five six seven eight nine ten dozen pair
    a an""".split()  # noqa: SIM905 - the same
)
"""Words that no definite thing contains."""


def states_of(flat: str) -> tuple[State, ...]:
    """Return the state of a statement that says nothing else, in each form in which it is known.

    Args:
        flat: Words and stops in lower case, a space between each two.

    >>> states_of("my bike is in the cellar .")
    (State(thing=('my', 'bike'), value=('cellar',)),)
    >>> states_of("my bike was in the cellar .")
    ()
    """
    sentences = _sentences(flat)
    return tuple(_stated(sentences[0])) if len(sentences) == 1 else ()


def taken_back(flat: str, *, changes: bool) -> tuple[State, ...]:
    """Return the states that a statement takes back; the words of each are in it.

    Args:
        flat: Words and stops in lower case, a space between each two.
        changes: Whether a word says that something changed; without one "not" is only a denial.

    >>> taken_back("i moved my bike from the cellar to the shed .", changes=True)
    (State(thing=('my', 'bike'), value=('cellar',)),)
    """
    if not _NOT_WHOLE.isdisjoint(flat.split()):
        return ()
    return tuple(one for sentence in _sentences(flat) for one in _taken(sentence, changes=changes))


def _sentences(flat: str) -> list[str]:
    """Cut into sentences without words for the present and words that only begin a sentence."""
    found = []
    for sentence in re.split(r" ?[.;](?: |$)", flat):
        plain = " ".join(_DROPPED.sub(" ", sentence).split())
        plain = _ENDING.sub("", _OPENING.sub("", f"{plain} ").strip(" ,"))
        if plain:
            found.append(plain)
    return found


def _stated(sentence: str) -> Iterator[State]:
    """Yield the state of a sentence; with a role ("as its queue") also without it.

    A value that is used for a part ("for logs") is not a state of the whole thing.
    """
    found = next(filter(None, (form.match(sentence) for form in _STATES)), None)
    if found is None:
        return
    named = found.groupdict()
    value = _value(named["v"])
    thing = _thing_of(named, definite=False)
    if not thing or not value:
        return
    if named.get("part") is None:
        yield State(thing, value)
    words = _noun((named.get("role") or named.get("part") or "").split(), _THING)
    if words:
        yield State((*thing, *words), value)


def _taken(sentence: str, *, changes: bool) -> Iterator[State]:
    moved = next(filter(None, (form.match(sentence) for form in _MOVES)), None)
    if moved is not None:
        yield from _moved(moved.groupdict())
        return
    for form in (_GIVEN_UP, _INSTEAD):
        found = form.match(sentence)
        if found is not None and (changes or form is _GIVEN_UP):
            yield from _replaced(found["state"], found["o"])
    for denied in _DENIED if changes else ():
        found = denied.match(sentence)
        if found is not None:
            yield from _stated(f"{found['s']} {found['rest'].partition(' , ')[0]}")


def _moved(named: dict[str, str | None]) -> Iterator[State]:
    old, new = _value(named["o"] or ""), _value(named["v"] or "")
    thing = _thing_of(named, definite=True)
    if thing and old and new and old != new:
        yield State(thing, old)


def _replaced(sentence: str, old: str) -> Iterator[State]:
    """Yield the state of a sentence with another value."""
    gone = _value(old.partition(" , ")[0])
    for state in list(_stated(sentence))[-1:]:  # with its role, if it names one
        if gone and state.value != gone:
            yield State(state.thing, gone)


def _thing_of(named: dict[str, str | None], *, definite: bool) -> tuple[str, ...]:
    """Return the words of the thing of a form; none if it is not one thing that is known."""
    owner = "our" if named.get("i") == "we" else "my"
    if meal := named.get("meal"):
        return (owner, meal)
    ordered = named.get("order") is not None
    return _thing((named["t"] or "").split(), definite=definite and not ordered)


def _thing(words: Sequence[str], *, definite: bool) -> tuple[str, ...]:
    """Read a thing: "my bike", "the lock of my bike", "Tom's bike"; "prices" if not definite."""
    at = next((i for i, word in enumerate(words) if word in ("of", "for")), None)
    if at is not None:
        whole = _thing(words[at + 1 :], definite=False)
        part = _noun(words[1:at], _THING) if words[0] == "the" else ()
        return (*whole, *part) if whole and part and "of" not in whole else ()
    owner = [words[0]] if words and words[0] in ("my", "our") else []
    has_article = bool(words) and words[0] == "the"
    rest = words[1:] if owner or has_article else words
    found = _noun(rest, _THING)
    known = bool(owner) or has_article or not definite or (found and found[0].endswith("'s"))
    return (*owner, *found) if found and known else ()


def _noun(words: Sequence[str], most: int) -> tuple[str, ...]:
    """Return words that can be a thing; none if one of them cannot."""
    stops = _no_noun() | _COUNTED
    fits = 0 < len(words) <= most and stops.isdisjoint(words) and "," not in words
    return tuple(words) if fits else ()


def _value(text: str) -> tuple[str, ...]:
    """Read a value without its preposition and articles; none if it says more."""
    words = re.sub(f"^{_PREP} ", "", text.strip(" ,")).split()
    kept = [word for word in words if word not in ("the", "a", "an")]
    if words[:1] in (["my"], ["our"]):
        kept = kept[1:]
    times = {i for i in range(1, len(kept) - 1) if kept[i] == "at" and kept[i + 1][0].isdigit()}
    plain = [word for i, word in enumerate(kept) if i not in times]
    fits = 0 < len(plain) <= _VALUE and _no_noun().isdisjoint(plain) and "," not in plain
    return tuple(plain) if fits else ()


@cache
def _no_noun() -> frozenset[str]:
    sets = vocabulary(LANGUAGE).words
    names = ("pronouns", "negation", "conjunctions", "also", "self", "auxiliaries", "fillers")
    return _NO_NOUN.union(*(sets[name] for name in names)) - common().counts
