"""The names in the memories of a namespace, in RAM: derived from the ledger, never written."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memento.base.lazy import later
from memento.ledger import memories, past
from memento.ledger.contract import Ledger, Transaction
from memento.status import having

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from memento.insight import names

    Embed = Callable[[Sequence[str]], NDArray[np.float32]]
else:
    names = later("memento.insight.names")

KEPT = 8
"""Namespaces whose names are kept in RAM; a name costs about 200 bytes for each memory with it."""
VECTORS = 20_000
"""Vectors of relations kept for a namespace, 1.5 kB each with 384 dimensions."""
_SHOWN = frozenset(having("found"))


@dataclass(frozen=True, slots=True)
class Fact:
    """An active memory as a link between names.

    Attributes:
        docid: Its row id.
        at: When it occurred, microseconds since 1970 UTC.
        reading: Its names (its key and aliases included), and what it says about them.
    """

    docid: int
    at: int
    reading: names.Reading

    @property
    def age(self) -> tuple[int, int]:
        """Sort key among like facts; the newest has the largest."""
        return self.at, self.docid


@dataclass(slots=True)
class NameIndex:
    """Names of the active memories of one namespace, as of a revision.

    Attributes:
        rev: Revision up to which the index is current.
        facts: Row id to fact.
        holders: Folded name to the row ids of the facts that have it, in order of arrival.
        alike: ``Reading.like`` to the row ids of the facts that share it.
        lock: Held by the thread that uses the index.
    """

    rev: int = 0
    facts: dict[int, Fact] = field(default_factory=dict)
    holders: dict[str, dict[int, None]] = field(default_factory=dict)
    alike: dict[str, dict[int, None]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    _vectors: dict[str, NDArray[np.float32]] = field(default_factory=dict)

    def follow(self, session: Transaction, ns: int) -> None:
        """Bring the index up to date."""
        rev = memories.latest_rev(session, ns)
        if rev == self.rev:
            return
        for docid in past.erased_since(session, ns, self.rev):
            self._drop(docid)
            self._vectors.clear()  # their relations contain text of the memory
        for docid, status, at, text, own in past.named_since(session, ns, self.rev):
            self._drop(docid)
            if status in _SHOWN:
                self._put(docid, at, text, own)
        self.rev = rev

    def vectors(
        self, relations: Iterable[str], embed: Embed, most: int
    ) -> Mapping[str, NDArray[np.float32]]:
        """Return the vectors of relations; relations beyond ``most`` new ones are left out.

        Args:
            relations: Texts with their names masked, the most important one first.
            embed: Embeds several texts.
            most: Maximum number of new relations to embed.
        """
        wanted = list(dict.fromkeys(relations))
        fresh = [one for one in wanted if one not in self._vectors][:most]
        if len(self._vectors) + len(fresh) > VECTORS:
            self._vectors.clear()
        if fresh:
            self._vectors.update(zip(fresh, embed(fresh), strict=True))
        return {one: self._vectors[one] for one in wanted if one in self._vectors}

    def _put(self, docid: int, at: int, text: str, own: Sequence[str]) -> None:
        reading = names.with_names(names.read(text), filter(None, map(names.folded, own)))
        self.facts[docid] = Fact(docid, at, reading)
        for name in reading.names:
            self.holders.setdefault(name, {})[docid] = None
        if reading.like:
            self.alike.setdefault(reading.like, {})[docid] = None

    def _drop(self, docid: int) -> None:
        fact = self.facts.pop(docid, None)
        if fact is None:
            return
        held = [(self.holders, name) for name in fact.reading.names]
        if fact.reading.like:
            held.append((self.alike, fact.reading.like))
        for groups, name in held:
            groups[name].pop(docid, None)
            if not groups[name]:
                del groups[name]


class NameIndexes:
    """The indexes of the namespaces used last.

    Args:
        ledger: The store.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, NameIndex] = OrderedDict()

    def hold(self, ns: int) -> NameIndex:
        """Return the index of a namespace, or a new empty one; see ``follow``."""
        with self._lock:
            index = self._kept.setdefault(ns, NameIndex())
            self._kept.move_to_end(ns)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return index

    def forget(self, ns: int) -> None:
        """Drop the index of a namespace, because memories of it are erased."""
        with self._lock:
            self._kept.pop(ns, None)

    def follow(self, ns: int, index: NameIndex) -> None:
        """Bring an index up to date; the caller holds its lock."""
        self._ledger.read(lambda session: index.follow(session, ns), space=ns)
