"""The hidden name of a store that is being built beside the one it is to replace."""

from __future__ import annotations

import zlib
from pathlib import Path


def mark_of(folder: Path) -> str:
    """Return what tells a folder from all others, whatever its name is by now."""
    found = folder.lstat()
    return f"{zlib.crc32(f'{found.st_dev} {found.st_ino}'.encode()):08x}"


def name_of_fresh(root: Path, folder: Path) -> Path:
    """Return the name that the folder of a new store has while it is being built beside another."""
    return root.with_name(f".{root.name}.{mark_of(folder)}.tmp")
