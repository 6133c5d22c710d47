"""Let the store tidy up after the day, and see what is stale or unusual."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from memento.base.lazy import later
from memento.base.spans import traced
from memento.check import check_count, check_flag, check_moment, check_seconds, check_word
from memento.config import Writer
from memento.errors import InvalidInput
from memento.ledger.filters import members
from memento.sleep.tick_values import Anomaly, Stale, Tick
from memento.types import Kind, KindName, Memory
from memento.views import Part
from memento.write import change

if TYPE_CHECKING:
    from memento.sleep import articles, report, run
else:
    articles = later("memento.sleep.articles")
    report = later("memento.sleep.report")
    run = later("memento.sleep.run")

_MOST = 1_000_000


class Sleep(Part):
    """Tidies up the store and archives memories; available as ``memory.sleep``."""

    @traced("sleep", lambda tick: {"changed": sum(one.changed for one in tick.steps.values())})
    def run(
        self,
        *,
        seconds: float = 5.0,
        rows: int | None = None,
        steps: Sequence[str] | None = None,
        dry_run: bool = False,
    ) -> Tick:
        """Update strengths, merge near-duplicates, write articles, and move or archive memories.

        New statements that have not been compared yet are compared first; see ``slots.conflicts``.

        Each step changes a few memories per transaction, so other writers never wait long. When the
        time is up, the call returns, and the next call continues where it stopped. If the process
        is killed, only the current transaction is lost. If there is nothing to do, nothing is
        written. If another process is already running a sleep, the call returns immediately.

        Nothing is deleted, and ``undo(run=...)`` undoes the entire sleep. Pinned, locked and
        quarantined memories are not changed, nor are tiers that the caller chose.

        Args:
            seconds: Time limit in seconds, up to a day, after which no new step starts. At least
                one transaction is always carried out.
            rows: Maximum number of memories to change; a group of duplicates counts as one. None
                for no limit.
            steps: A subset of ``fold``, ``duplicates``, ``articles``, ``tiers``, ``archive``,
                ``replay`` and ``links``. None for all, with ``articles`` only if
                ``Config.articles`` enables it. An unfinished sleep continues with its original
                steps.
            dry_run: Only report what would be changed.

        Returns:
            A report on each step.

        Raises:
            InvalidInput: If an argument is invalid.
            StoreError: If the store cannot be written.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     first = memory.add("The blue bike of Anna is kept in the old shed")
        ...     again = memory.add("The blue bike of Anna is always kept in the old shed")
        ...     found = memory.sleep.run()
        ...     found.done, found.steps["duplicates"].changed, len(memory.list())
        ...     undone = memory.undo(run=found.run)
        ...     len(memory.list())
        (True, 2, 1)
        2
        """
        began = time.monotonic()
        limit = check_seconds("seconds", seconds)
        most = None if rows is None else check_count("rows", rows, most=_MOST)
        config = self._view.engine.config
        names = run.usual(config) if steps is None else _steps(steps)
        if articles.STEP.name in names and config.articles.writer == Writer.OFF:
            config = replace(config, articles=replace(config.articles, writer=Writer.EXTRACTIVE))
        check_flag("dry_run", dry_run)
        ns, now = self._view.ns, self._view.engine.now()
        if ns is None:
            return Tick({}, None, done=True, took=time.monotonic() - began)
        sleeper = run.Sleeper(
            self._view.engine.ledger,
            config,
            ns,
            now,
            embeds=self._view.engine.embedding is not None,
            changed=self._view.engine.changed,
        )
        if dry_run:
            found = sleeper.plans(names)
        else:
            self._view.engine.background.accesses.log()
            if not self._view.engine.background.statements.compare(ns, began + limit):
                return Tick({}, None, done=False, took=time.monotonic() - began)  # goes on next
            found = sleeper.sleep(names, until=began + limit, rows=most)
        return replace(found, took=time.monotonic() - began)

    def stale(
        self, *, kind: Kind | KindName | Sequence[Kind | KindName] | None = None, limit: int = 100
    ) -> list[Stale]:
        """List active memories that should be reviewed, most faded first.

        A memory is stale if it is no longer valid, if feedback has cast doubt on it, or if it has
        almost faded. Pinned and locked memories are never stale.

        Args:
            kind: One kind or several; None for all.
            limit: Maximum number of memories to return, 1 to 1,000,000.

        Raises:
            InvalidInput: If an argument is invalid.
        """
        wanted = members(Kind, "kind", kind)
        most = check_count("limit", limit, most=_MOST)
        now = self._view.engine.now()
        found = (
            self._view.ask(lambda c, ns: report.stale(c, ns, now, self._view.config, wanted)) or []
        )
        return [
            Stale(self._view.memory(one.row), reasons, one.standing.retention)
            for one, reasons in found[:most]
        ]

    def anomalies(self, since: datetime | None = None) -> list[Anomaly]:
        """List days with far more or far less activity than on the previous 30 active days.

        Args:
            since: A moment on the first day to include (timezone-aware); None for all days.

        Raises:
            InvalidInput: If the moment has no time zone.
        """
        first = 0 if since is None else check_moment("since", since)
        return self._view.ask(lambda c, ns: report.unusual(c, ns, first)) or []

    def archive(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Archive a memory, so it is found only on request.

        ``retrieve(include_archived=True)`` still finds it, as does a query that contains its key or
        an alias. An archived memory keeps its text and vector. To make it active again, use
        ``sleep.unarchive`` or ``undo``; feedback that it was used or is correct has the same
        effect. Archiving it again has no effect.

        Raises:
            NotFound: If no memory in this namespace has this id.
            InvalidInput: If the memory is not active.
            LockedMemory: If the user locked the memory.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     note = memory.add("The lift was out of order in spring", aliases=["lift"])
        ...     memory.sleep.archive(note.id).status.value
        ...     asked = memory.retrieve("spring", include_archived=True)
        ...     len(memory.retrieve("spring")), len(asked), len(memory.retrieve("lift"))
        'archived'
        (0, 1, 1)
        """
        return self._view.change(
            id, lambda work: change.archive(work, id), verb="archive", makes_room=True
        )

    def unarchive(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Make an archived memory active again; an active memory is not changed.

        If another memory now fills its slot, it becomes superseded instead.

        Raises:
            NotFound: If no memory in this namespace has this id.
            InvalidInput: If the memory is neither archived nor active.
        """
        return self._view.change(id, lambda work: change.unarchive(work, id), verb="unarchive")


def _steps(given: Sequence[str]) -> list[str]:
    """Check names of steps, and return them in order.

    Raises:
        InvalidInput: If there is no such step.
    """
    known = [run.FOLD, *run.STEPS]
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InvalidInput("steps", f"must be a list of these values: {', '.join(known)}")
    wanted = [check_word("steps", name, known) for name in given]
    return [name for name in known if name in wanted]
