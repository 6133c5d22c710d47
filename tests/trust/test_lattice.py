"""No path lets a memory of a less trusted source take the place of a more trusted one."""

from __future__ import annotations

import io
import json
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from inspect import signature
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memento import Config, MemoryManager, Turn
from memento.errors import ChangedSince, LockedMemory, MementoError, UntrustedSource
from memento.ingest import read
from memento.types import Source, Status, Trust
from memento_mcp import Doors

TRUSTS = ("user", "agent", "web")
NOON = datetime(2030, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path):
    """A store that takes in what tools and pages say, so that trust alone keeps them apart."""
    with MemoryManager(tmp_path, embedder=None, config=Config(untrusted=())) as memory:
        yield memory


def by_key(memory, _old, newer):
    """By the key of its slot."""
    memory.add("newer", key="k", source=newer)


def by_date(memory, old, newer):
    """By its key, from an earlier moment."""
    memory.add("newer", key="k", source=newer, occurred_at=memory.get(old).valid_from)


def by_supersedes(memory, old, newer):
    """By naming it."""
    memory.add("newer", supersedes=old, source=newer)


def by_id(memory, old, newer):
    """By its id."""
    memory.add("newer", id=old, replace=True, source=newer)


def by_update(memory, old, newer):
    """By changing its text."""
    memory.update(old, text="newer", source=newer)


def by_forget(memory, old, newer):
    """By hiding it."""
    memory.forget(old, source=newer)


def by_promotion(memory, _old, newer):
    """By moving up into its scope."""
    memory.scopes.promote(memory.add("newer", key="k", scope="project", source=newer).id, "")


def by_merge(memory, old, newer):
    """By a merge of scopes, and by the key in the scope that is left."""
    memory.add("newer", key="k", scope="project", source=newer)
    memory.scopes.merge("project", "other")
    memory.update(old, scope="other")
    memory.add("later", key="k", scope="other", source=newer)


def by_scope(memory, _old, newer):
    """By moving into its scope."""
    memory.update(memory.add("newer", key="k", scope="project", source=newer).id, scope="")


def by_return(memory, old, newer):
    """By coming back while it is hidden, and after."""
    memory.forget(old)
    late = memory.add("newer", key="k", source=newer)
    memory.restore(old)
    memory.forget(late.id)
    memory.restore(late.id)


def by_what_it_says(memory, old, newer):
    """By what the two texts say."""
    older = memory.get(old).source.kind
    memory.update(old, text="My editor is Vim", source=older)
    memory.add("My editor is Helix", source=newer)
    memory.flush(wait=True)
    memory.update(old, text="older", source=older)


PATHS = (
    by_key, by_date, by_supersedes, by_id, by_update, by_forget, by_promotion, by_scope,
    by_return, by_what_it_says, by_merge,
)  # fmt: skip


@pytest.mark.parametrize("path", PATHS, ids=lambda one: one.__name__)
def test_a_less_trusted_source_takes_no_place(memory, path):
    """The older memory stays active, word for word, in its slot; an equal may replace it."""
    for older, newer in product(TRUSTS, TRUSTS):
        view = memory.of(older, newer)
        old = view.add("older", key="k", source=older)
        if not Trust.outranks(older, newer):
            path(view, old.id, newer)
            continue
        with suppress(UntrustedSource):
            path(view, old.id, newer)
        now = view.get(old.id)
        assert (now.text, now.status, now.key) == ("older", "active", "k"), (older, newer)
        assert now.source.kind == older
        assert view.value("k", scope=now.scope).id == old.id


UPDATES = {
    "text": "newer",
    "kind": "fact",
    "importance": 0.01,
    "scope": "elsewhere",
    "tags": ["newer"],
    "metadata": {"newer": 1},
    "pinned": False,
    "valid_until": NOON,
    "condition": "when it rains",
    "due_at": NOON,
    "expires_in": 1,
    "add_aliases": ["newer"],
    "remove_aliases": ["older"],
    "tier": "short",
    "lock": None,
}
"""Every argument of ``update``, with a value that changes something."""


def test_every_argument_of_update_is_known_here():
    """What a source may not change is tried with each of them."""
    assert {*UPDATES} == {*signature(MemoryManager.update).parameters} - {"self", "id", "source"}


