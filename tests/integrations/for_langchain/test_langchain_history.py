"""MementoChatMessageHistory: lossless messages, and RunnableWithMessageHistory after a restart."""

from __future__ import annotations

import asyncio
import base64
import copy
import functools
from concurrent.futures import ThreadPoolExecutor
from random import Random
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("langchain_core", reason="pip install 'agent-memento[langchain]'")

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
)
from langchain_core.runnables.history import RunnableWithMessageHistory

from memento import Config, MemoryManager, Source, Trust
from memento.config import Limits, ShortConfig
from memento.errors import InvalidInput, ReadOnlyStore, SecretFound, StoreClosed
from memento_langchain import MementoChatMessageHistory

pytestmark = pytest.mark.filterwarnings(
    "ignore::langchain_core._api.deprecation.LangChainDeprecationWarning"
)

words = st.text(st.characters(), max_size=30)  # also NUL and lone surrogates
blocks = st.lists(
    st.builds(lambda text: {"type": "text", "text": text}, words)
    | st.just({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}),
    min_size=1,
    max_size=3,
)
content = words | blocks
arguments = st.dictionaries(words, words | st.integers(-9, 9) | st.none(), max_size=3)
calls = st.lists(
    st.builds(
        lambda args, n: {"name": "f", "args": args, "id": f"c{n}", "type": "tool_call"},
        arguments,
        st.integers(0, 9),
    ),
    max_size=2,
)
messages = st.one_of(
    st.builds(HumanMessage, content=content, id=st.none() | words, name=st.none() | words),
    st.builds(AIMessage, content=content, tool_calls=calls, additional_kwargs=arguments),
    st.builds(ToolMessage, content=content, tool_call_id=words, status=st.just("error")),
    st.builds(SystemMessage, content=content),
)
SAID = [
    HumanMessage("What is the weather in Oslo?", id="h1", name="ada"),
    AIMessage(
        "",
        id="a1",
        tool_calls=[{"name": "weather", "args": {"city": "Oslo"}, "id": "c1", "type": "tool_call"}],
        usage_metadata={"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
        response_metadata={"model": "fake"},
    ),
    ToolMessage("rain", tool_call_id="c1", name="weather"),
    AIMessage([{"type": "text", "text": "It rains."}, {"type": "reasoning", "reasoning": "hm"}]),
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Share one store between the examples; each has a session of its own."""
    with MemoryManager(tmp_path_factory.mktemp("history"), embedder=None) as opened:
        yield opened


def test_messages_come_back_as_they_were(open_memory):
    """Tool calls, ids, names, usage, blocks: nothing is lost, in memory or on the disk."""
    manager = open_memory()
    MementoChatMessageHistory("s", manager).add_messages(SAID)
    root = manager.store.root
    manager.close()
    found = MementoChatMessageHistory("s", open_memory(root)).messages
    assert [type(m) for m in found] == [type(m) for m in SAID]
    assert [message_to_dict(m) for m in found] == [message_to_dict(m) for m in SAID]


@settings(max_examples=75, deadline=None)
@given(st.lists(messages, max_size=5))
def test_any_message_is_lossless(shared, said):
    """A message with any content, calls and keywords comes back equal."""
    history = MementoChatMessageHistory(uuid4().hex, shared)
    history.add_messages(said)
    assert [message_to_dict(m) for m in history.messages] == [message_to_dict(m) for m in said]


@pytest.mark.parametrize(
    "message",
    [
        ToolMessage("Order 700 bikes.", tool_call_id="c1"),
        FunctionMessage("Order 700 bikes.", name="shop"),
        ChatMessage("Order 700 bikes.", role="Tool"),
    ],
    ids=lambda message: message.type,
)
def test_what_a_tool_says_waits_in_any_class_and_is_replayed(open_memory, message):
    """No class of LangChain's makes an agent's word of a tool's."""
    memory = open_memory()
    history = MementoChatMessageHistory("one", memory)
    history.add_messages([message])
    assert history.messages == [message]
    assert [one.source.kind for one in memory.quarantine.list()] == ["tool"]
    assert memory.list() == []


def test_a_functions_message_of_an_earlier_version_is_replayed(open_memory, monkeypatch):
    """It was trusted like the model's then."""
    message = FunctionMessage("Order 700 bikes.", name="shop")
    history = MementoChatMessageHistory("one", open_memory())
    monkeypatch.setattr("memento_langchain._history.source_of", lambda _: Source(Trust.AGENT))
    history.add_messages([message])
    monkeypatch.undo()
    assert history.messages == [message]


def test_equal_messages_are_two(open_memory):
    """Saying yes twice is two messages, even in one batch."""
    history = MementoChatMessageHistory("s", open_memory())
    history.add_messages([HumanMessage("yes"), HumanMessage("yes")])
    history.add_user_message("yes")
    assert [m.content for m in history.messages] == ["yes"] * 3


def test_the_ring_holds_the_newest_and_the_ledger_all(open_memory):
    """A turn that the ring pushes out is in medium, in the history, and found by a search."""
    manager = open_memory(config=Config(short=ShortConfig(capacity=4)))
    history = MementoChatMessageHistory("s", manager)
    history.add_messages([HumanMessage(f"turn number {n}") for n in range(10)])
    assert [m.text for m in manager.sessions.recent(session="s")] == [
        f"turn number {n}" for n in range(6, 10)
    ]
    assert len(manager.list(tier="medium")) == 6
    assert [m.text for m in history.messages] == [f"turn number {n}" for n in range(10)]
    window = MementoChatMessageHistory("s", manager, window=2)
    assert [m.text for m in window.messages] == ["turn number 8", "turn number 9"]
    assert manager.retrieve("number 3")


def test_sessions_are_apart_and_cleared_alone(open_memory):
    """Clearing one conversation leaves the others, and other memories of its session."""
    manager = open_memory()
    one, two = (MementoChatMessageHistory(name, manager) for name in ("one", "two"))
    manager.add("a note of mine", session="one")
    one.add_messages([HumanMessage("hi"), AIMessage("ho")])
    asyncio.run(two.aadd_messages([HumanMessage("hey")]))
    asyncio.run(one.aclear())
    assert one.messages == []
    assert [m.content for m in asyncio.run(two.aget_messages())] == ["hey"]
    assert [m.text for m in manager.list(session="one")] == ["a note of mine"]
    one.add_user_message("again")
    assert [m.content for m in one.messages] == ["again"]


def test_eight_threads_write_one_session(open_memory):
    """Every message of every thread is there once, each thread's in its order."""
    history = MementoChatMessageHistory("s", open_memory())

    def talk(thread):
        for n in range(10):
            history.add_messages([HumanMessage(f"{thread} {n}")])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(talk, range(8)))
    said = [m.text for m in history.messages]
    assert len(said) == len(set(said)) == 80
    for thread in range(8):
        assert [s for s in said if s.startswith(f"{thread} ")] == [
            f"{thread} {n}" for n in range(10)
        ]


PIXELS = base64.b64encode(Random(0).randbytes(1_100_000)).decode()
IMAGE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXELS}"}}
DEEP = functools.reduce(lambda inner, _: [inner], range(80), [])
ODD = {
    "long": HumanMessage(" ".join(f"word{n}" for n in range(20_000))),
    "blank and long": HumanMessage(" " * 100_000),
    "nul": HumanMessage("nul \0 end", id="n\0"),
    "surrogate": AIMessage("half \ud800 end"),
    "not a number": AIMessage("x", additional_kwargs={"logprob": float("-inf")}),
    "nested": AIMessage("x", additional_kwargs={"a": {"b": [[]] * 3}, "deep": DEEP}),
    "picture": HumanMessage([{"type": "text", "text": "What is on it?"}, IMAGE]),
    "argument": AIMessage(
        "",
        tool_calls=[{"name": "f\0", "args": {"x": "\udfff" * 9}, "id": "1", "type": "tool_call"}],
    ),
}


