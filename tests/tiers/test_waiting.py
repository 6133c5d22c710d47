"""Questions that wait get their own texts first, whatever the indexer has in hand."""

from __future__ import annotations

import os
import threading
from contextlib import suppress

import pytest
from eventually import until

from memento import Config
from memento.config import IndexConfig
from memento.errors import EmbedderError, StoreClosed
from memento.ledger.vectors import Lacking
from memento.testing import HashEmbedder
from memento.tiers.queue import CHARS, SHORT, Wish, Wishes

FAST = Config(index=IndexConfig(start_seconds=0.0, poll_seconds=0.01, retry_seconds=0.01))
LONG = 9_000
"""Characters of a text that fills a batch by itself."""


class Gated(HashEmbedder):
    """An embedder that notes the order of texts and stops at a document until it is let go."""

    def __init__(self):
        super().__init__()
        self.order, self.reached, self.go = [], threading.Event(), threading.Event()

    def embed(self, texts):
        """Note the texts; a document blocks."""
        self.order += [text.split()[0] for text in texts]
        if any(text.startswith("document") for text in texts):
            self.reached.set()
            assert self.go.wait(60)
        return super().embed(texts)

    def embed_queries(self, texts):
        """Queries are not noted."""
        return super().embed(texts)

    def noted(self):
        """List what was embedded for the store, without the text that checks the weights."""
        return [word for word in self.order if word != "A"]


@pytest.fixture
def gated():
    """An embedder whose gate is open at the end, so that the store can close."""
    made = Gated()
    yield made
    made.go.set()


def paste(memory, embedder, count=3, chars=LONG, **fields):
    """Add documents and return when the first of them is in the embedder's hands."""
    memory.add_many(
        {"text": f"document{n} {'x ' * (chars // 2)}", "tier": "long", **fields}
        for n in range(count)
    )
    assert embedder.reached.wait(60)


def test_a_question_does_not_wait_for_a_neighbours_document(open_memory, gated):
    """It is answered by meaning while the document is still being embedded."""
    memory = open_memory(embedder=gated, config=FAST)
    paste(memory.of("a"), gated)
    memory.of("b").add("kettle blue", "long")
    found = memory.of("b").retrieve("kettle", wait=3600)
    assert not gated.go.is_set()
    assert not found.missing
    assert found[0].ranks["meaning"] == 1
    assert gated.noted() == ["document0", "kettle"]


def test_nor_for_a_document_of_another_session(open_memory, gated):
    """With a session, only its memories are waited for."""
    memory = open_memory(embedder=gated, config=FAST)
    memory.add("kettle blue", "long", session="talk")
    paste(memory, gated, session="paste")
    found = memory.retrieve("kettle", session="talk", wait=3600)
    assert not gated.go.is_set()
    assert found[0].ranks["meaning"] == 1


def test_nor_for_much_that_came_before(open_memory, gated):
    """The newest memories are waited for, up to a number of characters; the rest is reported."""
    memory = open_memory(embedder=gated, config=FAST)
    paste(memory, gated, count=1, chars=2 * CHARS)
    memory.add("kettle blue", "long")
    found = memory.retrieve("kettle", wait=3600)
    assert not gated.go.is_set()
    assert found[0].ranks["meaning"] == 1
    assert "1 memory is waiting to be embedded" in found.missing["long"]


def test_what_is_added_later_is_not_waited_for(open_memory, gated):
    """A question waits for what was there when it was asked."""
    memory = open_memory(embedder=gated, config=FAST)
    memory.add("kettle blue", "long")
    wish = memory._engine.wish(memory.store.namespace)
    paste(memory, gated)
    assert wish is None or memory._engine.indexer.wait_for(wish, 3600)  # it may be embedded already
    assert not gated.go.is_set()


def test_a_long_text_that_is_waited_for_comes_before_the_rest_of_a_document(open_memory, gated):
    """It cannot overtake the text in hand, but every one after that."""
    memory = open_memory(embedder=gated, config=FAST)
    paste(memory.of("a"), gated)
    memory.of("b").add(f"letter {'y ' * SHORT}", "long")
    asking = threading.Thread(target=memory.of("b").retrieve, args=("letter",), kwargs={"wait": 60})
    asking.start()
    until(lambda: memory._engine.indexer.wishes.next(1, long=True))
    gated.go.set()
    asking.join(60)
    assert memory.flush(wait=True, timeout=60)
    assert gated.noted() == ["document0", "letter", "document1", "document2"]


def test_while_questions_are_expected_batches_are_small(open_memory):
    """So that the next question meets no batch of a document that takes long."""
    embedder, sizes = HashEmbedder(), []
    embed = embedder.embed

    def noted(texts):
        sizes.append([len(text) for text in texts])
        return embed(texts)

    embedder.embed = noted
    memory = open_memory(embedder=embedder, config=FAST)
    memory.add("kettle blue", "long")
    assert not memory.retrieve("kettle", wait=60).missing
    del sizes[:]
    with memory._engine.indexer.wishes.hold(Wish(1, [])):
        memory.of("a").add_many(f"{n} {'x' * 1_000}" for n in range(6))
        assert memory.flush(wait=True, timeout=60)
    assert sizes == [[1_002, 1_002]] * 3


