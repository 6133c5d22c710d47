"""The settling pass and its verbs: supersede, flag, doubt, respect locks and trust, undo."""

import threading
import time
from datetime import timedelta
from math import inf

import pytest

from memento import MemoryManager, background
from memento.claims.settings import Conflicts
from memento.config import Config, IndexConfig
from memento.errors import InvalidInput, LockedMemory, NotFound
from memento.ledger import claim_rows, links
from memento.testing import HashEmbedder, ManualClock
from memento.write import settling


def told(memory, *texts, **more):
    """Add statements one after the other, wait until they are compared, and return their ids."""
    ids = [memory.add(text, **more).id for text in texts]
    memory.flush(wait=True)
    return ids


def statuses(memory, *ids):
    """Return the status of each memory."""
    return [memory.get(one).status.value for one in ids]


def test_a_statement_that_names_the_old_value_supersedes_it(memory):
    """It is a change of its own, with a reason in the log, and the new one is its successor."""
    old, new = told(memory, "I live in Ghent", "I moved from Ghent to Turku")
    assert statuses(memory, old, new) == ["superseded", "active"]
    assert memory.get(old).superseded_by == new
    (change,) = memory.changes.list()
    assert (change.kind, change.changed) == ("settle", (old,))
    assert memory.slots.conflicts() == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My landlord is Mr Adler", "My landlord is Ms Baum"),
        ("The rent is 560 euros", "The rent is 640 euros"),
        ("My editor is Vim", "My editor is Helix"),
    ],
)
@pytest.mark.parametrize("embedder", [None, HashEmbedder(16)], ids=["text", "hybrid"])
def test_a_conflict_is_flagged_at_once(tmp_path, embedder, old, new):
    """Right after two statements were added, and told once only."""
    with MemoryManager(tmp_path / "s", embedder=embedder) as memory:
        one, other = memory.add(old), memory.add(new)
        (found,) = memory.slots.conflicts()
        assert {found.a.id, found.b.id} == {one.id, other.id}
        assert len(memory.slots.conflicts()) == 1


def test_no_text_is_read_while_others_wait_to_write(memory, monkeypatch):
    """A memory that comes after the texts were read is left to the next transaction of the pass."""
    read_ahead, settle_next = settling.read_ahead, settling.settle_next
    writing, read = [], []

    def reading(rows, config):
        assert not writing
        readings = read_ahead(rows, config)
        if not read:
            memory.add("The kettle is in Turku")
        read.extend(readings)
        return readings

    def settle(*given):
        writing.append(True)
        try:
            return settle_next(*given)
        finally:
            writing.pop()

    monkeypatch.setattr(settling, "read_ahead", reading)
    monkeypatch.setattr(settling, "settle_next", settle)
    told(memory, "I live in Ghent")
    assert read == ["I live in Ghent", "The kettle is in Turku"]


def test_the_pass_gives_way_to_a_stream_of_adds(memory, monkeypatch):
    """It goes on once many statements wait, and when a caller waits for it."""
    chores = memory._engine.background.statements
    monkeypatch.setattr(memory._engine.background.traffic, "streaming", lambda: True)
    pair = [memory.add(text).id for text in ("I live in Ghent", "I moved from Ghent to Turku")]
    chores.settle()
    assert statuses(memory, *pair) == ["active", "active"]
    monkeypatch.setattr(background, "UNCOMPARED", 2)
    chores.settle()
    assert statuses(memory, *pair) == ["superseded", "active"]


@pytest.mark.parametrize("busy", ["adds", "queries"])
def test_no_namespace_is_held_back_for_ever(memory, monkeypatch, busy):
    """After a while each has its turn, whatever goes on; then the others go first again."""
    chores = memory._engine.background.statements
    monkeypatch.setattr(background, "HELD_SECONDS", inf)
    if busy == "adds":
        monkeypatch.setattr(memory._engine.background.traffic, "streaming", lambda: True)
    else:
        monkeypatch.setattr(memory._engine.background.traffic, "busy", lambda: True)
    texts = ("I live in Ghent", "I moved from Ghent to Turku")
    pairs = [
        (space, [space.add(text).id for text in texts]) for space in (memory, memory.of("other"))
    ]
    chores.settle()
    assert [statuses(space, *ids)[0] for space, ids in pairs] == ["active", "active"]
    monkeypatch.setattr(background, "HELD_SECONDS", 0.0)
    monkeypatch.setattr(background, "TURN_SECONDS", 30.0)
    chores.settle()
    assert [statuses(space, *ids)[0] for space, ids in pairs] == ["superseded", "superseded"]
    monkeypatch.setattr(background, "HELD_SECONDS", inf)
    late = [
        memory.add(text).id for text in ("My desk is in the hall", "My desk is not in the hall")
    ]
    chores.settle()
    assert memory._engine.ledger.read(lambda c: claim_rows.behind(c, memory._view.ns))
    assert statuses(memory, *late) == ["active", "active"]
    assert len(memory.slots.conflicts()) == 1  # whoever asks does not wait for a turn


