"""The relation of a new statement to an older one. Pure.

``lifecycle.conflicts`` acts on a verdict: it supersedes the older statement, or flags the pair.

==============  ====================================================================================
verdict         when; the first that fits
==============  ====================================================================================
``repeats``     the same words up to fillers, with the same polarity
``updates``     it names the value that the older one claims, or takes it back; or it says that
                something changed and claims another value of the same attribute
``contradicts``  another value of the same attribute, the same but for a "not", an opposite word or
                a number
``refines``     its value has all words of the older one's and more
``distinct``    anything else, and every doubt
==============  ====================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memento.claims.claim_reader import SELF, WEAK, Claim, Statement
from memento.claims.claim_words import common, vocabulary
from memento.claims.kinds import kind_of
from memento.claims.takes_back import instead, is_placed, is_value, takes_all_back


@dataclass(frozen=True, slots=True)
class Verdict:
    """The relation of a new statement to an older one.

    Attributes:
        kind: ``repeats``, ``updates``, ``contradicts``, ``refines`` or ``distinct``.
        why: The reason, in words of memento: never a word of the statements.
        explicit: Whether an update takes back all that the older statement says, and for good,
            see ``plain``.
    """

    kind: str
    why: str
    explicit: bool = False


_LEAST = 3
"""Minimum number of words in statements that are compared word for word."""
DISTINCT = Verdict("distinct", "nothing in common that has one value")


def relation(new: Statement, old: Statement, *, same_speaker: bool = True) -> Verdict:
    """Compare two statements.

    Args:
        new: The later statement.
        old: The earlier one.
        same_speaker: Whether one person said both. If not, "I" is not the same in both.

    >>> from memento.claims.claim_reader import read
    >>> relation(read("I moved from Ghent to Turku"), read("I live in Ghent")).kind
    'updates'
    >>> relation(read("My sister lives in Turku"), read("I live in Ghent")).kind
    'distinct'
    """
    if not new.words or not old.words or new.language != old.language:
        return DISTINCT
    if new.mood != "says" or old.mood != "says":
        return Verdict("distinct", "not two assertions")
    if new.words == old.words:
        return Verdict("repeats", "same words")
    comparable = (same_speaker or not _of_speaker(new)) and not (new.headed or old.headed)
    by_words = _by_words(new, old) if comparable else None
    return _by_claims(new, old, same_speaker=same_speaker) or by_words or DISTINCT


def restates(new: Statement, old: Statement) -> bool:
    """Return whether a statement says again what another one claims: a word for word or a value."""
    if new.words and new.words[-len(old.words) :] == old.words:
        return True
    return any(one.holds and one in old.claims for one in new.claims)


def succeeds(new: Statement, old: Statement) -> bool:
    """Return whether one takes back the state that is all that an older one claims.

    The forms of ``states`` are wide, so both stay found: the later one is only placed first.

    Args:
        new: The later statement.
        old: The earlier one, of the same speaker.

    >>> from memento.claims.claim_reader import read
    >>> moved = read("I moved my bike from the cellar to the shed")
    >>> succeeds(moved, read("My bike is in the cellar"))
    True
    >>> relation(moved, read("My bike is in the cellar")).kind
    'distinct'
    """
    return not set(new.taken).isdisjoint(old.states)


def _of_speaker(statement: Statement) -> bool:
    own = vocabulary(statement.language).words
    return not (own["self"] | own["owner"]).isdisjoint(statement.words)


def _by_claims(new: Statement, old: Statement, *, same_speaker: bool) -> Verdict | None:
    """Compare the claims of two statements; the strongest verdict wins."""
    held = [one for one in old.claims if one.holds]
    pairs = [
        (mine, other)
        for mine in new.claims
        for other in held
        if mine.subject == other.subject and (same_speaker or SELF not in mine.subject)
    ]
    values = {one.value for one in new.claims if one.holds}
    for mine, other in pairs:
        if not mine.holds and _names(mine, other) and other.value not in values:
            if new.changes or _has_other(mine, new.claims):
                whole = _takes_all(mine, other, new, old)
                return Verdict("updates", "names the old value", explicit=whole)
            return Verdict("contradicts", "denies it")
    for mine, other in pairs:
        verdict = _values(mine, other, new, old)
        if verdict is not None:
            return verdict
    return None


def _names(mine: Claim, other: Claim) -> bool:
    """Return whether a claim takes back the value of another one."""
    if mine.attribute not in (None, other.attribute) and other.attribute not in (None, "use"):
        return False
    return bool(mine.value) and (
        set(mine.value) == set(other.value)
        or (set(mine.value) < set(other.value) and mine.value[0] == other.value[0])
    )


def _takes_all(mine: Claim, other: Claim, new: Statement, old: Statement) -> bool:
    """Tell whether nothing is left of a statement when a claim takes back the value of another."""
    if old.more or set(mine.value) != set(other.value):
        return False
    if not _same_thing(other.attribute, new, old) or not new.signs <= old.signs:
        return False
    held = [one.value for one in new.claims if one.holds]
    denied = {one.value for one in new.claims if not one.holds}
    named = instead(new.spoken, new.names)
    if named and not _same_kind(named, other, new, old):
        return False
    if not denied.isdisjoint(held) or not all(_replaces(value, other, new, old) for value in held):
        return False
    told = [*mine.subject, *other.value, *(word for value in held for word in value)]
    told += _named_alike(other.attribute, new, old)
    if other.attribute == "replies":
        told += ["switch", "change"]  # an order about replies is done at once
    return _is_lasting(new, held) and takes_all_back(
        new.spoken, old.spoken, new.language, [*told, *named]
    )


def _replaces(value: tuple[str, ...], other: Claim, new: Statement, old: Statement) -> bool:
    """Return whether a value is said once and can take the place of the one that is taken back."""
    once = all(new.spoken.count(word) <= 1 or word in other.value for word in value)
    whole = is_value(value, other.value, new.spoken, new.names)
    persons = {*vocabulary(new.language).holders.values(), "lead"}
    moved = is_placed(value, new.spoken) and not is_placed(other.value, old.spoken)
    placed = moved and other.attribute in persons
    return once and whole and not placed and _same_kind(value, other, new, old)


def _same_kind(value: Sequence[str], other: Claim, new: Statement, old: Statement) -> bool:
    """Return whether a value is of the kind of the one that it replaces: a time, a name."""
    tongue = vocabulary(new.language)
    small = tongue.words["preps"] - {"a", new.spoken[0]}
    if not small.isdisjoint(new.names):
        return False  # a text in capitals does not tell what is a name
    same = tongue.nouns.keys() | set(value).intersection(other.value)
    kind = kind_of(value, new.names, other.attribute, tongue, same)
    return bool(kind) and kind == kind_of(other.value, old.names, other.attribute, tongue, same)


def _same_thing(attribute: str | None, new: Statement, old: Statement) -> bool:
    """Return whether two statements speak of one thing: a billing team is no billing service."""
    tongue = vocabulary(new.language)
    heads = tongue.words["generic"] - tongue.words["sorts"] - tongue.words["fillers"]
    said = heads.intersection(new.spoken).difference(old.spoken)
    if any(tongue.when.search(word) is None for word in said):
        return False
    one, two = (_nouns(attribute, each) for each in (new, old))
    return one <= two or two <= one


def _nouns(attribute: str | None, statement: Statement) -> set[str]:
    """Return the nouns of an attribute that a statement has, the parts of a joined one apart."""
    tongue = vocabulary(statement.language)
    known = {**tongue.nouns, **tongue.holders}
    said = [word for word in statement.spoken if known.get(word) == attribute]
    return {part for word in said for part in word.split("-")}


def _named_alike(attribute: str | None, new: Statement, old: Statement) -> list[str]:
    """Return the nouns of an attribute, and words such as "app"; "new" only if both have it."""
    tongue = vocabulary(new.language)
    nouns = [
        noun for noun, name in (*tongue.nouns.items(), *tongue.holders.items()) if name == attribute
    ]
    sorts = tongue.words["sorts"].difference(set(new.spoken).intersection(old.spoken))
    return [*nouns, *(tongue.words["generic"] - sorts)]


def _is_lasting(new: Statement, held: Sequence[tuple[str, ...]] = ()) -> bool:
    """Return whether a denial is for good: "not now" may be for a moment, "no longer" is not."""
    tongue = vocabulary(new.language)
    ended = tongue.change.search(tongue.when.sub(" ", " ".join(new.words)))
    return bool(held) or ended is not None


def _has_other(mine: Claim, claims: Sequence[Claim]) -> bool:
    return any(one.holds and one.subject == mine.subject for one in claims)


def _values(mine: Claim, other: Claim, new: Statement, old: Statement) -> Verdict | None:
    """Compare two values of one attribute."""
    if not mine.holds or mine.attribute is None or mine.attribute != other.attribute:
        return None
    one, two = set(mine.value), set(other.value)
    if one > two:
        return Verdict("refines", "says more of the same value")
    if one <= two or new.several or old.several or (mine.attribute in WEAK and not new.changes):
        return None
    return Verdict("updates" if new.changes else "contradicts", f"another {mine.attribute}")


def _by_words(new: Statement, old: Statement) -> Verdict | None:
    """Compare two statements that are the same up to a "not", an opposite or a number."""
    one, two = _bare(new), _bare(old)
    changed = "updates" if new.changes else "contradicts"
    if new.negated != old.negated and one == two and len(one) >= _LEAST:
        return Verdict(changed, "negates it", explicit=_ends_it(new, old))
    if new.negated != old.negated or len(one) != len(two) or len(one) < _LEAST:
        return None
    differ = [at for at, (a, b) in enumerate(zip(one, two, strict=True)) if a != b]
    if len(differ) != 1:
        return None
    at = differ[0]
    if frozenset((one[at], two[at])) in common().antonyms:
        return Verdict(changed, "the opposite")
    if len(one) > _LEAST and _is_value(one, at) and _is_value(two, at):
        return Verdict(changed, "another number")
    return None


def _ends_it(new: Statement, old: Statement) -> bool:
    """Return whether a statement that negates another one says that it was so until now."""
    whole = new.negated and new.changes and not old.more and _is_lasting(new)
    return whole and takes_all_back(new.spoken, old.spoken, new.language, old.words)


def frame(statement: Statement) -> list[str]:
    """Return the words up to what may differ in a conflict: "not", opposites and numbers."""
    tables = common()
    found = []
    for word in _bare(statement):
        if word[0].isdigit() or word in tables.counts:
            found.append("#")
        else:
            found.append(tables.opposites.get(word, word))
    return found


def _bare(statement: Statement) -> list[str]:
    """Return the words without negation, auxiliaries and words of change."""
    tongue = vocabulary(statement.language)
    dropped = tongue.words["negation"] | {
        "do",
        "does",
        "now",
        "anymore",
        "longer",
        "any",
        "more",
        "ne",
        "n",
        "plus",
        "mehr",
        "ya",
        "já",
        "mais",
        "jetzt",
        "ahora",
        "agora",
        "maintenant",
        "现在",
        "不再",
    }
    return [word for word in statement.words if word not in dropped]


def _is_value(words: Sequence[str], at: int) -> bool:
    """Return whether the word at a place is a number that is a value, and not a name."""
    tables = common()
    number = words[at][0].isdigit() or words[at] in tables.counts
    if not number or at == 0 or words[at - 1] in tables.named_by:
        return False
    return not tables.holding.isdisjoint(words[:at])
