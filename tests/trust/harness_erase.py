"""An erased memory is in no file of the store: byte by byte, also after a kill -9.

Each round fills a store with a canary in every place that can hold one (text, an earlier text, id,
key, aliases, tags, metadata, source, a session's ring and its snapshot, what still waits for the
index, copies set aside, vectors in the ledger, in Chroma and in files of vectors) of two
namespaces, and lets a child erase it from both. The vectors looked for are those that the ledger
really held, and each is shown to be in the ledger, and in the files of the indexes if it belongs
there, before anything is erased. Files of a restore beside the store are not erased, but have to be
in the receipt. In most rounds the child is killed meanwhile; then the store is opened again, and
erased from again if it was killed too early. In half of them the ledger is scrubbed in bites, as a
large one is.

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
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import shim
from trust_result import TrustResult

from memento import Config, MemoryManager, Source
from memento.errors import NotFound
from memento.ledger.lite import sqlite
from memento.retrieve import vector_search
from memento.testing import HashEmbedder

ROUNDS = {False: 2, True: 60}
DIM = 64
OTHERS = 30
"""Memories beside it in each namespace, which must stay."""
CROWD = 1_100
"""As many in one round of the full form: past 1,000 rows Chroma writes its graph to the disk."""
CROWDED = 13
"""One round in so many has a crowd."""
NAMESPACES = (("default",), ("tenant", "two"))
HOW = ("ids", "source", "session", "everything")
LATEST = 0.12
"""Longest time after which the child is killed, seconds: about what the erasure takes."""
WAIT = 60.0


EXACT = Config(long_index="exact")
vector_search.TAIL = 1  # a file of vectors for every namespace, in this process and its children
"""A question then writes all vectors of its namespace to files."""


def embedder() -> HashEmbedder:
    """Make the embedder of every store here."""
    return HashEmbedder(DIM)


@dataclass(frozen=True)
class Planted:
    """The parts to erase besides words.

    Attributes:
        vectors: Vectors that the ledger held, earlier ones too.
        absent: Those that were not where they belong even before, each as a sentence.
    """

    vectors: tuple[bytes, ...]
    absent: tuple[str, ...]


def fill(root: Path, canary: str, others: int = OTHERS) -> Planted:
    """Put a canary everywhere, in both namespaces; returns what must be gone with it."""
    with MemoryManager(root, embedder=embedder(), config=EXACT) as memory:
        views = [memory.of(*labels) for labels in NAMESPACES]
        for view in views:
            plant(view, canary, others)
        memory.flush(wait=True, timeout=WAIT)
        earlier = stored(root, canary)
        for view in views:
            view.retrieve(f"passport {canary}")
            view.update(
                f"id-{canary}", text=f"the passport is {canary} 1 of {view.store.namespace[0]}"
            )
            view.retrieve(f"passport {canary}")
        memory.flush(wait=True, timeout=WAIT)
        vectors = stored(root, canary)
    absent = [*missing_before(root, vectors)]
    if not filed(root, vectors) or not filed(root, earlier):
        absent.append("the files of vectors held none of the vectors, or of the earlier ones")
    if len(vectors) < 3 * len(NAMESPACES) or not earlier.keys() - vectors.keys():
        absent.append(f"{len(vectors)} vectors were stored, and {len(earlier)} before the update")
    snapshot = b'{"format": 1, "sha256": "0", "content": {"revs": {}, "rings": ['
    for name, head in (
        ("short.json.bad-20250101T000000000000Z", snapshot),
        ("ledger.db.damaged-1", (root / "ledger.db").read_bytes()[:100]),
    ):
        (root / name).write_bytes(head + canary.encode())
    for name in (f".{root.name}.0abcdef1.tmp", f"{root.name}.aside-20250101T000000000000Z"):
        root.with_name(name).mkdir()
        (root.with_name(name) / "ledger.db").write_text(canary)
    return Planted((*{**earlier, **vectors},), (*absent,))


def plant(view: MemoryManager, canary: str, others: int) -> None:
    """Put a canary everywhere in one namespace, among others that are to stay."""
    where = view.store.namespace[0]
    texts = [f"the passport is {canary} {n} of {where}" for n in range(3)]
    source = Source(uri=f"file:///{canary}", model=canary)
    view.add(texts[0], "long", id=f"id-{canary}", key=f"slot/{canary}", tags=[canary],
             aliases=[f"alias {canary}"], metadata={canary: [canary]}, actor=canary,
             session=canary, source=source)  # fmt: skip
    view.add(texts[2], "short", id=f"turn-{canary}", session=canary, source=source)
    child = Source("agent", f"file:///{canary}", parents=(f"id-{canary}",))
    view.add(f"derived: {canary} of {where}", "long", session=canary, source=child)
    view.update(f"turn-{canary}", text=f"the passport was {canary} of {where}")
    view.undo(view.changes.list(limit=1)[0].number)
    view.add_many({"text": f"note number {n}", "tier": "long", "id": f"n{n}"}
                  for n in range(others))  # fmt: skip


def stored(root: Path, canary: str) -> dict[bytes, str]:
    """Read the vectors of all that holds the canary from the ledger: vector to tier."""
    query = ("SELECT vector, tier FROM embeddings JOIN memories USING (docid)"
             " WHERE instr(text, ?)")  # fmt: skip
    place = f"file:{root / 'ledger.db'}?mode=ro"
    with closing(sqlite.sqlite3.connect(place, uri=True)) as file:
        return {bytes(vector): tier for vector, tier in file.execute(query, (canary,))}


def filed(root: Path, vectors: dict[bytes, str]) -> list[str]:
    """Name the derived files that hold one of some vectors."""
    return holding(root / "derived", [*vectors])


def missing_before(root: Path, vectors: dict[bytes, str]) -> Iterator[str]:
    """Name the vectors that are not in the files in which they belong."""
    ledger = b"".join(path.read_bytes() for path in root.glob("ledger.db*"))
    chroma = [path.read_bytes() for path in (root / "chroma").rglob("*") if path.is_file()]
    for number, (vector, tier) in enumerate(vectors.items()):
        if vector not in ledger:
            yield f"vector {number} was not in the ledger before the erasure"
        if tier == "long" and not any(vector in content for content in chroma):
            yield f"vector {number} was not in Chroma before the erasure"


def erase(root: Path, canary: str, how: str) -> None:
    """Be the child: add one more that waits for the index, then erase all of it, or forget it."""
    with MemoryManager(root, embedder=embedder(), config=EXACT) as memory:
        memory.flush(wait=True, timeout=WAIT)
        memory.retrieve("which note?", record=False)
        for labels in NAMESPACES:
            memory.of(*labels).add(late(canary), "long", id=f"late-{canary}", session=canary,
                                   source=Source(uri=f"file:///{canary}"))  # fmt: skip
        os.write(1, b"begins\n")
        rub_out(memory, canary, how)
        os.write(1, b"done\n")


def late(canary: str) -> str:
    """Return the text that may still wait for its vector when it is erased."""
    return f"late {canary}"


def rub_out(memory: MemoryManager, canary: str, how: str) -> None:
    """Say in one of the ways there are what is to go; what is gone already is no error."""
    for labels in NAMESPACES:
        rub_out_of(memory.of(*labels), canary, how)


def rub_out_of(memory: MemoryManager, canary: str, how: str) -> None:
    """Rub out in one namespace."""
    ids = [f"{name}-{canary}" for name in ("id", "turn", "late")]
    if how == "forget":
        for memory_id in ids:
            memory.forget(memory_id)
    elif how == "ids":
        try:
            memory.store.erase(ids, timeout=WAIT)
        except NotFound:
            memory.flush(wait=True, timeout=WAIT)
    elif how == "source":
        memory.store.erase(source=f"file:///{canary}", timeout=WAIT)
    elif how == "session":
        memory.store.erase(session=canary, timeout=WAIT)
    else:
        memory.store.erase(everything=True, timeout=WAIT)


@contextmanager
def as_if_large() -> Iterator[None]:
    """Let the ledger be scrubbed in bites, as one that is too large to be rewritten."""
    with mock.patch.object(sqlite, "WHOLE_PAGES", -1):
        yield


def run_child(
    root: Path, canary: str, how: str, delay: float | None, *, scrubbed: bool = False
) -> bool:
    """Erase in a child, killed a while after it began; tells whether it was killed."""
    command = [sys.executable, __file__, str(root), canary, how, "scrubbed" * scrubbed]
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


def spellings(canary: str) -> Iterator[bytes]:
    """Yield the words that must be nowhere, as files may spell them."""
    for text in (canary, canary[1:], canary[:-3]):
        for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
            yield text.encode(encoding)


def found_in(root: Path, canary: str, vectors: tuple[bytes, ...]) -> list[str]:
    """Name the files that still hold something of it, full text included, whatever its spelling."""
    held = holding(root, [*spellings(canary), *vectors, *embedded(late(canary))])
    return held + [f"full text: {term}" for term in terms(root) if canary[:-3] in term]


def holding(root: Path, wanted: list[bytes]) -> list[str]:
    """Name the files below a folder that hold one of some bytes."""
    files = [path for path in sorted(root.rglob("*")) if path.is_file()]
    return [
        str(path.relative_to(root))
        for path in files
        if any(spelt in content for content in [path.read_bytes()] for spelt in wanted)
    ]


def embedded(text: str) -> list[bytes]:
    """Return the vector of a text that nobody said."""
    return [vector.astype("<f4").tobytes() for vector in embedder().embed([text])]


def words_in_chroma(root: Path) -> list[str]:
    """Name Chroma's files that hold words: it is given ids and vectors, and nothing to read."""
    held = holding(root / "chroma", [b"note number", b"the passport is"])
    return [f"words of a memory in chroma/{name}" for name in held]


