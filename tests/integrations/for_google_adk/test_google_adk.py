"""memento as ADK's memory service."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("google.adk", reason="pip install 'agent-memento[google-adk]'")

from google.adk.events import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions import Session
from google.genai import types

from memento.errors import InvalidInput, StoreClosed
from memento_google_adk import MementoMemoryService

FACT = "I am allergic to nuts."
WHO = {"app_name": "acme", "user_id": "ann"}


def event(text, author="user", name="1", **more):
    """Make an event with words, and a part of another kind if wanted."""
    parts = [types.Part(text=text), *([types.Part(**more)] if more else [])]
    return Event(author=author, id=name, content=types.Content(role="user", parts=parts))


def session(*events):
    """Make a session."""
    return Session(id="s", events=list(events), **WHO)


@pytest.fixture
def ann(memory):
    """The namespace of a user of an app."""
    return memory.of("acme", "ann")


def test_a_session_is_kept_once_however_often_it_is_given(memory, ann):
    """Each event by its id, with its author."""
    service = MementoMemoryService(memory)
    talk = [event(FACT), event("ok", "helper", "2")]
    asyncio.run(service.add_session_to_memory(session(*talk)))
    asyncio.run(service.add_session_to_memory(session(*talk, event("ok", "helper", "3"))))
    kept = [(one.role, one.actor, one.text, one.session) for one in ann.list()]
    assert kept == [("user", None, FACT, "s")] + [("assistant", "helper", "ok", "s")] * 2
    assert memory.list() == []


def test_results_of_tools_and_thoughts_are_not_kept(memory, ann):
    """Nor is what a model only began to say."""
    response = types.FunctionResponse(name="page", response={"result": "The code is 4711"})
    partial = event("I am al", "helper", "3")
    partial.partial = True
    thought = event("ok", "helper", "2")
    thought.content.parts[0].thought = True
    talk = [event(FACT, function_response=response), thought, partial]
    asyncio.run(MementoMemoryService(memory).add_session_to_memory(session(*talk)))
    assert [one.text for one in ann.list()] == [FACT]


def test_search_forget_and_restore(memory, ann):
    """An entry says who and when; a forgotten one stays away though the session is given again."""
    service = MementoMemoryService(memory)
    asyncio.run(service.add_session_to_memory(session(event(FACT))))
    (found,) = asyncio.run(service.search_memory(query="Allergic to what?", **WHO)).memories
    assert (found.author, found.content.parts[0].text) == ("user", FACT)
    asyncio.run(service.delete_memory(memory_id=found.id, **WHO))
    asyncio.run(service.add_session_to_memory(session(event(FACT))))
    assert asyncio.run(service.search_memory(query="Allergic to what?", **WHO)).memories == []
    assert ann.restore(found.id).text == FACT


def test_single_memories_are_the_agents_word(memory, ann):
    """With their metadata."""
    entry = MemoryEntry(
        content=types.Content(parts=[types.Part(text=FACT)]), custom_metadata={"a": 1}
    )
    service = MementoMemoryService(memory)
    asyncio.run(service.add_memory(memories=[entry], custom_metadata={"b": 2}, **WHO))
    (kept,) = ann.list()
    assert (kept.source.kind, dict(kept.metadata)) == ("agent", {"a": 1, "b": 2})


def test_mistakes_of_the_program_are_raised(memory):
    """Wrong arguments, and a closed store."""
    with pytest.raises(InvalidInput, match="policy"):
        MementoMemoryService(memory, policy=True)
    service = MementoMemoryService(memory)
    with pytest.raises(InvalidInput, match="memory_id"):
        asyncio.run(service.delete_memory(**WHO))
    memory.close()
    with pytest.raises(StoreClosed):
        asyncio.run(service.search_memory(query="x", **WHO))
