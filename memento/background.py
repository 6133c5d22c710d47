"""The jobs of the background thread other than indexing, and the calls that have priority.

They log retrievals, write the snapshot of the short tier and outlines, add new rows to the full
text, compare new statements with earlier ones (``write.settling``, ``write.succession``), show
messages to a language model, sum up uses and verdicts, sleep, free disk space, and finish erasures.
No call waits for them, and memories are found without them; what they find out, such as
contradictions and strength, counts in later answers. `Background` runs them in order.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from typing import TYPE_CHECKING, Protocol

from memento.base.lazy import later
from memento.config import Auto, Config
from memento.errors import EmbedderError, InvalidInput, MissingExtra
from memento.ledger import erasure, memories, namespaces, past
from memento.ledger.contract import Ledger, Moment, Rules, Transaction, Work
from memento.ledger.rows import Row
from memento.types import Event, Tier

if TYPE_CHECKING:
    from memento.ledger import claim_rows, co_use, learnt_weights, strength_fold
    from memento.sleep import run
    from memento.tiers.ring import ShortTier
    from memento.upkeep.erase import Eraser
    from memento.write import settling, succession
    from memento.write.succession import Earlier
else:
    claim_rows, co_use, learnt_weights, strength_fold = [
        later(f"memento.ledger.{name}")
        for name in ("claim_rows", "co_use", "learnt_weights", "strength_fold")
    ]
    run = later("memento.sleep.run")
    settling = later("memento.write.settling")
    succession = later("memento.write.succession")

log = logging.getLogger("memento.background")

CHECKPOINT_BYTES = 4 * 1024 * 1024
"""Size of the write-ahead log from which it is checkpointed."""
ACCESSES = 10_000
"""Maximum number of retrievals that wait in RAM to be logged; the oldest are dropped."""
TAKEN = 8
"""Namespaces of which full text takes a bite in one transaction, while questions wait: usually a
row or two of each."""
BITE_SECONDS = 0.002
"""Time of one transaction in which full text takes bites of namespaces, after which it begins no
other; an ``add`` may wait for it. A commit of its own for each namespace would take as long."""
SLEEPS = 3_600_000_000
"""Time between two sleeps of the background thread, microseconds."""
SLEEP_SECONDS = 2.0
"""Maximum seconds of a sleep of the background thread, before it looks for other work."""
STREAM_SECONDS = 0.005
"""Adds at shorter intervals (seconds) are a stream, to which the background thread gives way."""
UNCOMPARED = 512
"""Revisions of a namespace that wait to be compared from which a stream of adds is given way to no
longer."""
HELD_SECONDS = 2.0
"""Time for which queries and a stream of adds hold statements back; then they have a turn, so that
nothing is held back for ever."""
TURN_SECONDS = 0.1
"""Seconds of a turn, after which no further batch is started; there is at least one."""
QUIET_SECONDS = 0.25
"""Seconds for which statements are compared in a quiet moment, before looking for other work."""
AGAIN_SECONDS = 60.0
"""Seconds until changes are looked for again after the model or the embedder did not work."""
UNFOLDED = 524_288
"""Maximum number of bytes by which folding the log may make the file grow: on a full disk the
reserve pays, of which this is half."""


class Attends(Protocol):
    """Shows messages that wait to a language model, in a thread of its own."""

    def look(self) -> None:
        """Start to show messages if some are ready, without waiting."""

    def finish(self, timeout: float | None) -> bool:
        """Show all messages that may be shown now; return whether that was done in time."""

    def busy(self) -> bool:
        """Return whether messages are being shown or could be; if so, start."""

    def stop(self, timeout: float) -> None:
        """Start no further request, and wait at most ``timeout`` seconds for the current one."""

    def renewed(self) -> Attends:
        """Return an equivalent object for a forked child."""


class Traffic:
    """Tracks the calls that have priority over the jobs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queries = 0
        self.added = -inf
        """When this process added a memory last, by ``time.monotonic``."""

    @contextmanager
    def query(self) -> Iterator[None]:
        """Make the jobs give way during the block."""
        with self._lock:
            self._queries += 1
        try:
            yield
        finally:
            with self._lock:
                self._queries -= 1

    def busy(self) -> bool:
        """Return whether a query is in flight."""
        return self._queries > 0

    def streaming(self) -> bool:
        """Return whether adds follow each other closely now."""
        return time.monotonic() - self.added < STREAM_SECONDS


