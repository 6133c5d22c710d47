"""Commands that read memories, and overviews of what they say together."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated

import typer

from memento import MemoryManager
from memento.base.display import one_line
from memento.cli.options import (
    ID,
    AsJson,
    Filters,
    Id,
    Query,
    Root,
    Scopes,
    Session,
    Store,
    Within,
    command,
    count_of,
    option,
)
from memento.cli.output import Shown, explained, memories, warn
from memento.prompt.rendering import TOKENS
from memento.types import Memory, Status, Tier

INDEX_SECONDS = 2.0
"""Longest time that ``retrieve`` waits until earlier memories are embedded; full text finds them in
any case."""

app = typer.Typer()

Topic = Annotated[
    list[str] | None, typer.Argument(help="Only what is relevant to this, in plain words.")
]
Below = Annotated[str | None, option("--within", metavar="SCOPE", help="At it or below it.")]


class Match(StrEnum):
    """Ways in which ``retrieve`` treats names in the query."""

    AUTO = "auto"
    NAMES = "names"
    TEXT = "text"


class By(StrEnum):
    """Orders of a timeline."""

    OCCURRED = "occurred"
    RECORDED = "recorded"


@command(
    app,
    'memento retrieve "what can Rami not eat?"',
    'memento retrieve "release plan" -k 3 --since 2025-05-01 --explain',
    "memento retrieve deadline --tier long --json",
    "memento retrieve deadline --actor Ruth --where city=Utrecht",
    'memento retrieve "who leads the team?" --as-of 2025-03-01',
)
def retrieve(
    memory: MemoryManager,
    query: Query,
    *,
    k: Annotated[
        str,
        option("-k", "--count", metavar="N", help="Most hits; auto for what the query wants."),
    ] = "5",
    match: Annotated[
        Match, option("--match", help="Prefer, require or ignore named keys and aliases.")
    ] = Match.AUTO,
    filters: Filters,
    min_score: Annotated[float, option("--min-score", help="Least score, 0 to 1.")] = 0.0,
    min_confidence: Annotated[
        float, option("--min-confidence", help="Nothing below this chance of an answer, 0 to 1.")
    ] = 0.0,
    cutoff: Annotated[
        float, option("--cutoff", help="Least share of the best score, 0 to 1.")
    ] = 0.0,
    tokens: Annotated[int | None, option("--tokens", help="Most tokens of all hits.")] = None,
    superseded: Annotated[bool, option("--superseded", help="Also superseded memories.")] = False,
    archived: Annotated[bool, option("--archived", help="Also archived memories.")] = False,
    quarantined: Annotated[
        bool, option("--quarantined", help="Also quarantined memories.")
    ] = False,
    own: Annotated[bool, option("--own", help="Nothing that other namespaces share.")] = False,
    explain: Annotated[bool, option("--explain", help="Show why each hit was found.")] = False,
) -> Shown:
    """Find the memories relevant to QUERY, best first. Exits with 0 also if none is found."""
    found = memory.retrieve(
        " ".join(query),
        count_of(k),
        match=match.value,
        min_score=min_score,
        min_confidence=min_confidence,
        cutoff=cutoff,
        tokens=tokens,
        include_superseded=superseded,
        include_archived=archived,
        include_quarantined=quarantined,
        wait=INDEX_SECONDS,
        shared=not own,
        **filters,
    )
    for part, why in found.missing.items():
        warn(f"{part} tier not asked: {why}" if part in tuple(Tier) else f"{part}: {why}")
    if explain:
        return Shown(found, lambda tables: tables.explained(found))
    hits = (lambda tables: tables.hits(found)) if found else ()
    return Shown(found, hits, empty="nothing found")


@command(
    app,
    'memento prompt "what may Rami eat?"',
    'memento prompt "plans for the release" --tokens 800 --scope project/x',
)
def prompt(
    memory: MemoryManager,
    query: Query,
    *,
    k: Annotated[
        str,
        option("-k", "--count", metavar="N", help="Most memories; auto: what the query wants."),
    ] = "auto",
    tokens: Annotated[
        int, option("--tokens", help="Most tokens of the block; 0 for no limit.")
    ] = TOKENS,
    ids: Annotated[bool, option("--ids", help="Show the id of each memory.")] = False,
    filters: Filters,
) -> None:
    """Print the memories relevant to QUERY as a block for any prompt; nothing if none is found.

    No stored text can break out of the block. Of a long memory it shows the relevant passage.
    """
    block = memory.prompt(
        " ".join(query),
        count_of(k),
        tokens=tokens or None,
        show_ids=ids,
        wait=INDEX_SECONDS,
        **filters,
    )
    if block:
        typer.echo(block)


@command(app, f"memento get {ID} --json")
def get(memory: MemoryManager, id: Id) -> Shown:  # noqa: A002 - the field's own name
    """Show one memory with all its fields, whatever its status."""
    found = memory.get(memory.store.full_id(id))
    return Shown(found, lambda tables: tables.memory(found))


@command(app, f"memento show {ID}", "memento show door --all --json")
def show(
    memory: MemoryManager,
    id: Id,  # noqa: A002 - the field's own name
    *,
    everything: Annotated[
        bool, option("--all", help="Also related memories that are forgotten or quarantined.")
    ] = False,
) -> Shown:
    """Show all that is known of one memory: its fields, every state it had, related memories."""
    found = memory.get(memory.store.full_id(id))
    past = memory.changes.history(found.id)
    linked = memory.insight.related(found.id, status=list(Status) if everything else None)
    told = {"memory": found, "history": past, "related": linked}
    return Shown(told, lambda tables: tables.whole(found, past, linked))


@command(app, "memento recent", "memento recent -n 5 --session standup")
def recent(
    memory: MemoryManager,
    *,
    n: Annotated[int | None, option("-n", "--count", help="Most turns; all if not given.")] = None,
    session: Session = None,
) -> Shown:
    """Show the newest turns of a session: its ring buffer, oldest first."""
    return memories(memory.sessions.recent(n, session=session))


@command(
    app,
    "memento list --tier long",
    "memento list --status forgotten",
    "memento list --since 7d --oneline | grep deploy",
    "memento list --key user/editor --status superseded",
    'memento list --where city=Utrecht --where \'{"price": {"$lt": 9}}\'',
    "memento list --limit 1000 --json",
    name="list",
)
def list_(
    memory: MemoryManager,
    *,
    filters: Filters,
    status: Annotated[
        list[Status] | None, option("--status", help="With this status; repeatable.")
    ] = None,
    newest_first: Annotated[bool, option("--newest-first", help="Reverse the order.")] = False,
    limit: Annotated[int, option("--limit", help="Most memories.")] = 100,
    offset: Annotated[int, option("--offset", help="Memories to skip first.")] = 0,
    oneline: Annotated[bool, option("--oneline", help="Print one line for each memory.")] = False,
) -> Shown:
    """List memories in order of arrival, without ranking."""
    found = memory.list(
        status=status or None, newest_first=newest_first, limit=limit, offset=offset, **filters
    )
    return Shown(found, _lines(found)) if oneline else memories(found)


def _lines(found: list[Memory]) -> Iterator[str]:
    """Yield a line for each memory: id, tier, day and text, which is cut to fit a terminal."""
    most = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for one in found:
        facts = f"{one_line(one.id)}  {one.tier:<6}  {one.occurred_at:%Y-%m-%d}  "
        yield (facts + one_line(one.text))[:most].rstrip(" ")


@command(
    app,
    'memento reason "in which city is the office of the company of Nina Park?"',
    'memento reason "who leads the team that owns billing-api?" --hops 2 --json',
)
def reason(
    memory: MemoryManager,
    question: Query,
    *,
    hops: Annotated[int, option("--hops", help="Most memories of a chain, 1 to 6.")] = 3,
    k: Annotated[int, option("-k", "--count", help="Most chains.")] = 5,
    scope: Scopes = None,
    within: Within = None,
) -> Shown:
    """Find chains of memories that share names and lead from QUERY to an answer."""
    asked = " ".join(question)
    return explained(
        memory.insight.reason(asked, hops=hops, k=k, scope=scope or None, within=within or None)
    )


@command(app, "memento timeline Rami", "memento timeline --by recorded -n 20")
def timeline(
    memory: MemoryManager,
    topic: Topic = None,
    *,
    by: Annotated[By, option("--by", help="When it happened, or when it was recorded.")] = (
        By.OCCURRED
    ),
    limit: Annotated[int, option("-n", "--limit", help="Most memories to read.")] = 50,
    within: Below = None,
) -> Shown:
    """List what happened, oldest first."""
    found = memory.insight.timeline(
        " ".join(topic or ()) or None, by=by.value, limit=limit, within=within
    )
    lines = (f"{one.at:%Y-%m-%d %H:%M}  {one.what:<10}  {one_line(one.text)}" for one in found)
    return Shown(found, lines)


@command(app, f"memento lineage {ID}")
def lineage(memory: MemoryManager, id: Id) -> Shown:  # noqa: A002 - the field's own name
    """Show where a memory comes from and what came of it."""
    return explained(memory.insight.lineage(memory.store.full_id(id)))


@command(app, "memento dossier Northwind", 'memento dossier "the move" --json')
def dossier(memory: MemoryManager, topic: Query) -> Shown:
    """Show what is known about a topic: each memory with its turns and earlier values."""
    return explained(memory.insight.dossier(" ".join(topic)))


@command(app, "memento health", "memento health --within project/x --json")
def health(memory: MemoryManager, *, within: Below = None) -> Shown:
    """Show what is in doubt: conflicts, what is overdue, never used or without a source."""
    return explained(memory.insight.health(within))


@command(app, "memento wonder", "memento wonder the move --json")
def wonder(
    memory: MemoryManager,
    topic: Topic = None,
    *,
    limit: Annotated[int, option("-n", "--limit", help="Most to show.")] = 8,
) -> Shown:
    """List what the memories show to be missing, each with a question to ask."""
    found = memory.insight.wonder(" ".join(topic or ()) or None, limit=limit)
    lines = (f"{one.kind:<10}  {one_line(one.question)}" for one in found)
    return Shown(found, lines, empty="nothing is missing")


@command(app, "memento namespaces", "memento namespaces --root ~/notes --json")
def namespaces(*, as_json: AsJson = False, root: Root = None) -> int:
    """List the namespaces of the store, each with its number of active memories."""
    with Store(root, embedder="none").open() as memory:
        found = memory.store.namespaces()
    counts = {"/".join(labels): count for labels, count in found.items()}
    return _counted(counts).show(as_json=as_json)


@command(app, "memento sessions", "memento recent --session standup", embeds=False)
def sessions(memory: MemoryManager) -> Shown:
    """List the sessions, each with its number of active memories."""
    return _counted(memory.store.counts("session"))


@command(app, "memento tags", "memento list --tag ops", embeds=False)
def tags(memory: MemoryManager) -> Shown:
    """List the tags, each with its number of active memories."""
    return _counted(memory.store.counts("tag"))


@command(app, "memento keys", "memento keys --json", embeds=False)
def keys(memory: MemoryManager) -> Shown:
    """List the keys, which name slots, each with its number of active memories."""
    return _counted(memory.store.counts("key"))


def _counted(found: Mapping[str, int]) -> Shown:
    """Show a line for each name, the number first."""
    return Shown(found, [f"{count:>7}  {one_line(name)}" for name, count in found.items()])
