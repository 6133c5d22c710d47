"""Pydantic AI: one agent with the capability; the application holds the history of a session."""

from __future__ import annotations

import asyncio

from driver import CALL, ORGANISATION
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import FunctionModel

from memento_pydantic_ai import MementoCapability

ROLES = {
    SystemPromptPart: "system",
    UserPromptPart: "user",
    TextPart: "assistant",
    ToolReturnPart: "tool",
}


class Driver:
    """An agent whose user is in the deps of the run."""

    def __init__(self, manager, brain):
        def think(messages, info):  # noqa: ARG001
            parts = [part for message in messages for part in message.parts]
            said = [(ROLES[type(part)], part.content) for part in parts if type(part) in ROLES]
            answer = brain(said)
            part = ToolCallPart("read_page", {}) if answer == CALL else TextPart(answer)
            return ModelResponse(parts=[part])

        def namespace(run):
            return ORGANISATION, run.deps

        self._agent = Agent(
            FunctionModel(think),
            deps_type=str,
            system_prompt="You help.",
            capabilities=[MementoCapability(manager, namespace=namespace)] if manager else [],
        )
        self._agent.tool_plain(name="read_page")(lambda: brain.page)
        self._histories = {}

    def say(self, text, *, user, session):
        """Run the agent on the history of the session."""
        known = self._histories.get((user, session))
        run = self._agent.run(text, deps=user, message_history=known, conversation_id=session)
        done = asyncio.run(run)
        self._histories[user, session] = done.all_messages()
        return done.output
