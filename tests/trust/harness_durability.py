"""kill -9 at random moments, round after round: `benchmarks/durability.py` with its control.

Alone: ``python benchmarks/trust.py --full --only durability``, or that script by itself, which
prints more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import durability
from trust_result import TrustResult

ROUNDS = {False: 2, True: 500}
CONTROL_ROUNDS = {False: 4, True: 20}
CONTROL_TRIES = 5
"""Times so many rounds. On a busy machine children may die before they acknowledge anything."""


def acknowledged_is_there(folder: Path, *, full: bool, seed: int) -> TrustResult:  # noqa: ARG001 - rounds have folders of their own
    """Kill writers, and look for everything they were told is stored."""
    kept = durability.run(durability.parsed(["--rounds", f"{ROUNDS[full]}", "--seed", f"{seed}"]))
    control = lose(CONTROL_ROUNDS[full], seed)
    return result(asdict(kept), kept.failures, control, seed)


def lose(at_once: int, seed: int) -> dict[str, int]:
    """Run the control until it loses something, a few times so many rounds at most."""
    lost = rounds = 0
    while not lost and rounds < CONTROL_TRIES * at_once:
        chosen = ["--rounds", f"{at_once}", "--seed", f"{seed + rounds}", "--control"]
        lost += durability.run(durability.parsed(chosen)).lost
        rounds += at_once
    return {"lost": lost, "rounds": rounds}


def result(
    kept: Mapping[str, Any], failures: int, control: Mapping[str, Any], seed: int
) -> TrustResult:
    """Say what the rounds and those of the control found.

    Args:
        kept: A `durability.Tally` as a dictionary, as ``durability.py --json`` writes it.
        failures: Everything in it that should be 0.
        control: The same of the control.
        seed: What decided when to kill.
    """
    counts = ("acknowledged", "lost", "garbled", "unfound", "unindexed", "troubles", "unopened")
    return TrustResult(
        name="kill -9 at any moment",
        promise="A memory whose add has returned survives kill -9 with its text and is found by"
        " its words, and doctor finds nothing wrong.",
        cases=kept["rounds"],
        failures=failures,
        control="a writer that acknowledges 20 ms before it adds",
        control_failed=control["lost"] > 0,
        seed=seed,
        figures={
            "killed before the first acknowledgement": kept["killed_early"],
            **{name: kept[name] for name in counts},
            "control: memories lost": f"{control['lost']} in {control['rounds']} rounds",
        },
        details=tuple(str(detail)[:300] for detail in kept["details"][:10]),
    )


HARNESSES = (acknowledged_is_there,)
