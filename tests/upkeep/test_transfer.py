"""Export and import: what comes out goes in again, and comes out the same."""

from __future__ import annotations

import base64
import io
import json
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256

import numpy as np
import pytest
from beside import exported, read_sql, sound, write_sql
from hypothesis import given, settings
from hypothesis import strategies as st

from memento import Config, MemoryManager
from memento.check import Limits
from memento.config import ShortConfig
from memento.errors import (
    ArchiveDamaged,
    ArchiveFromTheFuture,
    IdConflict,
    InvalidInput,
)
from memento.ledger import checks
from memento.testing import HashEmbedder, ManualClock
from memento.types import Source
from memento.upkeep import import_lines

EVERY = ["active", "superseded", "forgotten", "quarantined"]


THE_REST = (
    """SELECT id, versions.version, versions.text, versions.status, versions.tier, until, reason,
    earlier FROM versions JOIN memories USING (docid) ORDER BY docid, versions.rev""",
    """SELECT a.id, b.id, relation, weight FROM links JOIN memories AS a ON a.docid = src
    JOIN memories AS b ON b.docid = dst ORDER BY src, relation, dst""",
    """SELECT events.ns, at, events.kind, id, detail FROM events LEFT JOIN memories USING (docid)
    ORDER BY events.ns, event""",
    "SELECT ns, labels FROM namespaces ORDER BY ns",
)


def lines_of(memory, **options):
    """Export as a list of objects."""
    return [json.loads(line) for line in exported(memory, **options).splitlines()]


def sealed(*lines):
    """Compose an export of lines, with an end that fits them."""
    body = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    counts = {kind: sum(line.get("type") == kind for line in lines) for kind in ("link", "event")}
    end = {
        "type": "end",
        "memories": sum(line.get("type") == "memory" for line in lines),
        "links": counts["link"],
        "events": counts["event"],
        "sha256": sha256(body).hexdigest(),
    }
    return io.BytesIO(body + json.dumps(end).encode() + b"\n")


@pytest.mark.parametrize(
    ("trust", "superseded_by", "status"),
    [("user", None, "active"), ("web", None, "quarantined"), ("user", "other", "superseded")],
)
def test_what_was_forgotten_is_restored_without_its_history(
    memory, open_memory, tmp_path, trust, superseded_by, status
):
    """An import may lack the history that says what a memory was before; nothing is approved."""
    memory.add("gone", id="g", source=Source(trust, "https://a.example/page"))
    memory.forget("g")
    lines = lines_of(memory)[:-1]
    lines[1] |= {"versions": [], "superseded_by": superseded_by}
    other = open_memory(tmp_path / "other")
    other.store.import_from(sealed(*lines), trust="user")
    assert other.quarantine.restore_source("https://a.example/page") == []
    assert other.restore("g").status == status
    assert other.get("g").text == "gone"


def everything(memory):
    """Read all of a store but the numbers that an import changes: row ids, revisions, stamps."""

    def job(connection):
        rows = [row.values()[3:] for row in checks.rows(connection)]
        others = [connection.execute(query).fetchall() for query in THE_REST]
        return rows, *others

    return memory._engine.ledger.read(job)


@pytest.fixture
def full(memory, clock):
    """A store with something of everything."""
    memory.add("The kettle is blue", "long", key="kettle", id="one", aliases=["the kettle", "Krug"])
    clock.advance(timedelta(hours=1))
    memory.add("The kettle is rot — 赤い", "long", key="kettle", id="two", related="one")
    memory.add("turn", "short", session="s", actor="Rami", role="user", id="three",
               metadata={"a": [1, 2.5, None, True, {"ü": "x"}]}, tags=["b", "a"], pinned=True,
               source=Source("agent", uri="https://example.org", model="m", parents=("one",)),
               occurred_at=clock() - timedelta(days=400), expires_in=10_000.5)  # fmt: skip
    clock.advance(timedelta(hours=1))
    memory.update("three", text="turn and turn", importance=0.123456789, scope="a/b")
    memory.forget("one")
    memory.add("three again?", id="four", valid_until=clock() + timedelta(days=1))
    memory.add("three again?")
    memory.add("buy this", id="web", source=Source("web", uri="https://example.org/ad"))
    memory.retrieve("kettle")
    memory.of("acme", "rami").add("The door code is 4711", "long", id="one")
    memory.flush()
    return memory


