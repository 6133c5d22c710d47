"""A damaged Chroma folder: the host lives, the tier comes back, and everything is found again."""

from __future__ import annotations

import os
import random
import shutil
import threading
from dataclasses import replace

import pytest
from long_support import NS, Feeder, refusal

from memento.errors import TierUnavailable
from memento.tiers import folder, long_tier
from memento.tiers.folder import read_stamp, sum_of, write_stamp
from memento.tiers.long_tier import LongState

N = 1500
"""Above Chroma's sync threshold of 1,000, so that there is an index on disk to damage."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A folder of N rows, closed in order."""
    feeder = Feeder(tmp_path_factory.mktemp("sound") / "chroma", N)
    tier = feeder.tier()
    tier.open()
    feeder.feed(tier)
    tier.close()
    return feeder


@pytest.fixture
def copy(sound, tmp_path):
    """A copy of it, with its stamp, that may be damaged."""
    shutil.copytree(sound.folder.parent, tmp_path, dirs_exist_ok=True)
    return Feeder(tmp_path / "chroma", N)


def find(folder, name):
    """Return the one file of this name."""
    (found,) = [path for path in folder.rglob(name) if path.is_file()]
    return found


def corrupt(name, share=0.5, n=64):
    """Overwrite n bytes from some place on with noise."""

    def act(folder):
        path = find(folder, name)
        data = bytearray(path.read_bytes())
        start, noise = int(len(data) * share), random.Random(1)
        for i in range(min(n, len(data) - start)):
            data[start + i] = noise.randrange(256)
        path.write_bytes(data)

    return act


def truncate(name, share=0.0):
    """Cut a file short."""

    def act(folder):
        path = find(folder, name)
        os.truncate(path, int(path.stat().st_size * share))

    return act


def delete(name):
    """Remove a file."""
    return lambda folder: find(folder, name).unlink()


def drop_segment(folder):
    """Remove the folder of the index."""
    shutil.rmtree(find(folder, "header.bin").parent)


def swap_for_a_file(folder):
    """Put a file in the folder's place."""
    shutil.rmtree(folder)
    folder.write_text("not a folder")


MUST, MAY, NOT = "must be rebuilt", "may be rebuilt", "is harmless"

CASES = {
    "nothing": (lambda _: None, NOT),
    "touched only": (lambda folder: os.utime(find(folder, "data_level0.bin")), NOT),
    "data deleted": (delete("data_level0.bin"), MUST),
    "data corrupt": (corrupt("data_level0.bin"), MUST),
    "data emptied": (truncate("data_level0.bin"), MUST),
    "header deleted": (delete("header.bin"), MUST),
    "header corrupt": (corrupt("header.bin"), MUST),
    "header emptied": (truncate("header.bin"), MUST),
    "links deleted": (delete("link_lists.bin"), MUST),
    "links corrupt": (corrupt("link_lists.bin"), MAY),
    "links emptied": (truncate("link_lists.bin"), MAY),
    "length deleted": (delete("length.bin"), MUST),
    "length corrupt": (corrupt("length.bin"), MAY),
    "length emptied": (truncate("length.bin"), MAY),
    "pickle deleted": (delete("index_metadata.pickle"), MUST),
    "pickle corrupt": (corrupt("index_metadata.pickle"), MUST),
    "pickle torn": (truncate("index_metadata.pickle", 0.5), MUST),
    "segment folder removed": (drop_segment, MUST),
    "database corrupt in the middle": (corrupt("chroma.sqlite3", n=256), MAY),
    "database corrupt at the head": (corrupt("chroma.sqlite3", 0.0), MUST),
    "database torn": (truncate("chroma.sqlite3", 0.5), MUST),
    "database emptied": (truncate("chroma.sqlite3"), MUST),
    "database deleted": (delete("chroma.sqlite3"), MUST),
    "folder removed": (shutil.rmtree, MUST),
    "folder is a file": (swap_for_a_file, MUST),
    "stamp deleted": (lambda folder: folder.with_name("chroma.json").unlink(), MUST),
    "stamp corrupt": (lambda folder: folder.with_name("chroma.json").write_text('{"a'), MUST),
}


