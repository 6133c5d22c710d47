"""A decision that was made in one store holds in another one, after export and import."""

import io
from datetime import timedelta

import pytest

from memento import MemoryManager
from memento.ledger.contract import Work
from memento.upkeep import import_
from memento.upkeep.import_ import Taking
from memento.write import settling

NUMBERS = ("My phone number is 555 1234", "My phone number is 777 9999")


@pytest.fixture
def stores(tmp_path, clock):
    """Two stores; the second is empty, and has compared all it has."""
    with (
        MemoryManager(tmp_path / "one", embedder=None, clock=clock) as one,
        MemoryManager(tmp_path / "two", embedder=None, clock=clock) as two,
    ):
        two.flush(wait=True)
        yield one, two


def told(memory, *texts):
    """Add statements, wait until they are compared, and return their ids."""
    ids = [memory.add(text).id for text in texts]
    memory.flush(wait=True)
    return ids


def move(one, two, clock):
    """Export one store, import it into the other a day later, and wait until it is compared."""
    file = io.BytesIO()
    one.store.export(file)
    clock.advance(timedelta(days=1))
    two.store.import_from(io.BytesIO(file.getvalue()), trust="user")
    told(two, "The kettle is blue")


def standing(memory, ids):
    """Return the status and the belief of each memory, and the flagged pairs."""
    rows = [
        (memory.get(one).status.value, round(memory.feedback.belief(one).mean, 3)) for one in ids
    ]
    return rows, [{pair.a.id, pair.b.id} for pair in memory.slots.conflicts()]


def test_a_flagged_pair_is_doubted_once(stores, clock):
    """The doubt comes with the log; comparing the pair again adds none."""
    one, two = stores
    ids = told(one, *NUMBERS)
    before = standing(one, ids)
    assert before[1] == [set(ids)]
    move(one, two, clock)
    assert standing(two, ids) == before
    assert len(two.feedback.belief(ids[0]).evidence) == 1


def test_what_is_compared_during_an_import_counts_once(stores, clock, monkeypatch):
    """The memories are there, but neither the doubts nor the settled pairs of the other store."""
    one, two = stores
    ids = told(one, *NUMBERS, "My editor is Vim", "My editor is Helix")
    one.slots.resolve(ids[2], ids[3], "both")
    before = standing(one, ids)
    put_link = Taking._put_link

    def meanwhile(taking, connection, ns, link):
        if not compared:
            compared.append(ns)
            engine = two._engine
            work = Work(connection, ns, engine.now(), engine.rules)
            while settling.settle_next(work, engine.config.conflicts):
                pass
        put_link(taking, connection, ns, link)

    compared = []
    monkeypatch.setattr(Taking, "_put_link", meanwhile)
    move(one, two, clock)
    assert compared
    assert standing(two, ids) == before


def test_what_was_imported_is_compared_with_what_was_there(stores, clock):
    """An open store does so at once, not only when it is opened again."""
    one, two = stores
    (there,) = told(two, NUMBERS[0])
    (came,) = told(one, NUMBERS[1])
    file = io.BytesIO()
    one.store.export(file)
    clock.advance(timedelta(days=1))
    two.store.import_from(io.BytesIO(file.getvalue()), trust="user")
    two.flush(wait=True)
    assert standing(two, [])[1] == [{there, came}]


def test_what_is_erased_between_two_parts_of_an_import_takes_its_events_along(
    stores, clock, monkeypatch
):
    """A verdict or a doubt of it, further down in the file, is about nothing any more."""
    one, two = stores
    ids = told(one, *NUMBERS)
    one.feedback.rate(ids, verdict="used")
    assert {event.verdict for event in one.feedback.belief(ids[0]).evidence} == {"used", "doubted"}
    file = io.BytesIO()
    one.store.export(file)
    clock.advance(timedelta(days=1))
    monkeypatch.setattr(import_, "bites", lambda lines: ([item] for item in lines))
    erased = []

    def between(done, _total):
        if not erased and ids[0] in {one.id for one in two.list()}:
            erased.append(done)
            two.store.erase(ids[0])

    two.store.import_from(io.BytesIO(file.getvalue()), trust="user", progress=between)
    assert erased
    assert [one.id for one in two.list()] == [ids[1]]
    assert [event.verdict for event in two.feedback.belief(ids[1]).evidence] == ["used"]
    assert all(found.ok for found in two.store.doctor())


@pytest.mark.parametrize("compared", [True, False])
def test_a_flag_of_a_text_that_changed_does_not_travel(stores, clock, monkeypatch, compared):
    """Also if the new text was not compared before the export."""
    one, two = stores
    ids = told(one, *NUMBERS)
    assert one.slots.conflicts()
    if not compared:
        monkeypatch.setattr(one._engine.background.statements, "_settle", lambda *_, **__: False)
    one.update(ids[1], text="The kettle of Ada is green")
    if compared:
        one.flush(wait=True)
        assert not one.slots.conflicts()
    move(one, two, clock)
    assert not two.slots.conflicts()


def test_a_flag_of_texts_that_stand_travels(stores, clock):
    """The null control: another column changed, and the store had no time to look."""
    one, two = stores
    ids = told(one, *NUMBERS)
    one.update(ids[1], pinned=True)
    move(one, two, clock)
    assert standing(two, ids)[1] == [set(ids)]
