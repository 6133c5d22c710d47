"""The sums of the events of a memory, on every engine."""

from __future__ import annotations

import struct

import pytest

from memento.config import Config
from memento.dynamics.settings import Dynamics
from memento.errors import StoreError
from memento.ledger import erasure, memories, strength_fold, transfer
from memento.types import Event, Trust
from memento.write import verdicts
from memento.write.verdicts import Verdict

PLAIN = Dynamics()
RULES = Config(dynamics=PLAIN)
HOUR = 3_600_000_000


def rated(bench, row, kind=Event.USED, source=Trust.USER):
    """Give a verdict on a memory."""
    given = [Verdict(row.id, kind, source)]
    bench.ledger.write(lambda s: verdicts.give(bench.work(s), given, RULES))


def state(bench, row):
    """Read the state of a memory with all that is in the log."""
    return bench.ledger.read(lambda s: strength_fold.look(s, row, bench.now, PLAIN)[0])


def table(bench):
    """Return the row ids of the table."""
    query = "SELECT docid FROM dynamics ORDER BY docid"
    return [docid for (docid,) in bench.ledger.read(lambda s: s.execute(query).fetchall())]


def folded(bench, most=strength_fold.BITE):
    """Fold all of the log."""
    while bench.ledger.write(lambda s: strength_fold.catch_up(s, PLAIN, most)):
        pass


def shown(bench, *rows):
    """Record that memories were retrieved."""
    ids = {"ids": [row.id for row in rows]}
    bench.write(lambda s, ns: memories.record(s, ns, bench.now, Event.RETRIEVED, None, ids))


def test_a_memory_that_nothing_happened_to_has_no_row(bench):
    """Adding one writes nothing here, and asking for its state neither."""
    row = bench.one("tea")
    assert state(bench, row).uses == 0
    assert not bench.ledger.read(lambda s: strength_fold.behind(s, PLAIN))
    assert table(bench) == []


def test_a_verdict_is_folded_in_its_own_transaction(bench):
    """The next reader finds it in the row."""
    row = bench.one("tea")
    rated(bench, row, Event.CONFIRMED)
    assert table(bench) == [row.docid]
    assert not bench.ledger.read(lambda s: strength_fold.behind(s, PLAIN))
    assert state(bench, row).belief == (5.0, 1.0)


def test_sums_that_are_all_the_same_take_the_place_of_one(bench):
    """As after a single use; and thirteen numbers that are the same are read like the one."""
    row, query = bench.one("tea"), "SELECT length(sums) FROM dynamics"
    rated(bench, row)
    before = state(bench, row)
    assert bench.ledger.read(lambda s: s.execute(query).fetchone()) == (8,)
    spelt = struct.pack("<13d", *before.sums)
    bench.ledger.write(lambda s: s.execute("UPDATE dynamics SET sums = ?", (spelt,)))
    assert state(bench, row) == before
    bench.now += 48 * HOUR
    rated(bench, row)
    assert bench.ledger.read(lambda s: s.execute(query).fetchone()) == (104,)
    assert len(set(state(bench, row).sums)) == 13


@pytest.mark.parametrize("spoilt", [b"", b"1234567", b"\0" * 96, "text", 7])
def test_damaged_sums_are_named_and_made_again(bench, spoilt):
    """Neither a reader nor the next verdict takes them for numbers."""
    row = bench.one("tea")
    rated(bench, row)
    try:
        bench.ledger.write(lambda s: s.execute("UPDATE dynamics SET sums = ?", (spoilt,)))
    except StoreError as error:  # an engine whose columns take nothing else needs no more
        assert not isinstance(spoilt, bytes), error  # noqa: PT017
        return
    assert strength_fold.sums_in(spoilt) is None
    assert bench.ledger.read(lambda s: strength_fold.differing(s, PLAIN, 9)) == [row.docid]
    bench.now += HOUR
    rated(bench, row, Event.CONFIRMED)
    folded(bench)
    assert state(bench, row).uses == 2
    assert bench.ledger.read(lambda s: strength_fold.differing(s, PLAIN, 9)) == []


