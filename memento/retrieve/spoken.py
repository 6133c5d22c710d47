"""The dates that texts name, each text read once. Reading one for dates takes 0.1 ms.

A question that names a time reads up to 200 texts for dates, and half of them are those that the
last such question read. The dates depend on the text and its day alone. No text is kept: a digest
stands for it, with a key that only this process has.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from datetime import date
from hashlib import blake2b
from secrets import token_bytes

from memento.language.when import Period, said

MOST = 8_192
"""Texts of which the dates are kept, about 300 bytes each; those used least recently go first."""
_DIGEST = 16


class Spoken:
    """Reads texts for dates, and keeps what they name. Thread-safe.

    Args:
        most: Most texts of which it is kept, >= 0.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most, self._key = most, token_bytes(_DIGEST)
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[bytes, int], tuple[Period, ...]] = OrderedDict()

    def renew_lock(self) -> None:
        """Let go of a lock that another thread held when this process was forked."""
        self._lock = threading.Lock()

    def of(self, text: str, day: int) -> tuple[Period, ...]:
        """Return the dates that a text names, in order.

        Args:
            text: The text.
            day: The day it was said, as by `datetime.date.toordinal`.

        >>> [friday] = Spoken().of("We met last Friday", date(2023, 5, 10).toordinal())
        >>> date.fromordinal(friday.start).isoformat()
        '2023-05-05'
        """
        spelt = text.encode(errors="surrogatepass")
        at = blake2b(spelt, digest_size=_DIGEST, key=self._key).digest(), day
        with self._lock:
            found = self._kept.get(at)
            if found is not None:
                self._kept.move_to_end(at)
                return found
        found = tuple(said(text, date.fromordinal(day)))
        with self._lock:
            self._kept[at] = found
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return found


SPOKEN = Spoken()
"""Of this process: what a text names is the same in every store."""

os.register_at_fork(after_in_child=SPOKEN.renew_lock)
