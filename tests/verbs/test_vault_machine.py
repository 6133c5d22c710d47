"""A vault and its store, changed on both sides in any order: nothing is lost, and both agree."""

from __future__ import annotations

import os
from datetime import timedelta
from itertools import count

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from memento import MemoryManager
from memento.errors import LockedMemory, MementoError
from memento.testing import ManualClock
from memento.types import Status
from memento.upkeep.vault_note import parse
from memento.verbs.vault import STATE

RUNS = int(os.environ.get("VAULT_RUNS", "40"))
"""Interleavings of edits; ``VAULT_RUNS=2000`` for the full search."""
PICK = st.integers(0, 99)
FOREIGN = b"---\ntitle: not yours\n---\r\n\xff\xfe no text at all"


class Vault(RuleBasedStateMachine):
    """Edits notes and memories, syncs now and then, and looks for every word that was written."""

    @initialize()
    def start(self):
        """Open an empty store and make a vault with a note of somebody else."""
        self.place = self.folder.mktemp("machine")
        self.clock = ManualClock()
        self.memory = MemoryManager(self.place / "store", embedder=None, clock=self.clock)
        self.vault = self.place / "notes"
        self.vault.mkdir()
        (self.vault / "foreign.md").write_bytes(FOREIGN)
        self.numbers = count(1)
        self.said: set[str] = set()
        self.gone: set[str] = set()

    def teardown(self):
        """Agree in the end, and close the store."""
        if hasattr(self, "memory"):
            self.sync(deletes=True)
            self.memory.close()

    # --- what there is

    def words(self):
        """Return a text that nobody said before."""
        return f"saying number {next(self.numbers)}."

    def files(self):
        """List the notes of memories, in order."""
        return sorted(one for one in self.vault.rglob("*.md") if one.name != "foreign.md")

    def one(self, things, pick):
        """Choose one of some things; None if there are none."""
        return things[pick % len(things)] if things else None

    def note(self, pick, edit):
        """Change the text of a note as an editor would."""
        path = self.one(self.files(), pick)
        if path is not None:
            path.write_bytes(edit(path.read_bytes()))

    def live(self):
        """List the memories that are shown."""
        return self.memory.list(limit=10_000)

    # --- the memories

    @rule()
    def add(self):
        """An agent remembers something."""
        self.memory.add(self.words())

    @rule(pick=PICK, pin=st.booleans())
    def update(self, pick, pin):
        """Its text or its tags change in place."""
        if found := self.one(self.live(), pick):
            change = {"tags": [f"t{pick}"]} if pin else {"text": self.words()}
            self.memory.update(found.id, **change)

    @rule(pick=PICK)
    def correct(self, pick):
        """Another memory takes its place."""
        if found := self.one(self.live(), pick):
            self.memory.correct(found.id, self.words())

    @rule(pick=PICK)
    def forget(self, pick):
        """It is hidden."""
        if found := self.one(self.live(), pick):
            self.memory.forget(found.id)

    @rule(pick=PICK)
    def restore(self, pick):
        """It comes back."""
        if found := self.one(self.memory.list(status="forgotten", limit=10_000), pick):
            try:
                self.memory.restore(found.id)
            except LockedMemory:
                return

    @rule(pick=PICK)
    def erase(self, pick):
        """It is gone, with all that it ever said."""
        if found := self.one(self.live(), pick):
            self.gone |= {found.text}
            self.gone |= {state.text for state in self.memory.changes.history(found.id)}
            self.memory.store.erase(found.id)

    # --- the notes

    @rule(pick=PICK)
    def write(self, pick):
        """A person writes something else into a note."""
        words = self.words().encode()
        self.note(pick, lambda data: data[: data.rfind(b"---") + 3] + b"\n\n" + words + b"\n")

    @rule(pick=PICK)
    def tag(self, pick):
        """A person adds a tag and a field of their own."""
        extra = f"tags: [t{pick}, mine]\nrating: {pick}\n---".encode()

        def edit(data):
            head, fence, body = data.partition(b"\n---")
            kept = [
                line
                for line in head.split(b"\n")
                if not line.startswith((b"tags", b"  - ", b"rating"))
            ]
            return b"\n".join([*kept, extra]) + body if fence else data

        self.note(pick, edit)

    @rule(pick=PICK)
    def delete(self, pick):
        """A person deletes a note."""
        if path := self.one(self.files(), pick):
            path.unlink()

    @rule(pick=PICK)
    def move(self, pick):
        """A person moves a note to another folder under another name."""
        if path := self.one(self.files(), pick):
            (self.vault / "mine").mkdir(exist_ok=True)
            path.rename(self.vault / "mine" / f"moved {next(self.numbers)}.md")

    @rule(pick=PICK)
    def copy(self, pick):
        """A person copies a note."""
        if path := self.one(self.files(), pick):
            (self.vault / f"copy {next(self.numbers)}.md").write_bytes(path.read_bytes())

    @rule(pick=PICK)
    def damage(self, pick):
        """A person breaks the front matter, or mends it again."""
        self.note(
            pick,
            lambda data: (
                data.replace(b"\nkind: [", b"\nkind: ")
                if b"\nkind: [" in data
                else data.replace(b"\nkind: ", b"\nkind: [", 1)
            ),
        )

    @rule(windows=st.booleans())
    def new(self, windows):
        """A person writes a new note."""
        lines = ["---", "memento: new", "---", self.words(), ""]
        text = ("\r\n" if windows else "\n").join(lines)
        (self.vault / f"new {next(self.numbers)}.md").write_bytes(text.encode())

    # --- both

    @rule()
    def lose_state(self):
        """What both last said is lost."""
        (self.vault / STATE).unlink(missing_ok=True)

    @rule(deletes=st.booleans())
    def sync(self, deletes):
        """Both agree, all that was in a note is somewhere, and to sync again changes nothing."""
        before = {path: path.read_bytes() for path in self.files()}
        self.said |= {one.text for one in self.live()}
        self.said |= {text for data in before.values() if (text := said(data))}
        self.said -= self.gone
        planned = self.memory.store.sync_vault(self.vault, allow_deletes=deletes, dry_run=True)
        assert before == {path: path.read_bytes() for path in self.files()}
        self.clock.advance(timedelta(minutes=1))
        done = self.memory.store.sync_vault(self.vault, allow_deletes=deletes)
        kinds = ("added", "updated", "conflict", "forgotten", "removed", "withheld")
        assert {one.path for one in done.of(*kinds)} == {one.path for one in planned.of(*kinds)}
        self.check_nothing_lost()
        left = {one.path for one in done.of("left", "withheld")}
        self.check_both_agree(left)
        stamps = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in self.files()}
        again = self.memory.store.sync_vault(self.vault, allow_deletes=deletes)
        assert {one.action for one in again.steps} <= {"left", "withheld"}, again.steps
        assert stamps == {
            path: (path.stat().st_mtime_ns, path.read_bytes()) for path in self.files()
        }
        assert (self.vault / "foreign.md").read_bytes() == FOREIGN

    def check_nothing_lost(self):
        """Every text is in a note, a memory or a history."""
        every = self.memory.list(status=list(Status), limit=10_000)
        texts = {one.text for one in every}
        texts |= {state.text for one in every for state in self.memory.changes.history(one.id)}
        texts |= {said(path.read_bytes()) for path in self.files()}
        assert self.said <= texts, self.said - texts

    def check_both_agree(self, left):
        """Each memory has one note that says what it says, but for those that were left."""
        notes = {}
        for path in self.files():
            if path.relative_to(self.vault).as_posix() not in left:
                note = parse(path.read_bytes())
                assert note is not None
                assert note.id not in notes
                notes[note.id] = note
        for one in self.live():
            if (note := notes.pop(one.id, None)) is not None:
                assert note.said["text"] == one.text
                assert note.said["tags"] == one.tags
        assert not notes


def said(data):
    """Return the text of a note, also of one that is damaged."""
    try:
        note = parse(data)
    except MementoError:
        return data[data.rfind(b"---") + 3 :].decode().strip()
    return None if note is None else note.said["text"]


@pytest.fixture(autouse=True)
def _folder(tmp_path_factory):
    Vault.folder = tmp_path_factory


TestVault = Vault.TestCase
TestVault.settings = settings(
    max_examples=RUNS,
    stateful_step_count=25,
    phases=[Phase.generate],  # to shrink takes longer than to read what happened
    suppress_health_check=list(HealthCheck),
)
