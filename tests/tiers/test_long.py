"""The long tier in good health: rows go in, are found, and survive a clean close."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from long_support import DIM, NS, Feeder, refusal, unit_vectors

from memento.tiers import chroma, long_tier
from memento.tiers.chroma import ChromaFault, collection_name
from memento.tiers.long_tier import LongState


@pytest.fixture
def feeder(tmp_path):
    """Give 150 rows for a folder that is not there yet."""
    return Feeder(tmp_path / "chroma", 150)


@pytest.fixture
def tier(feeder):
    """Give an open tier that was fed them."""
    opened = feeder.tier()
    opened.open()
    feeder.feed(opened)
    yield opened
    opened.close()


def test_making_one_loads_nothing_and_writes_nothing(tmp_path):
    """Making a tier imports no chromadb and touches no disk."""
    code = (
        "import sys; from pathlib import Path; from memento.tiers.long_tier import LongTier;"
        "t = LongTier(Path('x/chroma'), identity='a', samples=list, on_reset=print,"
        " mark=None, set_mark=None);"
        "print(t.state, 'chromadb' in sys.modules, list(Path().iterdir()))"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split(maxsplit=2) == ["cold", "False", "[]\n"]


def test_before_open_it_is_cold_and_says_so(feeder):
    """A tier that was not opened refuses to answer instead of answering nothing."""
    cold = feeder.tier()
    assert cold.state is LongState.COLD
    assert "not loaded yet" in refusal(cold.search, NS, feeder.vectors[0], 1)


def test_a_new_folder_asks_to_be_fed_once(feeder, tier):
    """Opening where nothing is calls on_reset once; opening again does nothing."""
    tier.open()
    assert feeder.resets == ["new"]
    assert tier.state is LongState.READY


def test_each_row_finds_itself_with_similarity_one(feeder, tier):
    """Similarity is the cosine: 1 for the row itself, -1 for its opposite."""
    assert feeder.lost(tier) == []
    assert tier.search(NS, feeder.vectors[3], 1)[0][1] == pytest.approx(1.0, abs=1e-5)
    everything = tier.search(NS, -feeder.vectors[3], 150)
    assert everything[-1] == (feeder.ids[3], pytest.approx(-1.0, abs=1e-5))


def test_similarities_are_those_of_exact_search_best_first(feeder, tier):
    """On a small index Chroma's answer is the exact one, scores included."""
    query = unit_vectors(1, seed=9)[0]
    exact = feeder.vectors @ query
    order = np.argsort(-exact)[:10]
    found = tier.search(NS, query, 10)
    assert [row for row, _ in found] == [feeder.ids[i] for i in order]
    assert [score for _, score in found] == pytest.approx(exact[order].tolist(), abs=1e-5)


def test_asking_for_more_than_there_is_gives_all(feeder, tier):
    """An n above the count returns every row once."""
    found = tier.search(NS, feeder.vectors[0], 1000)
    assert sorted(row for row, _ in found) == feeder.ids


def test_feeding_again_changes_nothing(feeder, tier):
    """Feeding again is idempotent, and replaces the vector of an id it knows."""
    feeder.feed(tier)
    assert tier.count(NS) == 150
    tier.upsert(NS, [feeder.ids[0]], feeder.vectors[:1] * -1, [{"tier": "long"}])
    assert tier.count(NS) == 150
    assert tier.search(NS, -feeder.vectors[0], 1)[0][0] == feeder.ids[0]


def test_no_row_is_lost_while_a_collection_is_small(tier):
    """Ten new collections of 60 rows, fed in bites: every row is its own nearest."""
    vectors = unit_vectors(60, seed=3)
    ids = [f"row{i:02d}" for i in range(60)]
    for k in range(10):
        for part in (slice(0, 16), slice(16, 60)):
            tier.upsert((f"n{k}",), ids[part], vectors[part], [{}] * len(ids[part]))
        found = [tier.search((f"n{k}",), vector, 1)[0][0] for vector in vectors]
        assert found == ids


def test_feeding_nothing_is_fine(tier):
    """No rows, no call: an empty upsert or removal leaves everything as it was."""
    tier.upsert(NS, [], np.empty((0, DIM), np.float32), [])
    tier.remove(NS, [])
    assert tier.count(NS) == 150


