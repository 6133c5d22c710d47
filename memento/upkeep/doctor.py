"""Find damage, report it, and repair derived data. The memories are never changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from memento.base.files import explain_os, is_draft_of, unfinished
from memento.base.lazy import later
from memento.check import MOST_NAMED
from memento.claims.settings import Conflicts
from memento.dynamics.association import Association
from memento.dynamics.settings import Dynamics
from memento.errors import (
    EmbedderError,
    InvalidInput,
    MissingExtra,
    StoreClosed,
    StoreError,
    StoreGone,
)
from memento.ledger import (
    checks,
    claim_rows,
    co_use,
    namespaces,
    scope_rows,
    session_rows,
    strength_fold,
    vectors,
)
from memento.ledger.checks import Sees, Whose
from memento.ledger.contract import Ledger
from memento.tiers import folder
from memento.types import Finding

if TYPE_CHECKING:
    from memento.write import settling
else:
    settling = later("memento.write.settling")

_QUEUED = 256
"""Memories put on the backlog in one transaction, during which an ``add`` waits."""

_FOLDED = 100
"""Rows of ``dynamics`` that are folded again to be compared."""
_READ = 100
"""Memories of each namespace whose statements are read again to be compared."""

STALE = "stale, a later state of them was written and the disk lost it"
NEWER = "indexed with a text that they never had: perhaps they are stale, and that was their latest"
AGAIN = "restore a backup, or `memento salvage` and add them again"
SALVAGE = "`memento salvage` makes a new ledger of all intact memories"


def examine(
    ledger: Ledger,
    *,
    sees: Sees = checks.everyone,
    repair: bool,
    embedding: bool,
    settings: Dynamics,
    association: Association,
    rules: Conflicts,
    trouble: dict[str, str],
) -> list[Finding]:
    """Check everything in the store.

    Args:
        ledger: The store.
        sees: Namespaces whose damaged memories are named; those of others are only counted.
        repair: Whether to repair derived data: full text, backlog, stray rows.
        embedding: Whether an embedder is in use, so that every memory needs a vector.
        settings: With which the events are folded.
        association: With which they are folded onto the links between memories.
        rules: With which statements are read.
        trouble: Problems of the indexer: stage to reason.

    Returns:
        One finding per check, in a fixed order.
    """
    if gone := _gone(ledger):
        return [_library(ledger), gone]  # nothing else can be checked if the store is missing
    repair = repair and not ledger.read_only
    checks_of = {
        "ledger": lambda: _structure(ledger),
        "memories": lambda: _contents(ledger, sees),
        "namespaces": lambda: _owners(ledger),
        "history": lambda: _history(ledger, sees),
        "links and events": lambda: _marks(ledger),
        "changes": lambda: _changes(ledger),
        "sessions": lambda: _sessions(ledger),
        "scopes": lambda: _scopes(ledger),
        "full text": lambda: _fulltext(ledger, sees, repair=repair),
        "derived rows": lambda: _strays(ledger, repair=repair),
        "dynamics": lambda: _dynamics(ledger, settings, association, repair=repair),
        "claims": lambda: _claims(ledger, rules, repair=repair),
    }
    if embedding:
        checks_of["vectors"] = lambda: _vectors(ledger, repair=repair)
    return [
        _library(ledger),
        *(_found(check, look) for check, look in checks_of.items()),
        *_reserve(ledger),
        *_locks(ledger),
        *_left_alone(ledger),
        *_beside(ledger),
        *(Finding(stage, ok=False, detail=why) for stage, why in sorted(trouble.items())),
    ]


def stale_vectors(model: Callable[[], object]) -> list[Finding]:
    """Check whether the stored vectors are from the embedder in use.

    Args:
        model: Returns the number of its vectors; raises if they are from another embedder.

    Returns:
        One finding if they are not, else none.
    """
    try:
        model()
    except (EmbedderError, InvalidInput, MissingExtra) as error:
        return [Finding("embedder", ok=False, detail=str(error))]
    return []


def _gone(ledger: Ledger) -> Finding | None:
    try:
        ledger.check_present()
    except StoreGone as error:
        return Finding("store", ok=False, detail=str(error))
    return None


def _found(check: str, look: Callable[[], Finding]) -> Finding:
    """Run a check, and report damage that prevents the check."""
    try:
        return look()
    except StoreClosed:
        raise
    except StoreError as error:
        return Finding(check, ok=False, detail=str(error))


def _library(ledger: Ledger) -> Finding:
    name, said = ledger.library
    return Finding(name, ok=True, detail=said)


def _reserve(ledger: Ledger) -> list[Finding]:
    if ledger.read_only or not ledger.reserve_trouble:
        return []
    return [Finding("reserve", ok=False, detail=ledger.reserve_trouble)]


def _locks(ledger: Ledger) -> list[Finding]:
    if not ledger.locks_lost:
        return []
    detail = (
        "something else in this process closed ledger.db and so dropped the locks on it, such as"
        " sqlite3.connect, open() or a copy; close this memory and open it again"
    )
    return [Finding("locks", ok=True, detail=detail)]  # the store is sound, as long as nobody acts


def _left_alone(ledger: Ledger) -> list[Finding]:
    """Name the files that have a name of the store's without proof; they are never deleted."""
    try:
        left = folder.left_alone(ledger.root)
    except OSError as error:
        return [Finding("other files", ok=False, detail=str(explain_os(ledger.root, error)))]
    if not left:
        return []
    detail = (
        f"{', '.join(left)}: not proven to be this store's, so neither changed nor deleted, not by"
        " erase either; move what is yours elsewhere, and delete the rest yourself"
    )
    return [Finding("other files", ok=False, detail=detail)]


