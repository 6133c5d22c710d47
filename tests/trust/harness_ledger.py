"""A damaged ledger: every changed text is noticed, and what is whole is saved, and nothing else.

A ledger is damaged at random places in several ways. If a store then shows anything that differs
from the memories that were added, doctor must have named it; and a store salvaged from it shows
only what was added.
"""

from __future__ import annotations

import random
import shutil
import string
from pathlib import Path
from typing import NamedTuple

import script
import shim
from trust_result import TrustResult

from memento import MemoryManager
from memento.base.layout import LEDGER
from memento.errors import MementoError, StoreUnusable
from memento.ledger import checks, rows
from memento.ledger.lite import rescue as ledger_salvage
from memento.upkeep.backup import salvage

STEPS = 150
CASES = {False: 20, True: 400}
SIGNS = ("unnoticed", "wrong:")
"""The findings that the control has to have."""
PAGE = 4096
MOST_ON_A_PAGE = 24
"""Memories one damaged page may cost at most; those in the script take 250 bytes and more."""


class Truth(NamedTuple):
    """The memories that were added, and the files that hold them.

    Attributes:
        folder: A store that was closed.
        unfolded: The same with its newest part in the write-ahead log.
        state: Text, tier and status of each memory.
        past: Texts each memory has had.
    """

    folder: Path
    unfolded: Path
    state: script.State
    past: dict[str, set[str]]


def letters(data: bytearray, rng: random.Random) -> None:
    """Write other letters over sixteen bytes, as no structure forbids."""
    at = rng.randrange(100, len(data) - 16)
    data[at : at + 16] = "".join(rng.choices(string.ascii_lowercase, k=16)).encode()


def noise(data: bytearray, rng: random.Random) -> None:
    """Write anything over 64 bytes."""
    at = rng.randrange(100, len(data) - 64)
    data[at : at + 64] = rng.randbytes(64)