def test_what_comes_out_goes_in_and_comes_out_the_same(full, open_memory, tmp_path):
    """Two namespaces, every status: rows, versions, links, events; then the same bytes again."""
    done = full.store.export(tmp_path / "all.jsonl", all_namespaces=True)
    assert (done.namespaces, done.memories, done.vectors, done.damaged) == (2, 6, 0, ())
    copy = open_memory(tmp_path / "copy")
    taken = copy.store.import_from(tmp_path / "all.jsonl", all_namespaces=True, trust="user")
    assert (taken.memories, taken.known) == (6, 0)
    assert (taken.links, taken.events) == (done.links, done.events)
    assert everything(copy) == everything(full)
    assert replace(copy.get("three"), seq=0) == replace(full.get("three"), seq=0)
    unnumbered = [replace(one, change=None, by=None) for one in full.changes.history("three")]
    assert copy.changes.history("three") == unnumbered  # numbers of changes are of one store
    assert sound(copy)
    copy.store.export(tmp_path / "again.jsonl", all_namespaces=True)
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "all.jsonl").read_bytes()


def test_the_copy_is_a_store_like_any_other(full, open_memory, tmp_path):
    """Found by words, shown in the ring; it can be restored, superseded, export."""
    copy = open_memory(tmp_path / "copy")
    copy.store.import_from(io.StringIO(exported(full)), trust="user")
    assert [hit.id for hit in copy.retrieve("what colour is the kettle?")] == ["two"]
    assert [found.id for found in copy.sessions.recent(session="s")] == ["three"]
    assert copy.restore("one").status == "superseded"
    assert copy.get("web").status == "quarantined"
    assert not copy.retrieve("buy this")
    copy.add("The kettle is green", key="kettle", id="five")
    assert copy.get("two").superseded_by == "five"
    copy.update("three", text="changed here")
    assert [state.version for state in copy.changes.history("three")] == [1, 2, 3]
    assert copy.add("a new one").seq > copy.get("five").seq
    assert sound(copy)


def test_a_second_import_adds_nothing(full, open_memory, tmp_path):
    """Neither memories nor versions, links or events, even after changes made here."""
    export = exported(full)
    copy = open_memory(tmp_path / "copy")
    copy.store.import_from(io.StringIO(export), trust="user")
    before = everything(copy)
    again = copy.store.import_from(io.StringIO(export), trust="user")
    assert (again.memories, again.known, again.links, again.events) == (0, 5, 0, 0)
    assert everything(copy) == before
    copy.update("four", text="changed here")
    copy.forget("two")
    copy.add("kept", id="three", replace=True)
    before = everything(copy)
    assert copy.store.import_from(io.StringIO(export), trust="user").memories == 0
    assert everything(copy) == before
    assert full.store.import_from(io.StringIO(export), trust="user").memories == 0


def test_a_file_of_ones_own_releases_what_waits_from_it(full, open_memory, tmp_path):
    """Imported again as the user's; what waited where it comes from waits still."""
    export = tmp_path / "mine.jsonl"
    full.store.export(export, all_namespaces=True)
    with open_memory(tmp_path / "copy") as copy:
        copy.store.import_from(export, all_namespaces=True)
        waiting = {one.id for one in copy.quarantine.list()}
        done = copy.store.import_from(export, all_namespaces=True, trust="user")
        left = {one.id for one in copy.quarantine.list()}
        assert left < waiting
        assert done.approved >= len(waiting - left) > 0


def test_an_export_of_one_namespace_goes_into_another(full, open_memory, tmp_path):
    """It is this manager's own that is written, whichever it came from; never a third."""
    export = exported(full.of("acme", "rami"))
    assert "kettle" not in export
    copy = open_memory(tmp_path / "copy", namespace="mine")
    copy.store.import_from(io.StringIO(export), trust="user")
    assert [found.text for found in copy.list()] == ["The door code is 4711"]
    assert copy.of("acme", "rami").list() == []
    several = exported(full, all_namespaces=True)
    with pytest.raises(InvalidInput, match="2 namespaces"):
        copy.store.import_from(io.StringIO(several), trust="user")
    assert len(copy.list()) == 1


def test_what_is_cut_off_or_changed_is_refused_whole(full, open_memory, tmp_path):
    """At every line and in the middle of each, and after any change: nothing is taken from it."""
    whole = exported(full, all_namespaces=True).encode()
    copy = open_memory(tmp_path / "copy")
    ends = [at + 1 for at, byte in enumerate(whole) if byte == ord("\n")]
    cuts = [0, *ends[:-1], *(at - 7 for at in ends), len(whole) - 1]
    changed = [
        whole.replace(b"4711", b"4712"),
        whole + whole[:1],
        whole.replace(b"blue", b"red", 1),
    ]
    changed += [b"Dear diary\n", b"{}\n", b"[1]\n", b"\xff\xfe\n", whole[ends[0] :]]
    for bad in [*(whole[:cut] for cut in cuts), *changed]:
        with pytest.raises(ArchiveDamaged):
            copy.store.import_from(io.BytesIO(bad), trust="user")
        (tmp_path / "bad.jsonl").write_bytes(bad)
        with pytest.raises(ArchiveDamaged):
            copy.store.import_from(tmp_path / "bad.jsonl", all_namespaces=True, trust="user")
    with pytest.raises(ArchiveDamaged, match="not a file"):
        copy.store.import_from(tmp_path / "absent.jsonl", trust="user")
    assert copy.list(status=EVERY) == []
    assert copy._engine.ledger.find_namespace(("acme", "rami")) is None


