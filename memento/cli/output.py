"""Output and exit statuses of the commands."""

from __future__ import annotations

import errno
import json
import logging
import os
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from io import UnsupportedOperation
from pathlib import Path
from typing import Any

import typer

from memento import Config, MemoryManager
from memento.admit.redact import redact, redact_value
from memento.base import layout
from memento.base.display import data
from memento.errors import StoreUnusable

NOT_WELL, USAGE, ABSENT, STORE, OTHER, INTERRUPTED = 1, 2, 3, 4, 5, 130

UNWRITTEN = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.EPIPE}
"""Errors of a stream; those of the store's files are memento's own by the time they get here."""


def fail(problem: str, status: int, *, as_json: bool = False) -> int:
    """Print an error, as a line of text or as a JSON object; return the exit status."""
    if as_json:
        said = {"error": spoken(problem), "status": status}
        typer.echo(json.dumps(said, ensure_ascii=False), err=True)
    else:
        warn(problem)
    return status


def fill_streams() -> None:
    """Give a process that was started with a closed stream one to nowhere in its place.

    Else the next file that is opened, such as the store's, would get the stream's number, and what
    is printed would go into it. Output is refused when it is written; messages are dropped.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            setattr(sys, name, os.fdopen(number, "w" if number else "r"))


def unwritten(error: OSError) -> int:
    """Report that the output could not be written; return the exit status."""
    with suppress(OSError):
        if not isinstance(error, BrokenPipeError):  # who read it has read enough
            fail(f"cannot write the output: {error.strerror}", OTHER)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):  # the rest would fail again when the process ends
        with suppress(UnsupportedOperation):
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
    return OTHER


SPOKEN = (
    ("set_aside=True, --set-aside", "--set-aside"),
    ("or ask to overwrite", "or use --overwrite"),
    ("embedder: is None: this store cannot", "--embedder none cannot"),
    ("embedder: is None: this memory cannot", "--embedder none cannot"),
    ("flush(wait=True) waits for them", "until then their words find them"),
)
"""Words of the library's messages to the words for the command line."""


def spoken(message: str) -> str:
    """Write a message of the library on one line, in words for the command line."""
    for python, ours in SPOKEN:
        message = message.replace(python, ours)
    return " ".join(message.split())


def warn(message: str) -> None:
    """Write one line to stderr, in words for the command line."""
    typer.echo(f"memento: {spoken(message)}", err=True)


class Told(logging.Handler):
    """Log handler that prints the library's log on stderr, such as that it is waiting."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        warn(record.getMessage())


def counted(count: int) -> str:
    """Return a number of memories as text.

    >>> counted(1), counted(2)
    ('1 memory', '2 memories')
    """
    return f"{count} {'memory' if count == 1 else 'memories'}"


def print_json(value: object) -> None:
    """Print a value, or several, as JSON."""
    from memento.cli import tables  # noqa: PLC0415 - rich is slow to load

    typer.echo(tables.to_json(value))


def print_masked(value: object) -> None:
    """Print a value as JSON without its secrets: it quotes messages as they were typed."""
    from memento.cli import tables  # noqa: PLC0415 - rich is slow to load

    typer.echo(tables.to_json(redact_value(data(value), Counter())))


def masked(text: str) -> str:
    """Return a text without its secrets, to be printed."""
    return redact(text, Counter())


def print_memories(found: Sequence[Any], *, as_json: bool, oneline: bool = False) -> None:
    """Print memories as a table, in one line each, or as JSON."""
    from memento.cli import tables  # noqa: PLC0415 - rich is slow to load

    if as_json:
        print_json(found)
    elif found and oneline:
        tables.print_lines(found)
    elif found:
        tables.console().print(tables.memories(found))
    else:
        typer.echo("nothing here")


def open_store(root: Path, namespace: str, embedder: str, *, make: bool = False) -> MemoryManager:
    """Open the store; only a command that writes memories creates one."""
    if not make and not (root / layout.LEDGER).exists():
        raise StoreUnusable(
            root, "holds no store; name its folder with --root, or make one with `memento add`"
        )
    return MemoryManager(
        root,
        namespace=namespace.split("/"),
        config=Config.from_env(),
        embedder=None if embedder == "none" else embedder,
    )


def wait_for_index(memory: MemoryManager) -> int:
    """Wait until the indexes are up to date, or the rest of the work is stuck."""
    from memento.cli import tables  # noqa: PLC0415 - rich is slow to load

    with tables.Bar("indexing").drawn() as bar:
        if memory.flush(wait=True, progress=bar.to):
            return 0
    now = memory.store.stats()
    why = "; ".join(now.trouble.values())
    whose = sum(now.backlog.values()) or "some of other namespaces"
    return fail(f"{whose} not indexed yet, found by words meanwhile: {why}", NOT_WELL)
