"""Commands for scopes: list, name, guess, merge and share them, move memories up."""

from __future__ import annotations

from typing import Annotated

import typer

from memento.cli.options import HERE, AsJson, EmbedderName, Namespace, Root, examples, option
from memento.cli.output import print_json
from memento.cli.store import open_store
from memento.display import one_line
from memento.errors import InvalidInput
from memento.scoping.values import ScopeInfo

app = typer.Typer()
scopes = typer.Typer(help="List, name, guess, merge and share scopes.", no_args_is_help=True)
app.add_typer(scopes, name="scopes")

Path = Annotated[str, typer.Argument(metavar="SCOPE", help="A path, such as project/alpha.")]
Other = Annotated[str, option("--with", help="The other namespace, labels joined by /.")]


@scopes.command(name="list", epilog=examples("memento scopes list"))
def list_(
    *,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """List the scopes, and those that other namespaces share with this one."""
    with open_store(root, namespace, embedder) as memory:
        found, mine = memory.scopes(), memory.namespace
    if as_json:
        print_json(found)
        return
    for one in found:
        typer.echo(_line(one, mine))
    if not found:
        typer.echo("nothing here")


def _line(one: ScopeInfo, mine: tuple[str, ...]) -> str:
    parts = [f"{one.memories:6}  {one_line(one.path or '(everything)')}"]
    if one.namespace != mine:
        parts.append(f"shared by {one_line('/'.join(one.namespace))}")
    if one.merged_into is not None:
        parts.append(f"merged into {one_line(one.merged_into)}")
    parts += [one_line(one.title)] if one.title else []
    parts += [f"also: {one_line(', '.join(one.aliases))}"] if one.aliases else []
    seen = ", ".join(one_line("/".join(labels)) for labels in one.shared_with)
    return "  ".join([*parts, *([f"seen by {seen}"] if seen else [])])


@scopes.command(epilog=examples('memento scopes define project/shop --alias "web shop"'))
def define(
    path: Path,
    *,
    title: Annotated[str, option("--title", help="Its name for people.")] = "",
    alias: Annotated[list[str] | None, option("--alias", help="Another name; repeatable.")] = None,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Name a scope, so that it is guessed from a text and known by other names."""
    with open_store(root, namespace, embedder, make=True) as memory:
        made = memory.define_scope(path, title=title, aliases=alias or ())
    _told(made, as_json=as_json)


@scopes.command(epilog=examples('memento scopes infer "the web shop needs a logo"'))
def infer(
    text: Annotated[list[str], typer.Argument(metavar="TEXT", help="The text.")],
    *,
    context: Annotated[
        list[str] | None,
        option("--context", metavar="NAME=VALUE", help="Such as folder=/src/shop; repeatable."),
    ] = None,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Guess which scope a text belongs to, best first. Writes nothing."""
    given = dict(_pair(one) for one in context or ())
    with open_store(root, namespace, embedder) as memory:
        found = memory.infer_scope(" ".join(text), context=given)
    if as_json:
        print_json(found)
        return
    for one in found:
        typer.echo(f"{one.confidence:.2f}  {one_line(one.path)}  ({', '.join(one.why)})")
    if not found:
        typer.echo("nothing found")


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput("--context", f"{text!r:.60} is not NAME=VALUE")
    return name, value


@scopes.command(epilog=examples("memento scopes merge web project/site"))
def merge(
    src: Annotated[str, typer.Argument(metavar="SOURCE", help="The scope that is merged.")],
    dst: Annotated[str, typer.Argument(metavar="TARGET", help="The scope it becomes a part of.")],
    *,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Move all memories of a scope into another one; `memento scopes unmerge` undoes it."""
    with open_store(root, namespace, embedder) as memory:
        typer.echo(f"{memory.merge_scopes(src, dst)} memories moved")


@scopes.command(epilog=examples("memento scopes unmerge web"))
def unmerge(
    src: Annotated[str, typer.Argument(metavar="SOURCE", help="The scope that was merged.")],
    *,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Undo a merge."""
    with open_store(root, namespace, embedder) as memory:
        typer.echo(f"{memory.unmerge(src)} memories moved back")


@scopes.command(epilog=examples("memento scopes share ops --with acme/rami"))
def share(
    path: Path,
    *,
    other: Other,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Let another namespace see the memories of a scope, and change none of them."""
    with open_store(root, namespace, embedder, make=True) as memory:
        made = memory.share(path, _labels(other))
    _told(made, as_json=as_json)


@scopes.command(epilog=examples("memento scopes unshare ops --with acme/rami"))
def unshare(
    path: Path,
    *,
    other: Other,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Take a share back, at once and for every process."""
    with open_store(root, namespace, embedder) as memory:
        there = memory.unshare(path, _labels(other))
    typer.echo("not shared any more" if there else "it was not shared")


def _labels(text: str) -> list[str]:
    return text.split("/")


def _told(made: ScopeInfo, *, as_json: bool) -> None:
    if as_json:
        print_json(made)
    else:
        typer.echo(_line(made, made.namespace))


@app.command(epilog=examples("memento promote 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10 --scope team"))
def promote(
    id: Annotated[  # noqa: A002 - the field's own name
        str | None,
        typer.Argument(metavar="ID", help="The memory; if absent, list what could be promoted."),
    ] = None,
    *,
    scope: Annotated[str, option("--scope", help="The wider scope; everywhere if absent.")] = "",
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Move a memory to a wider scope, or list rules that several scopes have alike."""
    with open_store(root, namespace, embedder) as memory:
        if id is not None:
            moved = memory.promote(memory.full_id(id), scope)
            typer.echo(f"{moved.id}  {one_line(moved.scope or '(everywhere)')}")
            return
        found = memory.promotable()
    if as_json:
        print_json(found)
        return
    for group in found:
        typer.echo(f"to {one_line(group.scope or '(everywhere)')}:")
        for one in group.memories:
            typer.echo(f"  {one.id}  {one_line(one.scope)}  {one_line(one.text)}")
    if not found:
        typer.echo("nothing here")
