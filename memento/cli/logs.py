"""Show the library's log on stderr, such as that it is waiting."""

from __future__ import annotations

import logging


class _Told(logging.Handler):
    """Prints each line once per command."""

    def __init__(self) -> None:
        super().__init__()
        self.said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        from memento.cli.output import warn  # noqa: PLC0415 - most commands log nothing

        line = record.getMessage()
        if line not in self.said:
            self.said.add(line)
            warn(line)


_WAITS = _Told()


def attach() -> None:
    """Print what concerns the user: that a command waits, or how a file is read."""
    _WAITS.said.clear()
    logging.getLogger("memento").addHandler(logging.NullHandler())
    for name in ("memento.ledger.lite.gate", "memento.ingest.source"):
        logging.getLogger(name).addHandler(_WAITS)
