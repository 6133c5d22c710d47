"""The chores of the background thread in quiet moments, and the calls that go before them.

None of it is needed for an answer to be right: the log of what was retrieved, the snapshot of the
short tier, full text catching up, what uses and verdicts add up to, room on the disk, and what an
erasure left to be done.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from typing import TYPE_CHECKING, Protocol

from memento.base.lazy import later
from memento.config import Auto, Config
from memento.ledger import (
    claim_rows,
    co_use,
    erasure,
    learnt_weights,
    memories,
    namespaces,
    strength_fold,
)
from memento.ledger.contract import Ledger, Moment, Rules, Session, Work
from memento.ledger.rows import Row
from memento.types import Event, Tier

if TYPE_CHECKING:
    from memento.sleep import run
    from memento.tiers.ring import ShortTier
    from memento.upkeep.erase import Eraser
    from memento.write import settling
    from memento.write.settling import Settled
else:
    run = later("memento.sleep.run")
    settling = later("memento.write.settling")

ACCESSES = 10_000
"""Most retrievals whose log line waits in RAM; older ones give way."""
TAKEN = 8
"""Namespaces of which full text takes a bite in one transaction, while questions wait: usually a
row or two of each."""
BITE_SECONDS = 0.002
"""Time of one transaction in which full text takes bites of namespaces, after which it begins no
other; an ``add`` may wait for it. A commit of its own for each namespace would take as long."""
SLEEPS = 3_600_000_000
"""Time between two sleeps of the background thread, microseconds."""
SLEEP_SECONDS = 2.0
"""Time that a sleep of the background thread takes at most, before it looks for other work."""
STREAM_SECONDS = 0.005
"""Adds that follow each other faster are a stream, to which the background thread gives way."""
UNCOMPARED = 512
"""Revisions of a namespace that wait to be compared from which a stream of adds is given way to no
longer."""
HELD_SECONDS = 2.0
"""Time for which queries and a stream of adds hold statements back; then they have a turn, so that
nothing is held back for ever."""
TURN_SECONDS = 0.1
"""Time of a turn, after which no other bite begins; there is at least one."""
QUIET_SECONDS = 0.25
"""Time for which statements are compared in a quiet moment, before other work is looked for."""
UNFOLDED = 524_288
"""Most bytes by which folding the log may make the file grow: on a full disk the reserve pays, of
which this is half."""


class Attends(Protocol):
    """Shows messages that wait to a language model, in a thread of its own."""

    def look(self) -> None:
        """Begin to show messages if some are ready; nobody waits for it."""

    def finish(self, timeout: float | None) -> bool:
        """Show all messages that may be shown now; tell whether that was done in time."""

    def busy(self) -> bool:
        """Tell whether messages are being shown, or may be; if so, begin with it."""

    def stop(self, timeout: float) -> None:
        """Begin no other request, and wait so many seconds for the present one."""

    def renewed(self) -> Attends:
        """Return what does the same in a forked child."""


class Background:
    """The chores of one open store. Made again in a forked child.

    Args:
        ledger: The store's ledger.
        short: The short tier, whose snapshot is written.
        eraser: Finishes what an erasure left to be done.
        now: Returns the present moment, microseconds.
        config: Settings.
        embeds: Whether this process embeds memories.
    """

    def __init__(
        self,
        ledger: Ledger,
        short: ShortTier,
        eraser: Eraser,
        now: Callable[[], int],
        config: Config,
        *,
        embeds: bool,
    ) -> None:
        self._ledger = ledger
        self._short = short
        self._eraser = eraser
        self._now = now
        self._config = config
        self._embeds = embeds
        self._lock = threading.Lock()
        self._logging = threading.Lock()  # held while what was retrieved goes into the log
        self._queries = 0
        self._accesses: deque[tuple[int, int, list[str]]] = deque(maxlen=ACCESSES)
        self.fresh: set[int] = set()
        """Namespaces this process added to since full text last took a bite of them."""
        self.unsettled: set[int] = set()
        """Namespaces this process changed since their statements were last compared."""
        self.added = -inf
        """When this process added a memory last, by ``time.monotonic``."""
        self.keep_outlines: Callable[[], None] = nothing
        """Writes what the read path needs for a quick start; set when there is one."""
        self.attendant: Attends | None = None
        """Shows messages that wait to a language model; set when there is one."""
        self._settling = threading.Lock()
        self._held = inf
        self._asked_all = False
        self._seen: Moment | None = None
        self._tidied: Moment | None = None
        self._swept: Moment | None = None
        self._folded = False
        self._sleep_due = 0
        self._snapshot_due = now() + self._snapshot_period()

    def streaming(self) -> bool:
        """Tell whether adds follow each other closely now."""
        return time.monotonic() - self.added < STREAM_SECONDS

    def busy(self) -> bool:
        """Tell whether a query is in flight."""
        return self._queries > 0

    def query_begins(self) -> None:
        """Note that a query is in flight; the background thread gives way."""
        with self._lock:
            self._queries += 1

    def query_ends(self) -> None:
        """Note that a query is done."""
        with self._lock:
            self._queries -= 1

    def note_access(self, ns: int, ids: list[str]) -> None:
        """Keep in RAM which memories were retrieved, until ``log_accesses``."""
        with self._lock:
            self._accesses.append((ns, self._now(), ids))

    def log_accesses(self) -> None:
        """Write to the log what was retrieved and is still there.

        If another thread is writing some of it, this returns once that is written too.
        """
        with self._logging:
            with self._lock:
                waiting = list(self._accesses)
                self._accesses.clear()
            if waiting:
                self._ledger.write(lambda connection: _log(connection, waiting))

    def finish_erasing(self) -> None:
        """Go on with an erasure that is not done, if there is one."""
        version = self._ledger.moment()
        if version != self._swept or self._eraser.pending:
            self._eraser.finish()
            self._swept = version

    def take_up(self, spaces: Sequence[int] = ()) -> None:
        """Let full text take a bite of what came, and with it the backlog.

        Of all namespaces only those are asked that this process added to, if there are any.

        Args:
            spaces: Namespaces of which everything is taken, and nothing of the others; a question
                waits for that.
        """
        if spaces:
            for at in range(0, len(spaces), TAKEN):
                while self._catch_up_many(spaces[at : at + TAKEN]):
                    pass
            return
        fresh = [self.fresh.pop() for _ in range(len(self.fresh))]
        spaces, done = fresh or self._behind(), 0
        while done < len(spaces):
            taken, more = self._catch_up_some(spaces, done)
            done += taken
            self.fresh.update(more)

    def waiting(self) -> bool:
        """Tell whether full text, and with it the backlog, lacks anything that came."""
        return bool(self._behind())

    def index_words(self) -> None:
        """Let full text catch up, a little at a time."""
        spaces, done = self._behind(), 0
        while done < len(spaces) and not self._queries:
            taken, more = self._catch_up_some(spaces, done)
            done += taken
            spaces += more

    def fold_events(self) -> bool:
        """Fold what came into the log, a little at a time; see ``ledger.dynamics``.

        Only the first time are rows folded again that a process with other settings has folded.

        Returns:
            Whether all of it is folded; not if a query came in between.
        """
        settings, takes_over = self._config.dynamics, not self._folded
        self._folded = True
        effect, read, more = self._config.effect, self._ledger.read, True
        if read(lambda c: strength_fold.behind(c, settings, takes_over=takes_over)):
            while more and not self._queries:
                more = self._ledger.write(lambda c: strength_fold.catch_up(c, settings))
            if more:
                return False
        links, agent = self._config.association, settings.agent
        more = read(
            lambda c: (
                learnt_weights.behind(c, effect, agent, takes_over=takes_over)
                or co_use.behind(c, links, agent, takes_over=takes_over)
            )
        )
        while more and not self._queries:
            more = self._ledger.write(
                lambda c: (
                    learnt_weights.catch_up(c, effect, agent) | co_use.catch_up(c, links, agent)
                )
            )
        return not more

    def settle(self, *, gives_way: bool = True, seconds: float = QUIET_SECONDS) -> bool:
        """Compare the statements that came, a few in each transaction; see ``conflicts``.

        Args:
            gives_way: Whether to stop while a query is in flight, and while adds follow each other
                closely and few statements wait, but not for long.
            seconds: Time after which no other few are begun, but it takes some of them in any
                case; ``inf`` for no end.

        Returns:
            Whether it stopped because the time was over, so that it could go on at once.
        """
        until = time.monotonic() + seconds
        with self._comparing(until, waits=not gives_way) as mine:
            return self._settle(until, gives_way=gives_way) if mine else not gives_way

    def compare(self, ns: int, until: float) -> bool:
        """Compare the statements of one namespace that wait: a few at least.

        Args:
            ns: Namespace number.
            until: Moment of ``time.monotonic`` after which no other few are begun.

        Returns:
            Whether none waits any more.
        """
        if not self._compares() or not self._is_behind(ns):
            return True
        with self._comparing(until, waits=True) as mine:
            if not mine:
                return False
            for some in (self._index_some, self._settle_some):
                while some(ns):
                    if time.monotonic() >= until:
                        return False
        return True

    def _index_some(self, ns: int) -> bool:
        """Let full text take a bite of a namespace, by which earlier statements are found."""
        return self._catch_up_many((ns,))

    def _compares(self) -> bool:
        return not self._ledger.read_only and bool(self._config.conflicts.pairs)

    @contextmanager
    def _comparing(self, until: float, *, waits: bool) -> Iterator[bool]:
        """Be the one that compares while the block runs; tells it whether it is.

        Args:
            until: Moment of ``time.monotonic`` to which it waits for another.
            waits: Whether it waits.
        """
        longest = min(max(until - time.monotonic(), QUIET_SECONDS), threading.TIMEOUT_MAX)
        mine = self._settling.acquire(timeout=longest if waits else 0)
        try:
            yield mine
        finally:
            if mine:
                self._settling.release()

    def _settle(self, until: float, *, gives_way: bool) -> bool:
        """Do what ``settle`` does, until a ``time.monotonic`` moment."""
        if not self._compares():
            return False
        if not self._asked_all:  # work that an earlier process left
            self.unsettled.update(self._ledger.read(_spaces_behind))
            self._asked_all = True
        has_turn = not gives_way or self._turn_is_due()
        if self.unsettled and (has_turn or not self._adds_go_first()):
            self.index_words()  # by which earlier statements are found
        ends = time.monotonic() + TURN_SECONDS if has_turn else -inf
        until = max(until, ends)
        growing: set[int] = set()
        had: set[int] = set()
        try:
            while self.unsettled and not (gives_way and self._others_go_first(ends)):
                if had and time.monotonic() >= until:
                    return True
                ns = self._next_space(had)
                growing.add(ns)
                more = self._is_behind(ns) and (self._settle_some(ns) or not gives_way)
                self._held = time.monotonic()
                if more or not self._is_behind(ns):
                    growing.discard(ns)
                if more:
                    self.unsettled.add(ns)
        finally:
            self.unsettled |= growing
        return False

    def _turn_is_due(self) -> bool:
        """Tell whether statements wait and none was compared for a while."""
        now = time.monotonic()
        self._held = min(self._held, now) if self.unsettled else inf
        return now - self._held >= HELD_SECONDS

    def _next_space(self, had: set[int]) -> int:
        """Take the next namespace with statements that wait; each has a bite before one has two."""
        if self.unsettled <= had:
            had.clear()
        ns = min(self.unsettled - had)
        had.add(ns)
        self.unsettled.discard(ns)
        return ns

    def _others_go_first(self, ends: float) -> bool:
        """Tell whether to give way: not before a moment, the end of a turn."""
        return time.monotonic() >= ends and (self._queries > 0 or self._adds_go_first())

    def _adds_go_first(self) -> bool:
        """Tell whether adds follow each other closely, and few statements wait."""
        if not self.streaming():
            return False
        spaces = sorted(self.unsettled)
        return (
            self._ledger.read(lambda c: max(claim_rows.waiting(c, ns) for ns in spaces))
            < UNCOMPARED
        )

    def _is_behind(self, ns: int) -> bool:
        return self._ledger.read(lambda c: claim_rows.behind(c, ns))

    def _settle_some(self, ns: int) -> bool:
        """Compare the next statements of a namespace; their texts are read before the write.

        Returns:
            Whether more of them waited than one transaction takes.
        """
        rules = Rules(ring=self._config.short.capacity, untrusted=self._config.untrusted)
        now, settings = self._now(), self._config.conflicts

        most = settling.BITE
        rows = self._ledger.read(
            lambda c: claim_rows.next_rows(c, ns, claim_rows.cursor(c, ns), most)
        )
        known = settling.read_ahead([row for _, row in rows], settings)

        def job(session: Session) -> Settled:  # reads no text that came since
            work = Work(session, ns, now, rules)
            return settling.settle_next(work, settings, max(len(rows), 1), known)

        done = self._ledger.write(job)
        sessions = {row.session for row in done.rows if row.tier == Tier.SHORT}
        if sessions:
            self._short.touch(ns, sessions)
        return len(rows) == most or bool(done.rows)

    def assist(self, timeout: float | None) -> tuple[bool, float | None]:
        """Show to the language model what waits for it.

        Returns:
            Whether that was done in time, and the seconds that are left.
        """
        began = time.monotonic()
        done = self.attendant is None or self.attendant.finish(timeout)
        left = None if timeout is None else max(0.0, timeout - (time.monotonic() - began))
        return done, left

    def stop(self, timeout: float) -> float:
        """Let the language model finish its request; return the seconds that are left.

        It has half of the time, so that the indexer can finish its batch too.
        """
        began = time.monotonic()
        if self.attendant is not None:
            self.attendant.stop(timeout / 2)
        return max(0.0, timeout - (time.monotonic() - began))

    def assists(self) -> bool:
        """Tell whether messages are being shown to the language model; begin if any may be."""
        return self.attendant is not None and self.attendant.busy()

    def sleep(self) -> None:
        """Sleep on the namespaces that were used, for a moment, at most once an hour."""
        now = self._now()
        if now < self._sleep_due:
            return
        self._sleep_due = now + SLEEPS
        sleeper = run.Sleeper(self._ledger, self._config, embeds=self._embeds, changed=self._moved)
        steps, until = run.usual(self._config), time.monotonic() + SLEEP_SECONDS
        for ns, _ in self._ledger.read(namespaces.every):
            if self._queries or time.monotonic() >= until:
                self._sleep_due = now  # the next quiet moment goes on
                return
            sleeper.sleep(ns, now, steps, run.Limits(until, None))

    def _moved(self, ns: int, rows: Sequence[Row]) -> None:
        """Tell the short tier that rows of its rings changed."""
        self._short.touch(ns, {row.session for row in rows if row.tier == Tier.SHORT})

    def keep_up(self, seconds: float) -> bool:
        """Do what must not wait for the end of a long backlog of the embedder.

        Args:
            seconds: Time for which statements may be compared, see ``settle``.

        Returns:
            Whether more of them wait that may be compared at once.
        """
        self.log_accesses()
        more = self.settle(seconds=seconds)
        if self.attendant is not None:
            self.attendant.look()
        now = self._now()
        if self._short.stale and now >= self._snapshot_due:
            self._snapshot_due = now + self._snapshot_period()
            self._short.snapshot()
        return more

    def keep_house(self) -> bool:
        """Do what is due in a quiet moment; tell whether there is more to do at once."""
        more = self.keep_up(QUIET_SECONDS)
        version = self._ledger.moment()
        quiet, self._seen = version == self._seen, version
        if quiet:
            self.keep_outlines()
        if quiet and version != self._tidied and not self._ledger.read_only and self.tidy():
            self._tidied = self._ledger.moment()
        return more

    def tidy(self) -> bool:
        """Do to the file what would slow down an ``add``: full text, its segments, the log.

        And keep room for a full disk, if it had to be given back and there is some again.

        Returns:
            Whether all events are folded; not if a query came in between.
        """
        self.index_words()
        auto = self._config.sleep.auto
        folded = auto == Auto.OFF or self.fold_events()
        if auto == Auto.ALL:
            self.sleep()
        while not self._queries and self._ledger.write(lambda c: c.words.merge()):
            pass
        unfolded = self._ledger.growth() > UNFOLDED
        if unfolded or self._ledger.wal_bytes() > self._config.index.checkpoint_bytes:
            self._ledger.checkpoint()
        self._ledger.keep_reserve()
        return folded

    def _behind(self) -> list[int]:
        return self._ledger.read(lambda c: c.words.behind())

    def _catch_up_some(self, spaces: Sequence[int], start: int) -> tuple[int, list[int]]:
        """Let full text take a bite of namespaces, of as many as one transaction has time for.

        Args:
            spaces: Numbers of namespaces.
            start: The place of the first one.

        Returns:
            How many it came to, at least one, and those of which there is more.
        """

        def job(connection: Session) -> tuple[int, list[int]]:
            words, more = connection.words, []
            until = time.monotonic() + BITE_SECONDS
            for place in range(start, len(spaces)):
                if words.catch_up(spaces[place], words.at_once):
                    more.append(spaces[place])
                if time.monotonic() >= until:
                    return place + 1 - start, more
            return len(spaces) - start, more

        return self._ledger.write(job)

    def _catch_up_many(self, spaces: Sequence[int]) -> bool:
        """Let full text take one bite of each namespace; tell whether there is more of any."""

        def job(connection: Session) -> bool:
            words = connection.words
            return max(words.catch_up(ns, words.at_once) for ns in spaces)

        return self._ledger.write(job)

    def _snapshot_period(self) -> int:
        return int(self._config.short.snapshot_seconds * 1_000_000)


def nothing() -> None:
    """Do nothing."""


def _spaces_behind(session: Session) -> list[int]:
    """Return the namespaces whose statements were not all compared yet."""
    return [ns for ns, _ in namespaces.every(session) if claim_rows.behind(session, ns)]


def _log(connection: Session, retrieved: Sequence[tuple[int, int, list[str]]]) -> None:
    """Write events of what was retrieved: namespace number, moment, ids."""
    for ns, at, ids in retrieved:
        if there := erasure.still_there(connection, ns, ids):
            memories.record(connection, ns, at, Event.RETRIEVED, None, {"ids": there})
