"""A healthy store that is salvaged keeps every memory in its newest state, and loses none.

A store lives: several namespaces add, correct, judge, pin, forget, undo, erase, import, sleep,
link and loop, at random, and in some lives the store is restored from a backup in between. It is
closed, or left with its newest part in the write-ahead log as by a kill, and salvaged. Every
namespace must then say what it said before: each memory, its earlier states, its links, and what it
is believed and worth; and to approve what is quarantined must do what it would have done before.

The control reads the pages as a salvage once did: what an index says of a row, three numbers, was
taken for the row's revision, whichever index it was.

Alone: ``python benchmarks/trust.py --full --only salvage``.
"""

from __future__ import annotations

import io
import json
import random
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import shim
from trust_result import TrustResult

from memento import Config, MemoryManager
from memento.base.layout import LEDGER
from memento.config import ShortConfig
from memento.errors import MementoError, StoreUnusable
from memento.ledger.contract import Transaction
from memento.ledger.links import link
from memento.ledger.lite import rescue as ledger_salvage
from memento.ledger.schema import SEQ_BITS
from memento.testing import HashEmbedder, ManualClock
from memento.upkeep.backup import restore, salvage

if TYPE_CHECKING:
    from memento.ledger.contract import Transaction

LIVES = {False: 8, True: 500}
MOST_STEPS = {False: 20, True: 60}
WHO = ("rami", "lina", "team")
EVERY: Any = {
    "status": ["active", "superseded", "archived", "forgotten", "quarantined"], "limit": 10_000,
}  # fmt: skip
THINGS = ("kettle", "door code", "night train", "blue pipeline", "violin")
CONFIG = Config(short=ShortConfig(capacity=3), long_index="exact")


