"""Locks and pins: what each forbids, through every verb, and what goes through all the same."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from beside import exported

from memento import Draft, MemoryManager, Source
from memento.errors import (
    InvalidInput,
    LockedMemory,
    NotFound,
    TooManyLocks,
    UntrustedSource,
)
from memento.ledger.rows import MOST_LOCKED, WARN_LOCKED
from memento.upkeep.backup import restore

RULE = "Never deploy on a Friday"
OTHER = "Deploy whenever you like"


@pytest.fixture
def rule(memory):
    """A rule that the user locked."""
    kept = memory.add(
        RULE, "short", kind="rule", key="when", id="rule", session="s", source=Source(uri="u")
    )
    return memory.update(kept.id, lock="user")


REFUSED = {
    "update": lambda m: m.update("rule", text=OTHER),
    "correct": lambda m: m.correct("rule", OTHER),
    "update of the pin": lambda m: m.update("rule", pinned=True),
    "forget": lambda m: m.forget("rule"),
    "archive": lambda m: m.sleep.archive("rule"),
    "forget_many": lambda m: m.forget_many(within=""),
    "touch": lambda m: m.store.touch(["other", "rule"], 60),
    "move": lambda m: m.update("rule", tier="long"),
    "by key": lambda m: m.add(OTHER, key="when"),
    "by key, by the agent": lambda m: m.add(OTHER, key="when", source="agent"),
    "in a batch": lambda m: m.add_many([Draft("tea"), Draft(OTHER, key="when")]),
    "supersedes": lambda m: m.add(OTHER, supersedes="rule"),
    "replace": lambda m: m.add(OTHER, id="rule", replace=True),
    "scope of another": lambda m: m.update("elsewhere", scope=""),
    "forget_source": lambda m: m.quarantine.forget_source("u"),
    "revert": lambda m: m.slots.revert("when"),
}


@pytest.mark.parametrize("verb", REFUSED)
def test_nothing_changes_a_locked_memory(memory, verb):
    """Each verb names it, writes nothing at all, and works after ``unlock``."""
    memory.add("Deploy on Mondays", key="when")
    memory.add(RULE, "short", kind="rule", key="when", id="rule", source=Source(uri="u"))
    memory.add("tea", id="other")
    memory.add(OTHER, key="when", scope="a", id="elsewhere")
    locked = memory.update("rule", lock="user")
    before = everything(memory)
    with pytest.raises(LockedMemory, match="unlock") as caught:
        REFUSED[verb](memory)
    assert (caught.value.memory_id, caught.value.level) == ("rule", "user")
    assert memory.get("rule") == locked
    assert everything(memory) == before
    memory.update("rule", lock=None)
    REFUSED[verb](memory)
    assert everything(memory) != before


def everything(memory):
    """Read all that a store holds."""
    return exported(memory).splitlines()[1:-1]


@pytest.mark.usefixtures("rule")
def test_a_stranger_s_proposal_does_not_replace_it(memory):
    """Not even when a person approves it: the lock is theirs to take away."""
    page = memory.add(OTHER, key="when", source="web")
    with pytest.raises(LockedMemory):
        memory.quarantine.approve(page.id)
    assert memory.get(page.id).status == "quarantined"
    assert memory.value("when").text == RULE


def test_a_repeat_is_counted_and_changes_nothing_else(memory, rule):
    """The same said again is not refused; tags, tier and expiry stay as they are."""
    again = memory.add(RULE, "long", kind="rule", key="when", session="s", tags=["new"])
    assert again.id == rule.id
    assert again.reinforced == 1
    assert (again.tags, again.tier, again.lock, again.version) == ((), "short", "user", 1)


def test_replacing_with_what_it_says_changes_nothing(memory, rule):
    """A retry of the same content is harmless."""
    memory.add(
        RULE, "short", kind="rule", key="when", id="rule", session="s", source=Source(uri="u"),
        replace=True,
    )  # fmt: skip
    assert memory.get("rule") == rule


def test_a_locked_memory_does_not_expire(memory, clock):
    """The lock takes its expiry away, and ``sweep`` finds nothing."""
    tea = memory.add("tea", expires_in=60)
    assert memory.update(tea.id, lock="user").expires_at is None
    clock.advance(timedelta(days=400))
    assert memory.store.sweep() == []
    assert [one.id for one in memory.list()] == [tea.id]


def test_a_lock_goes_from_level_to_level(memory):
    """None, promoted, user; a higher one stays; every step is a state of the history."""
    tea = memory.add("tea", pinned=True)
    assert tea.lock is None
    assert memory.update(tea.id, lock="promoted").lock == "promoted"
    assert memory.update(tea.id, lock="user").lock == "user"
    assert memory.update(tea.id, lock="promoted").lock == "user"
    unlocked = memory.update(tea.id, lock=None)
    assert (unlocked.lock, unlocked.pinned) == (None, True)
    assert memory.update(tea.id, lock=None) == unlocked
    reasons = [state.reason for state in memory.changes.history(tea.id)]
    assert reasons == ["locked", "locked", "unlocked", "present"]
    for level in ("none", ["user"]):
        with pytest.raises(InvalidInput, match="lock"):
            memory.update(tea.id, lock=level)
    with pytest.raises(NotFound):
        memory.update("nobody", lock="user")


def test_only_the_user_replaces_a_promoted_one(memory):
    """Others are refused; changes in place are not."""
    tea = memory.add("tea", key="drink")
    memory.update(tea.id, lock="promoted")
    with pytest.raises(LockedMemory) as caught:
        memory.add("coffee", key="drink", source="agent")
    assert caught.value.level == "promoted"
    assert memory.update(tea.id, tags=["hot"]).lock == "promoted"
    memory.add("coffee", key="drink")
    assert memory.get(tea.id).status == "superseded"


def test_a_memory_that_is_trusted_less_loses_its_lock(memory):
    """Only what the user says can be locked, and an agent said what it is derived from."""
    tea = memory.add("tea", pinned=True, source=Source("user", parents=("notes",)))
    memory.update(tea.id, lock="promoted")
    memory.add("Notes of an agent", id="notes", source="agent")
    changed = memory.get(tea.id)
    assert (changed.source.kind, changed.pinned, changed.lock) == ("agent", True, None)
    with pytest.raises(UntrustedSource):
        memory.update(tea.id, lock="promoted")


def test_a_slot_holds_a_locked_value_against_the_past(memory, clock):
    """A value from an earlier moment enters the history before it and changes nothing of it."""
    locked = memory.update(memory.add("Helix", key="editor").id, lock="user")
    memory.add("Vim", key="editor", occurred_at=clock() - timedelta(days=9))
    assert memory.get(locked.id) == locked
    assert [one.memory.text for one in memory.slots.history("editor")] == ["Vim", "Helix"]


@pytest.mark.parametrize("guard", [{"lock": "user"}, {"pinned": True}])
def test_only_what_the_user_says_can_be_protected(memory, guard, clock):
    """Not what an agent or a page says, approved or not, and nothing that is hidden."""
    page = memory.add("page", source="web")
    memory.quarantine.approve(page.id)
    said = memory.add("said", source="agent")
    for one in (page, said):
        with pytest.raises(UntrustedSource):
            memory.update(one.id, **guard)
    hidden, old = memory.add("hidden"), memory.add("old", expires_in=1)
    memory.forget(hidden.id)
    clock.advance(timedelta(seconds=2))
    for one in (hidden, old):
        with pytest.raises(InvalidInput):
            memory.update(one.id, **guard)


def test_pins_and_filters_look_at_their_own_bit(memory):
    """A lock is no pin, in SQL and in what is returned."""
    pinned, locked = memory.add("pinned"), memory.add("locked")
    memory.update(pinned.id, pinned=True)
    memory.update(locked.id, lock="user")
    assert [one.id for one in memory.list(pinned=True)] == [pinned.id]
    assert [one.id for one in memory.list(pinned=False)] == [locked.id]
    assert memory.update(pinned.id, text="still pinned").pinned
    assert not memory.update(pinned.id, pinned=False).pinned
    assert memory.forget(pinned.id).status == "forgotten"


def test_an_erasure_goes_through_and_says_so(memory, rule):
    """The law is above a lock."""
    tea = memory.add("tea")
    assert memory.store.erase([rule.id, tea.id], dry_run=True).locked == (rule.id,)
    assert memory.store.erase([rule.id, tea.id]).locked == (rule.id,)
    with pytest.raises(NotFound):
        memory.get(rule.id)


def test_there_are_only_so_many_locks(memory, rule):
    """The warning comes before the limit; promoted ones do not count; unlocking makes room."""
    kept = memory.add_many([f"note {n}" for n in range(MOST_LOCKED)])
    for one in kept[: WARN_LOCKED - 2]:
        memory.update(one.id, lock="user")
    assert "locks" not in memory.store.stats().trouble
    for one in kept[WARN_LOCKED - 2 : -1]:
        memory.update(one.id, lock="user")
    memory.update(kept[-1].id, lock="promoted")
    assert memory.store.stats().locked == MOST_LOCKED
    assert str(MOST_LOCKED) in memory.store.stats().trouble["locks"]
    with pytest.raises(TooManyLocks) as caught:
        memory.update(kept[-1].id, lock="user")
    assert caught.value.limit == MOST_LOCKED
    memory.update(rule.id, lock=None)
    memory.update(kept[-1].id, lock="user")


def test_verdicts_on_a_locked_memory_wait_for_its_unlocking(memory, rule):
    """They are kept in the log and have no effect; afterwards they have."""
    before = memory.feedback.belief(rule.id).mean, memory.feedback.strength(rule.id)
    memory.feedback.rate(rule.id, verdict="wrong")
    memory.feedback.rate(rule.id, useful=False)
    assert (memory.feedback.belief(rule.id).mean, memory.feedback.strength(rule.id)) == before
    assert [one.verdict for one in memory.feedback.belief(rule.id).evidence] == ["wrong", "ignored"]
    memory.update(rule.id, lock=None)
    assert memory.feedback.belief(rule.id).mean < before[0]
    assert all(finding.ok for finding in memory.store.doctor())


def test_two_verdicts_of_two_days_take_a_promotion_away(memory, clock):
    """One does not, nor two of one day and source, nor one that was ignored."""
    tea = memory.add("tea")
    memory.update(tea.id, lock="promoted")
    before = memory.feedback.strength(tea.id).worth
    memory.feedback.rate(tea.id, useful=False)
    assert memory.feedback.strength(tea.id).worth == before
    for _ in range(2):
        memory.feedback.rate(tea.id, verdict="wrong")
        memory.feedback.rate(tea.id, verdict="wrong", source="web")
        clock.advance(timedelta(hours=2))
    assert memory.get(tea.id).lock == "promoted"
    clock.advance(timedelta(days=1))
    memory.feedback.rate(tea.id, verdict="harmful")
    assert memory.get(tea.id).lock is None
    assert memory.update(tea.id, lock="promoted").lock == "promoted"  # what was before is over
    memory.feedback.rate(tea.id, useful=False)
    assert memory.get(tea.id).lock == "promoted"


def test_quarantine_is_above_a_lock(memory):
    """A lock does not keep a memory that turns out to be derived from a page."""
    child = memory.add("so it is open", source=Source(parents=("page",)))
    memory.update(child.id, lock="user")
    memory.add("it is open", source="web", id="page")
    found = memory.get(child.id)
    assert (found.status, found.lock, found.source.kind) == ("quarantined", None, "web")


def test_a_document_with_a_locked_part_is_not_half_changed(memory):
    """The call is refused before anything is written."""
    parts = memory.documents.add("# Tea\n\nGreen.\n\n# Coffee\n\nBlack.", name="menu")
    memory.update(parts[0].id, lock="user")
    before = everything(memory)
    with pytest.raises(LockedMemory):
        memory.documents.add("# Tea\n\nWhite.\n\n# Coffee\n\nRed.", name="menu")
    assert everything(memory) == before


def test_locks_travel_in_backups_and_own_exports_only(memory, rule, tmp_path, clock):
    """With their history; a file of somebody else brings none."""
    memory.update(memory.add("tea", pinned=True, id="tea").id, lock="promoted")
    memory.store.backup(tmp_path / "backup.db")
    memory.store.export(tmp_path / "export.jsonl")
    restore(tmp_path / "backup.db", tmp_path / "restored")
    with MemoryManager(tmp_path / "restored", embedder=None, clock=clock) as other:
        assert other.get("rule") == rule
    with MemoryManager(tmp_path / "own", embedder=None, clock=clock) as other:
        other.store.import_from(tmp_path / "export.jsonl", trust="user")
        assert other.get("rule") == rule
        assert (other.get("tea").pinned, other.get("tea").lock) == (True, "promoted")
        told = [replace(one, change=None, by=None) for one in memory.changes.history("rule")]
        assert other.changes.history("rule") == told  # the numbers of changes belong to one store
        assert everything(other) == everything(memory)
        assert all(finding.ok for finding in other.store.doctor())
    with MemoryManager(tmp_path / "foreign", embedder=None, clock=clock) as other:
        other.store.import_from(tmp_path / "export.jsonl", trust="agent")
        assert [(one.pinned, one.lock) for one in other.list()] == [(False, None)] * 2


def test_an_import_does_not_replace_a_locked_value(memory, rule, tmp_path, clock):
    """It becomes history, however late it was said."""
    with MemoryManager(tmp_path / "other", embedder=None, clock=clock) as other:
        clock.advance(timedelta(days=1))
        other.add(OTHER, key="when")
        other.store.export(tmp_path / "export.jsonl")
    memory.store.import_from(tmp_path / "export.jsonl", trust="user")
    assert memory.get("rule") == rule
    assert [one.text for one in memory.list(status="superseded")] == [OTHER]


def test_a_dry_run_is_refused_as_the_call_would_be(memory):
    """Else it lists what the call would never hide."""
    memory.add(RULE, kind="rule", id="rule", source=Source(uri="u"))
    memory.update("rule", lock="user")
    with pytest.raises(LockedMemory):
        memory.quarantine.forget_source("u", dry_run=True)
