"""Calls as a type checker sees them: mypy and pyright check this file, and it never runs.

Each line with an ignore has a misspelling. mypy is strict here, so it reports an ignore that is
not needed: if a misspelling were accepted, `tests/test_lint.py` would fail. `just types` checks the
file against the installed wheel.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import memento_agent_framework
import memento_crewai
import memento_haystack
import memento_langchain
import memento_langgraph
import memento_llama_index
import memento_mcp
import memento_openai_agents
from memento import (
    Anomaly,
    Belief,
    Change,
    Checkpoint,
    Config,
    Diff,
    Draft,
    Filtering,
    Finding,
    Kind,
    Loop,
    Memories,
    Memory,
    MemoryManager,
    Policy,
    Promotion,
    Recalled,
    Related,
    Resumption,
    Retrieval,
    ScopeGuess,
    ScopeInfo,
    Session,
    SessionInfo,
    SlotValue,
    Stale,
    Strength,
    Tick,
    Tier,
    Undone,
    Version,
)
from memento.aio import AsyncLoop, AsyncMemoryManager, AsyncSession
from memento.ingest import survey
from memento.insight.findings import Dossier, Health, Lineage, Moment, Reasoning, Wonder
from memento.observe.values import Candidate, Foresight, Observation
from memento.protocols import Clock
from memento.upkeep.backup import Backup
from memento.upkeep.erase import Erasure
from memento.upkeep.export import Exported
from memento.upkeep.import_ import Imported
from memento.upkeep.lineage import Stats
from memento.upkeep.move import Moved
from memento.verbs.ingesting import Ingested
from memento.verbs.insight import Snapshot
from memento.verbs.slots import Conflict
from memento.verbs.spending import Usage
from memento.verbs.vault import Synced

ADAPTERS = (
    *memento_agent_framework.__all__,
    *memento_crewai.__all__,
    *memento_haystack.__all__,
    *memento_langchain.__all__,
    *memento_langgraph.__all__,
    *memento_llama_index.__all__,
    *memento_mcp.__all__,
    *memento_openai_agents.__all__,
)


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


def every_name(  # noqa: PLR0915 - as many as there are names
    memory: MemoryManager, now: datetime, found: Retrieval, said: Candidate
) -> None:
    """Every public name of the manager and of its parts, with the type that it returns."""
    assert_type(memory.add("x"), Memory)
    assert_type(memory.add_many(["x"]), Memories)
    assert_type(memory.changes.diff(now), Diff)
    assert_type(memory.changes.evolution("x"), list[SlotValue])
    assert_type(memory.changes.head("x"), Memory)
    assert_type(memory.changes.history("x"), list[Version])
    assert_type(memory.changes.list(), list[Change])
    assert_type(memory.correct("x", "x"), Memory)
    assert_type(memory.documents.add("x"), Memories)
    assert_type(memory.documents.ingest(survey("x.md")), list[Ingested])
    assert_type(memory.feedback.belief("x"), Belief)
    assert_type(memory.feedback.cite(found, "x"), tuple[str, ...])
    memory.feedback.show("x", ["y"])
    assert_type(memory.feedback.finalize("x"), tuple[str, ...])
    assert_type(memory.feedback.loop(), Loop)
    assert_type(memory.feedback.open_loop(), Loop)
    assert_type(memory.feedback.rate("x"), list[Belief])
    assert_type(memory.feedback.retract(), int)
    assert_type(memory.feedback.strength("x"), Strength)
    assert_type(memory.flush(), bool)
    assert_type(memory.forget("x"), Memory)
    assert_type(memory.forget_many(), list[str])
    assert_type(memory.get("x"), Memory)
    assert_type(memory.insight.dossier("x"), Dossier)
    assert_type(memory.insight.health(), Health)
    assert_type(memory.insight.lineage("x"), Lineage)
    assert_type(memory.insight.reason("x"), Reasoning)
    assert_type(memory.insight.related("x"), list[Related])
    assert_type(memory.insight.snapshot(now), Snapshot)
    assert_type(memory.insight.timeline(), list[Moment])
    assert_type(memory.insight.wonder(), list[Wonder])
    assert_type(memory.keep("x"), Memories)
    assert_type(memory.list(), Memories)
    assert_type(memory.observe(), Observation)
    assert_type(memory.of(), MemoryManager)
    assert_type(memory.prompt("x"), str)
    assert_type(memory.quarantine.approve("x"), Memory)
    assert_type(memory.quarantine.approve_all([]), Memories)
    assert_type(memory.quarantine.forget_source("x"), Memories)
    assert_type(memory.quarantine.list(), Memories)
    assert_type(memory.quarantine.reject("x"), Memory)
    assert_type(memory.quarantine.restore_source("x"), Memories)
    assert_type(memory.recall("x"), Recalled)
    assert_type(memory.restore("x"), Memory)
    assert_type(memory.retrieve("x"), Retrieval)
    assert_type(memory.rules.confirm(said), Memory)
    assert_type(memory.rules.direct("x"), Memories)
    assert_type(memory.rules.doubtful(), list[Candidate])
    assert_type(memory.rules.foresee("x"), list[Foresight])
    assert_type(memory.rules.policy(), Policy)
    assert_type(memory.scopes.define("x"), ScopeInfo)
    assert_type(memory.scopes.infer("x"), list[ScopeGuess])
    assert_type(memory.scopes.list(), list[ScopeInfo])
    assert_type(memory.scopes.merge("x", "x"), int)
    assert_type(memory.scopes.promotable(), list[Promotion])
    assert_type(memory.scopes.promote("x"), Memory)
    assert_type(memory.scopes.share("x", "x"), ScopeInfo)
    assert_type(memory.scopes.unmerge("x"), int)
    assert_type(memory.scopes.unshare("x", "x"), bool)
    assert_type(memory.sessions.checkpoint("x"), Checkpoint)
    memory.sessions.interrupt("x")
    assert_type(memory.sessions.end("x"), Memory | None)
    assert_type(memory.sessions.info("x"), SessionInfo)
    assert_type(memory.sessions.list(), list[SessionInfo])
    assert_type(memory.sessions.recent(), Memories)
    assert_type(memory.sessions.resume(), Resumption | None)
    assert_type(memory.sessions.start(), Session)
    assert_type(memory.sleep.anomalies(), list[Anomaly])
    assert_type(memory.sleep.archive("x"), Memory)
    assert_type(memory.sleep.run(), Tick)
    assert_type(memory.sleep.stale(), list[Stale])
    assert_type(memory.sleep.unarchive("x"), Memory)
    assert_type(memory.slots.conflicts(), list[Conflict])
    assert_type(memory.slots.history("x"), list[SlotValue])
    assert_type(memory.slots.resolve("x", "x", "a"), tuple[Memory, Memory])
    assert_type(memory.slots.revert("x"), Memory)
    assert_type(memory.store.backup("x"), Backup)
    assert_type(memory.store.clock, Clock)
    assert_type(memory.store.closed, bool)
    assert_type(memory.store.config, Config)
    assert_type(memory.store.counts(), dict[str, int])
    assert_type(memory.store.doctor(), list[Finding])
    assert_type(memory.store.embed(["x"]), NDArray[np.float32])
    assert_type(memory.store.erase(), Erasure)
    assert_type(memory.store.export("x"), Exported)
    assert_type(memory.store.move("x"), Moved)
    assert_type(memory.store.sync_vault("x"), Synced)
    assert_type(memory.store.full_id("x"), str)
    assert_type(memory.store.import_from("x"), Imported)
    assert_type(memory.store.namespace, tuple[str, ...])
    assert_type(memory.store.namespaces(), dict[tuple[str, ...], int])
    assert_type(memory.store.nearest([0.5]), Retrieval)
    assert_type(memory.store.prompt_confidence, float)
    assert_type(memory.store.read_only, bool)
    assert_type(memory.store.reindex(), int)
    assert_type(memory.store.root, Path)
    assert_type(memory.store.stats(), Stats)
    assert_type(memory.store.sweep(), list[str])
    assert_type(memory.store.touch("x", None), list[str])
    assert_type(memory.store.usage(), Usage)
    assert_type(memory.undo(), Undone)
    assert_type(memory.update("x"), Memory)
    assert_type(memory.value("x"), Memory | None)
    memory.close()


async def every_async_name(  # noqa: PLR0915 - as many as there are names
    memory: AsyncMemoryManager, now: datetime, found: Retrieval, said: Candidate
) -> None:
    """The same names, awaited."""
    assert_type(await memory.add("x"), Memory)
    assert_type(await memory.add_many(["x"]), Memories)
    assert_type(await memory.changes.diff(now), Diff)
    assert_type(await memory.changes.evolution("x"), list[SlotValue])
    assert_type(await memory.changes.head("x"), Memory)
    assert_type(await memory.changes.history("x"), list[Version])
    assert_type(await memory.changes.list(), list[Change])
    assert_type(await memory.correct("x", "x"), Memory)
    assert_type(await memory.documents.add("x"), Memories)
    assert_type(await memory.documents.ingest(survey("x.md")), list[Ingested])
    assert_type(await memory.feedback.belief("x"), Belief)
    assert_type(await memory.feedback.cite(found, "x"), tuple[str, ...])
    await memory.feedback.show("x", ["y"])
    assert_type(await memory.feedback.finalize("x"), tuple[str, ...])
    assert_type(await memory.feedback.loop(), AsyncLoop)
    assert_type(await memory.feedback.open_loop(), AsyncLoop)
    assert_type(await memory.feedback.rate("x"), list[Belief])
    assert_type(await memory.feedback.retract(), int)
    assert_type(await memory.feedback.strength("x"), Strength)
    assert_type(await memory.flush(), bool)
    assert_type(await memory.forget("x"), Memory)
    assert_type(await memory.forget_many(), list[str])
    assert_type(await memory.get("x"), Memory)
    assert_type(await memory.insight.dossier("x"), Dossier)
    assert_type(await memory.insight.health(), Health)
    assert_type(await memory.insight.lineage("x"), Lineage)
    assert_type(await memory.insight.reason("x"), Reasoning)
    assert_type(await memory.insight.related("x"), list[Related])
    assert_type(await memory.insight.snapshot(now), Snapshot)
    assert_type(await memory.insight.timeline(), list[Moment])
    assert_type(await memory.insight.wonder(), list[Wonder])
    assert_type(await memory.keep("x"), Memories)
    assert_type(await memory.list(), Memories)
    assert_type(await memory.observe(), Observation)
    assert_type(memory.of(), AsyncMemoryManager)
    assert_type(await memory.prompt("x"), str)
    assert_type(await memory.quarantine.approve("x"), Memory)
    assert_type(await memory.quarantine.approve_all([]), Memories)
    assert_type(await memory.quarantine.forget_source("x"), Memories)
    assert_type(await memory.quarantine.list(), Memories)
    assert_type(await memory.quarantine.reject("x"), Memory)
    assert_type(await memory.quarantine.restore_source("x"), Memories)
    assert_type(await memory.recall("x"), Recalled)
    assert_type(await memory.restore("x"), Memory)
    assert_type(await memory.retrieve("x"), Retrieval)
    assert_type(await memory.rules.confirm(said), Memory)
    assert_type(await memory.rules.direct("x"), Memories)
    assert_type(await memory.rules.doubtful(), list[Candidate])
    assert_type(await memory.rules.foresee("x"), list[Foresight])
    assert_type(await memory.rules.policy(), Policy)
    assert_type(await memory.scopes.define("x"), ScopeInfo)
    assert_type(await memory.scopes.infer("x"), list[ScopeGuess])
    assert_type(await memory.scopes.list(), list[ScopeInfo])
    assert_type(await memory.scopes.merge("x", "x"), int)
    assert_type(await memory.scopes.promotable(), list[Promotion])
    assert_type(await memory.scopes.promote("x"), Memory)
    assert_type(await memory.scopes.share("x", "x"), ScopeInfo)
    assert_type(await memory.scopes.unmerge("x"), int)
    assert_type(await memory.scopes.unshare("x", "x"), bool)
    assert_type(await memory.sessions.checkpoint("x"), Checkpoint)
    await memory.sessions.interrupt("x")
    assert_type(await memory.sessions.end("x"), Memory | None)
    assert_type(await memory.sessions.info("x"), SessionInfo)
    assert_type(await memory.sessions.list(), list[SessionInfo])
    assert_type(await memory.sessions.recent(), Memories)
    assert_type(await memory.sessions.resume(), Resumption | None)
    assert_type(await memory.sessions.start(), AsyncSession)
    assert_type(await memory.sleep.anomalies(), list[Anomaly])
    assert_type(await memory.sleep.archive("x"), Memory)
    assert_type(await memory.sleep.run(), Tick)
    assert_type(await memory.sleep.stale(), list[Stale])
    assert_type(await memory.sleep.unarchive("x"), Memory)
    assert_type(await memory.slots.conflicts(), list[Conflict])
    assert_type(await memory.slots.history("x"), list[SlotValue])
    assert_type(await memory.slots.resolve("x", "x", "a"), tuple[Memory, Memory])
    assert_type(await memory.slots.revert("x"), Memory)
    assert_type(await memory.store.backup("x"), Backup)
    assert_type(memory.store.clock, Clock)
    assert_type(memory.store.closed, bool)
    assert_type(memory.store.config, Config)
    assert_type(await memory.store.counts(), dict[str, int])
    assert_type(await memory.store.doctor(), list[Finding])
    assert_type(await memory.store.embed(["x"]), NDArray[np.float32])
    assert_type(await memory.store.erase(), Erasure)
    assert_type(await memory.store.export("x"), Exported)
    assert_type(await memory.store.move("x"), Moved)
    assert_type(await memory.store.sync_vault("x"), Synced)
    assert_type(await memory.store.full_id("x"), str)
    assert_type(await memory.store.import_from("x"), Imported)
    assert_type(memory.store.namespace, tuple[str, ...])
    assert_type(await memory.store.namespaces(), dict[tuple[str, ...], int])
    assert_type(await memory.store.nearest([0.5]), Retrieval)
    assert_type(memory.store.prompt_confidence, float)
    assert_type(memory.store.read_only, bool)
    assert_type(await memory.store.reindex(), int)
    assert_type(memory.store.root, Path)
    assert_type(await memory.store.stats(), Stats)
    assert_type(await memory.store.sweep(), list[str])
    assert_type(await memory.store.touch("x", None), list[str])
    assert_type(await memory.store.usage(), Usage)
    assert_type(await memory.undo(), Undone)
    assert_type(await memory.update("x"), Memory)
    assert_type(await memory.value("x"), Memory | None)
    await memory.close()