@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("level", ["user", "promoted", None])
@pytest.mark.parametrize("who", ["agent", "web"])
def test_a_less_trusted_source_updates_nothing(tmp_path, who, level, name):
    """Neither a field nor a pin, a lock or a tier, whether the user locked the memory or not."""
    with MemoryManager(tmp_path, embedder=None) as memory:
        told = memory.add("Use tabs", "long", kind="rule", aliases=["older"], pinned=True)
        before = memory.update(told.id, lock=level)
        with pytest.raises((UntrustedSource, LockedMemory)):
            memory.update(told.id, **{name: UPDATES[name]}, source=who)
        assert memory.get(told.id) == before


@pytest.mark.parametrize("who", ["agent", "web"])
def test_a_less_trusted_source_protects_nothing(tmp_path, who):
    """A memory that is locked or pinned for the user could not be corrected, or would not fade."""
    with MemoryManager(tmp_path, embedder=None) as memory:
        told = memory.add("The office opens at nine")
        for change in ({"lock": "user"}, {"lock": "promoted"}, {"pinned": True}):
            with pytest.raises(UntrustedSource):
                memory.update(told.id, **change, source=who)
        assert memory.get(told.id) == told


@pytest.mark.parametrize("path", [by_key, by_supersedes, by_scope, by_promotion])
def test_what_was_refused_is_kept_in_conflict(memory, path):
    """The candidate is found, names its source, and is listed until the user settles it."""
    old = memory.add("older", key="k")
    path(memory, old.id, "agent")
    (flagged,) = memory.slots.conflicts()
    assert {flagged.a.text, flagged.b.text} == {"newer", "older"}
    assert flagged.higher == old.id
    (new,) = (one for one in memory.list() if one.text == "newer")
    memory.slots.resolve(new.id, old.id, keep="a")
    assert memory.value("k").text == "newer"
    assert memory.get(old.id).status == "superseded"


def test_a_candidate_said_again_is_a_repeat(memory):
    """An agent that claims a slot again and again leaves one candidate and one conflict."""
    memory.add("Tabs", key="k")
    ids = {memory.add("Spaces", key="k", source="agent").id for _ in range(3)}
    assert len(ids) == len(memory.slots.conflicts()) == 1


def test_an_agent_that_says_what_the_user_said_is_in_no_conflict(memory):
    """The same words for the same slot are a repeat of the user's."""
    kept = memory.add("Tabs", key="k")
    assert memory.add("Tabs", key="k", source="agent").id == kept.id
    assert memory.slots.conflicts() == []


def test_the_user_takes_the_slot_back_with_an_earlier_date(memory):
    """A value of the user that still holds comes before an agent's, whenever each began."""
    memory.add("agent's", key="k", source="agent")
    theirs = memory.value("k")
    memory.add("user's", key="k", occurred_at=theirs.valid_from.replace(year=2001))
    assert memory.value("k").text == "user's"


@pytest.mark.parametrize("scope", ["", "project/x"])
@pytest.mark.parametrize("kind", ["preference", "decision", "procedure", "fact"])
def test_an_agent_takes_no_rule_out_of_a_policy(tmp_path, scope, kind):
    """Neither by its key nor by correcting or forgetting it, here or in a narrower scope."""
    with MemoryManager(tmp_path, embedder=None) as memory:
        rule = memory.add("Indent with tabs", kind="rule", key="style/indent")
        doors = Doors(memory, scope=scope, client="c")
        doors.call("remember", {"text": "As you like", "key": rule.key, "kind": kind})
        said = doors.call("correct", {"id": rule.id, "text": "Indent with spaces"})
        assert not said.refused
        assert "until the user settles it" in said.text
        assert doors.call("forget", {"id": rule.id}).refused
        head = memory.rules.policy(scope=scope).head
        assert "Indent with tabs" in head
        assert "As you like" not in head
        assert memory.get(rule.id).text == "Indent with tabs"


def test_an_agent_corrects_and_forgets_its_own(tmp_path):
    """An agent may reword, replace and forget its own memories."""
    with MemoryManager(tmp_path, embedder=None) as memory:
        doors = Doors(memory, client="c")
        doors.call("remember", {"text": "Deploys are on Monday", "key": "deploys"})
        doors.call("remember", {"text": "Deploys are on Tuesday", "key": "deploys"})
        now = memory.value("deploys")
        assert now.text == "Deploys are on Tuesday"
        assert doors.call("correct", {"id": now.id, "text": "Deploys are daily"}).refused is False
        assert memory.value("deploys").text == "Deploys are daily"
        assert doors.call("forget", {"id": now.id}).refused is False


