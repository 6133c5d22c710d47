"""A slot holds one value at a time: valid time decides which, not the order of arrival."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

YEARS = tuple(datetime(year, 1, 1, tzinfo=UTC) for year in (2010, 2015, 2020, 2024))
NAMES = ("Ann", "Bob", "Cem", "Dot")
DAY = timedelta(days=1)
FAR = datetime(9998, 1, 1, tzinfo=UTC)


def tell(memory, order, **options):
    """Say who was CEO from when, in an order of arrival."""
    return {n: memory.add(NAMES[n], key="ceo", occurred_at=YEARS[n], **options) for n in order}


def chain(memory):
    """Return the values of the slot by time: text, status, successor, from, until."""
    kept = memory.list(status=["active", "superseded"], limit=100)
    names = {m.id: m.text for m in kept}
    return sorted(
        (m.valid_from, m.text, m.status, names.get(m.superseded_by), m.valid_until) for m in kept
    )


def test_an_older_value_that_comes_later_is_history(memory):
    """The present stays; the late value ends where that began, and answers for its own time."""
    now = memory.add("Ann is CEO", key="ceo", occurred_at=YEARS[2])
    late = memory.add("Bob was CEO", key="ceo", occurred_at=YEARS[0])
    assert [m.text for m in memory.list()] == ["Ann is CEO"]
    assert (late.status, late.superseded_by, late.valid_until) == (
        "superseded",
        now.id,
        now.valid_from,
    )
    assert memory.get(late.id) == late
    assert memory.get(now.id) == now
    found = memory.retrieve("who was CEO", as_of=YEARS[1])
    assert [hit.text for hit in found] == ["Bob was CEO"]
    assert [hit.text for hit in memory.retrieve("who is CEO")] == ["Ann is CEO"]


@settings(max_examples=25)
@given(st.permutations(range(4)), st.booleans(), st.booleans())
def test_more_values_with_ends_of_their_own(open_memory, tmp_path_factory, order, ends, batch):
    """Four values, one at a time or in a batch, each perhaps with an end of its own."""
    folder = tmp_path_factory.mktemp("late")
    right, other = open_memory(folder / "right"), open_memory(folder / "other")
    options = {"valid_until": datetime(2031, 1, 1, tzinfo=UTC)} if ends else {}
    tell(right, range(4), **options)
    if batch:
        other.add_many(
            {"text": NAMES[n], "key": "ceo", "occurred_at": YEARS[n], **options} for n in order
        )
    else:
        tell(other, order, **options)
    assert chain(other) == chain(right)
    right.close()
    other.close()


def test_saying_the_past_again_adds_nothing(memory):
    """Reading the same old chat twice gives one history."""
    for _ in range(2):
        tell(memory, (2, 0, 1))
    assert [text for _, text, *_ in chain(memory)] == ["Ann", "Bob", "Cem"]


def test_of_equal_times_the_later_arrival_wins(memory):
    """Both hold from the same moment: the last word counts."""
    memory.add("Ann", key="ceo", occurred_at=YEARS[0])
    memory.add("Bob", key="ceo", occurred_at=YEARS[0])
    assert [m.text for m in memory.list()] == ["Bob"]


def test_a_value_without_a_time_means_now(memory):
    """It follows what held before, and is followed by nothing that held earlier."""
    tell(memory, (1,))
    memory.add("Dot", key="ceo")
    tell(memory, (2, 0))
    assert [m.text for m in memory.list()] == ["Dot"]
    assert [text for _, text, *_ in chain(memory)] == ["Ann", "Bob", "Cem", "Dot"]


def test_what_expired_holds_no_slot(memory, clock):
    """A value that is gone does not keep an older one from being the present."""
    memory.add("Cem", key="ceo", occurred_at=YEARS[2], expires_in=60)
    clock.advance(DAY)
    memory.add("Ann", key="ceo", occurred_at=YEARS[0])
    assert [m.text for m in memory.list()] == ["Ann"]


def test_a_late_value_with_an_end_of_its_own_keeps_it(memory):
    """Between its end and the next value nothing held."""
    tell(memory, (2,))
    late = memory.add("Ann", key="ceo", occurred_at=YEARS[0], valid_until=YEARS[0] + DAY)
    assert late.valid_until == YEARS[0] + DAY
    assert not memory.retrieve("Ann Cem", as_of=YEARS[1]).hits


class TestPlans:
    """A value of the future takes the slot when it is told; whatever is told later may take it."""

    @pytest.mark.parametrize("source", ["user", "agent", "web"])
    def test_what_is_told_later_without_a_date_is_the_present(self, memory, clock, source):
        """A plan of any source for any future date gives way and stays in the history."""
        memory.add("lunch is at Luigi", key="lunch", source="agent" if source == "agent" else None)
        clock.advance(DAY)
        plan = memory.add("lunch will be at Mario", key="lunch", source=source, occurred_at=FAR)
        if source == "web":
            memory.quarantine.approve(plan.id)
        assert [m.text for m in memory.list()] == ["lunch will be at Mario"]
        clock.advance(DAY)
        present = memory.add("lunch is at Max", key="lunch")
        assert memory.list() == [present]
        plan = memory.get(plan.id)
        assert (plan.status, plan.superseded_by, plan.valid_from) == ("superseded", present.id, FAR)
        assert [hit.text for hit in memory.retrieve("lunch")] == ["lunch is at Max"]

    def test_the_present_value_is_found_until_then(self, memory, clock):
        """First, in a block as well; from then on the plan alone, and later what follows it."""
        memory.add("lunch is at Luigi", key="lunch")
        memory.add("lunch will be at Mario", key="lunch", occurred_at=FAR)
        memory.add("lunch will be at Gina", key="lunch", occurred_at=FAR + DAY)
        memory.flush(wait=True)

        def found(**options):
            return [hit.text for hit in memory.retrieve("where is lunch?", **options)]

        both = ["lunch is at Luigi", "lunch will be at Gina"]
        assert found() == found(tier="medium") == both
        block = memory.prompt("where is lunch?")
        assert block.index("Luigi") < block.index("Gina")
        assert '"until": ' in block
        clock.advance(FAR + DAY / 2 - clock())
        assert found() == ["lunch will be at Mario", "lunch will be at Gina"]
        clock.advance(FAR + DAY - clock())
        assert found() == ["lunch will be at Gina"]

    def test_no_two_values_hold_at_one_moment(self, memory, clock):
        """The value before a plan ends where the one told after the plan begins."""
        began = clock()
        memory.add("lunch is at Luigi", key="lunch")
        memory.add("lunch will be at Mario", key="lunch", occurred_at=FAR)
        memory.add("lunch will be at Gina", key="lunch", occurred_at=FAR + DAY)
        clock.advance(DAY)
        memory.add("lunch is at Max", key="lunch")
        for moment, text in ((began, "lunch is at Luigi"), (began + 2 * DAY, "lunch is at Max")):
            assert [hit.text for hit in memory.retrieve("lunch", as_of=moment)] == [text]

    def test_a_plan_can_be_made_again(self, memory):
        """Its first telling, which gave way, is not taken for it."""
        plan = memory.add("lunch will be at Mario", key="lunch", occurred_at=FAR)
        memory.add("lunch is at Max", key="lunch")
        again = memory.add("lunch will be at Mario", key="lunch", occurred_at=FAR)
        assert memory.list() == [again]
        assert again.id != plan.id

    def test_an_imported_plan_counts_from_when_it_was_told(self, open_memory, tmp_path, clock):
        """Of two stores the slot goes to the value told last, not to the farthest date."""
        ours, theirs = open_memory(tmp_path / "ours"), open_memory(tmp_path / "theirs")
        ours.add("lunch will be at Mario", key="lunch", occurred_at=FAR)
        clock.advance(DAY)
        theirs.add("lunch is at Max", key="lunch")
        theirs.store.export(tmp_path / "theirs.jsonl")
        ours.store.import_from(tmp_path / "theirs.jsonl", trust="user")
        assert [m.text for m in ours.list()] == ["lunch is at Max"]


@pytest.mark.parametrize("way", ["replace", "update"])
def test_a_clock_set_back_buries_nothing_that_was_not_dated(memory, clock, way):
    """A value put under its id, or moved into its slot, before the clock went back is no plan."""
    memory.add("uses vim", key="editor", id="a", scope="" if way == "replace" else "desk")
    clock.advance(DAY)
    if way == "replace":
        memory.add("uses nano", key="editor", id="a", replace=True)
    else:
        memory.update("a", scope="")
    clock.advance(-timedelta(seconds=2))
    assert memory.add("uses ed", key="editor", occurred_at=YEARS[0]).status == "superseded"
    memory.add("uses emacs", key="editor")
    assert [m.text for m in memory.list()] == ["uses emacs"]
