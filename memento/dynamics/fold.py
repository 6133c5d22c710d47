"""The state of one memory, and how one event changes it.

`step` is a left fold: ``state = step(state, event, basis, config)``, in the order of the log.
However a history is split, the result is the same, bit for bit. A clock that runs back counts as
standing still.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from memento.base.clock import DAY
from memento.dynamics import formulas
from memento.dynamics.formulas import Counts, retention, steadier
from memento.dynamics.settings import Dynamics
from memento.types import Event, Trust

CHANCE = 0.38
"""Need odds of an unremarkable memory: 0.38 corresponds to one use a week ago."""
SHOWN, SHOWN_FIRST = 0.1, 5
"""Weight of being among the first hits of a recorded retrieval, where a use weighs 1; and how many
hits count as the first."""
MASSED = 3600.0
"""Uses within this many seconds of the last one count once."""
DAY_CAP = 4.0
"""Maximum evidence, for and against, that the user's verdicts on one memory add in a day (UTC)."""
BELIEF_CAP = 16.0
"""Maximum evidence for and against together."""
WORTH_RATE = 0.2
"""How fast the worth of a memory follows outcomes, [0, 1]."""
PRESENTED = 0.3
"""What a presentation adds to the short strength, times 0.5 + importance."""
GAIN, FLAT, SPACING = 2.0, 0.17, 0.8
"""Arguments ``gain``, ``flat`` and ``spacing`` of `steadier`. From FSRS-6."""
MOST_STABLE = 3650.0
"""Maximum stability, active days."""
_SECOND = 1_000_000

MOST = 2.0
"""Maximum short strength."""

_SAME = 1e-9
"""Rates that differ by less than this are treated as equal."""


def advance(
    short: float, long: float, days: float, *, a1: float, a2: float, mu2: float
) -> tuple[float, float]:
    """Return both strengths some days later.

    short' = -a1 · short and long' = mu2 · short - a2 · long, in closed form: splitting the days
    into several calls gives the same result.

    Args:
        short: Short strength, >= 0.
        long: Long strength, >= 0.
        days: >= 0.
        a1: Rate at which the short strength fades, per day, > 0.
        a2: Rate at which the long strength fades, per day, > 0.
        mu2: Rate at which the short strength feeds the long one, per day, >= 0.
    """
    left1, left2 = math.exp(-a1 * days), math.exp(-a2 * days)
    alike = abs(a1 - a2) < _SAME
    passed = mu2 * days * left1 if alike else mu2 / (a1 - a2) * (left2 - left1)
    return short * left1, long * left2 + short * passed


def reward(worth: float, outcome: float, *, rate: float, share: float) -> float:
    """Return the worth after an outcome: V + rate · share · (outcome - V).

    Args:
        worth: V, [-1, 1].
        outcome: [-1, 1].
        rate: Speed of learning, [0, 1].
        share: Share of the outcome that is credited to this memory, [0, 1].

    Source: Rescorla & Wagner 1972; the share is an eligibility, Sutton & Barto 2018, chapter 12.

    >>> reward(0.0, 1.0, rate=0.2, share=1.0)
    0.2
    """
    return worth + rate * share * (outcome - worth)


