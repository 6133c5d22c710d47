"""Which engine a store has: opens its ledger, and hands out the engine's tools for files.

The one way into the engines from outside ``ledger``. An engine is imported when it is needed, and
no other is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from memento.base.files import path_of
from memento.errors import InvalidInput
from memento.ledger.contract import BackupTool, Ledger

if TYPE_CHECKING:
    from memento.ledger.contract import SalvageTool
    from memento.ledger.lite.rescue import Rescued

T = TypeVar("T")

_SERVER = re.compile(r"postgres(ql)?:/", re.IGNORECASE)
"""Beginning of the address of a PostgreSQL database, also where a ``Path`` was made of it."""


def open_ledger(address: str | Path, *, allow_network: bool = False) -> Ledger:
    """Open the ledger of a store, making a new one if there is none.

    Args:
        address: Folder of the store; made with mode 0700 if absent.
        allow_network: Whether it may lie on a network file system.

    Raises:
        InvalidInput: If it is the address of a database server, which is not supported.
        StoreUnusable: If the root is no folder or on a network, or the file is not a ledger or is
            damaged.
        StoreFromTheFuture: If a newer memento wrote it.
    """
    root = folder_of(address)
    from memento.ledger.lite.store import LiteLedger  # noqa: PLC0415 - only the engine needed

    return LiteLedger(root, allow_network=allow_network)


def folder_of(address: str | Path) -> Path:
    """Return the folder that an address names, absolute: it stays when the process goes elsewhere.

    Raises:
        InvalidInput: If it is the address of a database server, or no name at all.

    >>> folder_of("agent_memory").name
    'agent_memory'
    """
    folder = path_of("root", address)
    if _SERVER.match(str(address)):
        raise InvalidInput(
            "root", "is the address of a PostgreSQL server, which is not supported; give a folder"
        )
    return folder


def make_root(root: Path) -> None:
    """Make the folder of a store, private to its owner.

    Raises:
        StoreUnusable: If the path is something else than a folder.
        ReadOnlyStore: If it cannot be made.
        StoreError: If the disk stands in the way; see its children.
    """
    from memento.ledger.lite import root as folder  # noqa: PLC0415 - see open_ledger

    folder.make_root(root)


def backup_tool() -> BackupTool:
    """Return what copies a ledger in files, and makes one of such a copy."""
    from memento.ledger.lite import copying  # noqa: PLC0415 - see open_ledger

    return copying


def salvage_tool() -> SalvageTool[Rescued]:
    """Return what finds the whole memories of a damaged ledger, and makes a new one of them."""
    from memento.ledger.lite import rescue  # noqa: PLC0415 - see open_ledger

    return rescue


def swap(root: Path, build: Callable[[Path], T]) -> tuple[T, Path]:
    """Build a store beside the one that is there, then let them change places.

    Returns:
        What ``build`` returned, and where the old store is now.

    Raises:
        StoreBusy: If somebody has the store open.
        StoreError: If the new one cannot be written; the old one is where it was.
    """
    from memento.ledger.lite import swap as files  # noqa: PLC0415 - see open_ledger

    return files.swap(root, build)
