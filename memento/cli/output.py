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
from memento.base.display import data, one_line, plain
from memento.cli.local import moment, short
from memento.cli.store import with_root
from memento.errors import InvalidInput, MementoError, NotAllowed, NotFound
from memento.views import view_of

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memento.cli.tables import Bar
    from memento.insight.findings import Dossier, Health, Lineage, Reasoning
    from memento.protocols import Progress
    from memento.types import Memory, StatusName

NOT_WELL, USAGE, ABSENT, STORE, OTHER, INTERRUPTED = 1, 2, 3, 4, 5, 130

PAGE = 10_000
"""Memories that are listed in one call."""

UNWRITTEN = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.EPIPE}
"""Errors of an output stream; errors of the store's files arrive here as ``MementoError``."""


def fail(problem: str, status: int, *, as_json: bool = False) -> int:
    """Print an error, as a line of text or as a JSON object; return the exit status."""
    if as_json:
        said = {"error": spoken(problem), "status": status}
        typer.echo(json.dumps(said, ensure_ascii=False), err=True)
    else:
        warn(problem)
    return status


def fill_streams() -> None:
    """Replace standard streams that were closed when the process started.

    Otherwise the next file that is opened, such as the store's, would get the stream's descriptor,
    and output would go into it. Writing to stdout then fails; messages to stderr are dropped.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            setattr(sys, name, os.fdopen(number, "w" if number else "r"))


def unwritten(error: OSError) -> int:
    """Report that the output could not be written; return the exit status."""
    with suppress(OSError):
        if not isinstance(error, BrokenPipeError):  # the reader has closed the pipe
            fail(f"cannot write the output: {error.strerror}", OTHER)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):  # else flushing at exit would fail again
        with suppress(UnsupportedOperation):
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
    return OTHER


INGEST = "read it from a file with `memento ingest --document FILE`"
SPOKEN = (
    ("set_aside=True, --set-aside", "--set-aside"),
    ("pass overwrite=True or --overwrite", "use --overwrite"),
    ('"default", None, an Embedder', '"default", "none"'),
    ("store it with documents.add", INGEST),
    ("pass a document to documents.add", INGEST),
    ("embedder: is None, so this store cannot", "--embedder none cannot"),
    (
        "a valid token is required: `Authorization: Bearer TOKEN`",
        "set MEMENTO_TOKEN to a valid token of the service",
    ),
    ("requires the admin right", "requires a token that has --rights admin"),
    ("documents.ingest is not available through a service: it reads local files; ", ""),
    (
        "pass their drafts to `add_many` instead",
        "run `memento ingest` where the store is, or add --document to store text or Markdown",
    ),
    ("store.sync_vault is not", "--vault is not"),
    ("store.move is not", "--move-to is not"),
    (
        "pass exactly one of ids, source, session or everything",
        "specify ids, --source, --session or --namespace",
    ),
    ("flush(wait=True) waits for them", "until then, only keyword search finds them"),
)
"""Phrases of the library's messages, and their replacements on the command line."""


def spoken(message: str) -> str:
    """Return a message of the library on one line, in words for the command line."""
    for python, ours in SPOKEN:
        message = message.replace(python, ours)
    return with_root(" ".join(message.split()))


def warn(message: str) -> None:
    """Write one line to stderr, in words for the command line."""
    typer.echo(f"memento: {spoken(message)}", err=True)


def say_stdin() -> None:
    """Print a note that input is awaited, if stdin is a terminal."""
    if sys.stdin.isatty():
        warn("reading from stdin; end with Ctrl-D")


def stdin_text() -> str:
    """Read all of the standard input."""
    say_stdin()
    return sys.stdin.read()


def interrupted() -> int:
    """Print that an interruption loses nothing; return the exit status."""
    warn("interrupted; everything reported as done is saved, and you can safely run it again")
    return INTERRUPTED


def counted(count: int, one: str = "memory") -> str:
    """Return a number of things as text.

    >>> counted(1), counted(2), counted(1, "part"), counted(0, "part")
    ('1 memory', '2 memories', '1 part', '0 parts')
    """
    plural = f"{one[:-1]}ies" if one.endswith("y") else f"{one}s"
    return f"{count:,} {one if count == 1 else plural}"


@dataclass(frozen=True)
class Shown:
    """The result of a command, printed after its store is closed.

    Attributes:
        value: Printed with --json, as one object: a value of memento with its fields, or a mapping
            from a plural name to several values.
        words: Lines for people, or a function that gets the module ``memento.cli.tables``, which is
            slow to load, and returns what to print.
        empty: Printed instead if there are no lines.
        status: Exit status.
        notes: Side effects, one line each; ``notes`` in JSON, absent if there are none.
        form: Option that determined the form of the lines, which excludes --json.
    """

    value: object
    words: Iterable[str] | Callable[[Any], RenderableType]
    empty: str = "nothing here"
    status: int = 0
    notes: Sequence[str] = ()
    form: str = ""

    def show(self, *, as_json: bool) -> int:
        """Print it and return the exit status."""
        if as_json and self.form:
            raise InvalidInput(self.form, "cannot be combined with --json")
        if as_json:
            typer.echo(as_text(self.value, self.notes))
            return self.status
        if callable(self.words):
            from memento.cli import tables  # noqa: PLC0415 - rich is slow to load

            tables.show(self.words(tables))
        else:
            for line in [*self.words] or filter(None, [self.empty]):
                typer.echo(line)
        for line in self.notes:
            typer.echo(one_line(line))
        return self.status


