"""The indexer does its backlog in bites, through failures, and never twice."""

from __future__ import annotations

import shutil
import threading
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from memento import Config, MemoryManager
from memento.config import IndexConfig, ShortConfig
from memento.errors import EmbedderError, EmbeddingMismatch, StoreError, TierUnavailable
from memento.ledger import vectors
from memento.ledger.lite.store import LiteLedger
from memento.ledger.schema import SEQ_BITS, SEQ_MASK
from memento.testing import HashEmbedder
from memento.tiers import indexer as indexer_module
from memento.tiers.indexer import Indexer
from memento.tiers.long_tier import LongTier

FAST = IndexConfig(start_seconds=0.0, poll_seconds=0.01, retry_seconds=0.01)
FAST_CONFIG = Config(index=FAST)


class Index:
    """A long tier in a dict that can be told to refuse."""

    mark = None

    def __init__(self):
        self.rows, self.removed, self.refusal = {}, [], None

    def upsert(self, namespace, ids, vectors, metadatas):
        """Take rows, or refuse."""
        if self.refusal:
            raise self.refusal
        assert vectors.shape == (len(ids), 8)
        self.rows |= {(namespace, i): m["tier"] for i, m in zip(ids, metadatas, strict=True)}

    def remove(self, namespace, ids):
        """Let rows go."""
        self.removed += ids
        for memory_id in ids:
            self.rows.pop((namespace, memory_id), None)


class Embedding:
    """An embedder of one store that notes what it is asked and can be told to fail."""

    def __init__(self, ledger):
        self.ledger, self.bites, self.failure = ledger, [], None

    def embed(self, texts):
        """Note the bite and embed it, or fail."""
        if self.failure:
            raise self.failure
        self.bites.append(list(texts))
        return HashEmbedder(8).embed(texts)

    def warm(self):
        """Nothing to load."""

    def model(self):
        """Be the store's embedder."""
        self.ledger.write(lambda c: vectors.set_embedder(c, "fake (8)"))
        return self.ledger.write(lambda c: vectors.embedder_id(c, "fake", 8))


class Bench:
    """An indexer over a real ledger with a fake embedder and a fake index."""

    def __init__(self, memory, **options):
        self.memory, self.ledger = memory, memory._engine.ledger
        self.index, self.embedding = Index(), Embedding(self.ledger)
        self.kept_house, self.queries, self.lost = threading.Event(), 0, False
        self.stream, self.took = False, []
        options = {"config": FAST, "embedding": self.embedding} | options
        self.indexer = Indexer(
            self.ledger,
            options["embedding"],
            lambda: self.index,
            lambda: self.lost,
            chores=lambda: None,
            take_up=memory._engine.background.words.take_up,
            waiting=lambda: bool(self.ledger.read(lambda c: c.words.behind())),
            aside=self.took.append,
            housekeeping=self.kept_house.set,
            embedded=set().update,
            busy=lambda: bool(self.queries),
            streaming=lambda: self.stream,
            config=options["config"],
        )

    def owed(self):
        """Count the backlog."""
        return self.ledger.read(vectors.backlog_size)


@pytest.fixture
def bench(memory):
    """A bench whose thread is stopped at the end."""
    made = Bench(memory)
    yield made
    made.indexer.stop(10)


def test_the_other_chores_have_as_much_time_as_each_round(bench, memory):
    """Long before the end of a long backlog; not while the store does not work."""
    memory.add_many(f"note {n}" for n in range(200))
    for rounds in (1, 2):
        assert bench.indexer._go_on(news=True)
        assert len(bench.took) == rounds
        assert bench.owed()["embed"] >= 200 - 64 * rounds
    assert not bench.kept_house.is_set()
    bench.indexer.trouble["store"] = "the disk is full"
    assert bench.indexer._go_on(news=True)
    assert len(bench.took) == 2


def test_what_is_owed_at_start_is_done_too(bench, open_memory):
    """A crash left a backlog; the next process works it off."""
    memory = open_memory()
    memory.add("left over", "long")
    bench.indexer.start()
    assert bench.indexer.wait(30)
    assert len(bench.index.rows) == 1


