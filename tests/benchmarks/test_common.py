"""Figures, tables and counts of the benchmark scripts."""

import json

import common
import fsyncs
import pytest
import speed
from common import Figure


@pytest.mark.parametrize(
    ("value", "higher", "verdict"),
    [(1, False, "aim"), (3, False, "floor"), (3.1, False, "MISSED"), (1, True, "MISSED"),
     (2, True, "floor"), (3, True, "aim"), (None, True, "-")],
)  # fmt: skip
def test_a_figure_is_held_against_its_marks(value, higher, verdict):
    """Less is better unless said otherwise, and the mark itself reaches."""
    floor, aim = (2, 3) if higher else (3, 2)
    assert Figure("x", value, floor, aim, higher=higher).verdict == verdict


@pytest.mark.parametrize(("share", "expected"), [(0, 1), (0.5, 3), (0.95, 5), (1, 5)])
def test_percentiles(share, expected):
    """The value that so many do not exceed, and never past the end."""
    assert common.percentile([5, 1, 4, 2, 3], share) == expected


def test_fsyncs_are_counted_between_marks():
    """Only what lies between the marks counts, and the marking thread is the caller."""
    log = """\
7 fsync(3) = 0
7 access("/memento-mark-add", F_OK) = -1 ENOENT
7 fdatasync(3 <unfinished ...>
8 fsync(4) = 0
7 <... fdatasync resumed>) = 0
7 access("/elsewhere", F_OK) = 0
7 access("/memento-mark-end", F_OK) = -1 ENOENT
7 fsync(3) = 0
7 faccessat2(AT_FDCWD, "/memento-mark-add_many", F_OK, 0) = -1 ENOENT
7 fdatasync(3) = 0
7 access("/memento-mark-end", F_OK) = -1 ENOENT
"""
    counts = fsyncs.counted(log.splitlines())
    assert counts["add"] == {"caller": 1 / fsyncs.ADDS, "process": 2 / fsyncs.ADDS}
    assert counts["add_many"] == {"caller": 1, "process": 1}


def test_rounds_take_turns():
    """The order of measurement changes every round, and the ratio is ours to theirs."""
    order = []
    ratio = speed.in_turns(
        2, lambda: order.append("ours") or 3.0, lambda: order.append("theirs") or 2.0
    )
    assert ratio == 1.5
    assert order == ["theirs", "ours", "ours", "theirs"]


def test_a_group_that_fails_hides_no_other(monkeypatch, capsys, tmp_path):
    """Each is printed when it is done, with what it measured before it failed."""
    printed = []

    def breaks():
        yield Figure("what came first", 1)
        raise RuntimeError("no second")

    def after():
        printed.append(capsys.readouterr())
        yield Figure("what came after", 2)

    monkeypatch.setattr(speed, "GROUPS", {"breaking": breaks, "whole": after})
    out = tmp_path / "out.json"
    assert speed.main(["--json", str(out)]) == 1
    assert "what came first" in printed[0].out
    assert "RuntimeError: no second" in printed[0].err
    last = capsys.readouterr().out
    assert "what came after" in last
    assert "failed: breaking" in last
    result = json.loads(out.read_text())
    assert [one["what"] for one in result["figures"]] == ["what came first", "what came after"]
    assert result["failed"] == ["breaking"]
