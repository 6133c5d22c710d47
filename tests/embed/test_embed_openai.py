"""The HTTP embedder against a scripted server on the loopback interface."""

from __future__ import annotations

import numpy as np
import pytest

from memento.embed.openai import OpenAIEmbedder
from memento.errors import EmbedderError, InvalidInput, MissingExtra
from memento.testing import HashEmbedder

DIM = 32


class Naps(list):
    """Notes how long it was asked to sleep, and does not."""

    def __call__(self, seconds: float) -> None:
        """Stand in for ``time.sleep``."""
        self.append(seconds)


@pytest.fixture
def naps() -> Naps:
    """No naps yet."""
    return Naps()


@pytest.fixture
def embedder(server, naps):
    """An embedder of that server which never really waits."""
    made = OpenAIEmbedder("stub", dim=DIM, base_url=server.url, api_key="sesame", sleep=naps)
    yield made
    made.close()


def test_request(server, embedder):
    """One request carries model, texts and key; answers are put in order and scaled."""
    texts = ["green tea", "a red bike", "tea"]
    vectors = embedder.embed(texts)
    assert vectors == pytest.approx(HashEmbedder(DIM).embed(texts), abs=1e-6)
    assert server.requests == [
        {
            "path": "/v1/embeddings",
            "model": "stub",
            "encoding_format": "float",
            "input": texts,
        }
    ]
    assert server.headers[0]["Authorization"] == "Bearer sesame"


def test_batches(server):
    """No request carries more than ``max_batch`` texts."""
    embedder = OpenAIEmbedder("stub", dim=DIM, base_url=server.url, max_batch=2)
    texts = [f"number {i}" for i in range(5)]
    assert embedder.embed(texts) == pytest.approx(HashEmbedder(DIM).embed(texts), abs=1e-6)
    assert [len(request["input"]) for request in server.requests] == [2, 2, 1]
    embedder.close()


def test_long_text_goes_in_windows(server):
    """A text above ``max_chars`` is sent in pieces that cover it, and comes back as one vector."""
    embedder = OpenAIEmbedder("stub", dim=DIM, base_url=server.url, max_chars=100)
    text = "".join(chr(0x4E00 + i) for i in range(250))
    assert embedder.embed([text, "short"]).shape == (2, DIM)
    (request,) = server.requests
    assert request["input"][-1] == "short"
    assert set("".join(request["input"][:-1])) == set(text)
    assert all(len(piece) <= 100 for piece in request["input"])
    embedder.close()


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504])
def test_asks_again(server, embedder, naps, status):
    """A passing failure is tried again, each wait twice as long."""
    server.script = [(status, {}, {})] * 2
    assert embedder.embed(["tea"]).shape == (1, DIM)
    assert naps == [0.5, 1.0]


def test_connection_closed_without_answer(server, embedder, naps):
    """A connection that breaks is tried again."""
    server.script = [(0, {}, None)]
    assert embedder.embed(["tea"]).shape == (1, DIM)
    assert naps == [0.5]


def test_gives_up(server, embedder, naps):
    """After the last try the error names the address, the status and what the server said."""
    server.script = [(429, {}, {"error": {"message": "quota exceeded"}})] * 9
    with pytest.raises(EmbedderError, match=r"HTTP 429 quota exceeded after 4 attempts"):
        embedder.embed(["tea"])
    assert naps == [0.5, 1.0, 2.0]


def test_nobody_listens(naps):
    """An address where nobody listens is an error that says so."""
    embedder = OpenAIEmbedder("stub", dim=DIM, base_url="http://127.0.0.1:1/v1", sleep=naps)
    with pytest.raises(EmbedderError, match="no response"):
        embedder.embed(["tea"])
    assert len(naps) == 3
    embedder.close()


@pytest.mark.parametrize(
    ("headers", "waited"),
    [
        ({"Retry-After": "7"}, [7.0]),
        ({"Retry-After": "-3"}, [0.0]),
        ({"Retry-After": "soon"}, [0.5]),
        ({"Retry-After": "Thu, 01 Jan 2099 00:00:00 GMT"}, None),
    ],
    ids=str,
)
def test_retry_after(server, embedder, naps, headers, waited):
    """``Retry-After`` is obeyed up to a minute; a server that asks for more is given up."""
    server.script = [(503, headers, {})]
    if waited is None:
        with pytest.raises(EmbedderError, match="after 1 attempt"):
            embedder.embed(["tea"])
        return
    embedder.embed(["tea"])
    assert naps == waited


