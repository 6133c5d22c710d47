"""The door of an import: what a file may bring that is not the caller's own.

An export says of every memory how far it is trusted, what it replaced and what became of it. Of
one's own file that is the truth, and all of it is taken. Somebody else may have written anything,
so of his file only what his memories say now is taken, and each passes what ``add`` lets through:

- no memory is trusted more than the file, and what is not trusted waits in quarantine;
- secrets are taken out, or refused, as the store's policy has it;
- no rule and nothing pinned comes from it, nor a count of how often something was said;
- no past (``restore`` would bring back what never passed), no event (they count as use), no vector
  (one may be made to be near every question), and no memory that is hidden where it comes from.
"""

from __future__ import annotations

import json
from collections import Counter

from memento.ledger.rows import Row, content_hash
from memento.observe import admit
from memento.observe.redact import Redaction, Secrets
from memento.types import Kind, Status, Trust

TAKEN = (Status.ACTIVE.value, Status.QUARANTINED.value)
"""Statuses of the memories that are taken; the others are hidden where they come from."""


class Door:
    """What memories of a file that is not the caller's own have to pass.

    Args:
        trust: How far the file is trusted.
        secrets: What becomes of a secret.
        now: The present moment, microseconds; nothing was created later.

    Attributes:
        demoted: Memories that came as a rule or pinned and are neither now.
    """

    def __init__(self, trust: Trust, secrets: Secrets | str, now: int) -> None:
        self.demoted = 0
        self._trust = trust
        self._secrets = secrets
        self._now = now

    def pass_through(self, row: Row) -> Counter[str]:
        """Change a row into what may come in; its measures and its seal are the caller's to renew.

        Returns:
            The secrets that were taken out, by kind.

        Raises:
            SecretFound: If it holds a secret and these are to be refused.
        """
        given = row.occurred_at != row.created_at
        found = self._redact(row)
        row.trust = Trust.least([Trust(row.trust), self._trust]).value
        self.demoted += row.kind == Kind.RULE or bool(row.pinned)
        if row.kind == Kind.RULE:
            row.kind = Kind.FACT.value
        row.pinned = row.reinforced = 0
        row.version, row.superseded_by = 1, None
        row.created_at = row.updated_at = min(row.created_at, self._now)
        row.content_hash = content_hash(
            row.text,
            row.scope,
            row.key,
            row.session,
            row.actor,
            row.role,
            row.occurred_at if given else None,
        )
        return found

    def _redact(self, row: Row) -> Counter[str]:
        clean = Redaction(self._secrets)
        row.text = clean.text("text", row.text)
        if clean.name("key", row.key) != row.key:
            row.key = None  # redacted, the slots of two would be one
        row.aliases = _names(clean, "aliases", row.aliases)
        row.tags = _names(clean, "tags", row.tags)
        row.metadata = clean.json("metadata", row.metadata)
        row.actor = clean.name("actor", row.actor)
        row.role = clean.name("role", row.role)
        row.source_uri = clean.name("source.uri", row.source_uri)
        row.source_model = clean.name("source.model", row.source_model)
        return clean.found


def _names(clean: Redaction, field: str, encoded: str) -> str:
    return admit.to_json(clean.names(field, tuple(json.loads(encoded))))
