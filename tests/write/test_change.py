"""update, forget, restore, move and history: changing one's mind loses nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest
from beside import read_sql

from memento import Config
from memento.config import ShortConfig
from memento.errors import InvalidInput, NotFound
from memento.ledger import vectors
from memento.testing import HashEmbedder

HOUR = timedelta(hours=1)


def backlog(memory):
    """Return what the indexer owes, by row, once full text knows all that came."""
    memory.flush()
    return memory._engine.ledger.read(
        lambda c: dict(c.execute("SELECT docid & 0xFFFFFF, op FROM backlog").fetchall())
    )


def settled(memory):
    """Do as if everything were embedded and indexed."""
    memory.flush()

    def job(connection):
        model = vectors.embedder_id(connection, "any", 1)
        connection.execute(
            "INSERT OR REPLACE INTO embeddings SELECT docid, ?, 1, zeroblob(4) FROM memories",
            (model,),
        )
        connection.execute("DELETE FROM backlog")

    memory._engine.ledger.write(job)


class TestUpdate:
    """A change in place, with the earlier version kept."""

    def test_a_new_text_is_found_and_the_old_is_history(self, memory, clock):
        """Full text follows at once; the old words find nothing any more."""
        kept = memory.add("the meeting is on Monday", "long")
        clock.advance(HOUR)
        now = memory.update(kept.id, text="the meeting is on Thursday")
        assert (now.version, now.updated_at, now.created_at) == (2, clock(), kept.created_at)
        assert len(memory.retrieve("Monday", min_score=0.3)) == 0
        assert [hit.text for hit in memory.retrieve("Thursday")] == [now.text]
        first, second = memory.changes.history(kept.id)
        assert (first.version, first.text, first.reason) == (
            1,
            "the meeting is on Monday",
            "updated",
        )
        assert (second.version, second.text, second.until) == (2, now.text, None)

    def test_every_field_can_be_changed(self, memory, clock):
        """Each field has its new value, in the answer and from the ledger; the rest stays."""
        kept = memory.add("blue door", "medium", aliases=["a", "b"], session="s", key="k")
        now = memory.update(
            kept.id,
            text="green door",
            kind="rule",
            importance=1,
            scope="house",
            tags=["paint"],
            metadata={"coats": 2},
            pinned=True,
            valid_until=clock() + HOUR,
            expires_in=60,
            add_aliases=["c", "a"],
            remove_aliases=["b", "unknown"],
        )
        assert (now.text, now.kind, now.importance, now.scope) == (
            "green door",
            "rule",
            1.0,
            "house",
        )
        assert (now.tags, now.metadata, now.pinned) == (("paint",), {"coats": 2}, True)
        assert (now.valid_until, now.expires_at) == (clock() + HOUR, clock() + timedelta(minutes=1))
        assert now.aliases == ("a", "c")
        assert (now.tier, now.session, now.key, now.id) == ("medium", "s", "k", kept.id)
        assert memory.get(kept.id) == now
        assert memory.list(tag="paint", scope="house", where={"coats": 2}, pinned=True) == [now]

    def test_none_takes_an_end_away(self, memory, clock):
        """valid_until=None and expires_in=None mean open; leaving them out means as it is."""
        kept = memory.add("a", valid_until=clock() + HOUR, expires_in=60)
        assert memory.update(kept.id, tags=["t"]).expires_at is not None
        now = memory.update(kept.id, valid_until=None, expires_in=None)
        assert (now.valid_until, now.expires_at) == (None, None)
        with pytest.raises(InvalidInput, match="later than the time"):
            memory.update(kept.id, valid_until=clock() - HOUR)

    def test_what_expired_can_be_given_time_again(self, memory, clock):
        """The memory is still there, and found again."""
        kept = memory.add("parking spot", expires_in=60)
        clock.advance(HOUR)
        assert len(memory.retrieve("parking")) == 0
        memory.update(kept.id, expires_in=None)
        assert len(memory.retrieve("parking")) == 1

    @pytest.mark.parametrize(
        "options", [{}, {"text": "a"}, {"scope": "/x/"}, {"add_aliases": ["b"]}]
    )
    def test_no_change_is_no_version(self, memory, clock, options):
        """Saying what is there already writes nothing, even when its time was given."""
        kept = memory.add("a", scope="x", aliases=["b"], occurred_at=clock())
        assert memory.update(kept.id, **options) == kept
        assert len(memory.changes.history(kept.id)) == 1

    def test_a_repeat_of_the_new_content_is_recognised(self, memory, clock):
        """Text and scope count as they are now; the time counts if it did before."""
        timeless = memory.update(memory.add("a").id, text="b", scope="x")
        assert memory.add("b", scope="x").id == timeless.id
        timed = memory.update(memory.add("c", occurred_at=clock()).id, text="d")
        assert memory.add("d", occurred_at=clock()).id == timed.id
        assert memory.add("d").id != timed.id

    def test_moving_into_a_taken_slot_takes_it(self, memory):
        """A scope where another memory holds the key: one value a slot, still."""
        other = memory.add("vim", key="editor", scope="b")
        moved = memory.update(memory.add("emacs", key="editor", scope="a").id, scope="b")
        memory.update(memory.add("keyless", scope="a").id, scope="b")
        assert memory.get(other.id).superseded_by == moved.id
        assert [m.text for m in memory.list(scope="b")] == ["emacs", "keyless"]
        free = memory.update(moved.id, scope="c")
        assert (free.scope, free.status) == ("c", "active")

    def test_a_new_text_is_embedded_anew_and_labels_are_not(self, memory):
        """Only what changes the words makes work for the indexer."""
        kept = memory.add("a", "long")
        settled(memory)
        memory.update(kept.id, tags=["t"], pinned=True)
        assert backlog(memory) == {}
        memory.update(kept.id, text="b")
        assert backlog(memory) == {kept.seq: "embed"}

    def test_names_are_found_as_they_are_now(self, memory):
        """A new alias is a name at once; one taken away is not."""
        kept = memory.add("call the plumber", "long", aliases=["Zorro"])
        memory.update(kept.id, add_aliases=["Quasimodo"], remove_aliases=["Zorro"])
        assert [hit.id for hit in memory.retrieve("Quasimodo", match="names")] == [kept.id]
        assert len(memory.retrieve("Zorro", match="names")) == 0

    def test_the_forgotten_cannot_be_changed(self, memory):
        """Restore it first; a superseded one may be corrected."""
        old = memory.add("old", key="k")
        memory.add("new", key="k")
        assert memory.update(old.id, text="older").status == "superseded"
        memory.forget(old.id)
        with pytest.raises(InvalidInput, match="restore"):
            memory.update(old.id, text="x")

    def test_as_of_shows_the_text_of_that_moment(self, memory, clock):
        """Each version answers for its own time."""
        moments = []
        kept = memory.add("version one", "long")
        for text in ("version two", "version three"):
            moments.append(clock())
            clock.advance(HOUR)
            memory.update(kept.id, text=text)
        moments.append(clock())
        found = [memory.retrieve("version", as_of=moment)[0].text for moment in moments]
        assert found == ["version one", "version two", "version three"]


class TestForget:
    """Hidden at once, restorable."""

    def test_it_is_gone_from_every_view_at_once(self, memory):
        """From list, ring, search and counts; get and list(status=) still show it."""
        kept = memory.add("parking spot", "short", session="s")
        memory.retrieve("parking")
        gone = memory.forget(kept.id)
        assert gone.status == "forgotten"
        assert memory.list() == memory.sessions.recent(session="s") == []
        assert len(memory.retrieve("parking", include_superseded=True)) == 0
        assert memory.list(status="forgotten") == [memory.get(kept.id)] == [gone]
        hidden = {status: count for status, count in memory.store.stats().hidden.items() if count}
        assert hidden == {"forgotten": 1}
        assert memory.forget(kept.id) == gone

    def test_the_forgotten_are_listed_even_if_their_validity_has_ended(self, memory, clock):
        """Superseded first, or valid for a time only: a list of forgotten memories has them."""
        old = memory.add("the desk is upstairs", key="desk")
        short = memory.add("the lift is broken", valid_until=clock() + HOUR)
        clock.advance(HOUR)
        memory.add("the desk is downstairs", key="desk")
        gone = [memory.forget(old.id), memory.forget(short.id)]
        assert memory.list(status="forgotten") == gone
        assert memory.list(status=["superseded", "forgotten"]) == gone
        assert old.id not in [one.id for one in memory.list(status="active")]

    @pytest.mark.parametrize("tier", ["short", "medium", "long"])
    def test_restoring_brings_it_back_as_it_was(self, memory, tier):
        """Tier, text and place in the order of arrival."""
        kept = memory.add("parking spot", tier)
        memory.add("something after", tier)
        memory.forget(kept.id)
        back = memory.restore(kept.id)
        assert (back.status, back.tier, back.seq) == ("active", tier, kept.seq)
        assert memory.list()[0] == back
        assert [m.id for m in memory.sessions.recent()][:1] == (
            [kept.id] if tier == "short" else []
        )
        assert [hit.id for hit in memory.retrieve("parking")] == [kept.id]
        assert memory.restore(kept.id) == back
        assert [s.reason for s in memory.changes.history(kept.id)] == [
            "forgotten",
            "restored",
            "present",
        ]

    def test_what_was_superseded_comes_back_superseded(self, memory):
        """Forgetting does not undo a supersession."""
        old = memory.add("old", key="k")
        memory.add("new", key="k")
        memory.forget(old.id)
        assert memory.restore(old.id).status == "superseded"

    def test_a_slot_filled_meanwhile_stays_filled(self, memory):
        """The restored one comes back behind the one that took its place."""
        old = memory.add("vim", key="editor")
        memory.forget(old.id)
        new = memory.add("emacs", key="editor")
        back = memory.restore(old.id)
        assert (back.status, back.superseded_by) == ("superseded", new.id)
        assert [m.text for m in memory.list()] == ["emacs"]

    def test_a_slot_whose_value_is_over_is_taken_back(self, memory, clock):
        """A value that expired meanwhile does not hide the restored one."""
        old = memory.add("vim", "short", key="editor")
        memory.forget(old.id)
        gone = memory.add("emacs", key="editor", expires_in=60)
        clock.advance(HOUR)
        assert memory.restore(old.id).status == "active"
        assert memory.get(gone.id).superseded_by == old.id

    def test_restored_into_a_full_ring_it_goes_where_the_ring_pushes_it(self, open_memory):
        """It is older than what the ring holds by now."""
        memory = open_memory(config=Config(short=ShortConfig(capacity=2)))
        old = memory.add("one", "short")
        memory.forget(old.id)
        memory.add_many({"text": text, "tier": "short"} for text in ("two", "three"))
        assert memory.restore(old.id).tier == "medium"
        assert [m.text for m in memory.sessions.recent()] == ["two", "three"]


class TestMove:
    """Promotion and demotion."""

    @pytest.mark.parametrize("start", ["short", "medium", "long"])
    @pytest.mark.parametrize("end", ["short", "medium", "long"])
    def test_from_any_tier_to_any(self, memory, start, end):
        """It is listed, found and in the ring according to its tier; moving nowhere is nothing."""
        kept = memory.add("parking spot", start)
        moved = memory.update(kept.id, tier=end)
        assert moved.tier == end
        assert memory.list(tier=end) == [moved]
        assert len(memory.sessions.recent()) == (end == "short")
        assert [hit.tier for hit in memory.retrieve("parking", tier=end)] == [end]
        assert len(memory.changes.history(kept.id)) == (1 if start == end else 2)

    def test_into_a_full_ring_the_oldest_falls_out(self, open_memory):
        """Which may be the one that was moved, since the ring keeps the newest."""
        memory = open_memory(config=Config(short=ShortConfig(capacity=2)))
        one, *_ = memory.add_many({"text": text, "tier": "short"} for text in "abc")
        assert memory.update(one.id, tier="short").tier == "medium"
        newest = memory.add("d", "long")
        assert memory.update(newest.id, tier="short").tier == "short"
        assert [m.text for m in memory.sessions.recent()] == ["c", "d"]

    def test_the_index_is_told(self, memory):
        """Out of the long tier's index when it goes to the ring, back in when it leaves it."""
        kept = memory.add("a", "long")
        settled(memory)
        memory.update(kept.id, tier="short")
        assert backlog(memory) == {kept.seq: "drop"}
        memory.update(kept.id, tier="medium")
        assert backlog(memory) == {kept.seq: "index"}

    def test_pushed_out_again_before_the_index_heard_of_it(self, open_memory):
        """A row demoted and promoted by the ring in one breath ends up in the index."""
        memory = open_memory(config=Config(short=ShortConfig(capacity=1)))
        kept = memory.add("a", "long")
        settled(memory)
        memory.update(kept.id, tier="short")
        memory.add("b", "short")
        assert memory.get(kept.id).tier == "medium"
        assert backlog(memory)[kept.seq] == "index"

    def test_the_hidden_may_be_moved_too(self, memory):
        """A forgotten memory comes back in the tier it was moved to."""
        kept = memory.add("a", "short")
        memory.forget(kept.id)
        memory.update(kept.id, tier="long")
        assert memory.restore(kept.id).tier == "long"


