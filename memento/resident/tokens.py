"""Who may use a store over HTTP: each client has a token, which says what it may see and do.

The file in the store's folder has the SHA-256 of each token, never the token. One of 256 random
bits cannot be found from that.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from memento.base import layout
from memento.base.clock import system_clock
from memento.base.files import explain_os, opened_folder, read_regular, write_atomically
from memento.base.scopes import parse_namespace, parse_scope
from memento.check import check_word, short_name
from memento.errors import InvalidInput, StoreUnusable
from memento.types import Trust

LONGEST = 1 << 20
"""Maximum size of a file, bytes."""
TRUSTS = tuple(one.value for one in Trust if one is not Trust.USER)
"""What a token's client can be trusted as: a model may be behind it, so never as the user."""


class Token(NamedTuple):
    """One client and its rights; no argument of a call can change them.

    Attributes:
        name: Its name, which is kept with what it remembers.
        digest: SHA-256 of the token, hexadecimal.
        namespace: The only namespace that it sees, labels joined with "/".
        scope: Where it works; ``""`` is everywhere.
        read_only: Whether it may only look.
        trust: How far what it says is trusted.
        made: When, ISO 8601.
    """

    name: str
    digest: str
    namespace: str
    scope: str
    read_only: bool
    trust: str
    made: str


def add(root: Path, name: str, *, namespace: str, scope: str, read_only: bool, trust: str) -> str:
    """Make a token; it is returned, and cannot be shown again.

    Raises:
        InvalidInput: If there is one of that name, or an argument cannot be accepted.
        StoreError: If the file cannot be read or written.
    """
    name = short_name("name", name)
    parse_namespace(namespace.split("/"))
    check_word("trust", trust, TRUSTS)
    token = f"memento_{secrets.token_urlsafe(32)}"
    now = system_clock().isoformat(timespec="seconds")
    made = Token(name, _digest(token), namespace, parse_scope(scope), read_only, trust, now)
    with _alone(root):
        known = listed(root)
        if any(one.name == name for one in known):
            raise InvalidInput("name", f"{name!r} has a token; revoke it first")
        _write(root, [*known, made])
    return token


def revoke(root: Path, name: str) -> Token:
    """Take a token back; it is refused from now on.

    Raises:
        InvalidInput: If there is none of that name.
        StoreError: As for `add`.
    """
    name = short_name("name", name)
    with _alone(root):
        known = listed(root)
        gone = next((one for one in known if one.name == name), None)
        if gone is None:
            raise InvalidInput("name", f"{name!r:.60} has no token")
        _write(root, [one for one in known if one is not gone])
    return gone


def listed(root: Path) -> list[Token]:
    """List the tokens of a store, oldest first.

    Raises:
        StoreUnusable: If the file cannot be read as such.
    """
    path = root / layout.TOKENS
    try:
        return [Token(**one) for one in json.loads(read_regular(path, LONGEST))]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError) as error:
        raise StoreUnusable(path, f"holds no tokens: {error}") from error


def holder(root: Path, token: str) -> Token | None:
    """Return whose token it is; None if it is nobody's. Takes as long for any of them."""
    digest = _digest(token)
    found = [one for one in listed(root) if hmac.compare_digest(one.digest, digest)]
    return found[0] if found else None


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Let nobody else change the tokens meanwhile: one that was taken back would come again."""
    try:
        with opened_folder(root) as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise explain_os(root, error) from error


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _write(root: Path, tokens: Iterable[Token]) -> None:
    text = json.dumps([one._asdict() for one in tokens], indent=1)
    write_atomically(root / layout.TOKENS, text.encode())
