"""At any moment at most one value of a slot holds, in whatever order its values were told."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

DAY = timedelta(days=1)
MIXTURES = [
    (-4, -3, -2, -1), (-3, -2, -1, 1), (-2, -1, 1, 2), (-1, 0, 1, 2), (-1, 1, 2, 3), (1, 2, 3, 4),
]  # fmt: skip


def told(live, day, today=0):
    """Return the days from which values hold, after another was told that begins on a day.

    A value that another one followed by today is history; any other gives up the plans after it.
    """
    history = any(day < other <= today for other in live)
    return sorted({other for other in live if history or other < day} | {day})


def of_slot(memory, scope=""):
    """Return the values of a slot that are not hidden."""
    kept = memory.list(status=["active", "superseded"], limit=200)
    return [m for m in kept if m.key == "k" and m.scope == scope]


def holding(memory, moment):
    """Name the values that hold at a moment."""
    return [
        m.text
        for m in of_slot(memory)
        if m.valid_from <= moment and (m.valid_until is None or m.valid_until > moment)
    ]


def overlaps(memory, scope=""):
    """Return the pairs of values of the slot that hold at one moment."""
    spans = sorted(
        ((m.valid_from, m.valid_until or m.valid_from + 9999 * DAY, m.text))
        for m in of_slot(memory, scope)
        if m.valid_until is None or m.valid_until > m.valid_from
    )
    return [(one, two) for one, two in pairwise(spans) if one[1] > two[0]]


def say(memory, day, now, **options):
    """Tell the value of a day."""
    return memory.add(f"value of {day}", key="k", occurred_at=now + day * DAY, **options)


@pytest.mark.parametrize("days", MIXTURES, ids=str)
def test_any_order_of_past_present_and_future(memory, clock, days):
    """As of each moment the value holds that began last, of those that were not given up."""
    now = clock()
    for n, order in enumerate(permutations(days)):
        view = memory.of(f"order {n}")
        live = []
        for day in order:
            say(view, day, now)
            live = told(live, day)
        for half in range(-9, 10):
            wanted = [f"value of {day}" for day in live if day <= half / 2][-1:]
            assert holding(view, now + half / 2 * DAY) == wanted, (order, half)
        shown = [hit.text for hit in view.retrieve("value", as_of=now + 9 * DAY)]
        assert shown == [f"value of {live[-1]}"], order
        assert [m.text for m in view.list()] == shown, order


def test_plans_that_led_to_a_plan_are_given_up_with_it(memory, clock):
    """Plans for the second and third day; then one for the first day, told last, holds alone."""
    now = clock()
    plans = [say(memory, day, now) for day in (2, 3, 1)]
    for moment in (1.5, 2.5, 3.5):
        assert holding(memory, now + moment * DAY) == ["value of 1"]
    assert {memory.get(plan.id).superseded_by for plan in plans[:2]} == {plans[2].id}
    links = {(link.relation, link.memory.id) for link in memory.insight.related(
        plans[2].id, status=["active", "superseded"])}  # fmt: skip
    assert links == {("supersedes", plans[0].id), ("supersedes", plans[1].id)}


def test_a_plan_that_was_given_up_is_told_again_after_its_day(memory, clock):
    """It did not hold then, so that telling it again is news."""
    now = clock()
    say(memory, 5, now)
    say(memory, 1, now)
    clock.advance(9 * DAY)
    say(memory, 5, now)
    assert holding(memory, clock()) == ["value of 5"]
    assert holding(memory, now + 3 * DAY) == ["value of 1"]


def test_a_value_that_was_forgotten_comes_back_beside_the_one_told_meanwhile(memory, clock):
    """A former value is restored; it ends where the value told meanwhile begins."""
    now = clock()
    middle = [say(memory, day, now) for day in (-9, -5, -1)][1]
    memory.forget(middle.id)
    say(memory, -3, now)
    memory.restore(middle.id)
    assert not overlaps(memory)
    assert holding(memory, now - 4 * DAY) == ["value of -5"]
    assert holding(memory, now - 2 * DAY) == ["value of -3"]


def test_a_late_value_ends_where_the_next_begins_although_the_holder_was_forgotten(memory, clock):
    """Forgetting the present value makes no present one of what another value followed."""
    now = clock()
    for day in (-9, -5):
        say(memory, day, now)
    memory.forget(say(memory, -1, now).id)
    late = say(memory, -7, now)
    assert (late.status, holding(memory, now - 4 * DAY)) == ("superseded", ["value of -5"])
    assert not overlaps(memory)


def test_a_value_told_after_the_holder_was_forgotten_ends_the_one_before(memory, clock):
    """The former value before it ends where it begins."""
    now = clock()
    say(memory, -9, now)
    memory.forget(say(memory, -1, now).id)
    assert say(memory, -5, now).status == "active"
    assert holding(memory, now - 3 * DAY) == ["value of -5"]


def test_a_value_moved_into_the_scope_of_others_takes_its_time_from_them(memory, clock):
    """The value moved in wins the slot; none of the others holds after it begins."""
    now = clock()
    for day in (-9, -5, -1):
        say(memory, day, now)
    memory.update(say(memory, -7, now, scope="x").id, scope="")
    assert not overlaps(memory)
    assert holding(memory, now) == ["value of -7"]
    assert holding(memory, now - 8 * DAY) == ["value of -9"]


def test_a_former_value_moved_or_lengthened_makes_room(memory, clock):
    """Another scope or another end never makes a former value hold beside another one."""
    now = clock()
    for day in (-9, -4, -1):
        say(memory, day, now)
    moved = say(memory, -7, now, scope="x")
    say(memory, -2, now, scope="x")
    memory.update(moved.id, scope="")
    assert holding(memory, now - 5 * DAY) == ["value of -7"]
    for one in (*of_slot(memory), *of_slot(memory, "x")):
        memory.update(one.id, valid_until=None)
    assert not overlaps(memory)
    assert not overlaps(memory, "x")


@pytest.mark.parametrize("ours", list(permutations((-8, -6, -2))), ids=str)
def test_an_imported_chain_is_put_between_ours(open_memory, tmp_path, clock, ours):
    """Values of two stores: each ends where the next of either begins."""
    now = clock()
    here, there = open_memory(tmp_path / "here"), open_memory(tmp_path / "there")
    for day in ours:
        say(here, day, now)
    for day in (-7, -5, -3):
        say(there, day, now)
    there.store.export(tmp_path / "there.jsonl")
    here.store.import_from(tmp_path / "there.jsonl", trust="user")
    assert not overlaps(here)
    for half in range(-16, 1):
        wanted = [f"value of {day}" for day in (-8, -7, -6, -5, -3, -2) if day <= half / 2][-1:]
        assert holding(here, now + half / 2 * DAY) == wanted


STEPS = st.one_of(
    st.tuples(st.just("add"), st.integers(-4, 6), st.sampled_from([None, 1, 3])),
    st.tuples(st.just("undated"), st.just(0), st.none()),
    st.tuples(st.sampled_from(["forget", "restore", "end", "move"]), st.integers(0, 9), st.none()),
    st.tuples(st.just("wait"), st.integers(1, 2), st.none()),
)


def step(memory, clock, made, what, n, days):
    """Do one step of a history."""
    if what == "wait":
        clock.advance(n * DAY)
    elif what in ("add", "undated"):
        dated = {} if what == "undated" else {"occurred_at": clock() + n * DAY}
        if days is not None:
            dated["valid_until"] = clock() + (n + days) * DAY
        made.append(memory.add(f"value {len(made)}", key="k", **dated).id)
    elif made:
        one = memory.get(made[n % len(made)])
        if what == "forget":
            memory.forget(one.id)
        elif what == "restore" and one.status == "forgotten":
            memory.restore(one.id)
        elif what == "end" and one.status != "forgotten":
            memory.update(one.id, valid_until=None)
        elif what == "move" and one.status != "forgotten":
            memory.update(one.id, scope="" if one.scope else "x")


@settings(max_examples=60)
@given(st.lists(STEPS, max_size=14))
def test_no_history_lets_two_values_hold_at_once(open_memory, tmp_path_factory, clock, steps):
    """Told, planned, hidden, restored, moved and prolonged in any order."""
    memory = open_memory(tmp_path_factory.mktemp("slot"))
    made = []
    for what, n, days in steps:
        step(memory, clock, made, what, n, days)
        for scope in ("", "x"):
            assert not overlaps(memory, scope)
            assert sum(m.status == "active" for m in of_slot(memory, scope)) <= 1
    memory.close()


@pytest.mark.parametrize("how", ["forget", "expire"])
def test_a_plan_that_was_given_up_leaves_the_value_before_it(how, memory, clock):
    """What holds now goes on; undoing it, or a restore, plans again."""
    now = clock()
    present = say(memory, -1, now)
    plan = say(memory, 30, now, expires_in=2 * DAY)
    assert memory.get(present.id).status == "superseded"
    if how == "expire":
        clock.advance(3 * DAY)
        memory.store.sweep()
    else:
        memory.forget(plan.id)
    assert [one.text for one in memory.list()] == ["value of -1"]
    assert [hit.id for hit in memory.retrieve("value")] == [present.id]
    if how == "expire":
        return
    memory.undo(memory.changes.list()[0].number)
    assert memory.value("k").id == present.id
    assert memory.get(present.id).superseded_by == plan.id
    memory.forget(plan.id)
    memory.restore(plan.id)
    assert memory.get(present.id).superseded_by == plan.id
    assert overlaps(memory) == []
