"""A scan answers as exact search does, whatever happens to the memories and to its files."""

from __future__ import annotations

import os
import random
import shutil
import stat
import subprocess
import sys
import threading
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from memento import Config, layout
from memento.claims.config import Conflicts
from memento.config import IndexConfig
from memento.config.tiers import ChooseConfig
from memento.ledger import vectors
from memento.ledger.lite.ledger import BUSY_SECONDS
from memento.retrieve import scan, scan_files, scans
from memento.retrieve.coders import coder_of
from memento.retrieve.indexes import Indexes
from memento.retrieve.scans import Scans
from memento.testing import HashEmbedder
from memento.tiers import derived
from memento.tiers.long import LongState
from memento.tiers.ownership import FolderLock

DIM = 32
FAST = IndexConfig(start_seconds=0.0, poll_seconds=0.01)
CHOOSE = ChooseConfig(exact_below=0)
QUIET = Conflicts(pairs=0)
SCAN = Config(long_index="scan", choose=CHOOSE, index=FAST, conflicts=QUIET)
EXACT = Config(long_index="exact", choose=CHOOSE, index=FAST, conflicts=QUIET)
WORDS = ("tea", "kettle", "harbour", "lamp", "garden", "winter", "ferry", "violin", "pepper")
ASKED = ("the lamp of the garden", "a violin in winter", "copper kettle", "pepper 7")


def text(n):
    """Make up a memory."""
    rng = random.Random(n)
    return f"the {rng.choice(WORDS)} and the {rng.choice(WORDS)} of day {n % 31} cost {n}"


def filled(memory, n=300, first=0):
    """Put memories into a store, half of them in sessions, and wait for their vectors."""
    memory.add_many(
        {
            "text": text(first + i),
            "tier": "long",
            "id": f"m{i}",
            "kind": ("fact", "rule")[i % 3 == 0],
        }
        | ({"session": f"s{i // 20}"} if i % 2 else {})
        for i in range(n)
    )
    settled(memory)
    return memory


def settled(memory):
    """Wait until all memories of a store have vectors; Chroma may be another process's."""
    memory.flush(wait=True, timeout=60)
    assert not memory._engine.ledger.read(vectors.backlog_size).get("embed")


def answers(memory, **options):
    """Ask a store everything; the hits with all that is computed of them."""
    found = []
    for asked in ASKED:
        found.append(memory.retrieve(asked, 8, record=False, **options))
        vector = memory.embed([asked])[0]
        found.append(memory.nearest(vector, 8, record=False, **options))
    assert not any(one.missing for one in found)
    return [[(hit.id, hit.score, dict(hit.terms)) for hit in one] for one in found]


def both(open_memory, root):
    """Open a store twice: one scans, the other searches exactly."""
    return [open_memory(root, embedder=HashEmbedder(DIM), config=how) for how in (SCAN, EXACT)]


def scan_of(memory, ns=1):
    """Return what a store holds to scan a namespace; None if it does not."""
    return memory._engine.searcher._kept.hold((ns, ())).scan


def files(memory):
    """List the derived files of a store."""
    return sorted(path.name for path in (memory.root / "derived").iterdir())


@pytest.fixture(
    autouse=True,
    params=[
        "bits",
        pytest.param(
            "product",
            marks=pytest.mark.skipif(
                find_spec("faiss") is None, reason="pip install 'agent-memento[faiss]'"
            ),
        ),
    ],
)
def kind_of_codes(request, monkeypatch):
    """Scan by each kind of codes in turn."""
    choose = replace(CHOOSE, codes=request.param)
    monkeypatch.setattr(sys.modules[__name__], "SCAN", replace(SCAN, choose=choose))
    return coder_of(request.param)


@pytest.fixture
def few(monkeypatch):
    """Compare few vectors, so that codes decide even in a small namespace."""
    monkeypatch.setattr(scan, "LEAST", 40)
    monkeypatch.setattr(scan, "FACTOR", 1)


