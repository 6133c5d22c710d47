"""Ids and moments as the command line shows them."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

from memento.base.clock import in_zone
from memento.base.display import one_line
from memento.config import Config
from memento.settings import load

_MADE = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[57][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|turn-[0-9a-f]{32}"
)
"""An id that memento made."""


def short(memory_id: str) -> str:
    """Return the part of an id that is shown: its last 8 characters if memento made it.

    >>> short("0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10"), short("mine")
    ('0c9e2d10', 'mine')
    """
    return memory_id[-8:] if _MADE.fullmatch(memory_id) else one_line(memory_id)


@cache
def _zone(name: str | None, system: str | None) -> tzinfo:
    """Return the time zone of the settings, else of ``$TZ``, else of the system, else UTC."""
    config = load().config
    if name or config.timezone != Config().timezone:
        return config.zone
    with suppress(OSError, ValueError):
        if system:
            return ZoneInfo(system)
        with Path("/etc/localtime").open("rb") as file:
            return ZoneInfo.from_file(file)
    return UTC


def zone() -> tzinfo:
    """Return the time zone in which moments are parsed and shown."""
    return _zone(os.environ.get("MEMENTO_TIMEZONE"), os.environ.get("TZ"))


def moment(at: datetime | None) -> str:
    """Format a moment to the second, in the user's time zone; ``""`` for None."""
    return "" if at is None else in_zone(zone(), at).strftime("%Y-%m-%d %H:%M:%S")
