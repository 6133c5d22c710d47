"""One function decides which memory holds a slot; its callers differ only in who wins."""

from __future__ import annotations

import ast
from pathlib import Path

import memento


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
        "take_place", "settle", "_set_fields", "contend_in_time", "_hold_again", "revert",
        "_carry_out", "promote", "rescope",
    }  # fmt: skip
