"""Taking a store elsewhere and bringing it back, as typed."""

from __future__ import annotations

import io
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import typer

from memento import MemoryManager
from memento.ledger.lite import sqlite
from memento.types import Source


def texts(memento, root):
    """List the texts of a store."""
    return [found["text"] for found in memento("list", "--json", "--root", root).data["memories"]]


def test_backup_and_restore(memento, tmp_path):
    """`restore` makes a store of the file of `backup`; the present store is not touched."""
    memento("add", "the kettle is blue")
    kept = memento("backup", "monday.db")
    assert kept.status == 0
    assert "1 memory," in kept.out
    memento("add", "the kettle is red")

    refused = memento("restore", "monday.db")
    assert refused.status == 4
    assert "--set-aside" in refused.err
    assert memento("restore", "monday.db", "--root", "copy").status == 0
    assert texts(memento, "copy") == ["the kettle is blue"]

    done = memento("restore", "monday.db", "--set-aside", "--json").data
    assert texts(memento, "agent_memory") == ["the kettle is blue"]
    assert len(texts(memento, done["aside"])) == 2
    assert done["root"] == str(tmp_path / "agent_memory")


def test_restore_to_a_moment(memento):
    """`--at` leaves out what came later; a moment after the backup is an error that names both."""
    memento("add", "the kettle is blue")
    between = datetime.now(UTC).isoformat()
    memento("add", "the kettle is red")
    memento("backup", "b.db")
    done = memento("restore", "b.db", "--at", between, "--root", "then")
    assert "as of" in done.out
    assert texts(memento, "then") == ["the kettle is blue"]
    later = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    refused = memento("restore", "b.db", "--at", later, "--root", "never")
    assert (refused.status, "does not extend to" in refused.err) == (4, True)


def test_the_present_store_can_be_set_back(memento):
    """Its own ledger is also a backup: with --set-aside, nothing is lost by going back."""
    memento("add", "the kettle is blue")
    between = datetime.now(UTC).isoformat()
    memento("add", "a mistake")
    ledger = "agent_memory/ledger.db"
    done = memento("restore", ledger, "--at", between, "--set-aside", "--json").data
    assert texts(memento, "agent_memory") == ["the kettle is blue"]
    assert texts(memento, done["aside"]) == ["the kettle is blue", "a mistake"]


def test_restore_still_brings_memories_back(memento):
    """An argument that names no file is an id; several backups, or a missing one, are refused."""
    memory_id = memento("add", "the kettle is blue").out.split()[0]
    memento("forget", memory_id)
    assert memento("restore", memory_id).out == f"{memory_id}  active\n"
    assert memento("restore", memory_id, "--json").data["memories"][0]["status"] == "active"
    assert memento("restore", "absent.db", "--set-aside").status == 4
    assert memento("restore", "a.db", "b.db", "--set-aside").status == 2


def test_backup_overwrites_only_when_asked(memento):
    """A file that is there stops it; --overwrite does not."""
    memento("add", "the kettle is blue")
    assert memento("backup", "b.db").status == 0
    refused = memento("backup", "b.db")
    assert (refused.status, "overwrite" in refused.err) == (4, True)
    assert memento("backup", "b.db", "--overwrite", "--json").data["memories"] == 1
    assert memento("backup", "agent_memory/b.db").status == 2


def test_erase_says_first_and_then_does(memento):
    """A dry run changes nothing; with --yes the text is in no file, and a receipt says so."""
    memory_id = memento.add("the door code is zq4711qz")
    planned = memento("erase", memory_id, "--dry-run")
    assert (planned.status, planned.out) == (0, f"{memory_id}  would be erased\n")
    assert texts(memento, "agent_memory") == ["the door code is zq4711qz"]
    done = memento("erase", memory_id, "--yes")
    assert done.status == 0
    assert f"{memory_id}  erased\n" in done.out
    assert "1 memory" in done.out
    assert "beyond the reach of erase: " in done.out
    files = [path for path in Path("agent_memory").rglob("*") if path.is_file()]
    assert not [path for path in files if b"zq4711qz" in path.read_bytes()]
    assert memento("erase", memory_id, "--yes").status == 3