def _beside(ledger: Ledger) -> list[Finding]:
    """Name what a restore that was killed left beside the store, under a hidden name."""
    root = ledger.root.resolve()
    try:
        left = [path.name for path in unfinished(root.parent) if is_draft_of(path.name, root.name)]
    except OSError:  # of the folder around it we may know nothing
        return []
    if not left:
        return []
    detail = (
        f"{', '.join(left)}: beside the store, left by a restore that was killed, unless one is"
        " running; the next restore removes it if nothing but its own is in it"
    )
    return [Finding("beside the store", ok=True, detail=detail)]  # this store is sound


def _structure(ledger: Ledger) -> Finding:
    problems = ledger.quick_check()
    if problems:
        return Finding("ledger", ok=False, detail="; ".join([*problems, SALVAGE]))
    return Finding("ledger", ok=True, detail="the file is sound")


def _contents(ledger: Ledger, sees: Sees) -> Finding:
    changed = ledger.read(checks.changed_rows)
    if changed:
        return Finding("memories", ok=False, detail=f"{_named(ledger, changed, sees)}; {SALVAGE}")
    stale = ledger.read(checks.stale_rows)
    if stale:
        return Finding(
            "memories", ok=False, detail=f"{_named(ledger, stale, sees, STALE)}; {AGAIN}"
        )
    return Finding("memories", ok=True, detail="every memory matches its checksum")


def _owners(ledger: Ledger) -> Finding:
    problems = ledger.read(namespaces.wrong)
    if problems:
        return Finding("namespaces", ok=False, detail="; ".join([*problems[:MOST_NAMED], SALVAGE]))
    return Finding("namespaces", ok=True, detail="every label matches its checksum")


def _history(ledger: Ledger, sees: Sees) -> Finding:
    changed = ledger.read(checks.changed_versions)
    if changed:
        return Finding(
            "history", ok=False, detail=f"earlier states of {_named(ledger, changed, sees)}"
        )
    return Finding("history", ok=True, detail="every earlier state matches its checksum")


def _marks(ledger: Ledger) -> Finding:
    links, events = ledger.read(checks.changed_links), ledger.read(checks.changed_events)
    if links or events:
        changed = f"{links} links and {events} events changed outside memento; {SALVAGE}"
        return Finding("links and events", ok=False, detail=changed)
    return Finding("links and events", ok=True, detail="each matches its checksum")


def _named(
    ledger: Ledger, changed: Sequence[Whose], sees: Sees, what: str = "changed outside memento"
) -> str:
    named, others = checks.split(changed, sees)
    shown = [str(memory_id) for _, memory_id in named[:MOST_NAMED]]
    if sees is checks.everyone:
        shown = [f"{_labels(ledger, ns)}: {memory_id}" for ns, memory_id in named[:MOST_NAMED]]
    if len(named) > MOST_NAMED:
        shown.append("...")
    if others:
        shown.append(f"and {others} of other namespaces" if named else "of other namespaces")
    return f"{len(changed)} {what}: {', '.join(shown)}"


def _labels(ledger: Ledger, ns: int) -> str:
    try:
        return "/".join(ledger.labels(ns))
    except StoreError:  # the labels are damaged also, which has its own finding
        return f"namespace {ns}"


def _changes(ledger: Ledger) -> Finding:
    if changed := ledger.read(checks.changed_changes):
        detail = f"{changed} changes were changed outside memento, and cannot be undone"
        return Finding("changes", ok=False, detail=detail)
    return Finding("changes", ok=True, detail="each matches its checksum")


def _scopes(ledger: Ledger) -> Finding:
    named, shares = ledger.read(scope_rows.changed)
    if named or shares:
        what = f"{named} scopes and {shares} shares were changed outside memento"
        return Finding("scopes", ok=False, detail=f"{what}; no answer heeds them")
    return Finding("scopes", ok=True, detail="each matches its checksum")


