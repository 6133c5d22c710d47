"""Commands about statements that conflict."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from memento.cli.options import HERE, EmbedderName, Namespace, Root, examples, option
from memento.cli.store import open_store
from memento.display import one_line

app = typer.Typer()


class Keep(StrEnum):
    """The part of a pair that remains."""

    A = "a"
    B = "b"
    BOTH = "both"
    NEITHER = "neither"


@app.command("conflicts", epilog=examples("memento conflicts", "memento conflicts --resolved"))
def list_conflicts(
    *,
    resolved: Annotated[
        bool, option("--resolved", help="The pairs that were settled instead.")
    ] = False,
    limit: Annotated[int, option("--limit", help="Most pairs.")] = 20,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """List pairs of memories that seem to contradict each other, the newest first."""
    with open_store(root, namespace, embedder) as memory:
        for one in memory.conflicts(status="resolved" if resolved else "open", limit=limit):
            typer.echo(f"{one.relation}{': ' if one.reason else ''}{one.reason}")
            for name, end in (("a", one.a), ("b", one.b)):
                mark = "  (higher)" if end.id == one.higher else ""
                typer.echo(
                    f"  {name}  {end.id}  {end.valid_from:%Y-%m-%d}  {one_line(end.text)}{mark}"
                )


@app.command(
    epilog=examples(
        "memento resolve 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10"
        " 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d11 --keep b"
    )
)
def resolve(
    a: Annotated[str, typer.Argument(help="Id of a memory.", metavar="A")],
    b: Annotated[str, typer.Argument(help="Id of the other one.", metavar="B")],
    *,
    keep: Annotated[Keep, option("--keep", help="The one that remains: a, b, both or neither.")],
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Settle a pair of memories that conflict; it is never listed again."""
    with open_store(root, namespace, embedder) as memory:
        for end in memory.resolve(memory.full_id(a), memory.full_id(b), keep.value):
            typer.echo(f"{end.id}  {end.status}")
