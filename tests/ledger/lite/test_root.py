"""The folder of a store: private, its own, and nobody else's file is touched in it."""

from __future__ import annotations

import os
import resource

import pytest

from memento import MemoryManager
from memento.errors import MementoError, StoreError, StoreUnusable
from memento.ledger.lite.reserve import SIZE
from memento.testing import HashEmbedder
from memento.upkeep.backup import restore

FOREIGN = ["thesis.docx", "reserve", "poetry.lock", "src", "ledger.sqlite", ".bashrc"]


@pytest.fixture
def folder(tmp_path):
    """A folder that was there before, open to all."""
    made = tmp_path / "there"
    made.mkdir()
    made.chmod(0o777)
    return made


def contents(folder):
    """Read the names and bytes of a folder's files."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_folder_with_other_files_is_refused_and_left_as_it_is(folder, name):
    """The error names the file and a place to go; constructing alone leaves nothing."""
    (folder / name).write_text("mine")
    with pytest.raises(StoreUnusable, match=f"{name}.*agent_memory"):
        MemoryManager(folder)
    assert contents(folder) == {name: b"mine"}
    assert folder.stat().st_mode & 0o777 == 0o777


@pytest.mark.parametrize("place", ["/usr", "/", "~"])
def test_well_known_places_are_refused(place):
    """The system's folders and one's home are no store, and get no files."""
    root = os.path.expanduser(place)  # noqa: PTH111 - as the shell does it
    before = sorted(os.listdir(root))  # noqa: PTH208 - of any place
    if not before:
        pytest.skip(f"{root} is empty here")
    with pytest.raises(StoreUnusable, match="contains other files"):
        MemoryManager(root)
    assert sorted(os.listdir(root)) == before  # noqa: PTH208 - of any place


def test_a_restore_is_refused_there_too(memory, folder, tmp_path):
    """A backup is not unpacked among other files."""
    memory.store.backup(tmp_path / "backup.db")
    (folder / "thesis.docx").write_text("mine")
    with pytest.raises(StoreUnusable, match="contains other files"):
        restore(tmp_path / "backup.db", folder)
    assert contents(folder) == {"thesis.docx": b"mine"}


def test_a_folder_that_was_there_becomes_private(folder, open_memory):
    """Also with what version control, desktops and file systems leave in it."""
    (folder / "lost+found").mkdir()
    for name in (".gitignore", ".gitkeep", ".DS_Store"):
        (folder / name).touch()
    open_memory(folder)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_store_that_was_open_to_others_becomes_private(folder, open_memory):
    """Each opening looks, not the first alone."""
    open_memory(folder).close()
    folder.chmod(0o755)
    open_memory(folder)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_store_beside_other_files_is_opened_and_keeps_its_mode(folder, open_memory, caplog):
    """It may be somebody's home, with a store from before such places were refused."""
    open_memory(folder).add("kept")
    (folder / "thesis.docx").touch()
    folder.chmod(0o755)
    assert [one.text for one in open_memory(folder).list()] == ["kept"]
    assert folder.stat().st_mode & 0o777 == 0o755
    assert "its mode was not changed" in caplog.text


def test_a_folder_of_another_user_is_refused(folder, monkeypatch):
    """Its owner could open it again at any time."""

    def refuse(*_args, **_options):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(type(folder), "chmod", refuse)
    with pytest.raises(StoreUnusable, match="cannot be made private"):
        MemoryManager(folder)
    assert contents(folder) == {}


LINKS = ["ledger.db", "ledger.db-wal", "reserve", "writer.lock", "chroma.lock", "chroma.json.tmp",
         "chroma.json", "short.json", "chroma"]  # fmt: skip


@pytest.mark.parametrize("name", LINKS)
def test_a_planted_link_is_refused(folder, name, tmp_path):
    """No new store begins in a folder in which somebody put a link under one of its names."""
    (tmp_path / "victim").write_text("precious")
    (folder / name).symlink_to(tmp_path / "victim")
    with pytest.raises(StoreUnusable):
        MemoryManager(folder, embedder=None)
    assert (tmp_path / "victim").read_text() == "precious"


