"""What one tenant of a service does, has and asks neither shows to another nor holds it up."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial

import harness_serve as serve
import pytest
from starlette.testclient import TestClient

from memento import MemoryManager
from memento.base import layout
from memento.errors import TooMuch
from memento.remote.routes import ROUTES, Rights
from memento.resident import tokens
from memento.serve import access, live, page
from memento.serve.app import Service, Settings, application
from memento.serve.limits import Limits, Once, Turns
from memento.testing import HashEmbedder, ManualClock
from memento.types import Retrieval

READS = sorted(name for name, route in ROUTES.items() if route.rights is Rights.READ)
COUNTS = ("flush", "sleep.run", "store.doctor", "store.reindex", "store.sweep")
"""Methods that do something for the whole store, or return how much they did."""
NOISE = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\b[0-9a-f]{12,32}\b|\d+\.\d+(e-?\d+)?|\d+ ms|\d{9,}")
"""Ids, nonces and enciphered numbers, which are random, and times taken."""


async def heard(app, path, token, happen, *, until):
    """Listen to a stream while something happens; returns all that it sends."""
    cookie = f"memento-{serve.HOST.split(':')[1]}={token}"
    headers = {"host": serve.HOST, "authorization": f"Bearer {token}", "cookie": cookie}
    scope = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "scheme": "http",
        "query_string": b"", "root_path": "", "http_version": "1.1", "server": ("127.0.0.1", 8765),
        "headers": [(name.encode(), one.encode()) for name, one in headers.items()],
    }  # fmt: skip
    sent, begun = [], asyncio.Event()

    async def receive():
        await asyncio.Event().wait()

    async def send(message):
        sent.append(message.get("body", b"").decode())
        if any(sent):
            begun.set()

    listening = asyncio.ensure_future(app(scope, receive, send))
    await asyncio.wait_for(begun.wait(), 20)
    await asyncio.sleep(0.05)
    await asyncio.to_thread(happen)
    for _ in range(200):
        await asyncio.sleep(0.01)
        if until in "".join(sent):
            break
    listening.cancel()
    return "".join(sent)


@pytest.mark.parametrize("path", serve.STREAMS)
def test_a_stream_tells_of_its_own_namespace_alone(path, tmp_path, monkeypatch):
    """Neither what others store, change and ask, nor that they do; the control hears its own."""
    monkeypatch.setattr(live, "EVERY", 0.01)
    with MemoryManager(tmp_path, embedder=None) as memory:
        token = tokens.add(tmp_path, "evil", namespace="evil", rights="read")

        def listened(label):
            """Listen as the one tenant while programs store, change and ask in a namespace."""
            service = Service(memory, serve._SETTINGS)  # one for each loop

            def lives():
                view = memory.of(label)
                view.forget(view.add(f"the secret of {label}").id)
                service._note(serve.access.OWNER, (label,), {"query": f"the secret of {label}?"})

            app = application(service, page.routes(service, every=0.01))
            return asyncio.run(heard(app, path, token, lives, until="event: change"))

        quiet = listened("acme")
        assert "event: change" not in quiet
        assert "secret" not in quiet
        assert "event: change" in listened("evil")


@pytest.mark.parametrize("path", serve.STREAMS)
def test_a_stream_ends_with_its_token(path, tmp_path, monkeypatch):
    """What comes after a token was revoked is not told; the control hears it."""
    monkeypatch.setattr(live, "EVERY", 0.01)
    with MemoryManager(tmp_path, embedder=None) as memory:

        def listened(revoked):
            name = f"evil {revoked}"
            token = tokens.add(tmp_path, name, namespace="evil", rights="read")
            service = Service(memory, serve._SETTINGS)

            def lives():
                if revoked:
                    tokens.revoke(tmp_path, name)
                memory.of("evil").add(f"the secret of {name}")

            app = application(service, page.routes(service, every=0.01))
            return asyncio.run(heard(app, path, token, lives, until=news))

        news = "event: change" if path == "/live" else "event: memory"
        assert news not in listened(revoked=True)
        assert news in listened(revoked=False)


def test_streams_are_counted(tmp_path):
    """A token has a quarter of them, whichever route it listens to; another token has its own."""
    with MemoryManager(tmp_path, embedder=None) as memory:
        settings = Settings(frozenset({serve.HOST}), limits=Limits(streams=8))
        service = Service(memory, settings)
        evil, other = (
            access.Caller(name, (name,), Rights.READ, "user") for name in ("evil", "other")
        )

        async def listen():
            async def silence():
                yield "begun"
                await asyncio.Event().wait()

            open_ones = [service.watched(lambda: evil, silence()) for _ in range(2)]
            for one in open_ones:
                assert await anext(one) == "begun"
            service.room_for_stream(other)
            with pytest.raises(TooMuch, match="streams"):
                service.room_for_stream(evil)
            for one in open_ones:
                await one.aclose()
            service.room_for_stream(evil)

        asyncio.run(listen())


def lived(root, *, beside):
    """Make a tenant's memories, in a store with others or without."""
    memory = MemoryManager(root, embedder=HashEmbedder(), clock=ManualClock())

    def they():
        for at in range(3 * beside):
            theirs = memory.of("acme", f"u{at}")
            kept = theirs.add(f"their tea {at}", "long", key=f"k/{at}", session="s", scope="acme")
            theirs.feedback.rate(kept.id, useful=True)
            theirs.forget(theirs.add(f"gone {at}").id)
            theirs.sessions.start(f"t{at}", goal="hide")
            theirs.add("a page", source="web")
            theirs.scopes.share("acme", "others")

    ours = memory.of("evil")
    for at in range(6):
        ours.add(f"our tea {at}", "long", id=f"ours-{at}", key=f"o/{at % 3}", session="mine")
        they()
    ours.observe(messages=[{"role": "user", "content": "I like coffee"}], session="mine")
    ours.feedback.rate("ours-5", useful=True)
    they()
    ours.feedback.rate("ours-4", useful=True)
    ours.sessions.start("sess", goal="rest")
    ours.add("a page", source="web", id="page")
    they()
    memory.flush(wait=True)
    return memory


