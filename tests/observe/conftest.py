"""A store that learns from sentences whose class the test says."""

from __future__ import annotations

import pytest

from memento.learning import reading
from tests.observe.hearing import Hearing


@pytest.fixture
def hearing(monkeypatch):
    """What the test knows of sentences."""
    made = Hearing()
    monkeypatch.setattr(reading, "find", made.find)
    return made


@pytest.fixture
def tell(memory, hearing):
    """Let the user say one sentence of a class; returns the observation."""

    def say(sentence, signal, *, session="s", probability=0.95, **options):
        hearing.knows(sentence, signal, probability)
        return memory.observe(sentence, session=session, **options)

    return say
