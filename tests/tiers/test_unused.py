"""Places of Chroma's vector files that no row fills hold zeros, and nothing of this process."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from long_support import DIM, NS, Feeder

from memento.errors import TierUnavailable
from memento.tiers import chroma, long_tier
from memento.tiers.chroma import HEADER, ChromaFault, ChromaFolder, blank
from memento.tiers.long_tier import LongState

ROWS, PLACES, ROW_BYTES = 3, 10, 20
MARK = b"a text that was erased"


def lay_out(folder: Path, *, rows: int = ROWS, version: int = 1) -> dict[str, Path]:
    """Make an index of a few rows, all its places filled with noise."""
    folder.mkdir(parents=True, exist_ok=True)
    header = HEADER.pack(version, 0, PLACES, rows, ROW_BYTES) + bytes(60)
    made = {"header.bin": header, "data_level0.bin": b"\xab" * PLACES * ROW_BYTES,
            "length.bin": b"\xcd" * PLACES * 4}  # fmt: skip
    for name, data in made.items():
        (folder / name).write_bytes(data)
    return {name: folder / name for name in made}


def indexes(folder: Path) -> list[Path]:
    """List the folders of indexes."""
    return [path.parent for path in folder.glob("*/header.bin")]


def spare(folder: Path) -> bytes:
    """Read what the places of a real folder hold that no row fills."""
    held = b""
    for index in indexes(folder):
        header = (index / "header.bin").read_bytes()
        _, _, _, rows, row_bytes = HEADER.unpack_from(header)
        held += (index / "data_level0.bin").read_bytes()[rows * row_bytes :]
        held += (index / "length.bin").read_bytes()[rows * 4 :]
    return held


def spoil(folder: Path) -> None:
    """Put a mark where Chroma leaves what it found in memory."""
    for index in indexes(folder):
        for name, at in (("data_level0.bin", -100), ("length.bin", -len(MARK))):
            data = bytearray((index / name).read_bytes())
            data[at : len(data) + at + len(MARK)] = MARK
            (index / name).write_bytes(data)


@pytest.fixture
def feeder(tmp_path):
    """Twenty rows for a folder that is not there yet."""
    return Feeder(tmp_path / "chroma", 20)


@pytest.fixture
def fed(feeder):
    """A tier that was fed with them, open."""
    tier = feeder.tier()
    tier.open()
    feeder.feed(tier)
    yield tier
    tier.close()


def test_rows_stay_and_the_rest_is_zero(tmp_path):
    """The size of the files also stays: Chroma relies on it."""
    files = lay_out(tmp_path)
    before = files["header.bin"].read_bytes()
    blank(tmp_path)
    assert files["header.bin"].read_bytes() == before
    row_bytes, rest = ROWS * ROW_BYTES, (PLACES - ROWS) * ROW_BYTES
    assert files["data_level0.bin"].read_bytes() == b"\xab" * row_bytes + bytes(rest)
    assert files["length.bin"].read_bytes() == b"\xcd" * ROWS * 4 + bytes((PLACES - ROWS) * 4)


def test_a_full_index_is_left_as_it_is(tmp_path):
    """Nothing is unused in it."""
    files = lay_out(tmp_path, rows=PLACES)
    before = [path.read_bytes() for path in files.values()]
    blank(tmp_path)
    assert [path.read_bytes() for path in files.values()] == before


@pytest.mark.parametrize(
    "wrong", [{"version": 2}, {"rows": PLACES + 1}], ids=["another layout", "too many rows"]
)
def test_what_is_not_understood_is_refused_and_not_touched(tmp_path, wrong):
    """Rows of an unknown layout may lie where zeros would go."""
    files = lay_out(tmp_path, **wrong)
    before = [path.read_bytes() for path in files.values()]
    with pytest.raises(ChromaFault, match=r"header\.bin"):
        blank(tmp_path)
    assert [path.read_bytes() for path in files.values()] == before


@pytest.mark.parametrize("name", ["header.bin", "data_level0.bin", "length.bin"])
def test_a_file_cut_short_is_refused_and_the_others_not_touched(tmp_path, name):
    """It is damage, and for the long tier to judge."""
    files = lay_out(tmp_path)
    files[name].write_bytes(files[name].read_bytes()[:8])
    before = [path.read_bytes() for path in files.values()]
    with pytest.raises(ChromaFault, match=name):
        blank(tmp_path)
    assert [path.read_bytes() for path in files.values()] == before


@pytest.mark.usefixtures("fed")
def test_the_header_of_this_chroma_is_read_right(feeder):
    """A new index has a hundred places and no row on the disk, each as long as its vector asks."""
    (index,) = indexes(feeder.folder)
    header = (index / "header.bin").read_bytes()
    version, _, places, rows, row_bytes = HEADER.unpack_from(header)
    assert (version, places, rows) == (1, 100, 0)
    links = 4 + 4 * 2 * chroma.MAX_NEIGHBORS
    assert row_bytes == links + 4 * DIM + struct.calcsize("Q")
    assert (index / "data_level0.bin").stat().st_size == places * row_bytes


@pytest.mark.usefixtures("fed")
def test_what_is_left_on_the_disk_while_it_is_open_is_zero(feeder):
    """Nobody has to close a folder for that."""
    held = spare(feeder.folder)
    assert len(held) > 1_000
    assert not any(held)


def test_an_index_that_was_blanked_grows_and_finds_its_rows(tmp_path):
    """Chroma never reads what was overwritten: past its first write of all rows, and reopened."""
    feeder = Feeder(tmp_path / "chroma", 1_200)
    tier = feeder.tier()
    tier.open()
    for start in range(0, 1_200, 100):
        part = slice(start, start + 100)
        tier.upsert(NS, feeder.ids[part], feeder.vectors[part], [{}] * 100)
    assert not any(spare(feeder.folder))
    assert feeder.lost(tier) == []
    tier.close()
    again = feeder.tier()
    again.open()
    assert (feeder.lost(again), len(feeder.resets)) == ([], 1)
    again.close()


def test_what_a_killed_owner_left_is_blanked_by_the_next(feeder, monkeypatch):
    """Between Chroma's write and ours a process may die; the next one to open it does the rest."""
    with monkeypatch.context() as dying:
        dying.setattr(ChromaFolder, "_blank_new", lambda _: None)
        dying.setattr(long_tier.LongTier, "_leave", lambda *_, **__: None)
        dead = feeder.tier()
        dead.open()
        feeder.feed(dead)
        dead._chroma.close()
        dead._lock.release()
    spoil(feeder.folder)
    tier = feeder.tier()
    tier.open()
    assert not any(spare(feeder.folder))
    assert (feeder.lost(tier), len(feeder.resets)) == ([], 1)
    tier.close()


def test_a_layout_nobody_knows_is_not_fed(feeder, monkeypatch):
    """Nothing would keep the memory of the process out of it; exact search answers instead."""
    monkeypatch.setattr(chroma, "VERSION", 2)
    tier = feeder.tier()
    tier.open()
    with pytest.raises(TierUnavailable, match="unknown layout"):
        feeder.feed(tier)
    assert tier.state == LongState.ASIDE
    tier.close()


def test_an_index_is_blanked_at_each_first_use(feeder, fed):
    """Chroma lays a small one out again after each opening, for a search as for a write."""
    fed.close()
    for use in (lambda t: t.search(NS, feeder.vectors[0], 3), lambda t: t.remove(NS, ["id00001"])):
        tier = feeder.tier()
        tier.open()
        use(tier)
        assert not any(spare(feeder.folder))
        tier.close()
