"""Where a store is, for a pipeline that is written to a file and loaded again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memento import MemoryManager


def place_of(manager: MemoryManager) -> dict[str, Any]:
    """Write where the memories of a manager are."""
    return {"root": str(manager.store.root), "namespace": list(manager.store.namespace)}


def manager_at(place: Mapping[str, Any]) -> MemoryManager:
    """Open a store where it was; the managers of one folder share it."""
    return MemoryManager(place["root"]).of(*place["namespace"])