def told(root, *, beside):
    """Ask everything that a token to read may ask; returns the answers by question."""
    answers = {}
    with lived(root, beside=beside) as memory:
        token = tokens.add(root, "evil", namespace="evil", rights="read", trust="user")
        service = Service(memory, serve._SETTINGS)
        app, others = serve._whole(service)
        for at in range(3 * beside):
            service._note(access.OWNER, ("acme",), {"query": f"their question {at}"})
        cookie = f"memento-{serve.HOST.split(':')[1]}={token}"
        with TestClient(app, f"http://{serve.HOST}") as client:
            client.headers |= {"Authorization": f"Bearer {token}", "Cookie": cookie}
            for name in READS:
                said = {"key": "o/1", "session": "sess", "id": "ours-5", "key_or_id": "o/1"}
                said = serve.filled(name, said | {"vector": [1.0] * 64, "short": "ours-5"})
                answers[name] = client.post(ROUTES[name].path, json=said)
            for path in [path for method, path in others if method == "GET"]:
                where = re.sub(r"\{[^}]+\}", ":ours-5" if "memories" in path else "ours-5", path)
                for query in ({}, {"q": "tea"}, {"m": "ours-5"}, {"id": "mine", "check": "1"}):
                    answers[f"{where} {query}"] = client.get(where, params=query)
            client.post("/v1/retrieve", json={"query": "our question"})
            token = tokens.add(root, "admin", namespace="evil", rights="admin", trust="user")
            for name in COUNTS:
                headers = {"Authorization": f"Bearer {token}"}
                answers[name] = client.post(ROUTES[name].path, json={}, headers=headers)
            answers["asked"] = [one.number for one in service.asked(("evil",))]
    return {
        name: one if isinstance(one, list) else (one.status_code, NOISE.sub("~", one.text))
        for name, one in answers.items()
    }


