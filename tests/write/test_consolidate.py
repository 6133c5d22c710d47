"""The sleep: idempotent, resumable, undoable, and it leaves alone what is not its business."""

from datetime import timedelta

import beside
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memento import Config, MemoryManager
from memento.config import Sleep
from memento.errors import InvalidInput
from memento.ledger import claim_rows
from memento.sleep import duplicates, run
from memento.testing import HashEmbedder, ManualClock
from memento.text import alike

EVERY = ["active", "superseded", "archived", "forgotten", "quarantined"]
SHED = "The blue bike of Anna is kept in the old shed"
ALWAYS = "The blue bike of Anna is always kept in the old shed"
DAY = timedelta(days=1)


def state(memory):
    """Return all that a sleep may change."""
    return beside.content(memory, "memories", "versions", "links", "events", "dynamics", "changes")


def shown(memory):
    """Return every memory by id, without the moments and versions of a change."""
    found = memory.list(status=EVERY, limit=1000)
    return {one.id: (one.text, one.status, one.tier, one.superseded_by) for one in found}


def lived(memory, clock, days=40):
    """Let memories come, be used and be forgotten, a question a day."""
    memory.add(SHED, id="shed", tags=["x"])
    memory.add(ALWAYS, id="always", aliases=["the bike"])
    memory.add("The blue bike of Bob is kept in the old shed", id="bob")
    for n in range(30):
        memory.add(
            f"We walked past the {n}th lamp post", id=f"e{n}", kind="episode", importance=0.1
        )
    memory.add("The gate code is 1904", id="gate", importance=0.55)
    for _ in range(days):
        clock.advance(DAY)
        memory.feedback.rate("gate", verdict="used")


def test_near_equal_statements_become_one(memory):
    """The longer one stays and has the names of both; the other leads to it."""
    memory.add(SHED, id="shed", tags=["x"])
    memory.add(ALWAYS, id="always", aliases=["the bike"])
    found = memory.sleep.run()
    assert found.done
    assert [one.id for one in memory.list()] == ["always"]
    assert memory.get("shed").superseded_by == "always"
    assert (memory.get("always").tags, memory.get("always").aliases) == (("x",), ("the bike",))
    assert memory.changes.history("shed")[0].reason == "folded"
    assert memory.feedback.strength("always").uses == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Anna keeps the blue bike in the shed", "Anna never keeps the blue bike in the shed"),
        ("The blue bike of Anna is in the shed", "The blue bike of Bob is in the shed"),
        ("Anna pays Bob for the blue garden bike", "Bob pays Anna for the blue garden bike"),
        ("The meeting room has 12 green chairs", "The meeting room has 14 green chairs"),
        ("We meet the green team on Monday", "We meet the green team on Friday"),
        ("The kitchen lamp switch is on today", "The kitchen lamp switch is off today"),
        ("The value of max_size in the tool is big", "The value of min_size in the tool is big"),
        ("Is the blue bike in the old shed", "Is the blue bike in the old shed?"),
        ("The blue bike isn't in the old shed", "The blue bike is in the old shed"),
    ],
)
def test_statements_that_differ_in_what_matters_stay(memory, one, other):
    """A negation, number, date, name, order of names, identifier or opposite keeps them apart."""
    memory.add(one)
    memory.add(other)
    memory.sleep.run()
    assert len(memory.list()) == 2


def test_a_join_that_ignores_negation_would_fold_them(memory, monkeypatch):
    """The null control of the test above: without marks the two become one."""
    read = alike.read
    monkeypatch.setattr(
        "memento.sleep.duplicates.read",
        lambda text: alike.Comparable(read(text).content - {"never"}, (), asks=False),
    )
    memory.add("Anna keeps the blue bike in the shed")
    memory.add("Anna never keeps the blue bike in the shed")
    memory.sleep.run()
    assert len(memory.list()) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"key": "bike"},
        {"pinned": True},
        {"expires_in": 86_400.0},
        {"session": "s", "role": "user"},
        {"scope": "home"},
        {"actor": "Bob"},
        {"metadata": {"a": 1}},
        {"kind": "opinion"},
        {"source": "web"},
    ],
)
def test_a_memory_with_something_of_its_own_is_not_folded(memory, fields):
    """A key, a pin, an end, a turn of a conversation, another place or speaker, quarantine."""
    memory.add(SHED)
    memory.add(ALWAYS, **fields)
    before = shown(memory)
    memory.sleep.run()
    assert shown(memory) == before


