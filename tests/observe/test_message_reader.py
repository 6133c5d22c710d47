"""The reader: its windows, what a statement is, its threads."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import MESSAGES, NOT_OWN

from memento.observe import reader
from memento.observe.candidates import find
from memento.observe.mask import HIDDEN, hide
from memento.observe.reader import MESSAGE_TOKENS, Reader, Reading
from memento.observe.signals import Signal
from tests.observe.stand_in import CLASSES, LEFT, StandIn

SAID = "My name is Ada. I live in Porto."


def test_importing_loads_no_model():
    """The first message loads it, and not even numpy before."""
    script = """
import sys
import memento, memento.observe.candidates
print({"memento.observe.reader", "numpy", "onnxruntime"} & sys.modules.keys() or "none")
memento.observe.candidates.find("Ich heiße Anna.")
print("onnxruntime" in sys.modules)
memento.observe.candidates.find("My name is Bo.")
print("onnxruntime" in sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["none", "False", "True"]


# -------------------------------------------------------------------- windows


def tokens(text):
    """Return the places of the tokens of a text."""
    return Reader.load().read(text).places


@pytest.mark.parametrize(
    "text",
    [
        "I like tea. " * 200,
        "one line of words\n" * 120,
        "word " * 700,
        "a.b" * 400,
        f"{'no end ' * 100}. {'And on. ' * 100}",
    ],
    ids=["sentences", "lines", "words", "dots", "mixed"],
)
def test_windows_cover_every_token_once(text):
    """One behind the other, none longer than what the reader was trained on, none empty."""
    offsets = [tuple(place) for place in tokens(text).tolist()]
    windows = list(reader._windows(offsets, text))
    assert len(windows) > 1
    assert [at for start, end in windows for at in range(start, end)] == [*range(len(offsets))]
    assert all(0 < end - start <= MESSAGE_TOKENS for start, end in windows)


@pytest.mark.parametrize("unit", ["I like tea. ", "We use tabs here\n", 'He is "there!" Yes? '])
def test_windows_end_behind_a_line_or_a_sentence(unit):
    """So that no statement is read in two halves."""
    text = unit * 200
    offsets = [tuple(place) for place in tokens(text).tolist()]
    ends = [offsets[end - 1][1] for _, end in reader._windows(offsets, text)]
    assert len(ends) > 3
    for end in ends:
        assert text[end - 1] in ".!?" or text[end : end + 1] in ("\n", "")


def test_the_turn_before_is_read_with_the_first_window_alone():
    """What is said behind it does not answer the assistant any more."""
    text = "I like tea. " * 100
    made = Reader.load()
    alone, answering = made.read(text), made.read(text, "Do you want to hear about coffee?")
    (_, end), *_ = reader._windows([tuple(place) for place in alone.places.tolist()], text)
    assert not np.array_equal(alone.chances[:end], answering.chances[:end])
    assert np.array_equal(alone.chances[end:], answering.chances[end:])


def test_only_the_end_of_a_long_turn_before_is_read():
    """Its beginning changes nothing."""
    made, ending = Reader.load(), "and that is why I ask: what is your name? " * 5
    first, second = (made.read(SAID, f"{begin} {ending}") for begin in ("Tea.", "Hello " * 500))
    assert np.array_equal(first.chances, second.chances)


@pytest.mark.parametrize("text", ["", " ", "\n\n", HIDDEN])
def test_a_message_without_words_states_nothing(text):
    """Nor is it an error."""
    assert list(Reader.load().read(text, "Hello?").statements()) == []


# ----------------------------------------------------------------- statements


@settings(max_examples=60, deadline=None)
@given(MESSAGES | st.text(max_size=80), st.none() | st.text(max_size=20))
def test_statements_are_in_order_and_quote_the_message(message, previous):
    """Each is a part of the message with a word in it, and none meets the next."""
    masked = hide(message)
    found = list(Reader.load().read(masked, previous).statements())
    ends = [0, *(one.end for one in found)]
    for one, before in zip(found, ends, strict=False):
        assert before <= one.start < one.end <= len(message)
        assert message[one.start : one.end].strip() == message[one.start : one.end]
        assert 0 <= one.probability <= 1


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["tea", "so", "and", "-", ",", ".", "(", "\n", "é"]),
            st.floats(0, 1, width=32),
        ),
        max_size=25,
    )
)
def test_whatever_the_chances_statements_are_quotations(words):
    """In order, apart from each other, without a blank at their ends."""
    text = " ".join(word for word, _ in words)
    read = StandIn([]).read(text)
    drawn = np.resize([chance for _, chance in words] or [0], len(read.places))
    read.chances[:, 1 + CLASSES.index(Signal.FACT)] = drawn
    read.chances[:, 0] = 1 - drawn
    end = 0
    for one in read.statements():
        assert end <= one.start < one.end <= len(text)
        assert text[one.start : one.end].strip() == text[one.start : one.end]
        assert (one.signal, 0 <= one.probability <= 1.0001) == (Signal.FACT, True)
        end = one.end


