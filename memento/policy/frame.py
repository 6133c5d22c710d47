"""The tag around a block that must be the same each time it is made, and still not be forged."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import count

DIGITS = 12
"""Hexadecimal digits of a tag: enough that no text holds them by chance."""


def tag(secret: bytes, names: Sequence[object], texts: Iterable[str]) -> str:
    """Return the digits in the name of a tag, which occur in none of the texts that it encloses.

    Args:
        secret: Known to the store alone, see ``ledger.secret``.
        names: What the block is of, such as the namespace and the session.
        texts: What the block shows.

    >>> tag(b"secret", ["s"], []) == tag(b"secret", ["s"], ["some text"])
    True
    """
    enclosed = list(texts)
    for attempt in count():
        said = repr((*names, attempt)).encode(errors="surrogatepass")
        digits = hmac.new(secret, said, sha256).hexdigest()[:DIGITS]
        if not any(digits in text for text in enclosed):
            return digits
    raise AssertionError  # pragma: no cover - count() does not end
