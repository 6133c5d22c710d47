"""What the tests of memento_langchain share: a fake model."""

from __future__ import annotations

from itertools import cycle

import pytest

pytest.importorskip("langchain_core", reason="pip install 'agent-memento[langchain]'")

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from pydantic import Field


class FakeModel(GenericFakeChatModel):
    """Says what it is given and notes what it was shown."""

    shown: list = Field(default_factory=list)

    def bind_tools(self, tools, **options):  # noqa: ARG002 - the answers are scripted
        """Take the tools."""
        return self

    def _generate(self, messages, *args, **options):
        self.shown.append(messages)
        return super()._generate(messages, *args, **options)


@pytest.fixture
def fake_model():
    """Make a chat model that says what it is given, over and over."""

    def make(*answers):
        said = (AIMessage(a) if isinstance(a, str) else a.model_copy() for a in cycle(answers))
        return FakeModel(messages=said)

    return make
