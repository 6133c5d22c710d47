"""A store for LangGraph that is still there tomorrow.

Shows ``MementoStore`` as ``create_agent(store=...)``: a tool puts a note into it; then the store
is closed and opened again, and another agent's tool searches it. After that the store alone:
filters, namespaces, time to live. The model here is a table, so that the example runs offline.
Needs ``pip install ".[langchain]"``.

Prints:

    the tool says: kept
    the tool says: Ada rides a red Brompton
    tasks due: ['call the plumber']
    namespaces: [('users', 'ada'), ('users', 'ada', 'tasks')]
    history: ['Ada rides a red Brompton', 'Ada rides a blue Brompton']
"""

from tempfile import TemporaryDirectory
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain.tools import BaseTool, InjectedStore, tool
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.base import BaseStore

from memento import MemoryManager
from memento_langgraph import MementoStore

ADA = ("users", "ada")


class Table(GenericFakeChatModel):
    """Use a real one instead, such as ``init_chat_model("openai:...")``."""

    def bind_tools(self, *_args: Any, **_kwargs: Any) -> "Table":
        """Take the tools; the calls are written below."""
        return self


@tool
def keep(note: str, store: Annotated[BaseStore, InjectedStore()]) -> str:
    """Keep a note about the user."""
    store.put(ADA, "bike", {"text": note}, index=["text"])
    return "kept"


@tool
def look(query: str, store: Annotated[BaseStore, InjectedStore()]) -> str:
    """Look up a note about the user."""
    return str(store.search(ADA, query=query, limit=1)[0].value["text"])


def run(store: MementoStore, used: BaseTool, **args: str) -> None:
    """Run an agent whose model calls one tool."""
    calls = [{"name": used.name, "args": args, "id": "1", "type": "tool_call"}]
    model = Table(messages=iter([AIMessage("", tool_calls=calls), AIMessage("Done.")]))
    result = create_agent(model, [used], store=store).invoke({"messages": [HumanMessage("Go on.")]})
    print("the tool says:", result["messages"][-2].text)


with TemporaryDirectory() as folder:  # in your program a folder that stays, such as "agent_memory"
    with MemoryManager(folder) as manager:
        run(MementoStore(manager), keep, note="Ada rides a red Brompton")
    with MemoryManager(folder) as manager:
        store = MementoStore(manager)
        run(store, look, query="Which bike does Ada ride?")
        store.put((*ADA, "tasks"), "1", {"text": "call the plumber", "due": 3}, ttl=60 * 24)
        store.put((*ADA, "tasks"), "2", {"text": "water the plants", "due": 30})
        due = store.search((*ADA, "tasks"), filter={"due": {"$lte": 7}})
        print("tasks due:", [item.value["text"] for item in due])
        print("namespaces:", store.list_namespaces(prefix=("users", "*")))
        store.put(ADA, "bike", {"text": "Ada rides a blue Brompton"}, index=["text"])
        items = manager.of(*manager.store.namespace, "langgraph")  # the store's items are memories
        bike = items.retrieve("Brompton", k=1)[0]
        print("history:", [version.text for version in items.changes.history(bike.id)])
