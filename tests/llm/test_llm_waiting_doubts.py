"""A message that waits for a model teaches nothing against later words and acts of the user."""

from __future__ import annotations

from datetime import timedelta
from operator import attrgetter

import pytest

from memento import Config, MemoryManager
from memento.config import LLMConfig, ObserveConfig
from memento.ledger import model_rows
from memento.testing import ManualClock, ScriptedLLM, SlowLLM
from tests.llm.test_llm_waiting import naming
from tests.llm.waiting_stores import data_of, learnt, shown_to, store, waiting

HOME = "I live in Utrecht but the weather is bad."


def homes(task):
    """Answer as a model that points at every sentence about where somebody lives."""
    return {
        "items": [
            {"turn": 0, "quote": said, "class": "identity", "replaces": None, "condition": None}
            for said in data_of(task)["messages"][0]["sentences"]
            if "live" in said
        ]
    }


def home(memory):
    """Return the words of the user about the home."""
    found = memory.value("user/home")
    return None if found is None else found.text


@pytest.mark.parametrize("how", ["observed", "added"])
def test_what_is_shown_later_takes_its_place_by_time(tmp_path, how):
    """It replaces nothing that was said after it, however that was learnt."""
    clock = ManualClock()
    with store(tmp_path, ScriptedLLM(homes), clock) as memory:
        memory.observe(HOME, session="s")
        clock.advance(timedelta(minutes=1))
        if how == "observed":
            memory.observe("I've moved to Porto.", session="s")
        else:
            memory.add("I've moved to Porto.", key="user/home")
        memory.flush(wait=True)
        assert home(memory) == "I've moved to Porto."


def test_a_message_that_failed_first_takes_its_place_by_time(tmp_path):
    """Though a later one is shown before it."""
    clock, later = ManualClock(), "I live in Porto and I love it there, and the people are nice."

    def failing_once(task):
        if len(model.tasks) == 1:
            raise ValueError
        return homes(task)

    model = ScriptedLLM(failing_once)
    with store(tmp_path, model, clock) as memory:
        memory.observe(HOME, session="s")
        memory.flush(wait=True)
        clock.advance(timedelta(seconds=30))
        memory.observe(later, session="s")
        memory.flush(wait=True)
        clock.advance(timedelta(minutes=5))
        memory.flush(wait=True)
        assert (home(memory), waiting(memory)) == (later, [])


def test_each_message_knows_what_the_ones_before_it_taught(tmp_path):
    """As if it had been shown at once: the two ways leave the same behind."""
    left = []
    for background in (False, True):
        llm = LLMConfig(model=ScriptedLLM(shown_to), background=background)
        config = Config(observe=ObserveConfig(mode="full"), llm=llm)
        root, clock = tmp_path / str(background), ManualClock()
        with MemoryManager(root, embedder=None, clock=clock, config=config) as memory:
            for when in ("at five", "at 5am these days, you know"):
                memory.observe(f"The bakery below my flat opens {when}.", session=when)
                clock.advance(timedelta(seconds=1))
            memory.flush(wait=True)
            rows = memory.list(status=None, limit=100)
            left.append(sorted((one.text, one.kind.value, one.status.value) for one in rows))
    assert left[0] == left[1]
    assert [kind for _, kind, _ in left[1]].count("fact") == 2  # both stay: neither has a slot


def test_each_message_has_all_items_of_a_reply(tmp_path):
    """None is lost because others say much."""
    with store(tmp_path, ScriptedLLM(shown_to)) as memory:
        for number in range(8):
            things = ("keys", "rolls", "plans")
            said = [f"I keep the {one} of bakery {number} in the blue box." for one in things]
            memory.observe(" ".join(said), session="s")
        memory.flush(wait=True)
        assert len(learnt(memory)) == 24


@pytest.mark.parametrize("forget", ["hide", "ask"])
@pytest.mark.parametrize("together", [False, True])
def test_a_request_to_forget_is_also_for_what_waits(tmp_path, forget, together):
    """No model sees what was said before it."""
    model, asked = ScriptedLLM(homes), "Please forget my address."
    llm = LLMConfig(model=model, background=True)
    config = Config(observe=ObserveConfig(mode="full", forget=forget), llm=llm)
    with MemoryManager(tmp_path, embedder=None, clock=ManualClock(), config=config) as memory:
        if together:
            said = [{"role": "user", "content": one} for one in (HOME, asked)]
            memory.observe(messages=said, session="s")
        else:
            memory.observe(HOME, session="s")
            memory.observe(asked, session="t")
        memory.flush(wait=True)
        assert (home(memory), waiting(memory), model.tasks) == (None, [], [])


