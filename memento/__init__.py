"""Tiered memory for AI agents: offline, durable, and it finds the right one.

The rooms, from the ground up; ``tests/test_arrows.py`` holds the direction of their imports:

errors       every error, as one tree
forks        a fork of the process waits for work that its child could not finish
language     pure text: words, stems, dates, questions, statements
layout       names of the files and folders of a store
clock        the present moment, and times as microseconds
levels       pins and locks: what the bits of a memory say
display      values on one line, as a table of a notebook, and as JSON
types        the values that callers see: memories, drafts, hits and their vocabulary
protocols    the interfaces of replaceable parts: embedder, reranker, clock
scopes       namespaces (who may see a memory) and scope paths (where it applies)
past         the values that tell of the past: states, changes, differences
check        accept or refuse one value: the same rule at every entry
status       one table: the meaning of each status to every part
dynamics     uses and verdicts as numbers that change with time
ledger       the truth: one SQLite file, all SQL
embed        local and remote embedders, rerankers
admit        a draft becomes an accepted entry: checked, redacted, weighed
ingest       files become drafts: documents and conversations
filters      the filters of a call, checked and read
config       all settings
testing      fakes for your tests: embedder, clock
tiers        short (ring buffer), long (Chroma), and the indexer that feeds it
retrieve     read path: question, candidates, evidence, order, budget
policy       memories as a block of a prompt
lifecycle    the write path, and every change of a memory: its slot, its status, trust
upkeep       backup, erase, salvage, doctor, export, import, history
insight      what memories say together: names that link them, chains of evidence
background   the chores of the background thread in quiet moments
engine       one open store: its parts; open, close, fork
long_turns   a turn that is longer than a memory may be, in parts
views        verbs that are not for every day: ``memory.quarantine``, ``memory.store``
browse       lists, counts, history and links: all that is read without a query
documents    a long text in parts: a document that may change
locks        lock and pin a memory: nobody changes it, it never fades
slots        what a slot holds and held, and the value before again
feedback     verdicts on memories, and what they and uses add up to
overviews    timeline, snapshot, lineage, dossier, health: the past and the state at a glance
reasoning    chains of memories that lead from a question to an answer
changes      correct, list changes and undo them, differences between two moments
conversation  the turns of a conversation: keep each once, recall for the next
manager      the object people use: each verb calls the rooms below
aio          the same verbs, awaited
cli          the command ``memento``

The adapters for other frameworks are packages of their own, beside this one in ``integrations/``:
``memento_langchain``, ``memento_langgraph`` and ``memento_crewai``. They import only public names
of memento; ``tests/integrations/test_doors.py`` has the list.
"""

from typing import TYPE_CHECKING, Any

from memento.config import Config
from memento.conversation.values import Recalled, Turn
from memento.filters import Filtering, check_filters
from memento.manager import MemoryManager
from memento.past import Change, Diff, SlotValue, Undone, Version
from memento.types import (
    Belief,
    Draft,
    Evidence,
    Finding,
    Hit,
    Kind,
    Memory,
    Related,
    Retrieval,
    Source,
    Status,
    Strength,
    Tier,
    Trust,
)

if TYPE_CHECKING:
    from memento.aio import AsyncMemoryManager

__version__ = "0.1.0"

__all__ = [
    "AsyncMemoryManager",
    "Belief",
    "Change",
    "Config",
    "Diff",
    "Draft",
    "Evidence",
    "Filtering",
    "Finding",
    "Hit",
    "Kind",
    "Memory",
    "MemoryManager",
    "Recalled",
    "Related",
    "Retrieval",
    "SlotValue",
    "Source",
    "Status",
    "Strength",
    "Tier",
    "Trust",
    "Turn",
    "Undone",
    "Version",
    "check_filters",
]


def __getattr__(name: str) -> Any:
    """Load ``AsyncMemoryManager`` when it is asked for: asyncio costs as much as all the rest."""
    if name == "AsyncMemoryManager":
        from memento.aio import AsyncMemoryManager  # noqa: PLC0415 - see above

        return AsyncMemoryManager
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
