"""Choose the engine of a store: open its ledger, and return the engine's tools for files.

The only access to the engines from outside ``ledger``. Only the engine that is needed is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from memento.base.files import path_of
from memento.base.home import is_server, is_service
from memento.errors import InvalidInput, MissingExtra
from memento.ledger.contract import BackupTool, Ledger

if TYPE_CHECKING:
    from memento.ledger.contract import SalvageTool
    from memento.ledger.lite.rescue import Rescued

T = TypeVar("T")


def open_ledger(address: str | Path, *, allow_network: bool = False) -> Ledger:
    """Open the ledger of a store, or make a new one; see ``contract.Ledger``.

    Its folder is made private. On a network file system it is refused, unless
    ``allow_network``.
    """
    if is_server(address):
        if missing := [name for name in ("psycopg", "psycopg_pool") if find_spec(name) is None]:
            raise MissingExtra("postgres", missing[0])
        from memento.ledger.pg.store import PgLedger  # noqa: PLC0415 - only the engine needed

        return PgLedger(str(address))
    root = folder_of(address)
    from memento.ledger.lite.store import LiteLedger  # noqa: PLC0415 - only the engine needed

    return LiteLedger(root, allow_network=allow_network)


def folder_of(address: str | Path) -> Path:
    """Return the folder that an address names, absolute, so that a ``chdir`` does not change it.

    Raises:
        InvalidInput: If it is the address of a server, or no name at all.

    >>> folder_of("agent_memory").name
    'agent_memory'
    """
    folder = path_of("root", address)
    if is_server(address):
        raise InvalidInput(
            "root",
            "is the address of a PostgreSQL server, which does not support this operation; "
            "specify a folder",
        )
    if is_service(address):
        raise InvalidInput("root", "is the address of a service; pass it to `memento.connect`")
    return folder


def make_root(root: Path) -> None:
    """Make the folder of a store, private to its owner, or accept the one that is there."""
    from memento.ledger.lite import root as folder  # noqa: PLC0415 - see open_ledger

    folder.make_root(root)


def backup_tool() -> BackupTool:
    """Return the tool that copies a ledger in files, and makes a ledger from such a copy."""
    from memento.ledger.lite import copying  # noqa: PLC0415 - see open_ledger

    return copying


def salvage_tool() -> SalvageTool[Rescued]:
    """Return the tool that finds the sound memories of a damaged ledger, and makes a new one."""
    from memento.ledger.lite import rescue  # noqa: PLC0415 - see open_ledger

    return rescue


def swap(root: Path, build: Callable[[Path], T]) -> tuple[T, Path]:
    """Build a store beside the existing one, then exchange the two.

    Returns what ``build`` returned, and where the old store is now. If anything fails, for instance
    because somebody has it open, the old one stays in place.
    """
    from memento.ledger.lite import swap as files  # noqa: PLC0415 - see open_ledger

    return files.swap(root, build)
