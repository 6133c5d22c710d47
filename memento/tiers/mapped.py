"""The file of one namespace's vectors, which exact search maps into memory.

``derived/NS.vectors`` holds blocks of 1,024 places: row ids, a sum of each vector, and the vectors
in float32, in the order in which they were filed. To append more, the vectors are written first and
then the head, which has their number; a process that knows fewer can go on reading. The file is not
synced to disk: each vector is checked when it is read. A small file is read into RAM at once.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from sys import byteorder
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memento.ledger.vectors import BITE, Facts
from memento.tiers import derived
from memento.tiers.derived import HEAD, NameIt, Unusable

KIND = "vectors"
FORMAT = 2
"""Version of the file; files of other versions are rewritten."""
BLOCK = BITE
"""Places in a block, whose row ids can be read without its vectors."""
MAPPED_FROM = 16_384
"""Places from which a file is mapped. Fewer are read into RAM, at most 25 MB of 384 dimensions:
comparing 10,000 that are mapped costs a third more, for the processor looks up 4,000 pages."""

Docids = NDArray[np.int64]
Floats = NDArray[np.float32]
Links = NDArray[np.int32] | NDArray[np.intp]
"""A row for each of some rows; -1 for none."""
Blocks = NDArray[np.void]
_DIGITS = 5
"""Decimals of a float32 cosine that do not depend on the order of summation."""
_STEPS = np.float32(10**_DIGITS)


class _File:
    """A descriptor, closed with the object."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def require(self, size: int) -> None:
        """Raise `Unusable` if the file was cut off: reading a mapped one would kill the process."""
        if os.fstat(self.descriptor).st_size < size:
            raise Unusable("the vectors are truncated")

    def read(self, into: Blocks) -> Blocks:
        """Read what comes after the head."""
        view, at = into.view(np.uint8).data, HEAD
        while view:
            done = os.preadv(self.descriptor, [view], at)
            if not done:
                raise Unusable("the vectors are truncated")
            view, at = view[done:], at + done
        return into

    def __del__(self) -> None:
        os.close(self.descriptor)


@dataclass(slots=True, eq=False)
class Table:
    """The open file of one namespace."""

    head: dict[str, Any]
    _file: _File
    mapped: bool
    """Whether it is mapped into memory; else its content is in RAM."""
    blocks: Blocks
    docids: Docids = field(init=False)
    """Row ids, in order of arrival; of repeated ones the last has the present vector."""
    _checked: bool = False

    def __post_init__(self) -> None:
        self.docids = self.blocks["docid"].reshape(-1)[: len(self)].copy()

    def __len__(self) -> int:
        return int(self.head["rows"])

    @property
    def mark(self) -> str:
        """The random word, also in the ledger, that identifies the file."""
        return str(self.head["mark"])

    def vectors(self, places: NDArray[np.int32]) -> Floats:
        """Read vectors by their places; `Unusable` if one is damaged or the file was cut off."""
        self._require()
        at = np.divmod(places, BLOCK)
        found: Floats = self.blocks["vector"][at]  # a copy, which cannot change after the check
        if self.mapped or not self._checked:
            _check(self.docids[places], found, self.blocks["sum"][at])
        return found

    def cosines(self, vector: Floats) -> Floats:
        """Return the dot product of every vector with one; the first call checks all vectors."""
        self._require()
        if not self._checked:
            for first, block in zip(range(0, len(self), BLOCK), self.blocks, strict=True):
                docids = self.docids[first : first + BLOCK]
                _check(docids, block["vector"][: len(docids)], block["sum"][: len(docids)])
            self._checked = True
        return dots(self.blocks["vector"], vector).reshape(-1)[: len(self)]

    def _require(self) -> None:
        if self.mapped:
            self._file.require(HEAD + self.blocks.nbytes)


def dots(matrix: Floats, vector: Floats) -> Floats:
    """Return the dot product of every row, (..., dim), with a vector, in the calling thread.

    ``matrix @ vector`` lets BLAS divide 10,000 rows among its threads. Those spin while they wait,
    and on a busy machine a query of half a millisecond takes tens of milliseconds. ``vecdot`` asks
    BLAS for one row at a time, which is never divided, at half the cost of ``einsum``.

    >>> dots(np.eye(2, dtype=np.float32), np.array([3, 4], np.float32)).tolist()
    [3.0, 4.0]
    """
    products: Floats = np.vecdot(matrix, vector)
    return products


def even(cosines: Floats) -> Floats:
    """Round away differences of summation order, so that equal cosines are equal on every path."""
    even = np.multiply(cosines, _STEPS)  # as np.round does, at two thirds of its cost
    np.rint(even, out=even)
    return np.divide(even, _STEPS, out=even)