def test_erase_does_not_guess(memento, monkeypatch):
    """Without a terminal it wants --yes; without saying which, or saying two ways, it refuses."""
    memory_id = memento.add("a", "--session", "s")
    for n in range(6):
        memento.add(f"more {n}", "--session", "s")
    refused = memento("erase", "--session", "s")
    assert refused.status == 2
    assert "--yes" in refused.err
    assert refused.err.count("\n") == 1
    assert memento("erase").status == 2
    assert memento("erase", memory_id, "--session", "s").status == 2
    monkeypatch.setenv("MEMENTO_NAMESPACE", "default")
    assert memento("erase", "--yes").status == 2
    assert len(texts(memento, "agent_memory")) == 7


@pytest.mark.parametrize(("answer", "left"), [(True, 0), (False, 1)])
def test_erase_asks(memento, monkeypatch, answer, left):
    """At a terminal it shows what is meant and asks; a no changes nothing."""
    memory_id = memento.add("the kettle is blue")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(typer, "confirm", lambda *_args, **_options: answer)
    asked = memento("erase", memory_id)
    assert "the kettle is blue" in asked.err
    assert asked.status == (0 if answer else 130)
    assert len(texts(memento, "agent_memory")) == left


def test_erase_a_whole_namespace(memento):
    """--namespace alone means all of it, and no other."""
    memento.add("a", "--namespace", "acme/rami")
    memento.add("b")
    assert (
        memento("erase", "--namespace", "acme/rami", "--yes", "--json").data["rows"]["memories"]
        == 1
    )
    assert texts(memento, "agent_memory") == ["b"]


def test_erase_with_what_was_derived(memento):
    """Derived memories are also erased, unless they are to be kept; the receipt tells."""
    memento("add", "secret", "--id", "a")
    store = MemoryManager("agent_memory", embedder=None)
    store.add("summary", id="b", source=Source(parents=("a",)))
    store.add("digest", id="c", source=Source(parents=("b",)))
    store.close()
    kept = memento("erase", "a", "--keep-derived", "--yes")
    assert "b  kept, derived" in kept.out
    assert "c  erased, derived" in memento("erase", "b", "--yes").out
    assert texts(memento, "agent_memory") == []


def test_an_unfinished_erasure_exits_with_1(memento):
    """Somebody reads an older state: said on stderr, and done by the next command."""
    memory_id = memento.add("the door code is zq4711qz")
    Path("agent_memory/notes.txt").write_text("mine")
    reader = sqlite.sqlite3.connect("agent_memory/ledger.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM memories").fetchone()
    done = memento("erase", memory_id, "--yes", "--timeout", "0")
    assert done.status == 1
    assert "log not done yet" in done.err
    assert "not part of the store, so not checked: notes.txt" in done.out
    reader.close()
    assert memento("doctor").status == 0


class Binary(io.StringIO):
    """A standard stream: text, with the bytes beneath."""

    def __init__(self, data=b""):
        super().__init__(data.decode())
        self.buffer = io.BytesIO(data)


def test_export_and_import(memento, tmp_path):
    """All namespaces travel; a second import adds nothing; a cut file is refused."""
    memento.add("the kettle is blue")
    memento.add("the door code is 4711", "--namespace", "acme/rami")
    done = memento("export", "all.jsonl")
    assert (done.status, done.out) == (0, "all.jsonl  2 memories, 0 links, 0 events\n")
    assert memento("export", "all.jsonl").status == 4
    assert memento("export", "all.jsonl", "--overwrite", "--json").data["namespaces"] == 2
    assert (
        memento("import", "all.jsonl", "--trust", "user", "--root", "copy").out
        == "2 memories new\n"
    )
    again = memento("import", "all.jsonl", "--trust", "user", "--root", "copy")
    assert again.out == "0 memories new, 2 already known\n"
    assert texts(memento, "copy") == ["the kettle is blue"]
    whole = (tmp_path / "all.jsonl").read_bytes()
    (tmp_path / "cut.jsonl").write_bytes(whole[:-20])
    refused = memento("import", "cut.jsonl", "--trust", "user", "--root", "never")
    assert (refused.status, "truncated" in refused.err) == (4, True)


