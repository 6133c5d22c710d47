"""Find the verb of a short statement, by the commonest verbs of statements. Pure.

Not every verb is known, and none has to be. The list tells whether two statements that differ in
one span differ in their subject or in the rest; without a known verb it stays open.
"""

from __future__ import annotations

from collections.abc import Sequence

_VERBS = frozenset(
    """is are was were be been has have had does lives live works work uses use runs costs cost
    starts begins ends needs wants likes goes comes gets keeps kept stands stored filed leads owns
    drives plays speaks reads bought sold moved belongs contains serves opens closes arrives leaves
    carries reports cancelled canceled delayed
    ist sind bin war waren hat haben wohnt lebt liegt steht gehört arbeitet kostet beginnt leitet
    est sont suis était ont habite coûte commence dirige
    es son soy está fue tiene vive trabaja cuesta empieza
    são sou foi tem mora custa começa""".split()  # noqa: SIM905 - words read better as one text
)
"""Verbs that are rarely anything else, as `words.fold` writes them."""
_ROLES = frozenset(
    """capital ceo cto cfo director head leader lead chief manager president mayor chair chairperson
    chairman owner principal captain founder author governor minister secretary editor coach boss
    treasurer chancellor rector dean call
    hauptstadt leiter leiterin direktor direktorin chef chefin vorsitzende capitale directeur
    directrice responsable président présidente directora jefe jefa presidente presidenta diretor
    diretora chefe""".split()  # noqa: SIM905 - words read better as one text
)
_HEADS = frozenset("leads heads chairs manages directs coaches leitet dirige".split())  # noqa: SIM905 - the same
_REACH = 6


def has_verb(words: Sequence[str]) -> bool:
    """Tell whether a known verb is among some words.

    >>> has_verb("the concert is delayed again".split()), has_verb(["the", "concert"])
    (True, False)
    """
    return not _VERBS.isdisjoint(words) or not _HEADS.isdisjoint(words)


def holds_role(after: Sequence[str]) -> bool:
    """Tell whether words that follow a subject say that it holds a role that one holds at a time.

    >>> holds_role("is the CEO of Juniper".lower().split()), holds_role("is delayed".split())
    (True, False)
    """
    if not after:
        return False
    if after[0] in _HEADS:
        return True
    return after[0] in _VERBS and not _ROLES.isdisjoint(after[1:_REACH])
