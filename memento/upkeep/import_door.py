"""Validate the memories of an imported file that is not the caller's own.

An export states for every memory how far it is trusted, what it replaced and what happened to it.
In the caller's own file this is true, and all of it is imported. Another author may have written
anything, so only the present state of each memory is imported, validated as by ``add``:

- no memory is trusted more than the file, and untrusted ones are quarantined;
- each has a source, at least ``import``: only memories that a program added itself may have none;
- secrets are removed or refused, as the settings of the store say;
- no memory is a rule or pinned, and the number of repeats is not imported;
- earlier states are left out (``restore`` could bring back an unchecked text), and so are events
  (they count as use), vectors (one could be made to be near every query), and memories that are
  hidden in the exported store.
"""

from __future__ import annotations

import json
from collections import Counter

from memento.admit import draft
from memento.admit.redact import Redaction, Secrets
from memento.ledger.rows import Row, content_hash
from memento.status import having
from memento.types import Kind, Trust

TAKEN = having("current")
"""Statuses of the memories that are imported; others are hidden in the exported store."""


UNNAMED = "import"
"""Source of a memory that names none itself."""


class Door:
    """Validation of the memories of a file that is not the caller's own.

    Args:
        trust: How far the file is trusted.
        secrets: How secrets are treated.
        now: The present moment, microseconds; no memory was created later.

    Attributes:
        trust: How far the file is trusted.
        demoted: Number of memories that were a rule or pinned in the file and are neither now.
    """

    def __init__(self, trust: Trust, secrets: Secrets | str, now: int) -> None:
        self.demoted = 0
        self.trust = trust
        self._secrets = secrets
        self._now = now

    def pass_through(self, row: Row) -> Counter[str]:
        """Change a row so that it may be imported; the caller then renews measures and checksum.

        Returns:
            The secrets that were removed, by kind.

        Raises:
            SecretFound: If it holds a secret and secrets are refused.
        """
        given = row.occurred_at != row.created_at
        found = self._redact(row)
        row.trust = Trust.least([Trust(row.trust), self.trust]).value
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
            condition=row.condition,
        )
        return found

    def _redact(self, row: Row) -> Counter[str]:
        clean = Redaction(self._secrets)
        row.text = clean.text("text", row.text)
        if clean.name("key", row.key) != row.key:
            row.key = None  # two redacted keys could become the same slot
        row.aliases = _names(clean, "aliases", row.aliases)
        row.tags = _names(clean, "tags", row.tags)
        row.metadata = clean.json("metadata", row.metadata)
        row.actor = clean.name("actor", row.actor)
        row.role = clean.name("role", row.role)
        row.condition = clean.name("condition", row.condition)
        row.source_uri = clean.name("source.uri", row.source_uri) or UNNAMED
        row.source_model = clean.name("source.model", row.source_model)
        return clean.found


def _names(clean: Redaction, field: str, encoded: str) -> str:
    return draft.to_json(clean.names(field, tuple(json.loads(encoded))))
