"""memento in the OpenAI Agents SDK: its sessions, and what its models are given."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("agents.run_config", reason="pip install 'agent-memento[openai-agents]'")

from agents import Agent, RunConfig, Runner, Session, function_tool, set_tracing_disabled
from agents.memory.session_settings import SessionSettings
from openai_fakes import Scripted

from memento.errors import InvalidInput, ReadOnlyStore, StoreClosed
from memento_openai_agents import MementoRecall, MementoSession

set_tracing_disabled(disabled=True)

FACT = "I am allergic to nuts."
ASKED = "What am I allergic to?"


@function_tool
def weather(city: str) -> str:
    """Tell the weather."""
    return f"sunny in {city}"


def run(model, text, session, manager=None, **options):
    """Run one turn of a new agent."""
    agent = Agent("A", instructions="You help.", model=model, tools=[weather])
    recall = {} if manager is None else {"call_model_input_filter": MementoRecall(manager)}
    config = RunConfig(**recall)
    return asyncio.run(Runner.run(agent, text, session=session, run_config=config, **options))


def items(session, *limit):
    """Return the items of a session by what they are."""
    found = asyncio.run(session.get_items(*limit))
    return [item.get("role", item.get("type")) for item in found]


class TestSession:
    """The SDK's sessions, in memento."""

    def test_it_is_one(self, memory):
        """It has what the SDK's protocol asks for."""
        assert isinstance(MementoSession("monday", memory), Session)

    def test_a_conversation_goes_on(self, memory):
        """Items come back as they were, calls and results included, and the model sees them."""
        first = Scripted(("weather", '{"city": "Oslo"}'), "It is sunny.")
        run(first, "How is the weather in Oslo?", MementoSession("monday", memory))
        session = MementoSession("monday", memory)
        assert items(session) == ["user", "function_call", "function_call_output", "assistant"]
        second = Scripted()
        run(second, "Thanks.", session)
        assert second.seen[0][1][:3] == first.seen[1][1]

    def test_the_newest_items(self, memory):
        """A limit leaves out results whose calls are older; pop takes the last, clear all."""
        session = MementoSession("monday", memory)
        run(Scripted(("weather", '{"city": "Oslo"}'), "Sunny."), "And Oslo?", session)
        assert items(session, 2) == ["assistant"]
        limited = MementoSession("monday", memory, session_settings=SessionSettings(limit=3))
        assert items(limited) == ["function_call", "function_call_output", "assistant"]
        assert asyncio.run(session.pop_item())["role"] == "assistant"
        assert len(items(session)) == 3
        asyncio.run(session.clear_session())
        assert (items(session), asyncio.run(session.pop_item())) == ([], None)

    def test_a_run_that_fails_leaves_what_was_said_once(self, memory):
        """The next run goes on, and each message is there once."""

        class Failing(Scripted):
            async def get_response(self, *args, **options):  # noqa: ARG002
                raise TimeoutError

        session = MementoSession("monday", memory)
        with pytest.raises(TimeoutError):
            run(Failing(), FACT, session)
        run(Scripted(), ASKED, session)
        said = [one.text for one in memory.list() if one.role == "user"]
        assert len(said) == len(set(said))
        assert ASKED in said

    def test_reasoning_and_calls_are_nobodys_words(self, memory):
        """They come back, and are not recalled."""
        thought = {"id": "r", "type": "reasoning", "summary": [], "content": [
            {"type": "reasoning_text", "text": "The user may be allergic to nuts."}]}  # fmt: skip
        session = MementoSession("monday", memory)
        asyncio.run(session.add_items([thought]))
        assert asyncio.run(session.get_items()) == [thought]
        assert not memory.recall(ASKED).hits

    def test_learning(self, memory):
        """With ``observe``, what the user states becomes a memory of its own."""
        run(Scripted(), "My name is Ada.", MementoSession("monday", memory, observe=True))
        assert any(one.source.parents for one in memory.list())

    def test_trouble_has_its_type(self, memory):
        """A closed store, and a conversation without a name."""
        with pytest.raises(InvalidInput, match="session"):
            MementoSession("", memory)
        session = MementoSession("monday", memory)
        memory.close()
        with pytest.raises(StoreClosed):
            asyncio.run(session.get_items())
        with pytest.raises(StoreClosed):
            asyncio.run(session.add_items([{"role": "user", "content": FACT}]))

    def test_a_read_only_store(self, memory, open_memory, freeze):
        """It is read, and a write is an error."""
        asyncio.run(MementoSession("s", memory).add_items([{"role": "user", "content": FACT}]))
        memory.close()
        freeze(memory.store.root)
        session = MementoSession("s", open_memory())
        assert items(session) == ["user"]
        with pytest.raises(ReadOnlyStore):
            asyncio.run(session.add_items([{"role": "user", "content": ASKED}]))


class TestRecall:
    """What a model is given."""

    def test_behind_the_users_message_and_in_no_session(self, memory):
        """A tool's loop sees the same block; the session holds none."""
        memory.add(FACT)
        model = Scripted(("weather", '{"city": "Oslo"}'), "Nuts.")
        session = MementoSession("monday", memory)
        run(model, ASKED, session, memory)
        first, second = (request for _, request in model.seen)
        assert [first[0]["content"], "nuts" in first[1]["content"]] == [ASKED, True]
        assert second[:2] == first
        assert items(session) == ["user", "function_call", "function_call_output", "assistant"]
        assert not any("<memories" in one.text for one in memory.list(limit=100))

    def test_the_policy_ends_the_instructions(self, memory):
        """The user's rules stand in the system's text, and the agent's own come first."""
        memory.add("Answer in Dutch", kind="rule")
        model = Scripted()
        config = RunConfig(call_model_input_filter=MementoRecall(memory, policy=True))
        agent = Agent("A", instructions="You help.", model=model)
        asyncio.run(Runner.run(agent, "Hello!", run_config=config))
        assert model.seen[0][0].startswith("You help.\n\n")
        assert "Answer in Dutch" in model.seen[0][0]

    def test_the_context_of_the_run_names_the_user(self, memory):
        """One agent serves all; without a context, nothing is read."""
        memory.of("acme", "ann").add(FACT)

        def ask(user):
            model = Scripted()
            recall = MementoRecall(memory, namespace=lambda user: ("acme", user))
            config = RunConfig(call_model_input_filter=recall)
            asyncio.run(Runner.run(Agent("A", model=model), ASKED, context=user, run_config=config))
            return str(model.seen)

        assert "nuts" in ask("ann")
        assert "nuts" not in ask("bob")
        with pytest.raises(InvalidInput, match="context"):
            ask(None)

    def test_fifty_at_once(self, memory):
        """Concurrent runs of one agent keep each conversation apart."""

        async def talk():
            agent = Agent("A", model=Scripted())
            return await asyncio.gather(
                *(
                    Runner.run(agent, f"Note {n}.", session=MementoSession(str(n), memory))
                    for n in range(50)
                )
            )

        asyncio.run(talk())
        assert all(
            items(MementoSession(str(n), memory)) == ["user", "assistant"] for n in range(50)
        )
