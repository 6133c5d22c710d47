"""A chat model for tests; the real one would be ``init_chat_model(...)``."""

from __future__ import annotations

import threading
from itertools import cycle

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from pydantic import Field, PrivateAttr


class FakeModel(GenericFakeChatModel):
    """Says what it is given, over and over, and notes what it was shown; from any thread."""

    shown: list = Field(default_factory=list)
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    def bind_tools(self, tools, **options):  # noqa: ARG002 - the answers are scripted
        """Take the tools."""
        return self

    def _generate(self, messages, *args, **options):
        with self._lock:
            self.shown.append(messages)
            return super()._generate(messages, *args, **options)


def saying(*answers):
    """Make a model from its answers: texts or messages."""
    said = (AIMessage(a) if isinstance(a, str) else a.model_copy() for a in cycle(answers))
    return FakeModel(messages=said)
