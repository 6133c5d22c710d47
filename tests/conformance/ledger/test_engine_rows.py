"""The shared text of SQL treats rows the same on every engine."""

from __future__ import annotations

import json

import pytest
from engine_bench import START, seqs
from hypothesis import given, settings
from hypothesis import strategies as st

from memento.errors import IdConflict, InvalidInput, NotFound
from memento.ledger import links, memories, past, slot_rows
from memento.ledger.predicate import Filters
from memento.ledger.rows import docid_of, is_sound, is_whole
from memento.types import Event, Reason
from memento.write import slots
from memento.write.steps import hide


class TestAdd:
    """Rows come in order, repeats fold, chosen ids make a retry idempotent."""

    def test_rows_come_in_order(self, bench):
        """Places count on from 1, in the order given."""
        assert seqs(bench.add("a", "b")) == [1, 2]
        assert seqs(bench.add("c")) == [3]

    def test_a_row_is_sealed(self, bench):
        """A row read back is as it was written."""
        row = bench.one("a", metadata={"x": [1, None, "é"]}, tags=["t"], key="k", actor="Ada")
        assert is_sound(bench.read(memories.by_id, row.id))
        assert bench.read(memories.by_id, row.id) == row

    def test_a_repeat_is_reinforced(self, bench):
        """Equal content that still holds comes once, and counts how often."""
        first, again = bench.one("the same"), bench.one("the same")
        assert again.id == first.id
        assert again.reinforced == 1
        assert len(bench.read(memories.select, Filters(bench.now))) == 1

    def test_so_it_is_within_a_batch(self, bench):
        """A batch that says something twice has one row of it."""
        rows = bench.add("x", "the same", "the same")
        assert rows[1].id == rows[2].id

    def test_a_retry_is_answered_with_what_is_there(self, bench):
        """The same chosen id and content change nothing."""
        first = bench.one("a", id="x")
        rev = bench.read(memories.latest_rev)
        assert bench.one("a", id="x") == first
        assert bench.read(memories.latest_rev) == rev

    def test_a_chosen_id_belongs_to_one_content(self, bench):
        """Another content under the same id is refused, whole."""
        bench.one("a", id="x")
        with pytest.raises(IdConflict):
            bench.add("before", {"text": "b", "id": "x"})
        assert len(bench.read(memories.select, Filters(bench.now))) == 1

    def test_namespaces_share_no_ids(self, bench):
        """An id is one namespace's own."""
        other = bench.of("other")
        bench.one("a", id="x")
        other.one("b", id="x")
        assert bench.read(memories.by_id, "x").text == "a"
        assert other.read(memories.by_id, "x").text == "b"

    def test_expired_content_may_come_again(self, bench):
        """Equal content folds only while it holds."""
        first = bench.one("soon gone", expires_in=1)
        bench.now += 2_000_000
        assert bench.one("soon gone").id != first.id

    def test_quarantined_content_is_no_repeat_of_active(self, bench):
        """The quarantined repeat of an active memory stands by itself."""
        first = bench.one("the same")
        assert bench.add(bench.entry("the same", status="quarantined"))[0].id != first.id
        assert bench.read(memories.by_id, first.id).reinforced == 0

    def test_related_memories_are_linked(self, bench):
        """From the new one to the other."""
        a = bench.one("a", id="a")
        b = bench.one("b", related="a")
        found = bench.ledger.read(lambda s: links.linked(s, a.docid))
        assert found == [(b.docid, a.docid, "related")]

    def test_one_unknown_stops_it_all(self, bench):
        """Nothing is written if it names nobody."""
        with pytest.raises(NotFound):
            bench.add("a", {"text": "b", "related": "nobody"})
        assert bench.read(memories.latest_rev) == 0

    def test_many_at_once_are_many(self, bench):
        """Hundreds of rows in one job come as one by one."""
        rows = bench.add(*(f"note {n}" for n in range(700)))
        assert seqs(rows) == list(range(1, 701))
        assert len(bench.read(memories.by_docids, [row.docid for row in rows])) == 700


