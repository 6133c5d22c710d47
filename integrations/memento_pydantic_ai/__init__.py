"""memento for Pydantic AI: a capability of an agent.

MementoCapability  recalls before the model answers, and stores each turn of the run once
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memento.errors import MissingExtra

if TYPE_CHECKING:
    from memento_pydantic_ai._capability import MementoCapability

__all__ = ["MementoCapability"]


def __getattr__(name: str) -> Any:
    """Import the class on first use.

    Raises:
        MissingExtra: If Pydantic AI is not installed; says how to install it.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from memento_pydantic_ai import _capability  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("pydantic_ai"):
            raise
        raise MissingExtra("pydantic-ai", "pydantic-ai-slim") from error
    return getattr(_capability, name)
