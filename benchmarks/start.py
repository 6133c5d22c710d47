"""CPU seconds until a command of the shell is done, or the server for agents answers.

    python benchmarks/start.py          a table; exits with 1 if a command is over its limit
    python benchmarks/start.py --json

Each is the least of several processes with compiled files, one at a time, of the seconds on the CPU
with those of the children. ``times`` is the ratio to an interpreter that does nothing, which says
more than the seconds on a machine that is busy or slow; the limits hold for one that starts an
interpreter in ``IDLE`` seconds of CPU.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from tempfile import TemporaryDirectory

from memento.resident.client import call

RUNS = 9
IDLE = 0.012
LIMITS = {"--version": 0.08, "add": 0.2, "retrieve": 0.5, "mcp": 0.06, "mcp --alone": 0.1}
HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "b"}},
}  # fmt: skip
READY = """
import os, sys, time
from memento.cli import main
from {module} import {name}
def ends(*_):
    os.write(2, str(time.process_time()).encode())
    os._exit(0)
{name}.{said} = ends
sys.exit(main({words!r}))
"""
"""Starts the server and ends it at its first answer, with the seconds of its process so far."""
PIPE = {"module": "memento.resident.pipe", "name": "Pipe", "said": "_say", "words": ["mcp"]}
ALONE = {
    "module": "memento_mcp._wire", "name": "Server", "said": "_send", "words": ["mcp", "--alone"],
}  # fmt: skip


def seconds(command: Sequence[str]) -> float:
    """Run a command; return its seconds of CPU, in the system as well."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ready(how: Mapping[str, object]) -> float:
    """Start the server for agents; return its seconds of CPU when it answers ``initialize``."""
    sent = json.dumps(HELLO).encode() + b"\n"
    command = [sys.executable, "-c", READY.format(**how)]
    return float(subprocess.run(command, input=sent, check=True, capture_output=True).stderr)


def measure(root: str) -> dict[str, float]:
    """Return the seconds of an empty program and of each command, the least of several."""
    memento = [sys.executable, "-m", "memento"]
    commands = {
        "python": [sys.executable, "-c", "pass"],
        "--version": [*memento, "--version"],
        "add": [*memento, "add", "The ferry leaves at nine", "--root", root],
        "retrieve": [*memento, "retrieve", "when does the ferry leave?", "--root", root],
    }
    for command in commands.values():
        seconds(command)  # the first compiles, and makes the store
    found = {name: min(seconds(command) for _ in range(RUNS)) for name, command in commands.items()}
    ready(PIPE)  # the first starts the process that serves the others
    return found | {
        "mcp": min(ready(PIPE) for _ in range(RUNS)),
        "mcp --alone": min(ready(ALONE) for _ in range(RUNS)),
    }


def main() -> int:
    """Measure and print; return the exit status."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with TemporaryDirectory(prefix="memento-start-") as root:
        os.environ["MEMENTO_ROOT"] = root
        found = measure(root)
        call(root, {"call": "stop"}, seconds=10)
    times = {name: found[name] / found["python"] for name in LIMITS}
    over = [name for name, limit in LIMITS.items() if times[name] > limit / IDLE]
    if "--json" in sys.argv:
        print(json.dumps({"seconds": found, "times": times, "over": over}))
        return bool(over)
    print(f"python -c pass: {found['python']:.3f} s\n{'command':<12}seconds   times  at most")
    for name, limit in LIMITS.items():
        mark = "  over" if name in over else ""
        print(f"{name:<12}{found[name]:7.3f}  {times[name]:6.1f}  {limit / IDLE:7.1f}{mark}")
    return bool(over)


if __name__ == "__main__":
    sys.exit(main())
