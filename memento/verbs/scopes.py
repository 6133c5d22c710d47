"""Scopes: list, name and guess them, merge and share them, move memories up."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from memento.admit.redact import Redaction
from memento.base.clock import from_micros
from memento.base.lazy import later
from memento.base.scopes import ancestors, contains, parse_namespace, parse_scope
from memento.check import check_context, names, short_name, type_name
from memento.engine import Engine
from memento.errors import InvalidInput, NothingToUndo
from memento.ledger import links, memories, vectors
from memento.ledger import scope_rows as rows
from memento.ledger.contract import Transaction, Work
from memento.ledger.predicate import Filters
from memento.ledger.rows import Row
from memento.ledger.scope_rows import Place, Share
from memento.types import Event, Memory
from memento.verbs.changes import undo
from memento.views import Part
from memento.write import scope_moves as rules
from memento.write.scope_guess import guesses, known_scopes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memento.write import scope_promotion
else:
    scope_promotion = later("memento.write.scope_promotion")

MOST_DIRECTIVES = 2_000
"""Maximum number of rules and preferences, the newest, that ``scopes.promotable`` compares."""


@dataclass(frozen=True, slots=True)
class ScopeInfo:
    """A scope in a namespace.

    Attributes:
        path: The scope.
        namespace: Labels of the namespace it belongs to, which is another namespace if the scope is
            shared with this one.
        memories: Number of active memories in it or below it.
        title: Human-readable name; ``""`` if it has none.
        aliases: Other names.
        created_at: When it was defined, UTC; None if it only appears in memories.
        merged_into: The scope into which it was merged, or None.
        shared_with: The namespaces with which this namespace shares it.
    """

    path: str
    namespace: tuple[str, ...]
    memories: int
    title: str = ""
    aliases: tuple[str, ...] = ()
    created_at: datetime | None = None
    merged_into: str | None = None
    shared_with: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class ScopeGuess:
    """A scope that a text may belong to.

    Attributes:
        path: The scope.
        confidence: Estimated probability, [0, 1).
        why: The reasons: ``named`` if the text mentions it, ``context`` if the context does.
        defined: Whether it was defined with ``scopes.define``, rather than merely appearing in
            memories.
    """

    path: str
    confidence: float
    why: tuple[str, ...]
    defined: bool


@dataclass(frozen=True, slots=True)
class Promotion:
    """A rule or preference that several scopes have in common, and that may apply to all of them.

    Attributes:
        scope: The scope that contains them all.
        memories: One memory from each scope, oldest first; pass the id of one to ``promote``.
        key: Their slot, or None.
    """

    scope: str
    memories: tuple[Memory, ...]
    key: str | None


def cosines(engine: Engine, found: Sequence[Row]) -> dict[tuple[int, int], float]:
    """Return which rows are alike enough to be promoted together; none without an embedder.

    Returns:
        Two row ids, the smaller first, to their cosine.
    """
    known = _vectors_of(engine, [row.docid for row in found])
    if len(known) < scope_promotion.SIBLINGS:
        return {}
    import numpy as np  # noqa: PLC0415 - must not load with memento

    docids = sorted(known)
    matrix = np.stack([known[docid] for docid in docids])
    near = matrix @ matrix.T
    first, second = np.nonzero(np.triu(near >= scope_promotion.ALIKE, 1))
    return {
        (docids[a], docids[b]): float(near[a, b])
        for a, b in zip(first.tolist(), second.tolist(), strict=True)
    }


def _vectors_of(engine: Engine, docids: Sequence[int]) -> dict[int, NDArray[Any]]:
    """Read the vectors of rows that have one of the embedder in use."""
    model = None if engine.embedding is None or not docids else engine.embedding.known_model()
    if model is None:
        return {}
    import numpy as np  # noqa: PLC0415 - must not load with memento

    found = engine.ledger.read(lambda c: vectors.read(c, docids, model))
    return {docid: np.frombuffer(blob, np.float32) for docid, blob in found.items()}


Infos = list[ScopeInfo]
Guesses = list[ScopeGuess]
Promotions = list[Promotion]
"""Named here, because inside the class ``list`` is a method."""


class Scopes(Part):
    """Manages scopes, which determine where memories apply; available as ``memory.scopes``.

    ``share`` is for people and programs, not for agents: no adapter exposes it to a model.
    """

    def list(self) -> Infos:
        """List this namespace's scopes and those that other namespaces share with it.

        A scope exists if it was defined with ``scopes.define``, or if a memory is in it or below
        it.

        Returns:
            The namespace's own scopes, sorted by path, followed by the scopes that other namespaces
            share, sorted by namespace.

        Raises:
            StoreError: If the ledger cannot be read.
        """
        now, seen = self._view.engine.now(), self._view.config.scopes.shared

        def job(c: Transaction, ns: int) -> Infos:
            found = [*self._own_scopes(c, ns, now)]
            return found + [one for one in self._shown_scopes(c, ns, now) if seen]

        return self._view.ask(job) or []

    def _own_scopes(self, c: Transaction, ns: int, now: int) -> Iterator[ScopeInfo]:
        tally = memories.tally(c, ns, Filters(now=now), "scope")
        places = {one.path: one for one in rows.every(c, ns)}
        shown: dict[str, list[tuple[str, ...]]] = {}
        for share in rows.shares_of(c, ns):
            shown.setdefault(share.scope, []).append(self._view.engine.ledger.labels(share.other))
        for path in sorted({*places, *shown}.union(*map(ancestors, tally))):
            if path or path in shown:
                yield _info(
                    path, self._view.namespace, tally, places.get(path), shown.get(path, ())
                )

    def _shown_scopes(self, c: Transaction, ns: int, now: int) -> Iterator[ScopeInfo]:
        for other, scopes in rows.by_owner(rows.shown_to(c, ns)).items():
            tally = memories.tally(c, other, Filters(now=now), "scope")
            labels = self._view.engine.ledger.labels(other)
            for path in scopes:
                made = _info(path, labels, tally, rows.find(c, other, path), ())
                yield replace(made, merged_into=None)  # that scope may not be shared

    def define(self, path: str, *, title: str = "", aliases: Sequence[str] = ()) -> ScopeInfo:
        """Define a scope with a title and aliases, so it is listed and recognised in texts.

        A path that differs from a known scope only in case, ``-`` and ``_``, or that is one of its
        aliases, refers to that scope.

        Args:
            path: The scope, such as ``project/alpha``.
            title: Its title; ``""`` to leave it unchanged.
            aliases: Aliases to add, up to 64 in total.

        Raises:
            InvalidInput: If a value is invalid, or an alias refers to another scope.
            SecretFound: If the content contains a secret and ``Config.secrets`` is ``"reject"``.
            StoreError: If the write fails.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     shop = memory.scopes.define("project/shop", aliases=["web shop"])
        ...     guess = memory.scopes.infer("The web shop needs a new logo")[0]
        ...     shop.path, guess.path, guess.confidence
        ('project/shop', 'project/shop', 0.9)
        """
        where = _scope("path", path)
        clean = Redaction(self._view.engine.config.secrets)
        said = clean.name("title", short_name("title", title)) if title else ""
        also = clean.names("aliases", names("aliases", aliases))
        made = self._view.write(lambda work: rules.define(work, where, said or "", also))
        return next(one for one in self.list() if one.path == made.path)

    def infer(self, text: str, *, context: Mapping[str, str] | None = None) -> Guesses:
        """Guess which scope a text belongs to, without writing anything.

        Two signals are combined: whether the text mentions the scope (its path, last segment, title
        or an alias), and whether the context does.

        Args:
            text: The text.
            context: Where it was said, such as ``{"repository": "acme/shop", "folder": "/src"}``. A
                scope is recognised even if its name is only part of a value.

        Returns:
            The possible scopes, best first.

        Raises:
            InvalidInput: If an argument is invalid.
            StoreError: If the ledger cannot be read.
        """
        if not isinstance(text, str):
            raise InvalidInput("text", f"must be a string, not {type_name(text)}")
        given = check_context(context)
        if (ns := self._view.ns) is None:
            return []
        now = self._view.engine.now()
        places, tally = self._view.engine.ledger.read(
            lambda c: (rows.every(c, ns), memories.tally(c, ns, Filters(now=now), "scope")),
            space=ns,
        )
        known = known_scopes(places, tally)
        return [
            ScopeGuess(one.known.path, one.confidence, one.why, one.known.defined)
            for one in guesses(text, given, known)
        ]

    def merge(self, src: str, dst: str) -> int:
        """Merge two scopes by moving all memories at or below ``src`` to ``dst``.

        The earlier state stays in the history, and ``scopes.unmerge`` restores it. If both scopes
        have a value for a slot, the one that became valid later takes precedence. From then on,
        ``src`` refers to ``dst`` when memories are added and searched. As in ``forget_many``, each
        transaction moves a few hundred memories; if the call is interrupted, repeat it to move the
        rest.

        Args:
            src: The scope to merge.
            dst: The scope to merge it into; must not be inside ``src``.

        Returns:
            Number of memories that this call moved, regardless of their status.

        Raises:
            InvalidInput: If ``dst`` is inside ``src``, ``src`` was merged before, ``dst`` is
                shared with a namespace that does not see ``src``, or the path of a memory would
                become too long.
            LockedMemory: If the user locked one of the memories; nothing is moved.
            StoreError: If the write fails.
        """
        gone, into = _scope("src", src), parse_scope(dst, "dst")
        self._view.ask(lambda c, ns: rules.to_move(c, ns, gone))  # raises if one is locked
        self._view.write(lambda work: rules.begin_merge(work, gone, into))
        moved = self._view.change_rows(
            lambda c, ns: rules.to_move(c, ns, gone),
            lambda work, some: rules.move(work, some, gone),
            verb="merge_scopes",
        )
        return len(moved)

    def unmerge(self, src: str) -> int:
        """Undo ``scopes.merge`` and return the memories to ``src`` in their earlier state.

        Memories that have changed since the merge are moved back in their current state. Memories
        that were added while the scopes were merged stay where they are.

        Args:
            src: The scope that was merged.

        Returns:
            Number of memories that were moved back.

        Raises:
            InvalidInput: If ``src`` is not merged.
            StoreError: If the write fails.
        """
        gone = _scope("src", src)
        ledger, ns = self._view.engine.ledger, self._view.ns
        if ns is None:
            raise InvalidInput("src", f"{gone!r:.60} is not merged into another scope")
        place = ledger.read(lambda c: rules.merged(c, ns, gone), space=ns)
        before = len(ledger.read(lambda c: rows.below(c, ns, gone), space=ns))
        for number in reversed(json.loads(place.merges)):
            try:
                undo(self._view, number)
            except NothingToUndo:  # an earlier call undid it, or its memories were erased
                continue
        self._view.change_rows(
            lambda c, _ns: rules.strays(c, place), rules.send_back, verb="unmerge"
        )
        self._view.write(lambda work: rules.end_merge(work, gone))
        return len(ledger.read(lambda c: rows.below(c, ns, gone), space=ns)) - before

    def share(self, scope: str, with_namespace: str | Sequence[str]) -> ScopeInfo:
        """Share a scope's memories with another namespace.

        The other namespace sees the active memories at or below the scope, including those added
        later, in ``retrieve``, ``prompt``, ``recall`` and ``rules.policy``. They are labelled with
        this namespace, trusted no more than an agent's statements, and never presented as rules.
        The other namespace cannot change them, and its searches change nothing in this one.
        Superseded, archived, forgotten, quarantined and erased memories are not shared.

        Do not let an agent call this: it gives others access to the namespace.

        Args:
            scope: The scope or one of its aliases (see ``scopes.define``); ``""`` shares
                everything.
            with_namespace: Labels of the other namespace.

        Returns:
            The scope, with all namespaces that can see it.

        Raises:
            InvalidInput: If an argument is invalid, or ``with_namespace`` is this namespace.
            StoreError: If the write fails.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     team, rami = memory.of("team"), memory.of("rami")
        ...     kept = team.add("Deploys go through the blue pipeline", scope="ops")
        ...     shared = team.scopes.share("ops", "rami")
        ...     hit = rami.retrieve("how do deploys go?")[0]
        ...     hit.shared, hit.memory.namespace
        (True, ('team',))
        """
        asked, labels = parse_scope(scope), parse_namespace(with_namespace)
        if labels == self._view.namespace:
            raise InvalidInput("with_namespace", "is this namespace itself")

        def job(work: Work) -> str:
            where = rules.meant(work.db, work.ns, asked)
            other = self._view.engine.new_namespace(work.db, labels)
            rows.put_share(work.db, Share(work.ns, where, other, work.now))
            memories.record(work.db, work.ns, work.now, Event.SHARED, None, {"scope": where})
            return where

        where = self._view.write(job)
        return next(one for one in self.list() if one.path == where)

    def unshare(self, scope: str, with_namespace: str | Sequence[str]) -> bool:
        """Stop sharing a scope with a namespace, immediately and in every process.

        Args:
            scope: The shared scope or one of its aliases; see ``scopes.define``.
            with_namespace: Labels of the other namespace.

        Returns:
            Whether it was shared.

        Raises:
            InvalidInput: If an argument is invalid.
            StoreError: If the write fails.
        """
        asked, labels = parse_scope(scope), parse_namespace(with_namespace)
        other = self._view.engine.ledger.find_namespace(labels)
        if self._view.ns is None or other is None:
            return False

        def job(work: Work) -> bool:
            where = rules.meant_share(work.db, work.ns, asked, other)
            there = rows.drop_share(work.db, work.ns, where, other)
            if there:
                memories.record(work.db, work.ns, work.now, Event.UNSHARED, None, {"scope": where})
            return there

        return self._view.write(job)

    def promote(self, id: str, scope: str = "") -> Memory:  # noqa: A002 - the field's own name
        """Move a memory and its history to a wider scope.

        It supersedes any other value for its slot in that scope. ``undo`` reverses the move.

        Args:
            id: Id of an active memory.
            scope: A scope that contains the memory's current scope; ``""`` means everywhere.

        Returns:
            The memory in its current state.

        Raises:
            NotFound: If no memory in this namespace has this id.
            InvalidInput: If the memory is not active, or the scope does not contain its current
                scope.
            LockedMemory: If the user locked the memory, or it would replace a locked memory.
        """
        where = self._view.present_scope(scope)
        return self._view.change(id, lambda work: rules.promote(work, id, where), verb="promote")

    def promotable(self) -> Promotions:
        """List rules and preferences that may apply to a wider scope, without changing anything.

        A candidate is a rule or preference that at least three sibling scopes share (by text,
        meaning or slot value) and that no related scope contradicts.

        Returns:
            The candidates, sorted by scope; pass the id of a memory to ``promote``.

        Raises:
            StoreError: If the ledger cannot be read.
        """
        asked = Filters(
            now=self._view.engine.now(), kinds=tuple(one.value for one in scope_promotion.SIGNALS)
        )

        def job(c: Transaction, ns: int) -> tuple[list[Row], set[int]]:
            docids = memories.matching(c, ns, asked)[-MOST_DIRECTIVES:]
            found = [row for _, row in sorted(memories.by_docids(c, ns, docids).items())]
            return found, {
                one
                for one in docids
                if any(name == "contradicts" for *_, name in links.linked(c, one))
            }

        found, contradicting = self._view.ask(job) or ([], set())
        groups = scope_promotion.promotable(found, cosines(self._view.engine, found), contradicting)
        return [
            Promotion(scope, tuple(self._view.read(group)), group[0].key) for scope, group in groups
        ]


def _info(
    path: str,
    labels: tuple[str, ...],
    tally: Mapping[str, int],
    place: Place | None,
    shown: Sequence[tuple[str, ...]],
) -> ScopeInfo:
    count = sum(number for scope, number in tally.items() if contains(path, scope))
    info = ScopeInfo(path, labels, count, shared_with=tuple(shown))
    if place is None:
        return info
    return replace(
        info,
        title=place.title,
        aliases=rows.names_of(place),
        created_at=from_micros(place.created_at),
        merged_into=place.merged_into,
    )


def _scope(field: str, path: object) -> str:
    """Check a scope, which must not be ``""``."""
    found = parse_scope(cast("str", path), field)
    if not found:
        raise InvalidInput(field, "is empty, which means everywhere; specify a scope")
    return found
