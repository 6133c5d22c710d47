"""Commands that list what exists: namespaces, sessions, tags and keys."""

from __future__ import annotations

from collections.abc import Mapping

import typer

from memento.cli.options import HERE, AsJson, Namespace, Root, examples
from memento.cli.output import print_json
from memento.cli.store import open_store
from memento.display import one_line
from memento.types import Tallied

app = typer.Typer()


@app.command(epilog=examples("memento namespaces", "memento namespaces --root ~/notes --json"))
def namespaces(*, as_json: AsJson = False, root: Root = HERE) -> None:
    """List the namespaces of the store, each with its number of active memories."""
    with open_store(root, "default", "none") as memory:
        found = memory.store.namespaces()
    _print({"/".join(labels): count for labels, count in found.items()}, as_json=as_json)


@app.command(epilog=examples("memento sessions", "memento recent --session standup"))
def sessions(
    *, as_json: AsJson = False, root: Root = HERE, namespace: Namespace = "default"
) -> None:
    """List the sessions, each with its number of active memories."""
    _tally("session", root, namespace, as_json=as_json)


@app.command(epilog=examples("memento tags", "memento list --tag ops"))
def tags(*, as_json: AsJson = False, root: Root = HERE, namespace: Namespace = "default") -> None:
    """List the tags, each with its number of active memories."""
    _tally("tag", root, namespace, as_json=as_json)


@app.command(epilog=examples("memento keys", "memento keys --json"))
def keys(*, as_json: AsJson = False, root: Root = HERE, namespace: Namespace = "default") -> None:
    """List the keys, which name slots, each with its number of active memories."""
    _tally("key", root, namespace, as_json=as_json)


def _tally(by: Tallied, root: Root, namespace: str, *, as_json: bool) -> None:
    with open_store(root, namespace, "none") as memory:
        found = memory.counts(by)
    _print(found, as_json=as_json)


def _print(found: Mapping[str, int], *, as_json: bool) -> None:
    """Print a line for each name, the number first, or a JSON object."""
    if as_json:
        print_json(found)
        return
    for name, count in found.items():
        typer.echo(f"{count:>7}  {one_line(name)}")
    if not found:
        typer.echo("nothing here")
