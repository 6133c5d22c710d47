"""Namespaces take turns in being embedded."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from memento.ledger import vectors
from memento.ledger.rows import COLUMNS
from memento.ledger.schema import SEQ_BITS, SEQ_MASK
from memento.tiers.queue import Turns

MANY = 1_000_000


@pytest.fixture
def turns(memory):
    """Return the turns of a store whose background thread stands still."""
    memory._engine.indexer.stop(10)
    return Turns(memory._engine.ledger)


def keep(memory, namespace, texts, session="s"):
    """Add texts that all have a line in the backlog at once."""
    view = memory.of(namespace)
    view.add_many({"text": text, "tier": "medium", "session": session} for text in texts)
    view.flush()


def texts(lines):
    """List what the lines say."""
    return [line.text for line in lines]


def strike(memory, lines):
    """Take lines off the backlog, as if they were embedded."""
    memory._engine.ledger.write(lambda c: vectors.settle(c, lines))


def test_namespaces_take_turns(memory, turns):
    """One with a long document gets one text for each text of the others."""
    keep(memory, "a", [f"a{n}" for n in range(40)])
    keep(memory, "b", ["b0", "b1"])
    keep(memory, "c", ["c0"])
    assert texts(turns.take(7, MANY)) == ["a0", "b0", "c0", "a39", "b1", "a1", "a38"]


def test_the_newest_line_waits_for_no_long_backlog(memory, turns):
    """A document pasted into one conversation does not hold up the others of the namespace."""
    keep(memory, "a", [f"long{n}" for n in range(30)], "paste")
    keep(memory, "a", ["hi"], "talk")
    assert texts(turns.take(3, MANY)) == ["long0", "hi", "long1"]


def test_a_plan_ends_with_the_characters(memory, turns):
    """A plan of long texts holds few of them; the next begins with whom this one left out."""
    for name in "abc":
        keep(memory, name, [f"{name}{n} {'x' * 100}" for n in range(3)])
    first = turns.take(64, 250)
    strike(memory, first)
    assert [text[:2] for text in texts(first)] == ["a0", "b0"]
    second = turns.take(64, 250)
    assert [text[:2] for text in texts(second)] == ["c0", "a1"]


def test_a_text_longer_than_any_plan_is_taken_alone(memory, turns):
    """Nothing is too long to be embedded."""
    keep(memory, "a", ["x" * 1_000, "y"])
    assert texts(turns.take(64, 10)) == ["x" * 1_000]


def test_every_namespace_has_its_turn(memory, turns):
    """With more namespaces than a plan has lines, the next plan goes on with the following ones."""
    for n in range(7):
        keep(memory, f"user{n}", [f"{n}"])
    plans = [texts(turns.take(3, MANY)) for _ in range(3)]
    assert plans == [["0", "1", "2"], ["3", "4", "5"], ["6", "0", "1"]]


def test_refused_lines_are_passed_over(memory, turns):
    """However many the embedder refused, the plan is full."""
    keep(memory, "a", [f"bad{n}" for n in range(20)] + ["good0", "good1"])
    every = turns.take(22, MANY)
    bad = {(line.docid, line.rev) for line in every if line.text.startswith("bad")}
    assert sorted(texts(turns.take(2, MANY, bad))) == ["good0", "good1"]


def clone(memory, namespace, count):
    """Owe vectors to many copies of a namespace's only memory, faster than adding them."""
    names = [name.strip() for name in COLUMNS.split(",")]
    values = {"docid": "docid + n", "id": "id || n", "rev": "rev + n"}
    picked = ", ".join(values.get(name, name) for name in names)
    numbers = "WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < ?)"

    def job(connection):
        ns = memory._engine.ledger.find_namespace((namespace,))
        connection.execute(
            f"{numbers} INSERT INTO memories ({', '.join(names)}) SELECT {picked} FROM memories, t"
            " WHERE ns = ?",
            (count, ns),
        )
        connection.execute(
            "INSERT INTO backlog SELECT docid, rev, 'embed' FROM memories WHERE ns = ?"
            " AND docid NOT IN (SELECT docid FROM backlog)",
            (ns,),
        )
        connection.execute(
            "UPDATE namespaces SET fts_upto = (SELECT max(docid) & ? FROM memories WHERE ns = ?)"
            " WHERE ns = ?",
            (SEQ_MASK, ns, ns),
        )
        return ns

    return memory._engine.ledger.write(job)