@pytest.mark.parametrize(("age", "left"), [(0.0, {}), (10_000.0, {"index": 1})])
def test_a_process_that_ends_soon_opens_no_index(bench, memory, monkeypatch, age, left):
    """A later one feeds it what was embedded, unless somebody waits for it here."""
    monkeypatch.setattr(indexer_module, "OPEN_SECONDS", age)
    memory.add("for the next process", "long")
    bench.indexer.start()
    assert bench.kept_house.wait(30)
    assert bench.owed() == left
    assert bench.indexer.wait(30)
    assert bench.owed() == {}


def test_bites_are_small_and_sorted_by_length(bench, memory, monkeypatch):
    """At most so many texts and characters at once, short ones first."""
    monkeypatch.setattr(indexer_module, "BITE_TEXTS", 4)
    monkeypatch.setattr(indexer_module, "BITE_CHARS", 100)
    memory.add_many("x" * size for size in (90, 5, 60, 10, 8, 7, 6, 40, 300))
    assert bench.indexer.wait(30)
    sizes = [[len(text) for text in bite] for bite in bench.embedding.bites]
    assert sizes == [[5, 6, 7, 8], [10, 40], [60], [90], [300]]


def test_the_speaker_is_embedded_with_the_text(bench, memory):
    """Actor first, role in its place, nothing if there is neither."""
    memory.add("hi", actor="Ada", role="user")
    memory.add("ho", role="tool")
    memory.add("he")
    assert bench.indexer.wait(30)
    assert sorted(text for bite in bench.embedding.bites for text in bite) == [
        "Ada: hi",
        "he",
        "tool: ho",
    ]


def test_forgotten_rows_leave_the_index(bench, memory):
    """And come back when restored."""
    kept = memory.add("a", "long")
    assert bench.indexer.wait(30)
    memory.forget(kept.id)
    assert bench.indexer.wait(30)
    assert (bench.index.rows, bench.index.removed) == ({}, [kept.id])
    memory.restore(kept.id)
    assert bench.indexer.wait(30)
    assert len(bench.index.rows) == 1


def test_a_row_changed_meanwhile_is_done_again(bench, memory):
    """A vector of an older text is never kept, however the change falls."""
    kept = memory.add("before", "long")
    memory.flush()
    (line,) = bench.ledger.read(lambda c: vectors.owed(c, ("embed",), 9))
    model = bench.embedding.model()
    memory.update(kept.id, text="after")
    stale = HashEmbedder(8).embed(["before"])[0].tobytes()
    bench.ledger.write(lambda c: vectors.store(c, model, [(line, stale)]))
    assert bench.owed() == {"embed": 1}
    assert bench.ledger.read(lambda c: vectors.embedders(c, 1)) == {}
    assert bench.indexer.wait(30)
    ((vector,),) = bench.ledger.read(
        lambda c: c.execute("SELECT vector FROM embeddings").fetchall()
    )
    assert vector == HashEmbedder(8).embed(["after"])[0].tobytes()


def test_a_turn_pushed_out_before_it_was_taken_up_gets_its_vector(bench, memory):
    """A row that full text does not know yet gets a vector, however it moved meanwhile."""
    moved = memory.add("moved", "short")
    memory.update(moved.id, tier="medium")
    hidden = memory.add("hidden", "long")
    memory.forget(hidden.id)
    back = memory.add("back", "long")
    memory.forget(back.id)
    memory.restore(back.id)
    plain = memory.add("plain", "long")
    assert bench.owed()["embed"] == 3
    assert bench.indexer.wait(30)
    assert sorted(key[1] for key in bench.index.rows) == sorted((moved.id, back.id, plain.id))
    assert bench.owed() == {}


@pytest.mark.parametrize("target", ["short", "long"])
def test_a_memory_moved_before_it_was_taken_up_gets_its_vector(bench, memory, target):
    """A memory without a vector needs it once and first, whichever tier it is moved to."""
    kept = memory.add("moved at once", "medium")
    memory.update(kept.id, tier=target)
    assert bench.owed() == {"embed": 1}
    assert bench.indexer.wait(30)
    assert bench.ledger.read(lambda c: vectors.embedders(c, 1)) == {"fake (8)": 1}
    assert bench.owed() == {}


