"""Commands for the work of a session: begin and end one, note where it stands, go on with it."""

from __future__ import annotations

import json
from typing import Annotated, Any, cast

import typer

from memento.cli.options import (
    HERE,
    AsJson,
    EmbedderName,
    Namespace,
    Root,
    examples,
    option,
)
from memento.cli.output import print_json
from memento.cli.store import open_store
from memento.display import one_line
from memento.errors import InvalidInput
from memento.sessions import Session
from memento.sessions.values import TOKENS, CheckpointKind, SessionInfo

app = typer.Typer()
session = typer.Typer(help="Begin, end and list sessions.", no_args_is_help=True)
app.add_typer(session, name="session")

Name = Annotated[str, typer.Argument(metavar="SESSION", help="Name of the session.")]
Scope = Annotated[str, option("--scope", help="Where it applies, a path.")]


@session.command(epilog=examples('memento session start s1 --goal "Move the tests to pytest"'))
def start(
    id: Annotated[  # noqa: A002 - the field's own name
        str | None, typer.Argument(metavar="SESSION", help="Its name; a new one if absent.")
    ] = None,
    *,
    goal: Annotated[str | None, option("--goal", help="The task in one sentence.")] = None,
    scope: Scope = "",
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Begin a session, or go on with one, and print its name."""
    with open_store(root, namespace, embedder, make=True) as memory:
        info = memory.session(id, goal=goal, scope=scope).info
    if as_json:
        print_json(info)
    else:
        typer.echo(one_line(info.id))


@session.command(epilog=examples("memento session end s1 --outcome done"))
def end(
    id: Name,  # noqa: A002 - the field's own name
    *,
    outcome: Annotated[str | None, option("--outcome", help="How it ended.")] = None,
    summary: Annotated[
        str | None, option("--summary", help="The text to keep of it; its own words if absent.")
    ] = None,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """End a session and keep a summary of it as a memory."""
    with open_store(root, namespace, embedder) as memory:
        work = Session(memory, id)
        kept = None if work.info.state == "ended" else work.end(outcome, summary)
    if as_json:
        print_json(kept)
    else:
        typer.echo("ended" if kept is None else f"ended; kept {kept.id}")


@session.command(name="list", epilog=examples("memento session list --open"))
def list_(
    *,
    open: Annotated[  # noqa: A002 - the field's own name
        bool | None, option("--open/--ended", help="Only those that have not ended, or that have.")
    ] = None,
    scope: Annotated[
        str | None, option("--scope", help="Only those at this scope or below it.")
    ] = None,
    limit: Annotated[int, option("-n", "--limit", help="Most sessions to show.")] = 20,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """List sessions, the one written to last first."""
    with open_store(root, namespace, embedder) as memory:
        found = memory.sessions(open, scope, limit)
    if as_json:
        print_json(found)
        return
    for one in found:
        typer.echo(_line(one))
    if not found:
        typer.echo("nothing here")


def _line(one: SessionInfo) -> str:
    where = f"  [{one.scope}]" if one.scope else ""
    said = "" if one.goal is None else f"  {one_line(one.goal)}"
    return f"{one.touched_at:%Y-%m-%d %H:%M}  {one.state:11}  {one_line(one.id)}{where}{said}"


@app.command(epilog=examples('memento checkpoint s1 --done fixtures --next "run the tests"'))
def checkpoint(
    id: Name,  # noqa: A002 - the field's own name
    *,
    goal: Annotated[str | None, option("--goal", help="The task in one sentence.")] = None,
    done: Annotated[
        list[str] | None, option("--done", help="A step that is done; repeatable.")
    ] = None,
    next: Annotated[  # noqa: A002 - what comes next
        list[str] | None, option("--next", help="A step that comes next; repeatable.")
    ] = None,
    blocked: Annotated[
        list[str] | None, option("--blocked", help="A thing that stands in the way; repeatable.")
    ] = None,
    files: Annotated[
        list[str] | None, option("--file", help="A file that the work touches; repeatable.")
    ] = None,
    note: Annotated[str, option("--note", help="Anything else.")] = "",
    kind: Annotated[str, option("--kind", help="task, decision, error or compaction.")] = "task",
    data: Annotated[str, option("--data", metavar="JSON", help="A JSON object of yours.")] = "{}",
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Note where the work of a session stands."""
    with open_store(root, namespace, embedder, make=True) as memory:
        made = memory.checkpoint(
            id,
            goal=goal,
            done=done or (),
            next=next or (),
            blocked=blocked or (),
            files=files or (),
            note=note,
            kind=cast("CheckpointKind", kind),
            data=_object("--data", data),
        )
    if as_json:
        print_json(made)
    else:
        typer.echo(f"checkpoint {made.number} of {one_line(made.session)}")


def _object(name: str, text: str) -> dict[str, Any]:
    """Read a JSON object."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(name, f"{text!r:.60} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise InvalidInput(name, f"{text!r:.60} is not a JSON object")
    return found


@app.command(epilog=examples("memento resume", "memento resume s1 --tokens 200"))
def resume(
    id: Annotated[  # noqa: A002 - the field's own name
        str | None,
        typer.Argument(metavar="SESSION", help="The session; what broke off last if absent."),
    ] = None,
    *,
    scope: Scope = "",
    tokens: Annotated[int, option("--tokens", help="Most tokens of the block.")] = TOKENS,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Say what was being done when a session broke off, as a block for a prompt."""
    with open_store(root, namespace, embedder) as memory:
        found = memory.resume(id, scope=scope, tokens=tokens)
    if as_json:
        print_json(found)
    else:
        typer.echo("nothing here" if found is None else found.text)
