"""A server on the loopback interface that speaks as OpenAI's chat completions do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memento.observe.reader import Reader
from tests.json_server import JsonServer
from tests.observe.stand_in import StandIn


class ChatServer(JsonServer):
    """Answers with what a test wrote.

    Its script has texts of the model, JSON values for such, and (status, body). When it is over,
    the model answers ``{}``.
    """

    def answer(self, _request: dict[str, Any]) -> tuple[int, dict[str, str], Any]:
        """Return the next answer."""
        said = self.script.pop(0) if self.script else {}
        if isinstance(said, tuple):
            status, body = said
            return status, {}, body
        text = said if isinstance(said, str) else json.dumps(said)
        return 200, {}, completion(text)


def completion(text: str) -> dict[str, Any]:
    """Return a chat completion that says a text: 7 tokens for 11."""
    return {
        "id": "c-1",
        "object": "chat.completion",
        "created": 1,
        "model": "stub",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": text},
            }
        ],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


@pytest.fixture(autouse=True)
def _stand_in(monkeypatch):
    """Read with a table, which leaves what the tests let a model point at."""
    monkeypatch.setattr(Reader, "load", StandIn)


@pytest.fixture
def server():
    """A server that runs for one test."""
    made = ChatServer()
    yield made
    made.close()
