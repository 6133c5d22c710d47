"""Where a store may be: on a file system that no other machine can write to.

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
LOCAL = frozenset({
    "ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "jfs", "reiserfs", "reiser4",
    "nilfs2", "ufs", "minix", "ubifs", "jffs2", "apfs", "hfs", "hfsplus",
    "vfat", "msdos", "exfat", "ntfs", "ntfs3", "fuseblk",
    "tmpfs", "ramfs", "rootfs", "devtmpfs", "overlay", "overlayfs", "aufs", "ecryptfs",
    "squashfs", "erofs", "cramfs", "romfs", "iso9660", "udf",
    "fuse.fuse-overlayfs", "fuse.ext2", "fuse.ext4", "fuse.exfat", "fuse.ntfs-3g", "fuse.gocryptfs",
})  # fmt: skip
"""Types of file systems that this machine alone has mounted, by what the kernel calls them.

The types that several machines can share are without number, and each year brings new ones: so what
is not known to be local is refused. ``fuseblk`` has a block device of this machine under it; plain
``fuse`` says nothing, and 9p, virtiofs, vboxsf and their kin show a folder of another system. An
``overlay``, ``aufs`` or ``ecryptfs`` lies on others, which the table does not tell; container
engines put theirs on a local disk.
"""


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
    """Refuse a folder on a file system that is not known to be local.

    Where the system has no such table (it is Linux's), nothing is known and nothing is refused.

    Raises:
        StoreUnusable: If it lies on one.
    """
    try:
        table = TABLE.read_bytes().decode("utf-8", "surrogateescape")  # a name may hold a \r
    except OSError:
        return
    mount = mount_of(Path(os.path.realpath(root)), table)
    if mount is not None and mount.kind not in LOCAL:
        raise StoreUnusable(
            root,
            f"lies on {mount.device} ({mount.kind}), mounted at {mount.point}, which is not known"
            " to be local: where several machines write, SQLite cannot keep a store whole. Put it"
            " on a local disk; or, if one process of this machine alone uses it, set"
            " Config(allow_network=True) or MEMENTO_ALLOW_NETWORK=1",
        )


def mount_of(path: Path, table: str) -> Mount | None:
    r"""Find what a path lies on; of several mounts at one place the last one is in use.

    Args:
        path: Absolute, without symbolic links; it need not exist.
        table: Text of ``/proc/self/mounts``.

    >>> mount_of(Path("/data/a"), "a / ext4 rw 0 0\nb:/x /data nfs4 rw 0 0\n").kind
    'nfs4'
    """
    found: Mount | None = None
    for line in table.split("\n"):  # a name may hold what else ends lines in Unicode
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