def test_removed_rows_are_not_found(feeder, tier):
    """A removal takes rows out, and bears ids and namespaces that are not there."""
    tier.remove(NS, [*feeder.ids[:100], "never there"])
    tier.remove(("nobody",), ["x"])
    assert tier.count(NS) == 50
    assert tier.search(NS, feeder.vectors[0], 1)[0][0] not in feeder.ids[:100]


def test_equal_vectors_come_in_the_order_of_their_ids(tier):
    """Ties break on the id, and a row hidden among its doubles still counts as found."""
    same = np.repeat(unit_vectors(1, seed=5), 30, axis=0)
    ids = [f"same{i:02d}" for i in range(30)]
    tier.upsert(("twins",), ids[::-1], same, [{}] * 30)
    assert [row for row, _ in tier.search(("twins",), same[0], 30)] == ids
    assert tier.healthy([(("twins",), row, same[0]) for row in ids])


def test_namespaces_do_not_see_each_other(feeder, tier):
    """A namespace holds what was fed to it; an unknown one is empty, not an error."""
    tier.upsert(("acme",), ["mine"], feeder.vectors[:1], [{}])
    assert [row for row, _ in tier.search(("acme",), feeder.vectors[0], 10)] == ["mine"]
    assert "mine" not in [row for row, _ in tier.search(NS, feeder.vectors[0], 150)]
    assert tier.search(("acme", "rami", "x"), feeder.vectors[0], 10) == []
    assert tier.count(("acmerami",)) == 0


def test_labels_cannot_be_arranged_to_collide():
    """Labels that look alike when joined name different collections."""
    alike = [("a", "b"), ("a/b",), ("a,b",), ('a","b',), ("ab",), ("b", "a")]
    assert len({collection_name(labels) for labels in alike}) == len(alike)


def test_a_clean_close_is_trusted_and_reopened_as_it_was(feeder, tier, monkeypatch):
    """The same path reopens in the same process with all rows, unprobed, again and again."""
    monkeypatch.setattr(
        "memento.tiers.long_tier.probe", lambda *_, **__: pytest.fail("it was probed")
    )
    tier.close()
    for _ in range(3):
        again = feeder.tier()
        again.open()
        assert again.count(NS) == len(feeder.ids)
        # At each opening Chroma builds the graph of a small collection again from its log, linking
        # rows in parallel. Once in some hundreds of openings a row is there and can be read, yet no
        # search reaches it; the same folder, opened again, finds it.
        assert len(feeder.lost(again)) <= 1
        again.upsert(NS, [feeder.ids[0]], feeder.vectors[:1], [{}])
        again.close()
    assert feeder.resets == ["new"]


def test_closed_is_closed(tier):
    """A closed tier refuses everything, and closing twice is harmless."""
    tier.close()
    tier.close()
    assert tier.state is LongState.COLD
    for act in (tier.open, lambda: tier.count(NS)):
        assert "closed" in refusal(act)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="Linux lists open files there")
def test_closing_leaves_no_thread_and_no_file_open(feeder, tier):
    """After close the process has none of the folder's files open, bar SQLite's slow goodbye."""
    tier.close()
    links = [fd.readlink() for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink()]
    mine = [link for link in links if link.is_relative_to(feeder.folder)]
    assert [link for link in mine if link.name != "chroma.sqlite3"] == []
    assert str(feeder.folder) not in chroma._open


def doubt(tier, why):
    """Let a tier be damaged and mended."""
    tier._note_damage(tier._chroma, why)
    tier.open()


def test_each_doubt_starts_empty_and_keeps_one_old_folder(feeder, tier):
    """The index is empty, the reason is passed on, and only the newest old folder is kept."""
    for why in ("first", "second", "third"):
        doubt(tier, why)
        assert tier.count(NS) == 0
        assert tier.state is LongState.READY
        feeder.feed(tier)
    assert feeder.resets == ["new", "first", "second", "third"]
    assert len(list(feeder.folder.parent.glob("chroma.bad-*"))) == 1
    assert feeder.lost(tier) == []


def test_searching_never_sees_an_empty_index_before_the_caller_knows(feeder, tier):
    """While on_reset runs the tier refuses: nobody reads 'nothing found' off a fresh folder."""
    seen = []
    tier._on_reset = lambda why: seen.append((why, refusal(tier.search, NS, feeder.vectors[0], 1)))
    doubt(tier, "torn")
    assert seen == [("torn", "long tier unavailable: being rebuilt: torn")]


