"""Inputs that ask for nothing, and such that only look like it."""

from __future__ import annotations

import pytest

from memento import MemoryManager
from memento.text.chatter import is_chatter

IDLE = [
    "ok", "Ok!", "thanks", "Thanks, that is all!", "thank you so much", "haha nice one", "lol",
    "good morning", "Good night then", "hi there", "got it", "sounds good", "never mind",
    "yes please", "no thanks", "one moment please", "wow", "really?", "great, go on",
    "see you later", "danke, alles klar", "guten Morgen", "merci beaucoup", "d'accord, merci",
    "muchas gracias", "obrigado", "dziękuję", "спасибо", "ありがとう", "了解です", "谢谢",
    "감사합니다", "👍",
    "...", "",
]  # fmt: skip
ASKING = [
    "ok, where is it?", "thanks, and when is the dentist?", "night", "the weekend", "day care",
    "Ada", "4711", "E-4417", "what is it", "good dentist", "yes, the blue one", "stop the boiler",
    "nice restaurants", "hello world program", "is the door code right", "see the contract",
    "ok ok ok ok ok ok ok ok ok", "gute Zahnärzte", "merci de me dire où", "谢谢你的书", "うんどう",
]  # fmt: skip


@pytest.mark.parametrize("text", IDLE)
def test_asks_for_nothing(text):
    """Greetings, thanks, reactions, pictograms."""
    assert is_chatter(text)


@pytest.mark.parametrize("text", ASKING)
def test_asks_for_something(text):
    """One word of content is enough; so is a topic that also stands in greetings."""
    assert not is_chatter(text)


def test_nothing_gets_into_a_prompt_for_it(tmp_path):
    """Though memories share its words."""
    with MemoryManager(tmp_path / "store", embedder=None) as memory:
        memory.add("Thanks to Ruth the morning shift is ok")
        memory.add("Good night stories are on the blue shelf")
        assert memory.retrieve("ok thanks")[0].confidence == 0
        for text in IDLE:
            assert memory.prompt(text) == ""
        assert "blue shelf" in memory.prompt("where are the good night stories")
        assert "Ruth" in memory.prompt("ok thanks", min_confidence=0)


def test_a_name_is_no_greeting(tmp_path):
    """Somebody may be called like one."""
    with MemoryManager(tmp_path / "store", embedder=None) as memory:
        memory.add("sings in the choir", key="people/bye", aliases=["Bye"])
        assert "choir" in memory.prompt("Bye")


def test_least_confidence(tmp_path):
    """Nothing is returned below it, everything as before above it."""
    with MemoryManager(tmp_path / "store", embedder=None) as memory:
        memory.add("The boiler is serviced in October by Mr Hale")
        found = memory.retrieve("when is the boiler serviced")
        assert memory.retrieve("when is the boiler serviced", min_confidence=found.confidence)
        above = min(1.0, found.confidence + 0.01)
        assert not memory.retrieve("when is the boiler serviced", min_confidence=above)
