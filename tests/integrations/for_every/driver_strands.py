"""Strands Agents: an agent for each session, with the store in its ``MemoryManager``."""

from __future__ import annotations

import asyncio

from driver import CALL, view
from strands import Agent, tool
from strands.memory import MemoryManager
from strands.models import Model

from memento_strands import MementoStore

STOP = {"messageStop": {"stopReason": "end_turn"}}
USE = {"toolUse": {"name": "read_page", "toolUseId": "1"}}


class Fake(Model):
    """Asks the brain."""

    def __init__(self, brain):
        self._brain = brain

    def update_config(self, **_):
        """Have nothing to set."""

    def get_config(self):
        """Return nothing."""
        return {}

    async def structured_output(self, *_, **__):
        """Give nothing structured."""
        yield {}

    async def stream(self, messages, tool_specs=None, system_prompt=None, **_):  # noqa: ARG002
        """Ask the brain."""
        request = [("system", system_prompt)]
        for message in messages:
            for block in message["content"]:
                inner = block.get("toolResult", {}).get("content", [block])
                role = "tool" if "toolResult" in block else message["role"]
                request += [(role, one["text"]) for one in inner if "text" in one]
        answer = self._brain(request)
        called = answer == CALL
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": USE if called else {}}}
        delta = {"toolUse": {"input": "{}"}} if called else {"text": answer}
        yield {"contentBlockDelta": {"delta": delta}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use"}} if called else STOP


class Driver:
    """An agent for each session of each user, as Strands has them."""

    def __init__(self, manager, brain):
        self._manager, self._brain, self._agents = manager, brain, {}

    def _agent(self, user, session):
        @tool
        def read_page() -> str:
            """Read the page."""
            return self._brain.page

        memory = None
        if self._manager:
            store = MementoStore(view(self._manager, user), session=session)
            memory = MemoryManager(stores=[store], injection=store.injection)
        agent = Agent(
            model=Fake(self._brain),
            tools=[read_page],
            system_prompt="You help.",
            memory_manager=memory,
            callback_handler=None,
        )
        return agent, memory

    def say(self, text, *, user, session):
        """Invoke the agent, and wait until the turn is stored."""
        key = (user, session)
        if key not in self._agents:
            self._agents[key] = self._agent(*key)
        agent, memory = self._agents[key]

        async def turn():
            try:
                return str(await agent.invoke_async(text)).strip()
            finally:
                if memory:
                    await memory.flush()

        return asyncio.run(turn())
