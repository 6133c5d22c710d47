"""Which part of a long text is shown: chosen by words, in doubt by meaning."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from memento.retrieve.passage import GAP, WINDOW, WINDOWS, excerpt, passage

FILLER = "The office is open from nine to five on every working day of the week. "
TEXTS = st.text("ab é.?!\n。", max_size=1500)


@given(TEXTS, st.lists(st.sampled_from(["a", "ab", "b", "é"]), max_size=3), st.integers(1, 900))
def test_an_excerpt_is_made_of_pieces_of_the_text(text, wanted, room):
    """An excerpt is always one or two stretches of the text that fit the room."""
    cut = excerpt(text, wanted, room)
    if len(text) <= room:
        assert cut == text
        return
    assert sum(map(len, cut.strip(GAP).split(GAP))) <= room
    at = 0
    for part in cut.strip(GAP).split(GAP):
        at = text.index(part, at) + len(part)


def test_a_rare_word_counts_more_than_a_frequent_one():
    """One sentence with the rare words beats many with the frequent ones."""
    text = "Rotterdam plant report. " * 500 + "The escalation contact is Fatima. " + FILLER * 300
    cut = passage(text, ["escalation", "contact", "rotterdam", "plant"], 300)
    assert "Fatima" in cut


def test_the_answer_may_be_anywhere_in_a_very_long_text():
    """A text of 370,000 characters is read to its end, in far less than a second."""
    text = FILLER * 5200 + "The gate code is 4711."
    began = time.process_time()
    cut = excerpt(text, ["gate", "code"], 200)
    assert "4711" in cut
    assert time.process_time() - began < 5  # it would take minutes if each place read on to the end


def test_two_places_that_tell_are_both_shown():
    """A definition and a clause about it stand in the order of the text."""
    define = "Penalty means the amount under clause 9. "
    rule = "For late delivery the penalty is 2 percent a day. "
    text = FILLER * 40 + define + FILLER * 40 + rule + FILLER * 40
    cut = excerpt(text, ["late", "delivery", "penalty", "clause"], 800)
    assert define.strip() in cut
    assert rule.strip() in cut
    assert cut.index(define.strip()) < cut.index(rule.strip())
    assert cut.startswith(GAP)
    assert cut.endswith(GAP)


def test_a_passage_begins_with_its_paragraph():
    """The heading of the telling sentence is shown with it if it is near."""
    text = (
        FILLER * 10 + "\n\n12. Termination\nEither party may leave. Notice is 90 days.\n\n" + FILLER
    )
    assert "12. Termination" in passage(text, ["notice"], 300)


def test_the_sentence_before_is_shown_too():
    """Without a paragraph near, a passage begins one sentence earlier, if that is short."""
    text = FILLER * 10 + "It is 4711. That is the gate code. " + FILLER * 10
    assert "4711" in passage(text, ["gate", "code"], 300)


def test_meaning_decides_where_words_leave_a_doubt():
    """Of places with the same words the nearest by meaning is shown; few windows are compared."""
    other = "The contract was signed in May and is kept in the archive. "
    right = "The contract ends after ninety days without payment. "
    text = (other + FILLER * 20) * 6 + right + FILLER * 20
    asked = []

    def near(windows):
        asked.append(windows)
        return [float("ends" in window) for window in windows]

    assert "ninety" not in excerpt(text, ["contract"], 300)
    far = excerpt(other + FILLER * 20 + right + FILLER * 20, ["contract"], 300, near)
    assert "ninety" in far
    excerpt(text, ["contract"], 300, near)
    assert all(2 <= len(windows) <= WINDOWS for windows in asked)
    assert all(len(window) <= WINDOW for windows in asked for window in windows)


def test_words_that_decide_are_not_compared_by_meaning():
    """Where one place has all the words, no window is embedded."""

    def near(windows):
        raise AssertionError(windows)

    text = FILLER * 40 + "The gate code is 4711. " + FILLER * 40
    assert "4711" in excerpt(text, ["gate", "code"], 300, near)


def test_a_text_without_the_words_is_shown_by_meaning():
    """Where no word of the query is in the text, places spread over it are compared."""
    text = FILLER * 30 + "Coffee costs two euros. " + FILLER * 10
    cut = excerpt(text, ["price"], 800, lambda windows: list(range(len(windows))))
    assert cut.startswith(GAP)
    assert excerpt(text, ["price"], 800) == passage(text, [], 800)
