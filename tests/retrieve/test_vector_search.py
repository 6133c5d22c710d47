"""Chroma and exact search answer alike, whatever happens to the files and the memories."""

from __future__ import annotations

import os
import random
import shutil
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import damage
import numpy as np
import pytest

from memento import Config, MemoryManager
from memento.base import layout
from memento.claims.settings import Conflicts
from memento.config import IndexConfig
from memento.ledger import vectors
from memento.ledger.lite.store import BUSY_SECONDS
from memento.retrieve import vector_search
from memento.retrieve.cache import Held
from memento.retrieve.vector_search import VectorSearch
from memento.testing import HashEmbedder, ManualClock
from memento.tiers import derived, mapped
from memento.tiers.folder import FolderLock
from memento.tiers.long_tier import LongState, LongTier

DIM = 32
FAST = IndexConfig(start_seconds=0.0, poll_seconds=0.01)
QUIET = Conflicts(pairs=0)
EXACT = Config(long_index="exact", index=FAST, conflicts=QUIET)
CHROMA = Config(long_index="chroma", index=FAST, conflicts=QUIET)
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
        vector = memory.store.embed([asked])[0]
        found.append(memory.store.nearest(vector, 8, record=False, **options))
    assert not any(one.missing for one in found)
    return [[(hit.id, hit.score, dict(hit.terms)) for hit in one] for one in found]


@pytest.fixture(autouse=True)
def short_tail(monkeypatch):
    """Write vectors to the file from 20 on, and map it."""
    monkeypatch.setattr(vector_search, "TAIL", 20)
    monkeypatch.setattr(mapped, "MAPPED_FROM", 20)


def plain(memory):
    """Let a store read all vectors from the ledger."""
    search = memory._engine.searcher._by_vector
    search._table = lambda *_: None
    search._filing.write = lambda *_: False
    return memory


def both(open_memory, root):
    """Open a store twice: one has its vectors in a file, the other in RAM."""
    first, second = (open_memory(root, embedder=HashEmbedder(DIM), config=EXACT) for _ in range(2))
    return first, plain(second)


def vectors_of(memory, ns=1):
    """Return where a store has the vectors of a namespace."""
    return memory._engine.searcher._kept.hold((ns, ())).vectors


def table_of(memory, ns=1):
    """Return the file in which a store has the vectors of a namespace; None if it has none."""
    found = vectors_of(memory, ns)
    return None if found is None else found.table


def written(memory):
    """List the files of vectors of a store."""
    return sorted((memory.store.root / "derived").glob("*.vectors"))


def inode(memory):
    """Return what tells whether the file of a store was written again or appended to."""
    return [path.stat().st_ino for path in written(memory)]


def files(memory):
    """List the derived files of a store."""
    return sorted(path.name for path in (memory.store.root / "derived").iterdir())


FILTERS = [{}, {"kind": "rule"}, {"session": "s3"}, {"tag": "spare"}]


def test_it_answers_as_exact_search_does(open_memory, tmp_path):
    """The same hits with the same scores, whichever filters there are."""
    filing, exact = both(open_memory, tmp_path / "store")
    filled(filing)
    for options in FILTERS:
        assert answers(filing, **options) == answers(exact, **options), options
    assert table_of(filing) is not None
    assert table_of(exact) is None


def mark_of(path):
    """Return the mark in the head of a file."""
    with path.open("rb") as file:
        return derived.read_head(file.fileno())["mark"]


def test_every_change_shows_at_once(open_memory, tmp_path):
    """Memories come, change, go and return in two processes' views: always the same answers."""
    filing, exact = both(open_memory, tmp_path / "store")
    filled(exact, 120)
    rng, marks = random.Random(5), set()
    for step in range(12):
        writer = rng.choice((filing, exact))
        for n in range(120 + 15 * step, 135 + 15 * step):
            writer.add(text(n), "long", id=f"m{n}", session=f"s{n % 9}" if n % 2 else None)
        for n in rng.sample(range(120 + 15 * step), 4):
            writer.update(f"m{n}", text=text(n + 10_000 * (step + 1)))
        writer.forget(f"m{rng.randrange(120)}")
        if step % 4 == 3:
            writer.store.erase([f"m{130 + step}"])
        settled(writer)
        assert answers(filing) == answers(exact)
        marks |= {mark_of(path) for path in written(filing)}
    assert len(marks) > 1


