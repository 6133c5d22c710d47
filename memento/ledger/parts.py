"""The parts in which a long turn of a conversation, or a document, is stored.

A caller knows a turn by the id of its first part. The ids of the other parts are made of that id
and their numbers, so that they are found by it.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from uuid import UUID, uuid5

from memento.ledger import memories
from memento.ledger.contract import Transaction
from memento.ledger.rows import mapping_in

ID_SPACE = UUID("b0b1c0de-5c1a-5d0c-9a11-7e6d0c5f2a40")
"""Root of the name-based ids made here. Changing it would make every document new again."""
PART, PARTS, TURN = "part", "parts", "turn"
"""Metadata of parts: the number from 1, how many there are, and the id of the first part."""
_AT_ONCE = 512
"""Number of parts looked for at once; if none of them is stored, none is looked for further on."""


def id_of_part(first: str, number: int) -> str:
    """Return the id of a later part of a turn, by the id of the first part."""
    return str(uuid5(ID_SPACE, json.dumps([TURN, first, number])))


def later_parts(db: Transaction, ns: int, ids: Collection[str]) -> dict[int, str]:
    """Find the later parts of those of some memories that are the first part of a turn.

    Returns:
        Row ids to ids, in order of arrival.
    """
    found: dict[int, str] = {}
    for row in memories.by_ids(db, ns, ids).values():
        said = mapping_in(row.metadata)
        many = said.get(PARTS)
        last = many if said.get(PART) == 1 and isinstance(many, int) else 1
        for start in range(2, last + 1, _AT_ONCE):
            numbers = range(start, min(start + _AT_ONCE, last + 1))
            named = [id_of_part(row.id, number) for number in numbers]
            stored = memories.docids_of(db, ns, named)
            if not stored:
                break
            found |= {docid: name for name, docid in stored.items()}
    return dict(sorted(found.items()))
