"""add and add_many: every parameter, repeats, slots, batches, expiry."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memento import Config, Draft, Kind, Source, Status, Tier, Trust
from memento.config import ShortConfig

MAY = datetime(2025, 5, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def test_what_is_given_is_what_is_kept(memory, clock):
    """Every parameter of add comes back as a field of the memory, now and from the ledger."""
    parent = memory.add("an earlier note")
    kept = memory.add(
        "Ada prefers vim",
        "medium",
        kind="preference",
        importance=0.25,
        key="user/editor",
        aliases=["the editor", "her tool"],
        scope="/project/alpha/",
        session="monday",
        actor="Ada",
        role="user",
        source=Source(Trust.AGENT, "https://example.org", "a-model", (parent.id,)),
        tags=["tools", "ada"],
        metadata={"stars": 5, "deep": {"list": [1, None, True]}},
        occurred_at=MAY,
        valid_until=MAY + HOUR,
        expires_in=3600,
        pinned=True,
        related=[parent.id],
        id="my-own-id",
    )
    assert (kept.text, kept.tier, kept.kind) == ("Ada prefers vim", Tier.MEDIUM, Kind.PREFERENCE)
    assert (kept.importance, kept.key, kept.scope) == (0.25, "user/editor", "project/alpha")
    assert (kept.aliases, kept.tags) == (("the editor", "her tool"), ("tools", "ada"))
    assert (kept.session, kept.actor, kept.role) == ("monday", "Ada", "user")
    assert kept.source == Source(Trust.AGENT, "https://example.org", "a-model", (parent.id,))
    assert kept.metadata == {"stars": 5, "deep": {"list": [1, None, True]}}
    assert (kept.occurred_at, kept.valid_from, kept.valid_until) == (MAY, MAY, MAY + HOUR)
    assert (kept.created_at, kept.expires_at) == (clock(), clock() + HOUR)
    assert (kept.pinned, kept.id, kept.version, kept.status) == (True, "my-own-id", 1, "active")
    assert memory.get("my-own-id") == kept


def test_what_is_not_given_has_a_default(memory, clock):
    """Bare text becomes a fact of the user's, now, everywhere, for ever."""
    kept = memory.add("hello")
    assert (kept.kind, kept.scope, kept.namespace) == (Kind.FACT, "", ("default",))
    assert (kept.session, kept.actor, kept.role, kept.key) == (None, None, None, None)
    assert (kept.aliases, kept.tags, kept.metadata) == ((), (), {})
    assert kept.source == Source()
    assert (kept.occurred_at, kept.valid_until, kept.expires_at) == (clock(), None, None)
    assert len(kept.id) == 36


@pytest.mark.parametrize("tier", Tier)
def test_the_promised_call_puts_it_where_it_says(memory, tier):
    """Text and tier by position."""
    assert memory.add("This is a note", tier.value).tier is tier


@pytest.mark.parametrize(
    ("options", "tier"),
    [({"importance": 0.1}, "short"), ({"importance": 0.4}, "medium"), ({"importance": 0.9}, "long"),
     ({"importance": 0.1, "pinned": True}, "long")],
)  # fmt: skip
def test_without_a_tier_importance_chooses(memory, options, tier):
    """Low stays in the ring, high goes to the long tier, pinned always does."""
    assert memory.add("blue door", **options).tier == tier


def test_importance_is_scored_when_not_given(memory):
    """A new text that asks to be kept weighs more than a repeated one."""
    first = memory.add("Remember the critical deadline of the harbour bridge")
    again = memory.add("the harbour bridge")
    assert 0 < again.importance < first.importance <= 1


@pytest.mark.parametrize("source", ["web", Trust.WEB, Source(Trust.WEB), Source("web")])
def test_a_source_may_be_spelt_short(memory, source):
    """A trust class alone stands for a source of that class."""
    assert memory.add("from a page", source=source).source == Source(Trust.WEB)


def test_texts_are_kept_as_given(memory):
    """No stripping, no normalising, whatever the script."""
    for text in ("  padded \n", "ﬁ e\u0301 東京", "🏳️‍🌈", "a\r\nb\tc", "\u202eabc", "\ufeffbom"):
        assert memory.get(memory.add(text).id).text == text


def test_times_of_any_zone_are_kept_in_utc(memory):
    """The same moment in another zone is the same memory."""
    tokyo = timezone(timedelta(hours=9))
    first = memory.add("hi", occurred_at=MAY)
    assert memory.add("hi", occurred_at=MAY.astimezone(tokyo)).id == first.id


