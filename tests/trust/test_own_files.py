"""Files of others that have names of the store's are neither taken over nor deleted."""

import logging
import shutil

import pytest
from eventually import until

from memento import MemoryManager
from memento.errors import StoreUnusable
from memento.testing import HashEmbedder

PRECIOUS = "somebody's own work\n" * 3
EMBEDDER = HashEmbedder(8)


def precious_in(root):
    """List the files below a folder that still hold somebody's own work."""
    found = (path for path in root.rglob("*") if path.is_file())
    return sorted(path for path in found if PRECIOUS.encode() in path.read_bytes())


def complaints(memory):
    """Return what doctor says is wrong."""
    return " ".join(found.detail for found in memory.store.doctor() if not found.ok)


def put(root, name):
    """Write a file of somebody's own into a folder."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(PRECIOUS)
    return path


@pytest.mark.parametrize(
    "name",
    [
        "chroma/mine.txt", "chroma.bad-old/keep.txt", "chroma.bad-20250101T000000000000Z/keep.txt",
        "chroma.txt", "chroma-notes.md", "chroma.json", "short.json", "short.json.mine",
        "ledger.db.mine", "ledger.db-wal",
    ],
)  # fmt: skip
def test_a_folder_without_a_ledger_is_not_taken_for_a_store(tmp_path, name):
    """A folder that holds somebody's file of such a name, and no ledger, is refused as it is."""
    path = put(tmp_path, name)
    with pytest.raises(StoreUnusable, match="agent_memory"):
        MemoryManager(tmp_path, embedder=None)
    assert precious_in(tmp_path) == [path]
    assert [p.name for p in tmp_path.iterdir()] == [name.split("/")[0]]


def test_chromas_own_default_folder_is_not_taken_for_a_store(tmp_path):
    """The database that `chromadb.PersistentClient` makes is refused, and is as it was."""
    chromadb = pytest.importorskip("chromadb")
    client = chromadb.PersistentClient(str(tmp_path / "chroma"))
    client.get_or_create_collection("mine").add(ids=["a"], documents=[PRECIOUS], embeddings=[[1.0]])
    with pytest.raises(StoreUnusable, match=r"chroma but no ledger\.db"):
        MemoryManager(tmp_path, embedder=EMBEDDER)
    assert client.get_collection("mine").count() == 1


def test_what_is_left_of_a_store_without_its_ledger_is_refused(tmp_path):
    """A lost ledger is said, with what to do; no empty store takes its place unasked."""
    root = tmp_path / "store"
    with MemoryManager(root, embedder=EMBEDDER) as memory:
        memory.add("the boat is called Ada", "long", id="a")
        memory.flush(wait=True)
        memory.store.backup(tmp_path / "b.db")
    (root / "ledger.db").unlink()
    with pytest.raises(StoreUnusable, match="restore a backup with set_aside=True"):
        MemoryManager(root, embedder=EMBEDDER)
    assert (root / "chroma").is_dir()


@pytest.mark.parametrize(
    "name",
    [
        "chroma/mine.txt", "chroma.bad-old/keep.txt", "chroma.bad-20250101T000000000000Z/keep.txt",
        "chroma.bad-20250101T000000000000Z", "chroma.txt", "chroma.json", "short.json",
        "short.json.mine", "short.json.mine.tmp", "short.json.bad-20250101T000000000000Z",
        "ledger.db.mine", ".ledger.db.mine",
    ],
)  # fmt: skip
def test_no_erasure_and_no_rebuild_deletes_what_is_not_proven_ours(tmp_path, name, caplog):
    """Beside a ledger they outlive every step that deletes copies; receipt and doctor name them."""
    caplog.set_level(logging.ERROR)
    root = tmp_path / "store"
    MemoryManager(root, embedder=None).close()
    put(root, name)
    for n in range(2):
        with MemoryManager(root, embedder=EMBEDDER) as memory:
            memory.add(f"the boat is called Ada {n}", "long", id=f"a{n}", session="s")
            assert memory.flush(wait=True)
            done = memory.store.erase(f"a{n}")
            assert done.complete
            assert precious_in(root)
            left = precious_in(root)[0].relative_to(root).parts[0]
            assert left in done.untouched
            said = complaints(memory)
            assert left in said
        shutil.rmtree(root / "chroma", ignore_errors=True)  # rebuilt again
        (root / "chroma.json").unlink(missing_ok=True)


def test_a_lock_file_of_somebody_else_is_kept(tmp_path):
    """Nothing is written into it; Chroma is not used, and receipt and doctor say why."""
    root = tmp_path / "store"
    MemoryManager(root, embedder=None).close()
    lock = put(root, "chroma.lock")
    with MemoryManager(root, embedder=EMBEDDER) as memory:
        memory.add("the boat is called Ada", "long", id="a")
        memory.add("the boat is green", "long", id="b")
        until(lambda: "long" in memory.store.stats().trouble)
        assert not (root / "chroma").exists()
        assert [hit.id for hit in memory.retrieve("called Ada")][:1] == ["a"]
        assert lock.name in memory.store.stats().trouble["long"]
        done = memory.store.erase("a", timeout=0)
        assert done.untouched == (lock.name,)
        assert lock.name in done.pending["chroma"]
        assert lock.name in complaints(memory)
    assert lock.read_text() == PRECIOUS
    lock.unlink()
    with MemoryManager(root, embedder=EMBEDDER) as memory:
        assert memory.flush(wait=True)
        assert memory.store.erase("b").complete
        assert lock.read_text().strip().isdigit()


@pytest.mark.parametrize("target", ["mine.txt", "nothing", "."])
def test_a_link_in_the_place_of_the_lock_file_is_not_followed(tmp_path, target):
    """Neither its target is written nor one made; receipt and doctor name the link."""
    root = tmp_path / "store"
    MemoryManager(root, embedder=None).close()
    mine = put(tmp_path, "mine.txt")
    (root / "chroma.lock").symlink_to(tmp_path / target)
    with MemoryManager(root, embedder=EMBEDDER) as memory:
        memory.add("the boat is called Ada", "long", id="a")
        until(lambda: "long" in memory.store.stats().trouble)
        assert memory.store.erase("a", timeout=0).untouched == ("chroma.lock",)
        assert "chroma.lock" in complaints(memory)
    assert mine.read_text() == PRECIOUS
    assert not (tmp_path / "nothing").exists()


def test_the_stores_own_copies_are_deleted_by_the_next_erasure(tmp_path):
    """The null control: what bears the store's mark is removed, damaged or not."""
    root = tmp_path / "store"
    with MemoryManager(root, embedder=EMBEDDER) as memory:
        memory.add("the boat is called Ada", "short", id="a", session="s")
        memory.add("the boat is green", "long", id="b")
        memory.flush(wait=True)
    shutil.copytree(root / "chroma", root / "chroma.bad-20250101T000000000000Z")
    (root / "chroma.bad-20250101T000000000000Z" / "chroma.sqlite3").write_bytes(b"damaged")
    shutil.copy(root / "ledger.db", root / "ledger.db.damaged-1")
    snapshot = bytearray((root / "short.json").read_bytes())
    snapshot[:40] = b"x" * 40
    (root / "short.json").write_bytes(snapshot)
    with MemoryManager(root, embedder=EMBEDDER) as memory:
        (aside,) = (path.name for path in root.glob("short.json.bad-*"))
        done = memory.store.erase("a")
        ours = {aside, "ledger.db.damaged-1", "chroma.bad-20250101T000000000000Z"}
        assert done.complete
        assert done.untouched == ()
        assert ours <= set(done.removed)
        assert not ours & {path.name for path in root.iterdir()}
