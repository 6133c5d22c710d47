"""The places where the engines' SQL differs, each by its name.

The shared modules are one text for every engine. Where SQL itself has a word that all understand,
they use it (``coalesce``, ``CASE``, ``ON CONFLICT``); the rest is here, so that one search finds
every place that a second engine has to answer for. The fragments are put together when a module is
imported: a statement costs nothing more when it runs. No statement is rewritten later.

As written here they are SQLite's. The schema of a store on PostgreSQL has functions of these names,
see ``pg.schema``; the few that are no functions are marked by a comment, see ``pg.connect``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

SKIP_IF_THERE = "ON CONFLICT DO NOTHING"
"""End of an ``INSERT ... VALUES`` that leaves an existing row unchanged. Same in PostgreSQL."""

EVERY = 1 << 40
"""Value of ``LIMIT`` for no limit: more rows than a namespace can have."""
IN_THIS_ORDER = "CROSS /* in this order */ JOIN"
"""A ``JOIN ... ON`` whose left side is read first. PostgreSQL: ``JOIN``; it decides by itself."""
IN_ORDER_OF_ROWS = "NOT INDEXED"
"""After the name of a table: read the rows themselves, not an index, which may be what is damaged.
PostgreSQL: nothing; it has no clustered table to walk."""


def or_replace(key: str, *columns: str) -> str:
    """Return the end of an ``INSERT`` that replaces columns of the row that has the key.

    Same in PostgreSQL. An ``INSERT ... SELECT`` needs a ``WHERE`` before it.

    >>> or_replace("name", "value")
    'ON CONFLICT (name) DO UPDATE SET value = excluded.value'
    """
    changes = ", ".join(f"{column} = excluded.{column}" for column in columns)
    return f"ON CONFLICT ({key}) DO UPDATE SET {changes}"


def each_of(listed: str) -> str:
    """Return the table of the items of JSON text: ``key``, ``value``, ``type``, ``atom``."""
    return f"json_each({listed})"  # PostgreSQL: jsonb_array_elements and jsonb_each in a function


def each_below(item: str) -> str:
    """Return the table of what an item of `each_of` holds: nothing if it is no object."""
    return each_of(f"CASE WHEN {item}.type = 'object' THEN {item}.value ELSE '{{}}' END")


def is_json(text: str) -> str:
    """Return the condition that a text is JSON. PostgreSQL 16: ``IS JSON``; before, a function."""
    return f"json_valid({text})"


def each_of_sound(column: str) -> str:
    """Return `each_of` for a column that may be damaged: without items if it is not JSON."""
    return each_of(f"CASE WHEN {is_json(column)} THEN {column} ELSE '[]' END")


def one_of(hole: str = "?") -> str:
    """Return the condition that a column's value is among those that are bound as `listed`.

    One statement then serves lists of any length. PostgreSQL: ``= ANY (...)``.
    """
    return f"IN (SELECT value FROM {each_of(hole)})"


def one_of_numbers(hole: str = "?") -> str:
    """Return the condition of `one_of` for a column of whole numbers. PostgreSQL: ``= ANY``."""
    return f"IN (SELECT CAST(value AS BIGINT) FROM {each_of(hole)})"


def listed(values: Iterable[object]) -> str:
    """Return values as JSON text, to be bound to `one_of` or `each_of`."""
    return json.dumps([*values])


def field_of(column: str, name: str) -> str:
    """Return one field of a JSON object. PostgreSQL: ``(column::jsonb ->> name)``, cast."""
    return f"json_extract({column}, '$.{name}')"


def number_of(column: str, name: str) -> str:
    """Return one field of a JSON object that is a whole number."""
    return f"CAST({field_of(column, name)} AS BIGINT)"


def number_in(item: str) -> str:
    """Return an item of `each_of` as a number; null if it is something else."""
    return f"CASE WHEN {item}.type IN ('integer', 'real') THEN CAST({item}.atom AS NUMERIC) END"


def contains(text: str, hole: str = "?") -> str:
    """Return the condition that a text holds another one, case included. PostgreSQL: ``strpos``."""
    return f"instr({text}, {hole}) > 0"


def same(column: str, hole: str = "?") -> str:
    """Return the condition that two values are equal, or both null: ``IS NOT DISTINCT FROM``."""
    return f"{column} IS /* same */ {hole}"


def differs(column: str, hole: str = "?") -> str:
    """Return the condition that two values are not the `same`: ``IS DISTINCT FROM``."""
    return f"{column} IS NOT /* same */ {hole}"


def in_one_form(text: str) -> str:
    """Return a text as UTF-8 in Unicode's composed form, in which it is compared.

    As bytes, since a damaged text may not be UTF-8. PostgreSQL: ``normalize``, of the text.
    """
    return f"composed(CAST({text} AS /* bytes */ BLOB))"


def join_numbers(column: str) -> str:
    """Return the values of a column as one text, joined by commas, in no promised order.

    One value costs SQLite's driver a fraction of what the rows would. PostgreSQL: ``string_agg``.
    """
    return f"group_concat({column})"


def skipping(count: str = "?") -> str:
    """Return the end of a ``SELECT`` that leaves out its first rows. PostgreSQL: ``OFFSET``."""
    return f"LIMIT {EVERY} OFFSET {count}"


def without_index(column: str) -> str:
    """Return a column so that no index on it is used. Same in PostgreSQL.

    For conditions on rows that are found by their row ids.
    """
    return f"+{column}"