class TestRing:
    """The short tier holds so many turns of a session."""

    @pytest.mark.parametrize("ring", [0, 1, 3, 10])
    def test_older_turns_move_to_medium(self, bench, ring):
        """The newest stay, in their session; others are not touched."""
        bench.one("elsewhere", tier="short", session="other", ring=99)
        for number in range(6):
            bench.one(f"turn {number}", tier="short", session="s", ring=ring)
        kept = bench.read(memories.newest_short, "s", 100)
        assert [row.text for row in kept] == [f"turn {n}" for n in range(5, 5 - min(ring, 6), -1)]
        assert len(bench.read(memories.newest_short, "other", 9)) == 1

    def test_no_session_is_a_session_too(self, bench):
        """Turns without one have a ring of their own."""
        bench.one("s", tier="short", session="s", ring=1)
        bench.one("a", tier="short", ring=1)
        bench.one("b", tier="short", ring=1)
        assert [row.text for row in bench.read(memories.newest_short, None, 9)] == ["b"]
        assert [row.text for row in bench.read(memories.newest_short, "s", 9)] == ["s"]

    def test_it_may_be_asked_for(self, bench):
        """``overflow`` does the same after a change."""
        bench.add(*({"text": f"t{n}", "tier": "short", "session": "s"} for n in range(4)))
        bench.change(memories.overflow, ["s"], ring=2)
        assert len(bench.read(memories.newest_short, "s", 9)) == 2

    def test_what_moved_shows_as_changed(self, bench):
        """Rows pushed out have a new revision."""
        bench.add(*({"text": f"t{n}", "tier": "short", "session": "s"} for n in range(3)), ring=1)
        changed = bench.read(past.changes_since, 3, limit=9)
        assert {row.tier for row in changed} == {"medium"}
        assert len(changed) == 2


class TestSlots:
    """A key is filled by one active memory of a scope."""

    def test_the_newer_supersedes(self, bench):
        """The old one is hidden behind the new one, and linked."""
        old = bench.one("vim", key="editor")
        bench.now += 5
        new = bench.one("emacs", key="editor")
        was = bench.read(memories.by_id, old.id)
        assert (was.status, was.superseded_by) == ("superseded", new.id)
        assert was.valid_until == new.valid_from
        found = bench.ledger.read(lambda s: links.linked(s, new.docid))
        assert found == [(new.docid, old.docid, "supersedes")]

    @pytest.mark.parametrize("other", [{"scope": "b"}, {"key": "Editor"}, {"key": None}])
    def test_another_slot_is_another_memory(self, bench, other):
        """Key and scope together are the slot, letter for letter."""
        bench.one("vim", key="editor", scope="a")
        bench.one("emacs", **{"key": "editor", "scope": "a"} | other)
        assert len(bench.read(memories.select, Filters(bench.now))) == 2

    def test_the_holder_is_another(self, bench):
        """``holder`` names the other memory that fills the slot."""
        row = bench.one("vim", key="editor")
        assert bench.ledger.read(lambda s: slot_rows.holder(s, row)) is None
        rival = bench.entry("ed", key="editor").row
        rival.ns, rival.docid = bench.ns, 0
        assert bench.ledger.read(lambda s: slot_rows.holder(s, rival)).id == row.id

    def test_within_a_batch_the_last_holds(self, bench):
        """Each takes the place of the one before it."""
        rows = bench.add(*({"text": f"v{n}", "key": "k"} for n in range(3)))
        assert [row.status for row in rows] == ["superseded", "superseded", "active"]

    def test_one_may_be_named(self, bench):
        """``supersedes`` takes the place of exactly those named."""
        bench.add({"text": "a", "id": "a"}, {"text": "b", "id": "b"}, {"text": "c", "id": "c"})
        bench.one("d", supersedes=["a", "b"])
        assert {row.text for row in bench.read(memories.select, Filters(bench.now))} == {"c", "d"}

    def test_a_quarantined_one_only_proposes(self, bench):
        """The memory that it would replace stays active, and the proposal is stored."""
        old = bench.one("a", id="a")
        (new,) = bench.add(bench.entry("b", status="quarantined", supersedes="a"))
        assert bench.read(memories.by_id, "a").status == "active"
        proposed = bench.ledger.read(lambda s: links.proposed(s, new.docid))
        assert [row.id for row in proposed] == [old.id]

    def test_places_are_given_back(self, bench):
        """The superseded memory is active again, and is valid for as long as before."""
        old = bench.one("a", key="k")
        new = bench.one("b", key="k")
        bench.ledger.write(lambda s: memories.overwrite(s, new, {"status": "quarantined"}))
        returned = bench.change(slots.give_back, new)
        assert [row.id for row in returned] == [old.id]
        now = bench.read(memories.by_id, old.id)
        assert (now.status, now.superseded_by, now.valid_until) == ("active", None, None)

    def test_none_supersedes_itself(self, bench):
        """That is an error."""
        row = bench.one("a")
        with pytest.raises(InvalidInput):
            bench.change(slots.supersede, row, row)


