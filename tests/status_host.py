"""Prints how a store treats memories of some statuses, each trait of the table put to the test.

It runs in a process of its own, on whatever copy of memento is first on the path.
Arguments: a folder for the store, and the statuses. Output: JSON, status to trait to yes or no.
"""

import json
import sys
from datetime import UTC, datetime

from memento import MemoryManager, Source
from memento.dynamics.settings import Dynamics
from memento.errors import IdConflict
from memento.ledger import checks, memories, slot_rows, strength_fold, vectors
from memento.retrieve.columns import Roster, RosterRow
from memento.types import Event, Reason

NOW = datetime(2026, 1, 2, tzinfo=UTC)
USER = {"source": "user"}
TEXT = "The otter likes quince jam"


class Case:
    """One memory of a status, alone in its namespace."""

    def __init__(self, memory, status, name, **fields):
        self.view = memory.of(status, name)
        self.first = self.view.add(TEXT, **({"tier": "medium"} | fields))
        self.engine = self.view._engine
        self.ns = self.engine.ledger.find_namespace((status, name))
        if status != self.first.status:
            row = self.engine.ledger.write(lambda c: self._set(c, status))
            self.engine.changed(self.ns, [row])

    def _set(self, connection, status):
        row = memories.by_id(connection, self.ns, self.first.id)
        changes = {"status": status, "updated_at": row.updated_at}
        return memories.revise(connection, row, changes, Reason.UPDATED)

    def among(self, found):
        """Tell whether the memory is among some."""
        return self.first.id in {one.id for one in found}

    def write(self, job):
        """Run a job on the connection and the row id."""
        docid = (self.ns << 40) + self.first.seq
        return self.engine.ledger.write(lambda c: job(c, docid))


def found(case):
    """``retrieve``, ``list`` and ``count`` agree."""
    said = {
        case.among(case.view.retrieve("otter quince")),
        case.among(case.view.list()),
        case.view.store.stats().memories == 1,
    }
    assert len(said) == 1, said
    return said.pop()


def holds_slot(case):
    """Another value of the key takes its place."""
    slot = ("otter/jam", "")
    held = case.engine.ledger.read(lambda c: slot_rows.holder_of(c, case.ns, slot)) is not None
    other = case.view.add("The otter likes plum jam", key="otter/jam", tier="medium")
    assert not held or case.view.get(case.first.id).superseded_by == other.id
    return held


def in_ring(case):
    """It is among the turns of its session, and pushed out by newer ones, in file and RAM."""
    return case.among(case.view.sessions.recent(session="s"))


def embedded(case):
    """Full text owes it a vector."""
    waits = case.view.store.stats().backlog.get("embed", 0)
    case.write(lambda c, _: c.words.catch_up(case.ns))
    owed = case.write(_backlog)
    assert bool(waits) == bool(owed), (waits, owed)
    return owed == "embed"


def owed_vector(case):
    """It needs a vector even when it leaves the index, and again if that was lost."""
    case.write(lambda c, _: c.words.catch_up(case.ns))
    case.write(lambda c, _: c.execute("DELETE FROM backlog") and None)
    case.write(lambda c, docid: memories.enqueue(c, memories.by_docid(c, docid), "drop"))
    left = case.write(_backlog) == "embed"
    case.write(lambda c, _: c.execute("DELETE FROM backlog") and None)
    assert left == case.write(_is_missed)
    case.write(lambda c, _: checks.owe_missing(c))
    assert left == (case.write(_backlog) == "embed")
    return left


def _is_missed(connection, docid):
    """Tell whether a memory without a line in the backlog is one that ``doctor`` counts."""
    before = len(checks.unowed_rows(connection))
    connection.execute("INSERT INTO backlog VALUES (?, 1, 'embed')", (docid,))
    after = len(checks.unowed_rows(connection))
    connection.execute("DELETE FROM backlog WHERE docid = ?", (docid,))
    return before > after