def test_memories_get_vectors_while_very_many_statements_wait(open_memory, monkeypatch):
    """A bulk import has questions by meaning long before its last statement was compared."""
    soon = IndexConfig(start_seconds=0.0, poll_seconds=0.01)
    memory = open_memory(embedder=HashEmbedder(8), config=Config(index=soon))
    chores, compared = memory._engine.background.statements, threading.Event()

    def some(_):
        compared.set()
        time.sleep(0.01)
        return True

    monkeypatch.setattr(chores, "_is_behind", lambda _: True)
    monkeypatch.setattr(chores, "_settle_some", some)
    monkeypatch.setattr(background, "QUIET_SECONDS", 0.05)
    memory.add("The rent is due on the first")
    assert compared.wait(30)
    memory.add_many(f"note {n}" for n in range(100))
    ends = time.monotonic() + 30
    while memory.store.stats().backlog.get("embed") and time.monotonic() < ends:
        time.sleep(0.01)
    assert not memory.store.stats().backlog.get("embed")


def test_a_quiet_moment_has_an_end(memory):
    """Then there is more to do at once; a caller who waits has no such end."""
    chores = memory._engine.background.statements
    with memory._engine.indexer.paused():
        ids = [memory.add(f"My desk number {n} is in the hall").id for n in range(80)]
        memory._engine.background.traffic.added = -inf
        assert chores.settle(seconds=0)
        ns = memory._engine.ledger.find_namespace(memory.store.namespace)
        left = memory._engine.ledger.read(lambda c: claim_rows.waiting(c, ns))
        assert 0 < left < len(ids)
        assert not chores.settle(gives_way=False, seconds=inf)
    assert not memory._engine.ledger.read(lambda c: claim_rows.behind(c, ns))


def test_nobody_waits_for_a_caller_who_has_statements_compared(memory):
    """The background thread goes on with its other work meanwhile."""
    chores = memory._engine.background.statements
    memory.add("I live in Ghent")
    with chores.turn:
        assert not chores.settle()


def test_flush_waits_for_the_pass_in_a_stream_of_adds(memory, monkeypatch):
    """However few statements wait."""
    monkeypatch.setattr(memory._engine.background.traffic, "streaming", lambda: True)
    assert statuses(memory, *told(memory, "I live in Ghent", "I moved from Ghent to Turku")) == [
        "superseded",
        "active",
    ]


def test_an_undone_supersession_is_not_done_again(memory, clock):
    """Neither by the next pass, nor after a repair that reads all statements again."""
    old, new = told(memory, "I live in Ghent", "I moved from Ghent to Turku")
    memory.undo(memory.changes.list()[0].number)
    clock.advance(timedelta(days=1))
    told(memory, "The kettle is blue")
    assert statuses(memory, old, new) == ["active", "active"]


def test_another_value_without_a_word_of_change_is_flagged(memory):
    """Both stay; the later one stands higher, and the earlier one is doubted."""
    before = memory.add("My editor is Vim")
    old, new = before.id, *told(memory, "My editor is Helix")
    (found,) = memory.slots.conflicts()
    assert (found.a.id, found.b.id, found.higher) == (new, old, new)
    assert (found.relation, found.reason) == ("contradicts", "another editor")
    assert statuses(memory, old, new) == ["active", "active"]
    assert memory.feedback.belief(old).mean < memory.feedback.belief(new).mean


