"""Recall for each model call of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack, cast

from agents.items import TResponseInputItem
from agents.run_config import CallModelData, ModelInputData

from memento import MemoryManager
from memento.frameworks import AgentMemory, RunOptions
from memento_openai_agents._items import turn_of


class MementoRecall:
    """A ``RunConfig.call_model_input_filter`` that recalls before each model call.

    The memories that are relevant to the user's last message are added after it as a data item, for
    this call only: sessions do not store it, and everything before it stays the same, so providers
    can cache it. The item also stays the same while the model calls tools to answer one message.

    Args:
        manager: The manager of the store to use.
        options: ``namespace``, a function of the context of the run that returns labels, such as
            ``lambda context: ("acme", context.user_id)``; ``k``, ``tokens``, ``wait``, ``policy``
            (its head ends the instructions), ``scope`` and ``strict``, see
            ``memento.frameworks.AgentMemory``.

    Raises:
        InvalidInput: If an argument is invalid.
    """

    def __init__(self, manager: MemoryManager, **options: Unpack[RunOptions]) -> None:
        self._memory = AgentMemory(manager, **options)

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """Return the input of a model call with what is remembered."""
        items, instructions = list(data.model_data.input), data.model_data.instructions
        turns = [turn_of(cast("Mapping[str, Any]", item)) for item in items]
        given = await self._memory.of(data.context).arecall(turns)
        if given.block:
            last = max(at for at, turn in enumerate(turns) if turn.role == "user")
            block = {"role": "user", "content": given.block}
            items.insert(last + 1, cast("TResponseInputItem", block))
        texts = [text for text in (instructions, given.head) if text]
        return ModelInputData(input=items, instructions="\n\n".join(texts) or None)
