"""A capability of Pydantic AI: recall before the model answers, and keep the turns of a run."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, WrapModelRequestHandler
from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult

from memento import MemoryManager, Turn
from memento.check import check_flag
from memento.frameworks import AgentMemory, RunOptions


class MementoCapability(AbstractCapability[Any]):
    """Lets an agent remember across conversations and restarts.

    Before the model answers, the memories that are relevant to the user's last message are added
    after it as a data block (see ``memento.prompt``); while tools are called, the block stays the
    same. It is part of the request only, never of the history. When a run ends, the messages of the
    user and the model are stored, each once, in a session named after the conversation
    (``Agent.run(conversation_id=...)``). Tool output is not stored.

    Args:
        manager: The manager of the store to use.
        save: Whether to store the conversation; with False, it only recalls.
        options: ``namespace``, a function of the ``RunContext`` that returns labels, such as
            ``lambda run: ("acme", run.deps.user_id)``; ``k``, ``tokens``, ``wait``, ``policy`` (its
            head ends the instructions), ``observe``, ``scope``, ``strict`` and ``speaker``
            (``agent`` for an agent that another one calls in a tool), see
            ``memento.frameworks.AgentMemory``.

    Raises:
        InvalidInput: If an argument is invalid.
    """

    def __init__(
        self, manager: MemoryManager, *, save: bool = True, **options: Unpack[RunOptions]
    ) -> None:
        self._save = check_flag("save", save)
        self._memory = AgentMemory(manager, **options)

    async def wrap_model_request(
        self,
        ctx: RunContext[Any],
        *,
        request_context: ModelRequestContext,
        handler: WrapModelRequestHandler,
    ) -> ModelResponse:
        """Add memories after the user's last message, in this request only."""
        messages = [*request_context.messages]
        turns = _turns(messages, tools=True)
        given = await self._memory.of(ctx).arecall(turns, ctx.conversation_id)
        request = copy.copy(request_context)  # ``replace`` would lose fields of some versions
        if given.head:
            asked = request.model_request_parameters
            parts = [*(asked.instruction_parts or ()), InstructionPart(given.head)]
            request.model_request_parameters = replace(asked, instruction_parts=parts)
        for at in reversed(range(len(messages))):
            one = messages[at]
            if given.block and isinstance(one, ModelRequest) and _asks(one):
                messages[at] = replace(one, parts=[*one.parts, UserPromptPart(given.block)])
                request.messages = messages
                break
        return await handler(request)

    async def after_run(
        self, ctx: RunContext[Any], *, result: AgentRunResult[Any]
    ) -> AgentRunResult[Any]:
        """Store what was said in the run."""
        if self._save:
            turns = _turns(result.new_messages(), run=ctx.run_id)
            await self._memory.of(ctx).akeep(turns, ctx.conversation_id)
        return result


def _asks(message: ModelRequest) -> bool:
    """Return whether a message holds words of the user."""
    return any(isinstance(part, UserPromptPart) for part in message.parts)


def _turns(
    messages: Sequence[ModelMessage], *, tools: bool = False, run: str | None = None
) -> list[Turn]:
    """Read what the user and the model said, and if wanted what tools returned."""
    turns = []
    for at, message in enumerate(messages):
        for number, part in enumerate(message.parts):
            if isinstance(part, UserPromptPart) and isinstance(message, ModelRequest):
                content = [part.content] if isinstance(part.content, str) else part.content
                text, role = "\n".join(one for one in content if isinstance(one, str)), "user"
            elif isinstance(part, TextPart) and isinstance(message, ModelResponse):
                text, role = part.content, "assistant"
            elif tools and isinstance(part, ToolReturnPart):
                text, role = part.model_response_str(), "tool"
            else:
                continue
            turns.append(Turn(text, role, None if run is None else f"{run}-{at}-{number}"))
    return turns
