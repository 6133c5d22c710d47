"""retrieve through the public door: arguments, limits, time, and what it writes."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from beside import read_sql

from memento import Config
from memento.claims.settings import Conflicts
from memento.config import IndexConfig, LongIndex
from memento.errors import EmbedderError, InvalidInput, TierUnavailable
from memento.retrieve import vector_search
from memento.retrieve.columns import Roster
from memento.testing import HashEmbedder

HOUR = timedelta(hours=1)


class Synonyms(HashEmbedder):
    """Knows that an allergy has to do with peanuts; can be made to take its time."""

    def __init__(self, *, stuck: bool = False) -> None:
        super().__init__()
        self.go = threading.Event()
        if not stuck:
            self.go.set()

    def embed(self, texts):
        """Embed what is stored, as soon as it may."""
        assert self.go.wait(60)
        return self.embed_queries(texts)

    def embed_queries(self, texts):
        """Embed queries; they are never held up."""
        return super().embed([text.replace("allergy", "peanuts") for text in texts])


@pytest.fixture(params=[None, HashEmbedder(64)], ids=["text alone", "hybrid"])
def filled(request, open_memory):
    """Notes about tea and other things, with an embedder and without."""
    memory = open_memory(embedder=request.param)
    memory.add_many(
        [
            {"text": "Ada drinks green tea in the morning", "session": "a", "kind": "preference"},
            {"text": "Bob drinks black coffee at noon", "session": "a", "kind": "preference"},
            {"text": "The tea shop closes at six", "session": "b", "tier": "long"},
            {"text": "A recipe for lemon cake", "session": "b", "key": "cake", "tier": "short"},
            *({"text": f"note {n} about machines", "tier": "medium"} for n in range(20)),
        ]
    )
    assert memory.flush(wait=True, timeout=60)
    return memory


def test_the_best_comes_first(filled):
    """The memory about the subject of the query is on top, with its reasons."""
    found = filled.retrieve("green tea")
    assert found[0].text == "Ada drinks green tea in the morning"
    assert found.query == "green tea"
    assert found.missing == {}
    assert 0 < found.confidence <= 1
    assert "text #1" in found[0].explain()
    assert found.explain().startswith("1. Ada drinks green tea")
    assert set(found.took) >= {"total"}


def test_all_tiers_are_searched_at_once(filled):
    """Short, medium and long answer the same question."""
    assert {hit.tier for hit in filled.retrieve("tea cake machines", k=30)} == {
        "short",
        "medium",
        "long",
    }


def test_k_is_the_most(filled):
    """Never more; fewer when there are fewer."""
    assert [len(filled.retrieve("machines", k)) for k in (1, 3, 10_000)] == [1, 3, 20]


def test_equal_calls_have_equal_answers(filled):
    """Order and scores; being recorded changes nothing."""
    asked = [
        filled.retrieve("note about tea and machines", k=20, record=r) for r in (True, False, True)
    ]
    answers = [[(hit.id, hit.score, hit.terms, hit.ranks) for hit in found] for found in asked]
    assert answers[0] == answers[1] == answers[2]


def test_an_empty_query_finds_nothing_and_is_no_error(filled):
    """Nothing asked, nothing answered."""
    for query in ("", "  ", "?!", "\0"):
        assert len(filled.retrieve(query, min_score=0.5)) == 0
    assert filled.retrieve("").explain() == "nothing found"


def test_an_empty_namespace_answers_empty(filled):
    """Before anything was stored in it."""
    found = filled.of("nobody").retrieve("tea")
    assert (len(found), found.confidence, found.missing) == (0, 0.0, {})


def test_cutting_by_score(filled):
    """min_score is absolute, cutoff a share of the best; both keep the order."""
    everything = filled.retrieve("green tea in the morning", k=20)
    bar = everything[0].score * 0.9
    assert [h.id for h in filled.retrieve("green tea in the morning", k=20, min_score=bar)] == [
        h.id for h in everything if h.score >= bar
    ]
    assert [h.id for h in filled.retrieve("green tea in the morning", k=20, cutoff=0.9)] == [
        h.id for h in everything if h.score >= bar
    ]
    assert len(filled.retrieve("green tea", cutoff=1.0)) >= 1


def test_the_token_budget(filled):
    """Hits in ranked order as long as they fit; the counter may be one's own."""
    everything = filled.retrieve("machines", k=20)
    for budget in (1, 10, 25, 60):
        taken = filled.retrieve(
            "machines", k=20, tokens=budget, count_tokens=lambda text: len(text.split())
        )
        assert [h.id for h in taken] == [h.id for h in everything][: len(taken)]
        assert sum(len(hit.text.split()) for hit in taken) <= budget
    estimated = filled.retrieve("machines", k=20, tokens=20)
    assert 1 <= len(estimated) < 20


