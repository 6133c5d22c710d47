"""Novelty: the share of telling words a namespace has not met."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memento import MemoryManager
from memento.admit import novelty as novelty_module
from memento.admit.importance import LOOKED_AT, telling
from memento.admit.novelty import Novelty
from memento.language.words import words


def share(memory, text, *, of=1, novelty=None):
    """Ask for the share of a text's telling words that a namespace has not met."""
    novelty = novelty or Novelty()
    asked = telling(words(text))
    return memory._engine.ledger.read(lambda c: novelty.share(c, of, asked))


def test_all_is_new_at_first_and_nothing_the_second_time(memory):
    """Words count as met once they were looked at, before the row is even written."""
    novelty = Novelty()
    assert share(memory, "green bicycle", novelty=novelty) == 1.0
    assert share(memory, "green bicycle", novelty=novelty) == 0.0
    assert share(memory, "green umbrella", novelty=novelty) == 0.5


def test_words_in_the_ledger_are_known_after_reopening(open_memory):
    """What was stored before is not new to a new process; inflected forms neither."""
    memory = open_memory()
    memory.add("green bicycles")
    assert share(memory, "green bicycles") == 0.0
    memory.flush()
    assert share(memory, "green bicycle") == 0.0


def test_each_namespace_has_its_own(memory):
    """What one namespace knows is new to another."""
    memory.add("green bicycle")
    novelty = Novelty()
    assert share(memory, "green bicycle", of=2, novelty=novelty) == 1.0
    assert share(memory, "green bicycle", novelty=novelty) == 0.0


def test_nothing_to_tell_is_nothing_new(memory):
    """A text without words has no novelty."""
    assert share(memory, "?!") == 0.0


def test_it_forgets_in_ram_but_not_in_the_ledger(memory, monkeypatch):
    """Past its size the memory of known words starts anew from the ledger."""
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
