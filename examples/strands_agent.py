"""A Strands agent that remembers a user across sessions and restarts.

Shows ``MementoStore`` in Strands' own memory manager: the store is opened anew for each turn, as in
another process, and Friday's model is told what was said on Monday. The model here is a table, so
that the example runs offline. Needs ``pip install ".[strands]"``.

Prints:

    Ada: I am allergic to nuts, and I live in Oslo.
    Ada: What should the caterer know about my allergy?
    recalled: said by user: I am allergic to nuts, and I live in Oslo.
"""

import asyncio
from tempfile import TemporaryDirectory
from typing import Any

from strands import Agent
from strands.memory import MemoryManager as StrandsMemory
from strands.models import Model

from memento import MemoryManager
from memento_strands import MementoStore


class Table(Model):
    """Use a real one instead, such as ``BedrockModel()``."""

    def update_config(self, **_: Any) -> None:
        """Have nothing to set."""

    def get_config(self) -> Any:
        """Return nothing."""
        return {}

    async def structured_output(self, *_: Any, **__: Any) -> Any:
        """Give nothing structured."""
        yield {}

    async def stream(self, messages: Any, *_: Any, **__: Any) -> Any:
        """Show what is recalled, and answer."""
        for line in messages[-1]["content"][-1]["text"].splitlines():
            if line.startswith("<entry"):
                print("recalled:", line.partition(", ")[2].partition("</entry>")[0])
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": "Noted."}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


async def say(root: str, session: str, text: str) -> None:
    """Run one turn of a new agent over the store."""
    print("Ada:", text)
    with MemoryManager(root) as manager:
        store = MementoStore(manager.of("acme", "ada"), session=session, k=1)
        memory = StrandsMemory(stores=[store], injection=store.injection)
        agent = Agent(model=Table(), memory_manager=memory, callback_handler=None)
        await agent.invoke_async(text)
        await memory.flush()  # Strands stores in the background
        manager.flush(wait=True)  # before the end, wait until the turn is embedded


with TemporaryDirectory() as folder:  # in your program a folder that stays, such as "agent_memory"
    asyncio.run(say(folder, "monday", "I am allergic to nuts, and I live in Oslo."))
    asyncio.run(say(folder, "friday", "What should the caterer know about my allergy?"))
