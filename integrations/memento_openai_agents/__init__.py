"""memento for the OpenAI Agents SDK.

MementoSession  a ``Session``: the complete items of a conversation
MementoRecall   a ``call_model_input_filter``: recalls memories for each model call
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memento.base.lazy import names_of

if TYPE_CHECKING:
    from memento_openai_agents._recall import MementoRecall
    from memento_openai_agents._session import MementoSession

__all__ = ["MementoRecall", "MementoSession"]

__getattr__ = names_of(
    __name__,
    {"MementoRecall": "_recall", "MementoSession": "_session"},
    {"agents": ("openai-agents", "openai-agents")},
)
