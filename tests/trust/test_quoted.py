"""A text that memento makes of several memories names them all and is trusted as the least."""

from __future__ import annotations

import pytest
from crossing import pairs

from memento import Config, MemoryManager
from memento.testing import HashEmbedder
from memento.types import Trust

SHORT = (
    "No, that's the old one.",
    "That one I prefer.",
    "It's the second one, not the first.",
    "No, it's on Thursday, not Tuesday.",
)
WORD = "Zebraville"
TOLD = f"Your appointment is in {WORD} on Tuesday. The second one is later."
NOBODY = ("agent", "tool", "web", "import")


def told(memory, said, trust, *, session, at_once):
    """Let the assistant say something and the user answer, in one call or in two."""
    turn = {"role": "assistant", "content": TOLD} | ({"trust": trust} if trust else {})
    messages = [{"role": "user", "content": "When is it?"}, turn]
    answer = {"role": "user", "content": said}
    if at_once:
        memory.observe(messages=[*messages, answer], session=session)
    else:
        memory.observe(messages=messages, session=session)
        memory.observe(messages=[answer], session=session)


def quoting(memory):
    """List the memories that hold a word of the assistant's and are no turns."""
    found = memory.list(status=["active", "quarantined", "superseded"])
    return [one for one in found if WORD in one.text and one.role is None]


@pytest.mark.parametrize(
    ("said", "trust", "how"),
    pairs(SHORT, [None, "agent", "tool", "web"], [("s", True), ("s", False), (None, True)]),
)
def test_a_quotation_is_no_more_than_what_it_quotes(tmp_path, said, trust, how):
    """It names the turn, is trusted as little, waits with it, and is erased with it."""
    session, at_once = how
    with MemoryManager(tmp_path, embedder=HashEmbedder()) as memory:
        told(memory, said, trust, session=session, at_once=at_once)
        turn = next(
            one
            for one in memory.list(status=["active", "quarantined"])
            if one.role is not None and WORD in one.text
        )
        for one in quoting(memory):
            assert turn.id in one.source.parents
            parents = [memory.get(parent) for parent in one.source.parents]
            assert one.source.kind is Trust.least(parent.source.kind for parent in parents)
            assert one.status == turn.status
        memory.store.erase(turn.id)
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in left if WORD.encode() in path.read_bytes()]


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("said", SHORT)
def test_words_of_an_agent_that_is_not_trusted_wait(tmp_path, said, keep):
    """Also if the turns themselves are not kept."""
    config = Config(untrusted=NOBODY)
    with MemoryManager(tmp_path, embedder=HashEmbedder(), config=config) as memory:
        messages = [{"role": "assistant", "content": TOLD}, {"role": "user", "content": said}]
        memory.observe(messages=messages, session="s", keep=keep)
        assert [one.text for one in memory.list() if WORD in one.text] == []
        assert WORD not in memory.rules.policy().head


def test_a_correction_that_quotes_still_takes_the_place_of_what_it_corrects(tmp_path):
    """The user speaks, so the earlier value gives way, although the quotation is an agent's."""
    with MemoryManager(tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe("I live in Utrecht.", "You live in Utrecht.", session="s")
        memory.observe("No, I live in Porto now.", session="s")
        assert memory.value("user/home").text.startswith("I live in Porto")
        assert memory.value("user/home").source.kind is Trust.USER


def test_every_piece_of_a_long_message_is_a_parent(tmp_path):
    """Erasing the piece that holds a statement erases the statement."""
    with MemoryManager(tmp_path, embedder=HashEmbedder()) as memory:
        filler = "The weather was as it often is in autumn. " * 500
        seen = memory.observe(f"{filler}\n\nI live in {WORD}.", session="s")
        pieces = [one for one in memory.list() if one.role == "user"]
        assert len(pieces) > 1
        for one in seen.learned:
            assert {piece.id for piece in pieces} == set(one.memory.source.parents)


def test_a_confirmed_candidate_names_what_it_quotes(tmp_path):
    """A statement that was in doubt has the same parents once it is confirmed."""
    with MemoryManager(tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe(assistant=TOLD, session="s")
        seen = memory.observe("Hm, that one is fine for me I guess, not the other.", session="s")
        for one in seen.doubtful:
            kept = memory.rules.confirm(one)
            assert kept.source.parents == one.parents
            assert len(one.parents) == 1 + (WORD in one.text)
