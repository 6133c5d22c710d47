"""LangGraph: a graph that searches the store before the model, and puts what the user said."""

from __future__ import annotations

from driver import CALL, ORGANISATION
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.runtime import Runtime

from memento_langgraph import MementoStore

LABELS = ("langgraph",)
LACKS = {
    "test_a_long_paste_is_bounded": "a store returns items whole; the graph cuts them for a prompt",
    "test_an_outage_of_memory_ends_no_agent": "the graph asks the store, and handles its errors",
    "test_each_turn_is_kept_once_and_as_it_was_said": "the graph chooses the key of what it puts",
    "test_a_run_that_failed_goes_on_and_each_turn_is_kept_once": "the same: an item has no speaker",
}
ROLES = {"human": "user", "ai": "assistant"}


class Driver:
    """A graph whose user is in the context of the run."""

    def __init__(self, manager, brain):
        @tool
        def read_page() -> str:
            """Read the page."""
            return brain.page

        def think(state: MessagesState, runtime: Runtime[str]):
            said = state["messages"]
            asked = next(one for one in reversed(said) if one.type == "human")
            request = [(ROLES.get(one.type, one.type), one.text) for one in said]
            if store := runtime.store:
                known = store.search((), query=asked.text[:1_000])
                request.append(("user", "\n".join(item.value["text"] for item in known)))
                store.put(("said",), asked.id, {"text": asked.text})
            answer = brain([("system", "You help."), *request])
            call = [{"name": "read_page", "args": {}, "id": "1"}] if answer == CALL else []
            return {"messages": AIMessage("" if call else answer, tool_calls=call)}

        graph = StateGraph(MessagesState, context_schema=str)
        graph.add_node("model", think)
        graph.add_node("tools", ToolNode([read_page]))
        graph.add_edge(START, "model")
        graph.add_conditional_edges("model", tools_condition)
        graph.add_edge("tools", "model")
        store = manager and MementoStore(manager, namespace=lambda user: (ORGANISATION, user))
        self._graph = graph.compile(InMemorySaver(), store=store)

    def say(self, text, *, user, session):
        """Say it in the user's thread."""
        turn, thread = {"messages": [("user", text)]}, {"thread_id": f"{user}-{session}"}
        done = self._graph.invoke(turn, {"configurable": thread}, context=user)
        return done["messages"][-1].text
