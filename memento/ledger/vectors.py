"""Embeddings, and the backlog of the indexer.

A memory that is not in the full text yet has no line in the backlog either; see ``contract.Words``.
With 300,000 lines in the backlog each read of its lines takes some milliseconds at most: it seeks
to a row id and stops after a given number of lines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from memento.ledger import erasure, memories, meta
from memento.ledger.contract import Transaction
from memento.ledger.dialect import (
    SKIP_IF_THERE,
    differs,
    listed,
    one_of,
    one_of_numbers,
    or_replace,
)
from memento.ledger.rows import column, docid_range, single
from memento.ledger.schema import SEQ_BITS, SEQ_MASK
from memento.status import sql

CANARY = "canary:"
"""Prefix of the name in ``meta`` of a vector that an embedder made; its number follows."""
BITE = 1024
"""Maximum number of vectors read at once."""
MARKS = 32
"""Maximum number of known marks of derived files of one kind and namespace, and so of machines that
can keep such a file."""
LOOK = 1_024
"""Maximum number of lines, or rows of a session, that are searched for the newest without a
vector."""

_ENDED, _OWED = sql("ended"), sql("owed_vector")
_INDEXED = f"{sql('in_index')} AND tier <> 'short'"
_ONE_VECTOR = or_replace("docid", "model", "stamp", "vector")
_UNLISTED = (
    f"namespaces JOIN memories ON docid > (namespaces.ns << {SEQ_BITS} | fts_upto)"
    f" AND docid <= (namespaces.ns << {SEQ_BITS} | {SEQ_MASK}) AND {sql('embedded')}"
    " AND docid NOT IN (SELECT docid FROM embeddings)"
    " AND docid NOT IN (SELECT docid FROM backlog)"
)
"""The memories that ``Words.index_next`` will queue for a vector when it indexes them."""
_LINES = (
    "SELECT docid, backlog.rev, op, id, tier, status, coalesce(actor, role, ''), text"
    " FROM backlog JOIN memories USING (docid)"
)


class Owed(NamedTuple):
    """One line of the backlog with what the indexer needs to settle it.

    A later change of the memory makes a new line, at a later revision. ``op`` is ``embed``,
    ``index`` or ``drop``; ``speaker`` is who said it, or ``""``.
    """

    docid: int
    rev: int
    op: str
    id: str
    tier: str
    status: str
    speaker: str
    text: str

    @property
    def ns(self) -> int:
        """Number of the namespace."""
        return self.docid >> SEQ_BITS


class Lacking(NamedTuple):
    """A memory without a vector, and the number of characters of its text."""

    docid: int
    chars: int


class Place(NamedTuple):
    """A line of the backlog of the embedder."""

    docid: int
    rev: int


def embedder_id(db: Transaction, name: str, dim: int) -> int:
    """Return the number of an embedder, adding it if it is new. Inside a transaction."""
    db.execute(f"INSERT INTO embedders (name, dim) VALUES (?, ?) {SKIP_IF_THERE}", (name, dim))
    return int(single(db, "SELECT model FROM embedders WHERE name = ? AND dim = ?", (name, dim)))


def embedders(db: Transaction, ns: int) -> dict[str, int]:
    """Count the stored vectors of a namespace by embedder, as ``name (dim)``."""
    query = (
        "SELECT name || ' (' || dim || ')', count(*) FROM embeddings JOIN embedders"
        " USING (model) WHERE docid BETWEEN ? AND ? GROUP BY model, name, dim"
    )
    return dict(db.execute(query, docid_range(ns)).fetchall())


def working(db: Transaction, name: str, dim: int) -> tuple[str | None, int | None]:
    """Return the identity of the embedder this store works with, and the number of a named one.

    One statement, since every query asks.
    """
    identity, model = db.execute(
        "SELECT (SELECT value FROM meta WHERE name = 'embedder'),"
        " (SELECT model FROM embedders WHERE name = ? AND dim = ?)",
        (name, dim),
    ).fetchone()
    return identity, model


def retire(db: Transaction, model: int) -> None:
    """Rename an embedder whose weights changed, with its vectors. Inside a transaction.

    The old vectors keep its number; the name is free for the new weights, which get another number.
    The Chroma folder with the old vectors is no longer known.
    """
    db.execute(
        "UPDATE embedders SET name = name || ', earlier ' || model WHERE model = ?", (model,)
    )
    meta.drop(db, f"{CANARY}{model}")
    meta.drop(db, "chroma")


def canary(db: Transaction, model: int) -> bytes | None:
    """Return the vector of the text by which changed weights of an embedder are noticed."""
    found = meta.get(db, f"{CANARY}{model}")
    return None if found is None else bytes(found)


def set_canary(db: Transaction, model: int, vector: bytes) -> None:
    """Store that vector, unless there is one. Inside a transaction."""
    named = (f"{CANARY}{model}", vector)
    db.execute(f"INSERT INTO meta VALUES (?, ?) {SKIP_IF_THERE}", named)


def current_embedder(db: Transaction) -> str | None:
    """Return the identity of the embedder this store works with, or None before the first."""
    found = meta.get(db, "embedder")
    return None if found is None else str(found)


def set_embedder(db: Transaction, identity: str) -> None:
    """Make an embedder the one this store works with. Inside a transaction."""
    meta.put(db, "embedder", identity)


def current_model(db: Transaction) -> tuple[int, str, int] | None:
    """Return number, name and dimension of the embedder this store works with, if it has one."""
    query = "SELECT model, name, dim FROM embedders WHERE name || ' (' || dim || ')' = ?"
    found = db.execute(query, (current_embedder(db),)).fetchone()
    return None if found is None else (int(found[0]), str(found[1]), int(found[2]))


def mark(db: Transaction) -> str | None:
    """Return the mark of the Chroma folder that was fed last; see ``tiers.folder.Stamp``."""
    found = meta.get(db, "chroma")
    return None if found is None else str(found)


def set_mark(db: Transaction, mark: str) -> None:
    """Store the mark of the Chroma folder that is fed from now on. Inside a transaction."""
    meta.put(db, "chroma", mark)


def generations(db: Transaction) -> list[str]:
    """Return the marks of all indexes that this store may have on a server, the newest first."""
    return str(meta.get(db, "chroma server") or "").split()


def begin_generation(db: Transaction, model: int, mark_before: str | None, new: str) -> bool:
    """Queue all rows for a new index on a server; False if another process began one since.

    ``mark_before`` is the mark of the index to be replaced. Inside a transaction.
    """
    if mark(db) != mark_before:
        return False
    set_mark(db, new)
    meta.put(db, "chroma server", " ".join([new, *generations(db)]))
    owe_index(db, model)
    return True


def end_generations(db: Transaction, gone: Collection[str]) -> None:
    """Note that these indexes were removed from the server. Inside a transaction."""
    left = [one for one in generations(db) if one not in gone]
    if mark(db) in gone:
        meta.drop(db, "chroma")
    meta.put(db, "chroma server", " ".join(left))


def next_stamp(db: Transaction) -> int:
    """Return the next stamp, for vectors that are stored now."""
    query = "UPDATE meta SET value = value + 1 WHERE name = 'stamp' RETURNING value"
    return int(single(db, query))


def store(db: Transaction, model: int, vectors: Iterable[tuple[Owed, bytes]]) -> None:
    """Store vectors whose text has not changed since, and queue their rows for the index.

    Rows of the short tier are then done, as the long tier's index does not hold them; superseded
    ones are queued to leave it. Vectors of an embedder that another process has replaced meanwhile
    are dropped.
    """
    if (current := current_model(db)) is None or current[0] != model:
        return
    stamp = next_stamp(db)
    for owed, vector in vectors:
        line = (owed.docid, owed.rev)
        db.execute(
            "INSERT INTO embeddings SELECT docid, ?3, ?4, ?5 FROM backlog"
            f" WHERE docid = ?1 AND rev = ?2 AND op = 'embed' {_ONE_VECTOR}",
            (*line, model, stamp, vector),
        )
        db.execute(
            "DELETE FROM backlog WHERE docid = ?1 AND rev = ?2 AND op = 'embed' AND EXISTS ("
            f"SELECT 1 FROM memories WHERE docid = ?1 AND NOT ({_ENDED}) AND NOT ({_INDEXED}))",
            line,
        )
        db.execute(
            "UPDATE backlog SET op = CASE WHEN EXISTS (SELECT 1 FROM memories WHERE docid = ?1"
            f" AND {_ENDED}) THEN 'drop' ELSE 'index' END"
            " WHERE docid = ?1 AND rev = ?2 AND op = 'embed'",
            line,
        )


def owed(db: Transaction, ops: Sequence[str], limit: int) -> list[Owed]:
    """Read the oldest lines of the backlog with these operations."""
    query = f"{_LINES} WHERE op {one_of()} ORDER BY docid LIMIT ?"
    return [Owed(*found) for found in db.execute(query, (listed(ops), limit))]


def lines_of(db: Transaction, docids: Iterable[int], ops: Sequence[str]) -> list[Owed]:
    """Read the lines of some rows with these operations, in the order of the given row ids."""
    wanted = list(docids)
    lines = db.execute(
        f"{_LINES} WHERE docid {one_of_numbers()} AND op {one_of()}", (listed(wanted), listed(ops))
    )
    found = {line[0]: Owed(*line) for line in lines}
    return [found[docid] for docid in wanted if docid in found]


def settle(db: Transaction, lines: Iterable[Owed], fed: str | None = None) -> bool:
    """Remove lines from the backlog unless their row changed since they were read.

    ``fed`` is the mark of the index on a server that took them, None for a folder or no index: if
    another process began an index on a server meanwhile, nothing is removed and the result is
    False.
    """
    if (mark(db) != fed) if fed is not None else generations(db):
        return False
    db.executemany(
        "DELETE FROM backlog WHERE docid = ? AND rev = ? AND op = ?",
        [(line.docid, line.rev, line.op) for line in lines],
    )
    return True


def still_owed(db: Transaction, lines: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return those lines (row id, revision) that still wait to be embedded."""
    query = "SELECT 1 FROM backlog WHERE docid = ? AND rev = ? AND op = 'embed'"
    return [line for line in lines if single(db, query, line)]