class Accesses:
    """Retrievals that are not in the log yet."""

    def __init__(self, ledger: Ledger, now: Callable[[], int]) -> None:
        self._ledger = ledger
        self._now = now
        self._lock = threading.Lock()
        self._logging = threading.Lock()  # held while entries are written to the log
        self._waiting: deque[tuple[int, int, list[str]]] = deque(maxlen=ACCESSES)

    def note(self, ns: int, ids: list[str]) -> None:
        """Keep in RAM which memories were retrieved, until ``log``."""
        with self._lock:
            self._waiting.append((ns, self._now(), ids))

    def log(self) -> None:
        """Write the retrievals to the log.

        If another thread is writing some, wait until those are written too.
        """
        with self._logging:
            with self._lock:
                waiting = list(self._waiting)
                self._waiting.clear()
            if not waiting:
                return
            spaces = {ns for ns, _, _ in waiting}
            try:
                self._ledger.write(lambda connection: _log(connection, waiting), spaces=spaces)
            except BaseException:  # they wait for the next write
                with self._lock:
                    self._waiting = deque((*waiting, *self._waiting), maxlen=ACCESSES)
                raise


def _log(connection: Transaction, retrieved: Sequence[tuple[int, int, list[str]]]) -> None:
    for ns, at, ids in retrieved:
        if there := erasure.still_there(connection, ns, ids):
            memories.record(connection, ns, at, Event.RETRIEVED, None, {"ids": there})


class FullText:
    """Adds new rows to the full-text index, and with that to the backlog of the embedder."""

    def __init__(self, ledger: Ledger, traffic: Traffic) -> None:
        self._ledger = ledger
        self._traffic = traffic
        self.fresh: set[int] = set()
        """Namespaces this process added to since full text last took a bite of them."""

    def take_up(self, spaces: Sequence[int] = ()) -> None:
        """Index some new rows of the namespaces that this process added to, or else of all.

        If namespaces are given, for which a query waits, index all rows of those and no others.
        """
        for at in range(0, len(spaces), TAKEN):
            while self.bite(spaces[at : at + TAKEN]):
                pass
        if spaces:
            return
        fresh = [self.fresh.pop() for _ in range(len(self.fresh))]
        spaces = fresh or self._behind()
        while spaces:
            taken, more = self._bites(spaces, BITE_SECONDS)
            spaces = spaces[taken:]
            self.fresh.update(more)

    def waiting(self) -> bool:
        """Return whether the full-text index lacks any row."""
        return bool(self._behind())

    def catch_up(self) -> None:
        """Catch up, a little at a time, until a query comes."""
        spaces = self._behind()
        while spaces and not self._traffic.busy():
            taken, more = self._bites(spaces, BITE_SECONDS)
            spaces = spaces[taken:] + more

    def merge(self) -> None:
        """Merge the segments of the index, until a query comes."""
        while not self._traffic.busy() and self._ledger.write(lambda c: c.words.merge()):
            pass

    def bite(self, spaces: Sequence[int]) -> bool:
        """Index some rows of each namespace; return whether any has more."""
        return bool(self._bites(spaces, inf)[1])

    def _bites(self, spaces: Sequence[int], seconds: float) -> tuple[int, list[int]]:
        """Index some rows of as many namespaces as there is time for in one transaction.

        Returns:
            The number of namespaces reached, at least one, and those that have more rows.
        """

        def job(connection: Transaction) -> tuple[int, list[int]]:
            words, more = connection.words, []
            until = time.monotonic() + seconds
            for taken, ns in enumerate(spaces, start=1):
                if words.catch_up(ns, words.at_once):
                    more.append(ns)
                if time.monotonic() >= until:
                    return taken, more
            return len(spaces), more

        return self._ledger.write(job, spaces=spaces)

    def _behind(self) -> list[int]:
        return self._ledger.read(lambda c: c.words.behind())


