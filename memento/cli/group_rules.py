"""Commands for rules and for what may change: the policy, locks, pins, the quarantine."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from memento import MemoryManager
from memento.cli.options import ID, Ids, Session, Store, command, option
from memento.cli.output import Shown, each, memories
from memento.errors import InvalidInput
from memento.prompt.policy_values import TOKENS
from memento.types import Memory
from memento.verbs.rules import RECALL, TAIL_TOKENS

app = typer.Typer()


@command(app, "memento policy", 'memento policy --for "deploy it" --explain')
def policy(
    store: Store,
    *,
    scope: Annotated[str, option("--scope", help="Where the agent works, a path.")] = "",
    message: Annotated[
        str | None, option("--for", metavar="MESSAGE", help="The last message of the user.")
    ] = None,
    session: Session = None,
    head: Annotated[bool, option("--head", help="Print the head alone.")] = False,
    tail: Annotated[bool, option("--tail", help="Print the tail alone.")] = False,
    explain: Annotated[
        bool, option("--explain", help="Print which memory is in which zone, and why.")
    ] = False,
    tokens: Annotated[int, option("--tokens", help="Most tokens of the head.")] = TOKENS,
    tail_tokens: Annotated[
        int, option("--tail-tokens", help="Most tokens of the tail.")
    ] = TAIL_TOKENS,
    recall: Annotated[int, option("--recall", help="Most memories to recall.")] = RECALL,
) -> Shown:
    """Print what a prompt should hold: the rules of the user, and what bears on a message."""
    if head + tail + explain > 1:
        raise InvalidInput("--head", "give one of --head, --tail and --explain")
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


class Level(StrEnum):
    """Levels of a lock."""

    USER = "user"
    PROMOTED = "promoted"


@command(app, f"memento lock {ID}")
def lock(
    memory: MemoryManager,
    ids: Ids,
    *,
    level: Annotated[
        Level, option("--level", help="Nothing changes it, or only the user may replace it.")
    ] = Level.USER,
) -> None:
    """Lock memories: nothing updates, forgets, moves or replaces them until `memento unlock`.

    `memento erase` removes a locked memory all the same.
    """
    each(memory, ids, lambda one: memory.update(one, lock=level.value), _protection)


@command(app, f"memento unlock {ID}")
def unlock(memory: MemoryManager, ids: Ids) -> None:
    """Take the locks of memories away."""
    each(memory, ids, lambda one: memory.update(one, lock=None), _protection)


@command(app, f"memento pin {ID}")
def pin(memory: MemoryManager, ids: Ids) -> None:
    """Let memories never fade."""
    each(memory, ids, lambda one: memory.update(one, pinned=True), _protection)


@command(app, f"memento unpin {ID}")
def unpin(memory: MemoryManager, ids: Ids) -> None:
    """Let memories fade again."""
    each(memory, ids, lambda one: memory.update(one, pinned=False), _protection)


def _protection(found: Memory) -> str:
    lock = "" if found.lock is None else f"locked ({found.lock})"
    return ", ".join(filter(None, ("pinned" * found.pinned, lock))) or "neither pinned nor locked"


quarantine = typer.Typer(
    help="Review memories from tools, the web and imports before they are found.",
    no_args_is_help=True,
)
app.add_typer(quarantine, name="quarantine")


@command(quarantine, "memento quarantine list", "memento quarantine list --json", name="list")
def list_(
    memory: MemoryManager,
    *,
    limit: Annotated[int, option("--limit", help="Most memories.")] = 100,
    offset: Annotated[int, option("--offset", help="Memories to skip first.")] = 0,
) -> Shown:
    """List quarantined memories, in order of arrival."""
    return memories(memory.quarantine.list(limit=limit, offset=offset))


@command(quarantine, f"memento quarantine approve {ID}")
def approve(
    memory: MemoryManager,
    ids: Ids,
    *,
    version: Annotated[
        int | None, option("--version", help="The version that you read, if it changed meanwhile.")
    ] = None,
) -> None:
    """Make quarantined memories active. They still cannot become rules or be pinned."""
    each(memory, ids, lambda one: memory.quarantine.approve(one, version=version))


@command(quarantine, f"memento quarantine reject {ID}")
def reject(memory: MemoryManager, ids: Ids) -> None:
    """Forget quarantined memories; `memento restore` puts them back into quarantine."""
    each(memory, ids, memory.quarantine.reject)
