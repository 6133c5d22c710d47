"""Read the items of the SDK as memento's turns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from memento import Turn
from memento.messages import words_of


def turn_of(item: Mapping[str, Any]) -> Turn:
    """Read an item: who speaks, and what is said; nothing, if it is a call or a thought."""
    if "role" in item:
        return Turn(_words(item.get("content")), str(item["role"]))
    return Turn(_words(item.get("output")), "tool")


def with_their_calls(items: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out the results of tools whose calls are not there: no provider accepts them."""
    listed = list(items)
    calls = {item.get("call_id") for item in listed if not _is_result(item)}
    return [item for item in listed if not _is_result(item) or item.get("call_id") in calls]


def _is_result(item: Mapping[str, Any]) -> bool:
    return "call_id" in item and str(item.get("type")).endswith("_output")


def _words(content: object) -> str:
    return words_of(content, "item", strict=False) if content else ""
