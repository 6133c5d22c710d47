"""A process that lacks a home, a stream, a short path, or a name in UTF-8."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from eventually import until

from memento import MemoryManager
from memento.errors import InvalidInput, StoreUnusable
from memento.testing import HashEmbedder

FULL = Path("/dev/full")
MEMENTO = f"'{sys.executable}' -m memento"
SUM = b"-  1 memory, 0 links, 0 events\n"


@pytest.fixture
def shell(tmp_path):
    """Run a line of the shell in an empty folder, with one memory in the store."""
    environment = os.environ | {
        "MEMENTO_ROOT": str(tmp_path / "store"),
        "MEMENTO_EMBEDDER": "none",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    here = tmp_path / "here"
    here.mkdir()
    with MemoryManager(tmp_path / "store", embedder=None) as memory:
        memory.add("Tea is served at four.", id="the-first-memory")

    def run(line):
        return subprocess.run(  # noqa: S602 - the shell is what is tested
            line, shell=True, cwd=here, env=environment, capture_output=True, check=False
        )

    return run


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "command", ["list", "list --json", "export -", "doctor", "--help", "mcp --print-tools"]
)
def test_a_full_disk_behind_the_output_is_one_line(shell, command):
    """Output that cannot be written is one line that gives the reason, and status 5."""
    done = shell(f"{MEMENTO} {command} > {FULL}")
    assert done.stderr == b"memento: cannot write the output: No space left on device\n"
    assert done.returncode == 5


@pytest.mark.parametrize("command", ["list", "export -", "add 'Coffee is served at nine.'"])
def test_a_closed_output_is_one_line(shell, command):
    """Without an output the work is done, and what could not be printed is reported."""
    done = shell(f"{MEMENTO} {command} >&-")
    assert done.stderr == b"memento: cannot write the output: Bad file descriptor\n"
    assert done.returncode == 5


@pytest.mark.parametrize("streams", ["2>&-", "<&-", "<&- 2>&-"])
def test_other_closed_streams_do_not_matter(shell, streams):
    """The output is complete if nothing can be read or reported."""
    assert b"Tea is served at four." in shell(f"{MEMENTO} list {streams}").stdout


def test_a_reader_that_has_read_enough_sees_no_error(shell):
    """A pipe that closes early ends the command without a word but the sum, if all was written."""
    assert shell(f"{MEMENTO} export - | head -c 1").stderr in (b"", SUM)


@pytest.mark.parametrize(
    "changed",
    [
        "env -u HOME",
        "HOME=/nonexistent",
        "HOME=/proc/1",
        "TMPDIR=/nonexistent",
        "LANG=C PYTHONIOENCODING=ascii",
        "umask 0777;",
        "cd /;",
    ],
)
def test_a_store_works_in_an_odd_environment(shell, tmp_path, changed):
    """No command needs a home, a place for temporary files, UTF-8 or a mask for files."""
    root = f"--root '{tmp_path}/new/store'"
    added = shell(f"{changed} {MEMENTO} add 'Zo\u00eb drinks tea.' {root} --json")
    assert json.loads(added.stdout)["text"].endswith("drinks tea.")
    for command in (f"backup {tmp_path}/copy", f"export {tmp_path}/lines", "doctor", "list"):
        done = shell(f"{changed} {MEMENTO} {command} {root}")
        assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("name", [b"\xff", b"caf\xe9", b"\xf0\x9f"])
def test_a_path_need_not_be_utf_8(tmp_path, name):
    """Stores, backups and exports work under names of any bytes."""
    root, backup, export = (tmp_path / os.fsdecode(name + end) for end in (b"", b".b", b".jsonl"))
    with MemoryManager(root, embedder=None) as memory:
        memory.add("Tea is served at four.")
        memory.store.backup(backup)
        memory.store.export(export)
        assert [one for one in memory.store.doctor() if not one.ok] == []
    with MemoryManager(root, embedder=None) as memory:
        assert len(memory.list()) == 1
    assert backup.exists()
    assert export.exists()


@pytest.mark.parametrize("name", [b"\xff", b"caf\xe9", b"caf\xc3\xa9"])
def test_the_index_works_under_a_name_that_is_not_utf_8(tmp_path, name):
    """Chroma takes names in UTF-8 alone: it is given another one, and finds what it has again."""
    root = tmp_path / os.fsdecode(name)
    for number in range(2):
        with MemoryManager(root, embedder=HashEmbedder(32)) as memory:
            memory.add(f"Tea number {number} is served at four.", "long")
            memory.store.reindex()
            assert memory.flush(wait=True, timeout=60)
            assert memory.store.stats().long == "ready"
            assert len(memory.retrieve("tea at four", wait=30)) == number + 1
        assert not any(one.name.startswith("chroma.bad") for one in root.iterdir())
    # Chroma's threads close the last of their connections some milliseconds after the client.
    until(lambda: not any(str(root) in one for one in files_open()))


def files_open() -> list[str]:
    """Name the files that this process has open."""
    named = []
    for one in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            named.append(str(one.readlink()))
    return named


def long_folder(under: Path, length: int) -> Path:
    """Return a path of so many bytes."""
    while length - len(os.fsencode(under)) > 202:
        under /= "\u8bb0" * 66
    return under / ("x" * (length - len(os.fsencode(under)) - 1))


def test_a_path_may_be_480_bytes_long(tmp_path):
    """The longest path that is accepted works."""
    with MemoryManager(long_folder(tmp_path, 480), embedder=None) as memory:
        memory.store.backup(tmp_path / "copy")


@pytest.mark.parametrize("length", [481, 520, 1200])
@pytest.mark.parametrize("linked", [False, True])
def test_a_longer_path_is_refused_with_the_reason(tmp_path, length, linked):
    """A longer path, also behind a link, is refused before anything is made, and says why."""
    root = long_folder(tmp_path, length)
    if linked:
        root.mkdir(parents=True)
        (tmp_path / "link").symlink_to(root)
    with pytest.raises(StoreUnusable, match=f"{length} bytes.* 480 "):
        MemoryManager(tmp_path / "link" if linked else root, embedder=None)
    assert linked or not root.exists()


@pytest.mark.parametrize("name", ["x" * 256, "\u8bb0" * 86, "/".join(["x" * 200] * 25)])
def test_a_name_that_no_folder_can_have_is_refused(tmp_path, name):
    """A part of more than 255 bytes, or a path of more than 4,095, is an error of the argument."""
    with pytest.raises(InvalidInput, match="is too long"):
        MemoryManager(tmp_path / name, embedder=None)


@pytest.mark.parametrize("line", ["add 'Tea'", "add 'Tea' --root other"])
def test_a_removed_working_folder_asks_for_an_absolute_path(shell, line):
    """In a folder that was removed, a relative root is refused with what to do."""
    done = shell(f"unset MEMENTO_ROOT; mkdir gone; cd gone; rmdir ../gone; {MEMENTO} {line}")
    assert b"specify an absolute path" in done.stderr
    assert done.returncode == 2


@pytest.mark.parametrize("part", ["the-fi", "memory"])
def test_erase_names_the_whole_id_of_a_part(shell, part):
    """Erase takes no part of an id, and says which id it is a part of."""
    done = shell(f"{MEMENTO} erase {part} --yes")
    assert b"erase requires complete ids" in done.stderr
    assert b"the-first-memory" in done.stderr
    assert b"four" in shell(f"{MEMENTO} list").stdout
