"""Memory and CPU of several agents on one store: through the resident process, and each alone.

    python benchmarks/coding_agents.py    five, 1,000 memories; exits with 1 over a limit
    python benchmarks/coding_agents.py --agents 8 -n 20000

Each agent greets, recalls twice and stays. ``MB`` is the memory that is theirs alone, and their
part of what several processes share (PSS); ``CPU`` is until all have their answers.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from memento import MemoryManager
from memento.resident.client import call

LIMIT = 300
"""Most MB of five agents together, through the resident process."""


def line(number: int, method: str, **params: object) -> bytes:
    """Write a request."""
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(message).encode() + b"\n"


def fill(root: str, count: int) -> None:
    """Make a store."""
    with MemoryManager(root) as memory:
        for first in range(0, count, 500):
            memory.add_many(
                [
                    f"The service number {n} listens on port {7000 + n} in rack {n % 90}"
                    for n in range(first, min(first + 500, count))
                ]
            )
        memory.flush(wait=True)


def megabytes(process: int) -> float:
    """Return the memory of a process."""
    rows = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith("Pss:")) / 1024


def seconds(process: int) -> float:
    """Return the CPU time of a process."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def measure(root: str, count: int, *given: str) -> dict[str, float]:
    """Start agents, let them recall, and weigh them and the process that serves them."""
    words = [sys.executable, "-m", "memento", "mcp", "--root", root, *given]
    agents = [
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=sys.stderr)
        for _ in range(count)
    ]
    recall = {"name": "recall", "arguments": {"query": "which port does the service 42 use?"}}
    for agent in agents:
        assert agent.stdin is not None
        agent.stdin.write(line(1, "initialize") + line(2, "tools/call", **recall))
        agent.stdin.write(line(3, "tools/call", **recall))
        agent.stdin.flush()
    for agent in agents:
        assert agent.stdout is not None
        said = [json.loads(agent.stdout.readline()) for _ in range(3)]
        assert "listens on port" in said[-1]["result"]["content"][0]["text"]
    time.sleep(2)  # what is loaded in the background is theirs as well
    pids = [agent.pid for agent in agents]
    if not given:
        pids.append(call(root, {"call": "status"}, seconds=10)["pid"])
    found = {"MB": sum(map(megabytes, pids)), "CPU": sum(map(seconds, pids))}
    for agent in agents:
        agent.communicate()
    return found


def main() -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=5)
    parser.add_argument("-n", type=int, default=1_000)
    asked = parser.parse_args()
    with TemporaryDirectory(prefix="memento-agents-") as root:
        fill(root, asked.n)
        alone = measure(root, asked.agents, "--alone")
        shared = measure(root, asked.agents)
        call(root, {"call": "stop"}, seconds=10)
    print(f"{asked.agents} agents, {asked.n:,} memories      MB     CPU s")
    for name, found in {"each alone": alone, "through one process": shared}.items():
        print(f"{name:<24}{found['MB']:10.0f}{found['CPU']:10.2f}")
    return int(shared["MB"] / asked.agents > LIMIT / 5)


if __name__ == "__main__":
    sys.exit(main())