def unnamed_beside(root: Path, canary: str) -> list[str]:
    """Name what lies beside the store, holds something of it, and is not in the receipt."""
    files = [path for path in sorted(root.parent.glob(f"*{root.name}.*/**/*")) if path.is_file()]
    held = {path.relative_to(root.parent).parts[0] for path in files
            if canary.encode() in path.read_bytes()}  # fmt: skip
    with MemoryManager(root, embedder=embedder()) as memory:
        said = memory.store.erase(everything=True, dry_run=True).not_reached
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


def finish(root: Path, canary: str, how: str, others: int) -> list[str]:
    """Open what was left, erase again if need be; returns what is wrong with the store."""
    with MemoryManager(root, embedder=embedder(), config=EXACT) as memory:
        began = time.monotonic()
        rub_out(memory, canary, how)
        while not memory.flush(wait=True, timeout=WAIT) and time.monotonic() - began < WAIT:
            pass
        stayed = 0 if how == "everything" else others
        wrong = [
            f"doctor: {one.check}: {one.detail}" for one in memory.store.doctor() if not one.ok
        ]
        for labels in NAMESPACES:
            view = memory.of(*labels)
            if len(view.list(limit=2 * others)) != stayed:
                wrong.append(f"{len(view.list())} others are in {labels}, not {stayed}")
            if how != "everything" and view.retrieve("note number 7")[0].id != "n7":
                wrong.append(f"another memory of {labels} is not found")
    return wrong