def test_a_neighbour_changes_no_answer(tmp_path):
    """All that a token can read is the same beside others and alone; numbers count ours only."""
    alone = told(tmp_path / "alone", beside=False)
    beside = told(tmp_path / "beside", beside=True)
    assert sum(one[0] == 200 for one in alone.values() if isinstance(one, tuple)) > 60
    assert {name: (one, beside[name]) for name, one in alone.items() if one != beside[name]} == {}


DERIVED = ("memories_fts", "meta", "namespaces", "claims", "backlog", "sqlite_")
"""Tables that are made from the others, or change as the store is opened."""


def rows_of(root):
    """Read every row of a ledger that is closed."""
    with closing(sqlite3.connect(root / layout.LEDGER)) as opened:
        named = opened.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        tables = [name for (name,) in named if not name.startswith(DERIVED)]
        return {name: opened.execute(f"SELECT * FROM {name}").fetchall() for name in tables}


@pytest.mark.parametrize("rights", ["read", "write"])
def test_who_may_read_leaves_no_trace_in_the_ledger(rights, tmp_path):
    """Not even that a memory was found, which would change its rank; the control's is noted."""
    with MemoryManager(tmp_path, embedder=None) as memory:
        ours = memory.of("evil")
        ours.add("our tea", "long", id="ours", key="o/1", session="sess")
        ours.add("a page", source="web")
        token = tokens.add(tmp_path, "evil", namespace="evil", rights=rights, trust="user")
    before = rows_of(tmp_path)
    with MemoryManager(tmp_path, embedder=None) as memory:
        app, others = serve._whole(Service(memory, serve._SETTINGS))
        cookie = f"memento-{serve.HOST.split(':')[1]}={token}"
        with TestClient(app, f"http://{serve.HOST}") as client:
            client.headers |= {"Authorization": f"Bearer {token}", "Cookie": cookie}
            for name in READS:
                said = serve.filled(name, {"key": "o/1", "session": "sess", "id": "ours"})
                client.post(ROUTES[name].path, json=said)
            for path in [path for method, path in others if method == "GET"]:
                client.get(re.sub(r"\{[^}]+\}", "ours", path), params={"q": "tea", "m": "ours"})
            client.post("/v3/memories/search/", json={"query": "tea"})
    after = rows_of(tmp_path)
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == set() if rights == "read" else "events" in changed


def test_a_repeated_question_is_quick_only_for_who_asked_it(tmp_path):
    """A vector that is kept would tell by its speed what another tenant has asked."""
    embedder = HashEmbedder()
    asked, embed = [], embedder.embed
    embedder.embed = lambda texts: (asked.extend(texts), embed(texts))[1]
    with MemoryManager(tmp_path, embedder=embedder) as memory:
        for label in ("acme", "evil"):
            memory.of(label).add("tea")
        memory.flush(wait=True)
        for label in ("acme", "acme", "evil", "evil"):
            memory.of(label).retrieve("where is the tea?")
    assert asked.count("where is the tea?") == 2


def test_keys_of_one_tenant_push_out_none_of_anothers():
    """However many calls one makes, another's call is not made again."""

    async def repeat():
        once, made = Once(), []

        async def call():
            made.append(1)
            return b"{}"

        await once.answer("acme", "key", b"said", call)
        for at in range(3_000):
            await once.answer("evil", f"{at}", b"said", call)
        await asyncio.sleep(0)
        await once.answer("acme", "key", b"said", call)
        return len(made), {name: len(kept) for name, kept in once._answers.items()}

    made, kept = asyncio.run(repeat())
    assert made == 3_001
    assert kept == {"acme": 1, "evil": 200}


