"""The full text on the server: for each term, the rows that hold it, in blocks of 4,096 rows.

A block is one value with two bytes for each row that holds the term, ascending: the row's place in
the block and the columns that hold the term. So that a query has the same answer on both engines,
texts and queries are split into terms by the tokenizer of SQLite's FTS5, in RAM. A block does not
tell whether words are adjacent: that is checked in the texts of the rows that hold all of them, by
an index in RAM.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias, cast

from memento.ledger import meta
from memento.ledger.dialect import listed, one_of_numbers
from memento.ledger.lite.fulltext import LiteTail, LiteWords, look_up
from memento.ledger.lite.library import open_in_memory, sqlite3
from memento.ledger.match import All, Any, Column, In, Match, Phrase, Start, Word
from memento.ledger.rows import COLUMNS, Row, column, columns_of, docid_of, docid_range, single
from memento.ledger.schema import FULLTEXT, SEQ_BITS, SEQ_MASK
from memento.status import sql
from memento.text.words import Columns

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memento.ledger.contract import Transaction

    Seqs: TypeAlias = NDArray[np.int64]
    Terms: TypeAlias = dict[tuple[int, str], dict[int, bytes]]

BLOCK_BITS = 12
BLOCK_MASK = (1 << BLOCK_BITS) - 1
_BITS: dict[Column, int] = {"title": 1, "head": 2, "rest": 4}
_ALL_BITS = 7
_HOLDS = 3
"""Number of bits of an entry that say which columns hold the term."""
AT_ONCE = 256
"""Number of rows indexed in one transaction of the background thread. The cost of a row on the
server falls with this number, from 60 to 20 µs, since many share a block."""
MOST_WAITING = 1024
"""Number of revisions past ``fts_upto`` at which an ``add`` catches up the index itself."""
LEARNT_AT = (64, 512, 4096, 32768)
"""Numbers of a namespace at which the server learns what the tables hold. By itself it looks once a
minute; until then it plans for empty tables, and reads a namespace where an index names the row."""
MOST_ASKED = 4096
"""Maximum number of memories that `PgWords.unheard` looks at for a word, the oldest ones."""
MOST_KNOWN = 65_536
"""Number of words whose terms are kept in RAM."""
VERIFIED_AT_ONCE = 256
"""Number of rows whose texts are searched at once."""
EDITION = "words edition"
"""Name in ``meta`` of a number that grows when the index is rebuilt."""

_HEARD = sql("in_statistics")
_FETCH = (
    "SELECT term, block, body FROM (SELECT term, block, body, sum(n) OVER"
    " (PARTITION BY term ORDER BY block DESC) - n AS newer FROM postings"
    " WHERE ns = ?1 AND term = ANY (?2)) AS blocks WHERE newer < ?3 OR term = ANY (?4)"
)
_ENTRY = "get_byte(body, 2 * place) | (get_byte(body, 2 * place + 1) << 8)"
_UNHEARD = (
    "SELECT asked FROM unnest(?2::text[]) AS asked WHERE NOT EXISTS (SELECT 1 FROM ("
    f"SELECT (?1::bigint << {SEQ_BITS}) | (block << {BLOCK_BITS}) | (entry >> {_HOLDS}) AS docid"
    " FROM ("
    f"SELECT block, {_ENTRY} AS entry FROM (SELECT block, body, generate_series(0, n - 1) AS place"
    " FROM (SELECT block, body, n FROM postings WHERE ns = ?1 AND term = asked ORDER BY block)"
    " AS blocks) AS places) AS entries"
    f" WHERE entry & {_BITS['head'] | _BITS['rest']} <> 0 LIMIT ?3) AS oldest"
    f" JOIN memories USING (docid) WHERE {_HEARD})"
)
_STARTING = "SELECT DISTINCT term FROM postings WHERE ns = ?1 AND term >= ?2 AND term < ?3"
_APPEND = (
    "INSERT INTO postings (ns, term, block, n, body) SELECT ?1, term, block, n,"
    " substr(?5::bytea, 1 + 2 * (sum(n) OVER (ORDER BY place) - n)::integer, 2 * n)"
    " FROM unnest(string_to_array(?2, ' '), string_to_array(?3, ' ')::bigint[],"
    " string_to_array(?4, ' ')::integer[]) WITH ORDINALITY AS new (term, block, n, place)"
    " ON CONFLICT (ns, term, block) DO UPDATE SET n = postings.n + excluded.n,"
    " body = postings.body || excluded.body"
)
_PUT = (
    "INSERT INTO postings (ns, term, block, n, body) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (ns, term, block) DO UPDATE SET n = excluded.n, body = excluded.body"
)
_KEEP = (
    "INSERT INTO indexed (docid, title, head, rest) SELECT (one ->> 0)::bigint, one ->> 1,"
    " one ->> 2, one ->> 3 FROM jsonb_array_elements(?::jsonb) AS one ON CONFLICT (docid)"
    " DO UPDATE SET title = excluded.title, head = excluded.head, rest = excluded.rest"
)
_STRAY = "docid NOT IN (SELECT docid FROM memories)"


class Cutter:
    """Splits texts into terms as SQLite's FTS5 does, in RAM. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._index: sqlite3.Connection | None = None
        self._known: dict[str, tuple[str, ...]] = {}

    def terms(self, documents: Iterable[tuple[int, Columns]]) -> Iterator[tuple[str, int, int]]:
        """Return each term of some documents: term, document, and the columns that hold it."""
        found: dict[tuple[str, int], int] = defaultdict(int)
        with self._lock, self._filled(documents) as index:
            for term, docid, where in index.execute("SELECT term, doc, col FROM instances"):
                found[term, docid] |= _BITS[where]
        return ((term, docid, bits) for (term, docid), bits in found.items())

    def cut(self, texts: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Split texts into their terms, in order; most are words that were split before."""
        asked = {text: _sayable(text) for text in texts}
        with self._lock:
            if len(self._known) > MOST_KNOWN:
                self._known.clear()
            new = [said for said in dict.fromkeys(asked.values()) if said not in self._known]
            if new:
                with self._filled((n, Columns("", s, "")) for n, s in enumerate(new)) as index:
                    found = index.execute("SELECT doc, term FROM instances ORDER BY doc, offset")
                    self._known |= dict.fromkeys(new, ())
                    for n, terms in groupby(found, key=itemgetter(0)):
                        self._known[new[n]] = tuple(term for _, term in terms)
            return {text: self._known[said] for text, said in asked.items()}

    def matching(self, ns: int, documents: Iterable[tuple[int, Columns]], match: Match) -> Seqs:
        """Return which of some documents an expression matches."""
        with self._lock, self._filled(documents) as index:
            return look_up(index, ns, [match], SEQ_MASK)[0]

    @contextmanager
    def _filled(self, documents: Iterable[tuple[int, Columns]]) -> Iterator[sqlite3.Connection]:
        """Yield an index of some documents, which is undone: to delete them costs twice as much."""
        if self._index is None:
            self._index = open_in_memory()
            for statement in (
                *FULLTEXT,
                "CREATE VIRTUAL TABLE instances USING fts5vocab (memories_fts, instance)",
            ):
                self._index.execute(statement)
        self._index.execute("BEGIN")
        try:
            self._index.executemany(
                "INSERT INTO memories_fts (rowid, title, head, rest) VALUES (?, ?, ?, ?)",
                [(docid, *map(_sayable, document)) for docid, document in documents],
            )
            yield self._index
        finally:
            self._index.rollback()


cutter = Cutter()


def _sayable(text: str) -> str:
    return text.replace("\0", " ").encode(errors="replace").decode()


def renew_cutter() -> None:
    """Replace the cutter in a forked child, where the parent's lock may be held for ever."""
    global cutter  # noqa: PLW0603 - one a process
    cutter = Cutter()


class PgWords(LiteWords):
    """The full text as of one transaction; see ``contract.Words``.

    Which rows wait is found by SQL that both engines share. ``upto`` maps the namespaces to how far
    their full text was when the transaction locked them; ``whole`` holds the terms all of whose
    blocks a snapshot has read.
    """

    __slots__ = ("_locked", "_session", "_whole")
    at_once = AT_ONCE

    def __init__(self, session: Transaction, upto: Mapping[int, int], whole: Terms) -> None:
        super().__init__(cast("sqlite3.Connection", session), {})
        self._session, self._locked, self._whole = session, upto, whole

    def postings(self, ns: int, matches: Sequence[Match], limit: int) -> list[Seqs]:
        return _Search(self._session, ns, matches, limit, self._whole).answers()

    def unheard(self, ns: int, words: Iterable[str]) -> set[str]:
        terms = cutter.cut(words)
        asked = sorted({term for cut in terms.values() for term in cut})
        unheard = set(column(self._session, _UNHEARD, (ns, asked, MOST_ASKED)))
        return {word for word, cut in terms.items() if not cut or not unheard.isdisjoint(cut)}

    def is_due(self, newest: int, count: int) -> bool:  # noqa: ARG002 - the waiting ones count
        upto = self._locked.get(newest >> SEQ_BITS)
        return upto is not None and (newest & SEQ_MASK) - upto >= MOST_WAITING

    def index_next(self, ns: int, documents: Sequence[tuple[int, Columns]]) -> None:
        self._append(ns, documents)
        first, newest = documents[0][0], documents[-1][0]
        self._took(ns, first, newest)
        if any(first & SEQ_MASK <= size <= newest & SEQ_MASK for size in LEARNT_AT):
            self._session.execute("ANALYZE memories, postings, indexed, claims")

    def replace(self, docid: int, document: Columns) -> None:
        ns = docid >> SEQ_BITS
        if docid > self._upto(ns):
            self.catch_up(ns)
        self.remove([docid])
        self._insert(ns, docid, document)

    def remove(self, docids: Sequence[int]) -> int:
        query = (
            f"DELETE FROM indexed WHERE docid {one_of_numbers()} RETURNING docid, title, head, rest"
        )
        gone = self._session.execute(query, (listed(docids),)).fetchall()
        of: dict[int, list[tuple[int, Columns]]] = defaultdict(list)
        for docid, *document in gone:
            of[docid >> SEQ_BITS].append((docid, Columns(*document)))
        for ns, documents in of.items():
            self._cut_out(ns, documents)
        return len(gone)

    def lose_later(self) -> None:
        raise NotImplementedError  # of copies in files alone

    def edition(self) -> int:
        return meta.get_number(self._session, EDITION)

    def merge(self, *, anew: bool = False) -> bool:  # noqa: ARG002 - see ``LiteWords``
        return False  # a block is one value already

    def intact(self) -> bool:
        """Return whether the blocks hold exactly the terms of the indexed texts."""
        due: dict[int, set[tuple[str, int, int]]] = defaultdict(set)
        query = "SELECT docid, title, head, rest FROM indexed ORDER BY docid"
        documents = [(d, Columns(*parts)) for d, *parts in self._session.execute(query)]
        for term, docid, bits in cutter.terms(documents):
            due[docid >> SEQ_BITS].add((term, docid & SEQ_MASK, bits))
        query = "SELECT ns, term, block, n, body FROM postings"
        held: dict[int, set[tuple[str, int, int]]] = defaultdict(set)
        for ns, term, block, n, body in self._session.execute(query):
            entries = _entries(body)
            if len(entries) != n or (entries[1:] <= entries[:-1]).any():
                return False
            held[ns] |= {
                (term, (block << BLOCK_BITS) + int(one >> _HOLDS), int(one) & _ALL_BITS)
                for one in entries
            }
        return due == held

    def misindexed(self) -> list[tuple[int, tuple[str, ...] | None]]:
        known = {ns: self._upto(ns) for ns in column(self._session, "SELECT ns FROM namespaces")}
        entries = {
            docid: tuple(entry)
            for docid, *entry in self._session.execute(
                "SELECT docid, title, head, rest FROM indexed"
            )
        }
        query = f"SELECT {COLUMNS} FROM memories ORDER BY docid"
        wrong = []
        for row in (Row(*values) for values in self._session.execute(query)):
            if row.docid <= known.get(row.ns, 0):
                found = entries.get(row.docid)
                if found != tuple(columns_of(row)):
                    wrong.append((row.docid, found))
        return wrong

    def strays(self) -> int:
        return int(single(self._session, f"SELECT count(*) FROM indexed WHERE {_STRAY}"))

    def drop_strays(self) -> None:
        self.remove(column(self._session, f"SELECT docid FROM indexed WHERE {_STRAY}"))

    def rebuild(self) -> int:
        session = self._session
        session.execute("DELETE FROM postings")
        session.execute("DELETE FROM indexed")
        session.execute("UPDATE namespaces SET fts_upto = 0")
        meta.put(session, EDITION, self.edition() + 1)
        for ns in column(session, "SELECT ns FROM namespaces"):
            while self.catch_up(ns, 1_000):
                pass
        return int(single(session, "SELECT count(*) FROM indexed"))

    def _append(self, ns: int, documents: Sequence[tuple[int, Columns]]) -> None:
        """Index documents whose row ids follow all others of their namespace."""
        import numpy as np  # noqa: PLC0415 - must not load with memento

        found: dict[tuple[str, int], list[int]] = defaultdict(list)
        for term, docid, bits in cutter.terms(documents):
            seq = docid & SEQ_MASK
            found[term, seq >> BLOCK_BITS].append((seq & BLOCK_MASK) << _HOLDS | bits)
        keys = sorted(found)  # in one order, to avoid a deadlock
        entries = np.array([one for key in keys for one in sorted(found[key])], "<u2")
        said = (  # no term holds a space
            " ".join(term for term, _ in keys),
            " ".join(str(block) for _, block in keys),
            " ".join(str(len(found[key])) for key in keys),
        )
        if keys:
            self._session.execute(_APPEND, (ns, *said, entries.tobytes()))
        self._keep(documents)

    def _insert(self, ns: int, docid: int, document: Columns) -> None:
        """Index one document whose row id may be anywhere in the namespace."""
        seq, changed = docid & SEQ_MASK, {}
        held = {term: bits for term, _, bits in cutter.terms([(docid, document)])}
        blocks = self._blocks(ns, seq >> BLOCK_BITS, held)
        for term, bits in held.items():
            entry = (seq & BLOCK_MASK) << _HOLDS | bits
            changed[term] = sorted([*blocks.get(term, ()), entry])
        self._put(ns, seq >> BLOCK_BITS, changed)
        self._keep([(docid, document)])

    def _keep(self, documents: Sequence[tuple[int, Columns]]) -> None:
        """Store the indexed texts of some rows, by which they are removed from the index again."""
        kept = [(docid, *map(_sayable, document)) for docid, document in documents]
        self._session.execute(_KEEP, (listed(kept),))

    def _cut_out(self, ns: int, documents: Sequence[tuple[int, Columns]]) -> None:
        """Remove the entries of documents from their blocks."""
        gone: dict[int, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        for term, docid, _ in cutter.terms(documents):
            seq = docid & SEQ_MASK
            gone[seq >> BLOCK_BITS][term].add(seq & BLOCK_MASK)
        for block, terms in sorted(gone.items()):
            held = self._blocks(ns, block, terms)
            left = {
                term: [one for one in held.get(term, ()) if one >> _HOLDS not in places]
                for term, places in terms.items()
            }
            self._put(ns, block, left)

    def _blocks(self, ns: int, block: int, terms: Mapping[str, object]) -> dict[str, list[int]]:
        query = "SELECT term, body FROM postings WHERE ns = ? AND block = ? AND term = ANY (?)"
        found = self._session.execute(query, (ns, block, sorted(terms)))
        return {term: _entries(body).tolist() for term, body in found}

    def _put(self, ns: int, block: int, changed: Mapping[str, Sequence[int]]) -> None:
        import numpy as np  # noqa: PLC0415 - must not load with memento

        empty = sorted(term for term, entries in changed.items() if not entries)
        full = sorted(term for term, entries in changed.items() if entries)
        if empty:
            query = "DELETE FROM postings WHERE ns = ? AND block = ? AND term = ANY (?)"
            self._session.execute(query, (ns, block, empty))
        self._session.executemany(
            _PUT,
            [
                (ns, term, block, len(changed[term]), np.array(changed[term], "<u2").tobytes())
                for term in full
            ],
        )


def _entries(body: bytes) -> NDArray[np.uint16]:
    import numpy as np  # noqa: PLC0415 - must not load with memento

    return np.frombuffer(body, "<u2")


class _Search:
    """Several expressions looked up in one round trip, plus others for phrases and prefixes."""

    def __init__(
        self, session: Transaction, ns: int, matches: Sequence[Match], limit: int, read: Terms
    ) -> None:
        self._session, self._ns, self._limit, self._read = session, ns, limit, read
        self._matches = matches
        self._starts: dict[str, list[str]] = {}

    def answers(self) -> list[Seqs]:
        newest: set[str] = set()
        whole: set[str] = set()
        for match in self._matches:
            self._collect(match, newest, whole, plain=True)
        self._blocks: dict[str, dict[int, bytes]] = defaultdict(dict)
        asked = []
        for term in sorted(newest | whole):
            if (known := self._read.get((self._ns, term))) is None:
                asked.append(term)
            else:
                self._blocks[term] = known
        if asked:
            values = (self._ns, asked, self._limit, sorted(whole.intersection(asked)))
            for term, block, body in self._session.execute(_FETCH, values):
                self._blocks[term][block] = body
        for term in asked:
            size = sum(map(len, self._blocks[term].values())) // 2
            if term in whole or size < self._limit:  # else there may be older blocks
                self._read[self._ns, term] = self._blocks[term]
        return [self._found(match)[-self._limit :] for match in self._matches]

    def _collect(self, match: Match, newest: set[str], whole: set[str], *, plain: bool) -> None:
        """Collect the terms of an expression: in ``newest`` if their newest blocks are enough."""
        if isinstance(match, All | Any):
            plain = plain and isinstance(match, Any)
            for part in match.parts:
                self._collect(part, newest, whole, plain=plain)
            return
        if isinstance(match, In):
            self._collect(match.what, newest, whole, plain=False)
            return
        terms = self._terms(match)
        enough = plain and len(terms) == 1 and isinstance(match, Word)
        (newest if enough else whole).update(terms)

    def _terms(self, match: Word | Start | Phrase) -> Sequence[str]:
        text = " ".join(match.words) if isinstance(match, Phrase) else match.text
        terms = cutter.cut([text])[text]
        if isinstance(match, Start) and terms:
            return [*terms[:-1], *self._starting(terms[-1])]
        return terms

    def _starting(self, start: str) -> list[str]:
        if start not in self._starts:
            span = (self._ns, start, f"{start}\U0010ffff")
            self._starts[start] = column(self._session, _STARTING, span)
        return self._starts[start]

    def _found(self, match: Match, bits: int = _ALL_BITS) -> Seqs:
        import numpy as np  # noqa: PLC0415 - must not load with memento

        if isinstance(match, In):
            return self._found(match.what, _BITS[match.column])
        if isinstance(match, Any):
            parts = [self._found(part, bits) for part in match.parts]
            return np.unique(np.concatenate([np.empty(0, np.int64), *parts]))
        if isinstance(match, All):
            return self._all([self._found(part, bits) for part in match.parts])
        text = " ".join(match.words) if isinstance(match, Phrase) else match.text
        terms = cutter.cut([text])[text]
        if not terms:
            return np.empty(0, np.int64)
        last = self._one(terms[-1], bits)
        if isinstance(match, Start):
            starting = [self._one(term, bits) for term in self._starting(terms[-1])]
            last = np.unique(np.concatenate([np.empty(0, np.int64), *starting]))
        if len(terms) == 1:
            return last
        held = self._all([*(self._one(term, bits) for term in terms[:-1]), last])
        return self._verified(held, match, bits)

    def _one(self, term: str, bits: int) -> Seqs:
        import numpy as np  # noqa: PLC0415 - must not load with memento

        found = [np.empty(0, np.int64)]
        for block, body in sorted(self._blocks.get(term, {}).items()):
            entries = _entries(body)
            if bits != _ALL_BITS:
                entries = entries[entries & bits != 0]
            found.append((entries >> _HOLDS).astype(np.int64) + (block << BLOCK_BITS))
        return np.concatenate(found)

    def _all(self, parts: Sequence[Seqs]) -> Seqs:
        import numpy as np  # noqa: PLC0415 - must not load with memento

        found = parts[0] if parts else np.empty(0, np.int64)
        for part in parts[1:]:
            found = np.intersect1d(found, part, assume_unique=True)
        return found

    def _verified(self, held: Seqs, match: Word | Start | Phrase, bits: int) -> Seqs:
        """Keep the rows in which the words are adjacent, in one column."""
        import numpy as np  # noqa: PLC0415 - must not load with memento

        asked: Match = match
        if bits != _ALL_BITS:
            asked = In(next(name for name, bit in _BITS.items() if bit == bits), match)
        found = [np.empty(0, np.int64)]
        query = f"SELECT docid, title, head, rest FROM indexed WHERE docid {one_of_numbers()}"
        for end in range(len(held), 0, -VERIFIED_AT_ONCE):
            some = [
                docid_of(self._ns, int(seq)) for seq in held[max(0, end - VERIFIED_AT_ONCE) : end]
            ]
            rows = self._session.execute(query, (listed(some),))
            documents = [(docid, Columns(*parts)) for docid, *parts in rows]
            found.append(cutter.matching(self._ns, documents, asked))
        return np.sort(np.concatenate(found))


PgTail = LiteTail
"""Both engines keep waiting rows in the same kind of index in RAM."""

__all__ = ["AT_ONCE", "PgTail", "PgWords", "docid_range", "renew_cutter"]