@pytest.fixture
def short_tail(monkeypatch):
    """Write the tail to the files from 20 vectors on, without a new lineage for a small file."""
    monkeypatch.setattr(scans, "TAIL", 20)
    monkeypatch.setattr(scan_files, "SAMPLE", 100)


FILTERS = [{}, {"kinds": "rule"}, {"session": "s3"}, {"tags": "spare"}]


@pytest.mark.parametrize("options", FILTERS, ids=["none", "kind", "session", "nothing passes"])
def test_it_answers_as_exact_search_does(open_memory, tmp_path, options):
    """The same hits with the same scores, whichever filters there are."""
    scanning, exact = both(open_memory, tmp_path / "store")
    filled(scanning)
    assert answers(scanning, **options) == answers(exact, **options)
    assert scan_of(scanning) is not None
    assert scan_of(exact) is None


@pytest.mark.usefixtures("few")
def test_filters_come_before_the_cut(open_memory):
    """The only allowed row is found, however many others are nearer."""
    memory = open_memory(embedder=HashEmbedder(DIM), config=SCAN)
    memory.add("an anchor, far from everything", "long", id="far", kind="rule")
    memory.add_many({"text": f"tea tea tea {n}", "tier": "long"} for n in range(500))
    settled(memory)
    vector = memory.embed(["tea"])[0]
    assert [hit.id for hit in memory.nearest(vector, 1, kinds="rule")] == ["far"]
    assert scan_of(memory) is not None


@pytest.mark.usefixtures("short_tail")
def test_every_change_shows_at_once(open_memory, tmp_path):
    """Memories come, change, go and return in two processes' views: always the same answers."""
    scanning, exact = both(open_memory, tmp_path / "store")
    filled(exact, 120)
    rng, lineages = random.Random(5), set()
    for step in range(12):
        writer = rng.choice((scanning, exact))
        for n in range(120 + 15 * step, 135 + 15 * step):
            writer.add(text(n), "long", id=f"m{n}", session=f"s{n % 9}" if n % 2 else None)
        for n in rng.sample(range(120 + 15 * step), 4):
            writer.update(f"m{n}", text=text(n + 10_000 * (step + 1)))
        writer.forget(f"m{rng.randrange(120)}")
        if step % 4 == 3:
            writer.store.erase([f"m{130 + step}"])
        settled(writer)
        assert answers(scanning) == answers(exact)
        lineages |= {name for name in files(scanning) if name.endswith(".vectors")}
    assert len(lineages) > 1  # some were written again, after an erasure


@pytest.mark.usefixtures("short_tail")
def test_the_tail_is_appended_and_another_process_reads_on(open_memory, tmp_path):
    """The vectors' file grows; who knows the shorter one is not disturbed."""
    scanning, exact = both(open_memory, tmp_path / "store")
    filled(scanning, 150)
    answers(scanning)
    reader = open_memory(tmp_path / "store", embedder=HashEmbedder(DIM), config=SCAN)
    answers(reader)
    before = files(scanning)
    for n in range(150, 200):
        scanning.add(text(n), "long", id=f"m{n}")
    settled(scanning)
    answers(scanning)
    assert files(scanning) == before
    assert answers(scanning) == answers(exact) == answers(reader)
    assert len(scan_of(scanning).table) == 200
    assert len(scan_of(scanning).places.tail) == 0


@pytest.mark.usefixtures("short_tail")
def test_many_outdated_vectors_lead_to_new_files(open_memory, tmp_path):
    """A quarter of the file stands for earlier texts: it is written again without them."""
    scanning, exact = both(open_memory, tmp_path / "store")
    filled(scanning, 150)
    answers(scanning)
    before = files(scanning)
    for n in range(60):
        scanning.update(f"m{n}", text=text(n + 5_000))
    settled(scanning)
    assert answers(scanning) == answers(exact)
    assert files(scanning) != before
    assert answers(scanning) == answers(exact)
    assert len(scan_of(scanning).table) == 150