@pytest.mark.parametrize("message", ODD.values(), ids=ODD)
@pytest.mark.parametrize(
    "config", [Config(), Config(limits=Limits(900, 20_000))], ids=["", "tight"]
)
def test_whatever_is_said_comes_back(open_memory, fake_model, message, config):
    """Too large or too odd for a memory, a message is kept all the same, through a real chain."""
    manager = open_memory(config=config)
    chain = RunnableWithMessageHistory(
        fake_model("ok"), lambda session: MementoChatMessageHistory(session, manager)
    )
    chain.invoke([message], {"configurable": {"session_id": "s"}})
    manager.close()
    history = MementoChatMessageHistory("s", open_memory(config=config))
    assert [message_to_dict(m) for m in history.messages[:-1]] == [message_to_dict(message)]
    assert history.messages[-1].text == "ok"
    window = MementoChatMessageHistory("s", open_memory(config=config), window=2)
    assert window.messages == history.messages
    history.clear()
    assert history.messages == []
    assert open_memory(config=config).list() == []


def test_a_long_message_is_found_piece_by_piece(open_memory):
    """Each stretch of it is a memory that a search finds, and none is a duplicate."""
    manager = open_memory()
    MementoChatMessageHistory("s", manager).add_messages([ODD["long"], HumanMessage("short")])
    for n in (3, 10_000, 19_999):
        hit = manager.retrieve(f"word{n}")[0]
        assert f"word{n}" in hit.text
    assert len(MementoChatMessageHistory("s", manager, window=1).messages) == 1
    texts = [memory.text for memory in manager.list() if memory.text != "short"]
    assert "".join(texts) == ODD["long"].content