def test_vectors_must_be_near_too(open_memory, monkeypatch):
    """A group waits until its vectors are there; those that are far apart stay apart."""
    monkeypatch.setattr(duplicates, "FOLD_COSINE", 0.999)
    memory = open_memory(embedder=HashEmbedder(64))
    memory.add(SHED, "long")
    memory.add(ALWAYS, "long")
    assert memory.flush(wait=True, timeout=30)
    memory.sleep.run()
    assert len(memory.list()) == 2
    monkeypatch.setattr(duplicates, "FOLD_COSINE", -1.0)
    near = open_memory(memory.store.root.parent / "near", embedder=HashEmbedder(64))
    near.add(SHED, "long")
    near.add(ALWAYS, "long")
    assert near.flush(wait=True, timeout=30)
    near.sleep.run()
    assert len(near.list()) == 1


def test_restore_and_undo_take_one_out_again_and_the_next_sleep_respects_it(memory):
    """Its arrival is no use of the other any more, and nobody folds it a second time."""
    memory.add(SHED, id="shed")
    memory.add(ALWAYS, id="always")
    memory.sleep.run()
    assert memory.restore("shed").status == "active"
    assert memory.feedback.strength("always").uses == 0
    memory.sleep.run()
    assert len(memory.list()) == 2
    assert [one.relation for one in memory.insight.related("shed")] == []


def test_undo_of_a_run_takes_the_whole_sleep_back(open_memory, clock):
    """Folded, archived and moved ones are as they were, and so are the uses."""
    memory = open_memory(config=Config(sleep=Sleep(bite=5, archive_share=1.0)))
    lived(memory, clock, 60)
    before, uses = shown(memory), memory.feedback.strength("always").uses
    found = memory.sleep.run()
    assert {one.run for one in memory.changes.list() if one.kind == "consolidate"} == {found.run}
    assert len(memory.changes.list()) > 2
    assert shown(memory) != before
    memory.undo(run=found.run)
    assert shown(memory) == before
    assert memory.feedback.strength("always").uses == uses
    memory.sleep.run()
    assert shown(memory) == before


def test_a_second_sleep_writes_nothing(memory, clock):
    """At the same moment nothing is new: not a row, a revision, an event or a change."""
    lived(memory, clock)
    assert memory.sleep.run().done
    before = state(memory)
    again = memory.sleep.run()
    assert again.done
    assert again.run is None
    assert state(memory) == before


def test_a_second_sleep_reads_no_memory_and_tells_the_same(memory, clock, monkeypatch):
    """Its notes are those of the first; a verdict or another day makes it count again."""
    lived(memory, clock, 60)
    memory.feedback.rate("bob", verdict="wrong")
    notes = memory.sleep.run().notes
    assert notes["stale"] == len(memory.sleep.stale()) > 1

    def counted(*_):
        raise AssertionError

    with monkeypatch.context() as patch:
        patch.setattr(run.report, "notes", counted)
        assert memory.sleep.run().notes == notes
        assert memory.sleep.run(steps=["tiers"]).notes == notes
    memory.feedback.rate("e1", verdict="wrong")
    sold = {"occurred_at": clock() - 2 * DAY, "valid_until": clock() - DAY}
    memory.add_many({"text": f"The {n}th boat is for sale", **sold} for n in range(3))
    assert memory.sleep.run().notes["stale"] == len(memory.sleep.stale()) != notes["stale"]
    memory.add("The ladder is in the cellar", valid_until=clock() + DAY)
    clock.advance(2 * DAY)
    assert memory.sleep.run().notes["stale"] == len(memory.sleep.stale())


