"""LlamaIndex: a function agent whose memory has the block, in the user's last message."""

from __future__ import annotations

import asyncio
from typing import Any

from driver import CALL, view
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.memory import Memory
from llama_index.core.tools import FunctionTool
from pydantic import PrivateAttr

from memento_llama_index import MementoBlock


class Fake(FunctionCallingLLM):
    """Asks the brain."""

    _brain: Any = PrivateAttr()

    def __init__(self, brain):
        super().__init__()
        self._brain = brain

    @property
    def metadata(self):
        """It calls functions."""
        return LLMMetadata(is_function_calling_model=True)

    def _prepare_chat_with_tools(self, tools, chat_history=None, **options):  # noqa: ARG002
        return {"messages": chat_history}

    async def achat_with_tools(self, tools, chat_history=None, **options):  # noqa: ARG002
        """Answer, or call the tool."""
        answer = self._brain([(one.role.value, one.content or "") for one in chat_history])
        message = ChatMessage(role="assistant", content="" if answer == CALL else answer)
        return ChatResponse(message=message, raw=answer)

    def get_tool_calls_from_response(self, response, **options):  # noqa: ARG002
        """Return the call, if there is one."""
        called = ToolSelection(tool_id="1", tool_name="read_page", tool_kwargs={})
        return [called] if response.raw == CALL else []

    def _unused(self, *args, **options):
        raise NotImplementedError

    chat = complete = stream_chat = stream_complete = _unused
    achat = acomplete = astream_chat = astream_complete = _unused


class Driver:
    """An agent; each conversation of a user has a memory with the user's block."""

    def __init__(self, manager, brain):
        def read_page() -> str:
            """Read the page."""
            return brain.page

        self._manager = manager
        self._agent = FunctionAgent(
            llm=Fake(brain),
            tools=[FunctionTool.from_defaults(read_page)],
            system_prompt="You help.",
            streaming=False,
        )
        self._memories = {}

    def say(self, text, *, user, session):
        """Say it in the user's conversation."""
        if (user, session) not in self._memories:
            self._memories[user, session] = Memory.from_defaults(
                session_id=session,
                memory_blocks=[MementoBlock(view(self._manager, user))] if self._manager else [],
                insert_method="user",
            )

        async def run():
            return await self._agent.run(text, memory=self._memories[user, session])

        return str(asyncio.run(run()))
