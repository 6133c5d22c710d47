"""The library's log on standard error, such as that it is waiting."""

from __future__ import annotations

import logging


class _Told(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        from memento.cli.output import warn  # noqa: PLC0415 - most commands log nothing

        warn(record.getMessage())


_WAITS = _Told()


def attach() -> None:
    """Print that a command waits for another process, and nothing else."""
    logging.getLogger("memento").addHandler(logging.NullHandler())
    logging.getLogger("memento.ledger.lite.gate").addHandler(_WAITS)
