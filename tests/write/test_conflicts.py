"""The settling pass and its verbs: flag, doubt, respect locks and trust, resolve."""

import threading
import time
from datetime import timedelta
from math import inf

import pytest
from beside import read_sql, write_sql

from memento import MemoryManager, background
from memento.claims.settings import Conflicts
from memento.config import Config, IndexConfig
from memento.errors import InvalidInput, LockedMemory, NotFound
from memento.ledger import claim_rows, links
from memento.ledger.schema import SEQ_BITS
from memento.testing import HashEmbedder
from memento.verbs import slots as verbs
from memento.write import settling


def told(memory, *texts, **more):
    """Add statements one after the other, wait until they are compared, and return their ids."""
    ids = [memory.add(text, **more).id for text in texts]
    memory.flush(wait=True)
    return ids


def flagged(memory):
    """Count the pairs that are flagged by now."""
    query = "SELECT count(*) FROM links WHERE relation = 'contradicts' AND src / ? = ?"
    ns = memory._view.ns
    (count,) = read_sql(memory, query, 1 << SEQ_BITS, ns)[0]
    return count


def statuses(memory, *ids):
    """Return the status of each memory."""
    return [memory.get(one).status.value for one in ids]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Ghent", "I moved from Ghent to Turku"),
        ("My desk is in the hall", "My desk is not in the hall"),
        ("I love hiking", "I hate hiking"),
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
        read.extend(row.text for row in rows)
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
    assert flagged(memory) == 0
    monkeypatch.setattr(background, "UNCOMPARED", 2)
    chores.settle()
    assert flagged(memory) == len(pair) / 2


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
    spaces = (memory, memory.of("other"))
    for space in spaces:
        space.add_many(texts)
    chores.settle()
    assert [flagged(space) for space in spaces] == [0, 0]
    monkeypatch.setattr(background, "HELD_SECONDS", 0.0)
    monkeypatch.setattr(background, "TURN_SECONDS", 30.0)
    chores.settle()
    assert [flagged(space) for space in spaces] == [1, 1]
    monkeypatch.setattr(background, "HELD_SECONDS", inf)
    memory.add_many(["My desk is in the hall", "My desk is not in the hall"])
    chores.settle()
    assert memory._engine.ledger.read(lambda c: claim_rows.behind(c, memory._view.ns))
    assert flagged(memory) == 1
    assert len(memory.slots.conflicts()) == 2  # whoever asks does not wait for a turn


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
    told(memory, "I live in Ghent", "I moved from Ghent to Turku")
    assert flagged(memory) == 1


def test_another_value_without_a_word_of_change_is_flagged(memory):
    """Both stay; the later one stands higher, and the earlier one is doubted."""
    before = memory.add("My editor is Vim")
    old, new = before.id, *told(memory, "My editor is Helix")
    (found,) = memory.slots.conflicts()
    assert (found.a.id, found.b.id, found.higher) == (new, old, new)
    assert (found.relation, found.reason) == ("contradicts", "another user/editor")
    assert statuses(memory, old, new) == ["active", "active"]
    assert memory.feedback.belief(old).mean < memory.feedback.belief(new).mean


def test_no_statement_is_read_without_pairs(tmp_path):
    """The pass can be switched off."""
    config = Config(conflicts=Conflicts(pairs=0))
    with MemoryManager(tmp_path / "store", embedder=None, config=config) as memory:
        told(memory, "I live in Ghent", "I moved from Ghent to Turku")
        assert memory.slots.conflicts() == []


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
    (old,) = told(memory, "The Heron is in the hall")
    trusted = memory.feedback.belief(old).mean
    (page,) = told(memory, "The Heron is not in the hall", source="web")
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
    old, new = told(memory, "I live in Ghent", "I moved from Ghent to Turku")
    memory.slots.resolve(new, old, keep="a")
    (echo,) = told(memory, "I live in Ghent.", source="agent")
    (found,) = memory.slots.conflicts()
    assert (found.relation, found.a.id, found.b.id, found.higher) == ("echoes", echo, new, new)
    hits = memory.retrieve("Where do I live, in Ghent?", k=5)
    assert [hit.id for hit in hits].index(new) < [hit.id for hit in hits].index(echo)


