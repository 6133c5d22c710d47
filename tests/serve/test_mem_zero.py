"""What the routes of mem0 refuse, whichever client asks."""

import pytest
from starlette.testclient import TestClient

from memento.resident import tokens
from memento.serve.app import Service, Settings, application
from memento.serve.limits import Limits
from memento.serve.mem_zero import routes

HOST = "127.0.0.1:8765"


@pytest.fixture
def service(memory):
    """A service for tokens."""
    return Service(memory, Settings(frozenset({HOST}), limits=Limits(body=1_000)))


@pytest.fixture
def client(memory, service):
    """A client whose token sees the namespace ``acme``."""
    token = tokens.add(memory.store.root, "app", namespace="acme", trust="user")
    with TestClient(application(service, routes(service)), f"http://{HOST}") as opened:
        opened.headers["Authorization"] = f"Token {token}"
        yield opened


@pytest.mark.parametrize("query", ["", "?user_id=", "?user_id=&run_id="])
def test_nobody_named_is_not_everybody(client, memory, query):
    """A name that is empty, perhaps by mistake, deletes nothing."""
    kept = memory.of("acme").add("tea")
    assert client.delete(f"/v1/memories/{query}").status_code == 422
    assert memory.of("acme").get(kept.id).status == "active"


@pytest.mark.parametrize("size", ["Infinity", "1e400", '"9' + "9" * 5_000 + '"', "[1]"])
def test_no_number_is_a_fault(client, size):
    """Whatever a client sends as the size of a page."""
    json = {"content-type": "application/json"}
    said = f'{{"page_size": {size}}}'
    assert client.post("/v3/memories/", content=said, headers=json).status_code in (413, 422)


def test_users_are_listed_within_the_limits(client, memory, service, monkeypatch):
    """Only those of the token, counted by no query about others, and not beside all calls."""
    for labels in (("acme", "rami"), ("acme", "rami", "phone"), ("acmes", "ada"), ("other",)):
        memory.of(*labels).add("tea")
    assert [one["id"] for one in client.get("/v1/entities/").json()["results"]] == ["rami"]
    monkeypatch.setattr(service, "calls", service.settings.limits.calls)
    assert client.get("/v1/entities/").status_code == 429


def test_only_a_call_that_stores_has_a_long_body(client):
    """The others are parsed while all callers wait."""
    long = {"query": "a" * 2_000, "messages": []}
    assert client.post("/v3/memories/search/", json=long).status_code == 413
    assert client.post("/v3/memories/add/", json=long).status_code == 200