@pytest.mark.parametrize(
    ("supersede", "change", "status"),
    [
        ("keys", "I moved from Ghent to Turku", "active"),
        ("explicit", "I live in Turku now", "active"),
        ("explicit", "I moved from Ghent to Turku", "superseded"),
        ("updates", "I live in Turku now", "superseded"),
        ("updates", "I live in Turku", "active"),
    ],
)
def test_the_setting_says_what_supersedes(tmp_path, supersede, change, status):
    """An update that may not supersede is flagged."""
    config = Config(conflicts=Conflicts(supersede=supersede))
    with MemoryManager(tmp_path / "store", embedder=None, config=config) as memory:
        old, _ = told(memory, "I live in Ghent", change)
        assert statuses(memory, old) == [status]
        assert len(memory.slots.conflicts()) == (status == "active")


@pytest.mark.parametrize(
    "more",
    [
        {"expires_in": timedelta(days=2)},
        {"valid_until": ManualClock()() + timedelta(days=2)},
        {"due_at": ManualClock()() + timedelta(days=2)},
        {"condition": "when it rains"},
    ],
    ids=["expires", "ends", "due", "condition"],
)
def test_what_does_not_hold_for_good_supersedes_nothing(memory, more):
    """When it ends, nothing would be left: both stay, flagged."""
    (old,) = told(memory, "I live in Ghent")
    (new,) = told(memory, "I moved from Ghent to Turku", **more)
    assert statuses(memory, old, new) == ["active", "active"]
    assert len(memory.slots.conflicts()) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My boss is Anna.", "My boss is Ines tonight instead of Anna."),
        (
            "My diet is vegan because I am allergic to milk.",
            "My diet is vegetarian now, not vegan.",
        ),
    ],
)
def test_a_change_that_may_leave_something_true_is_flagged(memory, old, new):
    """Both are found, the newer one first."""
    ids = told(memory, old, new)
    assert statuses(memory, *ids) == ["active", "active"]
    assert [one.higher for one in memory.slots.conflicts()] == [ids[1]]


def test_no_statement_is_read_without_pairs(tmp_path):
    """The pass can be switched off."""
    config = Config(conflicts=Conflicts(pairs=0))
    with MemoryManager(tmp_path / "store", embedder=None, config=config) as memory:
        old, _ = told(memory, "I live in Ghent", "I moved from Ghent to Turku")
        assert statuses(memory, old) == ["active"]
        assert memory.slots.conflicts() == []


def test_a_vocabulary_of_the_caller_adds_attributes(tmp_path):
    """A noun that memento does not know names an attribute with one value."""
    config = Config(conflicts=Conflicts(vocabulary={"berth": "room"}))
    with MemoryManager(tmp_path / "store", embedder=None, config=config) as memory:
        told(memory, "Our berth is B14", "Our berth is B6")
        assert len(memory.slots.conflicts()) == 1


class Model:
    """A judge that finds that everything contradicts everything, or is unsure."""

    def __init__(self, probability):
        self.probability = probability

    def judge(self, new, old):
        """Return a verdict and its probability."""
        assert new != old
        return "updates", self.probability


@pytest.mark.parametrize(("probability", "count"), [(0.9, 1), (0.5, 0)])
def test_a_judge_may_flag_and_never_supersedes(tmp_path, probability, count):
    """Only if it is sure."""
    config = Config(conflicts=Conflicts(judge=Model(probability)))
    with MemoryManager(tmp_path / "store", embedder=None, config=config) as memory:
        ids = told(memory, "I use Vim", "I use Helix")
        assert statuses(memory, *ids) == ["active", "active"]
        assert len(memory.slots.conflicts()) == count


def test_a_locked_memory_is_never_superseded(memory):
    """The new one is flagged against it and doubted, and the locked one is as it was."""
    (old,) = told(memory, "I live in Ghent")
    memory.update(old, lock="user")
    before = memory.get(old)
    (new,) = told(memory, "I moved from Ghent to Turku")
    assert memory.get(old) == before
    assert [one.a.id for one in memory.slots.conflicts()] == [new]
    assert memory.feedback.belief(new).mean < memory.feedback.belief(old).mean


def test_a_web_page_neither_supersedes_nor_doubts_what_the_user_said(memory):
    """In quarantine it is not even read; approved, it is flagged and stands lower."""
    (old,) = told(memory, "The budget of Heron is 40 euros")
    trusted = memory.feedback.belief(old).mean
    (page,) = told(memory, "The budget of Heron is 90 euros now, not 40 euros", source="web")
    assert memory.slots.conflicts() == []
    memory.quarantine.approve(page)
    memory.flush(wait=True)
    (found,) = memory.slots.conflicts()
    assert found.higher == old
    assert statuses(memory, old, page) == ["active", "active"]
    assert memory.feedback.belief(old).mean == trusted


