"""Taking a store elsewhere and bringing it back, as typed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def texts(memento, root):
    """List the texts of a store."""
    return [found["text"] for found in memento("list", "--json", "--root", root).data]


def test_backup_and_restore(memento, tmp_path):
    """What `backup` wrote, `restore` makes a store of; the one that is there is not touched."""
    memento("add", "the kettle is blue")
    kept = memento("backup", "monday.db")
    assert kept.status == 0
    assert "1 memories" in kept.out
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
    assert (refused.status, "until" in refused.err) == (4, True)


def test_the_present_store_can_be_set_back(memento):
    """Its own ledger is a backup, too: with --set-aside, nothing is lost by going back."""
    memento("add", "the kettle is blue")
    between = datetime.now(UTC).isoformat()
    memento("add", "a mistake")
    ledger = "agent_memory/ledger.db"
    done = memento("restore", ledger, "--at", between, "--set-aside", "--json").data
    assert texts(memento, "agent_memory") == ["the kettle is blue"]
    assert texts(memento, done["aside"]) == ["the kettle is blue", "a mistake"]


def test_restore_still_brings_memories_back(memento):
    """What names no file is an id; several backups, or one that is not there, are refused."""
    memory_id = memento("add", "the kettle is blue").out.split()[0]
    memento("forget", memory_id)
    assert memento("restore", memory_id).out == f"{memory_id}  active\n"
    assert memento("restore", memory_id, "--json").data["status"] == "active"
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
