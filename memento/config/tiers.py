"""Settings of the tiers. This module does not import NumPy, so it is cheap to import."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class ShortConfig:
    """Sizes of the short tier.

    Attributes:
        capacity: Turns in the ring of a session, >= 1; older ones move to medium.
        sessions: Rings kept in RAM and in the snapshot, those used last, >= 1.
        snapshot_seconds: Longest time until a change is in the JSON snapshot, > 0.
    """

    capacity: int = 50
    sessions: int = 256
    snapshot_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """Sizes and pauses of the background indexer.

    Attributes:
        bite_texts: Texts embedded in one batch, after which waiting queries go first, >= 1.
        bite_chars: Characters embedded in one batch, >= 1; about 4 per token.
        index_rows: Rows written to the long tier at once, 1 to 64.
        behind_rows: Backlog, in rows, above which it gives way only to queries and no longer to a
            stream of adds, >= 0.
        start_seconds: Pause before work starts, so that a burst of writes is processed together
            and a short-lived process ends before the model is loaded, >= 0.
        poll_seconds: Seconds between checks for writes of other processes, > 0.
        retry_seconds: First pause after a failure; doubles up to 60 s, > 0.
        checkpoint_bytes: Size of the write-ahead log from which it is checkpointed, >= 0.
    """

    bite_texts: int = 16
    bite_chars: int = 8_192
    index_rows: int = 64
    behind_rows: int = 512
    start_seconds: float = 0.05
    poll_seconds: float = 0.5
    retry_seconds: float = 1.0
    checkpoint_bytes: int = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class LongConfig:
    """Settings of the long tier and its use of Chroma.

    Attributes:
        batch: Rows written to Chroma in one call, >= 1. More rows are cheaper per row and delay
            searches longer: 100 rows of 384 take 72 ms of CPU.
        probe_seconds: Time limit of the child process that checks a suspect folder, > 0.
        max_resets: Most resets after damage per process and folder, >= 0. Without a limit, a disk
            that corrupts files would cause endless rebuilding and fill up.
        settled_after: Number of calls after which an unclean end no longer leads to a rebuild,
            >= 1: a folder whose owner dies early twice is rebuilt, one whose owner is killed daily
            is probed.
        drain_seconds: Longest wait for running calls before closing, >= 0.
    """

    batch: int = 64
    probe_seconds: float = 20.0
    max_resets: int = 3
    settled_after: int = 256
    drain_seconds: float = 10.0


class LongIndex(StrEnum):
    """The choice of the index that answers a search by meaning."""

    AUTO = "auto"
    """Exact search up to 12,000 vectors, Chroma beyond, where this process has it open."""
    CHROMA = "chroma"
    """Chroma, unless its answer would be incomplete."""
    EXACT = "exact"
    """Always exact search."""