def in_index(case):
    """Its vector belongs into the long tier's index."""

    def store(connection, docid):
        connection.words.catch_up(case.ns)
        connection.execute("DELETE FROM backlog")
        model = vectors.embedder_id(connection, "made up", 2)
        connection.execute("INSERT INTO embeddings VALUES (?, ?, 1, x'00')", (docid, model))
        index = vectors.any_indexed(connection)
        owed = vectors.owe_index(connection, model)
        connection.execute("DELETE FROM embeddings")
        assert bool(owed) == index
        return index

    return case.write(store)


def in_statistics(case):
    """Its words were met, and the roster counts it."""
    waiting = case.write(lambda c, _: "otter" in c.words.waiting_words(case.ns))
    case.write(lambda c, _: c.words.catch_up(case.ns))
    assert waiting == case.write(lambda c, _: not c.words.unheard(case.ns, ["otter"]))
    status = case.view.get(case.first.id).status.value
    row = RosterRow(1, None, None, "", "medium", "fact", status, 5, 0, 0, 0.5, 0)
    roster = Roster()
    roster.apply([row])
    assert bool(roster.view().live) == waiting
    return waiting


def folds_trusted(case):
    """A repeat by the user is merged into it."""
    return case.view.add(TEXT, tier="medium").id == case.first.id


def folds_untrusted(case):
    """A repeat by a web page is merged into it."""
    return case.view.add(TEXT, tier="medium", source="web").id == case.first.id


def ended(case):
    """It is found where the past is asked for."""
    return case.among(case.view.retrieve("otter quince", include_superseded=True))


def by_name(case):
    """Its alias finds it in the default answer, and its words alone do not."""
    named = case.among(case.view.retrieve("jam report"))
    return named and not case.among(case.view.retrieve("otter quince"))


def current(case):
    """``forget_many`` takes it."""
    return case.first.id in case.view.forget_many(session="s")


def accepted(case):
    """A memory derived from it is not quarantined for that."""
    child = case.view.add("Quince it is", source=Source(parents=(case.first.id,)))
    return child.status.value != "quarantined"


def feels(case):
    """A use is seen in what is known of it."""
    case.write(lambda c, docid: memories.record(c, case.ns, 1, Event.USED, docid, USER))
    seen = case.engine.ledger.read(lambda c: _uses(c, case))
    case.write(lambda c, _: strength_fold.catch_up(c, Dynamics()))
    assert case.engine.ledger.read(lambda c: _uses(c, case)) == seen
    return seen > 0


def _uses(connection, case):
    row = memories.by_id(connection, case.ns, case.first.id)
    state, _, _ = strength_fold.look(connection, row, 2, Dynamics())
    return state.uses


def keeps_id(case):
    """A trusted memory cannot take its id."""
    try:
        case.view.add("Something else altogether", id="mine")
    except IdConflict:
        return True
    return False


def _backlog(connection, docid):
    line = connection.execute("SELECT op FROM backlog WHERE docid = ?", (docid,)).fetchone()
    return None if line is None else line[0]


TRAITS = {
    found: {},
    holds_slot: {"key": "otter/jam"},
    in_ring: {"tier": "short", "session": "s"},
    embedded: {},
    owed_vector: {},
    in_index: {},
    in_statistics: {},
    folds_trusted: {},
    folds_untrusted: {},
    by_name: {"aliases": ["jam report"]},
    ended: {},
    current: {"session": "s"},
    accepted: {},
    feels: {},
    keeps_id: {"id": "mine", "source": "web"},
}
"""The functions that look at a trait, with the fields of the memory to look at."""


def main(root, *statuses):
    """Look at every trait of some statuses."""
    with MemoryManager(root, embedder=None, clock=lambda: NOW) as memory:
        seen = {
            status: {
                look.__name__: look(Case(memory, status, look.__name__, **fields))
                for look, fields in TRAITS.items()
            }
            for status in statuses
        }
    sys.stdout.write(json.dumps(seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