def as_text(value: object, notes: Sequence[str] = ()) -> str:
    """Encode a value of memento, or several, as indented JSON, with moments in ISO 8601."""
    said = data(value)
    if notes:
        said["notes"] = [*notes]
    return json.dumps(said, ensure_ascii=False, indent=2)


def masked(value: Any) -> Any:
    """Return a value as JSON data, with secrets redacted, since it quotes messages as typed."""
    return redact_value(data(value), Counter())


def memories(found: Sequence[Memory], empty: str = "nothing here") -> Shown:
    """Show memories, one line each: id, day, key or tags, and text."""
    cells = [
        (short(one.id), moment(one.occurred_at)[:10], _label(one), one_line(one.text))
        for one in found
    ]
    return Shown({"memories": found}, rows(cells), empty)


def rows(cells: Sequence[Sequence[str]]) -> Iterable[str] | Callable[[Any], RenderableType]:
    """Lay out rows; if stdout is not a terminal, each is one line, however long."""
    if cells and sys.stdout.isatty():
        return lambda tables: tables.rows(cells)
    return ["  ".join(filter(None, row)) for row in cells]


def _label(found: Memory) -> str:
    """Return a memory's key, else its tags."""
    return one_line(found.key or " ".join(f"#{tag}" for tag in found.tags))


def one_memory(found: Memory) -> Shown:
    """Show one memory as a line; with --json, as a single object."""
    return replace(memories([found]), value=found)


def explained(found: Reasoning | Lineage | Dossier | Health) -> Shown:
    """Show an overview as its ``explain`` prints it."""
    return Shown(found, [plain(found.explain())])


def id_of(memory: MemoryManager, name: str, *hidden: StatusName) -> str:
    """Return the whole id of a memory, given its id, a part of that, or its key.

    If the key has no value, it is that of the archived memory that changed last, or of one with
    another ``hidden`` status.

    Raises:
        NotFound: If there is no such memory.
    """
    try:
        return memory.store.full_id(name)
    except NotFound:
        found = memory.value(name)
        if found is None:
            status = hidden or ("archived",)
            all_of_it = memory.list(key=name, status=status, newest_first=True, limit=1_000)
            if not all_of_it:
                raise
            found = max(all_of_it, key=lambda one: one.updated_at)
        return found.id


def each(
    memory: MemoryManager,
    ids: Iterable[str],
    change: Callable[[str], Memory],
    words: Callable[[Memory], object] = lambda one: one.status,
) -> Shown:
    """Change memories one by one and show the results; all ids are looked up first."""
    done: list[Memory] = []
    for one in [id_of(memory, part) for part in ids]:
        try:
            done.append(change(one))
        except MementoError:
            for before in done:
                warn(f"{before.id}  {words(before)}")
            raise
    return Shown({"memories": done}, [f"{one.id}  {words(one)}" for one in done])


def quarantined(waiting: int) -> list[str]:
    """Return a note on how many memories are quarantined; [] if none are."""
    told = f"{waiting:,} quarantined until approved; see `memento quarantine list`"
    return [with_root(told)] * bool(waiting)


def elsewhere(memory: MemoryManager) -> str:
    """Return the line for an empty result; if the namespace is empty, where there are memories."""
    mine = memory.store.namespace
    try:
        held = memory.store.namespaces()
    except NotAllowed:  # the token of a service shows only this one
        held = {}
    if not held.get(mine):
        waiting = memory.store.stats().hidden.get("quarantined", 0)
        if told := "".join(quarantined(waiting)):
            return f"nothing here; {told}"
    others = {labels: count for labels, count in held.items() if labels != mine and count}
    if held.get(mine) or not others:
        return "nothing here"
    if len(others) == 1:
        ((labels, count),) = others.items()
        name = one_line("/".join(labels))
        return f"nothing here; 1 other namespace contains {counted(count)}: --namespace {name}"
    held_by = f"{len(others)} other namespaces contain {counted(sum(others.values()))}"
    return with_root(f"nothing here; {held_by}; see `memento stats --by namespace`")


def listed(page: Callable[..., Sequence[Memory]], most: int | None = None) -> list[Memory]:
    """List memories page by page, since a service limits how many a call returns.

    Args:
        page: A method that takes ``limit`` and ``offset``.
        most: Maximum number of memories; None for all.
    """
    found: list[Memory] = []
    while most is None or len(found) < most:
        limit = PAGE if most is None else min(PAGE, most - len(found))
        found += (more := page(limit=limit, offset=len(found)))
        if len(more) < limit:
            break
    return found


def progress_of(memory: MemoryManager, bar: Bar) -> Progress | None:
    """Return what shows the progress of a call; None for a service, which reports none."""
    return None if view_of(memory).is_remote else bar.to


def wait_for_index(memory: MemoryManager) -> int:
    """Wait until the indexes are up to date, or the rest of the work is stuck."""
    from memento.cli import tables  # noqa: PLC0415 - rich is slow to load

    with tables.Bar("indexing").drawn() as bar:
        if memory.flush(wait=True, progress=progress_of(memory, bar)):
            return 0
    now = memory.store.stats()
    why = "; ".join(now.trouble.values())
    left = sum(now.backlog.values())
    whose = counted(left) if left else "memories of other namespaces"
    return fail(f"{whose} not indexed yet, so only keyword search finds them: {why}", NOT_WELL)
