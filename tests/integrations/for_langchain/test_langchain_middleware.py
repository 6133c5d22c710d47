"""MementoMiddleware in real agents: recall across threads, each turn kept once."""

from __future__ import annotations

import asyncio
import copy
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from crossing import pairs

pytest.importorskip("langchain", reason="pip install 'agent-memento[langchain]'")

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ModelCallLimitMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
)
from langchain.agents.middleware.pii import PIIDetectionError
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, ChatMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from memento import Config, Trust
from memento.errors import InvalidInput, InvalidScope, ReadOnlyStore, StorageFailed, StoreClosed
from memento.testing import HashEmbedder
from memento_langchain import MementoMiddleware, memory_tools
from memento_langchain._structured import answered


@dataclass
class User:
    """Who the agent talks to."""

    name: str


def thread(name):
    """Make the configuration of a thread."""
    return {"configurable": {"thread_id": name}}


def said(text):
    """Make the input of one turn."""
    return {"messages": [HumanMessage(text)]}


def threaded(model, *middleware, saver=None, **options):
    """Make an agent that keeps its threads, by itself or in a saver that outlives it."""
    saver = InMemorySaver() if saver is None else saver
    return create_agent(model, middleware=middleware, checkpointer=saver, **options)


def block_of(messages):
    """Return the block of memories that a model was shown; it ends its message."""
    found = (m.text.partition("<memories-") for m in messages)
    return "\n".join(f"{tag}{block}" for _, tag, block in found if tag)


def kept(manager, **filters):
    """Return the texts that are kept."""
    return [memory.text for memory in manager.list(limit=1000, **filters)]


MODES = ["invoke", "stream", "ainvoke", "astream"]
LOOPS = ["invoke", "ainvoke"]
"""In no loop and in one; a stream calls the same functions."""


def run(agent, mode, text, config, **options):
    """Run one turn in one of the four ways."""

    async def drain():
        stream = agent.astream(said(text), config, stream_mode="messages", **options)
        return [chunk async for chunk in stream]

    if mode == "invoke":
        return agent.invoke(said(text), config, **options)
    if mode == "stream":
        return list(agent.stream(said(text), config, stream_mode="messages", **options))
    if mode == "ainvoke":
        return asyncio.run(agent.ainvoke(said(text), config, **options))
    return asyncio.run(drain())


def test_is_told_at_once_in_other_words(open_memory, fake_model):
    """Nothing waits for the index: the next turn's model knows by meaning what was just said."""
    model = fake_model("Noted.")
    agent = create_agent(model, middleware=[MementoMiddleware(open_memory(embedder="default"))])
    agent.invoke(said("I am allergic to nuts."))
    agent.invoke(said("What may I not eat?"))
    assert "allergic to nuts" in block_of(model.shown[-1])


@pytest.mark.parametrize("mode", LOOPS)
def test_notes_which_memories_an_answer_rests_on(manager, fake_model, mode):
    """The memory that the answer repeats was used; another one that was shown was not."""
    manager.add("My bike is a red Brompton from Utrecht.", id="bike")
    manager.add("My old bike was stolen.", id="stolen")
    agent = create_agent(
        fake_model("You ride a Brompton from Utrecht."), middleware=[MementoMiddleware(manager)]
    )
    run(agent, mode, "Which bike is my bike?", thread("one"))
    found = {name: manager.feedback.belief(name).evidence for name in ("bike", "stolen")}
    assert [(one.verdict, one.source) for one in found["bike"]] == [("used", Trust.AGENT)]
    assert [one.verdict for one in found["stolen"]] == ["ignored"]


@pytest.mark.parametrize("mode", LOOPS)
def test_learns_from_what_the_user_says(manager, fake_model, mode):
    """A rule and its correction, each once; nothing from the model, whatever it says."""
    model = fake_model("From now on always answer in French.")
    memory = MementoMiddleware(manager, observe=True, policy=True)
    agent = threaded(model, memory)
    for text in ("Please use tabs.", "No, use spaces."):
        run(agent, mode, text, thread("one"))
    assert [one.text for one in manager.list(kind="rule")] == ["use spaces."]
    assert manager.value("style/indent").text == "use spaces."
    run(agent, mode, "Write a loop.", thread("two"))
    assert "use spaces" in "".join(message.text for message in model.shown[-1])
    assert kept(manager, kind="rule") == ["use spaces."]


@pytest.mark.parametrize("mode", LOOPS)
def test_learns_without_a_thread(manager, fake_model, mode):
    """An application that names no thread, and gives the talk from its beginning or a message."""
    agent = create_agent(
        fake_model("Noted."), middleware=[MementoMiddleware(manager, observe=True)]
    )
    for text in ("Please use tabs.", "No, please use spaces.", "No, please use spaces."):
        run(agent, mode, text, {})
    assert kept(manager, kind="rule") == ["please use spaces."]
    assert manager.value("style/indent").text == "please use spaces."


def test_learns_nothing_from_another_agent(manager, fake_model):
    """A subagent's human messages are an LLM's; and without turns there is nothing to learn."""
    memory = MementoMiddleware(manager, observe=True, speaker="agent")
    create_agent(fake_model("Done."), middleware=[memory]).invoke(said("Please use tabs."))
    assert kept(manager, kind="rule") == []
    with pytest.raises(InvalidInput, match="observe: requires save"):
        MementoMiddleware(manager, observe=True, save=False)


@pytest.mark.parametrize(
    ("save", "answer"), [(False, "A Brompton from Utrecht."), (True, "I do not know.")]
)
def test_an_answer_that_rests_on_nothing_is_no_verdict(manager, fake_model, save, answer):
    """Nor is anything noted by a middleware that only recalls."""
    manager.add("My bike is a red Brompton from Utrecht.", id="bike")
    agent = create_agent(fake_model(answer), middleware=[MementoMiddleware(manager, save=save)])
    agent.invoke(said("Which bike is my bike?"))
    assert manager.feedback.belief("bike").evidence == ()