def test_codes_of_one_namespace_are_of_no_other(open_memory, tmp_path):
    """A file each; what a neighbour stores changes no byte of it, and no answer."""
    scanning, _ = both(open_memory, tmp_path / "store")
    mine = filled(scanning.of("mine"), 100)
    alone = answers(mine)
    before = {name: (scanning.root / "derived" / name).read_bytes() for name in files(scanning)}
    theirs = filled(scanning.of("theirs"), 300, 1_000)
    answers(theirs)
    assert answers(mine) == alone
    assert {name.split(".")[0] for name in files(scanning)} == {"1", "2"}
    assert all((scanning.root / "derived" / n).read_bytes() == before[n] for n in before)


def test_the_files_are_private(open_memory):
    """0700 and 0600 from the first moment."""
    memory = filled(open_memory(embedder=HashEmbedder(DIM), config=SCAN), 50)
    answers(memory)
    folder = memory.root / "derived"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def flip(path, at):
    """Change one bit of a file."""
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def cut(path, size):
    """Cut a file off."""
    os.truncate(path, size)


def zero(path, start):
    """Write zeros over the second half of a file."""
    data = path.read_bytes()
    path.write_bytes(data[:start] + bytes(len(data) - start))


def linked(path):
    """Put a link to the file in its place."""
    path.rename(path.parent.parent / "elsewhere")
    path.symlink_to(path.parent.parent / "elsewhere")


def as_folder(path):
    """Put a folder in its place."""
    path.unlink()
    path.mkdir()


def as_pipe(path):
    """Put a pipe in its place."""
    path.unlink()
    os.mkfifo(path)


def garbage(path):
    """Put bytes of another program in its place."""
    path.write_bytes(b"PK\x03\x04" * 3_000)


DAMAGE = {
    "no codes": lambda at: at["codes"].unlink(),
    "no vectors": lambda at: at["vectors"].unlink(),
    "no folder": lambda at: shutil.rmtree(at["codes"].parent),
    "empty codes": lambda at: cut(at["codes"], 0),
    "codes cut off": lambda at: cut(at["codes"], at["codes"].stat().st_size - 100),
    "codes cut in the head": lambda at: cut(at["codes"], 100),
    "vectors cut off": lambda at: cut(at["vectors"], at["vectors"].stat().st_size - 4_000),
    "a bit of the head": lambda at: flip(at["codes"], 60),
    "a bit of the codes": lambda at: flip(at["codes"], derived.HEAD + 5_000),
    "a bit of the vectors' head": lambda at: flip(at["vectors"], 30),
    "bits of the vectors": lambda at: [
        flip(at["vectors"], n) for n in range(derived.HEAD, at["vectors"].stat().st_size, 512)
    ],
    "zeros in the vectors": lambda at: zero(at["vectors"], derived.HEAD + 2_000),
    "codes of another program": lambda at: garbage(at["codes"]),
    "vectors of another program": lambda at: garbage(at["vectors"]),
    "codes are a link": lambda at: linked(at["codes"]),
    "vectors are a link": lambda at: linked(at["vectors"]),
    "codes are a folder": lambda at: as_folder(at["codes"]),
    "codes are a pipe": lambda at: as_pipe(at["codes"]),
    "the folder is a link": lambda at: linked(at["codes"].parent),
    "the folder is a file": lambda at: (
        shutil.rmtree(at["codes"].parent),
        at["codes"].parent.write_text("x"),
    ),
}


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("while_open", [False, True], ids=["closed", "open"])
def test_damaged_files_cost_no_answer(open_memory, tmp_path, how, while_open):
    """Lost, torn, corrupt or replaced by something else: the answers are those of before."""
    scanning, exact = both(open_memory, tmp_path / "store")
    filled(scanning, 200)
    expected = answers(exact)
    assert answers(scanning) == expected
    if not while_open:
        scanning.close()
    folder = tmp_path / "store/derived"
    at = {kind: next(folder.glob(f"*.{kind}")) for kind in ("codes", "vectors")}
    DAMAGE[how](at)
    if not while_open:
        scanning = open_memory(tmp_path / "store", embedder=HashEmbedder(DIM), config=SCAN)
    assert answers(scanning) == expected
    assert answers(scanning) == expected


