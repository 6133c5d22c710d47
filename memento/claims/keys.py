"""Numbers by which statements that may conflict find each other. Pure.

Two statements are compared only if they have a number in common: that of a subject and attribute,
of a subject and value, of a state, or of their words up to negations, opposites and numbers. The
numbers are hashes: nothing of the text can be read from them.
"""

from __future__ import annotations

from hashlib import blake2b

from memento.claims.reading import Statement
from memento.claims.relation import frame

_LEAST = 3
"""Least words of a statement that is found by its words."""


def keys_of(statement: Statement, ns: int) -> frozenset[int]:
    """Return the numbers of a statement, each from 1 to 2^62; empty if it was not read.

    Args:
        statement: As it was read.
        ns: Namespace number: equal statements of two namespaces have different numbers.
    """
    found = set()
    for claim in statement.claims:
        if claim.attribute is not None:
            found.add(_number(ns, "slot", *claim.subject, "=", claim.attribute))
        if claim.value:
            found.add(_number(ns, "value", *claim.subject, "=", claim.value[0]))
    for state in (*statement.states, *statement.taken):
        found.add(_number(ns, "state", *state.thing, "=", *state.value))
    whole = statement.mood == "says" and not statement.headed
    if whole and len(words := frame(statement)) >= _LEAST:
        found.add(_number(ns, "words", *words))
    return frozenset(found)


def _number(*parts: object) -> int:
    digest = blake2b("\0".join(map(str, parts)).encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 2) + 1