class Life:
    """A store and what happens to it.

    Args:
        folder: Where the store is made.
        dice: Makes the choices.
    """

    def __init__(self, folder: Path, dice: random.Random) -> None:
        self.folder, self.dice, self.clock = folder, dice, ManualClock()
        self.embedder = dice.choice([None, None, HashEmbedder(32)])
        self.memory = self.opened(folder / "store")

    def opened(self, root: Path) -> MemoryManager:
        """Open a store of this life."""
        return MemoryManager(root, embedder=self.embedder, clock=self.clock, config=CONFIG)

    def step(self) -> None:
        """Do one thing in some namespace; what cannot be done is passed over."""
        self.clock.advance(timedelta(minutes=self.dice.choice([0, 1, 90, 3000])))
        view = self.memory.of(self.dice.choice(WHO))
        with suppress(MementoError):
            self.dice.choice(VERBS)(self, view)

    def some(self, view: MemoryManager) -> str:
        """Name one memory of a namespace, of any status; "" if there is none."""
        held = view.list(**EVERY)
        return self.dice.choice(held).id if held else ""

    def add(self, view: MemoryManager) -> None:
        """Add a memory, short or so long that it takes pages of its own."""
        said = f"The {self.dice.choice(THINGS)} is {self.dice.choice(['red', 'late', 'new'])}"
        view.add(
            said + " indeed" * self.dice.choice([0, 0, 1, 900]),
            self.dice.choice([None, "short", "medium", "long"]),
            key=self.dice.choice([None, None, "kettle/colour"]),
            scope=self.dice.choice(["", "home"]), session=self.dice.choice([None, "s1"]),
            source=self.dice.choice(["user", "user", "agent", "web"]),
            kind=self.dice.choice(["fact", "rule", "episode"]),
            expires_in=self.dice.choice([None, None, 7200]),
            importance=self.dice.choice([None, 0.0, 0, 0.5, 1, 1.0]),
        )  # fmt: skip

    def add_many(self, view: MemoryManager) -> None:
        """Add enough at once to fill pages of every tree."""
        view.add_many([{"text": f"note {n} about the {self.some(view)}"} for n in range(20)])

    def feedback(self, view: MemoryManager) -> None:
        """Say how good a memory was."""
        verdicts = ["used", "confirmed", "wrong", "ignored"]
        view.feedback.rate(self.some(view), verdict=self.dice.choice(verdicts))

    def judge_all(self, view: MemoryManager) -> None:
        """Say of every memory that it was of use, as over a week."""
        view.feedback.rate([one.id for one in view.list(limit=100)], useful=True)

    def ask(self, view: MemoryManager) -> None:
        """Ask, so that uses are recorded, and cite the answer."""
        found = view.retrieve(f"which {self.dice.choice(THINGS)}?", 5)
        if found.hits:
            view.feedback.cite(found, found[0].text)

    def change(self, view: MemoryManager) -> None:
        """Change one memory in one of the many ways."""
        chosen, dice = self.some(view), self.dice
        ways: tuple[Callable[[], object], ...] = (
            lambda: view.update(chosen, text=f"It was {dice.choice(THINGS)}"),
            lambda: view.correct(chosen, f"No, it is the {dice.choice(THINGS)}"),
            lambda: view.forget(chosen),
            lambda: view.restore(chosen),
            lambda: view.update(chosen, pinned=True),
            lambda: view.update(chosen, pinned=False),
            lambda: view.update(chosen, tier=dice.choice(["short", "medium", "long"])),
            lambda: view.store.touch(chosen, 3600),
            lambda: view.quarantine.approve(chosen),
            lambda: view.quarantine.reject(chosen),
            lambda: view.update(chosen, importance=dice.choice([0.0, 0.25, 1.0])),
            lambda: view.add(
                f"The door is {dice.choice(THINGS)}",
                supersedes=chosen,
                source=dice.choice(["user", "web"]),
                importance=dice.choice([None, 0.0, 1.0]),
            ),
            lambda: view.scopes.promote(chosen),
        )
        dice.choice(ways)()

    def undo(self, view: MemoryManager) -> None:
        """Undo the newest change."""
        view.undo()

    def retract(self, view: MemoryManager) -> None:
        """Take all verdicts of one source back."""
        view.feedback.retract(source="user")

    def sleep(self, view: MemoryManager) -> None:
        """Sleep, and sweep what expired."""
        view.sleep.run(seconds=60)
        view.store.sweep()

    def erase(self, view: MemoryManager) -> None:
        """Erase one memory."""
        view.store.erase(self.some(view), timeout=0)

    def talk(self, view: MemoryManager) -> None:
        """Keep some turns of a conversation in a session, with a checkpoint."""
        talk = [{"role": "user", "content": f"I took the {thing}"} for thing in THINGS[:3]]
        view.keep(talk, session="s2")
        view.sessions.start("s2").checkpoint(done=["talked"])

    def link(self, view: MemoryManager) -> None:
        """Link two memories, with a weight that the page may hold as an integer."""
        ends = (view.get(self.some(view)), view.get(self.some(view)))
        weight = self.dice.choice([0.0, 0.5, 1.0, -3.0, 2.0**40, 2.0**70])

        def job(session: Transaction) -> None:
            where = "SELECT docid FROM memories WHERE id = ?"  # one may just have been erased
            found = [session.execute(where, (one.id,)).fetchone() for one in ends]
            if None not in found:
                link(session, *(docid for (docid,) in found), "seen", weight)

        self.memory._engine.ledger.write(job)

    def loop(self, view: MemoryManager) -> None:
        """Do a turn whose outcome is told, or never is."""
        loop = view.feedback.open_loop("s3")
        loop.retrieve(f"which {self.dice.choice(THINGS)}?")
        if self.dice.random() < 0.7:
            loop.outcome(self.dice.choice([0, 0.5, 1]))

    def carry(self, view: MemoryManager) -> None:
        """Import what another namespace has, as one's own backup."""
        file = io.StringIO()
        self.memory.of(self.dice.choice(WHO)).store.export(file)
        view.store.import_from(io.StringIO(file.getvalue()), trust="user")

    def index(self, _: MemoryManager) -> None:
        """Let all vectors be made."""
        if self.embedder is not None:
            self.memory.flush(wait=True, timeout=60)

    def restored(self, _: MemoryManager) -> None:
        """Go on with a backup, set back to a moment or not."""
        self.memory.store.backup(self.folder / "backup", overwrite=True)
        moment = self.clock() - timedelta(hours=self.dice.choice([0, 2, 60]))
        self.memory.close()
        root = self.folder / "store"
        try:
            restore(self.folder / "backup", root, at=moment, set_aside=True)
        finally:
            self.memory = self.opened(root)

    def close(self, *, killed: bool) -> Path:
        """Close the store; returns it, or a copy as it would be left by a kill."""
        copy, root = self.folder / "copy", self.memory.store.root
        if killed:
            copy.mkdir()
            for name in (LEDGER, f"{LEDGER}-wal"):
                if (root / name).exists():
                    shutil.copy(root / name, copy / name)
        self.memory.close()
        return copy if killed else root


VERBS = (
    *(3 * (Life.add, Life.feedback, Life.change)), *(2 * (Life.ask, Life.judge_all, Life.undo)),
    Life.add_many, Life.link, Life.loop, Life.retract, Life.sleep, Life.erase, Life.talk,
    Life.carry, Life.index, Life.restored,
)  # fmt: skip


def told(memory: MemoryManager) -> dict[str, Any]:
    """Return every memory of every namespace, its earlier states, what is said of it, and the log.

    A salvaged store does not know which changes made a state, and numbers its events again.
    """
    said: dict[str, Any] = {}
    for who in WHO:
        view = memory.of(who)
        for one in view.list(**EVERY):
            belief = view.feedback.belief(one.id)
            said[f"{who} {one.id}"] = {
                "memory": one,
                "history": [
                    replace(old, change=None, by=None) for old in view.changes.history(one.id)
                ],
                "belief": [replace(each, event=0) for each in belief.evidence] + [belief.mean],
            }
    ledger = memory._engine.ledger
    said["log"] = {"events": ledger.read(_events), "links": ledger.read(_links)}
    return said


