"""Novelty: the share of telling words a namespace has not met."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento import MemoryManager
from memento.admit import novelty as novelty_module
from memento.admit.importance import LOOKED_AT, telling
from memento.admit.novelty import Novelty
from memento.errors import NotFound
from memento.text.words import words


def share(memory, text, *, of=1, novelty=None):
    """Ask for the share of a text's telling words that a namespace has not met, and count them."""
    novelty = novelty or Novelty()
    asked = telling(words(text))

    def ask(session):
        met = novelty.met(session, of)
        met.ask(session, asked)
        share = met.share(asked)
        met.new.update(asked)
        return met, share

    met, found = memory._engine.ledger.read(ask)
    novelty.count(met)
    return found


def test_all_is_new_at_first_and_nothing_the_second_time(memory):
    """Words count as met once they were counted, before full text knows their row."""
    novelty = Novelty()
    assert share(memory, "green bicycle", novelty=novelty) == 1.0
    assert share(memory, "green bicycle", novelty=novelty) == 0.0
    assert share(memory, "green umbrella", novelty=novelty) == 0.5


def test_words_in_the_ledger_are_known_after_reopening(open_memory):
    """A new process knows the words stored before, and their inflected forms."""
    memory = open_memory()
    memory.add("green bicycles")
    assert share(memory, "green bicycles") == 0.0
    memory.flush()
    assert share(memory, "green bicycle") == 0.0


def test_each_namespace_has_its_own(memory):
    """A word that one namespace knows is new to another."""
    memory.add("green bicycle")
    novelty = Novelty()
    assert share(memory, "green bicycle", of=2, novelty=novelty) == 1.0
    assert share(memory, "green bicycle", novelty=novelty) == 0.0


def test_nothing_to_tell_is_nothing_new(memory):
    """A text without words has no novelty."""
    assert share(memory, "?!") == 0.0


def test_it_forgets_in_ram_but_not_in_the_ledger(memory, monkeypatch):
    """Past its size the memory of known words starts again from the ledger."""
    monkeypatch.setattr(novelty_module, "REMEMBERED", 1)
    memory.add("green bicycle")
    novelty = Novelty()
    share(memory, "red balloon", novelty=novelty)
    assert share(memory, "green bicycle", novelty=novelty) == 0.0
    assert share(memory, "red balloon", novelty=novelty) == 1.0


@given(st.lists(st.text(max_size=20), max_size=5))
def test_any_words_give_a_share(memory, texts):
    """No script and no sign makes the look-up fail."""
    novelty = Novelty()
    for text in texts:
        assert 0.0 <= share(memory, text, novelty=novelty) <= 1.0


def test_words_of_many_namespaces_do_not_pile_up(memory, monkeypatch):
    """The bound is for all together: the namespaces used last keep theirs."""
    monkeypatch.setattr(novelty_module, "REMEMBERED", 30)
    for n in range(100):
        memory.of(f"tenant{n}").add(f"gyroscope{n} peregrination{n} xylophone{n}")
    novelty = memory._engine._novelty
    held = sum(len(words) for words in novelty._known.values())
    assert held == novelty._held
    assert held <= 30 + LOOKED_AT
    assert memory._engine.ledger.find_namespace(("tenant99",)) in novelty._known


def test_what_nobody_approved_makes_nothing_less_new(tmp_path, clock):
    """A memory weighs the same with and without a page beside that used its words before."""
    said = "The bicycle lock opens with 4711"
    weights = []
    for name in ("alone", "beside", "indexed"):
        with MemoryManager(tmp_path / name, embedder=None, clock=clock) as memory:
            if name != "alone":
                memory.add(f"{said}, says the page", source="web")
                memory.quarantine.reject(memory.add(f"Never: {said}", source="web").id)
            if name == "indexed":
                memory.add_many({"text": f"page {n}", "source": "web"} for n in range(100))
            weights.append(memory.add(said).importance)
    assert weights[0] == weights[1] == weights[2]


SAID = "The bicycle lock opens with 4711"


