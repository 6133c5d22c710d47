"""The tables of the ledger.

Row ids carry the namespace: ``docid = namespace number << 40 | seq``. A namespace is thus one
range of row ids, which FTS5 and every index can seek to, and no query can forget to filter.

Every change of a row takes the next revision of its namespace; ``seq`` is the revision it came
with. New rows are therefore found by row id, and ``memories_changed`` need only hold
the rows that changed later: an ``add`` touches as few pages as can be, since each one is written
to the log. For the same reason FTS5 keeps no sizes (the ranking is ours) and an ``add`` makes no
event: the row itself says when it came.
"""

from __future__ import annotations

from memento.status import having

APPLICATION_ID = 0x6D656D6F
"""``memo`` in ASCII: distinguishes our file from another program's."""

STEPS: tuple[str, ...] = ()
"""What brings an older store up to date: the first script turns version 1 into version 2, and so
on. ``SCHEMA`` is always the newest; see "Change the schema" in CONTRIBUTING."""

SCHEMA_VERSION = 1 + len(STEPS)
"""Version this code writes; kept in ``PRAGMA user_version``, on PostgreSQL in ``meta``."""

SEQ_BITS = 40
SEQ_MASK = (1 << SEQ_BITS) - 1

FULLTEXT = (
    (
        "CREATE VIRTUAL TABLE memories_fts USING fts5 (title, head, rest,"
        " tokenize = 'porter unicode61 remove_diacritics 2', columnsize = 0)"
    ),
    "INSERT INTO memories_fts (memories_fts, rank) VALUES ('automerge', 0)",
)
"""The full-text index; ``doctor`` rebuilds it with the same statements."""

_GROUND = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO meta VALUES ('stamp', 0);
CREATE TABLE namespaces (
    ns INTEGER PRIMARY KEY, labels TEXT NOT NULL UNIQUE, fts_upto INTEGER NOT NULL DEFAULT 0
);
"""
"""Full text catches up later: ``fts_upto`` is the newest ``seq`` of a namespace in it."""

_MEMORIES = f"""
CREATE TABLE memories (
    docid INTEGER PRIMARY KEY, ns INTEGER NOT NULL REFERENCES namespaces (ns), rev INTEGER NOT NULL,
    id TEXT NOT NULL, text TEXT NOT NULL, tier TEXT NOT NULL, kind TEXT NOT NULL,
    status TEXT NOT NULL, scope TEXT NOT NULL, session TEXT, actor TEXT, role TEXT, key TEXT,
    aliases TEXT NOT NULL, importance REAL NOT NULL, tags TEXT NOT NULL, metadata TEXT NOT NULL,
    trust TEXT NOT NULL, source_uri TEXT, source_model TEXT, source_parents TEXT NOT NULL,
    pinned INTEGER NOT NULL, occurred_at INTEGER NOT NULL, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, valid_from INTEGER NOT NULL, valid_until INTEGER,
    expires_at INTEGER, superseded_by TEXT, reinforced INTEGER NOT NULL, version INTEGER NOT NULL,
    words INTEGER NOT NULL, head_words INTEGER NOT NULL, cues INTEGER NOT NULL,
    content_hash BLOB NOT NULL, checksum BLOB NOT NULL, given INTEGER NOT NULL, signal TEXT,
    condition TEXT, due_at INTEGER
);
CREATE UNIQUE INDEX memories_by_id ON memories (ns, id);
CREATE INDEX memories_changed ON memories (ns, rev) WHERE rev <> (docid & {SEQ_MASK});
CREATE INDEX memories_by_content ON memories (ns, content_hash);
CREATE INDEX memories_by_session ON memories (ns, session) WHERE session IS NOT NULL;
CREATE INDEX memories_in_ring ON memories (ns, session, docid)
    WHERE tier = 'short' AND status = 'active';
CREATE INDEX memories_in_quarantine ON memories (ns, docid) WHERE status = 'quarantined';
CREATE INDEX memories_forgotten_turns ON memories (ns)
    WHERE status = 'forgotten' AND session IS NULL AND role IS NOT NULL;
