"""The cases of ``benchmarks/long_texts.py`` hold: the answer is shown, the budget is kept."""

from pathlib import Path

import pytest
from long_texts import MIDDLE, Stores, contract, middle, of_contract, of_middle, of_paste, of_small


def test_the_texts_are_as_long_as_described():
    """A contract of about 25 kB, and a text with its answer in the middle."""
    text, pairs = contract()
    assert 20_000 < len(text) < 30_000
    assert all(answer in text for _, answer in pairs)
    long, _, answer = middle()
    assert len(long) == MIDDLE
    assert 0.45 < long.index(answer) / MIDDLE < 0.55


@pytest.mark.parametrize("group", [of_contract, of_middle, of_small])
def test_answers_are_shown_within_the_budget(tmp_path: Path, group):
    """By words alone, nearly every answer is shown, where it was not before."""
    cases = list(group(Stores(tmp_path, None)))
    for case in cases:
        if case.name.endswith("after"):
            assert case.shown >= case.asked - 1, case
            assert case.budget is None or case.largest <= case.budget, case
        elif case.budget is not None and "Japanese" not in case.name:
            assert case.shown == 0, case


def test_a_paste_never_exceeds_the_budget(tmp_path: Path):
    """A turn of 370 kB is kept, its answers are found, and no block has more than the budget."""
    cases = list(of_paste(Stores(tmp_path, None), 370_000))
    assert [case.asked for case in cases] == [24, 24, 24]
    assert cases[0].shown == 0
    assert min(case.shown for case in cases[1:]) >= 22
    assert all(case.largest <= case.budget for case in cases if case.budget)
