"""Memories that are used together lead to each other, within bounds and never by being shown."""

import json
from datetime import timedelta

import pytest
from beside import read_sql, write_sql
from hypothesis import given, settings
from hypothesis import strategies as st

from memento import Config, MemoryManager
from memento.dynamics.association import Association
from memento.dynamics.formulas import Effect
from memento.ledger import co_use
from memento.testing import ManualClock
from memento.upkeep.backup import restore

HOURS, DAY = timedelta(hours=2), timedelta(days=1)
QUESTION = "Where is the deploy runbook?"
NAMES = ("Heron", "Egret", "Plover", "Avocet")


def filled(memory):
    """Add memories that match the question alike."""
    for name in NAMES:
        memory.add(f"The deploy runbook of project {name} is here", id=name, kind="episode")
    return memory


def links(memory):
    """Return the stored links as names and weights."""
    rows = read_sql(
        memory,
        "SELECT s.id, d.id, round(a.weight, 4), a.count FROM associations AS a"
        " JOIN memories AS s ON s.docid = a.src JOIN memories AS d ON d.docid = a.dst"
        " ORDER BY 1, 2",
    )
    return {(src, dst): (weight, count) for src, dst, weight, count in rows}


def together(memory, clock, names, times, **how):
    """Use memories together, some hours apart."""
    for _ in range(times):
        clock.advance(HOURS)
        memory.feedback.rate(list(names), verdict="used", **how)


def led(memory):
    """Return by how much each hit is led to."""
    hits = memory.retrieve(QUESTION, 10, record=False)
    return {hit.id: hit.terms["associated"] for hit in hits if "associated" in hit.terms}


def test_a_link_acts_from_the_third_use_together(memory, clock):
    """Both ways, and on nothing else."""
    filled(memory)
    together(memory, clock, ("Heron", "Plover"), 2)
    assert led(memory) == {}
    together(memory, clock, ("Heron", "Plover"), 1)
    assert links(memory) == {
        ("Heron", "Plover"): (0.3859, 3),
        ("Plover", "Heron"): (0.3859, 3),
    }
    assert led(memory).keys() == {"Heron", "Plover"}
    assert all(0 < one <= 0.8 for one in led(memory).values())


@pytest.mark.parametrize(("many", "linked"), [(17, 17 * 16), (18, 0)])
def test_a_call_about_more_than_links_can_lead_to_makes_none(memory, many, linked):
    """Which of them each would lead to would be chance."""
    memory.add_many(f"Note {n} on the {n}th lamp post" for n in range(many))
    memory.feedback.rate([one.id for one in memory.list()], verdict="used")
    memory.sleep.run(steps=["fold"])
    assert len(links(memory)) == linked


def test_links_that_an_earlier_fold_made_are_folded_again(memory, clock):
    """Those of a store that knew no such limit go with the next sleep."""
    filled(memory)
    together(memory, clock, ("Heron", "Plover"), 1)
    memory.sleep.run(steps=["fold"])
    right = links(memory)

    def as_before(session):
        session.execute("UPDATE associations SET weight = 0.9")
        (noted,) = session.execute("SELECT value FROM meta WHERE name = 'associations'").fetchone()
        event, rules = json.loads(noted)
        value = json.dumps([event, rules.partition(" ")[2]])
        session.execute("UPDATE meta SET value = ? WHERE name = 'associations'", (value,))

    memory._engine.ledger.write(as_before)
    assert links(memory) != right
    memory.sleep.run(steps=["fold"])
    assert links(memory) == right


def test_only_verdicts_of_one_call_on_memories_link_them(memory, clock):
    """Neither being shown together, nor apart, nor a whole answer that was useful."""
    filled(memory)
    for _ in range(4):
        clock.advance(HOURS)
        memory.feedback.rate(memory.retrieve(QUESTION, 4), useful=True)
        memory.feedback.rate("Heron", verdict="used")
        memory.feedback.rate("Egret", verdict="used")
        memory.feedback.rate(["Plover", "Avocet"], verdict="wrong")
    memory.sleep.run(steps=["fold"])
    assert links(memory) == {}


def test_an_answer_that_cites_two_links_them(memory, clock):
    """The agent counts half, and once a day."""
    memory.add("The kiln burns at 1190 degrees", id="kiln")
    memory.add("The kiln is fired by Ottilie", id="who")
    for _ in range(2):
        clock.advance(HOURS)
        found = memory.retrieve("What do we know about the kiln?", record=False)
        memory.feedback.cite(found, "It is fired by Ottilie and burns at 1190 degrees.")
    assert links(memory)["kiln", "who"] == (0.075, 1)
    clock.advance(DAY)
    found = memory.retrieve("What do we know about the kiln?", record=False)
    memory.feedback.cite(found, "It is fired by Ottilie and burns at 1190 degrees.")
    assert links(memory)["kiln", "who"][1] == 2


@pytest.mark.parametrize("source", ["tool", "web", "import"])
def test_strangers_link_nothing(memory, clock, source):
    """Their verdicts stay in the log, without effect."""
    filled(memory)
    together(memory, clock, NAMES[:2], 5, source=source)
    assert links(memory) == {}


