"""memento for Haystack.

memory_hooks          for an ``Agent``: recalls before each model call, stores the conversation
MementoDocumentStore  a document store: documents as memories, and all of Haystack's filters
MementoRetriever      a component: finds documents by keyword search and semantic search

Importing this package before Haystack disables Haystack's telemetry, unless
``HAYSTACK_TELEMETRY_ENABLED`` is set.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memento.base.lazy import names_of

if TYPE_CHECKING:
    from memento_haystack._documents import MementoDocumentStore
    from memento_haystack._hooks import memory_hooks
    from memento_haystack._retriever import MementoRetriever

__all__ = ["MementoDocumentStore", "MementoRetriever", "memory_hooks"]

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")

__getattr__ = names_of(
    __name__,
    {
        "MementoDocumentStore": "_documents",
        "MementoRetriever": "_retriever",
        "memory_hooks": "_hooks",
    },
    {"haystack": ("haystack", "haystack-ai")},
)
