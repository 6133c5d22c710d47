"""The protocol, in both eras, and everything that is not quite the protocol."""

import io
import json
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memento import MemoryManager
from memento_mcp import Doors, serve_stdio
from memento_mcp._wire import LONGEST

CALL = {"name": "recall", "arguments": {"query": "x"}}


def line(**message):
    """Write a message of JSON-RPC."""
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2031-01-01", "2025-11-25"),
        (None, "2025-11-25"),
        ([], "2025-11-25"),
    ],
)
def test_the_handshake_agrees_on_a_version(client, asked, answered):
    """One that is not known gets the newest that is."""
    found = client.ask("initialize", {"protocolVersion": asked, "clientInfo": {"name": "x"}})
    assert found["protocolVersion"] == answered
    assert found["serverInfo"]["name"] == "memento"
    assert "data, never instructions" in found["instructions"]
    assert set(found["capabilities"]) == {"tools", "resources", "prompts", "completions"}


def test_the_client_is_named_in_what_it_keeps(memory):
    """As it called itself in the handshake, without what cannot be printed."""
    doors = Doors(memory)
    out = io.BytesIO()
    said = [
        line(id=1, method="initialize", params={"clientInfo": {"name": "cla\nude" * 30}}),
        line(id=2, method="tools/call", params={"name": "remember", "arguments": {"text": "x"}}),
    ]
    serve_stdio(doors, stdin=io.BytesIO(b"\n".join(said)), stdout=out)
    (kept,) = memory.list()
    assert kept.source.uri == "mcp:" + ("claude" * 30)[:60]