def backlog_size(db: Transaction, ns: int | None = None) -> dict[str, int]:
    """Count the backlog by operation, with rows that full text lacks and that have no line yet."""
    low, high = (0, 1 << 62) if ns is None else docid_range(ns)
    query = (
        "SELECT op, count(*) FROM (SELECT op FROM backlog WHERE docid BETWEEN ?1 AND ?2 UNION ALL"
        f" SELECT 'embed' FROM {_UNLISTED}"
        " WHERE namespaces.ns = coalesce(?3, namespaces.ns)) AS owed GROUP BY op"
    )
    return dict(db.execute(query, (low, high, ns)).fetchall())


def any_owed(db: Transaction) -> bool:
    """Return whether `backlog_size` has anything to count, without counting it."""
    query = f"SELECT EXISTS (SELECT 1 FROM backlog) OR EXISTS (SELECT 1 FROM {_UNLISTED})"
    return bool(single(db, query))


def is_behind(db: Transaction, most: int) -> bool:
    """Return whether the backlog has more than ``most`` lines."""
    query = "SELECT count(*) FROM (SELECT 1 FROM backlog LIMIT ?) AS lines"
    return bool(single(db, query, (most + 1,)) > most)


def owed_in(db: Transaction, ns: int, most: int) -> int:
    """Count the memories of a namespace that are still to be embedded, up to ``most``, >= 1."""
    query = (
        "SELECT count(*) FROM (SELECT 1 FROM backlog JOIN memories USING (docid)"
        f" WHERE op = 'embed' AND docid BETWEEN ?1 AND ?2 AND {_OWED}"
        f" UNION ALL SELECT 1 FROM {_UNLISTED}"
        f" WHERE namespaces.ns = ?3 AND {_OWED} LIMIT ?4) AS owed"
    )
    return int(single(db, query, (*docid_range(ns), ns, most)))


