"""The content of a string that a caller gave. Pure."""

import re
from unicodedata import normalize

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def plain(text: str) -> str:
    """Return the content of a string as a ``str``, without calling a method of a subclass."""
    return str.__str__(text)


def worded(text: str) -> str:
    r"""Return a message in the form in which copies are compared: NFC, with single spaces.

    >>> worded("My  cafe\u0301\r\n") == "My caf\u00e9"
    True
    """
    return " ".join(composed(text).split())


def composed(name: str) -> str:
    r"""Return a name in the one Unicode form (NFC) in which names are kept and compared.

    macOS decomposes "\u00eb" in file names, and Linux does not; both are the same name.

    >>> composed("Zoe\u0308") == composed("Zo\u00eb")
    True
    """
    return normalize("NFC", plain(name))


def mended(text: str) -> str:
    r"""Replace what a database cannot store: a NUL or half of a surrogate pair.

    >>> mended("nul \0")
    'nul \ufffd'
    """
    return _UNSTORABLE.sub("\ufffd", text)
