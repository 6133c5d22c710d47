"""LangChain: ``create_agent`` with the middleware, one thread for each session."""

from __future__ import annotations

from typing import Any

from driver import CALL, ORGANISATION
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from memento_langchain import MementoMiddleware

ROLES = {"human": "user", "ai": "assistant"}


class Fake(BaseChatModel):
    """Asks the brain."""

    brain: Any

    @property
    def _llm_type(self):
        return "fake"

    def bind_tools(self, tools, **options):  # noqa: ARG002
        """Take the tools."""
        return self

    def _generate(self, messages, stop=None, run_manager=None, **options):  # noqa: ARG002
        answer = self.brain([(ROLES.get(one.type, one.type), one.text) for one in messages])
        said = AIMessage(answer)
        if answer == CALL:
            said = AIMessage("", tool_calls=[{"name": "read_page", "args": {}, "id": "1"}])
        return ChatResult(generations=[ChatGeneration(message=said)])


class Driver:
    """An agent whose user is in the context of the run."""

    def __init__(self, manager, brain):
        @tool
        def read_page() -> str:
            """Read the page."""
            return brain.page

        def namespace(user):
            return ORGANISATION, user

        self._agent = create_agent(
            Fake(brain=brain),
            [read_page],
            system_prompt="You help.",
            middleware=[MementoMiddleware(manager, namespace=namespace)] if manager else [],
            checkpointer=InMemorySaver(),
            context_schema=str,
        )

    def say(self, text, *, user, session):
        """Say it in the user's thread."""
        turn, thread = {"messages": [("user", text)]}, {"thread_id": f"{user}-{session}"}
        done = self._agent.invoke(turn, {"configurable": thread}, context=user)
        return done["messages"][-1].text
