"""What a neighbouring sentence gives to somebody else is rarely taken for the user's."""

from __future__ import annotations

from collections import Counter

from carried import SEALED, STEERING, messages

from memento.observe.candidates import find


def test_the_reader_tells_whose_words_it_reads():
    """Of frames that no training saw, few steer that must not, and most others do."""
    counts: Counter[tuple[bool, bool]] = Counter()
    for group, own, text, _ in messages(SEALED):
        if group == "frames":
            found = find(text)
            learned = any(one.sure and one.signal in STEERING for one in found.candidates)
            counts[own, found.carried is None and learned] += 1
    assert counts[False, True] < 0.12 * (counts[False, True] + counts[False, False])
    assert counts[True, True] > 0.82 * (counts[True, True] + counts[True, False])
