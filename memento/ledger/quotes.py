"""Articles and the memories that they quote. SQL only; the callers write the texts.

An article of a sleep is true as long as each memory that it quotes is as it was: active, without an
end, with the same content and trust. The extract of a session is about the past: what it quotes may
have ended, but must not be hidden, changed or due to expire. A change that makes an article untrue
withdraws it in the same transaction, so that undoing the change brings it back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from memento.ledger import links, memories
from memento.ledger.contract import Transaction, Work
from memento.ledger.rows import Row, column, is_sound, mapping_in, select, strings_in
from memento.status import HEARD, having
from memento.types import Event, Kind, Reason, Status

URI = "memento:article"
"""Source address of an article that a sleep made."""
SESSION = "memento:session"
"""Source address of the extract of a session that has ended."""
SOURCES = "sources"
"""Field of the metadata of an article: the digest of what it was made of."""

_FOUND = frozenset(having("found"))
_TOUCHED = f"""
    SELECT src FROM links WHERE relation = '{links.QUOTES}'
    AND dst IN (SELECT docid FROM versions WHERE change = ?1)
    UNION SELECT src FROM links WHERE relation = '{links.QUOTES}'
    AND src IN (SELECT docid FROM versions WHERE change = ?1) ORDER BY 1
"""


def is_mine(row: Row) -> bool:
    """Return whether a memory is an article that a sleep made."""
    return row.kind == Kind.ARTICLE and row.source_uri == URI


def digest(sources: Iterable[Row]) -> str:
    """Digest the content and trust of memories, in any order."""
    said = sorted([row.id, row.content_hash.hex(), row.trust] for row in sources)
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]


def lasts(row: Row) -> bool:
    """Return whether a memory is active, sound, and has no known end."""
    ends = row.expires_at is not None or row.valid_until is not None
    return row.status in _FOUND and not ends and is_sound(row)


def of_namespace(db: Transaction, ns: int, *, extracts: bool = False) -> list[Row]:
    """Read the articles of a namespace, with ``extracts`` those of sessions too, in order."""
    where = (
        f"ns = ?1 AND source_parents <> '[]' AND kind = '{Kind.ARTICLE}' AND source_uri IN (?2, ?3)"
        f" AND {memories.NOT_ERASED} ORDER BY docid"
    )
    return list(select(db, where, (ns, URI, SESSION if extracts else URI)))


def is_true(db: Transaction, article: Row) -> bool:
    """Return whether all sources of an article are as they were when it was written."""
    docids = [dst for _, dst in links.pairs(db, [article.docid], [links.QUOTES], "src")]
    sources = memories.by_docids(db, article.ns, docids)
    if len(sources) != len(strings_in(article.source_parents)):
        return False
    said = mapping_in(article.metadata).get(SOURCES)
    if article.source_uri == URI:
        holds = all(map(lasts, sources.values()))
    else:
        rows = sources.values()
        holds = all(r.status in HEARD and r.expires_at is None and is_sound(r) for r in rows)
    return holds and said == digest(sources.values())


def withdraw_outdated(work: Work) -> None:
    """Withdraw the articles that a change made untrue, as part of it; locked ones stay."""
    touched = column(work.db, _TOUCHED, (work.trace.number,))
    for article in _untrue(work, touched):
        withdraw(work, article)


def outdated_by(work: Work, docids: Sequence[int]) -> list[Row]:
    """Return the articles that quote one of some memories and are no longer true."""
    found = links.pairs(work.db, docids, [links.QUOTES], "dst")
    articles = _untrue(work, sorted({src for src, _ in found}))
    return [one for one in articles if one.status in _FOUND]


def _untrue(work: Work, docids: Sequence[int]) -> list[Row]:
    rows = memories.by_docids(work.db, work.ns, docids).values() if docids else ()
    return [
        row
        for row in rows
        if is_sound(row)
        and (row.kind == Kind.ARTICLE and row.source_uri in (URI, SESSION))
        and not is_true(work.db, row)
    ]


def withdraw(work: Work, article: Row) -> None:
    """Hide an article, unless it is hidden, pinned or locked; ``work`` must be a change already."""
    if article.status not in _FOUND or article.pinned:
        return
    hidden = {"status": Status.FORGOTTEN.value, "updated_at": work.now}
    memories.revise(work.db, article, hidden, Reason.WITHDRAWN, work.trace.number)
    memories.enqueue(work.db, article, "drop")
    memories.record(work.db, work.ns, work.now, Event.WITHDRAWN, article.docid)


def is_withdrawn(db: Transaction, article: Row) -> bool:
    """Return whether an article is hidden only because it was no longer true."""
    hidden = article.status == Status.FORGOTTEN
    return hidden and last_reason(db, article) == Reason.WITHDRAWN


def last_reason(db: Transaction, article: Row) -> str:
    """Return why the last earlier state of an article ended; ``""`` if it has none."""
    return "".join(state.reason for state in memories.states(db, article.docid)[-1:])


def made_of(db: Transaction, ns: int, ids: Iterable[str], *, after: int = 0) -> dict[int, str]:
    """Find the articles after a row id that were made of some memories: row ids to ids."""
    wanted = frozenset(ids)
    found = of_namespace(db, ns, extracts=True) if wanted else []
    return {
        article.docid: article.id
        for article in found
        if article.docid > after and _was_made_of(db, article, wanted)
    }


def _was_made_of(db: Transaction, article: Row, ids: frozenset[str]) -> bool:
    named = strings_in(article.source_parents)
    if not named or not ids.isdisjoint(named):
        return True  # a damaged one may have been made of any
    for state in memories.states(db, article.docid):
        earlier = mapping_in(state.earlier)
        parents = earlier.get("source_parents")
        if not isinstance(parents, str) or not ids.isdisjoint(strings_in(parents)):
            return True
    return False


def shown_since(db: Transaction, ns: int, moment: int) -> set[str]:
    """Return the ids of the memories that were retrieved since a moment, microseconds."""
    query = "SELECT detail FROM events WHERE ns = ? AND at >= ? AND kind = ?"
    found = db.execute(query, (ns, moment, Event.RETRIEVED.value))
    return {
        name
        for (detail,) in found
        for name in mapping_in(detail or "{}").get("ids", ())
        if isinstance(name, str) and name
    }
