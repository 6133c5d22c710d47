"""Calls as a type checker sees them: mypy checks this file, and it never runs.

Each line with an ignore has a misspelling. mypy is strict here, so it reports an ignore that is
not needed: if a misspelling were accepted, `tests/test_lint.py` would fail.
"""

from __future__ import annotations

from memento import Config, Draft, Filtering, Kind, MemoryManager, Tier
from memento.aio import AsyncMemoryManager


def right(memory: MemoryManager, name: Tier) -> None:
    """Members, their values, and several of either."""
    memory.add("x", "long", kind="rule", source="web")
    memory.add("x", Tier.SHORT, kind=Kind.RULE)
    memory.retrieve("x", tier=["long", Tier.SHORT], kind="fact", match="names")
    memory.prompt("x", tier=name, kind=[Kind.FACT], match="text")
    memory.list(status=["active", "forgotten"], order="occurred", tier=("long",))
    memory.store.counts("tag", kind=("fact", "rule"))
    memory.store.import_from("x", trust="user")
    memory.documents.add("x", format="markdown", tier="medium", kind="article")
    Config(secrets="reject", long_index="exact", untrusted=("web",))


def wrong_writes(memory: MemoryManager) -> None:
    """Misspelt names of what is written."""
    memory.add("x", "lnog")  # type: ignore[arg-type]
    memory.add("x", tier="Long")  # type: ignore[arg-type]
    memory.add("x", kind="preferrence")  # type: ignore[arg-type]
    memory.add("x", source="wbe")  # type: ignore[arg-type]
    memory.update("id", tier="lnog")  # type: ignore[arg-type]
    memory.update("id", kind="fcat")  # type: ignore[arg-type]
    memory.update("id", source="usr")  # type: ignore[arg-type]
    memory.documents.add("x", format="html")  # type: ignore[arg-type]
    memory.documents.add("x", tier="lnog")  # type: ignore[arg-type]
    memory.store.import_from("x", trust="usr")  # type: ignore[arg-type]
    Draft("x", tier="lnog")  # type: ignore[arg-type]
    Draft("x", kind="fcat")  # type: ignore[arg-type]
    Config(secrets="alow")  # type: ignore[arg-type]
    Config(long_index="chorma")  # type: ignore[arg-type]
    Config(untrusted=("wbe",))  # type: ignore[arg-type]


def wrong_reads(memory: MemoryManager) -> None:
    """Misspelt names of what is read."""
    memory.retrieve("x", match="name")  # type: ignore[arg-type]
    memory.retrieve("x", tier="lnog")  # type: ignore[arg-type]
    memory.retrieve("x", kind=["fcat"])  # type: ignore[list-item]
    memory.prompt("x", match="name")  # type: ignore[arg-type]
    memory.list(order="time")  # type: ignore[arg-type]
    memory.list(status="forgoten")  # type: ignore[arg-type]
    memory.store.counts("tags")  # type: ignore[arg-type]
    memory.insight.related("id", status=["actve"])  # type: ignore[list-item]
    Filtering(tier="lnog")  # type: ignore[typeddict-item]


async def wrong_async(memory: AsyncMemoryManager) -> None:
    """The coroutines have the same types."""
    await memory.add("x", "lnog")  # type: ignore[arg-type]
    await memory.retrieve("x", match="name")  # type: ignore[arg-type]
