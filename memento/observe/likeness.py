"""Compare two statements: the same subject with another value, or the opposite. Pure.

Two statements are compared only if they have the same words but for one span, and that span comes
after the subject: "Alice reviewed it" never meets "Bob reviewed it". A value that is a date or a
number excludes another one; of most other values both can be true at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

from memento.observe.nouns import KIN
from memento.observe.wording import without_lead


class Likeness(StrEnum):
    """The difference between two statements about the same subject."""

    OTHER_VALUE = "other value"
    """A number or a date differs: both cannot be true."""
    OTHER_WORDS = "other words"
    """The complement of "is" or its like differs: both may be true."""
    OPPOSITE = "opposite"
    """One says that it is so, the other that it is not."""


_SAME = {
    "i'm": "i am", "i've": "i have", "i'd": "i would", "i'll": "i will", "we're": "we are",
    "we've": "we have", "we'll": "we will", "it's": "it is", "that's": "that is",
    "they're": "they are", "don't": "do not",
    "doesn't": "does not", "isn't": "is not", "aren't": "are not", "can't": "can not",
    "cannot": "can not", "won't": "will not", "wasn't": "was not", "you're": "you are",
}  # fmt: skip
_TOKEN = re.compile(r"[+-]?\d[\w.:,/%°€$£-]*\w|[^\W_]+(?:['’-][^\W_]+)*|\d")  # noqa: RUF001 - a real apostrophe
_SIGNS = frozenset("now actually currently already just please anymore any more today".split())  # noqa: SIM905 - words read better as one text
_FOR = frozenset("love like enjoy adore always".split())  # noqa: SIM905 - as above
_AGAINST = frozenset("hate dislike detest loathe never".split())  # noqa: SIM905 - as above
_YES, _NO = "+", "-"
_SPOKEN = (
    (("do", "not", "like"), _NO), (("do", "not", "enjoy"), _NO), (("do", "not", "love"), _NO),
    (("am", "not", "a", "fan", "of"), _NO), (("can", "not", "stand"), _NO),
    (("do", "not"), _NO), (("does", "not"), _NO), (("is", "not"), "is " + _NO),
    (("are", "not"), "are " + _NO), (("am", "not"), "am " + _NO), (("stop",), _NO),
)  # fmt: skip
_STATES = frozenset(
    """is are was am lives live works work runs run starts start begins ends called named costs
    reports uses weighs moved opens closes happens takes sits belongs stays""".split()  # noqa: SIM905 - as above
)
"""Verbs whose complement is mostly one at a time."""
_NUMBERS = frozenset(
    """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
    hundred thousand noon midnight monday tuesday wednesday thursday friday saturday sunday january
    february march april may june july august september october november december daily weekly
    monthly yearly quarterly once twice am pm st nd rd th""".split()  # noqa: SIM905 - as above
)
_OPENING = frozenset("we you i should must will".split())  # noqa: SIM905 - as above
_MOST = 40  # tokens; a longer statement says more than one thing


@dataclass(frozen=True, slots=True)
class Difference:
    """The one span in which two statements differ.

    Attributes:
        kind: How they differ.
        old: Words of the first that the second has not.
        new: Words of the second that the first has not.
    """

    kind: Likeness
    old: str
    new: str


def difference(old: str, new: str) -> Difference | None:
    """Compare two statements; None if they are about different things or say the same.

    >>> difference("The demo is on Friday.", "Actually the demo is on Thursday.").kind.value
    'other value'
    >>> difference("Alice reviewed it on Monday.", "Bob reviewed it on Monday.") is None
    True
    """
    first, second = tokens(old), tokens(new)
    if not first or not second or max(len(first), len(second)) > _MOST:
        return None
    spans = [
        code for code in SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
        if code[0] != "equal"
    ]  # fmt: skip
    if len(spans) != 1:
        return None
    _, a, b, c, d = spans[0]
    gone, come = first[a:b], second[c:d]
    kind = _kind(first[:a], gone, come, first[b:])
    return None if kind is None else Difference(kind, " ".join(gone), " ".join(come))


def _kind(
    before: Sequence[str], gone: Sequence[str], come: Sequence[str], after: Sequence[str]
) -> Likeness | None:
    if {*gone, *come} <= {_YES, _NO}:
        turned = (_NO in gone) != (_NO in come)
        return Likeness.OPPOSITE if turned and (before or after) else None
    if not gone or not come or not before:
        return None
    if all(_is_dated(token) for token in (*gone, *come)):
        return Likeness.OTHER_VALUE if len(before) > 1 or after else None
    stated = before[0] != "i" and any(token in _STATES for token in before[1:])
    return Likeness.OTHER_WORDS if stated and {_YES, _NO}.isdisjoint(before) else None


def _is_dated(token: str) -> bool:
    return token in _NUMBERS or any(char.isdigit() for char in token)


_OF_KIN = re.compile(rf"my (?:{'|'.join(KIN)}) (?=\w)", re.IGNORECASE)


def tokens(text: str) -> list[str]:
    """Return the words of a statement in the form in which two are compared.

    Contractions are written out, words of change are left out, and words for and against something
    are ``+`` and ``-``.
    """
    plain = without_lead(text).partition(' (about: "')[0].replace("’", "'")  # noqa: RUF001 - real
    named = _OF_KIN.match(plain)
    if named and plain[named.end()].isupper():
        plain = plain[named.end() :]
    found = [_SAME.get(word, word) for word in _TOKEN.findall(plain.casefold())]
    words = [word for word in " ".join(found).split() if word not in _SIGNS]
    spoken = f" {' '.join(words)} "
    for phrase, sign in _SPOKEN:
        spoken = spoken.replace(f" {' '.join(phrase)} ", f" {sign} ")
    signed = [_YES if w in _FOR else _NO if w in _AGAINST else w for w in spoken.split()]
    while len(signed) > 1 and signed[0] in _OPENING and any(w in (_YES, _NO) for w in signed[:3]):
        if signed[0] == "i" and signed[1] in (_YES, _NO):
            break  # "I love hiking" has a subject; "we always squash" is a rule
        signed = signed[1:]
    return signed


_DENIED = re.compile(
    r"\bno longer\b|(?:n't|\bnot)\b.{0,80}\b(?:any ?more|any longer)\b", re.IGNORECASE
)
_DENYING = frozenset({"no", "not", "longer", "any", "do", "does", _YES, _NO})


def denies(old: str, new: str) -> bool:
    """Return whether a statement says of another one that it holds no longer, and nothing else.

    >>> denies("I'm married.", "I'm no longer married.")
    True
    >>> denies("I'm married.", "I'm no longer married to Tom.")
    False
    """
    if _DENIED.search(new.replace("’", "'")) is None:  # noqa: RUF001 - a real apostrophe
        return False
    first, second = tokens(old), tokens(new)
    left = [word for word in second if word not in _DENYING]
    opening = first[:1] if len(first) == len(left) + 1 and first[0] in _OPENING else []
    return len(first) < len(second) + len(opening) and first == opening + left and len(left) > 1


_TURNED = (
    re.compile(r"(?P<new>[^,;.]{1,60}?),? (?:and )?not (?P<old>[^,;.]{1,60})$", re.IGNORECASE),
    re.compile(r"not (?P<old>[^,;.]{1,60})[,;.] ?(?:but )?(?P<new>[^,;.]{1,60})$", re.IGNORECASE),
    re.compile(r"[^,;.]{1,60}? (?:instead of|rather than) (?P<old>[^,;.]{1,60})$", re.IGNORECASE),
    re.compile(r".*\bfrom (?P<old>[^,;.]{1,40}?) to (?P<new>[^,;.]{1,40})$", re.IGNORECASE),
    re.compile(
        r"(?:i'm|i am|we're|we) no longer (?:an? |use |using )?(?P<old>[^,;.]{1,60})[,;.] ?.+$",
        re.IGNORECASE,
    ),
)  # fmt: skip


def turned_from(text: str) -> str | None:
    """Return what a correction says is no longer so: Friday, in "it's Thursday, not Friday".

    >>> turned_from("It's Katarina, not Katherine.")
    'katherine'
    """
    plain = without_lead(text.replace("’", "'")).strip().rstrip(".!")  # noqa: RUF001 - real
    for pattern in _TURNED:
        match = pattern.match(plain)
        if match is not None:
            return " ".join(tokens(match["old"]))
    return None


def is_about(old: str, new: str, value: str) -> bool:
    """Return whether a correction that names the old value may be about a statement.

    The statement has that value, and whatever else the correction speaks of.

    Args:
        old: The statement.
        new: The correction.
        value: The old value, from `turned_from`.
    """
    said = f" {' '.join(tokens(old))} "
    if f" {value} " not in said:
        return False
    unknown = set(tokens(new)) - set(said.split()) - _LITTLE_WORDS
    return len(unknown) <= len(value.split())


_LITTLE_WORDS = frozenset(
    """it is not that the a an are was i am we no instead of than rather from to use and at on in
    my our you your got wrong + -""".split()  # noqa: SIM905 - as above
)
