"""Undo a change, as far as nothing else changed it since."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memento.base.lazy import later
from memento.check import check_count, check_flag
from memento.errors import InvalidInput, NothingToUndo
from memento.ledger import changes as sql
from memento.ledger.contract import Session, Trace, Work
from memento.ledger.rows import docid_of
from memento.ledger.schema import SEQ_MASK
from memento.types import (
    Undone,
)
from memento.views import View
from memento.write import undo as undoing
from memento.write.undo import Outcome

if TYPE_CHECKING:
    from memento.observe import derive
else:
    derive = later("memento.observe.derive")


from memento.verbs.changes import shown_number


def undo(
    view: View, change: int | None = None, *, run: int | None = None, force: bool = False
) -> Undone:
    """Do what ``MemoryManager.undo`` does; see there."""
    if (change is None) == (run is None):
        raise InvalidInput("change", "pass either the number of a change or run=")
    check_flag("force", force)
    field, given = ("change", change) if run is None else ("run", run)
    asked = check_count(field, given, most=SEQ_MASK)
    if (ns := view.ns) is None:
        raise NothingToUndo(asked, f"this namespace has no change {asked}")
    key = docid_of(ns, asked)
    keys = [key] if run is None else _of_run(view, ns, key)
    whole = Outcome(several=force or len(keys) > 1)
    try:
        for one in keys:
            _undo_one(view, ns, one, whole, force=force, lenient=run is not None)
    finally:
        view.engine.changed(ns, list(whole.rows.values()))
    if whole.folds:
        view.engine.background.fold_events()
    return Undone(
        changes=tuple(map(sql.number_of, whole.changes)),
        undone=tuple(map(sql.number_of, whole.undone)),
        memories=tuple(row.id for _, row in sorted(whole.rows.items())),
        left={whole.names[docid]: shown_number(why) for docid, why in sorted(whole.left.items())},
    )


def _of_run(view: View, ns: int, run: int) -> Sequence[int]:
    """Return the keys of those changes of a run that can be undone, the newest first."""
    found = view.engine.ledger.read(lambda c: sql.of_run(c, ns, run))
    number = sql.number_of(run)
    if not found:
        raise NothingToUndo(number, f"this namespace has no run {number}")
    left = [one.change for one in found if undoing.is_undoable(one)]
    if not left:
        raise NothingToUndo(number, f"run {number} was already undone, or cannot be undone")
    return left


def _undo_one(view: View, ns: int, key: int, whole: Outcome, *, force: bool, lenient: bool) -> None:
    """Undo one change in a transaction, and add the result to that of the others."""
    engine, now = view.engine, view.engine.now()

    def job(session: Session) -> Outcome | None:
        work = Work(session, ns, now, engine.rules, Trace())
        one = sql.find(session, ns, key)
        if lenient and (one is None or not undoing.is_undoable(one)):
            return None  # it was undone meanwhile, perhaps as it stood in the way of another
        outcome = whole.fresh()
        undoing.undo(work, undoing.undoable(work, key), outcome, force=force)
        return outcome

    try:
        outcome = engine.ledger.write(job, spaces=(ns,))
    except NothingToUndo:
        if not lenient:
            raise
        return
    if outcome is not None:
        whole.add(outcome)
