"""The two files by which one namespace is scanned: codes, and the vectors they stand for.

``derived/NS.codes`` is written whole: row ids, a sum of each vector, the codes, and what their
coder has learned. ``derived/NS.LINEAGE.vectors`` holds the vectors in the same order; more are
appended to it, and a process that knows the shorter file reads on in it undisturbed. Codes of a
coder that has learned something else have another lineage, and vectors of their own.

The codes are checked as a whole when they are opened, each vector when it is read: nothing of
either is waited for until it is on the disk.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from sys import byteorder
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memento.ledger.derived import Facts
from memento.retrieve.coder import Coder, Codes, raw
from memento.retrieve.filing import NameIt
from memento.retrieve.roster import Floats, Rows
from memento.tiers import derived
from memento.tiers.derived import HEAD, Unusable

KIND = "codes"
FORMAT = 1
"""Version of these files; others are made again."""
SAMPLE = 20_000
"""Vectors from which a coder learns."""
BITE = 8_192
"""Vectors encoded at once, to bound memory."""
_AGAIN = 4
"""If one of so many vectors in the file is outdated, all are written again."""

Bites = Iterable[tuple[NDArray[np.int64], Floats]]
"""Row ids and their vectors, (n, dim), some at a time."""


class Kept(NamedTuple):
    """The codes of vectors, and what identifies them.

    Attributes:
        docids: (n,) int64, in order of arrival; of equal ones the last is the present vector.
        sums: (n,) uint64, `sums_of`.
        codes: (..., n).
    """

    docids: NDArray[np.int64]
    sums: NDArray[np.uint64]
    codes: Codes


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The open files of one namespace.

    Attributes:
        ns: Its number.
        model: Number of the embedder.
        dim: Length of its vectors.
        stamp: Stamp of the newest vector in it.
        erased: Newest erasure of the namespace, when its vectors were read.
        mark: The word by which ledger and file know each other.
        lineage: The word in the name of the vectors' file.
        coder: What made the codes.
        kept: What is kept of each vector.
    """

    ns: int
    model: int
    dim: int
    stamp: int
    erased: int
    mark: str
    lineage: str
    coder: Coder
    kept: Kept
    _file: _File
    _vectors: Floats

    def __len__(self) -> int:
        return len(self.kept.docids)

    @property
    def nbytes(self) -> int:
        """Bytes it holds in RAM."""
        return sum(array.nbytes for array in (*self.kept, self.coder.learned))

    @property
    def vectors_name(self) -> str:
        """Name of the file with its vectors."""
        return derived.vectors_of({"ns": self.ns, "lineage": self.lineage})

    def vectors(self, slots: Rows) -> Floats:
        """Read vectors by their places in the file.

        Raises:
            Unusable: If one is damaged, or the file was cut off.
        """
        self._file.require(HEAD + 4 * self.dim * len(self))
        # A copy: what was checked does not change. `take` costs two thirds of what an index does.
        found: Floats = np.take(self._vectors, slots, axis=0)
        if not np.array_equal(sums_of(found), self.kept.sums[slots]):
            raise Unusable("a vector is damaged")
        return found