def test_files_are_private_under_any_umask(feeder, tier):
    """Folders are 0700 and files 0600 after a close, whatever the umask."""
    old = os.umask(0)
    try:
        tier.upsert(("other",), ["a"], feeder.vectors[:1], [{}])
        tier.close()
    finally:
        os.umask(old)
    for path in [p for p in feeder.folder.parent.rglob("*") if p.exists()]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def modes(folder):
    """Return the modes of a folder's files and folders that are not as they should be."""
    found = {path: stat.S_IMODE(path.stat().st_mode) for path in [folder, *folder.rglob("*")]}
    return {p: oct(m) for p, m in found.items() if m != (0o700 if p.is_dir() else 0o600)}


def test_the_files_of_every_index_are_private_while_it_is_open(feeder, tier):
    """After its first rows, after the write that makes the last file, and when opened again."""
    rows = unit_vectors(long_tier.SYNC_ROWS, seed=3)
    old = os.umask(0)
    try:
        for n in range(3):
            tier.upsert((f"n{n}",), ["a"], rows[:1], [{}])
            assert modes(feeder.folder) == {}
        tier.upsert(("large",), [f"r{n}" for n in range(len(rows))], rows, [{}] * len(rows))
        assert list(feeder.folder.glob("*/index_metadata.pickle"))
        assert modes(feeder.folder) == {}
        tier.close()
        again = feeder.tier()
        again.open()
        again.upsert(("n0",), ["b"], rows[:1], [{}])
        again.upsert(("new",), ["b"], rows[:1], [{}])
        assert modes(feeder.folder) == {}
        again.close()
    finally:
        os.umask(old)


def test_a_row_costs_nothing_for_the_files_of_other_namespaces(feeder, tier):
    """With 3,000 of them, changing the modes of all took a second."""
    tier.upsert(("other",), ["a"], feeder.vectors[:1], [{}])
    changed = {path: path.stat().st_ctime_ns for path in feeder.folder.glob("*/*.bin")}
    feeder.feed(tier)
    tier.upsert(NS, ["one more"], feeder.vectors[:1], [{}])
    tier.upsert(("new",), ["a"], feeder.vectors[:1], [{}])
    other = [path for path, at in changed.items() if path.stat().st_ctime_ns == at]
    assert len(other) >= 4


def test_no_label_is_written_to_disk(feeder, tier):
    """The folder holds hashed names, ids and vectors, and nothing of a namespace's labels."""
    tier.upsert(("canary-label",), ["a"], feeder.vectors[:1], [{}])
    tier.close()
    files = [p for p in feeder.folder.parent.rglob("*") if p.is_file()]
    assert not any(b"canary-label" in path.read_bytes() for path in files)


def test_the_environment_cannot_bend_chroma(feeder, monkeypatch):
    """Variables that steer Chroma's settings leave a local, silent client."""
    monkeypatch.setenv("CHROMA_API_IMPL", "chromadb.api.fastapi.FastAPI")
    monkeypatch.setenv("ANONYMIZED_TELEMETRY", "true")
    monkeypatch.setenv("MIGRATIONS", "none")
    opened = feeder.tier()
    opened.open()
    assert opened.count(NS) == 0
    assert opened._chroma._client.get_settings().anonymized_telemetry is False
    opened.close()


def test_another_client_of_this_process_keeps_it_shut(feeder):
    """A folder that the host has open itself is left alone, and opens once it is let go."""
    chromadb = pytest.importorskip("chromadb")
    theirs = chromadb.PersistentClient(
        str(feeder.folder), chromadb.config.Settings(anonymized_telemetry=False)
    )
    opened = feeder.tier()
    assert "another Chroma client" in refusal(opened.open)
    assert feeder.resets == []
    theirs.close()
    opened.open()
    assert feeder.resets == ["its stamp is missing or unreadable"]
    opened.close()


class PanicException(BaseException):
    """An exception that looks like a panic in Chroma's Rust half."""


@pytest.mark.parametrize(
    ("thrown", "damage"),
    [
        (RuntimeError("Error loading hnsw index"), True),
        (PanicException("index out of bounds"), True),
        (RuntimeError("(code: 13) database or disk is full"), False),
        (RuntimeError("(code: 5) database is locked"), False),
        (OSError(28, "No space left on device"), False),
    ],
)
def test_what_chroma_throws_is_told_apart(thrown, damage):
    """Panics and errors are faults; a full disk or a lock is not held against the folder."""
    with pytest.raises(ChromaFault) as caught, chroma.faults():
        raise thrown
    assert caught.value.damage is damage


