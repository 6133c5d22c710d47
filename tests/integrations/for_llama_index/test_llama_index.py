"""memento in LlamaIndex: a block of its memory, and its retrievers."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("llama_index.core", reason="pip install 'agent-memento[llama-index]'")

from llama_index.core.llms import ChatMessage
from llama_index.core.llms.mock import MockLLM
from llama_index.core.memory import Memory
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer

from memento.errors import InvalidInput, StoreClosed
from memento.testing import HashEmbedder
from memento_llama_index import MementoBlock, MementoRetriever

FACT = "I am allergic to nuts."
ASKED = "What am I allergic to?"

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


def talk(memory, session, *said, **options):
    """Say things in a conversation; return what the model would be shown last."""
    held = Memory.from_defaults(
        session_id=session,
        memory_blocks=[MementoBlock(memory)],
        tokenizer_fn=str.split,
        **{"insert_method": "user", **options},
    )

    async def run():
        for text in said:
            await held.aput(ChatMessage(text, role="user"))
            shown = await held.aget()
            await held.aput(ChatMessage("Noted.", role="assistant"))
        return shown

    return asyncio.run(run())


class TestBlock:
    """A block of LlamaIndex's memory."""

    def test_told_in_one_session_and_shown_in_the_next(self, memory):
        """What was said is in the user's last message, as data, once it is asked for."""
        talk(memory, "monday", FACT, "And now for something else.")
        shown = talk(memory, "friday", ASKED)
        assert len(shown) == 1
        assert "allergic to nuts" in shown[0].content
        assert shown[0].content.endswith(ASKED)
        said = [one.text for one in memory.list() if one.role == "user"]
        assert said == [FACT, "And now for something else.", ASKED]

    def test_where_llama_index_puts_it_by_default(self, memory):
        """A new system message, if the memory is told nothing else."""
        memory.add(FACT)
        assert [one.role for one in talk(memory, "s", ASKED, insert_method="system")] == [
            "system",
            "user",
        ]

    def test_what_leaves_the_short_term_memory_is_kept_once(self, memory):
        """It was kept when it was said; the last answers are kept when they leave."""
        said = [f"Tell me about topic number {n} please" for n in range(12)]
        talk(memory, "s", *said, token_limit=60, token_flush_size=20, chat_history_token_ratio=0.5)
        users = [one.text for one in memory.list(limit=100) if one.role == "user"]
        assert users == said

    def test_messages_that_were_never_read_are_kept_when_they_leave(self, memory):
        """A program that only puts messages loses none of those that leave."""

        async def run():
            held = Memory.from_defaults(
                session_id="s",
                token_limit=30,
                token_flush_size=5,
                memory_blocks=[MementoBlock(memory)],
                tokenizer_fn=str.split,
            )
            for n in range(12):
                await held.aput(ChatMessage(f"I own bike number {n} today", role="user"))
                await held.aput(ChatMessage("Noted.", role="assistant"))

        asyncio.run(run())
        assert "I own bike number 0 today" in {one.text for one in memory.list(session="s")}

    def test_it_is_shortened_by_whole_memories(self, memory):
        """The last go first, the frame stays, and nothing is left of an empty block."""
        for n in range(3):
            memory.add(f"I am allergic to nut number {n}.")
        block = MementoBlock(memory, priority=1)

        async def run(tokens):
            content = await block.aget([ChatMessage(ASKED, role="user")])
            return content, await block.atruncate(content, tokens)

        whole, short = asyncio.run(run(5))
        assert short.count("allergic") == whole.count("allergic") - 1
        assert short.splitlines()[-1] == whole.splitlines()[-1]
        assert asyncio.run(run(1_000))[1] is None

    def test_rules_come_with_it(self, memory):
        """The policy stands before the memories."""
        memory.add("Answer in Dutch", kind="rule")
        block = MementoBlock(memory, policy=True)
        assert "Answer in Dutch" in asyncio.run(block.aget([ChatMessage(ASKED, role="user")]))

    def test_trouble_has_its_type(self, memory):
        """A closed store, and what is no manager."""
        with pytest.raises(InvalidInput, match="manager"):
            MementoBlock(None)
        memory.close()
        with pytest.raises(StoreClosed):
            talk(memory, "s", ASKED)


class TestRetriever:
    """Memories as nodes."""

    @pytest.fixture
    def manager(self, open_memory):
        """A store that finds by meaning."""
        opened = open_memory(embedder=HashEmbedder(64))
        opened.add("Tea comes from Assam", metadata={"shelf": 3}, scope="shop")
        return opened

    def test_nodes(self, manager):
        """Id, text, score, your metadata, whose words they are and when they were said."""
        (found,) = MementoRetriever(manager, k=1).retrieve("tea from Assam")
        assert found.node.node_id == manager.list()[0].id
        assert (found.text, found.metadata["shelf"], found.metadata["by"]) == (
            "Tea comes from Assam",
            3,
            "user",
        )
        assert 0 < found.score <= 1
        assert found.node.get_content("llm").startswith("by: user\nwhen: 2025-01-01\n")
        assert asyncio.run(MementoRetriever(manager).aretrieve("tea from Assam"))

    def test_filters(self, manager):
        """Those of ``retrieve``; an unknown one is refused when it is made."""
        assert MementoRetriever(manager, filters={"scope": "shop"}).retrieve("tea from Assam")
        assert not MementoRetriever(manager, filters={"scope": "ship"}).retrieve("tea from Assam")
        with pytest.raises(InvalidInput, match="shelf"):
            MementoRetriever(manager, filters={"shelf": 3})
        with pytest.raises(InvalidInput, match="k"):
            MementoRetriever(manager, k=0)

    def test_a_query_engine(self, manager):
        """A model answers from what is remembered."""
        engine = RetrieverQueryEngine(
            MementoRetriever(manager), get_response_synthesizer(llm=MockLLM())
        )
        assert "Tea comes from Assam" in str(engine.query("Where does tea come from?"))
