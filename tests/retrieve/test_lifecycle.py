"""Uses and verdicts move memories within bounds, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento import Config, Status
from memento.base.clock import to_micros
from memento.claims.settings import Conflicts
from memento.config import Sleep
from memento.dynamics.formulas import LEAST_EVIDENCE, Effect, Learnt
from memento.dynamics.settings import Dynamics
from memento.errors import InvalidInput
from memento.retrieve import usage_boost
from memento.retrieve.columns import STATUSES
from memento.retrieve.usage_boost import TERMS, Life, Strengths, bounded

DAY = timedelta(days=1)
QUESTION = "Where is the deploy runbook?"
NAMES = ("Heron", "Egret", "Bittern", "Plover", "Dunlin", "Avocet")


@pytest.fixture
def books(memory):
    """A store with six memories that match the question alike."""
    return filled(memory)


def filled(memory):
    """Add six memories that match the question alike."""
    for name in NAMES:
        memory.add(f"The deploy runbook of project {name} is here", "medium", id=name)
    return memory


def order(memory, question=QUESTION, **options):
    """Return the ids of an answer that is not recorded."""
    return [hit.id for hit in memory.retrieve(question, 10, record=False, **options)]


class TestOrder:
    """Where memories stand."""

    def test_nothing_happened_and_nothing_changes(self, books, open_memory):
        """A store without uses and verdicts answers as with the effects switched off."""
        off = open_memory(config=Config(effect=Effect.off()))
        for question in (QUESTION, "Heron", "what is here?", "deploy"):
            with_them = books.retrieve(question, 10, record=False)
            without = off.retrieve(question, 10, record=False)
            assert [hit.to_dict() for hit in with_them] == [hit.to_dict() for hit in without]
            assert with_them.confidence == without.confidence

    def test_what_was_used_leads(self, books):
        """Of equal memories the one that was of use comes first."""
        last = order(books)[-1]
        books.feedback.rate(last, useful=True)
        assert order(books)[0] == last
        (first, *rest) = books.retrieve(QUESTION, 10, record=False)
        assert first.terms["use"] > 0
        assert "use" in first.explain()
        assert all("use" not in hit.terms for hit in rest)

    def test_what_is_wrong_comes_last(self, books):
        """One verdict is enough."""
        first = order(books)[0]
        books.feedback.rate(first, verdict="wrong")
        assert order(books)[-1] == first
        hit = books.retrieve(QUESTION, 10, record=False)[-1]
        assert hit.terms["belief"] < 0
        assert hit.belief == pytest.approx(books.feedback.belief(first).mean)

    def test_scores_stay_with_the_places(self, books):
        """And so do limits by score, and the chance that there is an answer."""
        before = books.retrieve("deploy runbook of Plover", 10, record=False)
        books.feedback.rate("Egret", verdict="confirmed")
        after = books.retrieve("deploy runbook of Plover", 10, record=False)
        assert [hit.id for hit in after] != [hit.id for hit in before]
        assert [hit.score for hit in after] == [hit.score for hit in before]
        assert after.confidence == before.confidence

    def test_fewer_hits_are_the_first_of_more(self, books):
        """A limit changes no place."""
        books.feedback.rate("Plover", useful=True)
        every = order(books)
        for k in range(1, len(every)):
            found = books.retrieve(QUESTION, k, record=False)
            assert [hit.id for hit in found] == every[:k]

    def test_a_memory_named_by_the_query_stays_first(self, memory):
        """However often another was used."""
        memory.add("The long list is in the attic", "medium", id="key", key="list/attic")
        for name in ("a", "b"):
            memory.add(f"list/attic has {name} and the attic list", "medium", id=name)
        for _ in range(4):
            memory.feedback.rate("a", verdict="confirmed")
        memory.feedback.rate("key", verdict="ignored")
        assert order(memory, "list/attic")[0] == "key"

    def test_verdicts_decide_before_the_newer_statement(self, memory):
        """Two statements that differ in their object: the newer first, until one is judged."""
        memory.add("The dentist of Rami is in Lisbon", "medium", id="old")
        memory.add("The dentist of Rami is in Porto", "medium", id="new")
        question = "Where is the dentist of Rami?"
        assert order(memory, question) == ["new", "old"]
        memory.feedback.rate("new", verdict="wrong")
        assert order(memory, question) == ["old", "new"]

    def test_another_namespace_feels_nothing(self, books):
        """Uses in one are unknown in the other."""
        other = filled(books.of("other"))
        before = order(other)
        books.feedback.rate(before[-1], verdict="confirmed")
        assert order(other) == before

    def test_in_quarantine_nothing_is_felt(self, books):
        """The same memory is moved when it is active."""
        books.feedback.rate("Heron", verdict="confirmed")
        order(books)
        searcher, config = books._engine.searcher, books.store.config
        held = searcher._kept.hold((books._engine.ledger.find_namespace(books.store.namespace), ()))
        snap, rows = held.roster.view(), np.arange(len(NAMES))
        life = Life(held.strengths, to_micros(books.store.clock()), config.dynamics, config.effect)
        assert life.effects(snap, rows)["belief"][0] > 0
        waiting = np.full_like(snap.status, STATUSES[Status.QUARANTINED])
        assert life.effects(replace(snap, status=waiting), rows) is None

    def test_an_answer_of_the_past_knows_no_later_verdict(self, books, clock):
        """Nor says it what is believed today."""
        before, moment = order(books), clock()
        clock.advance(DAY)
        books.feedback.rate(before[-1], verdict="confirmed")
        then = books.retrieve(QUESTION, 10, record=False, known_at=moment)
        assert [hit.id for hit in then] == before
        assert {hit.belief for hit in then} == {None}
        assert order(books)[0] == before[-1]

    def test_many_retracted_verdicts_move_nothing(self, open_memory, clock):
        """The next answer is without all of them, although a transaction folds only some."""
        books = open_memory(config=Config(sleep=Sleep(auto="off"), conflicts=Conflicts(pairs=0)))
        names = [f"Number {n}" for n in range(25)]
        for name in names:
            books.add(f"The deploy runbook of project {name} is here", "medium", id=name)

        def effects():
            hits = books.retrieve(QUESTION, 25, record=False)
            return [(hit.id, {*hit.terms} & {"use", "belief", "worth"}) for hit in hits]

        before = effects()
        for _ in range(20):
            books.feedback.rate(names[:24], verdict="wrong", source="agent")
            clock.advance(timedelta(hours=2))
        assert effects() != before
        assert books.feedback.retract(source="agent") == 480
        assert effects() == before

    def test_another_process_sees_it(self, books, open_memory):
        """Rows that another one wrote are followed."""
        other = open_memory()
        last = order(other)[-1]
        books.feedback.rate(last, useful=True)
        assert order(other)[0] == last
        books.feedback.rate(last, verdict="harmful")
        assert order(other)[-1] == last

    def test_an_erased_memory_takes_its_effect_along(self, books):
        """The others stand as before."""
        before = order(books)
        books.feedback.rate(before[0], useful=True)
        books.store.erase(before[0])
        assert order(books) == before[1:]


class TestBounds:
    """The distance that a memory can move."""

    def test_off_means_off(self, books, open_memory):
        """No verdict moves anything; belief is told all the same."""
        before = order(books)
        books.feedback.rate(before[0], verdict="harmful")
        off = open_memory(config=Config(effect=Effect.off()))
        assert order(off) == before
        assert off.retrieve(QUESTION, record=False)[0].belief < 0.5

    def test_off_is_the_order_of_a_store_without_events(self, books, open_memory):
        """However much happened: places, scores and confidence are as if nothing had."""
        questions = (QUESTION, "Heron", "what is here?", "deploy runbook")
        off = open_memory(config=Config(effect=Effect.off()))
        before = [off.retrieve(one, 10, record=False) for one in questions]
        for verdict in ("used", "confirmed", "ignored", "wrong"):
            answer = books.retrieve(QUESTION, 10)
            books.feedback.rate([hit.id for hit in answer[:2]], verdict="used")
            books.feedback.rate(answer[2].id, verdict=verdict)
        books.flush(wait=True)
        books.sleep.run(steps=["fold"])
        assert books.retrieve(QUESTION, 10, record=False)[0].terms["use"] > 0
        after = [off.retrieve(one, 10, record=False) for one in questions]
        assert [one.confidence for one in after] == [one.confidence for one in before]
        assert [[(hit.id, hit.score) for hit in one] for one in after] == [
            [(hit.id, hit.score) for hit in one] for one in before
        ]

    @pytest.mark.parametrize("bound", [3.0, 1.0, 10.0])
    def test_all_effects_together_stay_within_the_bound(self, open_memory, monkeypatch, bound):
        """A sum beyond it is cut from each of them alike."""
        monkeypatch.setattr(usage_boost, "BELIEF_WEIGHT", 10.0)
        monkeypatch.setattr(usage_boost, "WORTH_WEIGHT", 10.0)
        memory = filled(open_memory(config=Config(effect=Effect(bound=bound))))
        for name in ("Heron", "Egret"):
            memory.feedback.rate(name, verdict="confirmed")
        memory.feedback.rate("Plover", verdict="harmful")
        moved = {
            hit.id: sum(hit.terms.get(name, 0.0) for name in TERMS)
            for hit in memory.retrieve(QUESTION, 10, record=False)
        }
        assert moved["Heron"] == pytest.approx(min(bound, 4.8), abs=0.5)
        assert moved["Plover"] == pytest.approx(-bound, abs=1e-4)
        assert moved["Dunlin"] == 0

    @given(
        st.lists(st.floats(-8, 8, width=32), min_size=2, max_size=12),
        st.lists(st.floats(0, 12, width=32), min_size=12, max_size=12),
        st.floats(0, 3),
        st.floats(LEAST_EVIDENCE, 1),
    )
    def test_none_passes_one_that_is_twice_the_bound_better(self, effects, sums, bound, tells):
        """The effects and the lessons may be any."""
        life, rows = fake(effects, bound, tells), np.arange(len(effects))
        evidence = np.array(sums[: len(effects)], np.float32)
        ranked = np.lexsort((-rows, -evidence))
        none = np.zeros(len(rows), np.float32)
        moved = life.move(None, rows, ranked, sums=evidence, named=none, scores=evidence)
        if moved is None:
            return
        assert (np.abs(sum(moved.parts.values())) <= bound + 1e-4).all()
        place = {int(row): at for at, row in enumerate(moved.order)}
        for one in rows.tolist():
            for other in rows.tolist():
                if evidence[one] > evidence[other] + 2 * bound + 1e-4:
                    assert place[one] < place[other]
        assert sorted(moved.scores.tolist()) == sorted(evidence.tolist())
        assert (np.diff(moved.scores[moved.order]) <= 0).all()

    @given(
        st.lists(st.floats(0, 12, width=32), min_size=2, max_size=12),
        st.floats(LEAST_EVIDENCE, 1),
    )
    def test_levelling_alone_keeps_the_order(self, sums, tells):
        """Of memories to which the same happened."""
        evidence, rows = np.array(sums, np.float32), np.arange(len(sums))
        life, none = fake([1.0] * len(sums), 3.0, tells), np.zeros(len(sums), np.float32)
        ranked = np.lexsort((-rows, -evidence))
        moved = life.move(None, rows, ranked, sums=evidence, named=none, scores=evidence)
        assert (np.diff(evidence[moved.order]) <= 1e-4).all()

    def test_without_a_bound_one_would(self):
        """Null control of the test before."""
        life, rows = fake([-8.0, 8.0], 10.0), np.arange(2)
        evidence, none = np.array([7.0, 0.0], np.float32), np.zeros(2, np.float32)
        ranked = np.array([0, 1])
        moved = life.move(None, rows, ranked, sums=evidence, named=none, scores=evidence)
        assert moved.order.tolist() == [1, 0]

    def test_without_verdicts_use_moves_twice_its_weight_at_most(self, books, clock):
        """However often a memory is used."""
        for _ in range(30):
            clock.advance(DAY)
            books.feedback.rate("Plover", useful=True)
        (hit,) = [one for one in books.retrieve(QUESTION, 10) if one.id == "Plover"]
        assert 0 < hit.terms["use"] <= 2 * Effect().use

    @pytest.mark.parametrize(
        "wrong",
        [{"use": 2.0}, {"bound": -1}, {"learn": 1}, {"rivals": float("nan")}],
    )
    def test_settings_out_of_range_are_refused(self, wrong):
        """Each says its range."""
        with pytest.raises(InvalidInput, match=f"effect.{next(iter(wrong))}"):
            Effect(**wrong)


def fake(effects, bound, tells=1.0):
    """Return a life in which memories have these beliefs, in nats, clipped at a bound."""

    class Known(Life):
        def effects(self, _snap, _rows, levelled=None):
            found = np.array(effects, np.float32)
            if levelled is None:
                found = np.clip(found, -bound, bound)
                return {"belief": found} if found.any() else None
            belief, levelled = bounded([found, levelled], bound)
            return {"belief": belief, "levelled": levelled}

    known = Strengths()
    known.learnt = Learnt(0.3, tells)
    return Known(known, 0, Dynamics(), Effect(bound=bound))


class TestFading:
    """Whether a memory fades is told, and moves nothing."""

    def test_unused_for_many_days_of_use(self, memory, clock):
        """Calendar days alone do not count, pinned memories never fade."""
        memory.add("The berth is number 14", "medium", id="berth", kind="context")
        memory.add("The berth is blue", "medium", id="pinned", kind="context", pinned=True)
        other = memory.add("Rami likes tea", "medium")
        clock.advance(400 * DAY)
        assert not memory.retrieve("berth", record=False)[0].fading
        for _ in range(40):
            clock.advance(DAY)
            memory.feedback.rate(other.id, verdict="ignored")
        fading = {hit.id: hit.fading for hit in memory.retrieve("berth", record=False)}
        assert fading == {"berth": True, "pinned": False}
        assert not memory.retrieve("tea", record=False)[0].fading
