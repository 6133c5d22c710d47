"""Encode a session with its checkpoints as one line of an export, and read it again.

The owner of a session and its policy belong to the store that they come from: neither is in the
file. A session that had not ended is therefore interrupted where it is imported.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memento import check
from memento.ledger import sessions
from memento.ledger.contract import Session
from memento.ledger.sessions import Begun, Noted
from memento.lifecycle.sessions import KINDS
from memento.scopes import parse_scope
from memento.upkeep.archive_fields import read_moment, refuse, spelt_moment

MOST = 1 << 20
"""Most checkpoints of a session that are read."""
_PARTS = ("kind", "goal", "done", "next", "blocked", "files", "note", "data")
"""The parts of a checkpoint, in the order in which they are written."""


def spelt_session(db: Session, one: Begun) -> dict[str, Any]:
    """Encode a session and its checkpoints, the oldest first."""
    noted = sessions.checkpoints(db, one.ns, one.id, MOST)
    return {
        "id": one.id,
        "scope": one.scope,
        "goal": one.goal,
        "started": spelt_moment(one.started),
        "touched": spelt_moment(one.touched),
        "ended": None if one.ended is None else spelt_moment(one.ended),
        "outcome": one.outcome,
        "checkpoints": [
            {"at": spelt_moment(noted.at)} | json.loads(noted.body) for noted in reversed(noted)
        ],
    }


def read_session(line: Mapping[str, Any]) -> tuple[Begun, tuple[Noted, ...]]:
    """Make a session and its checkpoints of a line; namespace and revisions are given later.

    Raises:
        InvalidInput: If a value cannot be accepted.
    """
    name = check.short_name("id", line["id"])
    begun = Begun(
        ns=0,
        id=name,
        scope=parse_scope(line["scope"]),
        goal=_text("goal", line["goal"]),
        started=read_moment("started", line["started"]),
        touched=read_moment("touched", line["touched"]),
        ended=None if line["ended"] is None else read_moment("ended", line["ended"]),
        outcome=_text("outcome", line["outcome"]),
        owner="",
        epoch=0,
        head=None,
    )
    return begun, tuple(
        Noted(0, name, number, read_moment("at", said["at"]), 0, _body(said))
        for number, said in enumerate(line["checkpoints"], start=1)
    )


def _body(said: Mapping[str, Any]) -> str:
    """Encode what a checkpoint says, each part checked."""
    return json.dumps({name: _part(name, said[name]) for name in _PARTS}, ensure_ascii=False)


def _part(name: str, value: Any) -> Any:
    if name == "kind":
        return value if value in KINDS else refuse(name, f"is not one of: {', '.join(KINDS)}")
    if name in ("files", "data"):
        return json.loads(check.check_metadata(value, check.Limits()))
    if name in ("goal", "note"):
        return _text(name, value)
    if not isinstance(value, list):
        refuse(name, "must be a list")
    return [_text(name, str(item)) for item in value]


def _text(name: str, text: object) -> str | None:
    if text is None:
        return None
    return check.storable(name, text) if isinstance(text, str) else refuse(name, "must be text")