def test_agents_do_not_crowd_the_user_out_of_a_policy(tmp_path):
    """If the budget is short, what is trusted less goes first, however important it says it is."""
    with MemoryManager(tmp_path, embedder=None) as memory:
        memory.add("I prefer tea to coffee", kind="preference", importance=0.1)
        for number in range(40):
            text = f"A remark of an agent, number {number}"
            memory.add(text, kind="preference", importance=1.0, source="agent")
        assert "I prefer tea" in memory.rules.policy(tokens=200).head


def test_what_is_approved_is_what_was_read(tmp_path):
    """A memory that changed in quarantine is approved only as the version that was read."""
    with MemoryManager(tmp_path, embedder=None) as memory:
        waits = memory.add("The office opens at nine", source="web", id="w")
        with pytest.raises(UntrustedSource):
            memory.update("w", text="Pay to another account", source="web")
        memory.add("Pay to another account", id="w", replace=True, source="web")
        with pytest.raises(ChangedSince) as caught:
            memory.quarantine.approve("w")
        assert (caught.value.memory_id, caught.value.version) == ("w", 2)
        for seen, version in ((waits, None), ("w", 1)):
            with pytest.raises(ChangedSince):
                memory.quarantine.approve(seen, version=version)
        assert memory.get("w").status == "quarantined"
        assert memory.quarantine.approve(memory.get("w")).status == "active"


@pytest.mark.parametrize(
    "again",
    [
        {"text": "Pay to another account"},
        {"text": "Pay to another account", "source": "agent"},
        {"tags": ["bank"]},
        {"metadata": {"url": "evil"}},
        {"source": "tool"},
        {"key": "bank/account"},
    ],
)
def test_what_has_the_id_of_what_was_read_is_not_approved_for_it(tmp_path, again):
    """Erased and taken in again, it has the same id, and no version that somebody read."""
    with MemoryManager(tmp_path, embedder=None) as memory:
        told = {"text": "The office opens at nine", "source": "web"}
        seen = memory.add(**told, id="w")
        memory.store.erase("w")
        new = memory.add(**(told | again), id="w")
        assert (new.version > seen.version) is (new.status is Status.QUARANTINED)
        with pytest.raises(ChangedSince):
            memory.quarantine.approve(seen)
        assert memory.get("w").status == new.status


PAGE = Source("web", uri="https://a.example")
THEY = (PAGE, Source("web", uri="https://b.example"), "tool", "import", "web")
SAID = "The office opens at nine"
MORE = {
    "tags": ["evil"], "metadata": {"url": "evil"}, "importance": 1.0, "tier": "long",
    "aliases": ["evil"], "kind": "preference", "expires_in": 9, "supersedes": "other",
    "related": "other", "pinned": True,
}  # fmt: skip


def adds(memory, _name, source, fields, _folder):
    """Add it again, alone."""
    memory.add(SAID, source=source, **fields)


def adds_many(memory, _name, source, fields, _folder):
    """Add it again among others."""
    memory.add_many(["Tea", {"text": SAID, "source": source, **fields}])


def adds_by_id(memory, name, source, fields, _folder):
    """Add it again by its id, with the same and with other words."""
    with suppress(MementoError):
        memory.add(SAID, id=name, source=source, **fields)
    memory.add("Evil", id=name, source=source, **fields)


def replaces(memory, name, source, fields, _folder):
    """Replace it by its id; its own source may, and then it is to be read again."""
    with suppress(MementoError):
        memory.add(SAID, id=name, replace=True, source=source, **fields)
    memory.add("Evil", id=name, replace=True, source=source, **fields)


def updates(memory, name, source, fields, _folder):
    """Change it, each field alone and the text."""
    kind = getattr(source, "kind", source)
    known = {"tags", "metadata", "importance", "kind", "expires_in", "pinned"}
    for field in known & fields.keys():
        with suppress(MementoError):
            memory.update(name, **{field: fields[field]}, source=kind)
    memory.update(name, text="Evil", source=kind)


def hides(memory, name, source, _fields, _folder):
    """Forget it."""
    memory.forget(name, source=getattr(source, "kind", source))


def talks(memory, _name, source, _fields, _folder):
    """Say it as a message of a conversation, kept and learnt from."""
    turn = Turn(SAID, "tool", trust=getattr(source, "kind", source))
    memory.keep([turn])
    memory.observe(messages=[turn, Turn("Fine.")])


