"""The runner: a crash, a hang and a lame control are results, and the page hides nothing."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace

import pytest
import trust
from trust_report import page
from trust_result import Record, TrustResult

HELD = TrustResult(
    name="a fault", promise="Nothing is lost.", cases=9, failures=0,
    control="a store without a log", control_failed=True, seed=7, figures={"kept": "9 | 9"},
)  # fmt: skip
RECORD = Record(
    harness="some.fault", form="full", command="python x", when="then", machine={"Python": "3"},
    result=HELD,
)  # fmt: skip

MODULE = """
import os, time
from trust_result import TrustResult

def fine(folder, *, full, seed):
    (folder / "made").touch()
    said = f"{full} {seed} {len(list(folder.iterdir()))}"
    return TrustResult(name="fine", promise="p", cases=1, failures=0, details=(said,))

def crash(folder, *, full, seed):
    os.abort()

def raises(folder, *, full, seed):
    raise ValueError("no such thing")

def hang(folder, *, full, seed):
    time.sleep(1000)

HARNESSES = (fine, crash, raises, hang)
"""


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Harnesses of a module made for the test, by function name."""
    (tmp_path / "harness_made_up.py").write_text(MODULE)
    monkeypatch.setattr(trust, "HARNESSES", tmp_path)
    monkeypatch.setattr(trust, "DEADLINES", {"quick": 30.0, "full": 30.0})
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    names = ("fine", "crash", "raises", "hang")
    return {name: trust.Place("harness_made_up", name) for name in names}


@pytest.fixture
def options():
    """A quick run."""
    return argparse.Namespace(full=False, seed=3, jobs=2, only=None)


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, "held"),
        ({"failures": 1}, "BROKEN"),
        ({"control_failed": False}, "CONTROL DID NOT FAIL"),
        ({"control_failed": None}, "held"),
        ({"cases": 0}, "NOTHING TESTED"),
        ({"cases": 0, "skipped": "no compiler"}, "skipped"),
    ],
)
def test_a_verdict_needs_cases_and_a_control_that_fails(changed, verdict):
    """A promise is held only if it was tested and not broken, and its control failed."""
    assert replace(HELD, **changed).verdict == verdict


def test_a_harness_gets_an_empty_folder_its_form_and_its_seed(places, options):
    """Its result comes back whole, and its folder is gone afterwards."""
    record = trust.run(places["fine"], options)
    assert (record.result.verdict, record.result.details) == ("held", ("False 3 1",))
    assert record.command == "python benchmarks/trust.py --only made_up.fine --seed 3"


@pytest.mark.parametrize(("name", "said"), [("crash", "exit status -6"), ("raises", "no such")])
def test_a_crash_is_a_result(places, options, name, said):
    """A harness that dies or raises counts as a broken promise, with what it said last."""
    result = trust.run(places[name], options).result
    assert result.verdict == "BROKEN"
    assert said in result.details[0]


def test_a_hang_is_a_result(places, options, monkeypatch):
    """A harness past its deadline is ended and counts as broken."""
    monkeypatch.setattr(trust, "DEADLINES", {"quick": 0.2})
    result = trust.run(places["hang"], options).result
    assert "not done after 0.2 s" in result.details[0]


def test_what_measures_time_runs_alone_and_last(places, options, tmp_path, monkeypatch):
    """The one that took longest last time comes first, and before it what was never run."""
    (tmp_path / "harness_timed.py").write_text(f"{MODULE}\nTIMED = (fine,)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(trust, "NOTED", tmp_path / "trust.json")
    monkeypatch.setattr(trust, "run", lambda place, _: replace(RECORD, harness=str(place)))
    timed = trust.Place("harness_timed", "fine")
    for name, seconds in (("made_up.fine", 1.0), ("made_up.crash", 3.0)):
        record = replace(RECORD, harness=name, result=replace(HELD, seconds=seconds))
        trust.note(record, [places["fine"], places["crash"]])
    options.jobs = 1
    every = [timed, places["fine"], places["crash"], places["raises"]]
    yielded = [record.harness for record in trust.run_all(every, options)]
    assert yielded == ["made_up.raises", "made_up.crash", "made_up.fine", "timed.fine"]


def test_every_harness_of_this_folder_is_found():
    """Each module of harnesses lists at least one, and no two have one name."""
    names = [str(place) for place in trust.found()]
    assert len(names) == len(set(names))
    assert all(callable(place.load()) for place in trust.found())


def test_the_page_says_what_was_found():
    """Counts, control, seed, versions and command of every record are on it."""
    text = page([RECORD], ["some.fault"])
    for said in ("1 of 1 tested promises",
                 "1 of 1 null controls", "9 \\| 9", "| seed | 7 |",
                 "`python x`", "Python 3", "a store without a log: failed"):  # fmt: skip
        assert said in text


def test_the_page_hides_neither_failure_nor_gap():
    """A broken promise, a lame control and a harness that was not run stand out."""
    broken = replace(HELD, failures=1, control_failed=False, details=("row 5 is gone",))
    text = page([replace(RECORD, result=broken)], ["some.fault", "other.fault"])
    for said in ("0 of 1 tested promises",
                 "BROKEN", "DID NOT FAIL", "- row 5 is gone",
                 "not run in the full form: `other.fault`"):  # fmt: skip
        assert said in text


def test_a_record_survives_json():
    """Noted results read back equal."""
    assert Record.parse(asdict(RECORD)) == RECORD


def test_noting_a_result_replaces_only_its_own(tmp_path, monkeypatch):
    """A second run of one harness keeps the results of the others, in the order of the list."""
    monkeypatch.setattr(trust, "NOTED", tmp_path / "trust.json")
    places = [trust.Place("harness_b", "x"), trust.Place("harness_a", "y")]
    for name in ("a.y", "b.x", "a.y"):
        trust.note(replace(RECORD, harness=name), places)
    assert [record.harness for record in trust.noted()] == ["b.x", "a.y"]


def test_a_quick_result_takes_the_place_of_no_full_one(tmp_path, monkeypatch):
    """It is noted where there is none, and the page says which form each line is."""
    monkeypatch.setattr(trust, "NOTED", tmp_path / "trust.json")
    places = [trust.Place("harness_a", "x"), trust.Place("harness_a", "y")]
    trust.note(replace(RECORD, harness="a.x"), places)
    for name in ("a.x", "a.y"):
        trust.note(replace(RECORD, harness=name, form="quick"), places)
    assert [(one.harness, one.form) for one in trust.noted()] == [("a.x", "full"), ("a.y", "quick")]
    text = page(trust.noted(), ["a.x", "a.y"])
    assert "not run in the full form: `a.y`" in text
    assert text.count("| form | quick |") == 1