NO_LIST, NO_MODEL = "list its namespaces", "embedder of its vectors"


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        *(("namespaces", wrong, NO_LIST) for wrong in (..., 5, None, "default", {})),
        *(("namespaces", [wrong], "invalid namespace") for wrong in (5, None, [""], ["x\0"], {})),
        *(("embedder", wrong, NO_MODEL) for wrong in (..., " ", "x", 3, {}, [], {"name": "x"})),
        *(("embedder", {"name": "x", "dim": dim}, NO_MODEL) for dim in (0, -1, "3", None, 1e9)),
        *(("embedder", {"name": name, "dim": 3}, NO_MODEL) for name in ("", "\0", None, 3)),
    ],
)
@pytest.mark.parametrize("trust", ["user", "web"])
def test_a_first_line_that_is_garbled_is_refused(
    full, open_memory, tmp_path, field, value, problem, trust
):
    """However well the digest fits: ArchiveDamaged, which says what of it cannot be read."""
    head, *rest = lines_of(full)
    head |= {field: value}
    if value is ...:
        del head[field]
    copy = open_memory(tmp_path / "copy")
    with pytest.raises(ArchiveDamaged, match=problem):
        copy.store.import_from(sealed(head, *rest[:-1]), trust=trust)


@pytest.mark.parametrize("wrong", [{}, {"type": None}, {"type": {}}, {"type": []}, {"type": "x"}])
def test_a_line_of_no_type_is_refused(full, open_memory, tmp_path, wrong):
    """It might be a memory; it is not passed over."""
    head, *rest = lines_of(full)
    copy = open_memory(tmp_path / "copy")
    with pytest.raises(ArchiveDamaged, match="line 2 has an unknown type"):
        copy.store.import_from(sealed(head, wrong, *rest[:-1]), trust="user")


def test_an_end_without_a_digest_is_refused(full, open_memory, tmp_path):
    """Lines that have no digest may have been changed."""
    *lines, end = lines_of(full)
    del end["sha256"]
    text = "".join(f"{json.dumps(line)}\n" for line in (*lines, end))
    with pytest.raises(ArchiveDamaged, match="digest"):
        open_memory(tmp_path / "copy").store.import_from(io.StringIO(text), trust="user")


def test_an_import_that_is_refused_leaves_no_namespace_behind(full, open_memory, tmp_path):
    """All or nothing: not even the name of what could not be taken."""
    head, first, *_ = lines_of(full)
    head["namespaces"] += [["victim", str(n)] for n in range(5)]
    copy = open_memory(tmp_path / "copy")
    with pytest.raises(InvalidInput):
        copy.store.import_from(sealed(head, first | {"kind": "wisdom"}), all_namespaces=True)
    query = "SELECT count(*) FROM namespaces"
    assert read_sql(copy, query) == [(0,)]


def test_a_newer_format_is_refused(full, open_memory, tmp_path):
    """ArchiveFromTheFuture with both versions, whatever the rest looks like."""
    head, *rest = lines_of(full)
    copy = open_memory(tmp_path / "copy")
    with pytest.raises(ArchiveFromTheFuture, match="format 9") as caught:
        copy.store.import_from(sealed(head | {"format": 9}, *rest[:-1]), trust="user")
    assert (caught.value.found, caught.value.known) == (9, 1)


WRONG = {
    "id": ["", "x" * 129, 3, None],
    "text": ["", "a\0b", "\ud800", None, 7],
    "tier": ["huge", None], "kind": ["wisdom"], "status": ["erased", 1], "trust": ["god"],
    "scope": ["../x", 3], "importance": [1.5, "high", True], "pinned": [1],
    "created_at": ["yesterday", "2025-01-01T00:00:00", 3, None], "expires_at": [5],
    "aliases": ["x", [1], {}], "metadata": [[], {"a": "\0"}, 3], "tags": [None],
    "reinforced": [-1, 1.5, True], "version": ["1"], "content_hash": ["xyz", 3],
    "session": ["\0", 3], "source_uri": [5, "\0"], "versions": [3, [{}], [{"version": 1}]],
    "namespace": ["x", [""], ["stranger"]],
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in WRONG.items() for v in vs])
def test_a_value_that_cannot_be_is_refused_and_the_line_named(memory, full, tmp_path, name, value):
    """However well the digest fits: InvalidInput, and nothing at all was written."""
    head, first, second, *_ = lines_of(full)
    assert memory is full
    with MemoryManager(tmp_path / "copy", embedder=None) as copy:
        with pytest.raises(InvalidInput, match="line 3"):
            copy.store.import_from(sealed(head, first, second | {name: value}), trust="user")
        assert copy.list(status=EVERY) == []


