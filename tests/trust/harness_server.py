"""The promises of a store whose ledger is on a PostgreSQL server.

Alone: ``python benchmarks/trust.py --full --only server``. The server is one of its own, in a
temporary folder; without PostgreSQL the harnesses are skipped.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest import mock

import durability_server
import harness_isolation
from isolation_adapters import LIGHT, absent, there
from trust_result import TrustResult

from memento import MemoryManager
from memento.ledger.opening import open_ledger

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import postgres

KILLS = {False: 2, True: 200}
CONTROL_KILLS = {False: 4, True: 20}


def a_killed_server_loses_nothing(folder: Path, *, full: bool, seed: int) -> TrustResult:  # noqa: ARG001 - rounds have folders of their own
    """Kill every process of a server while threads add, and look for what was acknowledged."""
    named: dict[str, Any] = {
        "name": "kill -9 of a PostgreSQL server",
        "promise": "A memory whose add has returned is there once with its text after every"
        " process of the server was killed, and the revisions have no gap.",
    }
    if reason := postgres.missing():
        return TrustResult(**named, cases=0, failures=0, skipped=reason)
    kept = durability_server.run(KILLS[full], seed)
    control = durability_server.run(CONTROL_KILLS[full], seed, control=True)
    counts = {name: value for name, value in asdict(kept).items() if isinstance(value, int)}
    return TrustResult(
        **named,
        cases=kept.kills,
        failures=kept.failures,
        control="a writer that switches synchronous_commit off",
        control_failed=control.lost > 0,
        seed=seed,
        figures={
            **counts,
            "control: memories lost": f"{control.lost} of {control.acknowledged}",
        },
        details=tuple(str(detail)[:300] for detail in kept.details[:10]),
    )


def nobody_sees_anothers_on_a_server(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Run the machine of ``harness_isolation`` on a server, which watches what each job changes."""
    named: dict[str, Any] = {
        "name": "one namespace beside others, on PostgreSQL",
        "promise": "A namespace never sees another's memories: no text, id, count or error reveals"
        " them; and no write changes rows of a namespace that it did not name.",
    }
    if reason := postgres.missing():
        return TrustResult(**named, cases=0, failures=0, skipped=reason)
    examples, steps = (500, 30) if full else (3, 12)
    adapters = there() if full else [name for name in there() if name in LIGHT]
    with _opened(folder, "own", MemoryManager) as memory:
        found = harness_isolation.crossing(
            memory, adapters, examples=examples, steps=steps, number=seed
        )
    with _opened(folder, "joined", harness_isolation.Joined) as memory:
        leaked = harness_isolation.joined(memory, adapters, examples=10, steps=15, number=seed)
    return TrustResult(
        **named,
        cases=examples * steps,
        failures=int(bool(found)),
        control="a manager that joins its labels into one string",
        control_failed=bool(leaked),
        seed=seed,
        figures={
            "examples": examples, "steps each": steps,
            "namespaces": len(harness_isolation.LABELS),
            "adapters": ", ".join(adapters) or "none", "the control": leaked,
        },
        details=(found,) if found else (),
        skipped=f"not installed: {', '.join(absent())}" if absent() else "",
    )  # fmt: skip


@contextmanager
def _opened(folder: Path, schema: str, kind: type[MemoryManager]) -> Iterator[MemoryManager]:
    address = postgres.server().address(schema)
    with mock.patch.dict(os.environ, MEMENTO_CACHE=str(folder / "cache")):
        open_ledger(address).close()
        postgres.run(address, postgres.WATCH)
        embedder = harness_isolation.Quoting(32)
        with kind(address, embedder=embedder, config=harness_isolation.quick("exact")) as memory:
            yield memory


HARNESSES = (a_killed_server_loses_nothing, nobody_sees_anothers_on_a_server)
