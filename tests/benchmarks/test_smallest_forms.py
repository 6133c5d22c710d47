"""The smallest form of benchmarks that no other test runs, from their first call to the last."""

from __future__ import annotations

import json
from argparse import Namespace

import neighbours
import policy
import pytest


def test_policy_measures_each_figure_that_has_a_mark(tmp_path, capsys):
    """Whatever it finds."""
    out = tmp_path / "out.json"
    small = ["--memories", str(policy.RULES), "--calls", "4", "--embedder", "none"]
    policy.main([*small, "--json", str(out)])
    assert json.loads(out.read_text()).keys() >= {*policy.FLOORS, *policy.CEILINGS}
    assert "recalled block" in capsys.readouterr().out


@pytest.mark.parametrize("in_loop", [False, True], ids=["threads", "asyncio"])
def test_neighbours_are_answered_in_both_stores(tmp_path, in_loop):
    """Each user once, with nobody beside them and beside a document."""
    asked = Namespace(asyncio=in_loop, embedder="hash", users=2, rounds=1, paste=3_000, piece=1_500)
    found = neighbours.run(asked, tmp_path / "store")
    assert [len(one.seconds) for one in found.values()] == [2, 2]
