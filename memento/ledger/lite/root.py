"""The folder of a store: private to its owner, and refused if it holds other files."""

from __future__ import annotations

import errno
import logging
import os
import re
import stat
from pathlib import Path
from typing import NamedTuple

from memento.base import layout
from memento.base.files import explain_os, is_draft_of, sync_name
from memento.check import first_of
from memento.errors import StoreUnusable
from memento.ledger.lite import reserve, swap
from memento.ledger.lite.sqlite import refuse_long

_HARMLESS = frozenset({
    "lost+found", ".gitignore", ".gitkeep", ".gitattributes", ".keep", ".dockerignore",
    ".DS_Store", ".localized", "._.DS_Store", ".directory", "Thumbs.db", "desktop.ini",
    "CACHEDIR.TAG", ".nobackup", ".stfolder",
})  # fmt: skip
"""Names of files that file systems, desktops and version control put into an otherwise empty
folder."""

log = logging.getLogger("memento.ledger.lite.root")


def make_root(root: Path) -> None:
    """Make the folder of a store, private to its owner, or accept the one that is there.

    It may hold a store, or only `_HARMLESS` files. Without a ledger, derived files of a store are
    refused: they may be another program's, such as its own ``chroma`` folder. A folder that holds a
    store and other files keeps its mode, since it may be somebody's home.
    """
    refuse_long(root, f".{layout.LEDGER}.12345678.tmp")  # the longest name, that of a new ledger
    try:
        if root.exists() and not root.is_dir():
            raise StoreUnusable(root, "is not a folder; pass the folder of the store")
        if root.exists():
            _accept(root)
        else:
            _make(root)
    except NotADirectoryError as error:
        raise StoreUnusable(root, "is inside a file; use a different folder") from error
    except OSError as error:
        _refuse_broken_link(root)
        raise explain_os(root, error) from error


def _refuse_broken_link(root: Path) -> None:
    """Refuse a folder that is, or lies under, a link that leads nowhere; name the link."""
    for path in (root, *root.parents):
        if path.is_symlink():
            try:
                path.stat()
            except FileNotFoundError:
                problem = f"{path.name} is a link to {path.readlink()}, which does not exist"
                raise StoreUnusable(root, f"{problem}; use a different folder") from None
            except OSError as error:
                if error.errno != errno.ELOOP:
                    continue
                problem = (
                    f"{path.name} is a link that points back to itself; use a different folder"
                )
                raise StoreUnusable(root, problem) from None


def _make(root: Path) -> None:
    made = [folder for folder in (root, *root.parents) if not folder.exists()]
    root.mkdir(parents=True, mode=0o700, exist_ok=True)  # others may be opening it too
    root.chmod(0o700)
    for folder in reversed(made):
        sync_name(folder)


def _accept(root: Path) -> None:
    """Refuse a folder that is not a store's, and make any other private."""
    with os.scandir(root) as entries:
        found = list(entries)
    left = _remains(root)
    holds_store = (root / layout.LEDGER).exists()  # after its log: another may be making both
    if left and not holds_store:
        raise StoreUnusable(
            root,
            f"contains {', '.join(left)} but no {layout.LEDGER}. If these are the remains of a "
            "store, restore a backup with set_aside=True (--set-aside), or move them away to "
            "start with an empty store. If they belong to another program, use a separate "
            "folder, such as"
            f" {root / 'agent_memory'}",
        )
    strange = sorted(entry.name for entry in found if _is_strange(entry, new=not holds_store))
    if strange and not holds_store:
        raise StoreUnusable(
            root,
            f"contains other files ({first_of(strange)}) and no store; use a separate folder, "
            f"such as {root / 'agent_memory'}",
        )
    _make_private(root, new=not holds_store, alone=not strange)
    if holds_store:
        # A restored ledger's draft name goes unopened: closing it would drop the ledger's locks.
        ledger = (root / layout.LEDGER).stat()
        for entry in found:
            if is_draft_of(entry.name, layout.LEDGER) and os.path.samestat(
                entry.stat(follow_symlinks=False), ledger
            ):
                (root / entry.name).unlink(missing_ok=True)
        swap.finish(root.resolve())


def _remains(root: Path) -> list[str]:
    """Return the names that a store without its ledger leaves; another program may use them too."""
    derived = (name for name in layout.REMAINS if name != layout.LEDGER)
    return [name for name in derived if os.path.lexists(root / name)]


