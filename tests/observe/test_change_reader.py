"""The reader of changes: its files, and what it has learnt."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from memento.embed.onnx import MINILM
from memento.errors import EmbedderError
from memento.observe import change_reader
from memento.observe.change_reader import ChangeReader

PAIR = "I live in Leeds", "Moved to Porto last month"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A copy of the model that may be damaged; the reader is loaded from it."""
    copied = Path(shutil.copytree(MINILM, tmp_path / "minilm"))
    monkeypatch.setattr(change_reader, "MINILM", copied)
    monkeypatch.setattr(change_reader, "MANIFEST", copied / "changes.json")
    monkeypatch.setattr(change_reader, "_loaded", change_reader._loaded.__wrapped__)
    return copied


@pytest.mark.parametrize("name", ["changes.onnx", "model.onnx", "tokenizer.json"])
def test_one_changed_byte_is_named(folder, name):
    """A file with one changed byte is refused at the first pair, by its path."""
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    made = ChangeReader.load()
    with pytest.raises(EmbedderError, match=rf"{name}: is damaged.*reinstall"):
        made.probability(*PAIR)


@pytest.mark.parametrize("content", [None, "", "[]", "{}"])
def test_a_bad_manifest_is_named(folder, content):
    """A missing or meaningless manifest is refused when the reader is made."""
    (folder / "changes.json").unlink()
    if content is not None:
        (folder / "changes.json").write_text(content)
    with pytest.raises(EmbedderError, match=r"changes\.json: cannot be read .*reinstall"):
        ChangeReader.load()


def test_the_files_are_whole_and_small():
    """The manifest names what is there; the word embeddings are those of the embedder."""
    manifest = json.loads(change_reader.MANIFEST.read_text())
    for name, digest in manifest["sha256"].items():
        assert hashlib.sha256((MINILM / name).read_bytes()).hexdigest() == digest
    assert (MINILM / "changes.onnx").stat().st_size < 15_000_000


@pytest.mark.parametrize(
    ("older", "newer", "changed"),
    [
        (*PAIR, True),
        ("My line manager is Ottilie Kern", "Ottilie has retired, Benno runs it all now", True),
        ("Stand-up is at 9:15 every day", "Moved stand-up to quarter to ten", True),
        ("My dog is called Rex", "We got a second dog, Luna", False),
        ("I live in Leeds", "My sister moved to Porto last month", False),
        ("Pump 3 was sold to Ruiz", "Pump 7 was sold to Ode", False),
        ("I drink my tea black", "The trustees voted to open on Mondays", False),
    ],
)
def test_clear_pairs_are_read_rightly(older, newer, changed):
    """Whatever weights it was built with."""
    assert (ChangeReader.load().probability(older, newer) >= 0.5) is changed
    assert ChangeReader.load().probability(older, "x" * 100_000) < 1


def test_a_long_statement_is_cut():
    """It is read up to the length of training."""
    long = "word " * 10_000
    assert 0 < ChangeReader.load().probability(long, long) < 1
