"""The command that demonstrates memento."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memento.cli.options import examples, option

app = typer.Typer()


@app.command(epilog=examples("memento demo", "memento demo --root demo_memory"))
def demo(
    *,
    root: Annotated[
        Path | None,
        option("--root", metavar="FOLDER", help="Keep the store here; a temporary one if not."),
    ] = None,
) -> None:
    """Remember a conversation, answer questions about it, and show the source of each answer."""
    from memento.cli.demo import run  # noqa: PLC0415 - used by this command only

    run(root)
