"""An agent of LlamaIndex that remembers a user across sessions and restarts.

Shows ``MementoBlock`` in the memory of an agent: the store is opened anew for each turn, as in
another process, and Friday's model is told what was said on Monday. The LLM here is a table, so
that the example runs offline. Needs ``pip install ".[llama-index]"``.

Prints:

    Ada: I am allergic to nuts, and I live in Oslo.
    Ada: What should the caterer know about my allergy?
    recalled: I am allergic to nuts, and I live in Oslo.
"""

import asyncio
import json
from collections.abc import Sequence
from tempfile import TemporaryDirectory
from typing import Any

from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse
from llama_index.core.llms.mock import MockLLM
from llama_index.core.memory import Memory

from memento import MemoryManager
from memento_llama_index import MementoBlock


class Table(MockLLM):
    """Use a real one instead, such as ``OpenAI(model=...)`` of llama-index-llms-openai."""

    async def achat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        """Print what is recalled, and answer."""
        for line in (messages[-1].content or "").splitlines():
            if line.startswith('{"text"'):
                print("recalled:", json.loads(line)["text"])
        answer = "Thought: I can answer without tools.\nAnswer: Noted."
        return ChatResponse(message=ChatMessage(answer, role="assistant"))


async def say(root: str, session: str, text: str) -> None:
    """Run one turn of a new agent over the store."""
    print("Ada:", text)
    with MemoryManager(root) as manager:
        memory = Memory.from_defaults(
            session_id=session,
            memory_blocks=[MementoBlock(manager.of("acme", "ada"), k=1)],
            insert_method="user",  # into the user's last message: caches keep what is before it
        )
        await ReActAgent(llm=Table(), streaming=False).run(text, memory=memory)
        manager.of("acme", "ada").flush(wait=True)  # wait until the turn is embedded


async def main(root: str) -> None:
    """Talk in two sessions."""
    await say(root, "monday", "I am allergic to nuts, and I live in Oslo.")
    await say(root, "friday", "What should the caterer know about my allergy?")


with TemporaryDirectory() as folder:  # in your program a folder that stays, such as "agent_memory"
    asyncio.run(main(folder))
