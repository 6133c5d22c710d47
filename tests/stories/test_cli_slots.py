"""Slots, filters and short ids on the command line."""

import pytest


def texts(memento, *command):
    """Run a command that prints memories as JSON; returns the last letters of their texts."""
    found = memento(*command, "--json").data["memories"]
    return "".join(one["text"][-1] for one in found)


def test_a_slot_is_read_and_reverted(memento):
    """Its value, its history, and the value before again."""
    memento.add("Rami lives in Utrecht", "--key", "home")
    memento.add("Rami lives in Delft", "--key", "home")
    assert "Delft" in memento("value", "home").out
    assert memento("value", "home", "--json").data["text"] == "Rami lives in Delft"
    assert "Utrecht" in memento("undo", "--key", "home").out
    assert memento("value", "home", "--json").data["text"] == "Rami lives in Utrecht"
    values = memento("history", "--key", "home", "--json").data["values"]
    assert [(one["memory"]["text"][14:], one["reason"]) for one in values] == [
        ("Utrecht", "superseded"), ("Delft", "superseded"), ("Utrecht", "present"),
    ]  # fmt: skip
    table = memento("history", "--key", "home").out
    assert table.index("superseded") < table.index("present")
    assert values[-1]["memory"]["id"][-8:] in table


def test_a_slot_of_a_scope_and_of_a_moment(memento):
    """--scope is exact, and --as-of asks for a past moment."""
    memento.add("tea", "--key", "drink", "--scope", "a")
    absent = memento("value", "drink")
    assert (absent.status, absent.out) == (3, "")
    assert "no value for the key 'drink'" in absent.err
    assert "tea" in memento("value", "drink", "--scope", "a").out
    assert memento("value", "drink", "--scope", "a", "--as-of", "2020-01-01").status == 3
    assert memento("history", "--key", "drink").out == "nothing here\n"
    assert "tea" in memento("history", "--key", "drink", "--scope", "a").out


def test_nothing_to_revert(memento):
    """An error in one line, with the status of a value that cannot be accepted."""
    memento.add("tea", "--key", "drink")
    told = memento("undo", "--key", "drink")
    assert told.status == 2
    assert "no earlier value" in told.err


@pytest.mark.parametrize("given", [[], ["x", "--key", "k"], ["x", "--scope", "s"]])
def test_history_is_of_an_id_or_of_a_slot(memento, given):
    """Not of both, and not of neither."""
    memento.add("tea")
    told = memento("history", *given)
    assert told.status == 2
    assert "--key" in told.err


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--key", "drink", "--key", "city"], "ab"),
        (["--where", "n=3"], "a"),
        (["--where", 'n="3"'], "b"),
        (["--where", "n=null"], "c"),
        (["--where", "n=[3, null]"], "ac"),
        (["--where", "at.city=Utrecht"], "b"),
        (["--where", '{"n": {"$gte": 1, "$lt": 9}}'], "a"),
        (["--where", 'n={"$exists": true}', "--where", "at.city=Utrecht"], "b"),
    ],
)
def test_list_filters(memento, tmp_path, options, expected):
    """Several slots, and metadata as in Python; see also ``test_cli_filters``."""
    from memento import MemoryManager  # noqa: PLC0415 - the commands have no --metadata

    with MemoryManager(tmp_path / "agent_memory", embedder=None) as memory:
        memory.add("note a", key="drink", metadata={"n": 3})
        memory.add(
            "note b", key="city", actor="Rami", metadata={"n": "3", "at": {"city": "Utrecht"}}
        )
        memory.add("note c", role="assistant", source="agent")
    assert texts(memento, "list", *options) == expected


def test_a_part_of_an_id_is_enough(memento):
    """The last characters, for each command that takes an id of a memory."""
    memory_id = memento.add("the kettle is blue")
    memento.add("the cup is red")
    short = memory_id[-8:]
    assert memento("show", short, "--json").data["memory"]["id"] == memory_id
    assert memento("history", short, "--json").data["states"][0]["text"] == "the kettle is blue"
    assert memento("forget", short).out == f"{memory_id}  forgotten\n"
    assert memento("restore", short).out == f"{memory_id}  active\n"


def test_a_part_of_an_id_of_a_quarantined_memory(memento):
    """Approving and rejecting also take it."""
    pages = [memento.add(f"page {n}", "--trust", "web") for n in range(2)]
    assert memento("quarantine", "approve", pages[0][-8:]).out == f"{pages[0]}  active\n"
    assert memento("quarantine", "reject", pages[1][-8:]).out == f"{pages[1]}  forgotten\n"


def test_a_part_of_several_ids(memento):
    """The error names them; an unknown part is no memory."""
    first, second = memento.add("tea"), memento.add("cake")
    told = memento("show", first[:6])
    assert told.status == 2
    assert first in told.err
    assert second in told.err
    assert memento("show", "ffffff").status == 3
