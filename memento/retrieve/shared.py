"""Ask the namespaces that share memories with one as well, and join their answers.

The memories that a namespace shows are searched as a store of their own: words, statistics and
order are theirs alone, so that nothing reveals the others, or how any was used. Scores are
comparable only within one answer; so the scores of each answer are weighed by the confidence
of its best hit before the answers are joined.
Nothing is written to a namespace that shares: no use is recorded there.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from memento.ledger import memories
from memento.ledger import scope_rows as rows
from memento.ledger.contract import Ledger, Transaction
from memento.retrieve.answer import within
from memento.status import having
from memento.text.gist import gist
from memento.types import Hit, Retrieval, Source, Trust

if TYPE_CHECKING:
    from memento.retrieve.request import Request
    from memento.retrieve.searcher import Searcher

SHARED = "shared"
"""Key in ``missing`` if a part of a namespace that shares memories could not be searched."""


def answer(
    ledger: Ledger, searcher: Searcher, labels: tuple[str, ...], request: Request, *, shared: bool
) -> Retrieval:
    """Find memories of a namespace and, if ``shared``, of those that share theirs with it."""
    began = time.perf_counter()
    ns = ledger.find_namespace(labels)
    if ns is None:
        return Retrieval(request.query, took={"total": time.perf_counter() - began})
    place = ns, labels
    if request.query.strip():
        searcher.prepare(ns)
    return ledger.gathered(
        lambda: _answer(ledger, searcher, place, request, shared=shared), space=ns
    )


def _answer(
    ledger: Ledger,
    searcher: Searcher,
    place: tuple[int, tuple[str, ...]],
    request: Request,
    *,
    shared: bool,
) -> Retrieval:
    began, (ns, labels) = time.perf_counter(), place
    request = replace(request, asker=ns)
    if not ledger.in_file:
        ledger.read(lambda c: searcher.ahead(c, ns), space=ns)
    own, shown = ledger.read(lambda c: _asked(c, ns, request), space=ns)
    found = searcher.search(ns, labels, own)
    asked = of_shared(request) if shared and shown else None
    answers = [
        ledger.gathered(
            partial(searcher.search, other, ledger.labels(other), asked, scopes), space=other
        )
        for other, scopes in shown.items()
        if asked is not None
    ]
    if not any(one.hits or one.missing for one in answers):
        return found
    began = time.perf_counter()
    ids = [hit.id for one in answers for hit in one]
    taken = ledger.read(lambda c: memories.accepted_ids(c, ns, ids), space=ns)
    return _timed(joined(found, answers, request, taken), [found, *answers], began)


def _asked(c: Transaction, ns: int, request: Request) -> tuple[Request, dict[int, tuple[str, ...]]]:
    """Return the request with its redirected filters, and the scopes that others show."""
    owners = rows.by_owner(rows.shown_to(c, ns))
    shown = {other: tuple(sorted({*scopes})) for other, scopes in owners.items()}
    filters = rows.redirected(c, ns, request.filters)
    if filters is request.filters:
        return request, shown
    past = request.past and rows.redirected(c, ns, request.past)
    return replace(request, filters=filters, past=past), shown


def of_shared(request: Request) -> Request | None:
    """Return a request to other namespaces, or None if it asks for the past or for a session.

    It finds only active memories there, whatever the caller asked for. The past is not shared, and
    a session belongs to one namespace.
    """
    if request.filters.as_of is not None or request.filters.sessions:
        return None
    seen = replace(request.filters, statuses=having("found"))
    return replace(request, filters=seen, past=None, aside=False)


def joined(
    own: Retrieval, others: Sequence[Retrieval], request: Request, taken: Collection[str]
) -> Retrieval:
    """Join the answer of the namespace that asks with those of others that share with it.

    Each answer keeps its order, so that a larger ``k`` only appends. A shared memory is left out if
    its id is in ``taken``, the ids that the namespace's own accepted memories have: one id would
    name two memories.
    """
    lists = [list(own.hits)]
    lists += [[_as_shared(hit) for hit in one if hit.id not in taken] for one in others]
    most = max(map(len, lists)) if request.k is None else request.k
    chain = _told_once(_in_order(lists)) if request.fold else _in_order(lists)
    count = request.count_tokens
    hits = within(
        list(chain),
        most,
        request.tokens,
        lambda hit: count(hit.text if hit.passage is None else hit.passage),
    )
    missing = dict(own.missing)
    if any(one.missing for one in others):
        missing[SHARED] = "some memories shared by other namespaces could not be searched"
    sure = max(one.confidence for one in (own, *others))
    return Retrieval(own.query, tuple(hits), missing, sure if hits else 0.0, own.took)


def _in_order(lists: Sequence[Sequence[Hit]]) -> Iterator[Hit]:
    """Yield hits, best first, each list in its order; of equals the earlier list's comes first."""
    best = max((hits[0].confidence for hits in lists if hits), default=0.0)
    weights = [hits[0].confidence / best if hits and best else 1.0 for hits in lists]
    weighed = [
        [replace(hit, score=hit.score * weight) for hit in hits]
        for hits, weight in zip(lists, weights, strict=True)
    ]
    at = [0] * len(lists)
    while left := [n for n, hits in enumerate(weighed) if at[n] < len(hits)]:
        first = max(left, key=lambda n: (weighed[n][at[n]].score, -n))
        yield weighed[first][at[first]]
        at[first] += 1


def _told_once(hits: Iterator[Hit]) -> Iterator[Hit]:
    """Leave out shared hits that say the same as an earlier hit."""
    told: set[str] = set()
    for hit in hits:
        said = gist(hit.text)
        if not hit.shared or said not in told:
            yield hit
        told.add(said)


def _as_shared(hit: Hit) -> Hit:
    """Return a hit as another namespace sees it, with trust `Trust.AGENT` at most.

    References to other memories are removed.
    """
    memory = hit.memory
    kind = Trust.least([Trust.AGENT, memory.source.kind])
    source = Source(kind, memory.source.uri, memory.source.model)
    seen = replace(memory, source=source)
    return replace(
        hit, memory=seen, folded=(), newer=None, until=None, beside=None, conflicts=(), shared=True
    )


def _timed(found: Retrieval, answers: Sequence[Retrieval], began: float) -> Retrieval:
    """Sum the times of all answers."""
    names = dict.fromkeys(name for one in answers for name in one.took)
    took = {name: sum(one.took.get(name, 0.0) for one in answers) for name in names}
    took["total"] = took.get("total", 0.0) + time.perf_counter() - began
    return replace(found, took=took)