def test_names(filled):
    """The match argument decides how much a key or alias counts."""
    assert [h.text for h in filled.retrieve("cake", match="names")] == ["A recipe for lemon cake"]
    assert len(filled.retrieve("tea", match="names")) == 0
    assert filled.retrieve("cake", match="text")[0].text == "A recipe for lemon cake"
    assert "name" not in filled.retrieve("cake", match="text")[0].ranks


def test_superseded_ones_on_request(filled):
    """Hidden by default, shown when asked for, marked as what they are."""
    filled.add("Ada drinks mint tea in the morning", supersedes=filled.retrieve("green tea")[0].id)
    assert all(hit.memory.status == "active" for hit in filled.retrieve("tea morning", k=20))
    shown = filled.retrieve("tea morning", k=20, include_superseded=True)
    assert {hit.memory.status for hit in shown} == {"active", "superseded"}


def test_as_of(open_memory, clock):
    """The answer is what held then: neither what came later nor what was over by then."""
    memory = open_memory()
    memory.add("the office is in Rome", key="office")
    rome = clock()
    clock.advance(HOUR)
    memory.add("the office is in Oslo", key="office")
    assert [h.text for h in memory.retrieve("office", as_of=rome)] == ["the office is in Rome"]
    assert [h.text for h in memory.retrieve("office", as_of=clock())] == ["the office is in Oslo"]
    assert len(memory.retrieve("office", as_of=rome - HOUR)) == 0


def test_what_is_embedded_later_is_found_by_meaning_later(open_memory):
    """Each answer takes in the vectors that came since the last one."""
    memory = open_memory(embedder=HashEmbedder(64))
    for text in ("alpha one", "beta two", "gamma three"):
        memory.add(text, "long")
        assert memory.flush(wait=True, timeout=60)
        assert memory.retrieve(text)[0].text == text
        assert memory.retrieve(text)[0].ranks["meaning"] == 1


def test_since_and_until(open_memory, clock):
    """By when it happened, start inclusive, end exclusive."""
    memory = open_memory()
    start = clock()
    memory.add_many({"text": f"walk {n}", "occurred_at": start + n * HOUR} for n in range(5))
    found = memory.retrieve("walk", k=9, since=start + HOUR, until=start + 3 * HOUR)
    assert {hit.text for hit in found} == {"walk 1", "walk 2"}
    assert len(memory.retrieve("walk", since=start + 3 * HOUR, until=start + HOUR)) == 0


def test_reading_is_recorded_once_and_only_if_asked(memory):
    """One event a call that found something, written by flush at the latest."""
    kept = memory.add("green tea")
    memory.retrieve("tea")
    memory.retrieve("tea", record=False)
    memory.retrieve("zebra", min_score=0.9)
    memory.of("nobody").retrieve("tea")
    memory.flush()
    memory.flush()
    events = read_sql(memory, "SELECT detail FROM events WHERE kind = 'retrieved'")
    assert events == [(f'{{"ids": ["{kept.id}"]}}',)]


def test_a_change_shows_in_the_next_answer(memory):
    """The read path follows the ledger after a change by any method."""
    kept = memory.add("green tea", "short")
    assert memory.retrieve("tea", tier="short").hits
    memory.update(kept.id, tier="long")
    assert not memory.retrieve("tea", tier="short").hits
    memory.update(kept.id, kind="rule", scope="kitchen", tags=["hot"])
    assert memory.retrieve("tea", kind="rule", scope="kitchen", tag="hot").hits
    memory.forget(kept.id)
    assert not memory.retrieve("tea").hits
    memory.restore(kept.id)
    assert memory.retrieve("tea")[0].memory == memory.get(kept.id)


def test_near_identical_ones_fold(memory, clock):
    """The same words said twice are one hit that stands for both."""
    ids = {memory.add("tea is ready", occurred_at=clock() + n * HOUR).id for n in range(3)}
    (hit,) = memory.retrieve("tea")
    assert {hit.id, *hit.folded} == ids
    assert "represents 2 more with the same content" in hit.explain()