def test_a_use_without_the_other_loosens_a_link(memory, clock):
    """Until it acts no more, and in the end it goes."""
    filled(memory)
    together(memory, clock, ("Heron", "Plover"), 4)
    together(memory, clock, ("Heron",), 3)
    assert led(memory).keys() == {"Heron"}
    together(memory, clock, ("Heron",), 15)
    assert links(memory).keys() == {("Plover", "Heron")}


def test_a_verdict_that_is_taken_back_leaves_no_link(memory, clock):
    """The links are as if it had never been given."""
    filled(memory)
    together(memory, clock, ("Heron", "Plover"), 3)
    before = links(memory)
    together(memory, clock, ("Heron", "Egret"), 1)
    assert links(memory) != before
    for name in ("Heron", "Egret"):
        last = memory.feedback.belief(name).evidence[-1]
        memory.feedback.retract(event=last.event)
    assert links(memory) == before
    memory.feedback.retract(source="user")
    assert links(memory) == {}


def test_erased_and_replaced_memories_have_no_links(memory, clock):
    """Nor does any lead to them."""
    filled(memory)
    together(memory, clock, ("Heron", "Plover", "Egret"), 3)
    memory.store.erase("Plover")
    assert {name for pair in links(memory) for name in pair} == {"Heron", "Egret"}
    assert led(memory).keys() == {"Heron", "Egret"}
    assert all(one.ok for one in memory.store.doctor())


def test_the_links_of_a_memory_stay_within_their_budget(open_memory, clock):
    """And the log leads to the same links again."""
    memory = filled(open_memory(config=Config(association=Association(budget=0.5))))
    together(memory, clock, NAMES, 4)
    after = links(memory)
    for name in NAMES:
        total = sum(weight for (src, _), (weight, _) in after.items() if src == name)
        assert total == pytest.approx(0.5, abs=0.001)
    memory._engine.ledger.write(co_use.forget_all)
    memory.sleep.run(steps=["fold"])
    assert links(memory) == after


def test_doctor_finds_damaged_links_and_folds_them_again(memory, clock):
    """They are derived from the log."""
    filled(memory)
    together(memory, clock, ("Heron", "Plover"), 3)
    before = links(memory)
    write_sql(memory, "UPDATE associations SET weight = 0.9")
    found = {one.check: one for one in memory.store.doctor(repair=False)}
    assert not found["dynamics"].ok
    assert {one.check: one for one in memory.store.doctor()}["dynamics"].repaired
    assert links(memory) == before


def test_another_process_sees_what_changed(open_memory, clock):
    """It follows the links by their stamp, those that are dropped as well."""
    memory, other = filled(open_memory()), open_memory()
    together(memory, clock, ("Heron", "Plover"), 4)
    assert led(other) == led(memory) != {}
    memory.feedback.retract(source="user")
    assert led(other) == led(memory) == {}


def test_switched_off_nothing_is_linked_and_nothing_led(open_memory, clock, tmp_path):
    """By either of the two settings."""
    memory = filled(open_memory(config=Config(effect=Effect.off())))
    together(memory, clock, ("Heron", "Plover"), 4)
    assert led(memory) == {}
    none = filled(
        open_memory(config=Config(association=Association(rate=0.0)), root=tmp_path / "none")
    )
    together(none, clock, ("Heron", "Plover"), 4)
    assert links(none) == {}


@settings(max_examples=8)
@given(
    calls=st.lists(
        st.tuples(
            st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True),
            st.sampled_from(["user", "agent"]),
            st.integers(0, 30),
        ),
        max_size=12,
    ),
    taken_back=st.booleans(),
)
def test_folding_again_leads_to_the_same_links(tmp_path_factory, calls, taken_back):
    """However the log is cut, bit for bit."""
    clock, root = ManualClock(), tmp_path_factory.mktemp("links") / "store"
    with MemoryManager(root, embedder=None, clock=clock) as memory:
        filled(memory)
        for names, source, hours in calls:
            clock.advance(timedelta(hours=hours))
            memory.feedback.rate(names, verdict="used", source=source)
        if taken_back:
            memory.feedback.retract(source="agent")
        ledger, config = memory._engine.ledger, memory._engine.config
        rows = "SELECT src, dst, weight, count, at FROM associations ORDER BY 1, 2"
        before = ledger.read(lambda c: c.execute(rows).fetchall())
        ledger.write(co_use.forget_all)
        agent = config.dynamics.agent
        while ledger.write(lambda c: co_use.catch_up(c, config.association, agent, most=5)):
            pass
        assert ledger.read(lambda c: c.execute(rows).fetchall()) == before


def test_a_store_set_back_has_the_links_of_that_moment(open_memory, clock, tmp_path):
    """They are folded again from the verdicts that are left."""
    memory = filled(open_memory())
    together(memory, clock, ("Heron", "Plover"), 3)
    before, moment = links(memory), clock()
    together(memory, clock, ("Heron", "Egret"), 3)
    memory.store.backup(tmp_path / "backup.db")
    restore(tmp_path / "backup.db", tmp_path / "then", at=moment)
    then = open_memory(root=tmp_path / "then")
    then.sleep.run(steps=["fold"])
    assert links(then) == before != links(memory)
