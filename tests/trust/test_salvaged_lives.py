"""A salvage of a healthy store changes nothing, whatever the store has been through."""

from __future__ import annotations

import pytest
from harness_salvage import told, wrong_after
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from memento.cli import main
from memento.ledger.lite import sqlite
from memento.upkeep.backup import salvage


@settings(
    max_examples=12, deadline=None, derandomize=True, database=None,
    phases=[Phase.generate, Phase.shrink], suppress_health_check=list(HealthCheck),
)  # fmt: skip
@given(dice=st.randoms(use_true_random=False), steps=st.integers(1, 15))
def test_any_life_of_a_store_is_salvaged_whole(tmp_path_factory, dice, steps):
    """Every memory comes back in its newest state, with its history and all that was said of it."""
    assert wrong_after(tmp_path_factory.mktemp("life"), dice, steps)[1] == []


def test_numbers_that_run_ahead_of_the_revision_are_no_proof(open_memory):
    """The sums of events are numbered by stamps of their own, which tell of no change."""
    memory = open_memory()
    ids = [memory.add(f"note {n}", "long").id for n in range(10)]
    for memory_id in ids:
        memory.feedback.rate(memory_id, useful=True)
    memory.sleep.run(seconds=60)
    memory.close()
    assert salvage(memory.store.root).lost == 0
    assert {one.id for one in open_memory().list(limit=100)} == set(ids)


def test_a_row_that_its_own_history_says_has_ended_is_left_behind(open_memory):
    """A page that is older than the others does not bring back what was forgotten."""
    memory = open_memory()
    gone, kept = memory.add("the door code is 1234"), memory.add("the kettle is red")
    memory.close()
    path = memory.store.root / "ledger.db"
    with sqlite.sqlite3.connect(path) as file:
        columns = [one[1] for one in file.execute("PRAGMA table_info(memories)")]
        old = file.execute("SELECT * FROM memories WHERE id = ?", (gone.id,)).fetchone()
    file.close()
    memory = open_memory()
    memory.forget(gone.id)
    memory.close()
    with sqlite.sqlite3.connect(path) as file:
        marks = ", ".join(f"{name} = ?" for name in columns)
        file.execute(f"UPDATE memories SET {marks} WHERE id = ?", (*old, gone.id))
    file.close()
    done = salvage(memory.store.root)
    assert (done.kept, done.changed) == (1, (gone.id,))
    assert [one.id for one in open_memory().list(status=["active", "forgotten"])] == [kept.id]


def test_the_log_keeps_its_order_and_its_answers(open_memory):
    """What was shown, and when the namespace was used, are told of several memories at once."""
    memory = open_memory()
    one = memory.add("the kettle is red")
    memory.retrieve("kettle")
    memory.flush(wait=True, timeout=60)
    before, uses = told(memory)["log"], memory.feedback.strength(one.id).uses
    memory.close()
    salvage(memory.store.root)
    memory = open_memory()
    assert uses > 0
    assert memory.feedback.strength(one.id).uses == uses
    assert told(memory)["log"] == before


@pytest.mark.parametrize("importance", [0, 0.0, -0.0, 0.5, 1, 1.0])
def test_a_memory_is_kept_whatever_its_importance(open_memory, importance):
    """A share that is a whole number is an integer on the page, and yet the number it was."""
    memory = open_memory()
    added = memory.add("the kettle is red", importance=importance)
    changed = memory.add("the kettle is new", importance=0.25)
    memory.update(changed.id, importance=importance)
    before = told(memory)
    memory.close()
    done = salvage(memory.store.root)
    assert (done.kept, done.lost, done.lost_links) == (2, 0, 0)
    memory = open_memory()
    assert told(memory) == before
    assert memory.get(added.id).importance == memory.get(changed.id).importance == importance


def test_what_takes_whose_place_is_kept(open_memory):
    """A quarantined memory still proposes to replace another, and a forgotten one gives way."""
    memory = open_memory()
    old = memory.add("the door code is 1234", key="door/code")
    new = memory.add("the door code is 5678", source="web", supersedes=old.id)
    first, second = (memory.add(f"tea number {n}", key="tea") for n in range(2))
    before = told(memory)
    memory.close()
    assert salvage(memory.store.root).lost_links == 0
    memory = open_memory()
    assert told(memory)["log"] == before["log"]
    memory.quarantine.approve(new.id)
    assert memory.get(old.id).superseded_by == new.id
    memory.forget(second.id)
    assert memory.get(first.id).status == "superseded"


def test_a_lost_link_is_counted(open_memory, capsys):
    """A link that is not as it was written is left out, and not in silence."""
    memory = open_memory()
    old = memory.add("the kettle is red")
    memory.add("the kettle is new", supersedes=old.id)
    memory.close()
    with sqlite.sqlite3.connect(memory.store.root / "ledger.db") as file:
        file.execute("UPDATE links SET weight = 2")
    file.close()
    assert main(["doctor", "--salvage", "--root", str(memory.store.root)]) == 1
    assert "links lost between the kept memories: 1" in capsys.readouterr().out
    assert salvage(memory.store.root).lost_links == 0
