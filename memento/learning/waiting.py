"""Show messages to a language model later, together, in a thread of its own.

A message waits as a row that is written with its turn. A thread takes up to eight of a namespace,
notes in the ledger that it has them, asks the model, and writes what it pointed at. If it fails,
they are tried again later; if the process dies, another one takes them once the note has run out.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, cast

from memento.clock import from_micros
from memento.errors import MementoError, StoreClosed
from memento.learning.assisting import assisted, is_open
from memento.learning.reading import Message, Reader
from memento.learning.teaching import Shown, taught_again, turn_row, was_asked
from memento.ledger import llm_tasks, memories
from memento.ledger.contract import Session, Work
from memento.ledger.llm_tasks import Waiting
from memento.ledger.rows import Row, to_memory
from memento.lifecycle.steps import FOUND
from memento.observe.pointing import MOST_MESSAGES
from memento.types import Event
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
MARGIN = 30 * SECOND
"""Time beside that of the model after which another process takes the messages."""


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

    One that is not stored as it was said cannot wait, nor can any if very many do.

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
        message.waits = False
        turn = turn_row(work, message, rows) if is_open(message, mode) else None
        if turn is None or not (kept or (turn.text, turn.scope) == (message.text, reader.scope)):
            continue
        known = [*message.unplaced.values(), *filter(None, [message.answered_id])]
        docids = memories.docids_of(work.db, work.ns, known)
        one = Waiting(
            docid=turn.docid,
            mode=mode,
            at=reader.moment,
            given=reader.given,
            since=work.now,
            due=work.now,
            answered=docids.get(message.answered_id or ""),
            unplaced={str(start): docids[held] for start, held in message.unplaced.items()},
            run=run,
        )
        message.waits = llm_tasks.put(work.db, one)


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
    if engine.background.attendant is None:
        manager = cast("_Namespaces", view)
        engine.background.attendant = Attendant(engine, lambda labels: manager.of(*labels))
        if engine.ledger.read(llm_tasks.every):
            engine.indexer.start()


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

    def look(self) -> None:
        """Begin to show messages if some are ready; nobody waits for it."""
        if not self._turn.locked() and self.owes(everything=False):
            self._begin(everything=False)

    def finish(self, timeout: float | None) -> None:
        """Show all messages that may be shown now, without waiting for others.

        Args:
            timeout: Seconds to wait at most, or None.
        """
        if self._turn.locked() or self.owes():
            self._begin(everything=True).join(timeout)

    def busy(self) -> bool:
        """Tell whether messages are being shown, or may be; if so, begin with it."""
        owes = self.owes()
        if owes and not self._turn.locked():
            self._begin(everything=True)
        return owes or self._turn.locked()

    def owes(self, *, everything: bool = True) -> bool:
        """Tell whether there are messages that may be shown now.

        Args:
            everything: Whether they need not wait for others.
        """
        return bool(self._engine.ledger.read(lambda c: self._ready(c, everything=everything)))

    def _begin(self, *, everything: bool) -> threading.Thread:
        def run() -> None:
            with self._turn:
                self._run(everything=everything)

        thread = threading.Thread(target=run, name="memento-assist", daemon=True)
        thread.start()
        return thread

    def _run(self, *, everything: bool) -> None:
        try:
            while taken := self._engine.ledger.write(lambda c: self._take(c, everything)):
                self._show(taken)
        except StoreClosed:
            return  # the next process that opens the store shows them
        except MementoError as error:
            log.warning("messages wait for the language model: %s", error)

    def _ready(self, session: Session, *, everything: bool) -> list[Waiting]:
        """Return the messages of one namespace and mode that may be shown now, at most 8."""
        now = self._engine.now()
        quiet = now - int(self._engine.config.llm.quiet_seconds * SECOND)
        groups: dict[tuple[int, str], list[Waiting]] = {}
        for one in llm_tasks.every(session):
            if one.due <= now:
                groups.setdefault((one.ns, one.mode), []).append(one)
        for group in groups.values():
            over = group[-1].since <= quiet or any(one.hurried for one in group)
            if everything or over or len(group) >= MOST_MESSAGES:
                return group[:MOST_MESSAGES]
        return []

    def _take(self, session: Session, everything: bool) -> list[Waiting]:
        """Note that this process shows some messages now; give up those that failed too often."""
        lease = int(self._engine.config.llm.seconds * SECOND) + MARGIN
        due = self._engine.now() + lease
        taken: list[Waiting] = []
        while not taken and (ready := self._ready(session, everything=everything)):
            for one in ready:
                if one.attempts >= TRIES:
                    self._give_up(session, one, "died")
                else:
                    taken.append(replace(one, attempts=one.attempts + 1, due=due))
                    llm_tasks.change(session, taken[-1])
        return taken

    def _show(self, waiting: Sequence[Waiting]) -> None:
        """Ask the model about messages of one namespace, and write what it pointed at."""
        engine, ns = self._engine, waiting[0].ns
        view = self._view_of(engine.ledger.labels(ns))
        read = [(one, *found) for one in waiting if (found := self._read(view, one)) is not None]
        pairs = [(reader, message) for _, reader, message in read]
        told, chosen, sent = assisted(engine, pairs, waiting[0].mode)
        seen, unread = {id(message) for message in sent}, {one.docid for one in waiting}
        for one, _, message in read:
            if id(message) in seen:
                own = [shown for shown in chosen if shown.message is message]
                self._write(view, one, message, own, told.model)
            elif told.failure is not None:
                self._put_off(one, told.failure)
            else:
                continue  # it has nothing to point at
            unread.discard(one.docid)
        engine.ledger.write(lambda c: llm_tasks.drop(c, unread))

    def _read(self, view: View, one: Waiting) -> tuple[Reader, Message] | None:
        """Read a message that waits again; None if there is nothing to show any more."""
        engine, ns = self._engine, one.ns
        wanted = [one.docid, *one.unplaced.values()]
        wanted += [] if one.answered is None else [one.answered]

        def look(session: Session) -> dict[int, Row]:
            rows = memories.by_docids(session, ns, wanted)
            turn = rows.get(one.docid)
            return {} if turn is None or was_asked(session, ns, turn) else rows

        rows = {docid: row for docid, row in engine.ledger.read(look).items() if _is_there(row)}
        turn = rows.get(one.docid)
        if turn is None:
            return None
        origin = replace(to_memory(turn, view.namespace).source, parents=())
        reader = Reader(view, engine, turn.session, turn.scope, origin, one.at, given=one.given)
        answered = None if one.answered is None else rows.get(one.answered)
        said = None if answered is None else answered.text
        message = reader.message(turn.text, turn.id, answered=said, actor=turn.actor)
        message.answered_id = None if answered is None else answered.id
        found = {int(start): rows.get(docid) for start, docid in one.unplaced.items()}
        message.unplaced = {start: row.id for start, row in found.items() if row is not None}
        return None if message.private else (reader, message)

    def _write(
        self, view: View, one: Waiting, message: Message, chosen: Sequence[Shown], model: str
    ) -> None:
        """Write what a model pointed at in one message, which then waits no longer."""
        turn = message.turn_id
        turns = {} if turn is None else {id(message): turn}

        def then(work: Work, _rows: list[Row]) -> list[Row]:
            llm_tasks.drop(work.db, [one.docid])
            return taught_again(work, chosen, [message], turns, model, one.run).rows

        self._engine.add(view.namespace, [], verb="observe", then=then)

    def _put_off(self, one: Waiting, reason: str) -> None:
        """Let a message that the model did not see wait on, or give it up.

        A limit of the day is no failure: it waits for the next day (UTC).
        """
        now = self._engine.now()
        if reason == "spent":
            again = replace(one, attempts=one.attempts - 1, due=(now // DAY + 1) * DAY)
        else:
            again = replace(one, due=now + PAUSE * 4 ** (one.attempts - 1))
        given_up = again.attempts >= TRIES
        self._engine.ledger.write(
            lambda c: self._give_up(c, one, reason) if given_up else llm_tasks.change(c, again)
        )

    def _give_up(self, session: Session, one: Waiting, reason: str) -> None:
        """Let a message wait no longer, and note it; the turn and what was sure of it stay."""
        moment = from_micros(one.since).isoformat()
        log.warning("a message of %s was not shown to the language model: %s", moment, reason)
        llm_tasks.drop(session, [one.docid])
        detail = {"reason": reason, "attempts": one.attempts}
        memories.record(session, one.ns, self._engine.now(), Event.LLM_FAILED, one.docid, detail)


def _is_there(row: Row) -> bool:
    return row.status in FOUND