def test_questions_take_turns(memory):
    """One that needs much does not hold up one that needs little; long texts are apart."""
    wishes = Wishes(memory._engine.ledger)
    many = Wish(1, [Lacking(n, SHORT if n != 3 else SHORT + 1) for n in (5, 4, 3, 2)])
    few = Wish(2, [Lacking(9, 5)])
    with wishes.hold(many), wishes.hold(few):
        assert wishes.next(9, long=False) == []  # they have no line in the backlog yet
        for wish in wishes.not_taken_up():
            wish.taken_up = True
        assert wishes.next(9, long=False) == [5, 9, 4, 2]
        assert wishes.next(2, long=False) == [5, 9]
        assert wishes.next(9, long=True) == [3]
        wishes.embedded([9])
        assert wishes.next(9, long=False) == [5, 4, 2]
    assert not wishes


def test_two_questions_for_one_text_embed_it_once(memory):
    """A text that both need is chosen once."""
    wishes = Wishes(memory._engine.ledger)
    pair = [Wish(1, [Lacking(7, 5)]) for _ in range(2)]
    with wishes.hold(pair[0]), wishes.hold(pair[1]):
        pair[0].taken_up = pair[1].taken_up = True
        assert wishes.next(9, long=False) == [7]


def test_a_refused_text_is_not_waited_for(open_memory):
    """The question is answered at once, and the answer says why a memory is missing."""

    class Squeamish(HashEmbedder):
        def embed(self, texts):
            if any("poison" in text for text in texts):
                raise EmbedderError("400: content refused")
            return super().embed(texts)

    memory = open_memory(embedder=Squeamish(), config=FAST)
    memory.add("poison in the kettle", "long")
    found = memory.retrieve("kettle", wait=3600)
    assert "content refused" in found.missing["long"]
    assert found[0].text == "poison in the kettle"


def test_a_broken_embedder_makes_no_question_wait(open_memory):
    """Words answer, and the reason is told."""

    class Broken(HashEmbedder):
        def embed(self, texts):
            raise EmbedderError(f"no room for {len(texts)} texts")

    memory = open_memory(embedder=Broken(), config=FAST)
    memory.add("kettle blue", "long")
    found = memory.retrieve("kettle", wait=3600)
    assert found[0].text == "kettle blue"
    assert "no room" in found.missing["long"]


def test_an_embedder_that_exits_ends_no_question(open_memory, monkeypatch):
    """The thread that serves questions survives it, as the indexer does."""
    ended = []
    monkeypatch.setattr(threading, "excepthook", ended.append)

    class Exits(HashEmbedder):
        fail = True

        def embed(self, texts):
            if self.fail:
                raise SystemExit("no model")
            return super().embed(texts)

        def embed_queries(self, texts):
            return super().embed(texts)

    embedder = Exits()
    memory = open_memory(embedder=embedder, config=FAST)
    memory.add("kettle blue", "long")
    assert "no model" in memory.retrieve("kettle", wait=3600).missing["long"]
    embedder.fail = False
    memory._engine.indexer.retry()
    assert not memory.retrieve("kettle", wait=3600).missing
    assert not ended


def test_paused_no_question_is_served(open_memory, gated):
    """While somebody has the indexer stand still, a question waits in vain; then it is served."""
    memory = open_memory(embedder=gated, config=FAST)
    with memory._engine.indexer.paused():
        memory.add("kettle blue", "long")
        assert memory.retrieve("kettle", wait=0.3).missing
        assert gated.noted() == []
    assert not memory.retrieve("kettle", wait=3600).missing


def test_closing_ends_the_wait(open_memory, gated):
    """A question that waits for a document ends when the store closes."""
    memory = open_memory(embedder=gated, config=FAST)
    ended = []

    def ask():
        with suppress(StoreClosed):  # or the document was embedded just before
            memory.retrieve("kettle", wait=3600)
        ended.append(True)

    paste(memory, gated, count=1)
    asking = threading.Thread(target=ask)
    asking.start()
    indexer = memory._engine.indexer
    until(lambda: bool(indexer.wishes))
    closing = threading.Thread(target=memory.close)
    closing.start()
    until(lambda: indexer._stopping)
    gated.go.set()
    closing.join(60)
    asking.join(60)
    assert ended


def test_a_forked_child_serves_its_own_questions(open_memory):
    """It has none of the parent's threads and starts its own."""
    memory = open_memory(embedder=HashEmbedder(), config=FAST)
    memory.add("kettle blue", "long")
    assert not memory.retrieve("kettle", wait=3600).missing
    child = os.fork()
    if child == 0:
        try:
            memory.add("teapot green", "long")
            found = memory.retrieve("teapot", wait=60)
            os._exit(0 if not found.missing and "meaning" in found[0].ranks else 1)
        finally:
            os._exit(2)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_without_an_embedder_there_is_no_wish(memory):
    """Nothing would come of waiting."""
    memory.add("kettle blue", "long")
    assert memory._engine.wish(memory.store.namespace) is None


def test_without_anything_owed_there_is_no_wish(open_memory):
    """A question whose memories all have vectors starts no thread."""
    memory = open_memory(embedder=HashEmbedder(), config=FAST)
    assert memory._engine.wish(memory.store.namespace) is None
    memory.add("kettle blue", "long")
    assert memory.flush(wait=True, timeout=60)
    assert not memory.retrieve("kettle", wait=60).missing
    assert memory._engine.indexer._express.thread is None