def steps_of(memory, monkeypatch, call):
    """Count the steps of SQLite's machine in hundreds, whatever the machine it runs on."""
    ledger, steps = memory._engine.ledger, []
    read = type(ledger).read

    def counted(ledger, job, **_space):
        def inner(connection):
            connection.set_progress_handler(lambda: steps.append(1) and None, 100)
            try:
                return job(connection)
            finally:
                connection.set_progress_handler(None, 0)

        return read(ledger, inner)

    with monkeypatch.context() as patched:
        patched.setattr(type(ledger), "read", counted)
        call()
    return len(steps)


def test_a_plan_costs_the_same_however_much_is_owed(memory, turns, monkeypatch):
    """Ten times the backlog makes neither a plan nor a question's wish more expensive."""
    ledger = turns._ledger
    costs = []
    for name, count in (("small", 3_000), ("large", 30_000)):
        keep(memory, name, ["a note"])
        ns = clone(memory, name, count)
        calls = [
            lambda: Turns(ledger).take(64, MANY),
            lambda ns=ns: ledger.read(lambda c: vectors.newest(c, ns, (), 64, MANY)),
            lambda ns=ns: ledger.read(lambda c: vectors.newest(c, ns, ("s",), 64, MANY)),
        ]
        costs.append([steps_of(memory, monkeypatch, call) for call in calls])
    small, large = costs
    assert all(small)
    assert all(more <= 1.5 * less for less, more in zip(small, large, strict=True)), costs


@pytest.mark.parametrize("sessions", [(), ("s",)], ids=["namespace", "session"])
def test_no_statement_sorts_or_walks_the_backlog(memory, turns, sessions):
    """Each step of each plan is a search by row id or by an index."""
    keep(memory, "a", [f"note {n}" for n in range(500)])
    ledger = memory._engine.ledger
    ns = ledger.find_namespace(("a",))
    statements = set()

    def everything(connection):
        connection.set_trace_callback(statements.add)
        turns._chosen(connection, 64, ())
        docids = [one.docid for one in vectors.newest(connection, ns, sessions, 64, MANY)]
        vectors.still_lacking(connection, ns, docids)
        connection.set_trace_callback(None)

    ledger.read(everything)
    asked = [sql for sql in statements if sql.startswith("SELECT")]
    plans = ledger.read(
        lambda c: [
            step[-1] for sql in asked for step in c.execute(f"EXPLAIN QUERY PLAN {sql}").fetchall()
        ]
    )
    assert len(asked) >= 6
    assert not [step for step in plans if "SCAN backlog" in step or "SCAN memories" in step]
    assert ns == docid_namespace(turns)


def test_what_was_only_skipped_is_looked_at_again(memory, turns):
    """A text that the embedder refused may be tried again although nothing was written."""
    keep(memory, "a", ["one"])
    (line,) = turns.take(1, MANY)
    assert turns.take(1, MANY, skip=[(line.docid, line.rev)]) == []
    assert turns.take(1, MANY) == [line]


def docid_namespace(turns):
    """Return the namespace of the next line."""
    return turns.take(1, MANY)[0].docid >> SEQ_BITS


def test_a_claim_that_got_nothing_is_not_kept(memory, turns, monkeypatch):
    """Each holds a connection: many batches of other machines would take them all."""
    keep(memory, "a", [f"a{n}" for n in range(6)])
    held, most, theirs = [], [], {"a0", "a5", "a1"}
    names = {line.docid: line.text for line in turns.take(6, MANY)}

    @contextmanager
    def claimed(docids):
        held.append(docids)
        most.append(len(held))
        yield [one for one in docids if names[one] not in theirs]
        held.pop()

    monkeypatch.setattr(memory._engine.ledger, "claimed", claimed)
    with turns.shared(1, MANY, set()) as lines:
        assert (texts(lines), held) == (["a4"], [[lines[0].docid]])
    assert (most, turns.deferred) == ([1, 1, 1, 1], True)
