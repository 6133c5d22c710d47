"""Show messages to a language model later, one by one, in a thread of its own.

A message waits as a row that is written with its turn, see ``ledger.model_rows``. A thread takes a
message, reads it again, asks the model, and writes what it pointed at. So what one message taught
is written before the next one is read.

- A process takes a message for longer than a request may last. If it dies or sleeps, another one
  takes the message after that, and what the first one still writes is ignored.
- A message that fails, or during which a process died, has three attempts. After a failure it is
  due later, so that it does not hold up the others.
- If the model or the disk does not work, that is no attempt: the messages wait on, and the thread
  rests, longer each time.
- ``close`` waits for the request, and gives the message back if it had no reply.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta, timezone
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING
from zlib import crc32

from memento.base.clock import from_micros
from memento.base.forks import whole
from memento.errors import MementoError, StoreClosed, StoreError, StoreUnusable
from memento.holding import Hold
from memento.learning.model_now import Part, assisted, is_open, parts_of
from memento.learning.reading import Message, Reader, answered_by, key_of
from memento.learning.teaching import Shown, taught_again, turn_row, was_asked
from memento.ledger import changes, memories, model_rows
from memento.ledger.contract import Transaction, Work
from memento.ledger.model_rows import Waiting
from memento.ledger.rows import Row, docid_of, to_memory
from memento.llm.apart import abandon, is_apart
from memento.llm.asking import STOPPED, lacking_for, model_of
from memento.observe.pointing import task_of
from memento.text.words import STOP_WORDS, words
from memento.tiers.indexer import leave
from memento.types import Event, Trust
from memento.views import View
from memento.write.steps import FOUND, holds

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
"""Time after that of the model until another process takes a message, microseconds."""
OUTSIDE = frozenset({"unreachable", "refused", "timeout"})
"""Failures that are not due to the message, unless the one before it had a reply."""
MORE_SECONDS = 1.0
"""Time for the thread to end after its request was abandoned."""
FULL = f"{model_rows.MOST} messages of this namespace are waiting for the language model"


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
    """Queue the messages that a model is to see, and mark them.

    One that is not stored word for word cannot wait: it was cut into pieces, or held a secret. Nor
    can one that answers a turn of the assistant that is not. No model sees a message that was said
    before a request to forget.

    Args:
        work: The transaction that writes their turns.
        reader: The reader of the messages.
        read: The messages.
        rows: The rows of the turns.
        mode: ``assist`` or ``full``.
        kept: Whether the call stored the turns itself.
        run: Number of the change that the call made, or None.
    """
    rev = memories.latest_rev(work.db, work.ns)
    said_at = from_micros(reader.moment)  # its zone is noted as seconds from UTC
    offset = None if reader.zone is None else said_at.astimezone(reader.zone).utcoffset()
    asked = max((at for at, one in enumerate(read) if one.requests), default=-1)
    for at, message in enumerate(read):
        message.waits = message.refused = False
        message.private = message.private or at <= asked
        turn = turn_row(work, message, rows) if is_open(message, mode) else None
        if turn is None or turn.text != message.text or not (kept or turn.scope == reader.scope):
            continue
        docids = _known_to(work, message)
        if docids is None:
            continue
        one = Waiting(
            docid=turn.docid,
            at=reader.moment,
            since=work.now,
            rev=rev,
            due=max(0, work.now),
            text=_sum_of(turn),
            answered=docids.get(message.answered_id or ""),
            unplaced={str(start): docids[held] for start, held in message.unplaced.items()},
            run=run,
            offset=0 if offset is None else int(offset.total_seconds()),
        )
        message.waits = model_rows.put(work.db, one)
        message.refused = not message.waits


def _known_to(work: Work, message: Message) -> dict[str, int] | None:
    """Return the row ids of the memories that a message refers to, by their ids.

    None if the turn that it answers is not stored word for word.
    """
    known = [*message.unplaced.values(), *filter(None, [message.answered_id])]
    found = memories.by_ids(work.db, work.ns, known)
    answered = found.get(message.answered_id or "")
    if (
        answered is not None
        and message.answered is not None
        and answered.text != message.answered.text
    ):
        return None
    return {one: row.docid for one, row in found.items()}


def attend(engine: Engine) -> None:
    """Arrange that waiting messages are shown to the model in quiet moments."""
    llm = engine.config.llm
    if not llm.background or llm.model is None or engine.ledger.read_only:
        return
    if engine.background.attendant is not None:
        return  # of another manager that shares the store
    engine.background.attendant = Attendant(engine)
    if engine.ledger.read(model_rows.any_waits):
        engine.indexer.start()


class Attendant:
    """Shows the waiting messages of a store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._turn = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loading = self._stopped = False
        self._works = False  # whether the last message had a reply
        self._failures = 0  # since then, not due to a message
        self._rests_until = 0
        self._taken: Waiting | None = None

    def renewed(self) -> Attendant:
        """Return the attendant of a forked child: it has no thread, and has taken nothing."""
        return Attendant(self._engine)

    def look(self) -> None:
        """Start showing messages if some are ready; do not wait for it."""
        if not self._turn.locked() and self._ready(everything=False):
            self._begin(everything=False)

    def finish(self, timeout: float | None) -> bool:
        """Show all messages that may be shown, even those that came just now.

        Args:
            timeout: Seconds to wait at most, or None.

        Returns:
            Whether that was done in time. False in the thread of a request, which would wait for
            itself.
        """
        if is_apart():
            return False
        if not self.busy(begin=False):
            return True
        thread = self._begin(everything=True)
        thread.join(timeout)
        return not thread.is_alive()

    def busy(self, *, begin: bool = True) -> bool:
        """Return whether messages are being shown, or are ready to be.

        Args:
            begin: Whether to start showing those that are ready.
        """
        if self._turn.locked():
            return True
        owes = self._ready(everything=True) is not None
        if owes and begin:
            self._begin(everything=True)
        return owes

    def stop(self, timeout: float) -> None:
        """Start no other request, wait for the present one, give back a message without a reply.

        A thread that is still loading the packaged reader is not waited for.

        Args:
            timeout: Seconds to wait at most.
        """
        self._stopped = True
        thread, ends = self._thread, monotonic() + timeout
        if thread is not None and thread is not threading.current_thread():
            while thread.is_alive() and not self._loading and monotonic() < ends:
                thread.join(0.01)
            while thread.is_alive() and not self._loading and monotonic() < ends + MORE_SECONDS:
                abandon(thread)
                thread.join(0.01)
            if thread.is_alive():
                leave(thread)
        with suppress(MementoError):  # else another process takes it when the time is up
            self._give_back(self._engine.now())

    def _ready(self, *, everything: bool) -> tuple[str, Waiting | None] | None:
        """Return the message that is due for longest, see ``model_rows.first``; None for none.

        With ``everything`` also one that came just now.
        """
        now = self._engine.now()
        if self._stopped or now < self._rests_until:
            return None
        upto = now if everything else now - int(self._engine.config.llm.quiet_seconds * SECOND)
        return self._engine.ledger.read(lambda c: model_rows.first(c, upto, now))

    def _begin(self, *, everything: bool) -> threading.Thread:
        def run() -> None:
            with self._turn:
                self._thread = threading.current_thread()
                self._run(everything=everything)

        thread = threading.Thread(target=run, name="memento-assist", daemon=True)
        thread.start()
        return thread

    def _run(self, *, everything: bool) -> None:
        """Show messages until none is ready; after an error they wait on."""
        try:
            if not self._stopped:
                self._load()
            while first := self._ready(everything=everything):
                self._show_next(*first)
        except StoreClosed:
            return  # what was taken was given back
        except Exception as error:  # noqa: BLE001 - one message stops no other
            _log(error, "messages are waiting for the language model")
            self._rest()
            with suppress(MementoError):  # else another process takes it when the time is up
                self._give_back(self._rests_until + PAUSE)

    def _load(self) -> None:
        """Load what a request needs, which a fork must not interrupt."""
        self._loading = True
        with whole():
            for module in ("asyncio", "memento.observe.reader"):
                import_module(module)
            model_of(self._engine.config.llm)
        self._loading = False

    def _rest(self) -> None:
        """Show nothing for a while, longer each time."""
        pause = min(DAY, PAUSE * 4 ** min(self._failures, 9))
        self._failures += 1
        self._works = False
        self._rests_until = self._engine.now() + pause

    def _show_next(self, name: str, one: Waiting | None) -> None:
        """Show a message, if it is sound and no other process was first."""
        taken = self._engine.ledger.write(lambda c: self._take(c, name, one))
        if taken is None:
            return
        try:
            if (read := self._read(taken)) is None:
                self._engine.ledger.write(lambda c: model_rows.swap(c, taken, None))
            else:
                self._show(taken, *read)
        except StoreClosed:
            raise
        except Exception as error:  # noqa: BLE001 - one message stops no other
            _log(error, "a message could not be sent to the language model")
            outside = isinstance(error, StoreError) and not isinstance(error, StoreUnusable)
            self._put_off(taken, "error", outside=outside)
        self._taken = None

    def _take(self, session: Transaction, name: str, one: Waiting | None) -> Waiting | None:
        """Note in the ledger that this process takes a message; None if it may not.

        A damaged row is dropped. If the process that had the message never gave it back, that
        counts as an attempt.
        """
        if one is None:
            model_rows.drop_named(session, [name])
            return None
        attempts = one.attempts + bool(one.token)
        if attempts >= TRIES:
            self._give_up(session, replace(one, attempts=attempts), one, "died")
            return None
        seconds = min(self._engine.config.llm.seconds * SECOND, DAY)
        until = self._engine.now() + int(seconds) + MARGIN
        token = 1 + int.from_bytes(os.urandom(7))
        mine = replace(one, attempts=attempts, due=until, token=token)
        if not model_rows.swap(session, one, mine):
            return None
        self._taken = mine  # before the commit, for ``stop``
        return mine

    def _read(self, one: Waiting) -> tuple[Row, Part] | None:
        """Read a message again; None if a model must not see it, or may point at nothing."""
        engine = self._engine
        wanted = [*one.unplaced.values()] + ([] if one.answered is None else [one.answered])

        def job(session: Transaction) -> tuple[Row | None, dict[int, Row]]:
            found = memories.by_docids(session, one.ns, wanted)
            there = {docid: row for docid, row in found.items() if row.status in FOUND}
            return _turn_of(session, one, engine.now()), there

        turn, there = engine.ledger.read(job)
        if turn is None or not there.keys() >= {*one.unplaced.values()}:
            return None
        reader, message = self._message(one, turn, there)
        parts = [] if message.private else parts_of(engine, [(reader, message)])
        return (turn, parts[0]) if parts else None

    def _message(self, one: Waiting, turn: Row, there: dict[int, Row]) -> tuple[Reader, Message]:
        """Read a message with the time when it was said, so that later values stay later."""
        view = View(Hold(self._engine), self._engine.ledger.labels(one.ns))
        answered = None if one.answered is None else there.get(one.answered)
        origin = replace(to_memory(turn, view.namespace).source, parents=())
        zone = timezone(timedelta(seconds=one.offset)) if one.offset else None
        reader = Reader(view, turn.session, turn.scope, origin, one.at, given=True, zone=zone)
        said = None if answered is None else answered_by(answered)
        message = reader.message(turn.text, (turn.id,), answered=said, actor=turn.actor)
        message.unplaced = {int(start): there[docid].id for start, docid in one.unplaced.items()}
        return reader, message

    def _show(self, one: Waiting, turn: Row, part: Part) -> None:
        """Ask the model about a message that this process took, and write what it pointed at."""
        told, chosen, sent = assisted(self._engine, [part], "full")
        if told.failure == STOPPED:
            return self._give_back(self._engine.now())
        if told.failure == "spent":
            return self._wait_for_tomorrow(one)
        if not sent:
            return self._put_off(one, str(told.failure), outside=told.failure in OUTSIDE)
        self._write(one, turn, part, chosen, told.model)
        self._works, self._failures = True, 0
        return None

    def _write(
        self, one: Waiting, turn: Row, part: Part, chosen: Sequence[Shown], model: str
    ) -> None:
        """Write what a model pointed at in a message, if this process still has it.

        A sentence that may repeat what was taken back since the message came is not learned.
        """
        message = part.message

        def then(work: Work, _rows: list[Row]) -> list[Row]:
            stands = _turn_of(work.db, one, work.now) is not None
            if not model_rows.swap(work.db, one, None) or not stands:
                return []
            hidden = model_rows.hidden_since(work.db, one)
            kept = [shown for shown in chosen if not _was_taken_back(shown, hidden)]
            done = taught_again(work, kept, [message], {id(message): turn}, model, one.run)
            if one.run is None and done.change is not None:
                model_rows.join(work.db, one, done.change)
            return done.rows

        self._engine.add(part.reader.namespace, [], verb="observe", then=then)

    def _put_off(self, one: Waiting, reason: str, *, outside: bool) -> None:
        """Let a message wait on after a failure, or give it up."""
        attempts = one.attempts + (self._works or not outside)
        if outside:
            self._rest()
        due = self._rests_until if outside else self._engine.now()
        later = replace(one, attempts=attempts, token=0, due=due + PAUSE * 4**one.attempts)

        def put_off(session: Transaction) -> None:
            if attempts >= TRIES:
                self._give_up(session, later, one, reason)
            else:
                model_rows.swap(session, one, later)

        self._engine.ledger.write(put_off)

    def _wait_for_tomorrow(self, one: Waiting) -> None:
        """Let a message wait for the next day (UTC): a used-up limit is no failure.

        If the limits leave nothing for others either, all messages of the namespace wait.
        """
        engine = self._engine
        now = engine.now()
        tomorrow = (now // DAY + 1) * DAY
        lacking = lacking_for(
            task_of([]), ledger=engine.ledger, ns=one.ns, config=engine.config.llm, now=now
        )

        def put_off(session: Transaction) -> None:
            model_rows.swap(session, one, replace(one, due=tomorrow, token=0))
            if lacking is not None:
                model_rows.put_off(session, one.ns, now, tomorrow)

        engine.ledger.write(put_off)

    def _give_up(self, session: Transaction, last: Waiting, one: Waiting, reason: str) -> None:
        """Drop a waiting message, and log it; its turn and what it taught already stay."""
        if not model_rows.swap(session, one, None):
            return
        moment = from_micros(one.since).isoformat()
        log.warning("a message of %s was not sent to the language model: %s", moment, reason)
        detail = {"reason": reason, "attempts": last.attempts}
        memories.record(session, one.ns, self._engine.now(), Event.LLM_FAILED, one.docid, detail)

    def _give_back(self, due: int) -> None:
        """Let the message that this process took wait again, if there is one."""
        one, self._taken = self._taken, None
        if one is not None:
            back = replace(one, due=max(0, due), token=0)
            self._engine.ledger.write(lambda c: model_rows.swap(c, one, back))


def _log(error: Exception, what: str) -> None:
    """Log an error; an unexpected one with its traceback."""
    if isinstance(error, MementoError):
        log.warning("%s: %s", what, error)
    else:
        log.error("%s", what, exc_info=error)


def _was_taken_back(shown: Shown, hidden: Sequence[tuple[str | None, str]]) -> bool:
    """Return whether a sentence may repeat what was taken back: its slot, its words, one of them.

    In doubt, True.
    """
    key, said = key_of(shown.ready.lesson), shown.ready.lesson.text
    content = {*words(said)} - STOP_WORDS
    return any(
        (key is not None and key == slot) or said == text or not content.isdisjoint(words(text))
        for slot, text in hidden
    )


def _turn_of(session: Transaction, one: Waiting, now: int) -> Row | None:
    """Return the turn of a message; None if it must no longer be shown or teach anything.

    Then it was hidden, its text was changed, its observation was undone, or a model saw it
    meanwhile; or something was erased, which may have said the same.
    """
    if model_rows.erased_since(session, one):
        return None
    turn = memories.by_docids(session, one.ns, [one.docid]).get(one.docid)
    if turn is None or turn.status not in FOUND or turn.trust != Trust.USER:
        return None
    if not holds(turn, now) or _sum_of(turn) != one.text or was_asked(session, one.ns, turn):
        return None
    run = None if one.run is None else changes.find(session, one.ns, docid_of(one.ns, one.run))
    return None if run is not None and run.undone_by is not None else turn


def _sum_of(turn: Row) -> int:
    return crc32(turn.text.encode("utf-8", "surrogatepass"))