def test_a_file_of_another_store_or_day_is_not_used(open_memory, tmp_path):
    """Neither the files of a store with other memories, nor those that came after a copy."""
    scanning, exact = both(open_memory, tmp_path / "store")
    filled(scanning, 100)
    answers(scanning)
    scanning.close()
    exact.close()
    shutil.copytree(tmp_path / "store", tmp_path / "other")
    for store, first in (("store", 1_000), ("other", 2_000)):
        memory = open_memory(tmp_path / store, embedder=HashEmbedder(DIM), config=SCAN)
        memory.add_many({"text": text(first + n), "tier": "long"} for n in range(90))
        memory.store.erase(["m5"])  # new files
        settled(memory)
        answers(memory)
        memory.close()
    shutil.rmtree(tmp_path / "store/derived")
    shutil.copytree(tmp_path / "other/derived", tmp_path / "store/derived")
    scanning, exact = both(open_memory, tmp_path / "store")
    assert answers(scanning) == answers(exact)


def test_the_files_of_another_embedder_are_not_used(open_memory, tmp_path):
    """After a reindex with another model its vectors are scanned."""
    filled(both(open_memory, tmp_path / "store")[0], 60).close()
    memory = open_memory(tmp_path / "store", embedder=HashEmbedder(48), config=SCAN)
    memory.store.reindex()
    settled(memory)
    exact = open_memory(tmp_path / "store", embedder=HashEmbedder(48), config=EXACT)
    assert answers(memory) == answers(exact)
    assert scan_of(memory).table.dim == 48


def vector_of(memory, memory_id):
    """Read the bytes of a memory's vector."""
    return memory._engine.ledger.read(
        lambda c: c.execute(
            "SELECT vector FROM embeddings JOIN memories USING (docid) WHERE id = ?", (memory_id,)
        ).fetchone()[0]
    )


def held_in(root, vector):
    """Name the derived files that hold a vector."""
    return [path.name for path in (root / "derived").iterdir() if vector in path.read_bytes()]


def test_an_erased_vector_is_in_no_derived_file(open_memory, tmp_path):
    """Its namespace's files are removed, which the receipt says; those of others stay."""
    scanning, exact = both(open_memory, tmp_path / "store")
    filled(scanning, 100)
    neighbour = filled(scanning.of("theirs"), 60, 1_000)
    answers(scanning)
    answers(neighbour)
    vector = vector_of(scanning, "m7")
    assert held_in(scanning.root, vector)
    done = scanning.store.erase(["m7"])
    assert not held_in(scanning.root, vector)
    assert sum(name.startswith("derived/1.") for name in done.removed) == 2
    assert [name.split(".")[0] for name in files(scanning)] == ["2", "2"]
    assert answers(scanning) == answers(exact)
    assert not held_in(scanning.root, vector)


def test_who_writes_during_an_erasure_names_no_file(open_memory, tmp_path, monkeypatch):
    """Vectors were read, something was erased, and only then the codes are written."""
    scanning, exact = both(open_memory, tmp_path / "store")
    filled(scanning, 60)
    vector, wrote = vector_of(scanning, "m3"), scan_files.write_all

    def late(*given, **options):
        table = wrote(*given, **options)
        monkeypatch.setattr(scan_files, "write_all", wrote)
        exact.store.erase(["m3"], timeout=0)
        return table

    monkeypatch.setattr(scan_files, "write_all", late)
    assert answers(scanning) == answers(exact)
    assert not held_in(scanning.root, vector)


