"""Two clocks: what was true at a moment (``as_of``), what was recorded by one (``known_at``)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shelves import Shelf

from memento import Config, MemoryManager, Source
from memento.config import ShortConfig
from memento.errors import InvalidInput, MementoError, StoreUnusable
from memento.retrieve import known_at
from memento.testing import HashEmbedder, ManualClock
from memento.upkeep.backup import restore

STEP = timedelta(minutes=1)
WORDS = ("tea", "door", "plan", "blue", "walk", "harbour")
CALM = Config(short=ShortConfig(capacity=100))
"""A turn that the ring pushes out leaves no state behind, so no turn is pushed out here."""


def texts(found):
    """Read the texts of some memories or hits."""
    return [one.text for one in found]


# --- what was true at a moment


@settings(max_examples=8, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10**9))
def test_what_held_at_a_moment_is_what_a_model_of_two_columns_says(tmp_path_factory, seed):
    """Half-open intervals, one text a time: the list agrees with a plain bitemporal table."""
    random, clock = Random(seed), ManualClock()
    start = clock()
    table = {}  # id: begin, end, [(changed at, text before)], text
    with MemoryManager(tmp_path_factory.mktemp("as_of"), embedder=None, clock=clock) as memory:
        for n in range(12):
            begins = clock() - random.randrange(9) * STEP
            ends = random.choice([None, begins + random.randrange(1, 12) * STEP])
            kept = memory.add(f"note {n}", occurred_at=begins, valid_until=ends)
            table[kept.id] = [begins, ends, [], kept.text]
            clock.advance(STEP)
            chosen = random.choice(list(table))
            changes, text = table[chosen][2:]
            if memory.update(chosen, text=f"changed {n}").text != text:
                table[chosen][2:] = [*changes, (clock(), text)], f"changed {n}"
        for minute in range(-10, 24):
            moment = start + minute * STEP
            assert {(one.id, one.text) for one in memory.list(as_of=moment)} == {
                (one, next((before for at, before in changes if at > moment), text))
                for one, (begins, ends, changes, text) in table.items()
                if begins <= moment and (ends is None or moment < ends)
            }


def test_an_interval_of_no_length_holds_at_no_moment(memory, clock):
    """A plan that was given up for another of the same day begins and ends there: never."""
    day = clock() + timedelta(days=3)
    plan = memory.add("Lena leads", key="lead", occurred_at=day)
    memory.add("Omar leads", key="lead", occurred_at=day)
    gone = memory.get(plan.id)
    assert gone.valid_from == gone.valid_until == day
    assert plan.id not in [one.id for one in memory.list(as_of=day)]


def test_an_interval_that_ends_before_it_begins_is_refused(memory, clock):
    """Neither add nor update takes one."""
    with pytest.raises(InvalidInput, match="valid_until"):
        memory.add("tea", occurred_at=clock(), valid_until=clock() - STEP)
    with pytest.raises(InvalidInput, match="valid_until"):
        memory.update(memory.add("tea").id, valid_until=clock() - STEP)


def test_as_of_lists_replaced_values_too(memory, clock):
    """Unless a status is asked for: then only that."""
    before = clock()
    memory.add("Lena leads", key="lead")
    clock.advance(STEP)
    memory.add("Omar leads", key="lead")
    assert texts(memory.list(as_of=before)) == ["Lena leads"]
    assert memory.list(as_of=before, status="active") == []


def test_a_text_from_quarantine_does_not_answer_for_the_past(memory, clock):
    """A page is shown with the text that a person approved, not with the one before."""
    page = memory.add("The door is red", source="web", occurred_at=clock())
    clock.advance(STEP)
    memory.update(page.id, text="The door is blue")
    memory.quarantine.approve(memory.get(page.id))
    assert texts(memory.list(as_of=clock() - STEP)) == ["The door is blue"]


# --- what was recorded by a moment


def test_what_was_forgotten_since_was_known(memory, clock):
    """It was believed then; what was erased is gone from both clocks."""
    kept = memory.add("The harbour opens at six")
    gone = memory.add("The harbour has a secret door")
    then = clock()
    clock.advance(STEP)
    memory.forget(kept.id)
    memory.store.erase(gone.id)
    assert texts(memory.list(known_at=then)) == texts(memory.retrieve("harbour", known_at=then))
    assert texts(memory.list(known_at=then)) == ["The harbour opens at six"]
    assert memory.list(as_of=then) == memory.list() == []


def test_a_changed_text_is_matched_as_it_was(memory, clock):
    """By the words of then, and by no word that came later."""
    tea = memory.add("Rami drinks tea")
    then = clock()
    clock.advance(STEP)
    memory.update(tea.id, text="Rami drinks coffee")
    assert texts(memory.retrieve("tea", known_at=then)) == ["Rami drinks tea"]
    assert texts(memory.retrieve("coffee", known_at=then)) == []
    assert "Rami drinks tea" in memory.prompt("tea", known_at=then)
    assert texts(memory.retrieve("coffee")) == ["Rami drinks coffee"]


def test_more_changed_texts_than_are_indexed_are_reported(memory, clock, monkeypatch):
    """The answer says what it could not look at."""
    monkeypatch.setattr(known_at, "MOST_REWORDED", 1)
    kept = [memory.add(f"tea {n}") for n in range(3)]
    then = clock()
    clock.advance(STEP)
    for one in kept:
        memory.update(one.id, text=f"door {one.seq}")
    found = memory.retrieve("tea", known_at=then)
    assert texts(found) == ["tea 2"]
    assert "3 memories" in found.missing[known_at.HISTORY]


def test_a_changed_text_has_no_vector_of_then(tmp_path, clock):
    """Unchanged memories are found by meaning; a vector of a later text finds nothing."""
    with MemoryManager(tmp_path, embedder=HashEmbedder(256), clock=clock) as memory:
        same = memory.add("green tea in the harbour")
        other = memory.add("a blue door")
        then = clock()
        clock.advance(STEP)
        memory.update(other.id, text="green tea in the garden")
        assert memory.flush(wait=True, timeout=30)
        found = memory.retrieve("green tea in the garden", known_at=then)
        assert [hit.id for hit in found] == [same.id]
        assert "meaning" in found[0].ranks


def test_vectors_of_now_do_not_match_what_was_said_then():
    """Nor do memories that came later; the rest is nearest in the same order."""
    now, then = Shelf(), Shelf()
    docids = [now.add(f"note {n}") for n in range(5)]
    now.embed({docid: [1 - n / 10, n / 10] for n, docid in enumerate(docids)})
    for n in range(1, 4):
        then.roster.apply([then.row(f"note {n}", docid=docids[n])])
    present, past = now.roster.view(), then.roster.view()
    index = known_at.PastNearest(now.search(), present, past, np.array(docids[2:3]))
    rows, cosines = index.nearest(np.array([1, 0], np.float32), 9, np.ones(3, np.bool_))
    assert rows.tolist() == [0, 2]
    assert cosines.tolist() == pytest.approx([0.9, 0.7])


def test_quarantine_never_appears_through_history(memory, clock):
    """Neither a quarantined page, nor a memory of then that is in quarantine or rejected now."""
    memory.add("The door is open", source="web")
    child = memory.add("So the harbour is open", source=Source(parents=("page",)))
    then = clock()
    assert texts(memory.list(known_at=then)) == ["So the harbour is open"]
    clock.advance(STEP)
    memory.add("The harbour is open", source="web", id="page")
    assert memory.get(child.id).status == "quarantined"
    assert memory.list(known_at=then) == []
    memory.quarantine.reject(child.id)
    assert memory.list(known_at=then) == []
    assert memory.retrieve("harbour", known_at=then, include_superseded=True).hits == ()


def test_a_moment_must_be_one(memory, clock):
    """With a zone, not in the future, and nothing from quarantine with it."""
    naive = clock().replace(tzinfo=None)
    for ask in (memory.list, lambda **at: memory.retrieve("tea", **at), partial(memory.value, "k")):
        for bad in ({"as_of": naive}, {"known_at": naive}, {"known_at": clock() + STEP}):
            with pytest.raises(InvalidInput):
                ask(**bad)
    with pytest.raises(InvalidInput, match="quarantine"):
        memory.retrieve("tea", known_at=clock(), include_quarantined=True)
    with pytest.raises(InvalidInput, match="quarantine"):
        memory.list(status="quarantined", known_at=clock())


def test_a_store_that_was_set_back_knows_no_earlier_moment(memory, tmp_path, clock):
    """Its recording begins with the latest moment that it knew, and that is the reason given."""
    memory.add("tea")
    then = clock()
    clock.advance(STEP)
    memory.add("door")
    memory.store.backup(tmp_path / "backup.db")
    clock.advance(STEP)
    restore(tmp_path / "backup.db", tmp_path / "plain")
    restore(tmp_path / "backup.db", tmp_path / "back", at=then)
    with MemoryManager(tmp_path / "plain", embedder=None, clock=clock) as plain:
        assert texts(plain.list(known_at=then)) == ["tea"]
    with MemoryManager(tmp_path / "back", embedder=None, clock=clock) as back:
        assert texts(back.list(known_at=clock())) == ["tea"]
        for ask in (back.list, partial(back.retrieve, "tea"), partial(back.value, "k")):
            with pytest.raises(InvalidInput, match="restored to an earlier state"):
                ask(known_at=then)


def test_a_damaged_state_is_named(memory, clock):
    """An answer leaves it out and says so; a list refuses."""
    tea = memory.add("tea")
    then = clock()
    clock.advance(STEP)
    memory.update(tea.id, text="door")
    ledger = memory._engine.ledger
    ledger.write(lambda s: s.execute("UPDATE versions SET text = 'coffee'"))
    assert tea.id in memory.retrieve("tea", known_at=then).missing["ledger"]
    with pytest.raises(StoreUnusable, match=tea.id):
        memory.list(known_at=then)


def test_a_question_about_the_past_leaves_no_trace(memory, clock):
    """It is no use of a memory: nothing is recorded, though it may be the default."""
    memory.add("tea")
    assert memory.retrieve("tea", known_at=clock())
    memory.flush()
    ledger = memory._engine.ledger
    assert ledger.read(lambda s: s.execute("SELECT count(*) FROM events").fetchone()) == (0,)


# --- random scripts: the past equals what was seen then


def act(memory, random, clock):
    """Do something to a store; what it refuses is left undone."""
    names = [one.id for one in memory.list(status=["active", "superseded", "forgotten"])]
    chosen = random.choice(names) if names else None
    said = " ".join(random.sample(WORDS, 2))
    key = random.choice([None, "k", "l"])
    ago = random.choice([None, None, clock() - random.randrange(1, 30) * STEP])
    ends = random.choice([None, None, clock() + random.randrange(1, 9) * STEP])
    add = {"key": key, "occurred_at": ago, "valid_until": ends, "scope": random.choice(["", "a"])}
    kind = random.choice(["add", "add", "web", "update", "forget", "restore", "replace", "approve"])
    try:
        if kind == "add":
            memory.add(said, expires_in=random.choice([None, 200.0]), tags=[said[:3]], **add)
        elif kind == "web":
            memory.add(said, source="web", id=f"w{random.randrange(4)}", key=key)
        elif kind == "replace" and chosen:
            memory.add(said, id=chosen, replace=True, **add)
        elif kind == "update" and chosen:
            change = {"text": said, "scope": random.choice(["", "a"]), "tags": [said[-3:]]}
            memory.update(chosen, **dict(random.sample(sorted(change.items()), 1)))
        elif kind == "approve":
            for waiting in memory.quarantine.list(limit=1):
                verdict = random.choice([memory.quarantine.approve, memory.quarantine.reject])
                verdict(waiting.id)
        elif chosen:
            getattr(memory, kind)(chosen)
    except MementoError:
        pass


def seen(memory, moment, **clock):
    """Read all that is compared, as of a moment: lists, filters, slots, answers."""
    return {
        "list": [told(one) for one in memory.list(**clock)],
        "all": [told(one) for one in memory.list(status=["active", "superseded"], **clock)],
        "newest": [one.id for one in memory.list(newest_first=True, limit=2, offset=1, **clock)],
        "in time": [one.id for one in memory.list(order="occurred", **clock)],
        "tagged": [one.id for one in memory.list(tag="tea", **clock)],
        "keyed": [one.id for one in memory.list(key="k", within="a", **clock)],
        "earlier": [told(one) for one in memory.list(as_of=moment - 7 * STEP, **clock)],
        "value": [of(memory.value("k", scope=scope, **clock)) for scope in ("", "a")],
        "value before": of(memory.value("k", as_of=moment - 7 * STEP, **clock)),
        "found": {
            (hit.id, hit.text)
            for word in WORDS
            for hit in memory.retrieve(word, k=100, match="text", fold=False, record=False, **clock)
        },
    }


def of(memory):
    """Return what is compared of the value of a slot."""
    return None if memory is None else told(memory)


def told(one):
    """Return what is kept of each state; a repeat, and the fall out of the ring, are not."""
    return replace(one, reinforced=0, updated_at=one.created_at, expires_at=None)


@settings(
    max_examples=8,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(seed=st.integers(0, 10**9))
def test_what_was_known_is_what_was_seen_then(tmp_path_factory, seed):
    """Every list, slot and answer of any random script, asked for later, is as it was then."""
    random, clock = Random(seed), ManualClock()
    root = tmp_path_factory.mktemp("clocks") / "store"
    snapshots = []
    with MemoryManager(root, embedder=None, clock=clock, config=CALM) as memory:
        for _ in range(16):
            act(memory, random, clock)
            snapshots.append((clock(), seen(memory, clock())))
            clock.advance(STEP)
        for moment, before in snapshots:
            now = seen(memory, moment, known_at=moment)
            assert now == before
