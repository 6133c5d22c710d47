"""The past of a store, and locks, as typed."""

from __future__ import annotations

from datetime import UTC, datetime


def test_two_clocks(memento):
    """`--as-of` asks what was true, `--known-at` what was recorded by then."""
    added = memento("add", "Lena leads the team", "--json", "--key", "lead").data
    then = datetime.now(UTC).isoformat()
    memento("add", "Omar leads the team", "--key", "lead")
    memento("forget", added["id"])
    known = memento("retrieve", "who leads the team?", "--known-at", then, "--json").data
    assert [hit["text"] for hit in known["hits"]] == ["Lena leads the team"]
    assert [
        one["status"] for one in memento("list", "--known-at", then, "--json").data["memories"]
    ] == ["active"]
    assert memento("list", "--as-of", then, "--json").data["memories"] == []
    value = memento("value", "lead", "--known-at", then, "--json").data
    assert value["text"] == "Lena leads the team"
    later = memento("list", "--known-at", "2999-01-01")
    assert (later.status, "future" in later.err) == (2, True)


def test_locks(memento):
    """A locked memory is refused by its id, and the message names the command that helps."""
    memory_id = memento.add("Never deploy on a Friday")
    assert "locked" in memento("set", memory_id, "--lock").out
    refused = memento("forget", memory_id)
    assert refused.status == 5
    assert "memento set ID --no-lock" in refused.err
    assert "pinned" not in memento("set", memory_id, "--no-pin").out
    assert "pinned" in memento("set", memory_id, "--no-lock", "--pin").out
    assert memento("forget", memory_id).status == 0
    memory_id = memento.add("The gate code is 1904")
    memento("set", memory_id, "--lock")
    assert f"{memory_id}  was locked" in memento("erase", memory_id, "--yes").out