GROWING = "password=tr0ub4dor&3 "
"""Its mark is longer than it is."""


def grown_text(memory):
    """Add a text at the limit, whose secrets have longer marks."""
    memory.add((GROWING * 99)[:300], id="x")
    memory.update("x", importance=0.5)
    assert len(memory.get("x").text) > 300


def grown_names(memory):
    """Add names at the limit, whose secrets have longer marks."""
    said = (GROWING * 99)[:255]
    memory.add("a text", id="x", tags=[said], aliases=[said], actor=said, condition=said)
    assert len(memory.get("x").tags[0]) > 256


def grown_address(memory):
    """Add an address at the limit, whose secret has a longer mark."""
    memory.add("a text", source=Source("web", f"https://ada:pw@x.example/{GROWING * 96}"))
    assert len(memory.list(status=EVERY)[0].source.uri) > 2048


def long_answer(memory):
    """Record an answer that is larger than what the metadata of a memory may be."""
    memory.add_many([{"text": f"ferry {n}", "id": f"{n:0>100}"} for n in range(20)])
    assert len(memory.retrieve("ferry", k=20)) == 20


def long_note(memory):
    """Write a memory whose line, with its history, is longer than a stranger's may be."""
    for n in range(30):
        memory.add(f"Заметка {n} {'длинная ' * 30}"[:300], id="x", replace=True)


OWN = [grown_text, grown_names, grown_address, long_answer, long_note]


@pytest.mark.parametrize("fill", OWN, ids=lambda fill: fill.__name__)
def test_whatever_a_store_holds_is_imported_as_ones_own(open_memory, tmp_path, monkeypatch, fill):
    """The limits of writing are not those of what was written; a stranger's file keeps them."""
    monkeypatch.setattr(import_lines, "MAX_LINE", 16_384)
    config = Config(limits=Limits(text_chars=300, metadata_bytes=512))
    memory = open_memory(tmp_path / "a", config=config)
    fill(memory)
    memory.flush()
    copy = open_memory(tmp_path / "b", config=config)
    copy.store.import_from(io.StringIO(exported(memory)), trust="user")
    assert sound(copy)
    assert exported(copy).splitlines()[1:] == exported(memory).splitlines()[1:]
    memory.store.move(tmp_path / "c")
    if fill is not long_answer:  # events of a stranger's file are left out
        stranger = open_memory(tmp_path / "d", config=config)
        with pytest.raises((InvalidInput, ArchiveDamaged)):
            stranger.store.import_from(io.StringIO(exported(memory)))


def test_scopes_from_before_their_limits_are_imported(open_memory, tmp_path):
    """More aliases than can be given, and a path longer than a call can name."""
    memory = open_memory(tmp_path / "a")
    memory.add("The ferry leaves at nine", id="x", scope="port")
    memory.scopes.define("port", title="The port")
    lines, path = lines_of(memory)[:-1], f"port/{'a/' * 170}b"
    for line in lines:
        if line["type"] == "memory":
            line["scope"] = path
        elif line["type"] == "scope":
            line["aliases"] = [f"harbour {n}" for n in range(90)]
    copy = open_memory(tmp_path / "b")
    copy.store.import_from(sealed(*lines), trust="user")
    assert copy.get("x").scope == path
    (port,) = [one for one in copy.scopes.list() if one.path == "port"]
    assert len(port.aliases) == 90
    assert copy.scopes.define("port", title="Old port").title == "Old port"


def test_what_is_missing_or_twice_is_refused(full, open_memory, tmp_path):
    """A field that is not there, an unknown one in a version, one id in two lines."""
    head, first, *rest = lines_of(full)
    copy = open_memory(tmp_path / "copy")
    lacking = {name: value for name, value in first.items() if name != "kind"}
    odd = first["versions"][0] | {"earlier": {"colour": "blue"}}
    for lines in ([lacking], [first, first], [first | {"versions": [odd]}]):
        with pytest.raises(InvalidInput, match="line"):
            copy.store.import_from(sealed(head, *lines), trust="user")
    link = next(line for line in rest if line["type"] == "link")
    for wrong in ({"weight": "heavy"}, {"weight": True}, {"from": 3}, {"relation": ""}):
        with pytest.raises(InvalidInput, match="line"):
            copy.store.import_from(sealed(head, first, link | wrong), trust="user")
    assert copy.list(status=EVERY) == []


