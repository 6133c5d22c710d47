"""OpenAI Agents SDK: a session for the conversation, and recall as the filter of the input."""

from __future__ import annotations

import asyncio

from agents import (
    Agent,
    Model,
    ModelResponse,
    RunConfig,
    Runner,
    SQLiteSession,
    Usage,
    function_tool,
)
from agents import set_tracing_disabled as no_tracing
from driver import CALL, ORGANISATION
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from memento_openai_agents import MementoRecall, MementoSession

no_tracing(disabled=True)


class Fake(Model):
    """Asks the brain."""

    def __init__(self, brain):
        self._brain = brain

    async def get_response(self, system_instructions, input, *args, **options):  # noqa: A002, ARG002
        """Answer, or call the tool."""
        answer = self._brain([("system", system_instructions or ""), *map(shown, input)])
        if answer == CALL:
            called = {"name": "read_page", "call_id": "1", "arguments": "{}"}
            output = ResponseFunctionToolCall(type="function_call", **called)
        else:
            text = ResponseOutputText(type="output_text", text=answer, annotations=[])
            output = ResponseOutputMessage(
                id="1", type="message", role="assistant", status="completed", content=[text]
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *args, **options):
        """Not used here."""
        raise NotImplementedError


def shown(item):
    """Return an item as (role, text)."""
    content = item.get("content", item.get("output", item.get("arguments")))
    if not isinstance(content, str):
        content = "\n".join(block.get("text", "") for block in content)
    return item.get("role", "tool"), content


class Driver:
    """An agent whose user is the context of the run."""

    def __init__(self, manager, brain):
        @function_tool
        def read_page() -> str:
            """Read the page."""
            return brain.page

        self._manager = manager
        self._agent = Agent("A", instructions="You help.", model=Fake(brain), tools=[read_page])
        self._sessions = {}
        recall = manager and MementoRecall(manager, namespace=self._namespace)
        self._config = RunConfig(call_model_input_filter=recall)

    def _namespace(self, user):
        return ORGANISATION, user

    def say(self, text, *, user, session):
        """Say it in the user's session."""
        if self._manager:
            mine = MementoSession(session, self._manager, namespace=self._namespace)
        else:
            mine = self._sessions.setdefault((user, session), SQLiteSession(session))
        run = Runner.run(self._agent, text, session=mine, context=user, run_config=self._config)
        return asyncio.run(run).final_output
