"""Every embedder of the package keeps every promise of an embedder."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest

from memento.embed import embed_checked, resolve
from memento.errors import InvalidInput

if TYPE_CHECKING:
    from memento.protocols import Embedder

TEXTS = [
    "The cat sleeps on the warm windowsill.",
    "Quarterly revenue grew by four percent.",
    "x",
    "Where did we put the spare keys?",
    "The deployment failed because the certificate had expired. " * 12,
]
LONG = "\n".join(f"Entry {i}: nothing happened on that day." for i in range(2500))
ODD = [
    "naïve café — Ærøskøbing",
    "🎉🎉🎉",
    "我喜欢喝绿茶",
    "東京タワーに行きました",
    "한국어 문장",
    "שלום עולם",
    "مرحبا بالعالم",
    "é" + "́" * 50,
    "\u200b",
    "\n\t ",
    "!?…",
    "a" * 5000,
    "tab\tand\x00nul",
]


def test_is_an_embedder(embedder: Embedder):
    """It satisfies the protocol and ``resolve`` takes it as it is."""
    assert resolve(embedder) is embedder


def test_shape_type_and_length(embedder: Embedder):
    """Rows match texts, in float32 and of unit length."""
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dim)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_checked_changes_nothing(embedder: Embedder):
    """A keeper of the contract passes the check unchanged."""
    assert embed_checked(embedder, TEXTS) == pytest.approx(embedder.embed(TEXTS), abs=1e-6)


def test_is_deterministic(embedder: Embedder):
    """The same texts give the same bytes."""
    assert np.array_equal(embedder.embed(TEXTS), embedder.embed(TEXTS))


def test_company_does_not_matter(embedder: Embedder):
    """A text has the same vector alone, in another order and beside other texts."""
    together = embedder.embed(TEXTS)
    assert embedder.embed(TEXTS[::-1])[::-1] == pytest.approx(together, abs=1e-5)
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    assert alone == pytest.approx(together, abs=1e-5)


def test_no_texts(embedder: Embedder):
    """No texts give no rows, with the right width."""
    vectors = embedder.embed([])
    assert vectors.shape == (0, embedder.dim)
    assert vectors.dtype == np.float32


def test_long_text_is_one_unit_vector(embedder: Embedder):
    """A text of 100,000 characters is one vector of unit length."""
    vectors = embedder.embed([LONG, "short"])
    assert vectors.shape == (2, embedder.dim)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_long_text_is_not_cut(embedder: Embedder):
    """The end of a long text changes its vector."""
    ending = "The safe is behind the painting of the lighthouse. " * 40
    before, after = embedder.embed([LONG, LONG[: -len(ending)] + ending])
    assert float(before @ after) < 0.9999


@pytest.mark.parametrize("text", ODD, ids=ascii)
def test_odd_text(embedder: Embedder, text: str):
    """Any script, symbol or control character gives a unit vector."""
    (vector,) = embedder.embed([text])
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("texts", ["one text", ["fine", ""], [None], ["\ud800"]], ids=ascii)
def test_refuses_what_is_no_text(embedder: Embedder, texts: list[str]):
    """A bare string, an empty text, a non-text and a lone surrogate are refused by name."""
    with pytest.raises(InvalidInput, match=r"^texts:"):
        embedder.embed(texts)


def test_eight_threads(embedder: Embedder):
    """Eight threads at once get what one thread gets."""
    expected = embedder.embed(TEXTS)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: embedder.embed(TEXTS), range(16)))
    assert all(answer == pytest.approx(expected, abs=1e-5) for answer in answers)
