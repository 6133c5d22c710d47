"""The promises of TRUST.md in the quick form: each holds, and its null control fails.

The other harnesses need minutes, or a machine of their own: `benchmarks/trust.py` runs all.
"""

from __future__ import annotations

import harness_doors
import harness_evil
import harness_feedback
import harness_gone
import harness_iofault
import harness_isolation
import harness_kill
import harness_lattice
import harness_ledger
import harness_powercut
import harness_private
import harness_prompt
import harness_resident
import harness_salvage
import harness_secrets
import harness_serve
import harness_server
import harness_shares
import harness_sleep
import harness_tokens
import harness_undo
import harness_writers
import pytest

MODULES = (
    harness_doors, harness_evil, harness_feedback, harness_gone, harness_iofault, harness_isolation,
    harness_kill, harness_lattice, harness_ledger, harness_powercut, harness_private,
    harness_prompt, harness_resident, harness_salvage, harness_secrets, harness_serve,
    harness_server, harness_shares, harness_sleep, harness_tokens, harness_undo, harness_writers,
)  # fmt: skip
HARNESSES = [harness for module in MODULES for harness in module.HARNESSES]


@pytest.mark.harness
@pytest.mark.parametrize("harness", HARNESSES, ids=lambda harness: harness.__name__)
def test_a_promise_holds_and_its_control_fails(harness, tmp_path, full):
    """As ``benchmarks/trust.py`` would run it, in this process."""
    result = harness(tmp_path, full=full, seed=1)
    if result.skipped and not result.cases:
        pytest.skip(result.skipped)
    assert result.verdict == "held", result.details
