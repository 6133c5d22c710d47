"""The fold of the events of one memory: what each does, and what bounds it."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento.base.clock import DAY
from memento.dynamics import fold, formulas
from memento.dynamics.fold import VERDICTS, Basis, Occurrence, begin, standing, step
from memento.dynamics.settings import PACES, Dynamics
from memento.types import Kind

HOUR = DAY // 24
BORN = 20_000 * DAY
BASIS = Basis(at=BORN, trust="user", kind="fact", importance=0.5)
PLAIN = Dynamics()


def told(*events, basis=BASIS, config=PLAIN):
    """Fold events, each (kind, days after arrival) or an Occurrence."""
    state = begin(basis, 0, config)
    for event in events:
        if not isinstance(event, Occurrence):
            kind, after, *source = event
            event = Occurrence(  # noqa: PLW2901 - written out
                kind, BORN + round(after * DAY), round(after), *(source or ["user"])
            )
        state = step(state, event, basis, config)
    return state


def after(days, *events, basis=BASIS, config=PLAIN):
    """Fold events and look at the result some days after arrival."""
    state = told(*events, basis=basis, config=config)
    return standing(state, BORN + round(days * DAY), round(days), basis, config)


occurrences = st.lists(
    st.builds(
        Occurrence,
        kind=st.sampled_from([*VERDICTS, "reinforced", "retrieved"]),
        at=st.integers(BORN - DAY, BORN + 400 * DAY),  # in any order: clocks run back
        day=st.integers(0, 300),
        source=st.sampled_from(["user", "agent", "tool", None]),
        rank=st.integers(1, 9),
    ),
    max_size=60,
)


@given(occurrences, st.integers(0, 60))
def test_a_history_may_be_split_anywhere(events, cut):
    """Folding the rest onto what was folded gives the same bits as folding all."""
    whole = told(*events)
    first = told(*events[:cut])
    for event in events[cut:]:
        first = step(first, event, BASIS, PLAIN)
    assert first == whole


@given(occurrences, st.sampled_from(["user", "agent", "web"]), st.sampled_from(list(Kind)))
def test_every_state_is_within_its_bounds(events, trust, kind):
    """Whatever happens."""
    basis = replace(BASIS, trust=trust, kind=kind.value)
    before = begin(basis, 0, PLAIN)
    for event in events:
        state = step(before, event, basis, PLAIN)
        assert state.at >= before.at
        assert state.uses >= before.uses
        assert before.stability <= state.stability <= 3650.0
        assert 0 <= state.short <= 2
        assert state.long >= 0
        assert -1 <= state.worth <= 1
        assert min(state.belief) >= formulas.LEAST
        assert sum(state.belief) <= 16.25
        assert state.spent <= fold.DAY_CAP + 1e-9
        before = state
    told_of = standing(before, before.at, 300, basis, PLAIN)
    assert 0 <= told_of.use < 2
    assert 0 <= told_of.retention <= 1


@given(st.lists(st.integers(0, 100), max_size=10))
def test_looking_changes_nothing(days):
    """The number of times a state is read does not change it."""
    state = told(("used", 1))
    for day in days:
        standing(state, BORN + day * DAY, day, BASIS, PLAIN)
    assert standing(state, BORN + 200 * DAY, 200, BASIS, PLAIN) == after(200, ("used", 1))


def test_age_alone_tells_nothing():
    """A memory that nobody used has no use, an unmoved belief and no worth, however old."""
    for days in (0, 1, 1000):
        found = after(days)
        assert (found.need, found.use, found.belief) == (0.0, 0.0, (4.0, 1.0))
    assert told().worth == 0.0


def test_use_that_is_recent_or_frequent_speaks_louder():
    """One use a day ago 1.14, a month ago 0.39; ten daily ones 1.74."""
    assert after(2, ("used", 1)).use == pytest.approx(1.14, abs=0.01)
    assert after(31, ("used", 1)).use == pytest.approx(0.39, abs=0.01)
    daily = [("used", day) for day in range(1, 11)]
    assert after(11, *daily).use == pytest.approx(1.74, abs=0.01)


def test_being_shown_is_hardly_being_used():
    """A tenth of a use, once an hour, among the first five; no belief, no worth, no steadiness."""
    shown = [Occurrence("retrieved", BORN + DAY + minute * HOUR // 60, 1) for minute in range(59)]
    state = told(*shown)
    assert state.uses == pytest.approx(0.1)
    assert (state.belief, state.worth, state.stability) == ((4.0, 1.0), 0.0, 180.0)
    assert told(*shown, ("retrieved", 1.5)).uses == pytest.approx(0.2)
    assert told(Occurrence("retrieved", BORN + DAY, 1, rank=6)) == told()


def test_massed_uses_count_once():
    """Within an hour; a use after being shown counts for what it adds."""
    state = told(("retrieved", 1), Occurrence("used", BORN + DAY + HOUR // 2, 1, "user"))
    assert state.uses == pytest.approx(1.0)
    again = step(state, Occurrence("confirmed", BORN + DAY + HOUR, 1, "user"), BASIS, PLAIN)
    assert again.uses == pytest.approx(1.0)
    assert told(("used", 1), ("used", 1 + 1 / 24)).uses == 2.0


@pytest.mark.parametrize(
    ("kind", "counts", "earned"),
    [
        ("used", (4.25, 1.0), 0.1),
        ("confirmed", (5.0, 1.0), 0.2),
        ("ignored", (4.0, 1.0), -0.04),
        ("wrong", (4.0, 3.0), -0.2),
        ("harmful", (4.0, 5.0), -0.2),
    ],
)
def test_what_a_verdict_of_the_user_does(kind, counts, earned):
    """Evidence and worth, in full."""
    state = told((kind, 0))
    assert state.belief == pytest.approx(counts)
    assert state.worth == pytest.approx(earned)


@pytest.mark.parametrize("kind", VERDICTS)
@pytest.mark.parametrize("source", ["tool", "web", "import", None])
def test_what_strangers_say_changes_nothing(kind, source):
    """Their verdicts are in the log and nowhere else."""
    assert told((kind, 1, source)) == told()


def test_the_agent_cannot_vouch_for_what_it_wrote():
    """Its praise is half a use a day and no belief; its blame counts half, once a day."""
    praised = told(*[("confirmed", 1 + n / 1000, "agent") for n in range(900)])
    assert praised.uses == 0.5
    assert praised.belief == pytest.approx((4.0, 1.0))
    assert praised.worth == pytest.approx(0.1)
    blamed = told(("ignored", 1, "agent"), *[("wrong", 1.1, "agent")] * 9)
    assert blamed.belief == pytest.approx((4.0, 2.0))


def test_a_day_of_verdicts_is_capped():
    """The user brings at most 4 of evidence on one memory a day, and more the next day."""
    assert told(*[("wrong", 1)] * 9).belief == pytest.approx((4.0, 5.0))
    assert told(("harmful", 1), ("confirmed", 1.1)).belief == pytest.approx((4.0, 5.0), abs=0.01)
    assert told(("harmful", 1), ("wrong", 2)).belief[1] == pytest.approx(7.0, abs=0.1)


def test_saying_it_again_confirms_it_once_a_day():
    """If the user says it; what the agent says again, or nobody knows who, adds nothing."""
    twice = told(("reinforced", 1), ("reinforced", 1.4))
    assert twice.belief == pytest.approx((5.0, 1.0), abs=0.01)
    assert twice.uses == 2.0
    for source in ("agent", "web", None):
        assert told(("reinforced", 1, source)) == told()


def test_rank_says_how_much_of_an_outcome_is_a_hits():
    """The third hit takes half of it."""
    third = Occurrence("used", BORN, 0, "user", rank=3)
    assert told(third).worth == pytest.approx(0.05)


def test_a_clock_that_runs_back_stands_still():
    """Nothing fades backwards, and nothing counts twice for it."""
    state = told(("used", 10), ("wrong", 3))
    assert state.at == BORN + 10 * DAY
    assert state.belief[1] == pytest.approx(3.0)


PROBE = [
    ("used", 20), *[("retrieved", 20 + n / 30) for n in range(1, 9)], ("wrong", 21, "agent"),
    ("wrong", 22), ("wrong", 22.1), ("harmful", 22.2), ("confirmed", 60), ("used", 60.02),
    ("confirmed", 60.7), *[("confirmed", 70 + n) for n in range(12)],
]  # fmt: skip
OTHERS = {"pace": "fast", "agent": 1.0, "stability": {"fact": 9.0}, "half_life": 9.0}
CONSTANTS = {
    "CHANCE": 0.5, "SHOWN": 0.5, "SHOWN_FIRST": 0, "MASSED": 0.0, "DAY_CAP": 1.0, "GAIN": 1.0,
    "FLAT": 0.3, "SPACING": 0.4, "MOST_STABLE": 181.0, "PRESENTED": 0.1, "BELIEF_CAP": 8.0,
    "WORTH_RATE": 0.5,
}  # fmt: skip


def observed(config):
    """Fold the story of the probe and look at all that is told of it."""
    state = told(*PROBE, config=config)
    return state.worth, after(100, *PROBE, config=config)


@pytest.mark.parametrize("name", [field.name for field in fields(Dynamics)])
def test_every_setting_acts(name):
    """Another value of any one field tells another story; a field without a probe fails."""
    assert observed(replace(PLAIN, **{name: OTHERS[name]})) != observed(PLAIN)


@pytest.mark.parametrize("name", CONSTANTS)
def test_every_constant_acts(monkeypatch, name):
    """None is left that changes nothing."""
    before = observed(PLAIN)
    monkeypatch.setattr(fold, name, CONSTANTS[name])
    assert observed(PLAIN) != before


@pytest.mark.parametrize("rate", ["decay", "a1", "a2", "mu2"])
def test_every_rate_of_a_pace_acts(monkeypatch, rate):
    """A pace is four rates."""
    before = observed(PLAIN)
    faster = PACES["usual"]._replace(**{rate: 2 * getattr(PACES["usual"], rate) - 0.01})
    monkeypatch.setitem(PACES, "usual", faster)
    assert observed(PLAIN) != before


@pytest.mark.parametrize("kind", list(Kind))
def test_every_stability_acts(kind):
    """On its own kind and on no other."""
    config = Dynamics(stability={kind.value: 7.0})
    for other in Kind:
        found = begin(replace(BASIS, kind=other.value), 0, config).stability
        assert (found == 7.0) == (other is kind)


def test_the_more_important_is_steadier():
    """Stability and strength of a presentation grow with it."""
    states = [begin(replace(BASIS, importance=x), 0, PLAIN) for x in (0.0, 0.5, 1.0)]
    for less, more in pairwise(states):
        assert less.stability < more.stability
        assert less.short < more.short