@pytest.mark.parametrize("name", ["reserve", "chroma.json.tmp", "short.json"])
def test_a_link_put_into_a_store_later_is_not_followed(tmp_path, name):
    """The file that the link points to stays as it is after any write under that name."""
    root, victim = tmp_path / "store", tmp_path / "victim"
    with MemoryManager(root, embedder=None) as memory:
        memory.add("before")
    victim.write_text("precious")
    (root / name).unlink(missing_ok=True)
    (root / name).symlink_to(victim)
    with MemoryManager(root, embedder=HashEmbedder(8)) as memory:
        memory.add("after", "long")
        memory.add("a turn", "short")
        assert memory.flush(wait=True, timeout=30)
        said = [found.check for found in memory.store.doctor() if not found.ok]
    assert said == {"reserve": ["reserve"], "short.json": ["other files"]}.get(name, [])
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("content", [b"my own", os.urandom(2 * SIZE)], ids=["small", "large"])
def test_a_reserve_the_store_did_not_make_is_never_written(memory, content):
    """Neither filled nor emptied; doctor says why there is no room aside."""
    path = memory.store.root / "reserve"
    path.unlink()
    path.write_bytes(content)
    ledger = memory._engine.ledger
    ledger.keep_reserve()
    assert not ledger._reserve.give_back()
    assert path.read_bytes() == content
    assert [f.check for f in memory.store.doctor() if not f.ok] == ["reserve"]


def test_a_link_to_nothing_makes_no_file_elsewhere(folder, tmp_path):
    """Not even an empty one."""
    (folder / "ledger.db").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError):
        MemoryManager(folder, embedder=None)
    assert not (tmp_path / "elsewhere").exists()


def test_a_ledger_that_is_a_link_to_a_ledger_is_used(tmp_path, open_memory):
    """Somebody may keep the file on another disk; its log is beside the file, not the link."""
    open_memory(tmp_path / "real").close()
    (tmp_path / "linked").mkdir()
    open_memory(tmp_path / "linked").close()
    (tmp_path / "linked" / "ledger.db").unlink()
    (tmp_path / "linked" / "ledger.db").symlink_to(tmp_path / "real" / "ledger.db")
    assert open_memory(tmp_path / "linked").add("kept").text == "kept"


@pytest.mark.parametrize("left", [0, 1, 2, 3, 4, 6, 8, 12])
def test_erasing_with_few_descriptors_erases_or_says_what_is_pending(open_memory, left):
    """A typed error and nothing erased, or a receipt; with descriptors again it is finished."""
    memory = open_memory(embedder=HashEmbedder(8))
    memory.add("to be erased", "long", id="gone")
    memory.add("a turn", "short", id="turn")
    assert memory.flush(wait=True, timeout=30)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = max(int(name) for name in os.listdir("/proc/self/fd")) + 1  # noqa: PTH208 - not files
    spare = [os.dup(0) for _ in range(used - len(os.listdir("/proc/self/fd")))]  # noqa: PTH208
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + left, limits[1]))
    try:
        receipt = memory.store.erase("gone", timeout=0)
    except MementoError:
        assert memory.get("gone").text == "to be erased"
    else:
        assert receipt.ids == ("gone",)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for descriptor in spare:
            os.close(descriptor)
    if len(memory.list()) == 1:  # the turn alone: the other was erased
        memory.flush(wait=True, timeout=30)
        assert memory._engine._eraser.wait(60) == {}


def test_the_second_name_of_a_restored_ledger_is_removed(memory, open_memory):
    """A restore that is killed just after it named the ledger leaves the draft's name as well."""
    root = memory.store.root
    memory.add("kept", id="k")
    memory.close()
    second = root / ".ledger.db.0123abcd.tmp"
    other = root / ".ledger.db.4567cdef.tmp"
    second.hardlink_to(root / "ledger.db")
    other.write_bytes(b"the draft of one that is at work")
    with open_memory(root) as again:
        assert again.get("k").text == "kept"
    assert not second.exists()
    assert other.exists()
