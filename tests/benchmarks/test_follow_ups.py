"""The set of follow-up questions holds together, and the benchmark counts what a block shows."""

from __future__ import annotations

import json

import follow_ups
import pytest


def test_half_of_the_dialogues_are_held_out():
    """Thirty dialogues over some eighty facts, every answer among the facts."""
    facts, dialogues = follow_ups.read(follow_ups.DIALOGUES)
    assert len(facts) >= 80
    assert [one.held_out for one in dialogues].count(True) == len(dialogues) / 2 == 15
    assert len({one.name for one in dialogues}) == len(dialogues)


@pytest.mark.parametrize(
    ("change", "why"), [({"turns": ["a", "b"]}, "question"), ({"answers": ["c"]}, "no such fact")]
)
def test_a_wrong_dialogue_is_named(tmp_path, change, why):
    """One without a question at its end, or with an unknown answer."""
    dialogue = {"id": "d", "turns": ["a"], "answers": ["f"], "held_out": True} | change
    path = tmp_path / "set.json"
    path.write_text(json.dumps({"facts": [{"id": "f", "text": "x"}], "dialogues": [dialogue]}))
    with pytest.raises(ValueError, match=f"d: .*{why}"):
        follow_ups.read(path)


def test_counts_what_the_block_shows(tmp_path):
    """A dialogue finds what its last question alone does not."""
    facts = {"bob": "Bob's sister is Ines", "lena": "Lena's sister is Carla"}
    turns = ["Who is Bob?", "A friend.", "and Bob's sister?"]
    path = tmp_path / "set.json"
    listed = [{"id": name, "text": text} for name, text in facts.items()]
    dialogue = {"id": "d", "turns": turns, "answers": ["bob"], "held_out": False}
    path.write_text(json.dumps({"facts": listed, "dialogues": [dialogue]}))
    result = follow_ups.run(path, "none")
    assert result["cases"][0]["dialogue"] == {"block": True, "three": True, "first": True}
    assert result["thanks"] == {"shown": 0, "n": 1}
