"""SQLite answers frequent queries by row id, never by a scan of a whole namespace."""

from __future__ import annotations

import threading

import pytest

from memento.ledger import memories, vectors
from memento.ledger.lite.store import LiteLedger


def traced(run, told):
    """Let ``read`` or ``write`` of a ledger tell of each statement of its jobs in this thread.

    The indexer reads at the same time, from a thread of its own.
    """
    here = threading.get_ident()

    def running(ledger, job, **options):
        if threading.get_ident() != here:
            return run(ledger, job, **options)

        def inner(connection):
            connection.set_trace_callback(told)
            try:
                return job(connection)
            finally:
                connection.set_trace_callback(None)

        return run(ledger, inner, **options)

    return running


@pytest.fixture
def plans(memory, monkeypatch):
    """Return a function that calls something and lists how SQLite did it."""
    for n in range(30):
        memory.add(f"note {n} about the kettle", session="s", key=f"k{n}")
    memory.flush()
    read = LiteLedger.read

    def listed(call):
        statements = set()
        monkeypatch.setattr(LiteLedger, "read", traced(read, statements.add))
        call()
        monkeypatch.undo()
        asked = [
            sql for sql in statements if sql.startswith("SELECT") and "memories_fts" not in sql
        ]
        assert asked
        return read(
            memory._engine.ledger,
            lambda c: [
                detail
                for sql in asked
                for *_, detail in c.execute(f"EXPLAIN QUERY PLAN {sql}").fetchall()
            ],
        )

    return listed


@pytest.mark.parametrize(
    "ask",
    [
        lambda memory: memory.retrieve("kettle note", k=20, record=False),
        lambda memory: memory.list(limit=5),
        lambda memory: memory.list(limit=5, tier="medium", kind="fact"),
        lambda memory: memory.store.stats(),
    ],
    ids=["retrieve", "list", "filtered list", "stats"],
)
def test_nothing_is_read_through_an_index_of_the_namespace_alone(memory, plans, ask):
    """No read visits every row of a namespace in the order of some other column, or sorts them."""
    steps = plans(lambda: ask(memory))
    through = [step for step in steps if "memories" in step and "(ns=?)" in step]
    assert not [step for step in through if "COVERING" not in step]
    assert not [step for step in steps if "ORDER BY" in step]


def test_a_session_is_listed_by_its_index(memory, plans):
    """A filter that has an index of its own uses it."""
    steps = plans(lambda: memory.list(session="s"))
    assert any("memories_by_session (ns=? AND session=?)" in step for step in steps)


def test_many_row_ids_are_looked_up_one_by_one(memory, plans):
    """However many rows are asked for by id, none but these is visited."""
    docids = [(1 << 40) + n for n in range(1, 25)]
    ledger = memory._engine.ledger
    steps = plans(lambda: ledger.read(lambda c: memories.texts(c, 1, docids)))
    assert any("INTEGER PRIMARY KEY (rowid=?)" in step for step in steps)


def test_new_vectors_are_found_without_those_of_others(memory, plans):
    """By namespace and stamp, not through what everyone stored since."""
    ledger = memory._engine.ledger

    def ask():
        ledger.read(lambda c: list(vectors.since(c, 1, 1, 5)))

    (search, *rest) = plans(ask)
    assert search == "SEARCH embeddings USING INDEX embeddings_by_stamp (<expr>=? AND stamp>?)"
    assert not any("SCAN" in step for step in rest)


def test_named_ids_are_looked_up_one_by_one(memory, plans):
    """Each by the index of ids, which alone tells the row id."""
    ledger = memory._engine.ledger
    names = [one.id for one in memory.list(limit=9)]
    steps = plans(lambda: ledger.read(lambda c: memories.docids_named(c, 1, names)))
    (search,) = [step for step in steps if "memories" in step]
    assert search == "SEARCH memories USING COVERING INDEX memories_by_id (ns=? AND id=?)"


def test_named_ids_are_those_of_the_namespace(memory):
    """Unknown ids and ids of other namespaces leave no gap, and strange ids are only ids."""
    other = memory.of("other").add("note", "medium")
    mine = [
        memory.add(f"note {n}", "medium", id=name) for n, name in enumerate(['a"b', "c,d", "é"])
    ]
    ledger = memory._engine.ledger
    names = [mine[2].id, "nobody", mine[0].id, other.id, mine[1].id]
    ns = ledger.find_namespace(("default",))
    known = ledger.read(lambda c: memories.docids_of(c, ns, names))
    found = ledger.read(lambda c: memories.docids_named(c, ns, names))
    assert sorted(map(int, found.split(","))) == sorted(known.values())
    assert len(known) == len(mine)
    assert ledger.read(lambda c: memories.docids_named(c, ns, ["nobody"])) == ""


@pytest.mark.parametrize("verb", ["belief", "strength"])
def test_the_verdicts_on_a_memory_are_found_by_an_index(memory, plans, verb):
    """The log is never gone through, but for the part that was not folded yet."""
    first = memory.list(limit=1)[0].id
    memory.feedback.rate(first, useful=True)
    steps = [
        step for step in plans(lambda: getattr(memory.feedback, verb)(first)) if "events" in step
    ]
    assert any("events_by_docid" in step for step in steps)
    others = [step for step in steps if "events_by_docid" not in step]
    assert all("INTEGER PRIMARY KEY (rowid>" in step for step in others), steps


def test_a_plain_add_and_a_question_leave_the_dynamics_alone(memory, monkeypatch):
    """Neither reads nor writes a row of them, and an add makes no event.

    The question looks once whether there is anything new.
    """
    said = []
    for name in ("read", "write"):
        monkeypatch.setattr(LiteLedger, name, traced(getattr(LiteLedger, name), said.append))
    memory.add("the kettle is blue", "medium")
    memory.retrieve("kettle", record=False)
    monkeypatch.undo()
    assert any("INSERT INTO memories" in sql for sql in said)
    (found,) = [sql for sql in said if "dynamics" in sql or "events" in sql]
    assert "FROM meta WHERE name = 'dynamics stamp'" in found
    assert "FROM dynamics" not in found
    assert "events" not in found
