"""The models that read messages: their files are whole, and a damaged one is named."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from memento.embed.onnx import MINILM
from memento.errors import EmbedderError
from memento.observe import change_reader, reader, slot_reader
from memento.observe.personal import SLOTS
from memento.observe.signals import Signal

READERS = {
    "reader": (reader, lambda: reader.Reader.load().read("My name is Ada. I live in Porto.")),
    "changes": (change_reader, lambda: change_reader.ChangeReader.load().probability("a", "b")),
    "slots": (slot_reader, lambda: slot_reader.SlotReader.load().read("I live in Porto.")),
}
"""Stem of its files, to its module and to what reads something with it."""
FILES = [
    ("reader", "tokenizer.json"), ("reader", "model.onnx"), ("reader", "reader.onnx"),
    ("changes", "changes.onnx"), ("slots", "slots.onnx"),
]  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A copy of the models that may be damaged; the readers are loaded from it."""
    copied = Path(shutil.copytree(MINILM, tmp_path / "minilm"))
    for stem, (module, _) in READERS.items():
        monkeypatch.setattr(module, "MANIFEST", copied / f"{stem}.json")
        monkeypatch.setattr(module, "_loaded", module._loaded.__wrapped__)
    return copied


@pytest.mark.parametrize(("stem", "name"), FILES)
def test_one_changed_byte_is_named(folder, stem, name):
    """A file with one changed byte is refused at the first text, by its path."""
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(EmbedderError, match=rf"{name}: is damaged.*reinstall"):
        READERS[stem][1]()


@pytest.mark.parametrize("name", ["reader.onnx", "model.onnx", "tokenizer.json"])
def test_a_missing_file_is_named_and_may_come_back(folder, name):
    """It is refused at the first message, by its path; once it is there the same reader works."""
    (folder / name).rename(folder / "away")
    made = reader.Reader.load()
    with pytest.raises(EmbedderError, match=rf"{name}: cannot be read.*reinstall"):
        made.read("My name is Ada.")
    (folder / "away").rename(folder / name)
    assert list(made.read("My name is Ada.").statements())


@pytest.mark.parametrize("stem", READERS)
@pytest.mark.parametrize("content", [None, "", "[]", "{}"])
def test_a_bad_manifest_is_named(folder, stem, content):
    """A missing or meaningless manifest is refused when the reader is made."""
    (folder / f"{stem}.json").unlink()
    if content is not None:
        (folder / f"{stem}.json").write_text(content)
    with pytest.raises(EmbedderError, match=rf"{stem}\.json: cannot be read .*reinstall"):
        READERS[stem][1]()


@pytest.mark.parametrize(
    ("stem", "content", "said"),
    [
        ("reader", '{"sha256": {}}', "cannot be read .*reinstall"),
        ("reader", '{"classes": ["x"], "sha256": {}}', "cannot be read .*reinstall"),
        ("slots", '{"sha256": {}}', "belongs to another version"),
        ("slots", '{"slots": ["x"], "sha256": {}}', "belongs to another version"),
    ],
)
def test_a_manifest_of_another_version_is_named(folder, stem, content, said):
    """It must say for which classes or slots its weights are."""
    (folder / f"{stem}.json").write_text(content)
    with pytest.raises(EmbedderError, match=rf"{stem}\.json: {said}"):
        READERS[stem][1]()


@pytest.mark.parametrize("stem", READERS)
def test_the_files_are_whole_and_small(stem):
    """The manifest names what is there; the word embeddings are those of the embedder."""
    manifest = json.loads((MINILM / f"{stem}.json").read_text())
    for name, digest in manifest["sha256"].items():
        assert hashlib.sha256((MINILM / name).read_bytes()).hexdigest() == digest
    told = {"reader": set(map(str, Signal)), "slots": {*SLOTS}, "changes": set()}[stem]
    assert {*manifest.get("classes", ()), *manifest.get("slots", ())} == told
    assert (MINILM / f"{stem}.onnx").stat().st_size < 15_000_000