@pytest.mark.parametrize("text", NOT_OWN.values(), ids=NOT_OWN)
def test_what_is_hidden_is_no_statement_whatever_the_reader_thinks(text, monkeypatch):
    """Of a reader that takes everything, the user's own lines around it are learnt and no more."""
    monkeypatch.setattr(Reader, "load", lambda: StandIn([(r"(?s).+", Signal.FACT, 1.0)]))
    found = find(f"My dog is old.\n\n{text}\n\nHe likes snow.").candidates
    assert [one.span.text for one in found] == ["My dog is old.", "He likes snow."]


def test_hidden_words_are_read_as_one_unknown_word():
    """What they were changes no chance."""
    made = Reader.load()
    first, second = (
        made.read(hide(f"Please run `{code}` before a push."))
        for code in ("pytest -q", "rm -rf /*")
    )
    assert first.text == second.text
    assert np.array_equal(first.chances, second.chances)
    assert len(first.places) == len(made.read("Please run x before a push.").places)


@pytest.mark.parametrize("said", ["I've moved to St. Louis.", "I work for Dr. Smith in Porto."])
def test_an_abbreviation_ends_no_statement(said, monkeypatch):
    """A statement ends where its sentence does."""
    monkeypatch.setattr(Reader, "load", lambda: StandIn([(r".+", Signal.FACT, 1.0)]))
    assert [one.span.text for one in find(said).candidates] == [said]


def test_a_class_that_is_left_out_counts_as_nothing():
    """And the other classes stay as they were."""
    read = StandIn([("thanks", Signal.FEEDBACK, 0.9), ("tea", Signal.FACT, 0.7)]).read("thanks tea")
    left = read.without(Signal.FEEDBACK)
    assert left.chances[:, 0] == pytest.approx([1.0, 0.3])
    assert left.within(0, 6) == pytest.approx(dict.fromkeys(CLASSES, 0.0))
    assert left.within(7, 10)[Signal.FACT] == pytest.approx(0.7)
    assert read.within(0, 6)[Signal.FEEDBACK] == pytest.approx(0.9)  # the reading is not changed


def test_the_chances_of_a_part_are_those_of_its_tokens():
    """Their mean; of a part without a token they are 0."""
    read = StandIn([("tea", Signal.FACT, 0.8)]).read("I like tea. Yes")
    assert read.within(2, 10)[Signal.FACT] == pytest.approx((LEFT + 0.8) / 2)
    assert read.within(11, 15)[Signal.FACT] == pytest.approx(LEFT)
    assert set(read.within(3, 4).values()) == {0.0}


@pytest.mark.parametrize("unit", [" ", ",", "( ", "- ", "and ", "so so ", '"', "…", "a. ", "a, "])
def test_no_message_takes_long_to_cut(unit):
    """The time to find statements grows with the message, whatever marks it has."""
    text = f"tea {unit * 6_000} tea"
    places = np.array([(at, at + 1) for at in range(0, len(text), 4)], np.int64)
    worth = np.zeros((len(places), 1 + len(CLASSES)), np.float32)
    worth[:, 1] = 1
    began = time.process_time()
    list(Reading(text=text, places=places, chances=worth, classes=CLASSES).statements())
    assert time.process_time() - began < 2


# ------------------------------------------------------- threads and processes


def test_several_threads_read_the_same():
    """Beside other messages a message gives the same chances, to the bit."""
    made = Reader.load()
    texts = [SAID, "Use tabs.", "I like tea. " * 50] * 4
    alone = [made.read(text).chances for text in texts]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda text: made.read(text).chances, texts))
    assert all(map(np.array_equal, alone, together))
