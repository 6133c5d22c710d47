"""Which folder holds the store when nobody names one; every door asks here.

``$MEMENTO_ROOT`` if it is set; else the folder ``agent_memory`` here or in a folder above, as git
looks for ``.git``; else ``memento`` in the user's data folder. See ``docs/adr/0034``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from shlex import quote

from memento.base import layout
from memento.errors import InvalidInput, StoreUnusable

VARIABLE = "MEMENTO_ROOT"
"""Variable of the environment that names the folder."""
NAME = "agent_memory"
"""Name of the folder of a project's store."""


def default_root(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of the store for a caller who names none. It need not exist.

    Raises:
        StoreUnusable: If the folder that is found above belongs to another user.
        InvalidInput: If the working folder was removed, or the user has no home folder.
    """
    if named := environ.get(VARIABLE):
        return Path(named)
    try:
        here = Path.cwd()
    except FileNotFoundError:
        problem = "is not given, and the working folder was removed; give an absolute path"
        raise InvalidInput("root", problem) from None
    root = next(filter(_is_store, (folder / NAME for folder in _upwards(here))), None)
    if root is None:
        return _data_folder(environ) / "memento"
    _refuse_foreign(root)
    return root


def root_option(root: Path, environ: Mapping[str, str] = os.environ) -> str:
    """Return the option that a command needs to reach a store: ``""`` if it is the default."""
    try:
        if os.path.realpath(root) == os.path.realpath(default_root(environ)):
            return ""
    except (InvalidInput, StoreUnusable, OSError):  # there is no default, or no working folder
        pass
    return f" --root {quote(str(root))}"


def _upwards(here: Path) -> Iterator[Path]:
    """Yield a folder and those above, up to the home folder or the edge of the file system."""
    home = Path(os.path.realpath(os.path.expanduser("~")))  # noqa: PTH111 - see _data_folder
    disk = Path().stat().st_dev
    for folder in (here, *here.parents):
        try:
            if folder.stat().st_dev != disk:
                return
        except PermissionError:
            return
        yield folder
        if folder == home:
            return


def _is_store(folder: Path) -> bool:
    """Return whether a folder holds a store, the rest of one, or nothing yet.

    One that holds anything else, such as the source code of a project of that name, is passed over.
    """
    try:
        names = [entry.name for entry in folder.iterdir()]
    except NotADirectoryError:
        return False
    except OSError:  # a folder that is locked, or a link to a disk that is not mounted: whoever
        return os.path.lexists(folder)  # opens it says so, rather than remember elsewhere
    return any(name in layout.REMAINS for name in names) or all(
        name.startswith(".") or layout.OF_A_NEW_STORE.fullmatch(name) for name in names
    )


def _refuse_foreign(root: Path) -> None:
    """Refuse a folder that another user may have put there to be found, itself or as a link."""
    owners = {root.lstat().st_uid}
    with suppress(OSError):  # a link that leads nowhere
        owners.add(root.stat().st_uid)
    if owners != {os.geteuid()}:
        raise StoreUnusable(
            root,
            "belongs to another user, so it is used only if you name it: with --root,"
            f" MemoryManager(root) or {VARIABLE}",
        )


def state_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder for what hooks note between two events, and their log."""
    named = Path(environ.get("XDG_STATE_HOME", ""))
    return (named if named.is_absolute() else Path.home() / ".local" / "state") / "memento"


def _data_folder(environ: Mapping[str, str]) -> Path:
    named = Path(environ.get("XDG_DATA_HOME", ""))
    if named.is_absolute():  # the specification says to ignore any other
        return named
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.expanduser raises an untyped error
    if not home.is_absolute():
        problem = f"is not given, and there is no home folder; give it, or set {VARIABLE}"
        raise InvalidInput("root", problem)
    kept = "Library/Application Support" if sys.platform == "darwin" else ".local/share"
    return home / kept