CREATE INDEX memories_by_source ON memories (ns, source_uri) WHERE source_uri IS NOT NULL;
CREATE INDEX memories_by_slot ON memories (ns, key, scope, valid_from) WHERE key IS NOT NULL;
CREATE INDEX memories_holding_slot ON memories (ns, key, scope)
    WHERE key IS NOT NULL AND status = 'active';
CREATE INDEX memories_derived ON memories (ns) WHERE source_parents <> '[]';
CREATE INDEX memories_by_successor ON memories (ns, superseded_by)
    WHERE superseded_by IS NOT NULL;
CREATE INDEX memories_of_policy ON memories (ns, rev)
    WHERE (kind IN ('rule', 'preference', 'decision', 'procedure', 'plan')
    OR signal = 'identity' OR pinned <> 0);
CREATE TABLE awaited (ns INTEGER NOT NULL, parent TEXT NOT NULL, docid INTEGER NOT NULL,
    PRIMARY KEY (ns, parent, docid)) WITHOUT ROWID;
CREATE INDEX awaited_by_docid ON awaited (docid);
"""
"""``memories.given`` has a bit for a tier and one for an importance that the caller chose.
``signal``, ``condition`` and ``due_at`` are of a memory learned from a conversation: how it was
recognised, when a rule applies, when a plan is due. The neighbours of a value in its slot are found
without going through its other values, and what names an erased memory without going through those
that name none. ``memories_forgotten_turns`` finds turns without a session that are given again.
``memories_of_policy`` finds what a policy may hold, and tells by its largest revision and its size
whether that changed: a row that enters or changes has a higher revision than all others, and one
that leaves lowers the count. A memory in ``awaited`` names a parent that is not stored, and is
judged again when it comes, see ``write.trust``."""

for _kind, _index in (("in_ring", "memories_in_ring"), ("holds_slot", "memories_holding_slot")):
    if having(_kind) != ("active",):
        raise TypeError(
            f"memento.status.TABLE says {_kind} of {having(_kind)}, and the index {_index} holds"
            " ('active',): make them the same"
        )

_HISTORY = """
CREATE TABLE versions (
    docid INTEGER NOT NULL, rev INTEGER NOT NULL, version INTEGER NOT NULL, text TEXT NOT NULL,
    status TEXT NOT NULL, tier TEXT NOT NULL, until INTEGER NOT NULL, reason TEXT NOT NULL,
    earlier TEXT NOT NULL, change INTEGER, PRIMARY KEY (docid, rev)
) WITHOUT ROWID;
CREATE INDEX versions_by_change ON versions (change) WHERE change IS NOT NULL;
CREATE TABLE changes (
    change INTEGER PRIMARY KEY, ns INTEGER NOT NULL, run INTEGER, at INTEGER NOT NULL,
    kind TEXT NOT NULL, by TEXT NOT NULL, rev_from INTEGER NOT NULL, rev_to INTEGER NOT NULL,
    undone_by INTEGER, undoes INTEGER, seal BLOB NOT NULL
);
CREATE INDEX changes_by_run ON changes (run) WHERE run IS NOT NULL;
CREATE TABLE changed_links (
    change INTEGER NOT NULL, src INTEGER NOT NULL, dst INTEGER NOT NULL, relation TEXT NOT NULL,
    weight REAL NOT NULL, made INTEGER NOT NULL, PRIMARY KEY (change, src, relation, dst)
) WITHOUT ROWID;
CREATE INDEX changed_links_by_src ON changed_links (src);
CREATE INDEX changed_links_by_dst ON changed_links (dst);
CREATE TABLE erased (docid INTEGER PRIMARY KEY, ns INTEGER NOT NULL, rev INTEGER NOT NULL);
CREATE INDEX erased_by_rev ON erased (ns, rev);
CREATE TABLE erased_turns (ns INTEGER NOT NULL, turn TEXT NOT NULL, PRIMARY KEY (ns, turn))
    WITHOUT ROWID;
