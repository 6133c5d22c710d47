"""Rows: columns, times, row ids and checksums."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento import Draft, MemoryManager
from memento.base import clock
from memento.errors import StoreUnusable
from memento.ledger import rows

zones = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=zones)  # noqa: DTZ001 - zones are drawn


@given(moments)
def test_times_survive_to_the_microsecond(moment):
    """Any moment comes back as the same moment, in UTC."""
    back = clock.from_micros(clock.to_micros(moment))
    assert back == moment
    assert back.tzinfo is UTC


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_equal_parts_make_equal_content_and_no_others(one, other):
    """The digest does not run parts together."""
    assert (rows.content_hash(*one) == rows.content_hash(*other)) == (one == other)


def test_the_columns_are_those_of_the_table(memory):
    """The order of the fields is the order of the table's columns."""
    told = memory._engine.ledger.read(lambda c: c.execute("PRAGMA table_info(memories)").fetchall())
    assert tuple(name for _, name, *_ in told) == rows.NAMES


@pytest.mark.parametrize("column", [n for n in rows.NAMES if n not in {"checksum", "ns", "docid"}])
def test_a_changed_column_breaks_the_checksum(memory, column):
    """All that matters is sealed; what the ring and the index count for themselves is not."""
    kept = memory.add("hello", "long", key="greeting", session="s", actor="Ada", role="user")
    ledger = memory._engine.ledger
    query = f"SELECT {rows.COLUMNS} FROM memories WHERE id = ?"
    row = rows.Row(*ledger.read(lambda c: c.execute(query, (kept.id,)).fetchone()))
    assert rows.checksum(row) == row.checksum
    setattr(row, column, "something else")
    free = {"rev", "tier", "updated_at", "words", "head_words", "cues", "given"}
    assert (rows.checksum(row) == row.checksum) == (column in free)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("kind", "fa\0t"),
        ("tags", '["a'),
        ("metadata", "{{}"),
        ("tier", "x"),
        ("occurred_at", 2**62),
    ],
)
def test_a_row_too_damaged_to_read_is_a_typed_error(memory, column, value):
    """Garbage in a row is reported as damage with the id, never as a bare ValueError."""
    kept = memory.add("hello")
    memory._engine.ledger.write(lambda c: c.execute(f"UPDATE memories SET {column} = ?", (value,)))
    for call in (lambda: memory.get(kept.id), memory.list):
        with pytest.raises(StoreUnusable, match=f"{kept.id}.*doctor"):
            call()


def test_columns_that_are_null_are_not_bound(tmp_path):
    """A row that was inserted without them is read as it was, in a batch of different ones too."""
    drafts = [
        Draft("the tea is green"),
        Draft("the lamp is red", key="lamp", session="s1", actor="Ada", tags=("light",)),
        Draft("the door is blue", session="s1", valid_until=datetime(2030, 1, 1, tzinfo=UTC)),
        Draft("the wall is grey"),
    ]
    with MemoryManager(tmp_path, embedder=None) as memory:
        added = memory.add_many(drafts)
        assert [memory.get(one.id) for one in added] == added
        names, values = rows.Row(*_row_of(memory, added[1].id)).present()
    assert {"key", "session", "actor", "checksum"} <= set(names)
    assert not {"role", "source_uri", "signal"} & set(names)
    assert not {type(value) for value in values} & {bytes, type(None)}


def _row_of(memory, memory_id):
    """Read the columns of a memory."""
    query = f"SELECT {rows.COLUMNS} FROM memories WHERE id = ?"
    return memory._engine.ledger.read(lambda c: c.execute(query, (memory_id,)).fetchone())
