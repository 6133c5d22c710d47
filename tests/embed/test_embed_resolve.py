"""An embedder is given by name or as an object, which is held to the contract."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from memento import MemoryManager
from memento.embed import embed_checked, resolve
from memento.embed.onnx import default_embedder
from memento.errors import EmbedderError, InvalidInput
from memento.testing import HashEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Custom:
    """A user's embedder that answers what it is told."""

    name = "custom"
    dim = 2

    def __init__(self, answer: Callable[[int], Any]) -> None:
        self._answer = answer

    def embed(self, texts: Sequence[str]) -> Any:
        """Answer as told."""
        return self._answer(len(texts))


def _unit(n: int) -> np.ndarray:
    return np.tile([0.6, 0.8], (n, 1)).astype(np.float32)


def _raise(_: int) -> None:
    raise RuntimeError("CUDA out of memory")


def test_resolve():
    """The spec "default" means the model of the package, None no embedder, an embedder itself."""
    mine = HashEmbedder()
    assert resolve("default") is default_embedder()
    assert resolve(None) is None
    assert resolve(mine) is mine


@pytest.mark.parametrize(
    "spec",
    ["", "Default", "minilm", "openai", "openai:", "sentence-transformers:", "onnx:x", 7, object],
    ids=str,
)
def test_resolve_refuses(spec: object):
    """Anything else is refused, with the list of what is possible."""
    with pytest.raises(InvalidInput, match='"default", None, an Embedder'):
        resolve(spec)


@pytest.mark.parametrize(
    ("attribute", "value"), [("name", ""), ("name", 3), ("dim", 0), ("dim", "2")]
)
def test_resolve_refuses_an_embedder_without_identity(attribute: str, value: object):
    """An embedder needs a name and a length: they travel with its vectors."""
    custom = Custom(_unit)
    setattr(custom, attribute, value)
    with pytest.raises(InvalidInput, match=f"its {attribute} must be"):
        resolve(custom)


def test_resolve_openai(monkeypatch):
    """A spec "openai:MODEL" takes key and address from the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", "sesame")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    made = resolve("openai:text-embedding-3-small")
    assert made is not None
    assert made.dim == 1536


@pytest.mark.parametrize(
    "answer",
    [
        _unit,
        lambda n: _unit(n).astype(np.float64),
        lambda n: _unit(n).tolist(),
        lambda n: _unit(n) * 1.0005,
        lambda n: np.asfortranarray(_unit(n)),
    ],
)
def test_checked_accepts(answer: Callable[[int], Any]):
    """Other float types, lists and small errors of length are made right."""
    vectors = embed_checked(Custom(answer), ["a", "b", "c"])
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    assert vectors == pytest.approx(_unit(3), abs=1e-6)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (lambda n: _unit(n + 1), r"of shape \(3, 2\); expected .*\(2, 2\)"),
        (lambda n: _unit(n)[:, :1], "of shape"),
        (lambda n: _unit(n)[0], "of shape"),
        (lambda _: None, "of shape"),
        (lambda n: np.ones((n, 2), int), "returned int64"),
        (lambda n: _unit(n) * 1.01, "unit length"),
        (lambda n: _unit(n) * 0, "unit length"),
        (lambda n: _unit(n) * np.nan, "unit length"),
        (lambda n: _unit(n) * np.inf, "unit length"),
        (_raise, "custom failed: RuntimeError: CUDA out of memory"),
        (lambda _: [[1.0], [1.0, 2.0]], "custom failed: ValueError"),
    ],
)
def test_checked_refuses(answer: Callable[[int], Any], problem: str):
    """Every breach of the contract is an EmbedderError that names the embedder and the breach."""
    with pytest.raises(EmbedderError, match=problem) as caught:
        embed_checked(Custom(answer), ["a", "b"])
    assert "custom" in str(caught.value)


def test_checked_passes_our_errors_on():
    """An error of this family is not wrapped again."""

    def refuse(_: int) -> None:
        raise EmbedderError("mine")

    with pytest.raises(EmbedderError, match=r"^mine$"):
        embed_checked(Custom(refuse), ["a"])


def test_checked_without_texts():
    """No texts are no rows."""
    assert embed_checked(Custom(_unit), []).shape == (0, 2)


class Asymmetric(Custom):
    """A user's embedder that embeds questions otherwise."""

    def embed_queries(self, texts: Sequence[str]) -> Any:
        """Answer the other way round."""
        return self._answer(len(texts))[:, ::-1]


def test_questions_may_be_embedded_otherwise() -> None:
    """With a method for questions they go there, memories do not; without one both are alike."""
    assert embed_checked(Asymmetric(_unit), ["a"], queries=True).tolist() == [
        pytest.approx([0.8, 0.6])
    ]
    for embedder, queries in ((Asymmetric(_unit), False), (Custom(_unit), True)):
        (vector,) = embed_checked(embedder, ["a"], queries=queries)
        assert vector.tolist() == pytest.approx([0.6, 0.8])


def test_retrieve_asks_with_the_vector_of_a_question(tmp_path: Path) -> None:
    """The read path uses the method for questions, the write path the other."""

    class Swapped(HashEmbedder):
        def embed_queries(self, texts: Sequence[str]) -> Any:
            return self.embed(["kettle" for _ in texts])

    with MemoryManager(root=tmp_path, embedder=Swapped(64)) as memory:
        memory.add_many(["the kettle sings", "the piano sleeps"])
        assert memory.flush(wait=True)
        assert memory.retrieve("instrument")[0].text == "the kettle sings"
