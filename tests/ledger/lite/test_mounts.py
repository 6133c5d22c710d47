"""A store is refused where the file system is not known to be local, whatever way leads there."""

from __future__ import annotations

from pathlib import Path

import pytest

from memento import Config
from memento.errors import InvalidInput, StoreUnusable
from memento.ledger.lite import root
from memento.ledger.lite.root import LOCAL, mount_of, refuse_network
from memento.settings import load

SHARED = (
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "coda", "ceph", "lustre", "gpfs",
    "beegfs", "gfs2", "ocfs2", "pvfs2", "davfs", "9p", "virtiofs", "vboxsf", "vmhgfs",
    "fuse.vmhgfs-fuse", "prl_fs", "orangefs", "wekafs", "fuse", "fuse.juicefs", "fuse.goofys",
    "fuse.blobfuse2", "fuse.mfs", "fuse.seaweedfs", "fuse.sshfs", "fuse.glusterfs", "fuse.s3fs",
    "fuse.rclone", "fuse.gcsfuse", "fuse.ceph", "fuse.mount-s3", "fuse.davfs2", "fuse.portal",
    "next-years-cloudfs",
)  # fmt: skip


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Make a table of mounts in which the test's folder lies on a file system of some type."""

    def make(kind):
        path = tmp_path / "mounts"
        point = str(tmp_path).replace(" ", "\\040")
        path.write_text(f"/dev/vda / ext4 rw 0 0\nfiler:/home {point} {kind} rw,vers=4 0 0\n")
        monkeypatch.setattr(root, "TABLE", path)

    return make


@pytest.mark.parametrize("kind", SHARED)
def test_what_is_not_known_to_be_local_is_refused(table, tmp_path, open_memory, kind):
    """With what is mounted, as what, and what to do; and nothing was made there."""
    table(kind)
    with pytest.raises(
        StoreUnusable,
        match=rf"filer:/home \({kind}\).*not known to be a local file system.*allow_network",
    ):
        open_memory(tmp_path / "store")
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("kind", sorted(LOCAL))
def test_local_ones_are_not(table, tmp_path, open_memory, kind):
    """The same table, with a type this machine alone has mounted."""
    table(kind)
    assert open_memory(tmp_path / "store").add("here").text == "here"


def test_a_link_does_not_lead_there(table, tmp_path, tmp_path_factory, open_memory):
    """The real path of the folder decides."""
    table("nfs4")
    link = tmp_path_factory.mktemp("local") / "link"
    link.symlink_to(tmp_path / "store")
    with pytest.raises(StoreUnusable, match="nfs4"):
        open_memory(link)


def test_who_asks_for_it_gets_it(table, tmp_path, open_memory):
    """By the config or by the environment, never by itself."""
    table("nfs4")
    assert open_memory(tmp_path / "a", config=Config(allow_network=True)).add("here")
    assert load(environ={"MEMENTO_ALLOW_NETWORK": "1"}).config.allow_network
    assert not load(environ={"MEMENTO_ALLOW_NETWORK": "0"}).config.allow_network
    with pytest.raises(InvalidInput, match="MEMENTO_ALLOW_NETWORK"):
        load(environ={"MEMENTO_ALLOW_NETWORK": "perhaps"})


def test_without_a_table_nothing_is_known(tmp_path, monkeypatch):
    """On a system that has none."""
    monkeypatch.setattr(root, "TABLE", tmp_path / "none")
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


def test_this_machine_is_local(tmp_path):
    """In the real table of this system its root and its folders for temporary files are local."""
    for place in (tmp_path, Path("/"), Path("/dev/shm")):  # noqa: S108 - nothing is written
        refuse_network(place)
    if root.TABLE.exists():
        assert mount_of(tmp_path.resolve(), root.TABLE.read_text()).kind in LOCAL


@pytest.mark.parametrize("odd", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_a_name_that_ends_lines_elsewhere_hides_no_mount(odd):
    """The table's lines end with a line feed alone; a name may hold all else."""
    table = f"dev / ext4 rw 0 0\nsrv:/x /data/a{odd}b nfs4 rw 0 0\n"
    found = root.mount_of(Path(f"/data/a{odd}b/store"), table)
    assert found is not None
    assert found.kind == "nfs4"
