"""Inputs that ask the world, and such that only look like it."""

from __future__ import annotations

import pytest

from memento.text.worldly import is_worldly

WORLDLY = [
    "convert 5 miles to km", "12 stone in kilos", "What is 30 fahrenheit in celsius?",
    "how many ounces in a pound", "what is 17 times 23", "3 + 4", "calculate 12.5 / 2",
    "What\u2019s the square root of 144?", "write me a haiku about rain", "Tell us a joke!",
    "can you write a short funny poem for a card", "give me a fun fact", "translate it into French",
    "how do you say good evening in Polish", "set a timer for ten minutes", "turn the lights off",
    "play some music", "what's the weather like tomorrow", "is it raining in Oslo", "a cup in ml",
    "what time is it in Tokyo",
]  # fmt: skip
REMEMBERED = [
    "how many kilos did I lose", "how many days of leave have I left", "what weighs 12 stone",
    "what is the time of the talk", "which poem did Ada write", "write to Ada about the poem",
    "tell me about the joke that Bob told", "what did Otis say in French", "who sets the timer",
    "how much is the rent", "is it Ada's turn", "the weather station", "12 stone", "play group",
    "when is the 3 o'clock train",
    "write down that the poem for Ada is in the drawer on the left of my desk on the top floor",
]  # fmt: skip


@pytest.mark.parametrize("text", WORLDLY)
def test_asks_the_world(text):
    """Sums, conversions, translations, works of wit, devices, the weather and the clock."""
    assert is_worldly(text)


@pytest.mark.parametrize("text", REMEMBERED)
def test_may_ask_a_memory(text):
    """The same words about what somebody told."""
    assert not is_worldly(text)


def test_what_asks_the_world_puts_nothing_into_the_prompt(memory):
    """Although a memory has words of it; and a question about the same memory shows it."""
    memory.add("Ada wrote a poem about rain")
    memory.add("The rain barrel is full")
    assert memory.prompt("write me a poem about the sea", record=False) == ""
    assert "Ada" in memory.prompt("which poem did Ada write?", record=False)
    found = memory.retrieve("write me a poem about the sea", record=False)
    assert found[0].text == "Ada wrote a poem about rain"
