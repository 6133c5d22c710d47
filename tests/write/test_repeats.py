"""Equal content that arrives again: what it adds is kept, and a conversation keeps its turns."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memento import Config, Source, Status, Tier, Trust
from memento.check import MAX_ITEMS, Limits
from memento.write.merge import MAX_STATES

MAY = datetime(2025, 5, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
CODE = "The door code is 4711"


def reasons(memory, kept):
    """Return why each state of a memory ended."""
    return [state.reason for state in memory.changes.history(kept.id)]


class TestMerging:
    """The fields that a repeat adds to the content are not lost."""

    def test_what_is_to_be_kept_for_good_is_kept(self, memory, clock):
        """A note that was to expire, said again to stay, stays; with pin, tier and tags."""
        first = memory.add(CODE, "short", expires_in=1)
        again = memory.add(CODE, "long", pinned=True, tags=["door"])
        assert (again.id, again.tier, again.pinned) == (first.id, Tier.LONG, True)
        assert (again.tags, again.expires_at, again.reinforced) == (("door",), None, 1)
        clock.advance(HOUR)
        assert [hit.id for hit in memory.retrieve("door code")] == [first.id]
        assert memory.get(first.id) == again

    @pytest.mark.parametrize(
        ("one", "other", "both"),
        [
            ({"tier": "short"}, {"tier": "long"}, {"tier": "long"}),
            ({"tier": "long"}, {"tier": "medium"}, {"tier": "long"}),
            ({"tier": "medium"}, {"tier": "short"}, {"tier": "medium"}),
            ({"pinned": True}, {}, {"pinned": True}),
            ({"importance": 0.2}, {"importance": 0.9}, {"importance": 0.9, "tier": "long"}),
            ({"importance": 0.9}, {"importance": 0.2}, {"importance": 0.9}),
            ({"kind": "preference"}, {"kind": "decision"}, {"kind": "decision"}),
            ({"kind": "preference"}, {"kind": "fact"}, {"kind": "preference"}),
            ({"tags": ["b", "a"]}, {"tags": ["c", "a"]}, {"tags": ("b", "a", "c")}),
            ({"aliases": ["x"]}, {"aliases": ["y"]}, {"aliases": ("x", "y")}),
            (
                {"metadata": {"a": 1, "b": 1}},
                {"metadata": {"b": True, "c": 3}},
                {"metadata": {"a": 1, "b": True, "c": 3}},
            ),
            ({"valid_until": MAY}, {}, {"valid_until": None}),
            ({"valid_until": MAY}, {"valid_until": MAY + HOUR}, {"valid_until": MAY + HOUR}),
        ],
    )
    def test_each_field_has_its_rule(self, memory, one, other, both):
        """The union, or the stronger value; the earlier state is in the history."""
        first = memory.add(CODE, **one)
        again = memory.add(CODE, **other)
        assert again.id == first.id
        assert {name: getattr(again, name) for name in both} == both
        assert repr(again.metadata) == repr(both.get("metadata", {}))
        changed = first.version != again.version
        assert reasons(memory, first) == (["merged", "present"] if changed else ["present"])
        assert memory.get(first.id) == again

    def test_the_longest_life_wins_and_makes_no_version(self, memory, clock):
        """Of two ends the later one; an earlier one, or the same again, shortens nothing."""
        memory.add(CODE, expires_in=60)
        later = memory.add(CODE, expires_in=3600)
        assert later.expires_at == clock() + HOUR
        assert memory.add(CODE, expires_in=5).expires_at == clock() + HOUR
        assert reasons(memory, later) == ["present"]

    def test_new_names_find_it(self, memory):
        """An alias and a tag that came with a repeat are searched like those of the first."""
        kept = memory.add(CODE, "long")
        memory.add("the gate is green", "long")
        memory.add(CODE, aliases=["sesame"], tags=["entrance"])
        assert [hit.id for hit in memory.retrieve("sesame", match="names")] == [kept.id]
        assert [hit.id for hit in memory.retrieve("entrance")] == [kept.id]

    def test_a_turn_that_is_kept_for_good_leaves_the_ring(self, memory):
        """The higher tier holds it from then on."""
        memory.add("we meet at nine", "short")
        memory.add("we meet at nine", "long")
        assert memory.sessions.recent() == []
        assert [m.tier for m in memory.list()] == [Tier.LONG]

    def test_the_first_state_can_be_read(self, memory):
        """The version before tells what it was, and the event which fields were merged."""
        first = memory.add(CODE, "short")
        memory.add(CODE, "long", tags=["door"])
        states = memory.changes.history(first.id)
        assert [(s.version, s.tier, s.reason) for s in states] == [
            (1, Tier.SHORT, "merged"),
            (2, Tier.LONG, "present"),
        ]

    def test_a_batch_merges_too(self, memory):
        """Within one call, and with what is there already."""
        memory.add("b", tags=["old"])
        kept = memory.add_many(
            [{"text": "a"}, {"text": "a", "pinned": True}, {"text": "b", "tags": ["new"]}]
        )
        assert [(m.pinned, m.tags) for m in kept] == [
            (True, ()),
            (True, ()),
            (False, ("old", "new")),
        ]

    def test_an_id_of_ones_own_merges_and_is_not_counted(self, memory, clock):
        """A second call under the same id can add fields; the same call is a retry."""
        first = memory.add(CODE, id="door", expires_in=1)
        again = memory.add(CODE, id="door", pinned=True)
        assert (again.pinned, again.expires_at, again.reinforced) == (True, None, 0)
        clock.advance(HOUR)
        assert memory.add(CODE, id="door", pinned=True) == again
        assert reasons(memory, first) == ["merged", "present"]

    def test_no_repeat_is_refused_for_too_much_together(self, open_memory):
        """Past the limits the first tags and aliases stay, and the metadata as it is."""
        memory = open_memory(config=Config(limits=Limits(metadata_bytes=40)))
        full = tuple(f"t{n}" for n in range(MAX_ITEMS - 1))
        memory.add(CODE, tags=full, aliases=full, metadata={"a": "x" * 20})
        again = memory.add(CODE, tags=["1", "2"], aliases=["1", "2"], metadata={"b": "x" * 20})
        assert (again.tags, again.aliases, again.metadata) == (
            (*full, "1"),
            (*full, "1"),
            {"a": "x" * 20},
        )
        kept = memory.add_many([{"text": CODE, "tags": ["3"]}, {"text": "Ada moved to Berlin"}])
        assert kept[0].version == again.version
        assert [m.text for m in memory.list()] == [CODE, "Ada moved to Berlin"]

    def test_repeats_without_number_leave_a_bounded_history(self, memory):
        """The first states stay; later repeats change the memory and leave none."""
        first = memory.add(CODE, metadata={"n": 0})
        for n in range(1, MAX_STATES + 20):
            kept = memory.add(CODE, metadata={"n": n})
        assert (kept.metadata, kept.reinforced) == ({"n": n}, n)
        assert reasons(memory, first) == ["merged"] * MAX_STATES + ["present"]
        mine = memory.add(CODE, tags=["door"])
        assert memory.get(first.id) == mine
        assert len(memory.changes.history(first.id)) == MAX_STATES + 1

    def test_a_change_of_source_is_always_kept(self, memory):
        """However often an agent repeated itself, its last word stays in the history."""
        first = memory.add(CODE, source="agent", metadata={"n": 0})
        for n in range(1, MAX_STATES + 9):
            memory.add(CODE, source="agent", metadata={"n": n})
        memory.add(CODE)
        assert reasons(memory, first) == ["merged"] * (MAX_STATES + 1) + ["present"]

    FIELDS = st.fixed_dictionaries(
        {},
        optional={
            "tier": st.sampled_from(["short", "medium", "long"]),
            "importance": st.sampled_from([0.1, 0.5, 0.9]),
            "pinned": st.booleans(),
            "tags": st.lists(st.sampled_from("abc"), max_size=3),
            "aliases": st.lists(st.sampled_from("xyz"), max_size=3),
            "metadata": st.dictionaries(st.sampled_from("kl"), st.just(1)),
            "expires_in": st.sampled_from([60, 3600]),
            "valid_until": st.sampled_from([MAY, MAY + HOUR]),
        },
    )
    SOURCED = FIELDS.flatmap(
        lambda given: st.sampled_from(["user", "agent"]).map(
            lambda source: {**given, "tier": "short", "source": source}
        )
    )

    @settings(max_examples=30)
    @given(FIELDS | SOURCED, FIELDS | SOURCED)
    def test_the_order_of_two_adds_does_not_matter(self, open_memory, one, other):
        """Joined fields are the same either way; and the same again makes no version."""
        memory = open_memory()
        one, other = ({"tier": "short", "importance": 0.5} | given for given in (one, other))

        def told(label, *said):
            view = memory.of(f"{label}-{id(one)}")
            for options in said:
                kept = view.add(CODE, **options)
            again = view.add(CODE, **said[-1])
            assert (again.version, again.updated_at) == (kept.version, kept.updated_at)
            return (
                kept.tier, kept.pinned, kept.importance, set(kept.tags), set(kept.aliases),
                kept.metadata, kept.expires_at, kept.valid_until, kept.source,
            )  # fmt: skip

        assert told("there", one, other) == told("back", other, one)


class TestTrust:
    """A repeat changes only what its source may say by itself."""

    @pytest.mark.parametrize("source", ["web", "tool", "import"])
    def test_an_untrusted_repeat_changes_nothing_of_the_users(self, memory, source):
        """Neither tags nor life nor metadata: it is another memory, in quarantine."""
        mine = memory.add(CODE, expires_in=60, tags=["mine"])
        theirs = memory.add(CODE, source=source, tags=["theirs"], metadata={"x": 1}, id="squat")
        assert theirs.status is Status.QUARANTINED
        assert memory.get(mine.id) == mine

    def test_an_untrusted_repeat_under_the_users_id_changes_nothing(self, memory):
        """Naming the id is no way round."""
        mine = memory.add(CODE, id="mine", expires_in=60)
        memory.add(CODE, id="mine", source="web", tags=["theirs"], importance=1.0)
        assert memory.get("mine") == mine

    def test_nobody_labels_what_waits_in_quarantine(self, memory):
        """Neither another page nor the same one: what a person is to judge stays as it is."""
        page = Source(Trust.WEB, "https://a.example")
        first = memory.add(CODE, source=page)
        memory.add(CODE, source=Source(Trust.WEB, "https://b.example"), tags=["b"])
        assert memory.add(CODE, source=page, tags=["a"]).tags == ()
        assert memory.get(first.id).tags == ()

    def test_what_the_user_says_in_their_own_name_is_theirs(self, memory):
        """A user who repeats an approved page owns the text: no field of the page is left."""
        uri = "https://a.example"
        page = memory.add(
            CODE,
            source=Source(Trust.WEB, uri),
            kind="decision",
            tags=["theirs"],
            aliases=["who is the boss"],
            metadata={"format": "x"},
            importance=1.0,
            expires_in=60,
        )
        memory.quarantine.approve(page.id)
        mine = memory.add(CODE, pinned=True, kind="rule", tags=["mine"], importance=0.3)
        assert (mine.id, mine.pinned, mine.kind, mine.source) == (page.id, True, "rule", Source())
        assert (mine.tags, mine.aliases, mine.metadata) == (("mine",), (), {})
        assert (mine.importance, mine.expires_at) == (0.3, None)
        assert memory.retrieve("who is the boss", match="names").hits == ()
        assert memory.quarantine.forget_source(uri) == []
        assert reasons(memory, mine)[-2:] == ["merged", "present"]

    def test_the_user_takes_over_what_an_agent_said(self, memory):
        """An importance that was not given is that of the user's own words."""
        memory.add(CODE, source="agent", importance=1.0, aliases=["sesame"], pinned=True)
        mine = memory.add(CODE)
        own = memory.of("alone").add(CODE)
        assert (mine.source, mine.aliases, mine.pinned) == (Source(), (), False)
        assert mine.importance <= own.importance < 1.0

    @pytest.mark.parametrize("chosen", [None, "door"])
    def test_an_agent_only_reinforces_what_the_user_said(self, memory, chosen):
        """It makes no rule of it, pins nothing, adds no name and takes away no end."""
        mine = memory.add(CODE, expires_in=60, id=chosen)
        again = memory.add(
            CODE,
            "long",
            source="agent",
            kind="rule",
            pinned=True,
            aliases=["sesame"],
            tags=["theirs"],
            metadata={"x": 1},
            importance=1.0,
            id=chosen,
        )
        assert again.id == mine.id
        assert again == replace(mine, reinforced=0 if chosen else 1)
        assert reasons(memory, mine) == ["present"]

    def test_what_may_turn_out_distrusted_adds_nothing(self, memory):
        """Labels that come with a parent nobody knows yet could not be taken back."""
        mine = memory.add(CODE)
        derived = Source(Trust.AGENT, parents=("later",))
        assert memory.add(CODE, source=derived, tags=["doubt"]).id == mine.id
        memory.add("a page", id="later", source="web")
        assert memory.get(mine.id).tags == ()


