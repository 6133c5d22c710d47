"""Erased means erased: looked for in every byte of every file, and what is left is sound."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from beside import read_sql, sound
from hypothesis import given, settings
from hypothesis import strategies as st

from memento import Config, MemoryManager
from memento.config import IndexConfig
from memento.errors import InvalidInput, NotFound, ReadOnlyStore, StorageFull
from memento.ledger import checks, erasure
from memento.ledger.lite import sqlite
from memento.testing import HashEmbedder
from memento.tiers.folder import mark
from memento.types import Source
from memento.upkeep.backup import restore
from memento.upkeep.erase import NOT_REACHED

CANARY = "zqxcanaryword"
EVERY = ["active", "superseded", "forgotten"]
EMBEDDER = HashEmbedder(64)


def found_in(root, *canaries):
    """Name the files under a folder that hold one of some texts, in UTF-8 or UTF-16, or bytes."""
    wanted = [
        spelt
        for canary in canaries
        for spelt in (
            [canary]
            if isinstance(canary, bytes)
            else [canary.encode(), canary.encode("utf-16-le"), canary.encode("utf-16-be")]
        )
    ]
    files = [path for path in sorted(root.rglob("*")) if path.is_file()]
    return [
        str(path.relative_to(root))
        for path in files
        if any(spelt in content(path) for spelt in wanted)
    ]


def content(path):
    """Read a file; one that another process removed meanwhile holds nothing."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def terms(root):
    """List every word the full-text index knows."""
    file = sqlite.sqlite3.connect(f"file:{root / 'ledger.db'}?mode=ro", uri=True)
    file.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab ('main', 'memories_fts', 'row')")
    found = {term for (term,) in file.execute("SELECT term FROM temp.terms")}
    file.close()
    return found


def vector_of(memory, memory_id):
    """Read the bytes of a memory's vector."""
    (blob,) = read_sql(
        memory, "SELECT vector FROM embeddings JOIN memories USING (docid) WHERE id = ?", memory_id
    )[0]
    return blob


def sound_once_mended(memory):
    """Tell the same after a repair: Chroma, fed on a busy machine, may lose sight of rows."""
    if not sound(memory):
        memory.store.doctor()
        assert memory.flush(wait=True, timeout=60)
    return sound(memory)


def spread(memory):
    """Put one memory into every place of a store that can hold something of it."""
    memory.add_many(
        {"text": f"ordinary note number {n}", "tier": "long", "session": "s"} for n in range(40)
    )
    memory.add("an older value", "long", key=f"slot/{CANARY}", id="older")
    memory.add(
        f"my passport is {CANARY} 88123", "long", id=f"id-{CANARY}", key=f"slot/{CANARY}",
        aliases=[f"alias {CANARY}"], tags=[CANARY], metadata={CANARY: [CANARY]}, session="s",
        actor=f"{CANARY} Smith", source=Source(uri=f"file:///{CANARY}", model=CANARY),
    )  # fmt: skip
    memory.update(f"id-{CANARY}", text=f"my passport was {CANARY} 99999")
    memory.update(f"id-{CANARY}", tier="short")
    memory.add("points there", related=f"id-{CANARY}", session="s")
    memory.flush(wait=True)
    memory.retrieve(f"passport {CANARY}")
    memory.flush(wait=True)
    copies = ("short.json.bad-20250101T000000000000Z", "ledger.db.damaged-1")
    for name in (*copies, ".ledger.db.abcdefgh.tmp"):
        (memory.store.root / name).write_bytes(head_of(name) + CANARY.encode())
    plant_aside(memory.store.root, "chroma.bad-20250101T000000000000Z", "chroma.sqlite3")


def head_of(name):
    """Return what tells that a copy of this name is the store's."""
    if name.startswith("short.json"):
        return b'{"format": 1, "sha256": "0", "content": {"revs": {}, "rings": ['
    return b"SQLite format 3\0" + bytes(52) + b"memo" + bytes(28)


def plant_aside(root, folder, file):
    """Make a Chroma folder of the store's with the canary in it."""
    (root / folder).mkdir()
    mark(root / folder)
    (root / folder / file).write_text(CANARY)


@pytest.fixture(params=["rewritten", "scrubbed", "as of many"])
def way(request, monkeypatch):
    """The ledger erases as a small file, as a large file, and in many bites."""
    if request.param == "scrubbed":
        monkeypatch.setattr(sqlite, "WHOLE_PAGES", -1)
    if request.param == "as of many":
        in_bites(monkeypatch)


def in_bites(monkeypatch):
    """Erase as if there were very many: marked first, and deleted two at a time."""
    monkeypatch.setattr(erasure, "FEW", 0)
    monkeypatch.setattr(erasure, "AT_ONCE", 2)


