"""Background thread that keeps the vector indexes up to date.

It processes the ledger's backlog: it embeds texts in small batches, writes the vectors to the
ledger, and then to the long tier. Each step can be repeated, so after a crash the work is done
again. Namespaces take turns; what a waiting question needs comes first (``queue``, ``work``), and a
running query before everything. After each round other work gets as much time as the round took, so
that neither waits for the end of a long backlog of the other.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from memento.config import IndexConfig
from memento.errors import MementoError, StoreClosed, TierUnavailable
from memento.ledger import vectors
from memento.ledger.checks import Sees, everyone
from memento.ledger.contract import Ledger, Moment
from memento.ledger.vectors import Owed
from memento.protocols import Progress
from memento.tiers.folder import Taken
from memento.tiers.queue import SHORT, Turns, Wish, Wishes, within
from memento.tiers.work import OPS, UNFIT, Refused, Work, tell

if TYPE_CHECKING:
    from memento.tiers.long_tier import Index
    from memento.tiers.store_embedder import StoreEmbedder

log = logging.getLogger("memento.tiers.indexer")

BITE_TEXTS = 16
"""Maximum number of texts embedded in one batch, after which waiting queries go first."""
BITE_CHARS = 8_192
"""Maximum number of characters embedded in one batch; about 4 per token."""
INDEX_ROWS = 64
"""Rows written to the long tier at once."""
BEHIND_ROWS = 512
"""Backlog, in rows, above which the indexer gives way only to queries and no longer to a stream of
adds."""
SERVER_POLLS = 4
"""Maximum number of ``poll_seconds`` between two looks at a server where there was nothing to do.
With 32 workers, 3 to 5 transactions for each ``add`` were such looks."""
POLL_SECONDS = 0.2
"""Maximum interval, in seconds, at which a waiting caller checks a wish or the backlog."""
OPEN_SECONDS = 2.0
"""Age of the thread, in seconds, before which it opens the index only for a waiting caller:
importing Chroma takes a second of CPU, and a command of the shell ends before it could be fed."""
EXIT_SECONDS = 30.0
"""Maximum wait, in seconds, when the interpreter ends, for a thread that is still loading."""

_BLOCKS = {"embedder": {"embed"}, "long": {"index", "drop"}, "store": {"embed", "index", "drop"}}
"""Backlog operations that cannot be done while a part has a problem."""
GIVE_WAY = {False: 0.1, True: 0.25}
"""Maximum time, in seconds, to give way before each batch; longer while questions are expected."""
PLAN_BITES = 4
"""Batches planned at once, in characters; the next plan gives everybody a turn again."""
FEED_ROUNDS = 16
"""While texts are embedded, the index has its turn once in so many rounds, for as many batches,
because the backlog is then read from its beginning."""


class Indexer:
    """Processes the backlog in one daemon thread, started on first use.

    Args:
        ledger: The ledger with the backlog and the vectors.
        embedding: The embedder, or None to leave the work to a process that has one.
        open_index: Returns the open long tier, None if the store has none; called only from the
            background thread.
        index_lost: Returns whether the long tier's index is lost and must be rebuilt.
        chores: Does work that must not wait for the backlog; called before each batch.
        take_up: Puts new memories on the backlog: all of the given namespaces, or some of any.
        waiting: Returns whether there are new memories that are not on the backlog yet.
        aside: Does other work after each round, for as many seconds as the round took.
        housekeeping: Does maintenance in quiet moments; returns whether there is more to do now.
        embedded: Is told the namespaces that got vectors.
        busy: Returns whether a query is running now.
        streaming: Returns whether adds follow each other closely now.
        config: Sizes and pauses.
    """

    def __init__(
        self,
        ledger: Ledger,
        embedding: StoreEmbedder | None,
        open_index: Callable[[], Index | None],
        index_lost: Callable[[], bool],
        *,
        chores: Callable[[], None],
        take_up: Callable[[Sequence[int]], None],
        waiting: Callable[[], bool],
        aside: Callable[[float], bool],
        housekeeping: Callable[[], bool],
        embedded: Callable[[Iterable[int]], None],
        busy: Callable[[], bool],
        streaming: Callable[[], bool],
        config: IndexConfig,
    ) -> None:
        self._ledger, self._config = ledger, config
        self._open_index, self._index_lost = open_index, index_lost
        self._chores, self._housekeeping, self._aside = chores, housekeeping, aside
        self._take_up, self._waiting = take_up, waiting
        self._busy, self._streaming = busy, streaming
        self.wishes = Wishes(ledger)
        self._refused = Refused(ledger)
        self._turns = Turns(ledger)
        self._embeds = embedding is not None
        self._added = False  # since the last look
        self._work = Work(ledger, embedding, self.wishes, self._refused, embedded)
        self._express = Express(ledger, self._work, take_up, self)
        self._wanted = False
        self._loading = False
        self._rounds = 0
        self._behind = False
        self._turn = threading.Lock()
        self._pausing = 0
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._settling = threading.RLock()
        self._settled = threading.Condition(self._settling)  # only waits; see ``forks``
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.trouble: dict[str, str] = {}
        """Parts that do not work at present: ``embedder``, ``long`` or ``store`` to the reason.

        No reason names or quotes a memory. Problems of single texts are in ``trouble_for``.
        """
        self._pauses: dict[str, tuple[float, float]] = {}  # time of next try, last pause

    def start(self) -> None:
        """Start the thread if it is not running, and tell it that there is work."""
        if self._thread is None or not self._thread.is_alive():  # each add calls this: no lock
            with self._lock:
                if not self._stopping and (self._thread is None or not self._thread.is_alive()):
                    self._wanted |= self._embeds and self._index_lost()
                    soon = time.monotonic() + OPEN_SECONDS
                    self._pauses["long"] = (soon, self._config.retry_seconds / 2)
                    run = threading.Thread(target=self._run, name="memento-indexer", daemon=True)
                    self._thread = run
                    run.start()
        self._added = True
        if self._embeds and not self._wake.is_set():
            self._wake.set()

    def trouble_for(self, sees: Sees) -> dict[str, str]:
        """Return the present problems, as far as they concern the namespaces a caller sees."""
        found = dict(self.trouble)
        if "embedder" not in found and (why := self._refused.told(sees)):
            found["embedder"] = why
        return found

    def refused_unseen(self, sees: Sees) -> int:
        """Count the texts that the embedder refused in namespaces that the caller does not see."""
        return self._refused.unseen(sees)

    def wait(
        self,
        timeout: float | None,
        *,
        sees: Sees = everyone,
        each: Callable[[], None] | None = None,
    ) -> bool:
        """Wait until the backlog is processed or cannot be; return whether it is.

        Args:
            timeout: Seconds to wait at most, or None.
            sees: The caller's namespaces; refused texts of other namespaces are not waited for.
            each: Called repeatedly during the wait.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            self.start()
            if each is not None:
                each()
            with self._settling:
                if (done := self.drained(sees)) is not None:
                    return done
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._settled.wait(POLL_SECONDS if left is None else min(POLL_SECONDS, left))

    def drained(self, sees: Sees) -> bool | None:
        """Return True if the backlog is processed, False if it cannot be, None if it may be."""
        if not self._owes(sees):
            return True
        if "long" not in self.trouble and self._pauses.pop("long", None) is not None:
            self._wake.set()
        if self._stopping or ((self.trouble or self._refused) and self._given_up()):
            return False
        return None

    def wait_for(self, wish: Wish, timeout: float) -> bool:
        """Have what a question needs embedded first, and wait for it; return whether it is done."""
        deadline = time.monotonic() + timeout
        with self.wishes.hold(wish):
            while (done := self.look(wish)) is None:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                wish.wait(min(POLL_SECONDS, left))
        return done

    def look(self, wish: Wish) -> bool | None:
        """Return True if a held wish is fulfilled, False if it cannot be, None if it still may be.

        Call it when the wish rings, and every `POLL_SECONDS`: another process may have fulfilled
        it.
        """
        if self.wishes.fulfilled(wish):
            return True
        refused = {docid for docid, _ in self._refused.lines()}
        hopeless = bool(refused) and refused.issuperset(wish.left)
        blocked = self._stopping or self._pausing or hopeless
        if blocked or self.trouble.keys() & {"embedder", "store"}:
            return False
        self._express.start()
        self.start()
        return None

    def stop(self, timeout: float) -> None:
        """End the threads after their current batches; the rest stays in the backlog.

        A thread that is still loading the model or Chroma has no batch; it is not waited for and
        ends by itself later.
        """
        self._stop.set()
        self._wake.set()
        deadline = time.monotonic() + timeout
        self._express.stop()
        self.wishes.ring()
        _join(self._thread, lambda: self._loading, deadline)
        _join(self._express.thread, lambda: self._express.loading, deadline)

    @property
    def _stopping(self) -> bool:
        return self._stop.is_set()

    def _owes(self, sees: Sees = everyone) -> bool:
        def on_backlog() -> bool:
            if others := self._refused.unseen(sees):
                return sum(self._ledger.read(vectors.backlog_size).values()) > others
            return bool(self._ledger.read(lambda c: vectors.owed(c, ("embed", *OPS), 1)))

        return self._embeds and (
            self._wanted
            or on_backlog()
            or self._waiting()
            or on_backlog()  # memories put on the backlog since the first check
        )

    def _given_up(self) -> bool:
        """Return whether the rest of the backlog cannot be processed while the problem lasts."""
        left = self._ledger.read(vectors.backlog_size)
        stuck = {op for name in list(self.trouble) for op in _BLOCKS[name]}
        if left.get("embed", 0) <= len(self._refused.owed()):
            stuck.add("embed")
        return set(left) <= stuck

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the threads, after their current batches, while the block runs."""
        with self._lock:
            self._pausing += 1
        try:
            with self._turn, self._express.turn:
                yield
        finally:
            with self._lock:
                self._pausing -= 1

    def may_embed(self) -> bool:
        """Return whether the embedder may be used now: nobody paused it, and it works."""
        return not self._pausing and self._ready("embedder") and self._ready("store")

    def want_index(self) -> None:
        """Open the long tier even without a backlog for it, because a search would use it."""
        if not self._wanted:
            self._wanted = True
            self.start()

    def retry(self) -> None:
        """Forget earlier failures and try again at once."""
        self.trouble.clear()
        self._refused.clear()
        self._pauses.clear()
        self.start()

    def _run(self) -> None:
        self._ledger.commit_separately()
        self._stop.wait(self._config.start_seconds)
        idle: Moment | None = None  # when a round found nothing to do
        told, pause = True, self._config.poll_seconds
        while not self._stopping:
            try:
                moment = self._ledger.moment()
                news = told or moment != idle or bool(self.wishes) or self._tries_again()
                news = news or self._turns.deferred
                told = self._ready("store") and self._go_on(news=news)
                if told:
                    pause = self._config.poll_seconds
                    continue
                idle = moment
            except StoreClosed:
                return
            except BaseException as error:  # noqa: BLE001 - recorded; the thread must go on
                self.failed("store", error)
            with self._settling:
                self._settled.notify_all()
            told = self._wake.wait(pause)
            pause = self._next_pause(pause, told=told)
            self._stop.wait(self._config.start_seconds)  # a burst of writes is processed together
            if told:  # else a message said just now would be lost
                self._wake.clear()

    def _next_pause(self, pause: float, *, told: bool) -> float:
        """Return how long to wait for the next message before looking for writes of others.

        The processes of a server do their own work: each would look through what all others write.
        """
        added, self._added = self._added, False
        if told or added or self.trouble or self._ledger.in_file:
            return self._config.poll_seconds
        return min(2 * pause, SERVER_POLLS * self._config.poll_seconds)

    def _go_on(self, *, news: bool) -> bool:
        """Do one portion of work, once not ``paused``; return whether there may be more now."""
        while self._pausing and not self._stopping:
            time.sleep(0.001)
        with self._turn:
            self._chores()
            began = time.monotonic()
            if news and self._round():
                if "store" not in self.trouble and not self._stopping:
                    self._aside(time.monotonic() - began)
                return True
            more = self._housekeeping()
            self.works("store")
            return more and not self._stopping

    def _round(self) -> bool:
        """Do some of each kind of work on the backlog; return whether there may be more.

        False only if neither kind found a line that can be processed now.
        """
        if not self._embeds:
            return False
        self._behind = self._ledger.read(lambda c: vectors.is_behind(c, BEHIND_ROWS))
        self._give_way()
        self._take_up(())
        self._rounds += 1
        worked = self._ready("embedder") and self._embed_bite()
        has_turn = not worked or self._rounds % FEED_ROUNDS == 0
        if has_turn and self._ready("long") and not self._stopping:
            worked = self._feed_index() or worked
        return worked

    def _embed_bite(self) -> bool:
        """Embed the next lines; before each batch, the long texts that questions wait for."""
        chars = PLAN_BITES * BITE_CHARS
        with self._turns.shared(INDEX_ROWS, chars, self._refused.lines()) as lines:
            return bool(lines) and self._embed(lines)

    def _embed(self, lines: Sequence[Owed]) -> bool:
        """Embed some lines; return whether the embedder works."""
        try:
            with self._at_leisure():
                model = self._work.ready()
            for bite in self._bites(lines):
                for part in self._parts(bite):
                    self._give_way()
                    self._serve_waiting(model)
                    if not self._stopping:
                        still = self._work.still([line.docid for line in part])
                        if still:
                            self._work.do(model, still)
            with self._settling:
                self._settled.notify_all()
        except UNFIT as error:
            self.failed("embedder", error)
            return False
        self.works("embedder")
        return True

    def _serve_waiting(self, model: int) -> None:
        """Embed the long texts that questions wait for, one at a time; the questions take turns."""
        while not self._stopping and (docids := self.wishes.next(1, long=True)):
            if lines := self._work.still(docids):
                self._work.do(model, lines)
            self.wishes.embedded(docids)

    def _parts(self, bite: Sequence[Owed]) -> Iterator[Sequence[Owed]]:
        """Split a batch while questions are expected, so that it does not delay their texts."""
        while bite:
            part = within(bite, SHORT) if self.wishes.expected() else bite
            yield part
            bite = bite[len(part) :]

    def _bites(self, lines: Sequence[Owed]) -> list[list[Owed]]:
        """Cut lines into batches of texts of similar length, short ones first."""
        bites: list[list[Owed]] = [[]]
        for line in sorted(lines, key=lambda line: len(line.text)):
            size = len(bites[-1]) + 1
            most = size <= BITE_TEXTS
            if size > 1 and not (most and size * len(line.text) <= BITE_CHARS):
                bites.append([])
            bites[-1].append(line)
        return bites

    def _feed_index(self) -> bool:
        """Hand lines of the backlog on to the index, a batch at a time; one machine does it."""
        lines: Sequence[Owed] = self._ledger.read(lambda c: vectors.owed(c, OPS, 1))
        if not lines and not self._wanted:
            self._pauses.pop("long", None)
            return False
        try:
            for turn in range(FEED_ROUNDS):
                if turn and (not lines or self._stopping or self._pausing or self.wishes):
                    break  # a caller waits for this thread, and a long batch would take too long
                self._give_way()
                with self._at_leisure():
                    index, model = self._open_index(), self._work.model()
                self._wanted = False
                with self._ledger.claimed(["feed"]) as mine:
                    self._turns.deferred |= not mine
                    read = partial(vectors.owed, ops=OPS, limit=INDEX_ROWS)
                    if lines := self._ledger.read(read) if mine else []:
                        self._hand_on(index, lines, model)
        except (TierUnavailable, *UNFIT) as error:
            self.failed("long", error)
            return False
        self.works("long")
        return bool(lines)

    def _hand_on(self, index: Index | None, lines: Sequence[Owed], model: int) -> None:
        """Write some lines to the index, if there is one, and remove them from the backlog."""
        if index is not None:
            tell(self._ledger, index, lines, model)
        fed = None if index is None else index.mark
        settle = partial(vectors.settle, lines=lines, fed=fed)
        if not self._ledger.write(settle, spaces={one.ns for one in lines}) and index is not None:
            index.renounce()

    @contextmanager
    def _at_leisure(self) -> Iterator[None]:
        """Mark that the block only loads: no work is lost if the process ends meanwhile."""
        self._loading = True
        try:
            yield
        finally:
            self._loading = False

    def failed(self, where: str, error: BaseException) -> None:
        """Record a failure of a part and pause it, longer each time, up to a minute."""
        if not isinstance(error, MementoError):
            if not self._is_ending():
                log.error("unexpected error in the indexer, which continues", exc_info=error)
            unknown = f"{type(error).__name__}, see the log"  # its text may quote a memory
            error = MementoError(unknown)
        if self.trouble.get(where) != str(error) and not self._is_ending():
            log.log(logging.INFO if isinstance(error, Taken) else logging.WARNING, "%s", error)
        self.trouble[where] = str(error)
        _, pause = self._pauses.get(where, (0.0, self._config.retry_seconds / 2))
        pause = min(60.0, pause * 2)
        self._pauses[where] = (time.monotonic() + pause, pause)
        self.wishes.ring()

    def _is_ending(self) -> bool:
        """Return whether the store or the program is ending, when libraries fail to load."""
        return self._stopping or not threading.main_thread().is_alive()

    def works(self, where: str) -> None:
        """Clear the problems and pauses of a part, as it works."""
        self.trouble.pop(where, None)
        self._pauses.pop(where, None)

    def _ready(self, where: str) -> bool:
        not_before, _ = self._pauses.get(where, (0.0, 0.0))
        return time.monotonic() >= not_before

    def _tries_again(self) -> bool:
        """Return whether a failed part has paused for long enough to be tried again."""
        return any(self._ready(where) for where in {*self.trouble, *self._pauses})

    def _give_way(self) -> None:
        """Wait, up to a limit, for running queries and, if the backlog is short, for adds."""
        deadline = time.monotonic() + GIVE_WAY[self.wishes.expected()]
        while (
            (self._busy() or self.wishes.urgent() or (self._streaming() and not self._behind))
            and not self._stopping
            and time.monotonic() < deadline
        ):
            time.sleep(0.001)


class Express:
    """Embeds the short texts that questions wait for, in one daemon thread of its own.

    ``take_up`` puts the new memories of some namespaces on the backlog; the indexer pauses the
    thread and records its failures.
    """

    def __init__(
        self, ledger: Ledger, work: Work, take_up: Callable[[Sequence[int]], None], indexer: Indexer
    ) -> None:
        self._ledger, self._work, self._wishes = ledger, work, work.wishes
        self._take_up, self._indexer = take_up, indexer
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._lock = threading.Lock()
        self._stopping = False
        self.turn = threading.Lock()
        """Held during each batch; a caller that holds it pauses this thread."""
        self.loading = False
        """Whether it loads the model, so that no work is lost if the process ends."""
        self.thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread if it is not running, and tell it that a question waits."""
        with self._lock:
            if not self._stopping and (self.thread is None or not self.thread.is_alive()):
                run = threading.Thread(target=self._run, name="memento-express", daemon=True)
                self.thread = run
                run.start()
        self._bell.put(None)

    def stop(self) -> None:
        """Tell the thread to end after its current batch; do not wait for it."""
        with self._lock:
            self._stopping = True
        self._bell.put(None)

    def _run(self) -> None:
        self._ledger.commit_separately()
        while not self._stopping:
            try:
                if self._serve():
                    continue
            except StoreClosed:
                return
            except UNFIT as error:
                self._indexer.failed("embedder", error)
            except BaseException as error:  # noqa: BLE001 - recorded; the thread must go on
                self._indexer.failed("store", error)
            self._bell.get()
            while not self._bell.empty():  # one or several rings
                self._bell.get()

    def _serve(self) -> bool:
        """Embed one batch of what questions wait for; return whether there may be more."""
        if not self._wishes or not self._indexer.may_embed():
            return False
        with self.turn:
            if new := self._wishes.not_taken_up():
                self._take_up(list(dict.fromkeys(wish.ns for wish in new)))
                for wish in new:
                    wish.taken_up = True
            docids = self._wishes.next(BITE_TEXTS, long=False)
            found = self._work.still(docids)
            self._wishes.embedded(set(docids).difference(line.docid for line in found))
            if lines := within(found, SHORT):  # the others stay for the next batch
                self.loading = True
                try:
                    model = self._work.ready()
                finally:
                    self.loading = False
                self._work.do(model, lines)
                self._indexer.works("embedder")
        return bool(docids)


