"""What commands print, and the exit statuses they end with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer

NOT_WELL, USAGE, ABSENT, STORE, OTHER, INTERRUPTED = 1, 2, 3, 4, 5, 130


def fail(problem: str, status: int) -> int:
    """Say what went wrong; returns the exit status to end with."""
    warn(problem)
    return status


def warn(message: str) -> None:
    """Write one line to stderr."""
    typer.echo(f"memento: {' '.join(message.split())}", err=True)


def print_json(value: object) -> None:
    """Print a value, or several, as JSON."""
    from memento import show  # noqa: PLC0415 - rich is slow to load

    typer.echo(show.to_json(value))


def print_memories(found: Sequence[Any], *, as_json: bool) -> None:
    """Print memories as a table or as JSON."""
    from memento import show  # noqa: PLC0415 - rich is slow to load

    if as_json:
        print_json(found)
    elif found:
        show.console().print(show.memories(found))
    else:
        typer.echo("nothing here")
