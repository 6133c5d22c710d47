"""Recognise what was removed from memory when its source is read again.

A file or a chat that is read again brings back what somebody forgot, erased, corrected or reworded,
often in another shape: under another heading, or in one part with its neighbour. So it is
recognised by its sentences. What was forgotten or changed is still stored. Of what was erased,
digests remain, as of turns (see ``replays``): of the name of its source or session with each
sentence.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import pairwise, product, takewhile
from typing import NamedTuple

from memento.base.plain import composed, worded
from memento.ledger import changes, memories, past, replays, rows
from memento.ledger.contract import Transaction
from memento.ledger.dialect import listed, one_of, one_of_numbers
from memento.ledger.rows import Row
from memento.ledger.schema import SEQ_BITS
from memento.status import having
from memento.types import Draft, Source, Status

_OF_ITSELF = frozenset({"add_document", "sweep", "undo"})
"""Verbs that hide a part of a document without anybody asking for it."""
_BY_HAND = frozenset({"update", "correct", "move", "promote"})
"""Verbs by which somebody changes a memory: it stays as they left it."""
_COPY = "copy"
"""First word of the digests made here."""
_END = re.compile(
    r"[.!?…][\"')\]]*\s+|[。！？]|\n\s*\n"  # noqa: RUF001 - full-width marks are meant
    r"|(?<![^\n]{40})\n|\n(?=\s*(?:[-*+#|>]|\d+[.)]\s))"
)
"""Ends of sentences; the end of a line of 40 characters or more is none, since lines may be
rewrapped."""
_TELLING = 12
"""Minimum number of characters of a sentence that is removed by itself; a shorter one is removed
only together with all others."""


class Left(NamedTuple):
    """What is left of a text that is read again, and the memories that explain what is missing.

    ``text`` is ``""`` if nothing is left. The memories were hidden, or say something else now.
    """

    text: str
    rows: tuple[Row, ...] = ()


def sentences(text: str) -> list[tuple[str, str]]:
    r"""Split a text into sentences: each verbatim, with its end, and as its words.

    A heading has no words, unless the text has nothing else.

    >>> sentences("# Pay\n\nIt is 4,000. Ask Ines.")
    [('# Pay\n\n', ''), ('It is 4,000. ', 'It is 4,000.'), ('Ask Ines.', 'Ask Ines.')]
    """
    ends = [0, *(found.end() for found in _END.finditer(text)), len(text)]
    cut = [text[start:end] for start, end in pairwise(ends) if start < end]
    said = ["" if one.lstrip().startswith("#") else worded(one) for one in cut]
    if not any(said):
        said = [worded(one.lstrip(" #")) for one in cut]
    return list(zip(cut, said, strict=True))


def note(db: Transaction, docids: Iterable[int]) -> None:
    """Store digests of the sentences of rows that are about to be deleted. Inside a transaction."""
    of_source = f"docid {one_of_numbers('?1')} AND coalesce(source_uri, session) IS NOT NULL"
    query = (
        f"SELECT docid, source_uri, session, text FROM memories WHERE {of_source} UNION"
        " SELECT docid, source_uri, session, versions.text FROM versions"
        f" JOIN memories USING (docid) WHERE {of_source}"
    )
    said = [
        (docid >> SEQ_BITS, (_COPY, name, words))
        for docid, uri, session, text in db.execute(query, (listed(docids),)).fetchall()
        for name in _named(uri, session)
        for words in _words(text)
    ]
    replays.put(db, said)


def taken_out(db: Transaction, ns: int, drafts: Iterable[Draft]) -> dict[str, Left]:
    """Find the drafts of which a part was removed before, and what is left of each, by id.

    Left out are drafts that name no source, as they are said anew, and those whose id exists.
    """
    copied: dict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
    for one in drafts:
        if (uri := source_of(one)) is not None and isinstance(one.id, str):
            copied[_named(uri, one.session)][one.id] = one.text
    known = memories.by_ids(db, ns, [name for texts in copied.values() for name in texts])
    found: dict[str, Left] = {}
    for names, texts in copied.items():
        found |= left(db, ns, names, {name: texts[name] for name in texts.keys() - known.keys()})
    return found


def source_of(draft: Draft) -> str | None:
    """Return what a draft was copied from; None if it is said anew."""
    return draft.source.uri if isinstance(draft.source, Source) else None


def left(
    db: Transaction, ns: int, names: Iterable[str | None], texts: Mapping[str, str]
) -> dict[str, Left]:
    """Find what was removed of a source and is not said by any current memory of it.

    Args:
        db: The store.
        ns: The namespace.
        names: Names of the source and its session.
        texts: The texts that are read again, by id.

    Returns:
        What is left of the texts of which something was removed, by id.
    """
    asked = frozenset().union(*map(_words, texts.values()))
    if not asked:
        return {}
    called = _named(*names)
    out = {words for *_, words in replays.noted(db, ns, product([_COPY], called, asked))}
    hidden = [
        (row, words)
        for row, former in _changed(db, ns, called)
        if (words := former & asked) and by_somebody(db, row)
    ]
    out.update(*(words for _, words in hidden))
    if out:
        current = _of_source(db, ns, called, f"status {one_of()}", listed(having("current")))
        out.difference_update(*(_words(row.text) for row in current))
    found = {}
    for name, text in texts.items():
        if out and (rest := _without(text, out)) != text:
            gone = _words(text) & out
            found[name] = Left(rest, tuple(row for row, words in hidden if words & gone))
    return found


def _without(text: str, out: Collection[str]) -> str:
    """Remove sentences from a text; short ones only together with all others."""
    cut = sentences(text)
    if all(words in out for _, words in cut if words):
        return ""
    kept = [one for one, words in cut if words not in out or len(words) < _TELLING]
    return text if len(kept) == len(cut) else "".join(kept).strip()


def by_somebody(db: Transaction, row: Row) -> bool:
    """Return whether a memory was hidden or changed by a call that asked for just that."""
    verbs = _verbs(db, row)
    if row.status == Status.FORGOTTEN:
        return next(verbs, None) not in _OF_ITSELF
    return not _BY_HAND.isdisjoint(takewhile(lambda verb: verb != "add_document", verbs))


def _verbs(db: Transaction, row: Row) -> Iterator[str | None]:
    """Yield the verbs that changed a memory, the last first; None where it is unknown."""
    for _, number, _ in reversed(past.numbered(db, row.docid)):
        change = None if number is None else changes.find(db, row.ns, number)
        yield None if change is None else change.kind


def _named(*names: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(composed(name) for name in names if name is not None))


def _words(text: object) -> frozenset[str]:
    return frozenset(words for _, words in sentences(str(text)) if words)


def _of_source(
    db: Transaction, ns: int, names: Collection[str], condition: str, *values: object
) -> list[Row]:
    """Read the memories of a source or a session that meet a condition."""
    where = f"{one_of()} AND {condition} AND {memories.NOT_ERASED}"
    found = (
        row
        for place in ("source_uri", "session")
        for row in rows.select(db, f"ns = ? AND {place} {where}", (ns, listed(names), *values))
    )
    return list({row.docid: row for row in found}.values())


def _changed(
    db: Transaction, ns: int, names: Collection[str]
) -> Iterator[tuple[Row, frozenset[str]]]:
    """Yield the memories of a source that were changed or hidden, with what they no longer say."""
    condition = f"(version > 1 OR NOT status {one_of()})"
    there = _of_source(db, ns, names, condition, listed(having("current")))
    changed = {row.docid: row for row in there}
    before: dict[int, frozenset[str]] = defaultdict(frozenset)
    query = f"SELECT docid, text FROM versions WHERE docid {one_of_numbers()}"
    for docid, text in db.execute(query, (listed(changed),)):
        before[docid] |= _words(text)
    for docid, row in changed.items():
        shown = row.status in having("current")
        yield row, before[docid] - _words(row.text) if shown else before[docid] | _words(row.text)