def eligibility(rank: int) -> float:
    """Return the share of an answer's outcome that is credited to the hit at a rank, (0, 1].

    >>> [round(eligibility(rank), 2) for rank in (1, 2, 3, 4)]
    [1.0, 0.67, 0.5, 0.4]
    """
    return 1 / (1 + 0.5 * (rank - 1))


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of an event on a memory at full weight, that of a verdict of the user.

    Attributes:
        use: Weight as a use, [0, 1].
        grows: Whether it makes the memory steadier.
        valence: Evidence that it is right, > 0, or wrong, < 0.
        outcome: How good it was, [-1, 1]; None if the event does not tell.
        replay: Share of a use's effect on the short strength and the stability, [0, 1]; it is not
            counted as a use.
    """

    use: float = 0.0
    grows: bool = False
    valence: float = 0.0
    outcome: float | None = None
    replay: float = 0.0


VERDICTS = {
    Event.USED: Effect(use=1.0, grows=True, valence=0.25, outcome=0.5),
    Event.CONFIRMED: Effect(use=1.0, grows=True, valence=1.0, outcome=1.0),
    Event.IGNORED: Effect(outcome=-0.2),
    Event.WRONG: Effect(valence=-2.0, outcome=-1.0),
    Event.HARMFUL: Effect(valence=-4.0, outcome=-1.0),
}
"""The verdicts that a memory can get."""

SAID = frozenset({*VERDICTS, Event.OUTCOME})
"""The events that somebody reported and can take back."""

_SAID_AGAIN = Effect(use=1.0, grows=True, valence=1.0)
_DOUBTED = Effect(valence=-1.0)
_ASLEEP: dict[str, Effect] = {
    Event.FOLDED: Effect(use=1.0, grows=True, valence=0.5),
    Event.REPLAYED: Effect(replay=0.2),
}
"""Events that the sleep itself writes."""

FOLDED = frozenset({*SAID, *_ASLEEP, Event.REINFORCED, Event.RETRIEVED, Event.DOUBTED})
"""The events that change a state."""

_MUTED: dict[str | None, frozenset[str]] = {
    "promoted": frozenset({Event.IGNORED, Event.REPLAYED}),
    "user": frozenset(
        {Event.IGNORED, Event.WRONG, Event.HARMFUL, Event.DOUBTED, Event.OUTCOME, Event.REPLAYED}
    ),
}
"""Maps the level of a lock to the events that have no effect on a memory so locked."""

_PRAISED, _PASSED_OVER, _BLAMED, _REPEATED = 1, 2, 4, 8
"""Bits of `State.marks`, each counted once a day: the verdicts of the agent by sort, and a
repetition by the user."""


@dataclass(frozen=True, slots=True)
class Basis:
    """The properties of a memory on which its first state and its prior depend.

    Attributes:
        at: When it arrived, microseconds.
        trust: Class of its origin.
        kind: Kind of statement.
        importance: [0, 1].
        lock: Level of its lock, see ``memento.ledger.rows``.
    """

    at: int
    trust: str
    kind: str
    importance: float
    lock: str | None = None


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An event that concerns a memory.

    Attributes:
        kind: One of `FOLDED`.
        at: When, microseconds.
        day: Number of active days of the namespace up to and including that day.
        source: Trust class of who said it; None if unknown.
        rank: Rank of the memory in the answer that the event is about, >= 1.
        outcome: How well a loop went, [-1, 1]; 0 for any other event.
    """

    kind: str
    at: int
    day: int
    source: str | None = None
    rank: int = 1
    outcome: float = 0.0


@dataclass(frozen=True, slots=True)
class State:
    """All that is kept of the history of one memory.

    Attributes:
        at: Moment at which the fading numbers hold, microseconds.
        uses: Total weight of all uses.
        used_at: When a use last counted, microseconds; None if never.
        counted: Weight that counted within the last `MASSED` seconds.
        sums: Leaky sums of the uses, see `formulas.leak`.
        stability: Active days, see `retention`.
        day: Active day of the last use that made it steadier, or of its arrival.
        short: Short strength, see `advance`.
        long: Long strength.
        belief: Evidence for and against, see `formulas.judge`.
        worth: [-1, 1].
        today: The UTC day of ``spent`` and ``marks``, in days since 1970.
        spent: Evidence that the user's verdicts added on that day.
        marks: Bits of what happened on that day and counts once a day.
    """

    at: int
    uses: float
    used_at: int | None
    counted: float
    sums: tuple[float, ...]
    stability: float
    day: int
    short: float
    long: float
    belief: Counts
    worth: float
    today: int
    spent: float
    marks: int


@dataclass(frozen=True, slots=True)
class Standing:
    """The values of a state at a moment; the fields are those of ``memento.types.Strength``."""

    need: float
    use: float
    retention: float
    short: float
    long: float
    belief: Counts


def begin(basis: Basis, day: int, config: Dynamics) -> State:
    """Return the state of a memory on its arrival, before any event."""
    return State(
        at=basis.at,
        uses=0.0,
        used_at=None,
        counted=0.0,
        sums=formulas.UNUSED,
        stability=config.first_stability(basis.kind) * (0.5 + basis.importance),
        day=day,
        short=_presentation(basis),
        long=0.0,
        belief=formulas.prior(basis.trust),
        worth=0.0,
        today=basis.at // DAY,
        spent=0.0,
        marks=0,
    )