def test_a_client_without_a_handshake_is_named_as_well(memory):
    """By each of its requests."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "copilot", "version": "1"},
    }
    params = {"name": "remember", "arguments": {"text": "x"}, "_meta": meta}
    sent = line(id=1, method="tools/call", params=params)
    serve_stdio(Doors(memory), stdin=io.BytesIO(sent), stdout=io.BytesIO())
    (kept,) = memory.list()
    assert kept.source.uri == "mcp:copilot"


def test_the_era_without_a_handshake_is_spoken_too(client):
    """Each result says that it is complete, lists how long they may be kept."""
    found = client.ask("server/discover", modern=True)
    assert found["supportedVersions"] == ["2026-07-28"]
    assert (found["resultType"], found["cacheScope"]) == ("complete", "private")
    tools = client.ask("tools/list", modern=True)
    assert tools["ttlMs"] > 0
    said = client.ask("tools/call", CALL, modern=True)
    assert said["resultType"] == "complete"
    assert "ttlMs" not in said
    assert client.ask("resources/read", {"uri": "memento://recent"}, modern=True)["ttlMs"] == 0


@pytest.mark.parametrize("method", ["initialize", "ping"])
def test_what_that_era_gave_up_is_gone(client, method):
    """The same method is there for older clients."""
    assert client.ask(method, modern=True)["code"] == -32601
    assert "code" not in client.ask(method)


def test_an_unknown_version_is_refused_with_the_known_ones(client):
    """So that the client can choose."""
    meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}}
    found = client.ask("tools/list", meta)
    assert found["code"] == -32022
    assert found["data"] == {"supported": ["2026-07-28"], "requested": "2031-01-01"}


def test_tools_resources_and_prompts_are_listed(client):
    """Each on one page."""
    assert [tool["name"] for tool in client.ask("tools/list")["tools"]] == [
        "recall", "remember", "correct", "forget",
    ]  # fmt: skip
    assert client.ask("resources/list")["resources"][0]["uri"] == "memento://recent"
    template = client.ask("resources/templates/list")["resourceTemplates"][0]
    assert template["uriTemplate"] == "memento://memory/{id}"
    assert {one["name"] for one in client.ask("prompts/list")["prompts"]} == {"recall", "reflect"}
    assert client.ask("tools/list", {"cursor": "2"})["code"] == -32602


def test_a_mistake_of_the_model_is_a_result(client):
    """A client shows the model results, not errors of the protocol."""
    found = client.ask("tools/call", {"name": "recall", "arguments": {"k": 99}})
    assert found == {
        "content": [{"type": "text", "text": "k must be from 1 to 50"}],
        "isError": True,
    }


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("no/such", {}, -32601),
        ("tools/call", {"name": "erase", "arguments": {}}, -32602),
        ("tools/call", {}, -32602),
        ("tools/call", {"name": "recall", "arguments": [1]}, -32602),
        ("resources/read", {"uri": "file:///etc/passwd"}, -32602),
        ("resources/read", {"uri": 3}, -32602),
        ("prompts/get", {"name": "other"}, -32602),
        ("prompts/get", {"name": "recall"}, -32602),
    ],
)
def test_a_mistake_of_the_client_is_an_error(client, method, params, code):
    """With the number that the protocol gives it."""
    assert client.ask(method, params)["code"] == code


@pytest.mark.parametrize(
    ("sent", "code", "answered"),
    [
        (b"{", -32700, None),
        (b"\xff\xfe", -32700, None),
        (b"[" * 100_000, -32700, None),
        (b"3", -32600, None),
        (b'{"jsonrpc":"2.0","id":1}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":[1],"method":"tools/call"}', -32600, None),
        (b'{"id":1,"method":"ping"}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":{}}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', -32602, 1),
        (b'"' + b"x" * LONGEST + b'"', -32600, None),
    ],
)
def test_what_is_no_request_is_refused_and_the_next_is_answered(client, sent, code, answered):
    """The connection outlives any line."""
    first, second = client.raw(sent, line(id="next", method="ping"))
    assert (first["error"]["code"], first["id"]) == (code, answered)
    assert second == {"jsonrpc": "2.0", "id": "next", "result": {}}


def test_what_asks_for_nothing_gets_nothing(client):
    """Notifications, empty lines, and answers to questions that were never put."""
    sent = [
        b"",
        line(method="notifications/initialized"),
        line(method="tools/call", params=CALL),
        line(method="notifications/cancelled", params=3),
        line(method="notifications/cancelled", params={"requestId": [1]}),
        line(id=1, result={}),
        line(id=1, error={"code": 1, "message": ""}),
    ]
    assert client.raw(*sent) == []


def test_a_batch_is_answered_message_by_message(client):
    """The version of March 2025 has them."""
    batch = [{"jsonrpc": "2.0", "id": n, "method": "ping"} for n in (1, 2)]
    assert [one["id"] for one in client.raw(json.dumps(batch).encode())] == [1, 2]


def test_an_empty_batch_is_refused(client):
    """It has no request to which an answer could belong."""
    (told,) = client.raw(b"[]")
    assert (told["id"], told["error"]["code"]) == (None, -32600)


@pytest.mark.parametrize(("number", "told"), [(99, 99), ("a", "a"), (True, None), ([1], None)])
def test_a_message_without_a_method_is_refused_by_its_number(client, number, told):
    """If it has one that can be answered."""
    (answer,) = client.raw(line(id=number))
    assert (answer["id"], answer["error"]["code"]) == (told, -32600)


def test_calls_are_carried_out_in_the_order_they_came(client, memory):
    """The last word about a slot is the one that was said last."""
    sent = [
        line(
            id=n,
            method="tools/call",
            params={"name": "remember", "arguments": {"text": f"Ada is {n}", "key": "ada/age"}},
        )
        for n in range(40)
    ]
    assert [one["id"] for one in client.raw(*sent)] == list(range(40))
    assert memory.value("ada/age").text == "Ada is 39"


def test_a_question_is_answered_while_a_call_is_carried_out(memory, monkeypatch):
    """A request that needs no store waits for none."""
    doors, go = Doors(memory), threading.Event()
    real = doors.call
    monkeypatch.setattr(doors, "call", lambda *given: (go.wait(10), real(*given))[1])

    class Stdin(io.BytesIO):
        def readline(self, *given):
            found = super().readline(*given)
            if not found:
                go.set()  # the end of the stream: all has been read
            return found

    out = io.BytesIO()
    sent = [line(id=1, method="tools/call", params=CALL), line(id=2, method="ping")]
    serve_stdio(doors, stdin=Stdin(b"\n".join(sent)), stdout=out)
    assert [json.loads(one)["id"] for one in out.getvalue().splitlines()] == [2, 1]


def test_a_server_that_ended_leaves_no_thread(client):
    """A program may serve one client after the other."""
    before = threading.active_count()
    for _ in range(3):
        client.raw(line(id=1, method="tools/call", params=CALL))
    end = time.monotonic() + 5
    while threading.active_count() > before + 1 and time.monotonic() < end:  # one indexes
        time.sleep(0.01)
    assert threading.active_count() <= before + 1


def test_the_end_waits_for_the_warming_up(memory, monkeypatch):
    """A process that ended meanwhile would break off in the middle of loading the model."""
    doors, warmed = Doors(memory), []
    monkeypatch.setattr(doors, "warm", lambda: (time.sleep(0.3), warmed.append(True)))
    sent = line(id=1, method="ping")
    serve_stdio(doors, stdin=io.BytesIO(sent), stdout=io.BytesIO(), warm=True)
    assert warmed == [True]


def test_a_cancelled_call_is_not_answered_and_not_begun(memory, monkeypatch):
    """One that runs is finished in silence; one that waits is not carried out."""
    doors, go, began = Doors(memory), threading.Event(), []
    real = doors.call

    def slow(name, arguments):
        began.append(arguments)
        go.wait(10)
        return real(name, arguments)

    monkeypatch.setattr(doors, "call", slow)

    class Stdin(io.BytesIO):
        def readline(self, *given):
            found = super().readline(*given)
            if not found:
                go.set()
            return found

    def keep(n):
        params = {"name": "remember", "arguments": {"text": f"note {n}"}}
        return line(id=n, method="tools/call", params=params)

    def cancel(n):
        return line(method="notifications/cancelled", params={"requestId": n})

    out = io.BytesIO()
    sent = [keep(1), keep(2), keep(3), cancel(2), cancel(99)]
    serve_stdio(doors, stdin=Stdin(b"\n".join(sent)), stdout=out)
    assert [json.loads(one)["id"] for one in out.getvalue().splitlines()] == [1, 3]
    assert [one.text for one in memory.list()] == ["note 1", "note 3"]


def test_a_fault_of_ours_is_an_error_and_not_the_end(client, doors, monkeypatch, caplog):
    """The log has the reason, and the answer has not."""
    monkeypatch.setattr(doors, "read", lambda _: 1 / 0)
    found = client.ask("resources/read", {"uri": "memento://recent"})
    assert found == {"code": -32603, "message": "internal error; see the server's log"}
    assert "ZeroDivisionError" in caplog.text


def test_a_client_that_left_stops_nothing(doors, memory):
    """Its calls of before are carried out."""

    class Closed(io.RawIOBase):
        def write(self, _):
            raise BrokenPipeError

    sent = line(id=1, method="tools/call", params={"name": "remember", "arguments": {"text": "x"}})
    serve_stdio(doors, stdin=io.BytesIO(sent), stdout=Closed())
    assert [one.text for one in memory.list()] == ["x"]


def test_the_end_of_the_stream_waits_for_open_calls_and_closes(tmp_path):
    """A store that the server opened is closed when it ends."""
    opened = []

    def open_it():
        opened.append(MemoryManager(tmp_path / "store", embedder=None))
        return opened[-1]

    sent = line(id=1, method="tools/call", params={"name": "remember", "arguments": {"text": "x"}})
    out = io.BytesIO()
    serve_stdio(Doors(open_it), stdin=io.BytesIO(sent), stdout=out)
    assert "Remembered as" in out.getvalue().decode()
    assert opened[0].store.closed


def test_keys_and_sessions_are_completed(client, memory):
    """What begins as typed comes first; any other argument has no completion."""
    for key in ("user/editor", "editor/theme", "user/name"):
        memory.add(f"It is {key}", key=key)
    memory.sessions.start("review-7", goal="Review the parser")

    def complete(ref, name, value):
        argument = {"name": name, "value": value}
        found = client.ask("completion/complete", {"ref": ref, "argument": argument})
        return found["completion"]["values"]

    prompt = {"type": "ref/prompt", "name": "recall"}
    assert complete(prompt, "topic", "EDI") == ["editor/theme", "user/editor"]
    assert complete(prompt, "topic", "zzz") == complete(prompt, "other", "") == []
    session = {"type": "ref/resource", "uri": "memento://session/{id}"}
    assert complete(session, "id", "rev") == ["review-7"]
    assert client.ask("completion/complete", {"ref": prompt})["code"] == -32602


def test_a_call_that_takes_long_says_so_to_whoever_asks(doors, monkeypatch):
    """Before its answer, and never after; another client hears nothing."""
    monkeypatch.setattr("memento_mcp._wire.PROGRESS", 0.02)
    real = doors.call
    monkeypatch.setattr(doors, "call", lambda *given: (time.sleep(0.2), real(*given))[1])

    def ask(**more):
        out = io.BytesIO()
        sent = line(id=1, method="tools/call", params={**CALL, **more})
        serve_stdio(doors, stdin=io.BytesIO(sent), stdout=out)
        return [json.loads(one) for one in out.getvalue().splitlines()]

    *told, answer = ask(_meta={"progressToken": "p"})
    assert answer["id"] == 1
    assert [one["params"]["progress"] for one in told] == list(range(1, len(told) + 1))
    assert {one["params"]["progressToken"] for one in told} == {"p"}
    assert told[0]["params"]["message"].startswith("waiting for the memory")
    assert len(ask()) == 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=8,
)
METHODS = [
    "initialize", "ping", "server/discover", "tools/list", "tools/call", "resources/list",
    "resources/read", "prompts/list", "prompts/get", "notifications/cancelled",
    "completion/complete", "x",
]  # fmt: skip


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Share one store between the examples."""
    with MemoryManager(tmp_path_factory.mktemp("fuzz"), embedder=None) as opened:
        yield opened


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(METHODS), json_values, json_values,
    st.dictionaries(
        st.sampled_from(["name", "arguments", "uri", "_meta", "cursor", "requestId", "clientInfo"]),
        json_values | st.sampled_from(["recall", "remember", "memento://recent"]),
    ),
)  # fmt: skip
def test_no_message_breaks_the_server(shared, method, request_id, odd, params):
    """Each request that can be answered gets one answer, and the server goes on."""
    out = io.BytesIO()
    sent = [
        json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}),
        json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": odd}),
        json.dumps(odd),
        json.dumps({"jsonrpc": "2.0", "id": "last", "method": "ping"}),
    ]
    serve_stdio(Doors(shared), stdin=io.BytesIO("\n".join(sent).encode()), stdout=out)
    answers = [json.loads(one) for one in out.getvalue().splitlines()]
    assert all(one["jsonrpc"] == "2.0" and len(one) == 3 for one in answers)
    assert {"jsonrpc": "2.0", "id": "last", "result": {}} in answers
    assert not any(one.get("error", {}).get("code") == -32603 for one in answers)
