"""The rows that still lack a vector, read a few at a time, on every engine."""

from __future__ import annotations

import pytest
from engine_bench import seqs

from memento.ledger import vectors
from memento.ledger.rows import docid_range

PLENTY = 1_000_000


def lacking(bench, sessions=(), rows=99, chars=PLENTY):
    """Return the newest memories without a vector, as (place, characters)."""
    found = bench.read(vectors.newest, sessions, rows, chars)
    return [(one.docid & ((1 << 40) - 1), one.chars) for one in found]


def test_the_newest_without_a_vector_come_first(bench):
    """Whether full text knows them or not; each with its length."""
    bench.add("a", "bb")
    bench.index()
    bench.add("ccc")
    assert lacking(bench) == [(3, 3), (2, 2), (1, 1)]
    assert lacking(bench, rows=2) == [(3, 3), (2, 2)]


@pytest.mark.parametrize("indexed", [True, False], ids=["in full text", "waiting"])
def test_those_of_a_session_are_found_by_it(bench, indexed):
    """Several sessions together; one without a name is none of them."""
    names = ("a", "b", None, "c", "a")
    bench.add(*({"text": f"{at}", "session": name} for at, name in enumerate(names)))
    if indexed:
        bench.index()
    assert lacking(bench, ("a",)) == [(5, 1), (1, 1)]
    assert lacking(bench, ("c", "b")) == [(4, 1), (2, 1)]
    assert lacking(bench, ("nobody",)) == []


def test_characters_limit_how_many(bench):
    """The newest is returned in any case, the others while there is room."""
    bench.add("x" * 10, "y" * 20, "z" * 30)
    assert lacking(bench, chars=1) == [(3, 30)]
    assert lacking(bench, chars=50) == [(3, 30), (2, 20)]
    assert lacking(bench, chars=60) == [(3, 30), (2, 20), (1, 10)]


def test_only_what_an_answer_could_need_is_lacking(bench):
    """Not what is quarantined, of another namespace or embedded."""
    bench.add(bench.entry("kept"), bench.entry("held", status="quarantined"))
    bench.of("other").add("another's")
    bench.index()
    assert lacking(bench) == [(1, 4)]
    lines = bench.ledger.read(lambda s: vectors.owed(s, ("embed",), 9))
    bench.ledger.write(lambda s: vectors.settle(s, lines))
    assert bench.read(vectors.still_lacking, [line.docid for line in lines]) == set()


@pytest.mark.parametrize("indexed", [True, False], ids=["in full text", "waiting"])
def test_what_is_still_lacking(bench, indexed):
    """Of the row ids given, those without a vector; unknown ones are not."""
    rows = bench.add("a", "b", "c")
    if indexed:
        bench.index()
    docids = [row.docid for row in rows]
    assert bench.read(vectors.still_lacking, [*docids[:2], docids[-1] + 5]) == set(docids[:2])
    assert bench.read(vectors.still_lacking, []) == set()


def test_lines_are_read_in_the_order_they_are_asked_for(bench):
    """Rows without a line of that operation are left out."""
    rows = bench.add("a", "b", "c")
    bench.index()
    wanted = [rows[2].docid, 12345, rows[0].docid]
    found = bench.ledger.read(lambda s: vectors.lines_of(s, wanted, ("embed",)))
    assert [line.text for line in found] == ["c", "a"]
    assert bench.ledger.read(lambda s: vectors.lines_of(s, wanted, ("index", "drop"))) == []


def test_namespaces_are_walked_in_a_circle(bench):
    """From the one after the last, and around; each once."""
    others = [bench.of("b"), bench.of("c")]
    for one in (bench, *others):
        one.add("x", "y")
        one.index()
    first, second, third = (one.ns for one in (bench, *others))

    def walk(after, most):
        return bench.ledger.read(lambda s: vectors.spaces(s, after, most))

    assert walk(0, 9) == [first, second, third]
    assert walk(first, 9) == [second, third, first]
    assert walk(third, 2) == [first, second]
    assert walk(second, 1) == [third]


def test_a_window_opens_at_either_end(bench):
    """The first or the last lines between two row ids."""
    rows = bench.add(*({"text": "x", "session": name} for name in ("a", None, "b")))
    bench.index()
    low, high = docid_range(bench.ns)

    def look(low, most, **options):
        return bench.ledger.read(lambda s: vectors.window(s, low, high, most, **options))

    assert seqs(look(low, 2)) == [1, 2]
    assert seqs(look(low, 2, newest=True)) == [3, 2]
    assert seqs(look(rows[1].docid, 9)) == [2, 3]
