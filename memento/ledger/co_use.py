"""The links between memories that are used together: a fold of the verdicts in the log.

Derived: the rows can be dropped, and folding the log again gives every one of them, bit for bit.
The verdicts of one call are consecutive events of one moment, each with their number (`OF`); a call
about more memories than one can have links to makes no link. If a verdict is taken back, the links
of its namespace are folded again without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

from memento.dynamics.association import ACTS_FROM, MOST, Association, Link, scaled, used
from memento.ledger import memories, meta, usage_events
from memento.ledger.contract import Transaction
from memento.ledger.dialect import or_replace
from memento.ledger.rows import column, docid_range
from memento.ledger.schema import SEQ_BITS
from memento.ledger.usage_events import Fold, Happening
from memento.types import Event, Trust

BITE = 200
"""Maximum number of verdicts folded in one transaction; more than one call can give."""
OF = "of"
"""Key in the detail of a verdict: the number of verdicts that its call gave."""

_USES = (Event.USED, Event.CONFIRMED)
_KINDS = (*_USES, Event.RETRACTED, Event.APPROVED, Event.REPLACED)
FOLD = Fold("associations", _KINDS)
_EDITION = 3
"""Version of the fold: links that another version made are folded again."""
_PUT = (
    "INSERT INTO associations (src, dst, weight, count, at, stamp) VALUES (?, ?, ?, ?, ?, ?)"
    f" {or_replace('src, dst', 'weight', 'count', 'at', 'stamp')}"
)

Links: TypeAlias = dict[int, Link]
"""Maps the row id of a memory to the link that leads to it."""


def behind(db: Transaction, config: Association, agent: float, *, takes_over: bool = True) -> bool:
    """Return whether there is anything to fold; see ``Fold.is_behind``."""
    return FOLD.is_behind(db, _rules(config, agent), takes_over=takes_over)


def catch_up(db: Transaction, config: Association, agent: float, most: int = BITE) -> bool:
    """Fold the next verdicts of the log; return whether there may be more.

    A verdict of the agent weighs ``agent``, one of the user 1. Links that were folded with other
    settings are dropped. At most ``most`` verdicts are folded, but at least those of one call.
    """
    rules = _rules(config, agent)
    if (bite := FOLD.next_bite(db, rules, most, forget_all)) is None:
        return False
    told, upto, more = bite
    if more:
        whole = [last for last, first in pairwise(told) if not _is_one_call(last, first)]
        told = [one for one in told if one.event <= whole[-1].event] if whole else told
        upto = told[-1].event if told else upto
    _fold(db, told, config, agent, upto)
    FOLD.move(db, upto, rules)
    return more


def forget_all(db: Transaction) -> None:
    """Drop every link; the events remain."""
    meta.drop(db, FOLD.name)
    if db.execute("DELETE FROM associations").rowcount:
        usage_events.dropped(db)


def since(db: Transaction, ns: int, stamp: int) -> list[tuple[int, int, float]]:
    """Return the links of a namespace that changed after a stamp: from, to, and the weight."""
    query = f"SELECT src, dst, weight FROM associations WHERE src >> {SEQ_BITS} = ? AND stamp > ?"
    return db.execute(query, (ns, stamp)).fetchall()


def of(db: Transaction, docid: int) -> Links:
    """Read the links from a memory."""
    query = "SELECT dst, weight, count, at FROM associations WHERE src = ?"
    return {dst: Link(*link) for dst, *link in db.execute(query, (docid,))}


def count(db: Transaction, ns: int) -> tuple[int, int]:
    """Count the links of a namespace, and those of them that act."""
    query = (
        f"SELECT count(*), count(CASE WHEN weight >= {ACTS_FROM} THEN 1 END) FROM associations"
        " WHERE src BETWEEN ? AND ?"
    )
    every, acting = db.execute(query, docid_range(ns)).fetchone()
    return int(every), int(acting)


def differing(db: Transaction, ns: int, config: Association, agent: float) -> int:
    """Fold a namespace again and count the memories whose stored links differ."""
    event, rules = FOLD.place(db)
    if rules != _rules(config, agent) or memories.erased_at(db, ns):
        return 0  # they will all be folded again; or the verdicts on an erased memory are gone
    table = _Table()
    _apply(table, FOLD.standing(db, ns, event), config, agent)
    stored = {src: of(db, src) for src in _sources(db, ns)}
    known = {src: links for src, links in table.links.items() if links}
    return sum(known.get(src) != stored.get(src) for src in known.keys() | stored.keys())


@dataclass(slots=True)
class _Table:
    """The links from some memories while events are folded onto them.

    With a session, stored links are read when first asked for; without one, there are none.
    """

    db: Transaction | None = None
    links: dict[int, Links] = field(default_factory=dict)

    def of(self, docid: int) -> Links:
        """Return the links from a memory."""
        if docid not in self.links:
            self.links[docid] = {} if self.db is None else of(self.db, docid)
        return self.links[docid]

    def forget(self, docid: int) -> None:
        """Drop all links from and to a memory."""
        if self.db is not None:
            query = "SELECT src FROM associations WHERE dst = ?"
            for (src,) in self.db.execute(query, (docid,)).fetchall():
                self.of(src)
        self.of(docid).clear()
        for links in self.links.values():
            links.pop(docid, None)

    def store(self, db: Transaction) -> None:
        """Write the links that changed."""
        gone: list[tuple[int, int]] = []
        changed: list[tuple[int, int, Link]] = []
        lost = False
        for src, links in self.links.items():
            before = of(db, src)
            gone += [(src, dst) for dst in before.keys() - links.keys()]
            lost = lost or any(before[dst].weight >= ACTS_FROM for dst in before.keys() - links)
            changed += [(src, dst, one) for dst, one in links.items() if before.get(dst) != one]
        db.executemany("DELETE FROM associations WHERE src = ? AND dst = ?", gone)
        if changed:
            stamp = usage_events.next_stamp(db)
            rows = [(src, dst, one.weight, one.count, one.at, stamp) for src, dst, one in changed]
            db.executemany(_PUT, rows)
        if lost:
            usage_events.dropped(db)


def _fold(
    db: Transaction, told: Sequence[Happening], config: Association, agent: float, upto: int
) -> None:
    """Fold events onto the links that are stored."""
    again = {one.ns for one in told if one.kind == Event.RETRACTED}
    table = _Table(db)
    _apply(table, [one for one in told if one.ns not in again], config, agent)
    for ns in sorted(again):
        table.links |= {src: {} for src in _sources(db, ns)}
        afresh = _Table()
        _apply(afresh, FOLD.standing(db, ns, upto), config, agent)
        table.links |= afresh.links
    if table.links:
        table.store(db)


def _apply(table: _Table, told: Iterable[Happening], config: Association, agent: float) -> None:
    """Fold events, in order, onto a table."""
    for call in _calls(told):
        first = call[0]
        if first.begins_anew:
            table.forget(_docid(first))
        elif first.kind in _USES and (rate := config.rate * first.weight(agent)) > 0:
            docids = sorted({_docid(one) for one in call})
            if len(docids) > MOST + 1:
                continue  # more than a memory can link to: which ones were kept would be chance
            before = {docid: table.of(docid) for docid in docids}
            for docid in docids:
                others = [one for one in docids if one != docid]
                daily = first.source == Trust.AGENT
                after = used(before[docid], others, first.at, rate, daily=daily)
                table.links[docid] = scaled(after, config.budget)


def _calls(told: Iterable[Happening]) -> Iterator[list[Happening]]:
    """Yield the verdicts of one call together, and any other event alone."""
    call: list[Happening] = []
    for one in told:
        if one.kind in _USES and "rank" in one.detail:
            continue  # about a whole answer: which hit was used is unknown
        if call and (not _is_one_call(call[-1], one) or len(call) >= call[0].detail.get(OF, 1)):
            yield call
            call = []
        call.append(one)
    if call:
        yield call


def _is_one_call(one: Happening, other: Happening) -> bool:
    """Return whether two events that follow each other are verdicts of one call."""
    marks = [(e.ns, e.at, e.kind, e.source, e.detail.get(OF)) for e in (one, other)]
    return marks[0] == marks[1] and one.kind in _USES and type(marks[0][4]) is int


def _sources(db: Transaction, ns: int) -> list[int]:
    """Return the row ids of the memories of a namespace that have links."""
    query = "SELECT DISTINCT src FROM associations WHERE src BETWEEN ? AND ?"
    return column(db, query, docid_range(ns))


def _docid(one: Happening) -> int:
    assert one.docid is not None  # noqa: S101 - see _TOLD
    return one.docid


def _rules(config: Association, agent: float) -> str:
    """Return the settings that the links depend on."""
    return f"{_EDITION} {config.rate!r} {config.budget!r} {agent!r}"