def _links(session: Transaction) -> list[tuple[Any, ...]]:
    """Read every link, as it is."""
    query = "SELECT src, dst, relation, weight, seal FROM links ORDER BY src, dst, relation"
    return session.execute(query).fetchall()


def _events(session: Transaction) -> list[tuple[Any, ...]]:
    """Read the log in order, without what names a memory that is not there any more."""
    ids: dict[int, set[str]] = {}
    for ns, memory_id in session.execute("SELECT ns, id FROM memories"):
        ids.setdefault(ns, {""}).add(memory_id)
    log = session.execute("SELECT ns, at, kind, docid, detail FROM events ORDER BY event")
    return [
        event
        for event in log
        if event[0] in ids and ids[event[0]].issuperset(json.loads(event[4] or "{}").get("ids", ()))
    ]


def wrong_after(folder: Path, dice: random.Random, steps: int) -> tuple[int, list[str]]:
    """Let a store live and salvage it; return how many memories it had, and what is wrong then."""
    life = Life(folder, dice)
    try:
        life.memory.of(WHO[0]).add("The kettle is new")
        for _ in range(steps):
            life.step()
        life.memory.flush(wait=True, timeout=60)  # uses are noted in the background
        before = told(life.memory)
    finally:
        root = life.close(killed=dice.random() < 0.3)
    if len(before) == 1:
        return 0, []  # the log alone; all was erased
    try:
        done = salvage(root)
    except StoreUnusable as error:
        return len(before) - 1, [f"all are gone: {error}"]
    with life.opened(root) as memory:
        after = told(memory)
        approved = approve_all(memory)
    lost = (done.lost, done.lost_links)
    wrong = [] if lost == (0, 0) else [f"{lost} are said to be lost: {done.changed[:3]}"]
    with life.opened(done.aside) as memory:
        if approved != (unsalvaged := approve_all(memory)):
            wrong.append(f"once all is approved: {approved}, and without a salvage {unsalvaged}")
    gone, new = sorted(before.keys() - after.keys()), sorted(after.keys() - before.keys())
    wrong += [f"{len(gone)} of {len(before)} are gone: {gone[:3]}"] if gone else []
    wrong += [f"came back: {new[:3]}"] if new else []
    return len(before) - 1, wrong + list(_differing(before, after))


def approve_all(memory: MemoryManager) -> dict[str, str]:
    """Approve whatever is quarantined; return what stands then, and in whose place."""
    stands = {}
    for who in WHO:
        view = memory.of(who)
        for one in view.list(status="quarantined", limit=10_000):
            with suppress(MementoError):
                view.quarantine.approve(one.id)
        for one in view.list(**EVERY):
            stands[f"{who} {one.id}"] = f"{one.status.value} {one.superseded_by}"
    return stands


def _differing(before: dict[str, Any], after: dict[str, Any]) -> Iterable[str]:
    for name in before.keys() & after.keys():
        for part, was in before[name].items():
            if after[name][part] != was:
                yield f"{part} of {name}: {after[name][part]}, and was {was}"


def salvage_of_healthy_stores(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Let stores live and salvage each; then do the same with the old reading."""
    folder = shim.in_memory(folder)
    try:
        held, wrong = 0, []
        for number in range(LIVES[full]):
            count, found = _lived(folder, f"{seed}.{number}", MOST_STEPS[full])
            held += count
            wrong += [f"life {number}: {line}"[:300] for line in found]
        with mock.patch.object(ledger_salvage, "_take_indexed", _believing):
            control = _lived(folder, f"{seed}.control", MOST_STEPS[True])[1]
    finally:
        shutil.rmtree(folder)
    return TrustResult(
        name="salvage of a healthy store",
        promise="Salvaging an undamaged store keeps every memory in its newest state, with its"
        " earlier states and its verdicts.",
        cases=LIVES[full],
        failures=len(wrong),
        control="a salvage that mistakes any three numbers in an index for a memory's revision",
        control_failed=any("gone" in line for line in control),
        seed=seed,
        figures={"memories": held, "maximum steps per store": MOST_STEPS[full]},
        details=tuple(wrong[:10]),
    )


def _lived(folder: Path, seed: str, most: int) -> tuple[int, list[str]]:
    dice = random.Random(seed)
    place = folder / "life"
    place.mkdir()
    try:
        return wrong_after(place, dice, dice.randrange(1, most))
    finally:
        shutil.rmtree(place)


_take_indexed = ledger_salvage._take_indexed


def _believing(found: ledger_salvage.Rescued, values: tuple[Any, ...]) -> None:
    """Take any index entry of a row for a newer state of it: a control, made of the old reading."""
    match values:
        case (int(ns), int(stamp), int(docid)) if docid >> SEQ_BITS == ns:
            row = found.memories.get(docid)
            if row is None or row.rev < stamp:
                found.erased[docid] = (docid, ns, stamp)
    _take_indexed(found, values)


HARNESSES = (salvage_of_healthy_stores,)
