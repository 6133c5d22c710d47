"""memento in the Microsoft Agent Framework: what its models are given, and its history."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("agent_framework", reason="pip install 'agent-memento[agent-framework]'")

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    ContextProvider,
    FunctionInvocationLayer,
    Message,
    tool,
)

from memento.errors import InvalidInput, StoreClosed
from memento_agent_framework import MementoContextProvider, MementoHistoryProvider

FACT = "I am allergic to nuts."
ASKED = "What am I allergic to?"


class Scripted(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """Answers in turn; then "Noted."."""

    def __init__(self, *answers):
        super().__init__()
        self._answers = list(answers)
        self.seen = []

    def _inner_get_response(self, *, messages, stream, options, **_):  # noqa: ARG002
        async def answer():
            texts = [(one.role, one.text) for one in messages]
            self.seen.append((options.get("instructions"), texts))
            said = self._answers.pop(0) if self._answers else "Noted."
            return ChatResponse(messages=[Message("assistant", [said])])

        return answer()


@tool(approval_mode="never_require")
def weather(city: str) -> str:
    """Tell the weather."""
    return f"sunny in {city}"


CALL = Content.from_function_call("c1", "weather", arguments='{"city": "Oslo"}')


def run(client, text, providers, session=None):
    """Run one turn of a new agent."""
    agent = Agent(
        client=client, instructions="You help.", tools=[weather], context_providers=providers
    )
    return asyncio.run(agent.run(text, session=session or AgentSession(session_id="s")))


class TestContext:
    """What a model is given, and what is kept."""

    def test_behind_the_users_message_and_in_no_history(self, memory):
        """The framework's own history goes on without it; a tool's loop sees the same block."""
        memory.add(FACT)
        client, session = Scripted(CALL, "Nuts."), AgentSession(session_id="s")
        providers = [MementoContextProvider(memory)]
        run(client, ASKED, providers, session)
        (_, first), (_, second) = client.seen
        assert first[0] == ("user", ASKED)
        assert "nuts" in first[1][1]
        assert second[:2] == first
        again = Scripted()
        run(again, "Thanks.", providers, session)
        assert "nuts." not in str(again.seen)
        assert ("user", ASKED) in again.seen[0][1]

    def test_each_turn_is_kept_once(self, memory):
        """Also if the framework gives the conversation again; tools are not kept."""
        session, providers = AgentSession(session_id="s"), [MementoContextProvider(memory)]
        for text in (FACT, "And Oslo?", "Thanks."):
            run(Scripted(CALL, "Sunny."), text, providers, session)
        kept = [(one.role, one.text) for one in memory.list(session="s")]
        assert kept == [
            ("user", FACT),
            ("assistant", "Sunny."),
            ("user", "And Oslo?"),
            ("assistant", "Sunny."),
            ("user", "Thanks."),
            ("assistant", "Sunny."),
        ]

    def test_what_others_put_into_the_context_is_not_the_users(self, memory):
        """A page that another provider shows in the user's role is not kept."""

        class Pages(ContextProvider):
            async def before_run(self, *, context, **_):
                context.extend_messages(self, [Message("user", ["The code is 4711."])])

        run(Scripted(), "Hello!", [Pages("pages"), MementoContextProvider(memory)])
        assert "4711" not in str([one.text for one in memory.list()])

    def test_the_policy_ends_the_instructions(self, memory):
        """The user's rules stand in the system's text, once however often the model is called."""
        memory.add("Answer in Dutch", kind="rule")
        client = Scripted(CALL, "Zonnig.")
        run(client, "Hello!", [MementoContextProvider(memory, policy=True)])
        for instructions, _ in client.seen:
            assert instructions.startswith("You help.")
            assert instructions.count("Answer in Dutch") == 1

    def test_it_may_only_recall(self, memory):
        """With ``save=False`` nothing is written."""
        memory.add(FACT)
        client = Scripted()
        run(client, ASKED, [MementoContextProvider(memory, save=False)])
        assert "nuts" in str(client.seen)
        assert len(memory.list()) == 1

    def test_trouble_has_its_type(self, memory):
        """A closed store, a label that is none, and what is no manager."""
        with pytest.raises(InvalidInput, match="manager"):
            MementoContextProvider(None)
        with pytest.raises(InvalidInput, match="namespace"):
            run(Scripted(), "x", [MementoContextProvider(memory, namespace=lambda _: "a\nb")])
        memory.close()
        with pytest.raises(StoreClosed):
            run(Scripted(), ASKED, [MementoContextProvider(memory)])


class TestHistory:
    """The messages of a session, in memento."""

    def test_a_conversation_goes_on(self, memory):
        """Calls and results included, in a session object that knows nothing of it."""
        run(Scripted(CALL, "Sunny."), "And Oslo?", [MementoHistoryProvider(memory)])
        client = Scripted()
        run(client, "Thanks.", [MementoHistoryProvider(memory)])
        roles = [role for role, _ in client.seen[0][1]]
        assert roles == ["user", "assistant", "tool", "assistant", "user"]
        assert client.seen[0][1][3] == ("assistant", "Sunny.")

    def test_with_recall_each_turn_is_kept_once(self, memory):
        """The history keeps what is said, and the context provider recalls it."""
        providers = [MementoHistoryProvider(memory), MementoContextProvider(memory)]
        run(Scripted(), FACT, providers, AgentSession(session_id="monday"))
        client = Scripted()
        run(client, ASKED, providers, AgentSession(session_id="friday"))
        assert "nuts" in client.seen[0][1][-1][1]
        assert [one.text for one in memory.list()] == [FACT, "Noted.", ASKED, "Noted."]

    def test_the_session_names_the_user(self, memory):
        """One provider serves all; outside of a run there is no user."""
        history = MementoHistoryProvider(
            memory, namespace=lambda session: ("acme", session.state["user"])
        )
        for user in ("ann", "bob"):
            session = AgentSession(session_id="s")
            session.state["user"] = user
            run(Scripted(), f"I am {user}.", [history], session)
        assert [one.text for one in memory.of("acme", "ann").list()] == ["I am ann.", "Noted."]
        with pytest.raises(InvalidInput, match="context"):
            asyncio.run(history.get_messages("s"))

    def test_a_session_without_a_name_is_refused(self, memory):
        """Nothing is stored for nobody."""
        with pytest.raises(InvalidInput, match="session"):
            asyncio.run(MementoHistoryProvider(memory).get_messages(None))
