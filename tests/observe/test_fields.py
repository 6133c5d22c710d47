"""A memory may say how it was recognised, when it applies and when it is due."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from memento import Kind, Source, Status
from memento.errors import InvalidInput
from memento.ledger import memories
from memento.ledger.rows import is_whole
from memento.upkeep.backup import restore, salvage


@pytest.fixture
def learnt(memory, clock):
    """A store with a conditional rule and a plan that has a date."""
    memory.add(
        "Leave out the mushrooms",
        kind="rule",
        id="rule",
        signal="rule",
        condition="when I ask about recipes",
    )
    memory.add(
        "Fly to Lisbon", kind=Kind.PLAN, id="plan", signal="plan", due_at=clock() + timedelta(5)
    )
    memory.add("The kettle is blue", id="plain")
    return memory


def row_of(memory, memory_id):
    """Read a row as it is in the file."""
    ns = memory._engine.ledger.find_namespace(("default",))
    return memory._engine.ledger.read(lambda c: memories.by_id(c, ns, memory_id))


def test_the_fields_are_kept(learnt, clock):
    """They come back with the memory; without them they are None."""
    rule, plan, plain = (learnt.get(one) for one in ("rule", "plan", "plain"))
    assert (rule.signal, rule.condition, rule.due_at) == ("rule", "when I ask about recipes", None)
    assert (plan.kind, plan.signal, plan.due_at) == (Kind.PLAN, "plan", clock() + timedelta(5))
    assert (plain.signal, plain.condition, plain.due_at) == (None, None, None)
    assert [one.id for one in learnt.list(kind="plan")] == ["plan"]


@pytest.mark.parametrize(
    ("field", "value"),
    [("signal", ""), ("condition", 3), ("condition", " "), ("due_at", "tomorrow")],
)
def test_a_value_that_makes_no_sense_is_refused(memory, field, value):
    """The error names the field, and nothing is written."""
    with pytest.raises(InvalidInput, match=field):
        memory.add("text", **{field: value})
    assert memory.list() == []


def test_the_condition_makes_another_memory(memory):
    """The same text under two conditions is two memories; under the same one it is a repeat."""
    always = memory.add("Be brief", kind="rule")
    chats = memory.add("Be brief", kind="rule", condition="in chats")
    again = memory.add("Be brief", kind="rule", condition="in chats")
    assert always.id != chats.id == again.id
    assert again.reinforced == 1


def test_a_repeat_may_say_when_it_is_due(memory, clock):
    """The newer date wins, and the first recognition stays."""
    memory.add("Renew the passport", id="one", kind="plan")
    memory.add("Renew the passport", kind="plan", due_at=clock() + timedelta(1), signal="todo")
    memory.add("Renew the passport", kind="plan", due_at=clock() + timedelta(2), signal="plan")
    memory.add("Renew the passport", kind="plan")
    found = memory.get("one")
    assert (found.due_at, found.signal) == (clock() + timedelta(2), "todo")


def test_an_update_changes_them_and_an_undo_sets_them_back(learnt, clock):
    """Earlier states have the values that they had."""
    learnt.update("rule", condition=None)
    learnt.update("plan", due_at=clock() + timedelta(9))
    assert learnt.get("rule").condition is None
    for change in learnt.changes.list():
        learnt.undo(change.number)
    assert learnt.get("rule").condition == "when I ask about recipes"
    assert learnt.get("plan").due_at == clock() + timedelta(5)
    assert all(found.ok for found in learnt.store.doctor())


def test_a_difference_shows_a_new_date(learnt, clock):
    """``diff`` has the plan before and after."""
    before = clock()
    clock.advance(timedelta(hours=1))
    learnt.update("plan", due_at=before + timedelta(7))
    ((was, now),) = learnt.changes.diff(before).changed.values()
    assert (was.due_at, now.due_at) == (before + timedelta(5), before + timedelta(7))


def test_damage_to_a_field_is_noticed(learnt):
    """The checksum covers each of them, set or taken away."""
    for memory_id, name, value in (
        ("rule", "condition", "always"),
        ("rule", "signal", None),
        ("plan", "due_at", 0),
        ("plain", "condition", "never"),
    ):
        row = row_of(learnt, memory_id)
        assert is_whole(row)
        assert not is_whole(replace(row, **{name: value}))


def test_an_export_brings_them_to_another_store(learnt, open_memory, tmp_path):
    """Fields and earlier states go out and come in; the bytes that come out are the same again."""
    learnt.update("plan", due_at=None)
    learnt.store.export(tmp_path / "one.jsonl")
    other = open_memory(tmp_path / "other")
    other.store.import_from(tmp_path / "one.jsonl", trust="user")
    assert other.get("rule").condition == "when I ask about recipes"
    assert other.get("plan").due_at is None
    other.store.export(tmp_path / "two.jsonl")
    one, two = (tmp_path / f"{name}.jsonl" for name in ("one", "two"))
    assert one.read_text().splitlines()[1:4] == two.read_text().splitlines()[1:4]
    assert all(found.ok for found in other.store.doctor())


def test_an_untrusted_file_is_imported_with_them(learnt, open_memory, tmp_path):
    """The memories are quarantined; equal content is recognised by its condition too."""
    learnt.store.export(tmp_path / "one.jsonl")
    other = open_memory(tmp_path / "other")
    other.store.import_from(tmp_path / "one.jsonl", trust="web")
    rule = other.get("rule")
    assert (rule.status, rule.kind) == (Status.QUARANTINED, Kind.FACT)
    said = {"kind": "fact", "condition": rule.condition, "source": Source("web")}
    assert other.add("Leave out the mushrooms", **said).id == "rule"


def test_a_backup_and_a_salvaged_store_have_them(learnt, open_memory, tmp_path):
    """A copy of a row has all its columns."""
    learnt.store.backup(tmp_path / "copy.db")
    held = {one.id: one for one in learnt.list()}
    learnt.close()
    restore(tmp_path / "copy.db", tmp_path / "restored")
    assert {one.id: one for one in open_memory(tmp_path / "restored").list()} == held
    assert salvage(tmp_path / "store").changed == ()
    assert {one.id: one for one in open_memory(tmp_path / "store").list()} == held
