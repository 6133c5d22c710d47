"""Recognise statements that say the same, or the opposite. Pure.

Two statements are compared only if they differ in nothing but a "not" or one word of a pair such as
"on" and "off". Any others are different statements, and both stay.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from memento.text.alike import OPPOSITES, read
from memento.text.words import words

LONGEST = 400
"""Maximum length of a text that is read, characters."""
_LEAST = 2
_NOT = frozenset(
    """not no never cannot hardly nicht kein keine keinen nie nunca jamais dont doesnt didnt isnt
    arent wasnt cant wont stop avoid""".split()  # noqa: SIM905 - words read better as one text
)
_LITTLE = frozenset(
    """a an the s m re ve d ll can will do does did is am are was were be please just now actually
    currently always longer any more anymore either really still using instead""".split()  # noqa: SIM905 - as above
)
"""Words in which two statements may differ and still say the same."""
_PAIR_OF: dict[str, str] = {}
for _one, _other in sorted(map(sorted, OPPOSITES)):
    if _one not in _PAIR_OF and _other not in _PAIR_OF:  # a word is in one pair
        _PAIR_OF |= {_one: _one, _other: _one}


class Stance(NamedTuple):
    """What a statement is about, and whether it affirms or denies it.

    Attributes:
        about: Its words, without negations and with opposites unified; empty if not comparable.
        denied: Whether it is negated.
        words: Its words that have an opposite, in order.
    """

    about: tuple[str, ...] = ()
    denied: bool = False
    words: tuple[str, ...] = ()


@lru_cache(maxsize=512)
def stance(text: str) -> Stance:
    """Return the stance of a statement; an empty one for a question or a long text.

    >>> stance("My desk isn't in the hall") == stance("My desk is not in the hall")
    True
    """
    if len(text) > LONGEST or "?" in text:
        return Stance()
    denied, about, sides = False, [], []
    for said in spoken(text):
        if said in _NOT:
            denied = not denied
            continue
        if said in _PAIR_OF:
            sides.append(said)
        about.append(_singular(_PAIR_OF.get(said, said)))
    about = about[1:] if about[:1] in (["we"], ["you"]) else about  # "we squash", as "squash"
    return Stance(tuple(about) if len(about) >= _LEAST else (), denied, tuple(sides))


def _singular(word: str) -> str:
    """Return "like" for "likes"."""
    return word[:-1] if word[3:] and word[-1] == "s" else word


def opposed(one: str, other: str) -> bool:
    """Return whether one of two statements affirms what the other denies.

    >>> opposed("I love hiking", "I hate hiking"), opposed("I love hiking", "I love rowing")
    (True, False)
    """
    first, second = stance(one), stance(other)
    if not first.about or first.about != second.about or marks(one) != marks(other):
        return False
    turned = sum(a != b for a, b in zip(first.words, second.words, strict=True))
    return (turned + (first.denied != second.denied)) == 1


def marks(text: str) -> frozenset[str]:
    """Return the numbers, identifiers and names with symbols of a text, folded.

    >>> sorted(marks("C++ in 2 files, not C#"))
    ['2', 'c#', 'c++']
    """
    found = (mark.casefold() for mark in read(text).marks)
    return frozenset(mark for mark in found if not mark.replace("'", "").isalpha())


def repeats(new: str, old: str) -> bool:
    """Return whether a statement repeats an earlier one.

    Both must have the same numbers, symbols, negation and words.

    >>> repeats("Please use tabs.", "Use tabs"), repeats("four spaces", "two spaces")
    (True, False)
    """
    return _bare(new) == _bare(old) and marks(new) == marks(old)


def adds_nothing(new: str, old: str) -> bool:
    """Return whether an earlier statement has all its words, and the same numbers and negation.

    That suffices for a repeat if both are known to give the same value for one thing.
    """
    (added, denied), (known, other) = _bare(new), _bare(old)
    return set(added) <= set(known) and denied == other and marks(new) == marks(old)


def _bare(text: str) -> tuple[tuple[str, ...], bool]:
    said = spoken(text)
    kept = tuple(word for word in said if word not in _NOT)
    return kept, (len(said) - len(kept)) % 2 == 1


def spoken(text: str) -> list[str]:
    """Return the words by which statements are compared, with each "not" written out."""
    plain = text.replace("’", "'").casefold()  # noqa: RUF001 - a real apostrophe
    for short, whole in (("can't", "can not"), ("won't", "will not"), ("n't", " not")):
        plain = plain.replace(short, whole)
    return [word for word in words(plain) if word not in _LITTLE]