def test_an_id_of_another_memory_here_is_a_conflict(full, open_memory, tmp_path, clock):
    """IdConflict, and nothing was written; the memory here is as it was."""
    copy = open_memory(tmp_path / "copy")
    clock.advance(timedelta(days=1))
    copy.add("quite another", id="three")
    before = everything(copy)
    with pytest.raises(IdConflict):
        copy.store.import_from(io.StringIO(exported(full)), trust="user")
    assert everything(copy) == before


def test_a_slot_taken_here_goes_to_the_later_one(full, open_memory, tmp_path, clock):
    """Of two active memories in one slot the one that holds from later on supersedes the other."""
    older, newer = open_memory(tmp_path / "older"), open_memory(tmp_path / "newer")
    early = clock() - timedelta(days=900)
    older.add("The kettle is grey", key="kettle", id="grey", occurred_at=early)
    clock.advance(timedelta(days=1))
    newer.add("The kettle is black", key="kettle", id="black")
    for store in (older, newer):
        store.store.import_from(io.StringIO(exported(full)), trust="user")
        assert sound(store)
    assert older.get("grey").superseded_by == "two"
    assert newer.get("two").superseded_by == "black"


@pytest.mark.parametrize("later", ["here", "there"])
@pytest.mark.parametrize("fillers", [0, 600])
def test_two_locked_values_of_one_slot_both_stay(open_memory, tmp_path, clock, later, fillers):
    """A lock forbids to replace either; the import ends, and says that they contradict."""
    here, there = open_memory(tmp_path / "here"), open_memory(tmp_path / "there")

    def lock(memory, name):
        memory.add(f"The pump is in {name}", key="pump", id=name)
        memory.update(name, lock="user")
        clock.advance(timedelta(hours=1))

    there.add_many([f"filler {n}" for n in range(fillers)])
    order = [(there, "there"), (here, "here")]
    for memory, name in order if later == "here" else reversed(order):
        lock(memory, name)
    file = exported(there)
    assert here.store.import_from(io.StringIO(file), trust="user").memories == fillers + 1
    assert here.value("pump").id == "here"
    for name, key in (("here", "pump"), ("there", None)):
        one = here.get(name)
        assert (one.key, one.status, one.lock) == (key, "active", "user")
    (pair,) = here.slots.conflicts()
    assert {pair.a.id, pair.b.id} == {"here", "there"}
    assert here.store.import_from(io.StringIO(file), trust="user").memories == 0
    assert sound(here)


def test_a_locked_value_fills_a_slot_whose_holder_expired(open_memory, tmp_path, clock):
    """Former values that began after it do not make it one of them."""
    here, there = open_memory(tmp_path / "here"), open_memory(tmp_path / "there")
    there.add("The pump is there", key="pump", id="there")
    there.update("there", lock="user")
    clock.advance(timedelta(hours=1))
    here.add("The pump is in a shed", key="pump", id="shed")
    clock.advance(timedelta(hours=1))
    here.add("The pump is here", key="pump", id="here", expires_in=60.0)
    clock.advance(timedelta(hours=1))
    assert here.value("pump") is None
    here.store.import_from(io.StringIO(exported(there)), trust="user")
    assert here.value("pump").id == "there"
    assert sound(here)


def test_a_smaller_ring_pushes_out_what_it_cannot_hold(open_memory, tmp_path):
    """Turns past the capacity here are in medium; the newest are in the ring."""
    memory = open_memory()
    memory.add_many({"text": f"turn {n}", "tier": "short", "session": "s"} for n in range(6))
    small = open_memory(tmp_path / "copy", config=Config(short=ShortConfig(capacity=2)))
    small.store.import_from(io.StringIO(exported(memory)), trust="user")
    assert [found.text for found in small.sessions.recent(session="s")] == ["turn 4", "turn 5"]
    assert len(small.list(tier="medium")) == 4


class Counting(HashEmbedder):
    """Counts what it is given to embed."""

    texts = 0

    def embed(self, texts):
        """Embed and count."""
        self.texts += len(texts)
        return super().embed(texts)


def test_vectors_travel_if_asked_to(open_memory, tmp_path):
    """Then nothing is embedded again where the embedder is the same; otherwise they are left."""
    memory = open_memory(embedder=HashEmbedder(32))
    memory.add_many({"text": f"note {n}", "tier": "long"} for n in range(5))
    memory.add("hidden", "long", id="hidden")
    memory.add("turn", "short")
    memory.flush(wait=True)
    memory.forget("hidden")
    memory.flush(wait=True)
    assert memory.store.export(tmp_path / "v.jsonl", vectors=True).vectors == 7
    embedder = Counting(32)
    copy = open_memory(tmp_path / "copy", embedder=embedder)
    assert copy.store.import_from(tmp_path / "v.jsonl", trust="user").vectors == 7
    assert copy.flush(wait=True)
    assert embedder.texts <= 1  # the warm-up
    assert copy._engine._long.count(("default",)) == 5
    assert sound(copy)
    assert exported(copy, vectors=True) == (tmp_path / "v.jsonl").read_text()
    other = open_memory(tmp_path / "other", embedder=HashEmbedder(16))
    assert other.store.import_from(tmp_path / "v.jsonl", trust="user").vectors == 0
    assert other.flush(wait=True)
    assert sound(other)
    plain = open_memory(tmp_path / "plain")
    assert plain.store.import_from(tmp_path / "v.jsonl", trust="user").vectors == 7
    assert sound(plain)


