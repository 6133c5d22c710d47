"""memento for Pydantic AI: a capability of an agent.

MementoCapability  recalls before the model answers, and stores each turn of the run once
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memento.base.lazy import names_of

if TYPE_CHECKING:
    from memento_pydantic_ai._capability import MementoCapability

__all__ = ["MementoCapability"]

__getattr__ = names_of(
    __name__,
    {"MementoCapability": "_capability"},
    {"pydantic_ai": ("pydantic-ai", "pydantic-ai-slim")},
)