@pytest.mark.parametrize("mode", MODES)
def test_recalls_across_threads_and_keeps_each_turn_once(manager, fake_model, mode):
    """Sync, async and streaming: thread two's model is shown what was said in thread one."""
    model = fake_model("Noted.")
    agent = threaded(model, MementoMiddleware(manager), system_prompt="Be kind.")
    run(agent, mode, "My bike is a red Brompton.", thread("one"))
    run(agent, mode, "It was made in 2019.", thread("one"))
    run(agent, mode, "Which bike do I ride?", thread("two"))
    system, *_, asked = model.shown[-1]
    assert system.text == "Be kind."
    assert asked.text.startswith("Which bike do I ride?\n\n<memories-")
    assert "red Brompton" in block_of(model.shown[-1])
    assert "Which bike" not in block_of(model.shown[-1])
    assert kept(manager, session="one") == [
        "My bike is a red Brompton.",
        "Noted.",
        "It was made in 2019.",
        "Noted.",
    ]
    assert kept(manager, session="two") == ["Which bike do I ride?", "Noted."]


def test_what_the_conversation_shows_is_not_recalled(manager, fake_model):
    """Turns of the running thread are not repeated in the block."""
    model = fake_model("Noted.")
    agent = threaded(model, MementoMiddleware(manager))
    run(agent, "invoke", "My bike is a red Brompton.", thread("one"))
    run(agent, "invoke", "Which bike do I ride?", thread("one"))
    assert block_of(model.shown[-1]) == ""


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ("I'm allergic to peanuts, did you know?", "What may I not eat, am I allergic?"),
        ("Did I tell you that my sister Ana moved to Oslo?", "Where does my sister live?"),
        ("¿Sabías que mi hermana Ana vive en Oslo?", "¿Dónde vive mi hermana?"),
        ("妹はオスロに住んでいると言いましたか？", "妹はどこに住んでいますか？"),  # noqa: RUF001 - real question marks
    ],
)
def test_what_is_told_in_a_question_is_recalled(manager, fake_model, told, asked):
    """Among many who merely ask the same, what gives something away is shown to the model."""
    model = fake_model("I see.")
    agent = threaded(model, MementoMiddleware(manager))
    run(agent, "invoke", told, thread("fact"))
    for n in range(12):
        run(agent, "invoke", f"{asked[:-1]} {n}{asked[-1]}", thread(f"t{n}"))
    manager.add_many(
        {"text": f"Bo's sister number {n} eats peanuts in Bergen.", "session": f"b{n}"}
        for n in range(30)
    )
    run(agent, "invoke", asked, thread("now"))
    assert told in block_of(model.shown[-1])


def test_tools_are_called_and_each_message_is_kept_once(manager, fake_model):
    """In a loop of tool calls the model's words are kept, the tools' answers are not."""

    @tool
    def weather(city: str) -> str:
        """Tell the weather."""
        return f"rain in {city}"

    calls = [{"name": "weather", "args": {"city": "Oslo"}, "id": "1", "type": "tool_call"}]
    manager.add("Ada lives in Oslo.", "long")
    model = fake_model(AIMessage("Let me look.", tool_calls=calls), "Take an umbrella.")
    agent = create_agent(model, [weather], middleware=[MementoMiddleware(manager)])
    agent.invoke(said("Will Ada in Oslo need an umbrella?"))
    assert kept(manager, tier="short") == [
        "Will Ada in Oslo need an umbrella?",
        "Let me look.",
        "Take an umbrella.",
    ]
    first, second = (block_of(messages) for messages in model.shown)
    assert first == second  # the same bytes, for the provider's prompt cache
    assert "Ada lives in Oslo." in first


@pytest.mark.parametrize("memento_first", [True, False])
@pytest.mark.parametrize("mode", LOOPS)
def test_with_summarization_nothing_is_lost(manager, fake_model, mode, memento_first):
    """Whichever comes first in the list, dropped turns are kept, recalled, and no summary is."""
    model = fake_model("Noted.")
    ours = MementoMiddleware(manager)
    theirs = SummarizationMiddleware(
        fake_model("A SUMMARY"), trigger=("messages", 4), keep=("messages", 1)
    )
    middleware = [ours, theirs] if memento_first else [theirs, ours]
    agent = create_agent(model, middleware=middleware, checkpointer=InMemorySaver())
    texts = ["My bike is a red Brompton.", "My cat is called Tom.", "I work in Bergen."]
    for text in texts:
        run(agent, mode, text, thread("one"))
    run(agent, mode, "What colour is my bike?", thread("one"))
    assert [text for text in kept(manager) if text != "Noted."] == [
        *texts,
        "What colour is my bike?",
    ]
    assert "A SUMMARY" in "".join(m.text for m in model.shown[-1])
    assert "red Brompton" in block_of(model.shown[-1])


def test_what_merely_looks_like_a_summary_is_kept(manager, fake_model):
    """LangChain marks its summaries; what a user says is the user's, however it begins."""
    text = "Here is a summary of the conversation to date: my boss gives me a raise of 5 %."
    agent = create_agent(fake_model("ok"), middleware=[MementoMiddleware(manager)])
    agent.invoke(said(text))
    assert kept(manager) == [text, "ok"]


@pytest.mark.parametrize("memento_first", [True, False])
def test_words_between_tool_calls_outlive_a_summary(manager, fake_model, memento_first):
    """A long loop of tool calls is summarized on its way; what the model said in it is kept."""

    @tool
    def look(page: str) -> str:
        """Look at a page."""
        return f"nothing on {page}"

    steps = [
        AIMessage(
            f"Now page {n}.",
            tool_calls=[
                {"name": "look", "args": {"page": str(n)}, "id": str(n), "type": "tool_call"}
            ],
        )
        for n in range(6)
    ]
    theirs = SummarizationMiddleware(
        fake_model("A SUMMARY"), trigger=("messages", 4), keep=("messages", 1)
    )
    ours = MementoMiddleware(manager)
    agent = create_agent(
        fake_model(*steps, "Not found."),
        [look],
        middleware=[ours, theirs] if memento_first else [theirs, ours],
    )
    agent.invoke(said("Find my red Brompton."))
    assert kept(manager) == [
        "Find my red Brompton.",
        *(f"Now page {n}." for n in range(6)),
        "Not found.",
    ]


