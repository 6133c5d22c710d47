"""The settings of the tiers. No NumPy here: configuration is cheap to import."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class ShortConfig:
    """How much the short tier holds.

    Attributes:
        capacity: Turns a session's ring holds, >= 1; older ones move to medium.
        sessions: Rings kept in RAM and in the snapshot, the latest used, >= 1.
        snapshot_seconds: Longest time a change waits for the JSON snapshot, > 0.
    """

    capacity: int = 50
    sessions: int = 256
    snapshot_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """How the indexer works.

    Attributes:
        bite_texts: Texts embedded between two looks at waiting queries, >= 1.
        bite_chars: Characters embedded between two such looks, >= 1; about 4 a token.
        index_rows: Rows handed to the long tier at once, 1 to 64.
        behind_rows: Rows owed from which it gives way to queries only, no longer to a stream of
            adds, >= 0.
        start_seconds: Pause between news and work, so that a burst comes together and a
            short-lived process ends before the model is loaded, >= 0.
        poll_seconds: How often it looks for what other processes wrote, > 0.
        retry_seconds: First pause after a failure; doubles up to 60 s, > 0.
        checkpoint_bytes: Size of the write-ahead log worth folding into the file, >= 0.
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
    """How the long tier treats Chroma.

    Attributes:
        batch: Rows handed to Chroma in one call, >= 1. Larger is cheaper a row and holds up
            searches longer: 100 rows of 384 take 72 ms of CPU.
        probe_seconds: Time limit of the child process that looks at a suspect folder, > 0.
        max_resets: Resets after damage that one process does for one folder, >= 0. Without an
            end, a disk that garbles files would keep us rebuilding and filling it.
        settled_after: Calls served after which an unclean end no longer counts towards a
            rebuild, >= 1: what dies early twice is rebuilt, what is killed daily is probed.
        drain_seconds: Longest wait for running calls before closing, >= 0.
    """

    batch: int = 64
    probe_seconds: float = 20.0
    max_resets: int = 3
    settled_after: int = 256
    drain_seconds: float = 10.0


class LongIndex(StrEnum):
    """Which index is to answer by meaning."""

    AUTO = "auto"
    """The cheaper one."""
    CHROMA = "chroma"
    """Chroma, unless its answer would be short."""
    EXACT = "exact"
    """Exact search always."""


@dataclass(frozen=True, slots=True)
class ChooseConfig:
    """Where Chroma becomes the better choice.

    Attributes:
        exact_below: Vectors under which exact search is faster, >= 0. Measured with 384
            dimensions on one core: exact 0.9 ms at 10,000, Chroma 1.7 ms there and 1.9 ms at
            100,000.
        overfetch: Times the wanted number that is asked of Chroma, to be filtered afterwards,
            >= 1. A filter that leaves less than one in so many is left to exact search.
        max_backlog: Vectors Chroma may not know yet, >= 0; exact search looks through them in
            any case (0.1 ms per 1,000).
    """

    exact_below: int = 15_000
    overfetch: int = 4
    max_backlog: int = 2_000