def test_a_picture_takes_one_place_of_the_ring(open_memory):
    """Of its parts only the one with its words is shown among the newest turns."""
    manager = open_memory()
    MementoChatMessageHistory("s", manager).add_messages([HumanMessage("hi"), ODD["picture"]])
    assert len(manager.list(session="s")) > 2
    assert [memory.text for memory in manager.sessions.recent(session="s")] == [
        "hi",
        "What is on it?",
    ]


ENDLESS: list[object] = [1]
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize(
    ("odd", "kept", "named"),
    [
        (AIMessage("y", additional_kwargs={1: 2}), {"additional_kwargs": {"1": 2}}, "kwargs"),
        (AIMessage("y", response_metadata={1: 2}), {"response_metadata": {"1": 2}}, "_metadata"),
        (
            AIMessage("y", additional_kwargs={1: "a", "1": "b", None: "c"}),
            {"additional_kwargs": {"1'": "a", "1": "b", "None": "c"}},
            "data.additional_kwargs",
        ),
        (
            ToolMessage("y", tool_call_id="1", artifact=(1, (2,))),
            {"artifact": [1, [2]]},
            "artifact",
        ),
        (
            ToolMessage("y", tool_call_id="1", artifact={"rows": {7}, "page": 2}),
            {"artifact": {"rows": "{7}", "page": 2}},
            "data.artifact.rows cannot be stored as is",
        ),
        (
            AIMessage("y", additional_kwargs={"by": {3: "x"}}),
            {"additional_kwargs": {"by": {"3": "x"}}},
            "data.additional_kwargs.by",
        ),
        (ToolMessage("y", tool_call_id="1", artifact=ENDLESS), {}, "data.artifact"),
    ],
)
def test_what_json_would_change_costs_no_other_message(open_memory, caplog, odd, kept, named):
    """A set, a tuple or a key that is no string is replaced with a warning; the rest stays."""
    history = MementoChatMessageHistory("s", open_memory())
    history.add_messages([HumanMessage("x"), odd, HumanMessage("z")])
    first, changed, last = history.messages
    assert [first.text, changed.text, last.text] == ["x", "y", "z"]
    assert type(changed) is type(odd)
    assert {name: getattr(changed, name) for name in kept} == kept
    assert "with changes" in caplog.text
    assert named in caplog.text


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # it also sees the odd value
def test_what_langchain_cannot_read_back_is_kept_as_its_text(open_memory, caplog):
    """Changed past all checks after it was made, a message costs its details, not the session."""
    odd = AIMessage("What it says.")
    odd.additional_kwargs = {1, 2}  # LangChain checks only what is given at the beginning
    history = MementoChatMessageHistory("s", open_memory())
    history.add_messages([odd, HumanMessage("z")])
    assert [message.text for message in history.messages] == ["What it says.", "z"]
    assert "all but the text" in caplog.text


