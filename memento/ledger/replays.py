"""Recognise a turn of a conversation that was erased or forgotten and is given again. SQL only.

A thread is often given again from its beginning, by a checkpointer or a program that keeps it, and
what was removed would come back with it. A forgotten turn is still stored, with its earlier states.
Of an erased one, digests remain, made with a key that only this store has: of its id, which is made
of its session and its place or id there, with what it said in each of its states; without an id
also with where it stood. They reveal no words; but whoever has the whole store, and guesses all of
this, can check the guess.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple, TypeVar

from memento.base.plain import worded
from memento.ledger import namespaces
from memento.ledger.contract import Transaction
from memento.ledger.dialect import SKIP_IF_THERE, listed, one_of, one_of_numbers
from memento.ledger.memories import NOT_ERASED
from memento.ledger.rows import mapping_in
from memento.ledger.schema import SEQ_BITS
from memento.types import Status

TURN = "turn-"
"""First characters of the ids of kept turns."""
SAID = "said"
"""Metadata: digest of what the message said when it was stored, whatever the memory says now;
``""`` once the message has become so short that it says nothing of this."""
AFTER = "after"
"""Metadata of a turn without an id: digest of what was said before it in its conversation."""
RESERVED = (SAID, AFTER)
T = TypeVar("T", bound=tuple[str, ...])
_SIZE = 16
_DIGEST = re.compile(f"[0-9a-f]{{{2 * _SIZE}}}")


class Told(NamedTuple):
    """What identifies a turn besides its id: digests of what it says, and of what came before it.

    The second is None for a turn that has an id.
    """

    said: str
    after: str | None = None


class Kept(NamedTuple):
    """The stored state of a turn, with the digest of what its message said."""

    status: str
    trust: str
    said: str


class Away(NamedTuple):
    """Ids of turns that were erased or forgotten.

    ``words`` are those that said then what they say now, ``places`` those of them that also had the
    same place.
    """

    words: set[str]
    places: set[str]


def note(db: Transaction, docids: Iterable[int]) -> None:
    """Store digests of the turns among rows that are about to be deleted. Inside a transaction."""
    which = listed(docids)
    gone: list[tuple[int, tuple[str, ...]]] = []
    for docid, name, told in _states(db, which):
        ns = docid >> SEQ_BITS
        gone.append((ns, (name, told.said)))
        if told.after is not None:
            gone.append((ns, (name, told.said, told.after)))
    gone += [(docid >> SEQ_BITS, (role, words)) for docid, role, words in _nameless(db, which)]
    put(db, gone)


def put(db: Transaction, said: Sequence[tuple[int, tuple[str, ...]]]) -> None:
    """Store digests of what is erased, each with its namespace. Inside a transaction."""
    key = namespaces.make(db) if said else b""
    take_over(db, [(ns, _digest(key, *parts)) for ns, parts in said])


def all_erased(db: Transaction) -> list[tuple[int, str]]:
    """Return the digests of all erased turns of the store, each with its namespace."""
    return [(ns, turn) for ns, turn in db.execute("SELECT ns, turn FROM erased_turns").fetchall()]


def take_over(db: Transaction, gone: Sequence[tuple[int, str]]) -> None:
    """Store digests that were made with the same secret. Inside a transaction."""
    query = f"INSERT INTO erased_turns (ns, turn) VALUES (?, ?) {SKIP_IF_THERE}"
    db.executemany(query, gone)


def _states(db: Transaction, docids: str) -> Iterator[tuple[int, str, Told]]:
    """Yield row id, id and identity of each state of the turns among some rows."""
    turn = f"docid {one_of_numbers('?1')} AND id >= '{TURN}' AND id < '{TURN}~'"
    query = (
        f"SELECT docid, id, metadata, source_uri, NULL FROM memories WHERE {turn} UNION ALL"
        " SELECT docid, id, NULL, NULL, versions.earlier FROM versions JOIN memories USING (docid)"
        f" WHERE {turn}"
    )
    for docid, name, metadata, uri, spelt in db.execute(query, (docids,)).fetchall():
        earlier = mapping_in(spelt)
        said = mapping_in(earlier.get("metadata", metadata))
        brought = earlier.get("source_uri", uri) is not None  # a file chooses the ids of its turns
        if not brought and isinstance(said.get(SAID), str):
            after = said.get(AFTER)
            yield docid, name, Told(said[SAID], after if isinstance(after, str) else None)


def _nameless(db: Transaction, docids: str) -> Iterator[tuple[int, str, str]]:
    """Yield row id, role and words of each state of the turns without a session and an id."""
    nameless = (
        f"docid {one_of_numbers()} AND session IS NULL AND role IS NOT NULL AND source_uri IS NULL"
        f" AND NOT (id >= '{TURN}' AND id < '{TURN}~')"
    )
    query = (
        f"SELECT docid, role, text FROM memories WHERE {nameless}"
        f" UNION SELECT docid, memories.role, versions.text FROM versions"
        f" JOIN memories USING (docid) WHERE {nameless}"
    )
    for docid, role, text in db.execute(query, (docids, docids)).fetchall():
        yield docid, str(role), worded(str(text))


def away(db: Transaction, ns: int, turns: Mapping[str, Told]) -> Away:
    """Return which turns were erased or forgotten, given their ids and what identifies them now."""
    found = _erased(db, ns, turns)
    query = (
        f"SELECT docid, id, metadata, status FROM memories WHERE ns = ? AND id {one_of()}"
        f" AND {NOT_ERASED}"
    )
    stored = db.execute(query, (ns, listed(turns))).fetchall()
    hidden = {docid: mapping_in(said) for docid, _, said, status in stored if _is_hidden(status)}
    replaced = [docid for docid, said in hidden.items() if said.get(SAID) != ""]
    for _, name, told in _states(db, listed(replaced)) if replaced else ():
        if told.said == turns[name].said:
            found.words.add(name)
            if told.after is not None and told.after == turns[name].after:
                found.places.add(name)
    edited = {docid: name for docid, name, *_ in stored if docid not in hidden}
    for docid, said in _hidden_last(db, edited):
        if turns[edited[docid]].said == said:
            found.words.add(edited[docid])
    return found


def _is_hidden(status: str) -> bool:
    return status == Status.FORGOTTEN.value


def _hidden_last(db: Transaction, docids: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Yield row id and digest of what turns said when they were hidden, and did not say since."""
    query = (
        f"SELECT docid, status, earlier FROM versions WHERE docid {one_of_numbers()} AND docid IN"
        f" (SELECT docid FROM versions WHERE docid {one_of_numbers()}"
        " AND status = ?) ORDER BY docid, rev"
    )
    which = listed(docids)
    last: dict[tuple[int, str], str] = {}
    for docid, status, spelt in db.execute(query, (which, which, Status.FORGOTTEN.value)):
        last[docid, str(mapping_in(mapping_in(spelt).get("metadata")).get(SAID))] = status
    return (one for one, status in last.items() if _is_hidden(status))