class TestTurns:
    """A conversation is what was said, each turn of it."""

    SAID = (
        ("assistant", "Delete a.txt?"), ("user", "yes"), ("assistant", "Delete b.txt?"),
        ("user", "no"), ("assistant", "Delete c.txt?"), ("user", "yes"),
    )  # fmt: skip

    def turns(self, **options):
        """Return the conversation as drafts."""
        return [{"text": text, "role": role, "session": "s"} | options for role, text in self.SAID]

    @pytest.mark.parametrize(
        "options", [{"tier": "short"}, {"tier": "long", "kind": "episode"}, {"importance": 0.1}]
    )
    @pytest.mark.parametrize("batch", [False, True])
    def test_every_turn_is_kept(self, memory, options, batch):
        """Two equal answers are two turns, one by one or in a batch, with a clock that stands."""
        drafts = self.turns(**options)
        if batch:
            memory.add_many(drafts)
        else:
            for draft in drafts:
                memory.add(**draft)
        kept = memory.list(session="s")
        assert [m.text for m in kept] == [text for _, text in self.SAID]
        assert {m.reinforced for m in kept} == {0}

    def test_recent_shows_the_conversation(self, memory):
        """The ring holds what was said, in order."""
        for draft in self.turns(tier="short"):
            memory.add(**draft)
        assert [m.text for m in memory.sessions.recent(session="s")] == [
            text for _, text in self.SAID
        ]

    def test_a_retry_of_a_turn_is_one_turn(self, memory):
        """Its id, or the moment it was said, tells a retry from a turn."""
        for options in ({"id": "t1"}, {"occurred_at": MAY}):
            for _ in range(2):
                memory.add("yes", "short", session="s", **options)
        assert len(memory.sessions.recent(session="s")) == 2

    def test_a_turn_can_be_kept_for_good(self, memory):
        """Said again to be a fact of the long tier, the turn itself becomes that."""
        turn = memory.add(CODE, "short", session="s")
        assert memory.add(CODE, "long", session="s").id == turn.id