@pytest.mark.parametrize("memento_first", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_what_other_middleware_takes_out_is_never_written(manager, fake_model, mode, memento_first):
    """In either order, of user and model, only what PIIMiddleware lets through is on the disk."""
    ours = MementoMiddleware(manager)
    theirs = PIIMiddleware("email", apply_to_input=True, apply_to_output=True)
    agent = create_agent(
        fake_model("Write to bob@example.com."),
        middleware=[ours, theirs] if memento_first else [theirs, ours],
        checkpointer=InMemorySaver(),
    )
    for n in range(2):
        run(agent, mode, f"I am ada@example.com, for the time {n}.", thread("one"))
    assert kept(manager) == [
        "I am [REDACTED_EMAIL], for the time 0.",
        "Write to [REDACTED_EMAIL].",
        "I am [REDACTED_EMAIL], for the time 1.",
        "Write to [REDACTED_EMAIL].",
    ]
    assert {memory.version for memory in manager.list()} == {1}
    manager.flush(wait=True)
    files = [path.read_bytes() for path in manager.store.root.rglob("*") if path.is_file()]
    assert any(b"REDACTED_EMAIL" in data for data in files)
    assert not [data for data in files if b"@example.com" in data]


def test_what_other_middleware_refuses_is_not_kept(manager, fake_model):
    """A turn that never reaches the model leaves nothing behind."""
    theirs = PIIMiddleware("email", strategy="block", apply_to_input=True)
    agent = create_agent(fake_model("ok"), middleware=[MementoMiddleware(manager), theirs])
    with pytest.raises(PIIDetectionError):
        agent.invoke(said("I am ada@example.com."))
    assert kept(manager) == []


@pytest.mark.parametrize(
    ("mode", "memento_first", "restart"), pairs(MODES, (True, False), (True, False))
)
def test_what_was_refused_is_not_kept_by_the_next_run(
    manager, fake_model, mode, memento_first, restart
):
    """A blocked message stays in the thread's checkpoint, and out of memory in the next run."""
    saver, model = InMemorySaver(), fake_model("ok", "Write to bob@example.com.", "I see.")

    def agent():
        ours = MementoMiddleware(manager)
        theirs = PIIMiddleware("email", strategy="block", apply_to_output=True)
        middleware = [ours, theirs] if memento_first else [theirs, ours]
        return create_agent(model, middleware=middleware, checkpointer=saver)

    one = agent()
    run(one, mode, "I am Ada.", thread("one"))
    for text in ("I am ada@example.com.", "Or: eve@example.com.", "Whom do I write to?"):
        with pytest.raises(PIIDetectionError):
            run(one, mode, text, thread("one"))
        one = agent() if restart else one
    run(one, mode, "How are things?", thread("one"))
    run(agent(), mode, "Fine, too.", thread("one"))
    assert kept(manager) == [
        "I am Ada.",
        "ok",
        "Whom do I write to?",
        "How are things?",
        "I see.",
        "Fine, too.",
        "ok",
    ]


def test_a_message_sent_again_after_it_was_refused_is_kept_once_it_passes(manager, fake_model):
    """Under its id, rephrased, it takes the place of what was blocked; the blocked answer goes."""
    theirs = PIIMiddleware("email", strategy="block", apply_to_output=True)
    agent = threaded(
        fake_model("Write to bob@example.com.", "I see."), MementoMiddleware(manager), theirs
    )
    for text in ("I am ada@example.com.", "I am Ada."):
        with pytest.raises(PIIDetectionError):
            agent.invoke({"messages": [HumanMessage(text, id="m1")]}, thread("one"))
    agent.invoke({"messages": [HumanMessage("I am Ada, indeed.", id="m1")]}, thread("one"))
    assert kept(manager) == ["I am Ada, indeed.", "I see."]


def test_a_run_taken_up_again_after_an_error_is_kept_whole(manager, fake_model):
    """A run that failed for another reason and is resumed loses nothing."""

    class Flaky(AgentMiddleware):
        failed = False

        def after_model(self, *_state):
            if not self.failed:
                self.failed = True
                raise RuntimeError("no network")

    agent = threaded(fake_model("ok", "fine"), MementoMiddleware(manager), Flaky())
    with pytest.raises(RuntimeError, match="no network"):
        run(agent, "invoke", "I am Ada.", thread("one"))
    answer = agent.invoke(None, thread("one"))
    assert set(answer) == {"messages"}
    run(agent, "invoke", "I live in Oslo.", thread("one"))
    assert kept(manager) == ["I am Ada.", "ok", "I live in Oslo.", "fine"]


def test_a_talk_handed_to_a_new_thread_is_kept_whole(manager, fake_model):
    """A first input of many messages is not a failed run, also with a checkpointer."""
    agent = threaded(fake_model("ok"), MementoMiddleware(manager))
    talk = [HumanMessage("I am Ada."), HumanMessage("I live in Oslo."), AIMessage("Noted.")]
    agent.invoke({"messages": [*talk, HumanMessage("I ride a bike.")]}, thread("one"))
    assert kept(manager) == ["I am Ada.", "I live in Oslo.", "Noted.", "I ride a bike.", "ok"]


def test_a_turn_is_kept_though_the_model_fails_or_is_not_called(manager, fake_model):
    """The user's message is not lost with the run."""

    class Broken(AgentMiddleware):
        def wrap_model_call(self, *_call):
            raise RuntimeError("no network")

    ours = MementoMiddleware(manager)
    with pytest.raises(RuntimeError, match="no network"):
        create_agent(fake_model("ok"), middleware=[ours, Broken()]).invoke(said("I am Ada."))
    limit = ModelCallLimitMiddleware(run_limit=0)
    create_agent(fake_model("ok"), middleware=[ours, limit]).invoke(said("I live in Oslo."))
    assert [m.text for m in manager.list() if m.role == "user"] == ["I am Ada.", "I live in Oslo."]


def test_a_first_input_of_many_messages_is_kept_before_it_is_summarized(manager, fake_model):
    """Messages that the summary replaces in the very first step were kept before."""
    theirs = SummarizationMiddleware(
        fake_model("A SUMMARY"), trigger=("messages", 4), keep=("messages", 1)
    )
    agent = create_agent(fake_model("ok"), middleware=[theirs, MementoMiddleware(manager)])
    agent.invoke({"messages": [HumanMessage(f"Fact number {n}.") for n in range(8)]})
    assert kept(manager) == [*(f"Fact number {n}." for n in range(8)), "ok"]


def test_the_namespace_is_needed_and_must_be_well_formed(manager, fake_model):
    """No context, or an empty label: a typed error, never everybody's memories."""
    ours = MementoMiddleware(manager, namespace=lambda user: user.name)
    agent = create_agent(fake_model("ok"), middleware=[ours], context_schema=User)
    with pytest.raises(InvalidInput, match="context"):
        agent.invoke(said("hi"))
    with pytest.raises(InvalidScope):
        agent.invoke(said("hi"), context=User(" "))


NO_LABEL = [None, True, "", (), [None], ["acme", 7.5], {"user": "ada"}, b"ada"]


@pytest.mark.parametrize(("wrong", "mode"), list(zip(NO_LABEL, 2 * MODES, strict=True)))
def test_what_is_no_label_is_named(manager, fake_model, mode, wrong):
    """A context without the user, say, is told by the name of the argument, and keeps nothing."""
    ours = MementoMiddleware(manager, namespace=lambda context: context["user"])
    agent = create_agent(fake_model("ok"), middleware=[ours])
    with pytest.raises(InvalidScope, match=r"^namespace: "):
        run(agent, mode, "hi", None, context={"user": wrong})
    assert kept(manager) == []


@pytest.mark.parametrize("mode", LOOPS)
def test_namespace_from_the_settings_of_the_run(manager, fake_model, mode):
    """Applications that have no context pass the user in the settings; an integer is a label."""
    model = fake_model("Noted.")
    ours = MementoMiddleware(manager, namespace=lambda _, settings: ("acme", settings["user"]))
    agent = create_agent(model, middleware=[ours])
    for user in (7, "bob"):
        run(agent, mode, f"My name is {user}.", {"configurable": {"user": user}})
    assert kept(manager.of("acme", "7")) == ["My name is 7.", "Noted."]
    assert kept(manager.of("acme", "bob")) == ["My name is bob.", "Noted."]


@pytest.mark.parametrize("mode", LOOPS)
def test_the_tools_of_one_agent_serve_each_user(manager, fake_model, mode):
    """From the context of the run or from its settings; nothing is kept for nobody."""
    for at, function in enumerate((lambda user: user.name, lambda _, settings: settings["user"])):
        call = {"name": "remember", "args": {"text": f"Fact {at}."}, "id": "1", "type": "tool_call"}
        model = fake_model(AIMessage("", tool_calls=[call]), "Done.")
        tools = memory_tools(manager, namespace=function)
        agent = create_agent(model, tools, context_schema=User)
        for name in ("ada", "bob"):
            config = {"configurable": {"user": name}}
            run(agent, mode, "Note it.", config, context=User(name))
    assert kept(manager.of("ada")) == kept(manager.of("bob")) == ["Fact 0.", "Fact 1."]
    assert kept(manager) == []
    remember = memory_tools(manager, namespace=lambda user: user.name)[0]
    with pytest.raises(InvalidInput, match="context"):
        remember.invoke({"text": "x"})


@pytest.mark.parametrize("wrong", ["ada", 7, lambda: "ada", lambda a, b, c: (a, b, c)])
def test_what_is_no_function_of_the_run_is_refused(manager, wrong):
    """When it is given, not at the first run."""
    for make in (MementoMiddleware, memory_tools):
        with pytest.raises(InvalidInput, match="namespace"):
            make(manager, namespace=wrong)


def test_without_a_thread_equal_turns_are_kept_once(manager, fake_model):
    """An application that sends the whole talk each time, without ids, does not multiply it."""
    agent = create_agent(fake_model("ok then"), middleware=[MementoMiddleware(manager)])
    talk = []
    for n in range(4):
        talk.append({"role": "user", "content": f"Fact number {n}."})
        answer = agent.invoke({"messages": talk})["messages"][-1]
        talk.append({"role": "assistant", "content": answer.content})
    assert sorted(kept(manager)) == [*(f"Fact number {n}." for n in range(4)), "ok then"]


@pytest.mark.parametrize("mode", LOOPS)
@pytest.mark.parametrize("anew", [True, False])
def test_a_talk_sent_anew_without_a_checkpointer_is_kept_once(manager, fake_model, mode, anew):
    """A server without state names the thread and sends the talk each time: ids do not last."""
    ours = MementoMiddleware(manager)
    said_so_far = []
    for text in ("I moved to Bergen.", "I said: yes.", "I said: yes.", "What now?"):
        if anew:  # another process
            ours = MementoMiddleware(manager)
        agent = create_agent(fake_model("Noted."), middleware=[ours])
        said_so_far.append(("user", text))
        talk = {"messages": list(said_so_far)}
        if mode == "invoke":
            agent.invoke(talk, thread("one"))
        else:
            asyncio.run(agent.ainvoke(talk, thread("one")))
        said_so_far.append(("assistant", "Noted."))
    assert [m.text for m in manager.list() if m.role == "user"] == [
        "I moved to Bergen.",
        "I said: yes.",
        "I said: yes.",
        "What now?",
    ]
    assert kept(manager, session="one").count("Noted.") == 4


@pytest.mark.parametrize("name", ["", " ", "x" * 300, "a\0b", "\ud800", 7])
@pytest.mark.parametrize("checkpointer", [InMemorySaver, lambda: None])
def test_any_thread_id_of_langgraph_will_do(manager, fake_model, name, checkpointer):
    """One that can be no session's name has its turns in a session made from it, and in one."""
    agent = create_agent(
        fake_model("ok"), middleware=[MementoMiddleware(manager)], checkpointer=checkpointer()
    )
    agent.invoke(said("My bike is red."), thread(name))
    agent.invoke(said("My cat is Tom."), thread(name))
    agent.invoke(said("My dog is Rex."), thread("another"))
    (session,) = {memory.session for memory in manager.list()} - {"another"}
    assert session == "7" if name == 7 else session.startswith("thread-")
    assert {"My bike is red.", "My cat is Tom."} <= set(kept(manager, session=session))


def test_a_restarted_middleware_keeps_nothing_twice(open_memory, fake_model):
    """A new process on an old thread finds its turns in the ledger."""
    saver, manager = InMemorySaver(), open_memory()
    for n in range(3):
        agent = threaded(fake_model(f"Answer {n}."), MementoMiddleware(manager), saver=saver)
        run(agent, "invoke", f"Fact {n}.", thread("one"))
    assert kept(manager) == ["Fact 0.", "Answer 0.", "Fact 1.", "Answer 1.", "Fact 2.", "Answer 2."]


@pytest.mark.parametrize("restarted", [False, True])
def test_an_edited_message_is_an_update(manager, fake_model, restarted):
    """Edited under its id, a turn is corrected, with its history, by the same agent or another."""
    saver = InMemorySaver()
    agent = threaded(fake_model("ok"), MementoMiddleware(manager), saver=saver)
    agent.invoke({"messages": [HumanMessage("My cat is Tim.", id="m1")]}, thread("one"))
    if restarted:
        agent = threaded(fake_model("ok"), MementoMiddleware(manager), saver=saver)
    edited = [HumanMessage("My cat is Tom.", id="m1"), HumanMessage("Sorry, a typo.", id="m2")]
    agent.invoke({"messages": edited}, thread("one"))
    (cat,) = (memory for memory in manager.list() if "cat" in memory.text)
    assert (cat.text, cat.version) == ("My cat is Tom.", 2)
    assert "Sorry, a typo." in kept(manager)


def test_an_edit_to_fewer_pieces_leaves_none_behind(manager, fake_model):
    """Shortened, emptied or lengthened again under its id, a message is what it says now."""
    long = " ".join(f"word{n}" for n in range(9_000))
    saver = InMemorySaver()
    for text, same in (
        (long, False),
        (long[:20_000], True),
        ("My cat is Tom.", False),
        ("", True),
        (long, True),
        (long[:16_000].rpartition(" ")[0] + " ", False),  # the first piece, as it was
    ):
        if not same:  # else the agent that kept it is told
            ours = MementoMiddleware(manager)
        agent = threaded(fake_model("ok"), ours, saver=saver)
        agent.invoke({"messages": [HumanMessage(text, id="m1")]}, thread("one"))
        pieces = [m.text for m in manager.list(limit=1000) if m.role == "user"]
        assert "".join(pieces) == text


def test_an_edit_of_what_was_approved_waits(open_memory, fake_model):
    """For an untrusted speaker, approved words stay active until the new words are approved."""
    memory = open_memory(embedder=HashEmbedder(256), config=Config(untrusted=("agent", "web")))
    saver = InMemorySaver()

    def edit(text):
        agent = threaded(fake_model("ok"), MementoMiddleware(memory), saver=saver)
        said = [AIMessage(text, id="a1"), HumanMessage("Go on.", id=f"h{text}")]
        agent.invoke({"messages": said}, thread("one"))

    def counted():
        return [one.text for one in memory.list() if one.role == "assistant"]

    def waiting():
        return [one for one in memory.quarantine.list() if one.text != "ok"]

    edit("Tea is sound.")
    (first,) = waiting()
    memory.quarantine.approve(first.id)
    for text in ("Beer is sound.", "Wine is sound.", "Wine is sound."):
        edit(text)
        assert counted() == ["Tea is sound."]
        assert [one.text for one in waiting()] == [text]
    assert memory.get(first.id).version == 1
    memory.quarantine.approve(waiting()[0])
    assert counted() == ["Wine is sound."]
    edit("Wine is sound.")
    assert (counted(), waiting()) == (["Wine is sound."], [])
    edit("Rum is sound.")
    assert (counted(), [one.text for one in waiting()]) == (["Wine is sound."], ["Rum is sound."])
    memory.quarantine.reject(waiting()[0].id)
    edit("Rum is sound.")
    assert (counted(), waiting()) == (["Wine is sound."], [])
    edit("Gin is sound.")
    memory.quarantine.approve(waiting()[0])
    assert counted() == ["Gin is sound."]


def test_an_edit_takes_back_nothing_that_was_approved(open_memory, fake_model):
    """Shortened by one who is not trusted, a message loses those last pieces that wait."""
    memory = open_memory(config=Config(untrusted=("agent",)))
    saver = InMemorySaver()
    long = " ".join(f"word{n}" for n in range(6_000))
    for text, held in ((long, 4), ("short", 1)):
        agent = threaded(fake_model("ok"), MementoMiddleware(memory), saver=saver)
        agent.invoke({"messages": [AIMessage(text, id="a1"), HumanMessage("Hm.")]}, thread("one"))
        waiting = [one for one in memory.quarantine.list() if one.text != "ok"]
        assert len(waiting) == held
        if text == long:
            approved = memory.quarantine.approve(waiting[1].id)
    assert memory.get(approved.id) == approved


def test_what_another_speaker_says_under_an_id_is_his(manager, fake_model):
    """A message of the model's under the id of the user's is a turn of the model's, beside it."""
    saver = InMemorySaver()
    for one in (HumanMessage("I am Rami.", id="m1"), AIMessage("I am Lina.", id="m1")):
        agent = threaded(fake_model("ok"), MementoMiddleware(manager), saver=saver)
        agent.invoke({"messages": [one, HumanMessage("Hm.", id="m2")]}, thread("one"))
    told = [(one.text, one.role, one.source.kind) for one in manager.list() if "I am" in one.text]
    assert told == [
        ("I am Rami.", "user", Trust.USER),
        ("I am Lina.", "assistant", Trust.AGENT),
    ]


def test_copies_share_the_manager(manager, fake_model):
    """A copy, deep or not, remembers in the same place."""
    ours = MementoMiddleware(manager, k=3)
    for n, twin in enumerate((copy.copy(ours), copy.deepcopy(ours))):
        create_agent(fake_model("ok"), middleware=[twin]).invoke(said(f"I say {n}."))
    assert kept(manager) == ["I say 0.", "ok", "I say 1."]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"manager": "agent_memory"}, "manager"),
        ({"k": "8"}, "k"),
        ({"k": True}, "k"),
        ({"tokens": 1.5}, "tokens"),
        ({"namespace": ("acme",)}, "namespace"),
        ({"save": "no"}, "save"),
        ({"k": 0}, "k"),
        ({"k": 5000}, "k"),
        ({"tokens": 0}, "tokens"),
        ({"place": "assistant"}, "place"),
        ({"min_confidence": 2}, "min_confidence"),
        ({"speaker": "somebody"}, "speaker"),
    ],
)
def test_wrong_settings_are_told_at_once(manager, wrong, field):
    """Each names its argument and says what it must be."""
    with pytest.raises(InvalidInput, match=rf"^{field}: "):
        MementoMiddleware(**{"manager": manager, **wrong})


