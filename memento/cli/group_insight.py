"""Overviews: what the memories say together, where they come from and what is in doubt."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from typing import Annotated

import typer

from memento import Diff, MemoryManager
from memento.base.display import one_line
from memento.cli.local import moment, short
from memento.cli.options import (
    ID,
    Id,
    Query,
    Scopes,
    Within,
    argument,
    command,
    group,
    moment_option,
    option,
)
from memento.cli.output import Shown, explained, id_of, rows
from memento.types import Belief, Kind, Strength

app = typer.Typer()
insight = group("Get overviews: timelines, topics, gaps and doubts.")
app.add_typer(insight, name="insight")

Topic = Annotated[list[str] | None, argument("Only memories about this topic.")]
Below = Annotated[
    str | None, option("--within", "Only memories in this scope or below it.", metavar="SCOPE")
]


class By(StrEnum):
    """Orders of a timeline."""

    OCCURRED = "occurred"
    RECORDED = "recorded"


@command(
    insight,
    'memento insight reason "in which city is the office of the company of Nina Park?"',
    'memento insight reason "who leads the team that owns billing-api?" --hops 2 --json',
)
def reason(
    memory: MemoryManager,
    question: Query,
    *,
    hops: int = option("--hops", "Maximum number of memories in a chain, 1 to 6.", default=3),
    k: int = option("-n", "-k", "--count", "Maximum number of chains.", default=5),
    scope: Scopes = None,
    within: Within = None,
) -> Shown:
    """Work out an answer from several memories.

    The result is a list of chains of memories that share names and lead from QUERY to an answer.
    """
    asked = " ".join(question)
    return explained(
        memory.insight.reason(asked, hops=hops, k=k, scope=scope or None, within=within or None)
    )


@command(insight, "memento insight timeline Rami", "memento insight timeline --by recorded -n 20")
def timeline(
    memory: MemoryManager,
    topic: Topic = None,
    *,
    by: By = option(
        "--by", "Order by when the event occurred or was recorded.", default=By.OCCURRED
    ),
    limit: int = option("-n", "--limit", "Maximum number of memories to read.", default=50),
    within: Below = None,
) -> Shown:
    """List what happened, oldest first."""
    found = memory.insight.timeline(
        " ".join(topic or ()) or None, by=by.value, limit=limit, within=within
    )
    cells = [(short(one.memory.id), moment(one.at), one.what, one_line(one.text)) for one in found]
    return Shown({"moments": found}, rows(cells))


@command(insight, f"memento insight lineage {ID}")
def lineage(memory: MemoryManager, id: Id) -> Shown:
    """Show a memory's sources and what was derived from it."""
    return explained(memory.insight.lineage(id_of(memory, id)))


@command(insight, "memento insight dossier Northwind", 'memento insight dossier "the move" --json')
def dossier(memory: MemoryManager, topic: Query) -> Shown:
    """Show what is known about a topic.

    Each memory is listed with its source turns and its earlier values.
    """
    return explained(memory.insight.dossier(" ".join(topic)))


@command(insight, "memento insight health", "memento insight health --within project/x --json")
def health(memory: MemoryManager, *, within: Below = None) -> Shown:
    """Show which memories need attention.

    The output lists conflicts, and memories that are overdue, unused or without a source.
    """
    return explained(memory.insight.health(within))


@command(insight, "memento insight wonder", "memento insight wonder the move --json")
def wonder(
    memory: MemoryManager,
    topic: Topic = None,
    *,
    limit: int = option("-n", "--limit", "Maximum number of questions.", default=8),
) -> Shown:
    """List gaps in the memories, with questions to ask."""
    found = memory.insight.wonder(" ".join(topic or ()) or None, limit=limit)
    cells = [(one.kind, one_line(one.question)) for one in found]
    return Shown({"questions": found}, rows(cells), empty="no gaps found")


@command(
    insight, "memento insight diff --since yesterday", "memento insight diff --since 7d --json"
)
def diff(
    memory: MemoryManager,
    *,
    since: datetime = moment_option("--since", "Start of the period."),
    until: datetime | None = moment_option("--until", "End of the period. Default: now."),
    after: str | None = option(
        "--after", "Only memories that arrived after this one.", metavar="ID"
    ),
    limit: int = option("-n", "--limit", "Maximum number of memories.", default=1000),
) -> Shown:
    """Show what changed between two points in time.

    The output lists what was added, changed, hidden and restored.
    """
    found = memory.changes.diff(since, until, after=after, limit=limit)
    more = f"there may be more; continue with --after {found.more}"
    return Shown(found, rows([*_diff_cells(found)]), notes=[more] if found.more is not None else [])


def _diff_cells(found: Diff) -> Iterator[tuple[str, ...]]:
    for part, sign in (
        ("added", "+"),
        ("changed", "~"),
        ("superseded", "-"),
        ("archived", "-"),
        ("forgotten", "-"),
        ("restored", "+"),
    ):
        for name, (before, after) in getattr(found, part).items():
            said = one_line(after.text)
            if part == "changed" and before is not None and before.text != after.text:
                said = f"{one_line(before.text)} -> {said}"
            yield f"{sign} {part}", short(name), said


@command(insight, f"memento insight strength {ID}")
def strength(memory: MemoryManager, id: Id) -> Shown:
    """Show how much a memory is used and trusted.

    The output also lists every verdict on the memory.
    """
    name = id_of(memory, id)
    found, belief = memory.feedback.strength(name), memory.feedback.belief(name)
    return Shown({"strength": found, "belief": belief}, _strength_lines(found, belief))


def _strength_lines(found: Strength, belief: Belief) -> Iterator[str]:
    last = "never" if found.used_at is None else f"{moment(found.used_at)}"
    yield f"uses       {found.uses:.4g}, last used {last}"
    yield f"use        {found.use:+.2f} nats"
    yield f"belief     {belief.mean:.0%} (before any verdict: {belief.prior:.0%})"
    yield f"worth      {found.worth:+.2f}"
    yield f"retention  {found.retention:.0%}, stability {found.stability:.0f} active days"
    yield f"strength   short {found.short:.2f}, long {found.long:.2f}"
    for one in belief.evidence:
        gone = "  (retracted)" if one.retracted else ""
        yield f"  {moment(one.at)}  {one.verdict} by {one.source}{gone}"


@command(insight, "memento insight stale", "memento insight stale --kind fact --limit 20")
def stale(
    memory: MemoryManager,
    *,
    kinds: list[Kind] | None = option("--kind", "Only memories of this kind; repeatable."),
    limit: int = option("-n", "--limit", "Maximum number of memories.", default=20),
) -> Shown:
    """List memories that may be out of date.

    A memory is listed if it has expired, is in doubt or has almost completely faded.
    """
    found = memory.sleep.stale(kind=[kind.value for kind in kinds or ()] or None, limit=limit)
    cells = [
        (
            short(one.memory.id),
            f"{', '.join(one.reasons)} ({one.retention:.0%} left)",
            one_line(one.memory.text),
        )
        for one in found
    ]
    return Shown({"stale": found}, rows(cells), empty="nothing is stale")
