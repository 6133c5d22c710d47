"""How much use and evidence tell is learnt from feedback, for each namespace."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento import Config
from memento.dynamics.formulas import LEAST_EVIDENCE, MOST_USE, Effect, Learnt, Lesson, learn
from memento.ledger import learnt_weights, strength_fold

HOURS = timedelta(hours=2)
QUESTION = "Where is the deploy runbook?"


@pytest.fixture
def books(memory):
    """A store with four memories that match the question alike."""
    for name in ("Heron", "Egret", "Bittern", "Plover"):
        memory.add(f"The deploy runbook of project {name} is here", "medium", id=name)
    return memory


def weight(memory):
    """Return the learnt weight, None if nothing was learnt."""
    ledger = memory._engine.ledger
    ns = ledger.find_namespace(memory.store.namespace)
    known = ledger.read(lambda c: learnt_weights.known_in(c, ns))
    return None if known is None else known.use


def evidence(memory):
    """Return the learnt weight of evidence; 1 if nothing was learnt."""
    ledger = memory._engine.ledger
    ns = ledger.find_namespace(memory.store.namespace)
    return (ledger.read(lambda c: learnt_weights.known_in(c, ns)) or Learnt(0.0)).evidence


def use(memory, clock, name, times=8, **options):
    """Ask and use one hit, again and again."""
    for _ in range(times):
        clock.advance(HOURS)
        found = memory.retrieve(QUESTION, 10, record=False)
        (hit,) = [one for one in found if one.id == name]
        memory.feedback.rate(hit, **({"useful": True} | options))


numbers = st.lists(st.floats(0, 12), min_size=2, max_size=10)


@given(st.floats(0, MOST_USE), st.floats(LEAST_EVIDENCE, 1), numbers, st.data(), st.floats(0, 1))
def test_the_weights_stay_in_their_ranges(use, evidence, sums, data, rate):
    """Every sum, use and place is tried."""
    uses = data.draw(st.lists(st.floats(0, 2), min_size=len(sums), max_size=len(sums)))
    used = data.draw(st.integers(0, len(sums) - 1))
    after = learn(Learnt(use, evidence), Lesson(used, sums, uses), rate)
    assert 0 <= after.use <= MOST_USE
    assert LEAST_EVIDENCE <= after.evidence <= 1


def test_use_that_tells_gains_weight(books, clock):
    """The same memory is needed again and again."""
    use(books, clock, "Plover")
    assert weight(books) > Effect().use


def test_use_that_misleads_loses_weight(books, clock):
    """Another memory than the one used before is needed."""
    use(books, clock, "Plover", 1)
    first = weight(books)
    use(books, clock, "Heron", 1)
    use(books, clock, "Egret", 1)
    use(books, clock, "Bittern", 1)
    assert weight(books) < first


def test_the_weight_acts(books, clock):
    """A used memory stands higher by the learnt weight."""
    use(books, clock, "Plover", 12)
    clock.advance(HOURS)
    after = books.retrieve(QUESTION, record=False)[0]
    assert after.id == "Plover"
    assert after.terms["use"] == pytest.approx(
        weight(books) * books.feedback.strength("Plover").use, abs=1e-4
    )


def unlike(memory):
    """Add memories of which one has less evidence; return its name."""
    memory.add("The deploy runbook of project Heron is here", "medium", id="near")
    memory.add("A deploy runbook", "medium", id="short")
    memory.add("Somebody put a runbook into the attic", "medium", id="far")
    return "far"


def test_evidence_that_misleads_counts_less(memory, clock):
    """The memory that is needed has less of it each time: its differences are levelled."""
    far = unlike(memory)
    before = {hit.id: sum(hit.terms.values()) for hit in memory.retrieve(QUESTION, 10)}
    assert before[far] == min(before.values())
    use(memory, clock, far, 12)
    assert LEAST_EVIDENCE <= evidence(memory) < 1
    levelled = {hit.id: hit.terms["levelled"] for hit in memory.retrieve(QUESTION, 10)}
    best = max(before, key=before.get)
    assert levelled[far] - levelled[best] == pytest.approx(
        (1 - evidence(memory)) * (before[best] - before[far]), abs=0.05
    )


def test_evidence_that_is_right_keeps_its_weight(memory, clock):
    """The first hit is the one that is needed: nothing is levelled, and no term says so."""
    unlike(memory)
    first = memory.retrieve(QUESTION, 10, record=False)[0].id
    use(memory, clock, first, 12)
    assert evidence(memory) == 1
    assert all("levelled" not in hit.terms for hit in memory.retrieve(QUESTION, 10))


def test_a_lesson_is_about_the_evidence_as_it_was_found(memory, clock):
    """Not about what was levelled: else it would be levelled again and again."""
    far = unlike(memory)
    plain = memory.retrieve(QUESTION, 10, record=False)
    use(memory, clock, far, 12)
    hits = memory.retrieve(QUESTION, 10, record=False)
    sums = dict(zip(hits[0].beside.ids, hits[0].beside.sums, strict=True))
    for hit in plain:
        if hit.id != far:
            assert sums[hit.id] == pytest.approx(sum(hit.terms.values()), abs=0.01)


def test_what_has_no_sums_is_not_reordered_by_levelling(memory, clock):
    """An answer of which nothing was used or judged is as it was, also after lessons."""
    far = unlike(memory)
    for name in ("soup", "stew", "salad"):
        memory.add(f"The recipe of the {name} is in the blue book", "medium", id=name)
    question = "Where is the recipe of the stew?"
    words = [(hit.id, hit.terms) for hit in memory.retrieve(question, 3, record=False)]
    use(memory, clock, far, 12)
    assert evidence(memory) < 1
    assert [hit.id for hit in memory.retrieve(question, 3, record=False)] == [w for w, _ in words]


def test_it_can_be_frozen(open_memory, clock):
    """Then every namespace has the weight of the settings."""
    memory = open_memory(config=Config(effect=Effect(use=0.7, learn=False)))
    for name in ("a", "b"):
        memory.add(f"The deploy runbook {name} is here", "medium", id=name)
    use(memory, clock, "a", 3)
    hit = memory.retrieve(QUESTION, record=False)[0]
    assert weight(memory) is None
    assert hit.terms["use"] == pytest.approx(0.7 * memory.feedback.strength("a").use, abs=1e-4)


def test_a_citation_teaches_half(books, clock):
    """The agent's verdicts count half, and once a day for each memory."""
    clock.advance(HOURS)
    use(books, clock, "Plover", 1)
    before = weight(books)
    clock.advance(HOURS)
    found = books.retrieve(QUESTION, 10, record=False)
    assert books.feedback.cite(found, "It is the one of project Plover.") == ("Plover",)
    once = weight(books)
    assert before < once
    clock.advance(HOURS)
    found = books.retrieve(QUESTION, 10, record=False)
    assert books.feedback.cite(found, "It is the one of project Plover.") == ("Plover",)
    assert weight(books) == once