class TestChange:
    """Earlier states are kept, seals follow, readers learn of it."""

    def test_revise_keeps_the_earlier_state(self, bench):
        """The row is new, the state before it in the history."""
        row = bench.one("first")
        changes = {"text": "second", "version": 2, "updated_at": bench.now + 1}
        bench.ledger.write(lambda s: memories.revise(s, row, changes, Reason.UPDATED))
        now = bench.read(memories.by_id, row.id)
        assert (now.text, now.version) == ("second", 2)
        (state,) = bench.ledger.read(lambda s: memories.versions(s, now))
        assert (state.version, state.text, state.until, state.reason) == (
            1, "first", bench.now + 1, "updated",
        )  # fmt: skip

    def test_history_is_oldest_first(self, bench):
        """States stand in the order they ended."""
        row = bench.one("0")
        for number in range(1, 4):
            changes = {"text": str(number), "version": number + 1, "updated_at": bench.now + number}
            bench.ledger.write(lambda s, c=changes: memories.revise(s, row, c, Reason.UPDATED))
        states = bench.ledger.read(lambda s: memories.states(s, row.docid))
        assert [state.text for state in states] == ["0", "1", "2"]

    @pytest.mark.parametrize(("ago", "text"), [(0, "0"), (1, "1"), (2, "2"), (3, "3"), (9, "3")])
    def test_the_text_of_a_moment(self, bench, ago, text):
        """A row can be given the text it had then."""
        row = bench.one("0")
        for number in range(1, 4):
            changes = {
                "text": str(number), "version": number + 1, "updated_at": START + number,
            }  # fmt: skip
            bench.ledger.write(lambda s, c=changes: memories.revise(s, row, c, Reason.UPDATED))
        damaged = bench.ledger.read(lambda s: memories.reword_as_of(s, [row], START + ago))
        assert (row.text, damaged) == (text, set())

    def test_overwrite_keeps_none(self, bench):
        """It changes the row under a new revision, sealed."""
        row = bench.one("a")
        bench.ledger.write(lambda s: memories.overwrite(s, row, {"importance": 0.25}))
        now = bench.read(memories.by_id, row.id)
        assert (now.importance, now.rev) == (0.25, 2)
        assert is_whole(now)
        assert bench.ledger.read(lambda s: memories.states(s, row.docid)) == []

    @pytest.mark.parametrize("reason", [Reason.FORGOTTEN, Reason.REJECTED, Reason.DISOWNED])
    def test_hide_forgets(self, bench, reason):
        """The row stays, forgotten, its state before kept with the reason."""
        row = bench.one("a")
        bench.change(hide, row, reason)
        now = bench.read(memories.by_id, row.id)
        (state,) = bench.ledger.read(lambda s: memories.states(s, row.docid))
        assert (now.status, state.status, state.reason) == ("forgotten", "active", reason)

    def test_hiding_twice_is_hiding(self, bench):
        """One that is forgotten stays as it is."""
        row = bench.one("a")
        for _ in range(2):
            bench.change(hide, row, Reason.FORGOTTEN)
        assert bench.read(memories.latest_rev) == 2

    def test_hidden_ones_are_told(self, bench):
        """Of some ids, those quarantined or forgotten."""
        kept = bench.one("a", id="a")
        bench.add(bench.entry("b", status="quarantined", id="b"))
        gone = bench.one("c", id="c")
        bench.change(hide, gone, Reason.FORGOTTEN)
        ids = [kept.id, "b", "c", "nobody"]
        assert bench.read(memories.hidden_ids, ids, bench.now) == {"b", "c"}

    def test_links_are_made_once(self, bench):
        """Linking again changes nothing, and says so."""
        a, b = bench.add("a", "b")
        ends = a.docid, b.docid
        put = [bench.ledger.write(lambda s: links.link(s, *ends, "related", 0.5)) for _ in range(2)]
        assert put == [True, False]

    def test_redactions_are_counted(self, bench):
        """By kind, in one's own namespace."""
        row = bench.one("a")
        for found in ({"key": 2}, {"key": 1, "card": 1}):
            bench.write(memories.record, bench.now, Event.REDACTED, row.docid, found)
        assert bench.read(memories.redactions) == {"key": 3, "card": 1}
        assert bench.of("other").read(memories.redactions) == {}


