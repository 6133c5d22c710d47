"""The rounds of kill -9: only those in which something was acknowledged count."""

from __future__ import annotations

import durability
import pytest


@pytest.fixture
def rounds(monkeypatch):
    """Return how to run some, of which so many are killed too early; nothing is started."""

    def run(asked, *, early):
        said = iter([[]] * early + [["mark0x0"]] * asked)
        clean = dict.fromkeys(("lost", "garbled", "unfound", "troubles"), ()) | {"unindexed": 0}
        monkeypatch.setattr(durability, "kill_while_writing", lambda *_: (next(said), True))
        monkeypatch.setattr(durability, "check", lambda *_: clean)
        return durability.run(durability.parsed(["--rounds", str(asked)]))

    return run


@pytest.mark.parametrize("early", [0, 3, 40])
def test_as_many_rounds_count_as_were_asked_for(rounds, early):
    """A round that was killed before anything was acknowledged proves nothing and is run again."""
    found = rounds(30, early=early)
    assert (found.rounds, found.killed_early) == (30, early)
    assert found.acknowledged == 30


def test_a_bench_that_counts_too_few_says_so(rounds):
    """It ends after twice as many rounds, and does not pass."""
    found = rounds(2, early=1_000)
    assert found.rounds == 0
    assert found.short_of(2)