def test_a_class_of_your_own_is_kept(open_memory, caplog):
    """LangChain could not read it back, so that the whole session would be lost with it."""

    class Verdict(BaseMessage):
        type: str = "verdict"

    history = MementoChatMessageHistory("s", open_memory())
    history.add_messages([HumanMessage("hi"), Verdict(content="guilty", id="v")])
    assert history.messages == [
        HumanMessage("hi"),
        ChatMessage(content="guilty", role="verdict", id="v"),
    ]
    assert "with changes: type" in caplog.text


def test_what_is_refused_is_said(open_memory, fake_model, caplog):
    """LangChain saves in a callback and drops the error: ours is in the log, without the text."""
    manager = open_memory(config=Config(secrets="reject"))
    chain = RunnableWithMessageHistory(
        fake_model("ok"), lambda session: MementoChatMessageHistory(session, manager)
    )
    chain.invoke("my password is hunter2secret", {"configurable": {"session_id": "s"}})
    assert "2 messages in session 's' were not stored" in caplog.text
    assert "hunter2" not in caplog.text
    with pytest.raises(SecretFound):
        MementoChatMessageHistory("s", manager).add_user_message("password: hunter2secret")


KEY = "\n".join(["-----BEGIN PRIVATE KEY-----", *["MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" * 2] * 40])


@pytest.mark.parametrize("lead", [15_000, 65_000])
def test_no_cut_lets_a_secret_through(open_memory, lead):
    """A private key that lies across a cut is taken out, of the text and of the packed message."""
    manager = open_memory()
    text = f"{'tea ' * (lead // 4)}\n{KEY}\n-----END PRIVATE KEY-----\n{'tea ' * 9000}"
    history = MementoChatMessageHistory("s", manager)
    history.add_messages([HumanMessage(text)])
    assert "[redacted:private-key]" in history.messages[0].text
    assert "MIIEv" not in history.messages[0].text
    assert not [memory for memory in manager.list() if "MIIEv" in memory.text]


def test_erasing_a_part_erases_the_message(open_memory, caplog):
    """No part of a packed message outlives another; forgetting one takes it out of the session."""
    manager = open_memory()
    history = MementoChatMessageHistory("s", manager)
    history.add_messages([ODD["long"], HumanMessage("short"), ODD["picture"]])
    manager.store.erase(manager.retrieve("word19999")[0].id)
    assert [m.text for m in manager.list(session="s") if "word" in m.text] == []
    manager.forget(manager.list(where={"format": "langchain-message-part"})[0].id)
    assert [m.text for m in history.messages] == ["short"]
    assert "1 messages in session 's' were left out" in caplog.text


def test_arguments_are_checked(open_memory):
    """A session without a name would be every session; each mistake says what to do."""
    manager = open_memory()
    for wrong in (None, 1, "", " "):
        with pytest.raises(InvalidInput, match="session_id"):
            MementoChatMessageHistory(wrong, manager)
    for window in (0, "3", 1.5):
        with pytest.raises(InvalidInput, match="window"):
            MementoChatMessageHistory("s", manager, window=window)
    with pytest.raises(InvalidInput, match="must be a MemoryManager, not str"):
        MementoChatMessageHistory("s", "agent_memory")


def test_copies_share_the_manager(open_memory):
    """A copy, deep or not, goes on with the same session."""
    history = MementoChatMessageHistory("s", open_memory(), window=3)
    for twin in (copy.copy(history), copy.deepcopy(history)):
        twin.add_user_message("hi")
    assert [m.text for m in history.messages] == ["hi", "hi"]