def test_a_correction_outlives_another_worker(manager, fake_model):
    """A memory that was corrected stays so though the thread still has the old words."""
    saver = InMemorySaver()

    def worker():
        middleware = [MementoMiddleware(manager)]
        return create_agent(fake_model("ok"), middleware=middleware, checkpointer=saver)

    worker().invoke(said("My bike is red."), thread("one"))
    (bike,) = (memory for memory in manager.list() if "bike" in memory.text)
    manager.update(bike.id, text="My bike is blue.")
    worker().invoke(said("Good morning to you all."), thread("one"))
    assert manager.get(bike.id).text == "My bike is blue."
    assert len(manager.changes.history(bike.id)) == 2


def test_blocks_long_texts_and_odd_characters(manager, fake_model):
    """Images are passed over, long turns cut, what no database can hold is replaced."""
    model = fake_model("ok")
    agent = create_agent(
        model,
        middleware=[MementoMiddleware(manager)],
        system_prompt=SystemMessage([{"type": "text", "text": "Be kind."}]),
    )
    manager.add("Ada rides a red Brompton.", "long")
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    agent.invoke({"messages": [HumanMessage([{"type": "text", "text": "What rides Ada?"}, image])]})
    asked = model.shown[-1][-1].content
    assert [block["type"] for block in asked] == ["text", "image_url", "text"]
    agent.invoke({"messages": [HumanMessage([image])]})
    agent.invoke(said(" ".join(map(str, range(30_000))) + "\0\ud800 end"))
    assert any("\ufffd\ufffd end" in text for text in kept(manager))
    assert sum(len(text) for text in kept(manager)) > 150_000


