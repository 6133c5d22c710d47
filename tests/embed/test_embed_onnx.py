"""The embedder of the package: its files, its windows, its meaning, its processes."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from memento.embed.onnx import MINILM, OnnxEmbedder, default_embedder
from memento.errors import EmbedderError, InvalidInput

if TYPE_CHECKING:
    from memento.protocols import Embedder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the model that may be damaged."""
    return Path(shutil.copytree(MINILM, tmp_path / "minilm"))


def test_identity():
    """The name tells the model and its weights, and the default is made once."""
    manifest = json.loads((MINILM / "manifest.json").read_text())
    embedder = default_embedder()
    assert embedder.name == f"all-MiniLM-L6-v2-int8@{manifest['sha256']['model.onnx'][:12]}"
    assert embedder.dim == 384
    assert default_embedder() is embedder


def test_query_is_not_padded():
    """A question of 9 word pieces is 11 ids, not 128."""
    assert [
        len(ids) for ids in default_embedder().tokenize("where are the keys of the old car?")
    ] == [11]


def test_windows_cover_a_text_whole():
    """Up to eight windows, every token of a text is in one of them."""
    embedder = default_embedder()
    text = " ".join(f"word{i}" for i in range(500))
    windows = embedder.tokenize(text)
    assert 1 < len(windows) <= 8
    assert all(len(ids) == 256 for ids in windows)
    seen = {token for ids in windows for token in ids}
    whole = OnnxEmbedder(MINILM, max_tokens=512, max_windows=100).tokenize(text)
    assert seen == {token for ids in whole for token in ids}


def test_very_long_text_is_sampled_from_start_to_end():
    """Beyond eight windows the text is sampled evenly, its beginning and its end included."""
    windows = default_embedder().tokenize("alpha " + "filler " * 20_000 + "omega")
    ((_, alpha, omega, _),) = default_embedder().tokenize("alpha omega")
    assert len(windows) == 8
    assert windows[0][1] == alpha
    assert windows[-1][-2] == omega


def test_vector_does_not_depend_on_company_at_all():
    """Beside any other texts the bytes of a vector stay the same."""
    embedder = default_embedder()
    texts = ["short", "a somewhat longer text about gardening in spring", "x " * 400]
    together = embedder.embed(texts)
    assert all(
        np.array_equal(embedder.embed([text])[0], row)
        for text, row in zip(texts, together, strict=True)
    )


PARAPHRASES = [
    ("How do I reset my password?", "I forgot my login credentials", "The soup needs more salt"),
    ("Rami is allergic to peanuts", "He cannot eat nuts", "The train leaves at nine"),
    ("We moved the meeting to Friday", "The call was rescheduled", "My dog likes swimming"),
    ("The server ran out of memory", "The process was killed by the OOM killer", "Happy birthday!"),
]


@pytest.mark.parametrize(("text", "near", "far"), PARAPHRASES)
def test_meaning(text: str, near: str, far: str):
    """A paraphrase without shared words is closer than an unrelated text."""
    vector, close, distant = default_embedder().embed([text, near, far])
    assert vector @ close > vector @ distant + 0.1


def test_agrees_with_the_official_weights(sentence_transformer: Embedder):
    """The int8 vectors keep a cosine above 0.96, 0.985 on average, to the float32 ones."""
    texts = [text for triple in PARAPHRASES for text in triple]
    cosines = (default_embedder().embed(texts) * sentence_transformer.embed(texts)).sum(axis=1)
    assert cosines.min() > 0.96
    assert cosines.mean() > 0.985


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_one_changed_byte_is_named(folder: Path, name: str):
    """A file with one changed byte is refused at the first text, by its path."""
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    embedder = OnnxEmbedder(folder)
    with pytest.raises(EmbedderError, match=rf"{name}: is damaged.*reinstall"):
        embedder.embed(["text"])


@pytest.mark.parametrize("content", [None, "", "[]", "{}", '{"sha256": {"model.onnx": "1"}}'])
def test_bad_manifest_is_named(folder: Path, content: str | None):
    """A missing or meaningless manifest is refused when the embedder is made."""
    (folder / "manifest.json").unlink()
    if content is not None:
        (folder / "manifest.json").write_text(content)
    with pytest.raises(EmbedderError, match=r"manifest\.json"):
        OnnxEmbedder(folder)


def test_model_that_does_not_load_is_explained(folder: Path):
    """Files that match their manifest but are no model give an error of ours."""
    (folder / "model.onnx").write_bytes(b"no model")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["sha256"]["model.onnx"] = hashlib.sha256(b"no model").hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(EmbedderError, match="cannot load the model"):
        OnnxEmbedder(folder).embed(["text"])


@pytest.mark.parametrize(
    "option",
    [{"threads": 0}, {"max_tokens": 15}, {"max_tokens": 513}, {"max_windows": 1}, {"threads": "2"}],
    ids=str,
)
def test_options_out_of_range(option: dict[str, int]):
    """An option out of its range is refused by its name."""
    with pytest.raises(InvalidInput, match=rf"^{next(iter(option))}:"):
        OnnxEmbedder(MINILM, **option)


def _child(embedder: OnnxEmbedder, answers: multiprocessing.SimpleQueue) -> None:
    answers.put(embedder.embed(["after the fork"]).tobytes())


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_fork():
    """A forked child of a process that has embedded loads a session of its own and agrees."""
    embedder = OnnxEmbedder(MINILM)
    expected = embedder.embed(["after the fork"]).tobytes()
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=_child, args=(embedder, answers))
    child.start()
    assert answers.get() == expected
    child.join()
    assert child.exitcode == 0


def test_importing_and_naming_load_no_model():
    """Importing the package loads no numpy; naming the default loads no onnxruntime."""
    code = (
        "import sys, memento.embed as embed\n"
        "assert 'numpy' not in sys.modules, 'numpy'\n"
        "print(embed.resolve('default').name)\n"
        "assert not {'onnxruntime', 'tokenizers'} & sys.modules.keys(), 'model libraries'\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.startswith("all-MiniLM-L6-v2-int8@")


@pytest.mark.usefixtures("minilm_folder")
def test_committed_model_is_what_the_script_builds(tmp_path: Path):
    """Building from the official weights gives the committed files, byte for byte."""
    pytest.importorskip("onnx", reason="pip install onnx safetensors")
    script = Path(__file__).parents[2] / "scripts" / "build_minilm.py"
    subprocess.run(
        [sys.executable, str(script), "--out", str(tmp_path)], check=True, capture_output=True
    )
    for path in sorted(tmp_path.iterdir()):
        assert path.read_bytes() == (MINILM / path.name).read_bytes(), path.name


def test_onnxruntime_is_told_not_to_report_before_it_is_imported(tmp_path):
    """Its variable is set when the library is loaded, and its events are switched off as well."""
    code = """
        import os, sys, types
        class Watched(types.ModuleType):
            def __getattr__(self, name):
                if name == "disable_telemetry_events":
                    return lambda: print("switched off")
                raise AttributeError(name)
        class Finder:
            def find_spec(self, name, *_):
                if name == "onnxruntime":
                    print("imported with", os.environ.get("ORT_DISABLE_TELEMETRY"))
                    sys.modules[name] = Watched(name)
                    raise ImportError("seen")
        sys.meta_path.insert(0, Finder())
        from memento.embed.onnx import MINILM
        from memento.embed.session import _open
        for _ in range(2):
            try:
                _open(MINILM, "model.onnx", 1)
            except (ImportError, AttributeError):
                pass
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    assert done.stdout == "imported with 1\nswitched off\n"