def test_a_vector_that_is_none_is_refused(open_memory, tmp_path):
    """Not base64, not whole numbers of floats, of another dimension, or not of unit length."""
    memory = open_memory(embedder=HashEmbedder(32))
    memory.add("note", "long")
    memory.flush(wait=True)
    head, first, *_ = lines_of(memory, vectors=True)
    copy = open_memory(tmp_path / "copy")
    short = base64.b64encode(np.array([1], "f").tobytes()).decode()
    for wrong in ("???", "AAAA", "AAAAAA==", "", 3, short):
        with pytest.raises(InvalidInput, match="line 2"):
            copy.store.import_from(sealed(head, first | {"vector": wrong}), trust="user")


def test_an_embedder_that_cannot_be_made_does_not_keep_memories_out(
    open_memory, tmp_path, monkeypatch
):
    """They come in without their vectors and are found by words."""
    memory = open_memory(embedder=HashEmbedder(32))
    memory.add("note", "long")
    memory.flush(wait=True)
    export = exported(memory, vectors=True)
    monkeypatch.setenv("OPENAI_API_KEY", "sesame")
    copy = open_memory(tmp_path / "copy", embedder="openai:text-embedding-3-small")
    monkeypatch.delenv("OPENAI_API_KEY")  # gone before it was ever used
    assert copy.store.import_from(io.StringIO(export), trust="user").vectors == 0
    assert len(copy.list()) == 1


def test_what_was_damaged_does_not_come_in_as_if_it_were_whole(full, open_memory, tmp_path):
    """The export marks it and says so; the import leaves it out and says so."""
    write_sql(full, "UPDATE memories SET text = 'The kettle is poor' WHERE id = 'two'")
    done = full.store.export(tmp_path / "d.jsonl")
    assert done.damaged == ("two",)
    copy = open_memory(tmp_path / "copy")
    taken = copy.store.import_from(tmp_path / "d.jsonl", trust="user")
    assert (taken.damaged, taken.memories) == (("two",), 4)
    assert {found.id for found in copy.list(status=EVERY)} >= {"three", "four"}
    assert sound(copy)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE memories SET metadata = '{' WHERE id = 'two'",
        "UPDATE memories SET occurred_at = 1 << 62 WHERE id = 'two'",
        "UPDATE memories SET updated_at = 1 << 62 WHERE id = 'two'",
        "UPDATE memories SET content_hash = 'x', text = x'ff' WHERE id = 'two'",
    ],
)
def test_damage_that_cannot_be_spelt_is_marked_too(full, open_memory, tmp_path, damage):
    """The legible fields of a row are in the export; the rest does not stop it."""
    write_sql(full, damage)
    assert full.store.export(tmp_path / "d.jsonl").damaged == ("two",)
    taken = open_memory(tmp_path / "copy").store.import_from(tmp_path / "d.jsonl", trust="user")
    assert (taken.damaged, taken.memories) == (("two",), 4)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE versions SET earlier = '{'",
        "UPDATE versions SET text = 'forged'",
        "UPDATE versions SET tier = 'x'",
        "UPDATE versions SET until = 1 << 62",
    ],
)
def test_a_damaged_earlier_state_is_left_out_and_named(memory, open_memory, tmp_path, damage):
    """The memory is whole and travels; what it once was cannot be told."""
    memory.add("now", id="x")
    memory.update("x", text="then")
    write_sql(memory, damage)
    done = memory.store.export(tmp_path / "d.jsonl")
    assert (done.damaged, done.damaged_history) == ((), ("x",))
    copy = open_memory(tmp_path / "copy")
    assert copy.store.import_from(tmp_path / "d.jsonl", trust="user").memories == 1
    assert [one.text for one in copy.changes.history("x")] == ["then"]


def test_a_damaged_detail_of_an_event_does_not_stop_an_export(full, tmp_path, caplog):
    """The event is left out, and the log says so."""
    write_sql(full, "UPDATE events SET detail = '{'")
    assert full.store.export(tmp_path / "d.jsonl").damaged == ()
    assert "damaged events were left out" in caplog.text


