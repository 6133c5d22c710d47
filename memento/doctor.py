"""Find damage, name it, and mend what is derived. The memories themselves are never changed."""

from __future__ import annotations

from collections.abc import Callable

from memento.errors import StoreClosed, StoreError
from memento.ledger import checks, fulltext, namespaces, vectors
from memento.ledger.ledger import Ledger
from memento.ledger.sqlite import SAFE_VERSION, library_version
from memento.types import Finding

SHOWN = 5
"""Most ids named in one finding."""

SALVAGE = "`memento salvage` makes a new ledger of what is whole"


def examine(
    ledger: Ledger, *, repair: bool, embedding: bool, trouble: dict[str, str]
) -> list[Finding]:
    """Look at everything in the store.

    Args:
        ledger: The store.
        repair: Whether to mend what is derived: full text, backlog, stray rows.
        embedding: Whether an embedder is in use, so that vectors are owed.
        trouble: What the indexer complains of, by stage.

    Returns:
        One finding for each check, in a fixed order.
    """
    repair = repair and not ledger.read_only
    checks_of = {
        "ledger": lambda: _structure(ledger),
        "memories": lambda: _contents(ledger),
        "namespaces": lambda: _owners(ledger),
        "history": lambda: _history(ledger),
        "links and events": lambda: _marks(ledger),
        "full text": lambda: _fulltext(ledger, repair=repair),
        "derived rows": lambda: _strays(ledger, repair=repair),
    }
    if embedding:
        checks_of["vectors"] = lambda: _vectors(ledger, repair=repair)
    return [
        _library(),
        *(_found(check, look) for check, look in checks_of.items()),
        *_reserve(ledger),
        *(Finding(stage, ok=False, detail=why) for stage, why in sorted(trouble.items())),
    ]


def _found(check: str, look: Callable[[], Finding]) -> Finding:
    """Look, and report damage that stands in the way of looking."""
    try:
        return look()
    except StoreClosed:
        raise
    except StoreError as error:
        return Finding(check, ok=False, detail=str(error))


def _library() -> Finding:
    version = library_version()
    name = ".".join(map(str, version))
    if version >= SAFE_VERSION:
        return Finding("sqlite", ok=True, detail=f"SQLite {name}")
    return Finding(
        "sqlite",
        ok=True,
        detail=f"SQLite {name} can lose a race between several processes;"
        " `pip install pysqlite3` brings a newer one",
    )


def _reserve(ledger: Ledger) -> list[Finding]:
    if ledger.read_only or ledger.reserve_kept:
        return []
    return [Finding("reserve", ok=False, detail="the disk is nearly full: no room is kept aside")]


def _structure(ledger: Ledger) -> Finding:
    problems = ledger.read(checks.quick_check)
    if problems:
        return Finding("ledger", ok=False, detail="; ".join([*problems, SALVAGE]))
    return Finding("ledger", ok=True, detail="the file is sound")


def _contents(ledger: Ledger) -> Finding:
    changed = ledger.read(checks.changed_rows)
    if changed:
        return Finding("memories", ok=False, detail=f"{_named(changed)}; {SALVAGE}")
    return Finding("memories", ok=True, detail="every memory matches its checksum")


def _owners(ledger: Ledger) -> Finding:
    problems = ledger.read(namespaces.wrong)
    if problems:
        return Finding("namespaces", ok=False, detail="; ".join([*problems[:SHOWN], SALVAGE]))
    return Finding("namespaces", ok=True, detail="every label matches its checksum")


def _history(ledger: Ledger) -> Finding:
    changed = ledger.read(checks.changed_versions)
    if changed:
        return Finding("history", ok=False, detail=f"earlier states of {_named(changed)}")
    return Finding("history", ok=True, detail="every earlier state matches its checksum")


def _marks(ledger: Ledger) -> Finding:
    links, events = ledger.read(checks.changed_links), ledger.read(checks.changed_events)
    if links or events:
        changed = f"{links} links and {events} events changed outside memento; {SALVAGE}"
        return Finding("links and events", ok=False, detail=changed)
    return Finding("links and events", ok=True, detail="each matches its checksum")


def _named(ids: list[str]) -> str:
    shown = ", ".join(map(str, ids[:SHOWN])) + (" ..." if len(ids) > SHOWN else "")
    return f"{len(ids)} changed outside memento: {shown}"


def _fulltext(ledger: Ledger, *, repair: bool) -> Finding:
    wrong = ledger.read(checks.unindexed_rows)
    sound = ledger.read_only or ledger.write(fulltext.intact)
    if sound and not wrong:
        return Finding("full text", ok=True, detail="agrees with the memories")
    detail = f"{wrong} memories are indexed wrongly" if wrong else "the index is damaged"
    return _mend("full text", detail, lambda: ledger.write(checks.rebuild_fulltext), repair=repair)


def _strays(ledger: Ledger, *, repair: bool) -> Finding:
    strays = {table: count for table, count in ledger.read(checks.stray_rows).items() if count}
    if not strays:
        return Finding("derived rows", ok=True, detail="none without its memory")
    detail = ", ".join(f"{count} in {table}" for table, count in sorted(strays.items()))
    return _mend(
        "derived rows",
        f"without their memory: {detail}",
        lambda: ledger.write(checks.drop_strays),
        repair=repair,
    )


def _vectors(ledger: Ledger, *, repair: bool) -> Finding:
    unowed = ledger.read(checks.unowed_rows)
    if unowed:
        return _mend(
            "vectors",
            f"{unowed} memories have no vector and none is owed",
            lambda: ledger.write(checks.owe_missing),
            repair=repair,
        )
    owed = ledger.read(vectors.backlog_size)
    waiting = sum(count for op, count in owed.items() if op != "embed")
    detail = f"{owed.get('embed', 0)} still to be embedded, {waiting} on their way into Chroma"
    return Finding("vectors", ok=True, detail=detail)


def _mend(check: str, detail: str, cure: Callable[[], object], *, repair: bool) -> Finding:
    if not repair:
        return Finding(check, ok=False, detail=detail)
    cure()
    return Finding(check, ok=True, detail=f"{detail}; mended", repaired=True)
