"""A clock that jumps loses nothing and puts nothing out of order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

JUMPS = {
    "a second back": -timedelta(seconds=1),
    "a day back": -timedelta(days=1),
    "ten years back": -timedelta(days=3653),
    "a day on": timedelta(days=1),
    "past 2038": timedelta(days=365 * 20),
    "a hundred years on": timedelta(days=36_525),
}


@pytest.mark.parametrize("jump", JUMPS.values(), ids=JUMPS)
class TestJump:
    """The clock is set between two calls."""

    def test_order_is_that_of_arrival(self, memory, clock, jump):
        """In lists, in the ring, and after opening again."""
        ids = [memory.add("before", "short").id]
        clock.advance(jump)
        ids += [memory.add(f"after {n}", "short").id for n in range(3)]
        assert [m.id for m in memory.list()] == [m.id for m in memory.recent()] == ids
        assert len({m.id for m in memory.list()}) == 4

    def test_nothing_is_lost_or_ends_too_soon(self, memory, clock, jump):
        """What never expires is found; what does, from its moment on; going back shows it again."""
        memory.add("a blue kettle")
        memory.add("a green kettle", expires_in=3600)
        clock.advance(jump)
        expected = {"a blue kettle"} | ({"a green kettle"} if jump < timedelta(hours=1) else set())
        assert {m.text for m in memory.list()} == expected
        assert {hit.text for hit in memory.retrieve("kettle", k=9)} == expected
        clock.advance(-jump)
        assert {m.text for m in memory.list()} == {"a blue kettle", "a green kettle"}

    def test_the_newer_value_holds(self, memory, clock, jump):
        """A slot shows what came last, whatever time it came at; nothing ends before it began."""
        old = memory.add("Helix", key="editor")
        clock.advance(jump)
        new = memory.add("Emacs", key="editor")
        assert [m.text for m in memory.list()] == ["Emacs"]
        assert memory.get(old.id).superseded_by == new.id
        assert memory.get(old.id).valid_until >= old.valid_from
        assert all(finding.ok for finding in memory.store.doctor())

    def test_changes_go_on(self, open_memory, clock, jump):
        """Update, forget and restore work, and history is in the order it happened."""
        memory = open_memory()
        kept = memory.add("one")
        clock.advance(jump)
        memory.update(kept.id, text="two")
        clock.advance(-jump)
        memory.update(kept.id, text="three")
        memory.forget(kept.id)
        memory.restore(kept.id)
        texts = [version.text for version in memory.history(kept.id)]
        assert sorted(texts, key=["one", "two", "three"].index) == texts
        memory.close()
        assert open_memory().get(kept.id).text == "three"


def test_summer_time_is_no_jump(open_memory):
    """An hour that the wall clock shows twice is two hours; times are kept in UTC."""
    moment = [datetime(2025, 10, 26, 2, 30, tzinfo=timezone(timedelta(hours=2)))]
    memory = open_memory(clock=lambda: moment[0])
    first = memory.add("before", expires_in=5400)
    moment[0] = datetime(2025, 10, 26, 2, 30, tzinfo=timezone(timedelta(hours=1)))
    second = memory.add("after")
    assert second.created_at - first.created_at == timedelta(hours=1)
    assert first.created_at == datetime(2025, 10, 26, 0, 30, tzinfo=UTC)
    assert [m.text for m in memory.list()] == ["before", "after"]
    moment[0] += timedelta(minutes=31)
    assert [m.text for m in memory.list()] == ["after"]
