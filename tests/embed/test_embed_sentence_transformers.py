"""The sentence-transformers embedder with the official MiniLM weights, offline."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memento.embed import resolve
from memento.embed.sentence_transformers import SentenceTransformerEmbedder
from memento.errors import EmbedderError, InvalidInput, MissingExtra


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """Nothing may be downloaded."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def test_identity_of_a_folder(minilm_folder: Path, sentence_transformer, tmp_path: Path):
    """The name of a folder's model changes with its configuration, not with its place."""
    folder = Path(shutil.copytree(minilm_folder, tmp_path / "model"))
    assert SentenceTransformerEmbedder(folder, device="cpu").name == sentence_transformer.name
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 64}')
    assert SentenceTransformerEmbedder(folder, device="cpu").name != sentence_transformer.name


def test_resolve(minilm_folder: Path, sentence_transformer):
    """A specification with a folder makes the same embedder."""
    made = resolve(f"sentence-transformers:{minilm_folder}")
    assert made is not None
    assert (made.name, made.dim) == (sentence_transformer.name, 384)


def test_prompt_is_part_of_text_and_name(minilm_folder: Path, sentence_transformer):
    """A prompt is put before every text, and vectors with and without it do not mix."""
    prompted = SentenceTransformerEmbedder(minilm_folder, device="cpu", prompt="query: ")
    (with_prompt,) = prompted.embed(["tea"])
    assert with_prompt == pytest.approx(sentence_transformer.embed(["query: tea"])[0], abs=1e-5)
    assert prompted.name != sentence_transformer.name


def test_a_question_may_have_a_prompt_of_its_own(minilm_folder: Path, sentence_transformer):
    """Questions get theirs and memories none; stored vectors stay those of the same model."""
    asking = SentenceTransformerEmbedder(minilm_folder, device="cpu", query_prompt="query: ")
    assert asking.name == sentence_transformer.name
    (asked,) = asking.embed_queries(["tea"])
    assert asked == pytest.approx(sentence_transformer.embed(["query: tea"])[0], abs=1e-5)
    (kept,) = asking.embed(["tea"])
    assert kept == pytest.approx(sentence_transformer.embed(["tea"])[0], abs=1e-5)


def test_pieces_fit_the_window(sentence_transformer):
    """No window of a text of many word pieces is longer than the model sees."""
    text = "antidisestablishmentarianism 我喜欢喝绿茶 " * 200
    tokenizer = sentence_transformer._model.tokenizer
    pieces = sentence_transformer._pieces(text)
    assert len(pieces) == 8
    assert max(len(tokenizer(piece)["input_ids"]) for piece in pieces) <= 256


def test_no_such_model(tmp_path: Path):
    """A folder without a model is an error of ours that says what to give."""
    pytest.importorskip(
        "sentence_transformers", reason="pip install 'agent-memento[sentence-transformers]'"
    )
    with pytest.raises(EmbedderError, match="specify the name of a model"):
        SentenceTransformerEmbedder(tmp_path)


@pytest.mark.parametrize(
    ("field", "value"), [("batch_size", 0), ("max_windows", 1), ("prompt", "word " * 300)]
)
def test_options_out_of_range(minilm_folder: Path, field: str, value: object):
    """An option out of its range is refused by its name."""
    with pytest.raises(InvalidInput, match=rf"^{field}:"):
        SentenceTransformerEmbedder(minilm_folder, device="cpu", **{field: value})


def test_without_the_extra(monkeypatch):
    """Without sentence-transformers the error is the install line."""
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    with pytest.raises(MissingExtra, match=r"agent-memento\[sentence-transformers\]"):
        resolve("sentence-transformers:any")
