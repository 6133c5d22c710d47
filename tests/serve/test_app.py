"""The service answers calls as the manager does, and refuses what it must."""

import pytest
from starlette.testclient import TestClient

from memento.resident import tokens
from memento.serve.app import Service, Settings, application


@pytest.fixture
def client(memory):
    """A client of the owner's: it needs no token."""
    with TestClient(application(Service(memory, Settings(tokens=False)))) as opened:
        yield opened


@pytest.fixture
def service(memory):
    """A client of a service that answers to tokens alone."""
    with TestClient(application(Service(memory, Settings()))) as opened:
        yield opened


def bearer(memory, name="laptop", **rights):
    """Make a token, and return the header for it."""
    made = tokens.add(memory.store.root, name, **({"namespace": "default"} | rights))
    return {"Authorization": f"Bearer {made}"}


def test_what_is_added_is_found(client):
    """A memory that is added by one call is found by another, with all its fields."""
    added = client.post("/v1/add", json={"text": "Rami is allergic to nuts", "tier": "long"})
    assert added.status_code == 200
    found = client.post("/v1/retrieve", json={"query": "what is Rami allergic to?"}).json()
    assert found["hits"][0]["memory"] == added.json()


def test_a_call_without_a_token_is_refused(service, memory):
    """Only whoever holds a token is answered, and what it may not do is told apart from that."""
    body = {"text": "x"}
    assert service.post("/v1/add", json=body).status_code == 401
    reader = bearer(memory, rights="read")
    assert service.post("/v1/add", json=body, headers=reader).status_code == 403
    assert service.post("/v1/list", json={}, headers=reader).status_code == 200