class Statements:
    """Compares new statements with earlier ones, see ``write.settling``."""

    def __init__(
        self,
        ledger: Ledger,
        words: FullText,
        traffic: Traffic,
        now: Callable[[], int],
        config: Config,
    ) -> None:
        self._ledger, self._words, self._traffic = ledger, words, traffic
        self._now, self._config = now, config
        self.fresh: set[int] = set()
        """Namespaces this process changed since their statements were last compared."""
        self.turn = threading.Lock()
        """Held by the thread that compares."""
        self._held = inf  # when comparing was last possible, or began to wait
        self._asked_all = False

    def compares(self) -> bool:
        """Return whether statements are compared at all."""
        return not self._ledger.read_only and bool(self._config.conflicts.pairs)

    def settle(self, *, gives_way: bool = True, seconds: float = QUIET_SECONDS) -> bool:
        """Compare the new statements, a few in each transaction.

        Args:
            gives_way: Whether to stop while a query is in flight, and while adds follow each other
                closely and few statements wait, but not for long.
            seconds: Time after which no further batch is started; ``inf`` for no limit.

        Returns:
            Whether it stopped because the time was over, so that it could go on at once.
        """
        if not self.compares():
            return False
        until = time.monotonic() + seconds
        with self._comparing(until, waits=not gives_way) as mine:
            return self._settle(until, gives_way=gives_way) if mine else not gives_way

    def compare(self, ns: int, until: float) -> bool:
        """Compare the waiting statements of one namespace, at least one batch.

        No further batch is started after ``until``, by ``time.monotonic``. Returns whether none is
        left.
        """
        if not self.compares() or not self._is_behind(ns):
            return True
        with self._comparing(until, waits=True) as mine:
            if not mine:
                return False
            while self._words.bite((ns,)):  # the index finds the earlier statements
                if time.monotonic() >= until:
                    return False
            while self._settle_some(ns):
                if time.monotonic() >= until:
                    return False
        return True

    @contextmanager
    def _comparing(self, until: float, *, waits: bool) -> Iterator[bool]:
        """Hold ``turn`` during the block; yield whether it was acquired."""
        longest = min(max(until - time.monotonic(), QUIET_SECONDS), threading.TIMEOUT_MAX)
        mine = self.turn.acquire(timeout=longest if waits else 0)
        try:
            yield mine
        finally:
            if mine:
                self.turn.release()

    def _settle(self, until: float, *, gives_way: bool) -> bool:
        if not self._asked_all:  # include work left by an earlier process
            self.fresh.update(self._ledger.read(_spaces_behind))
            self._asked_all = True
        has_turn = not gives_way or self._turn_is_due()
        if self.fresh and (has_turn or not self._adds_go_first()):
            self._words.catch_up()  # the index finds the earlier statements
        ends = time.monotonic() + TURN_SECONDS if has_turn else -inf
        until = max(until, ends)
        growing: set[int] = set()
        had: set[int] = set()
        try:
            while self.fresh and not (gives_way and self._others_go_first(ends)):
                if had and time.monotonic() >= until:
                    return True
                ns = self._next_space(had)
                growing.add(ns)
                more = self._settle_some(ns) or (not gives_way and self._is_behind(ns))
                self._held = time.monotonic()
                if more or not self._is_behind(ns):
                    growing.discard(ns)
                if more:
                    self.fresh.add(ns)
        finally:
            self.fresh |= growing
        return False

    def _turn_is_due(self) -> bool:
        """Return whether statements have waited for `HELD_SECONDS` without any comparison."""
        now = time.monotonic()
        self._held = min(self._held, now) if self.fresh else inf
        return now - self._held >= HELD_SECONDS

    def _next_space(self, had: set[int]) -> int:
        """Remove and return the next waiting namespace, in rounds: none twice before all once."""
        if self.fresh <= had:
            had.clear()
        ns = min(self.fresh - had)
        had.add(ns)
        self.fresh.discard(ns)
        return ns

    def _others_go_first(self, ends: float) -> bool:
        """Return whether to give way to queries and adds; never before ``ends``."""
        return time.monotonic() >= ends and (self._traffic.busy() or self._adds_go_first())

    def _adds_go_first(self) -> bool:
        """Return whether adds follow each other closely and fewer than `UNCOMPARED` wait."""
        if not self._traffic.streaming():
            return False
        spaces = sorted(self.fresh)
        most = self._ledger.read(lambda c: max(claim_rows.waiting(c, ns) for ns in spaces))
        return most < UNCOMPARED

    def _is_behind(self, ns: int) -> bool:
        return self._ledger.read(lambda c: claim_rows.behind(c, ns), space=ns)

    def _settle_some(self, ns: int) -> bool:
        """Compare the next statements of a namespace; their texts are read before the write.

        Returns:
            Whether there may be more than the one transaction took.
        """
        rules = Rules(ring=self._config.short.capacity, untrusted=self._config.untrusted)
        now, settings, most = self._now(), self._config.conflicts, settling.BITE
        rows = self._ledger.read(
            lambda c: past.next_rows(c, ns, claim_rows.cursor(c, ns), most), space=ns
        )
        if not rows and not self._is_behind(ns):
            return False
        known = settling.read_ahead([row for _, row in rows], settings)

        def job(session: Transaction) -> None:  # reads no texts
            work = Work(session, ns, now, rules)
            settling.settle_next(work, settings, max(len(rows), 1), known)

        self._ledger.write(job, spaces=(ns,))
        return len(rows) == most