class TestRepeats:
    """Equal content is kept once; what makes it equal is listed in the docstring of add."""

    def test_the_same_again_is_a_reinforcement(self, memory, clock):
        """The one that is there comes back, counted; nothing else about it changes."""
        first = memory.add("hello", importance=0.5, tags=["a"])
        clock.advance(HOUR)
        again = memory.add("hello", importance=0.5, tags=["a"])
        assert (again.id, again.reinforced, again.tags) == (first.id, 1, ("a",))
        assert (again.version, again.updated_at) == (1, clock())
        assert memory.add("hello").reinforced == 2
        assert len(memory.list()) == 1

    @pytest.mark.parametrize(
        "options",
        [
            {"scope": "a"},
            {"session": "a", "pinned": True},
            {"actor": "a"},
            {"key": "a"},
            {"role": "a"},
        ],
        ids=lambda options: next(iter(options)),
    )
    def test_another_place_or_speaker_is_another_memory(self, memory, options):
        """Scope, session, actor, role and slot tell equal texts apart."""
        assert memory.add("hello").id != memory.add("hello", **options).id
        assert memory.add("hello", **options).reinforced == 1

    def test_equal_turns_at_different_moments_stay_two(self, memory):
        """The time given is part of what was said."""
        ids = {memory.add("ok", occurred_at=MAY + n * HOUR).id for n in (0, 1, 1)}
        assert len(ids) == 2
        assert memory.add("ok").reinforced == 0

    @pytest.mark.parametrize("options", [{"kind": "rule"}, {"tags": ["x"]}, {"metadata": {"a": 1}}])
    def test_labels_do_not_tell_texts_apart(self, memory, options):
        """Kind, tags and metadata describe the same content."""
        assert memory.add("hello").id == memory.add("hello", **options).id

    def test_what_is_over_does_not_swallow_what_is_new(self, memory, clock):
        """Expired, ended, forgotten or superseded: the same text is a new memory."""
        memory.add("expired", expires_in=60)
        memory.add("ended", valid_until=clock() + HOUR)
        memory.forget(memory.add("forgotten").id)
        memory.add("newer", supersedes=memory.add("superseded").id)
        clock.advance(2 * HOUR)
        for text in ("expired", "ended", "forgotten", "superseded"):
            kept = memory.add(text)
            assert (kept.reinforced, kept.status) == (0, "active")
            assert kept in memory.list()

    def test_a_retry_with_the_same_id_changes_nothing(self, memory, clock):
        """Not even a count: it is the same call, sent twice."""
        old = memory.add("old")
        first = memory.add("new", id="call-1", supersedes=old.id)
        clock.advance(HOUR)
        assert memory.add("new", id="call-1", supersedes=old.id) == first

    def test_a_repeat_can_still_supersede_and_link(self, memory):
        """The call supersedes and links although its text is known."""
        old, known = memory.add("lives in Rome"), memory.add("lives in Oslo")
        assert memory.add("lives in Oslo", supersedes=old.id, related=old.id).id == known.id
        assert memory.get(old.id).superseded_by == known.id


class TestSlots:
    """A key names a slot that holds one value at a time."""

    def test_a_new_value_supersedes_the_old(self, memory, clock):
        """The old one is hidden, linked, ends where the new one starts, and is in its history."""
        old = memory.add("uses vim", key="user/editor")
        clock.advance(HOUR)
        new = memory.add("uses emacs", key="user/editor")
        was = memory.get(old.id)
        assert (was.status, was.superseded_by) == (Status.SUPERSEDED, new.id)
        assert (was.valid_until, new.valid_from) == (clock(), clock())
        assert [m.text for m in memory.list()] == ["uses emacs"]
        states = memory.changes.history(old.id)
        assert [s.reason for s in states] == ["superseded", "present"]
        assert states[0].until == clock()

    def test_the_same_value_again_is_a_reinforcement(self, memory):
        """Nothing is superseded by itself."""
        first = memory.add("vim", key="editor")
        assert memory.add("vim", key="editor").id == first.id
        assert memory.get(first.id).status == "active"

    def test_in_a_batch_the_last_value_wins(self, memory):
        """Several values for one slot at once: as if said one after the other."""
        values = memory.add_many({"text": t, "key": "editor"} for t in ("vim", "emacs", "vim"))
        assert [m.status for m in values] == ["superseded", "superseded", "active"]
        assert values == [memory.get(m.id) for m in values]
        assert [m.id for m in memory.list()] == [values[2].id]

    def test_supersedes_takes_several(self, memory):
        """Outright, without a key; what is hidden already stays as it is."""
        olds = [memory.add(f"old {n}") for n in range(3)]
        memory.forget(olds[2].id)
        new = memory.add("new", supersedes=[old.id for old in olds])
        assert [m.text for m in memory.list()] == ["new"]
        assert [memory.get(old.id).superseded_by for old in olds] == [new.id, new.id, None]

    def test_what_supersedes_outright_turns_no_interval_round(self, memory):
        """An older memory that is said to replace a newer one leaves it no time to hold."""
        old = memory.add("vim", key="editor", occurred_at=MAY, valid_until=MAY + HOUR)
        memory.add("emacs", key="editor", occurred_at=MAY - HOUR, supersedes=old.id)
        was = memory.get(old.id)
        assert (was.status, was.valid_until) == ("superseded", MAY)

    @settings(max_examples=15)
    @given(
        st.lists(
            st.tuples(st.sampled_from("abc"), st.sampled_from("kl"), st.booleans()), max_size=12
        )
    )
    def test_a_batch_is_the_same_as_one_by_one(self, open_memory, tmp_path_factory, said):
        """Slots, repeats and all: the same memories are active, with the same counts."""
        folder = tmp_path_factory.mktemp("twice")
        drafts = [{"text": text, "key": key if keyed else None} for text, key, keyed in said]

        def seen(memory):
            kept = memory.list(status=["active", "superseded"])
            memory.close()
            return [(m.text, m.key, m.status, m.reinforced) for m in kept]

        one, many = open_memory(folder / "one"), open_memory(folder / "many")
        for draft in drafts:
            one.add(**draft)
        answers = many.add_many(drafts)
        assert answers == [many.get(m.id) for m in answers]
        assert seen(one) == seen(many)