@pytest.mark.parametrize("source", ["tool", "web", "import"])
def test_nobody_else_teaches(books, clock, source):
    """Their verdicts are kept and have no effect."""
    use(books, clock, "Plover", 3, source=source)
    assert weight(books) in (None, Effect().use)


def test_a_whole_answer_teaches_too(books, clock):
    """Its first three hits were of use."""
    use(books, clock, "Plover", 1)
    clock.advance(HOURS)
    before = weight(books)
    books.feedback.rate(books.retrieve(QUESTION, record=False), useful=True)
    assert weight(books) != before


def test_it_comes_back_from_the_log(books, clock):
    """Dropped and folded again it is the same, bit for bit, in bites of any size."""
    use(books, clock, "Plover", 4)
    use(books, clock, "Heron", 2)
    kept, ledger = weight(books), books._engine.ledger
    for most in (1, 3, 500):
        ledger.write(learnt_weights.forget_all)
        assert weight(books) is None
        while ledger.write(lambda c, most=most: learnt_weights.catch_up(c, Effect(), 0.5, most)):
            pass
        assert weight(books) == kept


def test_a_retracted_verdict_teaches_nothing(books, clock):
    """The weight is as if it had never been given."""
    use(books, clock, "Plover", 2)
    kept = weight(books)
    use(books, clock, "Heron", 1)
    assert weight(books) != kept
    books.feedback.retract(event=books.feedback.belief("Heron").evidence[-1].event)
    assert weight(books) == kept


def test_other_settings_learn_again(books, clock, open_memory):
    """From the log."""
    use(books, clock, "Plover", 4)
    kept = weight(books)
    other = open_memory(config=Config(effect=Effect(use=0.2)))
    use(other, clock, "Plover", 1)
    assert weight(other) != kept


def test_it_is_taken_up_in_quiet_moments(books, clock):
    """Without a verdict, as after an import; but two processes do not fight for it."""
    use(books, clock, "Plover", 3)
    kept, ledger = weight(books), books._engine.ledger
    ledger.write(learnt_weights.forget_all)
    assert ledger.read(lambda c: learnt_weights.behind(c, Effect(), 0.5))
    assert books._engine.background.fold_events()
    assert weight(books) == kept
    assert not ledger.read(lambda c: learnt_weights.behind(c, Effect(), 0.5))
    assert not ledger.read(
        lambda c: learnt_weights.behind(c, Effect(use=0.2), 0.5, takes_over=False)
    )
    assert ledger.read(lambda c: learnt_weights.behind(c, Effect(use=0.2), 0.5))
    assert not ledger.read(lambda c: learnt_weights.behind(c, Effect(learn=False), 0.5))


def test_what_no_evidence_ordered_teaches_nothing(books, clock):
    """Hits by a date alone, or with a limit of one, say nothing of the weight of use."""
    use(books, clock, "Plover", 1)
    before = weight(books)
    for question, k in (("what happened yesterday?", 10), (QUESTION, 1)):
        clock.advance(HOURS)
        for hit in books.retrieve(question, k, record=False):
            assert hit.beside is None
            books.feedback.rate(hit, useful=True)
    assert weight(books) == before


def test_each_namespace_learns_its_own(books, clock):
    """Another one knows nothing of it."""
    use(books, clock, "Plover", 4)
    other = books.of("other")
    other.add("A deploy runbook", "medium", id="one")
    assert weight(other) is None


@pytest.mark.parametrize(
    "lesson",
    [
        {"at": 5, "sums": [1.0], "uses": [1.0]},
        {"at": 0, "sums": [1.0], "uses": []},
        {"at": 0, "sums": ["x", 1], "uses": [0, 1]},
        {"at": 0, "sums": [1e300, 1], "uses": [0, 1]},
        "nothing",
        None,
    ],
)
def test_a_lesson_that_cannot_be_read_teaches_nothing(books, lesson):
    """An import may bring any text."""
    from memento.ledger import memories  # noqa: PLC0415 - used here only
    from memento.types import Event  # noqa: PLC0415

    ledger = books._engine.ledger
    ns = ledger.find_namespace(books.store.namespace)

    def write(session):
        row = memories.by_id(session, ns, "Plover")
        detail = {"source": "user", learnt_weights.BESIDE: lesson}
        memories.record(session, ns, 1, Event.USED, row.docid, detail)
        strength_fold.catch_up(session, books.store.config.dynamics)
        learnt_weights.catch_up(session, Effect(), 0.5)

    ledger.write(write)
    assert weight(books) is None
