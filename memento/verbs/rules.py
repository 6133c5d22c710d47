"""Policy: an agent's standing instructions, compiled into text for its prompt."""

from __future__ import annotations

import json
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Unpack

from memento.base import blocks
from memento.base.clock import DAY, day_in, from_micros, in_zone, to_micros
from memento.base.scopes import ancestors, contains
from memento.check import (
    MAX_K,
    MAX_TOKENS,
    check_context,
    check_count,
    check_flag,
    short_name,
    type_name,
)
from memento.conversation import Messages
from memento.errors import InvalidInput
from memento.learning import Confirming, Foresights, Learning
from memento.ledger import memories, namespaces, past, scope_rows, session_rows
from memento.ledger.contract import Ledger, Transaction, Work
from memento.ledger.filters import check_known_at
from memento.ledger.links import pairs as pairs_of
from memento.ledger.memories import PolicyMark
from memento.ledger.predicate import Filters
from memento.ledger.rows import Row
from memento.observe.derive import dates_of
from memento.observe.signals import Signal
from memento.observe.values import Candidate
from memento.prompt import conditions, rendering, tail, zones
from memento.prompt.policy_values import TOKENS, Conflict, Policy, Shown
from memento.prompt.rendering import escape
from memento.prompt.tail import Item
from memento.prompt.zones import Directive, Head
from memento.text.words import estimate
from memento.types import Kind, Memories, Memory, Trust
from memento.views import Part
from memento.write import session_marks
from memento.write.steps import holds

if TYPE_CHECKING:
    from memento.tiers.store_embedder import StoreEmbedder

HOLDS_AT = 0.2
"""Minimum cosine of a condition to the message at which it holds. On the repository's own set this
accepts nine in ten that hold and one in ten of the others: a rule too many costs 15 tokens, one
that is missed costs a correction."""
TURNOVER = 0.25
"""Share of the head's budget that the changes since it was made may take before it is made
again."""
TAIL_TOKENS = 600
"""Default budget of the tail."""
RECALL = 5
"""Default maximum number of memories that the tail recalls."""
EVERY = 1_000_000
"""Maximum number of memories in a past policy."""
KEPT = 256
"""Sets of memories, and heads, kept in RAM for one store."""
KEPT_VECTORS = 4_096
"""Vectors of conditions kept in RAM for one embedder."""
TODO = "todo"
"""Tag of a plan to be done at any time."""


@dataclass(frozen=True, slots=True)
class Known:
    """The memories of a policy at one moment.

    Attributes:
        mark: Their mark when they were read.
        until: First moment at which one begins or ceases to hold, microseconds, or None.
        rows: The memories.
        placed: Those that the head may show, in its order.
        plans: Those that are plans.
        pairs: Row ids of each two that contradict each other.
        secret: That of the store.
        heads: Heads made of them, by budget and whether they name ids.
    """

    mark: PolicyMark
    until: int | None
    rows: tuple[Row, ...]
    placed: tuple[Directive, ...]
    plans: tuple[Row, ...]
    pairs: tuple[tuple[int, int], ...]
    secret: bytes
    heads: dict[tuple[int, bool], Head]


_known: weakref.WeakKeyDictionary[Ledger, OrderedDict[tuple[int, str], Known]]
_known = weakref.WeakKeyDictionary()
_vectors: weakref.WeakKeyDictionary[StoreEmbedder, OrderedDict[tuple[int | None, str], Any]]
_vectors = weakref.WeakKeyDictionary()


@lru_cache(maxsize=4096)  # every policy asks it of every past plan, and it costs 0.1 ms
def _end_of(plan: str, said_at: datetime) -> datetime | None:
    return dates_of(plan, said_at)[1]


