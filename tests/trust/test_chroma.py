"""The catalogue of damage and its counts; `benchmarks/trust.py` runs the cases themselves."""

from __future__ import annotations

import random

import harness_chroma as harness
import pytest
from harness_chroma import CASES, Store, Tally


def test_there_are_at_least_fourteen_kinds_and_some_are_silent():
    """The promise speaks of fourteen; the control needs cases that raise no error."""
    assert len(CASES) >= 14
    assert sum(case.silent for case in CASES.values()) >= 3
    assert any(case.silent for case in CASES.values() if case.quick)


RIGHT = {"at_once": [["a"]], "after": [["a"], ["b"]]}
SAID = RIGHT | {"seconds": 1.0, "state": "ready", "backlog": 0, "by_chroma": 2}


@pytest.mark.parametrize(
    ("said", "failures"),
    [
        (SAID, 0),
        ("died of SIGSEGV", 1),
        (SAID | {"at_once": [["x"]]}, 1),
        (SAID | {"after": [["a"], ["x"]]}, 1),
        (SAID | {"by_chroma": 1}, 1),
        (SAID | {"state": "aside"}, 1),
        (SAID | {"backlog": 1}, 1),
    ],
)
def test_each_thing_a_host_may_do_wrong_counts(said, failures):
    """Dying, another answer, an index that is not back or was not asked."""
    tally = Tally()
    tally.count("case", said, RIGHT)
    assert (tally.failures, bool(tally.details)) == (failures, failures > 0)


def test_garbling_changes_bytes_and_nothing_else(tmp_path):
    """The size stays, the place is as asked, and equal dice write equal noise."""
    made = []
    for name in ("one", "two"):
        store = Store(tmp_path / name, tmp_path, tmp_path, random.Random(5))
        store.chroma.mkdir(parents=True)
        (store.chroma / "header.bin").write_bytes(bytes(1000))
        harness.garble("header.bin", 0.5, 100)(store)
        made.append((store.chroma / "header.bin").read_bytes())
    assert made[0] == made[1]
    assert (len(made[0]), made[0][:500], made[0][600:]) == (1000, bytes(500), bytes(400))
    assert made[0][500:600] != bytes(100)
