"""Numbers by which statements that may conflict find each other. Pure.

Two statements are compared only if they have a number in common: that of a subject and attribute,
of a subject and value, of a state, or of their words up to negations, opposites and numbers. The
numbers are hashes: nothing of the text can be read from them.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from memento.claims.claim_reader import Statement
from memento.claims.relation import frame
from memento.claims.states import State

_LEAST = 3
"""Minimum number of words in a statement that is found by its words."""


def keys_of(statement: Statement, ns: int) -> frozenset[int]:
    """Return the numbers of a statement, each from 1 to 2^62; empty if it was not read.

    Args:
        statement: As it was read.
        ns: Namespace number: equal statements of two namespaces have different numbers.
    """
    found: set[int] = set()
    for claim in statement.claims:
        if claim.attribute is not None:
            found.add(_number(ns, "slot", *claim.subject, "=", claim.attribute))
        if claim.value:
            found.add(_number(ns, "value", *claim.subject, "=", claim.value[0]))
    found |= keys_of_states((*statement.states, *statement.taken), ns)
    whole = statement.mood == "says" and not statement.headed
    if whole and len(words := frame(statement)) >= _LEAST:
        found.add(_number(ns, "words", *words))
    return frozenset(found)


def keys_of_states(states: Iterable[State], ns: int) -> frozenset[int]:
    """Return the numbers of states alone, one for each."""
    return frozenset(_number(ns, "state", *one.thing, "=", *one.value) for one in states)


def _number(*parts: object) -> int:
    digest = blake2b("\0".join(map(str, parts)).encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 2) + 1