def test_what_is_quarantined_is_not_lost_from_sight(memento):
    """An import, and each command that then finds nothing, name the command that lists it."""
    memento.add("the kettle is blue")
    memento("export", "all.jsonl")
    told = memento("import", "all.jsonl", "--root", "copy")
    assert "`memento quarantine list --root copy`" in told.err
    assert "--trust user" in told.err
    for words in (["list"], ["retrieve", "kettle"], ["stats"]):
        found = memento(*words, "--root", "copy").out
        assert "1 quarantined until approved; see `memento quarantine list --root copy`" in found
    memento("export", "two.jsonl", "--root", "copy")
    told = memento("import", "two.jsonl", "--trust", "user", "--root", "third")
    assert "1 quarantined until approved" in told.err
    assert "import it again" not in told.err
    (waiting,) = memento("quarantine", "list", "--root", "copy", "--json").data["memories"]
    memento("quarantine", "approve", waiting["id"], "--root", "copy")
    assert "quarantine" not in memento("list", "--root", "copy", "--tag", "none").out


@pytest.mark.parametrize("piped", [False, True])
@pytest.mark.parametrize("harm", ["cut", "changed", "no export", "absent"])
def test_a_refused_file_makes_no_store(memento, monkeypatch, tmp_path, harm, piped):
    """Whatever is wrong with it, and also if it comes through a pipe."""
    memento.add("the kettle is blue")
    memento("export", "all.jsonl")
    whole = (tmp_path / "all.jsonl").read_bytes()
    new = {"cut": whole[:-20], "changed": whole.replace(b"blue", b"grey"), "no export": b"a\n"}
    if harm != "absent":
        (tmp_path / "bad.jsonl").write_bytes(new[harm])
    monkeypatch.setattr(sys, "stdin", Binary(new.get(harm, b"")))
    refused = memento("import", "-" if piped else "bad.jsonl", "--root", "never")
    assert (refused.status, refused.err.count("\n")) == (4, 1)
    assert not (tmp_path / "never").exists()


def test_export_and_import_one_namespace(memento, monkeypatch):
    """--namespace, or the variable, names the one to write, and the one to put it into."""
    memento.add("the kettle is blue")
    memento.add("the door code is 4711", "--namespace", "acme/rami")
    monkeypatch.setenv("MEMENTO_NAMESPACE", "acme/rami")
    assert memento("export", "rami.jsonl", "--json").data["memories"] == 1
    monkeypatch.delenv("MEMENTO_NAMESPACE")
    done = memento(
        "import", "rami.jsonl", "--trust", "user", "--root", "copy", "--namespace", "mine", "--json"
    )
    assert done.data["memories"] == 1
    listed = memento("list", "--json", "--root", "copy", "--namespace", "mine")
    assert [found["text"] for found in listed.data["memories"]] == ["the door code is 4711"]


def test_export_and_import_through_pipes(memento, monkeypatch):
    """- is stdout and stdin; what is said about it goes to stderr."""
    memento.add("the kettle is blue")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", piped := Binary())
        assert memento("export", "-").status == 0
    monkeypatch.setattr(sys, "stdin", Binary(piped.buffer.getvalue()))
    assert memento("import", "-", "--trust", "user", "--root", "copy").out == "1 memory new\n"


def test_what_is_damaged_is_named(memento):
    """On export and on import, on stderr."""
    memory_id = memento.add("the kettle is blue")
    file = sqlite.sqlite3.connect("agent_memory/ledger.db")
    file.execute("UPDATE memories SET text = 'the kettle is poor'")
    file.commit()
    file.close()
    assert f"{memory_id} is damaged" in memento("export", "d.jsonl").err
    assert (
        f"{memory_id} was left out"
        in memento("import", "d.jsonl", "--trust", "user", "--root", "copy").err
    )
