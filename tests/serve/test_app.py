"""The service answers calls as the manager does, and refuses what it must."""

import json
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from starlette.testclient import TestClient

from memento import errors
from memento.cli.group_serve import SWITCH, _Open
from memento.cli.store import Store
from memento.remote.faults import error_of, kinds, problem_of, status_of
from memento.remote.routes import ROUTES, SENDS
from memento.remote.values import hints_of
from memento.resident import tokens
from memento.serve.app import Service, Settings, application
from memento.serve.limits import Limits, Rate
from memento.serve.openapi import document
from memento.serve.running import place_of

HOST = "127.0.0.1:8765"


@pytest.fixture
def client(memory):
    """A client of the owner's: it needs no token."""
    with TestClient(application(Service(memory, Settings(tokens=False)))) as opened:
        yield opened


@pytest.fixture
def service(memory):
    """A client of a service that answers to tokens, at one address."""
    settings = Settings(hosts=frozenset({HOST}), limits=Limits(rate=1.0, burst=40, body=1000))
    with TestClient(application(Service(memory, settings)), f"http://{HOST}") as opened:
        yield opened


def bearer(memory, name="laptop", **rights):
    """Make a token, and return the header for it."""
    made = tokens.add(memory.store.root, name, **({"namespace": "default"} | rights))
    return {"Authorization": f"Bearer {made}"}


def test_only_who_has_the_right_is_answered(service, memory):
    """No token and a token without the right are told apart, before the body is read."""
    for headers, status in (
        ({}, 401),
        ({"Authorization": "Bearer x"}, 401),
        ({"Authorization": "Basic x"}, 401),
        (bearer(memory, rights="read"), 403),
    ):
        answer = service.post("/v1/add", content=b"{", headers=headers)
        assert answer.status_code == status, headers
        assert ("www-authenticate" in answer.headers) == (status == 401)
    assert memory.list() == []


def test_every_method_needs_its_right(memory):
    """A token of each right reaches the methods of that right and of none above it."""
    order = tokens.RIGHTS.index
    settings = Settings(hosts=frozenset({HOST}), limits=Limits(rate=0))
    with TestClient(application(Service(memory, settings)), f"http://{HOST}") as service:
        for rights in ("read", "write", "admin"):
            given = bearer(memory, rights, rights=rights, trust="user", namespace="")
            for name, route in ROUTES.items():
                answer = service.post(route.path, content=b"[]", headers=given)
                allowed = order(rights) >= order(route.rights)
                assert (answer.status_code != 403) == allowed, (name, rights)


def test_a_token_ends(service, memory):
    """A token that was revoked or has expired is refused from the next call on."""
    first = bearer(memory)
    assert service.post("/v1/list", json={}, headers=first).status_code == 200
    tokens.revoke(memory.store.root, "laptop")
    assert service.post("/v1/list", json={}, headers=first).status_code == 401
    late = bearer(memory, "late", expires_in=timedelta(seconds=-1))
    assert service.post("/v1/list", json={}, headers=late).status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": ""},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ],
)
def test_a_page_of_another_site_is_refused(service, memory, headers):
    """By a name that is not the service's own, or from the page of another site, nothing is."""
    given = bearer(memory) | headers
    for path in ("/livez", "/v1/openapi.json", "/v1/list"):
        assert service.request("POST", path, json={}, headers=given).status_code == 403
    assert service.get("/livez", headers={"Origin": f"http://{HOST}"}).status_code == 200


