"""Messages and counts of one namespace tell nothing of another; nor does what was refused stay."""

from __future__ import annotations

import io
import json
import logging
import time
from contextlib import suppress
from hashlib import sha256

import pytest

from memento import MemoryManager
from memento.cli import main
from memento.errors import (
    ArchiveDamaged,
    EmbedderError,
    InvalidInput,
    InvalidScope,
    MementoError,
    NotFound,
)
from memento.ledger import namespaces
from memento.testing import HashEmbedder
from memento.tiers.chroma import ChromaFault, faults

ID, TEXT = "patient-john-doe", "John Doe is HIV positive"


class Quoting(HashEmbedder):
    """An embedder that refuses some texts and quotes them, as remote services do."""

    kind: type[Exception] = EmbedderError

    def embed(self, texts):
        """Refuse what is about HIV."""
        for text in texts:
            if "HIV" in text:
                raise self.kind(f"400: cannot embed input {text!r}")
        return super().embed(texts)


class Odd(Quoting):
    """An embedder that raises another error of memento's own."""

    kind = MementoError


def told(memory):
    """Return all that a namespace is told by whatever takes no id."""
    stats = memory.store.stats()
    return {
        "stats": (stats.tiers, stats.hidden, stats.trouble, stats.backlog, stats.embedders),
        "missing": dict(memory.retrieve("harmless", wait=1.0, record=False).missing),
        "flush": memory.flush(wait=True, timeout=20),
    }


@pytest.fixture(params=[Quoting, Odd])
def store(request, tmp_path):
    """A store in which the embedder refused a memory of clinic a's, beside one of clinic b's."""
    with MemoryManager(tmp_path / "store", embedder=request.param(16)) as memory:
        memory.of("b").add("harmless", "long")
        memory.flush(wait=True, timeout=30)
        memory.alone = told(memory.of("b"))
        memory.of("a").add(TEXT, "long", id=ID)
        memory.of("a").flush(wait=True, timeout=30)
        yield memory


def test_what_was_refused_is_told_to_its_own_namespace_only(store, caplog):
    """Which text, and what the embedder said of it; the log names neither."""
    own = store.of("a").store.stats().trouble["embedder"]
    assert own.startswith(f"texts refused: 1, most recently {ID}: ")
    assert TEXT in own
    assert not store.of("a").flush(wait=True, timeout=20)
    assert told(store.of("b")) == store.alone
    found = {f.check: f for f in store.of("b").store.doctor()}
    assert found["embedder"].detail == "texts of other namespaces refused: 1"
    assert (
        ID
        in {f.check: f for f in store.of("b").store.doctor(all_namespaces=True)}["embedder"].detail
    )
    assert ID not in caplog.text
    assert TEXT not in caplog.text


def test_a_long_message_of_an_embedder_is_cut(tmp_path):
    """It may quote a whole text: some hundred characters of it are kept."""
    with MemoryManager(tmp_path / "store", embedder=Quoting(16)) as memory:
        memory.add("HIV" + "x" * 5_000, "long")
        memory.flush(wait=True, timeout=20)
        assert len(memory.store.stats().trouble["embedder"]) < 500


@pytest.mark.parametrize("change", ["update", "erase"])
def test_what_was_refused_and_is_gone_is_no_trouble(store, change):
    """Another text of that memory is tried again; of an erased one no word is left."""
    view = store.of("a")
    if change == "update":
        view.update(ID, text="a better wording")
    else:
        view.store.erase(ID)
    assert view.flush(wait=True, timeout=30)
    assert view.store.stats().trouble == {}
    assert "embedder" not in {f.check for f in view.store.doctor()}


def test_a_refused_text_makes_no_neighbour_stop_waiting(tmp_path):
    """A caller that waits for its own texts does not fail when another's text is refused."""
    with MemoryManager(tmp_path / "store", embedder=Quoting(16)) as memory:
        memory.of("a").add(TEXT, "long")
        memory.of("a").flush(wait=True, timeout=30)
        memory.of("b").add_many([f"harmless {n}" for n in range(200)])
        assert memory.of("b").retrieve("harmless", wait=60).missing == {}


@pytest.mark.parametrize("column", ["memories", "history"])
def test_damage_is_named_to_its_own_namespace_only(memory, tmp_path, capsys, column):
    """Doctor and backup tell others only the number; the administrator may ask for all."""
    memory.of("a", "x").add("first", id=ID)
    memory.of("a", "x").update(ID, text="second")
    memory.of("b").add("mine", id="mine")
    memory.of("b").update("mine", text="mine, changed")
    table = {"memories": "memories", "history": "versions"}[column]
    memory._engine.ledger.write(lambda c: c.execute(f"UPDATE {table} SET text = 'garbled'"))

    def finding(view, **options):
        return {f.check: f.detail for f in view.store.doctor(repair=False, **options)}[column]

    assert "mine and 1 of other namespaces" in finding(memory.of("b")).replace(",", "")
    assert ID not in finding(memory.of("b"))
    assert "2 changed outside memento: of other namespaces" in finding(memory.of("c"))
    everything = finding(memory.of("c"), all_namespaces=True)
    assert f"a/x: {ID}" in everything
    assert "b: mine" in everything
    with pytest.raises(ArchiveDamaged, match="1 memories of other namespaces") as caught:
        memory.of("b").store.backup(tmp_path / "b.db")
    assert ID not in str(caught.value)
    assert "'mine'" in str(caught.value)
    memory.close()
    for options, named in (([], True), (["--namespace", "b"], False)):
        with suppress(SystemExit):
            main(
                [
                    "doctor",
                    "--embedder",
                    "none",
                    "--root",
                    str(memory.store.root),
                    "--json",
                    *options,
                ]
            )
        details = " ".join(
            found["detail"] for found in json.loads(capsys.readouterr().out)["findings"]
        )
        assert (ID in details) == named


