"""No answer of the file outlives the job that asked for it, whoever raises and whoever keeps it."""

from __future__ import annotations

import contextlib
import gc
import itertools
import weakref
from datetime import timedelta

import pytest

from memento.errors import InvalidInput
from memento.ledger.group import Group, Ticket, _thread
from memento.ledger.lite.store import LiteLedger

READ = "SELECT id FROM memories"
NAMES = itertools.count()
WRITE = "UPDATE memories SET reinforced = reinforced + 1 RETURNING id"


@pytest.fixture
def others(ours):
    """Open the file once more, as another process would."""
    ledger = LiteLedger(ours.root)
    yield ledger
    ledger.close()


@pytest.fixture
def ours(memory):
    """The ledger of a store with some memories."""
    memory.add_many(f"note {n}" for n in range(9))
    return memory._engine.ledger


def write_meta(session):
    """Write something."""
    session.execute("INSERT INTO meta VALUES (?, 1)", (f"test {next(NAMES)}",))


def count(session):
    """Count what was written."""
    return session.execute("SELECT count(*) FROM meta WHERE name LIKE 'test %'").fetchone()[0]


@pytest.fixture(autouse=True)
def _no_collector():
    """Nothing goes because of the garbage collector."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("statement", [READ, WRITE])
@pytest.mark.parametrize("fails", [True, False])
@pytest.mark.parametrize("call", ["write", "alone"])
def test_a_half_read_answer_stops_no_later_write(ours, others, statement, fails, call):
    """Neither of a job that raises nor of one that hands it on; other processes wrote meanwhile."""
    kept = []

    def job(session):
        kept.append(session.execute(statement))
        kept.append(kept[0].fetchone())
        if fails:
            raise InvalidInput("key", "was refused")

    if fails:
        with pytest.raises(InvalidInput) as refused:
            getattr(ours, call)(job)
        kept.append(refused.value)
    else:
        getattr(ours, call)(job)
    others.write(write_meta)
    ours.write(write_meta)
    assert ours.read(count) == others.read(count) == 2


@pytest.mark.parametrize("fails", [True, False])
def test_a_half_read_answer_makes_no_later_read_old(ours, others, fails):
    """A reader sees what was written since, although somebody keeps the answer."""
    kept = []

    def job(session):
        kept.append(session.execute(READ))
        kept.append(kept[0].fetchone())
        if fails:
            raise InvalidInput("key", "was refused")

    if fails:
        with pytest.raises(InvalidInput):
            ours.read(job)
    else:
        ours.read(job)
    others.write(write_meta)
    assert ours.read(count) == 1
    with pytest.raises(Exception, match="closed cursor"):
        kept[0].fetchone()


def test_a_read_within_a_read_leaves_the_outer_one_its_answers(ours):
    """Only the outer job ends them."""

    def outer(session):
        answer = session.execute(READ)
        first = answer.fetchone()
        ours.read(lambda inner: inner.execute(READ).fetchone())
        return [first, *answer]

    assert len(ours.read(outer)) == 9


def test_one_job_of_several_in_a_commit_ends_only_itself(ours):
    """Those of one transaction run one after the other; each starts without open answers."""

    def refused(session):
        answer = session.execute(WRITE)
        answer.fetchone()
        raise InvalidInput("key", "was refused")

    group = Group([Ticket(refused), Ticket(write_meta)])
    ours._writer()._commit(group)
    assert isinstance(group[0].error, InvalidInput)
    assert group[1].error is None
    assert ours.read(count) == 1


@pytest.mark.parametrize("separately", [True, False])
def test_a_refusal_is_gone_with_the_last_who_refers_to_it(ours, monkeypatch, separately):
    """No circle keeps it, and with it everything that its frames refer to."""
    monkeypatch.setattr(_thread, "separately", separately, raising=False)

    class Thing:
        """Something that a frame refers to."""

    seen = []

    def job(_session):
        thing = Thing()
        seen.append(weakref.ref(thing))
        raise InvalidInput("key", "was refused")

    with contextlib.suppress(InvalidInput):
        ours.write(job)
    assert seen[0]() is None


def test_a_refused_revert_stops_no_later_add(open_memory, clock, others):
    """It reads the values of a slot until one will do, and then finds that its time is over."""
    memory = open_memory()
    for n in range(6):
        memory.add(f"value {n}", key="k", valid_until=clock() + timedelta(hours=1))
        clock.advance(timedelta(minutes=1))
    clock.advance(timedelta(days=2))
    with pytest.raises(InvalidInput) as refused:
        memory.slots.revert("k")
    others.write(write_meta)
    assert memory.add("after").text == "after"
    assert "is no longer valid" in str(refused.value)
