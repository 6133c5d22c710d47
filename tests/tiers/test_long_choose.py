"""The rules that choose the index of a vector search, as a table."""

from __future__ import annotations

import pytest

from memento.config.tiers import ChooseConfig, LongIndex
from memento.errors import InvalidInput
from memento.retrieve.choose import choose_index
from memento.tiers.long import LongState

READY = LongState.READY
BIG = 100_000


HUGE = 3_000_000
MANY, FEW = "12000 vectors or more", "fewer than 12000 vectors"
BEYOND, RARE = "more than 2000000 vectors", "the filters leave less than 1 in 4"
CANNOT = "it cannot be scanned now"


@pytest.mark.parametrize(
    ("setting", "live", "allowed", "scan", "state", "backlog", "answer"),
    [
        ("auto", 0, None, True, READY, 0, ("exact", FEW)),
        ("auto", 11_999, None, True, READY, 0, ("exact", FEW)),
        ("auto", 12_000, None, True, READY, 0, ("scan", MANY)),
        ("auto", BIG, 10, True, READY, 0, ("scan", MANY)),
        ("auto", BIG, None, False, READY, 0, ("exact", CANNOT)),
        ("auto", 2_000_000, None, True, READY, 0, ("scan", MANY)),
        ("auto", HUGE, None, True, READY, 0, ("chroma", BEYOND)),
        ("auto", HUGE, 749_999, True, READY, 0, ("scan", RARE)),
        ("auto", HUGE, 750_000, True, READY, 0, ("chroma", BEYOND)),
        ("auto", HUGE, None, True, LongState.COLD, 0, ("scan", "Chroma is cold")),
        ("auto", HUGE, None, False, LongState.COLD, 0, ("exact", CANNOT)),
        ("auto", HUGE, None, True, READY, 2_000, ("chroma", BEYOND)),
        ("auto", HUGE, None, True, READY, 2_001, ("scan", "Chroma is 2001 vectors behind")),
        ("scan", 10, None, True, READY, 0, ("scan", "asked for")),
        ("scan", HUGE, None, True, READY, 0, ("scan", "asked for")),
        ("scan", HUGE, None, False, READY, 0, ("exact", CANNOT)),
        ("chroma", 10, None, True, READY, 0, ("chroma", "asked for")),
        ("chroma", 10, 1, True, READY, 0, ("exact", RARE)),
        ("chroma", BIG, 10, True, READY, 0, ("scan", RARE)),
        ("chroma", BIG, None, True, LongState.COLD, 0, ("scan", "Chroma is cold")),
        ("chroma", BIG, None, True, LongState.ELSEWHERE, 0, ("scan", "Chroma is elsewhere")),
        ("chroma", BIG, None, True, LongState.DAMAGED, 0, ("scan", "Chroma is damaged")),
        ("chroma", BIG, None, True, LongState.GIVEN_UP, 0, ("scan", "Chroma is given up")),
        ("chroma", BIG, None, False, LongState.CLOSED, 0, ("exact", CANNOT)),
        ("chroma", BIG, None, True, READY, BIG, ("scan", "Chroma is 100000 vectors behind")),
        ("exact", HUGE, None, True, READY, 0, ("exact", "asked for")),
        (LongIndex.EXACT, BIG, None, True, LongState.COLD, 0, ("exact", "asked for")),
    ],
)
def test_the_table(setting, live, allowed, scan, state, backlog, answer):
    """Exact search of few, a scan of many, Chroma of very many or if asked for and complete."""
    given = choose_index(
        setting, live=live, allowed=allowed, scan=lambda: scan, chroma=lambda: (state, backlog)
    )
    assert given == answer


def refuse():
    """Fail: what should not be asked was asked."""
    raise AssertionError


@pytest.mark.parametrize(
    ("setting", "live"), [("auto", 10), ("auto", BIG), ("scan", HUGE), ("exact", HUGE)]
)
def test_chroma_is_not_asked_where_it_decides_nothing(setting, live):
    """A process whose questions others answer never loads it."""
    choose_index(setting, live=live, allowed=None, scan=lambda: True, chroma=refuse)


@pytest.mark.parametrize(
    ("setting", "live"), [("auto", 10), ("auto", HUGE), ("chroma", 10), ("exact", HUGE)]
)
def test_no_files_are_written_where_nothing_is_scanned(setting, live):
    """A small namespace, or one that Chroma or exact search answers, needs none."""
    choose_index(setting, live=live, allowed=None, scan=refuse, chroma=lambda: (READY, 0))


def test_the_limits_can_be_moved():
    """Every limit is read from the config."""
    config = ChooseConfig(exact_below=10, scan_most=20, overfetch=2, max_backlog=5)
    ask = {
        "live": 21,
        "allowed": None,
        "scan": lambda: True,
        "chroma": lambda: (READY, 5),
        "config": config,
    }
    assert choose_index("auto", **ask)[0] == "chroma"
    assert choose_index("auto", **ask | {"live": 20})[0] == "scan"
    assert choose_index("auto", **ask | {"live": 9})[0] == "exact"
    assert choose_index("auto", **ask | {"chroma": lambda: (READY, 6)})[0] == "scan"
    assert choose_index("chroma", **ask | {"allowed": 11})[0] == "chroma"
    assert choose_index("chroma", **ask | {"allowed": 10})[0] == "scan"


def test_an_unknown_setting_is_an_error():
    """A misspelt setting is refused and the choices are named."""
    with pytest.raises(InvalidInput, match="auto, chroma, exact, scan"):
        choose_index("chrome", live=1, allowed=None, scan=refuse, chroma=refuse)