def zeroed(data: bytearray, rng: random.Random) -> None:
    """Empty a page."""
    at = rng.randrange(1, len(data) // PAGE) * PAGE
    data[at : at + PAGE] = bytes(PAGE)


def garbled(data: bytearray, rng: random.Random) -> None:
    """Fill a page with noise."""
    at = rng.randrange(1, len(data) // PAGE) * PAGE
    data[at : at + PAGE] = rng.randbytes(PAGE)


def headless(data: bytearray, rng: random.Random) -> None:
    """Take away what makes it an SQLite file."""
    size = rng.choice((16, 100))
    data[:size] = bytes(size)


def cut_off(data: bytearray, rng: random.Random) -> None:
    """Lose the end of the file."""
    del data[rng.randrange(len(data) // 2, len(data)) :]


KINDS = (letters, letters, noise, zeroed, garbled, headless, cut_off)
ONE_PAGE = frozenset({letters, zeroed, garbled})


def made(folder: Path, seed: int) -> Truth:
    """Make the store that is then damaged."""
    steps = script.steps(STEPS, seed)
    memory = MemoryManager(folder / "whole", embedder=None)
    for step in steps[:-30]:
        script.do(memory, step)
    memory.close()
    memory = MemoryManager(folder / "whole", embedder=None)
    for step in steps[-30:]:
        script.do(memory, step)
    unfolded = folder / "unfolded"
    unfolded.mkdir()
    for name in (LEDGER, f"{LEDGER}-wal"):
        shutil.copy(memory.store.root / name, unfolded / name)
    memory.close()
    past: dict[str, set[str]] = {}
    for state in script.states(steps):
        for memory_id, (text, _, _) in state.items():
            past.setdefault(memory_id, set()).add(text)
    return Truth(memory.store.root, unfolded, script.states(steps)[-1], past)


def damaged(truth: Truth, root: Path, rng: random.Random) -> str:
    """Copy a store and damage the copy; returns how."""
    how, source = rng.choice(KINDS), rng.choice((truth.folder, truth.folder, truth.unfolded))
    shutil.copytree(source, root)
    for other in root.iterdir():
        if not other.name.startswith(LEDGER):
            other.unlink()
    data = bytearray((root / LEDGER).read_bytes())
    how(data, rng)
    (root / LEDGER).write_bytes(data)
    return how.__name__


def unnoticed(root: Path, truth: Truth) -> list[str]:
    """Open a damaged store; list what it shows otherwise than it was, and doctor does not name."""
    try:
        with MemoryManager(root, embedder=None) as memory:
            memory.retrieve("harbour kettle", k=50)
            found = {f.check: f for f in memory.store.doctor(repair=False) if not f.ok}
            if found.keys() & {"ledger", "memories"}:
                return []
            shown = script.held(memory)
    except MementoError:
        return []  # it says so itself
    return [
        f"unnoticed: {memory_id} reads {held[0][:40]!r}"
        for memory_id, held in shown.items()
        if held != truth.state.get(memory_id)
    ]


def badly_saved(root: Path, truth: Truth, how: str) -> list[str]:
    """Salvage a damaged store; list what is wrong with the new one."""
    before = (root / LEDGER).read_bytes()
    try:
        done = salvage(root)
    except StoreUnusable as error:
        return [f"nothing saved: {error}"]
    except MementoError as error:
        return [f"salvage fails: {error}"]
    with MemoryManager(root, embedder=None) as memory:
        kept = memory._engine.ledger.read(lambda c: list(checks.rows(c)))
        wrong = script.complaints(memory)
        view = memory.of(*memory._engine.ledger.labels(1)) if kept else memory  # by its new name
        past = {
            row.id: {v.text for v in view.changes.history(row.id)} for row in kept if row.ns == 1
        }
        memory.add("written after it was saved")
    held = {row.id: (row.text, row.tier, row.status) for row in kept}
    wrong += [f"wrong: {i} is {held[i]}" for i in held if held[i] != truth.state.get(i)]
    wrong += [f"wrong history: {i}" for i, texts in past.items() if texts - truth.past[i]]
    missing = truth.state.keys() - held.keys()
    if how in {kind.__name__ for kind in ONE_PAGE} and len(missing) > MOST_ON_A_PAGE:
        wrong.append(f"one page cost {len(missing)} memories")
    if done.kept != len(held) or done.lost > len(missing):
        wrong.append(f"said {done.kept} kept, {done.lost} lost; it was {len(held)}, {len(missing)}")
    if not done.aside.exists() or len(before) > (done.aside / LEDGER).stat().st_size:
        wrong.append("the damaged one was not kept")
    return wrong


def damaged_ledger(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Damage a ledger in many ways; look at it, and salvage it."""
    folder = shim.in_memory(folder)
    try:
        truth, rng = made(folder, seed), random.Random(seed)
        wrong = []
        for case in range(CASES[full]):
            root = folder / "damaged"
            how = damaged(truth, root, rng)
            found = unnoticed(root, truth) + badly_saved(root, truth, how)
            wrong += [f"case {case}, {how}: {what}" for what in found]
            for store in folder.glob("damaged*"):
                shutil.rmtree(store)
        failed = believing_everything(folder, truth, seed)
    finally:
        shutil.rmtree(folder)
    return TrustResult(
        name="damaged ledger",
        promise="Doctor reports every changed text; salvage recovers all undamaged memories, and"
        " only those.",
        cases=CASES[full],
        failures=len(wrong),
        control="the same without checksums: wrong texts go unnoticed and are kept",
        control_failed=failed,
        seed=seed,
        figures={"memories per ledger": len(truth.state)},
        details=tuple(wrong[:10]),
    )


def believing_everything(folder: Path, truth: Truth, seed: int) -> bool:
    """Run the same checks on a memento without checksums; tell whether they fail, both of them."""
    real, rng, wrong = rows.checksum, random.Random(seed), []
    modules = (rows, ledger_salvage)
    for module in modules:
        module.checksum = lambda row: row.checksum
    try:
        for _ in range(24):
            root = folder / "damaged"
            shutil.copytree(truth.folder, root)
            data = bytearray((root / LEDGER).read_bytes())
            at = data.index(b" harbour ", rng.randrange(len(data) // 2))
            data[at : at + 9] = b" HARBOR! "
            (root / LEDGER).write_bytes(data)
            wrong += unnoticed(root, truth) + badly_saved(root, truth, "letters")
            for store in folder.glob("damaged*"):
                shutil.rmtree(store)
            if all(any(line.startswith(sign) for line in wrong) for sign in SIGNS):
                return True
    finally:
        for module in modules:
            module.checksum = real
    return False


HARNESSES = (damaged_ledger,)
