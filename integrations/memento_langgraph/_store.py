"""LangGraph's key-value store on top of memories: exact like a dictionary, searched by meaning.

All items live in one memento namespace, that of the manager and ``langgraph``; LangGraph's own
namespace is the scope of the item. One memento namespace for each of LangGraph's would part users
harder, but a search by prefix would then be as many searches as there are namespaces, with scores
that do not compare; scopes are filtered inside the one query, before any limit. The memories of
``manager`` itself are apart from both: give ``manager.of(user)`` for a store of a user's own.

The item's id is made from its namespace and key; where one of these holds a secret, from what
stands in for it (``_addresses``). A put is an ``add`` that replaces, a delete is
``forget_many`` (which ``restore`` can undo), a read of an item with a time to live is a ``touch``,
and the history of a key is the history of its memory. The value is the memory's metadata, and what
the index configuration picks of it is its text. Where these are several texts, each is also stored
as a memory of its own, a part, which is derived from the item and put and removed with it. So each
has a vector, and an item is found by the best of them.

It answers as ``InMemoryStore``, with the exceptions in ``docs/how-to/langgraph.md``.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from math import isfinite
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

from memento import Draft, Filtering, Hit, Kind, Memory, MemoryManager, Source, Tier
from memento.admit import Secrets
from memento.aio import settle
from memento.check import WAIT, check_flag, check_seconds
from memento.errors import EmbedderError, InvalidInput, NotFound, ReadOnlyStore
from memento.frameworks import check_manager
from memento_langchain.namespaces import Namespace, Views
from memento_langgraph._addresses import addressed
from memento_langgraph._matching import (
    matches,
    namespace_of,
    passes,
    prefix_of,
    readable,
    scope_of,
    spelt,
)

logger = logging.getLogger("memento.langgraph")

SUBSPACE = "langgraph"
"""Label under the manager's namespace where the items are."""
CONTROL = "__memento__"
"""Field of the metadata that is the store's own; a value cannot have it."""
INDEXED, UNINDEXED = Kind.FACT, Kind.CONTEXT
NO_TEXT = "(not indexed)"
TEXT_CHARS = 60_000
"""Maximum number of characters in a value that are searched; the value is kept whole."""
PAGE = 5_000
"""Items read at once when all have to be looked at."""
MOST = 10_000
"""Maximum number of hits that searches by meaning return, all pages together."""
WHOLE = "$"
"""Path to a value as a whole."""
SLACK = 0.01
"""Share of a time to live that a read may leave unrefreshed: a refresh is a write."""


class IndexFields(TypedDict, total=False):
    """Which fields of a value are searched, and how many items a search returns.

    Attributes:
        fields: Paths into the value, as in LangGraph's ``IndexConfig``; if not given, the whole
            value, with its main text first (``readable``).
        all: Whether to always return ``limit`` items if there are enough, as LangGraph's own stores
            do: after the relevant items, the nearest others, followed by those without a vector. By
            default, only relevant items are returned.
    """

    fields: list[str] | None
    all: bool


