"""Find damage, report it, and repair derived data. The memories are never changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

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
    changes,
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
from memento.ledger.contract import Ledger, Transaction
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

STALE = "stale: a later state was written, but the disk lost it"
NEWER = (
    "indexed with a text that they never had; they may be stale, and it may be their latest text"
)
AGAIN = "restore a backup, or `memento doctor --salvage` and add them again"
SALVAGE = "`memento doctor --salvage` makes a new ledger of all intact memories"


class Damage(NamedTuple):
    """A problem that a check found, and what repairs it, if anything does."""

    detail: str
    cure: Callable[[], object] | None = None


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
    """Check everything in the store; returns one finding per check, in a fixed order.

    Args:
        ledger: The store.
        sees: Namespaces whose damaged memories are named; those of others are only counted.
        repair: Whether to repair derived data: full text, backlog, stray rows.
        embedding: Whether an embedder is in use, so that every memory needs a vector.
        settings: For folding the events.
        association: For folding them onto the links between memories.
        rules: For reading statements.
        trouble: Problems of the indexer: stage to reason.
    """
    name, said = ledger.library
    library = Finding(name, ok=True, detail=said)
    try:
        ledger.check_present()
    except StoreGone as error:  # nothing else can be checked if the store is missing
        return [library, Finding("store", ok=False, detail=str(error))]
    looks: dict[str, Callable[[], str | Damage]] = {
        "ledger": lambda: _structure(ledger),
        "memories": lambda: _contents(ledger, sees),
        "namespaces": lambda: _owners(ledger),
        "history": lambda: _history(ledger, sees),
        **{check: partial(_counted, ledger, *how) for check, how in _COUNTED.items()},
        "full text": lambda: _fulltext(ledger, sees),
        "derived rows": lambda: _strays(ledger),
        "dynamics": lambda: _dynamics(ledger, settings, association),
        "claims": lambda: _claims(ledger, rules),
    }
    if embedding:
        looks["vectors"] = lambda: _vectors(ledger)
    repair = repair and not ledger.read_only
    return [
        library,
        *(_found(check, look, repair=repair) for check, look in looks.items()),
        *_around(ledger),
        *(Finding(stage, ok=False, detail=why) for stage, why in sorted(trouble.items())),
    ]


def stale_vectors(model: Callable[[], object]) -> list[Finding]:
    """Report vectors of another embedder than that of ``model``, which raises then."""
    try:
        model()
    except (EmbedderError, InvalidInput, MissingExtra) as error:
        return [Finding("embedder", ok=False, detail=str(error))]
    return []


def _found(check: str, look: Callable[[], str | Damage], *, repair: bool) -> Finding:
    """Run a check, and repair the damage that it found if ``repair`` and it has a cure."""
    try:
        found = look()
        if isinstance(found, str):
            return Finding(check, ok=True, detail=found)
        if found.cure is None or not repair:
            return Finding(check, ok=False, detail=found.detail)
        found.cure()
        return Finding(check, ok=True, detail=f"{found.detail}; mended", repaired=True)
    except StoreClosed:
        raise
    except StoreError as error:  # damage that prevents the check
        return Finding(check, ok=False, detail=str(error))


def _around(ledger: Ledger) -> Iterator[Finding]:
    """Report problems of the process and of the folder; the ledger itself may be sound."""
    if not ledger.read_only and ledger.reserve_trouble:
        yield Finding("reserve", ok=False, detail=ledger.reserve_trouble)
    if ledger.locks_lost:
        detail = (
            "other code in this process (such as sqlite3.connect, open() or a file copy) closed "
            "ledger.db and thereby released its locks; close this manager and open it again"
        )
        yield Finding("locks", ok=True, detail=detail)
    try:
        left = folder.left_alone(ledger.root)
    except OSError as error:
        yield Finding("other files", ok=False, detail=str(explain_os(ledger.root, error)))
    else:
        if left:
            detail = (
                f"{', '.join(left)}: cannot be identified as files of this store, so nothing "
                "changes or deletes them, not even erase; move any that you need elsewhere, and "
                "delete the rest yourself"
            )
            yield Finding("other files", ok=False, detail=detail)
    if left := _beside(ledger):
        detail = (
            f"{', '.join(left)}: next to the store, left by a restore that was killed (unless "
            "one is running); the next restore removes it if it contains only files of a restore"
        )
        yield Finding("beside the store", ok=True, detail=detail)


def _beside(ledger: Ledger) -> list[str]:
    """Name what a restore that was killed left beside the store, under a hidden name."""
    root = ledger.root.resolve()
    try:
        return [path.name for path in unfinished(root.parent) if is_draft_of(path.name, root.name)]
    except OSError:  # that folder may not be readable
        return []


def _structure(ledger: Ledger) -> str | Damage:
    problems = ledger.quick_check()
    return Damage("; ".join([*problems, SALVAGE])) if problems else "the file is intact"


def _contents(ledger: Ledger, sees: Sees) -> str | Damage:
    if changed := ledger.read(checks.changed_rows):
        return Damage(f"{_named(ledger, changed, sees)}; {SALVAGE}")
    if stale := ledger.read(checks.stale_rows):
        return Damage(f"{_named(ledger, stale, sees, STALE)}; {AGAIN}")
    return "every memory matches its checksum"


def _owners(ledger: Ledger) -> str | Damage:
    if problems := ledger.read(namespaces.wrong):
        return Damage("; ".join([*problems[:MOST_NAMED], SALVAGE]))
    return "every label matches its checksum"


def _history(ledger: Ledger, sees: Sees) -> str | Damage:
    if changed := ledger.read(checks.changed_versions):
        return Damage(f"earlier states of {_named(ledger, changed, sees)}")
    return "every earlier state matches its checksum"


_COUNTED: dict[str, tuple[Callable[[Transaction], tuple[int, ...]], str]] = {
    "links and events": (
        lambda c: (checks.changed_links(c), checks.changed_events(c)),
        f"{{}} links and {{}} events changed outside memento; {SALVAGE}",
    ),
    "changes": (
        lambda c: (changes.CHANGES.damaged(c),),
        "{} changes were changed outside memento, and cannot be undone",
    ),
    "sessions": (
        lambda c: (session_rows.SESSIONS.damaged(c), session_rows.CHECKPOINTS.damaged(c)),
        "{} sessions and {} checkpoints were changed outside memento; they are ignored",
    ),
    "scopes": (
        lambda c: (scope_rows.SCOPES.damaged(c), scope_rows.SHARES.damaged(c)),
        "{} scopes and {} shares were changed outside memento; they are ignored",
    ),
}
"""Checks that only count changed rows: the function that counts them, and the message."""


def _counted(
    ledger: Ledger, count: Callable[[Transaction], tuple[int, ...]], said: str
) -> str | Damage:
    changed = ledger.read(count)
    return Damage(said.format(*changed)) if any(changed) else "each matches its checksum"


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


def _fulltext(ledger: Ledger, sees: Sees) -> str | Damage:
    wrong, newer = ledger.read(checks.unindexed_rows)
    sound = ledger.words_intact()
    if sound and not wrong:
        return "agrees with the memories"
    stale = ledger.read(checks.stale_rows)
    if (stale or newer) and sound:  # a damaged index tells nothing about rows
        detail = f"{wrong} memories are indexed incorrectly"
        if newer and not stale:
            detail = f"{_named(ledger, newer, sees, NEWER)}; compare them with a backup"
        return Damage(f"{detail}; the index was not changed")
    return Damage(
        f"{wrong} memories are indexed incorrectly" if wrong else "the index is damaged",
        lambda: ledger.write(lambda c: c.words.rebuild()),
    )


def _strays(ledger: Ledger) -> str | Damage:
    strays = {table: count for table, count in ledger.read(checks.stray_rows).items() if count}
    if not strays:
        return "no orphaned rows"
    detail = ", ".join(f"{count} in {table}" for table, count in sorted(strays.items()))
    return Damage(f"rows without a memory: {detail}", lambda: ledger.write(checks.drop_strays))


def _dynamics(ledger: Ledger, settings: Dynamics, association: Association) -> str | Damage:
    agent, spaces = settings.agent, [ns for ns, _ in ledger.read(namespaces.every)]
    differing = ledger.read(lambda c: strength_fold.differing(c, settings, _FOLDED))
    linked = ledger.read(
        lambda c: sum(co_use.differing(c, ns, association, agent) for ns in spaces)
    )
    if not differing and not linked:
        return "agree with the events"

    def fold_again() -> None:
        ledger.write(strength_fold.drop_rows)
        ledger.write(co_use.forget_all)
        while ledger.write(lambda c: strength_fold.catch_up(c, settings)):
            pass
        while ledger.write(lambda c: co_use.catch_up(c, association, agent)):
            pass

    detail = f"{len(differing)} of {_FOLDED} rows or fewer do not match their events"
    if linked:
        detail = f"{detail}, nor do the links of {linked} memories"
    return Damage(detail, fold_again)


def _claims(ledger: Ledger, rules: Conflicts) -> str | Damage:
    """Read the newest statements of each namespace again, and compare their numbers."""
    spaces = [ns for ns, _ in ledger.read(namespaces.every)]
    wrong = ledger.read(lambda c: sum(settling.misread(c, ns, rules, _READ) for ns in spaces))
    if not wrong:
        return "agree with the statements"

    def read_again() -> None:
        ledger.write(claim_rows.drop_all)
        for ns in spaces:
            before: int | None = ledger.read(partial(settling.compared_up_to, ns=ns), space=ns)
            while before is not None:
                step = partial(
                    settling.read_again, ns=ns, config=rules, before=before, most=_QUEUED
                )
                before = ledger.write(step)

    return Damage(f"the stored numbers of {wrong} memories do not match their text", read_again)


def _vectors(ledger: Ledger) -> str | Damage:
    if unowed := ledger.read(checks.unowed_rows):

        def owe() -> None:
            for start in range(0, len(unowed), _QUEUED):
                ledger.write(partial(checks.owe, docids=unowed[start : start + _QUEUED]))

        return Damage(f"{len(unowed)} memories have no vector and are not queued", owe)
    owed = ledger.read(vectors.backlog_size)
    waiting = sum(count for op, count in owed.items() if op != "embed")
    return f"{owed.get('embed', 0)} waiting to be embedded, {waiting} waiting to be added to Chroma"
