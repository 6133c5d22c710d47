"""Overviews of memories, and views of the past. Writes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack

from memento.base.clock import from_micros
from memento.base.plain import plain
from memento.base.scopes import ancestors
from memento.check import check_count, check_id, check_moment, check_word
from memento.errors import InvalidInput, NotFound
from memento.insight.findings import (
    Chain,
    Conflict,
    Dossier,
    Entry,
    Health,
    Lineage,
    Moment,
    Reasoning,
    Wonder,
)
from memento.insight.names import explains, spelt_in
from memento.insight.reason import CONTRADICTS, UNRELATED, Reader
from memento.ledger import links, memories, slot_rows, strength_fold
from memento.ledger.contract import Transaction
from memento.ledger.filters import Filtering, check_known_at, filtering, filters_of
from memento.ledger.rows import docid_of, strings_in
from memento.prompt.policy_values import TOKENS, Policy
from memento.status import having
from memento.text.sentences import merely_asks
from memento.types import (
    Hit,
    Kind,
    Memories,
    Memory,
    Reason,
    Related,
    Retrieval,
    SlotValue,
    Status,
    StatusName,
)
from memento.upkeep import lineage
from memento.verbs import listing
from memento.verbs.feedback import Feedback
from memento.verbs.rules import Rules
from memento.views import Part, View

if TYPE_CHECKING:
    from memento.insight.reason import Path


MOST = 1_000
"""Maximum number of memories that one overview reads with all that belongs to them."""
EVERY = 1_000_000
"""Maximum number of memories that ``health`` counts."""
NEAR_BEST = 0.2
"""Minimum share of the best confidence; a memory with less is of another topic than the dossier."""
JUNK = 3
"""Number of forgotten memories from one source that mark it as junk."""
AGE = timedelta(days=30)
"""Age from which a memory that was never shown is unused."""
STALE = timedelta(days=180)
"""Age from which a rule or a preference that nobody confirmed should be asked about."""
KNOWN = 0.3
"""Minimum confidence at which a question counts as answered."""
PEERS = 3
"""Subjects that must have a slot before one that lacks it is noticed."""
MENTIONS = 5
"""Memories that must mention a name before it is asked what it is."""
USER = "user/"
"""Beginning of the slots that say something about the user."""
CONFIRMING = frozenset({"confirmed", "reinforced"})
"""Verdicts that confirm a memory."""

Moments = list[Moment]
Relations = list[Related]
Wonders = list[Wonder]
"""Named here, because inside some classes ``list`` is a method."""


V = TypeVar("V", bound=View)

MOST_HOPS = 6
"""Maximum number of memories in a chain."""
MOST_CHAINS = 100
"""Maximum number of chains in an answer."""


class Snapshot:
    """A read-only view of a namespace as it was at a moment.

    Args:
        view: The manager.
        at: The moment.

    Attributes:
        at: The moment (timezone-aware).
    """

    def __init__(self, view: View, at: datetime) -> None:
        self._view = view
        self.at = at

    def __repr__(self) -> str:
        return f"<Snapshot {self.at.isoformat()}>"

    def list(self, **options: Any) -> Memories:
        """Like ``MemoryManager.list``, but as of the snapshot's moment.

        Raises:
            InvalidInput: If an argument is invalid.
        """
        return listing.list(self._view, **options, known_at=self.at)

    def policy(self, *, scope: str = "", tokens: int = TOKENS, ids: bool = False) -> Policy:
        """Like ``Rules.policy``, but as of the snapshot's moment: the head only, and no session.

        Raises:
            InvalidInput: If an argument is invalid.
        """
        return Rules(self._view).policy(scope=scope, tokens=tokens, ids=ids, known_at=self.at)

    def retrieve(self, query: str, k: int | None = 5, **options: Any) -> Retrieval:
        """Like ``MemoryManager.retrieve``, but as of the snapshot's moment; nothing is logged.

        Raises:
            InvalidInput: If an argument is invalid.
        """
        return self._view.retrieve(query, k, **options, known_at=self.at)


class Insight(Part):
    """Gives overviews and views of the past; available as ``memory.insight``."""

    def snapshot(self, at: datetime) -> Snapshot:
        """Return a view of the namespace at a moment, with ``list``, ``retrieve`` and ``policy``.

        Memories that have been erased, or that are or were in quarantine, are not included.

        Args:
            at: The moment (timezone-aware); must not be in the future.

        Raises:
            InvalidInput: If the moment is invalid.
        """
        check_known_at(check_moment("at", at) and at, self._view.engine.now())
        return Snapshot(self._view, at)

    def timeline(
        self,
        topic: str | None = None,
        *,
        by: Literal["occurred", "recorded"] = "occurred",
        limit: int = 100,
        **filters: Unpack[Filtering],
    ) -> Moments:
        """List events in chronological order.

        Args:
            topic: Only memories that are relevant to this topic; None for all.
            by: ``occurred`` for when things happened or were said; ``recorded`` for when they were
                stored, changed, superseded, forgotten and so on.
            limit: Maximum number of memories to read, by relevance or by date, 1 to 1,000.
            filters: Return only memories that match; see ``Filtering``.

        Returns:
            Events for active and superseded memories, oldest first. With ``recorded`` and no topic,
            events for forgotten memories are also included.

        Raises:
            InvalidInput: If an argument is invalid.
        """
        check_word("by", by, ("occurred", "recorded"))
        check_count("limit", limit, most=MOST)
        found = self._about(topic, by == "recorded", limit, filters)
        if by == "occurred":
            moments = [Moment(one.occurred_at, "occurred", one, one.text) for one in found]
        else:
            moments = [moment for one in found for moment in self._recorded(one)]
        return sorted(moments, key=lambda one: (one.at, one.memory.seq))

    def lineage(self, id: str) -> Lineage:  # noqa: A002 - the field's own name
        """Return a memory's sources and the memories derived from it.

        For parents that are forgotten or in quarantine, only the ids are returned.

        Args:
            id: Id of the memory; it may have any status.

        Raises:
            NotFound: If no memory in this namespace has this id.
            StoreUnusable: If one of its states is damaged.
        """
        memory = self._view.get(id)
        ns, ledger = self._view.known_namespace(memory.id), self._view.engine.ledger
        stored = self._stored(memory.source.parents)
        parents = {name: one for name, one in stored if one.status in having("accepted")}
        return Lineage(
            memory,
            tuple(parents.values()),
            tuple(one for one in memory.source.parents if one not in parents),
            tuple(self._derived(memory.id)),
            tuple(lineage.history(ledger, ns, memory.id)),
            tuple(self.related(memory.id)),
            Feedback(self._view).belief(memory.id).evidence,
        )

    def dossier(self, topic: str, *, tokens: int | None = None) -> Dossier:
        """Collect what is known about a topic: each memory with its turns and earlier values.

        Args:
            topic: The topic, in plain language.
            tokens: Maximum number of tokens in all memories together; None for no limit.

        Raises:
            InvalidInput: If an argument is invalid.
        """
        found = self._view.retrieve(topic, None, tokens=tokens, record=False, shared=False)
        least = NEAR_BEST * max((hit.confidence for hit in found), default=0.0)
        entries = [self._entry(hit) for hit in found if hit.confidence >= least]
        told = {turn.id for entry in entries for turn in entry.turns}
        kept = tuple(entry for entry in entries if entry.memory.id not in told)
        return Dossier(topic, kept, found.confidence)

    def health(self, scope: str | None = None) -> Health:
        """Report conflicts, and memories that are overdue, unused or without a source.

        Args:
            scope: Only memories at this scope or below it; None for all.

        Raises:
            InvalidInput: If the scope is malformed.
        """
        active = self._of_status(scope)
        rules = [one for one in active if one.kind is Kind.RULE]
        gone = self._of_status(scope, Status.FORGOTTEN)
        junk = Counter(one.source.uri for one in gone if one.source.uri is not None)
        doubted = self._of_status(scope, Status.QUARANTINED)
        return Health(
            active=len(active),
            kinds=dict(sorted(Counter(one.kind.value for one in active).items())),
            without_source=sum(map(_is_rootless, active)),
            quarantined=len(doubted),
            conflicts=tuple(self._conflicts(active)),
            overdue=tuple(self._over("" if scope is None else self._view.present_scope(scope))),
            unused=self._count_unused(active),
            oldest_rule=self._oldest(rules),
            junk={uri: count for uri, count in sorted(junk.items()) if count >= JUNK},
            scopes=dict(sorted(Counter(one.scope for one in active).items())),
            signals=dict(sorted(Counter(filter(None, (one.signal for one in active))).items())),
        )

    def wonder(self, topic: str | None = None, *, limit: int = 8) -> Wonders:
        """List gaps in the memories, each with a question to ask.

        Gaps are open conflicts; unanswered questions from the user; overdue memories; slots that
        are empty for one subject but filled for several similar ones; rules, preferences and facts
        about the user that have not been confirmed for 180 days; and names that many memories
        mention but none explains. No model is used, and the result is deterministic.

        Args:
            topic: Return only gaps that concern this topic; None for all.
            limit: Maximum number of gaps to return, 1 to 100.

        Raises:
            InvalidInput: If an argument is invalid.
        """
        check_count("limit", limit, most=100)
        found = self._about(topic, False, MOST, {})
        active = [one for one in found if one.status in having("found")]
        every = chain(
            (
                Wonder("conflict", f"Which is right: {a.text} | {b.text}", (a, b))
                for a, b in self._conflicts(active)
            ),
            self._unanswered(active),
            (
                Wonder("overdue", f"What became of this: {one.text}", (one,))
                for one in self._over("")
                if topic is None
            ),
            _lacking_slots(active),
            self._stale(active),
            self._unexplained(active),
        )
        return [one for one, _ in zip(every, range(limit), strict=False)]

    def _about(
        self, topic: str | None, forgotten: bool, limit: int, filters: Filtering
    ) -> Memories:
        """Return active and superseded memories; forgotten ones only without a topic."""
        if topic is not None:
            found = self._view.retrieve(
                topic, limit, include_superseded=True, record=False, shared=False, **filters
            )
            return Memories(hit.memory for hit in found)
        wanted = [*map(Status, having("found", "ended")), *[Status.FORGOTTEN] * forgotten]
        return self._view.listed(
            filtering(self._view.engine.now(), filters, Insight.timeline, statuses=wanted),
            by_time=True,
            newest_first=True,
            limit=limit,
        )

    def _of_status(self, scope: str | None, *statuses: Status) -> Memories:
        """Return all memories at a scope or below it; active ones if no status is named."""
        asked = filters_of(self._view.engine.now(), statuses=statuses or None, within=scope)
        return self._view.listed(asked, limit=EVERY)

    def _recorded(self, memory: Memory) -> Iterator[Moment]:
        """Yield when a memory was stored and when each of its states ended."""
        ns = self._view.known_namespace(memory.id)
        versions = lineage.history(self._view.engine.ledger, ns, memory.id)
        yield Moment(memory.created_at, "recorded", memory, versions[0].text)
        for one in versions:
            if one.until is not None and one.reason != Reason.PRESENT:
                yield Moment(one.until, one.reason, memory, one.text)

    def _stored(self, ids: Iterable[str]) -> Iterator[tuple[str, Memory]]:
        for one in ids:
            try:
                yield one, self._view.get(one)
            except NotFound:
                continue

    def _derived(self, memory_id: str) -> Memories:
        """Return the visible memories that were derived from one."""
        derived = self._view.ask(lambda c, ns: [*memories.derivations(c, ns)]) or []
        ids = [one for one, parents in derived if memory_id in strings_in(parents)]
        if not ids:
            return Memories()
        return self._view.listed(filters_of(self._view.engine.now(), ids=ids), limit=EVERY)

    def _entry(self, hit: Hit) -> Entry:
        """Describe a memory of a dossier."""
        memory = hit.memory
        visible = having("found", "ended")
        turns = [one for _, one in self._stored(memory.source.parents) if one.status in visible]
        values: Sequence[SlotValue] = ()
        if memory.key is not None:
            slot, now = (memory.key, memory.scope), self._view.engine.now()
            values = self._view.values(lambda c, ns: slot_rows.values(c, ns, slot, now))
        earlier = [one for one in values if one.memory.status is Status.SUPERSEDED]
        return Entry(memory, tuple(turns), tuple(earlier), hit.until)

    def _conflicts(self, active: Sequence[Memory]) -> Iterator[tuple[Memory, Memory]]:
        """Yield the pairs of some memories that contradict each other, in order of arrival."""
        if (ns := self._view.ns) is None:
            return
        known = {docid_of(ns, one.seq): one for one in active}

        def job(session: Transaction) -> set[tuple[int, int]]:
            found = chain.from_iterable(links.linked(session, docid) for docid in known)
            return {(min(a, b), max(a, b)) for a, b, name in found if name == CONTRADICTS}

        for one, other in sorted(self._view.engine.ledger.read(job, space=ns)):
            if one in known and other in known:
                yield known[one], known[other]

    def _over(self, scope: str) -> Memories:
        """Return the active memories at a scope or below it that are over, or were due."""
        now = self._view.engine.now()
        found = self._view.read(self._view.ask(lambda c, ns: memories.ended(c, ns, now)) or [])
        due = [
            one
            for one in self._view.listed(filters_of(now, kind=Kind.PLAN), limit=EVERY)
            if one.due_at is not None and one.due_at <= from_micros(now)
        ]
        every = {one.id: one for one in (*found, *due) if scope in ancestors(one.scope)}
        return Memories(sorted(every.values(), key=lambda one: one.seq))

    def _oldest(self, rules: Sequence[Memory]) -> Memory | None:
        """Return the rule that was not changed for the longest time and that nobody confirmed."""
        for one in sorted(rules, key=lambda one: (one.updated_at, one.seq)):
            told = (said.verdict for said in Feedback(self._view).belief(one.id).evidence)
            if not one.reinforced and not CONFIRMING.intersection(told):
                return one
        return None

    def _count_unused(self, active: Sequence[Memory]) -> int:
        """Count the memories that are older than ``AGE`` and have no counted use."""
        before = from_micros(self._view.engine.now()) - AGE
        old = [one for one in active if one.created_at <= before]
        return (
            self._view.ask(
                lambda c, ns: len(
                    {docid_of(ns, one.seq) for one in old} - strength_fold.used(c, ns)
                )
            )
            or 0
        )

    def _unanswered(self, active: Sequence[Memory]) -> Iterator[Wonder]:
        """Yield questions of the user that nothing answers."""
        for one in active:
            if one.role in (None, "user") and merely_asks(one.text):
                found = self._view.retrieve(
                    one.text, 3, without=[one.id], record=False, shared=False
                )
                if found.confidence < KNOWN:
                    yield Wonder("unanswered", one.text, (one,))

    def _stale(self, active: Sequence[Memory]) -> Iterator[Wonder]:
        """Yield rules, preferences and facts about the user that are old, the oldest first."""
        now = from_micros(self._view.engine.now())
        old = [
            one
            for one in active
            if (one.kind in (Kind.RULE, Kind.PREFERENCE) or (one.key or "").startswith(USER))
            and not one.reinforced
            and now - one.updated_at >= STALE
        ]
        for one in sorted(old, key=lambda memory: (memory.updated_at, memory.seq)):
            yield Wonder("stale", f"Does this still apply: {one.text}", (one,))

    def _unexplained(self, active: Sequence[Memory]) -> Iterator[Wonder]:
        """Yield names that many memories mention, if no memory says who or what they are."""
        if (ns := self._view.ns) is None or len(active) < MENTIONS:
            return
        known = {docid_of(ns, one.seq): one for one in active}
        for name, docids in sorted(self._mentioned(ns, known), key=lambda one: -len(one[1])):
            told = [known[docid] for docid in docids]
            if not any(one.kind is Kind.RELATION or explains(one.text, name) for one in told):
                yield Wonder("name", f"Who or what is {spelt_in(told[0].text, name)}?", tuple(told))

    def _mentioned(self, ns: int, known: Collection[int]) -> list[tuple[str, list[int]]]:
        """Return the names that many of the known memories mention, each with those."""
        names = self._view.engine.names
        index = names.hold(ns)
        with index.lock:
            names.follow(ns, index)
            found = {
                name: [docid for docid in holders if docid in known]
                for name, holders in index.holders.items()
                if len(holders) >= MENTIONS and "/" not in name
            }
        return sorted((name, docids) for name, docids in found.items() if len(docids) >= MENTIONS)

    def reason(
        self, question: str, *, hops: int = 3, k: int = 5, **filters: Unpack[Filtering]
    ) -> Reasoning:
        """Answer a question that requires several memories by following the names they share.

        A chain begins with a memory that contains a name from the question, and each subsequent
        memory shares a name with the previous one. If active memories give different values for the
        same thing, only the newest is followed; the others are reported as conflicts. Nothing is
        generated: every step is a stored memory.

        The first call in a namespace reads all of its memories; after that, the names are kept in
        memory and updated with every change. The question is not logged.

        Args:
            question: The question, in natural language.
            hops: Maximum number of memories in a chain, 1 to 6.
            k: Maximum number of chains, 1 to 100; also the number of hits if there is no chain.
            filters: Return only memories that match; see ``Filtering``.

        Returns:
            The chains, best first. If there are none, ``hits`` contains the results of ``retrieve``
            instead.

        Raises:
            InvalidInput: If an argument is invalid.
            StoreError: If the ledger cannot be read.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     _ = memory.add("Nina Park leads the billing team at Northwind")
        ...     _ = memory.add("The office of Northwind is in Utrecht")
        ...     question = "In which city is the office of the company of Nina Park?"
        ...     found = memory.insight.reason(question)
        ...     [fact.text for fact in found.chains[0].facts]
        ['Nina Park leads the billing team at Northwind', 'The office of Northwind is in Utrecht']
        """
        if not isinstance(question, str):
            raise InvalidInput("question", f"must be a string, not {type(question).__name__}")
        check_count("hops", hops, most=MOST_HOPS)
        check_count("k", k, most=MOST_CHAINS)
        asked = self._view.looked(filtering(self._view.engine.now(), filters, Insight.reason))
        engine, ns, found = self._view.engine, self._view.ns, None
        if ns is not None:
            reader = Reader(engine.ledger, engine.names, engine.embedding, ns, asked)
            found = reader.chains(plain(question), hops, k)
        if found is None or not found.paths:
            flat = self._view.retrieve(question, k, record=False, shared=False, **filters)
            return Reasoning(question, () if found is None else found.names, hits=flat)
        shown = {docid: self._view.memory(row) for docid, row in found.rows.items()}
        return Reasoning(
            question,
            found.names,
            tuple(_chain(path, shown) for path in found.paths),
            tuple(
                Conflict(shown[docid], tuple(shown[one] for one in group), reason)
                for reason, groups in (("other value", found.older), (CONTRADICTS, found.against))
                for docid, group in groups.items()
            ),
            found.gaps,
        )

    def related(
        self,
        id: str,  # noqa: A002 - the field's own name
        *,
        status: Status | StatusName | Sequence[Status | StatusName] | None = None,
    ) -> Relations:
        """Return the memories that are linked to a memory, in order of arrival.

        Links in both directions are included.

        Args:
            id: Id of the memory; it may have any status.
            status: Statuses of the memories to return; None for ``active`` and ``superseded``.

        Returns:
            The linked memories in this namespace that have not expired, each with its relation.

        Raises:
            InvalidInput: If an argument is invalid.
            NotFound: If no memory in this namespace has this id.
            StoreUnusable: If a link or a linked memory is damaged.
        """
        memory_id = check_id(id)
        chosen = having("found", "ended") if status is None else status
        filters = filters_of(self._view.engine.now(), statuses=chosen)
        ns = self._view.known_namespace(memory_id)
        found = lineage.related(self._view.engine.ledger, ns, memory_id, filters)
        ends = self._view.read(row for row, _, _ in found)
        return [
            Related(end, relation, outgoing)
            for end, (_, relation, outgoing) in zip(ends, found, strict=True)
        ]


def _is_rootless(memory: Memory) -> bool:
    """Return whether nothing says where a memory comes from."""
    source = memory.source
    return not (memory.session or memory.actor or source.uri or source.parents)


def _lacking_slots(active: Sequence[Memory]) -> Iterator[Wonder]:
    """Yield slots such as ``ada/birthday`` that most subjects have and one lacks."""
    about: dict[str, list[tuple[str, Memory]]] = {}
    for one in active:
        subject, _, name = (one.key or "").rpartition("/")
        if one.key is not None and "/" in one.key:
            about.setdefault(subject, []).append((name, one))
    held = Counter(name for told in about.values() for name in {name for name, _ in told})
    for name, count in sorted(held.items()):
        if count < PEERS or count <= len(about) // 2:
            continue
        for subject, told in sorted(about.items(), key=lambda pair: pair[0]):
            if name not in {one for one, _ in told}:
                yield Wonder("slot", f"What is {subject}/{name}?", tuple(one for _, one in told))


def _chain(path: Path, shown: Mapping[int, Memory]) -> Chain:
    """Describe a chain."""
    steps = path.steps
    return Chain(
        tuple(shown[step.fact.docid] for step in steps),
        tuple(step.name for step in steps),
        round(min(1.0, max(0.0, path.score + UNRELATED)), 4),
    )