@pytest.mark.parametrize("named", [{"tags": ["quartz"]}, {"actor": "quartz"}, {"key": "quartz"}])
def test_a_name_is_no_word_of_a_text_once_it_is_indexed(open_memory, tmp_path, named):
    """The importance of a memory does not tell whether full text had been made by then."""
    found = []
    for indexed in (False, True):
        memory = open_memory(tmp_path / str(indexed))
        memory.add("The blue lamp hangs in the hall", **named)
        if indexed:
            memory.flush()
        found.append(memory.add("A quartz of the old kind lies there").importance)
    assert found[0] == found[1]


@pytest.mark.parametrize("gone", [False, True], ids=["there", "forgotten"])
def test_an_importance_is_the_same_before_and_after_full_text(open_memory, tmp_path, gone):
    """Words of a memory whose importance was given are met, those of a forgotten one are not."""
    found = []
    for indexed in (False, True):
        memory = open_memory(tmp_path / str(indexed))
        memory.add("The blue lamp hangs in the hall")
        quartz = memory.add("The quartz lies in the drawer", "long", importance=0.5)
        if gone:
            memory.forget(quartz.id)
        if indexed:
            memory.flush()
        found.append(memory.add("A quartz of the old kind was polished").importance)
    assert found[0] == found[1]


@pytest.mark.parametrize("several", [False, True])
def test_an_add_that_fails_makes_nothing_less_new(memory, several):
    """After a failed add the same text weighs what it weighs in a namespace that saw no failure."""
    expected = memory.of("undisturbed").add(SAID, kind="episode")
    view = memory.of("disturbed")
    view.add("something else")
    failing = {"text": SAID, "kind": "episode", "supersedes": "missing"}
    with pytest.raises(NotFound):
        view.add_many([{"text": SAID, "kind": "episode"}, failing] if several else [failing])
    stored = view.add(SAID, kind="episode")
    assert (stored.importance, stored.tier) == (expected.importance, expected.tier)


def test_a_namespace_whose_first_add_failed_leaves_no_words(memory):
    """The next namespace gets the same number, but none of the words."""
    with pytest.raises(NotFound):
        memory.of("a").add(SAID, supersedes="missing")
    weight = memory.of("b").add(SAID).importance
    assert weight == memory.of("c").add(SAID).importance


def test_within_one_call_later_texts_see_the_words_of_earlier_ones(memory):
    """Of equal turns in one call the second brings nothing new."""
    turn = {"text": SAID, "session": "s", "kind": "episode", "tier": "medium"}
    first, second = memory.add_many([turn, turn])
    assert first.id != second.id
    assert second.importance < first.importance


def test_a_failure_in_a_group_makes_nothing_less_new_for_the_others(memory):
    """Two adds in one commit: the one that succeeds weighs as if the other had not run."""
    expected = memory.of("alone").add(SAID).importance
    view = memory.of("group")
    view.add("something else")
    writer = memory._engine.ledger._writer()
    stored = []

    def fail():
        with pytest.raises(NotFound):
            view.add(SAID, supersedes="missing")
        stored.append(None)

    threads = [
        threading.Thread(target=fail),
        threading.Thread(target=lambda: stored.append(view.add(SAID).importance)),
    ]
    writer.hold(writer)
    try:
        for waiting, thread in enumerate(threads, start=1):
            thread.start()
            while len(writer._waiting) < waiting:  # the failing one comes first
                time.sleep(0.001)
    finally:
        writer.release(writer)
    for thread in threads:
        thread.join()
    assert sorted(stored, key=str) == [expected, None]


def test_a_commit_that_fails_makes_nothing_less_new(memory, monkeypatch):
    """A job that ran, but whose transaction was undone, leaves no words."""
    expected = memory.of("alone").add(SAID).importance
    view = memory.of("broken")
    view.add("something else")
    ledger = memory._engine.ledger
    with monkeypatch.context() as patched:
        write = ledger.write

        def undone(job, **options):
            def run(session):
                job(session)
                raise KeyboardInterrupt

            return write(run, **options)

        patched.setattr(ledger, "write", undone)
        with pytest.raises(KeyboardInterrupt):
            view.add(SAID)
    assert view.add(SAID).importance == expected