def test_the_tail_is_appended_and_another_process_reads_on(open_memory, tmp_path):
    """The vectors' file grows; who knows the shorter one is not disturbed."""
    filing, exact = both(open_memory, tmp_path / "store")
    filled(filing, 150)
    answers(filing)
    reader = open_memory(tmp_path / "store", embedder=HashEmbedder(DIM), config=EXACT)
    answers(reader)
    before = inode(filing)
    for n in range(150, 200):
        filing.add(text(n), "long", id=f"m{n}")
    settled(filing)
    answers(filing)
    assert inode(filing) == before
    assert answers(filing) == answers(exact) == answers(reader)
    assert len(table_of(filing)) == 200
    assert len(vectors_of(filing).tail) == 0


def test_many_outdated_vectors_lead_to_new_files(open_memory, tmp_path):
    """A quarter of the file stands for earlier texts: it is written again without them."""
    filing, exact = both(open_memory, tmp_path / "store")
    filled(filing, 150)
    answers(filing)
    before = inode(filing)
    for n in range(60):
        filing.update(f"m{n}", text=text(n + 5_000))
    settled(filing)
    assert answers(filing) == answers(exact)
    assert inode(filing) != before
    assert answers(filing) == answers(exact)
    assert len(table_of(filing)) == 150


def test_the_file_of_one_namespace_is_of_no_other(open_memory, tmp_path):
    """A file each; what a neighbour stores changes no byte of it, and no answer."""
    filing, _ = both(open_memory, tmp_path / "store")
    mine = filled(filing.of("mine"), 100)
    alone = answers(mine)
    before = {name: (filing.store.root / "derived" / name).read_bytes() for name in files(filing)}
    theirs = filled(filing.of("theirs"), 300, 1_000)
    answers(theirs)
    assert answers(mine) == alone
    assert {name.split(".")[0] for name in files(filing)} == {"1", "2"}
    assert all((filing.store.root / "derived" / n).read_bytes() == before[n] for n in before)


def test_the_files_are_private(open_memory):
    """0700 and 0600 from the first moment."""
    memory = filled(open_memory(embedder=HashEmbedder(DIM), config=EXACT), 50)
    answers(memory)
    folder = memory.store.root / "derived"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def zero(path, start):
    """Write zeros over the rest of a file."""
    data = path.read_bytes()
    path.write_bytes(data[:start] + bytes(len(data) - start))


def flip_many(path):
    """Change a bit of each vector."""
    data = bytearray(path.read_bytes())
    for at in range(derived.HEAD + 16 * mapped.BLOCK, len(data), 64):
        data[at] ^= 1
    path.write_bytes(data)


