"""A store on a network file system is refused, whatever way leads there."""

from __future__ import annotations

from pathlib import Path

import pytest

from memento import Config
from memento.errors import InvalidInput, StoreUnusable
from memento.ledger import mounts
from memento.ledger.mounts import NETWORK, mount_of, refuse_network


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Make a table of mounts in which the test's folder lies on a file system of some type."""

    def make(kind):
        path = tmp_path / "mounts"
        point = str(tmp_path).replace(" ", "\\040")
        path.write_text(f"/dev/vda / ext4 rw 0 0\nfiler:/home {point} {kind} rw,vers=4 0 0\n")
        monkeypatch.setattr(mounts, "TABLE", path)

    return make


@pytest.mark.parametrize("kind", sorted(NETWORK))
def test_every_network_file_system_is_refused(table, tmp_path, open_memory, kind):
    """With what is mounted, as what, and what to do; and nothing was made there."""
    table(kind)
    with pytest.raises(StoreUnusable, match=rf"filer:/home \({kind}\).*allow_network"):
        open_memory(tmp_path / "store")
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "apfs"])
def test_local_ones_are_not(table, tmp_path, open_memory, kind):
    """The same table, with a type this machine alone has mounted."""
    table(kind)
    assert open_memory(tmp_path / "store").add("here").text == "here"


def test_a_link_does_not_lead_there(table, tmp_path, tmp_path_factory, open_memory):
    """What counts is where the folder really is."""
    table("nfs4")
    link = tmp_path_factory.mktemp("local") / "link"
    link.symlink_to(tmp_path / "store")
    with pytest.raises(StoreUnusable, match="nfs4"):
        open_memory(link)


def test_who_asks_for_it_gets_it(table, tmp_path, open_memory):
    """By the config or by the environment, never by itself."""
    table("nfs4")
    assert open_memory(tmp_path / "a", config=Config(allow_network=True)).add("here")
    assert Config.from_env({"MEMENTO_ALLOW_NETWORK": "1"}).allow_network
    assert not Config.from_env({"MEMENTO_ALLOW_NETWORK": "0"}).allow_network
    with pytest.raises(InvalidInput, match="MEMENTO_ALLOW_NETWORK"):
        Config.from_env({"MEMENTO_ALLOW_NETWORK": "perhaps"})


def test_without_a_table_nothing_is_known(tmp_path, monkeypatch):
    """On a system that has none."""
    monkeypatch.setattr(mounts, "TABLE", tmp_path / "none")
    refuse_network(tmp_path)


def test_the_deepest_mount_counts():
    """A local disk inside a network folder is local; a later mount covers an earlier one."""
    table = """\
/dev/vda / ext4 rw 0 0
filer:/a /data nfs4 rw 0 0
/dev/vdb /data/local xfs rw 0 0
//win/share /data/with\\040blank cifs rw 0 0
tmpfs /cover tmpfs rw 0 0
filer:/b /cover nfs rw 0 0
broken line
"""
    for path, kind in (
        ("/home/x", "ext4"),
        ("/data", "nfs4"),
        ("/data/store", "nfs4"),
        ("/database", "ext4"),
        ("/data/local/store", "xfs"),
        ("/data/with blank/store", "cifs"),
        ("/cover/store", "nfs"),
    ):
        assert mount_of(Path(path), table).kind == kind
    assert mount_of(Path("/x"), "") is None


def test_this_machine_is_read(tmp_path):
    """The real table of this system is understood: the test's own folder lies on something."""
    if not mounts.TABLE.exists():
        pytest.skip("this system has no table of mounts")
    found = mount_of(tmp_path.resolve(), mounts.TABLE.read_text())
    assert found is not None
    assert found.kind not in NETWORK