class Changes:
    """Compares new notes with earlier ones once they have vectors, see ``write.succession``.

    ``earlier`` finds the earlier notes nearest to one.
    """

    def __init__(
        self,
        ledger: Ledger,
        traffic: Traffic,
        earlier: Earlier,
        config: Config,
        *,
        embeds: bool,
    ) -> None:
        self._ledger, self._traffic, self._earlier = ledger, traffic, earlier
        self._compares = embeds and not ledger.read_only and bool(config.conflicts.pairs)
        self.fresh: set[int] = set()
        """Namespaces that got vectors since they were last compared."""
        self._turn = threading.Lock()
        self._trouble, self._tries_at = "", -inf

    def compare(self, *, gives_way: bool = True, seconds: float = QUIET_SECONDS) -> bool:
        """Compare the memories of new vectors, a few at a time.

        Args:
            gives_way: Whether to stop while a query is in flight or adds follow each other closely.
            seconds: Time after which no further few are started; ``inf`` for no limit.

        Returns:
            Whether it stopped because the time was over, so that it could go on at once.
        """
        until = time.monotonic() + seconds
        if not self._compares or not self.fresh:
            return False
        if gives_way and time.monotonic() < self._tries_at:
            return False
        if not self._turn.acquire(timeout=0 if gives_way else min(seconds, threading.TIMEOUT_MAX)):
            return not gives_way
        try:
            while self.fresh and not (gives_way and self._others_go_first()):
                ns = self.fresh.pop()
                if not self._compare_some(ns):
                    if self._trouble:
                        break
                    continue
                self.fresh.add(ns)
                if time.monotonic() >= until:
                    return True
        finally:
            self._turn.release()
        return False

    def _compare_some(self, ns: int) -> bool:
        """Compare a few memories of a namespace; return whether more wait and can be compared.

        Nothing else waits for the model or the embedder: if one does not work, the namespace waits.
        """
        try:
            more = succession.compare_next(self._ledger, ns, self._earlier)
        except BaseException as error:  # whatever it is, the namespace still waits
            self.fresh.add(ns)
            if not isinstance(error, (EmbedderError, InvalidInput, MissingExtra)):
                raise
            if str(error) != self._trouble:
                log.warning("what statements change is not noted: %s", error)
            self._trouble, self._tries_at = str(error), time.monotonic() + AGAIN_SECONDS
            return False
        self._trouble, self._tries_at = "", -inf
        return more

    def _others_go_first(self) -> bool:
        return self._traffic.busy() or self._traffic.streaming()


def _spaces_behind(session: Transaction) -> list[int]:
    """Return the namespaces with statements that are not compared yet."""
    return [ns for ns, _ in namespaces.every(session) if claim_rows.behind(session, ns)]


