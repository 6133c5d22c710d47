"""The promises of a store whose ledger is on a PostgreSQL server.

Alone: ``python benchmarks/trust.py --full --only server``. The server is one of its own, in a
temporary folder; without PostgreSQL the harnesses are skipped.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest import mock

import durability_server
import harness_isolation
from isolation_adapters import LIGHT, absent, there
from trust_result import TrustResult

from memento import MemoryManager, Status
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
    examples, steps = (200, 30) if full else (3, 12)  # as many as on SQLite
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


def a_forgotten_condition_shows_nothing(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Take the namespace out of every query, and ask again: the fence alone gives the same."""
    named: dict[str, Any] = {
        "name": "queries without a namespace, behind row security",
        "promise": "With a role in the address of the database, a query that forgot its namespace"
        " finds what it found with it, and nothing of another.",
    }
    if reason := postgres.missing():
        return TrustResult(**named, cases=0, failures=0, skipped=reason)
    from memento.ledger.pg import connect  # noqa: PLC0415 - psycopg may be missing

    owners, each = (64, 40) if full else (4, 8)
    plain = postgres.server().address("fence")
    address = postgres.fenced(plain)
    with mock.patch.dict(os.environ, MEMENTO_CACHE=str(folder / "cache")):
        with MemoryManager(plain, embedder=None) as memory:
            for at in range(owners):
                _settle(memory.of(f"tenant {at}"), f"owner{at}x", each)
        due = _told(plain, owners, "due")
        with mock.patch.object(connect, "prepared", forgetting(connect.prepared)):
            told = _told(address, owners, "fence")
            control = _told(plain, owners, "control")
    wrong = [name for name in due if due[name] != told[name]]
    leaked = [name for name in due if due[name] != control[name]]
    return TrustResult(
        **named,
        cases=len(due),
        failures=len(wrong),
        control="the same queries without a role",
        control_failed=bool(leaked),
        seed=seed,
        figures={"namespaces": owners, "memories of each": each,
                 "control: answers that differ": f"{len(leaked)} of {len(due)}"},
        details=tuple(f"{name}: {told[name]}"[:300] for name in wrong[:10]),
    )  # fmt: skip


def _settle(view: MemoryManager, sign: str, count: int) -> None:
    """Fill a namespace with the words, ids, keys and sessions that all have, and its sign."""
    view.add_many(
        {"text": f"the heron {n} of {sign}", "id": f"same {n}", "session": f"s{n % 3}",
         "key": f"key {n}", "tier": ("short", "medium", "long")[n % 3], "tags": ["t"]}
        for n in range(count)
    )  # fmt: skip
    view.update("same 0", text=f"the heron of {sign} that flew")
    view.forget("same 1")
    view.add(f"a guess of {sign}", source="web")
    view.flush(wait=True)


def _told(address: str, owners: int, name: str) -> dict[str, str]:
    """Ask everything of every namespace, in a process that knows nothing yet."""
    told = {}
    with MemoryManager(f"{address}&application_name={name}", embedder=None) as memory:
        for at in range(owners):
            view, file = memory.of(f"tenant {at}"), io.StringIO()
            view.store.export(file)
            lines = file.getvalue().splitlines()[1:-1]  # the head and the end tell the time
            answers = {
                "list": [one.id for one in view.list(limit=1000)],
                "texts": [one.text for one in view.list(status=list(Status), limit=1000)],
                "get": view.get("same 2").text,
                "value": [one.text for one in view.list(key="key 2")],
                "history": [one.text for one in view.changes.history("same 0")],
                "retrieve": [one.text for one in view.retrieve("heron", 50, record=False)],
                "names": [one.text for one in view.retrieve("key 2", match="names", record=False)],
                "recent": [one.text for one in view.sessions.recent(session="s0")],
                "quarantine": [one.text for one in view.quarantine.list()],
                "counts": view.store.counts("tier"),
                "changes": [one.kind for one in view.changes.list()],
                "export": sorted(lines),
            }  # fmt: skip
            told |= {f"{name} of {at}": repr(answer) for name, answer in answers.items()}
    return told


def forgetting(prepared: Callable[[str], str]) -> Callable[[str], str]:
    """Take the conditions on namespaces out of the statements that read."""
    held = r"(\1::bigint IS NOT NULL AND \2::bigint IS NOT NULL)"

    def changed(statement: str) -> str:
        there = prepared(statement)
        if not there.startswith("SELECT"):
            return there
        there = re.sub(r"\+?\b(?:\w+\.)?ns = (\$\d+)", r"(\1::bigint IS NOT NULL)", there)
        return re.sub(r"\b(?:\w+\.)?docid BETWEEN (\$\d+) AND (\$\d+)", held, there)

    return changed


@contextmanager
def _opened(folder: Path, schema: str, kind: type[MemoryManager]) -> Iterator[MemoryManager]:
    address = postgres.server().address(schema)
    with mock.patch.dict(os.environ, MEMENTO_CACHE=str(folder / "cache")):
        open_ledger(address).close()
        postgres.run(address, postgres.WATCH)
        embedder = harness_isolation.Quoting(32)
        with kind(address, embedder=embedder, config=harness_isolation.quick("exact")) as memory:
            yield memory


HARNESSES = (
    a_forgotten_condition_shows_nothing,
    a_killed_server_loses_nothing,
    nobody_sees_anothers_on_a_server,
)