def step(state: State, event: Occurrence, basis: Basis, config: Dynamics) -> State:
    """Return the state after an event; the very same object if the event changes nothing."""
    if event.kind in _MUTED.get(basis.lock, ()):
        return state
    effect, weight, mark = _heard(event, config)
    now = max(state.at, event.at)
    marks, spent = (state.marks, state.spent) if now // DAY == state.today else (0, 0.0)
    if not weight or (event.source == Trust.AGENT and mark & marks):
        return state
    gained = _gained(state, effect.use * weight, now)
    valence = effect.valence * weight
    if event.source == Trust.AGENT:  # it may have written the memory itself
        valence = min(0.0, valence)
    elif mark & marks:
        valence = 0.0
    elif mark != _REPEATED:
        room = max(0.0, DAY_CAP - spent)
        valence = max(-room, min(room, valence))
        spent += abs(valence)
    if not (gained or valence or effect.outcome is not None or effect.replay):
        return state
    after = _advance(state, now, basis, config)
    if valence:
        judged = formulas.judge(after.belief, valence, cap=BELIEF_CAP)
        after = replace(after, belief=judged)
    after = replace(after, today=now // DAY, marks=marks | mark, spent=spent)
    after = _use(after, gained, event, basis, grows=effect.grows)
    if effect.replay:  # not a use: ``day`` stays as it is
        after = _presented(after, effect.replay, basis)
        after = replace(after, stability=_steadied(after, effect.replay, event))
    if effect.outcome is not None:
        share = weight * eligibility(event.rank)
        earned = reward(after.worth, effect.outcome, rate=WORTH_RATE, share=share)
        after = replace(after, worth=earned)
    return after


def standing(state: State, now: int, day: int, basis: Basis, config: Dynamics) -> Standing:
    """Return the values of a state at a moment."""
    later = _advance(state, max(now, state.at), basis, config)
    floor = 0.0 if state.used_at is None else formulas.FLOOR - (later.at - state.used_at) / DAY
    odds = formulas.odds(formulas.leak(later.sums, max(0.0, floor)), config.rates.decay)
    return Standing(
        need=odds,
        use=formulas.telling(odds, CHANCE),
        retention=retention(day - state.day, state.stability),
        short=later.short,
        long=later.long,
        belief=later.belief,
    )


def _heard(event: Occurrence, config: Dynamics) -> tuple[Effect, float, int]:
    """Return the effect of an event, its weight, and the bit that it sets in ``marks``."""
    if event.kind == Event.RETRIEVED:
        return Effect(use=SHOWN), float(event.rank <= SHOWN_FIRST), 0
    if event.kind == Event.REINFORCED:
        return _SAID_AGAIN, float(event.source == Trust.USER), _REPEATED
    if event.kind in _ASLEEP:
        return _ASLEEP[event.kind], 1.0, 0
    if event.kind == Event.OUTCOME:
        effect = Effect(outcome=event.outcome)
    elif event.kind == Event.DOUBTED:
        effect = _DOUBTED
    else:
        effect = VERDICTS[Event(event.kind)]
    if event.source == Trust.USER:
        return effect, 1.0, 0
    if event.source != Trust.AGENT:
        return effect, 0.0, 0
    mark = _PRAISED if effect.valence > 0 else _BLAMED if effect.valence < 0 else _PASSED_OVER
    return effect, config.agent, mark


def _gained(state: State, weight: float, now: int) -> float:
    """Return how much of a use counts: uses that follow each other closely count once."""
    if state.used_at is None or now - state.used_at >= MASSED * _SECOND:
        return weight
    return max(0.0, weight - state.counted)


def _advance(state: State, now: int, basis: Basis, config: Dynamics) -> State:
    """Let the numbers fade until a moment that is not before the state's."""
    days = (now - state.at) / DAY
    _, a1, a2, mu2 = config.rates
    short, long = advance(state.short, state.long, days, a1=a1, a2=a2, mu2=mu2)
    faded = formulas.fade(state.belief, formulas.prior(basis.trust), days, config.half_life)
    sums = formulas.leak(state.sums, days) if state.uses else state.sums
    return replace(state, at=now, short=short, long=long, belief=faded, sums=sums)


def _use(state: State, gained: float, event: Occurrence, basis: Basis, *, grows: bool) -> State:
    """Count a use at the moment of a state."""
    if not gained:
        return state
    recent = state.used_at is not None and state.at - state.used_at < MASSED * _SECOND
    used = replace(
        _presented(state, gained, basis),
        uses=state.uses + gained,
        used_at=state.at,
        counted=(state.counted if recent else 0.0) + gained,
        sums=formulas.used(state.sums, gained),
    )
    if not grows:
        return used
    grown = _steadied(state, gained, event)
    return replace(used, stability=grown, day=max(state.day, event.day))


def _presented(state: State, share: float, basis: Basis) -> State:
    """Add a share of a presentation to the short strength."""
    return replace(state, short=min(MOST, state.short + share * _presentation(basis)))


def _presentation(basis: Basis) -> float:
    return PRESENTED * (0.5 + basis.importance)


def _steadied(state: State, share: float, event: Occurrence) -> float:
    """Return the stability after a share of a use."""
    steady = steadier(
        state.stability,
        event.day - state.day,
        gain=GAIN,
        flat=FLAT,
        spacing=SPACING,
        most=MOST_STABLE,
    )
    return state.stability + share * (steady - state.stability)
