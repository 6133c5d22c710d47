"""The places of a recall for several agents: one fact in other words takes one of them."""

import pytest

from memento.conversation import recalling
from memento.testing import HashEmbedder

REPORTS = [
    "The client is Acme and its budget is 40,000 euros.",
    "Acme is our client; they can spend EUR 40,000.",
    "Budget: 40k EUR, client: Acme Corp.",
    "We work for Acme, who set aside forty thousand euros.",
]
OTHERS = ["The contact person at Acme is Nadia Brandt.", "Acme wants the report in French."]


@pytest.fixture
def memory(open_memory):
    """Open a store in which four agents reported one thing, and two others each another one."""
    memory = open_memory(embedder="default")
    for agent, text in enumerate((*REPORTS, *OTHERS)):
        memory.add(text, "long", actor=f"agent {agent}")
    memory.flush(wait=True)
    return memory


def texts(memory, **options):
    """Recall three; return texts."""
    found = memory.recall(
        "What do we know about the client Acme?", k=3, min_confidence=0, **options
    )
    return [hit.text for hit in found.hits]


def test_a_fact_in_other_words_takes_one_place(memory):
    """The best one stays first; then comes what differs from it."""
    plain, spread = texts(memory), texts(memory, diverse=True)
    assert set(plain) <= set(REPORTS)
    assert spread[0] == plain[0]
    assert spread[1] in OTHERS


def test_nothing_is_lost_and_without_vectors_nothing_moves(open_memory, memory, tmp_path):
    """It orders what was found, all of it."""
    found = [
        memory.recall("client Acme", k=20, min_confidence=0, diverse=one) for one in (False, True)
    ]
    assert {hit.id for hit in found[0].hits} == {hit.id for hit in found[1].hits}
    words = open_memory(tmp_path / "words")
    for text in REPORTS:
        words.add(text, "long")
    assert texts(words) == texts(words, diverse=True)


def test_memories_that_have_little_in_common_keep_their_order(open_memory, monkeypatch):
    """Likeness up to the threshold moves nothing."""
    memory = open_memory(embedder=HashEmbedder(256))
    for text in (*REPORTS, *OTHERS):
        memory.add(text, "long")
    memory.flush(wait=True)
    monkeypatch.setattr(recalling, "LIKENESS", 0.999)
    assert texts(memory) == texts(memory, diverse=True)


def test_an_embedder_that_does_not_fit_costs_the_difference_only(open_memory, tmp_path):
    """The memories found by words come in their order, and ``missing`` says why."""
    memory = open_memory(tmp_path / "store", embedder=HashEmbedder(64))
    for text in (*REPORTS, *OTHERS):
        memory.add(text, "long")
    memory.flush(wait=True)
    memory.close()
    memory = open_memory(tmp_path / "store", embedder=HashEmbedder(32))
    assert texts(memory, diverse=True) == texts(memory)
    assert "long" in memory.recall("client Acme", diverse=True, min_confidence=0).missing