def test_a_tier_that_cannot_be_asked_is_logged(manager, fake_model, monkeypatch, caplog):
    """Without vectors recall goes by words, and the log says so; it is never silent."""
    manager.add("Ada rides a red Brompton.", "long")
    manager.flush(wait=True)

    def broken(_texts):
        raise RuntimeError("no model today")

    monkeypatch.setattr(manager._engine._spec, "embed", broken)
    model = fake_model("ok")
    create_agent(model, middleware=[MementoMiddleware(manager)]).invoke(said("A Brompton bike."))
    assert "red Brompton" in block_of(model.shown[-1])
    assert "recalled without the long tier" in caplog.text


def test_recall_only_and_budget(manager, fake_model):
    """With ``save=False`` nothing is written, so that a read-only store will do."""
    manager.add_many(f"Ada rides bike number {n}." for n in range(40))
    model = fake_model("ok")
    ours = MementoMiddleware(manager, k=40, tokens=120, save=False)
    create_agent(model, middleware=[ours]).invoke(said("Which bikes does Ada ride?"))
    assert 0 < len(block_of(model.shown[-1])) <= 480
    assert len(kept(manager)) == 40


def test_trouble_reaches_the_caller_of_a_stream(manager, open_memory, fake_model, freeze):
    """Read-only and closed stores raise their errors; ``test_trouble`` shows it of ``invoke``."""
    manager.add("something")
    manager.close()
    freeze(manager.store.root)
    manager = open_memory(embedder=HashEmbedder(256))
    agent = create_agent(fake_model("ok"), middleware=[MementoMiddleware(manager)])
    with pytest.raises(ReadOnlyStore):
        run(agent, "astream", "hi there", None)
    manager.close()
    with pytest.raises(StoreClosed):
        run(agent, "astream", "hi there", None)