def test_what_was_not_folded_yet_is_told_all_the_same(bench):
    """Reading adds what came after the cursor, and writes nothing."""
    one, two = bench.add("tea", "coffee")
    shown(bench, one, two)
    before = state(bench, one)
    assert before.uses == pytest.approx(0.1)
    assert table(bench) == []
    folded(bench)
    assert table(bench) == [one.docid, two.docid]
    assert state(bench, one) == before


@pytest.mark.parametrize("most", [1, 2, 500])
def test_bites_of_any_size_give_the_same_rows(bench, most):
    """In two namespaces whose events are mixed."""
    other = bench.of("other")
    mine, theirs = bench.one("tea"), other.one("tea")
    for n in range(4):
        bench.now = other.now = bench.now + HOUR
        shown(bench, mine)
        rated(other, theirs, Event.WRONG if n == 2 else Event.USED)
    before = state(bench, mine), state(other, theirs)
    bench.ledger.write(strength_fold.drop_rows)
    folded(bench, most)
    assert (state(bench, mine), state(other, theirs)) == before
    assert bench.ledger.read(lambda s: strength_fold.differing(s, PLAIN, 9)) == []


def test_an_erased_memory_leaves_nothing(bench):
    """No row and no event; the next event is folded though it gets an old number."""
    one, two = bench.add("tea", "coffee")
    rated(bench, one)
    rated(bench, one, Event.CONFIRMED)
    bench.write(erasure.erase, {one.docid: one.id}, bench.now)
    assert table(bench) == []
    rated(bench, two)
    assert table(bench) == [two.docid]


def test_verdicts_of_one_source_are_found_and_taken_back(bench):
    """Only of the namespace, and only those that stand."""
    row, other = bench.one("tea"), bench.of("other")
    rated(bench, row, Event.WRONG, Trust.AGENT)
    rated(bench, row, Event.WRONG)
    assert other.read(verdicts.of_source, Trust.AGENT) == []
    found = bench.read(verdicts.of_source, Trust.AGENT)
    assert [one.docid for one in found] == [row.docid]
    bench.change(lambda work: verdicts.retract(work, found, RULES))
    assert bench.read(verdicts.of_source, Trust.AGENT) == []
    assert state(bench, row).belief == (4.0, 3.0)
    assert bench.ledger.read(lambda s: strength_fold.differing(s, PLAIN, 9)) == []


@pytest.mark.parametrize(
    ("kind", "detail"),
    [
        (Event.RETRACTED, {"verdict": [], "at": {}, "source": 7}),
        (Event.RETRACTED, {"verdict": "used", "at": "now"}),
        (Event.RETRACTED, None),
        (Event.USED, {"source": ["user"]}),
        (Event.USED, None),
        (Event.REINFORCED, {"source": {"user": 1}}),
        (Event.RETRIEVED, {"ids": 5}),
        ("dreamt", {"source": "user"}),
    ],
)
def test_what_a_file_says_of_events_need_not_make_sense(bench, kind, detail):
    """An event of a wrong kind changes nothing, and the fold goes on."""
    row = bench.one("tea")
    rated(bench, row)
    before = state(bench, row)
    bench.write(transfer.put_event, bench.now, str(kind), row.id, detail)
    assert state(bench, row) == before
    folded(bench)
    assert state(bench, row) == before
    rated(bench, row, Event.WRONG)
    assert state(bench, row).belief[1] == 3.0


def test_a_rank_that_makes_no_sense_is_the_first(bench):
    """As if the verdict were about the memory alone."""
    rows = bench.add("tea", "coffee", "milk")
    for row, rank in zip(rows, (-1, "2", 1), strict=True):
        detail = {"source": "user", "rank": rank}
        bench.write(transfer.put_event, bench.now, "used", row.id, detail)
    assert {state(bench, row).worth for row in rows} == {0.1}
