"""The benches of checkpoints and of the policy: they count what they should."""

from __future__ import annotations

import checkpoints
import durability
import policy


def test_a_lost_and_a_wrong_checkpoint_are_counted(memory):
    """One that is not there, one with another step, and one that is as it was acknowledged."""
    memory.sessions.start("task-1", goal=checkpoints.goal_of(1))
    memory.sessions.checkpoint("task-2", goal=checkpoints.goal_of(2), next=["another step"])
    memory.sessions.checkpoint("task-3", goal=checkpoints.goal_of(3), next=[checkpoints.step_of(3)])
    tally = checkpoints.Tally()
    for number in range(4):
        checkpoints._look(memory, number, tally)
    assert tally.lost == 3
    assert tally.uninterrupted == 1  # of the one that is there: this process works on it
    assert tally.failures == 4


def test_acknowledged_checkpoints_survive():
    """A small run with real kills."""
    options = ["--checkpoints", "5", "--max-ms", "900"]
    found = checkpoints.run(durability.parsed(options), durability.__file__)
    assert (found.failures, found.acknowledged >= 5) == (0, True)


def test_a_prompt_with_a_policy_repeats_more_than_one_with_a_block():
    """The figure of the bench, on a few calls; the other form is its control."""
    ours, theirs = (policy.repeated(policy.prompts(form, 12))[0] for form in ("policy", "block"))
    assert (ours > 0.8, theirs < 0.6) == (True, True)
