"""Commands that connect agents to memento, and the demo."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from memento import MemoryManager
from memento.agents.project import project_scope
from memento.agents.setup import Change, agents_of, carry_out, plan
from memento.agents.table import AGENTS, Agent, Program
from memento.base import home
from memento.check import short_name
from memento.cli.mcp import Settings, doors_of, serve
from memento.cli.options import Root, argument, command, option
from memento.cli.output import USAGE, Shown, counted
from memento.cli.store import Store
from memento.errors import InvalidInput, MementoError
from memento.resident import tokens as tokens_of
from memento.types import Trust

app = typer.Typer()

Agents = Annotated[
    list[str] | None,
    argument(
        f"{', '.join(AGENTS)}. Default: all agents found on this machine.", metavar="[AGENT...]"
    ),
]


@command(
    app,
    "claude mcp add -s user memento -- memento mcp",
    "memento mcp --root ~/notes",
    "memento mcp --print-tools",
    "memento mcp --add-token laptop --read-only",
    "memento mcp --http 8765",
)
def mcp(
    store: Store,
    *,
    scope: str | None = option(
        "--scope", "Scope that the agent works in. Default: the current folder's project."
    ),
    everywhere: bool = option("--everywhere", "Use no scope, regardless of the folder."),
    read_only: bool = option("--read-only", "Offer only the recall tool."),
    more: bool = option("--more", "Also offer the history and rate tools."),
    tokens: int = option(
        "--tokens", "Maximum number of tokens per answer, 100 to 10,000.", default=4_000
    ),
    print_tools: bool = option("--print-tools", "Print the tools as a model sees them and exit."),
    alone: bool = option("--alone", "Open the store in this process, not in a shared one."),
    http: str | None = option(
        "--http", "Serve over HTTP to clients with a token.", metavar="[HOST:]PORT"
    ),
    add_token: str | None = option(
        "--add-token", "Create a token and print it; it is shown only once.", metavar="NAME"
    ),
    trust: str = option(
        "--trust", "With --add-token: trust class (agent, tool, web or import).", default="agent"
    ),
    list_tokens: bool = option("--list-tokens", "List the tokens and their rights."),
    revoke_token: str | None = option("--revoke-token", "Revoke a token.", metavar="NAME"),
) -> None:
    """Run an MCP server for an agent.

    The server uses standard input and output, and runs until the agent disconnects. All agents that
    use a store share one process, which keeps the store open. The first agent starts this process,
    which exits when no agent has used it for a while.

    With --http, which requires the mcp extra, the server runs until you stop the command, and
    serves only clients that have a token. A token is bound to the namespace, the scope and the
    --read-only and --trust options that were specified with --add-token.
    """
    if add_token is not None:
        _add_token(store.here(), add_token, scope or "", trust, read_only=read_only)
    elif list_tokens:
        _list_tokens(store.here())
    elif revoke_token is not None:
        tokens_of.revoke(store.here().root, revoke_token)
    elif http is not None:
        from memento.cli.mcp_http import serve_http  # noqa: PLC0415 - few agents use it

        serve_http(store.here(), http, more=more, most=tokens)
    else:
        _stdio(Settings(store, scope, everywhere, read_only, more, tokens, alone), print_tools)


def _stdio(settings: Settings, print_tools: bool) -> None:
    doors = doors_of(settings)
    if print_tools:
        _print(doors.tools)
    else:
        serve(settings)


def _add_token(store: Store, name: str, scope: str, trust: str, *, read_only: bool) -> None:
    if trust == Trust.USER:
        raise InvalidInput("--trust", "must not be user: what an agent writes comes from a model")
    short_name("--add-token", name)
    store.folder()
    if not store.exists:
        store._replace(make=True).open().close()
    typer.echo(
        tokens_of.add(
            store.folder(),
            name,
            namespace=store.labels,
            scope=scope,
            rights="read" if read_only else "write",
            trust=trust,
        )
    )


def _list_tokens(store: Store) -> None:
    for one in tokens_of.listed(store.folder()):
        rights = "read" if one.rights == "read" else f"read, and write as {one.trust}"
        typer.echo(f"{one.name}  {one.namespace}  {one.scope or 'everywhere'}  {rights}")


def _print(tools: list[dict[str, Any]]) -> None:
    from memento_mcp import INSTRUCTIONS  # noqa: PLC0415 - as above

    typer.echo(f"{INSTRUCTIONS}\n")
    for tool in tools:
        typer.echo(json.dumps(tool, ensure_ascii=False, indent=2))


@command(app, "memento init", "memento init --yes", "memento init --here", make=True)
def init(
    store: Store,
    *,
    here: bool = option("--here", "Create a store for the current folder, agent_memory."),
    yes: bool = option("--yes", "-y", "Set up the agents without asking for confirmation."),
) -> Shown:
    """Create the store and set up the agents on this machine.

    The command reports the store, the agents, and any repository in the current folder. Running the
    command again changes nothing.
    """
    if here and store.named is not None:
        raise InvalidInput("--here", "cannot be combined with --root")
    store = store._replace(named=home.NAME) if here else store
    with store.open() as memory:
        kept = sum(memory.store.stats().tiers.values())
    found = agents_of([])
    done = _set_up(found, Program.here(None if here else store.named), yes=yes)
    scope = project_scope(Path.cwd())
    lines = [f"store: {store.place}, {counted(kept)}", *done.lines]
    if not found:
        lines.append(f"no agents found on this machine; supported: {', '.join(AGENTS)}")
    if scope:
        lines.append(
            f"repository: {scope}; run `memento onboard` to read its documents and history"
        )
    if found:
        lines.append(
            'try: tell an agent "I always deploy on Thursdays." and ask about it in a new session'
        )
    told = {"store": store.place, "memories": kept, "scope": scope, **done.value}
    return Shown(told, lines, status=done.status, notes=done.problems)


@command(
    app,
    "memento setup",
    "memento setup claude-code codex",
    "memento setup codex --dry-run",
    "memento setup --undo",
)
def setup(
    agents: Agents = None,
    *,
    undo: bool = option("--undo", "Remove memento from the configuration."),
    dry_run: bool = option("--dry-run", "Only show the changes, as a patch."),
    yes: bool = option("--yes", "-y", "Do not ask for confirmation."),
    root: Root = None,
) -> Shown:
    """Connect coding agents to memento, or disconnect them.

    The command adds hooks, the MCP server and a skill to each agent's configuration. Nothing else
    in those files is changed, and --undo removes only what memento added. If you don't specify an
    AGENT, all agents on this machine are set up.
    """
    chosen = agents_of(agents or [])
    done = _set_up(chosen, Program.here(root), undo=undo, dry_run=dry_run, yes=yes or bool(agents))
    none = f"no agents found on this machine; supported: {', '.join(AGENTS)}"
    empty = "" if chosen else none
    return Shown(done.value, done.lines, empty, done.status, done.problems)


class _Done(NamedTuple):
    """What set-up did, or in a dry run would do."""

    value: dict[str, Any]
    lines: list[str]
    problems: list[str]

    @property
    def status(self) -> int:
        return USAGE if self.problems else 0


def _set_up(
    chosen: Sequence[Agent], run: Program, *, undo: bool = False, dry_run: bool = False, yes: bool
) -> _Done:
    """Plan for all agents, then write; continue after an agent that cannot be set up."""
    planned: dict[Agent, list[Change]] = {}
    done = _Done({"agents": {}}, [], [])
    for agent in chosen:
        try:
            planned[agent] = plan(agent, run, undo=undo)
        except MementoError as error:
            done.problems.append(f"{agent.title}: {error}")
    if not (yes or dry_run):
        _ask([agent.title for agent, changes in planned.items() if changes], undo=undo)
    for agent, changes in planned.items():
        done.value["agents"][agent.name] = {str(one.path): one.word for one in changes}
        if dry_run:
            done.lines.extend(line for one in changes for line in one.diff.splitlines())
            if not changes:
                done.lines.append(f"{agent.title}: nothing to do")
            continue
        carry_out(changes)
        word = ("removed" if undo else "set up") if changes else "nothing to do"
        done.lines.append(f"{agent.title}: {word}")
        done.lines.extend(f"  {one.word:8} {one.path}" for one in changes)
        if agent.next and changes and not undo:
            done.lines.append(f"  next: {agent.next}")
    return done


def _ask(titles: Sequence[str], *, undo: bool) -> None:
    if not titles:
        return
    if not sys.stdin.isatty():
        raise InvalidInput(
            "--yes", "is required when there is no terminal for confirmation; or specify the agents"
        )
    said = f"Remove memento from {', '.join(titles)}?" if undo else f"Set up {', '.join(titles)}?"
    if not typer.confirm(said, default=True, err=True):
        raise typer.Abort


@command(app, "memento onboard", "memento onboard ~/src/shop --mine", make=True)
def onboard(
    memory: MemoryManager,
    folder: Path = argument(
        "Folder of the repository. Default: the current folder.", default=Path()
    ),
    *,
    mine: bool = option(
        "--mine", "You wrote or trust this repository, so its text needs no approval."
    ),
    scope: str | None = option(
        "--scope", "Scope of the new memories. Default: the folder's project."
    ),
) -> Shown:
    """Learn from a repository's documents and history.

    Running the command again adds only new content. Without --mine, text from the repository is
    quarantined until you approve it.
    """
    from memento.agents.onboard import onboard as read  # noqa: PLC0415 - used by this command only
    from memento.cli import tables  # noqa: PLC0415 - rich is slow to load

    where = project_scope(folder.absolute()) if scope is None else scope
    trust = Trust.USER if mine else Trust.IMPORT
    with tables.Bar("reading").drawn() as bar:
        done = read(memory, folder, where, trust, bar.to)
    read_of = f"{counted(len(done.documents), 'document')}, {counted(done.commits, 'commit')}"
    lines = [f"{read_of}, an outline of {counted(done.files, 'file')}: {done.new:,} new"]
    lines += [f"{path}: {why}" for path, why in done.unread.items()]
    if not mine and done.new:
        lines.append(
            "they were quarantined; if you trust the repository, run `memento onboard --mine`"
        )
    return Shown(done._asdict() | {"scope": where}, lines)


@command(app, "memento demo", "memento demo --root demo_memory")
def demo(
    *,
    root: Path | None = option(
        "--root", "Folder for the store. Default: a temporary one.", metavar="FOLDER"
    ),
) -> None:
    """Show what memento does, in about a minute.

    The demo remembers a conversation, answers questions about it and shows the source of each
    answer.
    """
    from memento.cli.demo import run  # noqa: PLC0415 - used by this command only

    run(root)