def test_a_turn_that_leaves_the_ring_before_it_was_taken_up_is_owed_once(open_memory):
    """The backlog has one line for it: the step to be done first."""
    memory = open_memory(config=Config(short=ShortConfig(capacity=1)))
    memory.add("first", "short")
    memory.add("second", "short")
    assert memory.store.stats().backlog == {"embed": 2}


def test_what_is_taken_up_while_one_asks_is_still_owed(bench, memory):
    """A row on its way from full text's queue to the backlog is never in neither."""
    memory.add("on its way", "long")

    def waiting():
        memory._engine.background.words.take_up()
        return bool(bench.ledger.read(lambda c: c.words.behind()))

    bench.indexer._waiting = waiting
    assert bench.indexer._owes()


@pytest.mark.parametrize(
    ("failure", "named"),
    [
        (EmbedderError("no model"), ""),
        (SystemExit("no model"), "SystemExit"),
        (KeyboardInterrupt("no model"), "KeyboardInterrupt"),
    ],
)
def test_an_embedder_that_fails_is_named_and_asked_again(
    bench, memory, monkeypatch, failure, named
):
    """The reason is told, a flush and the thread survive it, and later it goes on by itself."""
    ended = []
    monkeypatch.setattr(threading, "excepthook", ended.append)
    bench.embedding.failure = failure
    memory.add("soap", "long")
    assert not bench.indexer.wait(30)
    assert bench.indexer.trouble.keys() == {"embedder"}
    assert "no model" in bench.indexer.trouble["embedder"]
    assert named in bench.indexer.trouble["embedder"]
    bench.embedding.failure = None
    bench.indexer.retry()
    assert bench.indexer.wait(30)
    assert not bench.indexer.trouble
    assert not ended


def test_a_chore_that_exits_ends_no_thread(bench, memory, monkeypatch):
    """Code of the application is called there too, and the work goes on after it."""
    ended, tries = [], []

    def chores():
        tries.append(1)
        if len(tries) == 1:
            raise SystemExit

    monkeypatch.setattr(threading, "excepthook", ended.append)
    bench.indexer._chores = chores
    memory.add("soap", "long")
    bench.indexer.wait(30)
    bench.indexer.retry()
    assert bench.indexer.wait(30)
    assert not ended


def test_pauses_grow_up_to_a_minute(bench, caplog):
    """A stage that fails is left alone longer each time; the reason is logged once."""
    for _ in range(20):
        bench.indexer.failed("long", TierUnavailable("long", "no"))
    _, pause = bench.indexer._pauses["long"]
    assert pause == 60.0
    assert not bench.indexer._ready("long")
    assert bench.indexer._ready("embedder")
    assert caplog.text.count("long tier unavailable") == 1
    bench.indexer.works("long")
    assert bench.indexer._ready("long")


def test_a_long_tier_that_is_not_there_does_not_stop_embedding(bench, memory):
    """Vectors reach the ledger; only telling the index waits."""
    bench.index.refusal = TierUnavailable("long", "held elsewhere")
    memory.add("a", "long")
    assert not bench.indexer.wait(30)
    assert bench.owed() == {"index": 1}
    assert bench.indexer.trouble == {"long": "long tier unavailable: held elsewhere"}
    bench.index.refusal = None
    bench.indexer.retry()
    assert bench.indexer.wait(30)


def test_trouble_in_the_store_does_not_make_anyone_wait(bench, memory, monkeypatch):
    """When vectors cannot be written, flush(wait=True) comes back and says why."""
    memory.add("a", "long")

    def full(*_):
        raise StoreError("ledger.db", "the disk is full")

    monkeypatch.setattr(indexer_module.vectors, "store", full)
    assert not bench.indexer.wait(30)
    assert "the disk is full" in bench.indexer.trouble["store"]
    monkeypatch.undo()
    bench.indexer.retry()
    assert bench.indexer.wait(30)
    assert "store" not in bench.indexer.trouble