def test_a_dry_run_says_the_same_and_writes_nothing(memory, clock):
    """The number of things is that of the sleep that follows."""
    lived(memory, clock, 60)
    memory.sleep.run(steps=["fold"])
    before = state(memory)
    told = memory.sleep.run(dry_run=True)
    assert state(memory) == before
    done = memory.sleep.run()
    assert done.steps["archive"].changed == told.steps["archive"].changed
    assert told.steps["duplicates"].changed == 1


@settings(max_examples=6)
@given(cuts=st.lists(st.integers(1, 4), max_size=12), bite=st.integers(1, 9))
def test_the_result_is_the_same_whatever_the_cuts(tmp_path_factory, cuts, bite):
    """Cut by rows at random places and done in bites of any size: the same memories at the end."""
    ends = []
    for name, each, size in (("whole", [], 200), ("cut", cuts, bite)):
        clock = ManualClock()
        config = Config(sleep=Sleep(bite=size, archive_share=0.5, replay=1.0, lease=0))
        folder = tmp_path_factory.mktemp(name) / "store"
        with MemoryManager(folder, embedder=None, clock=clock, config=config) as memory:
            lived(memory, clock, 60)
            for rows in each:
                memory.sleep.run(rows=rows)
            assert memory.sleep.run().done
            ends.append(shown(memory))
    assert ends[0] == ends[1]
    assert "archived" in {status for _, status, *_ in ends[0].values()}


def test_two_sleepers_do_each_bite_once(open_memory, clock, monkeypatch):
    """Without a lease to keep them apart, the one that comes late does nothing."""
    memory = open_memory(config=Config(sleep=Sleep(lease=0, bite=1, archive_share=1.0)))
    lived(memory, clock, 60)
    other = open_memory(config=Config(sleep=Sleep(lease=0, bite=1, archive_share=1.0)))
    skipped = []

    def first_the_other(self, job, **last):
        monkeypatch.setattr(run.Sleeper, "_bite", bite)
        skipped.append(other.sleep.run(rows=1).skipped)
        return bite(self, job, **last)

    bite = run.Sleeper._bite
    monkeypatch.setattr(run.Sleeper, "_bite", first_the_other)
    assert memory.sleep.run().skipped == run.ELSEWHERE
    assert skipped == [""]
    assert memory.sleep.run().done
    archived = [one.kind for one in memory.changes.list(limit=1000) if one.kind == "consolidate"]
    reasons = [
        state.reason
        for one in memory.list(status="archived")
        for state in memory.changes.history(one.id)
    ]
    assert reasons.count("archived") == len(memory.list(status="archived"))
    assert archived


def test_a_held_lease_is_respected_until_it_ends(open_memory, clock):
    """A sleep that died keeps others away for a minute, and no longer."""
    memory = open_memory()
    lived(memory, clock, 1)
    ns = memory._engine.ledger.find_namespace(memory.store.namespace)
    until = int(clock().timestamp() * 1_000_000) + 60_000_000
    beside.write_sql(memory, "INSERT INTO sleeps VALUES (?, 'dead', ?, '{}')", ns, until)
    assert memory.sleep.run().skipped == run.ELSEWHERE
    clock.advance(timedelta(seconds=61))
    assert memory.sleep.run().done


def test_archiving_needs_days_of_use(open_memory, clock):
    """A store that is left alone for years comes back as it was, however often it sleeps."""
    memory = open_memory(config=Config(sleep=Sleep(archive_share=1.0)))
    lived(memory, clock, 10)
    memory.sleep.run()
    before = shown(memory)
    for _ in range(30):
        clock.advance(timedelta(days=30))
        memory.sleep.run()
    assert shown(memory) == before
    for _ in range(60):
        clock.advance(DAY)
        memory.feedback.rate("gate", verdict="used")
    memory.sleep.run()
    assert len(memory.list(status="archived")) == 30