@pytest.mark.usefixtures("way")
def test_nothing_is_left_of_an_erased_memory(open_memory):
    """No file holds its text, id, names, words or vector, neither at once nor after closing."""
    memory = open_memory(embedder=EMBEDDER)
    spread(memory)
    vector = vector_of(memory, f"id-{CANARY}")
    assert {"short.json", "ledger.db-wal", ".ledger.db.abcdefgh.tmp"} <= set(
        found_in(memory.store.root, CANARY)
    )
    erased = memory.store.erase(f"id-{CANARY}")
    assert (erased.ids, erased.complete) == ((f"id-{CANARY}",), True)
    # its slot's name stays with the older value of the slot, which is a memory of its own
    assert memory.store.erase("older").complete
    canaries = (CANARY, CANARY[1:], CANARY[:8], vector)
    assert found_in(memory.store.root, *canaries) == []
    assert not [term for term in terms(memory.store.root) if "canary" in term]
    memory.flush(wait=True)
    memory.close()
    assert found_in(memory.store.root, *canaries) == []
    again = open_memory(embedder=EMBEDDER)
    assert again.retrieve("ordinary note number 7")[0].text == "ordinary note number 7"
    assert sound(again)


def test_the_search_would_find_it(open_memory):
    """Null control: after `forget`, the same search finds text, words and vector in many files."""
    memory = open_memory(embedder=EMBEDDER)
    spread(memory)
    vector = vector_of(memory, f"id-{CANARY}")
    memory.forget(f"id-{CANARY}")
    memory.flush(wait=True)
    memory.close()
    assert {"ledger.db", "ledger.db.damaged-1"} <= set(found_in(memory.store.root, CANARY))
    assert "ledger.db" in found_in(memory.store.root, vector)
    assert any(name.startswith("chroma/") for name in found_in(memory.store.root, vector, CANARY))
    assert [term for term in terms(memory.store.root) if "canary" in term]


def test_deleting_rows_alone_would_not_do(memory):
    """Null control: without the work on the files, the text is still in them."""
    spread(memory)
    ledger = memory._engine.ledger
    ledger.write(
        lambda c: erasure.erase(c, 1, erasure.chosen(c, 1, erasure.Chosen(everything=True)), 0)
    )
    assert memory.list(status=EVERY) == []
    assert "ledger.db-wal" in found_in(memory.store.root, CANARY)


@pytest.mark.usefixtures("way")
def test_what_is_not_erased_stays_as_it_was(open_memory):
    """Texts, histories, links and vectors of all others are the same; the doctor is content."""

    def others(memory):
        rows = memory._engine.ledger.read(
            lambda c: [row.values() for row in checks.rows(c) if row.id != "gone"]
        )
        kept = [one.id for one in memory.list(status=EVERY, limit=1000) if one.id != "gone"]
        return (
            rows,
            [memory.changes.history(i) for i in kept],
            {i: vector_of(memory, i) for i in kept},
        )

    memory = open_memory(embedder=EMBEDDER)
    memory.add_many({"text": f"note {n}", "session": "s", "id": f"n{n}"} for n in range(20))
    memory.update("n3", text="note three")
    memory.add("to be erased", id="gone", session="s", related="n4")
    memory.flush(wait=True)
    before = others(memory)
    memory.store.erase("gone")
    assert others(memory) == before
    assert sound_once_mended(memory)


@pytest.mark.usefixtures("way")
def test_erased_ids_are_unknown_and_their_places_are_never_given_again(memory):
    """NotFound for good; the next memory takes a later place; the id itself may be used again."""
    memory.add("one", id="a")
    last = memory.add("two", id="b")
    memory.store.erase("b")
    with pytest.raises(NotFound):
        memory.get("b")
    with pytest.raises(NotFound):
        memory.store.erase("b")
    assert memory.add("three", id="b").seq > last.seq
    assert [found.text for found in memory.list()] == ["one", "three"]


@pytest.mark.usefixtures("way")
def test_a_chain_closes_up_over_what_is_erased(memory):
    """The memory before it points to the one after it, however many go at once."""
    for n in range(4):
        memory.add(f"value {n}", id=f"v{n}", key="slot")
    assert memory.store.erase(["v1", "v2"]).complete
    assert memory.get("v0").superseded_by == "v3"
    assert [(one.memory.id, one.relation) for one in memory.insight.related("v0")] == [
        ("v3", "supersedes")
    ]
    assert memory.changes.head("v0").id == "v3"
    assert memory.store.erase("v3").complete
    assert memory.get("v0").superseded_by is None
    assert sound(memory)


