"""Haystack: an agent with the memory's hooks, whose conversation the caller holds."""

from __future__ import annotations

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from driver import CALL, ORGANISATION
from haystack import component
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.tools import create_tool_from_function

from memento_haystack import memory_hooks


@component
class Fake:
    """Asks the brain."""

    def __init__(self, brain):
        self._brain = brain

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: list | None = None):  # noqa: ARG002
        """Answer, or call the tool."""
        answer = self._brain([(one.role.value, shown(one)) for one in messages])
        if answer == CALL:
            call = ToolCall("read_page", {}, "1")
            return {"replies": [ChatMessage.from_assistant(tool_calls=[call])]}
        return {"replies": [ChatMessage.from_assistant(answer)]}


def shown(message):
    """Return the text of a message."""
    return "\n".join([*message.texts, *(str(one.result) for one in message.tool_call_results)])


class Driver:
    """An agent whose user and conversation are in the context of the hooks."""

    def __init__(self, manager, brain):
        def read_page() -> str:
            """Read the page."""
            return brain.page

        def namespace(context):
            return ORGANISATION, context["user"]

        self._agent = Agent(
            chat_generator=Fake(brain),
            tools=[create_tool_from_function(read_page)],
            system_prompt="You help.",
            hooks=memory_hooks(manager, namespace=namespace) if manager else None,
        )
        self._talks = {}

    def say(self, text, *, user, session):
        """Say it in the user's conversation."""
        talk = self._talks.get((user, session), [])
        context = {"user": user, "session": session}
        done = self._agent.run([*talk, ChatMessage.from_user(text)], hook_context=context)
        self._talks[user, session] = [one for one in done["messages"] if not one.is_from("system")]
        return done["last_message"].text