def waiting_in(db: Transaction, ns: int, most: int) -> list[int]:
    """Return row ids of a namespace that are on the backlog, at most ``most``."""
    query = "SELECT docid FROM backlog WHERE docid BETWEEN ? AND ? LIMIT ?"
    return column(db, query, (*docid_range(ns), most))


def spaces(db: Transaction, after: int, most: int) -> list[int]:
    """Return the namespaces that need vectors, ascending from ``after``, then wrapping round."""
    found = list(_spaces(db, after, None, most))
    return [*found, *_spaces(db, 0, after, most - len(found))]


def _spaces(db: Transaction, after: int, last: int | None, most: int) -> Iterator[int]:
    query = "SELECT docid FROM backlog WHERE docid > ? AND op = 'embed' ORDER BY docid LIMIT 1"
    for _ in range(most):
        line = single(db, query, (docid_range(after)[1],))
        if line is None or (last is not None and line >> SEQ_BITS > last):
            return
        after = line >> SEQ_BITS
        yield after


def window(db: Transaction, low: int, high: int, most: int, *, newest: bool = False) -> list[Place]:
    """Read the first lines between two row ids that wait to be embedded, or the last ones."""
    order = "DESC" if newest else "ASC"
    query = (
        "SELECT docid, rev FROM backlog WHERE docid BETWEEN ? AND ? AND op = 'embed'"
        f" ORDER BY docid {order} LIMIT ?"
    )
    return [Place(*found) for found in db.execute(query, (low, high, most))]


