"""What is erased is in no file of the store: looked for byte by byte, also after a kill -9.

Each round fills a store with a canary in every place that can hold one (text, an earlier text, id,
key, aliases, tags, metadata, source, a session's ring and its snapshot, what still waits for the
index, copies set aside, vectors in the ledger and in Chroma), and lets a child erase it. What a
restore left beside the store is not erased, but has to be in the receipt. In most
rounds the child is killed meanwhile; then the store is opened anew, and erased from again if it was
killed too early.

Alone: ``python benchmarks/trust.py --full --only erase``.
"""

from __future__ import annotations

import os
import random
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import shim
from trust_result import TrustResult

from memento import MemoryManager, Source
from memento.errors import NotFound
from memento.ledger import sqlite
from memento.testing import HashEmbedder

ROUNDS = {False: 2, True: 60}
DIM = 64
OTHERS = 30
"""Memories beside it, which must stay."""
HOW = ("ids", "source", "session", "everything")
LATEST = 0.12
"""Longest time after which the child is killed, seconds: about what the erasure takes."""
WAIT = 60.0


def embedder() -> HashEmbedder:
    """Make the embedder of every store here."""
    return HashEmbedder(DIM)


def fill(root: Path, canary: str) -> list[bytes]:
    """Put a canary everywhere; returns the vectors that must be gone with it."""
    texts = [f"the passport is {canary} {n}" for n in range(3)]
    with MemoryManager(root, embedder=embedder()) as memory:
        memory.add_many({"text": f"note number {n}", "tier": "long", "id": f"n{n}"}
                        for n in range(OTHERS))  # fmt: skip
        source = Source(uri=f"file:///{canary}", model=canary)
        memory.add(texts[0], "long", id=f"id-{canary}", key=f"slot/{canary}", tags=[canary],
                   aliases=[f"alias {canary}"], metadata={canary: [canary]}, actor=canary,
                   session=canary, source=source)  # fmt: skip
        memory.add(texts[2], "short", id=f"turn-{canary}", session=canary, source=source)
        child = Source("agent", f"file:///{canary}", parents=(f"id-{canary}",))
        memory.add(f"derived: {canary}", "long", session=canary, source=child)
        memory.flush(wait=True, timeout=WAIT)
        memory.update(f"id-{canary}", text=texts[1])
        memory.retrieve(f"passport {canary}")
        memory.flush(wait=True, timeout=WAIT)
        vectors = [vector.tobytes() for vector in memory.embed(texts)]
    for name in ("short.json.bad-20250101T000000000000Z", "ledger.db.damaged-1"):
        (root / name).write_text(canary)
    for name in (f".{root.name}.0abcdef1.tmp", f"{root.name}.aside-20250101T000000000000Z"):
        root.with_name(name).mkdir()
        (root.with_name(name) / "ledger.db").write_text(canary)
    return vectors


def erase(root: Path, canary: str, how: str) -> None:
    """Be the child: add one more that waits for the index, then erase all of it, or forget it."""
    with MemoryManager(root, embedder=embedder()) as memory:
        memory.flush(wait=True, timeout=WAIT)
        memory.add(f"late {canary}", "long", id=f"late-{canary}", session=canary,
                   source=Source(uri=f"file:///{canary}"))  # fmt: skip
        os.write(1, b"begins\n")
        rub_out(memory, canary, how)
        os.write(1, b"done\n")


def rub_out(memory: MemoryManager, canary: str, how: str) -> None:
    """Say in one of the ways there are what is to go; what is gone already is no error."""
    ids = [f"{name}-{canary}" for name in ("id", "turn", "late")]
    if how == "forget":
        for memory_id in ids:
            memory.forget(memory_id)
    elif how == "ids":
        try:
            memory.erase(ids, timeout=WAIT)
        except NotFound:
            memory.flush(wait=True, timeout=WAIT)
    elif how == "source":
        memory.erase(source=f"file:///{canary}", timeout=WAIT)
    elif how == "session":
        memory.erase(session=canary, timeout=WAIT)
    else:
        memory.erase(everything=True, timeout=WAIT)


def run_child(root: Path, canary: str, how: str, delay: float | None) -> bool:
    """Erase in a child, killed a while after it began; tells whether it was killed."""
    command = [sys.executable, __file__, str(root), canary, how]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, env=shim.environment())
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == b"begins\n", "the child did not come so far"
        if delay is not None and not select.select([child.stdout], [], [], delay)[0]:
            child.kill()
        return child.wait(WAIT) != 0
    finally:
        child.kill()
        child.communicate()