def _check(docids: Docids, vectors: Floats, sums: NDArray[np.uint64]) -> None:
    if not np.array_equal(_sums_of(docids, vectors), sums):
        raise Unusable("a vector is damaged")


def _sums_of(docids: Docids, vectors: Floats) -> NDArray[np.uint64]:
    """Add each row id to the sum of its vector, read as integers of 64 bits, or of 32.

    Damage shows, even if everything became zeros.
    """
    wide = np.uint64 if vectors.shape[1] % 2 == 0 else np.uint32
    found: NDArray[np.uint64] = vectors.view(wide).sum(axis=1, dtype=np.uint64)
    return found + docids.view(np.uint64)


def _block(dim: int) -> np.dtype[np.void]:
    return np.dtype(
        [
            ("docid", np.int64, (BLOCK,)),
            ("sum", np.uint64, (BLOCK,)),
            ("vector", np.float32, (BLOCK, dim)),
        ]
    )


def size_of(n: int, dim: int) -> int:
    """Return the size in bytes of a file of n vectors."""
    return HEAD + _count(n) * _block(dim).itemsize


def _count(n: int) -> int:
    return -(-n // BLOCK)


def _filled(blocks: Blocks, start: int, docids: Docids, matrix: Floats) -> Blocks:
    """Write vectors into blocks, from a place on, and return the blocks."""
    at = np.divmod(np.arange(start, start + len(docids)), BLOCK)
    blocks["docid"][at], blocks["vector"][at] = docids, matrix
    blocks["sum"][at] = _sums_of(docids, matrix)
    return blocks


def open_table(root: Path, ns: int, facts: Facts, *, model: int, dim: int) -> Table:
    """Open the file of a namespace, which may be older than the ledger, but not newer.

    `Unusable` if it is missing, damaged, or from another store or embedder.
    """
    with derived.opened(root) as folder:
        file = _File(derived.open_file(folder, f"{ns}.{KIND}"))
    head = derived.read_head(file.descriptor)
    derived.compare(head, _head(ns, facts.erased, model, dim), facts.marks)
    rows, stamp = head.get("rows"), head.get("stamp")
    if not isinstance(rows, int) or not isinstance(stamp, int) or rows < 1:
        raise Unusable("the header does not describe the contents")
    if stamp > facts.stamp:
        raise Unusable("newer than this moment")
    size, mapped = size_of(rows, dim), rows >= MAPPED_FROM
    file.require(size)
    if mapped:
        memory = mmap.mmap(file.descriptor, size, access=mmap.ACCESS_READ)
        blocks = np.frombuffer(memory, _block(dim), offset=HEAD)
    else:
        blocks = file.read(np.empty(_count(rows), _block(dim)))
    table = Table(head, file, mapped, blocks)
    if table.docids.min() < 1:
        raise Unusable("a row id is damaged")
    return table


def _head(ns: int, erased: int, model: int, dim: int) -> dict[str, Any]:
    return {
        "kind": KIND, "format": FORMAT, "order": byteorder, "block": BLOCK,
        "ns": ns, "erased": erased, "model": model, "dim": dim,
    }  # fmt: skip


def fill(
    draft: derived.Draft,
    ns: int,
    facts: Facts,
    bites: Iterable[tuple[Docids, Floats]],
    *,
    model: int,
    dim: int,
) -> None:
    """Write all vectors of a namespace into the draft of a new file.

    ``bites`` has one block at a time, read at the same moment as ``facts``.
    """
    head = {**_head(ns, facts.erased, model, dim), "stamp": facts.stamp, "rows": 0}

    def parts() -> Iterator[bytes]:
        for docids, matrix in bites:
            head["rows"] += len(docids)
            yield _filled(np.zeros(1, _block(dim)), 0, docids, matrix).tobytes()

    draft.fill(head, parts())


def append(
    folder: int, table: Table, docids: Docids, matrix: Floats, stamp: int, name_it: NameIt
) -> None:
    """Append vectors to a file; ``stamp`` is that of the newest. Only for the lock holder."""
    file = _File(derived.open_file(folder, f"{table.head['ns']}.{KIND}", write=True))
    full, begun = divmod(len(table), BLOCK)
    blocks = np.zeros(_count(begun + len(docids)), _block(table.head["dim"]))
    if begun:
        blocks[0] = table.blocks[full]
    at = size_of(full * BLOCK, table.head["dim"])
    _write(file, at, _filled(blocks, begun, docids, matrix).tobytes())
    mark, rows = token_hex(8), len(table) + len(docids)
    head = derived.spell({**table.head, "stamp": stamp, "rows": rows, "mark": mark})
    name_it(mark, lambda: _write(file, 0, head))


def _write(file: _File, at: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        done = os.pwrite(file.descriptor, view, at)
        view, at = view[done:], at + done
