"""The store that a command names, or the default one. Imports nothing that is slow."""

from __future__ import annotations

import os
import re
import sys
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memento.base import home, layout
from memento.errors import InvalidInput, NotHere, StoreUnusable

if TYPE_CHECKING:
    from memento import MemoryManager

root_option: ContextVar[str] = ContextVar("root_option", default="")
"""The option that commands in messages need to reach the open store."""
_COMMAND = re.compile(r"`(memento [^`]+)`")


def with_root(message: str) -> str:
    """Add ``--root`` to the commands that a message names, if the store is not the default one."""
    option = root_option.get()
    return _COMMAND.sub(lambda found: f"`{found[1]}{option}`", message) if option else message


class Store(NamedTuple):
    """The store of a command.

    Attributes:
        named: Its folder; None for the default.
        namespace: Labels of the namespace, joined with "/"; None if none is named.
        embedder: Name of the embedder, or "none".
        make: Whether to create it if there is none.
    """

    named: str | None = None
    namespace: str | None = None
    embedder: str = "default"
    make: bool = False

    @property
    def labels(self) -> str:
        """Labels of the namespace, joined with "/", in a store of this machine."""
        return "default" if self.namespace is None else self.namespace

    @property
    def root(self) -> Path:
        """Its folder; meaningless if ``address`` is a database."""
        return home.default_root() if self.named is None else Path(self.named)

    @property
    def address(self) -> str | Path:
        """Its folder, or the address of its database."""
        server = self.named is not None and home.is_server(self.named)
        return str(self.named) if server else self.root

    @property
    def url(self) -> str:
        """Address of its service: ``$MEMENTO_URL``; ``""`` if a folder is named."""
        return os.environ.get("MEMENTO_URL", "") if self.named is None else ""

    @property
    def place(self) -> str:
        """The service or the folder, as messages name it."""
        return self.url or home.shown(self.address)

    def folder(self) -> Path:
        """Return its folder, for a command that works with a folder only.

        Raises:
            InvalidInput: If it is a database.
        """
        if home.is_server(self.address):
            problem = "is a database; this command needs a folder (see `memento serve`)"
            raise InvalidInput("--root", problem)
        return self.root

    def here(self) -> Store:
        """Return the store on this machine, for a command that no service offers.

        Raises:
            NotHere: If there is none, and commands use a service.
        """
        if not self.url:
            return self
        if not self.exists:
            raise NotHere(
                f"this command works only where the store is, not through {self.url}; run it "
                "there, or specify a folder with --root"
            )
        return self._replace(named=os.fspath(self.root))

    @property
    def exists(self) -> bool:
        """Whether it exists; always True for a database, which is checked on opening."""
        return home.is_server(self.address) or (self.root / layout.LEDGER).exists()

    def open(self) -> MemoryManager:
        """Open it; with ``make``, create it if there is none, and report that on stderr."""
        if self.url:
            from memento import connect  # noqa: PLC0415 - as in `open_at`

            named = None if self.namespace is None else self.namespace.split("/")
            return connect(self.url, namespace=named)
        root, there = self.root, self.exists
        root_option.set(home.root_option(self.address))
        if not (there or self.make):
            problem = (
                "contains no store; specify its folder with --root, or create a store with "
                "`memento add`"
            )
            raise StoreUnusable(root, problem)
        memory = open_at(self.address, self.labels, self.embedder)
        if not there:
            sys.stderr.write(f"memento: created a new store in {root}\n")
        return memory


def open_at(root: str | Path, namespace: str, embedder: str) -> MemoryManager:
    """Open the store of a folder, with that folder's settings."""
    from memento import MemoryManager  # noqa: PLC0415 - `memento mcp` answers before it is there

    return MemoryManager(
        root, namespace=namespace.split("/"), embedder=None if embedder == "none" else embedder
    )