def newest(
    db: Transaction, ns: int, sessions: Sequence[str], rows: int, chars: int
) -> list[Lacking]:
    """Find the newest memories of a namespace that an answer could need and that lack a vector.

    Active and superseded ones, newest first, of some sessions, or of all if none are given. At most
    ``rows`` memories with ``chars`` characters in all, but one even if it is longer.
    """
    some = f" AND session {one_of()}" if sessions else ""
    unlisted = f"{_UNLISTED} WHERE namespaces.ns = ?{some}"  # full text lacks these too
    found = _lacking(db, unlisted, (ns, *([listed(sessions)] if sessions else []), rows))
    for session in sessions:
        found |= _lacking(
            db,
            "(SELECT docid, text, status FROM memories WHERE ns = ? AND session = ?"
            " ORDER BY docid DESC LIMIT ?) AS said WHERE EXISTS"
            " (SELECT 1 FROM backlog WHERE backlog.docid = said.docid AND op = 'embed')",
            (ns, session, LOOK, rows),
        )
    if not sessions:
        found |= _lacking(
            db,
            "(SELECT docid, op FROM backlog WHERE docid BETWEEN ? AND ? ORDER BY docid DESC"
            " LIMIT ?) AS lines JOIN memories USING (docid) WHERE op = 'embed'",
            (*docid_range(ns), LOOK, rows),
        )
    chosen: list[Lacking] = []
    for one in sorted(found, reverse=True)[:rows]:
        chars -= one.chars
        if chosen and chars < 0:
            break
        chosen.append(one)
    return chosen


def _lacking(db: Transaction, source: str, values: Sequence[object]) -> set[Lacking]:
    query = f"SELECT docid, length(text) FROM {source} AND {_OWED} ORDER BY docid DESC LIMIT ?"
    return {Lacking(*one) for one in db.execute(query, values)}


def still_lacking(db: Transaction, ns: int, docids: Iterable[int]) -> set[int]:
    """Return those of some rows of a namespace that an answer could need and that lack a vector."""
    query = (
        "SELECT docid FROM backlog JOIN memories USING (docid)"
        f" WHERE docid {one_of_numbers('?1')} AND op = 'embed' AND {_OWED}"
        f" UNION ALL SELECT docid FROM {_UNLISTED}"
        f" WHERE namespaces.ns = ?2 AND docid {one_of_numbers('?1')} AND {_OWED}"
    )
    return set(column(db, query, (listed(docids), ns)))


def read(db: Transaction, docids: Iterable[int], model: int) -> dict[int, bytes]:
    """Read the vectors of some rows made by one embedder; absent ones are left out."""
    query = f"SELECT docid, vector FROM embeddings WHERE docid {one_of_numbers()} AND model = ?"
    return dict(db.execute(query, (listed(docids), model)).fetchall())


def since(db: Transaction, ns: int, model: int, stamp: int) -> Iterator[list[tuple[int, bytes]]]:
    """Yield the vectors stored after a stamp in lists of (row id, vector), in order of arrival."""
    which, values = f"docid >> {SEQ_BITS} = ? AND stamp > ?", (ns, stamp)
    if stamp == 0:  # everything: walk the rows, not the index of stamps
        which, values = "docid BETWEEN ? AND ?", docid_range(ns)
    query = f"SELECT docid, vector FROM embeddings WHERE {which} AND model = ? ORDER BY docid"
    found = db.execute(query, (*values, model))
    while bite := found.fetchmany(BITE):
        yield bite


def count(db: Transaction, ns: int) -> int:
    """Count the vectors of a namespace, of any embedder, without reading them."""
    query = f"SELECT count(*) FROM embeddings WHERE docid >> {SEQ_BITS} = ?"
    return int(single(db, query, (ns,)))


