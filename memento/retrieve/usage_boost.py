"""Reorder the candidates of a query by uses and verdicts; nothing else changes.

The sums of the events are kept in RAM per namespace and follow the ledger by their stamps. Without
any, nothing is computed and nothing moves. Scores stay with the places, so that limits and
confidence are as they would be without uses and verdicts.
"""

from __future__ import annotations

import math
import threading
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memento.base.clock import DAY
from memento.dynamics import association, formulas
from memento.dynamics.fold import CHANCE
from memento.dynamics.formulas import FADE_BELOW, Effect, Learnt, retention
from memento.dynamics.settings import Dynamics
from memento.ledger import co_use, learnt_weights, usage_events
from memento.ledger import strength_fold as folded
from memento.ledger.contract import Transaction
from memento.ledger.rows import Row
from memento.ledger.schema import SEQ_MASK
from memento.retrieve.columns import STATUSES, Floats, RosterView, Rows, grown
from memento.status import having
from memento.types import Beside

_FIRST = len(formulas.RATES)
_SUMS, _COUNTS, _PRIORS = slice(0, _FIRST), slice(_FIRST, _FIRST + 2), slice(_FIRST + 2, _FIRST + 4)
_WORTH, _STABILITY, _SINCE_DAY = range(_FIRST + 4, _FIRST + 7)
_WIDTH = _FIRST + 7
_FADING = -np.array(formulas.RATES, np.float32)
_FADED = np.float32(-80.0)
"""Exponent below which nothing is left; smaller powers are subnormal, and slow to compute with."""
_NEVER = -math.inf
_FEELS = np.zeros(len(STATUSES), np.bool_)
"""Whether memories are moved, by the code of their status."""
_FEELS[[STATUSES[status] for status in having("feels")]] = True
BELIEF_WEIGHT, WORTH_WEIGHT, LINK_WEIGHT = 1.5, 0.5, 0.8
"""Weights, in nats: of the log odds that a memory is right, of how much it helped, and of its links
from first hits that are used together with it."""
_OF_PLACE = 100
"""Bytes of the number of one memory and its place."""
_OF_LINKS = 500
"""Bytes of the links that leave one memory, with two or three that act."""
ASSOCIATED, LEVELLED = "associated", "levelled"
TERMS = ("use", "belief", "worth", ASSOCIATED, LEVELLED)
"""Names of the effects among the terms of a hit."""


Days: TypeAlias = NDArray[np.float64]
"""Moments or lengths of time in days, by memory."""


