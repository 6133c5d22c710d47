"""A long call reports its progress in order, in the caller's thread, and loses nothing."""

from __future__ import annotations

import io
import threading

import pytest

from memento import AsyncMemoryManager
from memento.errors import InvalidInput
from memento.testing import HashEmbedder
from memento.tiers.indexer import EACH, Remaining
from memento.verbs.documents import BATCH

TEXTS = [f"note number {number}" for number in range(3 * EACH + 7)]
FEW = TEXTS[:20]
"""As many as the indexer needs to report more than once."""
BOOK = "\n\n".join(f"# Chapter {number}\n\nText of {number}." for number in range(2 * BATCH + 3))


class Watch:
    """Notes what it is told, and by which thread; may fail at a number of calls."""

    def __init__(self, fails_at=None):
        self.told, self.threads, self.fails_at = [], set(), fails_at

    def __call__(self, done, total):
        """Note a report."""
        self.told.append((done, total))
        self.threads.add(threading.get_ident())
        if len(self.told) == self.fails_at:
            raise KeyboardInterrupt


def in_order(told):
    """Whether the numbers only grow and end at the total."""
    numbers = [done for done, _ in told]
    return numbers == sorted(numbers) and told[-1][0] == told[-1][1]


@pytest.fixture
def export(open_memory, tmp_path):
    """An export of 1,000 memories."""
    memory = open_memory(tmp_path / "theirs")
    memory.add_many([f"note {number}" for number in range(1000)])
    memory.store.export(stream := io.StringIO())
    return stream.getvalue()


def test_many_are_counted_while_they_are_checked(memory):
    """About every hundred, and all of them when they are on the disk."""
    watch = Watch()
    memory.add_many(TEXTS, progress=watch)
    assert watch.told == [(at, len(TEXTS)) for at in (0, 100, 200, 300, len(TEXTS))]
    assert watch.threads == {threading.get_ident()}


def test_many_are_all_or_none_also_if_the_report_fails(memory):
    """Nothing before the end, everything at the end."""
    with pytest.raises(KeyboardInterrupt):
        memory.add_many(TEXTS, progress=Watch(fails_at=3))
    assert memory.store.stats().memories == 0
    with pytest.raises(KeyboardInterrupt):
        memory.add_many(TEXTS, progress=Watch(fails_at=5))
    assert memory.store.stats().memories == len(TEXTS)


def test_the_parts_of_a_document_are_counted_as_they_are_written(memory):
    """Work reported as done is on the disk when the report fails; a second call goes on."""
    parts = 2 * BATCH + 3
    watch = Watch(fails_at=2)
    with pytest.raises(KeyboardInterrupt):
        memory.documents.add(BOOK, name="book", format="markdown", progress=watch)
    assert watch.told == [(0, parts), (BATCH, parts)]
    assert memory.store.stats().memories == BATCH
    watch = Watch()
    memory.documents.add(BOOK, name="book", format="markdown", progress=watch)
    assert watch.told == [(BATCH, parts), (2 * BATCH, parts), (parts, parts)]


def test_an_import_counts_the_lines_that_are_written(memory, export):
    """First the file is checked, of unknown length; then each transaction is reported."""
    watch = Watch()
    memory.store.import_from(io.StringIO(export), trust="user", progress=watch)
    checked = [report for report in watch.told if report == (0, None)]
    written = watch.told[len(checked) :]
    assert len(checked) > 1
    assert len(written) > 2
    assert in_order(written)
    assert written[-1] == (export.count("\n"), export.count("\n"))


def test_an_interrupted_import_is_completed_by_the_same_call(memory, export):
    """An error in the report while it is checked writes nothing; later, some is written."""
    watch = Watch(fails_at=1)
    with pytest.raises(KeyboardInterrupt):
        memory.store.import_from(io.StringIO(export), trust="user", progress=watch)
    assert memory.store.stats().memories == 0
    first = Watch()
    memory.of("trial").store.import_from(io.StringIO(export), trust="user", progress=first)
    at = next(n for n, (_, total) in enumerate(first.told, start=1) if total is not None)
    with pytest.raises(KeyboardInterrupt):
        memory.store.import_from(io.StringIO(export), trust="user", progress=Watch(fails_at=at))
    assert 0 < memory.store.stats().memories < 1000
    memory.store.import_from(io.StringIO(export), trust="user")
    assert memory.store.stats().memories == 1000


def test_the_index_is_followed_to_its_end(open_memory):
    """Of flush and of reindex, until nothing is left."""
    memory = open_memory(embedder=HashEmbedder(16))
    memory.add_many(FEW)
    watch = Watch()
    assert memory.flush(wait=True, progress=watch)
    assert in_order(watch.told)
    assert watch.threads == {threading.get_ident()}
    memory.close()
    memory = open_memory(embedder=HashEmbedder(32))
    watch = Watch()
    assert memory.store.reindex(wait=True, progress=watch) == len(FEW)
    assert in_order(watch.told)


def test_a_failing_report_ends_the_wait_and_not_the_index(open_memory):
    """The exception arrives, and the work goes on in the background."""
    memory = open_memory(embedder=HashEmbedder(16))
    memory.add_many(FEW)
    with pytest.raises(KeyboardInterrupt):
        memory.flush(wait=True, progress=Watch(fails_at=1))
    assert memory.flush(wait=True, timeout=60)
    assert len(memory.list(limit=1000)) == len(FEW)


async def test_coroutines_report_too(tmp_path):
    """In a worker thread, so that a slow report does not hold the event loop."""
    async with AsyncMemoryManager(tmp_path / "store", embedder=HashEmbedder(16)) as memory:
        for call in (
            lambda watch: memory.add_many(FEW, progress=watch),
            lambda watch: memory.flush(wait=True, progress=watch),
            lambda watch: memory.store.reindex(wait=True, progress=watch),
        ):
            await call(watch := Watch())
            assert in_order(watch.told)
            assert threading.get_ident() not in watch.threads


def test_new_work_adds_to_the_total():
    """The amount done never becomes less."""
    told = []
    left = iter([10, 7, 9, 0])
    owed = Remaining(lambda: next(left), lambda done, total: told.append((done, total)))
    for _ in range(3):
        owed.report()
    assert told == [(3, 10), (3, 12), (12, 12)]


@pytest.mark.parametrize("wrong", ["often", 5, True])
def test_something_else_is_refused(memory, wrong):
    """By name, before anything is written."""
    for call in (
        lambda: memory.add_many(["tea"], progress=wrong),
        lambda: memory.documents.add("tea", progress=wrong),
        lambda: memory.store.import_from(io.StringIO(""), progress=wrong),
        lambda: memory.flush(progress=wrong),
        lambda: memory.store.reindex(progress=wrong),
    ):
        with pytest.raises(InvalidInput, match="progress: must be a callable"):
            call()
    assert memory.list() == []
