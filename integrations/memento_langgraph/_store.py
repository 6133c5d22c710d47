"""LangGraph's key-value store over memories: exact as a dictionary, and searched by meaning.

All items live in one memento namespace, ``manager.namespace`` and ``langgraph``; LangGraph's own
namespace is the scope of the item. One memento namespace for each of LangGraph's would part users
harder, but a search by prefix would then be as many searches as there are namespaces, with scores
that do not compare; scopes are filtered inside the one query, before any limit. What ``manager``
itself remembers is apart from both: give ``manager.of(user)`` for a store of a user's own.

The item's id is made from its namespace and key, so that a key is looked up by an index; a put
over an item is an ``update``, a delete is ``forget`` (which ``restore`` can undo), and the history
of a key is the history of its memory. The value is the memory's metadata, and what the index
configuration picks of it is its text.

It answers as ``InMemoryStore``, but for this:

- values are JSON, at most ``Config.limits.metadata_bytes`` of it; a tuple comes back as a list,
  what is not JSON is refused;
- ``created_at`` is when the key was put first, not last;
- items are listed in the order in which their keys were first put, across namespaces;
- a namespace whose items are gone is not listed;
- an item without a field is neither greater nor less than anything; no error;
- a search with a query returns what bears on it, not the rest in the order of their distance;
  right after a put it goes by words, until the item is embedded (``manager.flush(wait=True)``).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from hashlib import blake2b
from itertools import islice
from typing import Any, TypedDict

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
)

from memento import Draft, Hit, Kind, Memory, MemoryManager, Status, Tier
from memento.errors import IdConflict, InvalidInput, NotFound, ReadOnlyStore
from memento_langgraph._core import clock_of, sweep
from memento_langgraph._matching import matches, passes, prefix_of, scope_of, spelt

SUBSPACE = "langgraph"
"""Label under the manager's namespace where the items are."""
CONTROL = "__memento__"
NAME = "__memento_id__"
"""Fields of the metadata that are the store's own; a value cannot have them."""
INDEXED, UNINDEXED = Kind.FACT, Kind.CONTEXT
NO_TEXT = "(not indexed)"
PAGE = 5_000
"""Items read at once when all have to be looked at."""
CHOICES = 400
"""Most items that a search by meaning can be narrowed to one by one."""
MOST = 10_000
"""Most hits one search by meaning returns."""
SLACK = 0.01
"""Share of a time to live that a read may leave unrefreshed: a refresh is a write."""
TRIES = 50
"""Deletes by others that one put gets over before it gives up."""


class IndexFields(TypedDict, total=False):
    """What of a value is searched.

    Attributes:
        fields: Paths into the value, as in LangGraph's ``IndexConfig``; all of it if not given.
    """

    fields: list[str] | None


