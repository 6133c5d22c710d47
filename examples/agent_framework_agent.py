"""An agent of the Microsoft Agent Framework that remembers a user across sessions and restarts.

Shows ``MementoContextProvider``, which recalls, beside ``MementoHistoryProvider``, which keeps the
messages of a session: the store is opened anew for each turn, as in another process, and Friday's
model is told what was said on Monday. The chat client here is a table, so that the example runs
offline. Needs ``pip install ".[agent-framework]"``.

Prints:

    Ada: I am allergic to nuts, and I live in Oslo.
    Ada: My favourite colour is green.
    the session goes on with: I am allergic to nuts, and I live in Oslo.
    Ada: What should the caterer know about my allergy?
    recalled: I am allergic to nuts, and I live in Oslo.
"""

import asyncio
import json
from tempfile import TemporaryDirectory
from typing import Any

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    FunctionInvocationLayer,
    Message,
)

from memento import MemoryManager
from memento_agent_framework import MementoContextProvider, MementoHistoryProvider


class Table(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """Use a real one instead, such as ``OpenAIChatClient()`` of agent-framework-openai."""

    def _inner_get_response(self, *, messages: Any, **_: Any) -> Any:
        if messages[-1].text.startswith("<memories"):
            records = [line for line in messages[-1].text.splitlines() if line.startswith("{")]
            print("recalled:", *(json.loads(line)["text"] for line in records))
        if any(one.role == "assistant" for one in messages):
            print("the session goes on with:", messages[0].text)

        async def answer() -> ChatResponse:
            return ChatResponse(messages=[Message("assistant", ["Noted."])])

        return answer()


async def say(root: str, session: str, text: str) -> None:
    """Run one turn of a new agent over the store."""
    print("Ada:", text)
    with MemoryManager(root) as manager:
        remembering = MementoContextProvider(manager, k=1)
        history = MementoHistoryProvider(manager)
        agent = Agent(client=Table(), context_providers=[history, remembering])
        await agent.run(text, session=AgentSession(session_id=session))
        manager.flush(wait=True)  # before the end, wait until the turn is embedded


async def main(root: str) -> None:
    """Talk in two sessions."""
    await say(root, "monday", "I am allergic to nuts, and I live in Oslo.")
    await say(root, "monday", "My favourite colour is green.")
    await say(root, "friday", "What should the caterer know about my allergy?")


with TemporaryDirectory() as folder:  # in your program a folder that stays, such as "agent_memory"
    asyncio.run(main(folder))
