"""Shared by the benchmark scripts: tables, percentiles, child processes, results as JSON."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import traceback
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from memento import MemoryManager
    from memento.protocols import Embedder

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("agent-memento", "chromadb", "onnxruntime", "numpy", "langchain-chroma")


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value beside what it has to reach.

    Attributes:
        what: What was measured.
        value: The value, or None if it was not measured.
        floor: Value that has to be reached, or None if none is set.
        aim: Value we are after, or None.
        unit: Unit of all three; ``x`` for a ratio.
        higher: Whether more is better.
        note: How it was measured, or why not.
    """

    what: str
    value: float | None
    floor: float | None = None
    aim: float | None = None
    unit: str = "x"
    higher: bool = False
    note: str = ""

    @property
    def verdict(self) -> str:
        """``aim``, ``floor`` or ``MISSED``; ``-`` if there is nothing to compare."""
        if self.value is None or self.floor is None:
            return "-"
        if self.aim is not None and self._reaches(self.aim):
            return "aim"
        return "floor" if self._reaches(self.floor) else "MISSED"

    def _reaches(self, mark: float) -> bool:
        assert self.value is not None
        return self.value >= mark if self.higher else self.value <= mark

    def cells(self) -> list[str]:
        """Return the figure as a line of a table."""
        sign = "≥" if self.higher else "≤"
        marks = [f"{sign} {mark:g}" if mark is not None else "" for mark in (self.floor, self.aim)]
        value = "not measured" if self.value is None else f"{self.value:.3g} {self.unit}"
        return [self.what, value, *marks, self.verdict, self.note]


FIGURE_HEADERS = ("what", "measured", "floor", "aim", "holds", "how")


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out text in columns, the first to the left, short ones to the width they need."""
    widths = [max(len(row[n]) for row in (headers, *rows)) for n in range(len(headers))]
    lines = [headers, ["-" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def measured(
    groups: Mapping[str, Callable[[], Iterable[Figure]]],
) -> tuple[dict[str, list[Figure]], list[str]]:
    """Measure groups of figures one after the other, and print those of each when it is done.

    A group that fails hides no other: its traceback and its name are printed, and what it measured
    before.

    Returns:
        The figures of each group, and the names of the groups that failed.
    """
    found: dict[str, list[Figure]] = {}
    failed: list[str] = []
    for name, group in groups.items():
        print(f"{name} ...", file=sys.stderr, flush=True)
        found[name] = []
        try:
            for figure in group():
                found[name].append(figure)
        except Exception:  # noqa: BLE001 - it is printed, and the caller learns which group
            traceback.print_exc()
            failed.append(name)
        rows = [figure.cells() for figure in found[name]]
        print(f"\n{name}\n{table(FIGURE_HEADERS, rows)}", flush=True)
    if failed:
        print(f"\nfailed: {', '.join(failed)}", flush=True)
    return found, failed


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that ``share`` of the values do not exceed.

    Args:
        values: At least one.
        share: [0, 1]; 0.5 is the median.

    >>> percentile([3, 1, 2], 0.5)
    2
    """
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def median(values: Sequence[float]) -> float:
    """Return the middle value."""
    return percentile(values, 0.5)


def environment() -> dict[str, Any]:
    """Say on what the figures were measured."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "packages": {name: _version(name) for name in PACKAGES},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def write_json(path: Path | None, result: dict[str, Any]) -> None:
    """Write a result with its command and its environment; nothing without a path."""
    if path is not None:
        whole = {"command": sys.argv, "environment": environment(), **result}
        path.write_text(json.dumps(whole, indent=1, default=_plain) + "\n", encoding="utf-8")


def _plain(value: object) -> Any:
    if isinstance(value, Figure):
        return {**asdict(value), "holds": value.verdict}
    return str(value)


def child(script: str, *arguments: str) -> dict[str, Any]:
    """Run a script of this folder in a process of its own.

    Returns:
        The JSON object on the last line it printed.

    Raises:
        subprocess.CalledProcessError: If it failed; what it said went to standard error.
    """
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / script), *arguments],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=child_environment(),
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def child_environment() -> dict[str, str]:
    """Return the environment for a child: it imports the memento this script imports."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


EMBEDDERS = ("hash", "default", "none")
"""Embedders a script offers: a cheap deterministic one, the product's, none at all."""


def embedder_named(name: str) -> Embedder | None:
    """Return an embedder to give to the manager."""
    if name == "none":
        return None
    if name == "hash":
        from memento.testing import HashEmbedder  # noqa: PLC0415 - loads numpy

        return HashEmbedder()
    from memento.embed import resolve  # noqa: PLC0415 - loads the runtime

    return resolve(name)


def unindexed(memory: MemoryManager) -> int:
    """Return how many memories still wait for their vector or their place in the index."""
    return sum(memory.store.stats().backlog.values())
