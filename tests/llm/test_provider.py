"""The provider talks to a real server and turns every end of it into a reply or one error."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import traceback
from dataclasses import replace

import pytest

from memento.errors import InvalidInput, MissingExtra, SynthesisFailed
from memento.llm import PydanticAI, pydantic_ai
from memento.protocols import Synthesizer, Task

KEY = "sk-live-0123456789abcdef0123456789abcdef"
TASK = Task(
    "observe",
    1,
    "Point at sentences.",
    "I live in Porto.",
    {"type": "object", "properties": {"items": {"type": "array", "items": {"type": "string"}}}},
)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(pydantic_ai, "WAIT", 0.0)


@pytest.fixture
def model(server):
    """A model on the server of the test."""
    return PydanticAI("stub", base_url=server.url, api_key=KEY)


def failure(model, task=TASK):
    """Return the error of a task."""
    with pytest.raises(SynthesisFailed) as caught:
        model.complete(task)
    return caught.value


def test_a_reply_has_the_object_and_the_tokens(model, server):
    """The schema, the instructions and the data are sent once, and the tokens come back."""
    server.script = [{"items": ["I live in Porto."]}]
    reply = model.complete(TASK)
    assert reply.value == {"items": ["I live in Porto."]}
    assert (reply.calls, reply.tokens_in, reply.tokens_out) == (1, 11, 7)
    (sent,) = server.requests
    assert sent["path"] == "/v1/chat/completions"
    assert sent["response_format"]["type"] == "json_schema"
    assert [m["content"] for m in sent["messages"]] == [TASK.instructions, TASK.data]
    assert isinstance(model, Synthesizer)


def test_json_that_cannot_be_read_is_asked_for_again(model, server):
    """Once, if two attempts are allowed; both are counted."""
    server.script = ["I think that", {"items": []}]
    reply = model.complete(replace(TASK, attempts=2))
    assert (reply.value, reply.calls, reply.tokens_out) == ({"items": []}, 2, 14)


def test_invalid_json_is_an_error_in_the_end(model, server):
    """It never becomes a value."""
    server.script = ["no", "no", {"items": []}]
    error = failure(model, replace(TASK, attempts=2))
    assert (error.reason, error.calls, error.tokens_in) == ("invalid", 2, 22)
    assert len(server.requests) == 2


@pytest.mark.parametrize("text", ["[]", "3", '"x"', "null", '{"items": ["', "", "{}{}"])
def test_what_is_no_object_is_invalid(model, server, text):
    """Other JSON, parts of it, and no text at all."""
    server.script = [text]
    assert failure(model).reason == "invalid"


def test_a_server_in_trouble_is_asked_again(model, server):
    """After 500, 503 and 429; the requests are counted."""
    server.script = [(500, {}), (429, {}), {"items": []}]
    assert model.complete(replace(TASK, attempts=3)).calls == 3


def test_no_more_requests_than_allowed(model, server):
    """The client library does not try again by itself."""
    server.script = [(500, {})] * 9
    error = failure(model, replace(TASK, attempts=3))
    assert (error.reason, error.calls, len(server.requests)) == ("refused", 3, 3)


def test_a_refusal_is_final_and_does_not_repeat_the_key(model, server, caplog):
    """Neither the error, nor what caused it, nor the log holds the key."""
    caplog.set_level(logging.DEBUG)
    server.script = [(401, {"error": {"message": f"Incorrect API key provided: {KEY}"}})] * 2
    error = failure(model, replace(TASK, attempts=2))
    assert (error.reason, error.calls, len(server.requests)) == ("refused", 1, 1)
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert error.__cause__ is None
    assert error.__suppress_context__
    assert "401" in str(error)
    for text in (str(error), repr(error), repr(model), str(vars(error))):
        assert KEY not in text
    assert all(KEY not in one.getMessage() for one in caplog.records if "memento" in one.name)


def test_no_answer_in_time(server):
    """A server that is silent ends as a timeout."""
    server.hold.clear()
    model = PydanticAI("stub", base_url=server.url, timeout=0.2)
    assert failure(model).reason == "timeout"


def test_a_key_that_cannot_be_sent_is_not_repeated(server):
    """Neither in the message nor in the traceback of the error."""
    model = PydanticAI("m", base_url=server.url, api_key="sk-sec\u2028ret")
    with pytest.raises(SynthesisFailed) as caught:
        model.complete(TASK)
    assert caught.value.reason == "error"
    assert "sk-sec" not in "".join(traceback.format_exception(caught.value))


def test_no_server():
    """A port where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    model = PydanticAI("stub", base_url=f"http://127.0.0.1:{port}/v1")
    assert failure(model).reason == "unreachable"


