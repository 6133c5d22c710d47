"""memento as a store of Strands' memory manager."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("strands", reason="pip install 'agent-memento[strands]'")

from strands.memory import AddMessagesContext, InjectionQueryContext

from memento.errors import InvalidInput
from memento_strands import MementoStore

FACT = "I am allergic to nuts."


def message(text, role="user", **block):
    """Make a message of Strands."""
    return {"role": role, "content": [{"text": text}, *([block] if block else [])]}


def test_a_batch_that_is_tried_again_is_kept_once(memory):
    """Equal words of two messages are two turns; the same message is one."""
    store, numbers = MementoStore(memory, session="s"), AddMessagesContext([0, 1, 2])
    batch = [message(FACT), message("ok", "assistant"), message("ok", "assistant")]
    for _ in range(2):
        asyncio.run(store.add_messages(batch, numbers))
    assert [one.text for one in memory.list(session="s")] == [FACT, "ok", "ok"]


def test_the_results_of_tools_are_not_the_users_words(memory):
    """They come in a message with the user's role."""
    result = {"toolUseId": "1", "content": [{"text": "The code is 4711"}]}
    asyncio.run(MementoStore(memory).add_messages([message(FACT, toolResult=result)]))
    assert [one.text for one in memory.list()] == [FACT]


def test_what_the_conversation_shows_is_not_found_again(memory):
    """A search that Strands makes for a conversation knows what was said in it."""
    store = MementoStore(memory, session="s")
    asyncio.run(store.add_messages([message(FACT)], AddMessagesContext([0])))
    asked = "What am I allergic to?"

    async def injected():
        talk = [message(FACT), message("ok", "assistant"), message(asked)]
        return await store.search(store.injection["query"](InjectionQueryContext(messages=talk)))

    assert asyncio.run(injected()) == []
    (found,) = asyncio.run(store.search(asked))
    assert found.content.endswith(f"said by user: {FACT}")


def test_what_the_model_adds_is_its_own_word(memory):
    """As is what an agent is told by another one."""
    asyncio.run(MementoStore(memory).add("Ada eats no nuts"))
    asyncio.run(MementoStore(memory, speaker="agent").add_messages([message(FACT)]))
    assert {one.source.kind for one in memory.list()} == {"agent"}


def test_wrong_arguments(memory):
    """They are refused when the store is made."""
    with pytest.raises(InvalidInput, match="policy"):
        MementoStore(memory, policy=True)
    with pytest.raises(InvalidInput, match="k:"):
        MementoStore(memory, k=0)
