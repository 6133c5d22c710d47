"""An agent that remembers: it learns a fact in one conversation and uses it in the next.

Shows ``MementoMiddleware`` in ``create_agent``: two threads that share only memory, the second
with the store opened again, as tomorrow's process would. The model here is a table, so that the
example runs offline; memento itself calls no LLM. Needs ``pip install ".[langchain]"``.

Prints:

    Ada:   I am allergic to nuts, and I live in Oslo.
    model: Noted.
    Ada:   What should the caterer know about my allergy?
    recalled: I am allergic to nuts, and I live in Oslo.
    model: No nuts for you.
"""

import json
from tempfile import TemporaryDirectory
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from memento import MemoryManager
from memento_langchain import MementoMiddleware


class Table(GenericFakeChatModel):
    """Use a real one instead, such as ``init_chat_model("openai:...")``."""

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        block = str(messages[-1].text)  # it stands after the user's own text
        for line in block.splitlines():
            if line.startswith("{"):
                print("recalled:", json.loads(line)["text"])
        return super()._generate(messages, *args, **kwargs)


def say(root: str, thread: str, text: str, answer: str) -> None:
    """Run one turn of a new agent over the store."""
    with MemoryManager(root) as manager:
        agent = create_agent(
            model=Table(messages=iter([AIMessage(answer)])),
            middleware=[MementoMiddleware(manager, k=1)],
            checkpointer=InMemorySaver(),
        )
        print("Ada:  ", text)
        config: RunnableConfig = {"configurable": {"thread_id": thread}}
        result = agent.invoke({"messages": [HumanMessage(text)]}, config)
        print("model:", result["messages"][-1].text)
        manager.flush(wait=True)  # before the end, wait until the turn is embedded


with TemporaryDirectory() as folder:  # in your program a folder that stays, such as "agent_memory"
    say(folder, "monday", "I am allergic to nuts, and I live in Oslo.", "Noted.")
    say(folder, "friday", "What should the caterer know about my allergy?", "No nuts for you.")