class Background:
    """The jobs of one open store. Made again in a forked child.

    ``keep_outlines`` writes what the read path needs for a quick start; ``earlier`` finds the
    earlier notes nearest to one; ``embeds`` tells whether this process embeds memories.
    """

    def __init__(
        self,
        ledger: Ledger,
        short: ShortTier,
        eraser: Eraser,
        keep_outlines: Callable[[], None],
        earlier: Earlier,
        now: Callable[[], int],
        config: Config,
        *,
        embeds: bool,
    ) -> None:
        self._ledger, self._short, self._eraser = ledger, short, eraser
        self._keep_outlines, self._now = keep_outlines, now
        self._config, self._embeds = config, embeds
        self.traffic = Traffic()
        self.accesses = Accesses(ledger, now)
        self.words = FullText(ledger, self.traffic)
        self.statements = Statements(ledger, self.words, self.traffic, now, config)
        self.changes = Changes(ledger, self.traffic, earlier, config, embeds=embeds)
        self.attendant: Attends | None = None
        """Shows messages that wait to a language model; set when there is one."""
        self._seen: Moment | None = None
        self._tidied: Moment | None = None
        self._swept: Moment | None = None
        self._folded = False
        self._sleep_due = 0
        self._snapshot_period = int(config.short.snapshot_seconds * 1_000_000)
        self._snapshot_due = now() + self._snapshot_period

    def finish_erasing(self) -> None:
        """Continue an unfinished erasure, if there is one."""
        version = self._ledger.moment()
        if version != self._swept or self._eraser.pending:
            self._eraser.finish()
            self._swept = version

    def keep_up(self, seconds: float) -> bool:
        """Run the jobs that must not wait for a long backlog of the embedder.

        Statements are compared for ``seconds``. Returns whether there is more to do at once.
        """
        self.accesses.log()
        more = self.statements.settle(seconds=seconds)
        if self.attendant is not None:
            self.attendant.look()
        if self._short.stale and self._now() >= self._snapshot_due:
            self._snapshot_due = self._now() + self._snapshot_period
            self._short.snapshot()
        return more

    def keep_house(self) -> bool:
        """Run the jobs for a quiet moment; return whether there is more to do at once."""
        more = self.keep_up(QUIET_SECONDS)
        more |= self.changes.compare()  # when all have vectors: a load is embedded in any order
        version = self._ledger.moment()
        quiet, self._seen = version == self._seen, version
        if quiet:
            self._keep_outlines()
            if version != self._tidied and not self._ledger.read_only and self.tidy():
                self._tidied = self._ledger.moment()
        return more

    def tidy(self) -> bool:
        """Run the jobs that would slow down an ``add``, and keep the reserve for a full disk.

        Returns whether all events are folded; False if a query interrupted, or another machine does
        these jobs now.
        """
        with self._ledger.claimed(["tidy"]) as mine:
            return bool(mine) and self._tidy()

    def _tidy(self) -> bool:
        auto = self._config.sleep.auto
        self.words.catch_up()
        folded = auto == Auto.OFF or self.fold_events()
        if auto == Auto.ALL and self._now() >= self._sleep_due:
            self._sleep(SLEEP_SECONDS)
        self.words.merge()
        if self._ledger.growth() > UNFOLDED or self._ledger.wal_bytes() > CHECKPOINT_BYTES:
            self._ledger.checkpoint()
        self._ledger.keep_reserve()
        return folded

    def fold_events(self) -> bool:
        """Fold new events of the log, a few at a time; see ``ledger.strength_fold``.

        Only the first call folds again rows that a process with other settings has folded.

        Returns:
            Whether all events are folded; False if a query interrupted.
        """
        settings, takes_over = self._config.dynamics, not self._folded
        self._folded = True
        effect, links, agent = self._config.effect, self._config.association, settings.agent
        return self._fold(
            lambda c: strength_fold.behind(c, settings, takes_over=takes_over),
            lambda c: strength_fold.catch_up(c, settings),
        ) and self._fold(
            lambda c: (
                learnt_weights.behind(c, effect, agent, takes_over=takes_over)
                or co_use.behind(c, links, agent, takes_over=takes_over)
            ),
            lambda c: learnt_weights.catch_up(c, effect, agent) | co_use.catch_up(c, links, agent),
        )

    def _fold(
        self, behind: Callable[[Transaction], bool], some: Callable[[Transaction], bool]
    ) -> bool:
        """Call ``some`` until no work is left; return False if a query interrupts."""
        more = self._ledger.read(behind)
        while more and not self.traffic.busy():
            more = self._ledger.write(some)
        return not more

    def _sleep(self, seconds: float) -> None:
        """Sleep on all namespaces for at most ``seconds``, and set when the next sleep is due."""
        now = self._now()
        self._sleep_due = now + SLEEPS
        steps, until = run.usual(self._config), time.monotonic() + seconds
        for ns, _ in self._ledger.read(namespaces.every):
            if self.traffic.busy() or time.monotonic() >= until:
                self._sleep_due = now  # continue at the next quiet moment
                return
            sleeper = run.Sleeper(
                self._ledger, self._config, ns, now, embeds=self._embeds, changed=self._moved
            )
            sleeper.sleep(steps, until=until)

    def _moved(self, ns: int, rows: Sequence[Row]) -> None:
        """Tell the short tier that rows in its ring buffers changed."""
        if sessions := {row.session for row in rows if row.tier == Tier.SHORT}:
            self._short.touch(ns, sessions)