DAMAGE = damage.DAMAGE | {
    "no folder": lambda at: shutil.rmtree(at.parent),
    "without its last vectors": lambda at: os.truncate(at, at.stat().st_size - 4_000),
    "bits of the vectors": flip_many,
    "zeros behind the head": lambda at: zero(at, derived.HEAD),
    "zeros in the row ids": lambda at: zero(at, derived.HEAD + 80),
    "zeros in the sums": lambda at: zero(at, derived.HEAD + 8 * mapped.BLOCK + 80),
    "zeros in the vectors": lambda at: zero(at, derived.HEAD + 16 * mapped.BLOCK + 2_000),
    "the folder is a link": lambda at: damage.linked(at.parent),
    "the folder is a file": lambda at: (shutil.rmtree(at.parent), at.parent.write_text("x")),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A store whose vectors are in a file, and its answers."""
    root = tmp_path_factory.mktemp("whole") / "store"
    options = {"embedder": HashEmbedder(DIM), "config": EXACT, "clock": ManualClock()}
    with pytest.MonkeyPatch.context() as patch, MemoryManager(root, **options) as memory:
        patch.setattr(vector_search, "TAIL", 20)
        expected = answers(filled(memory, 200))
        assert answers(memory) == expected
    return root, expected


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("while_open", [False, True], ids=["closed", "open"])
@pytest.mark.parametrize("mapped_from", [20, 10_000], ids=["mapped", "read"])
def test_damaged_files_cost_no_answer(
    open_memory, tmp_path, whole, how, while_open, mapped_from, monkeypatch
):
    """Lost, torn, corrupt or replaced by something else: the answers are those of before."""
    monkeypatch.setattr(mapped, "MAPPED_FROM", mapped_from)
    root, expected = tmp_path / "store", whole[1]
    shutil.copytree(whole[0], root)
    (file,) = (root / "derived").glob("*.vectors")
    if not while_open:
        DAMAGE[how](file)
    filing = open_memory(root, embedder=HashEmbedder(DIM), config=EXACT)
    if while_open:
        assert answers(filing) == expected
        assert table_of(filing) is not None
        DAMAGE[how](file)
    assert answers(filing) == expected
    assert answers(filing) == expected


def test_a_file_of_another_store_or_day_is_not_used(open_memory, tmp_path):
    """Neither the files of a store with other memories, nor those that came after a copy."""
    filing, exact = both(open_memory, tmp_path / "store")
    filled(filing, 100)
    answers(filing)
    filing.close()
    exact.close()
    shutil.copytree(tmp_path / "store", tmp_path / "other")
    for store, first in (("store", 1_000), ("other", 2_000)):
        memory = open_memory(tmp_path / store, embedder=HashEmbedder(DIM), config=EXACT)
        memory.add_many({"text": text(first + n), "tier": "long"} for n in range(90))
        memory.store.erase(["m5"])  # new files
        settled(memory)
        answers(memory)
        memory.close()
    shutil.rmtree(tmp_path / "store/derived")
    shutil.copytree(tmp_path / "other/derived", tmp_path / "store/derived")
    filing, exact = both(open_memory, tmp_path / "store")
    assert answers(filing) == answers(exact)


def test_the_files_of_another_embedder_are_not_used(open_memory, tmp_path):
    """After a reindex with another model its vectors are compared."""
    filled(both(open_memory, tmp_path / "store")[0], 60).close()
    memory = open_memory(tmp_path / "store", embedder=HashEmbedder(48), config=EXACT)
    memory.store.reindex()
    settled(memory)
    exact = open_memory(tmp_path / "store", embedder=HashEmbedder(48), config=EXACT)
    assert answers(memory) == answers(exact)
    assert table_of(memory).head["dim"] == 48


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
    filing, exact = both(open_memory, tmp_path / "store")
    filled(filing, 100)
    neighbour = filled(filing.of("theirs"), 60, 1_000)
    answers(filing)
    answers(neighbour)
    vector = vector_of(filing, "m7")
    assert held_in(filing.store.root, vector)
    done = filing.store.erase(["m7"])
    assert not held_in(filing.store.root, vector)
    assert "derived/1.vectors" in done.removed
    assert files(filing) == ["2.vectors"]
    assert answers(filing) == answers(exact)
    assert not held_in(filing.store.root, vector)


def test_who_writes_during_an_erasure_names_no_file(open_memory, tmp_path, monkeypatch):
    """Vectors were read, something was erased, and only then the file gets its name."""
    filing, exact = both(open_memory, tmp_path / "store")
    filled(filing, 60)
    vector, named = vector_of(filing, "m3"), derived.Draft.name

    def late(*given):
        monkeypatch.setattr(derived.Draft, "name", named)
        exact.store.erase(["m3"], timeout=0)
        named(*given)

    monkeypatch.setattr(derived.Draft, "name", late)
    assert answers(filing) == answers(exact)
    assert derived.Draft.name is named
    assert not held_in(filing.store.root, vector)


def test_an_erasure_waits_for_a_writer_of_derived_files(open_memory, tmp_path):
    """It stays pending while another process has the lock, and is done afterwards."""
    filing, _ = both(open_memory, tmp_path / "store")
    filled(filing, 60)
    answers(filing)
    vector = vector_of(filing, "m3")
    with derived.locked(filing.store.root) as lock:
        assert lock is not None
        done = filing.store.erase(["m3"], timeout=0)
        assert done.pending["files"] == "another process is writing derived files"
        assert held_in(filing.store.root, vector)
    assert filing.store.erase(["m4"]).complete
    assert not held_in(filing.store.root, vector)


def test_what_is_not_ours_in_the_folder_stays(open_memory):
    """A file of another program is named in the receipt and left alone."""
    memory = filled(open_memory(embedder=HashEmbedder(DIM), config=EXACT), 50)
    answers(memory)
    for name in ("notes.txt", "7.vectors"):
        (memory.store.root / "derived" / name).write_text("mine")
    done = memory.store.erase(["m3"])
    assert {"derived/notes.txt", "derived/7.vectors"} <= {*done.untouched}
    assert files(memory) == ["7.vectors", "notes.txt"]


def test_a_closed_store_holds_no_file(open_memory):
    """Neither a descriptor nor a map, though the object is still there."""

    def held_open():
        links = [fd for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink()]
        maps = Path("/proc/self/maps").read_text("utf-8").splitlines()
        return [one for one in [*map(os.readlink, links), *maps] if str(memory.store.root) in one]

    memory = filled(open_memory(embedder=HashEmbedder(DIM), config=EXACT), 50)
    answers(memory)
    assert any(one.endswith(".vectors") for one in held_open())
    memory.close()
    assert held_open() == []


def test_a_read_only_store_uses_the_file_if_there_is_one(open_memory, tmp_path):
    """Where nothing may be written, exact search answers without them."""
    root = tmp_path / "store"
    memory, exact = both(open_memory, root)
    expected = answers(filled(exact, 50))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory._engine.ledger, "read_only", True)
        assert answers(memory) == expected
        assert not (root / "derived").exists()
    assert answers(memory) == expected
    assert files(memory)
    again = open_memory(root, embedder=HashEmbedder(DIM), config=EXACT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(again._engine.ledger, "read_only", True)
        assert answers(again) == expected
        assert table_of(again) is not None


def test_a_full_disk_costs_no_answer(open_memory, monkeypatch):
    """No room for the files: exact search answers, and it is not tried again at once."""
    memory = filled(open_memory(embedder=HashEmbedder(DIM), config=EXACT), 50)
    tried, wrote = [], mapped.fill

    def full(*_given, **_options):
        tried.append(1)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(mapped, "fill", full)
    first = answers(memory)
    assert table_of(memory) is None
    assert len(tried) == 1
    monkeypatch.setattr(mapped, "fill", wrote)
    memory._engine.searcher._by_vector._filing._not_before.clear()
    assert answers(memory) == first
    assert table_of(memory) is not None


def test_one_process_writes_and_the_others_answer_meanwhile(open_memory, tmp_path):
    """The lock is held elsewhere: exact search answers."""
    filing, exact = both(open_memory, tmp_path / "store")
    filled(filing, 50)
    with derived.locked(filing.store.root) as lock:
        assert lock is not None
        assert answers(filing) == answers(exact)
        assert table_of(filing) is None
    assert answers(filing) == answers(exact)
    assert table_of(filing) is not None


def test_no_query_waits_long_for_a_transaction(open_memory, tmp_path, elsewhere_in_a_transaction):
    """The files get their name in one, so they are written when no other is under way."""
    filing, exact = both(open_memory, tmp_path / "store")
    expected = answers(filled(exact, 50))
    with elsewhere_in_a_transaction(filing.store.root):
        began = time.monotonic()
        assert answers(filing) == expected
        assert table_of(filing) is None
    assert time.monotonic() - began < BUSY_SECONDS / 2
    filing._engine.searcher._by_vector._filing._not_before.clear()
    assert answers(filing) == expected
    assert table_of(filing) is not None


def test_files_newer_than_a_read_are_not_used_for_it(open_memory, tmp_path, monkeypatch):
    """Another process wrote them after the rows were read: no vector is passed over for that."""
    filing, exact = both(open_memory, tmp_path / "store")
    filled(filing, 50)
    followed = VectorSearch.follow
    late = ["the boiler is in the cellar"]

    def follow(self, *given):
        if late:
            exact.add(late.pop(), "long", id="late")
            settled(exact)
            other = VectorSearch(
                exact._engine.ledger, EXACT, exact._engine.embedding, exact._engine.long_tier
            )
            other.file(1, Held(), given[3])
            assert written(exact)
        return followed(self, *given)

    monkeypatch.setattr(VectorSearch, "follow", follow)
    filing.retrieve("tea", record=False)
    assert not late
    assert filing.retrieve("the boiler is in the cellar", record=False)[0].id == "late"
    assert answers(filing) == answers(exact)


def test_a_process_that_only_asks_never_imports_chroma(open_memory, tmp_path):
    """A large namespace is searched exactly, from its file, until that cost more than Chroma."""
    root = tmp_path / "store"
    filled(open_memory(root, embedder=HashEmbedder(DIM), config=EXACT), 60).close()
    program = (
        "import sys; from memento import MemoryManager\n"
        "from memento.retrieve import vector_search\n"
        "from memento.testing import HashEmbedder\n"
        "vector_search.CHROMA_FROM = vector_search.TAIL = 20\n"
        f"with MemoryManager(sys.argv[1], embedder=HashEmbedder({DIM})) as memory:\n"
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
    assert (root / "derived/1.vectors").is_file()


class Fake:
    """A long tier in RAM."""

    mark = None

    def __init__(self, *_args, **_options):
        self.state, self.reason, self.rows = LongState.COLD, "", {}

    def open(self):
        """Be there."""
        self.state = LongState.READY

    def upsert(self, _namespace, ids, vectors, _metadatas):
        """Take vectors."""
        self.rows |= zip(ids, vectors, strict=True)

    def search(self, _namespace, vector, n):
        """Compare all of them."""
        cosines = np.array(list(self.rows.values())) @ vector
        best = np.argsort(-cosines, kind="stable")[:n].tolist()
        ids = list(self.rows)
        return [(ids[at], float(cosines[at])) for at in best]

    def close(self):
        """Do nothing."""


def ready(memory):
    """Wait until Chroma is open, and knows all."""
    while memory._engine.long_state() != "ready":
        time.sleep(0.01)
    assert memory.flush(wait=True, timeout=60)
    return memory


def test_chroma_answers_in_a_large_store(open_memory, monkeypatch, tmp_path):
    """It names the candidates of many vectors; nobody does where it is not open."""
    asked, search = [], LongTier.search
    monkeypatch.setattr(LongTier, "search", lambda *given: asked.append(given[0]) or search(*given))
    monkeypatch.setattr("memento.retrieve.vector_search.CHROMA_FROM", 500)
    memory = open_memory(tmp_path / "store", embedder=HashEmbedder(8))
    memory.add_many([{"text": text(n), "tier": "long"} for n in range(600)])
    ready(memory)
    asked.clear()  # the notes were compared with each other
    for count in range(1, 4):
        assert len(memory.retrieve(f"the lamp of day {count}", record=False)) == 5
        assert len(asked) == count
    assert not memory.retrieve("copper kettle", kind="rule", record=False)
    assert len(asked) == 3  # a narrow filter
    other = open_memory(tmp_path / "store", embedder=HashEmbedder(8))
    assert other.retrieve("the lamp of the garden", record=False).hits
    assert len(asked) == 3
    assert other._engine.long_state() == "cold"


def test_chroma_and_exact_search_give_the_same_answers(open_memory, tmp_path):
    """The same hits with the same scores; what Chroma lacks is compared as well."""
    memory = ready(
        filled(open_memory(tmp_path / "store", embedder=HashEmbedder(DIM), config=CHROMA))
    )
    exact = open_memory(tmp_path / "store", embedder=HashEmbedder(DIM), config=EXACT)
    for n in range(300, 320):
        memory.add(text(n), "short", id=f"m{n}", session="s1")
    settled(memory)
    for options in FILTERS:
        found, expected = answers(memory, **options), answers(exact, **options)
        assert found[::2] == expected[::2], options
        # of memories that are equally near, the last may be others
        for ours, theirs in zip(found[1::2], expected[1::2], strict=True):
            assert [score for _, score, _ in ours] == [score for _, score, _ in theirs], options


@pytest.mark.parametrize("config", [EXACT, CHROMA], ids=["file", "chroma"])
def test_what_is_shown_is_compared_by_its_own_vectors(open_memory, tmp_path, monkeypatch, config):
    """As in a store that has nothing else, whatever the owner's file and Chroma hold."""
    monkeypatch.setattr("memento.tiers.long_tier.LongTier", Fake)
    both = [
        open_memory(tmp_path / name, embedder=HashEmbedder(DIM), config=config)
        for name in ("whole", "part")
    ]

    def add(first, n):
        for memory, step in zip(both, (1, 2), strict=True):  # all; only what is shown
            memory.of("owner").add_many(
                {
                    "text": text(i),
                    "tier": "long",
                    "id": f"m{i}",
                    "scope": ("open", "own")[i % 2],
                    "importance": 0.5,  # else what is like it decides
                }
                for i in range(first, first + n, step)
            )
            settled(memory)

    def asked():
        found = []
        for memory in both:
            hits = [memory.retrieve(text, 8, record=False) for text in ASKED]
            found.append([[(hit.id, hit.score, hit.confidence) for hit in one] for one in hits])
            assert all(hit.shared for one in hits for hit in one)
        return found

    for memory in both:
        memory.of("owner").scopes.share("open", "default")
    for first, n in ((0, 100), (100, 2), (200, 100)):
        add(first, n)
        assert both[0].of("owner").retrieve("lamp", record=False).hits  # writes the file
        with monkeypatch.context() as patched:
            patched.setattr(mapped.Table, "cosines", None)
            patched.setattr(mapped.Table, "vectors", None)
            patched.setattr(Fake, "search", None)
            whole, part = asked()
        assert whole == part
        assert all(whole)
    assert written(both[0])
    ns = both[0]._engine.ledger.find_namespace(both[0].of("owner").store.namespace)
    held = both[0]._engine.searcher._kept.hold((ns, ("open",)))
    assert held.vectors.embedded == len(held.vectors.tail) == 101


def test_outdated_vectors_do_not_fill_the_ram(open_memory):
    """A part of a namespace has no file into which the present ones could be written."""
    memory = open_memory(embedder=HashEmbedder(DIM), config=EXACT)
    owner = memory.of("owner")
    owner.add_many({"text": text(i), "tier": "long", "id": f"m{i}"} for i in range(8))
    owner.scopes.share("", "default")
    for n in range(9, 60):
        owner.update(f"m{n % 8}", text=text(n))
        settled(memory)
        assert f"m{n % 8}" in {hit.id for hit in memory.retrieve(text(n), record=False)}
        assert len(memory._engine.searcher._kept.hold((1, ("",))).vectors.tail) <= 17


def test_a_process_that_asks_and_asks_opens_chroma(open_memory, tmp_path, monkeypatch):
    """Once exact search has cost as much as opening it; not before."""
    monkeypatch.setattr("memento.retrieve.vector_search.CHROMA_FROM", 20)
    monkeypatch.setattr(vector_search, "WORTH_OPENING", 200)
    filled(open_memory(tmp_path / "store", embedder=HashEmbedder(DIM)), 60).close()
    memory = open_memory(tmp_path / "store", embedder=HashEmbedder(DIM))
    for _ in range(4):
        memory.retrieve("lamp", record=False)
    assert memory._engine.long_state() == "cold"
    for _ in range(2):
        memory.retrieve("lamp", record=False)
    ready(memory)


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
    """A million memories may wait for Chroma: the vectors at hand tell."""
    memory = filled(open_memory(tmp_path / "store", embedder=HashEmbedder(DIM), config=EXACT))
    assert memory._engine.ledger.read(vectors.backlog_size) == {"index": 300}
    answers(memory, wait=0)
    said = statements_of(memory, lambda: answers(memory, wait=0))
    assert said
    assert not [one for one in said if "backlog" in one]


def test_vectors_of_forgotten_memories_do_not_hide_that_most_are_owed(open_memory):
    """They are still in the files, and nothing finds them."""
    embedder = Halting()
    memory = filled(open_memory(embedder=embedder, config=EXACT), 80)
    memory.retrieve("lamp")
    for n in range(60):
        memory.forget(f"m{n}")
    embedder.go.clear()
    memory.add_many({"text": text(100 + n), "tier": "long"} for n in range(30))
    found = memory.retrieve("lamp", wait=0)
    assert "30 memories are waiting to be embedded" in found.missing["long"]
    embedder.go.set()


def test_an_answer_says_so_while_most_rows_have_no_vector(open_memory):
    """As exact search does; vectors that come later are counted, outdated ones once."""
    embedder = Halting()
    memory = filled(open_memory(embedder=embedder, config=EXACT), 40)
    memory.retrieve("lamp")
    embedder.go.clear()
    memory.update("m1", text="a letter about the harbour")
    memory.add_many({"text": text(100 + n), "tier": "long"} for n in range(30))
    assert not memory.retrieve("lamp", wait=0).missing
    memory.add_many({"text": text(200 + n), "tier": "long"} for n in range(30))
    found = memory.retrieve("lamp", wait=0)
    assert "60 memories are waiting to be embedded" in found.missing["long"]
    embedder.go.set()
    settled(memory)
    assert not memory.retrieve("lamp").missing
    memory.retrieve("lamp")  # opens the file, which has just grown
    assert vectors_of(memory).embedded == np.count_nonzero(vectors_of(memory).known) == 100