def test_an_erasure_waits_for_a_writer_of_derived_files(open_memory, tmp_path):
    """It stays pending while another process has the lock, and is done afterwards."""
    scanning, _ = both(open_memory, tmp_path / "store")
    filled(scanning, 60)
    answers(scanning)
    vector = vector_of(scanning, "m3")
    with derived.locked(scanning.root) as lock:
        assert lock is not None
        done = scanning.store.erase(["m3"], timeout=0)
        assert done.pending["files"] == "another process is writing derived files"
        assert held_in(scanning.root, vector)
    assert scanning.store.erase(["m4"]).complete
    assert not held_in(scanning.root, vector)


def test_what_is_not_ours_in_the_folder_stays(open_memory):
    """A file of another program is named in the receipt and left alone."""
    memory = filled(open_memory(embedder=HashEmbedder(DIM), config=SCAN), 50)
    answers(memory)
    for name in ("notes.txt", "7.codes"):
        (memory.root / "derived" / name).write_text("mine")
    done = memory.store.erase(["m3"])
    assert {"derived/notes.txt", "derived/7.codes"} <= {*done.untouched}
    assert files(memory) == ["7.codes", "notes.txt"]


def test_a_closed_store_holds_no_file(open_memory):
    """Neither a descriptor nor a map, though the object is still there."""

    def held_open():
        links = [fd for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink()]
        maps = Path("/proc/self/maps").read_text("utf-8").splitlines()
        return [one for one in [*map(os.readlink, links), *maps] if str(memory.root) in one]

    memory = filled(open_memory(embedder=HashEmbedder(DIM), config=SCAN), 50)
    answers(memory)
    assert any(one.endswith(".vectors") for one in held_open())
    memory.close()
    assert held_open() == []