@pytest.mark.parametrize("during", [False, True])
def test_a_value_that_is_forgotten_meanwhile_does_not_come_back(tmp_path, during):
    """A message that was said before it, and says the same, does not teach it."""
    clock, slow = ManualClock(), SlowLLM(homes)
    with store(tmp_path, slow, clock) as memory:
        memory.observe(HOME, session="s")
        clock.advance(timedelta(minutes=1))
        memory.observe("I live in Utrecht.", session="t")
        if during:
            assert not memory.flush(wait=True, timeout=0.01)
            assert slow.asked.wait(20)
        memory.forget(memory.value("user/home").id)
        slow.released.set()
        memory.flush(wait=True)
        assert (home(memory), learnt(memory), waiting(memory)) == (None, set(), [])


def test_another_thing_that_is_forgotten_is_no_obstacle(tmp_path):
    """Nor is what was forgotten before the message came."""
    with store(tmp_path, ScriptedLLM(homes)) as memory:
        memory.forget(memory.add("I live in Utrecht.", kind="fact").id)
        memory.observe(HOME, session="s")
        memory.forget(memory.add("Coffee tastes better after lunch.", kind="fact").id)
        memory.flush(wait=True)
        assert home(memory) == HOME


def test_what_was_confirmed_and_forgotten_is_not_learnt_again(tmp_path):
    """From the same sentence of the same turn."""
    with store(tmp_path, ScriptedLLM(homes)) as memory:
        seen = memory.observe("We live in Porto, cats and all.", session="s")
        memory.forget(memory.rules.confirm(seen.doubtful[0]).id)
        memory.flush(wait=True)
        assert (learnt(memory), waiting(memory)) == (set(), [])


@pytest.mark.parametrize("how", ["forget", "sleep.archive", "store.erase"])
@pytest.mark.parametrize("during", [False, True])
def test_a_correction_that_is_taken_back_is_not_learnt_again(tmp_path, how, during):
    """Whether the model was asked before or after."""
    slow = SlowLLM(naming)
    with store(tmp_path, slow) as memory:
        green = memory.add("The meeting room on the third floor is painted green.", kind="fact")
        said = "No, actually the meeting room upstairs is painted blue."
        blue = memory.observe(said, session="s").learned[0].memory
        if during:
            assert not memory.flush(wait=True, timeout=0.01)
            assert slow.asked.wait(20)
        attrgetter(how)(memory)(blue.id)
        slow.released.set()
        memory.flush(wait=True)
        assert (learnt(memory), waiting(memory)) == (set(), [])
        assert memory.get(green.id).status.value == "active"


def test_a_correction_behind_other_words_is_placed_by_its_sentence(tmp_path):
    """A model points at the whole sentence; what the reader took of it is not learnt twice."""
    with store(tmp_path, ScriptedLLM(naming)) as memory:
        green = memory.add("The meeting room on the third floor is painted green.", kind="fact")
        said = "Hmm, no, actually the meeting room upstairs is painted blue."
        blue = memory.observe(said, session="s").learned[0].memory
        memory.flush(wait=True)
        assert learnt(memory) == {blue.text}
        assert memory.get(green.id).status.value == "superseded"


KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"


def test_a_message_that_held_a_secret_is_shown_at_once(tmp_path):
    """It is stored in other words, in which the places of its sentences are others."""
    model = ScriptedLLM(naming)
    with store(tmp_path, model) as memory:
        green = memory.add("The meeting room on the third floor is painted green.", kind="fact")
        said = f"My key is {KEY}. No, actually the meeting room upstairs is painted blue."
        seen = memory.observe(said, session="s")
        assert (seen.pending, seen.model.sent) == (0, 1)
        assert memory.get(green.id).status.value == "superseded"
        assert KEY not in model.tasks[0].data


@pytest.mark.parametrize("answers", [False, True])
def test_what_is_stored_in_pieces_does_not_wait(tmp_path, answers):
    """The model sees all of a long message, and the end of what a message answers."""
    model, end = ScriptedLLM(shown_to), "The bakery below my flat opens at five."
    with store(tmp_path, model) as memory:
        text = "Look at this log:\n```\n" + "x = 1\n" * 15_000 + f"```\n{end}"
        turns = [("assistant", text), ("user", end)]
        said = [{"role": role, "content": one} for role, one in turns]
        seen = memory.observe(messages=said, session="s") if answers else memory.observe(text)
        assert (seen.pending, seen.model.sent) == (0, 1)
        assert end in model.tasks[0].data
        assert data_of(model.tasks[0])["messages"][0]["before"] == (
            f"Look at this log: {end}" if answers else ""
        )


def test_a_name_of_no_number_harms_nobody(tmp_path):
    """Such a row is dropped."""
    with store(tmp_path, ScriptedLLM(homes)) as memory:
        memory.observe(HOME, session="s")
        for name in ("9" * 19, "x", "", "12"):
            row = (f"llm task {name}", "x")
            memory._engine.ledger.write(lambda c, row=row: c.execute(INSERT, row))
        null = ("llm task 13", None)
        memory._engine.ledger.write(lambda c: c.execute(INSERT, null))
        assert memory.flush(wait=True, timeout=20)
        assert home(memory) == HOME
        assert not memory._engine.ledger.read(model_rows.any_waits)


INSERT = "INSERT INTO meta VALUES (?, ?)"