@pytest.mark.usefixtures("way")
def test_what_named_it_does_not_name_it_any_more(memory):
    """Superseded by it, derived from it, logged with it: the others stay, the id is gone."""
    memory.add("old", id="old")
    memory.add("new", id="the-new-one", supersedes="old")
    memory.add("child", id="child", source=Source(parents=("the-new-one", "old")))
    memory.retrieve("new")
    memory.retrieve("old child")
    memory.flush()
    memory.forget("old")
    memory.restore("old")
    receipt = memory.store.erase("the-new-one", derived=False)
    assert (receipt.derived, receipt.kept) == ((), ("child",))
    assert memory.get("child").source.parents == ("old",)
    assert found_in(memory.store.root, "the-new-one") == []
    assert memory.get("old").superseded_by is None
    assert sound(memory)


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_receipt_tells_what_is_kept(memory, dry_run):
    """Neither it nor its locks are listed as erased."""
    memory.add("secret", id="a")
    memory.add("summary of the secret", id="b", source=Source(parents=("a",)))
    memory.add("digest of the summary", id="c", source=Source(parents=("b",)))
    memory.update("b", lock="user")
    receipt = memory.store.erase("a", derived=False, dry_run=dry_run)
    assert (receipt.ids, receipt.derived, receipt.kept) == (("a",), (), ("b", "c"))
    assert (receipt.locked, receipt.dry_run) == ((), dry_run)
    assert {one.id for one in memory.list()} >= {"b", "c"}


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_receipt_tells_whether_it_was_a_dry_run(memory, dry_run):
    """Also in a namespace to which nothing was ever written."""
    receipt = memory.of("nobody").store.erase(everything=True, dry_run=dry_run)
    assert (receipt.ids, receipt.dry_run) == ((), dry_run)


def test_what_was_derived_goes_too(memory):
    """Children and their children; a dry run says so first and changes nothing."""
    memory.add("secret", id="a")
    memory.add("summary of the secret", id="b", source=Source(parents=("a",)))
    memory.add("digest of the summary", id="c", source=Source(parents=("b",)))
    memory.add("unrelated", id="d")
    planned = memory.store.erase("a", dry_run=True)
    assert (planned.ids, planned.derived, planned.dry_run) == (("a",), ("b", "c"), True)
    assert len(memory.list()) == 4
    erased = memory.store.erase("a")
    assert (erased.ids, erased.derived, erased.dry_run) == (("a",), ("b", "c"), False)
    assert [found.id for found in memory.list()] == ["d"]


@pytest.mark.parametrize(
    ("wanted", "left"),
    [
        ({"source": "file:///x"}, ["c", "d"]),
        ({"session": "s"}, ["a", "d"]),
        ({"ids": ["a", "d"]}, ["b", "c"]),
        ({"everything": True}, []),
        ({"source": "file:///X"}, ["a", "b", "c", "d"]),
    ],
    ids=str,
)
@pytest.mark.usefixtures("way")
def test_what_is_meant(memory, wanted, left):
    """By source, by session, by ids, or all; whatever the status; in this namespace only."""
    x = Source(uri="file:///x")
    for view in (memory, memory.of("other")):
        view.add("a", id="a", source=x)
        view.add("b", id="b", source=x, session="s", expires_in=1)
        view.add("c", id="c", session="s")
        view.add("d", id="d", key="k")
        view.forget("c")
    memory.store.erase(**wanted)
    assert sorted(found.id for found in memory.list(status=EVERY)) == left
    assert len(memory.of("other").list(status=EVERY)) == 4