class TestFollow:
    """Caches learn what came, changed or went by revision."""

    def test_outlines_of_what_came(self, bench):
        """Each once, with what the read path needs."""
        rows = bench.add({"text": "a", "session": "s", "actor": "Ada"}, {"text": "b", "key": "k"})
        outlines = bench.read(past.outlines_since, 0)
        assert [one[0] for one in outlines] == [row.docid for row in rows]
        assert outlines[0][1:7] == ("s", "Ada", "", "medium", "fact", "active")
        assert outlines[1][15:] == (None, "k", "[]")

    def test_outlines_of_what_changed(self, bench):
        """Only what is later than the revision."""
        first, _, third = bench.add("a", "b", "c")
        bench.change(hide, first, Reason.FORGOTTEN)
        assert [one[0] for one in bench.read(past.outlines_since, 2)] == [
            third.docid, first.docid,
        ]  # fmt: skip
        assert bench.read(past.outlines_since, 4) == []

    def test_changes_stop_at_the_limit(self, bench):
        """As many as asked for."""
        bench.add(*(f"n{n}" for n in range(9)))
        assert len(bench.read(past.changes_since, 0, limit=4)) == 4

    def test_nothing_is_revision_zero(self, bench):
        """An empty namespace is at 0."""
        assert bench.read(memories.latest_rev) == 0

    @settings(max_examples=15)
    @given(steps=st.lists(st.sampled_from(["add", "change", "hide"]), min_size=1, max_size=8))
    def test_following_step_by_step_is_reading_at_once(self, bench, steps):
        """Both readers know the same after any sequence of changes."""
        space = bench.of("follow", repr(steps))
        known, rev = {}, space.read(memories.latest_rev)
        rows = []
        if rev:
            return  # Hypothesis tries an example again
        for number, step in enumerate(steps):
            if step == "add" or not rows:
                rows.append(space.one(f"n{number}"))
            elif step == "change":
                changes = {"importance": number / 10}
                space.ledger.write(lambda s, c=changes: memories.overwrite(s, rows[0], c))
            else:
                space.change(hide, rows[-1], Reason.FORGOTTEN)
            known |= {one[0]: one for one in space.read(past.outlines_since, rev)}
            rev = space.read(memories.latest_rev)
        assert known == {one[0]: one for one in space.read(past.outlines_since, 0)}


class TestReading:
    """Rows are found by what names them, in one's own namespace alone."""

    def test_an_unknown_id_is_not_found(self, bench):
        """Nor is one of another namespace."""
        bench.of("other").one("a", id="x")
        with pytest.raises(NotFound):
            bench.read(memories.by_id, "x")

    def test_row_ids_of_others_are_left_out(self, bench):
        """Rows, texts and ids alike."""
        mine, theirs = bench.one("mine"), bench.of("other").one("theirs")
        both = [mine.docid, theirs.docid, docid_of(bench.ns, 99)]
        assert list(bench.read(memories.by_docids, both)) == [mine.docid]
        assert bench.read(memories.texts, both) == {mine.docid: "mine"}
        assert bench.read(memories.docids_of, [mine.id, theirs.id]) == {mine.id: mine.docid}

    def test_hundreds_of_ids_have_row_ids(self, bench):
        """Each its own, in whatever order; absent ones are left out."""
        rows = bench.add(*(f"n{n}" for n in range(300)))
        asked = [row.id for row in rows[::-1]] + ["nobody"]
        found = [int(one) for one in bench.read(memories.docids_named, asked).split(",")]
        assert sorted(found) == [row.docid for row in rows]
        assert bench.read(memories.docids_named, ["nobody"]) == ""

    def test_what_comes_from_an_address(self, bench):
        """In order of arrival."""
        from memento.types import Source, Trust  # noqa: PLC0415 - of this test alone

        web = Source(Trust.WEB, "https://example.com/a")
        bench.add({"text": "a", "source": web}, "b", {"text": "c", "source": web})
        found = bench.read(memories.of_source, "https://example.com/a")
        assert [row.text for row in found] == ["a", "c"]

    def test_what_was_derived(self, bench):
        """Ids with their parents as JSON."""
        bench.add(bench.entry("a", id="a"), bench.entry("b", id="b", parents=["a", "z"]))
        (found,) = bench.read(lambda s, ns: list(memories.derivations(s, ns)))
        assert (found[0], json.loads(found[1])) == ("b", ["a", "z"])

    def test_what_expired(self, bench):
        """Active memories whose time is over by then, at the moment itself included."""
        _, goes, _ = bench.add(
            "stays", {"text": "goes", "expires_in": 10}, {"text": "later", "expires_in": 99}
        )
        assert bench.read(memories.expired, bench.now + 10_000_000) == [goes.docid]

    def test_counts(self, bench):
        """Active ones by tier, hidden ones by status."""
        bench.add("a", {"text": "b", "tier": "short"}, {"text": "c", "expires_in": 1})
        gone = bench.one("d")
        bench.change(hide, gone, Reason.FORGOTTEN)
        found = bench.read(memories.counts, bench.now + 2_000_000)
        assert found == {"medium": 1, "short": 1, "forgotten": 1}
