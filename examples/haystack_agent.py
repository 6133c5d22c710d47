"""A Haystack agent that remembers a user across runs, and documents beside it.

Shows ``memory_hooks`` in an ``Agent`` and ``MementoRetriever`` in a pipeline, over one store: the
second run is told what was said in the first, in the store opened again, as in another process. The
chat generator here is a table, so that the example runs offline. Needs
``pip install ".[haystack]"``.

Prints:

    Ada: I am allergic to nuts, and I live in Oslo.
    Ada: What should the caterer know about my allergy?
    recalled: I am allergic to nuts, and I live in Oslo.
    the manual, page 7: Open the valve before you start the pump.
"""

import json
import os
from tempfile import TemporaryDirectory
from typing import Any

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from haystack import Document, Pipeline, component
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage

from memento import MemoryManager
from memento_haystack import MementoDocumentStore, MementoRetriever, memory_hooks


@component
class Table:
    """Use a real one instead, such as ``OpenAIChatGenerator()``."""

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None) -> dict[str, list[ChatMessage]]:
        """Print what is recalled, and answer."""
        del tools
        for line in (messages[-1].text or "").splitlines():
            if line.startswith("{"):
                print("recalled:", json.loads(line)["text"])
        return {"replies": [ChatMessage.from_assistant("Noted.")]}


def say(root: str, session: str, text: str) -> None:
    """Run one turn of a new agent over the store."""
    print("Ada:", text)
    with MemoryManager(root) as manager:
        agent = Agent(chat_generator=Table(), hooks=memory_hooks(manager, k=1))
        agent.run([ChatMessage.from_user(text)], hook_context={"session": session})
        manager.flush(wait=True)  # before the end, wait until the turn is embedded


def look_up(root: str, query: str) -> None:
    """Find a page of a manual in a pipeline."""
    with MemoryManager(root) as manager:
        store = MementoDocumentStore(manager, scope="manual")
        pages = {7: "Open the valve before you start the pump.", 30: "It ends after two years."}
        store.write_documents(
            [Document(content=one, meta={"page": at}) for at, one in pages.items()]
        )
        pipeline = Pipeline()
        pipeline.add_component("manual", MementoRetriever(store, top_k=1))
        (found,) = pipeline.run({"manual": {"query": query}})["manual"]["documents"]
        print(f"the manual, page {found.meta['page']}: {found.content}")


with TemporaryDirectory() as folder:  # in your program a folder that stays, such as "agent_memory"
    say(folder, "monday", "I am allergic to nuts, and I live in Oslo.")
    say(folder, "friday", "What should the caterer know about my allergy?")
    look_up(folder, "How do I start the pump?")