@pytest.mark.parametrize(
    "wrong",
    [
        {}, {"ids": "a", "session": "s"}, {"ids": []}, {"ids": 3}, {"source": ""}, {"session": 1},
        {"everything": "yes"}, {"ids": "a", "timeout": -1}, {"ids": "a", "dry_run": 1},
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(memory, wrong):
    """None, several, or malformed: InvalidInput, and nothing is erased."""
    memory.add("a", id="a", session="s")
    with pytest.raises(InvalidInput):
        memory.store.erase(**wrong)
    assert len(memory.list()) == 1


@pytest.mark.parametrize("kept_under", ["redact", "allow"])
@pytest.mark.parametrize("erased_under", ["redact", "reject", "allow"])
def test_an_address_with_a_secret_is_found_as_it_was_kept(open_memory, kept_under, erased_under):
    """Under any setting of secrets, then and now, the address that was given names its memories."""
    address = "https://api.example.org/page?api_key=k3yk3y9a8b7c6d5e4f3g2h1i"
    with open_memory(config=Config(secrets=kept_under)) as memory:
        memory.add("a", id="a", source=Source(uri=address))
        memory.add("b", id="b", source=Source(uri="https://api.example.org/page"))
    memory = open_memory(config=Config(secrets=erased_under))
    assert memory.store.erase(source=address, dry_run=True).ids == ("a",)
    assert memory.store.erase(source=address).ids == ("a",)
    assert [found.id for found in memory.list()] == ["b"]


def test_one_unknown_id_stops_it_all(memory):
    """NotFound, and the known ones are still there."""
    memory.add("a", id="a")
    with pytest.raises(NotFound):
        memory.store.erase(["a", "nobody"])
    with pytest.raises(NotFound):
        memory.of("never", "seen").store.erase("a")
    assert memory.of("never", "seen").store.erase(everything=True).ids == ()
    assert memory.get("a").text == "a"


def test_a_read_only_store_says_so(memory):
    """ReadOnlyStore, since nothing could be done."""
    memory.add("a", id="a")
    memory._engine.ledger.read_only = True
    with pytest.raises(ReadOnlyStore):
        memory.store.erase("a")
    memory._engine.ledger.read_only = False


def test_strangers_in_the_folder_are_named_and_left_alone(memory):
    """A file that is not the store's is neither read nor removed; the receipt says so."""
    memory.add("a", id="a")
    (memory.store.root / "notes.txt").write_text("mine")
    erased = memory.store.erase("a")
    assert erased.untouched == ("notes.txt",)
    assert (memory.store.root / "notes.txt").read_text() == "mine"
    assert erased.not_reached


def test_everybody_with_the_store_open_learns_of_it(open_memory):
    """Another manager's caches let go at once: search, ring, list, and its next snapshot."""
    ours, theirs = open_memory(), open_memory()
    for n in range(5):
        ours.add(f"{CANARY} turn {n}", "short", session="s", id=f"t{n}", key=f"k{n}")
    assert len(theirs.retrieve(CANARY)) == 5
    assert len(theirs.sessions.recent(session="s")) == 5
    ours.store.erase(["t1", "t3"])
    assert {hit.id for hit in theirs.retrieve(CANARY)} == {"t0", "t2", "t4"}
    assert [found.id for found in theirs.sessions.recent(session="s")] == ["t0", "t2", "t4"]
    assert not theirs.retrieve("k1", match="names")
    theirs.add("one more", "short", session="s")
    assert [found.id for found in theirs.sessions.recent(session="s")][:3] == ["t0", "t2", "t4"]
    theirs.flush()
    assert found_in(ours.store.root, f"{CANARY} turn 1", f"{CANARY} turn 3") == []
    assert found_in(ours.store.root, f"{CANARY} turn 2") != []


def test_searching_and_adding_go_on_meanwhile(open_memory):
    """Threads that write and search while others are erased see no error and lose nothing."""
    memory = open_memory(embedder=EMBEDDER)
    memory.add_many({"text": f"doomed {n} tea", "id": f"d{n}", "tier": "long"} for n in range(30))
    stop, problems, added = threading.Event(), [], []

    def work(who):
        try:
            while not stop.is_set():
                added.append(memory.add(f"{who} adds {len(added)} tea", "medium").id)
                memory.retrieve("tea", 20)
        except Exception as error:  # noqa: BLE001 - whatever it is, the test shows it
            problems.append(error)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(2)]
    for thread in threads:
        thread.start()
    for n in range(10):
        memory.store.erase([f"d{n}", f"d{n + 10}", f"d{n + 20}"])
    stop.set()
    for thread in threads:
        thread.join()
    assert problems == []
    memory.flush(wait=True)
    kept = {found.id for found in memory.list(limit=1_000_000)}
    assert kept == set(added)
    assert found_in(memory.store.root, "doomed ") == []
    assert sound_once_mended(memory)


def test_what_a_reader_holds_is_emptied_when_it_lets_go(open_memory):
    """A process that reads an older state keeps the log: pending, and done once it has ended."""
    memory = open_memory()
    memory.add(f"{CANARY} here", id="a")
    reader = sqlite.sqlite3.connect(memory.store.root / "ledger.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM memories").fetchone()
    erased = memory.store.erase("a", timeout=0)
    assert list(erased.pending) == ["log"]
    assert not erased.complete
    assert [found.check for found in memory.store.doctor() if not found.ok] == ["erasure"]
    assert found_in(memory.store.root, CANARY)  # the reader could still read it
    memory.close()
    reader.close()
    assert sound(open_memory())
    assert found_in(memory.store.root, CANARY) == []


def test_the_background_thread_finishes_what_was_in_the_way(open_memory):
    """Without reopening: the process that erased tries again by itself."""
    memory = open_memory()
    memory.add(f"{CANARY} here", id="a")
    reader = sqlite.sqlite3.connect(memory.store.root / "ledger.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM memories").fetchone()
    assert memory.store.erase("a", timeout=0).pending
    reader.close()
    assert memory._engine._eraser.wait(60) == {}
    assert found_in(memory.store.root, CANARY) == []


OWNER = """
    import sys, time
    from memento import MemoryManager
    from memento.testing import HashEmbedder
    with MemoryManager({root!r}, embedder=HashEmbedder(64)) as memory:
        memory.add({text!r}, "long", id="a")
        memory.add("another", "long", id="b")
        print(memory.flush(wait=True), flush=True)
        sys.stdin.readline()
        settled, ends = memory.flush(wait=True), time.monotonic() + 60
        while memory._engine.long_state() != "ready" and time.monotonic() < ends:
            memory._engine.indexer.want_index()  # who erased may hold the folder a moment longer
            time.sleep(0.05)
        print(settled, memory._engine.long_state(), flush=True)
"""


@pytest.fixture
def owner(tmp_path):
    """Another process that has the store and its Chroma folder open."""
    script = textwrap.dedent(OWNER).format(root=str(tmp_path / "store"), text=f"{CANARY} there")
    child = subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline().strip() == "True"
    yield child
    child.send_signal(signal.SIGCONT)
    child.communicate("\n")


def test_who_has_the_chroma_folder_open_makes_it_anew(open_memory, owner):
    """The erasing process waits for it; the owner goes on with a new folder."""
    memory = open_memory()
    vector = vector_of(memory, "a")
    assert found_in(memory.store.root / "chroma", vector)
    assert memory.store.erase("a", timeout=60).complete
    assert found_in(memory.store.root, CANARY, vector) == []
    owner.stdin.write("\n")
    owner.stdin.flush()
    assert owner.stdout.readline().split() == ["True", "ready"]
    assert found_in(memory.store.root, CANARY, vector) == []


def test_an_owner_that_does_not_answer_is_named(open_memory, owner):
    """Stopped, it keeps its folder: the receipt says who; it does its part when it goes on."""
    memory = open_memory(embedder=EMBEDDER)
    vector = vector_of(memory, "a")
    owner.send_signal(signal.SIGSTOP)
    erased = memory.store.erase("a", timeout=0)
    assert set(erased.pending) == {"chroma"}
    assert str(owner.pid) in erased.pending["chroma"]
    assert {name.split("/")[0] for name in found_in(memory.store.root, CANARY, vector)} == {
        "chroma"
    }
    owner.send_signal(signal.SIGCONT)
    assert memory._engine._eraser.wait(60) == {}
    assert found_in(memory.store.root, CANARY, vector) == []


DYING = """
    import os, shutil, signal, sys
    from pathlib import Path
    from memento import MemoryManager
    from memento.ledger.lite import sqlite, store
    from memento.testing import HashEmbedder

    left, steps, scrubbed = int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    memory = MemoryManager(sys.argv[1], embedder=None)

    def point():
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def before(owner, name):
        real = getattr(owner, name)
        def wrapped(*args, **kwargs):
            point()
            return real(*args, **kwargs)
        setattr(owner, name, wrapped)

    def dying(connection):
        connection.set_progress_handler(lambda: os.kill(os.getpid(), signal.SIGKILL), steps)
        real_compact(connection)
        connection.set_progress_handler(None, 0)

    real_write, real_alone = store.LiteLedger.write, store.LiteLedger.alone
    for owner, name in ((store.LiteLedger, "write"), (store.LiteLedger, "alone"),
                        (shutil, "rmtree"), (Path, "unlink"), (Path, "replace")):
        before(owner, name)
    real_compact = sqlite.compact
    if steps:
        sqlite.compact = dying
    if scrubbed:
        sqlite.WHOLE_PAGES, left = -1, scrubbed - 1
        store.LiteLedger.write, store.LiteLedger.alone = real_write, real_alone
        before(os, "pwrite")
    memory.store.erase("a")
    os._exit(0)
"""


def die(root, left, steps=0, scrubbed=0):
    """Erase in a process that is killed at the n-th step, within the compaction, or scrubbing."""
    return subprocess.run(
        [
            sys.executable,
            "-c",
            textwrap.dedent(DYING),
            str(root),
            str(left),
            str(steps),
            str(scrubbed),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        check=False,
    ).returncode


def prepared(open_memory, root):
    """Make a store with a canary in every kind of file, closed."""
    with open_memory(root) as memory:
        memory.add_many({"text": f"ordinary {n}", "session": "s"} for n in range(30))
        memory.add(f"{CANARY} here", "short", id="a", session="s")
    for name in ("chroma.bad-1", "chroma"):
        plant_aside(root, name, "x")
    (root / "short.json.bad-1").write_bytes(head_of("short.json") + CANARY.encode())
    (root / "chroma.json").write_text(f'{{"identity":"{CANARY}","unclean":1}}')
    return root


def finished(open_memory, root):
    """Open the store again; tell whether the memory was erased, and check that all of it was."""
    memory = open_memory(root)
    gone = "a" not in {found.id for found in memory.list(limit=1000)}
    assert sound(memory)
    assert len(memory.list(limit=1000)) == 31 - gone
    memory.close()
    assert bool(found_in(root, CANARY)) is not gone
    return gone


def test_killed_at_any_step_it_is_finished_by_the_next_to_open(open_memory, tmp_path):
    """Kill -9 before each write and each removal: all of it is there, or nothing is left."""
    outcomes = []
    for step in range(100):
        root = prepared(open_memory, tmp_path / str(step))
        status = die(root, step)
        outcomes.append(finished(open_memory, root))
        if status == 0:
            break
        assert status == -signal.SIGKILL
    assert outcomes[0] is False
    assert outcomes[-1] is True
    assert outcomes == sorted(outcomes)
    assert len(outcomes) > 12


@pytest.mark.parametrize("steps", [10, 100, 300])
def test_killed_within_the_compaction_it_is_done_again(open_memory, tmp_path, steps):
    """Kill -9 while SQLite merges the index or copies the pages."""
    root = prepared(open_memory, tmp_path / "store")
    assert die(root, 10_000, steps) == -signal.SIGKILL
    assert finished(open_memory, root) is True


@pytest.mark.parametrize("number", [1, 2, 6])
def test_killed_while_it_scrubs_it_is_done_again(open_memory, tmp_path, number):
    """Kill -9 before the n-th unused part of the file is overwritten."""
    root = prepared(open_memory, tmp_path / "store")
    assert die(root, 0, scrubbed=number) == -signal.SIGKILL
    assert finished(open_memory, root) is True


def test_an_erasure_takes_room_aside_again(open_memory):
    """A full disk took what was kept aside; once an erasure is done it is kept again."""
    memory = open_memory(config=Config(index=IndexConfig(start_seconds=86_400.0)))  # no tidying
    memory.add("one", id="a")
    os.truncate(memory.store.root / "reserve", 0)
    assert "reserve" in {one.check for one in memory.store.doctor() if not one.ok}
    assert memory.store.erase("a").complete
    assert sound(memory)


# Very many at once


@pytest.fixture
def half_erased(memory, monkeypatch):
    """A store with an erased session, of which only the first two rows could be deleted yet."""
    in_bites(monkeypatch)
    memory.add("before it", id="before", key="slot 3")
    for n in range(7):
        memory.add(f"{CANARY} {n}", id=f"m{n}", session="s", key=f"slot {n}")
    memory.add("derived from it", id="after", source=Source(parents=("m5",)))
    memory.flush(wait=True)
    real, left = erasure.delete_some, [None]

    def refused(connection, which):
        if not left:
            raise StorageFull(memory.store.root, "the disk is full")
        left.pop()
        return real(connection, which)

    monkeypatch.setattr(memory._engine.background, "finish_erasing", lambda: None)
    with mock.patch.object(erasure, "delete_some", refused):
        receipt = memory.store.erase(session="s", derived=False, timeout=0)
    assert (receipt.ids, list(receipt.pending)) == (tuple(f"m{n}" for n in range(7)), ["rows"])
    query = "SELECT count(*) FROM memories WHERE session = 's'"
    assert memory._engine.ledger.write(lambda c: c.execute(query).fetchone()) == (5,)
    return memory


def test_very_many_are_out_of_sight_at_once(half_erased):
    """No verb shows one or finds one by its id, though most of the rows are still there."""
    memory = half_erased
    assert {found.id for found in memory.list(status=EVERY)} == {"before", "after"}
    assert not [hit for hit in memory.retrieve(f"{CANARY} 4") if CANARY in hit.text]
    assert CANARY not in memory.prompt(f"what is {CANARY} 4?")
    assert memory.sessions.recent(session="s") == []
    assert memory.store.counts("session") == {}
    export = memory.store.root.with_name("export.jsonl")
    memory.store.export(export)
    assert CANARY not in export.read_text()
    for verb in (memory.get, memory.changes.history, memory.forget, memory.store.erase):
        with pytest.raises(NotFound):
            verb("m6")


def test_what_is_added_before_very_many_are_deleted_stays(half_erased, open_memory):
    """A new memory is not erased for the text, id or key of an erased one, in any process."""
    memory = half_erased
    again = memory.add(f"{CANARY} 4", id="new")
    assert memory.add("another text", id="m5", key="slot 5").text == "another text"
    assert memory.add("of the same slot", id="slot", key="slot 6", related="m5").id == "slot"
    assert again.id == "new"
    memory.update("new", text="a harmless text")
    other = open_memory(memory.store.root)
    left = {"before", "after", "new", "m5", "slot"}
    for view in (memory, other):
        assert {found.id for found in view.list(status=EVERY)} == left
        assert view.get("after").source.parents == ()
        assert view.get("before").superseded_by is None
    assert memory.store.erase("new").complete
    assert found_in(memory.store.root, CANARY) == []
    assert sound(memory)


def test_no_slot_takes_back_one_of_very_many(memory, monkeypatch):
    """A value whose row is still to be deleted is not brought back by later writes."""
    in_bites(monkeypatch)
    for n, (text, session) in enumerate([("first", None), (CANARY, "s"), ("now", None)]):
        memory.add(text, id=f"v{n}", session=session, key="slot")
    memory.add(CANARY, id="only", session="s", key="other slot")
    memory.add("what is there now", id="heir", key="other slot")
    monkeypatch.setattr(memory._engine.background, "finish_erasing", lambda: None)
    with mock.patch.object(
        erasure, "delete_some", side_effect=StorageFull(memory.store.root, "full")
    ):
        memory.store.erase(session="s", timeout=0)
        assert memory.slots.revert("slot").text == "first"
        with pytest.raises(InvalidInput, match="no earlier value"):
            memory.slots.revert("other slot")
    assert memory.store.erase("heir").complete
    assert found_in(memory.store.root, CANARY) == []
    assert sound(memory)


def test_a_copy_made_while_very_many_are_looked_for_is_erased_too(open_memory, monkeypatch):
    """Another process may revert a slot after they were found, and before they are marked."""
    in_bites(monkeypatch)
    memory = open_memory()
    memory.add(CANARY, id="old", session="s", key="slot")
    memory.add("now", id="now", key="slot")
    other, copies, real = open_memory(memory.store.root), [], memory._engine.ledger.write

    def late(job, **how):
        if not copies:
            copies.append(other.slots.revert("slot").id)
        return real(job, **how)

    monkeypatch.setattr(memory._engine.ledger, "write", late)
    receipt = memory.store.erase(session="s")
    assert (receipt.ids, receipt.derived) == (("old",), (*copies,))
    assert [one.text for one in memory.list(status=EVERY)] == ["now"]


def test_a_backup_of_a_half_erased_store_is_whole_and_shows_none(half_erased, open_memory):
    """The process that opens the restored store finishes the erasure there."""
    memory = half_erased
    backup = memory.store.root.with_name("backup.db")
    memory.store.backup(backup)
    restore(backup, memory.store.root.with_name("restored"))
    restored = open_memory(memory.store.root.with_name("restored"))
    assert {found.id for found in restored.list(status=EVERY)} == {"before", "after"}
    assert found_in(restored.store.root, CANARY) == []


def test_doctor_names_a_half_erased_store(half_erased):
    """The erasure is all that is wrong with it."""
    found = half_erased.store.doctor()
    assert [one.check for one in found if not one.ok] == ["erasure"]


def test_no_transaction_deletes_more_than_a_few_of_very_many(memory, monkeypatch):
    """After the one that marks them, each deletes a bite."""
    memory.add_many([{"text": f"note {n}"} for n in range(500)])
    monkeypatch.setattr(erasure, "AT_ONCE", 50)
    sizes, real = [], erasure.delete

    def noted(connection, docids):
        sizes.append(len(docids))
        return real(connection, docids)

    monkeypatch.setattr(erasure, "delete", noted)
    assert memory.store.erase(everything=True).rows["memories"] == 500
    assert sizes == [50] * 10


# Any history


def rows(memory):
    """Read all there is of every memory, hidden ones too, but for its revision."""

    def job(connection):
        return {row.id: row.values()[3:] for row in checks.rows(connection)}

    return memory._engine.ledger.read(job)


MARKS = [f"qz{letter}{letter}xvk" for letter in "abcdefgh"]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "update", "forget", "supersede", "move", "repeat"]),
        st.integers(0, 7),
        st.sampled_from(["short", "medium", "long"]),
    ),
    max_size=20,
)