def test_without_an_embedder_nothing_is_owed_here(memory):
    """The backlog is left to a process that has one; waiting is over at once."""
    bench = Bench(memory, embedding=None)
    memory.add("a", "long")
    bench.indexer.start()
    assert bench.indexer.wait(None)
    assert bench.owed() == {"embed": 1}
    bench.indexer.stop(10)


def test_a_stopped_indexer_starts_no_more(bench, memory):
    """After stop nothing runs, and waiting says so at once."""
    bench.indexer.start()
    bench.indexer.stop(10)
    assert not bench.indexer._thread.is_alive()
    bench.indexer.start()
    assert not bench.indexer._thread.is_alive()
    memory.add("a", "long")
    assert not bench.indexer.wait(None)
    bench.indexer.stop(10)


def test_stopping_interrupts_the_pause_before_the_work(memory):
    """A long pause delays neither close nor the end of the program."""
    bench = Bench(memory, config=replace(FAST, start_seconds=86_400.0))
    bench.indexer.start()
    bench.indexer.stop(60)
    assert not bench.indexer._thread.is_alive()


def test_stopping_leaves_the_rest_in_the_backlog(bench, memory):
    """The bite in hand is finished; what is left is there for the next process."""
    embedded = threading.Event()
    embed = bench.embedding.embed

    def slow(texts):
        embedded.set()
        bench.indexer._stop.set()
        return embed(texts)

    bench.embedding.embed = slow
    memory.add_many("x" * n for n in range(1, 40))
    bench.indexer.start()
    assert embedded.wait(30)
    bench.indexer.stop(10)
    assert bench.owed() == {"embed": 39 - 16, "index": bench.owed()["index"]}


def test_it_may_be_stopped_from_its_own_thread(bench):
    """As the interpreter's end may do."""
    done = threading.Event()

    def house():
        bench.indexer.stop(10)
        done.set()

    bench.indexer._housekeeping = house
    bench.indexer.start()
    assert done.wait(30)


def test_stopping_does_not_wait_for_a_model_that_loads(bench, memory):
    """Loading can take long and holds nothing that would be lost."""
    loading, go = threading.Event(), threading.Event()
    bench.embedding.warm = lambda: (loading.set(), go.wait(30))
    memory.add("a", "long")
    bench.indexer.start()
    assert loading.wait(30)
    bench.indexer.stop(1000)
    assert bench.indexer._thread.is_alive()
    go.set()
    bench.indexer._thread.join(30)


def test_queries_go_first_but_not_for_ever(bench, memory):
    """The indexer pauses a moment for a running query, then goes on."""
    bench.queries = 1
    memory.add("a", "long")
    assert bench.indexer.wait(30)


@pytest.mark.parametrize(
    ("asked", "stream", "behind", "waits"),
    [(1, False, 0, True), (1, True, 0, True), (0, True, 9, True), (0, True, 0, False)],
    ids=["a query", "a query, much owed", "a stream, little owed", "a stream, much owed"],
)
def test_what_goes_first(bench, memory, monkeypatch, asked, stream, behind, waits):
    """Queries always go first, a stream of adds only while the backlog is short."""
    memory.add("a", "long")
    memory.flush()
    bench.stream = stream
    monkeypatch.setattr(indexer_module, "BEHIND_ROWS", behind)
    looks = []
    bench.indexer._busy = lambda: looks.append(1) or bool(asked)
    bench.indexer._round()
    steps = 3  # taking up, embedding, indexing
    assert (len(looks) > steps) is waits


def test_a_closed_ledger_ends_the_thread(bench, memory):
    """No error, no log line, no thread."""
    bench.indexer.start()
    memory.close()
    bench.indexer._thread.join(30)
    assert not bench.indexer._thread.is_alive()
    assert bench.indexer.trouble == {}