def spellings(canary: str, vectors: list[bytes]) -> Iterator[bytes]:
    """Yield the bytes that must be nowhere: the words as files may spell them, and the vectors."""
    for text in (canary, canary[1:], canary[:-3]):
        for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
            yield text.encode(encoding)
    yield from vectors


def found_in(root: Path, canary: str, vectors: list[bytes]) -> list[str]:
    """Name the files that still hold something of it, full text included, whatever its spelling."""
    wanted = [*spellings(canary, vectors)]
    files = [path for path in sorted(root.rglob("*")) if path.is_file()]
    held = [
        str(path.relative_to(root))
        for path in files
        if any(spelt in content for content in [path.read_bytes()] for spelt in wanted)
    ]
    return held + [f"full text: {term}" for term in terms(root) if canary[:-3] in term]


def unnamed_beside(root: Path, canary: str) -> list[str]:
    """Name what lies beside the store, holds something of it, and is not in the receipt."""
    files = [path for path in sorted(root.parent.glob(f"*{root.name}.*/**/*")) if path.is_file()]
    held = {path.relative_to(root.parent).parts[0] for path in files
            if canary.encode() in path.read_bytes()}  # fmt: skip
    with MemoryManager(root, embedder=embedder()) as memory:
        said = memory.erase(everything=True, dry_run=True).not_reached
    named = {name for name in held if any(str(root.parent / name) in line for line in said)}
    silent = [f"beside the store, not in the receipt: {name}" for name in sorted(held - named)]
    return silent if held else ["what was put beside the store was not found there"]


def terms(root: Path) -> list[str]:
    """List every word that the full-text index knows."""
    file = sqlite.sqlite3.connect(f"file:{root / 'ledger.db'}?mode=ro", uri=True)
    file.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab ('main', 'memories_fts', 'row')")
    found = [term for (term,) in file.execute("SELECT term FROM temp.terms")]
    file.close()
    return found


def finish(root: Path, canary: str, how: str) -> list[str]:
    """Open what was left, erase again if need be; returns what is wrong with the store."""
    with MemoryManager(root, embedder=embedder()) as memory:
        began = time.monotonic()
        rub_out(memory, canary, how)
        while not memory.flush(wait=True, timeout=WAIT) and time.monotonic() - began < WAIT:
            pass
        stayed = 0 if how == "everything" else OTHERS
        wrong = [f"doctor: {one.check}: {one.detail}" for one in memory.doctor() if not one.ok]
        if len(memory.list(limit=2 * OTHERS)) != stayed:
            wrong.append(f"{len(memory.list())} others are there, not {stayed}")
        if how != "everything" and memory.retrieve("note number 7")[0].id != "n7":
            wrong.append("another memory is not found")
    return wrong


def erased_is_gone(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Erase in every way, killed in most rounds, and look into every byte that is left."""
    dice = random.Random(seed)
    wrong: list[str] = []
    killed = 0
    for number in range(ROUNDS[full]):
        root, how = folder / f"store{number}", HOW[number % len(HOW)]
        canary = f"zq{dice.randrange(16**10):010x}xq"
        vectors = fill(root, canary)
        delay = None if number % 4 == 1 else dice.uniform(0, LATEST)
        killed += run_child(root, canary, how, delay)
        said = finish(root, canary, how) + found_in(root, canary, vectors)
        said += unnamed_beside(root, canary)
        wrong += [f"round {number}, {how}: {one}" for one in said]
    root, canary = folder / "control", "zqcontrolcanaryxq"
    vectors = fill(root, canary)
    run_child(root, canary, "forget", None)
    held = found_in(root, canary, vectors)
    return TrustResult(
        name="erased, and killed meanwhile",
        promise="What is erased is in no file of the store: no text, earlier text, name, word or"
        " vector; a process that is killed leaves the rest to the next one. Copies beside the"
        " store are named.",
        cases=ROUNDS[full],
        failures=len(wrong),
        control="forgetting it, which can be undone",
        control_failed=any(name.startswith("chroma/") for name in held) and "ledger.db" in held,
        seed=seed,
        figures={"killed before it ended": killed, "files of the control that hold it": len(held)},
        details=tuple(wrong[:10]),
    )


HARNESSES = (erased_is_gone,)

if __name__ == "__main__":
    erase(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
