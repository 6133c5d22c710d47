"""Arrays that are lent are zero, also after other queries used them."""

from __future__ import annotations

import numpy as np
import pytest

from memento.retrieve import zeros
from memento.retrieve.zeros import Zeros


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Let small arrays be lent as well."""
    monkeypatch.setattr(zeros, "LARGE", 10)


def used(lent, *places):
    """Write to some rows as a query does; returns the arrays."""
    columns, mark = lent
    for column in columns:
        column[list(places)] = 7
    mark.touched = [np.array(places)]
    return columns


def address(columns):
    """Return where the first array is."""
    return columns.score.__array_interface__["data"]


def test_the_same_arrays_are_lent_again_and_are_zero():
    """A shorter namespace gets a part of them, a longer one gets other ones."""
    pool = Zeros()
    place = address(used(pool.lend(20), 3, 19))
    for n in (20, 15):
        columns, mark = pool.lend(n)
        assert address(columns) == place
        assert [len(column) for column in columns] == [n] * 4
        assert not any(column.any() for column in columns)
        used((columns, mark), 0, n - 1)
        del columns, mark
    longer, _ = pool.lend(40)
    assert len(longer.score) == 40
    assert not any(column.any() for column in longer)


def test_one_view_keeps_all_of_them():
    """Arrays that a query still looks at are not cleared, nor lent to another one."""
    pool = Zeros()
    some = used(pool.lend(20), 3).score[2:5]
    assert some.tolist() == [0, 7, 0]
    assert pool._waiting == []
    del some
    assert len(pool._waiting) == 1


def test_two_queries_at_once_share_nothing():
    """Each has arrays of its own, and one set of them waits afterwards."""
    pool = Zeros()
    one, other = pool.lend(20), pool.lend(20)
    used(one, 4)
    assert not other[0].score.any()
    used(other, 5)
    del one, other
    assert len(pool._waiting) == 1
    assert not pool.lend(20)[0].score.any()


def test_a_query_that_failed_gives_nothing_back():
    """Nobody knows where it wrote."""
    pool = Zeros()
    columns, _ = pool.lend(20)
    columns.score[4] = 1
    del columns, _
    assert pool._waiting == []


def test_few_rows_are_not_lent():
    """The system gives small arrays faster than they are cleared."""
    pool = Zeros()
    used(pool.lend(9), 4)
    assert pool._waiting == []


def test_answers_are_the_same_with_arrays_that_were_used(memory):
    """Of questions that follow each other, also of several namespaces."""
    texts = [f"harbour {'lantern' if n % 2 else 'meadow'} note{n}" for n in range(60)]
    memory.add_many([{"text": text, "tier": "medium"} for text in texts])
    memory.of("other").add_many([{"text": text, "tier": "medium"} for text in texts[:20]])
    questions = ["harbour note7", "lantern note12 note13", "meadow", "note3"]

    def ask():
        return [
            [(hit.text, hit.score, hit.terms) for hit in where.retrieve(one, record=False)]
            for where in (memory, memory.of("other"))
            for one in questions
        ]

    first = ask()
    assert zeros.ZEROS._waiting
    assert ask() == first
    zeros.ZEROS._waiting.clear()
    assert ask() == first
