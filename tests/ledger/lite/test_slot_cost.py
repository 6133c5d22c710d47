"""Past values of a slot cost as much each, however many there are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memento import MemoryManager

FEW, MANY = 100, 400
UNIT = 100
"""Steps of SQLite's machine from one count to the next."""
START = datetime(2020, 1, 1, tzinfo=UTC)


def steps(root, count):
    """Count SQLite's steps, in units, for so many past values of one slot, newest first."""
    counted = []
    with MemoryManager(root, embedder=None) as memory:
        memory._engine.indexer.stop(10)
        memory.add("the last of them", key="town", occurred_at=START + timedelta(days=count))
        ledger = memory._engine.ledger
        ledger.alone(lambda c: c.set_progress_handler(lambda: counted.append(1), UNIT))
        memory.add_many(
            {"text": f"town {day}", "key": "town", "occurred_at": START + timedelta(days=day)}
            for day in reversed(range(count))
        )
        ledger.alone(lambda c: c.set_progress_handler(None, 0))
        assert len(memory.list(status="superseded", limit=10 * count)) == count
    return len(counted)


def test_past_values_newest_first_cost_the_same_each(tmp_path):
    """Four times as many take some four times the work, and not sixteen times."""
    few, many = steps(tmp_path / "few", FEW), steps(tmp_path / "many", MANY)
    assert many < 1.5 * MANY / FEW * few
