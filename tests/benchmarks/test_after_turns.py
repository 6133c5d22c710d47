"""The dialogues about the development lives hold together, and half of them are held out."""

from __future__ import annotations

import json

import after_turns
import pytest


def test_half_of_the_dialogues_are_held_out():
    """Some fifty dialogues about three lives, every answer among their memories."""
    tuned, unseen = (after_turns.read(after_turns.DIALOGUES, held_out=out) for out in (False, True))
    counts = [sum(len(life.questions) for life in half) for half in (tuned, unseen)]
    assert counts[0] == counts[1] >= 20
    assert len(tuned) == 3
    assert all(question.previous for life in tuned + unseen for question in life.questions)


@pytest.mark.parametrize(
    ("change", "why"), [({"turns": ["a", "b"]}, "question"), ({"answers": ["x"]}, "no memories")]
)
def test_a_wrong_dialogue_is_named(tmp_path, change, why):
    """One without a question at its end, or with an unknown answer."""
    one = {"life": "life_dev", "turns": ["a"], "answers": ["boss1"], "held_out": False} | change
    path = tmp_path / "set.json"
    path.write_text(json.dumps({"dialogues": [one]}))
    with pytest.raises(ValueError, match=why):
        after_turns.read(path, held_out=False)