def _join(thread: threading.Thread | None, loading: Callable[[], bool], deadline: float) -> None:
    """Wait for a thread to end, until ``time.monotonic`` reaches a deadline or it is loading."""
    if thread is None or thread is threading.current_thread():
        return
    while thread.is_alive() and not loading() and time.monotonic() < deadline:
        thread.join(0.01)
    if thread.is_alive():
        leave(thread)


def leave(thread: threading.Thread) -> None:
    """Make the end of the process wait for a thread that may be inside a library."""
    _left.add(thread)


_left: weakref.WeakSet[threading.Thread] = weakref.WeakSet()


@atexit.register
def _wait_for_the_left() -> None:
    """Wait for the threads that are still loading libraries.

    An interpreter that ends stops a thread where it returns to Python. Inside the C++ code of an
    inference runtime that aborts the whole process, with an exit status of failure.
    """
    for thread in list(_left):
        thread.join(EXIT_SECONDS)


A = TypeVar("A")

EACH = 100
"""Items from one report to the next."""
SECONDS = 0.5
"""Time from one report of a backlog to the next: counting a long one takes milliseconds."""


def told(items: Sequence[A], progress: Progress | None) -> Iterator[A]:
    """Yield items; report the number taken so far before the first and each hundredth.

    >>> list(told("ab", lambda done, total: print(done, total)))
    0 2
    ['a', 'b']
    """
    for at, item in enumerate(items):
        if progress is not None and at % EACH == 0:
            progress(at, len(items))
        yield item


class Remaining:
    """Reports to ``progress`` how much of a backlog is done, while others may add to it."""

    def __init__(self, left: Callable[[], int], progress: Progress) -> None:
        self._count, self._progress = left, progress
        self._left = self._total = left()
        self._next = 0.0

    def glance(self) -> None:
        """Report, unless the last report was less than `SECONDS` ago."""
        if time.monotonic() >= self._next:
            self.report()
            self._next = time.monotonic() + SECONDS

    def report(self) -> None:
        """Report how many of the items are done; new items add to the total."""
        left = self._count()
        self._total += max(0, left - self._left)
        self._left = left
        self._progress(self._total - left, self._total)
