"""What left a thread is forgotten if it is to be; what was merely summarized is not."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("langchain", reason="pip install 'agent-memento[langchain]'")

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware, before_model
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from memento.errors import InvalidInput
from memento_langchain import MementoMiddleware

ONE = {"configurable": {"thread_id": "one"}}
FACTS = ("My cat is Tim.", "My dog is Rex.", "My car is red.")


@pytest.fixture
def talk(manager, fake_model):
    """Make an agent that forgets what left its thread, and what says something to it."""

    class Talk:
        def __init__(self, *others, answers=("ok",), saver=None, **options):
            ours = MementoMiddleware(manager, **{"on_remove": "forget", **options})
            self.agent = create_agent(
                fake_model(*answers),
                [look],
                middleware=[*others, ours],
                checkpointer=saver or InMemorySaver(),
            )

        def say(self, *messages, config=ONE, mode="invoke"):
            given = {"messages": [HumanMessage(m) if isinstance(m, str) else m for m in messages]}
            if mode == "invoke":
                return self.agent.invoke(given, config)
            return asyncio.run(self.agent.ainvoke(given, config))

        def first(self):
            """Return the first message of the thread."""
            return self.agent.get_state(ONE).values["messages"][0]

    return Talk


@tool
def look() -> str:
    """Look."""
    return "nothing"


def kept(manager):
    """List what the user said and is still known."""
    return [one.text for one in manager.list() if one.role == "user"]


@pytest.mark.parametrize("mode", ["invoke", "ainvoke"])
@pytest.mark.parametrize("way", ["update", "input"])
def test_a_removed_message_is_forgotten(manager, talk, mode, way):
    """With what was learned from it, whether the state is updated or the next input says so."""
    ours = talk(observe=True)
    ours.say("I am allergic to nuts.", mode=mode)
    ours.say("My cat is Tim.", mode=mode)
    assert len([one for one in manager.list() if "nuts" in one.text]) > 1
    gone = RemoveMessage(id=ours.first().id)
    if way == "update":
        ours.agent.update_state(ONE, {"messages": [gone]})
    ours.say(*([gone] if way == "input" else []), "My dog is Rex.", mode=mode)
    assert [one for one in manager.list() if "nuts" in one.text] == []
    assert kept(manager) == ["My cat is Tim.", "My dog is Rex."]


def test_by_default_it_is_kept(manager, talk):
    """Memory outlives a thread that is tidied up."""
    ours = talk(on_remove="keep")
    ours.say("My cat is Tim.")
    ours.agent.update_state(ONE, {"messages": [RemoveMessage(id=ours.first().id)]})
    ours.say("My dog is Rex.")
    assert kept(manager) == ["My cat is Tim.", "My dog is Rex."]


def test_an_abandoned_branch_is_forgotten(manager, talk):
    """The thread goes on from an earlier checkpoint; what was before it stays."""
    ours = talk()
    ours.say(FACTS[0])
    back = ours.agent.get_state(ONE).config
    ours.say(FACTS[1])
    ours.say("And my dog is brown.")
    ours.say(FACTS[2], config=back)
    assert kept(manager) == [FACTS[0], FACTS[2]]
    ours.say("Hello.")
    assert kept(manager) == [FACTS[0], FACTS[2], "Hello."]


def test_a_run_taken_up_from_its_middle_leaves_a_branch(manager, talk):
    """Nothing begins anew there; once it ends, the answers of the other branch are forgotten."""
    call = {"name": "look", "args": {}, "id": "1", "type": "tool_call"}
    answers = (AIMessage("Let me look.", tool_calls=[call]), "Rex is here.", "Rex is out.")
    ours = talk(answers=answers)
    ours.say(FACTS[1])
    middle = next(
        one.config for one in ours.agent.get_state_history(ONE) if len(one.values["messages"]) == 3
    )
    ours.agent.invoke(None, middle)
    assert [one.text for one in manager.list()] == [FACTS[1], "Let me look.", "Rex is out."]


@before_model
def trim(state, runtime):  # noqa: ARG001
    """Keep the newest two messages, as LangChain's documentation does."""
    newest = state["messages"][-2:]
    return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *newest]}


@pytest.mark.parametrize("ours_first", [False, True])
@pytest.mark.parametrize("how", ["summary", "trim"])
def test_what_middleware_takes_out_is_kept(manager, talk, fake_model, how, ours_first):
    """A summary is no wish of the user's, and neither is a shorter prompt."""
    other = trim
    if how == "summary":
        other = SummarizationMiddleware(
            fake_model("A SUMMARY"), trigger=("messages", 3), keep=("messages", 1)
        )
    ours = talk(other)
    if ours_first:
        ours.agent = talk(other).agent
    for at in range(6):
        ours.say(f"Fact number {at}.")
    assert kept(manager) == [f"Fact number {at}." for at in range(6)]


def test_another_thread_of_the_same_name_is_not_looked_at(manager, talk):
    """A saver that was lost, or another agent's, tells nothing of what was said."""
    talk().say(FACTS[0])
    other = talk()
    other.say(FACTS[1])
    other.say(FACTS[2])
    manager.keep(["By the way."], session="one")
    other.say("Hello.")
    assert kept(manager) == [*FACTS, "By the way.", "Hello."]


def test_what_the_user_locked_stays(manager, talk):
    """Nothing but the user unlocks it."""
    ours = talk()
    ours.say(FACTS[0])
    manager.update(manager.list()[0].id, lock="user")
    ours.agent.update_state(ONE, {"messages": [RemoveMessage(id=ours.first().id)]})
    ours.say(FACTS[1])
    assert kept(manager) == [FACTS[0], FACTS[1]]


@pytest.mark.parametrize("wrong", [{"on_remove": "erase"}, {"on_remove": "forget", "save": False}])
def test_what_cannot_be_is_refused(manager, wrong):
    """When it is given."""
    with pytest.raises(InvalidInput, match="on_remove"):
        MementoMiddleware(manager, **wrong)
