"""One namespace on a real in-memory FTS5, as the read path sees it."""

import sqlite3
import weakref
from datetime import UTC, datetime

import numpy as np

from memento.config import RetrieveConfig
from memento.ledger.lite.fulltext import expression
from memento.ledger.predicate import Filters
from memento.retrieve.answer import find
from memento.retrieve.by_meaning import Exact, Meaning
from memento.retrieve.columns import Roster, RosterRow
from memento.retrieve.context import Look
from memento.retrieve.request import Request
from memento.retrieve.spellings import Vocabulary
from memento.retrieve.visible import allow
from memento.text import words as spelling
from memento.tiers.exact import Vectors

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
FIRST = 7 << 40
LIMITS = {
    "k": 5, "match": "auto", "min_score": 0.0, "min_confidence": 0.0, "cutoff": 0.0,
    "tokens": None, "count_tokens": spelling.estimate, "fold": True,
}  # fmt: skip


class Shelf:
    """Memories of one namespace; a `TextSource` and everything `find` needs."""

    def __init__(self, first=FIRST, database=None):
        self.database = database or sqlite3.connect(":memory:")
        weakref.finalize(self, self.database.close)
        self.first = first
        self.roster = Roster()
        self.text_of = {}
        self.vectors = {}
        self.asked = []
        self.database.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS fulltext USING fts5"
            "(title, head, rest, tokenize='porter unicode61 remove_diacritics 2')"
        )

    def add(self, text, **fields):
        """Remember a text at once; returns its docid."""
        row = self.row(text, **fields)
        self.roster.apply([row])
        return row.docid

    def row(self, text, *, at=NOW, docid=None, role=None, tags=(), **fields):
        """Index a text; the row is for the roster to take."""
        docid = docid or self.first + len(self.text_of) + 1
        names = {name: fields[name] for name in ("actor", "key", "aliases") if name in fields}
        columns = spelling.columns(text, role=role, tags=tags, **names)
        self.database.execute("DELETE FROM fulltext WHERE rowid = ?", (docid,))
        self.database.execute(
            "INSERT INTO fulltext (rowid, title, head, rest) VALUES (?, ?, ?, ?)", (docid, *columns)
        )
        self.text_of[docid] = text
        given = {
            "session": None, "actor": None, "scope": "", "tier": "medium", "kind": "fact",
            "status": "active", "importance": 0.5, **fields,
        }  # fmt: skip
        return RosterRow(
            docid=docid,
            words=columns.words,
            head_words=columns.head_words,
            cues=spelling.cues(text, role),
            occurred_at=int(at.timestamp() * 1_000_000),
            **given,
        )

    def embed(self, vectors):
        """Give rows their vectors."""
        self.vectors |= {docid: np.array(one, np.float32) for docid, one in vectors.items()}

    def search(self):
        """Return the search by vector; None without any."""
        if not self.vectors:
            return None
        snap, docids = self.roster.view(), sorted(self.vectors)
        matrix = np.array([self.vectors[docid] for docid in docids])
        none = Vectors.of(None, snap.docid, matrix.shape[1], (1, 0))
        return Exact(none.take(np.array(docids), matrix, snap.docid), snap, lambda _: None)

    def postings(self, matches, limit):
        """Ask the index; see `TextSource`."""
        return [self._postings(match, limit) for match in matches]

    def _postings(self, match, limit):
        self.asked.append(match)
        found = self.database.execute(
            "SELECT rowid FROM fulltext WHERE fulltext MATCH ? AND rowid BETWEEN ? AND ?"
            " ORDER BY rowid DESC LIMIT ?",
            (expression(match), self.first, self.first + (1 << 40) - 1, limit),
        )
        return np.array([docid for (docid,) in found][::-1], np.int64)

    def texts(self, docids):
        """Read texts; see `TextSource`."""
        return [self.text_of[docid] for docid in docids]

    def vocabulary(self, first):
        """List the words of heard memories; see `TextSource`."""
        snap, known = self.roster.view(), Vocabulary()
        for docid in snap.docid[snap.heard & (snap.docid >= first)].tolist():
            known.put(docid, spelling.words(self.text_of[docid]))
        return known

    def find(self, query, vector=None, config=None, *, now=NOW, **options):
        """Ask a question."""
        snap, config = self.roster.view(), config or RetrieveConfig()
        filters = Filters(now=int(now.timestamp() * 1_000_000))
        limits = {name: options.pop(name) for name in LIMITS.keys() & options.keys()}
        nearest = options.pop("nearest", None) or self.search()
        if vector is not None and nearest is not None:
            options["meaning"] = Meaning(snap, nearest, vector)
        allowed = options.pop("allowed", None)
        if allowed is None:
            allowed = allow(snap, filters)
        request = Request(query, filters=filters, past=None, wait=0.0, **LIMITS | limits)
        return find(Look(request, snap, self, config, allowed, **options))

    def hits(self, query, *args, **options):
        """Ask a question; returns texts."""
        found = self.find(query, *args, **options).found
        return [self.text_of[one.docid] for one in found]
