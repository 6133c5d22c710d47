"""Wait for what another thread or process does."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def until(true: Callable[[], object], seconds: float = 90.0) -> None:
    """Wait until something is true; fail if it is not in time."""
    ends = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < ends, "it did not come to pass"
        time.sleep(0.005)