@pytest.mark.parametrize("case", CASES)
def test_damage_is_survived(copy, case):
    """After a kill and any damage to the files, open() ends READY, and once fed all is found."""
    damage, expected = CASES[case]
    _mark_unclean(copy, 1)
    damage(copy.folder)
    tier = copy.tier()
    tier.open()
    assert tier.state is LongState.READY
    assert len(copy.resets) in {MUST: (1,), MAY: (0, 1), NOT: (0,)}[expected], copy.resets
    if copy.resets:
        assert tier.count(NS) == 0
        copy.feed(tier)
    assert copy.lost(tier) == []
    assert tier.count(NS) == N
    tier.close()
    assert len(list(copy.folder.parent.glob("chroma.bad-*"))) <= 1


def test_what_changed_since_a_clean_close_is_rebuilt_unseen(copy, monkeypatch):
    """However small the change is: nobody opens such a folder, and it is no damage."""
    monkeypatch.setattr(
        "memento.tiers.long_tier.probe", lambda *_, **__: pytest.fail("it was probed")
    )
    os.utime(find(copy.folder, "data_level0.bin"))
    monkeypatch.setattr(long_tier, "MAX_RESETS", 0)
    tier = copy.tier()
    tier.open()
    assert copy.resets == ["changed since it was closed"]
    tier.close()


def test_vectors_of_another_embedder_are_set_aside(copy, monkeypatch):
    """They are never searched: rebuilt, and not as damage."""
    path = copy.folder.with_name("chroma.json")
    write_stamp(path, replace(read_stamp(path), identity="other-8"))
    monkeypatch.setattr(long_tier, "MAX_RESETS", 0)
    tier = copy.tier()
    tier.open()
    assert len(copy.resets) == 1
    assert tier.count(NS) == 0
    tier.close()


def test_a_copy_from_another_day_is_not_believed(copy, tmp_path):
    """A sound folder put back from before the last use lacks what was fed since: it is rebuilt."""
    earlier = tmp_path / "earlier"
    shutil.copytree(copy.folder, earlier)
    stamp = copy.folder.with_name("chroma.json").read_text()
    tier = copy.tier()
    tier.open()
    tier.upsert(NS, ["late"], copy.vectors[:1] * -1, [{}])
    tier.close()
    assert copy.resets == []
    shutil.rmtree(copy.folder)
    earlier.rename(copy.folder)
    copy.folder.with_name("chroma.json").write_text(stamp)
    tier = copy.tier()
    tier.open()
    assert copy.resets == ["a copy from another day, or another store's"]
    tier.close()


def _mark_unclean(feeder, times):
    path = feeder.folder.with_name("chroma.json")
    write_stamp(path, replace(read_stamp(path), left="", unclean=times))


def test_an_unclean_end_is_probed_and_forgiven(copy):
    """A folder that was not closed in order, but is sound, is used as it is."""
    _mark_unclean(copy, 1)
    tier = copy.tier()
    tier.open()
    assert copy.resets == []
    assert read_stamp(copy.folder.with_name("chroma.json")).unclean == 2
    tier.close()


def test_two_unclean_ends_in_a_row_are_rebuilt_unseen(copy, monkeypatch):
    """A folder that may have killed two owners is not opened again, not even by a probe."""
    monkeypatch.setattr(
        "memento.tiers.long_tier.probe", lambda *_, **__: pytest.fail("it was probed")
    )
    _mark_unclean(copy, 2)
    tier = copy.tier()
    tier.open()
    assert copy.resets == ["not closed properly (2 times in a row)"]
    tier.close()


def test_long_service_clears_the_count_of_unclean_ends(copy, monkeypatch):
    """After SETTLED_AFTER calls a killed process is bad luck, not a sign of damage."""
    monkeypatch.setattr(long_tier, "SETTLED_AFTER", 3)
    tier = copy.tier()
    tier.open()
    path = copy.folder.with_name("chroma.json")
    before = read_stamp(path).unclean
    for _ in range(3):
        tier.count(NS)
    after = read_stamp(path)
    assert (before, after.unclean, after.left) == (1, 0, "")
    tier.close()


