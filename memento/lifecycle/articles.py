"""Write an article from its sources, write it again, withdraw it: each is a part of a change.

An article adds and never replaces: its sources stay as they are. It is trusted as little as the
least trusted of them, and of a model's words no more than an agent's.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from memento.admit.draft import admit
from memento.admit.entry import Entry
from memento.admit.novelty import Novelty
from memento.admit.redact import Secrets
from memento.clock import from_micros
from memento.config import Config
from memento.ledger import changes, memories, namespaces, quotes
from memento.ledger.contract import Session, Work
from memento.ledger.rows import Row
from memento.lifecycle.remember import remember
from memento.types import Draft, Kind, Source, Tier, Trust

IMPORTANCE = 0.6
"""Importance of an article, see ``admit.importance``."""
_IDS = uuid.UUID("6d0b6f5c-6f0e-5f0c-9d3f-2a7f1c1f6a11")
"""Name space of the ids of articles, RFC 9562."""


@dataclass(frozen=True, slots=True)
class Text:
    """The text of an article.

    Attributes:
        said: The text.
        model: Name of the model that wrote it; None if it only quotes.
    """

    said: str
    model: str | None = None


def id_of(session: Session, ns: int, sources: Sequence[Row]) -> str:
    """Return the id of the article that is first made of some memories: the same in every store."""
    named = [list(namespaces.labels_of(session, ns)), sorted(row.id for row in sources)]
    return str(uuid.uuid5(_IDS, json.dumps(named, ensure_ascii=False)))


def write(
    work: Work, article: Row | None, sources: Sequence[Row], text: Text, config: Config
) -> list[Row]:
    """Write an article, or give one that is there its new text.

    Args:
        work: The transaction.
        article: The article to write again; None for a new one.
        sources: The memories it is made of, active ones of one scope.
        text: Its text.
        config: Settings.

    Returns:
        The article; empty if a secret would have to be taken out of it, or its id is taken.
    """
    named = id_of(work.db, work.ns, sources) if article is None else article.id
    if article is None and memories.by_ids(work.db, work.ns, [named]):
        return []
    entry = _entry(work, named, sources, text, config)
    if entry.redacted:
        return []
    changes.begin(work)
    before = [] if article is None else quotes.quoted(work.db, [article.docid])
    rows, again, _ = remember(work, [entry], Novelty(), replace=True)
    for src, dst in before:
        changes.unlink(work, src, dst, quotes.QUOTES)
    for row in sources:
        changes.link(work, rows[0].docid, row.docid, quotes.QUOTES)
    return [*rows, *again]


def _entry(work: Work, named: str, sources: Sequence[Row], text: Text, config: Config) -> Entry:
    """Make the entry of an article."""
    classes = [Trust(row.trust) for row in sources]
    trust = Trust.least(classes if text.model is None else [*classes, Trust.AGENT])
    parents = tuple(sorted(row.id for row in sources))
    draft = Draft(
        text=text.said,
        tier=Tier.LONG,
        kind=Kind.ARTICLE,
        importance=IMPORTANCE,
        scope=sources[0].scope,
        source=Source(trust, quotes.URI, text.model, parents),
        metadata={quotes.SOURCES: quotes.digest(sources)},
        occurred_at=from_micros(max(row.occurred_at for row in sources)),
        id=named,
    )
    allows = config.secrets == Secrets.ALLOW
    entry = admit(
        draft,
        now=work.now,
        limits=config.limits,
        choice=config.tier_choice,
        secrets=Secrets.ALLOW if allows else Secrets.REDACT,
    )
    entry.by = Trust.USER  # it replaces no memory but its own earlier text
    return entry