def _is_strange(entry: os.DirEntry[str], *, new: bool) -> bool:
    """Return whether a file does not belong to a store; in a new store every link does not."""
    if entry.name in _HARMLESS or entry.name.startswith(".Trash-"):
        return False
    ours = layout.OF_A_NEW_STORE if new else layout.OF_A_STORE
    if not ours.fullmatch(entry.name):
        return True
    if not new:
        return False
    return entry.is_symlink() or (entry.name == layout.RESERVE and not reserve.is_ours(entry))


def _make_private(root: Path, *, new: bool, alone: bool) -> None:
    """Make the folder private; refuse a new store in a folder that stays open to others."""
    mode = stat.S_IMODE(root.stat().st_mode)
    if not mode & 0o077:
        return
    if not alone:
        log.warning(
            "%s has mode %o and also contains other files; its mode was not changed", root, mode
        )
        return
    try:
        root.chmod(0o700)
    except OSError as error:
        if new and error.errno not in {errno.EPERM, errno.EACCES}:
            raise
        if new:
            raise StoreUnusable(
                root,
                f"is accessible to other users (mode {mode:o}) and cannot be made private"
                f" ({error.strerror}); use a folder inside it, such as {root / 'agent_memory'}",
            ) from error
        log.warning("%s has mode %o and cannot be made private: %s", root, mode, error)


TABLE = Path("/proc/self/mounts")
LOCAL = frozenset({
    "ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "jfs", "reiserfs", "reiser4",
    "nilfs2", "ufs", "minix", "ubifs", "jffs2", "apfs", "hfs", "hfsplus",
    "vfat", "msdos", "exfat", "ntfs", "ntfs3", "fuseblk",
    "tmpfs", "ramfs", "rootfs", "devtmpfs", "overlay", "overlayfs", "aufs", "ecryptfs",
    "squashfs", "erofs", "cramfs", "romfs", "iso9660", "udf",
    "fuse.fuse-overlayfs", "fuse.ext2", "fuse.ext4", "fuse.exfat", "fuse.ntfs-3g", "fuse.gocryptfs",
})  # fmt: skip
"""Kernel names of the types of file systems that only this machine can have mounted.

There are too many types that several machines can share, and new ones each year: so whatever is not
known to be local is refused. ``fuseblk`` is on a block device of this machine; plain ``fuse`` may
be anything, and 9p, virtiofs, vboxsf and the like show a folder of another system. An ``overlay``,
``aufs`` or ``ecryptfs`` lies on others that the table does not name; container engines put theirs
on a local disk.
"""


class Mount(NamedTuple):
    """One line of the table of mounts: what is mounted where, and its type of file system."""

    device: str
    point: str
    kind: str


def refuse_network(root: Path) -> None:
    """Refuse a folder on a file system that is not known to be local; only Linux can tell."""
    try:
        table = TABLE.read_bytes().decode("utf-8", "surrogateescape")  # a name may hold a \r
    except OSError:
        return
    mount = mount_of(Path(os.path.realpath(root)), table)
    if mount is not None and mount.kind not in LOCAL:
        raise StoreUnusable(
            root,
            f"is on {mount.device} ({mount.kind}), mounted at {mount.point}, which is not known "
            "to be a local file system: SQLite cannot protect a store that several machines "
            "write to. Move it to a local disk; or, if only one process on this machine uses it, "
            "set"
            " Config(allow_network=True) or MEMENTO_ALLOW_NETWORK=1",
        )


def mount_of(path: Path, table: str) -> Mount | None:
    r"""Return the mount that holds a path; of several mounts at one place the last one.

    Args:
        path: Absolute, without symbolic links; it need not exist.
        table: Text of ``/proc/self/mounts``.

    >>> mount_of(Path("/data/a"), "a / ext4 rw 0 0\nb:/x /data nfs4 rw 0 0\n").kind
    'nfs4'
    """
    found: Mount | None = None
    for line in table.split("\n"):  # not ``splitlines``: a name may hold other line ends
        fields = [_unescaped(field) for field in line.split(" ")]
        if len(fields) >= len(Mount._fields):
            mount = Mount(*fields[: len(Mount._fields)])
            inside = path.is_relative_to(mount.point)
            if inside and (found is None or len(mount.point) >= len(found.point)):
                found = mount
    return found


def _unescaped(field: str) -> str:
    r"""Decode a field in which blanks and backslashes are octal, such as ``\040``."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), field)
