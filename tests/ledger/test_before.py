"""Stores that an earlier commit wrote answer as that commit answered.

The code of commit 8da30f7 wrote ``stores/before-*`` and the answers beside them. ``hidden`` has
memories of every status, slots, links, versions, vectors of ``HashEmbedder``, the record of its
embedder and an import; ``visible`` is the same without what was quarantined or forgotten.

The weights of the ranking are those of that commit, which looked up no other words for the same.
Three differences are intended:

* Hidden memories leave no trace in the answers about others. In ``hidden`` the statistics of the
  words still counted them: the order of hits is the same, and a score differs by at most
  ``TRACE``. In ``visible`` every score is the same.
* The former value of a slot lends its successor a part of its words and meaning.
* ``stats().embedders`` counts the vectors of the namespace, not of the whole store.
"""

from __future__ import annotations

import gzip
import json
from datetime import datetime
from pathlib import Path

import pytest

from memento import Config, MemoryManager, Status
from memento.claims.config import Conflicts
from memento.config.retrieve import RetrieveConfig, Weights
from memento.retrieve import spellings
from memento.testing import HashEmbedder, ManualClock

FOLDER = Path(__file__).parent / "stores"
BEFORE = {
    name: json.loads((FOLDER / f"before-{name}.json").read_text(encoding="utf-8"))
    for name in ("hidden", "visible")
}
"""The answers of the earlier code, after everything was embedded."""
TRACE = {"hidden": 0.004, "visible": 2e-6}
"""Most by which a score may differ; the answers are rounded to six digits."""
WEIGHTS = Weights(calendar=3.3, form=0.0)
"""The weights of that commit, for turns and for memories outside any session."""
LENT = ("coffee", 'espresso "release 4.3"')
"""Questions whose words a former value of a slot has, which now helps its successor."""
ASKED = [
    pytest.param(name, question, id=f"{name} {question}")
    for name, answers in BEFORE.items()
    for question in answers["retrieve"]
]


def opened(root, name):
    """Open an old store with the code of today, at the moment of the answers."""
    root.mkdir(mode=0o700)
    file = FOLDER / f"before-{name}.db.gz"
    (root / "ledger.db").write_bytes(gzip.decompress(file.read_bytes()))
    clock = ManualClock(datetime.fromisoformat(BEFORE[name]["moment"]))
    config = Config(
        retrieve=RetrieveConfig(weights=WEIGHTS, alone=WEIGHTS),
        conflicts=Conflicts(pairs=0),  # that code compared no statements
    )
    memory = MemoryManager(root, embedder=HashEmbedder(64), clock=clock, config=config)
    assert memory.flush(wait=True, timeout=60)
    return memory


@pytest.fixture(autouse=True)
def no_other_words(monkeypatch):
    """Look up the words of a question alone, as the earlier code did."""
    monkeypatch.setattr(spellings, "others", lambda *_: ())
    spellings.synonyms.cache_clear()  # of what an earlier test looked up
    yield
    spellings.synonyms.cache_clear()


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """Both old stores, by name."""
    folder = tmp_path_factory.mktemp("before")
    made = {name: opened(folder / name, name) for name in BEFORE}
    yield made
    for memory in made.values():
        memory.close()


@pytest.fixture(params=list(BEFORE))
def name(request):
    """Each store in turn."""
    return request.param


@pytest.fixture
def before(name):
    """The answers of the earlier code."""
    return BEFORE[name]


@pytest.fixture
def memory(stores, name):
    """The old store."""
    return stores[name]


def hits(found, near):
    """List ids and scores, best first."""
    return [[hit.memory.id, pytest.approx(hit.score, abs=near)] for hit in found]


@pytest.mark.parametrize(("name", "question"), ASKED)
def test_a_question_has_the_same_answer(memory, before, name, question):
    """The same hits in the same order with the same scores."""
    found = memory.retrieve(question, 3, record=False)
    if question in LENT:
        assert found[0].id == before["retrieve"][question][0][0]
    else:
        assert before["retrieve"][question] == hits(found, TRACE[name])


@pytest.mark.parametrize(("name", "question"), ASKED)
def test_a_question_about_everything_has_the_same_answer(memory, before, name, question):
    """With what is superseded and quarantined as well."""
    found = memory.retrieve(
        question, 3, include_superseded=True, include_quarantined=True, record=False
    )
    assert before["retrieve everything"][question] == hits(found, TRACE[name])


@pytest.mark.parametrize(("name", "question"), ASKED)
def test_a_vector_has_the_same_neighbours(memory, before, question):
    """The same memories with the same cosines."""
    (vector,) = memory.embed([question])
    assert before["nearest"][question] == hits(memory.nearest(vector, 3, record=False), 2e-6)


@pytest.mark.parametrize("status", list(Status))
def test_each_status_lists_the_same(memory, before, status):
    """The same memories in the same order with the same fields."""
    found = [
        [
            one.id, one.text, one.tier.value, one.version, one.key, one.scope, list(one.tags),
            one.superseded_by, one.importance, one.occurred_at.isoformat(),
        ]
        for one in memory.list(status=status)
    ]  # fmt: skip
    assert found == before["list"].get(status.value, [])  # some statuses are newer


def test_each_memory_has_the_same_history(memory, before):
    """Every state, when it ended and why."""
    found = {
        memory_id: [
            [
                state.version, state.text, state.status.value, state.tier.value,
                state.until and state.until.isoformat(), state.reason,
            ]
            for state in memory.history(memory_id)
        ]
        for memory_id in before["history"]
    }  # fmt: skip
    assert found == before["history"]


def test_the_statistics_are_the_same(memory, before):
    """Tiers, statuses and redactions; an empty backlog; the vectors of the namespace."""
    stats, elsewhere = memory.store.stats(), memory.of("acme", "omar").store.stats()
    found = {part: dict(getattr(stats, part)) for part in before["stats"]}
    for embedder, count in elsewhere.embedders.items():
        found["embedders"][embedder] += count
    for part, counts in before["stats"].items():
        newer = {name: 0 for name in found[part] if name not in counts}
        assert found[part] == counts | newer


def test_the_ring_and_another_namespace_are_the_same(memory, before):
    """The newest turns of a session; the memories of a neighbour."""
    assert [one.id for one in memory.recent(session="standup")] == before["recent"]
    other = memory.of("acme", "omar")
    assert [one.id for one in other.list()] == before["other"]["list"]
    assert before["other"]["hit"] == hits(other.retrieve("coffee", 3, record=False), 2e-6)


def test_the_links_are_read(stores):
    """Links that had no reader when they were written."""
    (link,) = stores["hidden"].related("release")
    assert (link.memory.id, link.relation, link.outgoing) == ("audit", "related", False)
    (link,) = stores["hidden"].related("decaf")
    assert (link.memory.id, link.relation, link.outgoing) == ("espresso", "proposes", True)


def test_only_vectors_of_superseded_memories_are_missing(memory):
    """They were not kept then; doctor queues them, and every other part is sound."""
    wrong = {
        found.check: found.detail for found in memory.store.doctor(repair=False) if not found.ok
    }
    assert wrong in ({}, {"vectors": "2 memories have no vector and are not queued"})
    memory.store.doctor(repair=True)
    assert [found for found in memory.store.doctor(repair=False) if not found.ok] == []