@settings(max_examples=25)
@given(steps=STEPS, doomed=st.sets(st.integers(0, 7), min_size=1), most=st.sampled_from([-1, 99]))
def test_after_any_history_the_erased_are_gone_and_the_others_whole(
    tmp_path_factory, steps, doomed, most
):
    """Each memory has a word of its own: those of the erased are nowhere, the others findable."""
    root = tmp_path_factory.mktemp("any") / "store"
    with MemoryManager(root, embedder=None) as memory:
        for n, mark in enumerate(MARKS):
            memory.add(f"{mark} to begin with", "short", id=f"m{n}", session=f"s{n % 2}")
        for what, n, tier in steps:
            one, mark = f"m{n}", MARKS[n]
            if what == "add":
                memory.add(f"{mark} to begin with", "short", session=f"s{n % 2}")
            elif what == "update" and memory.get(one).status != "forgotten":
                memory.update(one, text=f"{mark} {tier} now", tags=[f"{mark}tag"])
            elif what == "forget":
                memory.forget(one)
            elif what == "supersede" and n and memory.get("m0").status == "active":
                memory.add(f"word {len(memory.list(status=EVERY))}", supersedes="m0")
            elif what == "move":
                memory.update(one, tier=tier)
            elif what == "repeat":
                memory.retrieve(mark)
        before = rows(memory)
        repeats = [i for i, row in before.items() if any(MARKS[n] in str(row) for n in doomed)]
        with mock.patch.object(sqlite, "WHOLE_PAGES", most):  # scrubbed, or rewritten
            assert memory.store.erase(repeats).complete
        assert rows(memory) == {i: row for i, row in before.items() if i not in repeats}
        assert sound(memory)
    assert found_in(root, *(MARKS[n] for n in doomed)) == []
    for n in set(range(8)) - doomed:
        assert "ledger.db" in found_in(root, MARKS[n])