def test_ctrl_c_is_not_a_fault_of_chroma():
    """KeyboardInterrupt passes through."""
    with pytest.raises(KeyboardInterrupt), chroma.faults():
        raise KeyboardInterrupt


def test_a_full_disk_is_reported_and_passes(feeder, tier, monkeypatch):
    """An error from outside leaves the tier ready: the next call is served, nothing is reset."""
    collection = type(tier._chroma._find(collection_name(NS)))
    with monkeypatch.context() as patch:
        patch.setattr(collection, "upsert", _disk_full)
        assert "disk is full" in refusal(feeder.feed, tier)
    assert tier.state is LongState.READY
    feeder.feed(tier)
    assert feeder.resets == ["new"]


def _disk_full(*_, **__):
    raise RuntimeError("error returned from database: (code: 13) database or disk is full")


def test_it_mends_itself_a_few_times_and_then_stops(feeder, monkeypatch):
    """Each failure is mended by the next open, until MAX_RESETS; then no more."""
    monkeypatch.setattr(long_tier, "MAX_RESETS", 2)
    tier = feeder.tier()
    tier.open()
    for _ in range(2):
        _break(feeder, tier)
        tier.open()
        assert tier.state is LongState.READY
    _break(feeder, tier)
    assert "rebuilt 2 times" in refusal(tier.open)
    assert tier.state is LongState.ASIDE
    assert "rebuilt 2 times" in refusal(tier.open)
    assert len(feeder.resets) == 3
    tier.close()


def _break(feeder, tier):
    feeder.feed(tier)
    tier._chroma._client.delete_collection(collection_name(NS))
    assert "Chroma says" in refusal(feeder.feed, tier)
    assert tier.state is LongState.ASIDE
    assert "Chroma says" in refusal(tier.search, NS, feeder.vectors[0], 1)


def test_a_vector_that_does_not_find_itself_is_damage(feeder, tier):
    """healthy() is False when stored vectors are lost; the next open starts a new index."""
    assert tier.healthy(feeder.samples())
    tier.remove(NS, feeder.ids)
    assert not tier.healthy(feeder.samples())
    assert tier.state is LongState.ASIDE
    tier.open()
    assert feeder.resets[1:] == ["3 of 3 stored vectors are not found by a search for themselves"]


def test_few_graphs_stay_in_memory(tier, feeder, monkeypatch):
    """However many namespaces are written to; all that was written is found, nothing is reset."""
    monkeypatch.setattr(long_tier, "OPEN_COLLECTIONS", 2)
    resets, most = list(feeder.resets), 0
    spaces = [("user", str(n)) for n in range(7)]
    for half in (slice(0, 20), slice(20, 40)):
        for space in spaces:
            tier.open()
            tier.upsert(space, feeder.ids[half], feeder.vectors[half], [{}] * 20)
            most = max(most, tier._chroma.opened)
    assert most <= 3
    assert feeder.resets == resets
    assert tier.state is LongState.READY
    for space in spaces:
        assert tier.count(space) == 40
        for at in (3, 33):
            assert tier.search(space, feeder.vectors[at], 1)[0][0] == feeder.ids[at]


def test_a_folder_that_cannot_be_opened_again_is_opened_by_the_next_open(tier, feeder, monkeypatch):
    """The tier says so, lets others own the folder, and loses nothing."""
    monkeypatch.setattr(long_tier, "OPEN_COLLECTIONS", 0)

    def fail(_folder):
        raise ChromaFault("no room", damage=False)

    tier.upsert(("other",), ["a"], feeder.vectors[:1], [{}])
    with monkeypatch.context() as patched:
        patched.setattr(long_tier, "ChromaFolder", fail)
        assert "could not be opened: no room" in refusal(tier.open)
    assert not tier._lock.held
    assert "could not be opened: no room" in refusal(tier.search, NS, feeder.vectors[7], 1)
    tier.open()
    assert tier.search(NS, feeder.vectors[7], 1)[0][0] == feeder.ids[7]
    assert tier.search(("other",), feeder.vectors[0], 1)[0][0] == "a"


def test_a_module_that_another_thread_is_importing_has_no_clients(monkeypatch, tmp_path):
    """Two stores of a process may look for clients while one of them imports Chroma."""
    half = ModuleType("chromadb.api.shared_system_client")
    monkeypatch.setitem(sys.modules, half.__name__, half)
    chroma.refuse_if_shared(tmp_path)