def _sessions(ledger: Ledger) -> Finding:
    begun, noted = ledger.read(session_rows.changed)
    if begun or noted:
        what = f"{begun} sessions and {noted} checkpoints were changed outside memento"
        return Finding("sessions", ok=False, detail=f"{what}; no answer has them")
    return Finding("sessions", ok=True, detail="each matches its checksum")


def _fulltext(ledger: Ledger, sees: Sees, *, repair: bool) -> Finding:
    wrong, newer = ledger.read(checks.unindexed_rows)
    sound = ledger.words_intact()
    if sound and not wrong:
        return Finding("full text", ok=True, detail="agrees with the memories")
    stale = ledger.read(checks.stale_rows)
    if (stale or newer) and sound:  # an index that is at odds with itself tells nothing of rows
        detail = f"{wrong} memories are indexed wrongly"
        if newer and not stale:
            detail = f"{_named(ledger, newer, sees, NEWER)}; compare them with a backup"
        return Finding("full text", ok=False, detail=f"{detail}; the index is left as it is")
    detail = f"{wrong} memories are indexed wrongly" if wrong else "the index is damaged"

    def rebuild() -> int:
        return ledger.write(lambda c: c.words.rebuild())

    return _mend("full text", detail, rebuild, repair=repair)


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


def _dynamics(
    ledger: Ledger, settings: Dynamics, association: Association, *, repair: bool
) -> Finding:
    agent, spaces = settings.agent, [ns for ns, _ in ledger.read(namespaces.every)]
    differing = ledger.read(lambda c: strength_fold.differing(c, settings, _FOLDED))
    linked = ledger.read(
        lambda c: sum(co_use.differing(c, ns, association, agent) for ns in spaces)
    )
    if not differing and not linked:
        return Finding("dynamics", ok=True, detail="agree with the events")

    def fold_again() -> None:
        ledger.write(strength_fold.drop_rows)
        ledger.write(co_use.forget_all)
        while ledger.write(lambda c: strength_fold.catch_up(c, settings)):
            pass
        while ledger.write(lambda c: co_use.catch_up(c, association, agent)):
            pass

    detail = f"{len(differing)} of {_FOLDED} rows or fewer are not what their events add up to"
    if linked:
        detail = f"{detail}, and the links of {linked} memories are not"
    return _mend("dynamics", detail, fold_again, repair=repair)


def _claims(ledger: Ledger, rules: Conflicts, *, repair: bool) -> Finding:
    """Read the newest statements of each namespace again, and compare their numbers."""
    spaces = [ns for ns, _ in ledger.read(namespaces.every)]
    wrong = ledger.read(lambda c: sum(settling.misread(c, ns, rules, _READ) for ns in spaces))
    if not wrong:
        return Finding("claims", ok=True, detail="agree with the statements")

    def read_again() -> None:
        ledger.write(claim_rows.drop_all)
        for ns in spaces:
            _read_again(ledger, ns, rules)

    detail = f"the numbers of {wrong} memories are not those of what they say"
    return _mend("claims", detail, read_again, repair=repair)


def _read_again(ledger: Ledger, ns: int, rules: Conflicts) -> None:
    """Store the numbers of all statements that were compared, a few in each transaction."""
    before: int | None = ledger.read(lambda c: settling.compared_up_to(c, ns))
    while before is not None:
        before = ledger.write(
            lambda c, before=before: settling.read_again(c, ns, rules, before, _QUEUED)  # type: ignore[misc]
        )


def _vectors(ledger: Ledger, *, repair: bool) -> Finding:
    unowed = ledger.read(checks.unowed_rows)
    if unowed:
        return _mend(
            "vectors",
            f"{len(unowed)} memories have no vector and are not queued",
            lambda: _owe(ledger, unowed),
            repair=repair,
        )
    owed = ledger.read(vectors.backlog_size)
    waiting = sum(count for op, count in owed.items() if op != "embed")
    detail = f"{owed.get('embed', 0)} still to be embedded, {waiting} on their way into Chroma"
    return Finding("vectors", ok=True, detail=detail)


def _owe(ledger: Ledger, docids: Sequence[int]) -> None:
    """Queue memories in steps, so that no other writer waits for long."""
    for start in range(0, len(docids), _QUEUED):
        part = docids[start : start + _QUEUED]
        ledger.write(lambda c, part=part: checks.owe(c, part))  # type: ignore[misc]


def _mend(check: str, detail: str, cure: Callable[[], object], *, repair: bool) -> Finding:
    if not repair:
        return Finding(check, ok=False, detail=detail)
    cure()
    return Finding(check, ok=True, detail=f"{detail}; mended", repaired=True)