class TestInTheStore:
    """The same through the public doors, with Chroma."""

    def test_everything_is_found_by_meaning_after_flush(self, open_memory):
        """flush(wait=True) is True when the backlog is empty; stats show the work done."""
        memory = open_memory(embedder=HashEmbedder(64), config=FAST_CONFIG)
        memory.add_many({"text": f"note number {n}", "tier": "long"} for n in range(70))
        assert memory.flush(wait=True, timeout=60)
        stats = memory.store.stats()
        assert (stats.backlog, stats.trouble, stats.long) == ({}, {}, "ready")
        assert stats.embedders == {"hash-64 (64)": 70}
        assert memory.retrieve("number 7 note").hits[0].ranks["meaning"] >= 1
        assert all(finding.ok for finding in memory.store.doctor())

    def test_a_chroma_folder_deleted_while_closed_comes_back(self, open_memory):
        """Deleting what is derived costs nothing: meaning answers at once, the index returns."""
        memory = open_memory(embedder=HashEmbedder(64), config=FAST_CONFIG)
        memory.add_many({"text": f"note number {n}", "tier": "long"} for n in range(5))
        assert memory.flush(wait=True, timeout=60)
        memory.close()
        shutil.rmtree(memory.store.root / "chroma")
        again = open_memory(embedder=HashEmbedder(64), config=FAST_CONFIG)
        assert again.retrieve("number 3")[0].ranks["meaning"] >= 1
        assert again.flush(wait=True, timeout=60)
        assert (memory.store.root / "chroma").is_dir()
        long = again._engine._long
        assert long.count(("default",)) == 5

    def test_another_embedder_is_a_mismatch_until_reindexed(self, open_memory):
        """Named in stats, in retrieval.missing and by doctor; words still find; reindex heals."""
        first = open_memory(embedder=HashEmbedder(32), config=FAST_CONFIG)
        first.add("green tea", "long")
        assert first.flush(wait=True, timeout=60)
        first.close()
        memory = open_memory(embedder=HashEmbedder(48), config=FAST_CONFIG)
        memory.add("black coffee", "long")
        found = memory.retrieve("coffee")
        assert found[0].text == "black coffee"
        assert "hash-32 (32)" in found.missing["long"]
        assert "hash-48 (48)" in found.missing["long"]
        assert not memory.flush(wait=True, timeout=60)
        assert "reindex" in memory.store.stats().trouble["embedder"]
        assert not all(finding.ok for finding in memory.store.doctor())
        assert memory.store.reindex(wait=True, timeout=60) == 2
        assert memory.store.stats().embedders == {"hash-48 (48)": 2}
        assert memory.retrieve("coffee").missing == {}
        assert "meaning" in memory.retrieve("coffee")[0].ranks
        assert memory.store.stats().trouble == {}

    def test_a_process_left_behind_by_a_reindex_stores_nothing(self, open_memory):
        """Vectors of two models never mix, and no memory ends up without one."""
        old = open_memory(embedder=HashEmbedder(32), config=FAST_CONFIG)
        old.add("green tea", "long")
        assert old.flush(wait=True, timeout=60)
        new = open_memory(embedder=HashEmbedder(48), config=FAST_CONFIG)
        new.store.reindex()
        with pytest.raises(EmbeddingMismatch):
            old._engine.embedding.model()
        old.add("black coffee", "long")
        new._engine.indexer.wait(30)
        owed = new._engine.ledger.read(vectors.backlog_size)
        assert "embed" not in owed
        assert new.store.stats().embedders == {"hash-48 (48)": 2}
        model = 1  # of the embedder before
        old._engine.ledger.write(lambda c: vectors.store(c, model, []))  # comes too late: dropped

    def test_an_embedder_that_cannot_be_made_any_more_is_named(self, open_memory, monkeypatch):
        """Nothing hangs: words find, and the trouble says what is wrong."""
        monkeypatch.setenv("OPENAI_API_KEY", "sesame")
        monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
        spec = "openai:text-embedding-3-small"
        memory = open_memory(embedder=spec, config=FAST_CONFIG)
        monkeypatch.delenv("OPENAI_API_KEY")  # gone before it was ever used
        memory.add("green tea", "long")
        assert not memory.flush(wait=True, timeout=60)
        assert "OPENAI_API_KEY" in memory.store.stats().trouble["embedder"]
        found = memory.retrieve("tea")
        assert [hit.text for hit in found] == ["green tea"]
        assert "OPENAI_API_KEY" in found.missing["long"]

    def test_an_embedder_that_breaks_its_contract_is_named(self, open_memory):
        """Vectors that are not of unit length never reach the ledger."""

        class Loud(HashEmbedder):
            def embed(self, texts):
                return super().embed(texts) * np.float32(2)

        memory = open_memory(embedder=Loud(8), config=FAST_CONFIG)
        memory.add("green tea", "long")
        assert not memory.flush(wait=True, timeout=60)
        assert "unit length" in memory.store.stats().trouble["embedder"]
        assert memory.store.stats().embedders == {}

    def test_reindex_closes_no_index_that_is_being_fed(self, open_memory, monkeypatch):
        """The backlog is Chroma's alone, and the thread is opening the folder at that moment."""
        memory = open_memory(embedder=HashEmbedder(8), config=FAST_CONFIG)
        memory.add_many({"text": f"note {n}", "tier": "long"} for n in range(3))
        assert memory.flush(wait=True, timeout=60)
        engine = memory._engine
        engine._let_go()  # as in a new process
        opening, go_on = threading.Event(), threading.Event()

        def slowly(tier, real=LongTier.open):
            opening.set()
            assert go_on.wait(60)
            real(tier)

        def pause(real=engine.indexer.paused):
            go_on.set()
            return real()

        def let_go(real=engine._let_go):
            real()
            go_on.set()

        monkeypatch.setattr(LongTier, "open", slowly)
        monkeypatch.setattr(engine.indexer, "paused", pause)
        monkeypatch.setattr(engine, "_let_go", let_go)
        engine.ledger.write(vectors.owe_index_anew)
        engine.indexer.start()
        assert opening.wait(60)
        assert memory.store.reindex() == 0
        assert memory.flush(wait=True, timeout=60)
        assert not memory.store.stats().backlog

    def test_reindex_needs_an_embedder(self, memory):
        """There is nothing to index with."""
        with pytest.raises(ValueError, match="embedder: is None"):
            memory.store.reindex()

    def test_what_the_ring_pushes_out_reaches_the_index(self, open_memory):
        """A turn is embedded in the ring and indexed once it leaves it."""
        config = Config(index=FAST, short=ShortConfig(capacity=1))
        memory = open_memory(embedder=HashEmbedder(16), config=config)
        memory.add("first", "short")
        assert memory.flush(wait=True, timeout=60)
        assert memory._engine.ledger.read(vectors.any_indexed) is False
        memory.add("second", "short")
        assert memory.flush(wait=True, timeout=60)
        assert memory._engine._long.count(("default",)) == 1

    def test_an_index_lost_while_a_line_waits_is_made_again(self, open_memory, tmp_path):
        """All rows, not only the one that waits: the index that is opened for it sees the loss."""
        root = tmp_path / "store"
        memory = open_memory(root, embedder=HashEmbedder(16), config=FAST_CONFIG)
        memory.add_many({"text": f"tea {n}", "tier": "long"} for n in range(3))
        assert memory.flush(wait=True, timeout=60)
        memory.close()
        ledger = LiteLedger(root)
        ledger.write(
            lambda c: c.execute(
                "INSERT INTO backlog SELECT docid, rev, 'index' FROM memories LIMIT 1"
            )
        )
        ledger.close()
        shutil.rmtree(root / "chroma")
        again = open_memory(root, embedder=HashEmbedder(16), config=FAST_CONFIG)
        assert again.flush(wait=True, timeout=60)
        assert again._engine._long.count(("default",)) == 3

    def test_queries_are_embedded_once(self, open_memory, monkeypatch):
        """Repeated queries come from a cache of bounded size, lone surrogates and all."""
        monkeypatch.setattr("memento.tiers.store_embedder.CACHED_QUERIES", 2)
        memory = open_memory(embedder=HashEmbedder(16), config=FAST_CONFIG)
        memory.add("green tea", "long")
        memory.flush(wait=True, timeout=60)
        embedding = memory._engine.embedding
        asked = []
        embed = embedding.embed

        def count(texts, *, queries=False):
            asked.extend(texts)
            return embed(texts, queries=queries)

        monkeypatch.setattr(embedding, "embed", count)
        for query in ("a", "a", "b", "a", "c", "b", "x \ud800"):
            assert memory.retrieve(query).missing == {}
        assert asked == ["a", "b", "c", "b", "x ?"]