def test_what_a_form_can_send_is_refused(client):
    """A body that a page can send unasked is none of the API's."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        sent = client.post("/v1/add", content=b'{"text": "x"}', headers={"content-type": kind})
        assert sent.status_code == 415
    sent = client.post(
        "/v1/store/import_from", content=b"x", headers={"content-type": "text/plain"}
    )
    assert sent.status_code == 415


def test_limits_hold(service, memory):
    """A long body, a large k, a long query and too many calls are refused, and say which."""
    given = bearer(memory)
    assert service.post("/v1/add", json={"text": "x" * 1000}, headers=given).status_code == 413
    asked = {"query": "tea", "k": 1001}
    refused = service.post("/v1/retrieve", json=asked, headers=given)
    assert (refused.status_code, refused.json()["facts"]["field"]) == (422, "k")
    statuses = [service.post("/v1/list", json={}, headers=given).status_code for _ in range(60)]
    assert statuses.count(429) >= 10
    last = service.post("/v1/list", json={}, headers=given)
    assert int(last.headers["retry-after"]) >= 1
    assert service.post("/v1/list", json={}, headers=bearer(memory, "other")).status_code == 200


def test_the_heaviest_call_is_answered_and_paid_later(memory):
    """A file that counts as more calls than a token can make at once is not refused for ever."""
    now = [0.0]
    service = Service(memory, Settings(hosts=frozenset({HOST}), limits=Limits(burst=3)))
    service._rate = Rate(1.0, 3, clock=lambda: now[0])
    given = bearer(memory) | {"content-type": "application/json"}
    with TestClient(application(service), f"http://{HOST}") as client:

        def sent(size):
            body = b'{"texts": []' + b" " * size + b"}"
            return client.post("/v1/add_many", content=body, headers=given).status_code

        assert sent(2 << 20) != 429, "eight calls, and three are all there are"
        assert sent(0) == 429, "it has to be paid first"
        now[0] += 2.0
        assert sent(0) != 429
        assert sent(0) == 429


def test_a_deadline_ends_the_call_and_not_the_work(client, memory, monkeypatch):
    """A call that takes too long is answered in time, and says that it goes on."""
    go, done = threading.Event(), threading.Event()

    def sweep(_):
        go.wait(30)
        done.set()
        return []

    monkeypatch.setattr(type(memory.store), "sweep", sweep)
    answer = client.post("/v1/store/sweep", json={}, headers={"Memento-Timeout": "0.01"})
    assert (answer.status_code, done.is_set()) == (504, False)
    go.set()
    assert done.wait(30)
    for said in ("soon", "0", "nan", "-1", "1e400"):
        wrong = client.post("/v1/list", json={}, headers={"Memento-Timeout": said})
        assert wrong.status_code == 422


def test_no_call_waits_for_searches_that_take_long(memory, monkeypatch):
    """While 40 of them run and wait, health, metrics, short reads and writes are answered."""
    go, begun = threading.Event(), []

    def retrieve(*_, **__):
        begun.append(1)
        assert go.wait(60)
        return memory.list()

    monkeypatch.setattr(type(memory), "retrieve", retrieve)
    kept = memory.add("tea")
    service = Service(memory, Settings(tokens=False, limits=Limits(calls=41)))
    with TestClient(application(service)) as client, ThreadPoolExecutor(40) as pool:
        asked = {"url": "/v1/retrieve", "json": {"query": "tea"}}
        slow = [pool.submit(client.post, **asked) for _ in range(40)]
        while service.calls < 40:
            client.get("/livez")
        for path in ("/livez", "/readyz", "/metrics", "/v1/about"):
            assert client.get(path).status_code == 200
        assert client.post("/v1/get", json={"id": kept.id}).status_code == 200
        assert client.post("/v1/add", json={"text": "coffee"}).status_code == 200
        unbegun = client.post(**asked, headers={"Memento-Timeout": "0.01"})
        assert (unbegun.status_code, "nothing was done" in unbegun.text) == (504, True)
        monkeypatch.setattr(service, "calls", 41)
        assert client.post(**asked).status_code == 429
        go.set()
        assert {one.result().status_code for one in slow} == {200}
    assert len(begun) == 40


def test_a_repeated_call_with_its_key_does_nothing_again(client, memory):
    """The same answer comes back; the same key with another call is refused."""
    keyed = {"Idempotency-Key": "k1"}
    first = client.post("/v1/add", json={"text": "one"}, headers=keyed)
    again = client.post("/v1/add", json={"text": "one"}, headers=keyed)
    assert again.json() == first.json()
    assert memory.get(first.json()["id"]).reinforced == 0
    other = client.post("/v1/add", json={"text": "two"}, headers=keyed)
    assert other.status_code == 422
    assert len(memory.list()) == 1
    control = client.post("/v1/add", json={"text": "one"})
    assert control.json()["reinforced"] == 1


def test_every_error_has_a_status_and_comes_back(memory):
    """Of the whole tree, each class is a problem of its own, and the same error at the client."""
    made = {
        "InvalidInput": errors.InvalidInput("k", "is too large"),
        "TurnErased": errors.TurnErased(["a", "b"]),
        "StoreGone": errors.StoreGone(memory.store.root, "the ledger was removed"),
        "MomentUnknown": errors.MomentUnknown("b.db", memory.store.clock(), memory.store.clock()),
        "NotAllowed": errors.NotAllowed("no", known=False),
    }
    assert len(kinds()) > 35
    for name, kind in kinds().items():
        documented = re.findall(r"(?m)^ {8}(\w+): ", kind.__doc__ or "")
        assert set(documented) <= hints_of(kind).keys(), f"{name}: annotate what crosses the wire"
        error = made.get(name) or blank(kind)
        assert 400 <= status_of(error) < 600
        told = json.loads(json.dumps(problem_of(error, whole=True)))
        back = error_of(told)
        assert type(back) is kind
        if name in made:
            assert (str(back), vars(back)) == (str(error), vars(error))


def blank(kind):
    """Return an error of a class that knows nothing."""
    error = kind.__new__(kind)
    vars(error).update(dict.fromkeys(hints_of(kind)))
    return error


def test_a_stranger_learns_nothing_of_the_machine(memory):
    """An error of the store tells only its owner where the store is."""
    error = errors.StoreUnusable(memory.store.root, "is damaged")
    assert str(memory.store.root) in json.dumps(problem_of(error, whole=True))
    assert str(memory.store.root) not in json.dumps(problem_of(error, whole=False))


def test_a_fault_is_a_number_in_the_log(memory, monkeypatch, caplog):
    """What was never thought of is answered by 500 and a number, and by no words of it."""

    def fail(*_, **__):
        raise RuntimeError("secret words")

    monkeypatch.setattr(type(memory), "list", fail)
    app = application(Service(memory, Settings(tokens=False)))
    with TestClient(app, raise_server_exceptions=False) as opened:
        answer = opened.post("/v1/list", json={})
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert answer.json()["detail"].split()[-1] in caplog.text


def test_health_and_metrics(client, memory):
    """Whoever watches the process is told that it lives, is ready, and what it did."""
    memory.add("tea")
    client.post("/v1/list", json={})
    assert client.get("/livez").status_code == client.get("/readyz").status_code == 200
    told = client.get("/metrics").text
    assert 'memento_calls_total{method="list",status="200"} 1' in told
    assert 'memento_call_seconds_count{method="list"} 1' in told
    assert "memento_memories{tier=" in told
    memory.close()
    assert client.get("/readyz").status_code == 503


def test_metrics_are_the_owners(service, memory):
    """They are about every namespace."""
    assert service.get("/metrics").status_code == 401
    assert service.get("/metrics", headers=bearer(memory)).status_code == 403


def test_the_description_knows_what_a_memory_is(client, memory):
    """A field that is null or one word allows both."""
    memory.rules.direct("Answer in English", lock=True)
    told = client.get("/v1/openapi.json").json()["components"]["schemas"]["Memory"]["properties"]
    (kept,) = client.post("/v1/list", json={}).json()
    assert kept.keys() == told.keys()
    assert kept["lock"] in told["lock"]["anyOf"][0]["enum"]


def test_the_description_names_every_route(client):
    """Each has its arguments and its answer; every reference leads somewhere."""
    told = client.get("/v1/openapi.json").json()
    assert {path for path in told["paths"] if path in {one.path for one in ROUTES.values()}} == {
        one.path for one in ROUTES.values()
    }
    text = json.dumps(told)
    for name in {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}:
        assert name in told["components"]["schemas"]


HOSTILE = (None, True, 10**30, float("nan"), "", "a\udfffb", [None], {"kind": "user"})
"""Values that fit nothing."""


@pytest.mark.parametrize("name", sorted(ROUTES.keys() - {"sleep.run", "store.backup"}))
def test_no_value_is_a_fault(memory, name):
    """Whatever an argument is, the call is answered or refused, and the refusal can be read."""
    app = application(Service(memory, Settings(tokens=False)))
    words = "query text message messages question topic document rules answer src path"
    usual = dict.fromkeys(words.split(), "tea") | dict.fromkeys(("id", "key_or_id", "a", "b"), "x")
    usual |= {"since": "2026-01-01T00:00:00Z", "ids": ["x"], "expires_in": 60, "session": "s"}
    usual |= {"items": ["tea"], "texts": ["tea"], "vector": [0.0], "uri": "web", "dst": "b"}
    usual |= {"short": "xxxxxx", "seen": "x", "target": "x", "loop": "x", "with_namespace": "o"}
    usual |= {"keep": "a", "key": "k", "scope": "a"}
    with TestClient(app, raise_server_exceptions=False) as client:
        for argument in (*ROUTES[name].arguments, "\udfff"):
            for value in HOSTILE:
                said = {key: one for key, one in usual.items() if key in ROUTES[name].arguments}
                kind = "octet-stream" if name in SENDS else "json"
                answer = client.post(
                    ROUTES[name].path,
                    content=json.dumps(said | {argument: value}),
                    headers={"content-type": f"application/{kind}"},
                )
                assert answer.status_code != 500, (argument, value, answer.text)
                answer.json() if answer.status_code != 200 else None


@pytest.mark.parametrize("path", ["/v1/nothing", "/v1/_view", "/v1/close", "/v1/store/_ask", "/x"])
def test_what_is_not_in_the_table_is_not_there(client, path):
    """Private names, and methods of this machine alone, are no routes."""
    assert client.post(path, json={}).status_code == 404


def test_what_resumes_a_session_is_described():
    """It comes from the module of the handles, which are not sent."""
    answer = document()["paths"]["/v1/sessions/resume"]["post"]["responses"]["200"]
    kinds = answer["content"]["application/json"]["schema"]["anyOf"]
    assert {"$ref": "#/components/schemas/Resumption"} in kinds


def test_threads_of_the_service_yield_early(tmp_path):
    """A short call changes threads several times, and each time waits less for a long search."""
    before = sys.getswitchinterval()
    store = Store(str(tmp_path / "store"), embedder="none", make=True)
    asked = _Open(store, place_of("0"), (), 20.0, mem0=False, page=False, tokens=True)
    with asked.opened():
        assert sys.getswitchinterval() == pytest.approx(SWITCH)
    assert sys.getswitchinterval() == before