def test_alice_and_bob_both_survive(memory):
    """The deeds and homes of two people do not conflict."""
    ids = told(
        memory, "Alice reviewed the patch", "Bob reviewed the patch",
        "Alice lives in Ghent", "Bob lives in Turku now",
    )  # fmt: skip
    assert set(statuses(memory, *ids)) == {"active"}
    assert memory.slots.conflicts() == []


def test_what_an_agent_repeats_of_the_past_is_an_echo(memory):
    """However new: it is linked to what holds now, and stands below it."""
    _, new = told(memory, "I live in Ghent", "I moved from Ghent to Turku")
    (echo,) = told(memory, "Noted: I live in Ghent", source="agent")
    (found,) = memory.slots.conflicts()
    assert (found.relation, found.a.id, found.b.id, found.higher) == ("echoes", echo, new, new)
    hits = memory.retrieve("Where do I live, in Ghent?", k=5)
    assert [hit.id for hit in hits].index(new) < [hit.id for hit in hits].index(echo)


def test_the_higher_of_a_pair_comes_first_in_an_answer(memory):
    """Both name each other, and the block of a prompt marks the lower one with the date."""
    old, new = told(memory, "Our airline is Heron Air", "Our airline is Egret")
    hits = memory.retrieve("airline Heron Air", k=5)
    assert [hit.id for hit in hits][:2] == [new, old]
    assert [hit.conflicts for hit in hits][:2] == [(old,), (new,)]
    block = memory.prompt("airline Heron Air")
    assert block.count("contradicted_by") == 1
    assert block.index("Egret") < block.index("Heron Air")


AIRLINE = "airline Heron Air"


def test_a_prompt_marks_what_a_statement_outside_the_answer_contradicts(memory, clock):
    """With the day of the higher one while it holds; an answer about the past has no marks."""
    (old,) = told(memory, "Our airline is Heron Air", tags=["fleet"])
    clock.advance(timedelta(days=3))
    then = clock()
    (new,) = told(memory, "Our airline is Egret")
    asked = {"tag": ["fleet"], "min_confidence": 0.0}
    assert '"contradicted_by": "2025-01-04"' in memory.prompt(AIRLINE, **asked)
    assert "Egret" not in memory.prompt(AIRLINE, **asked)
    assert "contradicted_by" not in memory.prompt(AIRLINE, **asked, as_of=then)
    memory.forget(new)
    assert "contradicted_by" not in memory.prompt(AIRLINE, **asked)
    assert memory.get(old).status == "active"


def test_a_prompt_marks_contradictions_of_a_store_that_has_very_many(memory, clock, monkeypatch):
    """So many that they are not listed."""
    monkeypatch.setattr(links, "_MANY_FLAGGED", 1)
    told(memory, "Our airline is Heron Air", tags=["fleet"])
    clock.advance(timedelta(days=3))
    told(memory, "Our airline is Egret")
    asked = {"tag": ["fleet"], "min_confidence": 0.0}
    assert '"contradicted_by": "2025-01-04"' in memory.prompt(AIRLINE, **asked)


def test_the_higher_one_is_not_marked_and_a_narrower_scope_tells_nothing(memory):
    """The lower one outside the answer is no news; and a scope is not seen from around it."""
    told(memory, "Our airline is Heron Air")
    told(memory, "Our airline is Egret", tags=["fleet"])
    asked = {"min_confidence": 0.0}
    assert "contradicted_by" not in memory.prompt("airline Egret", tag=["fleet"], **asked)
    (wide,) = told(memory, "My editor is Vim")
    (narrow,) = told(memory, "My editor is Helix", scope="team")
    assert {one.higher for one in memory.slots.conflicts()} >= {narrow}
    assert "contradicted_by" not in memory.prompt("editor Vim", ids=[wide], **asked)