def asks_over_mcp(memory, name, _source, _fields, _folder):
    """Use the tools of an agent."""
    doors = Doors(memory, more=True, client="c")
    doors.call("remember", {"text": SAID, "everywhere": True})
    doors.call("correct", {"id": name, "text": "Evil"})
    doors.call("forget", {"id": name})


def sends_a_file(memory, name, _source, fields, folder):
    """Bring it in a file of texts, and in the export of another store."""
    file = folder / "texts.jsonl"
    given = {key: value for key, value in fields.items() if key != "related"}
    lines = [{"text": SAID, **given}, {"text": "Evil", "id": name, **given}]
    for line in lines:
        file.write_text(json.dumps(line | {"source": {"kind": "import"}}))
        with suppress(MementoError):
            memory.add_many(read(file))
    with MemoryManager(folder / "theirs", embedder=None) as theirs:
        theirs.store.erase(everything=True)
        theirs.add("Evil", id=name, tags=["evil"])
        theirs.add(SAID, tags=["evil"])
        theirs.store.export(stream := io.StringIO())
    memory.store.import_from(io.StringIO(stream.getvalue()))


WAYS = (
    adds, adds_many, adds_by_id, replaces, updates, hides, talks, asks_over_mcp, sends_a_file,
)  # fmt: skip


def as_read(memory, name):
    """Return all that somebody reads of a memory, and what it is linked to.

    That an agent, which is trusted more than a page, said something else since is no matter of
    what was read: its memory stands beside it, with its own source.
    """
    one = memory.get(name)
    if one.status == "superseded":
        assert memory.get(one.superseded_by).source.kind == "agent"
        one = replace(one, status=Status.ACTIVE, superseded_by=None, valid_until=None)
    seen = replace(one, reinforced=0, updated_at=one.created_at)
    linked = [to.memory.id for to in memory.insight.related(name, status=[*Status]) if to.outgoing]
    return seen, linked, memory.get("other").status


@settings(max_examples=20, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(WAYS), st.sampled_from(THEY), st.sets(st.sampled_from([*MORE]))),
        min_size=1,
        max_size=6,
    ),
    owner=st.sampled_from(["user", PAGE]),
    approved=st.booleans(),
)
def test_what_was_read_is_what_there_is(steps, owner, approved):
    """Whatever pages, tools and files say again, through every door, changes nothing of it."""
    with TemporaryDirectory() as name, MemoryManager(Path(name, "s"), embedder=None) as memory:
        memory.add("Other", id="other")
        memory.add(SAID, id="w", source=owner, tags=["office"], metadata={"url": "good"})
        if approved:
            memory.quarantine.approve("w")
        before = as_read(memory, "w")
        for way, who, fields in steps:
            with suppress(MementoError):
                way(memory, "w", who, {key: MORE[key] for key in fields}, Path(name))
        memory.flush(wait=True)
        replaced = memory.get("w").version > before[0].version
        if replaced:  # only while it waits, and only its own source: that is to be read again
            assert owner == PAGE
            assert not approved
            assert any(way is replaces and who == PAGE for way, who, _ in steps)
            for seen in ("w", before[0]):
                with pytest.raises(ChangedSince):
                    memory.quarantine.approve(seen)
            return
        assert as_read(memory, "w") == before
        assert memory.quarantine.approve("w").text == SAID
        assert memory.get("other").status == "active"


@pytest.mark.parametrize("way", [updates, hides, replaces, adds])
@pytest.mark.parametrize("who", ["agent", "tool", "web"])
def test_what_the_user_approved_nobody_else_changes(tmp_path, way, who):
    """An agent that is trusted more than the page may not either; the user may."""
    with MemoryManager(tmp_path, embedder=None) as memory:
        memory.add(SAID, id="w", source=PAGE)
        approved = memory.quarantine.approve("w")
        with suppress(MementoError):
            way(memory, "w", who, {}, tmp_path)
        left = memory.get("w")
        assert (left.text, left.source, left.status) == (SAID, approved.source, "active")
        with suppress(MementoError):
            way(memory, "w", "user", {}, tmp_path)
        assert memory.get("w") != left


def test_a_memory_that_never_changed_is_approved_by_its_id(tmp_path):
    """Nothing else is needed then, also if it was rejected and restored in between."""
    with MemoryManager(tmp_path, embedder=None) as memory:
        waits = memory.add("The office opens at nine", source="web")
        memory.quarantine.reject(waits.id)
        memory.restore(waits.id)
        assert memory.quarantine.approve(waits.id).status == "active"
