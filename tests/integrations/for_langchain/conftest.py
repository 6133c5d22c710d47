"""Fixtures that the tests of memento_langchain share."""

from __future__ import annotations

import pytest

from memento.testing import HashEmbedder


@pytest.fixture
def manager(open_memory):
    """Open a store with a fake embedder."""
    return open_memory(embedder=HashEmbedder(256))


@pytest.fixture
def fake_model():
    """Give the maker of a chat model that says what it is given, over and over."""
    pytest.importorskip("langchain_core", reason="pip install 'agent-memento[langchain]'")
    from scripted_model import saying  # noqa: PLC0415 - the framework may be absent

    return saying
