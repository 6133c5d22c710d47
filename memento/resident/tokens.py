"""Who may use a store over HTTP: each client has a token, with what it may see and do.

The file in the store's folder holds the SHA-256 of each token, never the token, whose 256 random
bits cannot be found from that. For a store in a database, the database holds them, for all
machines.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, Self

from memento.base import layout
from memento.base.clock import system_clock
from memento.base.files import explain_os, opened_folder, read_regular, write_atomically
from memento.base.home import is_server
from memento.base.scopes import parse_namespace, parse_scope
from memento.check import check_word, short_name
from memento.errors import InvalidInput, StoreError, StoreUnusable
from memento.ledger import meta
from memento.ledger.contract import Ledger, Transaction
from memento.ledger.opening import open_ledger
from memento.types import Trust

LONGEST = 1 << 20
"""Maximum size of a file, bytes."""
FOLLOWED = 1.0
"""Seconds after which a token that was revoked in a database is refused by every machine."""
_NAME = "tokens"
"""Their name in the table ``meta`` of a database."""
RIGHTS = ("read", "write", "admin")
TRUSTS = tuple(one.value for one in Trust)


class Token(NamedTuple):
    """One client and its rights; no argument of a call can change them.

    Attributes:
        name: Its name, which is kept with what it remembers.
        digest: SHA-256 of the token, hexadecimal.
        namespace: What it sees, labels joined with "/": this namespace, and over ``memento serve``
            those below it; ``""`` is the whole store.
        scope: Where it works; ``""`` means everywhere. Only an agent's server can hold it to one.
        rights: ``read``, ``write`` or ``admin``, each with those before it.
        trust: How far what it says is trusted.
        made: When, ISO 8601.
        expires: From when it is refused, ISO 8601; ``""`` for never.
    """

    name: str
    digest: str
    namespace: str
    scope: str
    rights: str
    trust: str
    made: str
    expires: str = ""


def add(
    root: Path,
    name: str,
    *,
    namespace: str,
    scope: str = "",
    rights: str = "write",
    trust: str = "agent",
    expires_in: timedelta | None = None,
) -> str:
    """Make a token; it is returned, and cannot be shown again.

    Args:
        root: The store folder.
        name: Its name.
        namespace: As in `Token`; so are the other arguments.
        scope: Where it works.
        rights: What it allows.
        trust: ``user`` for a program that passes on what its user says; ``agent``, or less, for
            one with a model behind it.
        expires_in: How long it is good for; None for ever.

    Raises:
        InvalidInput: If there is one of that name, or an argument cannot be accepted.
        StoreError: If the file cannot be read or written.
    """
    name = short_name("name", name)
    if namespace:
        namespace = "/".join(parse_namespace(namespace.split("/")))
    check_word("rights", rights, RIGHTS)
    check_word("trust", trust, TRUSTS)
    token = f"memento_{secrets.token_urlsafe(32)}"
    now = system_clock()
    ends = "" if expires_in is None else (now + expires_in).isoformat(timespec="seconds")
    told = (parse_scope(scope), rights, trust, now.isoformat(timespec="seconds"), ends)
    made = Token(name, _digest(token), namespace, *told)

    def added(known: list[Token]) -> list[Token]:
        if any(one.name == name for one in known):
            raise InvalidInput("name", f"{name!r} already has a token; revoke it first")
        return [*known, made]

    _change(root, added)
    return token


def revoke(root: Path, name: str) -> Token:
    """Take a token back; it is refused from now on.

    Raises:
        InvalidInput: If there is none of that name.
        StoreError: As for `add`.
    """
    name = short_name("name", name)
    gone: list[Token] = []

    def left(known: list[Token]) -> list[Token]:
        gone[:] = [one for one in known if one.name == name]
        if not gone:
            raise InvalidInput("name", f"{name!r:.60} has no token")
        return [one for one in known if one not in gone]

    _change(root, left)
    return gone[0]


def _change(root: Path, change: Callable[[list[Token]], list[Token]]) -> None:
    if (shared := _shared.get(root)) is not None:
        shared.change(change)
        return
    with _alone(root):
        _write(root, change(listed(root)))


def listed(root: Path) -> list[Token]:
    """List the tokens of a store, oldest first.

    Raises:
        StoreUnusable: If the file cannot be read as such.
    """
    if (shared := _shared.get(root)) is not None:
        return shared.listed()
    path = root / layout.TOKENS
    try:
        now = path.stat()
        return [*_read(path, (now.st_ino, now.st_mtime_ns, now.st_size))]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError) as error:
        raise StoreUnusable(path, f"is not a valid token file: {error}") from error


@lru_cache(maxsize=16)
def _read(path: Path, _edition: tuple[int, ...]) -> tuple[Token, ...]:
    """Return the tokens in a file; cached by ``_edition``, since each change replaces the file."""
    return tuple(Token(**one) for one in json.loads(read_regular(path, LONGEST)))


def holder(root: Path, token: str) -> Token | None:
    """Return the entry of a token; None if unknown or expired. Takes as long for any token."""
    digest = _digest(token)
    found = [one for one in listed(root) if hmac.compare_digest(one.digest, digest)]
    return found[0] if found and not _is_over(found[0].expires) else None


def _is_over(moment: str) -> bool:
    return bool(moment) and datetime.fromisoformat(moment) <= system_clock()


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Lock the tokens during the block: a concurrent change could restore a revoked one."""
    try:
        with opened_folder(root) as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise explain_os(root, error) from error


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _spelt(tokens: Iterable[Token]) -> str:
    return json.dumps([one._asdict() for one in tokens], indent=1)


def _write(root: Path, tokens: Iterable[Token]) -> None:
    write_atomically(root / layout.TOKENS, _spelt(tokens).encode())


@contextmanager
def kept_at(address: str | Path) -> Iterator[Path]:
    """Yield the path to pass to the other functions as ``root``.

    If the address is a database, they read and write its tokens during the block.
    """
    if not is_server(address):
        yield Path(address)
        return
    with closing(open_ledger(address)) as ledger, _Shared(ledger) as shared:
        _shared[ledger.root] = shared
        try:
            yield ledger.root
        finally:
            _shared.pop(ledger.root, None)


class _Shared:
    """The tokens in a database; a thread refreshes them, so that no request waits for that."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._tokens = ledger.read(_held)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="memento-tokens", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()

    def listed(self) -> list[Token]:
        """Return the tokens as last read: a second ago, or when the database last answered."""
        return [*self._tokens]

    def change(self, change: Callable[[list[Token]], list[Token]]) -> None:
        """Change the tokens in one transaction."""

        def job(db: Transaction) -> list[Token]:
            new = change(_held(db))
            meta.put(db, _NAME, _spelt(new))
            return new

        self._tokens = self._ledger.write(job)

    def _follow(self) -> None:
        while not self._ending.wait(FOLLOWED):
            with suppress(StoreError):  # calls that need the database report it
                self._tokens = self._ledger.read(_held)


def _held(db: Transaction) -> list[Token]:
    return [Token(**one) for one in meta.get_json(db, _NAME) or ()]


_shared: dict[Path, _Shared] = {}
