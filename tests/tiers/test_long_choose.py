"""The rules that choose the index of a vector search, as a table."""

from __future__ import annotations

import pytest

from memento.config.tiers import ChooseConfig, LongIndex
from memento.errors import InvalidInput
from memento.retrieve.choose import choose_index
from memento.tiers.long import LongState

READY = LongState.READY
BIG = 100_000


@pytest.mark.parametrize(
    ("setting", "live", "allowed", "state", "backlog", "answer"),
    [
        ("auto", BIG, None, READY, 0, ("chroma", "15000 vectors or more")),
        ("auto", 15_000, None, READY, 0, ("chroma", "15000 vectors or more")),
        ("auto", 14_999, None, READY, 0, ("exact", "fewer than 15000 vectors")),
        ("auto", 0, None, READY, 0, ("exact", "fewer than 15000 vectors")),
        ("auto", 50_000, 14_999, READY, 0, ("exact", "filtered to fewer than 15000 vectors")),
        ("auto", 50_000, 40_000, READY, 0, ("chroma", "15000 vectors or more")),
        ("auto", BIG, 24_999, READY, 0, ("exact", "the filters leave less than 1 in 4")),
        ("auto", BIG, 25_000, READY, 0, ("chroma", "15000 vectors or more")),
        ("auto", BIG, None, LongState.COLD, 0, ("exact", "Chroma is cold")),
        ("auto", BIG, None, LongState.ELSEWHERE, 0, ("exact", "Chroma is elsewhere")),
        ("auto", BIG, None, LongState.DAMAGED, 0, ("exact", "Chroma is damaged")),
        ("auto", BIG, None, LongState.GIVEN_UP, 0, ("exact", "Chroma is given up")),
        ("auto", BIG, None, LongState.CLOSED, 0, ("exact", "Chroma is closed")),
        ("auto", BIG, None, READY, 2_000, ("chroma", "15000 vectors or more")),
        ("auto", BIG, None, READY, 2_001, ("exact", "Chroma is 2001 vectors behind")),
        ("chroma", 10, None, READY, 0, ("chroma", "asked for")),
        ("chroma", BIG, 10, READY, 0, ("exact", "the filters leave less than 1 in 4")),
        ("chroma", BIG, None, LongState.COLD, 0, ("exact", "Chroma is cold")),
        ("chroma", BIG, None, READY, BIG, ("exact", "Chroma is 100000 vectors behind")),
        ("exact", BIG, None, READY, 0, ("exact", "asked for")),
        (LongIndex.EXACT, BIG, None, LongState.COLD, 0, ("exact", "asked for")),
    ],
)
def test_the_table(setting, live, allowed, state, backlog, answer):
    """Exact when small, filtered, or Chroma would fall short; Chroma otherwise."""
    given = choose_index(setting, live=live, allowed=allowed, state=state, backlog=backlog)
    assert given == answer


def test_the_limits_can_be_moved():
    """Every limit is read from the config."""
    config = ChooseConfig(exact_below=10, overfetch=2, max_backlog=5)
    ask = {"live": 10, "allowed": None, "state": READY, "backlog": 5, "config": config}
    assert choose_index("auto", **ask)[0] == "chroma"
    assert choose_index("auto", **ask | {"live": 9})[0] == "exact"
    assert choose_index("auto", **ask | {"backlog": 6})[0] == "exact"
    assert choose_index("chroma", **ask | {"allowed": 5})[0] == "chroma"
    assert choose_index("chroma", **ask | {"allowed": 4})[0] == "exact"


def test_an_unknown_setting_is_an_error():
    """A misspelt setting is refused and the choices are named."""
    with pytest.raises(InvalidInput, match="auto, chroma, exact"):
        choose_index("chrome", live=1, allowed=None, state=READY, backlog=0)
