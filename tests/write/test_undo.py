"""Any change can be undone: what it did is set back, and undoing the undo is redo."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta

import pytest
from beside import write_sql
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from memento import Config, MemoryManager, Source, Status
from memento.config import ShortConfig
from memento.errors import InvalidInput, MementoError, NotFound, NothingToUndo
from memento.ledger import changes, transfer
from memento.ledger.rows import MOST_LOCKED
from memento.testing import ManualClock
from memento.verbs import changes as verbs

DAY = timedelta(days=1)
FREE = {"rev", "updated_at", "reinforced", "version", "checksum"}
"""Columns that tell of the undo itself, or how often something was said; and the sum of all."""


def snapshot(memory):
    """Read every column of every memory, and every link, as the ledger has them."""
    ns = memory._engine.ledger.find_namespace(memory.store.namespace)

    def job(session):
        rows = {row.id: asdict(row) for row in transfer.rows(session, ns)}
        links = set(session.execute("SELECT src, dst, relation, weight FROM links").fetchall())
        return rows, links

    rows, links = ({}, set()) if ns is None else memory._engine.ledger.read(job)
    told = {name: {k: v for k, v in row.items() if k not in FREE} for name, row in rows.items()}
    return told, links


def has_no_successor(row):
    """Tell whether a memory was superseded by one that was erased."""
    return row["status"] == "superseded" and row["superseded_by"] is None


def active(memory):
    """Return the texts that are active, sorted."""
    return sorted(one.text for one in memory.list())


def last(memory):
    """Return the newest change."""
    return memory.changes.list(limit=1)[0]


def numbers(memory):
    """Return the numbers of all changes, the newest first."""
    return [one.number for one in memory.changes.list()]


def circles(memory):
    """Return the ids from which the chain of successors comes back."""
    every = {one.id: one.superseded_by for one in memory.list(status=list(Status), limit=1000)}
    found = []
    for start, successor in every.items():
        at, steps = successor, 0
        while at is not None and steps <= len(every):
            at, steps = every.get(at), steps + 1
        found += [start] * (steps > len(every))
    return found


class Undoing(RuleBasedStateMachine):
    """Changes memories at random, undoes each change at once or much later, and looks."""

    @initialize()
    def start(self):
        """Open an empty store."""
        self.clock = ManualClock()
        self.root = self.folder.mktemp("undo") / "store"
        self.memory = MemoryManager(self.root, embedder=None, clock=self.clock)
        self.ids: list[str] = []

    def some(self, at):
        """Pick a memory."""
        return self.ids[at % len(self.ids)] if self.ids else "nobody"

    def carry_out(self, job, *, check):
        """Do something; if it is a change, undo and redo it, and compare every byte."""
        before, known = snapshot(self.memory), numbers(self.memory)
        try:
            done = job()
        except (InvalidInput, NotFound, NothingToUndo):
            assert snapshot(self.memory) == before
            assert numbers(self.memory) == known
            return
        self.ids += [done.id] if done is not None and done.id not in self.ids else []
        after = snapshot(self.memory)
        made = [one for one in self.memory.changes.list() if one.number not in known]
        orphans = [row for row in before[0].values() if has_no_successor(row)]
        if len(made) != 1 or not check or orphans:
            return
        self.check(made[0], before, after)

    def check(self, made, before, after):
        """Undo a change that was just made, then undo the undo."""
        undone = self.memory.undo(made.number)
        assert undone.left == {}
        rows, links = snapshot(self.memory)
        ours = {name: row for name, row in rows.items() if name in before[0]}
        assert ours == before[0]
        assert all(rows[name]["status"] == "forgotten" for name in rows.keys() - ours.keys())
        fresh = {rows[name]["docid"] for name in rows.keys() - ours.keys()}
        assert {link for link in links if fresh.isdisjoint(link[:2])} == before[1]
        assert self.memory.undo(undone.changes[0]).left == {}
        assert snapshot(self.memory) == after

    @rule(
        at=st.integers(0, 20),
        key=st.sampled_from([None, "k", "l"]),
        scope=st.sampled_from(["", "a"]),
        word=st.sampled_from(["tea", "door", "plan", "walk", "blue"]),
        days=st.sampled_from([None, None, None, -3, -1, 2]),
        supersedes=st.booleans(),
        check=st.booleans(),
    )
    def add(self, at, key, scope, word, days, supersedes, check):
        """Add one, perhaps as the successor of another."""
        when = None if days is None else self.clock() + days * DAY
        old = [self.some(at)] if supersedes and self.ids else []
        self.carry_out(
            lambda: self.memory.add(
                word, "long", key=key, scope=scope, occurred_at=when, supersedes=old,
                related=old, importance=0.5,
            ),
            check=check,
        )  # fmt: skip

    @rule(at=st.integers(0, 20), word=st.sampled_from(["cup", "hill"]), check=st.booleans())
    def correct(self, at, word, check):
        """Correct one."""
        self.carry_out(lambda: self.memory.correct(self.some(at), word), check=check)

    @rule(at=st.integers(0, 20), word=st.sampled_from(["cup", "hill"]), check=st.booleans())
    def replace(self, at, word, check):
        """Replace one under its id."""
        self.carry_out(
            lambda: self.memory.add(word, "long", id=self.some(at), replace=True, importance=0.5),
            check=check,
        )

    @rule(
        at=st.integers(0, 20),
        what=st.sampled_from(
            [{"text": "sea"}, {"scope": "a"}, {"scope": ""}, {"tags": ["t"]}, {"pinned": True}]
        ),
        check=st.booleans(),
    )
    def update(self, at, what, check):
        """Change one in place."""
        self.carry_out(lambda: self.memory.update(self.some(at), **what), check=check)

    @rule(
        at=st.integers(0, 20),
        verb=st.sampled_from(["forget", "restore"]),
        check=st.booleans(),
    )
    def hide(self, at, verb, check):
        """Forget one, or bring it back."""
        self.carry_out(lambda: getattr(self.memory, verb)(self.some(at)), check=check)

    @rule(at=st.integers(0, 20), tier=st.sampled_from(["medium", "long"]), check=st.booleans())
    def move(self, at, tier, check):
        """Move one."""
        self.carry_out(lambda: self.memory.update(self.some(at), tier=tier), check=check)

    @rule(key=st.sampled_from(["k", "l"]), scope=st.sampled_from(["", "a"]), check=st.booleans())
    def revert(self, key, scope, check):
        """Let the value before hold again."""
        self.carry_out(lambda: self.memory.slots.revert(key, scope=scope), check=check)

    @rule(at=st.integers(0, 20), force=st.booleans())
    def undo(self, at, force):
        """Undo any change; what is left stays as it was, byte for byte."""
        known = self.memory.changes.list()
        if not known:
            return
        before = snapshot(self.memory)[0]
        try:
            done = self.memory.undo(known[at % len(known)].number, force=force)
        except NothingToUndo:
            return
        after = snapshot(self.memory)[0]
        assert force or all(after[name] == before[name] for name in done.left)
        assert bool(done.changes) == bool(done.memories)

    @rule(at=st.integers(0, 20))
    def erase(self, at):
        """Take one out for good."""
        if self.ids:
            self.memory.store.erase(gone := self.some(at), derived=False)
            self.ids.remove(gone)

    @rule(days=st.sampled_from([0, 1]))
    def wait(self, days):
        """Let time pass, or stand still."""
        self.clock.advance(days * DAY)

    @invariant()
    def slots_hold_one_and_chains_end(self):
        """At most one memory holds a slot; no chain is a circle."""
        if not hasattr(self, "memory"):
            return
        slots = [(one.key, one.scope) for one in self.memory.list() if one.key]
        assert len(slots) == len(set(slots))
        assert circles(self.memory) == []

    def teardown(self):
        """Nothing is damaged at the end."""
        if hasattr(self, "memory"):
            assert [found for found in self.memory.store.doctor() if not found.ok] == []
            self.memory.close()


@pytest.fixture(autouse=True)
def _folders(tmp_path_factory):
    Undoing.folder = tmp_path_factory


TestUndoing = Undoing.TestCase
TestUndoing.settings = settings(
    max_examples=25,
    stateful_step_count=25,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


# --- what a change is


def test_a_plain_add_is_no_change(memory):
    """Neither are a repeat and a later expiry; a value that takes a slot is one."""
    memory.add("tea", key="drink", expires_in=60)
    memory.add("tea", key="drink", expires_in=90)
    memory.store.touch([one.id for one in memory.list()], 600)
    assert memory.changes.list() == []
    memory.add("coffee", key="drink")
    assert [(one.kind, one.by) for one in memory.changes.list()] == [("add", "user")]


def test_what_the_ring_pushes_out_is_no_change(open_memory):
    """A turn that leaves the ring because of others can still be set back."""
    memory = open_memory(config=Config(short=ShortConfig(capacity=1)))
    old = memory.add("tea", "short", key="drink", session="s")
    new = memory.add("coffee", "short", key="drink", session="s")
    memory.add("a turn", "short", session="s")
    assert [one.kind for one in memory.changes.list()] == ["add"]
    assert memory.get(new.id).tier == "medium"
    assert memory.undo(last(memory).number).left == {}
    assert (memory.get(old.id).status, memory.get(new.id).status) == ("active", "forgotten")


def test_a_change_names_what_it_did(memory):
    """Kind, moment, source, the memories that changed and came, and its revisions."""
    old = memory.add("tea", key="drink", source="agent")
    new = memory.correct(old.id, "coffee", source="agent")
    one = last(memory)
    assert (one.kind, one.by, one.changed, one.added) == ("correct", "agent", (old.id,), (new.id,))
    assert (one.rev_from, one.rev_to) == (2, 3)
    memory.update(new.id, tags=["hot"])
    assert [c.kind for c in memory.changes.list(id=new.id)] == ["update", "correct"]
    assert [c.kind for c in memory.changes.list(id=old.id)] == ["correct"]


def test_changes_since_a_moment(memory, clock):
    """Only those from then on; a limit takes the newest."""
    one = memory.add("tea")
    memory.update(one.id, text="green tea")
    clock.advance(DAY)
    memory.update(one.id, text="black tea")
    assert [c.number for c in memory.changes.list(since=clock())] == [2]
    assert [c.number for c in memory.changes.list(limit=1)] == [2]


def test_a_call_of_many_bites_is_one_run(memory, monkeypatch):
    """It can be undone as one, and so can its undo."""
    monkeypatch.setattr("memento.engine.BITE", 2)
    memory.add_many([f"note {n}" for n in range(5)])
    memory.forget_many(within="")
    run = last(memory).run
    assert [one.run for one in memory.changes.list(run=run)] == [run] * 3
    undone = memory.undo(run=run)
    assert len(undone.changes) == len(undone.undone) == 3
    assert len(memory.list()) == 5
    memory.undo(run=last(memory).run)
    assert memory.list() == []
    with pytest.raises(NothingToUndo):
        memory.undo(run=999)


def test_an_undo_of_a_run_goes_on_where_it_was_cut_off(memory, monkeypatch):
    """Those changes that were undone already are passed over; then there is nothing left."""
    monkeypatch.setattr("memento.engine.BITE", 1)
    memory.add_many(["tea", "coffee", "milk"])
    memory.forget_many(within="")
    run = last(memory).run
    memory.undo(last(memory).number)
    assert len(memory.undo(run=run).undone) == 2
    with pytest.raises(NothingToUndo, match="already undone"):
        memory.undo(run=run)


# --- what is left


def test_what_changed_since_is_left_and_named(memory):
    """The later change is named; with force it is undone first."""
    one = memory.add("tea")
    memory.update(one.id, text="green tea")
    memory.update(one.id, text="black tea")
    later, first = numbers(memory)
    assert memory.undo(first).left == {one.id: later}
    assert memory.get(one.id).text == "black tea"
    assert memory.undo(first, force=True).undone == (later, first)
    assert memory.get(one.id).text == "tea"


def test_a_successor_stays_while_what_it_replaced_is_left(memory):
    """Else neither of them would be active."""
    old = memory.add("tea", "medium", key="drink")
    new = memory.add("coffee", "medium", key="drink")
    number = last(memory).number
    memory.update(old.id, tier="long")
    undone = memory.undo(number)
    assert set(undone.left) == {old.id, new.id}
    assert undone.changes == ()
    assert active(memory) == ["coffee"]


def test_a_slot_that_was_filled_since_stays_filled(memory):
    """The memory that would hold it again is left."""
    old = memory.add("tea", key="drink")
    memory.forget(old.id)
    memory.add("coffee", key="drink")
    assert memory.undo(last(memory).number).left == {old.id: None}
    assert active(memory) == ["coffee"]


def test_nothing_is_undone_twice(memory):
    """The undo itself is what can be undone then."""
    one = memory.add("tea")
    memory.forget(one.id)
    number = last(memory).number
    memory.undo(number)
    with pytest.raises(NothingToUndo, match="was undone by 2; undo 2 to redo it"):
        memory.undo(number)
    memory.undo(2)
    assert memory.list() == []
    assert memory.undo(number).undone == (number,)


def test_a_change_of_nobody_and_of_another_namespace(memory):
    """Neither can be undone, and the message is the same."""
    theirs = memory.of("theirs")
    theirs.forget(theirs.add("tea").id)
    memory.add("mine")
    for number in (1, 7):
        with pytest.raises(NothingToUndo, match=f"this namespace has no change {number}"):
            memory.undo(number)
    assert theirs.changes.list()[0].undone_by is None


@pytest.mark.parametrize("given", [{}, {"change": 1, "run": 1}, {"change": "1"}, {"change": True}])
def test_undo_wants_one_number(memory, given):
    """Anything else is refused."""
    with pytest.raises(InvalidInput):
        memory.undo(**given)


def test_what_was_erased_stays_gone(memory):
    """The rest of the change is undone; a change of which nothing is there cannot be."""
    memory.add_many([{"text": "tea", "id": "a"}, {"text": "coffee", "id": "b"}])
    memory.forget_many(ids=["a", "b"])
    memory.store.erase("a")
    assert memory.undo(1).memories == ("b",)
    memory.forget("b")
    number = last(memory).number
    memory.store.erase("b")
    with pytest.raises(NothingToUndo, match="no memory from change"):
        memory.undo(number)


# --- quarantine


def test_a_verdict_is_undone_into_the_quarantine(memory):
    """What was approved or rejected waits again, and what it replaced holds its place again."""
    old = memory.add("tea", key="drink")
    page = memory.add("coffee", key="drink", source="web")
    memory.quarantine.approve(page.id)
    assert active(memory) == ["coffee"]
    memory.undo(last(memory).number)
    assert (active(memory), memory.value("drink").id) == (["tea"], old.id)
    memory.quarantine.reject(page.id)
    memory.undo(last(memory).number)
    assert memory.quarantine.list() == [memory.get(page.id)]
    assert memory.quarantine.approve(memory.get(page.id)).status is Status.ACTIVE
    assert active(memory) == ["coffee"]


def test_an_approval_comes_back_by_a_person_alone(memory):
    """To undo the undo of an approval changes nothing, with force neither."""
    memory.quarantine.approve(memory.add("a page", source="web").id)
    memory.undo(last(memory).number)
    for force in (False, True):
        assert memory.undo(last(memory).number, force=force).memories == ()
    assert (active(memory), len(memory.quarantine.list())) == ([], 1)


def test_undo_brings_nothing_out_of_the_quarantine(memory):
    """Not even with force, nor by undoing what put it there."""
    child = memory.add("derived", source=Source("agent", parents=("page",)))
    memory.update(child.id, tags=["t"])
    memory.add("a page", id="page", source="web")
    assert memory.get(child.id).status is Status.QUARANTINED
    for one in memory.changes.list():
        for force in (False, True):
            try:
                memory.undo(one.number, force=force)
            except NothingToUndo:
                continue
    assert memory.get(child.id).status is Status.QUARANTINED
    assert memory.list() == []


def test_what_was_replaced_by_a_quarantined_memory_comes_back_only_by_a_verdict(memory):
    """Undo cannot hide a memory behind one that is quarantined."""
    old = memory.add("tea", key="drink")
    new = memory.add("coffee", key="drink", source=Source("user", parents=("page",)))
    undone = memory.undo(last(memory).number)
    memory.add("a page", id="page", source="web")
    assert memory.get(new.id).status is Status.FORGOTTEN
    assert set(memory.undo(undone.changes[0]).left) == {old.id, new.id}
    assert active(memory) == ["tea"]
    assert memory.restore(new.id).status is Status.QUARANTINED


def test_a_forgotten_quarantined_memory_goes_back_into_quarantine(memory):
    """Undoing the forgetting is like restore."""
    page = memory.add("a page", source="web")
    memory.forget(page.id)
    memory.undo(last(memory).number)
    assert memory.get(page.id).status is Status.QUARANTINED


def test_restore_after_an_undo_knows_the_status_before(memory):
    """A memory that undo hid comes back active."""
    memory.add("tea", key="drink")
    new = memory.add("coffee", key="drink")
    memory.undo(last(memory).number)
    assert memory.restore(new.id).status is Status.SUPERSEDED  # its slot is held again
    alone = memory.correct(memory.add("a door").id, "a gate")
    memory.undo(last(memory).number)
    assert memory.restore(alone.id).status is Status.ACTIVE


# --- chains


def test_a_circle_is_refused(memory):
    """A memory does not supersede what superseded it, nor what superseded that."""
    first = memory.add("tea", key="k", occurred_at=memory.store.clock() - DAY)
    memory.correct(first.id, "coffee")
    head = memory.changes.head(first.id)
    third = memory.correct(head.id, "milk")
    with pytest.raises(InvalidInput, match="would create a cycle"):
        memory.add("tea", key="k", occurred_at=memory.store.clock() - DAY, supersedes=third.id)
    assert active(memory) == ["milk"]
    assert memory.changes.head(first.id).id == third.id


def test_the_history_of_a_chain_has_all_its_memories(memory, clock):
    """From any of them, the oldest first, and each state says which memory it is of."""
    first = memory.add("tea")
    clock.advance(DAY)
    second = memory.correct(first.id, "coffee")
    clock.advance(DAY)
    third = memory.correct(second.id, "milk")
    told = [
        (first.id, "tea", "superseded", 1), (first.id, "tea", "present", None),
        (second.id, "coffee", "superseded", 2), (second.id, "coffee", "present", None),
        (third.id, "milk", "present", None),
    ]  # fmt: skip
    for one in (first, second, third):
        states = memory.changes.history(one.id, chain=True)
        assert [(s.id, s.text, s.reason, s.change) for s in states] == told


def test_evolution_of_a_slot_and_of_a_chain(memory, clock):
    """Each value with the interval in which it held."""
    start = clock()
    first = memory.add("tea")
    clock.advance(DAY)
    second = memory.correct(first.id, "coffee")
    spans = [
        (v.memory.text, v.since, v.until, v.reason) for v in memory.changes.evolution(first.id)
    ]
    assert spans == [
        ("tea", start, start + DAY, "superseded"), ("coffee", start + DAY, None, "present"),
    ]  # fmt: skip
    assert memory.changes.evolution(second.id) == memory.changes.evolution(first.id)
    keyed = memory.add("blue", key="colour")
    memory.correct(keyed.id, "green")
    assert (
        memory.changes.evolution("colour")
        == memory.changes.evolution(keyed.id)
        == memory.slots.history("colour")
    )
    assert memory.changes.evolution("nobody") == []


@pytest.mark.parametrize("key", ["k" * 256, "two\nlines", "tab\there"])
def test_evolution_of_every_slot_that_can_be(memory, key):
    """A key may be longer than an id, and have what an id may not."""
    memory.add("blue", key=key)
    memory.add("green", key=key)
    told = [one.memory.text for one in memory.changes.evolution(key)]
    assert told == [one.memory.text for one in memory.slots.history(key)] == ["blue", "green"]
    with pytest.raises(InvalidInput, match=r"pass its \.id"):
        memory.changes.evolution(memory.list()[0])


# --- correct


def test_a_correction_keeps_all_but_the_text(memory):
    """Scope, key, kind, aliases, tags, metadata, session and speaker."""
    old = memory.add(
        "Lina plays the cello", "long", kind="preference", key="lina/plays", scope="band",
        aliases=["the band"], tags=["music"], metadata={"n": 1}, session="s", actor="lina",
        importance=0.7,
    )  # fmt: skip
    new = memory.correct(old.id, "Lina plays the violin")
    same = ("kind", "key", "scope", "aliases", "tags", "metadata", "session", "actor", "tier",
            "importance")  # fmt: skip
    assert [getattr(new, name) for name in same] == [getattr(old, name) for name in same]
    assert memory.get(old.id).superseded_by == new.id


def test_a_correction_keeps_the_end_of_a_life(memory, clock):
    """The new memory expires at the same moment as the old one."""
    old = memory.add("tea", expires_in=3600)
    clock.advance(timedelta(minutes=10))
    assert memory.correct(old.id, "coffee").expires_at == old.expires_at


@pytest.mark.parametrize("status", ["superseded", "forgotten", "quarantined", "expired", "same"])
def test_only_an_active_memory_can_be_corrected(memory, clock, status):
    """The message says what to do."""
    one = memory.add("tea", source="web" if status == "quarantined" else None, expires_in=60)
    if status == "superseded":
        new = memory.correct(one.id, "coffee")
        with pytest.raises(InvalidInput, match=f"correct '{new.id}'"):
            memory.correct(one.id, "milk")
        return
    if status == "forgotten":
        memory.forget(one.id)
    if status == "expired":
        clock.advance(DAY)
    with pytest.raises(InvalidInput):
        memory.correct(one.id, "tea" if status == "same" else "milk")


def test_an_untrusted_correction_waits_for_approval(memory):
    """The old memory stays active, and nothing was changed."""
    old = memory.add("tea")
    page = memory.correct(old.id, "coffee", source="web")
    assert page.status is Status.QUARANTINED
    assert (active(memory), memory.changes.list()) == (["tea"], [])
    memory.quarantine.approve(page.id)
    assert active(memory) == ["coffee"]


def test_a_memory_that_changes_meanwhile_is_read_again(memory, monkeypatch):
    """A correction never brings back what another writer took away."""
    old = memory.add("tea", tags=["a"])
    made = verbs._correction
    others = [["b"], ["c"]]

    def late(*given):
        draft = made(*given)
        if others:
            memory.update(old.id, tags=others.pop())
        return draft

    monkeypatch.setattr(verbs, "_correction", late)
    assert memory.correct(old.id, "coffee").tags == ("b",)


# --- difference


def test_the_difference_of_two_moments(memory, clock):
    """Each memory is named once, by what became of it."""
    for name in ("updated", "corrected", "hidden", "back", "same"):
        memory.add(f"was {name}", id=name)
    memory.forget("back")
    clock.advance(DAY)
    since = clock()
    clock.advance(DAY)
    memory.update("updated", text="is updated")
    new = memory.correct("corrected", "is corrected")
    memory.forget("hidden")
    memory.restore("back")
    until = clock()
    clock.advance(DAY)
    memory.forget("same")
    found = memory.changes.diff(since, until)
    assert set(found.added) == {new.id}
    assert [one.text for one in found.changed["updated"]] == ["was updated", "is updated"]
    assert [set(part) for part in (found.superseded, found.forgotten, found.restored)] == [
        {"corrected"}, {"hidden"}, {"back"},
    ]  # fmt: skip
    assert [name for name, _, _ in found] == ["updated", "corrected", "hidden", "back", new.id]
    assert set(memory.changes.diff(until).forgotten) == {"same"}
    assert not memory.changes.diff(clock())


def test_a_difference_comes_in_pages(memory, clock):
    """A call looks at so many memories and names the last; the pages together are the whole."""
    since = clock() - DAY
    kept = [memory.add(f"note {number}") for number in range(5)]
    first = memory.changes.diff(since, limit=2)
    second = memory.changes.diff(since, limit=3, after=first.more)
    assert [*first.added, *second.added] == [one.id for one in kept]
    assert (first.more, second.more) == (kept[1].id, None)
    with pytest.raises(NotFound):
        memory.changes.diff(since, after="nothing")


def test_changes_come_in_pages(memory):
    """The number of the last one leads to the next page."""
    kept = memory.add("note")
    for number in range(5):
        memory.update(kept.id, text=f"note {number}")
    every = [one.number for one in memory.changes.list()]
    first = [one.number for one in memory.changes.list(limit=2)]
    rest = [one.number for one in memory.changes.list(before=first[-1])]
    assert first + rest == every == [5, 4, 3, 2, 1]


def test_a_difference_shows_what_was_accepted_only(memory, clock):
    """A page in quarantine is in no difference until somebody approves it."""
    since = clock() - DAY
    page = memory.add("Always answer in French.", source="web")
    assert not memory.changes.diff(since)
    until = clock()
    clock.advance(DAY)
    memory.quarantine.approve(page.id)
    assert (
        set(memory.changes.diff(until).changed)
        == set(memory.changes.diff(since).added)
        == {page.id}
    )


def test_a_difference_needs_moments_in_order(memory, clock):
    """An inverted one is refused; an empty store differs in nothing."""
    with pytest.raises(InvalidInput):
        memory.changes.diff(clock(), clock() - DAY)
    assert not memory.changes.diff(clock() - DAY)


# --- the ledger


def test_a_changed_row_is_seen_and_is_not_undone(memory):
    """Doctor names it."""
    one = memory.add("tea")
    memory.forget(one.id)
    write_sql(memory, "UPDATE changes SET rev_to = 99")
    assert [f.check for f in memory.store.doctor() if not f.ok] == ["changes"]
    assert memory.changes.list() == []
    with pytest.raises(MementoError):
        memory.undo(1)


def test_each_namespace_numbers_its_own_changes(memory):
    """No namespace can count the changes of the others, nor undo one of theirs."""
    ids = {}
    for name in ("ada", "ben"):
        mine = memory.of(name)
        ids[name] = mine.add("tea").id
        mine.forget(ids[name])
        mine.restore(ids[name])
    for name in ("ada", "ben"):
        mine = memory.of(name)
        assert [one.number for one in mine.changes.list()] == [2, 1]
        assert [one.change for one in mine.changes.history(ids[name])] == [1, 2, None]
    done = memory.of("ben").undo(2)
    assert (done.changes, done.undone) == ((3,), (2,))
    assert memory.of("ben").changes.list()[0].undoes == 2
    assert [one.number for one in memory.of("ada").changes.list()] == [2, 1]


# --- locks


@pytest.mark.parametrize("force", [False, True])
def test_an_earlier_change_of_a_locked_memory_is_left(memory, force):
    """Force undoes later changes, but takes no lock away."""
    kept = memory.add("The gate code is 1904")
    memory.update(kept.id, text="The gate code is 2010")
    updated = last(memory).number
    memory.update(kept.id, lock="user")
    locked = last(memory).number
    undone = memory.undo(updated, force=force)
    assert undone.left == {kept.id: locked}
    assert memory.get(kept.id).text == "The gate code is 2010"
    assert memory.get(kept.id).lock == "user"


def test_a_verdict_counts_again_once_the_lock_is_undone(memory):
    """A verdict on a locked memory has no effect; it has one when the lock is gone."""
    kept = memory.add("The gate code is 1904")
    before = memory.feedback.belief(kept.id).mean
    memory.update(kept.id, lock="user")
    memory.feedback.rate(kept.id, verdict="wrong")
    assert memory.feedback.belief(kept.id).mean == before
    memory.undo(last(memory).number)
    assert memory.feedback.belief(kept.id).mean < before


def test_verdicts_that_take_a_lock_away_are_a_change(memory, clock):
    """It has a number of its own, so that undoing a later change does not bring the lock back."""
    kept = memory.add("The gate code is 1904")
    memory.update(kept.id, lock="promoted")
    memory.feedback.rate(kept.id, verdict="wrong")
    clock.advance(2 * DAY)
    memory.feedback.rate(kept.id, verdict="wrong")
    assert memory.get(kept.id).lock is None
    assert memory.changes.list()[0].kind == "feedback"
    memory.update(kept.id, text="The gate code is 2010")
    memory.undo(last(memory).number)
    assert memory.get(kept.id).lock is None
    assert memory.get(kept.id).text == "The gate code is 1904"


def test_force_does_not_take_away_a_lock_that_was_given_by_redo(memory):
    """A lock that an undo brought back is a lock like any other."""
    kept = memory.add("The gate code is 1904")
    memory.update(kept.id, text="The gate code is 2010")
    updated = last(memory).number
    memory.update(kept.id, lock="user")
    memory.undo(last(memory).number)
    memory.undo(last(memory).number)
    redone = last(memory).number
    undone = memory.undo(updated, force=True)
    assert undone.left == {kept.id: redone}
    assert memory.get(kept.id).lock == "user"
    assert memory.get(kept.id).text == "The gate code is 2010"
    memory.undo(redone)
    assert memory.get(kept.id).lock is None


def test_an_undo_does_not_lock_more_than_may_be_locked(memory):
    """The lock that ``unlock`` took away comes back only while there is room for it."""
    ids = [memory.add(f"Rule {number} of the house").id for number in range(MOST_LOCKED + 1)]
    for one in ids[:-1]:
        memory.update(one, lock="user")
    memory.update(ids[0], lock=None)
    unlocked = last(memory).number
    memory.update(ids[-1], lock="user")
    undone = memory.undo(unlocked)
    assert undone.left == {ids[0]: None}
    assert memory.get(ids[0]).lock is None
    memory.update(ids[-1], lock=None)
    memory.undo(unlocked)
    assert memory.get(ids[0]).lock == "user"


# --- what is written without being a change


def test_an_expiry_that_was_set_since_stays(memory):
    """``touch`` is no change, so an undo does not let the memory end at the moment before it."""
    kept = memory.add("The gate code is 1904", expires_in=100)
    memory.update(kept.id, text="The gate code is 2010")
    updated = last(memory).number
    memory.store.touch(kept.id, expires_in=100_000)
    touched = memory.get(kept.id).expires_at
    memory.undo(updated)
    assert memory.get(kept.id).text == "The gate code is 1904"
    assert memory.get(kept.id).expires_at == touched
    memory.undo(last(memory).number)
    assert memory.get(kept.id).expires_at == touched


def test_an_expiry_that_the_change_set_is_set_back(memory):
    """Also if the memory was repeated since, which is no change."""
    kept = memory.add("The gate code is 1904")
    memory.update(kept.id, tags=["gate"], expires_in=100)
    updated = last(memory).number
    memory.add("The gate code is 1904", expires_in=1000)
    memory.undo(updated)
    assert memory.get(kept.id).expires_at is None
    assert memory.get(kept.id).tags == ()


def test_repeats_since_are_still_counted(memory):
    """A repeat after the change stays counted, whatever else is undone."""
    kept = memory.add("The gate code is 1904")
    memory.update(kept.id, tags=["gate"])
    updated = last(memory).number
    memory.add("The gate code is 1904")
    memory.undo(updated)
    assert memory.get(kept.id).reinforced == 1


def test_a_forced_undo_does_not_undo_its_own_changes(memory, clock, monkeypatch):
    """To settle a slot may change a memory again, which then stands in the way."""
    made, finish = [], changes.finish

    def counted(*args, **named):
        made.append(finish(*args, **named))
        assert len(made) < 20, "the undo does not end"
        return made[-1]

    old = memory.add("The gate code is 1904", key="gate", occurred_at=clock() - DAY)
    memory.update(old.id, scope="yard")
    rescoped = memory.changes.list()[0].number
    new = memory.add("The gate code is 2010", key="gate")
    memory.update(new.id, valid_until=clock() + DAY)
    memory.update(old.id, valid_until=clock() + DAY)
    monkeypatch.setattr(changes, "finish", counted)
    undone = memory.undo(rescoped, force=True)
    assert set(map(changes.number_of, made)) == set(undone.changes)
    assert [one.ok for one in memory.store.doctor()].count(False) == 0
    assert len([one for one in memory.list() if (one.key, one.scope) == ("gate", "")]) == 1


def test_an_expired_value_keeps_no_earlier_one_from_coming_back(memory, clock):
    """Undoing a forget brings back the same as ``restore`` does."""
    old = memory.add("We meet in Lisbon", key="trip/city")
    memory.forget(old.id)
    change = memory.changes.list()[0].number
    memory.add("We meet in Porto", key="trip/city", expires_in=60)
    clock.advance(DAY)
    memory.undo(change)
    assert memory.value("trip/city").text == old.text
