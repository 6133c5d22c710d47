"""Digests by which an erased turn of a conversation is known when it is given again. SQL only.

A thread is often given again from its beginning, by a checkpointer or a program that keeps it. An
erased turn would come back with it. So a digest of the turn stays, made with a key that only this
store has: of its id, which is made of its session and its place or id there, and of what it said.
It tells no words; but who has the whole store, and guesses all of this, can check the guess.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import NamedTuple

from memento.ledger import secret
from memento.ledger.contract import Session
from memento.ledger.dialect import SKIP_IF_THERE, one_of
from memento.ledger.memories import NOT_ERASED
from memento.ledger.rows import mapping_in
from memento.ledger.schema import SEQ_BITS

TURN = "turn-"
"""First characters of the ids of kept turns."""
SAID = "said"
"""Metadata: digest of what the message said when it was kept, whatever the memory says by now."""
_SIZE = 16
_DIGEST = re.compile(f"[0-9a-f]{{{2 * _SIZE}}}")


class Kept(NamedTuple):
    """The stored state of a turn.

    Attributes:
        status: Its status.
        trust: How far its source is trusted.
        said: Digest of what its message said.
    """

    status: str
    trust: str
    said: str


def note(db: Session, docids: Iterable[int]) -> None:
    """Note the turns among some rows that are about to be deleted. Inside a transaction."""
    found = db.execute(
        f"SELECT docid, id, metadata FROM memories WHERE docid {one_of()}"
        " AND id >= ? AND id < ? AND source_uri IS NULL",
        (json.dumps([*docids]), TURN, f"{TURN}~"),
    ).fetchall()
    said = [(docid, name, mapping_in(metadata).get(SAID)) for docid, name, metadata in found]
    turns = [(docid >> SEQ_BITS, name, one) for docid, name, one in said if isinstance(one, str)]
    key = secret.make(db) if turns else b""
    for ns, name, one in turns:
        db.execute(
            f"INSERT INTO erased_turns (ns, turn) VALUES (?, ?) {SKIP_IF_THERE}",
            (ns, _digest(key, name, one)),
        )


def erased(db: Session, ns: int, turns: Mapping[str, str]) -> set[str]:
    """Return the ids of turns that were erased, of ids to the digests of what they say."""
    key = secret.read(db)
    if key is None or not turns:
        return set()
    digests = {_digest(key, name, said): name for name, said in turns.items()}
    query = f"SELECT turn FROM erased_turns WHERE ns = ? AND turn {one_of()}"
    return {digests[turn] for (turn,) in db.execute(query, (ns, json.dumps([*digests])))}


def kept(db: Session, ns: int, ids: Iterable[str]) -> dict[str, Kept]:
    """Return what is stored of some turns, by id; those that are not stored are left out."""
    query = (
        "SELECT id, status, trust, metadata FROM memories"
        f" WHERE ns = ? AND id {one_of()} AND source_uri IS NULL AND {NOT_ERASED}"
    )
    return {
        name: Kept(status, trust, str(mapping_in(metadata).get(SAID, "")))
        for name, status, trust, metadata in db.execute(query, (ns, json.dumps([*ids])))
    }


def is_digest(text: str) -> bool:
    """Tell whether a text may be the digest of a turn."""
    return _DIGEST.fullmatch(text) is not None


def _digest(key: bytes, name: str, said: str) -> str:
    return blake2b(repr((name, said)).encode(), key=key, digest_size=_SIZE).hexdigest()