def erased_is_gone(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Erase in every way, killed in most rounds, and look into every byte that is left."""
    dice = random.Random(seed)
    wrong: list[str] = []
    killed = sought = 0
    for number in range(ROUNDS[full]):
        root, how = folder / f"store{number}", HOW[number % len(HOW)]
        canary = f"zq{dice.randrange(16**10):010x}xq"
        others = CROWD if number % CROWDED == CROWDED - 1 else OTHERS
        planted = fill(root, canary, others)
        sought += len(planted.vectors)
        delay = None if number % 4 == 1 else dice.uniform(0, LATEST)
        scrubbed = (number + number // len(HOW)) % 2 == 1
        killed += run_child(root, canary, how, delay, scrubbed=scrubbed)
        with as_if_large() if scrubbed else nullcontext():
            said = [*planted.absent, *finish(root, canary, how, others)]
        said += found_in(root, canary, planted.vectors) + words_in_chroma(root)
        said += unnamed_beside(root, canary)
        wrong += [f"round {number}, {how}: {one}" for one in said]
    root, canary = folder / "control", "zqcontrolcanaryxq"
    planted = fill(root, canary)
    run_child(root, canary, "forget", None)
    held = found_in(root, canary, planted.vectors)
    vectors_in = holding(root, [*planted.vectors])
    return TrustResult(
        name="erasure, with kill -9 during it",
        promise="No file of the store contains anything of an erased memory: no text, earlier"
        " text, name, word or vector, in two namespaces. If a process is killed during an erasure,"
        " the next one finishes it. The receipt lists copies beside the store.",
        cases=ROUNDS[full],
        failures=len(wrong),
        control="forget instead of erase",
        control_failed="ledger.db" in held
        and "ledger.db" in vectors_in
        and any(name.startswith("chroma/") for name in vectors_in)
        and any(name.startswith("derived/") for name in vectors_in),
        seed=seed,
        figures={
            "killed before the erasure ended": killed,
            "stored vectors searched for": sought,
            "control: files that still contain the memory": len(held),
        },
        details=tuple(wrong[:10]),
    )


HARNESSES = (erased_is_gone,)

if __name__ == "__main__":
    with as_if_large() if sys.argv[4] else nullcontext():
        erase(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
