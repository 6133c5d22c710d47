"""A store with a story in it, and a browser's session with its page."""

import re

import pytest
from starlette.testclient import TestClient
from story import BEGAN, tell

from memento.serve import page
from memento.serve.app import Service, Settings, application
from memento.serve.limits import Limits
from memento.serve.page import door
from memento.testing import ManualClock

HOST = "127.0.0.1"


class Visitor:
    """Somebody with a browser that has no JavaScript."""

    def __init__(self, memory, client):
        self.memory, self.client = memory, client

    def enter(self, code=None):
        """Come in with a code; returns the answer."""
        code = door.code_for(self.memory.store.root) if code is None else code
        return self.client.post("/enter", data={"code": code}, follow_redirects=False)

    def get(self, path, **options):
        """Open a page."""
        return self.client.get(path, **options)

    def form(self, path="/"):
        """Return the token in the forms of a page."""
        return re.search(r'name="form" value="(\w+)"', self.get(path).text)[1]

    def post(self, path, then="/", headers=None, **said):
        """Send a form of a page; returns the page that it leads to."""
        said = {"form": self.form(then), "then": then} | said
        return self.client.post(path, data=said, headers=headers)

    def undo(self, page):
        """Press the button of a toast."""
        change = re.search(r'name="change" value="(\d+)"', page.text.split('id="toasts"')[1])[1]
        return self.post("/undo", change=change)


@pytest.fixture
def clock():
    """Stands on the first day of the story."""
    return ManualClock(BEGAN)


@pytest.fixture
def told(memory, clock):
    """The memories of the story that tests ask for, by name."""
    return tell(memory, clock)


@pytest.fixture
def limits():
    """The limits of the service; none for the number of calls."""
    return Limits(rate=0)


@pytest.fixture
def stranger(memory, limits):
    """Somebody who has not come in."""
    service = Service(memory, Settings(frozenset({HOST}), limits=limits))
    app = application(service, page.routes(service, every=0.001))
    with TestClient(app, base_url=f"http://{HOST}") as client:
        yield Visitor(memory, client)


@pytest.fixture
def visitor(stranger):
    """The owner of the store, who has come in."""
    assert stranger.enter().status_code == 303
    return stranger