def test_questions_of_one_tenant_push_out_none_of_anothers(tmp_path):
    """Nor do they fill the memory, however long they are."""
    with MemoryManager(tmp_path, embedder=None) as memory:
        service = Service(memory, serve._SETTINGS)
        service._note(access.OWNER, ("acme",), {"query": "where is the tea?"})
        for at in range(200):
            service._note(access.OWNER, ("evil",), {"query": f"{at} " * 10_000})
        assert [one.words for one in service.asked(("acme",))] == ["where is the tea?"]
        assert sum(len(one.words) for one in service.asked(("evil",))) < 3_000


def test_searches_of_one_tenant_hold_up_no_other(tmp_path, monkeypatch):
    """Of all that it asks, on the page and with a wait too, one runs; another's runs beside."""
    go, begun = threading.Event(), []

    def retrieve(memory, *_, **__):
        begun.append(memory.store.namespace[0])
        assert begun[-1] == "acme" or go.wait(60)
        return Retrieval("tea")

    monkeypatch.setattr(MemoryManager, "retrieve", retrieve)
    with MemoryManager(tmp_path, embedder=None) as memory, ThreadPoolExecutor(60) as pool:
        given = {name: tokens.add(tmp_path, name, namespace=name) for name in ("evil", "acme")}
        service = Service(memory, Settings(frozenset({serve.HOST})))
        with TestClient(serve._whole(service)[0], f"http://{serve.HOST}") as client:

            def ask(name, wait=0):
                headers = {"Authorization": f"Bearer {given[name]}"}
                said = {"query": "tea", "wait": wait}
                return client.post("/v1/retrieve", json=said, headers=headers)

            def look():
                cookie = f"memento-{serve.HOST.split(':')[1]}={given['evil']}"
                return client.get("/?q=tea", headers={"Cookie": cookie})

            slow = [pool.submit(ask, "evil", wait) for wait in (0, 5) for _ in range(20)]
            slow += [pool.submit(look) for _ in range(20)]
            while service.calls < 60:
                client.get("/livez")
            assert ask("acme").status_code == 200
            assert begun.count("evil") <= 1
            go.set()
            assert {one.result().status_code for one in slow} == {200}
    assert begun.count("evil") == 60


def test_turns_go_around():
    """With one thread for all, another's turn comes after one of a tenant who waits for many."""
    turns, go, order = Turns(1, 1, "turns"), threading.Event(), []
    jobs = [turns.submit("evil", go.wait)]
    names = ("evil", "evil", "evil", "acme", "acme")
    jobs += [turns.submit(name, partial(order.append, name)) for name in names]
    given_up = turns.submit("acme", partial(order.append, "given up"))
    assert given_up.cancel()
    go.set()
    for job in jobs:
        job.result(20)
    assert order == ["acme", "evil", "acme", "evil", "evil"]
    turns.close()
    assert (turns._lines, turns._busy) == ({}, {})


def test_turns_end():
    """What runs at the end is waited for; what has not begun is never done."""
    turns, go, begun = Turns(2, 1, "turns"), threading.Event(), threading.Event()
    running = turns.submit("evil", lambda: (begun.set(), go.wait())[1])
    waiting = turns.submit("evil", go.wait)
    assert begun.wait(20)
    closing = threading.Thread(target=turns.close)
    closing.start()
    while not waiting.cancelled():
        pass
    go.set()
    closing.join(20)
    assert running.result(0)


