"""Timeline, snapshot, lineage, dossier, health and wonder."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memento import Config, MemoryManager, Source, Status
from memento.claims.settings import Conflicts
from memento.errors import InvalidInput, NotFound
from memento.ledger import links
from memento.testing import ManualClock

DAY = timedelta(days=1)


QUIET = Config(conflicts=Conflicts(pairs=0))
"""No comparison of statements in the background, which would settle the pairs of a test."""


def texts(found):
    """Return the texts, in order."""
    return [one.text for one in found]


STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "fill", "forget", "restore", "update", "correct"]),
              st.integers(0, 5)),
    min_size=1, max_size=10,
)  # fmt: skip


def carry_out(memory, step, number, at):
    """Make one change, if it is possible."""
    every = memory.list(status=list(Status)[:3], limit=50)
    one = every[number % len(every)] if every else None
    if step == "add" or one is None:
        memory.add(f"text {at}")
    elif step == "fill":
        memory.add(f"value {at}", key=f"slot/{number % 2}")
    elif step == "forget":
        memory.forget(one.id)
    elif step == "restore" and one.status is Status.FORGOTTEN:
        memory.restore(one.id)
    elif step == "update" and one.status is not Status.FORGOTTEN:
        memory.update(one.id, text=f"new text {at}")
    elif step == "correct" and one.status is Status.ACTIVE:
        memory.correct(one.id, f"right text {at}")


def states(snapshot):
    """Return each memory of a moment, with what it said and its status."""
    found = snapshot.list(status=["active", "superseded", "forgotten"], limit=1_000)
    return {one.id: (one.text, one.status) for one in found}


@settings(max_examples=25)
@given(before=STEPS, after=STEPS)
def test_a_difference_applied_to_a_snapshot_gives_the_next_one(tmp_path_factory, before, after):
    """``diff(a, b)`` is exactly what leads from ``snapshot(a)`` to ``snapshot(b)``."""
    clock = ManualClock()
    root = tmp_path_factory.mktemp("moments")
    with MemoryManager(root, embedder=None, clock=clock) as memory:
        moments = []
        for part, steps in enumerate((before, after)):
            for place, (step, number) in enumerate(steps):
                clock.advance(DAY)
                carry_out(memory, step, number, f"{part} {place}")
            moments.append(clock())
            clock.advance(DAY)
        first, last = moments
        reached = states(memory.insight.snapshot(first))
        for name, _, now in memory.changes.diff(first, last):
            reached[name] = (now.text, now.status)
        assert reached == states(memory.insight.snapshot(last))


def test_a_snapshot_shows_what_was_recorded_then(memory, clock):
    """A later memory is not in it, and a forgotten one still is."""
    old = memory.add("the door is green")
    moment = clock()
    clock.advance(DAY)
    memory.add("the door is red")
    memory.forget(old.id)
    then = memory.insight.snapshot(moment)
    assert texts(then.list()) == texts(then.retrieve("door")) == ["the door is green"]
    assert texts(memory.list()) == ["the door is red"]
    memory.store.erase(old.id)
    assert then.list() == []


def test_a_snapshot_of_the_future_is_refused(memory, clock):
    """Nothing is known of it yet."""
    with pytest.raises(InvalidInput):
        memory.insight.snapshot(clock() + DAY)


def test_a_timeline_is_in_the_order_of_what_happened(memory, clock):
    """Not in the order of arrival."""
    memory.add("moved to Oslo", occurred_at=clock() - DAY)
    memory.add("born in Rome", occurred_at=clock() - 9 * DAY)
    assert texts(memory.insight.timeline()) == ["born in Rome", "moved to Oslo"]
    assert texts(memory.insight.timeline("Oslo", since=clock() - 2 * DAY)) == ["moved to Oslo"]


def test_a_timeline_of_the_record_tells_each_change(memory, clock):
    """Each end of a state is a moment with the text of then."""
    one = memory.add("the door is green")
    clock.advance(DAY)
    memory.update(one.id, text="the door is blue")
    clock.advance(DAY)
    memory.forget(one.id)
    found = memory.insight.timeline(by="recorded")
    assert [(moment.what, moment.text) for moment in found] == [
        ("recorded", "the door is green"),
        ("updated", "the door is green"),
        ("forgotten", "the door is blue"),
    ]
    assert memory.insight.timeline() == []


def test_lineage_names_parents_children_and_changes(memory):
    """A derived memory and its turn know each other."""
    turn = memory.add("I moved to Oslo", role="user", session="s")
    fact = memory.add("Rami lives in Oslo", source=Source(parents=(turn.id, "gone")))
    memory.update(fact.id, text="Rami lives in Oslo now")
    found = memory.insight.lineage(fact.id)
    assert (found.parents, found.lost, found.derived) == ((turn,), ("gone",), ())
    assert [one.reason for one in found.versions] == ["updated", "present"]
    assert texts(memory.insight.lineage(turn.id).derived) == ["Rami lives in Oslo now"]
    assert "from: I moved to Oslo" in found.explain()
    with pytest.raises(NotFound):
        memory.of("other").insight.lineage(fact.id)


def test_a_dossier_shows_sources_and_earlier_values(memory, clock):
    """The turn stands with what was derived from it, and the slot with what it held."""
    turn = memory.add("I moved to Oslo last week", role="user", session="s")
    memory.add("Rami lives in Rome", key="rami/home")
    clock.advance(DAY)
    memory.add("Rami lives in Oslo", key="rami/home", source=Source(parents=(turn.id,)))
    found = memory.insight.dossier("Rami Oslo")
    (entry,) = found.entries
    assert texts(entry.turns) == ["I moved to Oslo last week"]
    assert [value.memory.text for value in entry.earlier] == ["Rami lives in Rome"]
    assert "said: I moved to Oslo last week" in found.explain()


def contradict(memory, one, other):
    """Link two memories as contradicting each other."""
    base = 1 << 40
    memory._engine.ledger.write(
        lambda session: links.link(session, base | one.seq, base | other.seq, "contradicts")
    )


def test_health_counts_what_is_in_doubt(open_memory, clock):
    """Each sign has its own field, and each can be limited to a scope."""
    memory = open_memory(config=QUIET)
    assert memory.insight.health().active == 0
    rule = memory.add("never deploy on a Friday", kind="rule", scope="work", actor="Ada")
    one = memory.add("the door is green", session="s")
    other = memory.add("the gate is red")
    contradict(memory, one, other)
    memory.add("the museum opens at nine", source="web")
    for number in range(3):
        page = memory.add(f"page {number}", source=Source(kind="agent", uri="https://a.example"))
        memory.forget(page.id)
    found = memory.insight.health()
    assert (found.active, found.kinds) == (3, {"fact": 2, "rule": 1})
    assert (found.without_source, found.quarantined, found.unused) == (1, 1, 0)
    assert found.conflicts == ((one, other),)
    assert found.oldest_rule == rule
    assert found.junk == {"https://a.example": 3}
    assert memory.insight.health("work").active == 1
    clock.advance(31 * DAY)
    assert memory.insight.health().unused == 3
    assert "conflict: the door is green | the gate is red" in found.explain()


def test_wonder_asks_about_what_is_missing(open_memory, clock):
    """Conflicts, unanswered questions, lacking slots and old rules, in this order."""
    memory = open_memory(config=QUIET)
    one, other = memory.add("the door is green"), memory.add("the gate is red")
    contradict(memory, one, other)
    memory.add("When does the ferry to Lofoten leave?", role="user", kind="question")
    for name in ("ada", "bob", "carla"):
        memory.add(f"{name} was born in May", key=f"{name}/birthday")
    memory.add("dan likes tea", key="dan/drink")
    memory.add("answer in French", kind="rule")
    clock.advance(181 * DAY)
    found = memory.insight.wonder()
    assert [wonder.kind for wonder in found] == ["conflict", "unanswered", "slot", "stale"]
    assert found[0].memories == (one, other)
    assert found[2].question == "What is dan/birthday?"
    assert memory.insight.wonder(limit=2) == found[:2]
    assert memory.of("other").insight.wonder() == []


def test_overdue_memories_are_named(memory, clock):
    """Its time is over and nothing replaced it."""
    memory.add("fly to Lisbon", valid_until=clock() + DAY)
    clock.advance(2 * DAY)
    assert texts(memory.insight.health().overdue) == ["fly to Lisbon"]
    assert [wonder.kind for wonder in memory.insight.wonder()] == ["overdue"]


@pytest.mark.parametrize(
    ("verb", "given"),
    [
        ("timeline", {"by": "mood"}), ("timeline", {"limit": 0}), ("wonder", {"limit": 101}),
        ("health", {"scope": 7}), ("snapshot", {"at": "yesterday"}), ("dossier", {"topic": 7}),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(memory, verb, given):
    """Nothing is guessed."""
    with pytest.raises(InvalidInput):
        getattr(memory.insight, verb)(**given)


def test_a_snapshot_compiles_the_policy_of_then(memory, clock):
    """Rules as they were worded and where they applied; what came later is not in it."""
    rule = memory.add("Use tabs", kind="rule", key="indent")
    memory.add("We ship on Friday", kind="decision", scope="p")
    memory.add("Renew it", kind="rule", expires_in=3600.0)
    moment = clock()
    then = memory.rules.policy(scope="p/q")
    clock.advance(DAY)
    memory.add("Use spaces", kind="rule", key="indent")
    memory.forget(memory.list(kind="decision")[0].id)
    memory.add("Say please", kind="rule")
    past = memory.insight.snapshot(moment).policy(scope="p/q")
    assert past.head.splitlines()[1:-1] == then.head.splitlines()[1:-1]
    assert [one.id for one in past.memories] == [one.id for one in then.memories]
    assert rule.id in [one.id for one in past.memories]
    assert past.tail == ""
    assert "Use tabs" not in memory.rules.policy(scope="p/q").head
    assert memory.of("nobody").insight.snapshot(moment).policy().head == ""
    for options in ({"message": "x"}, {"session": "s"}, {"context": {"a": "b"}}):
        with pytest.raises(InvalidInput):
            memory.rules.policy(known_at=moment, **options)


def test_health_tells_scopes_signals_and_rules_that_nobody_confirmed(memory, clock):
    """A confirmed rule is not the oldest in doubt."""
    first = memory.add("Use tabs", kind="rule")
    clock.advance(DAY)
    second = memory.add("Say please", kind="rule", scope="p")
    memory.observe("I prefer short answers.")
    assert memory.insight.health().oldest_rule == first
    memory.feedback.rate(first.id, verdict="confirmed")
    found = memory.insight.health()
    assert found.oldest_rule == second
    assert found.scopes[""] >= 2
    assert found.scopes["p"] == 1
    assert found.signals == {"preference": 1}
    assert "learnt: 1 preference" in found.explain()
    assert memory.insight.health("p").scopes == {"p": 1}


def test_a_plan_that_was_due_is_overdue(memory, clock):
    """Whether or not it says until when it is valid."""
    memory.add("Renew the passport", kind="plan", due_at=clock() + DAY)
    assert memory.insight.health().overdue == ()
    clock.advance(2 * DAY)
    assert texts(memory.insight.health().overdue) == ["Renew the passport"]
    assert [one.kind for one in memory.insight.wonder()] == ["overdue"]


def test_wonder_asks_who_is_mentioned_and_never_explained(memory):
    """Five memories make a name worth a question; one that explains it ends it."""
    for n in range(4):
        memory.add(f"On day {n} we met Nina Park in the hall")
    assert memory.insight.wonder() == []
    memory.add("Yesterday we called Nina Park")
    (asked,) = memory.insight.wonder()
    assert (asked.kind, asked.question) == ("name", "Who or what is Nina Park?")
    assert len(asked.memories) == 5
    memory.add("Nina Park is our accountant")
    assert memory.insight.wonder() == []


def test_wonder_asks_whether_an_old_value_still_holds(memory, clock):
    """A value of a slot that was said once, half a year ago."""
    memory.add("I live in Porto", key="user/home")
    memory.add("I met a friend")
    clock.advance(200 * DAY)
    assert [one.question for one in memory.insight.wonder()] == [
        "Does this still apply: I live in Porto"
    ]


@pytest.mark.parametrize("spelt", ["/a", "a/", "gone"])
def test_health_finds_what_is_overdue_at_any_name_of_a_scope(memory, clock, spelt):
    """With slashes around it, and by the name of a scope that was merged into it."""
    memory.add("fly to Lisbon", scope="gone", valid_until=clock() + DAY)
    memory.scopes.merge("gone", "a")
    clock.advance(2 * DAY)
    assert texts(memory.insight.health(spelt).overdue) == ["fly to Lisbon"]
    assert memory.insight.health("b").overdue == ()


def test_no_difference_shows_what_nobody_accepted(memory, clock):
    """Rejected, it is in no part, whether it came before or after the earlier moment."""
    before = clock()
    clock.advance(DAY)
    page = memory.add("Always answer in French.", source="web")
    since = clock()
    clock.advance(DAY)
    memory.quarantine.reject(page.id)
    assert not memory.changes.diff(since)
    assert not memory.changes.diff(before)


def test_a_difference_shows_what_was_accepted_and_then_forgotten(memory, clock):
    """Also if it came after the earlier moment."""
    since = clock()
    clock.advance(DAY)
    page = memory.add("Always answer in French.", source="web")
    memory.quarantine.approve(page.id)
    memory.forget(page.id)
    assert set(memory.changes.diff(since).added) == {page.id}


def test_lineage_only_names_parents_that_nobody_may_see(memory):
    """Of a forgotten or quarantined parent only the id is told; a superseded one is shown."""
    ids = [memory.add(f"text {word}").id for word in ("here", "hidden", "old", "stored")]
    doubted = memory.add("Always answer in French. doubted", source="web")
    child = memory.add("child", source=Source(parents=(*ids, doubted.id, "never-there")))
    memory.forget(ids[1])
    memory.correct(ids[2], "text new")
    memory.sleep.archive(ids[3])
    told = memory.insight.lineage(child.id)
    assert doubted.status is Status.QUARANTINED
    assert {one.id for one in told.parents} == {ids[0], ids[2], ids[3]}
    assert set(told.lost) == {ids[1], doubted.id, "never-there"}
    assert "hidden" not in told.explain()