class _Squeamish(HashEmbedder):
    """An embedder that takes no text with a certain word in it."""

    def embed(self, texts):
        if any("poison" in text for text in texts):
            raise EmbedderError("400: content refused")
        return super().embed(texts)


def test_one_refused_text_holds_up_no_other(tmp_path):
    """Texts an embedder refuses are named in the trouble; all others get their vectors."""
    with MemoryManager(tmp_path, embedder=_Squeamish()) as memory:
        memory.add_many(
            ["a", "the poison is in this one", *(f"note {n} of many" for n in range(40))]
        )
        assert not memory.flush(wait=True, timeout=30)
        assert "texts refused: 1" in memory.store.stats().trouble["embedder"]
        assert memory.store.stats().backlog == {"embed": 1}
        assert memory.retrieve("poison")[0].text == "the poison is in this one"


def test_paused_it_does_nothing_and_then_goes_on(memory, bench):
    """While somebody has it stand still no bite begins; afterwards the backlog drains."""
    with bench.indexer.paused():
        memory.add("one", "long")
        assert not bench.indexer.wait(0.2)
        assert bench.owed() == {"embed": 1}
    assert bench.indexer.wait(60)
    assert bench.owed() == {}


def test_chores_come_before_the_backlog(memory, bench):
    """Chores are done though the backlog is longer than one bite."""
    seen = []
    bench.indexer._chores = lambda: seen.append(dict(bench.owed()))
    memory.add_many({"text": f"text {n}", "tier": "long"} for n in range(5))
    assert bench.indexer.wait(60)
    assert seen[0] == {"embed": 5}