class Rules(Part):
    """Compiles an agent's rules for its prompt; available as ``memory.rules``."""

    def policy(
        self,
        message: str | None = None,
        *,
        scope: str = "",
        session: str | None = None,
        tokens: int = TOKENS,
        tail_tokens: int = TAIL_TOKENS,
        context: Mapping[str, str] | None = None,
        recall: int = RECALL,
        ids: bool = False,
        known_at: datetime | None = None,
    ) -> Policy:
        """Compile an agent's standing instructions into text for its prompt.

        Put the head into the system message: it contains the user's rules, preferences and
        decisions. It stays the same, byte for byte, throughout a session, so providers can cache
        the prompt. Put the tail after the last message: it contains changes since then, the
        conditional rules that apply to the message, open plans, and recalled memories.

        Only the user's rules are presented as instructions. Each text is rendered as one escaped
        line, so stored text cannot close a section.

        Args:
            message: The user's last message; None if the tail should not depend on it.
            scope: Scope in which the agent works; memories in this scope and in all scopes that
                contain it apply. ``""`` means the session's scope, if it has one.
            session: The session, within which the head stays the same; it is started if necessary.
                None for a head that reflects the current state.
            tokens: Maximum estimated number of tokens in the head, >= 1. Locked rules are always
                included.
            tail_tokens: Maximum estimated number of tokens in the tail, >= 1.
            context: A description of the situation that the conditions of rules can refer to, such
                as ``{"tool": "git", "path": "schema.sql"}``.
            recall: Maximum number of memories to recall for the message, >= 0.
            ids: Whether to show the id of each line in the head and of each recalled memory.
            known_at: Compile the head from what was recorded by this moment, without a tail; cannot
                be combined with a message, a context or a session. Undecided conflicts are not
                listed.

        Raises:
            InvalidInput: If an argument is invalid.
            StoreError: If the store cannot be read, or the head of a session cannot be written.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     rule = memory.add("Never commit .env files", kind="rule")
        ...     print(memory.rules.policy().head.splitlines()[2:4])
        ['## Standing instructions of the user', '- "Never commit .env files"']
        """
        if not isinstance(message, str | None):
            raise InvalidInput("message", f"must be a string, not {type_name(message)}")
        where = self._view.present_scope(scope)
        name = None if session is None else short_name("session", session)
        if name is not None and not where:
            begun = self._begun(name)
            where = "" if begun is None else self._view.present_scope(begun.scope)
        asked = _Asked(
            message=message,
            scope=where,
            session=name,
            tokens=check_count("tokens", tokens, most=MAX_TOKENS),
            tail_tokens=check_count("tail_tokens", tail_tokens, most=MAX_TOKENS),
            context=check_context(context),
            recall=check_count("recall", recall, least=0, most=MAX_K),
            ids=check_flag("ids", ids),
        )
        ns = self._view.ns
        moment = _moment(known_at, asked, self._view.engine.now())
        if moment is not None:
            return self._past(ns, asked, moment)
        known = self._current(ns, asked.scope)
        head, items, conflicts = self._head(ns, known, asked)
        items += self._in_force(known, asked, conflicts)
        items += self._open(ns, known.plans, asked)
        items += self._shared(ns, known.placed, asked.scope)
        return self._composed(known, head, items, conflicts, asked)

    def _past(self, ns: int | None, asked: _Asked, moment: int) -> Policy:
        """Compile the head as of a moment."""
        known = self._current(None, asked.scope)
        if ns is not None:
            page = memories.Page(limit=EVERY)
            filters = Filters(now=moment, scopes=(asked.scope,))
            found = self._view.engine.ledger.read(
                lambda c: past.listing(c, ns, filters, page, moment), space=ns
            )
            above = ancestors(asked.scope)
            rows = tuple(row for row in found if row.scope in above and _holds(row, moment))
            known = replace(known, rows=rows, placed=tuple(zones.placed(rows)), secret=b"past")
        head = self._made(known, asked, [asked.scope, moment])
        return self._composed(known, head, [], head.conflicts, asked)

    def _shared(self, ns: int | None, own: Sequence[Directive], scope: str) -> list[Item]:
        """Return what other namespaces share with this one, except for slots that it fills.

        It goes into the tail, so that nothing of it is kept with a session.
        """
        ledger = self._view.engine.ledger
        if ns is None or not self._view.config.scopes.shared:
            return []
        owners = scope_rows.by_owner(ledger.read(lambda c: scope_rows.shown_to(c, ns), space=ns))
        filled = {one.row.key for one in own if one.row.key is not None}
        items: list[Item] = []
        for other, paths in owners.items():
            found = [
                one
                for one in self._current(other, scope).placed
                if one.row.key not in filled and any(contains(p, one.row.scope) for p in paths)
            ]
            if found:
                items += tail.shared(found, "/".join(ledger.labels(other)))
        return items

    def _current(self, ns: int | None, scope: str) -> Known:
        """Return the memories that apply at a scope, from RAM if none of them changed."""
        ledger, now = self._view.engine.ledger, self._view.engine.now()
        if ns is None:
            return Known(PolicyMark(0, 0), None, (), (), (), (), b"", {})
        kept = _known.setdefault(ledger, OrderedDict())
        held = kept.get((ns, scope))
        if (
            held is not None
            and (held.until is None or now < held.until)
            and ledger.read(lambda c: memories.policy_mark(c, ns), space=ns) == held.mark
        ):
            return held
        made = ledger.read(lambda c: self._read_known(c, ns, scope, now), space=ns)
        if not made.secret:  # for a read-only store, one of this process
            secret = _OF_PROCESS if ledger.read_only else ledger.write(namespaces.make)
            made = replace(made, secret=secret)
        kept[ns, scope] = made
        while len(kept) > KEPT:
            kept.popitem(last=False)
        return made

    def _read_known(self, c: Transaction, ns: int, scope: str, now: int) -> Known:
        found = memories.policy_rows(c, ns, ancestors(scope))
        live = tuple(row for row in found if _holds(row, now))
        pairs = tuple(pairs_of(c, [row.docid for row in live], ["contradicts"]))
        turns = (
            turn for row in found for turn in (row.valid_from, row.expires_at, row.valid_until)
        )
        return Known(
            mark=memories.policy_mark(c, ns),
            until=min((turn for turn in turns if turn is not None and turn > now), default=None),
            rows=live,
            placed=tuple(zones.placed(live)),
            plans=tuple(row for row in live if row.kind == Kind.PLAN),
            pairs=pairs,
            secret=namespaces.read(c) or b"",
            heads={},
        )

    def _head(
        self, ns: int | None, known: Known, asked: _Asked
    ) -> tuple[Head, list[Item], list[Conflict]]:
        """Return the head, what changed since it was made, and conflicts."""
        if asked.session is None or (ns is None and self._view.engine.ledger.read_only):
            made = self._made(known, asked, [asked.scope])
            return made, [], list(made.conflicts)
        begun = self._begun(asked.session)
        stored = None  # the session's head for this scope and budget
        if begun is not None and begun.head is not None:
            stored = tail.read_head(begun.head, asked.fixed)
        if stored is not None:
            changes = self._compared(ns, stored, known)
            size = sum(estimate(one.line) for one in changes.items)
            most = asked.tokens * TURNOVER
            back = sum(estimate(one.line) for one in changes.items if one.takes_back)
            fits = size <= most and 2 * back <= asked.tail_tokens
            if not changes.overtaken and fits:
                return stored, changes.items, list(stored.conflicts)
        made = self._keep(known, asked, stored)
        return made, [], list(made.conflicts)

    def _begun(self, session: str) -> session_rows.Begun | None:
        return self._view.ask(lambda c, ns: session_rows.find(c, ns, session))

    def _compared(self, ns: int | None, stored: Head, known: Known) -> tail.Changes:
        standing, _, _ = zones.settled(known.placed, known.pairs)
        here = {one.row.docid for one in standing}
        absent = [line.docid for line in stored.shown if line.docid not in here]
        gone: dict[int, Row] = {}
        if absent and ns is not None:
            gone = self._view.engine.ledger.read(
                lambda c: memories.by_docids(c, ns, absent), space=ns
            )
        return tail.changed(stored, standing, gone)

    def _keep(self, known: Known, asked: _Asked, stored: Head | None) -> Head:
        """Make the head of a session and keep it; another process may have been faster."""
        name = asked.session or ""
        if self._view.engine.ledger.read_only:
            return self._made(known, asked, ["session", name])

        def job(work: Work) -> Head:
            begun = session_rows.find(work.db, work.ns, name)
            if begun is None:
                owner = session_marks.name(self._view.engine.ledger)
                begun = session_marks.begin(work, name, goal=None, scope=asked.scope, owner=owner)
            theirs = None if begun.head is None else tail.read_head(begun.head, asked.fixed)
            if theirs is not None and (stored is None or theirs.text != stored.text):
                return theirs
            epoch = begun.epoch + (stored is not None)
            present = known
            if known.rows:  # one of them may be erased by now
                read = self._read_known(work.db, work.ns, asked.scope, work.now)
                present = replace(read, secret=known.secret)
            made = self._made(present, asked, ["session", name, begun.started, epoch])
            if begun.ended is None:
                spelt = tail.spelt_heads(made, asked.fixed, begun.head)
                session_rows.put(work.db, replace(begun, head=spelt, epoch=epoch))
            return made

        return self._view.write(job)

    def _made(self, known: Known, asked: _Asked, names: Sequence[object]) -> Head:
        """Make a head; without a session it comes from RAM if nothing changed."""
        fixed = (asked.tokens, asked.ids)
        if asked.session is None and fixed in known.heads:
            return known.heads[fixed]
        lines, head = zones.compile_head(known.placed, known.pairs, asked.tokens, ids=asked.ids)
        digits = blocks.tag(known.secret, [self._view.namespace, *names], lines)
        text = blocks.framed("policy", digits, lines) if head.shown else ""
        head = replace(head, text=text, known=frozenset(row.docid for row in known.rows))
        if asked.session is None:
            known.heads[fixed] = head
        return head

    def _in_force(self, known: Known, asked: _Asked, conflicts: list[Conflict]) -> list[Item]:
        """Return the rules whose condition holds, and add conflicts with those they replace."""
        if asked.message is None and not asked.context:
            return []
        if all(one.row.condition is None for one in known.placed):
            return []
        now = zones.settled(known.placed, known.pairs)[0]
        under = [one for one in now if one.zone in zones.ORDERS and one.row.condition is not None]
        if not under:
            return []
        held = conditions.holding(
            [one.row.condition or "" for one in under],
            asked.message or "",
            asked.context,
            near=self._near(asked.message),
            at=HOLDS_AT,
        )
        found = [one for one, holds in zip(under, held, strict=True) if holds]
        others = {one.row.key: one for one in now if one.row.key and one.row.condition is None}
        instead: dict[str, str] = {}
        standing: list[Directive] = []
        for one in found:
            other = others.get(one.row.key) if one.row.key else None
            if other is not None and other.locked and not one.locked:
                conflicts.append(Conflict(other.row.id, one.row.id, one.row.key, "locked"))
                continue
            standing.append(one)
            if other is not None and not other.locked:
                instead[one.row.id] = other.row.text
                held_now = Conflict(one.row.id, other.row.id, one.row.key, "condition holds")
                conflicts.append(held_now)
        return tail.in_force(standing, instead)

    def _near(self, message: str | None) -> conditions.Nearness | None:
        """Return a function that scores clauses by meaning; None without a local embedder."""
        embedding = self._view.engine.embedding
        ns = self._view.ns
        if embedding is None or not message or embedding.nearness(message, ns) is None:
            return None
        kept = _vectors.setdefault(embedding, OrderedDict())

        def near(clauses: Sequence[str]) -> list[float]:
            known: dict[str, Any] = {one: kept.get((ns, one)) for one in dict.fromkeys(clauses)}
            if new := [one for one, vector in known.items() if vector is None]:
                made = dict(zip(new, embedding.embed(new), strict=True))
                known |= made
                kept.update({(ns, one): vector for one, vector in made.items()})
                while len(kept) > KEPT_VECTORS:
                    kept.popitem(last=False)
            asked = embedding.query(message, ns)
            return [float(known[one] @ asked) for one in clauses]

        return near

    def _open(self, ns: int | None, plans: Sequence[Row], asked: _Asked) -> list[Item]:
        """Return the plans that are due and what the last checkpoint says comes next."""
        settings, now = self._view.engine.config.policy, self._view.engine.now()
        horizon = now + settings.ahead_days * DAY
        due = [
            row
            for row in plans
            if row.trust in ("user", "agent")
            and not self._is_over(row, now)
            and (row.due_at <= horizon if row.due_at is not None else TODO in json.loads(row.tags))
        ]
        due.sort(key=lambda r: (Trust.rank_of(r.trust), r.due_at is None, r.due_at or 0, r.docid))
        items = [self._plan(row, now) for row in due[: settings.open]]
        name = asked.session
        if ns is not None and name is not None:
            begun = self._begun(name)
            noted = self._view.engine.ledger.read(
                lambda c: session_rows.checkpoints(c, ns, name, 1), space=ns
            )
            open_ = noted and (begun is None or begun.ended is None)
            steps = json.loads(noted[0].body)["next"] if open_ else []
            items += [Item(8, f"- next step: {escape(step)}") for step in steps[:1]]
        return items

    def _is_over(self, row: Row, now: int) -> bool:
        """Return whether what was to happen is past, or what was to begin began; to-dos stay."""
        if row.signal != Signal.PLAN or row.due_at is None or row.due_at >= now:
            return False
        said_at = in_zone(self._view.engine.config.zone, from_micros(row.occurred_at))
        over = _end_of(row.text, said_at)
        return over is None or to_micros(over) <= now

    def _plan(self, row: Row, now: int) -> Item:
        when = "to do"
        if row.due_at is not None:
            day = day_in(self._view.engine.config.zone, from_micros(row.due_at)).isoformat()
            when = f"{'overdue since' if row.due_at < now else 'due'} {day}"
        return Item(8, f"- {when}: {escape(row.text)}", Shown(row.id, 8, row.text))

    def _composed(
        self,
        known: Known,
        head: Head,
        items: Sequence[Item],
        conflicts: Sequence[Conflict],
        asked: _Asked,
    ) -> Policy:
        """Join head, tail and recalled memories."""
        names = [self._view.namespace, asked.session or "", "tail"]
        digits = blocks.tag(known.secret, names, [one.line for one in items])
        block, kept, dropped = tail.render(items, digits, asked.tail_tokens)
        shown = [Shown(line.id, line.zone, line.text) for line in head.shown]
        shown += [one.shown for one in kept if one.shown is not None]
        recalled, found = self._recalled(asked, known, [one.id for one in shown], block)
        ending = "\n".join(part for part in (block, recalled) if part)
        text = "\n".join(part for part in (head.text, ending) if part)
        return Policy(
            text=text,
            head=head.text,
            tail=ending,
            memories=(*shown, *found),
            dropped=(*head.dropped, *dropped),
            conflicts=tuple(conflicts),
            tokens=estimate(text) if text else 0,
            fingerprint=head.fingerprint,
            over_budget=head.over_budget,
        )

    def _recalled(
        self, asked: _Asked, known: Known, shown: Sequence[str], block: str
    ) -> tuple[str, list[Shown]]:
        """Return the block of what is relevant to the message, and its memories."""
        left = asked.tail_tokens - (estimate(f"{block}\n") if block else 0)
        if not asked.message or not asked.recall or left < 1:
            return "", []
        found = self._view.retrieve(
            asked.message,
            asked.recall,
            min_confidence=self._view.prompt_confidence,
            scope=asked.scope or None,
            record=False,
            without=list(dict.fromkeys(shown)) or None,
        )
        digits = blocks.tag(
            known.secret, [self._view.namespace, "recalled"], [h.text for h in found]
        )
        made = rendering.compose(
            found,
            nonce=digits,
            tokens=left,
            ids=asked.ids,
            cut=self._view.cut_for(found, budget=True),
            zone=self._view.engine.config.zone,
            query=asked.message,
            against=self._view.contradicted(found),
        )
        if made.shown:
            self._view.engine.accessed(self._view.namespace, list(made.shown))
        texts = {hit.id: hit.text for hit in found}
        return made.text, [Shown(one, 9, texts[one]) for one in made.shown if one in texts]

    def confirm(self, candidate: Candidate, **changes: Unpack[Confirming]) -> Memory:
        """Store a statement that ``observe`` was unsure about.

        Args:
            candidate: An item in ``Observation.doubtful``.
            changes: New values for its ``text``, ``kind``, ``key``, ``condition``, ``due_at``,
                ``scope`` or ``tags``.

        Raises:
            InvalidInput: If ``candidate`` is not a candidate, or a value is invalid.
            TypeError: If ``changes`` contains any other name.
            LockedMemory: If the memory would replace a locked memory.
            StoreError: If the write fails.
        """
        return Learning(self._view).confirm(candidate, changes)

    def doubtful(self, *, limit: int = 30) -> list[Candidate]:
        """List the statements that ``observe`` was unsure about, newest message first.

        ``confirm`` stores a statement. Statements that are already stored, or whose message has the
        tag ``declined``, are not included. Only the newest 500 turns are searched.

        Args:
            limit: Maximum number of statements to return, >= 1.

        Raises:
            InvalidInput: If ``limit`` is invalid.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     seen = memory.observe("Ada sits upstairs.")
        ...     [one.text for one in memory.rules.doubtful()]
        ['Ada sits upstairs.']
        """
        return Learning(self._view).doubtful(limit)

    def direct(
        self,
        rules: str | Iterable[str],
        *,
        scope: str = "",
        lock: bool = False,
        condition: str | None = None,
    ) -> Memories:
        """Store the user's rules, regardless of their wording.

        Args:
            rules: One rule or several. A rule that gives a slot a new value, such as spaces instead
                of tabs, supersedes the earlier rule.
            scope: Scope in which they apply, as a path.
            lock: Whether to lock them, so that only the user can change them.
            condition: When they apply, in plain language; None to use the condition stated in each
                rule.

        Returns:
            The rules, in order.

        Raises:
            InvalidInput: If a value is invalid.
            LockedMemory: If a rule would replace a locked rule.
            TooManyLocks: If ``lock`` is True and 100 memories are already locked.
            StoreError: If the write fails.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     (rule,) = memory.rules.direct("Never commit .env files", lock=True)
        ...     rule.kind.value, rule.lock
        ('rule', 'user')
        """
        return Learning(self._view).direct(rules, scope, condition, lock=lock)

    def foresee(
        self, messages: Messages, *, session: str | None = None, scope: str = ""
    ) -> Foresights:
        """Return what ``observe`` would learn from a conversation, without writing anything.

        Args:
            messages: The turns in order, as for ``keep``, or a single message from the user as a
                string.
            session: Name of the conversation that the messages continue.
            scope: Scope of the conversation.

        Raises:
            InvalidInput: If an argument is invalid.
            StoreError: If the ledger cannot be read.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     (one,) = memory.rules.foresee("I live in Porto.")
        ...     one.candidate.key, one.action
        ('user/home', 'new')
        """
        return Learning(self._view).foresee(messages, session, scope)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The arguments of ``policy``, checked."""

    message: str | None
    scope: str
    session: str | None
    tokens: int
    tail_tokens: int
    context: Mapping[str, str]
    recall: int
    ids: bool

    @property
    def fixed(self) -> list[object]:
        """The scope, the budget and the form that a kept head was made for."""
        return [self.scope, self.tokens, self.ids]


_OF_PROCESS = namespaces.new()


def _holds(row: Row, now: int) -> bool:
    """Return whether a memory holds at a moment."""
    return holds(row, now) and row.valid_from <= now


def _moment(known_at: object, asked: _Asked, now: int) -> int | None:
    """Check the moment of a past policy."""
    if known_at is None:
        return None
    for name in ("message", "session", "context"):
        if getattr(asked, name) not in (None, {}):
            raise InvalidInput(name, "cannot be combined with known_at")
    return check_known_at(known_at, now)


def forget() -> None:
    """Drop all that is kept in RAM, so that the next policy is compiled again."""
    _known.clear()
    tail.forget()