class _File:
    """A descriptor, closed with the object."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def require(self, size: int) -> None:
        """Refuse a file that was cut off: reading what is gone from memory would end the process.

        Raises:
            Unusable: If it is shorter than this.
        """
        if os.fstat(self.descriptor).st_size < size:
            raise Unusable("the vectors are cut off")

    def __del__(self) -> None:
        os.close(self.descriptor)


def sums_of(vectors: Floats) -> NDArray[np.uint64]:
    """Add up the bytes of each vector, as numbers of 64 bits, or of 32: any damage shows."""
    wide = np.uint64 if vectors.shape[1] % 2 == 0 else np.uint32
    found: NDArray[np.uint64] = vectors.view(wide).sum(axis=1, dtype=np.uint64)
    return found


def read_table(
    root: Path, ns: int, facts: Facts, kind: type[Coder], *, model: int, dim: int
) -> Table:
    """Open the files of a namespace.

    Args:
        root: The folder of the store.
        ns: Namespace number.
        facts: What the ledger says; the files may be older and must not be newer.
        kind: What must have made the codes.
        model: Number of the embedder in use.
        dim: Length of its vectors.

    Raises:
        Unusable: If they are missing, damaged, or of something else.
        OSError: If they cannot be read.
    """
    expected = {
        "kind": KIND, "format": FORMAT, "order": byteorder, "ns": ns, "model": model, "dim": dim,
        "erased": facts.erased, "coder": kind.name,
    }  # fmt: skip
    with derived.opened(root) as folder:
        head, content = derived.read_file(folder, f"{ns}.{KIND}", expected, facts.marks)
        try:
            kept, coder = _contents(content, int(head["rows"]), dim, kind)
            stamp, mark, lineage = int(head["stamp"]), str(head["mark"]), str(head["lineage"])
        except (KeyError, TypeError, ValueError) as error:
            raise Unusable(f"its head does not fit its content ({error})") from error
        if stamp > facts.stamp:
            raise Unusable("newer than this moment")
        file, vectors = _vectors(folder, ns, lineage, len(kept.docids), dim)
    return Table(ns, model, dim, stamp, facts.erased, mark, lineage, coder, kept, file, vectors)


def _contents(content: bytes, n: int, dim: int, kind: type[Coder]) -> tuple[Kept, Coder]:
    start, learns = n * (16 + kind.bytes_of(dim)), kind.learns(dim)
    if n < 1 or len(content) != start + 4 * learns:
        raise ValueError("another number of rows")
    docids = np.frombuffer(content, np.int64, n)
    sums = np.frombuffer(content, np.uint64, n, 8 * n)
    learned = np.frombuffer(content, np.float32, learns, start).copy()  # its place may be odd
    return Kept(docids, sums, kind.read(content, 16 * n, n, dim)), kind.load(learned, dim)


def _vectors(folder: int, ns: int, lineage: str, n: int, dim: int) -> tuple[_File, Floats]:
    name = derived.vectors_of({"ns": ns, "lineage": lineage})
    file = _File(derived.open_file(folder, name))
    file.require(HEAD + 4 * dim * n)
    head = derived.read_head(os.pread(file.descriptor, HEAD, 0))
    if head != _vectors_head(ns, lineage, dim):
        raise Unusable("the vectors are of something else")
    return file, _mapped(file, n, dim)


def _mapped(file: _File, n: int, dim: int) -> Floats:
    mapped = mmap.mmap(file.descriptor, HEAD + 4 * dim * n, access=mmap.ACCESS_READ)
    return np.frombuffer(mapped, np.float32, n * dim, HEAD).reshape(n, dim)


def _vectors_head(ns: int, lineage: str, dim: int) -> dict[str, Any]:
    return {"kind": "vectors", "format": FORMAT, "ns": ns, "lineage": lineage, "dim": dim}


def is_worn(table: Table, outdated: int, more: int) -> bool:
    """Tell whether all vectors should be written again instead of some appended.

    A coder that has learned from few vectors does not fit many.
    """
    return len(table) < SAMPLE or outdated * _AGAIN > len(table) + more


def size_of(n: int, dim: int, kind: type[Coder]) -> int:
    """Return the bytes that the files of so many vectors take, about."""
    return 2 * HEAD + n * (4 * dim + 16 + kind.bytes_of(dim))


def write_all(
    folder: int, ns: int, facts: Facts, kind: type[Coder], *, model: int, dim: int, bites: Bites
) -> Table | None:
    """Write the vectors of a namespace into a new file, and encode them. Only for the lock holder.

    The codes are not written yet, see `name_codes`; until then nobody else uses the file.

    Args:
        folder: Descriptor of the folder of derived files.
        ns: Namespace number.
        facts: What the ledger says at the moment of the vectors.
        kind: The kind of codes to make.
        model: Number of the embedder.
        dim: Length of its vectors.
        bites: The vectors, by ascending row id.

    Returns:
        The table; None if there are no vectors.

    Raises:
        OSError: If they cannot be written.
    """
    lineage, docids = token_hex(8), []
    name = derived.vectors_of({"ns": ns, "lineage": lineage})
    file = _File(derived.make_file(folder, name))
    try:
        at = _write(file, 0, derived.spell(_vectors_head(ns, lineage, dim)))
        for some, matrix in bites:
            docids.append(some)
            at = _write(file, at, np.ascontiguousarray(matrix, np.float32).data)
        if not docids:
            derived.remove(folder, name)
            return None
    except BaseException:  # an interruption as well: nobody else knows the file
        derived.remove(folder, name)
        raise
    every = np.concatenate(docids)
    vectors = _mapped(file, len(every), dim)
    coder = kind.learn(vectors[:SAMPLE])
    kept = _kept(every, vectors, coder)
    return Table(ns, model, dim, facts.stamp, facts.erased, "", lineage, coder, kept, file, vectors)


def append(folder: int, table: Table, docids: NDArray[np.int64], more: Floats, stamp: int) -> Table:
    """Append vectors to those of a table. Only for the lock holder.

    Args:
        folder: Descriptor of the folder of derived files.
        table: What is there.
        docids: Row ids of the vectors.
        more: The vectors, (n, dim) float32.
        stamp: Stamp of the newest of them.

    Raises:
        Unusable: If the file is not there any more.
        OSError: If they cannot be written.
    """
    name = derived.vectors_of({"ns": table.ns, "lineage": table.lineage})
    file = _File(derived.open_file(folder, name, write=True))
    _write(file, HEAD + 4 * table.dim * len(table), np.ascontiguousarray(more).data)
    added = _kept(docids, more, table.coder)
    kept = Kept(*(np.concatenate(pair, axis=-1) for pair in zip(table.kept, added, strict=True)))
    vectors = _mapped(file, len(kept.docids), table.dim)
    return replace(table, stamp=stamp, kept=kept, _file=file, _vectors=vectors)


def name_codes(folder: int, table: Table, name_it: NameIt) -> None:
    """Write the codes of a table, and let the file get its name. Only for the lock holder.

    Args:
        folder: Descriptor of the folder of derived files.
        table: The table, whose vectors are written.
        name_it: Gives it its name, or raises.

    Raises:
        OSError: If it cannot be written.
    """
    mark = token_hex(8)
    head = {
        "kind": KIND, "format": FORMAT, "order": byteorder,
        "ns": table.ns, "model": table.model, "dim": table.dim,
        "stamp": table.stamp, "erased": table.erased, "mark": mark, "lineage": table.lineage,
        "rows": len(table),
    }  # fmt: skip
    if table.coder.name is not None:
        head["coder"] = table.coder.name
    parts = [*table.kept, table.coder.learned]
    derived.write_file(
        folder,
        f"{table.ns}.{KIND}",
        head,
        map(raw, parts),
        lambda name: name_it(mark, name),
    )
    present = derived.vectors_of(head)
    for name in derived.names(folder, table.ns):
        if name.endswith(".vectors") and name != present and derived.is_ours(folder, name):
            derived.remove(folder, name)


def _kept(docids: NDArray[np.int64], vectors: Floats, coder: Coder) -> Kept:
    codes = coder.empty(len(docids), vectors.shape[1])
    sums = np.empty(len(docids), np.uint64)
    for part in _parts(len(docids)):
        codes[..., part] = coder.encode(vectors[part])
        sums[part] = sums_of(vectors[part])
    return Kept(docids, sums, codes)


def _parts(n: int) -> Iterator[slice]:
    for start in range(0, n, BITE):
        yield slice(start, start + BITE)


def _write(file: _File, at: int, data: memoryview | bytes) -> int:
    """Write all of this at a place in a file; returns the place behind it."""
    view = memoryview(data).cast("B")
    while view:
        done = os.pwrite(file.descriptor, view, at)
        view, at = view[done:], at + done
    return at
