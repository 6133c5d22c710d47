"""Commands for rules and for the quarantine."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from memento import MemoryManager
from memento.base.display import one_line
from memento.cli.options import ID, Ids, Session, command, group, option
from memento.cli.output import Shown, counted, each, memories, warn
from memento.cli.store import Store
from memento.errors import InvalidInput
from memento.prompt.policy_values import TOKENS
from memento.verbs.rules import RECALL, TAIL_TOKENS

app = typer.Typer()


rules = group("Add rules, and print those that apply.")
app.add_typer(rules, name="rules")


@command(rules, "memento rules policy", 'memento rules policy --for "deploy it" --explain')
def policy(
    store: Store,
    *,
    scope: Annotated[
        str, option("--scope", help="Scope that the agent works in, such as project/x.")
    ] = "",
    message: Annotated[
        str | None, option("--for", metavar="MESSAGE", help="The user's last message.")
    ] = None,
    session: Session = None,
    head: Annotated[
        bool,
        option("--head", help="Print only the head, which stays the same throughout a session."),
    ] = False,
    tail: Annotated[
        bool, option("--tail", help="Print only the tail, which depends on the message.")
    ] = False,
    explain: Annotated[
        bool, option("--explain", help="Show which zone each memory is in, and why.")
    ] = False,
    tokens: Annotated[
        int, option("--tokens", help="Maximum number of tokens in the head.")
    ] = TOKENS,
    tail_tokens: Annotated[
        int, option("--tail-tokens", help="Maximum number of tokens in the tail.")
    ] = TAIL_TOKENS,
    recall: Annotated[
        int, option("--recall", help="Maximum number of memories to recall.")
    ] = RECALL,
) -> Shown:
    """Print the rules and memories that apply to a message.

    The output is meant for an agent's prompt.
    """
    if head + tail + explain > 1:
        raise InvalidInput("--head", "use only one of --head, --tail and --explain")
    with store.open() as memory:
        found = memory.rules.policy(
            message,
            scope=scope,
            session=session,
            tokens=tokens,
            tail_tokens=tail_tokens,
            recall=recall,
        )
    text = found.head if head else found.tail if tail else found.text
    text = found.explain() if explain else text
    return Shown(found, [text] if text else [])


@command(
    rules,
    'memento rules direct "Never commit .env files" --lock',
    'memento rules direct "Answer in German" --scope project/alpha',
    make=True,
)
def direct(
    memory: MemoryManager,
    texts: Annotated[
        list[str], typer.Argument(metavar="RULE", help="One or more rules, each in quotes.")
    ],
    *,
    scope: Annotated[str, option("--scope", help="Scope that the rules apply to.")] = "",
    lock: Annotated[
        bool, option("--lock", help="Allow only the user to change the rules.")
    ] = False,
    condition: Annotated[
        str | None, option("--condition", help="When the rules apply, in plain language.")
    ] = None,
) -> Shown:
    """Add rules, which are stored exactly as written."""
    made = memory.rules.direct(texts, scope=scope, lock=lock, condition=condition)
    return Shown({"memories": made}, [f"{one.id}  {one_line(one.text)}" for one in made], empty="")


quarantine = group("Review memories from tools, the web and imports.")
app.add_typer(quarantine, name="quarantine")


FromSource = Annotated[
    str | None,
    option(
        "--source",
        metavar="URI",
        help="Only memories from this address or trust class, such as web.",
    ),
]


@command(quarantine, "memento quarantine list", "memento quarantine list --source web", name="list")
def list_(
    memory: MemoryManager,
    *,
    source: FromSource = None,
    limit: Annotated[int, option("-n", "--limit", help="Maximum number of memories.")] = 100,
    offset: Annotated[int, option("--offset", help="Number of memories to skip.")] = 0,
) -> Shown:
    """List quarantined memories, in order of arrival."""
    found = memory.quarantine.list(source=source, limit=limit, offset=offset)
    return memories(found, "nothing here" if found else _waiting(memory))


def _waiting(memory: MemoryManager) -> str:
    """Return the line for an empty list, with the sources whose memories are quarantined."""
    sources = (one.source for one in memory.quarantine.list(limit=1_000_000))
    names = sorted({one_line(one.uri or one.kind.value) for one in sources})
    return (
        f"nothing quarantined from there, only from {', '.join(names)}"
        if names
        else "nothing quarantined"
    )


@command(
    quarantine,
    f"memento quarantine approve {ID}",
    "memento quarantine approve --source slack:general",
)
def approve(
    memory: MemoryManager,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="Memory ids or parts of ids.")
    ] = None,
    *,
    version: Annotated[
        int | None,
        option(
            "--version",
            help="The version you reviewed; a memory that has changed since is not approved.",
        ),
    ] = None,
    source: FromSource = None,
    yes: Annotated[
        bool, option("--yes", "-y", help="With --source: do not ask for confirmation.")
    ] = False,
) -> Shown:
    """Make quarantined memories active.

    Approved memories still cannot become rules or be pinned. With --source, the command shows all
    quarantined memories from that source and asks for confirmation; memories that change in the
    meantime are not approved.
    """
    if (source is None) == (not ids) or (source and version is not None):
        raise InvalidInput("ID", "specify either ids or --source")
    if source is None:
        return each(memory, ids or (), lambda one: memory.quarantine.approve(one, version=version))
    found = memory.quarantine.list(source=source, limit=1_000_000)
    if found and not yes:
        if not sys.stdin.isatty():
            raise InvalidInput("--yes", "is required when there is no terminal for confirmation")
        for one in found:
            warn(f"{one.id}  {one_line(one.text)}")
        if not typer.confirm(f"Approve {counted(len(found))}?", err=True):
            raise typer.Abort
    done = memory.quarantine.approve_all(found)
    lines = [f"{one.id}  {one.status}" for one in done]
    return Shown({"memories": done}, lines, empty="" if lines else _waiting(memory))


@command(quarantine, f"memento quarantine reject {ID}")
def reject(memory: MemoryManager, ids: Ids) -> Shown:
    """Forget quarantined memories.

    `memento restore` puts them back into quarantine.
    """
    return each(memory, ids, memory.quarantine.reject)
