"""Check whether the agents on this machine can reach their memory: ``memento doctor --agents``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from memento.agents.setup import agents_of, plan
from memento.agents.table import Agent, Program
from memento.base import layout
from memento.base.display import cut
from memento.base.home import default_root, is_server, state_folder
from memento.errors import InvalidInput, StoreError
from memento.types import Finding

SLOW = 0.15
"""A hook that takes more seconds is reported as slow."""
_SECONDS = 10
_SHOWN = 200


def examine(root: str | None) -> list[Finding]:
    """Return the findings for each agent on this machine, and for the hooks of all.

    Args:
        root: The store folder that the agents were set up for; None for the default.
    """
    run = Program.here(root)
    found = [one for agent in agents_of([]) for one in _of_agent(agent, run)]
    if not found:
        found.append(Finding("agents", ok=True, detail="none found on this machine"))
    return [*found, _log()]


def _of_agent(agent: Agent, run: Program) -> Iterator[Finding]:
    """Check the configuration of an agent, and run its hook with a harmless event."""
    try:
        missing = [str(change.path) for change in plan(agent, run)]
    except (InvalidInput, StoreError) as error:
        yield Finding(agent.name, ok=False, detail=str(error))
        return
    if missing:
        mend = f"differs from what `memento setup {agent.name}` writes: {', '.join(missing)}"
        yield Finding(agent.name, ok=False, detail=mend)
        return
    program = shutil.which(agent.program) or "its program is not on the PATH"
    yield Finding(agent.name, ok=True, detail=f"set up; {program}")
    yield _played(agent, run)


def _played(agent: Agent, run: Program) -> Finding:
    """Run its hook twice with an empty event, which stores nothing, and time the second run.

    If there is no store yet, a temporary one is used, so that the check does not create one.
    """
    event = next(name for name, moment in agent.moments.items() if moment in ("stop", "compact"))
    name = f"{agent.name} hook"
    store = Path(run.root[-1]) if run.root else default_root()
    try:
        with TemporaryDirectory() as empty:
            known = is_server(store) or (store / layout.LEDGER).exists()
            root = run.root if known else ("--root", empty)
            command = [*run.words, "hook", agent.name, event, *root]
            for _ in range(2):
                began = time.perf_counter()
                subprocess.run(  # noqa: S603 - the command that set-up writes
                    command, input=json.dumps({}).encode(), check=True, timeout=_SECONDS
                )
            took = time.perf_counter() - began
    except (OSError, subprocess.SubprocessError) as error:
        return Finding(name, ok=False, detail=f"{event} fails: {error}")
    slow = f" (slow: over {SLOW * 1000:.0f} ms)" if took > SLOW else ""
    return Finding(name, ok=True, detail=f"answers {event} in {took * 1000:.0f} ms{slow}")


def _log() -> Finding:
    """Report the last line of the hooks' log, and whether hooks are turned off."""
    path: Path = state_folder() / "hooks.log"
    said = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    detail = f"last error: {cut(said[-1], _SHOWN)} ({path})" if said else "no errors"
    if (switch := os.environ.get("MEMENTO_HOOKS", "")) in ("off", "0"):
        detail = f"turned off by MEMENTO_HOOKS={switch}"
    return Finding("hooks", ok=True, detail=detail)