class TestWhoAnswersByMeaning:
    """Chroma and exact search give the same answers; a tier that cannot be asked is named."""

    CONFIG = Config(
        long_index=LongIndex.CHROMA,
        index=IndexConfig(start_seconds=0.0, poll_seconds=0.01),
    )

    def fill(self, open_memory, root, config):
        """Open a store of twelve notes and wait for its indexes."""
        memory = open_memory(root, embedder=HashEmbedder(64), config=config)
        memory.add_many(
            {
                "text": f"{a} {b} number {n}",
                "tier": ("short", "medium", "long")[n % 3],
                "id": f"i{n}",
            }
            for n, (a, b) in enumerate(
                (a, b) for a in ("north", "south", "east") for b in ("red", "blue", "green", "grey")
            )
        )
        assert memory.flush(wait=True, timeout=60)
        return memory

    def test_chroma_and_exact_search_agree(self, open_memory, tmp_path):
        """Same hits, same order, scores alike; also by a vector of the caller's, with a filter."""
        by_chroma = self.fill(open_memory, tmp_path / "c", self.CONFIG)
        exact = self.fill(open_memory, tmp_path / "e", Config(long_index="exact"))
        for query in ("south blue", "red", "number east north", "nothing of it"):
            answers = [m.retrieve(query, k=6, record=False) for m in (by_chroma, exact)]
            assert [h.id for h in answers[0]] == [h.id for h in answers[1]]
            for one, other in zip(*answers, strict=True):
                assert one.score == pytest.approx(other.score, abs=1e-4)
        (asked,) = exact.store.embed(["number east north"])
        for options in ({}, {"tier": "long"}):
            near = [m.store.nearest(asked, k=4, **options) for m in (by_chroma, exact)]
            # of equally near ones either may show others: the cosines are what is compared
            scores = [[hit.score for hit in found] for found in near]
            assert scores[0] == pytest.approx(scores[1], abs=1e-4)
            assert len(scores[0]) == 4
        assert by_chroma.store.stats().long == "ready"

    def test_when_chroma_fails_exact_search_stands_in(self, open_memory, tmp_path, monkeypatch):
        """The ledger has every vector: the answer is the same, and nothing is missing from it."""
        memory = self.fill(open_memory, tmp_path / "c", self.CONFIG)

        asked = []

        def fail(*_args, **_options):
            asked.append(1)
            raise TierUnavailable("long", "the folder burns")

        before = [hit.id for hit in memory.retrieve("south blue")]
        monkeypatch.setattr(memory._engine._long, "search", fail)
        found = memory.retrieve("south blue")
        assert asked
        assert [hit.id for hit in found] == before
        assert "meaning" in found[0].ranks
        assert found.missing == {}

    def test_an_embedder_that_fails_is_named_and_words_still_find(
        self, open_memory, tmp_path, monkeypatch
    ):
        """The reason is told the reason: found nothing and could not look are different answers."""
        memory = self.fill(open_memory, tmp_path / "c", self.CONFIG)

        def fail(_texts, **_how):
            raise EmbedderError("out of order")

        monkeypatch.setattr(memory._engine.embedding, "embed", fail)
        found = memory.retrieve("south blue")
        assert found[0].text.startswith("south blue")
        assert found.missing == {"long": "out of order"}
        assert "not asked: long (out of order)" in found.explain()

    def test_a_search_that_wants_the_index_has_it_opened(self, open_memory, tmp_path):
        """Cold at first: answered exactly at once, by the index from then on."""
        self.fill(open_memory, tmp_path / "c", self.CONFIG).close()
        memory = open_memory(tmp_path / "c", embedder=HashEmbedder(64), config=self.CONFIG)
        first = memory.retrieve("south blue", record=False)
        assert memory.flush(wait=True, timeout=60)
        assert memory.store.stats().long == "ready"
        assert [h.id for h in memory.retrieve("south blue", record=False)] == [h.id for h in first]


@pytest.mark.parametrize("embedder", [None, HashEmbedder(64)], ids=["text alone", "hybrid"])
def test_tiers_do_not_hide(open_memory, embedder):
    """A memory added without a tier is found in the same place whatever tier it was given."""
    texts = [
        "ok thanks for the kettle",
        "The kettle warranty number is 88-1273, never lose it",
        "we had tea from the kettle",
    ]
    memory = open_memory(embedder=embedder)
    added = [memory.add(text) for text in texts]
    assert len({one.tier for one in added}) > 1
    assert memory.flush(wait=True, timeout=60)
    question = "kettle warranty number"
    asked = [[hit.id for hit in memory.retrieve(question, 10, record=False)]]
    for tier in ("short", "medium", "long"):
        for one in added:
            memory.update(one.id, tier=tier)
        assert memory.flush(wait=True, timeout=60)
        asked.append([hit.id for hit in memory.retrieve(question, 10, record=False)])
    assert {one.id for one in added} == set(asked[0])
    assert all(order == asked[0] for order in asked)


