"""A slot has a value, former values, and a way back to the value before."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from beside import write_sql
from hypothesis import given, settings
from hypothesis import strategies as st

from memento import MemoryManager, Source
from memento.errors import AmbiguousId, InvalidInput, NotFound, StoreUnusable
from memento.testing import ManualClock

DAY = timedelta(days=1)
START = datetime(2025, 1, 1, tzinfo=UTC)


def tell(memory, clock, *texts, key="home", **fields):
    """Give a slot several values, a day apart; the clock stands at the last."""
    told = []
    for text in texts:
        clock.advance(DAY)
        told.append(memory.add(text, key=key, **fields))
    return told


def held(memory, key="home", **slot):
    """Return the history of a slot: text and reason of each value, and the days it held."""
    day = lambda at: None if at is None else (at - START).days  # noqa: E731 - said twice
    return [
        (one.memory.text, day(one.since), day(one.until), one.reason)
        for one in memory.slots.history(key, **slot)
    ]


class TestValue:
    """``value`` returns what holds at a moment."""

    def test_the_newest_value_holds(self, memory, clock):
        """Of several values the last one, with all its fields; the same as ``get``."""
        *_, last = tell(memory, clock, "Utrecht", "Delft", "Gouda")
        assert memory.value("home") == last == memory.get(last.id)

    def test_a_moment_of_the_past_has_its_own_value(self, memory, clock):
        """Each value from its start, inclusive, to its end, exclusive; before all there is none."""
        first, second = tell(memory, clock, "Utrecht", "Delft")
        at = lambda moment: memory.value("home", as_of=moment)  # noqa: E731 - said five times
        assert at(first.valid_from - timedelta(microseconds=1)) is None
        assert at(first.valid_from).id == first.id
        assert at(second.valid_from - timedelta(microseconds=1)).id == first.id
        assert at(second.valid_from).id == second.id
        assert at(second.valid_from + 99 * DAY).id == second.id

    def test_a_moment_of_the_past_has_the_text_of_then(self, memory, clock):
        """A value that was changed since is told as it was."""
        (kept,) = tell(memory, clock, "Utrecht")
        clock.advance(DAY)
        memory.update(kept.id, text="Delft")
        assert memory.value("home", as_of=START + DAY).text == "Utrecht"
        assert memory.value("home").text == "Delft"

    def test_a_planned_value_holds_from_its_moment_on(self, memory, clock):
        """Until then the value before it, and the plan at its own moment."""
        (now,) = tell(memory, clock, "Utrecht")
        plan = memory.add("Delft", key="home", occurred_at=START + 9 * DAY)
        assert memory.value("home").id == now.id
        assert memory.value("home", as_of=START + 9 * DAY).id == plan.id
        clock.advance(8 * DAY)
        assert memory.value("home").id == plan.id

    def test_a_clock_that_was_set_back_does_not_hide_the_value(self, memory, clock):
        """A value without a later start is valid at once, even if the clock is set back."""
        _, last = tell(memory, clock, "Utrecht", "Delft")
        clock.advance(-2 * DAY)
        assert memory.value("home").id == last.id

    def test_what_is_told_after_the_clock_was_set_back_is_the_value(self, memory, clock):
        """The values that it replaced begin later by their own dates, and hold at no moment now."""
        tell(memory, clock, "Utrecht", "Delft", "Gouda")
        clock.advance(-3 * DAY)
        (last,) = tell(memory, clock, "Hoorn")
        assert memory.value("home").id == last.id
        (again,) = tell(memory, clock, "Edam")
        assert memory.value("home").id == again.id
        assert memory.value("home").id == memory.list(key="home")[0].id

    def test_what_is_over_holds_no_more(self, memory, clock):
        """Neither a value that expired, nor one that was valid until a moment; none comes back."""
        for key, end in (("a", {"expires_in": 60}), ("b", {"valid_until": START + 5 * DAY})):
            tell(memory, clock, "Utrecht", key=key)
            memory.add("Delft", key=key, **end)
            assert memory.value(key).text == "Delft"
        clock.advance(9 * DAY)
        assert (memory.value("a"), memory.value("b")) == (None, None)
        assert [text for text, *_ in held(memory, "a")] == ["Utrecht"]
        assert held(memory, "b")[-1] == ("Delft", 2, 5, "ended")

    @pytest.mark.parametrize("verb", ["forget", "erase"])
    def test_what_is_gone_holds_no_more(self, memory, clock, verb):
        """At no moment; the value before it keeps its own time."""
        first, last = tell(memory, clock, "Utrecht", "Delft")
        memory.forget(last.id) if verb == "forget" else memory.store.erase(last.id)
        assert memory.value("home", as_of=last.valid_from) is memory.value("home") is None
        assert memory.value("home", as_of=first.valid_from).id == first.id

    def test_what_is_quarantined_is_no_value(self, memory, clock):
        """Not of a free slot and not of a taken one; once approved it is of its time."""
        page = memory.add("Gouda", key="home", source="web")
        assert memory.value("home") is None
        assert memory.slots.history("home") == []
        (kept,) = tell(memory, clock, "Utrecht")
        assert memory.value("home").id == kept.id
        assert held(memory) == [("Utrecht", 1, None, "present")]
        memory.quarantine.approve(page.id)
        assert memory.value("home").id == kept.id
        assert memory.value("home", as_of=page.valid_from).id == page.id

    def test_a_slot_is_a_key_in_a_scope_of_a_namespace(self, memory, clock):
        """Another scope, an outer one, another namespace and one below: other slots."""
        tell(memory, clock, "Utrecht", scope="a/b")
        below = memory.of("default", "team")
        assert memory.value("home", scope="a/b").text == "Utrecht"
        for view, scope in ((memory, ""), (memory, "a"), (memory, "a/b/c"), (below, "a/b")):
            assert view.value("home", scope=scope) is None
            assert view.slots.history("home", scope=scope) == []
            with pytest.raises(InvalidInput, match="no earlier value"):
                view.slots.revert("home", scope=scope)
        tell(below, clock, "Delft", scope="a/b")
        assert memory.value("home", scope="a/b").text == "Utrecht"

    @pytest.mark.parametrize(
        "options", [{"key": ""}, {"key": 5}, {"scope": "a//b"}, {"as_of": "today"}]
    )
    def test_what_is_no_slot_is_refused(self, memory, options):
        """A key, a scope or a moment that could never be stored is an error, not None."""
        with pytest.raises(InvalidInput):
            memory.value(**{"key": "home", **options})

    def test_a_damaged_value_is_an_error(self, memory, clock):
        """The value before is not told as the present one."""
        _, last = tell(memory, clock, "Utrecht", "Delft")
        write_sql(memory, "UPDATE memories SET text = 'Velp' WHERE id = ?", last.id)
        for look in (
            lambda: memory.value("home"),
            lambda: memory.slots.history("home"),
        ):
            with pytest.raises(StoreUnusable, match=last.id):
                look()


class TestHistory:
    """``history(key=...)`` returns every value of a slot, and when it held."""

    def test_each_value_and_its_time(self, memory, clock):
        """One after the other, in order of valid time, whatever the order of arrival."""
        tell(memory, clock, "Utrecht", "Delft")
        memory.add("Gouda", key="home", occurred_at=START - 5 * DAY)
        memory.add("Velp", key="home", occurred_at=START + 9 * DAY)
        assert held(memory) == [
            ("Gouda", -5, 1, "superseded"),
            ("Utrecht", 1, 2, "superseded"),
            ("Delft", 2, 9, "present"),
            ("Velp", 9, None, "planned"),
        ]

    def test_why_each_value_ended(self, memory, clock):
        """Superseded, over by itself, or a plan that never held."""
        tell(memory, clock, "Utrecht", valid_until=START + 2 * DAY)
        clock.advance(2 * DAY)
        assert held(memory) == [("Utrecht", 1, 2, "ended")]
        memory.add("Delft", key="home")
        memory.add("Velp", key="home", occurred_at=START + 20 * DAY)
        memory.add("Gouda", key="home")
        assert held(memory) == [
            ("Utrecht", 1, 2, "ended"),
            ("Delft", 3, 3, "superseded"),
            ("Gouda", 3, None, "present"),
            ("Velp", 20, 20, "withdrawn"),
        ]

    def test_what_is_hidden_is_left_out(self, memory, clock):
        """Forgotten and expired values; a restored one is there again."""
        (first,) = tell(memory, clock, "Utrecht")
        tell(memory, clock, "Delft", expires_in=60)
        tell(memory, clock, "Gouda")
        assert [text for text, *_ in held(memory)] == ["Utrecht", "Gouda"]
        memory.forget(first.id)
        assert [text for text, *_ in held(memory)] == ["Gouda"]
        memory.restore(first.id)
        assert held(memory)[0] == ("Utrecht", 1, 2, "superseded")

    def test_the_states_of_one_memory_and_the_values_of_a_slot(self, memory, clock):
        """By id it is the states of one memory, by key the values of a slot."""
        (kept,) = tell(memory, clock, "Utrecht")
        assert [state.text for state in memory.changes.history(kept.id)] == ["Utrecht"]
        with pytest.raises(NotFound):
            memory.changes.history("nobody")
        assert memory.slots.history("nobody") == []

    def test_what_is_told_now_takes_every_plan_back(self, memory, clock):
        """Not only the last one; and it holds without a gap or an end."""
        tell(memory, clock, "Utrecht")
        for day in (9, 5, 20):
            memory.add(f"plan {day}", key="home", occurred_at=START + day * DAY)
        assert held(memory)[-1] == ("plan 20", 20, None, "planned")
        tell(memory, clock, "Delft")
        assert held(memory) == [
            ("Utrecht", 1, 2, "superseded"),
            ("Delft", 2, None, "present"),
            ("plan 5", 5, 5, "withdrawn"),
            ("plan 9", 9, 9, "withdrawn"),
            ("plan 20", 20, 20, "withdrawn"),
        ]
        assert {one.memory.superseded_by for one in memory.slots.history("home")[2:]} <= {
            memory.value("home").id,
            *(one.memory.id for one in memory.slots.history("home")[2:]),
        }


class TestRevert:
    """``revert`` lets the value before hold again, and the past stays as it was."""

    def test_the_value_before_holds_from_now_on(self, memory, clock):
        """As a memory of its own, derived from that value, with its fields."""
        fields = {"kind": "preference", "tags": ["x"], "metadata": {"n": 1}, "actor": "Rami"}
        before, wrong = tell(memory, clock, "Utrecht", "Delft", **fields)
        clock.advance(DAY)
        now = memory.slots.revert("home")
        assert memory.value("home") == now == memory.get(now.id)
        same = ("text", "kind", "tier", "tags", "metadata", "actor", "importance", "key", "scope")
        assert [getattr(now, name) for name in same] == [getattr(before, name) for name in same]
        assert now.source.parents == (before.id,)
        assert now.source.kind is before.source.kind
        assert held(memory) == [
            ("Utrecht", 1, 2, "superseded"),
            ("Delft", 2, 3, "superseded"),
            ("Utrecht", 3, None, "present"),
        ]
        assert memory.get(wrong.id).superseded_by == now.id
        assert memory.get(before.id).superseded_by == wrong.id

    def test_it_is_found(self, memory, clock):
        """By its words; the value that it replaced is not."""
        tell(memory, clock, "Rami lives in Utrecht", "Rami lives in Delft")
        now = memory.slots.revert("home")
        assert [hit.id for hit in memory.retrieve("Where does Rami live?")] == [now.id]

    def test_reverting_again_brings_the_other_back(self, memory, clock):
        """As often as it is done; no value is lost."""
        tell(memory, clock, "Gouda", "Utrecht", "Delft")
        for text in ("Utrecht", "Delft", "Utrecht"):
            clock.advance(DAY)
            assert memory.slots.revert("home").text == text
        assert [text for text, *_ in held(memory)] == [
            "Gouda", "Utrecht", "Delft", "Utrecht", "Delft", "Utrecht",
        ]  # fmt: skip

    def test_a_plan_is_taken_back(self, memory, clock):
        """The present value holds on; the plan stays in the history as withdrawn."""
        tell(memory, clock, "Utrecht")
        memory.add("Delft", key="home", occurred_at=START + 9 * DAY)
        clock.advance(DAY)
        memory.slots.revert("home")
        assert held(memory) == [
            ("Utrecht", 1, 2, "superseded"),
            ("Utrecht", 2, None, "present"),
            ("Delft", 9, 9, "withdrawn"),
        ]

    def test_a_plan_that_was_given_up_never_comes_back(self, memory, clock):
        """It never held, although the moment that it was made for is past by now."""
        tell(memory, clock, "Utrecht")
        memory.add("Delft", key="home", occurred_at=START + 9 * DAY)
        tell(memory, clock, "Gouda")
        clock.advance(20 * DAY)
        assert memory.slots.revert("home").text == "Utrecht"
        assert memory.slots.revert("home").text == "Gouda"

    @pytest.mark.parametrize("end", ["forget", "expire", "erase"])
    def test_of_an_empty_slot_it_is_the_last_value_that_held(self, memory, clock, end):
        """After the present value was forgotten or erased, or has expired."""
        _, last = tell(memory, clock, "Utrecht", "Delft")
        if end == "forget":
            memory.forget(last.id)
        elif end == "erase":
            memory.store.erase(last.id)
        else:
            memory.store.touch(last.id, 60)
            clock.advance(DAY)
        assert memory.slots.revert("home").text == "Utrecht"
        assert memory.value("home").text == "Utrecht"

    def test_an_approved_value_needs_no_second_approval(self, memory, clock):
        """It comes back active, trusted as before."""
        page = memory.add("Utrecht", key="home", source="web")
        memory.quarantine.approve(page.id)
        tell(memory, clock, "Delft")
        now = memory.slots.revert("home")
        assert (now.text, now.status, now.source.kind) == ("Utrecht", "active", "web")
        assert memory.quarantine.list() == []

    def test_a_quarantined_value_never_comes_back(self, memory, clock):
        """It is no value before, and neither is a rejected or forgotten one."""
        first, _ = tell(memory, clock, "Utrecht", "Delft")
        page = memory.add("Gouda", key="home", source="web")
        memory.quarantine.reject(page.id)
        memory.add("Velp", key="home", source="web")
        memory.forget(first.id)
        with pytest.raises(InvalidInput, match="no earlier value"):
            memory.slots.revert("home")
        assert memory.value("home").text == "Delft"

    def test_a_value_that_was_over_by_itself_is_refused(self, memory, clock):
        """It was said to be true only until then."""
        tell(memory, clock, "Utrecht", valid_until=START + 3 * DAY)
        tell(memory, clock, "Delft")
        clock.advance(9 * DAY)
        with pytest.raises(InvalidInput, match="is no longer valid"):
            memory.slots.revert("home")

    def test_a_value_that_is_valid_until_later_keeps_that_end(self, memory, clock):
        """The other value ended it early; its own end is restored."""
        tell(memory, clock, "Utrecht", valid_until=START + 30 * DAY)
        tell(memory, clock, "Delft")
        assert memory.slots.revert("home").valid_until == START + 30 * DAY

    def test_it_is_erased_with_what_it_came_from(self, memory, clock):
        """A reverted value is erased with the value that it came from."""
        page = memory.add("Utrecht", key="home", source="web")
        memory.quarantine.approve(page.id)
        tell(memory, clock, "Delft")
        now = memory.slots.revert("home")
        memory.store.erase(page.id, derived=True)
        with pytest.raises(NotFound):
            memory.get(now.id)

    def test_restoring_what_was_superseded_says_what_to_do(self, memory, clock):
        """A typed error that names ``revert``, and the scope of the slot."""
        first, second = tell(memory, clock, "Utrecht", "Delft", scope="a")
        with pytest.raises(InvalidInput, match="revert with key 'home' in scope 'a'") as raised:
            memory.restore(first.id)
        assert raised.value.field == "id"
        assert second.id in str(raised.value)
        old = memory.add("no slot")
        memory.add("newer", supersedes=old.id)
        with pytest.raises(InvalidInput, match="not forgotten: add its text again"):
            memory.restore(old.id)

    def test_a_damaged_value_is_not_passed_over(self, memory, clock):
        """The one before it is not what held before."""
        _, middle, _ = tell(memory, clock, "Utrecht", "Delft", "Gouda")
        write_sql(memory, "UPDATE memories SET text = 'Velp' WHERE id = ?", middle.id)
        with pytest.raises(StoreUnusable, match=middle.id):
            memory.slots.revert("home")


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "late", "plan", "revert", "forget", "wait"]),
        st.integers(0, 4),
    ),
    max_size=12,
)


@settings(max_examples=40, derandomize=True)
@given(steps=STEPS)
def test_a_slot_holds_at_most_one_value_at_any_moment(tmp_path_factory, steps):
    """After any steps no two values of a slot overlap, and ``value`` is the one that holds."""
    clock = ManualClock(START)
    with MemoryManager(tmp_path_factory.mktemp("s"), embedder=None, clock=clock) as memory:
        for step, n in steps:
            if step == "late" and any(one == "forget" for one, _ in steps):
                continue  # beside a forgotten value nobody can tell until when it held
            if step in ("add", "late", "plan"):
                at = {"add": None, "late": -n * DAY, "plan": n * DAY}[step]
                when = None if at is None else clock() + at
                memory.add(f"value {n}", key="k", occurred_at=when)
            elif step == "forget" and (now := memory.value("k")) is not None:
                memory.forget(now.id)
            elif step == "revert":
                before = memory.value("k")
                try:
                    after = memory.slots.revert("k")
                except InvalidInput:
                    continue
                assert memory.value("k") == after
                assert before is None or before.id != after.id
            clock.advance(DAY / 2)
        values = [one for one in memory.slots.history("k") if one.since != one.until]
        for one, after in pairwise(values):
            assert one.until is not None
            assert one.until <= after.since
        for n in range(-10, 20):
            moment = START + n * DAY / 2
            holds = [
                one.memory.id
                for one in values
                if one.since <= moment and (one.until is None or one.until > moment)
            ]
            found = memory.value("k", as_of=moment)
            assert ([] if found is None else [found.id]) == holds


FILTERS = [
    ({"key": "home"}, "a"),
    ({"key": ["home", "shop"]}, "ab"),
    ({"actor": "Rami"}, "b"),
    ({"role": "assistant"}, "c"),
    ({"source": "agent"}, "c"),
    ({"source": "menu.md"}, "d"),
    ({"source": ["agent", "menu.md"]}, "cd"),
    ({"source": "user", "actor": ["Rami", "Ines"]}, "b"),
    ({"key": "nobody"}, ""),
]


def test_filters_of_slot_and_speaker(memory):
    """The slot, who said it, in which role, and where it comes from: at each verb."""
    for at, (asked, expected) in enumerate(FILTERS):
        view = memory.of(f"user {at}")
        view.add("note a", "long", key="home")
        view.add("note b", "long", key="shop", actor="Rami")
        view.add("note c", "long", role="assistant", source="agent")
        view.add("note d", "long", source=Source(uri="menu.md"))
        for found in (view.list(**asked), view.retrieve("note", 9, **asked)):
            assert {one.text[-1] for one in found} == set(expected), asked
        assert sum(view.store.counts(**asked).values()) == len(expected), asked
        view.forget_many(**asked)
        assert {one.text[-1] for one in view.list()} == set("abcd") - set(expected), asked


def test_a_misspelt_filter_is_refused_with_the_right_name(memory):
    """As for the other filters."""
    with pytest.raises(TypeError, match="did you mean 'actor'"):
        memory.list(actors="Rami")


class TestFullId:
    """A part of an id stands for the whole."""

    def test_the_start_or_the_end(self, memory):
        """Six characters or more, and the whole id whatever its length."""
        for name in ("abcdefgh", "abcdexyz", "abc", "abcdefg"):
            memory.add(f"note {name}", id=name)
        assert memory.store.full_id("abcdex") == "abcdexyz"
        assert memory.store.full_id("cdefgh") == "abcdefgh"
        assert memory.store.full_id("abcdefg") == "abcdefg"
        assert memory.store.full_id("abc") == "abc"

    def test_several_fit(self, memory):
        """The error names them and what to do."""
        kept = [memory.add(f"note {n}", id=f"abcdef{n}") for n in range(4)]
        with pytest.raises(AmbiguousId, match="specify more of the first") as raised:
            memory.store.full_id("abcdef")
        assert raised.value.ids == tuple(one.id for one in kept)

    def test_none_fits(self, memory):
        """Too short, unknown, or of another namespace."""
        memory.of("other").add("note", id="abcdefgh")
        memory.add("note", id="uvwxyz1")
        for short in ("abcdef", "uvwxy", "%vwxyz1", "_vwxyz"):
            with pytest.raises(NotFound):
                memory.store.full_id(short)
