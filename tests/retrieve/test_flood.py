"""Many rows that are not wanted do not hide one that is, however many and however new."""

from __future__ import annotations

import time
from datetime import timedelta

import numpy as np
import pytest

from memento import Config, MemoryManager, Source
from memento.testing import HashEmbedder

FLOOD = 3_000
QUESTIONS = ("zebra", "zebra attic", "where does the zebra sleep?", "zebra4711 in the attic")


@pytest.fixture
def good(open_memory):
    """A store that holds one good memory, the oldest."""
    memory = open_memory(embedder=None)
    memory.add("The zebra4711, a zebra, sleeps in the attic", id="good", tags=["ada"])
    return memory


def flood(memory, **fields):
    """Add thousands of memories that hold all words of every question."""
    for batch in range(FLOOD // 500):
        memory.add_many(
            {"text": f"zebra4711 zebra attic sleep {batch} {n}", **fields} for n in range(500)
        )


def found(memory, **options):
    """Ask every question; returns the ids of each answer."""
    return [[hit.id for hit in memory.retrieve(text, **options)] for text in QUESTIONS]


def test_a_flood_in_quarantine_hides_nothing(good):
    """Neither in quarantine nor when it was rejected."""
    flood(good, source="web")
    assert found(good) == [["good"]] * len(QUESTIONS)
    for waiting in good.quarantine.list(limit=FLOOD):
        good.quarantine.reject(waiting.id)
    assert found(good) == [["good"]] * len(QUESTIONS)


def told(memory):
    """Ask every question; returns each answer with what speaks for its hits."""
    return [
        [
            (hit.id, hit.score, hit.confidence, hit.terms)
            for hit in memory.retrieve(text, 20, record=False)
        ]
        for text in ("what does Rami drink?", "Rami tea number 7", QUESTION, "zanzib")
    ]


def test_a_flood_in_quarantine_moves_no_score(tea):
    """More of theirs than are read of a word, around the user's as many: not a digit changes."""
    rare = tea.add("Zanzibar exports tea", "long", session="s2")
    before = told(tea)
    page = Source("web", "https://example.org/page")
    for start in range(0, FLOOD, 500):
        tea.add_many(
            {"text": f"Rami drinks tea, Zanzib {start} {n}", "source": page, "session": "s2"}
            for n in range(500)
        )
    late = tea.add("Rami drinks water", "long")
    assert told(tea) != before
    tea.store.erase(late.id)
    assert told(tea) == before
    assert len(tea.quarantine.forget_source(page.uri)) == FLOOD
    assert told(tea) == before
    tea.store.erase(source=page.uri)
    tea.store.erase(rare.id)


def test_what_a_filter_leaves_out_hides_nothing(good):
    """A filter is no choice among what was found, but of where to look."""
    flood(good, tags=["bob"])
    assert found(good, tag="ada") == [["good"]] * len(QUESTIONS)
    assert all("good" not in answer for answer in found(good, tag="bob"))


QUESTION = "does Rami drink tea in Zanzibar?"


@pytest.fixture(scope="module")
def tea(tmp_path_factory):
    """More memories of tea than are read of a frequent word, in five sessions."""
    with MemoryManager(tmp_path_factory.mktemp("tea") / "m", embedder=None) as memory:
        memory.add_many(
            {"text": f"Rami drinks tea number {n}", "tier": "long", "session": f"s{n % 5}"}
            for n in range(2_600)
        )
        yield memory


@pytest.mark.parametrize("how", ["quarantined", "forgotten", "in another session"])
def test_one_memory_that_is_not_wanted_empties_no_answer(tea, how):
    """A rare word that stands in unwanted memories only does not count as found."""
    source = "web" if how == "quarantined" else "user"
    rare = tea.add(f"Zanzibar is full of spiders, {how}", "long", session="s1", source=source)
    if how == "forgotten":
        tea.forget(rare.id)
    found = tea.retrieve(QUESTION, 3, session="s3")
    assert [hit.memory.session for hit in found] == ["s3"] * 3
    tea.store.erase(rare.id)


@pytest.mark.parametrize("k", [5, 100, 2_000])
def test_a_rare_word_is_found_first_and_hides_no_other(tea, k):
    """Memories with the rare word lead; those with the frequent ones fill the rest."""
    rare = tea.add("Zanzibar exports cloves", "long")
    found = tea.retrieve("Rami tea Zanzibar", k)
    assert len(found) == k
    assert rare.id in {hit.id for hit in found}
    tea.store.erase(rare.id)


class Harbour(HashEmbedder):
    """Puts boats nearest to ships, and everything else a good way off."""

    def embed(self, texts):
        """Embed by the one word that matters."""
        rows = []
        for text in texts:
            noise = np.random.default_rng(sum(text.encode())).normal(0, 0.05, self.dim)
            noise[:3] = (1, 0.1, 0) if "boat" in text or "ship" in text else (0.7, 0, 0.7)
            rows.append(noise / np.linalg.norm(noise))
        return np.array(rows, np.float32)


@pytest.mark.parametrize("index", ["chroma", "exact"])
def test_an_index_full_of_what_is_not_wanted_hides_nothing(open_memory, clock, index):
    """Nearest through Chroma: other sessions and expired memories stand before all that pass."""
    memory = open_memory(embedder=Harbour(8), config=Config(long_index=index))
    memory.add_many({"text": f"boat {n}", "tier": "long", "session": "A"} for n in range(1_700))
    memory.add_many(
        {"text": f"boat, old {n}", "tier": "long", "expires_in": 10} for n in range(300)
    )
    memory.add_many({"text": f"harbour {n}", "tier": "long", "session": "B"} for n in range(700))
    assert memory.flush(wait=True, timeout=120)
    memory.retrieve("ship", record=False)  # makes Chroma load
    while index == "chroma" and memory._engine.long_state() != "ready":
        time.sleep(0.05)
    clock.advance(timedelta(hours=1))
    ship = memory.store.embed(["ship"])[0]
    assert len(memory.store.nearest(ship, 5, session="B")) == 5
    assert len(memory.retrieve("ship", 5, session="B")) == 5
    memory.forget_many(session="A")
    assert len(memory.store.nearest(ship, 5)) == 5
    assert len(memory.retrieve("ship", 5)) == 5


def test_a_budget_goes_on_to_what_still_fits(open_memory):
    """Small k and few tokens: those too long are passed over for the next that fit."""
    memory = open_memory()
    memory.add("tea", "long")
    memory.add_many(
        {"text": f"tea tea tea {n} " + "tea and a lot of words around it " * 4, "tier": "long"}
        for n in range(40)
    )
    for k in (1, 5, 16, 17, 100):
        found = memory.retrieve("tea 3 words lot around", k, tokens=10)
        assert [hit.text for hit in found] == ["tea"]
