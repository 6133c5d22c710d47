"""The manager against a model of dictionaries: any order of calls, reopening in between."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from memento import Config, MemoryManager
from memento.config import ShortConfig
from memento.errors import InvalidInput, LockedMemory, NotFound
from memento.testing import ManualClock

RING = 3
CONFIG = Config(short=ShortConfig(capacity=RING))
WORDS = st.sampled_from(["tea", "door", "plan", "blue", "walk"])
TEXTS = st.lists(WORDS, min_size=1, max_size=2).map(" ".join)
TIERS = st.sampled_from(["short", "medium", "long"])
KEYS = st.sampled_from([None, None, "k", "l"])
SCOPES = st.sampled_from(["", "a"])
SESSIONS = st.sampled_from([None, "s"])


class Told:
    """The model's knowledge of one memory."""

    def __init__(self, **facts):
        self.__dict__.update(facts)


class Manager(RuleBasedStateMachine):
    """Adds, changes, hides and moves memories, and compares every view after each step."""

    @initialize()
    def start(self):
        """Open an empty store."""
        self.root = self.place()
        self.clock = ManualClock()
        self.model: dict[str, Told] = {}
        self.open()

    def place(self):
        """Return where the store is to be."""
        return self.folder.mktemp("machine") / "store"

    def open(self):
        """Open the store as it is."""
        self.memory = MemoryManager(self.root, embedder=None, clock=self.clock, config=CONFIG)

    def live(self, told):
        """Tell whether a memory is to be found."""
        return told.status == "active" and (told.expires is None or told.expires > self.clock())

    def holder(self, told, but=None):
        """Find the active memory in the same slot."""
        same = [
            i
            for i, other in self.model.items()
            if i != but
            and other.status == "active"
            and (other.key, other.scope) == (told.key, told.scope)
        ]
        return same[0] if told.key and same else None

    def overflow(self, session):
        """Let the ring push out its oldest."""
        ring = [t for t in self.model.values() if t.tier == "short" and t.status == "active"]
        for told in [t for t in ring if t.session == session][:-RING]:
            told.tier = "medium"

    def supersede(self, old, new):
        """Hide one memory behind another."""
        self.model[old].status, self.model[old].by = "superseded", new
        self.model[old].history += 1

    def some(self, at):
        """Pick a memory."""
        return list(self.model)[at % len(self.model)]

    @rule(
        text=TEXTS,
        tier=TIERS,
        key=KEYS,
        scope=SCOPES,
        session=SESSIONS,
        expires=st.sampled_from([None, None, 30]),
    )
    def add(self, text, tier, key, scope, session, expires):
        """Add one, or reinforce the one that is there."""
        said = (text, key, scope, session)
        equal = [
            i
            for i, t in self.model.items()
            if (t.text, t.key, t.scope, t.session) == said and self.live(t)
        ]
        again = equal and not (session and tier == "short")  # a conversation keeps its turns

        def call():
            return self.memory.add(
                text, tier, key=key, scope=scope, session=session, expires_in=expires
            )

        rival = None if again else self.holder(Told(key=key, scope=scope))
        if self.refused(rival, call):
            return
        kept = call()
        if again:
            assert kept.id == equal[0]
            self.merge(self.model[equal[0]], tier, expires)
            return
        told = Told(
            text=text, tier=tier, key=key, scope=scope, session=session, status="active", by=None,
            reinforced=0, history=1, version=1, locked=None,
            expires=expires and self.clock() + timedelta(seconds=expires),
        )  # fmt: skip
        holder = self.holder(told)
        self.model[kept.id] = told
        if holder:
            self.supersede(holder, kept.id)
        self.overflow(session)

    def merge(self, told, tier, expires):
        """Count a repeat; the higher tier and the longer life win."""
        told.reinforced += 1
        if told.locked is not None:
            return
        before = told.expires, told.tier
        if told.expires:
            told.expires = expires and max(told.expires, self.clock() + timedelta(seconds=expires))
        told.tier = max(tier, told.tier, key=["short", "medium", "long"].index)
        if before != (told.expires, told.tier):
            told.version, told.history = told.version + 1, told.history + 1

    @precondition(lambda self: self.model)
    @rule(at=st.integers(0, 99), text=TEXTS)
    def update(self, at, text):
        """Change a text."""
        told = self.model[memory_id := self.some(at)]
        if self.refused(memory_id, lambda: self.memory.update(memory_id, text=text)):
            return
        if told.status == "forgotten":
            with pytest.raises(InvalidInput):
                self.memory.update(memory_id, text=text)
        else:
            self.memory.update(memory_id, text=text)
            told.history += told.text != text
            told.version += told.text != text
            told.text = text

    @precondition(lambda self: self.model)
    @rule(at=st.integers(0, 99), undone=st.booleans())
    def correct(self, at, undone):
        """Let another text take its place, and perhaps have it back at once."""
        told = self.model[memory_id := self.some(at)]
        text = f"corrected tea {len(self.model)}"
        if not self.live(told):
            with pytest.raises(InvalidInput):
                self.memory.correct(memory_id, text)
            return
        if self.refused(memory_id, lambda: self.memory.correct(memory_id, text)):
            return
        kept = self.memory.correct(memory_id, text)
        facts = vars(told) | {"text": text, "reinforced": 0, "history": 1, "version": 1}
        self.model[kept.id] = Told(**facts)
        self.supersede(memory_id, kept.id)
        if undone:
            self.undo({memory_id: ("active", None), kept.id: ("forgotten", None)})

    def undo(self, states):
        """Undo the newest change, which leads to these statuses and successors."""
        (newest,) = self.memory.changes.list(limit=1)
        assert set(self.memory.undo(newest.number).memories) == set(states)
        for memory_id, (status, by) in states.items():
            told = self.model[memory_id]
            told.was, told.status, told.by = told.status, status, by
            told.history += 1

    @precondition(lambda self: self.model)
    @rule(at=st.integers(0, 99))
    def forget_and_undo(self, at):
        """Hide it, undo that, and undo the undo."""
        told = self.model[memory_id := self.some(at)]
        if told.status == "forgotten" or told.locked is not None:
            return
        before = told.status, told.by
        self.forget(at)
        self.undo({memory_id: before})
        self.undo({memory_id: ("forgotten", told.by)})

    @precondition(lambda self: self.model)
    @rule(at=st.integers(0, 99), scope=SCOPES)
    def rescope(self, at, scope):
        """Change where it applies, and take the slot there."""
        told = self.model[memory_id := self.some(at)]
        if told.status == "forgotten" or told.scope == scope:
            return
        there = Told(key=told.key, scope=scope)
        rival = self.holder(there, but=memory_id) if told.status == "active" else None
        for one in (memory_id, rival):
            if self.refused(one, lambda: self.memory.update(memory_id, scope=scope)):
                return
        self.memory.update(memory_id, scope=scope)
        told.scope, told.version, told.history = scope, told.version + 1, told.history + 1
        holder = self.holder(told, but=memory_id)
        if told.status == "active" and holder:
            self.supersede(holder, memory_id)

    @precondition(lambda self: self.model)
    @rule(at=st.integers(0, 99))
    def forget(self, at):
        """Hide it."""
        told = self.model[memory_id := self.some(at)]
        if self.refused(memory_id, lambda: self.memory.forget(memory_id)):
            return
        self.memory.forget(memory_id)
        if told.status != "forgotten":
            told.was, told.status, told.history = told.status, "forgotten", told.history + 1

    @precondition(lambda self: self.model)
    @rule(at=st.integers(0, 99))
    def restore(self, at):
        """Bring it back, behind the memory that holds its slot."""
        told = self.model[memory_id := self.some(at)]
        if told.status == "superseded":
            with pytest.raises(InvalidInput):
                self.memory.restore(memory_id)
            return
        self.memory.restore(memory_id)
        if told.status != "forgotten":
            return
        told.status, told.history = told.was, told.history + 1
        holder = self.holder(told, but=memory_id)
        if told.status == "active" and holder:
            pair = (memory_id, holder) if self.live(self.model[holder]) else (holder, memory_id)
            self.supersede(*pair)
        if told.status == "active":
            self.overflow(told.session)

    @precondition(lambda self: self.model)
    @rule(at=st.integers(0, 99), tier=TIERS)
    def move(self, at, tier):
        """Put it into another tier."""
        told = self.model[memory_id := self.some(at)]
        if told.tier != tier and self.refused(
            memory_id, lambda: self.memory.update(memory_id, tier=tier)
        ):
            return
        self.memory.update(memory_id, tier=tier)
        told.history += told.tier != tier
        if told.tier != tier:
            told.tier = tier
            self.overflow(told.session)

    @precondition(lambda self: self.model)
    @rule(at=st.integers(0, 99))
    def lock(self, at):
        """Lock it: from then on it is compared with all that it was."""
        told = self.model[memory_id := self.some(at)]
        if not self.live(told):
            with pytest.raises(InvalidInput):
                self.memory.update(memory_id, lock="user")
            return
        locked = self.memory.update(memory_id, lock="user")
        if told.locked is None:
            told.history, told.expires = told.history + 1, None
            told.locked = locked

    @precondition(lambda self: self.model)
    @rule(at=st.integers(0, 99))
    def unlock(self, at):
        """Let it be changed again."""
        told = self.model[memory_id := self.some(at)]
        self.memory.update(memory_id, lock=None)
        told.history += told.locked is not None
        told.locked = None

    @precondition(lambda self: self.model)
    @rule(at=st.integers(0, 99))
    def archive(self, at):
        """Set it aside."""
        told = self.model[memory_id := self.some(at)]
        if told.status not in ("active", "archived"):
            with pytest.raises(InvalidInput):
                self.memory.sleep.archive(memory_id)
            return
        if self.refused(memory_id, lambda: self.memory.sleep.archive(memory_id)):
            return
        self.memory.sleep.archive(memory_id)
        told.history += told.status == "active"
        told.status = "archived"

    @precondition(lambda self: self.model)
    @rule(at=st.integers(0, 99))
    def unarchive(self, at):
        """Bring it back from the archive, behind the memory that holds its slot."""
        told = self.model[memory_id := self.some(at)]
        if told.status not in ("active", "archived"):
            with pytest.raises(InvalidInput):
                self.memory.sleep.unarchive(memory_id)
            return
        self.memory.sleep.unarchive(memory_id)
        if told.status == "archived":
            told.status, told.history = "active", told.history + 1
            self.back_in_slot(memory_id, told)

    def back_in_slot(self, memory_id, told):
        """Let a memory that is active again take its slot, or be superseded by its holder."""
        holder = self.holder(told, but=memory_id)
        if holder:
            pair = (memory_id, holder) if self.live(self.model[holder]) else (holder, memory_id)
            self.supersede(*pair)
        if told.status == "active":
            self.overflow(told.session)

    @rule()
    def sleep(self):
        """Tidy up: new memories of few words, in tiers that the caller chose, stay as they are."""
        assert self.memory.sleep.run().run is None

    def refused(self, memory_id, change):
        """Tell whether a memory is locked, and then that a change of it is refused."""
        if memory_id is None or self.model[memory_id].locked is None:
            return False
        with pytest.raises(LockedMemory, match=memory_id):
            change()
        return True

    @rule(seconds=st.sampled_from([1, 31]))
    def wait(self, seconds):
        """Let time pass."""
        self.clock.advance(timedelta(seconds=seconds))

    @rule()
    def reopen(self):
        """Close and open again."""
        self.memory.close()
        self.open()

    @rule()
    def flush(self):
        """Write the snapshot."""
        assert self.memory.flush(wait=True, timeout=30)

    @rule()
    def nobody(self):
        """Ask for an id that is not there."""
        with pytest.raises(NotFound):
            self.memory.get("nobody")

    @invariant()
    def every_memory_is_as_told(self):
        """Each memory by id, with the length of its history."""
        for memory_id, told in getattr(self, "model", {}).items():
            held = self.memory.get(memory_id)
            assert (held.text, held.tier, held.key, held.scope) == (
                told.text,
                told.tier,
                told.key,
                told.scope,
            )
            assert (held.status, held.superseded_by) == (told.status, told.by)
            assert (held.reinforced, held.version) == (told.reinforced, told.version)
            assert len(self.memory.changes.history(memory_id)) == told.history

    @invariant()
    def a_locked_memory_is_what_it_was(self):
        """But for the count of its repeats, and the ring, which pushes out any turn."""
        for memory_id, told in getattr(self, "model", {}).items():
            if told.locked is not None:
                now, was = self.memory.get(memory_id), told.locked
                same = {"tier": was.tier, "updated_at": was.updated_at, "reinforced": 0}
                assert replace(now, **same) == replace(was, reinforced=0)

    @invariant()
    def every_view_shows_what_is_live(self):
        """list, stats, the rings and the search agree."""
        if not hasattr(self, "model"):
            return
        live = [i for i, told in self.model.items() if self.live(told)]
        assert [m.id for m in self.memory.list()] == live
        assert self.memory.store.stats().memories == len(live)
        for session in (None, "s"):
            ring = [
                i for i in live if (self.model[i].tier, self.model[i].session) == ("short", session)
            ]
            assert [m.id for m in self.memory.sessions.recent(session=session)] == ring
        found = self.memory.retrieve("tea", k=100, record=False)
        ids = {i for hit in found for i in (hit.id, *hit.folded)}
        assert {i for i in live if "tea" in self.model[i].text} <= ids <= set(live)

    def teardown(self):
        """Nothing is damaged at the end."""
        if hasattr(self, "memory"):
            assert all(finding.ok for finding in self.memory.store.doctor())
            self.memory.close()


@pytest.fixture(autouse=True)
def _folders(tmp_path_factory):
    Manager.folder = tmp_path_factory


TestManager = Manager.TestCase
TestManager.settings = settings(
    max_examples=25,
    stateful_step_count=20,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
