"""Answer a request: bring the namespace's roster up to date, call `find`, read the rows."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from memento.base.clock import from_micros
from memento.base.scopes import contains
from memento.check import (
    check_count,
    check_share,
    unquoted,
)
from memento.config import Config
from memento.embed import rerank_checked
from memento.errors import (
    EmbedderError,
    EmbeddingMismatch,
    InvalidInput,
    MementoError,
    MissingExtra,
    RerankerError,
    TierUnavailable,
)
from memento.ledger import memories, namespaces, past, vectors
from memento.ledger.contract import Ledger, Transaction
from memento.ledger.links import Linked, linked_in
from memento.ledger.newest import newest
from memento.ledger.predicate import Filters
from memento.ledger.rows import Row, damaged, docid_of, is_sound, strings_in, to_memory
from memento.ledger.schema import SEQ_MASK
from memento.retrieve import judging, spellings
from memento.retrieve.answer import Found, Ranking, find
from memento.retrieve.by_meaning import Exact, Meaning, Nearest
from memento.retrieve.by_words import known_from
from memento.retrieve.cache import Followed, Held, Kept
from memento.retrieve.columns import ERASED, Mask, Roster, RosterRow, RosterView, having_trait
from memento.retrieve.context import Look, Rerank
from memento.retrieve.ledger_source import Docids, LedgerSource, Postings, State
from memento.retrieve.outline import Outlines, content_of, is_due
from memento.retrieve.request import Request
from memento.retrieve.standings import Links
from memento.retrieve.usage_boost import Life
from memento.retrieve.vector_search import VectorSearch
from memento.retrieve.visible import allow, chosen, needs_ledger, set_aside
from memento.status import having
from memento.text import former_question
from memento.tiers.mapped import KIND
from memento.tiers.store_embedder import StoreEmbedder
from memento.types import Hit, Kind, Memory, Retrieval, Status, Tier

if TYPE_CHECKING:
    from memento.protocols import Reranker
    from memento.tiers.long_tier import Index

LEDGER = "ledger"
"""Key in ``missing`` if memories that were found are damaged."""


log = logging.getLogger("memento.retrieve.searcher")

T = TypeVar("T")

_MOST_OWED = 1_000
"""Maximum number of memories without a vector that a query counts; of more it says so. The count is
for the message alone, and each memory costs a seek."""
_FEW_LACK = 8
"""If less than one row in so many lacks a vector, the active ones among them are not counted."""
_FOUND = frozenset(having("found"))
_SAID = (Kind.EPISODE, Kind.QUESTION)
"""Kinds of the messages of a conversation."""
_GARBLED = (KeyError, TypeError, ValueError, OverflowError)
"""Errors from reading a row that was damaged on the disk."""


def _rows_since(connection: Transaction, ns: int, rev: int) -> list[RosterRow]:
    outlines = past.outlines_since(connection, ns, rev)
    return [RosterRow._make((*outline[:-1], strings_in(outline[-1]))) for outline in outlines]


def _take(connection: Transaction, ns: int, held: Held, rows: list[RosterRow]) -> None:
    """Apply new and changed rows to a namespace, or to a part of one.

    A part must keep no trace of rows outside it: if a row left it, or an older row entered it, the
    whole part is read again.
    """
    ours = _shown(held, rows)
    if held.shown:
        stays = {row.docid for row in ours}
        gone = [row.docid for row in rows if row.docid not in stays]
        late = [row.docid for row in ours if row.docid & SEQ_MASK <= held.rev]
        known = held.snap.docid
        if np.isin(gone, known).any() or not np.isin(late, known).all():
            held.drop_rows()
            ours = _shown(held, _rows_since(connection, ns, 0))
    held.roster.apply(ours)
    held.snap = held.roster.view()


def _shown(held: Held, rows: list[RosterRow]) -> list[RosterRow]:
    """Leave out the rows that are not in the scopes of a part, or are not active."""
    if not held.shown:
        return rows
    return [
        row
        for row in rows
        if row.status in _FOUND and any(contains(scope, row.scope) for scope in held.shown)
    ]


def _readable(rows: list[RosterRow]) -> list[RosterRow]:
    """Leave out the rows that a roster cannot take."""
    try:
        Roster().apply(rows)
    except _GARBLED:
        half = len(rows) // 2
        return _readable(rows[:half]) + _readable(rows[half:]) if half else []
    return rows


class Searcher:
    """Answers requests for every namespace of a store. Thread-safe.

    Args:
        ledger: The store.
        config: Settings.
        embedding: The embedder, or None for full text only.
        reranker: Reorders the best candidates, or None.
        long: Returns the long tier if it is open; with True it is opened if it is not, later.
        trouble: Returns the problems of the indexer in a namespace: part to reason.
    """

    _sees_present = True
    """Whether an answer shows memories as they are, not as they were."""

    def __init__(
        self,
        ledger: Ledger,
        config: Config,
        embedding: StoreEmbedder | None,
        reranker: Reranker | None,
        long: Callable[[bool], Index | None],
        trouble: Callable[[int], Mapping[str, str]],
    ) -> None:
        self._ledger = ledger
        self._config = config
        self._embedding = embedding
        self._zone = config.zone
        self._rerank = None if reranker is None else partial(rerank_checked, reranker)
        self._outlines = Outlines(ledger)
        self._by_vector = VectorSearch(ledger, config, embedding, long)
        self._trouble = trouble
        self._kept = Kept(config.retrieve.kept_mb * 1_000_000)
        self._tail = ledger.make_tail()
        self._postings = Postings()

    def search(
        self,
        ns: int,
        labels: tuple[str, ...],
        request: Request,
        shown: tuple[str, ...] = (),
    ) -> Retrieval:
        """Find memories of one namespace.

        Args:
            ns: Its number.
            labels: Its labels.
            request: The request.
            shown: Scopes that it shows to another namespace, which asks; () if it asks itself.
                With scopes, the answer is that of a store with only their active memories.
        """
        began = time.perf_counter()
        source, took = self._source(labels, ns, shown), {"embed": 0.0}
        owing = request.wait and self._embedding is not None and not shown
        missing = self._owing(source) if owing else {}
        try:
            ranking = self._ranked(request, source, self._rerank, missing, took)
        except RerankerError as error:
            missing["reranker"] = unquoted(str(error), request.query)
            ranking = self._ranked(request, source, None, missing, took)
        self._name_server(ns, missing)
        ranked = time.perf_counter()
        hits = self._hits(source, ranking, request.filters, request.shown, missing)
        ended = time.perf_counter()
        took["rank"] = ranked - began - took["embed"]
        took["read"], took["total"] = ended - ranked, ended - began
        return Retrieval(request.query, hits, missing, ranking.confidence if hits else 0.0, took)

    def nearest(
        self,
        labels: tuple[str, ...],
        vector: Sequence[float] | NDArray[np.floating[Any]],
        *,
        k: int,
        min_score: float,
        filters: Filters,
    ) -> Retrieval:
        """Find memories of one namespace by vector alone; see ``Store.nearest``."""
        began = time.perf_counter()
        check_count("k", k)
        least = check_share("min_score", min_score)
        if self._embedding is None:
            raise TierUnavailable(
                Tier.LONG, "the manager has no embedder, so no memory has a vector"
            )
        asked = _unit(vector, self._embedding)
        ns = self._ledger.find_namespace(labels)
        if ns is None:
            return Retrieval("")
        self.prepare(ns)
        source = self._source(labels, ns)
        model, missing = self._embedding.known_model(source.moment), self._owing(source)
        if model is None:
            return Retrieval("", missing=missing)
        near = _with_chroma_or_exactly(
            lambda exact: self._near(source, asked, model, k, filters, exact=exact)
        )
        self._name_server(ns, missing)
        found = Ranking.of([*self._found_by_vector(near, least)], 0.0, weighed=False)
        hits = self._hits(source, found, filters, filters.statuses, missing)
        sure = max((hit.confidence for hit in hits), default=0.0)
        return Retrieval("", hits, missing, sure, {"total": time.perf_counter() - began})

    def earlier_notes(self, ns: int, docid: int, most: int, now: int) -> list[int]:
        """Return the row ids of the notes nearest to one that its speaker made before it.

        Args:
            ns: Number of the namespace.
            docid: Row id of the note; without a vector, it has no near ones.
            most: Maximum number.
            now: Microseconds; what has expired is no note.
        """
        self.prepare(ns)
        labels = self._ledger.read(lambda c: namespaces.labels_of(c, ns), space=ns)
        source = self._source(labels, ns)
        model = None if self._embedding is None else self._embedding.known_model(source.moment)
        if model is None:
            return []
        own = self._ledger.read(lambda c: vectors.read(c, [docid], model), space=ns)
        if docid not in own:
            return []
        vector = np.frombuffer(own[docid], np.float32)

        def near(exact: bool) -> list[int]:
            snap, allowed, nearest = self._follow(source, Filters(now), model, exact=exact)
            row = snap.rows_of(np.array([docid], np.int64))
            if nearest is None or not len(row):
                return []
            notes = allowed & snap.heard & (snap.session < 0) & (snap.actor == snap.actor[row])
            later = snap.occurred_at > snap.occurred_at[row]
            later[int(row[0]) :] |= snap.occurred_at[int(row[0]) :] == snap.occurred_at[row]
            notes &= ~later
            found: list[int] = snap.docid[nearest.nearest(vector, most, notes)[0]].tolist()
            return found

        return _with_chroma_or_exactly(near)

    def keep_outlines(self) -> None:
        """Write the outlines of namespaces to which many revisions came, for the next process.

        None is written while rows are damaged: it would still hide them after a repair.
        """
        for ns, held in self._kept.every():
            if not held.whole or not is_due(held.rev, held.filed):
                continue
            with held.lock:
                content, rev = content_of(held.roster), held.rev
                is_whole = held.whole
            if is_whole and self._outlines.save(ns, content, rev):
                held.filed = rev

    def _source(
        self, labels: tuple[str, ...], ns: int, shown: tuple[str, ...] = ()
    ) -> LedgerSource:
        return LedgerSource(self._ledger, ns, labels, self._tail, self._postings, shown)

    def prepare(self, ns: int) -> None:
        """Write the vector file of a namespace if it is due; call it before a question reads.

        Whoever writes needs a connection, and those of other questions may wait for the namespace.
        """
        held = self._kept.hold((ns, ()))
        if self._embedding is None or not self._by_vector.may_be_due(held):
            return
        with held.filing:
            try:
                model = self._embedding.known_model(self._ledger.moment())
            except MementoError:  # the question says so
                return
            if model is not None:
                self._by_vector.file(ns, held, model)

    def _owing(self, source: LedgerSource) -> dict[str, str]:
        """Return an entry for ``missing`` if memories are not embedded yet.

        They are recounted only after a write: counting may read the whole backlog of Chroma.
        """
        ns, moment, held = source.ns, source.moment, self._kept.hold((source.ns, ()))
        if held.owed is None or held.owed[0] != moment:
            count_them = partial(vectors.owed_in, ns=ns, most=_MOST_OWED + 1)
            held.owed = moment, self._ledger.read(count_them, space=ns)
        owed = held.owed[1]
        count = f"{owed:,}" if owed <= _MOST_OWED else f"more than {_MOST_OWED:,}"
        return {Tier.LONG.value: self._still_owed(ns, count, owed)} if owed else {}

    def _still_owed(self, ns: int, count: str, owed: int) -> str:
        """Return a message: how many memories are not embedded yet, and what helps."""
        cure = self._trouble(ns).get("embedder", "flush(wait=True) waits for them")
        are = "memory is" if owed == 1 else "memories are"
        return f"{count} {are} waiting to be embedded; {cure}"

    def _name_server(self, ns: int, missing: dict[str, str]) -> None:
        """Report a Chroma server that does not work; exact search answers instead."""
        if self._config.chroma.url is not None and (why := self._trouble(ns).get("long")):
            missing.setdefault(Tier.LONG.value, why)

    def _name_most_owed(
        self, ns: int, snap: RosterView, nearest: Nearest | None, missing: dict[str, str]
    ) -> None:
        """Report it if most active memories of a namespace are not embedded yet."""
        if self._embedding is None or Tier.LONG.value in missing:
            return
        has_vector = nearest.has_vector() if isinstance(nearest, Exact) else np.zeros(snap.n, bool)
        lack = snap.n - np.count_nonzero(has_vector)
        if _FEW_LACK * lack > snap.live:  # some forgotten ones have a vector too
            active = having_trait(snap.status, "found")
            owed = int(np.count_nonzero(active & ~has_vector))
            if 2 * owed > np.count_nonzero(active):
                missing[Tier.LONG.value] = self._still_owed(ns, f"{owed:,}", owed)

    def _found_by_vector(self, near: Sequence[tuple[int, float]], least: float) -> Iterator[Found]:
        cosines = np.array([cosine for _, cosine in near], np.float32)
        sure = judging.of_nearest(cosines).tolist()
        for place, ((docid, cosine), chance) in enumerate(zip(near, sure, strict=True), start=1):
            if cosine >= least:
                terms, ranks, signs = {"meaning": cosine}, {"meaning": place}, {"cosine": cosine}
                yield Found(docid, cosine, chance, terms, ranks, folded=(), signs=signs)

    def _model(self, query: str, source: LedgerSource, missing: dict[str, str]) -> int | None:
        """Return the number of the embedder; None if the query is not to be embedded."""
        if self._embedding is None or not query.strip():
            return None
        try:
            return self._embedding.known_model(source.moment)  # None if nothing was ever embedded
        except (EmbedderError, InvalidInput, MissingExtra) as error:
            missing[Tier.LONG.value] = unquoted(str(error), query)
            return None

    def _embedded(
        self, request: Request, source: LedgerSource, snap: RosterView, missing: dict[str, str]
    ) -> NDArray[np.float32] | None:
        """Embed a query after correcting its typing errors; see `spellings.meant`."""
        assert self._embedding is not None  # noqa: S101 - it has a number
        written = former_question.without_successor(request.query)
        try:
            return self._embedding.query(
                spellings.meant(written, lambda: source.vocabulary(known_from(snap)), snap.people),
                request.asker,
            )
        except (EmbedderError, InvalidInput, MissingExtra) as error:
            missing[Tier.LONG.value] = unquoted(str(error), request.query)
            return None

    def _ranked(
        self,
        request: Request,
        source: LedgerSource,
        rerank: Rerank | None,
        missing: dict[str, str],
        took: dict[str, float],
    ) -> Ranking:
        model = self._model(request.query, source, missing)
        return _with_chroma_or_exactly(
            lambda exact: self._rank(request, source, model, rerank, missing, took, exact=exact)
        )

    def _rank(
        self,
        request: Request,
        source: LedgerSource,
        model: int | None,
        rerank: Rerank | None,
        missing: dict[str, str],
        took: dict[str, float],
        *,
        exact: bool,
    ) -> Ranking:
        """Bring the namespace up to date and rank what it holds."""
        filters, vector = request.filters, None
        snap, allowed, nearest = self._follow(source, filters, model, exact=exact)
        if model is not None:
            began = time.perf_counter()
            vector = self._embedded(request, source, snap, missing)
            took["embed"] += time.perf_counter() - began
        if request.query.strip():  # vectors are not loaded for a blank query
            self._name_most_owed(source.ns, snap, nearest, missing)
        links = Links(self._ledger, source.ns, filters.now, self._config.dynamics, source.linked)
        meaning = None
        if vector is not None and nearest is not None:
            meaning = Meaning(snap, nearest, vector)
        return find(
            Look(
                request,
                snap,
                source,
                self._config.retrieve,
                allowed,
                meaning,
                self._zone,
                former=None if request.past is None else chosen(source, snap, request.past),
                by_name=set_aside(source, snap, filters) if request.aside else None,
                rerank=rerank,
                life=self._life(source, filters.now),
                links=links if filters.as_of is None and not source.shown else None,
                quoted=links.quoted,
            )
        )

    def ahead(self, connection: Transaction, ns: int) -> None:
        """Announce what a search will ask of a namespace that changed since the last one."""
        held, moment = self._kept.hold((ns, ())), self._ledger.moment()
        if held.followed is None or held.followed.moment != moment:
            self._announce(connection, ns, held)

    def _near(
        self,
        source: LedgerSource,
        vector: NDArray[np.float32],
        model: int,
        k: int,
        filters: Filters,
        *,
        exact: bool,
    ) -> list[tuple[int, float]]:
        """List row ids and cosines in [0, 1], nearest first."""
        snap, allowed, nearest = self._follow(source, filters, model, exact=exact)
        if nearest is None:
            return []
        rows, cosines = nearest.nearest(vector, k, allowed)
        docids = snap.docid[rows].tolist()
        return list(zip(docids, np.clip(cosines, 0, 1).tolist(), strict=True))

    def _follow(
        self, source: LedgerSource, filters: Filters, model: int | None, *, exact: bool
    ) -> tuple[RosterView, Mask, Nearest | None]:
        """Bring the namespace up to date; return it, the rows that pass, and the vector index.

        Returns:
            The namespace; the rows that pass the filters; the search by vector, or None.
        """
        # A transaction waits for the lock, never its holder for a connection, of which there are
        # only so many.
        follow = partial(self._follow_in, source, filters, model, exact=exact)
        return self._ledger.gathered(follow, space=source.ns)

    def _follow_in(
        self, source: LedgerSource, filters: Filters, model: int | None, *, exact: bool
    ) -> tuple[RosterView, Mask, Nearest | None]:
        narrow, docids, hidden = filters.narrow, None, None
        if narrow:
            docids = source.matching(filters) if needs_ledger(filters) else None
            hidden = source.hidden(filters)
        held = self._kept.hold((source.ns, source.shown))
        with held.lock:
            source.state, source.linked = self._followed(source, held, model)
            source.known, source.strengths = held.words, held.strengths
            snap = held.snap
            source.members = snap.docid if source.shown else None
            passed, nearest = None, None
            if not narrow:
                allowed = held.open_at(filters)
            else:
                allowed = allow(snap, filters, docids, hidden)
                passed = int(np.count_nonzero(allowed))
            if model is not None:
                nearest = self._by_vector.search(
                    source.ns, source.labels, held, snap, passed, filters.now, exact=exact
                )
        self._kept.make_room((source.ns, source.shown))
        return snap, allowed, nearest

    def _followed(
        self, source: LedgerSource, held: Held, model: int | None
    ) -> tuple[State, Linked]:
        """Bring a namespace up to date, unless nothing was written since that was done."""
        moment, known = source.moment, held.followed
        if (
            known is not None
            and known.moment == moment
            and known.model == model
            and (model is None or self._by_vector.is_at_hand(held))
        ):
            return known.state, known.linked
        state, linked = self._ledger.read(
            lambda c: self._follow_all(c, source.ns, held, model), space=source.ns
        )
        held.followed = Followed(moment, model, state, linked)
        return state, linked

    def _follow_all(
        self, connection: Transaction, ns: int, held: Held, model: int | None
    ) -> tuple[State, Linked]:
        """Read the new and changed rows, and the vectors.

        Both are read at one moment: the vector of a row not known yet would be lost.
        """
        self._announce(connection, ns, held)
        came = newest(connection, KIND, ns)
        held.rev, edition = self._follow_rows(connection, ns, held, came.rev)
        if not held.shown:  # usage by the owner is not shown to others
            held.strengths.follow(connection, ns, came.used)
        self._by_vector.follow(connection, ns, held, model, came.facts)
        linked = linked_in(connection, ns, flagged=came.flagged, succeeded=came.succeeded)
        return (held.rev, edition), linked

    def _announce(self, connection: Transaction, ns: int, held: Held) -> None:
        """Announce what `_follow_all` asks."""
        if rev := held.rev:
            connection.ahead(
                lambda c: newest(c, KIND, ns),
                lambda c: c.words.edition(),
                lambda c: past.outlines_since(c, ns, rev),
                lambda c: past.erased_since(c, ns, rev),
            )
            self._tail.ahead(connection, ns)

    def _follow_rows(
        self, connection: Transaction, ns: int, held: Held, rev: int
    ) -> tuple[int, int]:
        """Read the new and changed rows.

        Returns:
            The revision that is now known, and the edition of the full-text index.
        """
        edition = connection.words.edition()
        if rev == held.rev:
            self._tail.follow(connection, ns, rev)
            return rev, edition
        held.open = None
        afresh = not held.rev
        if (
            afresh
            and not held.shown
            and (outline := self._outlines.load(connection, ns, rev)) is not None
        ):
            held.roster, held.rev = outline
            held.snap = held.roster.view()
            held.filed = held.rev
        rows = _rows_since(connection, ns, held.rev)
        try:
            _take(connection, ns, held, rows)
        except _GARBLED as error:
            log.warning("namespace %s has damaged rows (%s); run `memento doctor`", ns, error)
            held.drop_rows()
            held.whole = False
            held.roster.apply(_readable(_shown(held, _rows_since(connection, ns, 0))))
            held.snap = held.roster.view()
        erased = [row.docid for row in rows if row.status == ERASED]
        self._tail.follow(connection, ns, rev, erased, afresh=afresh)
        return rev, edition

    def _life(self, source: LedgerSource, now: int) -> Life | None:
        if source.life is None:
            config = self._config
            source.life = Life(source.strengths, now, config.dynamics, config.effect)
        return source.life

    def _hits(
        self,
        source: LedgerSource,
        ranking: Ranking,
        filters: Filters,
        statuses: Collection[str],
        missing: dict[str, str],
    ) -> tuple[Hit, ...]:
        """Read the rows that were found. A row that changed in the meantime is shown as it is now.

        A damaged row is left out and reported in ``missing``; a row that was folded into it takes
        its place.
        """
        rows, garbled = self._read(source, ranking.docids, filters)
        if garbled:
            missing[LEDGER] = damaged([str(rows[docid].id) for docid in sorted(garbled)])
            log.warning("left out of an answer: %s", missing[LEDGER])
        shown = {
            docid: row
            for docid, row in rows.items()
            if docid not in garbled and (row.status in statuses or _still_holds(row, filters))
        }
        found = list(_standing(ranking.found, shown))
        life = self._life(source, filters.now)
        pairs = [(shown[one.docid], one.terms) for one in found]
        told = life.told(pairs, weighed=ranking.weighed) if life else [{}] * len(found)
        memories_ = [to_memory(row, source.labels) for row, _ in pairs]
        hits = [_hit(shown, *one) for one in zip(memories_, found, told, strict=True)]
        if source.members is not None:
            return tuple(_counted(hits, found, source.members))
        if filters.as_of is None and self._sees_present:
            return tuple(self._dated(source.ns, hits, filters.now))
        return tuple(hits)

    def _dated(self, ns: int, hits: Sequence[Hit], now: int) -> Iterator[Hit]:
        """Set ``until`` and ``newer`` on messages of which nothing that was learned still holds."""
        turns = {
            one.memory.id: docid_of(ns, one.memory.seq) for one in hits if one.memory.kind in _SAID
        }
        found: Mapping[str, memories.Outdated] = {}
        if turns:
            found = self._ledger.read(lambda c: memories.outdated(c, ns, turns, now), space=ns)
        for one in hits:
            end = found.get(one.memory.id)
            yield one if end is None else replace(one, until=from_micros(end.until), newer=end.by)

    def _read(
        self, source: LedgerSource, docids: Sequence[int], filters: Filters
    ) -> tuple[dict[int, Row], set[int]]:
        """Return rows as an answer shows them, and the row ids of those that are damaged."""
        same = filters.as_of is None and self._ledger.moment() == source.moment
        known = source.rows if same else {}  # else a row may have changed since it was read
        held = {docid: known[docid] for docid in docids if docid in known}
        garbled = {docid for docid, row in held.items() if not is_sound(row)}
        missing = [docid for docid in docids if docid not in held]
        if not missing:
            return held, garbled
        rows, others = self._ledger.read(
            lambda c: self._rows(c, source.ns, missing, filters), space=source.ns
        )
        return held | rows, garbled | others

    def _rows(
        self, connection: Transaction, ns: int, docids: Sequence[int], filters: Filters
    ) -> tuple[dict[int, Row], set[int]]:
        """Read rows as an answer shows them; also the row ids of those that are damaged."""
        rows = memories.by_docids(connection, ns, docids)
        garbled = {docid for docid, row in rows.items() if not is_sound(row)}
        if filters.as_of is not None:
            sound = [row for docid, row in rows.items() if docid not in garbled]
            garbled |= memories.reword_as_of(connection, sound, filters.as_of)
        return rows, garbled


def _standing(found: Sequence[Found], shown: Mapping[int, Row]) -> Iterator[Found]:
    """Yield the found rows that can be shown; for others, the first row folded into them."""
    for one in found:
        known = [docid for docid in (one.docid, *one.folded) if docid in shown]
        if known:
            yield (
                one
                if known[0] == one.docid
                else replace(one, docid=known[0], folded=tuple(known[1:]), passage=None)
            )


def _counted(hits: Sequence[Hit], found: Sequence[Found], members: Docids) -> Iterator[Hit]:
    """Number the memories of a part by their order in it: gaps would reveal the others."""
    places = np.searchsorted(members, [one.docid for one in found]) + 1
    for hit, place in zip(hits, places.tolist(), strict=True):
        yield replace(hit, memory=replace(hit.memory, seq=place))


def _with_chroma_or_exactly(ask: Callable[[bool], T]) -> T:
    """Call ``ask``; if Chroma or a file fails, again for exact search, using the ledger."""
    try:
        return ask(False)
    except TierUnavailable:
        return ask(True)


def _unit(
    vector: Sequence[float] | NDArray[np.floating[Any]], embedding: StoreEmbedder
) -> NDArray[np.float32]:
    """Validate a vector of the store's embedder and return it with unit length."""
    try:
        asked = np.asarray(vector, np.float32)
    except (TypeError, ValueError) as error:
        raise InvalidInput("vector", f"must be a list of numbers: {error}") from error
    if asked.ndim != 1 or not np.isfinite(asked).all():
        raise InvalidInput("vector", "must be one row of finite numbers")
    if len(asked) != embedding.dim:
        raise EmbeddingMismatch(embedding.identity, f"one with {len(asked)} dimensions")
    length = float(np.linalg.norm(asked))
    if not length:
        raise InvalidInput("vector", "is all zeros")
    return asked / np.float32(length)


def _still_holds(row: Row, filters: Filters) -> bool:
    """Return whether a row holds until a planned value replaces it; see ``still_holding``."""
    ends = row.valid_until if row.status == Status.SUPERSEDED else None
    holds = ends is not None and row.valid_from <= filters.now < ends
    return filters.until_a_plan and holds


def _hit(rows: Mapping[int, Row], memory: Memory, one: Found, told: Mapping[str, Any]) -> Hit:
    return Hit(
        memory=memory,
        score=one.score,
        confidence=one.confidence,
        terms=one.terms,
        ranks=one.ranks,
        folded=tuple(rows[docid].id for docid in one.folded if docid in rows),
        passage=one.passage,
        signs=one.signs,
        newer=rows[one.newer].id if one.newer is not None and one.newer in rows else None,
        **told,
        conflicts=tuple(rows[docid].id for docid in one.opposed if docid in rows),
    )
