"""The benchmark of slots counts what a statement does to the values that a user has."""

import json

import slots

from memento import MemoryManager
from memento.observe.personal import SLOTS


def test_a_value_is_held_in_each_slot():
    """What the statement ends, or what it does not name."""
    assert slots.HELD.keys() == {*SLOTS}
    row = {"text": "left Aberdeen, so no Fife for me", "slot": "home", "ended": "Fife"}
    assert slots.held("home", row) == "I live in Fife."
    assert slots.held("home", row | {"slot": ""}) == "I live in Valletta."


def test_harm_is_what_a_statement_does_to_other_slots(tmp_path):
    """It takes its own slot rightly; without the label, it displaces and hides."""
    row = {"text": "I live in Porto.", "slot": "home", "value": "Porto"}
    with MemoryManager(tmp_path, embedder=None) as memory:
        right = slots.harm(memory.of("a"), row)
        wrong = slots.harm(memory.of("b"), {"text": row["text"], "slot": ""})
        idle = slots.harm(memory.of("c"), {"text": "What is in Porto?", "slot": ""})
    assert right == {"taken": True, "displaced": False, "hidden": False}
    assert wrong == {"taken": False, "displaced": True, "hidden": True}
    assert not any(idle.values())


def test_statements_are_counted(tmp_path):
    """A value that fills its slot, an end that empties it, and nothing."""
    rows = [
        {"text": "I live in Porto.", "slot": "home", "value": "Porto"},
        {"text": "I left Siemens.", "slot": "employer", "ended": "Siemens"},
        {"text": "What is in Porto?", "slot": ""},
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    totals = slots.count([file], misses=False)
    assert totals == {
        "statements": 3,
        "give a value": 1,
        "stored": 1,
        "right": 1,
        "taken": 1,
        "end a value": 1,
        "ended": 1,
    }
