"""Commands for rules and for the quarantine."""

from __future__ import annotations

import sys
from functools import partial
from typing import Annotated

import typer

from memento import MemoryManager
from memento.base.display import one_line
from memento.cli.options import ID, Ids, Session, argument, command, group, option
from memento.cli.output import Shown, counted, each, listed, memories, warn
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
    scope: str = option("--scope", "Scope that the agent works in, such as project/x.", default=""),
    message: str | None = option("--for", "The user's last message.", metavar="MESSAGE"),
    session: Session = None,
    head: bool = option(
        "--head", "Print only the head, which stays the same throughout a session."
    ),
    tail: bool = option("--tail", "Print only the tail, which depends on the message."),
    explain: bool = option("--explain", "Show which zone each memory is in, and why."),
    tokens: int = option("--tokens", "Maximum number of tokens in the head.", default=TOKENS),
    tail_tokens: int = option(
        "--tail-tokens", "Maximum number of tokens in the tail.", default=TAIL_TOKENS
    ),
    recall: int = option("--recall", "Maximum number of memories to recall.", default=RECALL),
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
    texts: list[str] = argument("One or more rules, each in quotes.", metavar="RULE"),
    *,
    scope: str = option("--scope", "Scope that the rules apply to.", default=""),
    lock: bool = option("--lock", "Allow only the user to change the rules."),
    condition: str | None = option("--condition", "When the rules apply, in plain language."),
) -> Shown:
    """Add rules, which are stored exactly as written."""
    made = memory.rules.direct(texts, scope=scope, lock=lock, condition=condition)
    return Shown({"memories": made}, [f"{one.id}  {one_line(one.text)}" for one in made], empty="")


quarantine = group("Review memories from tools, the web and imports.")
app.add_typer(quarantine, name="quarantine")


FromSource = Annotated[
    str | None,
    option(
        "--source", "Only memories from this address or trust class, such as web.", metavar="URI"
    ),
]


@command(quarantine, "memento quarantine list", "memento quarantine list --source web", name="list")
def list_(
    memory: MemoryManager,
    *,
    source: FromSource = None,
    limit: int = option("-n", "--limit", "Maximum number of memories.", default=100),
    offset: int = option("--offset", "Number of memories to skip.", default=0),
) -> Shown:
    """List quarantined memories, in order of arrival."""
    found = memory.quarantine.list(source=source, limit=limit, offset=offset)
    return memories(found, "nothing here" if found else _waiting(memory))


def _waiting(memory: MemoryManager) -> str:
    """Return the line for an empty list, with the sources whose memories are quarantined."""
    sources = (one.source for one in listed(memory.quarantine.list))
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
    ids: list[str] | None = argument("Memory ids or parts of ids.", metavar="ID"),
    *,
    version: int | None = option(
        "--version", "The version you reviewed; a memory that has changed since is not approved."
    ),
    source: FromSource = None,
    yes: bool = option("--yes", "-y", "With --source: do not ask for confirmation."),
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
    found = listed(partial(memory.quarantine.list, source=source))
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