def test_nothing_is_waited_for_where_nothing_embeds(open_memory):
    """Without an embedder there is nothing to come, however long one would wait."""
    memory = open_memory(embedder=None)
    memory.add("the boiler was serviced")
    found = memory.retrieve("boiler", wait=3600)
    assert len(found) == 1
    assert not found.missing


def test_waiting_finds_by_vector_what_was_just_said(open_memory):
    """``nearest`` waits in the same way; without waiting it says what it cannot find yet."""
    embedder = Synonyms(stuck=True)
    memory = open_memory(embedder=embedder)
    memory.add("peanuts", "long")
    asked = embedder.embed_queries(["allergy"])[0]
    early = memory.store.nearest(asked, wait=0.05)
    assert not early
    assert "1 memory is waiting to be embedded" in early.missing["long"]
    embedder.go.set()
    found = memory.store.nearest(asked, wait=60)
    assert [hit.text for hit in found] == ["peanuts"]
    assert not found.missing


def test_a_query_that_waits_does_not_count_the_whole_backlog(open_memory, monkeypatch):
    """Of more than a certain number it says so."""
    embedder = Synonyms(stuck=True)
    memory = open_memory(embedder=embedder)
    count = type(memory._engine.searcher)._owing
    monkeypatch.setitem(count.__globals__, "_MOST_OWED", 3)
    memory.add_many({"text": f"peanuts {n}", "tier": "long"} for n in range(3))
    assert "3 memories are waiting" in memory.retrieve("peanuts", wait=0.01).missing["long"]
    memory.add_many({"text": f"cashews {n}", "tier": "long"} for n in range(3))
    said = memory.retrieve("peanuts", wait=0.01).missing["long"]
    assert (
        said == "more than 3 memories are waiting to be embedded; flush(wait=True) waits for them"
    )
    embedder.go.set()


def test_while_most_is_still_to_be_embedded_every_answer_says_so(open_memory):
    """Also without waiting; no more once most active memories have a vector."""
    embedder = Synonyms(stuck=True)
    memory = open_memory(embedder=embedder)
    memory.add("peanuts", "long")
    memory.add("cashews", "long")
    found = memory.retrieve("peanuts", wait=0)
    assert [hit.text for hit in found] == ["peanuts"]
    assert "2 memories are waiting to be embedded" in found.missing["long"]
    assert not memory.of("others").retrieve("peanuts").missing
    embedder.go.set()
    memory.flush(wait=True, timeout=60)
    assert not memory.retrieve("peanuts").missing
    embedder.go.clear()
    memory.add("almonds", "long")
    assert not memory.retrieve("peanuts", wait=0).missing
    embedder.go.set()


@pytest.mark.parametrize("wait", [-1, 86_401, float("nan"), "5", True])
def test_a_wait_that_is_no_time_is_refused(open_memory, wait):
    """A negative, endless or mistyped wait is a typed error."""
    with pytest.raises(InvalidInput, match="wait"):
        open_memory(embedder=None).retrieve("tea", wait=wait)
    with pytest.raises(InvalidInput, match="wait"):
        open_memory(embedder=None).store.nearest([1.0], wait=wait)


def test_a_blank_query_names_nothing_missing(open_memory):
    """It asks for no vectors, so it cannot tell that there are none."""
    memory = open_memory(embedder=HashEmbedder(16))
    memory.add("green tea")
    memory.flush(wait=True)
    assert memory.retrieve(" ").missing == {}


@pytest.mark.parametrize("tail", [1, 4_096], ids=["filed", "in RAM"])
def test_a_vector_that_comes_between_two_reads_is_not_lost(open_memory, monkeypatch, tail):
    """Rows and vectors are read at one moment: no vector is passed over before its row is known."""
    monkeypatch.setattr(vector_search, "TAIL", tail)
    memory = open_memory(
        embedder=HashEmbedder(64),
        config=Config(long_index=LongIndex.EXACT, conflicts=Conflicts(pairs=0)),
    )
    memory.add("Ada drinks green tea")
    assert memory.flush(wait=True, timeout=60)
    looked = Roster.view
    late = ["the boiler is in the cellar"]

    def add():
        memory.add(late.pop())
        assert memory.flush(wait=True, timeout=60)

    def look(roster):
        if late:
            adding = threading.Thread(target=add)
            adding.start()
            adding.join(60)
        return looked(roster)

    monkeypatch.setattr(Roster, "view", look)
    memory.retrieve("tea")
    boiler = memory.retrieve("the boiler is in the cellar")[0]
    assert boiler.text == "the boiler is in the cellar"
    assert boiler.ranks["meaning"] == 1