class MementoStore(BaseStore):
    """A durable ``BaseStore`` with time to live, which combines keyword search and semantic search.

    Args:
        manager: The manager that stores the items. Its embedder computes the vectors.
        index: Which fields are searched, and whether a search fills up to its limit; None to search
            the whole value and return only relevant items.
        ttl: ``default_ttl`` (minutes) and ``refresh_on_read``. Expired items are never returned;
            ``sweep_ttl`` cleans them up.
        wait: Maximum number of seconds for which a search waits until the newest items are
            available to semantic search, up to a day; 0 to search at once. ``abatch`` does not
            block a thread while waiting.
        namespace: A function that returns the labels of the manager's namespace for each run, given
            its context, or given its context and its settings (``config["configurable"]``); None
            for the manager's own namespace. The namespaces of LangGraph's items are inside it.
        shown: Whether ``recall`` and ``MementoMiddleware`` with this manager show the items, from
            the next put until ``Scopes.unshare``; see ``Scopes.share``.

    Raises:
        InvalidInput: If ``index`` or ``ttl`` contains an unsupported option, ``manager`` is not a
            ``MemoryManager``, or ``wait`` is not a number of seconds.
    """

    __slots__ = ("_all", "_fields", "_shown", "_views", "_wait", "ttl_config")

    supports_ttl = True

    def __init__(
        self,
        manager: MemoryManager,
        *,
        index: IndexFields | None = None,
        ttl: TTLConfig | None = None,
        wait: float = WAIT,
        namespace: Namespace | None = None,
        shown: bool = False,
    ) -> None:
        _check("index", index, {"fields", "all"})
        _check("ttl", ttl, {"default_ttl", "refresh_on_read"})
        self._views = Views(check_manager(manager), namespace)
        self._fields = _paths((index or {}).get("fields") or [WHOLE])
        self._all = check_flag("index: all", (index or {}).get("all", False))
        self._wait = check_seconds("wait", wait)
        self.ttl_config = ttl
        self._shown: set[tuple[str, ...]] | None = set() if check_flag("shown", shown) else None

    @property
    def _memory(self) -> MemoryManager:
        """Where the items of the run that calls are."""
        view = self._views.of_run()
        return view.of(*view.store.namespace, SUBSPACE)

    def __deepcopy__(self, memo: dict[int, Any]) -> MementoStore:
        """Return itself: a store is shared, not copied."""
        return self

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations: reads see the state before the puts, and the last put to a key wins.

        Raises:
            InvalidInput: If an operation or one of its values cannot be accepted.
            StoreError: If the store cannot be read or written.
        """
        return self._batch(ops, self._wait)

    def _batch(self, ops: Iterable[Op], wait: float) -> list[Result]:
        puts: dict[str, PutOp] = {}
        results: list[Result] = []
        policy = Secrets(self._memory.store.config.secrets)
        reading = Secrets.ALLOW if policy is Secrets.ALLOW else Secrets.REDACT
        for op in ops:
            if isinstance(op, PutOp):  # where a put is refused, a deletion finds nothing
                placed = addressed(op, reading if op.value is None else policy)
                puts[_id(placed.namespace, placed.key)] = placed
                results.append(None)
            else:
                results.append(self._read(op, reading, wait))
        self._write(puts)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Like ``batch``, but in a worker thread."""
        given, wait = list(ops), self._wait
        if any(isinstance(op, SearchOp) and op.query for op in given):
            wait = await settle(self._memory, wait)
        return await asyncio.to_thread(self._batch, given, wait)

    def sweep_ttl(self) -> int:
        """Clean up expired items, which reads no longer return, and return how many there were.

        They are removed from the search indexes and kept as forgotten, with their history.

        Raises:
            StoreError: If the store cannot be written.
        """
        return sum(_item_of(name) == name for name in self._memory.store.sweep())

    def _read(self, op: Op, policy: Secrets, wait: float) -> Result:
        if isinstance(op, GetOp):
            return self._get(op, policy)
        if isinstance(op, SearchOp):
            return self._search(addressed(op, policy), wait)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(addressed(op, policy))
        raise InvalidInput("ops", f"{type(op).__name__} is not an operation of a store")

    def _get(self, op: GetOp, policy: Secrets) -> Item | None:
        """Return the item at an address; if there is none, the one at its stand-in."""
        found = self._at(op)
        if not found and (placed := addressed(op, policy)) is not op:
            found = self._at(placed)
        if op.refresh_ttl:
            self._refresh(found)
        if not found:
            return None
        asked = {"key": op.key, "namespace": tuple(op.namespace)}
        return Item(**_fields_of(found[0]) | asked)

    def _at(self, op: GetOp) -> list[Memory]:
        return [*_items(self._memory.list(ids=_id(op.namespace, op.key)))]

    def _search(self, op: SearchOp, wait: float) -> list[SearchItem]:
        _count("limit", op.limit)
        _count("offset", op.offset)
        if op.limit == 0:
            return []
        found: Sequence[tuple[Memory, float | None]]
        if op.query:
            found = self._ranked(op, wait)[op.offset : op.offset + op.limit]
        else:
            passing = islice(self._passing(op), op.offset, op.offset + op.limit)
            found = [(memory, None) for memory in passing]
        if op.refresh_ttl:
            self._refresh([memory for memory, _ in found])
        return [SearchItem(**_fields_of(memory), score=score) for memory, score in found]

    def _ranked(self, op: SearchOp, wait: float) -> list[tuple[Memory, float | None]]:
        """Return the items that pass the filter, by words and meaning, best first.

        A larger limit does not change the order of the first ones, so pages are slices.
        """
        where = spelt(op.filter)
        ids: list[str] | None = None
        if len(where) < len(op.filter or {}):  # the ledger cannot decide it all
            ids = [name for memory in self._passing(op) for name in _ids_of(memory)]
            if not ids:
                return []
        below = Filtering(within=prefix_of(op.namespace_prefix), kind=INDEXED, where=where, ids=ids)
        most = min(op.offset + op.limit, MOST)

        def look(count: int) -> Sequence[Hit]:
            hits = self._memory.retrieve(
                op.query or "",
                count,
                match="text",
                fold=False,  # what says the same under another key is another item
                shared=False,  # an item is found again by its key, which this namespace gave it
                wait=wait,
                **below,
            )
            for tier, problem in hits.missing.items():
                logger.warning("part of the %s tier could not be searched: %s", tier, problem)
            return hits

        found: list[tuple[Memory, float | None]] = [*self._best(look, most)]
        return found + self._others(op, below, found, most) if self._all else found

    def _best(self, look: Callable[[int], Sequence[Hit]], most: int) -> list[tuple[Memory, float]]:
        """Return the items of the best hits, each at the place of the best of its parts.

        Args:
            look: Returns the given number of hits, best first.
            most: Items wanted.
        """
        asked, hits = most, look(most)
        while len({_item_of(hit.id) for hit in hits}) < most and asked <= len(hits) < MOST:
            asked = min(4 * asked, MOST)
            hits = look(asked)
        memories = [hit.memory for hit in hits]
        if others := {_item_of(hit.id) for hit in hits} - {hit.id for hit in hits}:
            memories += self._memory.list(ids=sorted(others), limit=len(others))
        items = {item.id: item for item in _items(memories)}
        best: dict[str, tuple[Memory, float]] = {}
        for hit in hits:
            item = items.get(_item_of(hit.id))
            if item and hit.id in _ids_of(item):
                best.setdefault(item.id, (item, hit.score))
        return list(best.values())[:most]

    def _others(
        self,
        op: SearchOp,
        below: Filtering,
        found: Sequence[tuple[Memory, float | None]],
        most: int,
    ) -> list[tuple[Memory, float | None]]:
        """Return items to fill up a ranking: the nearest ones, then those without a vector.

        Args:
            op: The search.
            below: Which items it is about.
            found: The ranking; no score of the others is above its last one.
            most: Items wanted, with the ranking.
        """
        have = {memory.id for memory, _ in found}
        last = min((score for _, score in found if score is not None), default=1.0)
        others: list[tuple[Memory, float | None]] = []
        if len(have) < most:
            near = self._best(lambda count: self._nearest(op.query or "", count, below), most)
            others += [(one, min(last, score)) for one, score in near if one.id not in have]
        have.update(memory.id for memory, _ in others)
        if len(have) < most:
            rest = (one for one in self._passing(op) if one.id not in have)
            others += [(one, None) for one in islice(rest, most - len(have))]
        return others[: most - len(found)]

    def _nearest(self, query: str, most: int, below: Filtering) -> Sequence[Hit]:
        """Search by meaning only; return nothing if there is no embedder or it fails."""
        try:
            vector = self._memory.store.embed([query])[0]
        except (InvalidInput, EmbedderError):
            return ()
        return self._memory.store.nearest(vector, most, **below).hits

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        chosen = {
            namespace[: op.max_depth]
            for scope in self._memory.store.counts("scope")
            if (namespace := namespace_of(scope)) is not None
            if all(matches(namespace, condition) for condition in conditions)
        }
        return sorted(chosen)[op.offset : op.offset + op.limit]

    def _passing(self, op: SearchOp) -> Iterator[Memory]:
        """Yield the items below a prefix that pass the filter, in order of their first put."""
        where, offset = spelt(op.filter), 0
        size = PAGE if op.filter else min(PAGE, op.offset + op.limit)
        while page := self._memory.list(
            within=prefix_of(op.namespace_prefix), where=where, limit=size, offset=offset
        ):
            yield from (one for one in _items(page) if passes(_value(one), op.filter))
            offset += size

    def _write(self, puts: dict[str, PutOp]) -> None:
        if not puts:
            return
        drafts = [draft for name, op in puts.items() for draft in self._drafts(name, op)]
        before = _items(self._memory.list(ids=list(puts), limit=len(puts)))
        gone = puts.keys() | {name for item in before for name in _ids_of(item)}
        gone -= {one.id for one in drafts}
        if drafts:
            self._memory.add_many(drafts, replace=True)
            self._share()
        if gone:
            self._memory.forget_many(ids=sorted(gone))

    def _share(self) -> None:
        """Show the items to the manager's namespace, if they are to be shown there."""
        items = self._memory
        *owner, _ = items.store.namespace
        if self._shown is not None and tuple(owner) not in self._shown:
            items.scopes.share("", owner)
            self._shown.add(tuple(owner))

    def _drafts(self, item_id: str, op: PutOp) -> list[Draft]:
        """Return an item and its parts; nothing for a deletion."""
        if op.value is None:
            return []
        value = _checked(op.value)
        if CONTROL in value:
            raise InvalidInput("value", f"{CONTROL!r} is reserved for the store")
        texts = self._searched(op, value)
        parts = texts if len(texts) > 1 and self._shown is None else []
        control = {"key": op.key, "ttl": op.ttl} | ({"parts": len(parts)} if parts else {})
        item = Draft(
            "\n".join(texts)[:TEXT_CHARS] or NO_TEXT,
            Tier.LONG,
            kind=INDEXED if texts else UNINDEXED,
            importance=0.5,
            scope=scope_of(op.namespace),
            metadata={**value, CONTROL: control},
            expires_in=None if op.ttl is None else _minutes(op.ttl) * 60,
            id=item_id,
        )
        source = Source(parents=(item_id,))
        names = _parts(item_id, len(parts))
        pairs = zip(parts, names, strict=True)
        return [item, *(replace(item, text=text, id=name, source=source) for text, name in pairs)]

    def _searched(self, op: PutOp, value: Mapping[str, Any]) -> list[str]:
        """Return the texts of a value to search; none if it is not to be indexed."""
        if op.index is False:
            return []
        paths = self._fields if op.index is None else _paths(op.index)
        texts = (text.strip()[:TEXT_CHARS] for path in paths for text in _texts(value, path))
        return [*dict.fromkeys(filter(None, texts))]

    def _refresh(self, found: Sequence[Memory]) -> None:
        """Restart times to live; in a store that cannot be written, expiry stays as it is."""
        now, due = self._memory.store.clock(), defaultdict[float, list[str]](list)
        for memory in found:
            minutes = memory.metadata[CONTROL]["ttl"]
            if minutes is not None and memory.expires_at is not None:
                gained = minutes * 60 - (memory.expires_at - now).total_seconds()
                if gained >= minutes * 60 * SLACK:
                    due[minutes] += _ids_of(memory)
        with suppress(ReadOnlyStore, NotFound):  # NotFound: erased in the meantime
            for minutes, ids in due.items():
                self._memory.store.touch(ids, minutes * 60)


