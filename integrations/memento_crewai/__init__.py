"""Memento as the memory of CrewAI: no key, no LLM call, everything in one folder on disk.

memory      MementoCrewMemory: CrewAI's Memory over all three tiers; the one to use
storage     MementoStorage: a StorageBackend, vectors only; install() puts it under memory=True
embedding   MementoEmbeddingFunction: the local model, as CrewAI and Chroma want it
extract     what a finished task leaves worth remembering, by rules
records     CrewAI's records, scopes and filters in memento's terms
strict      CrewAI's own memory over MementoStorage, with errors that are raised
calls       what CrewAI's memory and its storage do not tell each other
copies      keeps the memory through the copies CrewAI makes of agents
"""

from importlib import import_module

from memento.errors import MissingExtra

try:
    import_module("crewai.hooks.dispatch")
    import_module("crewai.memory.storage.factory")  # the newest part needed
except ImportError as error:
    raise MissingExtra("crewai", "crewai 1.15.24 or later") from error

from memento_crewai.embedding import MementoEmbeddingFunction
from memento_crewai.extract import extract
from memento_crewai.memory import MementoCrewMemory
from memento_crewai.storage import MementoStorage, install, uninstall

__all__ = [
    "MementoCrewMemory",
    "MementoEmbeddingFunction",
    "MementoStorage",
    "extract",
    "install",
    "uninstall",
]
