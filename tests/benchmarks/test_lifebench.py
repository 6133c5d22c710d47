"""LifeBench: its orders, its generators and its table."""

from __future__ import annotations

import random

import life_drift
import life_verdicts
import lifecycle
import lifecycle_figure
import pytest
from life_orders import BASELINES, Candidate, History
from life_world import PRODUCT, Item, Scores, World

HITS = [
    Candidate(n=0, score=0.9, cosine=0.6, importance=0.5, at=0.0),
    Candidate(n=1, score=0.8, cosine=0.5, importance=0.5, at=30.0),
    Candidate(n=2, score=0.3, cosine=0.4, importance=0.5, at=40.0),
]


def ranked(way, history=None):
    """Return the numbers in the order of a baseline on day 40."""
    return [one.n for one in BASELINES[way](HITS, history or History(), 40.0)]


def test_each_baseline_orders_by_its_formula():
    """Calculated by hand."""
    assert ranked("no lifecycle") == [0, 1, 2]
    assert ranked("recency") == [1, 0, 2]
    assert ranked("CrewAI") == [2, 1, 0]
    assert ranked("Generative Agents") == [0, 2, 1]
    assert ranked("MemoryBank") == [2, 1, 0]


def test_accesses_count_where_a_formula_has_them():
    """A memory that was just recalled leads where recalls count, and nowhere else."""
    history = History()
    history.note([0], 40.0)
    assert ranked("MemoryBank", history)[0] == 0
    assert ranked("Generative Agents", history)[0] == 0
    assert ranked("recency", history) == ranked("recency")


def test_a_world_asks_with_and_without_the_lifecycle():
    """Only the product sees the verdicts."""
    with World() as world:
        names = ("Ada", "Bo", "Cy", "Di", "Eve", "Flo")
        added = world.add([Item(f"The blue kettle of {name} is here.", 0.0) for name in names])
        question = "Where is the blue kettle?"
        before = world.numbers(world.ask(question))
        world.at(3)
        world.memory.feedback.rate(world.ids[before[0]], verdict="harmful")
        assert world.numbers(world.ask(question))[0] != before[0]
        assert world.orders(question, 3.0)["no lifecycle"] == before
        assert sorted(before) == added


def test_every_wrong_statement_has_a_right_one():
    """They are about the same thing and say different values."""
    items, questions = life_verdicts._statements(random.Random("x"))
    assert len(items) == 2 * len(questions) == 40
    assert len({item.actor for item in items}) == 40
    assert all(a.text != b.text for a, b in zip(items[::2], items[1::2], strict=True))


def test_a_missed_floor_is_an_exit_code(monkeypatch, capsys):
    """The table says which; the figure is drawn from what is printed beside it."""
    found = Scores()
    found.note(PRODUCT, first=False, gini=0.5)
    monkeypatch.setitem(lifecycle.SCENARIOS, "loop", lambda _seeds, _slots: {"loop": found})
    monkeypatch.setattr("sys.argv", ["lifecycle.py", "--only", "loop"])
    assert lifecycle.main() == 1
    printed = capsys.readouterr().out
    assert "MISSED" in printed
    assert lifecycle_figure.read(printed) == {"loop": {PRODUCT: {"first": 0, "gini": 50}}}
    found = Scores()
    found.note(PRODUCT, first=True, gini=0.5)
    monkeypatch.setitem(lifecycle.SCENARIOS, "loop", lambda _seeds, _slots: {"loop": found})
    assert lifecycle.main() == 0


def test_every_slot_of_the_set_is_whole():
    """Each template has the holes of its kind, and no value is part of another."""
    slots = life_drift.read(life_drift.SLOTS)
    assert len(slots) == 12
    for slot in slots.values():
        assert all("{v}" in one and "{o}" not in one for one in (*slot["say"], *slot["other"]))
        assert all("{v}" in one and "{o}" in one for one in slot["change"])
        assert all("{o}" in one and "{v}" not in one for one in slot["past"])
        assert len(set(slot["values"])) == len(slot["values"]) >= 5


def test_a_slot_without_a_field_is_refused(tmp_path):
    """The message names the file and the slot."""
    file = tmp_path / "slots.json"
    file.write_text('{"city": {"values": ["Graz"]}}')
    with pytest.raises(ValueError, match="city: needs exactly"):
        life_drift.read(file)


SLOT = {
    "values": ["Graz", "Turku", "Ghent"],
    "q": ["Which city do I live in?"],
    "say": ["I live in {v}."],
    "change": ["I moved from {o} to {v}."],
    "past": ["I used to live in {o}."],
    "other": ["My aunt lives in {v}."],
    "maybe": ["I might move to {v}."],
}


def test_slots_are_read_from_python_as_from_json(tmp_path):
    """A file of one set gives its names; of several sets, each name begins with its set."""
    file = tmp_path / "slots.py"
    file.write_text(f"import string\nDEV = dict(city={SLOT!r})\n")
    assert life_drift.read(file) == {"city": SLOT}
    file.write_text(f"DEV = dict(city={SLOT!r})\nTEST = dict(city={SLOT!r})\nx = {{}}\n")
    assert life_drift.read(file) == {"DEV/city": SLOT, "TEST/city": SLOT}


@pytest.mark.parametrize(("text", "match"), [("x = 1", "capital"), ("A = {'a': {}}", "a: needs")])
def test_a_python_file_without_slots_is_refused(tmp_path, text, match):
    """The message names the file."""
    file = tmp_path / "slots.py"
    file.write_text(text)
    with pytest.raises(ValueError, match=match):
        life_drift.read(file)


def test_a_slot_may_say_how_the_assistant_repeats():
    """Its words take the place of a repetition of what was said."""
    slots = {"city": SLOT | {"echo": ["So you live in {v}!"]}}
    echoes = [
        one.text
        for seed in range(20)
        for one in life_drift._talk(random.Random(seed), slots).said
        if one.role == "assistant"
    ]
    assert len(echoes) > 5
    assert all(one.startswith("So you live in ") for one in echoes)


def test_a_talk_asserts_each_value_while_it_is_valid():
    """Every assertion lies in the period of its value; equal seeds give equal talks."""
    slots = life_drift.read(life_drift.SLOTS)
    talk = life_drift._talk(random.Random("x"), slots)
    assert talk == life_drift._talk(random.Random("x"), slots)
    for one in talk.said:
        if one.asserts:
            began = [value for day, value in talk.values[one.slot] if day <= one.at]
            assert began[-1] == one.value
    assert any(len(values) > 2 for values in talk.values.values())