def test_a_connection_that_is_cut(model, server):
    """The server closes it without a word."""
    server.script = [(200, None)]
    assert failure(model).reason == "unreachable"


def test_an_answer_that_is_no_completion(model, server):
    """A server that is something else."""
    server.script = [(200, {"hello": "world"})]
    assert failure(model).reason in {"invalid", "error"}


def test_it_works_inside_a_running_loop(model):
    """And several times, each with connections of its own."""

    async def twice():
        return model.complete(TASK).value, model.complete(TASK).value

    assert asyncio.run(twice()) == ({}, {})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_it_works_in_a_forked_child(model, server):
    """Nothing of the parent's connections is used."""
    assert model.complete(TASK).value == {}
    child = os.fork()
    if child == 0:
        os._exit(0 if model.complete(TASK).value == {} else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert len(server.requests) == 2


@pytest.mark.parametrize("output", ["native", "tool", "prompted"])
def test_each_way_of_asking_for_an_object(server, output):
    """By schema, by a function, by words."""
    if output == "tool":
        call = {"id": "1", "type": "function", "function": {"name": "observe", "arguments": "{}"}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
        body = {"id": "c", "object": "chat.completion", "created": 1, "model": "stub"}
        server.script = [(200, {**body, "choices": [choice]})]
    model = PydanticAI("stub", base_url=server.url, output=output)
    assert model.complete(TASK).value == {}
    asked = server.requests[0].get("response_format", {}).get("type")
    assert (asked == "json_schema") == (output == "native")
    assert ("tools" in server.requests[0]) == (output == "tool")


def test_names(server):
    """The name tells model and server, without the key."""
    assert PydanticAI("qwen3:8b", base_url=f"{server.url}/").name == f"qwen3:8b@{server.url}"
    assert PydanticAI("openai:gpt-5-mini", api_key=KEY).name == "openai:gpt-5-mini"


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("", {}),
        (None, {}),
        ("gpt-5-mini", {}),
        ("openai:", {}),
        ("nobody:gpt", {}),
        ("openai:gpt-5-mini", {}),
        ("stub", {"base_url": "http://user:pass@127.0.0.1/v1"}),
        ("stub", {"base_url": "http://127.0.0.1/v1", "output": "yaml"}),
        ("stub", {"base_url": "http://127.0.0.1/v1", "timeout": 0}),
        ("stub", {"base_url": "http://127.0.0.1/v1", "timeout": "3"}),
        ("stub", {"base_url": 5}),
    ],
)
def test_what_cannot_be_used(monkeypatch, model, options):
    """A wrong name, no key, a password in the address: reported at once, without a request."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(InvalidInput) as caught:
        PydanticAI(model, **options)
    assert "pass@" not in str(caught.value)


def test_a_server_of_ones_own_does_not_get_the_key_of_openai(monkeypatch, server):
    """The key in the environment belongs to OpenAI."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    PydanticAI("stub", base_url=server.url).complete(TASK)
    assert KEY not in server.headers[0]["Authorization"]


def test_a_missing_package_is_named(monkeypatch):
    """With the line that installs it."""
    monkeypatch.setitem(sys.modules, "pydantic_ai.models", None)
    with pytest.raises(MissingExtra, match=r"agent-memento\[llm\]"):
        PydanticAI("openai:gpt-5-mini", api_key=KEY)