class MementoStore(BaseStore):
    """A durable ``BaseStore`` with time to live and search by words and meaning together.

    Args:
        manager: Where to keep the items. Its embedder makes the vectors.
        index: Which fields are searched; None for the whole value.
        ttl: ``default_ttl`` (minutes) and ``refresh_on_read``. What has expired is never returned,
            and ``sweep_ttl`` tidies it away.

    Raises:
        InvalidInput: If ``index`` or ``ttl`` asks for what is not here.
    """

    __slots__ = ("_clock", "_fields", "_memory", "ttl_config")

    supports_ttl = True

    def __init__(
        self,
        manager: MemoryManager,
        *,
        index: IndexFields | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        _check("index", index, {"fields"})
        _check("ttl", ttl, {"default_ttl", "refresh_on_read"})
        self._memory = manager.of(*manager.namespace, SUBSPACE)
        self._fields = (index or {}).get("fields") or ["$"]
        self._clock = clock_of(manager)
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations: the reads see the state before the puts, of which the last counts.

        Raises:
            InvalidInput: If an operation, or what it carries, cannot be accepted.
            StoreError: If the store cannot be read or written.
        """
        puts: dict[str, PutOp] = {}
        results: list[Result] = []
        for op in ops:
            if isinstance(op, PutOp):
                puts[_id(op.namespace, op.key)] = op
                results.append(None)
            else:
                results.append(self._read(op))
        self._write(puts)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As ``batch``, in a worker thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Tidy away what has expired, which no read shows any more; returns how many items.

        It leaves the search indexes and is kept as forgotten, with its history.

        Raises:
            StoreError: If the store cannot be written.
        """
        return sweep(self._memory)

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        raise InvalidInput("ops", f"{type(op).__name__} is not an operation of a store")

    def _get(self, op: GetOp) -> Item | None:
        found = self._find(_id(op.namespace, op.key))
        if found is None or not self._alive(found):
            return None
        if op.refresh_ttl:
            self._refresh(found)
        return Item(**_fields_of(found))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        if op.limit == 0:
            return []
        found: Sequence[tuple[Memory, float | None]]
        if op.query:
            found = self._ranked(op)[op.offset : op.offset + op.limit]
        elif op.filter:
            found = [(m, None) for m in islice(self._passing(op), op.offset, op.offset + op.limit)]
        else:
            scope = prefix_of(op.namespace_prefix)
            listed = self._memory.list(scope=scope, limit=op.limit, offset=op.offset)
            found = [(memory, None) for memory in listed]
        if op.refresh_ttl:
            for memory, _ in found:
                self._refresh(memory)
        return [SearchItem(**_fields_of(memory), score=score) for memory, score in found]

    def _ranked(self, op: SearchOp) -> list[tuple[Memory, float | None]]:
        """Find by words and meaning what passes the filter, best first."""
        where: dict[str, Any] = spelt(op.filter)
        passing: set[str] | None = None
        if len(where) < len(op.filter or {}):  # the ledger cannot decide it all
            passing = {memory.id for memory in self._passing(op)}
            if not passing:
                return []
            if len(passing) <= CHOICES:
                where[NAME] = sorted(passing)
        wanted = op.offset + op.limit if passing is None or NAME in where else MOST
        hits = self._memory.retrieve(
            op.query or "",
            min(wanted, MOST),
            match="text",
            scope=prefix_of(op.namespace_prefix),
            kinds=INDEXED,
            where=where or None,
        )
        found = [(memory, hit.score) for hit in hits for memory in self._unfolded(hit)]
        return [(m, score) for m, score in found if passing is None or m.id in passing]

    def _unfolded(self, hit: Hit) -> Iterator[Memory]:
        """Yield every item that says the same: to a key-value store they are different."""
        yield hit.memory
        for memory_id in hit.folded:
            memory = self._find(memory_id)
            if memory is not None and self._alive(memory):
                yield memory

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        known = {tuple(memory.metadata[CONTROL]["namespace"]) for memory in self._all(None, {})}
        chosen = {
            namespace[: op.max_depth]
            for namespace in known
            if all(matches(namespace, condition) for condition in conditions)
        }
        return sorted(chosen)[op.offset : op.offset + op.limit]

    def _passing(self, op: SearchOp) -> Iterator[Memory]:
        for memory in self._all(prefix_of(op.namespace_prefix), spelt(op.filter)):
            if passes(_value(memory), op.filter):
                yield memory

    def _all(self, scope: str | None, where: dict[str, str]) -> Iterator[Memory]:
        offset = 0
        while page := self._memory.list(
            scope=scope, where=where or None, limit=PAGE, offset=offset
        ):
            yield from page
            offset += PAGE

    def _write(self, puts: dict[str, PutOp]) -> None:
        fresh: list[Draft] = []
        for memory_id, op in puts.items():
            current = self._find(memory_id)
            if op.value is None:
                if current is not None and current.status is Status.ACTIVE:
                    self._memory.forget(memory_id)
            elif current is None:
                fresh.append(self._draft(memory_id, op))
            else:
                self._overwrite(current, self._draft(memory_id, op))
        self._insert(fresh)

    def _insert(self, fresh: Sequence[Draft]) -> None:
        """Add new items in one transaction; what another put meanwhile is overwritten."""
        try:
            added = self._memory.add_many(fresh)
        except IdConflict as conflict:
            if len(fresh) > 1:
                for draft in fresh:
                    self._insert([draft])
                return
            added = [self._memory.get(conflict.memory_id)]
        for memory, draft in zip(added, fresh, strict=True):
            if json.dumps(memory.metadata) != json.dumps(draft.metadata):
                self._overwrite(memory, draft)

    def _overwrite(self, current: Memory, draft: Draft) -> None:
        """Put over an item, alive or not; another's delete at the same time comes first."""
        control = dict(draft.metadata[CONTROL])
        if self._alive(current):
            control["created"] = current.metadata[CONTROL]["created"]
        for attempt in range(1, TRIES + 1):
            if attempt > 1 or current.status is not Status.ACTIVE:
                self._memory.restore(current.id)
            try:
                self._memory.update(
                    current.id,
                    text=draft.text,
                    kind=draft.kind,
                    metadata={**draft.metadata, CONTROL: control},
                    expires_in=draft.expires_in,
                )
            except InvalidInput as error:
                if error.field != "id" or attempt == TRIES:
                    raise
            else:
                return

    def _draft(self, memory_id: str, op: PutOp) -> Draft:
        value = op.value or {}
        if clash := value.keys() & {CONTROL, NAME}:
            raise InvalidInput("value", f"{sorted(clash)} are fields of the store's own")
        now = self._clock().isoformat()
        control = {
            "namespace": list(op.namespace),
            "key": op.key,
            "created": now,
            "updated": now,
            "ttl": op.ttl,
        }
        text = self._text(op)
        return Draft(
            text or NO_TEXT,
            Tier.LONG,
            kind=INDEXED if text else UNINDEXED,
            importance=0.5,
            scope=scope_of(op.namespace),
            metadata={**value, CONTROL: control, NAME: memory_id},
            expires_in=None if op.ttl is None else op.ttl * 60,
            id=memory_id,
        )

    def _text(self, op: PutOp) -> str:
        """Collect what of a value is searched; nothing if it is not to be."""
        if op.index is False:
            return ""
        paths = self._fields if op.index is None else op.index
        texts = [text for path in paths for text in get_text_at_path(op.value, path)]
        return "\n".join(text for text in texts if text.strip())

    def _refresh(self, memory: Memory) -> None:
        """Let the time to live begin anew; a store that cannot be written keeps the old end."""
        minutes = memory.metadata[CONTROL]["ttl"]
        if minutes is None or memory.expires_at is None:
            return
        gained = minutes * 60 - (memory.expires_at - self._clock()).total_seconds()
        if gained < minutes * 60 * SLACK:
            return
        with suppress(ReadOnlyStore):
            try:
                self._memory.update(memory.id, expires_in=minutes * 60)
            except InvalidInput as error:
                if error.field != "id":  # deleted meanwhile
                    raise

    def _find(self, memory_id: str) -> Memory | None:
        try:
            return self._memory.get(memory_id)
        except NotFound:
            return None

    def _alive(self, memory: Memory) -> bool:
        ends = memory.expires_at
        return memory.status is Status.ACTIVE and (ends is None or ends > self._clock())


def _check(field: str, given: Any, known: set[str]) -> None:
    if unknown := sorted((given or {}).keys() - known):
        raise InvalidInput(field, f"{unknown} have no effect here; known: {sorted(known)}")


def _id(namespace: tuple[str, ...], key: str) -> str:
    name = json.dumps([*namespace, key])
    return f"lg-{blake2b(name.encode(), digest_size=16).hexdigest()}"


def _value(memory: Memory) -> dict[str, Any]:
    return {name: value for name, value in memory.metadata.items() if name not in (CONTROL, NAME)}


def _fields_of(memory: Memory) -> dict[str, Any]:
    control = memory.metadata[CONTROL]
    return {
        "value": _value(memory),
        "key": control["key"],
        "namespace": tuple(control["namespace"]),
        "created_at": datetime.fromisoformat(control["created"]),
        "updated_at": datetime.fromisoformat(control["updated"]),
    }
