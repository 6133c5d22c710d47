"""Fewer cases than all of a cross product, where each opens a store."""

from __future__ import annotations


def pairs(first, second, *others):
    """Cross two axes in full; the values of the others take turns, so that each meets each of both.

    A defect that needs one value, or two together, is found; one that needs three together is left
    to the machines and harnesses, which choose at random.

    >>> pairs("ab", "xy", (True, False))
    [('a', 'x', True), ('a', 'y', False), ('b', 'x', False), ('b', 'y', True)]
    """
    first, second, others = list(first), list(second), [list(axis) for axis in others]
    return [
        (one, other, *(axis[(i + j) % len(axis)] for axis in others))
        for i, one in enumerate(first)
        for j, other in enumerate(second)
    ]
