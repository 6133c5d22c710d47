"""Conditions on metadata, as SQL. Pure.

A condition names one field and says what it must be. The names of its path are bound to the
statement, never written into it, so that a name may hold any character.

A number is compared with numbers only, a string with strings only (by code point), and true and
false with themselves: a field of another type fits no such condition. Numbers are compared as
SQLite reads them: integers to 64 bits exactly, others to 15 significant digits. Strings are
compared in one form of Unicode, whichever they are kept in: a value stays as it was given. Names
are kept in that form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memento.language.plain import composed
from memento.ledger.dialect import each_below, each_of, in_one_form

Scalar = str | int | float | bool | None
Clause = tuple[str, list[Any]]

COMPARED = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
"""Operators that compare with one number or string, and their form in SQL."""
ONE_OF, NONE_OF, EXISTS = "$in", "$nin", "$exists"
_ANY, _NOT_NULL = "1", "{at}.type <> 'null'"


@dataclass(frozen=True, slots=True)
class Condition:
    """A test of one field of the metadata.

    Attributes:
        names: Path to the field, from the outside in. If no field has these names as they are
            given, the dots in them separate names.
        operator: ``ONE_OF``, ``NONE_OF``, ``EXISTS`` or a key of ``COMPARED``.
        values: What it is compared with: any number of scalars for ``ONE_OF`` and ``NONE_OF``,
            where None is a null or no such field; one bool for ``EXISTS``; else one number or
            string.
    """

    names: tuple[str, ...]
    operator: str
    values: tuple[Scalar, ...]

    @property
    def split(self) -> tuple[str, ...]:
        """The path if the dots in its names separate names."""
        return tuple(part for name in self.names for part in name.split("."))


def clause(condition: Condition) -> Clause:
    """Build the SQL for a condition, and the values to bind to it."""
    if condition.operator in (ONE_OF, NONE_OF):
        found = _one_of(condition)
        return _not(found) if condition.operator == NONE_OF else found
    if condition.operator == EXISTS:
        there = _has(condition, _ANY, [])
        return there if condition.values[0] else _not(there)
    sign, bound = COMPARED[condition.operator], condition.values[0]
    return _has(condition, f"{_type_of(bound)} AND {_atom(bound)} {sign} ?", [_bound(bound)])


def _one_of(condition: Condition) -> Clause:
    """Match a field that is one of some values."""
    truths = [("true" if one else "false") for one in condition.values if isinstance(one, bool)]
    texts = [_bound(one) for one in condition.values if isinstance(one, str)]
    numbers = [one for one in condition.values if _is_number(one)]
    tests = [
        f"{test} IN ({_marks(options)})"
        for test, options in (
            ("{at}.type", truths),
            (f"{_type_of('')} AND {_atom('')}", texts),
            (f"{_type_of(0)} AND {_atom(0)}", numbers),
        )
        if options
    ]
    values = [*truths, *texts, *numbers]
    found, bound = _has(condition, " OR ".join(tests) or "0", values)
    if None not in condition.values:
        return found, bound
    absent, names = _not(_has(condition, _NOT_NULL, []))
    return f"({found} OR {absent})", [*bound, *names]


def _is_number(value: Scalar) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _type_of(value: Scalar) -> str:
    """Return the condition that a field has the type of a number or a string."""
    return "{at}.type = 'text'" if isinstance(value, str) else "{at}.type IN ('integer', 'real')"


def _atom(value: Scalar) -> str:
    """Return what of a field is compared with a number or a string."""
    return in_one_form("{at}.atom") if isinstance(value, str) else "{at}.atom"


def _bound(value: Scalar) -> Scalar | bytes:
    """Return a number or a string as it is bound, to be compared with `_atom`."""
    return composed(value).encode() if isinstance(value, str) else value


def _not(given: Clause) -> Clause:
    return f"NOT {given[0]}", given[1]


def _has(condition: Condition, test: str, values: Sequence[Any]) -> Clause:
    """Match metadata whose field passes a test; ``{at}`` in the test stands for the field."""
    whole, bound = _field(condition.names, test, values)
    if condition.split == condition.names:
        return whole, bound
    there, names = _field(condition.names, _ANY, [])
    split, below = _field(condition.split, test, values)
    return f"({whole} OR NOT {there} AND {split})", [*bound, *names, *below]


def _field(names: tuple[str, ...], test: str, values: Sequence[Any]) -> Clause:
    """Match metadata whose field at exactly this path passes a test."""
    levels = [f"{each_of('metadata')} AS level0"]
    levels += [f"{each_below(f'level{n}')} AS level{n + 1}" for n in range(len(names) - 1)]
    keys = " AND ".join(f"level{n}.key = ?" for n in range(len(names)))
    passes = test.format(at=f"level{len(names) - 1}")
    found = f"SELECT 1 FROM {', '.join(levels)} WHERE {keys} AND ({passes})"
    return f"EXISTS ({found})", [*map(composed, names), *values]


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))
