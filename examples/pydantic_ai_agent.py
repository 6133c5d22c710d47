"""A Pydantic AI agent that remembers a user across conversations and restarts.

Shows ``MementoCapability``: the store is opened anew for each turn, as in another process, and
Friday's model is told what was said on Monday. The model here is a function, so that the example
runs offline. Needs ``pip install ".[pydantic-ai]"``.

Prints:

    Ada: I am allergic to nuts, and I live in Oslo.
    Ada: What should the caterer know about my allergy?
    recalled: I am allergic to nuts, and I live in Oslo.
"""

import json
from tempfile import TemporaryDirectory
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

from memento import MemoryManager
from memento_pydantic_ai import MementoCapability


def answer(messages: Any, _: Any) -> ModelResponse:
    """Use a real model instead, such as ``"openai:..."``."""
    for line in str(messages[-1].parts[-1].content).splitlines():
        if line.startswith("{"):
            print("recalled:", json.loads(line)["text"])
    return ModelResponse(parts=[TextPart("Noted.")])


def say(root: str, conversation: str, text: str) -> None:
    """Run one turn of a new agent over the store."""
    print("Ada:", text)
    with MemoryManager(root) as manager:
        agent = Agent(FunctionModel(answer), capabilities=[MementoCapability(manager, k=1)])
        agent.run_sync(text, conversation_id=conversation)
        manager.flush(wait=True)  # before the end, wait until the turn is embedded


with TemporaryDirectory() as folder:  # in your program a folder that stays, such as "agent_memory"
    say(folder, "monday", "I am allergic to nuts, and I live in Oslo.")
    say(folder, "friday", "What should the caterer know about my allergy?")
