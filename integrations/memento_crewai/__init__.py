"""Use memento as the memory of CrewAI: no API key, no LLM calls, one folder on disk.

MementoCrewMemory         CrewAI's Memory over all three tiers; the usual choice
MementoStorage            a StorageBackend, vectors only, for CrewAI's own memory
install, uninstall        make MementoStorage the default for ``memory=True``, and undo that
MementoEmbeddingFunction  the local model as an embedding function for CrewAI and Chroma
with_policy               adds the user's rules to the end of an agent's backstory
extract                   finds the statements in a task's result that are worth remembering

Importing this package disables CrewAI's telemetry, unless ``CREWAI_DISABLE_TELEMETRY`` is set.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from memento.errors import MissingExtra

if TYPE_CHECKING:
    from memento_crewai._embedding import MementoEmbeddingFunction
    from memento_crewai._extract import extract
    from memento_crewai._memory import MementoCrewMemory
    from memento_crewai._policy import with_policy
    from memento_crewai._storage import MementoStorage, install, uninstall

__all__ = [
    "MementoCrewMemory",
    "MementoEmbeddingFunction",
    "MementoStorage",
    "extract",
    "install",
    "uninstall",
    "with_policy",
]

os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")

_HOMES = {
    "MementoCrewMemory": "_memory",
    "MementoEmbeddingFunction": "_embedding",
    "MementoStorage": "_storage",
    "extract": "_extract",
    "install": "_storage",
    "uninstall": "_storage",
    "with_policy": "_policy",
}


def __getattr__(name: str) -> Any:
    """Import a class or function on first use.

    Raises:
        MissingExtra: If CrewAI is not installed, or too old; says how to install it.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import_module("crewai.hooks.dispatch")
        import_module("crewai.memory.storage.factory")  # the newest part needed
    except ImportError as error:
        raise MissingExtra("crewai", "crewai 1.15.24 or later") from error
    import_module(f"{__name__}._memory")  # always: it also makes a plain Memory over ours strict
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