class TestBatches:
    """add_many is one transaction."""

    def test_texts_mappings_and_drafts_mix(self, memory):
        """All three say the same things; the order is kept."""
        kept = memory.add_many(["a", {"text": "b", "tier": "long"}, Draft("c", key="k")])
        assert [(m.text, m.key) for m in kept] == [("a", None), ("b", None), ("c", "k")]
        assert memory.list() == kept
        assert [m.seq for m in kept] == [1, 2, 3]

    def test_nothing_to_add_is_fine(self, memory):
        """An empty batch is an empty answer."""
        assert memory.add_many([]) == []
        assert memory.add_many(iter(())) == []

    def test_repeats_within_a_batch_fold(self, memory):
        """As they would one by one; an id of the caller's counts as that memory."""
        kept = memory.add_many(
            ["a", "b", "a", {"text": "c", "id": "c1"}, "c", {"text": "c", "id": "c1"}]
        )
        assert [m.text for m in memory.list()] == ["a", "b", "c"]
        assert [m.reinforced for m in kept] == [1, 0, 1, 1, 1, 1]
        assert [m.id for m in kept[3:]] == ["c1"] * 3

    def test_later_ones_may_name_earlier_ones(self, memory):
        """By the ids they are given in the same batch."""
        kept = memory.add_many(
            [{"text": "old", "id": "old"}, {"text": "new", "supersedes": "old", "related": ["old"]}]
        )
        assert [m.status for m in kept] == ["superseded", "active"]

    def test_more_than_the_ring_holds_overflows_at_once(self, open_memory):
        """The answer says where each one is by now."""
        memory = open_memory(config=Config(short=ShortConfig(capacity=3)))
        kept = memory.add_many({"text": f"t{n}", "tier": "short"} for n in range(5))
        assert [m.tier for m in kept] == ["medium", "medium", "short", "short", "short"]
        assert kept == memory.list()

    def test_a_thousand_are_kept(self, memory):
        """More than any limit of SQLite's on bound values or of ours on a group."""
        kept = memory.add_many(f"note {n}" for n in range(1200))
        assert [m.id for m in memory.list(limit=2000)] == [m.id for m in kept]
        again = memory.add_many(f"note {n}" for n in range(1200))
        assert {m.reinforced for m in again} == {1}


class TestEnds:
    """A memory that expired or is no longer valid is not found, in any tier."""

    @pytest.mark.parametrize("tier", Tier)
    @pytest.mark.parametrize("expires_in", [60, 60.0, timedelta(minutes=1)])
    def test_an_expired_memory_is_gone_from_every_view(self, memory, clock, tier, expires_in):
        """One microsecond before it is there, at the moment itself it is not; get still tells."""
        kept = memory.add("parking spot seven", tier, expires_in=expires_in)
        clock.advance(timedelta(seconds=59.999999))
        assert memory.list() == [kept]
        assert len(memory.retrieve("parking")) == 1
        assert len(memory.sessions.recent()) == (tier == "short")
        clock.advance(timedelta(microseconds=1))
        assert memory.list() == []
        assert len(memory.retrieve("parking")) == 0
        assert memory.sessions.recent() == []
        assert memory.store.stats().memories == 0
        assert memory.get(kept.id) == kept

    @pytest.mark.parametrize("tier", Tier)
    def test_a_memory_that_holds_no_more_is_not_found(self, memory, clock, tier):
        """After valid_until it is history: as_of finds it."""
        kept = memory.add("on call this week", tier, valid_until=clock() + HOUR)
        during = clock()
        clock.advance(HOUR)
        assert memory.list() == []
        assert memory.sessions.recent() == []
        assert len(memory.retrieve("on call")) == 0
        assert memory.store.stats().memories == 0
        assert [hit.id for hit in memory.retrieve("on call", as_of=during)] == [kept.id]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("We settled on C#", "We settled on C++"),
        ("It is +5 outside", "It is -5 outside"),
        ("Otis got A+", "Otis got A-"),
        ("Take 5 mg", "Take 5 g"),
        ("I like tea", "i like tea."),
    ],
)
def test_only_the_same_text_is_known(memory, one, other):
    """``add`` takes two texts for one only if every character is the same."""
    first = memory.add(one)
    assert memory.add(other).id != first.id
    assert memory.add(one).id == first.id
