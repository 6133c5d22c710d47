"""One function decides which memory holds a slot; its callers differ only in who wins."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import memento
from memento.ledger import memories
from memento.ledger.contract import Rules, Work
from memento.write import slots


@pytest.fixture
def settle(memory):
    """Let a stored memory contend for its slot; returns whether it won and both statuses."""

    def run(memory_id, **options):
        engine = memory._engine

        def job(session):
            work = Work(session, 1, engine.now(), Rules(ring=9, untrusted=()))
            return slots.contend(work, memories.by_id(session, 1, memory_id), **options)

        won = engine.ledger.write(job)
        return won, [memory.get(name).status.value for name in ("holder", memory_id)]

    return run


@pytest.fixture
def rival(memory):
    """Store an active memory of a slot beside its holder, as an import may leave them."""
    memory.add("vim", id="holder", key="editor")
    memory.add("emacs", id="rival", key="other")

    def job(session):
        row = memories.by_id(session, 1, "rival")
        memories.overwrite(session, row, {"key": "editor"})

    memory._engine.ledger.write(job)
    return "rival"


def test_who_contends_wins_unless_told_otherwise(memory, settle, rival):
    """The holder is superseded by the memory that contends, and linked."""
    assert settle(rival) == (True, ["superseded", "active"])
    assert memory.get("holder").superseded_by == rival


def test_who_does_not_win_is_superseded(memory, settle, rival):
    """The holder keeps the slot, and the other memory is superseded by it."""
    assert settle(rival, wins=lambda _: False) == (False, ["active", "superseded"])
    assert memory.get(rival).superseded_by == "holder"


def test_the_holder_is_what_is_judged(settle, rival):
    """``wins`` is asked about the present holder of the slot."""
    asked = []
    settle(rival, wins=lambda holder: asked.append(holder.id) or True)
    assert asked == ["holder"]


@pytest.mark.parametrize(
    "fields", [{"key": None}, {"key": "another"}, {"key": "editor", "source": "web"}]
)
def test_without_a_slot_in_dispute_nothing_happens(memory, settle, fields):
    """No key, a slot that is free, or a memory that may hold none: all stays as it is."""
    memory.add("vim", id="holder", key="editor")
    other = memory.add("emacs", **fields)
    before = other.status.value
    assert settle(other.id) == (True, ["active", before])
    assert memory.get(other.id) == other


def callers(*names):
    """Name the functions of memento that call one of some functions."""
    found = set()
    for path in Path(memento.__file__).parent.rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef):
                calls = (n for n in ast.walk(function) if isinstance(n, ast.Call))
                called = {ast.unparse(call.func) for call in calls}
                found |= {function.name} if called & set(names) else set()
    return found


def test_the_holder_is_looked_up_where_it_is_settled():
    """Only what settles who holds, gives a place back or fits in a former value looks it up."""
    assert callers("slot_rows.holder") == {"contend", "give_back", "hold_again", "fit"}
    assert callers("contend", "slots.contend") == {
        "take_place", "settle", "update", "approve", "_hold_again", "revert", "_carry_out",
        "promote", "rescope",
    }  # fmt: skip
