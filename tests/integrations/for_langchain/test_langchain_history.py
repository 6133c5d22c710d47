"""MementoChatMessageHistory: lossless messages, and RunnableWithMessageHistory after a restart."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("langchain_core", reason="pip install 'agent-memento[langchain]'")

from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
)
from langchain_core.runnables.history import RunnableWithMessageHistory

from memento import Config, MemoryManager
from memento.errors import InvalidInput, ReadOnlyStore, StoreClosed
from memento.tiers.config import ShortConfig
from memento_langchain import MementoChatMessageHistory

pytestmark = pytest.mark.filterwarnings(
    "ignore::langchain_core._api.deprecation.LangChainDeprecationWarning"
)

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
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
    root = manager.root
    manager.close()
    found = MementoChatMessageHistory("s", open_memory(root)).messages
    assert [type(m) for m in found] == [type(m) for m in SAID]
    assert [message_to_dict(m) for m in found] == [message_to_dict(m) for m in SAID]


@settings(max_examples=150, deadline=None)
@given(st.lists(messages, max_size=5))
def test_any_message_is_lossless(shared, said):
    """Whatever content, calls and keywords a message has, it comes back equal."""
    history = MementoChatMessageHistory(uuid4().hex, shared)
    history.add_messages(said)
    assert [message_to_dict(m) for m in history.messages] == [message_to_dict(m) for m in said]


def test_equal_messages_are_two(open_memory):
    """Saying yes twice is two messages, even in one batch."""
    history = MementoChatMessageHistory("s", open_memory())
    history.add_messages([HumanMessage("yes"), HumanMessage("yes")])
    history.add_user_message("yes")
    assert [m.content for m in history.messages] == ["yes"] * 3


def test_the_ring_holds_the_newest_and_the_ledger_all(open_memory):
    """What the ring pushes out is in medium, in the history, and found by a search."""
    manager = open_memory(config=Config(short=ShortConfig(capacity=4)))
    history = MementoChatMessageHistory("s", manager)
    history.add_messages([HumanMessage(f"turn number {n}") for n in range(10)])
    assert [m.text for m in manager.recent(session="s")] == [
        f"turn number {n}" for n in range(6, 10)
    ]
    assert len(manager.list(tiers="medium")) == 6
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


def test_what_cannot_be_kept_whole_is_refused(open_memory):
    """Too large or not JSON: a typed error, and nothing of the batch is written."""
    history = MementoChatMessageHistory("s", open_memory())
    for bad in (
        HumanMessage("x" * 100_000),
        HumanMessage("nul \0"),
        AIMessage("x", additional_kwargs={"a": object()}),
    ):
        with pytest.raises(InvalidInput):
            history.add_messages([HumanMessage("fine"), bad])
    assert history.messages == []
    with pytest.raises(InvalidInput, match="window"):
        MementoChatMessageHistory("s", open_memory(), window=0)


SCRIPT = """
import sys
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables.history import RunnableWithMessageHistory
from memento import MemoryManager
from memento_langchain import MementoChatMessageHistory

shown = []
class FakeModel(GenericFakeChatModel):
    def _generate(self, messages, *args, **options):
        shown.extend(messages)
        return super()._generate(messages, *args, **options)

with MemoryManager(sys.argv[1], embedder=None) as manager:
    chain = RunnableWithMessageHistory(
        FakeModel(messages=iter([AIMessage("answer")])),
        lambda session_id: MementoChatMessageHistory(session_id, manager),
    )
    chain.invoke(sys.argv[2], {"configurable": {"session_id": "s"}})
print([message.text for message in shown])
"""


def test_a_chain_with_history_goes_on_in_a_new_process(tmp_path):
    """The second process shows its model what was said in the first."""

    def say(text):
        ran = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", SCRIPT, tmp_path / "store", text],
            check=True,
            capture_output=True,
            text=True,
        )
        return ran.stdout.strip()

    say("My bike is a red Brompton")
    assert say("Which bike?") == "['My bike is a red Brompton', 'answer', 'Which bike?']"


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


def test_a_closed_store_is_told_through_the_chain(open_memory, fake_model):
    """StoreClosed reaches the caller, sync and async."""
    manager = open_memory()
    chain = RunnableWithMessageHistory(
        fake_model("ok"), lambda session_id: MementoChatMessageHistory(session_id, manager)
    )
    manager.close()
    config = {"configurable": {"session_id": "s"}}
    with pytest.raises(StoreClosed):
        chain.invoke("hi", config)
    with pytest.raises(StoreClosed):
        asyncio.run(chain.ainvoke("hi", config))


def test_a_read_only_store_is_told_through_the_chain(open_memory, fake_model, monkeypatch):
    """ReadOnlyStore reaches the caller, though LangChain saves in a callback."""
    manager = open_memory()
    manager.add("something")
    chain = RunnableWithMessageHistory(
        fake_model("ok"), lambda session_id: MementoChatMessageHistory(session_id, manager)
    )
    monkeypatch.setattr(manager._engine.ledger, "read_only", True)
    config = {"configurable": {"session_id": "s"}}
    with pytest.raises(ReadOnlyStore):
        chain.invoke("hi", config)
    with pytest.raises(ReadOnlyStore):
        asyncio.run(chain.ainvoke("hi", config))