class Strengths:
    """The sums of the events of one namespace, in RAM. Thread-safe.

    Attributes:
        learnt: Weights learned from feedback; None before any were learned.
        links: Row id of a memory to the row ids that its active links lead to, with the weights of
            these links. Never changed in place.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stamp = -1
        self._place: dict[int, int] = {}  # sequence number of a memory to its index in these
        self._values: Floats = np.zeros((0, _WIDTH), np.float32)
        self._times: Days = np.zeros((0, 2))  # days: of the sums, of the last use or -inf
        self._days: list[int] = []
        self.learnt: Learnt | None = None
        self.links: Mapping[int, Mapping[int, float]] = {}

    @property
    def nbytes(self) -> int:
        """Estimated bytes."""
        table = self._values.nbytes + self._times.nbytes + _OF_PLACE * len(self._place)
        return table + 40 * len(self._days) + _OF_LINKS * len(self.links)

    def follow(self, session: Transaction, ns: int, newest: int) -> None:
        """Read the sums, links and weights that changed up to the ``newest`` stamp."""
        if newest == max(0, self._stamp):
            return
        with self._lock:
            if self._stamp < usage_events.last_drop(session) or newest < self._stamp:
                self._place, self._stamp, self.links = {}, -1, {}
            for docid, at, used_at, *numbers, sums, trust in usage_events.since(
                session, ns, self._stamp
            ):
                stability, day, good, bad, worth = numbers
                if (known := folded.sums_in(sums)) is None:
                    continue  # damaged; doctor reports it
                place = self._place.setdefault(docid & SEQ_MASK, len(self._place))
                if place == len(self._values):
                    room = max(16, 2 * place)
                    self._values, self._times = grown(self._values, room), grown(self._times, room)
                self._times[place] = at / DAY, _NEVER if used_at is None else used_at / DAY
                others = (good, bad, *formulas.prior(trust), worth, stability, day)
                self._values[place] = *known, *others
            self._follow_links(session, ns)
            self._days = folded.calendar_of(session, ns).days
            self.learnt = learnt_weights.known_in(session, ns)
            self._stamp = newest

    def _follow_links(self, session: Transaction, ns: int) -> None:
        """Read the links that changed."""
        changed = co_use.since(session, ns, self._stamp)
        if not changed:
            return
        links = {**self.links}
        for src, dst, weight in changed:
            acting = {other: one for other, one in links.pop(src, {}).items() if other != dst}
            if weight >= association.ACTS_FROM:
                acting[dst] = weight
            if acting:
                links[src] = acting
        self.links = links

    def of(self, docids: NDArray[np.int64]) -> tuple[Rows, Floats, Days] | None:
        """Return which of some memories have sums, their values and their moments.

        None if none of them have any.
        """
        if not self._place:
            return None
        with self._lock:
            known = [self._place.get(seq, -1) for seq in (docids & SEQ_MASK).tolist()]
            places = np.array(known, np.intp)
            some = (places >= 0).nonzero()[0]
            if not len(some):
                return None
            places = places[some]
            return some, self._values.take(places, axis=0), self._times.take(places, axis=0)

    def active_days(self, at: int) -> int:
        """Count the days on which the namespace was used, up to and including that of a moment."""
        return bisect_right(self._days, at // DAY)


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """The indexes of candidates in the order of evidence and effects, best first.

    The scores stayed with the places; ``pull`` is the sum of evidence and effects, and decides
    between equal scores; ``parts`` has the contribution of each effect by name.
    """

    order: Rows
    scores: Floats
    pull: Floats
    parts: Mapping[str, Floats]


class _Lived(NamedTuple):
    """The sums of a memory at the moment of a query: its belief, its use, its days."""

    sure: float
    use: float
    day: float
    stability: float


class Life:
    """The effects of uses and verdicts at the moment of one query, microseconds."""

    def __init__(self, known: Strengths, now: int, dynamics: Dynamics, effect: Effect) -> None:
        self._known, self._now = known, now
        self._dynamics, self._effect, self._acts = dynamics, effect, effect.acts

    def move(
        self,
        snap: RosterView,
        rows: Rows,
        order: Rows,
        *,
        sums: Floats,
        named: Floats,
        scores: Floats,
    ) -> Moved | None:
        """Order candidates by evidence and effects; None if there is no effect.

        Candidates that the query names, or that match it exactly, stay before the others: places
        are exchanged only between candidates that match alike. ``order`` has the indexes of the
        candidates, best first; ``named`` rates the match by name or exact text, 0 for neither.
        """
        parts = self.effects(snap, rows, self._levelled(sums, named))
        linked = bool(self._known.links) and self._acts
        if parts is None and not linked:
            return None
        pull = sums if parts is None else sums + sum(parts.values())
        moved = order if parts is None else _by_pull(rows, order, pull, named)
        led = self._associated(snap, rows, moved, pull, pull - sums) if linked else None
        if led is not None:
            parts, pull = {**(parts or {}), ASSOCIATED: led}, pull + led
            moved = _by_pull(rows, order, pull, named)
        if parts is None:
            return None
        placed = scores.copy()
        placed[moved] = scores[order]
        return Moved(moved, placed, pull, parts)

    def _associated(
        self, snap: RosterView, rows: Rows, order: Rows, pull: Floats, effects: Floats
    ) -> Floats | None:
        """Return what candidates gain by links from the first ones, in nats; None if nothing.

        Links are followed for one hop. With the other effects, the gain stays within the bound.
        Quarantined memories neither give nor get any.
        """
        docids, links = snap.docid[rows], self._known.links
        seeds = order[: association.SEEDS]
        fans = [links.get(docid, {}) for docid in docids[seeds].tolist()]
        if not any(fans):
            return None
        odds = np.exp(pull[seeds] - pull[seeds].max())
        shares = (odds / odds.sum()).tolist()
        feels = _FEELS[snap.status[rows]]
        sources: dict[int, list[tuple[float, float, int]]] = {}
        for seed, share, fan in zip(seeds.tolist(), shares, fans, strict=True):
            for docid, weight in fan.items() if feels[seed] else ():
                sources.setdefault(docid, []).append((share, weight, len(fan)))
        wanted = np.array(sorted(sources), np.int64)
        places = np.minimum(np.searchsorted(docids, wanted), len(docids) - 1)
        led = np.zeros(len(rows), np.float32)
        for place, docid in zip(places.tolist(), wanted.tolist(), strict=True):
            if docids[place] == docid and feels[place]:
                led[place] = LINK_WEIGHT * association.spread(sources[docid])
        room = np.maximum(0, np.float32(self._effect.bound) - effects)
        led = np.minimum(led, room).astype(np.float32)
        return led if led.any() else None

    def effects(
        self, snap: RosterView, rows: Rows, levelled: Floats | None = None
    ) -> dict[str, Floats] | None:
        """Return the effects on candidates, by name, in nats; None if there are none.

        Their sum is scaled to stay within the bound. Quarantined memories get no effect.
        ``levelled`` is the result of `_levelled`.
        """
        if not self._acts:
            return None
        known = self._known.of(snap.docid[rows])
        if known is None:
            return None
        some, values, times = known
        feels = _FEELS[snap.status[rows]]
        if not feels.all():
            kept = feels[some]
            some, values, times = some[kept], values[kept], times[kept]
        bound, age = self._effect.bound, self._now / DAY - times
        past = np.maximum(age[:, 0], 0)
        found = [
            self._learnt.use * self._use(values, past, age[:, 1]),
            BELIEF_WEIGHT * self._belief(values, past),
            WORTH_WEIGHT * values[:, _WORTH],
        ]
        together = found[0] + found[1] + found[2]
        most = np.abs(together).max(initial=0)
        if not most:
            return None
        if levelled is not None:
            whole = [_spread_out(one, some, len(rows)) for one in found]
            cut = bounded([*whole, levelled], bound)
            return dict(zip((*TERMS[:3], LEVELLED), cut, strict=True))
        if most > bound:
            found = bounded(found, bound)
        if len(some) < len(rows):
            found = [_spread_out(one, some, len(rows)) for one in found]
        return dict(zip(TERMS, found, strict=False))

    @property
    def _learnt(self) -> Learnt:
        """The lessons of the namespace."""
        if self._effect.learn and self._known.learnt is not None:
            return self._known.learnt
        return Learnt(self._effect.use)

    def _levelled(self, sums: Floats, named: Floats) -> Floats | None:
        """Return what candidates gain or lose if evidence has learned to count less; None if not.

        The order by evidence stays. The gain stops growing at twice the bound behind the best: no
        effect could make up for more.
        """
        less = np.float32(1 - self._learnt.evidence)
        if not less:
            return None
        bound = np.float32(self._effect.bound)
        behind = sums[named == 0].max(initial=0) - sums
        levelled: Floats = less * (behind.clip(0, 2 * bound) - bound)
        return levelled

    def _use(self, values: Floats, past: Days, since: Days) -> Floats:
        """Return how far use speaks for memories, see ``dynamics.formulas.telling``."""
        days = np.maximum(formulas.FLOOR - since, 0)
        days += past
        left = np.multiply.outer(days.astype(np.float32), _FADING)
        np.maximum(left, _FADED, out=left)
        np.exp(left, out=left)
        left *= values[:, _SUMS]
        odds = left @ _coefficients(self._dynamics.rates.decay)
        said: Floats = odds / (odds * np.float32(0.5) + np.float32(CHANCE))
        return said

    def _belief(self, values: Floats, past: Days) -> Floats:
        """Return the log odds that memories are right, over those of their priors."""
        gained = np.log(self._counts(values, past) / values[:, _PRIORS])
        said: Floats = gained[:, 0] - gained[:, 1]
        return said

    def _counts(self, values: Floats, past: Days) -> Floats:
        """Return the evidence for and against memories, as it has faded by now."""
        left = np.exp2(past * (-1 / self._dynamics.half_life)).astype(values.dtype)
        before = values[:, _PRIORS]
        counts: Floats = before + (values[:, _COUNTS] - before) * left[:, None]
        return counts

    def told(
        self, found: Sequence[tuple[Row, Mapping[str, float]]], *, weighed: bool
    ) -> list[dict[str, Any]]:
        """Return the fields of each ``Hit`` that follow from its usage.

        ``weighed`` tells whether the hits, best first, are ordered by evidence and effects.
        """
        learns = weighed and self._effect.learn and self._acts
        known = self._known.of(np.array([row.docid for row, _ in found], np.int64))
        lives = {} if known is None else dict(self._lives(*known))
        beside = _beside(found, lives) if learns else None
        days = self._known.active_days
        today = days(self._now)
        firsts = [
            lives[at].day if at in lives else days(row.created_at)
            for at, (row, _) in enumerate(found)
        ]
        steady = {
            kind: self._dynamics.first_stability(kind) for kind in {row.kind for row, _ in found}
        }
        priors = [formulas.mean(formulas.prior(row.trust)) for row, _ in found]
        unused = []
        for place, (row, _) in enumerate(found):
            steadiness = steady[row.kind] * (0.5 + row.importance)
            stability = lives[place].stability if place in lives else steadiness
            unused.append((today - firsts[place], stability))
        left = [retention(since, stability) for since, stability in unused]
        return [
            {
                "belief": lives[place].sure if place in lives else priors[place],
                "fading": not row.pinned and left[place] < FADE_BELOW,
                "beside": beside,
            }
            for place, (row, _) in enumerate(found)
        ]

    def _lives(self, some: Rows, values: Floats, times: Days) -> Iterator[tuple[int, _Lived]]:
        """Yield the index and the sums of each memory that has events."""
        age = self._now / DAY - times
        past = np.maximum(age[:, 0], 0)
        good, bad = self._counts(values.astype(np.float64), past).T
        columns = good / (good + bad), self._use(values, past, age[:, 1])
        others = values[:, _SINCE_DAY], values[:, _STABILITY]
        for place, *one in zip(
            some.tolist(), *(column.tolist() for column in (*columns, *others)), strict=True
        ):
            yield place, _Lived(*one)


@lru_cache
def _coefficients(decay: float) -> Floats:
    return np.array(formulas.coefficients(decay), np.float32)


def bounded(found: Sequence[Floats], bound: float) -> list[Floats]:
    """Scale effects by one factor so that their sum stays within a bound."""
    together = found[0] + found[1]
    for one in found[2:]:
        together = together + one
    kept = np.clip(together, -bound, bound)
    share = np.divide(kept, together, out=np.zeros_like(together), where=together != 0)
    return [share * one for one in found]


def _spread_out(some: Floats, places: Rows, count: int) -> Floats:
    """Return an array with the given values at ``places``, and 0 elsewhere."""
    every = np.zeros(count, np.float32)
    every[places] = some
    return every


def _by_pull(rows: Rows, order: Rows, pull: Floats, named: Floats) -> Rows:
    """Order candidates that match the query alike by their pull, newest first among equals.

    Rows are ascending, so newer candidates have larger indexes.
    """
    if not named.any():
        latest = np.sort(order)[::-1]
        return latest[np.argsort(-pull[latest], kind="stable")]
    moved = order.copy()
    for match in np.unique(named[order]):
        at = np.flatnonzero(named[order] == match)
        alike = order[at]
        moved[at] = alike[np.lexsort((-rows[alike], -pull[alike]))]
    return moved


def _beside(
    found: Sequence[tuple[Row, Mapping[str, float]]], lives: Mapping[int, _Lived]
) -> Beside | None:
    """Return what feedback on one of the first hits needs; None if there is only one.

    Hits that the query names are left out: they owe their places to the name.
    """
    plain = [place for place, (_, terms) in enumerate(found) if not terms.get("exact")]
    first = plain[: learnt_weights.MOST_BESIDE]
    if len(first) <= 1:
        return None
    chosen = [found[place] for place in first]
    return Beside(
        ids=tuple(row.id for row, _ in chosen),
        sums=tuple(
            sum(terms.values()) - terms.get("use", 0.0) - terms.get(LEVELLED, 0.0)
            for _, terms in chosen
        ),
        uses=tuple(lives[place].use if place in lives else 0.0 for place in first),
    )
