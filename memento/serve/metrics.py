"""Counters of calls, in the text format of Prometheus."""

from __future__ import annotations

import resource
import sys
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Lock

from memento.upkeep.lineage import Stats

EDGES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper edges of the histogram of durations, seconds."""
TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counters of the calls of a service."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._calls: Counter[tuple[str, int]] = Counter()
        self._took: dict[str, list[int]] = defaultdict(lambda: [0] * (len(EDGES) + 1))
        self._seconds: dict[str, float] = defaultdict(float)

    def count(self, method: str, status: int, seconds: float) -> None:
        """Count a call that was answered."""
        with self._lock:
            self._calls[method, status] += 1
            self._took[method][bisect_left(EDGES, seconds)] += 1
            self._seconds[method] += seconds

    def text(self, stats: Stats, streams: int) -> str:
        """Return the counters as text, with gauges of the service's own namespace."""
        gauges = {
            "memento_memories": {f'tier="{tier}"': n for tier, n in stats.tiers.items()},
            "memento_hidden": {f'status="{status}"': n for status, n in stats.hidden.items()},
            "memento_backlog": {"": sum(stats.backlog.values())},
            "memento_streams": {"": streams},
            "process_resident_memory_bytes": {"": _resident()},
        }
        with self._lock:
            lines = [*self._lines(), *_gauges(gauges)]
        return "\n".join(lines) + "\n"

    def _lines(self) -> Iterator[str]:
        yield "# TYPE memento_calls_total counter"
        for (method, status), n in sorted(self._calls.items()):
            yield f'memento_calls_total{{method="{method}",status="{status}"}} {n}'
        yield "# TYPE memento_call_seconds histogram"
        for method, counts in sorted(self._took.items()):
            below = 0
            for edge, n in zip((*EDGES, "+Inf"), counts, strict=True):
                below += n
                yield f'memento_call_seconds_bucket{{method="{method}",le="{edge}"}} {below}'
            yield f'memento_call_seconds_sum{{method="{method}"}} {self._seconds[method]:.6f}'
            yield f'memento_call_seconds_count{{method="{method}"}} {below}'


def _gauges(gauges: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    for name, values in gauges.items():
        yield f"# TYPE {name} gauge"
        for labels, value in values.items():
            yield f"{name}{{{labels}}} {value}" if labels else f"{name} {value}"


def _resident() -> int:
    """Return the resident memory of the process, bytes; without ``/proc``, its maximum so far."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