"""
"""``versions.earlier`` is the rest of a row's earlier state, so that a store can be set back to a
moment, and ``change`` the call that ended it; null for what an import brought. ``changes`` are
those calls: numbers and fixed words, so nothing of an erased memory can be in one. ``erased`` holds
the row ids of memories that are gone and nothing else of them: caches learn from it, and no row id
is ever given again. ``erased_turns`` holds the digests by which what was erased is known when its
conversation is given, its source read, or its id reviewed, again: see ``replays``, ``copies`` and
``reviews``."""

_LINKS = f"""
CREATE TABLE links (
    src INTEGER NOT NULL, dst INTEGER NOT NULL, relation TEXT NOT NULL, weight REAL NOT NULL,
    seal BLOB NOT NULL, PRIMARY KEY (src, relation, dst)
) WITHOUT ROWID;
CREATE INDEX links_by_dst ON links (dst);
CREATE INDEX links_in_conflict ON links (src, dst) WHERE relation IN ('contradicts', 'echoes');
CREATE TABLE claims (
    key INTEGER NOT NULL, docid INTEGER NOT NULL, PRIMARY KEY (key, docid)
) WITHOUT ROWID;
CREATE INDEX claims_by_docid ON claims (docid);
CREATE TABLE successions (
    older INTEGER NOT NULL, newer INTEGER NOT NULL, PRIMARY KEY (older, newer)
) WITHOUT ROWID;
CREATE INDEX successions_by_newer ON successions (newer);
CREATE TABLE associations (
    src INTEGER NOT NULL, dst INTEGER NOT NULL, weight REAL NOT NULL, count INTEGER NOT NULL,
    at INTEGER NOT NULL, stamp INTEGER NOT NULL, PRIMARY KEY (src, dst)
) WITHOUT ROWID;
CREATE INDEX associations_by_dst ON associations (dst);
CREATE INDEX associations_by_stamp ON associations (src >> {SEQ_BITS}, stamp);
"""
"""A seal is a digest to notice damage, see ``rows.seal_of``. ``links_in_conflict`` has the flagged
pairs, so that an answer without any does not look for them. The other tables are derived:
``claims`` of statements, as hashes by which those that may conflict are found; ``successions``,
earlier statements, each with a later one that changes it; ``associations``
between memories that are used together, which the read path follows by their stamp."""

_USE = f"""
CREATE TABLE events (
    event INTEGER PRIMARY KEY, ns INTEGER NOT NULL, at INTEGER NOT NULL, kind TEXT NOT NULL,
    docid INTEGER, detail TEXT, seal BLOB NOT NULL
);
CREATE INDEX events_redacted ON events (ns) WHERE kind = 'redacted';
CREATE INDEX events_by_docid ON events (docid) WHERE docid IS NOT NULL;
CREATE TABLE dynamics (
    docid INTEGER PRIMARY KEY, stale INTEGER NOT NULL, at INTEGER NOT NULL, uses REAL NOT NULL,
    used_at INTEGER, counted REAL NOT NULL, sums BLOB NOT NULL, stability REAL NOT NULL,
    day INTEGER NOT NULL, short REAL NOT NULL, long REAL NOT NULL, supporting REAL NOT NULL,
    opposing REAL NOT NULL, worth REAL NOT NULL, today INTEGER NOT NULL, spent REAL NOT NULL,
    marks INTEGER NOT NULL, stamp INTEGER NOT NULL
);
CREATE INDEX dynamics_stale ON dynamics (docid) WHERE stale = 1;
CREATE INDEX dynamics_by_stamp ON dynamics (docid >> {SEQ_BITS}, stamp);
CREATE TABLE loops (
    loop TEXT PRIMARY KEY, ns INTEGER NOT NULL, session TEXT, opened_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL, closed_at INTEGER, shown TEXT NOT NULL, outcome REAL
);
CREATE INDEX loops_of ON loops (ns, closed_at);
CREATE TABLE sleeps (ns INTEGER PRIMARY KEY, owner TEXT, until INTEGER NOT NULL, state TEXT);
"""
"""``dynamics`` holds the sums of the events, which the read path follows by their stamp; it is
derived, so it has no seals and no revisions. ``loops`` are turns whose outcome is open: what they
showed, until they are closed or expire. ``sleeps`` holds the progress of the sleep of a namespace;
it is derived too: without it the next sleep looks at everything again."""

_VECTORS = f"""
CREATE TABLE embedders (model INTEGER PRIMARY KEY, name TEXT NOT NULL, dim INTEGER NOT NULL,
    UNIQUE (name, dim));