def sample(db: Transaction, model: int, size: int) -> list[tuple[int, str, bytes]]:
    """Pick up to ``size`` indexed rows, spread evenly over the store: (row id, id, vector).

    It seeks to each, so a large store takes no longer than a small one.
    """
    spaces = column(db, "SELECT ns FROM namespaces ORDER BY ns")
    chosen = spaces[:: -(-len(spaces) // size)] if spaces else []
    ends = (
        "SELECT (SELECT min(docid) FROM embeddings WHERE docid BETWEEN ?1 AND ?2),"
        " (SELECT max(docid) FROM embeddings WHERE docid BETWEEN ?1 AND ?2)"
    )
    query = (
        "SELECT docid, id, vector FROM embeddings JOIN memories USING (docid)"
        f" WHERE docid BETWEEN ? AND ? AND model = ? AND {_INDEXED}"
        " AND docid NOT IN (SELECT docid FROM backlog) ORDER BY docid LIMIT 1"
    )
    found: dict[int, tuple[int, str, bytes]] = {}
    for ns in chosen:
        first, last = db.execute(ends, docid_range(ns)).fetchone()
        share = 0 if first is None else size // len(chosen)
        for at in range(share):
            start = first + (last + 1 - first) * at // share
            row = db.execute(query, (start, last, model)).fetchone()
            if row is not None:
                found[row[0]] = row
    return list(found.values())


def any_indexed(db: Transaction) -> bool:
    """Return whether there is any row that should be in the long tier's index by now."""
    query = (
        "SELECT 1 FROM embeddings WHERE docid NOT IN (SELECT docid FROM backlog) AND docid IN"
        f" (SELECT docid FROM memories WHERE {_INDEXED}) LIMIT 1"
    )
    return single(db, query) is not None


def is_left_unfed(db: Transaction) -> bool:
    """Return whether the long tier's index should hold rows, and no line makes anyone open it.

    Whoever opens the index for a line notices whether it was lost.
    """
    query = "SELECT 1 FROM backlog JOIN memories USING (docid) WHERE op <> 'embed' LIMIT 1"
    return single(db, query) is None and any_indexed(db)


def owe_index(db: Transaction, model: int) -> int:
    """Queue every row that the long tier's index should hold; return how many."""
    return db.execute(
        "INSERT INTO backlog SELECT docid, rev, 'index' FROM embeddings JOIN memories USING (docid)"
        f" WHERE model = ? AND {_INDEXED}"
        " ON CONFLICT (docid) DO UPDATE SET op ="
        " CASE WHEN backlog.op = 'embed' THEN backlog.op ELSE 'index' END",
        (model,),
    ).rowcount


def owe_index_anew(db: Transaction) -> None:
    """Queue every row that the long tier's index should hold, for the current embedder."""
    if (current := current_model(db)) is not None:
        owe_index(db, current[0])


def owe_embedding(db: Transaction, model: int | None) -> int:
    """Queue every row that has no vector of this embedder; return how many."""
    return db.execute(
        "INSERT INTO backlog SELECT docid, rev, 'embed' FROM memories LEFT JOIN embeddings"
        f" USING (docid) WHERE {differs('model', '?1')} OR ?1 IS NULL"
        " ON CONFLICT (docid) DO UPDATE SET op = 'embed', rev = excluded.rev",
        (model,),
    ).rowcount


class Facts(NamedTuple):
    """The facts that a derived file of one namespace is compared with.

    They are the stamp of the vectors stored last, of any namespace; the newest revision at which
    something was erased from this one (0 for never); and the marks of the files derived last.
    """

    stamp: int
    erased: int
    marks: tuple[str, ...]


def facts(db: Transaction, kind: str, ns: int) -> Facts:
    """Read the facts with which a derived file of this kind must agree."""
    marks = str(meta.get(db, f"{kind}:{ns}") or "").split()
    return Facts(int(meta.get(db, "stamp")), memories.erased_at(db, ns), tuple(marks))


def adopt(db: Transaction, kind: str, ns: int, mark: str, *, erased: int) -> bool:
    """Store the mark of a derived file as this ledger's, if allowed; return whether it was.

    It is not if something is being erased, or was erased since the content was read: then
    ``erased`` differs from ``memories.erased_at``. Earlier marks stay known: they are of earlier
    states, and each machine that has the ledger on a server has a file of its own. Call it inside
    the transaction in which the file gets its name: an erasure is a transaction too, after which
    the files are searched, so no file with erased content gets its name later.
    """
    if memories.erased_at(db, ns) != erased or erasure.is_under_way(db):
        return False
    known = str(meta.get(db, f"{kind}:{ns}") or "").split()
    meta.put(db, f"{kind}:{ns}", " ".join([mark, *known[: MARKS - 1]]))
    return True