def test_a_probe_that_takes_too_long_means_rebuild(copy, monkeypatch):
    """A folder that hangs its reader is set aside after the deadline."""
    _mark_unclean(copy, 1)
    monkeypatch.setattr(long_tier, "PROBE_SECONDS", 0.001)
    tier = copy.tier()
    tier.open()
    assert copy.resets[0].endswith("its probe took longer than 0.001 s")
    tier.close()


def test_close_stops_an_open_that_is_probing(copy):
    """close() does not wait for the probe; the folder is left as it was, for the next time."""
    _mark_unclean(copy, 1)
    probing = threading.Event()
    tier = copy.tier()
    tier._samples = lambda: (probing.set(), copy.samples())[1]
    said = []
    opener = threading.Thread(target=lambda: said.append(refusal(tier.open)))
    opener.start()
    probing.wait()
    tier.close()
    opener.join()
    assert said == ["long tier unavailable: the store is closed"]
    assert copy.resets == []
    assert tier.state is LongState.COLD


def test_the_number_of_resets_after_damage_is_limited(copy, monkeypatch):
    """With no reset left, a damaged folder is left alone and the tier says why."""
    _mark_unclean(copy, 1)
    truncate("chroma.sqlite3", 0.5)(copy.folder)
    monkeypatch.setattr(long_tier, "MAX_RESETS", 0)
    tier = copy.tier()
    with pytest.raises(TierUnavailable, match=r"rebuilt 0 times.*malformed"):
        tier.open()
    assert tier.state is LongState.ASIDE
    assert copy.resets == []
    assert not tier._lock.held


def test_a_reset_that_the_caller_could_not_note_is_repeated(copy):
    """If on_reset fails, the next open calls it again: no row is left unqueued."""
    tier = copy.tier(identity="other-8")
    tier._on_reset = _fails
    with pytest.raises(RuntimeError):
        tier.open()
    assert tier.state is LongState.COLD
    tier._on_reset = copy.resets.append
    tier.open()
    assert len(copy.resets) == 1
    tier.close()


def _fails(_):
    raise RuntimeError("the ledger is busy")


def test_a_folder_that_cannot_be_moved_is_a_clear_answer(copy, monkeypatch):
    """An OS error while setting aside makes the tier unavailable, and nothing worse."""
    monkeypatch.setattr("memento.tiers.folder.set_aside", _refused)
    tier = copy.tier(identity="other-8")
    assert "could not be opened: no" in refusal(tier.open)
    assert tier.state is LongState.COLD
    monkeypatch.undo()
    tier.open()
    tier.close()


def _refused(*_):
    raise PermissionError("no")


@pytest.mark.parametrize("text", ["", "[]", "null", '{"identity": 1}', "\ud800", "[" * 100_000])
def test_an_unreadable_stamp_is_none(tmp_path, text):
    """A damaged stamp file counts as a missing one; it is no crash."""
    path = tmp_path / "chroma.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    assert read_stamp(path) is None


def test_the_sum_sees_each_file_its_change_and_the_version_of_chroma(tmp_path):
    """Files in subfolders count; a small file's content counts even if size and time do not."""
    assert sum_of(tmp_path, "1") == ""
    (tmp_path / "segment").mkdir()
    path = tmp_path / "segment" / "a"
    path.write_bytes(b"one")
    before, when = sum_of(tmp_path, "1"), path.stat().st_mtime_ns
    assert sum_of(tmp_path, "1") == before != sum_of(tmp_path, "2")
    path.write_bytes(b"two")
    os.utime(path, ns=(when, when))
    assert sum_of(tmp_path, "1") != before


@pytest.mark.parametrize("name", ["is_ours", "mark"])
def test_a_folder_that_nobody_may_look_into_is_set_aside(copy, monkeypatch, name):
    """It cannot be marked as the store's, so it is kept; the tier starts with an empty folder."""
    tier = copy.tier()
    delete("data_level0.bin")(copy.folder)

    def refuse(*_):
        monkeypatch.undo()
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(folder, name, refuse)
    tier.open()
    assert tier.state is LongState.READY
    assert len([*copy.folder.parent.glob("chroma.bad-*")]) == 1
    tier.close()
