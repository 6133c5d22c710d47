"""The long tier on a Chroma server: whatever becomes of that, each answer is right, and in time."""

from __future__ import annotations

import random
import shutil
import time
from contextlib import contextmanager

import postgres
import pytest
from chroma_host import ChromaHost, Stub
from eventually import until

from memento import Config, MemoryManager
from memento.config import ChromaConfig, IndexConfig
from memento.errors import InvalidInput
from memento.testing import HashEmbedder

MOST_SECONDS = 2.5
SOME = random.Random(1)
WORDS = [f"{a}{b}{c}" for a in "bdfgk" for b in ("an", "el", "or") for c in ("dy", "mun", "sta")]
TEXTS = [" ".join(SOME.sample(WORDS, 7)) for _ in range(120)]
TOKEN = "sesame"  # noqa: S105 - a test's
QUESTIONS = [" ".join(text.split()[:4]) for text in TEXTS[:3]]


@pytest.fixture
def host(tmp_path):
    """A Chroma server."""
    made = ChromaHost(tmp_path / "chroma")
    yield made
    made.thaw()
    made.kill()


def config(url, **more):
    """Settings with which Chroma answers in a small store."""
    return Config(
        chroma=ChromaConfig(url=url, **more),
        long_index="chroma",
        index=IndexConfig(poll_seconds=0.1, retry_seconds=0.2),
    )


@contextmanager
def opened(root, url, dim=64, **more):
    """Open a store whose index is on a server."""
    with MemoryManager(root, embedder=HashEmbedder(dim), config=config(url, **more)) as memory:
        yield memory


def timed(call):
    """Call, and require an answer in time."""
    began = time.monotonic()
    answer = call()
    assert time.monotonic() - began < MOST_SECONDS
    return answer


def ask(memory):
    """Ask each question; return the hits, and what was missing in any of them."""
    answers = [timed(lambda q=q: memory.retrieve(q, k=5, record=False)) for q in QUESTIONS]
    missing = {}
    for one in answers:
        missing |= one.missing
    return [[hit.text for hit in one] for one in answers], missing


def asks_the_server(memory):
    """Return whether a question is answered through the server now."""
    memory.retrieve(QUESTIONS[0], record=False)
    return memory.store.stats().long == "ready"


def filled(memory):
    """Store the texts and let the server have them."""
    memory.add_many([{"text": text, "tier": "long"} for text in TEXTS])
    until(lambda: memory.flush(wait=True, timeout=60))  # unless the server is slow
    until(lambda: asks_the_server(memory))
    return ask(memory)[0]


@pytest.fixture
def searched(monkeypatch):
    """Counts the searches of the server that were answered."""
    from memento.tiers.chroma_server import ServerTier  # noqa: PLC0415 - needs Chroma

    found = []
    search = ServerTier.search

    def counted(self, *args):
        answer = search(self, *args)
        found.append(len(answer))
        return answer

    monkeypatch.setattr(ServerTier, "search", counted)
    return found


def test_answers_are_those_of_exact_search(tmp_path, host, searched):
    """The server names the candidates, and the answers are those of exact search."""
    with opened(tmp_path / "a", host.url) as memory:
        by_server = filled(memory)
        assert searched
    exact = Config(long_index="exact")
    with MemoryManager(tmp_path / "a", embedder=HashEmbedder(64), config=exact) as memory:
        assert [
            [hit.text for hit in memory.retrieve(q, k=5, record=False)] for q in QUESTIONS
        ] == by_server
    assert not (tmp_path / "a" / "chroma").exists()


@pytest.mark.parametrize("ill", ["freeze", "kill"])
def test_a_server_that_is_away_holds_nothing_up(tmp_path, host, searched, ill):
    """Killed or frozen, it is named in ``missing``, no call waits for it, and it comes back."""
    with opened(tmp_path / "a", host.url) as memory:
        before = filled(memory)
        getattr(host, ill)()
        during, missing = ask(memory)
        assert during == before
        assert host.url in missing["long"]
        timed(lambda: memory.add("the heron waits for the ferry", "long"))
        assert (
            "heron"
            in timed(lambda: memory.retrieve("heron ferry", k=1, wait=2, record=False))[0].text
        )
        assert not timed(lambda: memory.flush(wait=True, timeout=1))
        host.thaw() if ill == "freeze" else host.start()
        until(lambda: asks_the_server(memory) and not ask(memory)[1])
        until(lambda: memory.flush(wait=True, timeout=60))  # unless the server is slow
        searched.clear()
        assert ask(memory) == (before, {})
        assert searched


def test_a_frozen_server_delays_neither_start_nor_end(tmp_path, host):
    """A store opens, answers and closes in time while its server is frozen."""
    with opened(tmp_path / "a", host.url) as memory:
        before = filled(memory)
    host.freeze()
    memory = timed(
        lambda: MemoryManager(tmp_path / "a", embedder=HashEmbedder(64), config=config(host.url))
    )
    assert ask(memory)[0] == before
    until(lambda: ask(memory)[1])
    timed(memory.close)


