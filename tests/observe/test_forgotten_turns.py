"""What the user asks to forget is told by no turn either."""

from __future__ import annotations

import pytest


def everything_told(memory, question):
    """Return all that a model would be told."""
    recalled = memory.recall([{"role": "user", "content": question}], session="later", k=20)
    return (
        memory.prompt(question, k=20, min_confidence=0)
        + recalled.block
        + memory.rules.policy().head
    )


@pytest.fixture
def asked(memory):
    """A store whose user told a number twice, and asked to forget it."""
    memory.observe("My phone number is 555 010 1111.", "Noted: 555 010 1111.", session="s")
    memory.observe("My phone number is 555 010 4477 now.", "All right, 555 010 4477.", session="s")
    memory.observe("I live in Porto.", "A fine town.", session="s")
    return memory, memory.observe("Forget my phone number.", "Done.", session="s")


def test_no_prompt_tells_what_was_forgotten(asked):
    """Neither value of the slot is shown: not as a fact, nor as a turn, nor in an answer to one."""
    memory, seen = asked
    assert "555 010" not in everything_told(memory, "What is my phone number?")
    assert len(seen.forget[0].forgotten) >= 5
    assert "Porto" in everything_told(memory, "Where do I live?")
    assert memory.value("user/home") is not None


@pytest.mark.parametrize(
    "request_",
    [
        "Can you forget my phone number?",
        "Could you please delete my phone number?",
        "Would you mind forgetting my phone number?",
        "I want you to forget my phone number.",
        "Forget my phone number, please.",
        "Please forget my phone number now.",
        "Remove my phone number from your memory, please.",
    ],
)
def test_a_request_is_carried_out_however_it_is_made(memory, request_):
    """As a question, with "please" behind it, or as a wish."""
    memory.observe("My phone number is 555 010 4477.", session="a")
    memory.observe(request_, session="b")
    assert memory.value("user/phone") is None
    assert "010 4477" not in everything_told(memory, "What is my phone number?")


def test_a_turn_without_a_session_is_hidden_too(memory):
    """It has no answer to look for."""
    memory.observe("I live in Porto.")
    memory.observe("Forget my home address.")
    assert "Porto" not in everything_told(memory, "Where do I live?")


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("My phone number is 555 010 4477.", "My phone number is 555 010 4477."),
        ("My phone number is 555 010 4477.", "Hi! My phone number is 555 010 4477."),
        ("Hi! My phone number is 555 010 4477.", "My phone number is 555 010 4477."),
        ("My phone number is 555 010 4477.", "Put this under my letters:\nAda\n555 010 4477"),
        ("My phone number is 555 010 4477.", "Call me at 555 010 4477 please."),
        ("My email is ada@corp.example.", "Send the invoice to ada@corp.example, please."),
        ("I live in Porto.", "By the way. I live in Porto."),
        ("My salary is 5100 euros.", "By the way. My salary is 5100 euros."),
    ],
)
def test_a_turn_that_said_it_again_is_hidden_too(memory, first, again):
    """In another session, in other words, in a message that taught nothing."""
    for n, said in enumerate([first, again]):
        memory.observe(said, f"Noted: {said}", session=f"s{n}")
    about = "salary" if "salary" in first else "email" if "@" in first else "phone number"
    memory.observe(f"Forget my {'home address' if 'Porto' in first else about}.", session="t")
    told = everything_told(memory, f"What is my {about}? Where do I live?")
    assert not any(value in told for value in ("010 4477", "ada@corp", "Porto", "5100"))


def test_a_turn_that_only_names_a_place_stays(memory):
    """A value of one word is said where it fills the slot, not wherever the word stands."""
    memory.observe("I live in Porto.", session="a")
    memory.observe("The train from Porto was late.", session="b")
    memory.observe("Forget my home address.", session="c")
    assert "train from Porto" in everything_told(memory, "Was the train late?")


@pytest.mark.parametrize(
    ("messages", "request_", "left"),
    [
        (
            ["My name is Jo. I'm 34. I live in Leeds."],
            "Please forget my address.",
            {"My name is Jo.", "I'm 34."},
        ),
        (["I live in Leeds and work as a nurse."], "Forget my address.", {"I work as a nurse."}),
        (
            ["I live in York. Please always use metric units."],
            "Please forget my address.",
            {"Please always use metric units."},
        ),
        (
            ["I live in Leeds.", "I moved to York. Stop answering in French, use Spanish."],
            "Forget where I live.",
            {"Stop answering in French, use Spanish."},
        ),
        (["I live in Leeds. I'm 34.", "I moved to York."], "Forget my address.", {"I'm 34."}),
        (
            ["My email address is ada@corp.example. My address is 12 Mill Lane, York."],
            "Please forget my address.",
            {"My email address is ada@corp.example."},
        ),
    ],
)
def test_the_rest_of_a_message_stays_learned(memory, messages, request_, left):
    """Only what is asked about goes, and the messages that tell it; ``undo`` brings them back."""
    for said in messages:
        memory.observe(said, session="a")
    before = {one.text for one in memory.list(limit=99)}
    seen = memory.observe(request_, session="b")
    assert {one.text for one in memory.list(limit=99)} == left
    memory.undo(seen.change)
    assert {one.text for one in memory.list(limit=99)} == {*before, request_}
