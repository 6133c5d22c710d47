"""Find patterns in letters of either case, at a third of what ``re.IGNORECASE`` costs. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property


class Small:
    """A pattern, written in lower case, that also matches capital letters.

    ASCII text is searched in lower case and with ``re.ASCII``, which saves a third: a table tells
    which characters are part of a word. Other text is searched with ``re.IGNORECASE``, because
    lower case may change its length. Each is compiled on first use: those of a query take 20 ms.

    Args:
        pattern: The pattern, without capital letters.
        flags: Other flags of ``re.compile``.
        needs: Strings of which every matching ASCII text contains at least one: looking for them
            costs a fraction of an expensive pattern. None for a cheap pattern.

    Attributes:
        pattern: As given.
        needs: As given.

    >>> Small("ada|émile").found_in("ADA"), Small("ada|émile").found_in("ÉMILE")
    (True, True)
    """

    def __init__(self, pattern: str, flags: int = 0, *, needs: Sequence[str] | None = None) -> None:
        self.pattern, self._flags, self.needs = pattern, flags, needs

    def found_in(self, text: str) -> bool:
        """Return whether the pattern matches somewhere in a text."""
        if not text.isascii():
            return self._any.search(text) is not None
        small = text.lower()
        if self.needs is not None and not holds_any(small, self.needs):
            return False
        return self._ascii.search(small) is not None

    def begins(self, text: str) -> bool:
        """Return whether the pattern matches at the start of a text."""
        if text.isascii():
            return self._ascii.match(text.lower()) is not None
        return self._any.match(text) is not None

    @cached_property
    def _ascii(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self._flags | re.ASCII)

    @cached_property
    def _any(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self._flags | re.IGNORECASE)


def holds_any(text: str, parts: Sequence[str]) -> bool:
    """Return whether a text contains any of some strings, at half the cost of ``any``.

    >>> holds_any("on monday", ["sun", "mon"]), holds_any("on monday", ["tue"])
    (True, False)
    """
    for part in parts:  # noqa: SIM110 - see above
        if part in text:
            return True
    return False
