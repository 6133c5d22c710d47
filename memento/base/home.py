"""Which folder holds the store when the caller names none.

``$MEMENTO_ROOT`` if it is set; else the folder ``agent_memory`` here or in a folder above, as git
looks for ``.git``; else ``memento`` in the user's data folder. See ``docs/adr/0034``.

Each run of a hook imports this module, so slow imports are inside the functions that need them:
``pathlib``, ``memento.errors`` and ``layout`` took 8 ms of CPU.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress

TYPE_CHECKING = False  # as in ``typing``, which is slow to import
if TYPE_CHECKING:
    from pathlib import Path

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
    from pathlib import Path  # noqa: PLC0415 - see the docstring of the module

    return Path(default_path(environ))


def default_path(environ: Mapping[str, str] = os.environ) -> str:
    """Return ``default_root`` as a string, without importing ``pathlib``."""
    if named := environ.get(VARIABLE):
        return named
    try:
        here = os.getcwd()
    except FileNotFoundError:
        problem = (
            "is not specified, and the working directory was removed; specify an absolute path"
        )
        raise _invalid(problem) from None
    root = next(filter(_is_store, (os.path.join(folder, NAME) for folder in _upwards(here))), None)
    if root is None:
        return os.path.join(_data_folder(environ), "memento")
    _refuse_foreign(root)
    return root


def shown(address: str | Path) -> str:
    """Return an address as messages and settings show it: without a password.

    >>> shown("postgresql://me:secret@host/db?password=secret&schema=a"), shown("agent_memory")
    ('postgresql://me@host/db?schema=a', 'agent_memory')
    """
    if not is_server(address):
        return str(address)
    import re  # noqa: PLC0415 - slow

    told = without(re.sub("^([a-z]+:)/(?!/)", r"\1//", str(address)), "password")
    return re.sub(r"^(\w+://[^:/?@]*):[^/?]*@", r"\1@", told)


def without(address: str | Path, *names: str) -> str:
    """Return the address of a database without some of its options, and all else as it is."""
    from urllib.parse import parse_qsl, quote, urlencode  # noqa: PLC0415 - slow

    place, asks, query = str(address).partition("?")
    options = parse_qsl(query, keep_blank_values=True)
    kept = [one for one in options if one[0] not in names]
    return place + asks * bool(kept) + urlencode(kept, safe="/:,", quote_via=quote)


def root_option(root: str | Path, environ: Mapping[str, str] = os.environ) -> str:
    """Return the option that a command needs to reach a store: ``""`` if it is the default."""
    from shlex import quote  # noqa: PLC0415 - see the docstring of the module

    from memento.errors import InvalidInput, StoreUnusable  # noqa: PLC0415 - the same

    try:
        if os.path.realpath(root) == os.path.realpath(default_path(environ)):
            return ""
    except (InvalidInput, StoreUnusable, OSError):  # there is no default, or no working folder
        pass
    return f" --root {quote(shown(root))}"


def _invalid(problem: str) -> Exception:
    from memento.errors import InvalidInput  # noqa: PLC0415 - see the docstring of the module

    return InvalidInput("root", problem)


def _upwards(folder: str) -> Iterator[str]:
    """Yield a folder and those above, up to the home folder or the edge of the file system."""
    home = os.path.realpath(os.path.expanduser("~"))
    disk = os.stat(".").st_dev
    above = ""
    while folder != above:
        try:
            if os.stat(folder).st_dev != disk:
                return
        except PermissionError:
            return
        yield folder
        if folder == home:
            return
        above, folder = folder, os.path.dirname(folder)


def _is_store(folder: str) -> bool:
    """Return whether a folder holds a store, remains of one, or nothing yet.

    A folder that holds anything else, such as source code, is not a store.
    """
    try:
        names = os.listdir(folder)
    except NotADirectoryError:
        return False
    except OSError:  # no permission, or a link to an unmounted disk: let opening it fail, rather
        return os.path.lexists(folder)  # than use another store
    from memento.base import layout  # noqa: PLC0415 - see the docstring of the module

    return any(name in layout.REMAINS for name in names) or all(
        name.startswith(".") or layout.OF_A_NEW_STORE.fullmatch(name) for name in names
    )


def _refuse_foreign(root: str) -> None:
    """Refuse a folder that another user may have planted, directly or as a link."""
    owners = {os.lstat(root).st_uid}
    with suppress(OSError):  # a dangling link
        owners.add(os.stat(root).st_uid)
    if owners != {os.geteuid()}:
        from pathlib import Path  # noqa: PLC0415 - see the docstring of the module

        from memento.errors import StoreUnusable  # noqa: PLC0415 - the same

        raise StoreUnusable(
            Path(root),
            "belongs to another user, so you must specify it explicitly: with --root,"
            f" MemoryManager(root) or {VARIABLE}",
        )


def state_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder for the hooks' state between two events, and their log."""
    from pathlib import Path  # noqa: PLC0415 - see the docstring of the module

    named = Path(environ.get("XDG_STATE_HOME", ""))
    return (named if named.is_absolute() else Path.home() / ".local" / "state") / "memento"


def is_server(address: str | Path) -> bool:
    """Return whether an address is that of a PostgreSQL database, not a folder.

    A ``Path`` made of such an address, which lacks a slash, counts too.

    >>> is_server("postgresql://localhost/team"), is_server("agent_memory")
    (True, False)
    """
    return str(address).lower().startswith(("postgres:/", "postgresql:/"))


def is_service(address: str | Path) -> bool:
    """Return whether an address is that of a service, as ``memento.connect`` takes it.

    >>> is_service("unix:/run/memento.sock"), is_service("unix")
    (True, False)
    """
    return str(address).lower().startswith(("unix:", "http:/", "https:/"))


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder for derived files of stores on a server; it may be deleted at any time.

    ``$MEMENTO_CACHE`` if it is set, else ``memento`` in the user's cache folder.

    Raises:
        InvalidInput: If the user has no home folder.
    """
    from pathlib import Path  # noqa: PLC0415 - see the docstring of the module

    if named := environ.get("MEMENTO_CACHE"):
        return Path(named)
    if os.path.isabs(named := environ.get("XDG_CACHE_HOME", "")):
        return Path(named) / "memento"
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise _invalid("no home folder was found for the cache; set MEMENTO_CACHE")
    return Path(home, "Library/Caches" if sys.platform == "darwin" else ".cache", "memento")


def _data_folder(environ: Mapping[str, str]) -> str:
    named = environ.get("XDG_DATA_HOME", "")
    if os.path.isabs(named):  # the specification says to ignore any other
        return named
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise _invalid(
            f"is not specified, and there is no home folder; specify it, or set {VARIABLE}"
        )
    kept = "Library/Application Support" if sys.platform == "darwin" else ".local/share"
    return os.path.join(home, kept)
