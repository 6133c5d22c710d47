"""Serialize what uses a store, for a pipeline that is saved and loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from haystack.core.serialization import default_to_dict

from memento import MemoryManager


def written(made: object, manager: MemoryManager, **options: Any) -> dict[str, Any]:
    """Return an object as JSON data: where its manager's memories are, and its options."""
    place = {"root": str(manager.store.root), "namespace": list(manager.store.namespace)}
    return dict(default_to_dict(made, **place, **options))


def arguments(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments to make an object again; managers of one folder share its store."""
    given = dict(data["init_parameters"])
    manager = MemoryManager(given.pop("root")).of(*given.pop("namespace"))
    return {"manager": manager, **given}
