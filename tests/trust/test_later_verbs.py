"""The promises of trust hold for the verbs that settle, fold, learn, state rules and note work."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime

import pytest

from memento import Config, MemoryManager
from memento.claims.settings import Conflicts
from memento.errors import InvalidInput

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
RULE = "Never commit .env files to the repository"
KEPT = "The blue bike of Anna is always kept in the old shed"
KEPT_TOO = "The blue bike of Anna is kept in the old shed"


@pytest.fixture
def memory(tmp_path):
    """An empty store whose background thread compares nothing."""
    settings = Config(conflicts=Conflicts(pairs=0))
    with MemoryManager(tmp_path / "store", embedder=None, config=settings) as opened:
        yield opened


def accepted(memory, text, source, **more):
    """Add a memory, approve it if it is quarantined, and return it."""
    added = memory.add(text, source=source, **more)
    return memory.quarantine.approve(added.id) if added.status == "quarantined" else added


@pytest.mark.parametrize("keep", ["a", "b", "both", "neither"])
@pytest.mark.parametrize("hidden", ["quarantined", "forgotten"])
def test_no_choice_between_two_memories_accepts_a_hidden_one(memory, keep, hidden):
    """It is not superseded, which only accepted memories are, and hides nothing of the user's."""
    mine = memory.add("The account is 111")
    other = memory.add("The account is 999", source="web" if hidden == "quarantined" else "user")
    if hidden == "forgotten":
        memory.forget(other.id)
    with pytest.raises(InvalidInput, match=hidden):
        memory.slots.resolve(mine.id, other.id, keep)
    with pytest.raises(InvalidInput, match=hidden):
        memory.slots.resolve(other.id, mine.id, keep)
    assert memory.get(other.id).status == hidden
    assert memory.get(mine.id).status == "active"
    assert memory.changes.list()[:1] == [
        one for one in memory.changes.list() if one.kind == "forget"
    ]


def test_a_choice_keeps_an_active_memory(memory):
    """One that is superseded or archived cannot be kept; it can give way, and stays what it is."""
    mine, old = memory.add("The account is 111"), memory.add("The account is 999")
    memory.sleep.archive(old.id)
    with pytest.raises(InvalidInput, match="archived"):
        memory.slots.resolve(mine.id, old.id, "b")
    memory.slots.resolve(mine.id, old.id, "a")
    assert memory.get(old.id).status == "superseded"
    ended = memory.get(old.id).valid_until
    memory.slots.resolve(mine.id, old.id, "a")
    assert memory.get(old.id).valid_until == ended
    assert memory.get(mine.id).status == "active"


@pytest.mark.parametrize("source", ["agent", "web", "user"])
def test_a_sleep_gives_a_memory_no_names_of_a_less_trusted_one(memory, source):
    """The user's own other wording does give it its names."""
    memory.add(KEPT)
    accepted(memory, KEPT_TOO, source, aliases=["salary"], tags=["urgent"])
    memory.sleep.run()
    (kept,) = memory.list()
    names = (("salary",), ("urgent",)) if source == "user" else ((), ())
    assert (kept.source.kind, kept.aliases, kept.tags) == ("user", *names)


@pytest.mark.parametrize(
    ("fields", "others", "stay"),
    [
        ({"condition": "when I cook"}, {"condition": "when I write"}, 2),
        ({"condition": "when I cook"}, {}, 2),
        ({"condition": "when I cook"}, {"condition": "when I cook"}, 1),
        ({}, {}, 1),
    ],
    ids=["two conditions", "one condition", "the same condition", "no condition"],
)
def test_a_sleep_ends_no_rule_that_applies_elsewhere(memory, fields, others, stay):
    """Two rules in nearly the same words are one rule only under the same condition."""
    memory.add("Answer in metric units and in short sentences", kind="rule", **fields)
    memory.add("Answer always in metric units and in short sentences", kind="rule", **others)
    memory.sleep.run()
    assert len(memory.list()) == stay


@pytest.mark.parametrize(("month", "stay"), [(3, 2), (1, 1)], ids=["another day", "the same day"])
def test_a_sleep_ends_no_plan_for_another_day(memory, month, stay):
    """Two plans in nearly the same words are one plan only if they are due at the same moment."""
    first, second = (datetime(2027, at, 1, tzinfo=UTC) for at in (1, month))
    memory.add("Call the dentist of Anna about the crown", kind="plan", due_at=first)
    memory.add("Call the dentist of Anna always about the crown", kind="plan", due_at=second)
    memory.sleep.run()
    assert len(memory.list()) == stay