def erased(db: Transaction, ns: int, turns: Mapping[str, str]) -> set[str]:
    """Return the ids of erased turns; ``turns`` maps ids to the digests of what they say."""
    return _erased(db, ns, {name: Told(said) for name, said in turns.items()}).words


def _erased(db: Transaction, ns: int, turns: Mapping[str, Told]) -> Away:
    words = noted(db, ns, [(name, told.said) for name, told in turns.items()])
    stood = [
        (name, told.said, told.after) for name, told in turns.items() if told.after is not None
    ]
    return Away({name for name, *_ in words}, {name for name, *_ in noted(db, ns, stood)})


def nameless_gone(
    db: Transaction, ns: int, turns: Collection[tuple[str, str]]
) -> set[tuple[str, str]]:
    """Return which turns (role, words) without session and id were erased or forgotten."""
    query = (
        f"SELECT docid FROM memories WHERE ns = ? AND status = '{Status.FORGOTTEN.value}'"
        f" AND session IS NULL AND role IS NOT NULL AND {NOT_ERASED}"
    )
    hidden = listed([docid for (docid,) in db.execute(query, (ns,))])
    forgotten = {(role, words) for _, role, words in _nameless(db, hidden)}
    return forgotten.intersection(turns) | {*noted(db, ns, turns)}


def noted(db: Transaction, ns: int, asked: Iterable[T]) -> list[T]:
    """Return those of ``asked`` whose digests are among those of what was erased."""
    key = namespaces.read(db)
    if key is None:
        return []
    digests = {_digest(key, *parts): parts for parts in asked}
    query = f"SELECT turn FROM erased_turns WHERE ns = ? AND turn {one_of()}"
    return [digests[turn] for (turn,) in db.execute(query, (ns, listed(digests)))]


def kept(db: Transaction, ns: int, ids: Iterable[str]) -> dict[str, Kept]:
    """Return the stored state of some turns, by id; those that are not stored are left out."""
    query = (
        "SELECT id, status, trust, metadata FROM memories"
        f" WHERE ns = ? AND id {one_of()} AND source_uri IS NULL AND {NOT_ERASED}"
    )
    return {
        name: Kept(status, trust, str(mapping_in(metadata).get(SAID, "")))
        for name, status, trust, metadata in db.execute(query, (ns, listed(ids)))
    }


def is_digest(text: str) -> bool:
    """Return whether a text may be the digest of a turn."""
    return _DIGEST.fullmatch(text) is not None


def _digest(key: bytes, *parts: str) -> str:
    return blake2b(repr(parts).encode(), key=key, digest_size=_SIZE).hexdigest()
