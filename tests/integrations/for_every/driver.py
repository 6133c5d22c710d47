"""What a framework gives to be tested as all others are: one file ``driver_<extra>.py``.

``test_every_adapter.py`` runs the same tests for each such file, whose name is that of the extra
with ``_`` for ``-``. It needs no list: a file that is there is run, and one whose framework is not
installed is skipped by name. It imports the framework and the adapter at its top and holds

``Driver``
    A class. ``Driver(manager, brain)`` sets up an agent of the framework, as a user of the adapter
    would, with a fake model of the framework's own that asks ``brain``, and with one tool,
    ``read_page``, that returns ``brain.page``.

    ``Driver(None, brain)`` sets up the same agent without memento, with what memory the framework
    itself has that needs neither a model nor a service; ``benchmarks/frameworks.py`` compares.

    ``say(text, *, user, session) -> str``
        Runs one turn: what the user says in a conversation, which the driver goes on with if it
        knows it. Returns the model's last answer. ``user`` has the namespace ``of("acme", user)``,
        chosen by the adapter's own means for users at run time, if it has some. On return, the
        turn has reached the memory, as far as the framework is asked to bring it there (by a
        ``flush``, a callback at the end of a run ...).

``LABELS`` (optional)
    Labels that the adapter adds to a user's namespace.

``LACKS`` (optional)
    Name of a test to the reason why the framework or the adapter cannot pass it. It is skipped
    with the reason. The tests that matter for trust (users, tools, forgetting) have no exception.

The fake model calls ``brain(request)`` once for each call of the model, with all that a provider
would get, in order: a list of (role, text), the system's text first. Results of tools are in it.
The brain returns the text to answer, or ``CALL``: then the model calls ``read_page`` without
arguments, and the framework comes back with its result.

A driver is also run by another process: ``python driver.py <extra> <folder> <user> <session>
<text>`` opens the store, says one thing and closes.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

from memento import MemoryManager

CALL = "<call read_page>"
"""Answer of the brain: call the tool ``read_page``."""
ORGANISATION = "acme"
"""First label of each user's namespace."""
DOWN = "the model is down"
"""Error of a model that fails."""


class Brain:
    """Stands for the language model of an agent, and notes what it is sent.

    Attributes:
        requests: What each call of the model was sent: (role, text) in order.
        page: What the tool ``read_page`` returns; while it is set, each turn calls the tool once.
        said: What the user says in this turn.
        answer: What to answer, or a function of the request; None for "Noted.", or if ``echoes``,
            what was said.
        down: Whether each call fails, as of a provider that cannot be reached.
        echoes: Set by drivers of frameworks that keep the model's words alone, not the user's: the
            model then repeats what the user said.
    """

    def __init__(self):
        self.requests: list[list[tuple[str, str]]] = []
        self.page: str | None = None
        self.said = ""
        self.answer: str | Callable[[list[tuple[str, str]]], str] | None = None
        self.down = False
        self.echoes = False
        self._read = False

    def hear(self, text):
        """Begin a turn."""
        self.said, self._read = text, False

    def __call__(self, request: Iterable[tuple[str, str]]) -> str:
        """Answer one call of the model."""
        sent = [(str(role), str(text)) for role, text in request]
        self.requests.append(sent)
        if self.down:
            raise ConnectionError(DOWN)
        if self.page is not None and not self._read:
            self._read = True
            return CALL
        if self.answer is not None:
            return self.answer(sent) if callable(self.answer) else self.answer
        return self.said if self.echoes else "Noted."

    def shown(self, at=-1):
        """Return all text of one request, as the provider would read it."""
        return "\n".join(f"{role}: {text}" for role, text in self.requests[at])


def view(manager, user, labels=()):
    """Return the memory of a user, where each driver keeps it."""
    return manager.of(ORGANISATION, user, *labels)


def modules():
    """Name the extra of each driver that is here."""
    here = Path(__file__).parent
    return [path.stem.removeprefix("driver_") for path in sorted(here.glob("driver_*.py"))]


def load(name):
    """Import a driver; what frameworks warn of on import is their own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(f"driver_{name}")


def say(driver, brain, text, *, user="ann", session="one"):
    """Say one thing through a driver."""
    brain.hear(text)
    return driver.say(text, user=user, session=session)


def main(name, folder, user, session, text):
    """Say one thing and close."""
    brain = Brain()
    with MemoryManager(folder) as manager:
        driver = load(name).Driver(manager, brain)
        say(driver, brain, text, user=user, session=session)
        manager.of(ORGANISATION, user).flush(wait=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
