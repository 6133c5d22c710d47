"""Microsoft Agent Framework: the context provider, beside the framework's own history."""

from __future__ import annotations

import asyncio

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
    tool,
)
from driver import CALL, ORGANISATION

from memento_agent_framework import MementoContextProvider


class Fake(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """Asks the brain."""

    def __init__(self, brain):
        super().__init__()
        self._brain = brain

    def _inner_get_response(self, *, messages, stream, options, **_):  # noqa: ARG002
        async def answer():
            said = self._brain(
                [("system", options.get("instructions") or ""), *map(shown, messages)]
            )
            content = said
            if said == CALL:
                content = Content.from_function_call("1", "read_page", arguments="{}")
            return ChatResponse(messages=[Message("assistant", [content])])

        return answer()


def shown(message):
    """Return a message as (role, text)."""
    results = [str(one.result) for one in message.contents if one.type == "function_result"]
    return message.role, "\n".join([message.text, *results])


class Driver:
    """An agent whose user is in the state of the session."""

    def __init__(self, manager, brain):
        @tool(approval_mode="never_require")
        def read_page() -> str:
            """Read the page."""
            return brain.page

        remembering = manager and MementoContextProvider(manager, namespace=self._namespace)
        self._agent = Agent(
            client=Fake(brain),
            instructions="You help.",
            tools=[read_page],
            context_providers=[remembering] if manager else [],
        )
        self._sessions = {}

    @staticmethod
    def _namespace(session):
        return ORGANISATION, session.state["user"]

    def say(self, text, *, user, session):
        """Say it in the user's session."""
        mine = self._sessions.setdefault((user, session), AgentSession(session_id=session))
        mine.state["user"] = user
        return asyncio.run(self._agent.run(text, session=mine)).text