def test_no_more_than_a_share_is_archived_in_one_sleep(open_memory, clock):
    """The most forgotten go first; the next day the next ones."""
    memory = open_memory(config=Config(sleep=Sleep(archive_share=0.1)))
    lived(memory, clock, 60)
    memory.sleep.run()
    assert len(memory.list(status="archived")) == 4
    clock.advance(DAY)
    memory.sleep.run()
    assert len(memory.list(status="archived")) == 7


@pytest.mark.parametrize("how", ["used", "pinned", "locked", "keyed", "kind", "important", "back"])
def test_a_memory_that_somebody_needs_is_never_archived(open_memory, clock, how):
    """Used, pinned, locked, with a key, of a lasting kind, important, or brought back before."""
    memory = open_memory(config=Config(sleep=Sleep(archive_share=1.0)))
    fields = {
        "pinned": {"pinned": True},
        "keyed": {"key": "walk"},
        "kind": {"kind": "fact"},
        "important": {"importance": 0.5},
    }
    given = {"kind": "episode", "importance": 0.1} | fields.get(how, {})
    memory.add("We walked past the last lamp post", id="kept", **given)
    if how == "locked":
        memory.update("kept", lock="user")
    if how == "used":
        memory.feedback.rate("kept", verdict="used")
    if how == "back":
        memory.sleep.archive("kept")
        memory.sleep.unarchive("kept")
    lived(memory, clock, 60)
    memory.sleep.run()
    assert memory.get("kept").status == "active"
    assert len(memory.list(status="archived")) == 30


def test_a_quota_is_met_and_says_if_it_cannot_be(open_memory, clock):
    """Beyond ``most_active`` the most forgotten go, then the least important; keys never."""
    memory = open_memory(config=Config(sleep=Sleep(most_active=3)))
    lived(memory, clock, 2)
    memory.sleep.run()
    assert len(memory.list()) == 3
    strict = open_memory(
        memory.store.root.parent / "keys", config=Config(sleep=Sleep(most_active=1))
    )
    strict.add("the gate code is 11", key="gate")
    strict.add("the door code is 12", key="door")
    assert strict.sleep.run().steps["archive"].skipped == {"over the quota": 1}
    assert len(strict.list()) == 2


def test_a_tier_that_the_caller_chose_stays(open_memory, clock):
    """Of two that are used alike only the one whose tier memento chose goes to the long tier."""
    memory = open_memory()
    memory.add("The gate code is 1904", id="ours", importance=0.5)
    memory.add("The door code is 2011", "medium", id="theirs", importance=0.5)
    for _ in range(4):
        clock.advance(timedelta(days=7))
        memory.feedback.rate(["ours", "theirs"], verdict="used")
    clock.advance(timedelta(days=7))
    memory.sleep.run()
    assert (memory.get("ours").tier, memory.get("theirs").tier) == ("long", "medium")
    free = open_memory(config=Config(sleep=Sleep(move_given=True)))
    clock.advance(DAY)
    free.sleep.run()
    assert free.get("theirs").tier == "long"


def test_what_fades_goes_back_to_medium(open_memory, clock):
    """Long after the last use, but not in a store that is left alone; nor between the borders."""
    memory = open_memory()
    memory.add("The gate code is 1904", id="ours", importance=0.5)
    for _ in range(4):
        clock.advance(timedelta(days=7))
        memory.feedback.rate("ours", verdict="used")
    clock.advance(timedelta(days=7))
    memory.sleep.run()
    assert memory.get("ours").tier == "long"
    clock.advance(timedelta(days=60))
    memory.sleep.run()
    assert memory.get("ours").tier == "long"
    clock.advance(timedelta(days=800))
    memory.sleep.run()
    assert memory.get("ours").tier == "long"
    memory.add("The door code is 2011", id="other")
    memory.feedback.rate("other", verdict="used")
    memory.sleep.run()
    assert memory.get("ours").tier == "medium"


