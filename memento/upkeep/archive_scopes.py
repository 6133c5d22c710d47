"""Encode scopes and shares as lines of an export, and read them again.

The changes by which a merge moved memories belong to the store that they come from: they are not in
the file. So a merge that was imported is known, but ``unmerge`` finds nothing to move back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memento import check
from memento.admit.draft import to_json
from memento.ledger.scopes import Place, Share, names_of
from memento.scopes import contains, parse_namespace, parse_scope
from memento.upkeep.archive_fields import read_moment, refuse, spelt_moment


def spelt_scope(one: Place) -> dict[str, Any]:
    """Encode a scope."""
    return {
        "path": one.path,
        "title": one.title,
        "aliases": list(names_of(one)),
        "created_at": spelt_moment(one.created_at),
        "merged_at": None if one.merged_at is None else spelt_moment(one.merged_at),
        "merged_into": one.merged_into,
    }


def read_scope(line: Mapping[str, Any]) -> Place:
    """Make a scope of a line; its namespace is given later.

    Raises:
        InvalidInput: If a value cannot be accepted.
    """
    path, title, into = line["path"], line["title"], line["merged_into"]
    merged_at = line["merged_at"]
    if not isinstance(title, str) or (into is None) != (merged_at is None):
        refuse("scope", "has no title, or is merged at no moment or into nothing")
    path, into = _path("path", path), None if into is None else parse_scope(into, "merged_into")
    if into is not None and contains(path, into):
        refuse("merged_into", "is the scope itself or inside it")
    return Place(
        ns=0,
        path=path,
        title=check.short_name("title", title) if title else "",
        aliases=to_json([*check.names("aliases", line["aliases"])]),
        created_at=read_moment("created_at", line["created_at"]),
        merged_at=None if merged_at is None else read_moment("merged_at", merged_at),
        merged_into=into,
        merges=json.dumps([]),
    )


def spelt_share(one: Share, labels: tuple[str, ...]) -> dict[str, Any]:
    """Encode a share.

    Args:
        one: The share.
        labels: Labels of the namespace that sees it.
    """
    return {"scope": one.scope, "with": list(labels), "since": spelt_moment(one.since)}


def read_share(line: Mapping[str, Any]) -> tuple[Share, tuple[str, ...]]:
    """Make a share of a line, and the labels of who sees it; the numbers are given later.

    Raises:
        InvalidInput: If a value cannot be accepted.
    """
    share = Share(0, parse_scope(line["scope"]), 0, read_moment("since", line["since"]))
    return share, parse_namespace(line["with"])


def _path(field: str, path: Any) -> str:
    found = parse_scope(path, field)
    return found or refuse(field, "is everywhere")
