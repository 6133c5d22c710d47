"""Output and exit statuses of the commands."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from io import UnsupportedOperation
from typing import TYPE_CHECKING, Any

import typer

from memento import MemoryManager
from memento.admit.redact import redact_value
from memento.base.display import data, plain
from memento.cli.store import with_root

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memento.insight.findings import Dossier, Health, Lineage, Reasoning
    from memento.types import Memory

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
    return with_root(" ".join(message.split()))


def warn(message: str) -> None:
    """Write one line to stderr, in words for the command line."""
    typer.echo(f"memento: {spoken(message)}", err=True)


def interrupted() -> int:
    """Say that an interruption loses nothing; return the exit status."""
    warn("interrupted; everything reported as done is kept, and running it again is safe")
    return INTERRUPTED


def counted(count: int) -> str:
    """Return a number of memories as text.

    >>> counted(1), counted(2)
    ('1 memory', '2 memories')
    """
    return f"{count} {'memory' if count == 1 else 'memories'}"


@dataclass(frozen=True)
class Shown:
    """The result of a command, printed when its store is closed.

    Attributes:
        value: Printed with --json.
        words: Lines for people, or a function that lays them out with ``memento.cli.tables``, which
            loads rich and so is handed in only when needed.
        empty: The line if there are none.
        status: Exit status.
    """

    value: object
    words: Iterable[str] | Callable[[Any], RenderableType]
    empty: str = "nothing here"
    status: int = 0

    def show(self, *, as_json: bool) -> int:
        """Print it and return the exit status."""
        if as_json:
            typer.echo(as_text(self.value))
        elif callable(self.words):
            from memento.cli import tables  # noqa: PLC0415 - rich is slow to load

            tables.console().print(self.words(tables))
        else:
            for line in [*self.words] or filter(None, [self.empty]):
                typer.echo(line)
        return self.status


def as_text(value: object) -> str:
    """Encode a value of memento, or several, as indented JSON, with moments in ISO 8601."""
    return json.dumps(data(value), ensure_ascii=False, indent=2)


def masked(value: Any) -> Any:
    """Return a value as JSON has it, without its secrets: it quotes messages as they were typed."""
    return redact_value(data(value), Counter())


def memories(found: Sequence[Memory]) -> Shown:
    """Show memories as a table."""
    return Shown(found, (lambda tables: tables.memories(found)) if found else ())


def one_memory(found: Memory | None) -> Shown:
    """Show a memory as a table, as JSON by itself."""
    return replace(memories([found] if found else []), value=found)


def explained(found: Reasoning | Lineage | Dossier | Health) -> Shown:
    """Show an overview in its own words."""
    return Shown(found, [plain(found.explain())])


def each(
    memory: MemoryManager,
    ids: Iterable[str],
    change: Callable[[str], Memory],
    words: Callable[[Memory], object] = lambda one: one.status,
) -> None:
    """Change memories one by one, and print what each is then."""
    for one in ids:
        found = change(memory.store.full_id(one))
        typer.echo(f"{found.id}  {words(found)}")


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
