"""The rerankers that come with memento, over the official MiniLM weights, offline."""

from __future__ import annotations

import numpy as np
import pytest

from memento.embed.rerankers import CrossEncoderReranker, LateInteraction
from memento.errors import InvalidInput, MissingExtra
from memento.protocols import Reranker


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """Nothing may be downloaded."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="module")
def late(minilm_folder, sentence_transformer):  # noqa: ARG001 - skips where none is installed
    """Make a reranker that keeps two texts."""
    return LateInteraction(minilm_folder, device="cpu", kept=2)


TEXTS = ["The stock market fell on Monday", "Rami must not eat nuts", "He parked the car"]


def test_the_answer_scores_highest(late):
    """Of three texts the one that answers is liked best; scores are cosines."""
    assert isinstance(late, Reranker)
    scores = late.score("What food is Rami allergic to?", TEXTS)
    assert scores.argmax() == 1
    assert scores.dtype == np.float32
    assert (np.abs(scores) <= 1).all()


def test_a_score_hangs_on_its_text_alone(late):
    """Neither the texts beside it nor what is kept in RAM changes a score by much."""
    question = "Who parked?"
    together = late.score(question, TEXTS)
    alone = [late.score(question, [text])[0] for text in TEXTS]
    assert together == pytest.approx(alone, abs=2e-3)
    assert late.score(question, TEXTS[::-1]) == pytest.approx(together[::-1], abs=2e-3)
    assert len(late._kept) == 2


def test_a_text_is_at_its_nearest_to_itself(late):
    """Asked with a text of the list, that text scores 1; a blank one scores 0."""
    assert late.score(TEXTS[0], [TEXTS[0]]) == pytest.approx([1], abs=2e-3)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: LateInteraction("any", kept=-1), "kept"),
        (lambda: CrossEncoderReranker("any", batch_size=0), "batch_size"),
    ],
)
def test_bad_sizes_are_refused(make, field):
    """An impossible size is named before any model is loaded."""
    with pytest.raises(InvalidInput) as caught:
        make()
    assert caught.value.field == field


@pytest.mark.parametrize("kind", [LateInteraction, CrossEncoderReranker])
def test_without_the_package_it_says_what_to_install(kind, monkeypatch):
    """The error names the extra."""
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    with pytest.raises(MissingExtra, match="sentence-transformers"):
        kind("any")
