"""Serialize where a store is, for a pipeline that is saved and loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memento import MemoryManager


def place_of(manager: MemoryManager) -> dict[str, Any]:
    """Return where the memories of a manager are, as JSON data."""
    return {"root": str(manager.store.root), "namespace": list(manager.store.namespace)}


def manager_at(place: Mapping[str, Any]) -> MemoryManager:
    """Open the store at a place; managers of one folder share it."""
    return MemoryManager(place["root"]).of(*place["namespace"])