def test_streams_of_text_and_of_bytes(full, open_memory, tmp_path):
    """Both ways, and a file opened either way."""
    full.store.export(binary := io.BytesIO())
    assert binary.getvalue().decode() == exported(full)
    with (tmp_path / "t.jsonl").open("w", encoding="utf-8") as file:
        full.store.export(file)
    for n, mode in enumerate(("r", "rb")):
        with (tmp_path / "t.jsonl").open(mode) as file:
            copy = open_memory(tmp_path / str(n))
            assert copy.store.import_from(file, trust="user").memories == 5


def test_an_empty_store_travels_too(open_memory, tmp_path):
    """A header and an end, and both are accepted."""
    export = exported(open_memory())
    assert len(export.splitlines()) == 2
    assert (
        open_memory(tmp_path / "copy").store.import_from(io.StringIO(export), trust="user").memories
        == 0
    )


TEXTS = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=30
).filter(str.strip)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["add", "add", "add", "put", "update", "forget", "restore", "move", "replace", "again"]
        ),
        st.integers(0, 30),
        TEXTS,
        st.sampled_from(["short", "medium", "long"]),
        st.sampled_from([None, "k"]),
        st.sampled_from([("default",), ("a", "ü")]),
    ),
    max_size=12,
)


def take(memory, step):
    """Take one step; what cannot be done is passed over."""
    what, at, text, tier, key, name = step
    view = memory.of(*name)
    known = view.list(status=EVERY)
    one = known[at % len(known)] if known else None
    if what == "add" or one is None:
        view.add(text, tier, key=key, session="s", tags=[text], metadata={text: at},
                 related=one.id if one else (), aliases=[f"{text}!"])  # fmt: skip
    elif what == "put":
        view.add(text, tier, id=one.id, key=key, replace=True)
    elif what == "update" and one.status != "forgotten":
        view.update(one.id, text=text, importance=at / 31)
    elif what == "forget":
        view.forget(one.id)
    elif what == "restore" and one.status != "superseded":
        view.restore(one.id)
    elif what == "move":
        view.update(one.id, tier=tier)
    elif what == "again":
        view.retrieve(text)
        view.flush()
    elif what == "replace":
        view.add(f"{text} {len(known)}", tier, supersedes=one.id)


@settings(max_examples=25)
@given(steps=STEPS)
def test_round_trip_is_identity(tmp_path_factory, steps):
    """After any history: export, import, export gives the same bytes, and importing again none."""
    folder = tmp_path_factory.mktemp("trip")
    clock, config = ManualClock(), Config(short=ShortConfig(capacity=4))
    options = {"embedder": None, "clock": clock, "config": config}
    with (
        MemoryManager(folder / "store", **options) as memory,
        MemoryManager(folder / "copy", **options) as copy,
    ):
        for step in steps:
            clock.advance(timedelta(minutes=1))
            take(memory, step)
        export = exported(memory, all_namespaces=True)
        copy.store.import_from(io.StringIO(export), all_namespaces=True, trust="user")
        assert exported(copy, all_namespaces=True) == export
        assert everything(copy) == everything(memory)
        assert sound(copy)
        assert (
            copy.store.import_from(io.StringIO(export), all_namespaces=True, trust="user").memories
            == 0
        )
        assert exported(copy, all_namespaces=True) == export


class CutOff(Exception):
    """Stands for a process that dies."""


def _cut_off(memory, monkeypatch, after):
    """Let the ledger fail after so many bites of an import."""
    write, done = memory._engine.ledger.write, []

    def failing(job, **options):
        if len(done) > after:
            raise CutOff
        done.append(job)
        return write(job, **options)

    monkeypatch.setattr(memory._engine.ledger, "write", failing)


@pytest.mark.parametrize("trust", ["user", "agent"])
@pytest.mark.parametrize("after", range(9))
def test_an_import_that_is_cut_off_goes_on(full, open_memory, tmp_path, monkeypatch, trust, after):
    """An import cut off anywhere leaves whole memories; a second run adds the rest once."""
    monkeypatch.setattr("memento.upkeep.import_lines.BITE", 2)
    export = exported(full)
    whole = open_memory(tmp_path / "whole")
    brought = whole.store.import_from(io.StringIO(export), trust=trust)
    part = open_memory(tmp_path / "part")
    with monkeypatch.context() as patch:
        _cut_off(part, patch, after)
        with suppress(CutOff):
            part.store.import_from(io.StringIO(export), trust=trust)
    assert sound(part)
    there = len(everything(part)[0])
    again = part.store.import_from(io.StringIO(export), trust=trust)
    assert (again.memories + again.known, again.known) == (brought.memories, there)
    assert everything(part) == everything(whole)
    assert sound(part)
    third = part.store.import_from(io.StringIO(export), trust=trust)
    assert (third.memories, third.links, third.events) == (0, 0, 0)