@pytest.mark.parametrize(
    ("keep", "after"),
    [
        ("a", ["superseded", "active"]),
        ("b", ["active", "superseded"]),
        ("both", ["active", "active"]),
        ("neither", ["forgotten", "forgotten"]),
    ],
)
def test_a_person_settles_a_pair_for_good(memory, keep, after):
    """It is one change; the pair is not flagged again, even after an edit; undo brings it back."""
    old, new = told(memory, "My editor is Vim", "My editor is Helix")
    memory.slots.resolve(new, old, keep=keep)
    assert statuses(memory, old, new) == after
    assert memory.slots.conflicts() == []
    assert len(memory.slots.conflicts(status="resolved")) == 1
    if keep == "both":
        memory.update(new, text="My editor is Zed")
        memory.flush(wait=True)
        assert memory.slots.conflicts() == []
        return
    memory.undo(memory.changes.list()[0].number)
    assert statuses(memory, old, new) == ["active", "active"]
    assert len(memory.slots.conflicts()) == 1


def test_a_locked_memory_does_not_give_way_to_a_verdict(memory):
    """Nothing is written."""
    old, new = told(memory, "My editor is Vim", "My editor is Helix")
    memory.update(old, lock="user")
    with pytest.raises(LockedMemory):
        memory.slots.resolve(new, old, keep="a")
    assert len(memory.slots.conflicts()) == 1


def test_wrong_arguments_are_refused(memory):
    """A misspelt choice, the same id twice, an id that is not there."""
    (one,) = told(memory, "My editor is Vim")
    with pytest.raises(InvalidInput, match="keep"):
        memory.slots.resolve(one, one, keep="left")
    with pytest.raises(InvalidInput, match="same"):
        memory.slots.resolve(one, one, keep="a")
    with pytest.raises(NotFound):
        memory.slots.resolve(one, "nobody", keep="a")
    with pytest.raises(InvalidInput, match="status"):
        memory.slots.conflicts(status="shut")


@pytest.mark.parametrize(
    "settings", [{"supersede": "all"}, {"pairs": -1}, {"vocabulary": {"A": "b"}}]
)
def test_settings_are_checked(settings):
    """Each field has a range."""
    with pytest.raises(InvalidInput, match=next(iter(settings))):
        Conflicts(**settings)


def test_a_key_is_not_lost_to_a_statement(memory):
    """The holder of a slot gives way to another value of its key only; else it is flagged."""
    holder = memory.add("I live in Ghent", key="me/home")
    told(memory, "I moved from Ghent to Turku")
    assert memory.value("me/home").id == holder.id
    assert len(memory.slots.conflicts()) == 1


@pytest.mark.parametrize("kind", ["episode", "emotion", "question", "article"])
def test_what_happened_is_no_claim(memory, kind):
    """These kinds neither supersede nor are flagged."""
    ids = told(memory, "I live in Ghent", "I moved from Ghent to Turku", kind=kind)
    assert set(statuses(memory, *ids)) == {"active"}


def test_an_edited_statement_is_compared_again(memory):
    """Its old links go, and what it says now is flagged."""
    _, new = told(memory, "My editor is Vim", "My editor is Helix")
    memory.update(new, text="My editor is Vim")
    memory.flush(wait=True)
    assert memory.slots.conflicts() == []
    memory.update(new, text="My editor is Zed")
    memory.flush(wait=True)
    assert len(memory.slots.conflicts()) == 1


def test_the_numbers_of_an_erased_statement_are_gone(memory):
    """And doctor finds nothing amiss."""
    old, _ = told(memory, "My editor is Vim", "My editor is Helix")
    memory.store.erase(old)
    assert memory.slots.conflicts() == []
    assert all(one.ok for one in memory.store.doctor())


def test_namespaces_do_not_meet(memory):
    """A statement of one namespace is never compared with one of another."""
    other = memory.of("bob")
    (mine,) = told(memory, "I live in Ghent")
    told(other, "I moved from Ghent to Turku")
    assert statuses(memory, mine) == ["active"]
    assert other.slots.conflicts() == []


def test_lost_numbers_are_read_again_and_nothing_is_compared_again(memory):
    """Doctor notices, repairs, and what a person undid stays undone."""
    old, new = told(memory, "I live in Ghent", "I moved from Ghent to Turku")
    memory.undo(memory.changes.list()[0].number)
    memory.flush(wait=True)
    memory._engine.ledger.write(lambda session: session.execute("DELETE FROM claims"))
    looked = memory.store.doctor(repair=False)
    (found,) = [one for one in looked if one.check == "claims"]
    assert not found.ok
    (found,) = [one for one in memory.store.doctor(repair=True) if one.check == "claims"]
    assert found.repaired
    told(memory, "The kettle is blue")
    assert statuses(memory, old, new) == ["active", "active"]
    assert all(one.ok for one in memory.store.doctor())
