"""Masking hides what is not the user's own statement, and moves nothing."""

import pytest
from hypothesis import given
from samples import MESSAGES, NOT_OWN

from memento.observe.mask import HIDDEN, hide
from memento.observe.split import all_sentences, sentences
from memento.prompt.rendering import new_nonce


@given(MESSAGES)
def test_the_masked_text_keeps_its_length_and_its_lines(message):
    """Every character stays in its place or is replaced by one other; line breaks stay."""
    masked = hide(message)
    assert len(masked) == len(message)
    assert all(after in (before, HIDDEN) for before, after in zip(message, masked, strict=True))
    breaks = [at for at, character in enumerate(message) if character in "\r\n"]
    assert [at for at, character in enumerate(masked) if character in "\r\n"] == breaks


@given(MESSAGES)
def test_every_span_quotes_the_message_exactly(message):
    """Spans are in order, do not overlap, and hold the words at their place."""
    spans = all_sentences(hide(message), message)
    assert all(message[span.start : span.end] == span.text for span in spans)
    assert all(span.text.strip() == span.text != "" for span in spans)
    ends = [0, *(span.end for span in spans)]
    assert all(span.start >= end for span, end in zip(spans, ends, strict=False))


@pytest.mark.parametrize("text", NOT_OWN.values(), ids=NOT_OWN)
def test_nothing_but_the_users_own_sentences_is_left(text):
    """Around each hidden part the two sentences of the user are found, and no other."""
    message = f"My dog is old.\n\n{text}\n\nHe likes snow."
    assert [span.text for span in sentences(hide(message), message)] == [
        "My dog is old.",
        "He likes snow.",
    ]


def test_a_fence_that_is_never_closed_hides_the_rest():
    """A cut message must not turn code into statements."""
    message = "My dog is old.\n~~~ text\nMy name is Bo.\n\nAlways use tabs."
    assert [span.text for span in sentences(hide(message), message)] == ["My dog is old."]


def test_a_block_that_memento_rendered_is_never_read_again():
    """The block of a prompt is hidden, also if its end was cut off."""
    nonce = new_nonce()
    block = f'<memories-{nonce}>\nData\n{{"text": "My name is Bo."}}\n</memories-{nonce}>'
    for shown in (block, block.removesuffix(f"</memories-{nonce}>")):
        message = f"I live in Oslo.\n{shown}"
        assert [span.text for span in sentences(hide(message), message)] == ["I live in Oslo."]


def test_one_quoted_word_and_apostrophes_stay():
    """One word in quotation marks is a name, and an apostrophe does not open a quotation."""
    text = "Call the project \"Otter\", it's Tom's idea and Ann's budget."
    assert hide(text) == text


MARKS = ['"', "“", "'a ", "`", "A. ", "<a-12345678>", "|", "\n", "please\n", "can you\n", "please "]


@pytest.mark.parametrize("mark", MARKS)
def test_a_long_message_of_marks_is_read_in_a_moment(mark):
    """No pattern starts again from each character: 200,000 of them would take many minutes."""
    message = mark * (100_000 // len(mark)) + "a b " * 25_000
    assert len(sentences(hide(message), message)) <= 40


def test_only_so_many_sentences_are_read():
    """The limit cuts the list, and the rest can be counted."""
    message = "I like tea. " * 50
    masked = hide(message)
    assert len(sentences(masked, message, 40)) == 40
    assert len(all_sentences(masked, message)) == 50


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("Hi. I'm Mr. Bo. I live here!", ["Hi.", "I'm Mr. Bo.", "I live here!"]),
        ("- I like tea\n- I hate coffee", ["I like tea", "I hate coffee"]),
        ("1. Use tabs\n2. No emojis", ["Use tabs", "No emojis"]),
        ("我叫李娜。我住在上海。", ["我叫李娜。", "我住在上海。"]),
        ("My budget is 2.5 million.", ["My budget is 2.5 million."]),
        (
            "We decided in a long meeting with everybody that\nthe logo stays blue.",
            ["We decided in a long meeting with everybody that\nthe logo stays blue."],
        ),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(message, said):
    """Abbreviations, decimals, list items, wrapped lines and full-width stops are understood."""
    assert [span.text for span in sentences(hide(message), message)] == said