@pytest.mark.parametrize("spaces", [1, 3, 100])
def test_the_sampled_vectors_are_spread_over_the_store(open_memory, spaces):
    """Damage to any part of an index is seen only if every part of the store is sampled."""
    memory = open_memory(embedder=HashEmbedder(8), config=FAST_CONFIG)
    for n in range(spaces):
        memory.of(f"user{n}").add_many(f"note {i} of {n}" for i in range(300 // spaces))
    assert memory.flush(wait=True, timeout=60)
    docids = sorted(docid for docid, _, _ in _sampled(memory, 60))
    namespaces = {docid >> SEQ_BITS for docid in docids}
    assert len(docids) == len(set(docids)) <= 60
    assert len(namespaces) == min(spaces, 50)
    for ns in list(namespaces)[:3]:
        seqs = [docid & SEQ_MASK for docid in docids if docid >> SEQ_BITS == ns]
        widest = max(b - a for a, b in pairwise([0, *seqs, 300 // spaces]))
        assert widest <= 2 * 300 // spaces // len(seqs) + 1


def _sampled(memory, size):
    model = memory._engine.embedding.model()
    return memory._engine.ledger.read(lambda c: vectors.sample(c, model, size))


def test_what_the_index_does_not_hold_is_not_sampled(open_memory):
    """Short-lived, hidden and owed rows are absent from Chroma, and no sign of damage."""
    memory = open_memory(embedder=HashEmbedder(8), config=FAST_CONFIG)
    assert _sampled(memory, 60) == []
    kept = [memory.add(f"note {n}", "long").id for n in range(5)]
    memory.add("a turn", "short")
    memory.forget(kept.pop())
    assert memory.flush(wait=True, timeout=60)
    assert sorted(i for _, i, _ in _sampled(memory, 60)) == sorted(kept)
