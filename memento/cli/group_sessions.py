"""Commands for the work of a session: begin and end one, note where it stands, go on with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, cast

import typer

from memento import MemoryManager
from memento.base.display import one_line
from memento.check import TALK_TOKENS
from memento.cli.local import moment, short
from memento.cli.options import ID, argument, command, group, option
from memento.cli.output import Shown, counted, rows
from memento.cli.store import Store
from memento.errors import InvalidInput
from memento.verbs.scopes import Promotion, ScopeInfo
from memento.verbs.session_handle import CheckpointKind, SessionInfo
from memento.write.session_marks import passing

app = typer.Typer()
session = group("Start, end, checkpoint and resume sessions.")
app.add_typer(session, name="session")

Name = Annotated[str, argument("Name of the session.", metavar="SESSION")]
Scope = Annotated[str, option("--scope", "Scope of the session, such as project/x.")]


@command(session, 'memento session start s1 --goal "Move the tests to pytest"', make=True)
def start(
    memory: MemoryManager,
    id: str | None = argument("Name of the session. Default: a generated name.", metavar="SESSION"),
    *,
    goal: str | None = option("--goal", "The task in one sentence."),
    scope: Scope = "",
) -> Shown:
    """Start a session, or continue one.

    Prints the name of the session.
    """
    with passing():
        info = memory.sessions.start(id, goal=goal, scope=scope).info
    return Shown(info, [one_line(info.id)])


@command(session, "memento session end s1 --outcome done")
def end(
    memory: MemoryManager,
    id: Name,
    *,
    outcome: str | None = option("--outcome", "How the session ended."),
    summary: str | None = option(
        "--summary", "Summary to store. Default: an extract from the session."
    ),
) -> Shown:
    """End a session and store a summary of it as a memory."""
    ended = memory.sessions.info(id).state == "ended"
    kept = None if ended else memory.sessions.end(id, outcome, summary)
    told = "ended" if kept is None else f"ended; kept {kept.id}"
    return Shown({"memories": [] if kept is None else [kept]}, [told])


@command(session, "memento session list --open", name="list")
def list_sessions(
    memory: MemoryManager,
    *,
    open: bool | None = option("--open/--ended", "List only open sessions, or only ended ones."),
    scope: str | None = option("--scope", "List only sessions in this scope or below it."),
    limit: int = option("-n", "--limit", "Maximum number of sessions.", default=20),
) -> Shown:
    """List sessions, most recently used first."""
    found = memory.sessions.list(open, scope, limit)
    return Shown({"sessions": found}, rows([*map(_session_cells, found)]))


def _session_cells(one: SessionInfo) -> tuple[str, ...]:
    where = f"[{one.scope}]" if one.scope else ""
    return one_line(one.id), moment(one.touched_at), one.state, where, one_line(one.goal or "")


@command(session, 'memento session checkpoint s1 --done fixtures --next "run the tests"', make=True)
def checkpoint(
    memory: MemoryManager,
    id: Name,
    *,
    goal: str | None = option("--goal", "The task in one sentence."),
    done: list[str] | None = option("--done", "A completed step; repeatable."),
    next: list[str] | None = option("--next", "A next step; repeatable."),
    blocked: list[str] | None = option("--blocked", "Something that blocks the work; repeatable."),
    files: list[str] | None = option("--file", "A file that the work touches; repeatable."),
    note: str = option("--note", "Anything else worth noting.", default=""),
    kind: str = option(
        "--kind", "Kind of checkpoint: task, decision, error or compaction.", default="task"
    ),
    data: str = option("--data", "A JSON object with your own data.", default="{}", metavar="JSON"),
) -> Shown:
    """Record the progress of a session."""
    own = _object("--data", data)
    with passing():
        made = memory.sessions.checkpoint(
            id,
            goal=goal,
            done=done or (),
            next=next or (),
            blocked=blocked or (),
            files=files or (),
            note=note,
            kind=cast("CheckpointKind", kind),
            data=own,
        )
    return Shown(made, [f"checkpoint {made.number} of {one_line(made.session)}"])


def _object(name: str, text: str) -> dict[str, Any]:
    """Parse a JSON object."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(name, f"{text!r:.60} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise InvalidInput(name, f"{text!r:.60} is not a JSON object")
    return found


@command(session, "memento session resume", "memento session resume s1 --tokens 200")
def resume(
    memory: MemoryManager,
    id: str | None = argument(
        "Name of the session. Default: the last one interrupted.", metavar="SESSION"
    ),
    *,
    scope: Scope = "",
    tokens: int = option("--tokens", "Maximum number of tokens in the block.", default=TALK_TOKENS),
) -> Shown:
    """Show where an interrupted session left off.

    The output is a block for a prompt. Without a name, it covers the session that was interrupted
    most recently.
    """
    found = memory.sessions.resume(id, scope=scope, tokens=tokens)
    return Shown({} if found is None else found, [] if found is None else [found.text])