def test_an_import_takes_the_writer_for_a_few_lines_at_a_time(open_memory, tmp_path, monkeypatch):
    """No transaction puts in more than a bite, by number or by size; one long line goes alone."""
    monkeypatch.setattr("memento.upkeep.import_lines.BITE", 10)
    monkeypatch.setattr("memento.upkeep.import_lines.BITE_BYTES", 20_000)
    theirs = open_memory(tmp_path / "theirs")
    theirs.add_many([f"fact {at}" for at in range(95)])
    theirs.add_many([f"{at} {'long ' * 3_000}" for at in range(3)])
    memory, sizes = open_memory(tmp_path / "mine"), []
    ledger = memory._engine.ledger
    write = ledger.write

    def counted(job, **options):
        def run(connection):
            before = connection.execute("SELECT count(*) FROM memories").fetchone()[0]
            answer = job(connection)
            now_ = connection.execute("SELECT count(*) FROM memories").fetchone()[0]
            sizes.append(now_ - before)
            return answer

        return write(run, **options)

    monkeypatch.setattr(ledger, "write", counted)
    assert memory.store.import_from(io.StringIO(exported(theirs)), trust="user").memories == 98
    assert max(sizes) == 10
    assert sizes.count(1) >= 2


class Breaking(io.RawIOBase):
    """A stream that raises once it has taken so many bytes."""

    def __init__(self, room):
        self.room = room

    def writable(self):
        """Be a stream for writing."""
        return True

    def write(self, data):
        """Take what there is room for, then raise."""
        self.room -= len(data)
        if self.room < 0:
            raise ConnectionResetError("the other side went away")
        return len(data)


@pytest.mark.parametrize("wrap", [lambda raw: raw, io.TextIOWrapper], ids=["bytes", "text"])
@pytest.mark.parametrize("room", [0, 3_000])
def test_an_export_whose_stream_breaks_leaves_nothing_behind(tmp_path, wrap, room):
    """Its own error comes through; no reader is left, even while the error is kept."""
    with MemoryManager(tmp_path / "store", embedder=None) as memory:
        kept = [memory.add(f"memory {n} {'x' * 200}", id=f"m{n}") for n in range(200)]
        stream = wrap(Breaking(room))
        with pytest.raises(ConnectionResetError) as broken:
            memory.store.export(stream)
        assert memory.store.erase("m0", timeout=0).complete  # the log can be emptied: nobody reads
        assert [one.id for one in memory.list(limit=1000)] == [one.id for one in kept[1:]]
        memory.add("and on it goes")
        whole = io.BytesIO()
        assert memory.store.export(whole).memories == len(kept)
        assert broken.value.args == ("the other side went away",)
        with suppress(ConnectionResetError):
            stream.close()
    assert not list(tmp_path.glob("*.tmp"))


class Sparing(io.RawIOBase):
    """A stream that takes a few bytes at a time, or says how it takes none."""

    def __init__(self, most):
        self.most = most
        self.taken = b""

    def writable(self):
        """Be a stream for writing."""
        return True

    def write(self, data):
        """Take the first bytes."""
        if not self.most:
            return self.most
        part = bytes(data[: self.most])
        self.taken += part
        return len(part)


class SparingText(io.TextIOBase):
    """A stream that takes a few characters at a time."""

    def __init__(self, most):
        self.most = most
        self.text = ""

    def write(self, text):
        """Take the first characters."""
        self.text += text[: self.most]
        return min(self.most, len(text))

    @property
    def taken(self):
        """Return the bytes taken."""
        return self.text.encode()


@pytest.mark.parametrize("kind", [Sparing, SparingText])
@pytest.mark.parametrize("most", [1, 100])
def test_a_stream_that_takes_a_part_at_a_time_gets_all(full, kind, most):
    """The rest of a short write is written again; nothing is lost."""
    whole, part = io.BytesIO(), kind(most)
    done = full.store.export(whole)
    assert full.store.export(part) == done
    assert part.taken == whole.getvalue()


@pytest.mark.parametrize("most", [0, None])
def test_a_stream_that_takes_nothing_is_refused(full, most):
    """Its export is not reported as written, and does not try for ever."""
    with pytest.raises(InvalidInput, match="accepted no data"):
        full.store.export(Sparing(most))


def test_a_stream_that_does_not_count_is_taken_at_its_word(full):
    """A class of the caller's whose ``write`` returns nothing has taken all."""

    class Plain:
        def __init__(self):
            self.taken = b""

        def write(self, data):
            self.taken += data

        def flush(self):
            pass

    whole, plain = io.BytesIO(), Plain()
    full.store.export(whole)
    full.store.export(plain)
    assert plain.taken == whole.getvalue()