CREATE TABLE embeddings (
    docid INTEGER PRIMARY KEY, model INTEGER NOT NULL REFERENCES embedders (model),
    stamp INTEGER NOT NULL, vector BLOB NOT NULL
);
CREATE INDEX embeddings_by_stamp ON embeddings (docid >> {SEQ_BITS}, stamp);
CREATE TABLE backlog (
    docid INTEGER PRIMARY KEY, rev INTEGER NOT NULL,
    op TEXT NOT NULL CHECK (op IN ('embed', 'index', 'drop'))
);
"""

_SESSIONS = """
CREATE TABLE sessions (
    ns INTEGER NOT NULL, id TEXT NOT NULL, scope TEXT NOT NULL, goal TEXT, started INTEGER NOT NULL,
    touched INTEGER NOT NULL, ended INTEGER, outcome TEXT, owner TEXT NOT NULL,
    epoch INTEGER NOT NULL, head TEXT, seal BLOB NOT NULL, PRIMARY KEY (ns, id)
) WITHOUT ROWID;
CREATE TABLE checkpoints (
    ns INTEGER NOT NULL, session TEXT NOT NULL, number INTEGER NOT NULL, at INTEGER NOT NULL,
    rev INTEGER NOT NULL, body TEXT NOT NULL, seal BLOB NOT NULL, PRIMARY KEY (ns, session, number)
) WITHOUT ROWID;
"""
"""Sessions and their checkpoints. A session has a row once somebody began it; a memory that only
names a session makes none. ``touched`` is not in the seal: every write of the session moves it.
``head`` is what the policy gave the session first, and ``rev`` the newest revision of the namespace
when a checkpoint was made: any later revision came after it."""

_SCOPES = """
CREATE TABLE scopes (
    ns INTEGER NOT NULL, path TEXT NOT NULL, title TEXT NOT NULL, aliases TEXT NOT NULL,
    created_at INTEGER NOT NULL, merged_at INTEGER, merged_into TEXT, merges TEXT NOT NULL,
    seal BLOB NOT NULL, PRIMARY KEY (ns, path)
) WITHOUT ROWID;
CREATE TABLE shares (
    ns INTEGER NOT NULL, scope TEXT NOT NULL, other INTEGER NOT NULL, since INTEGER NOT NULL,
    seal BLOB NOT NULL, PRIMARY KEY (ns, scope, other)
) WITHOUT ROWID;
CREATE INDEX shares_with ON shares (other);
"""
"""The scopes that were named or merged, and the scopes that one namespace shows to another one. A
scope that only memories name has no row. ``merges`` has the numbers of the changes that moved its
memories, so that they can be undone. ``shares_with`` finds what a namespace is shown."""

_FULLTEXT = "".join(f"{statement};\n" for statement in FULLTEXT)

SCHEMA = _GROUND + _MEMORIES + _FULLTEXT + _HISTORY + _LINKS + _USE + _VECTORS + _SESSIONS + _SCOPES
"""Every table and index of a new store; each statement ends with a semicolon at the end of a line.
"""


def missing(version: int) -> list[tuple[int, list[str]]]:
    """Return what a store of a version, 0 for an empty one, lacks: versions, and how to reach each.

    An empty store reaches the newest at once.
    """
    steps = enumerate(STEPS[version - 1 :], start=version + 1)
    scripts = list(steps) if version else [(SCHEMA_VERSION, SCHEMA)]
    return [(reached, _statements(script)) for reached, script in scripts]


def _statements(script: str) -> list[str]:
    return [one.strip() for one in script.split(";\n") if one.strip()]
