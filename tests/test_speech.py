"""Blocks of memento and payloads in a message are no speech."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento import Turn
from memento.conversation.speech import LEAST, spoken

ASKED = "What may Rami not eat?"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"


def blocks_of(memory):
    """Return the blocks that memento renders for a prompt, each with the fact in it."""
    memory.add("Rami is allergic to nuts", "long")
    memory.direct("Never serve nuts to Rami")
    memory.direct("Tell Rami about nuts", condition="when Rami asks")
    policy = memory.policy(ASKED, recall=3)
    blocks = [memory.recall(ASKED, min_confidence=0).block, policy.head, policy.tail]
    assert all("nuts" in block for block in blocks)
    return blocks


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize(
    "form",
    ["{0}\n\n{1}", "{1}\n\n{0}", "{1}{0}", "{0} {1}", "{1}\n{1}\n{0}"],
)
def test_a_block_of_memories_is_not_kept_as_the_users_words(open_memory, which, form):
    """Wherever it stands in the message: the turn holds the question alone."""
    memory = open_memory()
    block = blocks_of(memory)[which]
    message = {"role": "user", "content": form.format(ASKED, block)}
    assert [one.text for one in memory.keep([message], session="a")] == [ASKED]
    assert memory.observe(messages=[message], session="b").turns[0].text == ASKED
    assert memory.recall([message], session="c").query == ASKED


def test_a_block_that_is_cut_off_is_not_kept(open_memory):
    """The words behind the gap are the user's again."""
    memory = open_memory()
    for block in blocks_of(memory):
        cut = block[: block.rindex("nuts") + 4]
        assert spoken(f"{cut}\n\n{ASKED}") == ASKED


def test_the_same_message_with_another_block_is_the_same_turn(open_memory):
    """Its identity is what the user says, whatever was recalled for it."""
    memory = open_memory()
    memory.keep([Turn(ASKED)], session="a")
    for block in blocks_of(memory):
        memory.keep([Turn(f"{ASKED}\n\n{block}")], session="a")
    assert len(memory.list(session="a")) == 1


def test_a_message_that_is_only_a_block_says_nothing(open_memory):
    """Neither is it kept, nor is anything learnt from it."""
    memory = open_memory()
    block = blocks_of(memory)[0]
    assert memory.keep([Turn(block)], session="a") == []
    assert memory.observe(block, session="a").turns == ()


@given(st.binary(min_size=300, max_size=2_000), st.sampled_from([0, 64, 76]))
def test_long_base64_is_a_note(data, columns):
    """On one line or on many; the words around it stay."""
    run = base64.b64encode(data * 3).decode()
    if not all(any(map(sort, run)) for sort in (str.isupper, str.islower, str.isdigit)):
        return
    if columns:
        run = "\n".join(run[at : at + columns] for at in range(0, len(run), columns))
    text = spoken(f"My cat is called Tom.\n{run}\nDo you like cats?")
    assert len(text) < LEAST
    assert text.startswith("My cat is called Tom.")
    assert text.endswith("Do you like cats?")


@pytest.mark.parametrize(
    "uri",
    [
        f"data:image/png;base64,{PNG}",
        f"DATA:image/svg+xml;charset=utf-8;BASE64,{PNG}",
        f"data:;base64,{PNG}",
        "data:text/html,%3Ch1%3EMy%20name%20is%20Bob%3C%2Fh1%3E",
        f"![Tom](data:image/png;base64,{PNG})",
    ],
)
def test_a_data_uri_is_a_note(memory, uri):
    """Its content is neither kept nor learnt, and the words beside it are kept."""
    seen = memory.observe(f"I live in Porto.\n\nLook: {uri}", session="a")
    assert "I live in Porto." in seen.turns[0].text
    assert memory.value("user/name") is None
    assert PNG not in seen.turns[0].text
    assert "[data: " in seen.turns[0].text


@given(st.text(max_size=300))
def test_speech_stays(text):
    """A text that a person types is kept as it is."""
    assert spoken(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "https://example.org/" + "a1B2c3" * 60,
        "https://example.org/?signature=" + "a1B2c3" * 60,
        "ACGT" * 200,
        "0123456789abcdef" * 40,
        "Use <memories-x> or <my-component1> here.",
        "The data: 12, 13, 14",
        "word " * 9_000,
    ],
)
def test_long_words_of_other_sorts_stay(text):
    """An address, a sequence, a digest and a tag of another program are the user's."""
    assert spoken(text) == text


def test_a_secret_is_still_found(memory):
    """A key is taken out as a secret, not as a payload: its kind is told."""
    body = "\n".join(["MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn9ygWyF8PbnGy0AHB7MZTrYsSDqq4x9Kp2"] * 6)
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"
    (kept,) = memory.keep([Turn(f"Here: {key}")])
    assert "redacted:" in kept.text


def test_a_great_many_marks_take_no_time():
    """A message of opened and never closed blocks is read once."""
    text = "<memories-0123abcd> a\n\n" * 20_000
    assert spoken(text) == ""