def test_a_read_only_store_is_scanned_if_it_has_files(open_memory, tmp_path):
    """Where nothing may be written, exact search answers without them."""
    root = tmp_path / "store"
    expected = answers(filled(open_memory(root, embedder=HashEmbedder(DIM), config=EXACT), 50))
    (memory,) = (open_memory(root, embedder=HashEmbedder(DIM), config=SCAN),)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory._engine.ledger, "read_only", True)
        assert answers(memory) == expected
        assert not (root / "derived").exists()
    assert answers(memory) == expected
    assert files(memory)
    again = open_memory(root, embedder=HashEmbedder(DIM), config=SCAN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(again._engine.ledger, "read_only", True)
        assert answers(again) == expected
        assert scan_of(again) is not None


def test_a_full_disk_costs_no_answer(open_memory, monkeypatch):
    """No room for the files: exact search answers, and it is not tried again at once."""
    memory = filled(open_memory(embedder=HashEmbedder(DIM), config=SCAN), 50)
    tried = []

    def full(*_given, **_options):
        tried.append(1)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(scan_files, "write_all", full)
    first = answers(memory)
    assert scan_of(memory) is None
    assert len(tried) == 1
    monkeypatch.undo()
    memory._engine.searcher._indexes._scans._filing._not_before.clear()
    assert answers(memory) == first
    assert scan_of(memory) is not None


def test_one_process_writes_and_the_others_answer_meanwhile(open_memory, tmp_path):
    """The lock is held elsewhere: exact search answers."""
    scanning, exact = both(open_memory, tmp_path / "store")
    filled(scanning, 50)
    with derived.locked(scanning.root) as lock:
        assert lock is not None
        assert answers(scanning) == answers(exact)
        assert scan_of(scanning) is None
    assert answers(scanning) == answers(exact)
    assert scan_of(scanning) is not None


def test_no_query_waits_long_for_a_transaction(open_memory, tmp_path, elsewhere_in_a_transaction):
    """The files get their name in one, so they are written when no other is under way."""
    scanning, exact = both(open_memory, tmp_path / "store")
    expected = answers(filled(exact, 50))
    with elsewhere_in_a_transaction(scanning.root):
        began = time.monotonic()
        assert answers(scanning) == expected
        assert scan_of(scanning) is None
    assert time.monotonic() - began < BUSY_SECONDS / 2
    scanning._engine.searcher._indexes._scans._filing._not_before.clear()
    assert answers(scanning) == expected
    assert scan_of(scanning) is not None


def test_files_newer_than_a_read_are_not_used_for_it(
    open_memory, tmp_path, monkeypatch, kind_of_codes
):
    """Another process wrote them after the rows were read: no vector is passed over for that."""
    scanning, exact = both(open_memory, tmp_path / "store")
    filled(scanning, 50)
    followed = Scans.follow
    late = ["the boiler is in the cellar"]

    def follow(self, *given):
        if late:
            exact.add(late.pop(), "long", id="late")
            settled(exact)
            other = Scans(exact._engine.ledger, kind_of_codes)
            assert other.can_open(1, given[4], DIM, 1)
        return followed(self, *given)

    monkeypatch.setattr(Scans, "follow", follow)
    scanning.retrieve("tea", record=False)
    assert not late
    assert scanning.retrieve("the boiler is in the cellar", record=False)[0].id == "late"
    assert answers(scanning) == answers(exact)


def test_the_nearest_are_found_among_many(kind_of_codes):
    """Of 20,000 vectors with topics, all ten nearest are candidates."""
    rng = np.random.default_rng(0)
    topics = rng.normal(size=(400, 384)).astype(np.float32)
    rows = topics[rng.integers(0, 400, 20_000)] + rng.normal(size=(20_000, 384)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    coder = kind_of_codes.learn(rows[:5_000])
    finder = coder.finder(coder.encode(rows))
    for n in range(20):
        asked = rows[n] + np.random.default_rng(n).normal(0, 0.05, 384).astype(np.float32)
        best = np.argsort(-(rows @ asked))[:10]
        found = finder.candidates(asked, np.ones(20_000, np.bool_), scan.LEAST)
        assert np.isin(best, found).all()


@pytest.mark.usefixtures("short_tail")
def test_a_namespace_is_scanned_as_long_as_chroma_lacks_vectors(open_memory, tmp_path, monkeypatch):
    """Its vectors are not loaded for exact search instead, not after the files grew either."""
    root = tmp_path / "store"
    exact = filled(open_memory(root, embedder=HashEmbedder(DIM), config=EXACT), 150)
    monkeypatch.setattr(Indexes, "_chroma", lambda *_: (LongState.COLD, 0))
    config = replace(SCAN, long_index="chroma")
    memory = open_memory(root, embedder=HashEmbedder(DIM), config=config)
    for first in (200, 300):
        assert answers(memory) == answers(exact)
        if scan_of(memory) is None:  # the files have just grown
            answers(memory)
        assert scan_of(memory) is not None
        assert memory._engine.searcher._kept.hold((1, ())).roster.snapshot().vectors is None
        for i in range(30):
            exact.add(text(first + i), "long", id=f"x{first + i}")
        settled(exact)


def test_a_process_that_only_asks_never_imports_chroma(open_memory, tmp_path):
    """A large namespace is scanned; nothing of it needs Chroma."""
    root = tmp_path / "store"
    filled(open_memory(root, embedder=HashEmbedder(DIM), config=SCAN), 60).close()
    program = (
        "import sys; from memento import Config, MemoryManager\n"
        "from memento.config.tiers import ChooseConfig\n"
        "from memento.testing import HashEmbedder\n"
        "config = Config(choose=ChooseConfig(exact_below=1))\n"
        f"with MemoryManager(sys.argv[1], embedder=HashEmbedder({DIM}), config=config) as memory:\n"
        "    found = memory.retrieve('the lamp of the garden')\n"
        "    assert found.hits[0].ranks['meaning'], found\n"
        "assert 'chromadb' not in sys.modules\n"
    )
    path = os.pathsep.join(part for part in sys.path if part)
    subprocess.run(
        [sys.executable, "-c", program, str(root)],
        check=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert (root / "derived").is_dir()


def test_codes_of_another_kind_are_not_used(open_memory, tmp_path, kind_of_codes):
    """A process with other codes in its settings writes them; the answers are the same."""
    pytest.importorskip("faiss")
    other = replace(CHOOSE, codes="bits" if SCAN.choose.codes == "product" else "product")
    scanning, exact = both(open_memory, tmp_path / "store")
    expected = answers(filled(scanning, 80))
    changed = open_memory(
        tmp_path / "store", embedder=HashEmbedder(DIM), config=replace(SCAN, choose=other)
    )
    assert answers(changed) == expected == answers(exact)
    assert type(scan_of(scanning).table.coder) is kind_of_codes
    assert type(scan_of(changed).table.coder) is coder_of(other.codes)
    scanning.add(text(900), "long", id="later")
    settled(scanning)
    assert answers(scanning) == answers(changed) == answers(exact)


class Halting(HashEmbedder):
    """Embeds no memory while it is halted; queries are embedded all the same."""

    def __init__(self) -> None:
        super().__init__(DIM)
        self.go = threading.Event()
        self.go.set()

    def embed(self, texts):
        """Embed what is stored, as soon as it may."""
        assert self.go.wait(60)
        return super().embed(texts)

    def embed_queries(self, texts):
        """Embed queries."""
        return super().embed(texts)


@pytest.fixture
def chroma_elsewhere(tmp_path):
    """Another process feeds Chroma, so that its backlog stays."""
    (tmp_path / "store").mkdir()
    lock = FolderLock(layout.lock_of(tmp_path / "store" / layout.CHROMA))
    assert lock.acquire()
    yield
    lock.release()


def statements_of(memory, job):
    """Return the statements that a store reads with while a job runs."""
    said = []
    ledger = memory._engine.ledger
    ledger.read(lambda c: c.set_trace_callback(said.append))
    try:
        job()
    finally:
        ledger.read(lambda c: c.set_trace_callback(None))
    return said


@pytest.mark.usefixtures("chroma_elsewhere")
def test_a_question_reads_no_line_of_the_backlog(open_memory, tmp_path):
    """A million memories may wait for Chroma: the scan itself knows which rows have a vector."""
    memory = filled(open_memory(tmp_path / "store", embedder=HashEmbedder(DIM), config=SCAN))
    assert memory._engine.ledger.read(vectors.backlog_size) == {"index": 300}
    answers(memory)
    said = statements_of(memory, lambda: answers(memory))
    assert said
    assert not [one for one in said if "backlog" in one]


def test_vectors_of_forgotten_memories_do_not_hide_that_most_are_owed(open_memory):
    """They are still in the files, and nothing finds them."""
    embedder = Halting()
    memory = filled(open_memory(embedder=embedder, config=SCAN), 80)
    memory.retrieve("lamp")
    for n in range(60):
        memory.forget(f"m{n}")
    embedder.go.clear()
    memory.add_many({"text": text(100 + n), "tier": "long"} for n in range(30))
    found = memory.retrieve("lamp")
    assert "30 memories are still to be embedded" in found.missing["long"]
    embedder.go.set()


def test_an_answer_says_so_while_most_rows_have_no_vector(open_memory):
    """As exact search does; vectors that come later are counted, outdated ones once."""
    embedder = Halting()
    memory = filled(open_memory(embedder=embedder, config=SCAN), 40)
    memory.retrieve("lamp")
    embedder.go.clear()
    memory.update("m1", text="a letter about the harbour")
    memory.add_many({"text": text(100 + n), "tier": "long"} for n in range(30))
    assert not memory.retrieve("lamp").missing
    memory.add_many({"text": text(200 + n), "tier": "long"} for n in range(30))
    found = memory.retrieve("lamp")
    assert "60 memories are still to be embedded" in found.missing["long"]
    embedder.go.set()
    settled(memory)
    assert not memory.retrieve("lamp").missing
    search = scan_of(memory).search(memory._engine.searcher._kept.hold((1, ())).roster.snapshot())
    assert search.embedded() == np.count_nonzero(search.has_vector()) == 100
