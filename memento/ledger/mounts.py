"""Where a store must not be: on a file system that another machine may write to.

SQLite's write-ahead log needs memory shared between all who have the file open, and locks that all
of them see. Across machines there is neither, and the damage is silent.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from memento.errors import StoreUnusable

TABLE = Path("/proc/self/mounts")
NETWORK = frozenset({
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "coda", "ceph", "lustre", "gpfs",
    "beegfs", "gfs2", "ocfs2", "pvfs2", "fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.rclone",
    "fuse.gcsfuse", "fuse.ceph", "fuse.mount-s3", "davfs", "fuse.davfs2", "fuse.cephfs",
})  # fmt: skip
"""Types of file systems that several machines may have mounted."""


class Mount(NamedTuple):
    """One line of the table of mounts.

    Attributes:
        device: What is mounted, such as ``server:/export``.
        point: Where.
        kind: Type of the file system.
    """

    device: str
    point: str
    kind: str


def refuse_network(root: Path) -> None:
    """Refuse a folder on a network file system.

    Where the system has no such table (it is Linux's), nothing is known and nothing is refused.

    Raises:
        StoreUnusable: If it lies on one.
    """
    try:
        table = TABLE.read_text("utf-8", "surrogateescape")
    except OSError:
        return
    mount = mount_of(Path(os.path.realpath(root)), table)
    if mount is not None and mount.kind in NETWORK:
        raise StoreUnusable(
            root,
            f"lies on {mount.device} ({mount.kind}), mounted at {mount.point}: SQLite cannot keep a"
            " store whole there. Put it on a local disk; or, if one process of this machine alone"
            " uses it, set Config(allow_network=True) or MEMENTO_ALLOW_NETWORK=1",
        )


def mount_of(path: Path, table: str) -> Mount | None:
    r"""Find what a path lies on; of several mounts at one place the last one counts.

    Args:
        path: Absolute, without symbolic links; it need not exist.
        table: Text of ``/proc/self/mounts``.

    >>> mount_of(Path("/data/a"), "a / ext4 rw 0 0\nb:/x /data nfs4 rw 0 0\n").kind
    'nfs4'
    """
    found: Mount | None = None
    for line in table.splitlines():
        fields = [_unescaped(field) for field in line.split(" ")]
        if len(fields) >= len(Mount._fields):
            mount = Mount(*fields[: len(Mount._fields)])
            inside = path.is_relative_to(mount.point)
            if inside and (found is None or len(mount.point) >= len(found.point)):
                found = mount
    return found


def _unescaped(field: str) -> str:
    r"""Read a field in which blanks and backslashes are octal, such as ``\040``."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), field)
