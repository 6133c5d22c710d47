"""What the reader of changes has learnt."""

from __future__ import annotations

import pytest

from memento.observe.change_reader import ChangeReader


@pytest.mark.parametrize(
    ("older", "newer", "changed"),
    [
        ("I live in Leeds", "Moved to Porto last month", True),
        ("My line manager is Ottilie Kern", "Ottilie has retired, Benno runs it all now", True),
        ("Stand-up is at 9:15 every day", "Moved stand-up to quarter to ten", True),
        ("My dog is called Rex", "We got a second dog, Luna", False),
        ("I live in Leeds", "My sister moved to Porto last month", False),
        ("Pump 3 was sold to Ruiz", "Pump 7 was sold to Ode", False),
        ("I drink my tea black", "The trustees voted to open on Mondays", False),
    ],
)
def test_clear_pairs_are_read_rightly(older, newer, changed):
    """Whatever weights it was built with."""
    assert (ChangeReader.load().probability(older, newer) >= 0.5) is changed
    assert ChangeReader.load().probability(older, "x" * 100_000) < 1


def test_a_long_statement_is_cut():
    """It is read up to the length of training."""
    long = "word " * 10_000
    assert 0 < ChangeReader.load().probability(long, long) < 1
