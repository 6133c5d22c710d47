"""Tiered memory for AI agents: offline, durable, and it finds the right one.

The rooms, from the ground up; ``tests/test_arrows.py`` holds the direction of their imports:

errors       every error, as one tree
forks        a fork of the process waits for work that its child could not finish
language     pure text: words, stems, dates, questions, statements
layout       names of the files and folders of a store
clock        the present moment, and times as microseconds
levels       pins and locks: what the bits of a memory say
display      values on one line, as a table of a notebook, and as JSON
blocks       how memories are framed in a prompt, and how such a block is known again
later        a module that is imported at its first use
types        the values that callers see: memories, drafts, hits and their vocabulary
protocols    the interfaces of replaceable parts: embedder, reranker, language model, clock
scopes       namespaces (who may see a memory) and scope paths (where it applies)
past         the values that tell of the past: states, changes, differences
strength     the values that tell how strong a memory is: belief, uses
tick         the values that tell of the sleep: its work, what is stale, what is unusual
check        accept or refuse one value: the same rule at every entry
status       one table: the meaning of each status to every part
dynamics     uses and verdicts as numbers that change with time
claims       what a statement claims, and how two claims relate
messages     who speaks in a message of any chat API, and the words that are said
ledger       the truth: one SQLite file, all SQL
embed        local and remote embedders, rerankers
admit        a draft becomes an accepted entry: checked, redacted, weighed
ingest       files become drafts: documents and conversations
filters      the filters of a call, checked and read
config       all settings
testing      fakes for your tests: embedder, clock, language models
observe      sentences of a user's message that are worth a memory
llm          language models, if you want one: a provider, and limits
tiers        short (ring buffer), long (Chroma), and the indexer that feeds it
retrieve     read path: question, candidates, evidence, order, budget
policy       memories as a block of a prompt
lifecycle    the write path, and every change of a memory: its slot, its status, trust
consolidate  the sleep: fold what says the same, move between tiers, replay, archive
upkeep       backup, erase, salvage, doctor, export, import, history
insight      what memories say together: names that link them, chains of evidence
background   the chores of the background thread in quiet moments
engine       one open store: its parts; open, close, fork
holding      the managers of one folder share an open store; the last one closes it
long_turns   a turn that is longer than a memory may be, in parts
views        one namespace of an open store, and ``memory.store``
quarantine   approve or reject what untrusted sources said
archive      archive memories that nobody needs, and bring them back
browse       lists, counts, history and links: all that is read without a query
conflicts    the statements that conflict, and how a person settles them
documents    a long text in parts: a document that may change
guidance     the policy of a prompt: what an agent is told to heed
locks        lock and pin a memory: nobody changes it, it never fades
reasoning    chains of memories that lead from a question to an answer
scoping      name, guess, merge and share scopes, and move memories up
sessions     begin a session, note where its work stands, go on after it broke off
sleep        let the store tidy up, and see what is stale or unusual
slots        what a slot holds and held, and the value before again
feedback     verdicts on memories, and what they and uses add up to
loops        turns of several answers and one outcome
overviews    timeline, snapshot, lineage, dossier, health: the past and the state at a glance
spending     how much language models were used, and what is left of the day
changes      correct, list changes and undo them, differences between two moments
conversation  the turns of a conversation: keep each once, recall for the next
learning     observe a turn: keep it, and store what the user states
manager      the object people use: each verb calls the rooms below
aio          the same verbs, awaited
cli          the command ``memento``

The adapters for other frameworks are packages of their own, beside this one in ``integrations/``:
``memento_langchain``, ``memento_langgraph``, ``memento_crewai`` and ``memento_mcp``. They import
only public names of memento; ``tests/integrations/test_doors.py`` has the list.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memento.aio import AsyncMemoryManager
    from memento.config import Config
    from memento.conversation.values import Recalled, Turn
    from memento.filters import Filtering, check_filters
    from memento.loops import Loop
    from memento.manager import MemoryManager
    from memento.past import Change, Diff, SlotValue, Undone, Version
    from memento.policy.values import Policy
    from memento.scoping.values import Promotion, ScopeGuess, ScopeInfo
    from memento.sessions import Session
    from memento.sessions.values import Checkpoint, Resumption, SessionInfo
    from memento.strength import Belief, Evidence, Strength
    from memento.tick import Anomaly, Stale, StepDone, Tick
    from memento.types import (
        Draft,
        Finding,
        Hit,
        Kind,
        Memory,
        Related,
        Retrieval,
        Source,
        Status,
        Tier,
        Trust,
    )

__version__ = "0.1.0"

__all__ = [
    "Anomaly",
    "AsyncMemoryManager",
    "Belief",
    "Change",
    "Checkpoint",
    "Config",
    "Diff",
    "Draft",
    "Evidence",
    "Filtering",
    "Finding",
    "Hit",
    "Kind",
    "Loop",
    "Memory",
    "MemoryManager",
    "Policy",
    "Promotion",
    "Recalled",
    "Related",
    "Resumption",
    "Retrieval",
    "ScopeGuess",
    "ScopeInfo",
    "Session",
    "SessionInfo",
    "SlotValue",
    "Source",
    "Stale",
    "Status",
    "StepDone",
    "Strength",
    "Tick",
    "Tier",
    "Trust",
    "Turn",
    "Undone",
    "Version",
    "check_filters",
]


_HOMES = {
    "aio": ("AsyncMemoryManager",),
    "config": ("Config",),
    "conversation.values": ("Recalled", "Turn"),
    "filters": ("Filtering", "check_filters"),
    "loops": ("Loop",),
    "manager": ("MemoryManager",),
    "past": ("Change", "Diff", "SlotValue", "Undone", "Version"),
    "policy.values": ("Policy",),
    "scoping.values": ("Promotion", "ScopeGuess", "ScopeInfo"),
    "sessions": ("Session",),
    "sessions.values": ("Checkpoint", "Resumption", "SessionInfo"),
    "strength": ("Belief", "Evidence", "Strength"),
    "tick": ("Anomaly", "Stale", "StepDone", "Tick"),
    "types": (
        "Draft",
        "Finding",
        "Hit",
        "Kind",
        "Memory",
        "Related",
        "Retrieval",
        "Source",
        "Status",
        "Tier",
        "Trust",
    ),
}  # fmt: skip
"""Modules of memento, each with the public names that it has."""
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}
_MODULES = {"aio", "check", "config", "errors", "policy", "protocols", "scopes", "testing", "types"}
"""Modules that are there after ``import memento`` alone."""


def __getattr__(name: str) -> Any:
    """Import a public name at its first use: a program that needs one type loads no store."""
    if name in _MODULES:
        return import_module(f"memento.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"memento.{_HOME_OF[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