def test_a_chain_with_history_in_a_loop(open_memory, fake_model):
    """Asynchronously, with a dictionary of messages, each message is kept once."""
    manager = open_memory()
    chain = RunnableWithMessageHistory(
        fake_model("ok"), lambda session_id: MementoChatMessageHistory(session_id, manager)
    )

    async def talk():
        for text in ("one", "two"):
            await chain.ainvoke(text, {"configurable": {"session_id": "s"}})

    asyncio.run(talk())
    assert [m.text for m in manager.list(session="s")] == ["one", "ok", "two", "ok"]


def test_trouble_is_told_through_the_chain_in_a_loop(open_memory, fake_model, freeze):
    """Though LangChain saves in a callback; ``test_trouble`` shows it of ``invoke``."""
    manager = open_memory()
    manager.add("something")
    manager.close()
    freeze(manager.store.root)
    manager = open_memory()
    chain = RunnableWithMessageHistory(
        fake_model("ok"), lambda session: MementoChatMessageHistory(session, manager)
    )
    config = {"configurable": {"session_id": "s"}}
    with pytest.raises(ReadOnlyStore):
        asyncio.run(chain.ainvoke("hi", config))
    manager.close()
    with pytest.raises(StoreClosed):
        asyncio.run(chain.ainvoke("hi", config))


@pytest.mark.parametrize(
    ("window", "shown"),
    [
        (1, ["human"]),
        (2, ["ai", "human"]),
        (3, ["ai", "human"]),
        (4, ["ai", "human"]),
        (5, ["ai", "tool", "tool", "ai", "human"]),
        (6, ["human", "ai", "tool", "tool", "ai", "human"]),
    ],
)
def test_a_window_never_begins_with_the_results_of_tools(open_memory, window, shown):
    """No provider accepts a result whose call is not shown."""
    memory = open_memory()
    calls = [{"name": "x", "args": {}, "id": name} for name in ("1", "2")]
    MementoChatMessageHistory("s", memory).add_messages(
        [
            HumanMessage("q"),
            AIMessage("", tool_calls=calls),
            ToolMessage("r", tool_call_id="1"),
            ToolMessage("s", tool_call_id="2"),
            AIMessage("a"),
            HumanMessage("q2"),
        ]
    )
    history = MementoChatMessageHistory("s", memory, window=window)
    assert [message.type for message in history.messages] == shown


def test_any_text_names_a_session(open_memory):
    """A long one is kept under a short form, apart from one that begins alike."""
    manager = open_memory()
    names = ["x" * 300, "x" * 300 + "y", "nul \0"]
    for name in names:
        MementoChatMessageHistory(name, manager).add_messages([HumanMessage(name)])
    said = [MementoChatMessageHistory(name, manager).messages for name in names]
    assert [[one.text for one in some] for some in said] == [[name] for name in names]


@pytest.mark.parametrize("size", [1, 40_000])
@pytest.mark.parametrize("blocks", [False, True])
def test_a_history_keeps_no_copy_of_what_was_recalled(open_memory, size, blocks):
    """Erased is erased, also if the recalled block stood in a message, however large it is."""
    memory = open_memory()
    fact = memory.add("Rami is allergic to nuts", "long", source="agent")
    shown = memory.recall("What is Rami allergic to?", min_confidence=0).block
    text = f"What is Rami allergic to?\n\n{shown}\n\n{'Please. ' * size}"
    content = [{"type": "text", "text": text}] if blocks else text
    history = MementoChatMessageHistory("monday", memory)
    history.add_messages([HumanMessage(content)])
    assert memory.store.erase([fact.id]).complete
    assert "allergic to nuts" not in str(history.messages)
    assert not any("to nuts" in one.text for one in memory.list(session="monday"))


def test_a_summary_of_langchains_is_kept_as_the_models(open_memory):
    """It comes back as it was, and is no statement of the user's."""
    memory = open_memory()
    history = MementoChatMessageHistory("monday", memory)
    summary = HumanMessage("I am Bob.", additional_kwargs={"lc_source": "summarization"})
    history.add_messages([summary])
    assert [one.source.kind for one in memory.list(session="monday")] == [Trust.AGENT]
    assert history.messages == [summary]