def _check(field: str, given: Any, known: set[str]) -> None:
    if unknown := sorted((given or {}).keys() - known):
        raise InvalidInput(field, f"{unknown} have no effect here; known: {sorted(known)}")


def _count(field: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidInput(field, f"must be a whole number >= 0, not {value!r:.60}")


def _minutes(value: object) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not isfinite(value) or value <= 0:  # type: ignore[arg-type, operator]
        raise InvalidInput("ttl", f"must be a number of minutes > 0, not {value!r:.60}")
    return value  # type: ignore[return-value]


def _paths(paths: object) -> list[str]:
    if not isinstance(paths, list | tuple) or not all(isinstance(path, str) for path in paths):
        raise InvalidInput("index", f"fields must be a list of paths, not {paths!r:.60}")
    return list(paths)


def _checked(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput("value", f"must be a dictionary, not {type(value).__name__}")
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput("value", f"is not JSON: {error}") from error
    return value


def _texts(value: Mapping[str, Any], path: str) -> list[str]:
    return [readable(value)] if path in ("", WHOLE) else get_text_at_path(value, path)


def _id(namespace: tuple[str, ...], key: str) -> str:
    name = json.dumps([*namespace, key])
    return f"lg-{blake2b(name.encode(), digest_size=16).hexdigest()}"


def _parts(item_id: str, number: int) -> list[str]:
    return [f"{item_id}.{at}" for at in range(number)]


def _ids_of(item: Memory) -> list[str]:
    """Return the ids of an item and of its parts."""
    return [item.id, *_parts(item.id, item.metadata[CONTROL].get("parts", 0))]


def _item_of(memory_id: str) -> str:
    return memory_id.partition(".")[0]


def _items(memories: Iterable[Memory]) -> Iterator[Memory]:
    """Yield the memories that are items; the store did not make what is neither item nor part."""
    foreign = 0
    for memory in memories:
        if not _is_ours(memory):
            foreign += 1
        elif _item_of(memory.id) == memory.id:
            yield memory
    if foreign:
        logger.warning("%d memories were left out because they were not stored with put", foreign)


def _is_ours(memory: Memory) -> bool:
    labels = namespace_of(memory.scope)
    match memory.metadata.get(CONTROL):
        case {"key": str(key), "ttl": None | int() | float(), **more} if labels is not None:
            known = isinstance(more.get("parts", 0), int)
            return known and _item_of(memory.id) == _id(labels, key)
    return False


def _value(memory: Memory) -> dict[str, Any]:
    return {name: value for name, value in memory.metadata.items() if name != CONTROL}


def _fields_of(memory: Memory) -> dict[str, Any]:
    return {
        "value": _value(memory),
        "key": memory.metadata[CONTROL]["key"],
        "namespace": namespace_of(memory.scope) or (),
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
    }