def test_who_waits_for_vectors_holds_no_turn(tmp_path):
    """A question that waits for them holds up no other of its token, and then finds by meaning."""
    embedder, go = HashEmbedder(), threading.Event()
    embed = embedder.embed
    embedder.embed = lambda texts: ("slow tea" not in texts or go.wait(60)) and embed(texts)
    with MemoryManager(tmp_path, embedder=embedder) as memory, ThreadPoolExecutor(1) as pool:
        token = tokens.add(tmp_path, "acme", namespace="acme")
        service = Service(memory, Settings(frozenset({serve.HOST})))
        with TestClient(application(service), f"http://{serve.HOST}") as client:
            client.headers["Authorization"] = f"Bearer {token}"
            client.post("/v1/add", json={"text": "slow tea"})
            patient = pool.submit(client.post, "/v1/retrieve", json={"query": "tea", "wait": 29})
            while not service.calls:
                client.get("/livez")
            assert client.post("/v1/retrieve", json={"query": "tea"}).status_code == 200
            assert not patient.done()
            go.set()
            found = patient.result().json()
    assert (found["missing"], "meaning" in found["hits"][0]["ranks"]) == ({}, True)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("store.embed", {"texts": ["tea"] * 257}),
        ("store.embed", {"texts": ["tea " * 20_000]}),
        ("list", {"limit": 10_001}),
        ("retrieve", {"query": "tea", "wait": 31}),
    ],
)
def test_one_call_asks_for_no_more_than_others_can_wait_for(name, said, tmp_path):
    """A call that would take minutes, or hold a thread as long, is refused."""
    with MemoryManager(tmp_path, embedder=HashEmbedder()) as memory:
        token = tokens.add(tmp_path, "evil", namespace="evil", rights="read")
        with TestClient(application(Service(memory, serve._SETTINGS)), f"http://{serve.HOST}") as c:
            headers = {"Authorization": f"Bearer {token}"}
            answer = c.post(ROUTES[name].path, json=said, headers=headers)
    assert (answer.status_code, answer.json()["facts"]["field"] in said) == (422, True)


def test_long_bodies_and_pages_count_as_calls(tmp_path):
    """The rate of a token holds for the page, and a body that takes long to parse counts more."""
    with MemoryManager(tmp_path, embedder=None) as memory:
        token = tokens.add(tmp_path, "evil", namespace="evil", rights="read")
        settings = Settings(frozenset({serve.HOST}), limits=Limits(rate=0.001, burst=20))
        app, _ = serve._whole(Service(memory, settings))
        with TestClient(app, f"http://{serve.HOST}") as client:
            headers = {"Authorization": f"Bearer {token}"}
            cookie = {"Cookie": f"memento-{serve.HOST.split(':')[1]}={token}"}
            first = [client.get("/sessions", headers=cookie).status_code for _ in range(3)]
            large = [
                client.post("/v1/recall", json={"messages": "a" * (2 << 20)}, headers=headers)
                for _ in range(4)
            ]
            assert first == [200] * 3
            assert [one.status_code == 429 for one in large] == [False, False, True, True]
            for _ in range(20):
                client.get("/sessions", headers=cookie)
            assert client.get("/sessions", headers=cookie).status_code == 429


@pytest.mark.parametrize("told", [True, False])
def test_a_body_is_counted_before_it_is_kept(told, tmp_path):
    """Of ten long bodies that a token sends at once, one is read; the rest count as too many."""
    read = []

    async def sent(app, token):
        parts = iter(range(15, -1, -1))

        async def receive():
            await asyncio.sleep(0)
            read.append(1)
            return {"type": "http.request", "body": b" " * (1 << 18), "more_body": next(parts) > 0}

        async def send(message):
            statuses.append(message.get("status"))

        headers = {"host": serve.HOST, "authorization": f"Bearer {token}"}
        headers |= {"content-type": "application/json"}
        headers |= {"content-length": str(4 << 20)} if told else {}
        scope = {
            "type": "http", "method": "POST", "path": "/v1/list", "query_string": b"",
            "headers": [(name.encode(), one.encode()) for name, one in headers.items()],
        }  # fmt: skip
        await app(scope, receive, send)

    statuses = []
    with MemoryManager(tmp_path, embedder=None) as memory:
        token = tokens.add(tmp_path, "evil", namespace="evil", rights="read")
        settings = Settings(frozenset({serve.HOST}), limits=Limits(rate=0.001, burst=12))
        app = application(Service(memory, settings))

        async def send_all():
            await asyncio.gather(*(sent(app, token) for _ in range(10)))

        asyncio.run(send_all())
    assert [one for one in statuses if one].count(429) == 9
    assert len(read) == (16 if told else 25)
