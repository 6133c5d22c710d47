"""Correcting a memory, and taking changes back, as typed."""

from __future__ import annotations


def test_correct_and_undo(memento):
    """The new text is found, the old one after the undo, and the new one again after the redo."""
    old = memento.add("the kettle is blue", "--key", "kettle")
    new = memento("correct", old[-12:], "the kettle is red", "--json").data
    assert (new["text"], new["key"]) == ("the kettle is red", "kettle")
    (change,) = memento("changes", "--json").data["changes"]
    assert (change["number"], change["kind"], change["changed"]) == (1, "correct", [old])
    assert "correct by user; 1 changed, 1 added" in memento("changes").out

    assert "2 memories reverted by change 2" in memento("undo", "1").out
    assert memento("value", "kettle", "--json").data["text"] == "the kettle is blue"
    assert "undone by 2" in memento("changes", "--id", old).out
    assert memento("undo", "2", "--json").data["undone"] == [2]
    assert memento("value", "kettle", "--json").data["text"] == "the kettle is red"


def test_the_history_of_a_chain(memento):
    """`--chain` shows both memories; it needs an id."""
    old = memento.add("the kettle is blue")
    memento("correct", old, "the kettle is red")
    states = memento("history", old, "--chain", "--json").data["states"]
    assert [state["text"] for state in states] == ["the kettle is blue"] * 2 + ["the kettle is red"]
    assert memento("history", "--key", "kettle", "--chain").status == 2


def test_what_stands_in_the_way_is_named(memento):
    """The memory and the later change; `--force` undoes that one first."""
    old = memento.add("the kettle is blue")
    memento("forget", old)
    memento("restore", old)
    left = memento("undo", "1")
    assert (
        left.status,
        f"{old[-8:]}  left unchanged: change 2 (restore) came later" in left.out,
    ) == (1, True)
    assert memento("undo", "1", "--force", "--json").data["undone"] == [2, 1]
    refused = memento("undo", "9")
    assert (refused.status, "has no change 9" in refused.err) == (3, True)
    again = memento("undo", "1")
    assert (again.status, "was undone by" in again.err) == (3, True)
    assert memento("undo", "1", "--run", "1").status == 2


def test_the_difference_since_a_moment(memento):
    """It lists what came and what was hidden; nothing if both moments are the same."""
    old = memento.add("the kettle is blue")
    memento("correct", old, "the kettle is red")
    memento.add("a door")
    found = memento("insight", "diff", "--since", "1h", "--json").data
    assert len(found["added"]) == 3
    assert "+ added" in memento("insight", "diff", "--since", "1h").out
    assert (
        "nothing here"
        in memento("insight", "diff", "--since", "2020-01-01", "--until", "2020-01-02").out
    )
    assert memento("insight", "diff").status == 2


def test_a_key_names_the_memory_that_fills_it(memento):
    """Where an id is taken, so that nobody has to look it up; without a value it names none."""
    old = memento.add("standup is at nine", "--key", "work/standup")
    assert old in memento("history", "work/standup", "--json").out
    assert memento("correct", "work/standup", "standup is at ten").status == 0
    assert memento("set", "work/standup", "--tag", "+daily").status == 0
    assert memento("forget", "work/standup").status == 0
    assert memento("forget", "work/standup").status == 3


def test_a_forgotten_value_comes_back_by_its_key(memento):
    """As it went: the key fills nothing meanwhile."""
    memento.add("the kettle is blue", "--key", "kettle")
    memento("forget", "kettle")
    assert memento("restore", "kettle").out.endswith("  active\n")
    assert memento("value", "kettle", "--json").data["text"] == "the kettle is blue"
    assert memento("restore", "teapot").status == 3


def test_one_undo_takes_a_command_back(memento):
    """Whatever number of memories it changed, and of changes it made of each."""
    a, b = memento.add("the kettle is blue"), memento.add("the door is green")
    memento("set", a, b, "--tag", "+home", "--archived")
    assert "4 changes, archive" in memento("undo", "--yes").err
    both = memento("list", "--json").data["memories"]
    assert {(one["id"], one["status"], *one["tags"]) for one in both} == {
        (a, "active"),
        (b, "active"),
    }
    memento("forget", a, b)
    memento("restore", a, b)
    memento("undo", "--yes")
    assert memento("list", "--json").data["memories"] == []