@pytest.mark.parametrize("way", ["feedback", "add"])
def test_a_pause_promotes_nothing_and_the_next_day_of_use_does(open_memory, clock, way):
    """The long strength grows while nobody uses the store, but that is no day to act on."""
    memory = open_memory(config=Config.task_agent())
    memory.add("The gate code is 1904", id="ours", importance=0.4)
    clock.advance(timedelta(days=7))
    memory.feedback.rate("ours", verdict="used")
    memory.sleep.run()
    for _ in range(30):
        clock.advance(DAY)
        assert memory.sleep.run().run is None
    assert memory.get("ours").tier == "medium"
    memory.add("The door code is 2011", id="other")
    if way == "feedback":
        memory.feedback.rate("other", verdict="used")
    memory.sleep.run()
    assert memory.get("ours").tier == "long"


def test_replay_is_once_a_day_of_use_and_no_use(open_memory, clock):
    """It makes a memory steadier and is no use; on a day without use nothing is replayed."""
    memory = open_memory(config=Config(sleep=Sleep(replay=0.1)))
    lived(memory, clock, 20)
    before = memory.feedback.strength("gate"), memory.feedback.strength("e3")
    found = memory.sleep.run()
    assert found.steps["replay"].changed == 4
    assert memory.feedback.strength("gate").uses == before[0].uses
    replayed = [one for one in memory.list(limit=100) if _is_steadier(memory, one.id)]
    assert len(replayed) == 4
    memory.sleep.run(steps=["replay"])
    assert memory.sleep.run().run is None
    clock.advance(DAY)
    assert memory.sleep.run().steps["replay"].changed == 0


def _is_steadier(memory, name):
    plain = 30 * (0.5 + memory.get(name).importance)
    return memory.get(name).kind == "episode" and memory.feedback.strength(name).stability > plain


def test_locked_and_pinned_memories_are_byte_identical(open_memory, clock):
    """Nothing of the sleep touches their rows."""
    memory = open_memory(config=Config(sleep=Sleep(archive_share=1.0, most_active=1)))
    lived(memory, clock, 60)
    memory.update("e1", lock="user")
    memory.update("e2", pinned=True)
    memory.update("shed", lock="promoted")

    def kept():
        names = ("e1", "e2", "shed")
        return memory._engine.ledger.read(
            lambda c: [
                c.execute("SELECT * FROM memories WHERE id = ?", (name,)).fetchone()
                for name in names
            ]
        )

    before = kept()
    memory.sleep.run()
    assert kept() == before
    assert len(memory.list(status="archived")) > 20


def test_every_hidden_memory_can_come_back(open_memory, clock):
    """Folded ones by ``restore``, archived ones by ``unarchive``."""
    memory = open_memory(config=Config(sleep=Sleep(archive_share=1.0)))
    lived(memory, clock, 60)
    memory.sleep.run()
    for one in memory.list(status="archived"):
        memory.sleep.unarchive(one.id)
    for one in memory.list(status="superseded"):
        memory.restore(one.id)
    assert len(memory.list()) == 34


def test_the_repetition_of_an_agent_does_not_strengthen(memory):
    """A repetition by the agent is no use and no evidence."""
    memory.add("The harbour opens at six", id="h")
    memory.add("The harbour opens at six", source="agent")
    memory.sleep.run()
    assert memory.feedback.strength("h").uses == 0
    assert memory.feedback.belief("h").mean == memory.feedback.belief("h").prior


def test_only_known_steps_are_taken(memory):
    """A misspelt step is an error; a sleep of an empty namespace does nothing."""
    assert memory.sleep.run().done
    for steps in (["folds"], "fold", 3):
        with pytest.raises(InvalidInput, match="steps"):
            memory.sleep.run(steps=steps)


