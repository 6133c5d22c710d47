"""Read the items of the SDK as memento's turns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from memento import Turn
from memento.messages import words_of


def turn_of(item: Mapping[str, Any]) -> Turn:
    """Convert an item to a turn; a call or a thought has no text."""
    if "role" in item:
        return Turn(_words(item.get("content")), str(item["role"]))
    return Turn(_words(item.get("output")), "tool")


def with_their_calls(items: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Drop tool results whose calls are missing: no provider accepts them."""
    listed = list(items)
    calls = {item.get("call_id") for item in listed if not _is_result(item)}
    return [item for item in listed if not _is_result(item) or item.get("call_id") in calls]


def _is_result(item: Mapping[str, Any]) -> bool:
    return "call_id" in item and str(item.get("type")).endswith("_output")


def _words(content: object) -> str:
    return words_of(content, "item", strict=False) if content else ""