def test_history_tells_every_state_in_order(memory, clock):
    """Numbers, reasons and times of a busy life."""
    kept = memory.add("one", "short", key="k")
    for change in (
        lambda: memory.update(kept.id, text="two"),
        lambda: memory.update(kept.id, tier="long"),
        lambda: memory.forget(kept.id),
        lambda: memory.restore(kept.id),
        lambda: memory.add("other", key="k"),
    ):
        clock.advance(HOUR)
        change()
    states = memory.changes.history(kept.id)
    assert [s.reason for s in states] == [
        "updated", "moved", "forgotten", "restored", "superseded", "present",
    ]  # fmt: skip
    assert [s.version for s in states] == [1, 2, 2, 2, 2, 2]
    assert [s.text for s in states] == ["one", *["two"] * 5]
    assert [s.tier for s in states] == ["short", "short", "long", "long", "long", "long"]
    times = [s.until for s in states[:-1]]
    assert times == sorted(times)
    assert states[-1].until is None


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.get("x"),
        lambda m: m.update("x", text="y"),
        lambda m: m.forget("x"),
        lambda m: m.restore("x"),
        lambda m: m.update("x", tier="long"),
        lambda m: m.changes.history("x"),
    ],
    ids=["get", "update", "forget", "restore", "move", "history"],
)
def test_an_unknown_id_is_not_found(memory, call):
    """Before anything was stored, and after; the error carries the id."""
    for _ in range(2):
        with pytest.raises(NotFound) as caught:
            call(memory)
        assert caught.value.memory_id == "x"
        memory.add("something")


def test_the_vector_of_a_changed_text_is_replaced(open_memory):
    """After the indexer caught up, meaning follows the new words and not the old."""
    memory = open_memory(embedder=HashEmbedder(512))
    kept = memory.add("alpha beta gamma", "short")
    assert memory.flush(wait=True, timeout=60)
    read = "SELECT vector FROM embeddings"
    before = read_sql(memory, read)
    memory.update(kept.id, text="delta epsilon zeta")
    assert memory.flush(wait=True, timeout=60)
    after = read_sql(memory, read)
    assert len(after) == 1
    assert after != before
    found = memory.retrieve("epsilon delta")
    assert found[0].ranks["meaning"] == 1


def test_what_had_expired_comes_back_for_good(memory, clock):
    """It would be restored, and stay hidden; an expiry that is still to come stays."""
    over = memory.add("the code is 4711", expires_in=60)
    soon = memory.add("the code is 4712", expires_in=3600)
    memory.forget(soon.id)
    clock.advance(timedelta(seconds=90))
    memory.store.sweep()
    assert memory.restore(over.id).expires_at is None
    assert memory.restore(soon.id).expires_at == soon.expires_at
    assert [one.id for one in memory.list()] == [over.id, soon.id]