scopes = group("List, describe, infer, merge and share scopes.")
app.add_typer(scopes, name="scopes")

Path = Annotated[str, argument("A path, such as project/alpha.", metavar="SCOPE")]
Other = Annotated[str, option("--with", "The other namespace: labels joined with '/'.")]


@command(scopes, "memento scopes list", name="list")
def list_scopes(memory: MemoryManager) -> Shown:
    """List scopes, including those shared with you.

    Scopes in other namespaces are listed only if they are shared with this namespace.
    """
    found, mine = memory.scopes.list(), memory.store.namespace
    return Shown({"scopes": found}, (_scope_line(one, mine) for one in found))


def _scope_line(one: ScopeInfo, mine: tuple[str, ...]) -> str:
    parts = [f"{one.memories:6}  {one_line(one.path or '(everything)')}"]
    if one.namespace != mine:
        parts.append(f"shared by {one_line('/'.join(one.namespace))}")
    if one.merged_into is not None:
        parts.append(f"merged into {one_line(one.merged_into)}")
    parts += [one_line(one.title)] if one.title else []
    parts += [f"also: {one_line(', '.join(one.aliases))}"] if one.aliases else []
    seen = ", ".join(one_line("/".join(labels)) for labels in one.shared_with)
    return "  ".join([*parts, *([f"shared with {seen}"] if seen else [])])


@command(scopes, 'memento scopes define project/shop --alias "web shop"', make=True)
def define(
    memory: MemoryManager,
    path: Path,
    *,
    title: str = option("--title", "Human-readable name.", default=""),
    alias: list[str] | None = option("--alias", "Another name; repeatable."),
) -> Shown:
    """Define a scope so texts can be matched to it."""
    made = memory.scopes.define(path, title=title, aliases=alias or ())
    return Shown(made, [_scope_line(made, made.namespace)])


@command(scopes, 'memento scopes infer "the web shop needs a logo"')
def infer(
    store: Store,
    text: list[str] = argument("Text for which to find scopes.", metavar="TEXT"),
    *,
    context: list[str] | None = option(
        "--context", "A hint, such as folder=/src/shop; repeatable.", metavar="NAME=VALUE"
    ),
) -> Shown:
    """Infer which scopes a text may belong to, best first."""
    given = dict(_pair(one) for one in context or ())
    with store.open() as memory:
        found = memory.scopes.infer(" ".join(text), context=given)
    lines = (f"{one.confidence:.2f}  {one_line(one.path)}  ({', '.join(one.why)})" for one in found)
    return Shown({"scopes": found}, lines, empty="nothing found")


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput("--context", f"{text!r:.60} is not NAME=VALUE")
    return name, value


@command(scopes, "memento scopes merge web project/site")
def merge(
    memory: MemoryManager,
    src: str = argument("The scope to move memories from.", metavar="SOURCE"),
    dst: str = argument("The scope to move them to.", metavar="TARGET"),
) -> Shown:
    """Move all memories from one scope to another.

    To undo the merge, use `memento scopes unmerge`.
    """
    moved = memory.scopes.merge(src, dst)
    return Shown({"moved": moved}, [f"{counted(moved)} moved"])


@command(scopes, "memento scopes unmerge web")
def unmerge(
    memory: MemoryManager, src: str = argument("The scope that was merged.", metavar="SOURCE")
) -> Shown:
    """Undo a merge."""
    moved = memory.scopes.unmerge(src)
    return Shown({"moved": moved}, [f"{counted(moved)} moved back"])


@command(scopes, "memento scopes share ops --with acme/rami", make=True)
def share(memory: MemoryManager, path: Path, *, other: Other) -> Shown:
    """Share a scope's memories with another namespace.

    The other namespace cannot change them.
    """
    made = memory.scopes.share(path, other.split("/"))
    return Shown(made, [_scope_line(made, made.namespace)])


@command(scopes, "memento scopes unshare ops --with acme/rami")
def unshare(memory: MemoryManager, path: Path, *, other: Other) -> Shown:
    """Stop sharing a scope, immediately and in every process."""
    there = memory.scopes.unshare(path, other.split("/"))
    return Shown({"unshared": there}, ["no longer shared" if there else "it was not shared"])


@command(scopes, "memento scopes promotable", f"memento set {ID} --scope team")
def promotable(memory: MemoryManager) -> Shown:
    """List rules that several scopes have in common.

    To move a rule to the wider scope, use `memento set ID --scope SCOPE`.
    """
    found = memory.scopes.promotable()
    return Shown({"promotable": found}, _promotable_lines(found))


def _promotable_lines(found: Sequence[Promotion]) -> Iterator[str]:
    for one_level in found:
        yield f"to {one_line(one_level.scope or '(everywhere)')}:"
        for one in one_level.memories:
            yield f"  {short(one.id)}  {one_line(one.scope)}  {one_line(one.text)}"
