"""After any sequence of calls, the rows of ``dynamics`` are the sums of the events."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from tempfile import TemporaryDirectory
from unittest.mock import patch

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from memento import MemoryManager, Status
from memento.dynamics import fold
from memento.dynamics.fold import VERDICTS
from memento.dynamics.settings import Dynamics
from memento.errors import IdConflict, InvalidInput, NotFound, UntrustedSource
from memento.ledger import strength_fold
from memento.testing import ManualClock

IDS = st.sampled_from(["a", "b", "c", "page"])
SOURCES = st.sampled_from(["user", "agent", "web"])
REFUSED = (InvalidInput, NotFound, UntrustedSource, IdConflict)


class Rated(RuleBasedStateMachine):
    """Uses, verdicts and changes in any order, folded in bites of any size, at any time."""

    @initialize()
    def open(self):
        """Begin with an empty store whose clock stands still."""
        self.folder, self.clock = TemporaryDirectory(), ManualClock()
        self.massed = patch.object(fold, "MASSED", 600.0)
        self.massed.start()
        self.memory = MemoryManager(self.folder.name, embedder=None, clock=self.clock)
        self.settings = Dynamics()
        self.ledger = self.memory._engine.ledger

    def teardown(self):
        """Close the store."""
        if hasattr(self, "memory"):
            self.massed.stop()
            self.memory.close()
            self.folder.cleanup()

    def tried(self, job):
        """Do something that may be refused."""
        with suppress(*REFUSED):
            job()

    @rule(minutes=st.sampled_from([-90, 1, 30, 700, 3000, 90_000]))
    def wait(self, minutes):
        """Let time pass, or the clock run back."""
        self.clock.advance(timedelta(minutes=minutes))

    @rule(name=IDS, source=SOURCES, replace=st.booleans())
    def add(self, name, source, replace):
        """Add a memory under an id, or replace it."""
        text = f"the {name} of {source}"
        self.tried(lambda: self.memory.add(text, "medium", id=name, source=source, replace=replace))

    @rule(source=SOURCES)
    def say_again(self, source):
        """Add what is there already."""
        self.memory.add("the a of user", "medium", source=source)

    @rule(hidden=st.booleans())
    def retrieve(self, hidden):
        """Be shown what is there."""
        self.memory.retrieve("the user agent web", include_quarantined=hidden)

    @rule(name=IDS, verdict=st.sampled_from(list(VERDICTS)), source=SOURCES)
    def rate(self, name, verdict, source):
        """Give a verdict on a memory."""
        self.tried(lambda: self.memory.feedback.rate(name, verdict=verdict, source=source))

    @rule(useful=st.booleans())
    def rate_answer(self, useful):
        """Give one on an answer."""
        self.memory.feedback.rate(self.memory.retrieve("the user"), useful=useful)

    @rule(name=IDS, at=st.integers(0, 5))
    def retract(self, name, at):
        """Take back one verdict."""

        def job():
            evidence = self.memory.feedback.belief(name).evidence
            self.memory.feedback.retract(
                event=evidence[at % len(evidence)].event if evidence else 1
            )

        self.tried(job)

    @rule(source=SOURCES)
    def retract_all(self, source):
        """Take back all verdicts of a source."""
        self.memory.feedback.retract(source=source)

    @rule(name=IDS, what=st.sampled_from(["forget", "restore", "approve", "reject", "erase"]))
    def change(self, name, what):
        """Hide a memory, bring it back, or erase it."""
        verbs = {
            "forget": self.memory.forget,
            "restore": self.memory.restore,
            "approve": self.memory.quarantine.approve,
            "reject": self.memory.quarantine.reject,
            "erase": self.memory.store.erase,
        }
        self.tried(lambda: verbs[what](name))

    @rule(name=IDS, kind=st.sampled_from(["fact", "episode"]), importance=st.sampled_from([0.1, 1]))
    def update(self, name, kind, importance):
        """Make it another kind of memory."""
        self.tried(lambda: self.memory.update(name, kind=kind, importance=importance))

    @rule(most=st.sampled_from([1, 3, 500]))
    def fold(self, most):
        """Fold a part of the log."""
        self.memory.flush()
        self.ledger.write(lambda c: strength_fold.catch_up(c, self.settings, most))

    @rule()
    def drop(self):
        """Lose every row."""
        self.ledger.write(strength_fold.drop_rows)

    @invariant()
    def rows_are_what_the_events_add_up_to(self):
        """Folded again from the start, each row is the same, bit for bit."""
        if hasattr(self, "memory"):
            assert self.ledger.read(lambda c: strength_fold.differing(c, self.settings, 99)) == []

    @invariant()
    def what_is_told_does_not_depend_on_the_fold(self):
        """Whether the log was folded or not, each memory is told to be the same."""
        if not hasattr(self, "memory"):
            return
        self.memory.flush()
        every = [one.id for one in self.memory.list(status=list(Status))]
        before = [
            (self.memory.feedback.strength(one), self.memory.feedback.belief(one)) for one in every
        ]
        while self.ledger.write(lambda c: strength_fold.catch_up(c, self.settings)):
            pass
        assert [
            (self.memory.feedback.strength(one), self.memory.feedback.belief(one)) for one in every
        ] == before
        states = self.ledger.read(lambda c: c.execute("SELECT count(*) FROM dynamics").fetchone())
        assert states[0] <= len(every)


TestRated = Rated.TestCase
TestRated.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)
