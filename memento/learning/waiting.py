"""Show messages to a language model later, together, in a thread of its own.

A message waits as a row that is written with its turn, see ``ledger.llm_tasks``. A thread takes as
many messages of a namespace as one request holds, asks the model, and writes what it pointed at.

- A message is taken for longer than a request may last. If the process dies, or sleeps, another
  one takes the message after that, and what the first one still writes is ignored.
- A request that failed, or in which a process died, is one of three attempts of its messages.
  After the first, each is shown alone, so that none suffers from another one.
- ``close`` waits for the request, and gives back what had no reply.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast
from zlib import crc32

from memento.clock import from_micros
from memento.errors import MementoError, StoreClosed
from memento.forks import whole
from memento.language.tokens import estimate
from memento.learning.assisting import Part, assisted, batches_of, is_open, parts_of
from memento.learning.reading import Message, Reader, embedder_of
from memento.learning.teaching import Shown, taught_again, turn_row, was_asked
from memento.ledger import changes, llm_tasks, memories
from memento.ledger.contract import Session, Work
from memento.ledger.llm_tasks import Waiting
from memento.ledger.rows import Row, to_memory
from memento.ledger.schema import SEQ_BITS
from memento.lifecycle.steps import FOUND, holds
from memento.llm.asking import model_of
from memento.observe.pointing import MOST_MESSAGES, MOST_TOKENS
from memento.observe.values import Assistance
from memento.types import Event, Trust
from memento.views import View

if TYPE_CHECKING:
    from memento.engine import Engine

log = logging.getLogger(__name__)

SECOND = 1_000_000
"""Microseconds."""
DAY = 86_400 * SECOND
TRIES = 3
"""Number of attempts to show a message before it is given up."""
PAUSE = 60 * SECOND
"""Pause after the first failure, microseconds; four times as long after each later one."""
MARGIN = 60 * SECOND
"""Time beside that of the model after which another process takes the messages, microseconds."""
FULL = f"{llm_tasks.MOST} messages of this namespace wait for the model"


def let_wait(
    work: Work,
    reader: Reader,
    read: Sequence[Message],
    rows: Sequence[Row],
    mode: str,
    *,
    kept: bool,
    run: int | None,
) -> None:
    """Let the messages wait that a model is to see, and mark them.

    One that is not stored as it was said cannot wait.

    Args:
        work: The transaction that writes their turns.
        reader: The reader of the messages.
        read: The messages.
        rows: The rows of the turns.
        mode: ``assist`` or ``full``.
        kept: Whether the call stored the turns itself.
        run: Number of the change that the call made, or None.
    """
    for message in read:
        message.waits = message.refused = False
        turn = turn_row(work, message, rows) if is_open(message, mode) else None
        if turn is None or not (kept or (turn.text, turn.scope) == (message.text, reader.scope)):
            continue
        known = [*message.unplaced.values(), *filter(None, [message.answered_id])]
        docids = memories.docids_of(work.db, work.ns, known)
        one = Waiting(
            docid=turn.docid,
            at=reader.moment,
            given=reader.given,
            since=work.now,
            due=max(0, work.now),
            text=_sum_of(turn),
            answered=docids.get(message.answered_id or ""),
            unplaced={str(start): docids[held] for start, held in message.unplaced.items()},
            run=run,
        )
        message.waits = llm_tasks.put(work.db, one)
        message.refused = not message.waits


class _Namespaces(Protocol):
    """A manager: gives the views of other namespaces."""

    def of(self, *labels: str) -> View: ...


def attend(view: View) -> None:
    """Let the messages of a store that wait be shown to the model in quiet moments.

    Args:
        view: Any manager of the store.
    """
    engine, llm = view._engine, view.config.llm  # noqa: SLF001 - a part of the manager
    if not llm.background or llm.model is None or engine.ledger.read_only:
        return
    manager = cast("_Namespaces", view)
    engine.background.attendant = Attendant(engine, lambda labels: manager.of(*labels))
    if engine.ledger.read(llm_tasks.any_waits):
        engine.indexer.start()


@dataclass(frozen=True, slots=True)
class _Task:
    """A message that waits, and what it takes to show it.

    Attributes:
        waiting: Its row.
        turn: Its turn.
        part: What the model sees.
    """

    waiting: Waiting
    turn: Row
    part: Part


class Attendant:
    """Shows the messages of a store that wait.

    Args:
        engine: The store.
        view_of: Returns the view of a namespace.
    """

    def __init__(self, engine: Engine, view_of: Callable[[tuple[str, ...]], View]) -> None:
        self._engine = engine
        self._view_of = view_of
        self._turn = threading.Lock()
        self._stopped = False
        self._rests_until = 0
        self._taken: list[Waiting] = []

    def renewed(self) -> Attendant:
        """Return the attendant of a forked child: it has no thread, and has taken nothing."""
        return Attendant(self._engine, self._view_of)

    def look(self) -> None:
        """Begin to show messages if some are ready; nobody waits for it."""
        if not self._turn.locked() and self.owes(everything=False):
            self._begin(everything=False)

    def finish(self, timeout: float | None) -> bool:
        """Show all messages that may be shown now, without waiting for others.

        Args:
            timeout: Seconds to wait at most, or None.

        Returns:
            Whether that was done in time.
        """
        if not self.busy(begin=False):
            return True
        thread = self._begin(everything=True)
        thread.join(timeout)
        return not thread.is_alive()

    def busy(self, *, begin: bool = True) -> bool:
        """Tell whether messages are being shown, or may be.

        Args:
            begin: Whether to begin with it if nobody does.
        """
        if self._turn.locked():
            return True
        owes = self.owes()
        if owes and begin:
            self._begin(everything=True)
        return owes

    def stop(self, timeout: float) -> None:
        """Begin no other request, wait for the present one, and give back what had no reply.

        Args:
            timeout: Seconds to wait at most.
        """
        self._stopped = True
        if self._turn.acquire(timeout=timeout):
            self._turn.release()
        with suppress(MementoError):  # else another process takes them when the time is up
            self._give_back(self._engine.now())

    def owes(self, *, everything: bool = True) -> bool:
        """Tell whether there are messages that may be shown now.

        Args:
            everything: Whether they need not wait for others.
        """
        if self._stopped or self._engine.now() < self._rests_until:
            return False
        return self._engine.ledger.read(lambda c: self._next(c, everything=everything)) is not None

    def _begin(self, *, everything: bool) -> threading.Thread:
        def run() -> None:
            with self._turn:
                self._run(everything=everything)

        thread = threading.Thread(target=run, name="memento-assist", daemon=True)
        thread.start()
        return thread

    def _run(self, *, everything: bool) -> None:
        """Show batches until none is ready; after an error the rest stays where it is."""
        read = self._engine.ledger.read
        try:
            self._load()
            while not self._stopped:
                ns = read(lambda c: self._next(c, everything=everything))
                if ns is None:
                    return
                self._show_some(ns)
        except StoreClosed:
            return  # what was taken was given back
        except MementoError as error:
            log.warning("messages wait for the language model: %s", error)
            self._rests_until = self._engine.now() + PAUSE
            with suppress(MementoError):  # else another process takes them when the time is up
                self._give_back(self._rests_until)

    def _load(self) -> None:
        """Load what a request needs, which a fork must not interrupt."""
        with whole():
            for module in ("asyncio", "memento.observe.detect"):
                import_module(module)
            model_of(self._engine.config.llm)
            embedder_of(self._engine)

    def _next(self, session: Session, *, everything: bool) -> int | None:
        """Return a namespace whose messages may be shown now; None if there is none."""
        now = self._engine.now()
        quiet = now - int(self._engine.config.llm.quiet_seconds * SECOND)
        for ns in llm_tasks.spaces(session, now):
            found, damaged = llm_tasks.due(session, ns, now, MOST_MESSAGES)
            over = found and (len(found) == MOST_MESSAGES or found[-1].since <= quiet)
            if everything or damaged or over or any(map(_waits_for_no_others, found)):
                return ns
        return None

    def _show_some(self, ns: int) -> None:
        """Show the next messages of a namespace, as many as one request holds."""
        engine = self._engine
        now = engine.now()

        def look(session: Session) -> tuple[list[Waiting], list[str], dict[int, Row]]:
            found, damaged = llm_tasks.due(session, ns, now, MOST_MESSAGES)
            found = _together(found)
            turns = {one.docid: turn for one in found if (turn := _turn_of(session, one, now))}
            return _fitting(found, turns), damaged, turns

        found, damaged, turns = engine.ledger.read(look)
        tasks = self._tasks([one for one in found if one.docid in turns], turns)
        known = {task.waiting.docid for task in tasks}
        idle = [one for one in found if one.docid not in known]
        batch = batches_of([task.part for task in tasks])[0] if tasks else []
        tasks = self._take(tasks[: len(batch)], idle, damaged)
        if tasks:
            self._show(tasks)

    def _tasks(self, waiting: Sequence[Waiting], turns: dict[int, Row]) -> list[_Task]:
        """Read messages again; those in which the model may point at nothing are left out."""
        if not waiting:
            return []
        view = self._view_of(self._engine.ledger.labels(waiting[0].ns))
        read = [(one, *found) for one in waiting if (found := self._read(view, one, turns))]
        parts = parts_of(self._engine, [(reader, message) for _, reader, message in read])
        part_of = {id(part.message): part for part in parts}
        return [
            _Task(one, turns[one.docid], part_of[id(message)])
            for one, _, message in read
            if id(message) in part_of
        ]

    def _read(
        self, view: View, one: Waiting, turns: dict[int, Row]
    ) -> tuple[Reader, Message] | None:
        """Read a message again; None if it asks not to be stored."""
        engine, turn = self._engine, turns[one.docid]
        wanted = [*one.unplaced.values()] + ([] if one.answered is None else [one.answered])
        found = engine.ledger.read(lambda c: memories.by_docids(c, one.ns, wanted))
        rows = {docid: row for docid, row in found.items() if row.status in FOUND}
        answered = None if one.answered is None else rows.get(one.answered)
        origin = replace(to_memory(turn, view.namespace).source, parents=())
        reader = Reader(view, engine, turn.session, turn.scope, origin, one.at, given=one.given)
        said = None if answered is None else answered.text
        message = reader.message(turn.text, turn.id, answered=said, actor=turn.actor)
        message.answered_id = None if answered is None else answered.id
        message.unplaced = {
            int(start): rows[docid].id for start, docid in one.unplaced.items() if docid in rows
        }
        return None if message.private else (reader, message)

    def _take(
        self, tasks: Sequence[_Task], idle: Sequence[Waiting], damaged: list[str]
    ) -> list[_Task]:
        """Note in the ledger that this process shows messages now; returns those it may show.

        Args:
            tasks: The messages.
            idle: Messages of which there is nothing to show, which wait no longer.
            damaged: Names of damaged rows, which go.
        """
        engine = self._engine
        until = engine.now() + int(min(engine.config.llm.seconds * SECOND, DAY)) + MARGIN
        token = 1 + int.from_bytes(os.urandom(7))

        def take(session: Session) -> list[_Task]:
            llm_tasks.drop_named(session, damaged)
            for one in idle:
                llm_tasks.swap(session, one, None)
            mine = [taken for task in tasks if (taken := self._mark(session, task, until, token))]
            self._taken = [task.waiting for task in mine]  # before the end, for ``stop``
            return mine

        return engine.ledger.write(take)

    def _mark(self, session: Session, task: _Task, until: int, token: int) -> _Task | None:
        """Take a message; None if another process was first, or it is given up.

        If the process that had it never gave it back, it died, or takes too long.
        """
        one = task.waiting
        attempts = one.attempts + bool(one.token)
        if attempts >= TRIES:
            self._give_up(session, replace(one, attempts=attempts), one, "died")
            return None
        mine = replace(one, attempts=attempts, due=until, token=token)
        return replace(task, waiting=mine) if llm_tasks.swap(session, one, mine) else None

    def _show(self, tasks: Sequence[_Task]) -> None:
        """Ask the model about messages that this process took, and write what it pointed at."""
        told, chosen, sent = assisted(self._engine, [task.part for task in tasks], "full")
        if told.failure is not None:
            self._put_off(tasks, told)
        for task in tasks if sent else ():
            own = [shown for shown in chosen if shown.message is task.part.message]
            self._write(task, own, told.model)
        self._taken = []

    def _write(self, task: _Task, chosen: Sequence[Shown], model: str) -> None:
        """Write what a model pointed at in one message, if this process still has it."""
        one, turn, message = task.waiting, task.turn, task.part.message

        def then(work: Work, _rows: list[Row]) -> list[Row]:
            stands = _turn_of(work.db, one, work.now) is not None
            if not llm_tasks.swap(work.db, one, None) or not stands:
                return []
            return taught_again(work, chosen, [message], {id(message): turn}, model, one.run).rows

        labels = task.part.reader.namespace
        self._engine.add(labels, [], verb="observe", then=then)

    def _put_off(self, tasks: Sequence[_Task], told: Assistance) -> None:
        """Let messages that the model did not see wait on, or give them up.

        A limit of the day is no failure: all messages of the namespace wait for the next day (UTC).
        """
        now, reason = self._engine.now(), str(told.failure)
        tomorrow = (now // DAY + 1) * DAY

        def put_off(session: Session) -> None:
            for one in (task.waiting for task in tasks):
                if reason == "spent":
                    llm_tasks.swap(session, one, replace(one, due=tomorrow, token=0))
                    continue
                again = replace(one, attempts=one.attempts + 1, token=0)
                if again.attempts >= TRIES:
                    self._give_up(session, again, one, reason)
                else:
                    later = replace(again, due=now + PAUSE * 4**one.attempts)
                    llm_tasks.swap(session, one, later)
            if reason == "spent":
                llm_tasks.put_off(session, tasks[0].waiting.ns, now, tomorrow)

        self._engine.ledger.write(put_off)

    def _give_up(self, session: Session, last: Waiting, one: Waiting, reason: str) -> None:
        """Let a message wait no longer, and note it; the turn and what was sure of it stay."""
        if not llm_tasks.swap(session, one, None):
            return
        moment = from_micros(one.since).isoformat()
        log.warning("a message of %s was not shown to the language model: %s", moment, reason)
        detail = {"reason": reason, "attempts": last.attempts}
        memories.record(session, one.ns, self._engine.now(), Event.LLM_FAILED, one.docid, detail)

    def _give_back(self, due: int) -> None:
        """Let the messages wait that this process took and that had no reply.

        Args:
            due: From when they may be shown, microseconds.
        """
        taken, self._taken = self._taken, []

        def give_back(session: Session) -> None:
            for one in taken:
                llm_tasks.swap(session, one, replace(one, due=max(0, due), token=0))

        if taken:
            self._engine.ledger.write(give_back)


def _waits_for_no_others(one: Waiting) -> bool:
    return one.hurried or one.attempts > 0 or one.token > 0


def _together(found: list[Waiting]) -> list[Waiting]:
    """Return those that may share a request: none that failed before, or died with a process."""
    if not found or found[0].attempts or found[0].token:
        return found[:1]
    return [one for one in found if not (one.attempts or one.token)]


def _fitting(found: Sequence[Waiting], turns: Mapping[int, Row]) -> list[Waiting]:
    """Return the first messages, as many as may fit into one request: the others are not read."""
    fitting: list[Waiting] = []
    room = MOST_TOKENS
    for one in found:
        room -= estimate(turns[one.docid].text) if one.docid in turns else 0
        if fitting and room < 0:
            break
        fitting.append(one)
    return fitting


def _turn_of(session: Session, one: Waiting, now: int) -> Row | None:
    """Return the turn of a message; None if it must not be shown, or teach anything, any more.

    It was hidden, its text was changed, its observation was undone, or a model saw it meanwhile.
    """
    turn = memories.by_docids(session, one.ns, [one.docid]).get(one.docid)
    if turn is None or turn.status not in FOUND or turn.trust != Trust.USER:
        return None
    if not holds(turn, now) or _sum_of(turn) != one.text or was_asked(session, one.ns, turn):
        return None
    run = None if one.run is None else changes.find(session, one.ns, _key_of(one.ns, one.run))
    return None if run is not None and run.undone_by is not None else turn


def _key_of(ns: int, number: int) -> int:
    return (ns << SEQ_BITS) | number


def _sum_of(turn: Row) -> int:
    return crc32(turn.text.encode("utf-8", "surrogatepass"))