@pytest.mark.parametrize("mode", LOOPS)
def test_an_outage_ends_the_run_only_if_strict(manager, fake_model, failing, mode):
    """By default the agent goes on; with ``strict=True`` the run ends with the typed error."""
    failing(manager, "recall")
    run(threaded(fake_model("ok"), MementoMiddleware(manager)), mode, "tea?", thread("t"))
    agent = threaded(fake_model("ok"), MementoMiddleware(manager, strict=True))
    with pytest.raises(StorageFailed):
        run(agent, mode, "tea?", thread("t"))


def test_eight_threads_and_a_loop_at_once(manager, fake_model):
    """One middleware serves many threads; each turn is kept once."""
    agent = threaded(fake_model("ok"), MementoMiddleware(manager))

    def talk(name):
        for n in range(4):
            run(agent, "invoke", f"I am {name} and say {n}.", thread(name))

    async def talk_all():
        turns = (agent.ainvoke(said(f"I am task {n}."), thread(f"task{n}")) for n in range(8))
        await asyncio.gather(*turns)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(talk, [f"thread{n}" for n in range(8)]))
    asyncio.run(talk_all())
    mine = [text for text in kept(manager) if text != "ok"]
    assert len(mine) == len(set(mine)) == 8 * 4 + 8


def test_other_middleware_may_retry_the_model(manager, fake_model):
    """A model call tried again keeps its turn once."""

    class Twice(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            handler(request)
            return handler(request)

    agent = create_agent(
        fake_model("First.", "Second."), middleware=[Twice(), MementoMiddleware(manager)]
    )
    agent.invoke(said("Say something."))
    assert kept(manager) == ["Say something.", "Second."]


@pytest.mark.parametrize("mode", LOOPS)
@pytest.mark.parametrize("place", ["user", "system"])
def test_the_block_is_part_of_the_request_alone(manager, fake_model, mode, place):
    """Where it is wanted, and never in the thread's state, nor in what is kept."""
    manager.add("Ada rides a red Brompton.", "long")
    model = fake_model("ok")
    agent = threaded(model, MementoMiddleware(manager, place=place), system_prompt="Be kind.")
    for text in ("What does Ada ride?", "Which colour is the Brompton of Ada?"):
        run(agent, mode, text, thread("one"))
    system, first, _, last = model.shown[-1]
    assert first.text == "What does Ada ride?"  # the block of the turn before is gone
    assert ("<memories-" in system.text, "<memories-" in last.text) == (
        place == "system",
        place == "user",
    )
    state = agent.get_state(thread("one")).values["messages"]
    assert not [one for one in state if "<memories-" in one.text]
    assert not [text for text in kept(manager) if "<memories-" in text]


def test_the_block_stays_the_same_until_the_message_is_answered(manager, fake_model):
    """A memory added by a tool changes no byte before it; the next message sees it."""

    @tool
    def note(text: str) -> str:
        """Note something."""
        manager.add(text, "long")
        return "noted"

    manager.add("Ada rides a red Brompton.", "long")
    call = {"name": "note", "args": {"text": "Ada rides no other bike."}, "id": "1"}
    model = fake_model(AIMessage("", tool_calls=[{**call, "type": "tool_call"}]), "ok", "ok")
    agent = create_agent(
        model, [note], middleware=[MementoMiddleware(manager)], checkpointer=InMemorySaver()
    )
    run(agent, "invoke", "Which bike does Ada ride?", thread("one"))
    run(agent, "invoke", "And does Ada ride another bike?", thread("one"))
    first, second, third = (block_of(messages) for messages in model.shown)
    assert first == second != ""
    assert "no other bike" not in first
    assert "no other bike" in third


@pytest.mark.parametrize("mode", LOOPS)
@pytest.mark.parametrize(
    ("speaker", "expected"), [(None, "agent"), ("user", "user"), ("agent", "agent")]
)
def test_what_a_supervisor_tells_a_subagent_is_not_the_users(
    manager, fake_model, mode, speaker, expected
):
    """An LLM wrote it: it is kept with an agent's trust and under an agent's role."""
    subagent = create_agent(
        fake_model("Found."), middleware=[MementoMiddleware(manager, speaker=speaker)]
    )

    @tool
    def research(task: str) -> str:
        """Let a researcher look."""
        return subagent.invoke(said(task))["messages"][-1].text

    call = {"name": "research", "args": {"task": "The user loves ACME shoes."}, "id": "1"}
    supervisor = create_agent(
        fake_model(AIMessage("", tool_calls=[{**call, "type": "tool_call"}]), "Done."),
        [research],
        middleware=[MementoMiddleware(manager)],
        checkpointer=InMemorySaver(),
    )
    run(supervisor, mode, "Find me shoes, size 43.", thread("one"))
    by_text = {memory.text: memory for memory in manager.list()}
    assert by_text["Find me shoes, size 43."].source.kind == Trust.USER
    told = by_text["The user loves ACME shoes."]
    assert (told.source.kind, told.role) == (expected, expected)


def test_the_least_confidence_is_the_callers(manager, fake_model):
    """With 1 nothing is sure enough."""
    manager.add("Ada rides a red Brompton.", "long")
    model = fake_model("ok")
    ours = MementoMiddleware(manager, min_confidence=1)
    create_agent(model, middleware=[ours]).invoke(said("What does Ada ride?"))
    assert block_of(model.shown[-1]) == ""


async def nothing(_message):
    """Keep nothing, were it awaited."""
    return False


class Nothing:
    """Keeps nothing, were it awaited."""

    async def __call__(self, _message):
        """Keep nothing."""
        return False


@pytest.mark.parametrize("mode", LOOPS)
def test_what_is_kept_can_be_chosen(manager, fake_model, mode):
    """By a function of the message; what is not kept is still part of the thread."""
    ours = MementoMiddleware(manager, keep=lambda message: message.type == "human")
    agent = threaded(fake_model("Noted."), ours)
    for text in ("My bike is red.", "My cat is Tom."):
        run(agent, mode, text, thread("one"))
    assert kept(manager) == ["My bike is red.", "My cat is Tom."]
    assert len(agent.get_state(thread("one")).values["messages"]) == 4
    for wrong in ("user", ("tool",), 3, [["user"]], [None], nothing, Nothing()):
        with pytest.raises(InvalidInput, match="keep"):
            MementoMiddleware(manager, keep=wrong)


def test_what_is_kept_can_be_chosen_by_roles(manager, fake_model):
    """The roles are those of chat APIs."""
    for role, expected in (("user", "My bike is red."), ("assistant", "Noted.")):
        view = manager.of(role)
        ours = MementoMiddleware(view, keep=(role,))
        create_agent(fake_model("Noted."), middleware=[ours]).invoke(said("My bike is red."))
        assert kept(view) == [expected]


@pytest.mark.parametrize(
    ("role", "trusted"), [("user", "user"), ("Human", "user"), ("assistant", "agent")]
)
def test_a_message_without_a_class_of_its_own_is_its_roles(manager, fake_model, role, trusted):
    """`ChatMessage` tells its speaker in a field; only the user's words are learned."""
    talk = {"messages": [ChatMessage("My name is Ada.", role=role), HumanMessage("Who am I?")]}
    ours = MementoMiddleware(manager, observe=True)
    create_agent(fake_model("Ada."), middleware=[ours]).invoke(talk)
    turn = next(one for one in manager.list() if one.text == "My name is Ada.")
    assert turn.source.kind == trusted
    assert (manager.value("user/name") is not None) == (trusted == "user")


@dataclass
class Order:
    """A structured answer."""

    dish: str
    guests: int
    note: str = ""


def ordering(dish, name, words=""):
    """Make the message of a model that answers by a tool."""
    call = {"name": "Order", "args": {"dish": dish, "guests": 3}, "id": name}
    return AIMessage(words, tool_calls=[call])


@pytest.mark.parametrize("mode", LOOPS)
@pytest.mark.parametrize("words", [(), ("Let me book.", "Again.")], ids=["alone", "with words"])
def test_a_structured_answer_is_kept_as_text(manager, fake_model, mode, words):
    """Beside the words of its call, if there are some; the next runs of the thread leave it so."""
    first, second = words or ("", "")
    agent = threaded(
        fake_model(ordering("paella", "1", first), ordering("risotto", "2", second)),
        MementoMiddleware(manager, structured=True),
        response_format=ToolStrategy(Order),
    )
    run(agent, mode, "Book the dinner.", thread("t"))
    run(agent, mode, "Another one.", thread("t"))
    said = [first, "dish: paella\nguests: 3", second, "dish: risotto\nguests: 3"]
    assert kept(manager, role="assistant") == [text for text in said if text]
    later = threaded(
        fake_model("Done."), MementoMiddleware(manager, structured=True), saver=agent.checkpointer
    )
    run(later, mode, "And now?", thread("t"))
    assert len(kept(manager, role="assistant")) == 3 + len(words)


def test_an_answer_that_is_json_is_kept_as_text_only_if_wanted(manager, fake_model):
    """An agent with the provider's own structured output answers by JSON."""
    answer = '{"dish": "paella", "guests": 3, "note": ""}'
    for wanted, expected in ((True, "dish: paella\nguests: 3"), (False, answer)):
        view = manager.of(str(wanted))
        ours = MementoMiddleware(view, structured=wanted)
        create_agent(fake_model(answer), middleware=[ours]).invoke(said("Book the dinner."))
        assert kept(view, role="assistant") == [expected]


def test_json_nested_too_deep_is_kept_as_it_is(manager, fake_model):
    """The thread goes on after it."""
    deep = '{"a":' * 3000 + "1" + "}" * 3000
    agent = threaded(fake_model(deep, "Done."), MementoMiddleware(manager, structured=True))
    agent.invoke(said("Book the dinner."), thread("t"))
    agent.invoke(said("And now?"), thread("t"))
    assert "".join(kept(manager, role="assistant")).startswith('{"a":{"a":')
    assert "Done." in kept(manager, role="assistant")


class Loose(BaseModel):
    """A structured answer with a value of any kind."""

    dish: str
    made: Any


@dataclass
class Held:
    """A structured answer with a value of any kind."""

    dish: str
    made: object


@pytest.mark.parametrize(
    "response",
    [
        Loose(dish="paella", made=object()),
        Loose(dish="paella", made=b"\xff"),
        Held("paella", threading.Lock()),
        Held("paella", np.arange(3)),
        {"dish": "paella", "made": {(1, 2): "here"}},
    ],
    ids=["object", "bytes", "lock", "array", "tuples"],
)
def test_a_structured_answer_that_no_json_holds_is_kept(response):
    """As Python writes it, if it must be."""
    held = answered([AIMessage("", id="1")], response)
    assert "paella" in held.text


def test_the_policy_is_in_the_system_message_and_before_the_text(manager, fake_model):
    """The head stays the same for the thread; the tail and what is recalled are of one request."""
    manager.add("Never commit .env files", kind="rule")
    manager.add("Use metric units", kind="rule", condition="when I cook")
    manager.add("The soup pot is red", "long")
    model = fake_model("yes", "no")
    agent = threaded(model, MementoMiddleware(manager, policy=True), system_prompt="Be kind.")
    agent.invoke(said("We cook soup in which pot?"), thread("t"))
    manager.add("Answer in French", kind="rule")
    agent.invoke(said("And now?"), thread("t"))
    first, second = model.shown[:2]
    assert first[0].text.startswith("Be kind.\n\n<policy-")
    assert first[0].text == second[0].text
    assert '"Never commit .env files"' in first[0].text
    asked = first[-1].text
    assert asked.startswith("<policy-now-")
    assert asked.endswith("\n\nWe cook soup in which pot?")
    assert '"Use metric units"' in asked
    assert second[1].text == "We cook soup in which pot?"
    assert 'new, rule of the user: "Answer in French"' in second[-1].text
    assert not any("policy" in text for text in kept(manager, kind="episode"))
    assert manager.sessions.list()[0].id == "t"


@pytest.mark.parametrize("how", ["erase", "forget"])
@pytest.mark.parametrize("name", [None, "one"])
@pytest.mark.parametrize("lasting", [True, False])
def test_an_erased_turn_stays_away_and_can_be_said_again(manager, fake_model, how, name, lasting):
    """A thread that is given again brings nothing back; a new message is kept, in any process."""
    if lasting and name is None:
        pytest.skip("a checkpointer needs a thread")
    saver, run = InMemorySaver() if lasting else None, thread(name) if name else {}

    def runs(*texts):
        ours = MementoMiddleware(manager, observe=True)
        agent = create_agent(fake_model("ok", "ok"), middleware=[ours], checkpointer=saver)
        for text in texts:
            agent.invoke(said(text), run)

    def gone():
        if how == "erase":
            manager.store.erase(everything=True)
        else:
            manager.forget_many(within="")

    runs("I live in Zebraville.")
    gone()
    runs("Hello again, my cat is Tom.")
    assert not any("Zebra" in text for text in kept(manager))
    runs("I live in Zebraville.", "Hm.")
    assert kept(manager).count("I live in Zebraville.") >= 1