def test_a_server_that_restarts_empty_is_filled_again(tmp_path, host, searched):
    """Nobody is told that there is nothing; the index comes back by itself."""
    with opened(tmp_path / "a", host.url) as memory, opened(tmp_path / "a", host.url) as other:
        before = filled(memory)
        host.kill()
        shutil.rmtree(host.folder)
        host.start()
        for one in (memory, other):
            assert ask(one)[0] == before
        until(lambda: asks_the_server(memory) and asks_the_server(other))
        until(lambda: memory.flush(wait=True, timeout=60))  # unless the server is slow
        searched.clear()
        assert ask(memory) == ask(other) == (before, {})
        assert len(searched) == 2 * len(QUESTIONS)
        assert len(host.names()) == 2  # the index, and its one namespace: nothing is left behind


def test_an_index_that_lacks_a_namespace_is_made_anew(tmp_path, host):
    """A collection that somebody deleted is noticed by the first question."""
    with opened(tmp_path / "a", host.url) as memory:
        before = filled(memory)
        host.delete(next(name for name in host.names() if name.count("-") == 2))
        assert ask(memory)[0] == before
        until(lambda: asks_the_server(memory) and not ask(memory)[1])
        until(lambda: memory.flush(wait=True, timeout=60))  # unless the server is slow
        assert ask(memory) == (before, {})


def test_an_index_of_another_embedder_is_not_used(tmp_path, host):
    """After `reindex` the vectors of the earlier embedder are gone from the server."""
    with opened(tmp_path / "a", host.url) as memory:
        filled(memory)
        old = set(host.names())
    with opened(tmp_path / "a", host.url, dim=32) as memory:
        assert "64" in ask(memory)[1]["long"]
        memory.store.reindex()
        until(lambda: memory.flush(wait=True, timeout=60))  # unless the server is slow
        until(lambda: asks_the_server(memory))
        assert not old & set(host.names())
        assert ask(memory)[1] == {}


def test_two_stores_share_a_server(tmp_path, host):
    """Neither finds, replaces or erases what is the other's."""
    with opened(tmp_path / "a", host.url) as one, opened(tmp_path / "b", host.url) as other:
        before = filled(one)
        other.add_many([{"text": f"{text} too", "tier": "long"} for text in TEXTS])
        until(lambda: other.flush(wait=True, timeout=60))  # unless the server is slow
        until(lambda: asks_the_server(other))
        other.store.erase(everything=True)
        assert ask(one) == (before, {})
        assert ask(other)[0] == [[]] * len(QUESTIONS)


@pytest.mark.parametrize("where", ["folder", "server"])
def test_a_process_that_does_not_know_the_server_takes_nothing_from_it(
    tmp_path, monkeypatch, host, where
):
    """A command typed without the address leaves what it adds to the processes that have it."""
    if where == "server" and (reason := postgres.missing()):
        pytest.skip(reason)
    monkeypatch.setenv("MEMENTO_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "a" if where == "folder" else postgres.server().address("unknown")
    plain = Config(index=IndexConfig(poll_seconds=0.1, retry_seconds=0.2))
    with (
        opened(root, host.url) as memory,
        MemoryManager(root, embedder=HashEmbedder(64), config=plain) as other,
    ):
        filled(memory)
        other.add_many([{"text": f"{text} too", "tier": "long"} for text in TEXTS])
        until(lambda: other.flush(wait=True, timeout=5) or other.store.stats().trouble)
        until(lambda: memory.flush(wait=True, timeout=60))  # unless the server is slow
        until(lambda: asks_the_server(memory))
        assert memory._engine.open_long().count(("default",)) == 2 * len(TEXTS)
        assert ask(memory) == ask(other)
        assert not (other.store.root / "chroma").exists()
        assert "set chroma.url" in other.store.stats().trouble["long"]


def test_erasing_deletes_the_index(tmp_path, host):
    """What was erased is on the server no more, and that is pending while it is away."""
    with opened(tmp_path / "a", host.url) as memory:
        filled(memory)
        doomed = memory.add("the heron waits for the ferry", "long")
        memory.flush(wait=True, timeout=60)
        old = set(host.names())
        host.kill()
        receipt = memory.store.erase(doomed.id, timeout=0)
        assert host.url in receipt.pending["chroma"]
        host.start()
        until(lambda: not old & set(host.names()))


@pytest.mark.parametrize("version", ["0.6.3", "1.0.0", "1.5.8"])
def test_an_old_server_is_refused(tmp_path, version):
    """A server whose version is known for a hole is not used, and named."""
    stub = Stub({"/version": version})
    with opened(tmp_path / "a", stub.url, token=TOKEN) as memory:
        memory.add(TEXTS[0], "long")
        memory.flush(wait=True, timeout=10)
        until(lambda: f"version {version} is not supported" in ask(memory)[1].get("long", ""))
        assert all(headers["Authorization"] == f"Bearer {TOKEN}" for _, headers in stub.seen)
        assert TOKEN not in repr(config(stub.url, token=TOKEN)) + str(ask(memory)[1])
    stub.end()


@pytest.mark.parametrize(
    "url", ["chroma:8000", "ftp://chroma", "http://me:secret@chroma", "http://chroma/path", 8, ""]
)
def test_an_address_is_checked(url):
    """What is no address is not supported by name."""
    with pytest.raises(InvalidInput, match=r"chroma\.url"):
        ChromaConfig(url=url)
