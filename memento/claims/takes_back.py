"""Return whether one statement takes back all that another one says, and for good. Pure.

Only then may it supersede without asking, because a superseded memory is no longer shown. A list of
words that forbid it would never be complete, so it is the other way round: every word of both must
be accounted for. It belongs to the thing, to the old or the new value, or to the words of a change
in its language. "My office is in Turku now, not in Ghent" is such a statement; what is left over
of "My office is in Turku tonight, Tom says, not just in Ghent" forbids it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache

from memento.claims.claim_words import Vocabulary, common, vocabulary

_STOPS = frozenset({",", ".", ";", "="})
_ENDS = frozenset({".", ";"})
_WORD = re.compile(r"[^\W\d_]+")
_JOINED = "-"
_PLACES = frozenset({"in", "at", "on", "near", "with", "around", "about"})
"""Prepositions of a value that is no person."""
_LISTS = ("self", "owner", "determiners", "of", "preps", "auxiliaries", "copulas", "negation")
"""Lists of words that may stand in any change."""


def takes_all_back(
    new: Sequence[str], old: Sequence[str], language: str, told: Iterable[str]
) -> bool:
    """Return whether a later statement says nothing but a change, and an earlier one nothing else.

    Args:
        new: Words and stops of the later statement, in lower case.
        old: Those of the earlier one.
        language: Of both, ISO 639-1 code.
        told: Words of the thing, of the old value and of the new one.
    """
    tongue = vocabulary(language)
    reasons = tongue.words["reason"]
    if tongue.passing.search(" ".join(new)) or not reasons.isdisjoint(old):
        return False
    if _owners(new, tongue) ^ _owners(old, tongue) == {"mine", "shared"}:
        return False
    ours = frozenset(word for one in told for word in one.split(_JOINED))
    opens = tongue.words["fillers"] | _STOPS
    spoken = _from_first(new, opens)
    if not _ENDS.isdisjoint(spoken[:-1]):
        return False
    if not tongue.spaced:
        return True
    left = _left(_without_reason(spoken, tongue), ours | _of_change(language))
    rest = [word for word in _left(old, ours | _of_state(language)) if word not in opens]
    return not left and not rest


def is_value(
    value: Sequence[str], before: Sequence[str], spoken: Sequence[str], names: Collection[str]
) -> bool:
    """Return whether the words of a new value are one value: one word, or a name said in one piece.

    Args:
        value: Words of the new value.
        before: Words of the old value; the new one may have the same.
        spoken: Words and stops of the statement, in lower case.
        names: Those of them that have a capital letter or a digit.

    >>> is_value(["50", "euros"], ["40", "euros"], "it costs 50 euros".split(), {"50"})
    True
    >>> is_value(["nats", "partially"], ["kafka"], "it uses nats partially".split(), {"nats"})
    False
    """
    days, kinds = common().counts, vocabulary("en").nouns
    if not days.isdisjoint(value) and days.isdisjoint(before):
        return False
    named = (word in names or word in before or word in days or word in kinds for word in value)
    return len(value) == 1 or (_in_one_piece(value, spoken) and all(named))


def _in_one_piece(value: Sequence[str], spoken: Sequence[str]) -> bool:
    """Return whether nothing stands between the words of a value, but "at" before a time."""
    kept = [
        word
        for word, after in zip(spoken, [*spoken[1:], "."], strict=True)
        if word != "at" or not after[0].isdigit()
    ]
    many = len(value)
    return any(kept[at : at + many] == list(value) for at in range(len(kept) - many + 1))


def instead(spoken: Sequence[str], names: Collection[str]) -> list[str]:
    """Return the name after "but" at the end: "I no longer live in Riga but in Basel"."""
    if "but" not in spoken:
        return []
    after = [word for word in spoken[spoken.index("but") + 1 :] if word not in _STOPS]
    told = after[1:] if after and after[0] in vocabulary("en").words["preps"] else after
    return told if all(word in names for word in told) else []


def is_placed(value: Sequence[str], spoken: Sequence[str]) -> bool:
    """Return whether a value is a place and no person: "my boss is in Ghent now"."""
    at = spoken.index(value[0]) if value and value[0] in spoken else 0
    before = [word for word in spoken[:at] if word not in ("the", "a", "an", "my", "our")]
    return bool(before) and before[-1] in _PLACES


def _owners(spoken: Sequence[str], tongue: Vocabulary) -> set[str]:
    """Return whether a statement speaks of what is mine, ours, or of both."""
    return {name for name in ("mine", "shared") if not tongue.words[name].isdisjoint(spoken)}


def _from_first(spoken: Sequence[str], opens: Collection[str]) -> Sequence[str]:
    """Leave out the words that only begin a statement."""
    first = next((at for at, word in enumerate(spoken) if word not in opens), len(spoken))
    return spoken[first:]


def _without_reason(spoken: Sequence[str], tongue: Vocabulary) -> Sequence[str]:
    """Leave out why something changed: the last clause."""
    at = next((i for i, word in enumerate(spoken) if word in tongue.words["reason"]), len(spoken))
    return spoken[:at]


def _left(spoken: Iterable[str], known: Collection[str]) -> list[str]:
    return [
        word
        for word in spoken
        if word not in _STOPS
        and word not in known
        and not all(part.removesuffix("'s") in known for part in word.split(_JOINED))
    ]


@cache
def _of_state(language: str) -> frozenset[str]:
    """Return the words in which a language says that something is so."""
    tongue = vocabulary(language)
    phrases = [*tongue.verbs, *tongue.words["heads"]]
    phrases += [one.pattern for one in (*tongue.patterns["as"], *tongue.patterns["headed"])]
    words = frozenset(_WORD.findall(" ".join(phrases)))
    lists = [tongue.words[name] for name in _LISTS]
    return (words.union(*lists) - tongue.words["negation"]) | {"'s", "living"}


@cache
def _of_change(language: str) -> frozenset[str]:
    """Return the words in which a language says that something changed."""
    tongue = vocabulary(language)
    forms = [one for name in ("from", "taken", "instead") for one in tongue.patterns[name]]
    written = [one.pattern for one in (*forms, tongue.change, tongue.when, tongue.gone)]
    words = frozenset(
        _WORD.findall(re.sub(r"\\b|\?P<\w>", " ", " ".join([*written, *tongue.ends])))
    )
    lists = [tongue.words[name] for name in (*_LISTS, "conjunctions", "dated")]
    return (_of_state(language) | words).union(*lists) - tongue.words["asked"]