def test_the_higher_of_a_pair_comes_first_in_an_answer(memory):
    """Both name each other, and the block of a prompt marks the lower one with the date."""
    old, new = told(memory, "We fly with Heron Air", "We do not fly with Heron Air")
    hits = memory.retrieve("fly with Heron Air", k=5)
    assert [hit.id for hit in hits][:2] == [new, old]
    assert [hit.conflicts for hit in hits][:2] == [(old,), (new,)]
    block = memory.prompt("fly with Heron Air")
    assert block.count("contradicted_by") == 1
    assert block.index("We do not fly") < block.index("We fly")


AIRLINE = "fly with Heron Air"


def test_a_prompt_marks_what_a_statement_outside_the_answer_contradicts(memory, clock):
    """With the day of the higher one while it holds; an answer about the past has no marks."""
    (old,) = told(memory, "We fly with Heron Air", tags=["fleet"])
    clock.advance(timedelta(days=3))
    then = clock()
    (new,) = told(memory, "We do not fly with Heron Air")
    asked = {"tag": ["fleet"], "min_confidence": 0.0}
    assert '"contradicted_by": "2025-01-04"' in memory.prompt(AIRLINE, **asked)
    assert "do not" not in memory.prompt(AIRLINE, **asked)
    assert "contradicted_by" not in memory.prompt(AIRLINE, **asked, as_of=then)
    memory.forget(new)
    assert "contradicted_by" not in memory.prompt(AIRLINE, **asked)
    assert memory.get(old).status == "active"


def test_a_prompt_marks_contradictions_of_a_store_that_has_very_many(memory, clock, monkeypatch):
    """So many that they are not listed."""
    monkeypatch.setattr(links, "_MANY_FLAGGED", 1)
    told(memory, "We fly with Heron Air", tags=["fleet"])
    clock.advance(timedelta(days=3))
    told(memory, "We do not fly with Heron Air")
    asked = {"tag": ["fleet"], "min_confidence": 0.0}
    assert '"contradicted_by": "2025-01-04"' in memory.prompt(AIRLINE, **asked)


def test_the_higher_one_is_not_marked_and_a_narrower_scope_tells_nothing(memory):
    """The lower one outside the answer is no news; and a scope is not seen from around it."""
    told(memory, "We fly with Heron Air")
    told(memory, "We do not fly with Heron Air", tags=["fleet"])
    asked = {"min_confidence": 0.0}
    assert "contradicted_by" not in memory.prompt("not fly with Heron Air", tag=["fleet"], **asked)
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


@pytest.mark.parametrize("kind", ["episode", "emotion", "question", "article"])
def test_what_happened_is_no_claim(memory, kind):
    """These kinds are not flagged."""
    told(memory, "I live in Ghent", "I moved from Ghent to Turku", kind=kind)
    assert memory.slots.conflicts() == []


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
    told(memory, "I live in Ghent")
    told(other, "I moved from Ghent to Turku")
    assert memory.slots.conflicts() == other.slots.conflicts() == []


def test_lost_numbers_are_read_again_and_nothing_is_compared_again(memory):
    """Doctor notices, repairs, and what a person settled stays settled."""
    old, new = told(memory, "I live in Ghent", "I moved from Ghent to Turku")
    memory.slots.resolve(new, old, keep="both")
    write_sql(memory, "DELETE FROM claims")
    looked = memory.store.doctor(repair=False)
    (found,) = [one for one in looked if one.check == "claims"]
    assert not found.ok
    (found,) = [one for one in memory.store.doctor(repair=True) if one.check == "claims"]
    assert found.repaired
    told(memory, "The kettle is blue")
    assert memory.slots.conflicts() == []
    assert all(one.ok for one in memory.store.doctor())


@pytest.mark.parametrize("page", [1, 512])
def test_a_limit_counts_the_pairs_that_are_open(memory, clock, monkeypatch, page):
    """One that ended leaves room for an older one, however many are read at once."""
    monkeypatch.setattr(verbs, "_PAGE", page)
    told(memory, "My editor is Vim", "My editor is Helix", "My name is Ada")
    told(memory, "My name is Bea", expires_in=7_200)
    assert len(memory.slots.conflicts()) == 2
    assert [one.b.text for one in memory.slots.conflicts(limit=1)] == ["My name is Ada"]
    clock.advance(timedelta(hours=3))
    for limit in (1, 2, 100):
        (left,) = memory.slots.conflicts(limit=limit)
        assert left.b.text == "My editor is Vim"