@pytest.mark.parametrize("status", [400, 401, 403, 404, 301])
def test_refusal_is_final(server, embedder, naps, status):
    """A refusal is not repeated and says what to check."""
    server.script = [(status, {}, {"error": {"message": "no such model"}})]
    with pytest.raises(EmbedderError, match=rf"HTTP {status} no such model; check the API key"):
        embedder.embed(["tea"])
    assert naps == []


def test_error_message_does_not_echo_texts_or_key(server, embedder):
    """Only an OpenAI-shaped message is passed on, and never the key."""
    server.script = [(422, {}, {"detail": [{"input": "my secret diary"}]})]
    with pytest.raises(EmbedderError) as caught:
        embedder.embed(["my secret diary"])
    assert "diary" not in str(caught.value)
    assert "sesame" not in str(caught.value) + repr(embedder)


def _fewer(body):
    return {**body, "data": body["data"][1:]}


def _twice(body):
    return {**body, "data": [{**item, "index": 0} for item in body["data"]]}


def _short(body):
    return {**body, "data": [{**i, "embedding": i["embedding"][:-1]} for i in body["data"]]}


def _value(value):
    def edit(body):
        return {**body, "data": [{**i, "embedding": [value] * DIM} for i in body["data"]]}

    return edit


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (_fewer, "vectors for 1 of 2 texts"),
        (_twice, "of 2 texts"),
        (_short, f"vectors of length {DIM - 1} instead of {DIM}"),
        (_value(float("nan")), "zero or not finite"),
        (_value(float("inf")), "zero or not finite"),
        (_value(None), "zero or not finite"),
        (_value(0.0), "zero or not finite"),
        (_value("x"), "not a list of embeddings"),
        (lambda _: {"data": None}, "not a list of embeddings"),
        (lambda _: {"hello": "world"}, "not a list of embeddings"),
        (lambda _: [], "not a list of embeddings"),
        (lambda _: b"<html>", "not a list of embeddings"),
    ],
)
def test_wrong_answers(server, embedder, edit, problem):
    """An answer that is not one finite vector for each text is an error that names the fault."""
    server.edit = edit
    with pytest.raises(EmbedderError, match=problem):
        embedder.embed(["tea", "bike"])


def test_works_after_close(embedder):
    """``close`` lets go of the connections; the next text opens new ones."""
    first = embedder.embed(["tea"])
    embedder.close()
    embedder.close()
    assert np.array_equal(embedder.embed(["tea"]), first)


def test_identity():
    """The name tells model, length and server; OpenAI's lengths are known."""
    assert OpenAIEmbedder("text-embedding-3-small").name == "openai:text-embedding-3-small/1536"
    local = OpenAIEmbedder("m", dim=8, base_url="http://localhost:11434/v1/")
    assert local.name == "openai:m/8@http://localhost:11434/v1"


def test_shortened_vectors_are_asked_for(server):
    """Another length than the model's own is asked of the server."""
    embedder = OpenAIEmbedder("text-embedding-3-large", dim=256, base_url=server.url)
    assert embedder.embed(["tea"]).shape == (1, 256)
    assert server.requests[0]["dimensions"] == 256
    embedder.close()


def test_from_env(server, monkeypatch):
    """``from_env`` is the one place that reads the key and the address."""
    monkeypatch.setenv("OPENAI_API_KEY", "from-env")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    embedder = OpenAIEmbedder.from_env("stub", dim=DIM)
    embedder.embed(["tea"])
    assert server.headers[0]["Authorization"] == "Bearer from-env"
    embedder.close()


def test_from_env_without_key(monkeypatch):
    """OpenAI's own address without a key is refused before anything is sent."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(InvalidInput, match="OPENAI_API_KEY"):
        OpenAIEmbedder.from_env("text-embedding-3-small")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("dim", None),
        ("dim", 0),
        ("timeout", 0),
        ("timeout", float("nan")),
        ("max_batch", 0),
        ("max_chars", 10),
        ("max_windows", 1),
        ("retries", -1),
        ("base_url", "localhost:11434"),
        ("base_url", "ftp://host/v1"),
        ("base_url", "http://user:word@host/v1"),
        ("base_url", "http://host:port/v1"),
    ],
)
def test_options_out_of_range(field, value):
    """An option out of its range is refused by its name."""
    with pytest.raises(InvalidInput, match=rf"^{field}:"):
        OpenAIEmbedder("m", **{"dim": 8, field: value})


def test_without_httpx(monkeypatch):
    """Without httpx the error is the install line."""
    monkeypatch.setitem(__import__("sys").modules, "httpx", None)
    with pytest.raises(MissingExtra, match=r"agent-memento\[openai\]"):
        OpenAIEmbedder("m", dim=8)
