"""Tell whose a statement is: the speaker's own, or that of another person. Pure.

"I live in Porto" and "my mom lives in Faro" share a word and say nothing of each other. Each clause
belongs to its subject: to the speaker ("I", "my lease"), or to a person or the owner of the thing
that it begins with ("my mom", "my boss's email", "she"). A clause without a subject goes on about
that of the clause before; one about a thing ("the server") may be of anybody. Most of it is read in
English only; "my sister" in German, French and Spanish as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from memento.text.date_tables import function_words
from memento.text.sentences import SENTENCE, has_verb
from memento.text.words import content, words

_PERSONS = "|".join(
    """mother father mum mom mam mama mummy mommy dad daddy papa sister brother wife husband partner
    girlfriend boyfriend fianc[eé]e? ex son daughter child kid baby twin toddler teenager cousin
    nephew niece uncle aunt auntie parent (?:grand|step|god)[a-z]+ [a-z]+-in-law friend mate buddy
    colleague co-?worker manager boss supervisor employee intern assistant mentor client customer
    patient student pupil teacher tutor professor coach trainer doctor dentist gp nurse vet
    therapist physio accountant lawyer landlord landlady tenant neighbou?r flatmate roommate
    housemate guest plumber electrician builder cleaner hairdresser nanny babysitter family
    bruder schwester mutter vater eltern frau mann sohn tochter freund(?:in)? kolleg(?:e|in)
    chef(?:in)? nachbar(?:in)? oma opa onkel tante
    fr[eè]re s(?:œ|oe)ur m[eè]re p[eè]re femme mari fils fille amie? coll[eè]gue voisine? patronn?e?
    herman[oa] madre padre padres mujer marido espos[oa] novi[oa] hij[oa] amig[oa] jef[ea]
    vecin[oa] abuel[oa] t[ií][oa]""".split()  # noqa: SIM905 - words read better as one text
)
_ROLE = re.compile(rf"(?:{_PERSONS})(?:s|es)?", re.IGNORECASE)
"""What a person is to the speaker."""
_MY = (
    r"(?:my|our|his|her|their|(?:mein|unser)(?:e[rnm]?)?|m(?:on|a|es)|notre|nos|mis?|nuestr[oa]s?)"
)
_OTHER = re.compile(
    rf"""(?:{_MY}\s+)?(?:[\w-]+\s+){{0,2}}?
        (?:(?!(?:it|that|there|here|what|who|where|when|how|let|today|tomorrow)['’])\w[\w-]*['’]s
        |\w+s['’])(?=\s+\w)
    | {_MY}\s+(?:[\w-]+\s+){{0,2}}?(?:{_PERSONS})(?:s|es)?\b
    | (?P<pronoun>(?:s?he|his|her)\b)
    | (?-i:[A-Z])[\w-]+(?=\s+(?P<verb>\w+))
    """,  # noqa: RUF001 - a real apostrophe
    re.IGNORECASE | re.VERBOSE,
)
"""What a clause about another person begins with; a mere name is one before a known verb."""
_SELF = re.compile(
    r"\b(?:i|me|mine|myself|we|us|my|our|ours|im|ive|id"
    r"|ich|mich|mir|wir|uns|meine?|je|j|nous|mon|yo|mi)\b",
    re.IGNORECASE,
)
_ANY = re.compile(
    r"(?:the|an?|this|that|these|those|it|there|they|their|its|you|your)\b", re.IGNORECASE
)
"""What a clause begins with that may be about anybody."""
_CUT = re.compile(r"[,;:()–—]\s*|\s-\s|\b(?:and|but|while|whereas|because|so)\b\s*")  # noqa: RUF001 - real
_LEAD = re.compile(r"^(?:(?:btw|well|oh|ok|okay|also|then|now|anyway|yes|no)\b\W*)+", re.IGNORECASE)
_OPENS = re.compile(
    r"(?:\w+ly|still|just|yesterday|today|never|always|often|once|maybe|perhaps)\b", re.IGNORECASE
)
"""What stands before a verb without a subject: "Finally moved"."""
_UNREAL = r"(?:\b(?:would|could|might)\b|['’]d\b)"  # noqa: RUF001 - as above
_SUPPOSED = re.compile(
    rf"\b(?:if|imagine|suppose)\b.{{0,200}}{_UNREAL}|{_UNREAL}.{{0,200}}\bif\b|\bi\s+wish\b",
    re.IGNORECASE,
)
"""A sentence about what is not so: "If I worked there, I'd live in Leuven"."""


class Part(NamedTuple):
    """A clause.

    Attributes:
        words: Its words of content.
        own: Whether it is the speaker's; None if it may be anybody's.
        owner: Words that name the other person whose it is, or among which that one is named.
    """

    words: frozenset[str]
    own: bool | None
    owner: frozenset[str] = frozenset()


def parts(text: str, form: Callable[[str], str] = str) -> tuple[Part, ...]:
    """Return the clauses of a statement; those about what is not so are left out.

    Args:
        text: The statement.
        form: Gives the form in which a word is compared.

    >>> [(sorted(one.words), one.own) for one in parts("I like tea, my son hates it")]
    [(['like', 'tea'], True), (['hates', 'son'], False)]
    """
    hollow = function_words(text)

    def telling(said: str) -> list[str]:
        return [word for word in content(words(said)) if word not in hollow]

    found: list[Part] = []
    for sentence in SENTENCE.split(text):
        before = Part(frozenset(), None)
        for clause in () if _SUPPOSED.search(sentence) else _CUT.split(sentence):
            bare = _LEAD.sub("", clause.strip())
            own, owner = _whose(bare, before, telling)
            before = Part(_formed(telling(bare), form), own, _formed(owner, form))
            if before.words:
                found.append(before)
    return tuple(found)


def _formed(said: Iterable[str], form: Callable[[str], str]) -> frozenset[str]:
    return frozenset(map(form, said))


def _whose(
    bare: str, before: Part, telling: Callable[[str], list[str]]
) -> tuple[bool | None, Iterable[str]]:
    """Read whose a clause is; without a subject it goes on about that of the one before."""
    other = _OTHER.match(bare)
    if other is not None and other["verb"] and not _is_named(bare, other["verb"]):
        other = None
    if other is not None and not _SELF.search(bare, other.end()):
        if other["pronoun"]:
            return False, before.words if before.own is not False else before.owner
        told = telling(other[0])
        return False, [word for word in told if not _ROLE.fullmatch(word)] or told
    if other is not None or _ANY.match(bare):
        return None, ()
    return (True, ()) if _SELF.search(bare) else (before.own, before.owner)


def _is_named(bare: str, verb: str) -> bool:
    """Return whether a clause begins with a name: its verb is one of a third person.

    >>> [_is_named(f"{one} tea", one.split()[1]) for one in ("Ann likes", "We like", "Please use")]
    [True, False, False]
    """
    third = verb.endswith(("s", "ed")) and has_verb([verb.lower()])
    return third and not (_SELF.match(bare) or _ANY.match(bare) or _OPENS.match(bare))


def shared(one: Sequence[Part], other: Sequence[Part]) -> frozenset[str]:
    """Return the words that two statements share where they may be of the same person.

    >>> mine, hers = parts("I live in Porto"), parts("My mom lives in Porto")
    >>> sorted(shared(mine, parts("We live in Porto now"))), sorted(shared(mine, hers))
    (['live', 'porto'], [])
    """
    found: frozenset[str] = frozenset()
    for ours in one:
        for theirs in other:
            both = ours.words & theirs.words
            if not both <= found and _may_be_of_one(ours, theirs, one, other):
                found |= both
    return found


def _may_be_of_one(ours: Part, theirs: Part, one: Sequence[Part], other: Sequence[Part]) -> bool:
    """Return whether two clauses may be of one person; who is named in both statements is one."""
    if ours.own is None or theirs.own is None or (ours.own and theirs.own):
        return True
    if not (ours.own or theirs.own or (ours.owner and theirs.owner)):
        return True  # "she", of whom nothing was said before
    return _names(other, ours.owner) or _names(one, theirs.owner)


def _names(told: Sequence[Part], owner: frozenset[str]) -> bool:
    return any(not owner.isdisjoint(part.words) for part in told)
