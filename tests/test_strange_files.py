"""What stands where a file is expected is waited for by nobody, whoever put it there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memento import MemoryManager
from memento.embed.onnx import MINILM
from memento.errors import StoreUnusable

LOOK = {
    "projects": "from memento.agents.project import project_scope as see\n"
    "for one in sorted(path.iterdir()): print(one.name, see(one / 'shop'), flush=True)",
    "ingest": "from memento.ingest import read; list(read(path, 'text'))",
    "detect": "from memento.ingest import detect; detect(path)",
    "import": "from memento import MemoryManager as M; M(path.parent / 's', embedder=None).store"
    ".import_from(path)",
    "model": "from memento.embed.onnx import OnnxEmbedder as E; E(path).embed(['a'])",
    "store": "from memento import MemoryManager as M\nfrom memento.cli import main\n"
    "main(['doctor', '--root', str(path)])\nwith M(path, embedder=None) as m: m.add('tea')",
}


def look(what, path, seconds=60):
    """Look at a path in a child, which can be ended when it waits; returns what it said."""
    run = f"import sys\nfrom pathlib import Path\npath = Path(sys.argv[1])\n{LOOK[what]}"
    done = subprocess.run(
        [sys.executable, "-c", run, str(path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
        capture_output=True,
        timeout=seconds,
        check=False,
    )
    return done.stdout + done.stderr


def pipe(path: Path) -> Path:
    """Put a pipe that nobody writes to where a file may stand."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    return path


def device(path: Path) -> Path:
    """Put a link to a device without an end where a file may stand."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")
    return path


STRANGE = pytest.mark.parametrize("put", [pipe, device])


@STRANGE
def test_a_project_is_named_whatever_its_git_folder_holds(tmp_path, put):
    """The settings, the pointer of a working tree, and what it points to."""
    for at, name in enumerate([".git", ".git/config", "main/config", "main/commondir"]):
        folder = tmp_path / str(at) / "shop"
        folder.mkdir(parents=True)
        if name.startswith("main"):
            (folder / ".git").write_text("gitdir: main\n")
        put(folder / name)
    assert look("projects", tmp_path) == "".join(f"{at} project/shop\n" for at in range(4))


@pytest.mark.parametrize("pad", [" ", "a@:/="])
def test_a_long_line_in_the_settings_of_a_project_is_read_once(tmp_path, pad):
    """A line of a megabyte is read in a moment, whatever it repeats."""
    lines = ["url = a{pad}!", "{pad}url{pad}=", "[{pad}", "url{pad}", "url ={pad}x", "{pad}"]
    for at, line in enumerate(lines):
        config = tmp_path / str(at) / "shop" / ".git" / "config"
        config.parent.mkdir(parents=True)
        said = line.format(pad=pad * (10**6 // len(pad)))
        config.write_text(f'[remote "origin"]\n{said}\n')
    assert [one.split()[0] for one in look("projects", tmp_path).splitlines()] == [*"012345"]


@STRANGE
@pytest.mark.parametrize("what", ["ingest", "detect", "import"])
def test_what_is_no_file_is_not_read_in(tmp_path, put, what):
    """A pipe or a device is refused with an error that says so."""
    said = look(what, put(tmp_path / "notes.jsonl"))
    assert "is not a regular file" in said or "is not a file" in said
    assert "memento.errors" in said.splitlines()[-1]


@STRANGE
@pytest.mark.parametrize("name", ["manifest.json", "model.onnx", "tokenizer.json"])
def test_a_model_that_is_no_file_is_not_waited_for(tmp_path, put, name):
    """The error says which file it is."""
    for file in MINILM.iterdir():
        (tmp_path / file.name).symlink_to(file)
    said = look("model", put(tmp_path / name).parent).splitlines()[-1]
    assert "EmbedderError" in said
    assert name in said


def test_a_store_ends_whatever_stands_in_place_of_its_files(tmp_path):
    """Each file of a store in turn is a pipe: the doctor ends, and so does opening it."""
    root = tmp_path / "store"
    with MemoryManager(root, embedder=None) as memory:
        memory.add("I drink green tea", "short", session="s", role="user")
    for file in sorted(path for path in root.rglob("*") if path.is_file()):
        held, name = file.read_bytes(), file.relative_to(root)
        pipe(file)
        assert look("store", root), f"nothing is said of {name}"
        file.unlink(missing_ok=True)
        file.write_bytes(held)


@pytest.mark.parametrize(
    ("target", "below", "reason"),
    [
        ("nowhere", "", "link to nowhere, which does not exist"),
        ("nowhere", "sub", "link to nowhere, which does not exist"),
        ("link", "", "points back to itself"),
        ("link", "sub", "points back to itself"),
    ],
)
def test_a_link_that_leads_nowhere_is_called_one(tmp_path, target, below, reason):
    """The reason is the link, not that something is there already."""
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(StoreUnusable, match=reason):
        MemoryManager(tmp_path / "link" / below, embedder=None)