def test_damaged_labels_of_a_neighbour_stop_no_export(memory):
    """Damaged labels of another namespace do not stop an export of one's own."""
    memory.of("a").add("theirs")
    memory.of("b").add("mine")
    damage = "UPDATE namespaces SET labels = '[' WHERE labels = '[\"a\"]'"
    memory._engine.ledger.write(lambda c: c.execute(damage))
    assert memory.of("b").store.export(io.BytesIO()).memories == 1


def test_what_chroma_says_names_no_id():
    """Its messages are shown to everyone who shares the folder."""
    with pytest.raises(ChromaFault) as caught, faults([ID, f"{ID}-2"]):
        raise ValueError(f"Expected IDs to be unique, found duplicates of: {ID}-2, {ID}")
    assert ID not in str(caught.value)
    assert "found duplicates of: ..., ..." in str(caught.value)


def test_what_nobody_foresaw_is_told_by_its_type(memory, monkeypatch, caplog):
    """An error of unknown text in the background is told to all by its type alone."""
    caplog.set_level(logging.CRITICAL)
    with MemoryManager(memory.store.root, embedder=HashEmbedder(8)) as other:
        monkeypatch.setattr(other._engine.indexer, "_chores", lambda: 1 / len([]) or TEXT)
        other.add(TEXT)
        until = time.monotonic() + 60
        while not other.of("b").store.stats().trouble and time.monotonic() < until:
            other.flush(wait=True, timeout=0.1)
        assert other.of("b").store.stats().trouble == {"store": "ZeroDivisionError, see the log"}


def test_crewai_tells_nothing_of_a_neighbour(store, caplog):
    """The log says what clinic b's agent does not find, without a word of clinic a's."""
    crewai = pytest.importorskip("memento_crewai")
    pytest.importorskip("crewai")
    view = store.of("b")
    storage, vector = crewai.MementoStorage(view), view.store.embed(["harmless"])[0].tolist()
    assert [record.content for record, _ in storage.search(vector)] == ["harmless"]
    view.add("a leaflet about HIV", "long", id="leaflet")
    view.flush(wait=True, timeout=20)
    store.of("a").add(f"{TEXT}, too", "long", id=f"{ID}-2")
    store.of("a").flush(wait=True, timeout=20)
    caplog.clear()
    assert [record.content for record, _ in storage.search(vector)] == ["harmless"]
    assert "leaflet" in caplog.text
    assert "patient" not in caplog.text
    assert "John" not in caplog.text


REFUSED = {
    "empty": lambda m: m.add(""),
    "many": lambda m: m.add_many(["fine", ""]),
    "unknown": lambda m: m.add("x", supersedes="nobodys"),
    "related": lambda m: m.add("x", related=["nobodys"]),
    "scope": lambda m: m.add("x", scope="a//b"),
    "erase": lambda m: m.store.erase("nobodys"),
    "forget": lambda m: m.forget("nobodys"),
    "get": lambda m: m.get("nobodys"),
    "import": lambda m: m.store.import_from(io.StringIO("{}")),
}


@pytest.mark.parametrize("verb", REFUSED)
def test_what_is_refused_makes_no_namespace(memory, verb):
    """Neither its labels nor its number are in the store afterwards."""
    with pytest.raises((InvalidInput, NotFound, ArchiveDamaged)):
        REFUSED[verb](memory.of("refused", "john.doe"))
    assert memory._engine.ledger.read(namespaces.every) == []
    assert "refused" not in json.dumps(
        memory._engine.ledger.read(lambda c: [str(row) for row in c.execute("SELECT * FROM meta")])
    )


def test_what_only_reads_makes_no_namespace(memory):
    """Every listing and question of an empty namespace leaves it unknown."""
    view = memory.of("nobody")
    view.retrieve("x")
    view.list()
    view.store.stats()
    view.prompt("x")
    view.store.export(io.BytesIO())
    view.store.erase(everything=True)
    view.forget_many(tag="t")
    assert memory._engine.ledger.read(namespaces.every) == []


def test_words_of_what_was_refused_are_new_to_the_next(memory):
    """The number of a namespace that was not made goes to another, and its words do not."""
    text = "Zephyrine calibrates the turbine at Quillon harbour"
    first = memory.of("first")
    for _ in range(3):
        with pytest.raises(NotFound):
            first.add(text, supersedes="nobodys")
    ours = memory.of("second").add(text).importance
    assert ours == memory.of("third").add(text).importance


def test_an_import_into_too_many_labels_is_refused(memory, tmp_path):
    """The bound holds at every door."""
    memory.of("a").add("x")
    target = io.StringIO()
    memory.of("a").store.export(target)
    many = target.getvalue().replace('["a"]', json.dumps(["a"] * 33))
    with pytest.raises(ArchiveDamaged, match="modified"):
        memory.store.import_from(io.StringIO(many), all_namespaces=True)
    lines = many.splitlines(keepends=True)
    end = json.loads(lines[-1]) | {"sha256": sha256("".join(lines[:-1]).encode()).hexdigest()}
    with pytest.raises(ArchiveDamaged, match="33 labels; the maximum is 32"):
        memory.store.import_from(io.StringIO("".join([*lines[:-1], f"{json.dumps(end)}\n"])))
    with pytest.raises(InvalidScope, match="33 labels"):
        memory.of(*["a"] * 33)
    with pytest.raises(InvalidScope, match="33 labels"):
        MemoryManager(tmp_path / "new", namespace=["a"] * 33)