def test_the_receipt_says_when_and_how_much(memory, clock):
    """Counts by table, files, moment."""
    memory.add("a", id="a", session="s")
    memory.update("a", text="b")
    memory.flush()
    erased = memory.store.erase("a")
    assert erased.at == clock() == datetime(2025, 1, 1, tzinfo=UTC)
    assert erased.rows["memories"] == erased.rows["versions"] == erased.rows["full text"] == 1
    assert erased.rewritten == ("ledger.db", "short.json", "ledger.db-wal")
    assert Path(memory.store.root / "short.json").exists()
    assert np.isfinite(memory._engine.ledger.wal_bytes())


def killed_with_a_draft(tmp_path, script):
    """Kill a process that was just about to finish a file."""
    script = f"""
        import os, signal
        from memento import MemoryManager
        from memento.upkeep.backup import restore
        from memento.base import files
        files._sync_file = lambda path: os.kill(os.getpid(), signal.SIGKILL)
        {script}
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], cwd=tmp_path, check=False)
    assert ran.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("script", "again"),
    [
        (
            "restore('b.db', 'store', set_aside=True)",
            lambda folder: restore(folder / "b.db", folder / "store", set_aside=True),
        ),
        (
            "MemoryManager('store', embedder=None).store.backup('new.db')",
            lambda folder: MemoryManager(folder / "store", embedder=None).store.backup(
                folder / "new.db"
            ),
        ),
        (
            "MemoryManager('store', embedder=None).store.export('new.jsonl')",
            lambda folder: MemoryManager(folder / "store", embedder=None).store.export(
                folder / "new.jsonl"
            ),
        ),
    ],
    ids=["restore", "backup", "export"],
)
def test_what_was_killed_is_named_and_removed_by_the_next(open_memory, tmp_path, script, again):
    """A copy that was never finished is in the receipt, and gone when the same is done again."""
    with open_memory(tmp_path / "store") as memory:
        memory.add(CANARY, id="a")
        memory.add("stays", id="b")
        memory.store.backup(tmp_path / "b.db")
    killed_with_a_draft(tmp_path, script)
    (left,) = [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    assert CANARY.encode() in content(left if left.is_file() else next(left.iterdir()))
    with open_memory(tmp_path / "store") as memory:
        for receipt in (memory.store.erase("a", dry_run=True), memory.store.erase("a")):
            assert any(line.startswith(f"{left}: ") for line in receipt.not_reached)
    again(tmp_path)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_the_old_store_is_never_taken_for_litter(open_memory, tmp_path):
    """Killed between exchange and rename, what has the name of a draft is the old store."""
    with open_memory(tmp_path / "store") as memory:
        memory.add("one", id="a")
        memory.store.backup(tmp_path / "b.db")
    old = tmp_path / ".store.abcd1234.tmp"
    shutil.copytree(tmp_path / "store", old)
    restore(tmp_path / "b.db", tmp_path / "store", set_aside=True)
    assert open_memory(old).get("a").text == "one"


def test_stores_set_aside_are_named(open_memory, tmp_path):
    """A restore that keeps the store that was there leaves a copy, which the receipt names."""
    memory = open_memory(tmp_path / "store")
    memory.add("one", id="a")
    memory.store.backup(tmp_path / "b.db")
    memory.close()
    done = restore(tmp_path / "b.db", tmp_path / "store", set_aside=True)
    again = open_memory(tmp_path / "store")
    for receipt in (again.store.erase("a", dry_run=True), again.store.erase("a")):
        assert any(str(done.aside) in line for line in receipt.not_reached)
    again.add("two", id="b")
    shutil.rmtree(done.aside)
    assert again.store.erase("b").not_reached == NOT_REACHED
