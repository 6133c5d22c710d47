"""Tiered memory for AI agents: offline, durable, and it finds the right one.

The modules and packages, from the lowest layer up; ``tests/test_arrows.py`` checks their imports:

errors        every error, as one tree
base          helpers that depend on no other package: time, files, forks, paths, names, display
text          pure rules about text: words, stems, dates, questions, sentences
types         the values that callers see: memories, drafts, hits and their vocabulary
protocols     the interfaces of replaceable parts: embedder, reranker, language model, clock
check         validation of single values, the same everywhere
status        one table: the meaning of each status to every part
dynamics      uses and verdicts as numbers that change with time
claims        which of two conflicting statements takes precedence
messages      the speaker and the text of a message of any chat API
ledger        the authoritative data, in a SQLite file or on PostgreSQL: all SQL on it, the filters
embed         local and remote embedders, rerankers
admit         turn a draft into an accepted entry: validate, redact, score importance
ingest        read files into drafts: documents and conversations
config        all settings
testing       fakes for your tests: embedder, clock, language models
settings      where the settings come from: memento.toml and the environment
observe       sentences of a user's message that are worth a memory
llm           optional language models: a provider, and limits
tiers         short (ring buffers: a cache; ``ledger.memories.overflow``, called by
              ``write.remember``, moves turns on), long (exact search and Chroma), the indexer
retrieve      the read path: question, candidates, evidence, order, budget
prompt        memories as a block of a prompt
write         the write path, and every change of a memory: its slot, its status, trust
sleep         in this order: fold the log; duplicates, articles, tiers, archive, replay
upkeep        backup, erase, salvage, doctor, export, import, history
insight       what memories say together: names that link them, chains of evidence
background    the jobs of the background thread, and when each is due: ``keep_up``, ``keep_house``
engine        one open store: its parts; open, close, fork
holding       managers of one folder share an open store; the last one closes it
views         one namespace of an open store: the verbs for use by other modules
conversation  the turns of a conversation: keep each once, recall for the next
learning      observe a turn: keep it, and store what the user states
verbs         the manager's parts, such as ``memory.rules``: one module for each
manager       ``MemoryManager``: each method calls the modules above
aio           the same verbs, awaited
remote        a memory that another process has open: the table of calls, and the client
frameworks    shared by the adapters for agent frameworks: recall, keep, survive outages
resident      one process for each store, which agents share
serve         a store for other processes and machines, over HTTP
agents        coding agents: their set-up, and the answers to their hooks
cli           the command ``memento``

An ``add`` passes ``manager``, ``views``, ``engine.Engine.add``, ``admit.draft``, ``ledger.group``,
``ledger.lite.writer``, ``write.remember``, ``ledger.memories`` and ``ledger.lite.writer`` again.

Its fsync is the ``COMMIT`` there; ``ledger.lite.sqlite`` sets ``synchronous=FULL``.

A ``retrieve`` passes ``manager``, ``views``, ``retrieve.request``, ``retrieve.shared``,
``retrieve.searcher``, ``retrieve.context``, ``retrieve.question``, ``retrieve.answer``,
``retrieve.gather``, ``retrieve.judging``, ``retrieve.evidence`` and ``retrieve.order``.

Numbers that are not settings: ``admit.importance`` (tiers), ``retrieve.evidence.Weights`` (ranking)
and ``retrieve.vector_search.CHROMA_FROM`` (who searches by vector).

The adapters for other frameworks are separate packages in ``integrations/``:
``memento_agent_framework``, ``memento_crewai``, ``memento_google_adk``, ``memento_haystack``,
``memento_langchain``, ``memento_langgraph``, ``memento_llama_index``, ``memento_mcp``,
``memento_openai_agents``, ``memento_pydantic_ai`` and ``memento_strands``. They import only public
names of memento; ``tests/integrations/test_doors.py`` has the list.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in ``typing``, which is slow to import
if TYPE_CHECKING:
    from typing import Any

    from memento.aio import AsyncMemoryManager
    from memento.config import Config
    from memento.conversation.turns import Recalled, Turn
    from memento.ledger.filters import Filtering, check_filters
    from memento.manager import MemoryManager
    from memento.prompt.policy_values import Policy
    from memento.remote.client import AsyncRemoteMemory, RemoteMemory, connect
    from memento.sleep.tick_values import Anomaly, Stale, StepDone, Tick
    from memento.types import (
        Belief,
        Change,
        Diff,
        Draft,
        Evidence,
        Finding,
        Hit,
        Kind,
        Memories,
        Memory,
        Related,
        Retrieval,
        SlotValue,
        Source,
        Status,
        Strength,
        Tier,
        Trust,
        Undone,
        Version,
    )
    from memento.verbs.feedback import Loop
    from memento.verbs.scopes import Promotion, ScopeGuess, ScopeInfo
    from memento.verbs.session_handle import Checkpoint, Resumption, SessionInfo
    from memento.verbs.sessions import Session

__version__ = "0.1.0"

__all__ = [
    "Anomaly", "AsyncMemoryManager", "AsyncRemoteMemory", "Belief", "Change", "Checkpoint",
    "Config", "Diff", "Draft", "Evidence", "Filtering", "Finding", "Hit", "Kind", "Loop",
    "Memories", "Memory", "MemoryManager", "Policy", "Promotion", "Recalled", "Related",
    "RemoteMemory", "Resumption", "Retrieval", "ScopeGuess", "ScopeInfo", "Session", "SessionInfo",
    "SlotValue", "Source", "Stale", "Status", "StepDone", "Strength", "Tick", "Tier", "Trust",
    "Turn", "Undone", "Version", "check_filters", "connect",
]  # fmt: skip


_HOMES = {
    "aio": ("AsyncMemoryManager",),
    "config": ("Config",),
    "conversation.turns": ("Recalled", "Turn"),
    "ledger.filters": ("Filtering", "check_filters"),
    "manager": ("MemoryManager",),
    "prompt.policy_values": ("Policy",),
    "remote.client": ("AsyncRemoteMemory", "RemoteMemory", "connect"),
    "sleep.tick_values": ("Anomaly", "Stale", "StepDone", "Tick"),
    "types": (
        "Belief", "Change", "Diff", "Draft", "Evidence", "Finding", "Hit", "Kind", "Memories",
        "Memory", "Related", "Retrieval", "SlotValue", "Source", "Status", "Strength", "Tier",
        "Trust", "Undone", "Version",
    ),
    "verbs.feedback": ("Loop",),
    "verbs.scopes": ("Promotion", "ScopeGuess", "ScopeInfo"),
    "verbs.session_handle": ("Checkpoint", "Resumption", "SessionInfo"),
    "verbs.sessions": ("Session",),
}  # fmt: skip
"""Modules of memento, each with the public names that it has."""
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}
_MODULES = {
    "aio", "check", "config", "conversation", "errors", "prompt", "protocols", "settings",
    "testing", "types",
}  # fmt: skip
"""Modules that are there after ``import memento`` alone."""


def __getattr__(name: str) -> Any:
    """Import a public name at its first use, so that a program loads only what it needs."""
    if name in _MODULES:
        return import_module(f"memento.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"memento.{_HOME_OF[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