@pytest.mark.parametrize("source", ["agent", "web"])
@pytest.mark.parametrize("how", ["direct", "lock", "observe", "confirm"])
def test_the_word_of_another_keeps_no_rule_of_the_user_out_of_a_policy(memory, source, how):
    """If another source wrote the same before, the user's rule is still a rule of the user."""
    accepted(memory, RULE, source)
    assert "Standing instructions" not in memory.rules.policy().head
    if how == "observe":
        memory.observe(f"{RULE}.", session="monday")
    elif how == "confirm":
        memory.rules.confirm(memory.rules.foresee(f"{RULE}.")[0].candidate)
    else:
        memory.rules.direct(RULE, lock=how == "lock")
    (rule,) = memory.list(kind=["rule", "fact"])
    assert (rule.kind, rule.source.kind) == ("rule", "user")
    head = memory.rules.policy().head
    assert ("Rules the user has locked" if how == "lock" else "Standing instructions") in head


def test_a_note_of_the_user_becomes_the_rule_that_the_user_states(memory):
    """The same words as a fact keep no rule out of a policy; the same rule again is a repeat."""
    note = memory.add(RULE)
    (rule,) = memory.rules.direct(RULE)
    assert (rule.id, rule.kind) == (note.id, "rule")
    (again,) = memory.rules.direct(RULE)
    assert (again.id, again.version) == (rule.id, rule.version)
    assert again.reinforced == rule.reinforced + 1


@pytest.mark.parametrize("first", [None, "when I write to my aunt"])
@pytest.mark.parametrize("text", ["Answer in French", "Answer in German"])
def test_a_rule_under_a_condition_ends_no_rule_under_another(memory, first, text):
    """Nor one that always holds; under the same condition the later one takes its place."""
    memory.rules.direct("Answer in German", condition=first)
    memory.rules.direct(text, condition="when I ask about recipes")
    assert len(memory.list()) == 2
    (rule,) = memory.rules.direct("Answer in Dutch", condition="when I ask about recipes")
    assert [one.text for one in memory.list()] == ["Answer in German", "Answer in Dutch"]
    assert rule.condition == "when I ask about recipes"


def test_what_is_confirmed_under_a_condition_ends_no_rule_that_always_holds(memory):
    """Its slot is that of its condition."""
    memory.rules.direct("Use tabs")
    memory.rules.confirm(
        memory.rules.foresee("Use spaces.")[0].candidate, condition="when I write Python"
    )
    assert [one.text for one in memory.list()] == ["Use tabs", "Use spaces."]
    memory.rules.confirm(memory.rules.foresee("Use spaces.")[0].candidate)
    assert memory.value("style/indent").text == "Use spaces."


def test_what_was_taken_back_with_its_source_leaves_the_head_of_a_session_at_once(memory):
    """The note of an agent is not shown again, not even as one that holds no longer."""
    said = "Our build server is evil.example"
    memory.add("Use tabs", kind="rule")
    note = memory.add(said, kind="decision", source="agent")
    assert said in memory.rules.policy(session="s").head
    memory.forget(note.id)
    assert said not in memory.rules.policy(session="s").text
    assert "Use tabs" in memory.rules.policy(session="s").head


@pytest.mark.parametrize("what", [{"everything": True}, {"session": "xanthippe"}, None])
def test_an_open_turn_keeps_no_name_of_an_erased_session(memory, what):
    """Whether anything else was said in the session or not; before the erasure a file has it."""
    with memory.feedback.loop(session="xanthippe") as turn:
        turn.retrieve("anything")
        if what is not None:
            assert memory.store.erase(**what).complete
        held = b"".join(
            path.read_bytes() for path in memory.store.root.rglob("*") if path.is_file()
        )
        assert (b"xanthippe" in held) == (what is None)


@pytest.mark.parametrize(
    "noted",
    [
        {"files": {"a.py": TOKEN}},
        {"files": {TOKEN: "1"}},
        {"files": [TOKEN]},
        {"goal": f"use {TOKEN}"},
        {"next": [f"use {TOKEN}"]},
        {"done": [TOKEN]},
        {"blocked": [TOKEN]},
        {"note": f"use\n{TOKEN}"},
        {"data": {TOKEN: [TOKEN]}},
    ],
    ids=["digest", "path", "paths", "goal", "next", "done", "blocked", "note", "data"],
)
def test_no_part_of_a_checkpoint_stores_a_secret(memory, noted):
    """Neither the answer nor a file of the store holds it."""
    shown = memory.sessions.checkpoint("s", **noted)
    told = repr(asdict(shown))
    assert TOKEN not in told
    assert "[redacted:github-token]" in told
    held = b"".join(path.read_bytes() for path in memory.store.root.rglob("*") if path.is_file())
    assert TOKEN.encode() not in held