def test_stale_memories_and_why(open_memory, clock):
    """Not valid any more, doubted, fading; the most forgotten first."""
    memory = open_memory()
    lived(memory, clock, 60)
    memory.add("The shop is open", id="shop", valid_until=clock() + DAY)
    memory.feedback.rate("bob", verdict="wrong")
    clock.advance(DAY)
    found = {one.memory.id: one.reasons for one in memory.sleep.stale()}
    assert found["e1"] == ("fading",)
    assert found["bob"] == ("doubted",)
    assert "gate" not in found
    assert [one.memory.id for one in memory.sleep.stale(kind="fact")] == ["bob", "shop"]
    assert len(memory.sleep.stale(limit=2)) == 2


def test_an_unusual_day_is_told(open_memory, clock):
    """Forty memories on a day after ten quiet ones; the same every day is nothing unusual."""
    memory = open_memory()
    for n in range(10):
        memory.add(f"a quiet note {n}")
        clock.advance(DAY)
    assert memory.sleep.anomalies() == []
    memory.add_many(f"a loud note {n}" for n in range(40))
    (found,) = memory.sleep.anomalies()
    assert (found.what, found.count, found.usual) == ("added", 40, 1)
    assert memory.sleep.anomalies(clock() + DAY) == []


def test_a_process_without_an_embedder_sleeps_by_itself(open_memory):
    """No group waits for vectors that this process never makes."""
    with open_memory(embedder=HashEmbedder(64)) as before:
        before.add("The gate code is 1904")
        before.flush(wait=True)
    memory = open_memory(config=Config(sleep=Sleep(auto="all")))
    memory.add(SHED, id="shed")
    memory.add(ALWAYS, id="always")
    memory._engine.background.tidy()
    assert {memory.get(name).status.value for name in ("shed", "always")} == {
        "active",
        "superseded",
    }


def waits(memory):
    """Tell whether statements of a namespace wait to be compared."""
    engine = memory._engine
    ns = engine.ledger.find_namespace(memory.store.namespace)
    return engine.ledger.read(lambda c: claim_rows.behind(c, ns))


def test_a_sleep_compares_nothing_of_other_namespaces(memory):
    """Its time is for its own memories, however many others share the store."""
    others = [memory.of(f"user {n}") for n in range(20)]
    with memory._engine.indexer.paused():
        for one in [memory, *others]:
            one.add(SHED)
        assert memory.sleep.run().done
        assert not waits(memory)
        assert all(waits(one) for one in others)


def test_a_sleep_without_time_does_one_thing_at_a_time(memory):
    """Comparing, and a step that finds nothing, are things too; in the end all is done."""
    with memory._engine.indexer.paused():
        memory.add_many(f"The {n}th lamp post stands at the gate" for n in range(300))
        first = memory.sleep.run(seconds=0)
        assert not first.done
        assert waits(memory)
        calls = 1
        while not (found := memory.sleep.run(seconds=0)).done:
            assert len(found.steps) <= 2  # the fold, and one more
            calls += 1
        assert calls > len(run.STEPS)
        assert not waits(memory)


def test_a_sleep_beside_one_who_compares_waits_no_longer_than_its_time(memory):
    """A flush of another thread may hold that up for long."""
    memory.add(SHED)
    background = memory._engine.background
    with memory._engine.indexer.paused(), background.statements.turn:
        memory.add(ALWAYS)
        assert not memory.sleep.run(seconds=0).done


def test_a_flush_without_time_compares_little(memory):
    """It says that it is not done, and the next one goes on."""
    with memory._engine.indexer.paused():
        for n in range(6):
            memory.of(f"user {n}").add_many(f"The {k}th lamp post" for k in range(400))
        assert not memory.flush(wait=True, timeout=0)
        assert any(waits(memory.of(f"user {n}")) for n in range(6))
    assert memory.flush(wait=True, timeout=60)
    assert not any(waits(memory.of(f"user {n}")) for n in range(6))
