"""Tell a secret from a text that only looks like one, by a checksum, a header or its letters.

Each function takes a match of a pattern of ``secrets`` and returns whether it is real. A format
that can be decoded is decoded; after a mere prefix, the characters must look random.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from itertools import pairwise

MARK = "[redacted:"
"""Beginning of the marker that takes the place of a secret."""

BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
CHECKSUM_CHARS = 6
LEAST_VARIED = 8
"""Minimum number of different characters in 20 or more random ones; 20 hexadecimal digits have 8 or
more in 999 of 1,000 cases, and what people write to stand for a key has fewer."""

LEAST_IN_ADDRESS = 4
"""Minimum number of characters in a password in an address: manuals have ``abc:xyz@`` and
``abc:123@``."""

_PLACEHOLDERS = frozenset({
    "password", "passwd", "pass", "pwd", "secret", "token", "key", "changeme", "change_me",
    "example", "placeholder", "redacted", "your_password", "yourpassword", "mypassword", "hunter",
    "none", "null", "true", "false", "required", "optional", "hidden", "username", "user",
    "string", "undefined",
})  # fmt: skip
_VARIABLE = re.compile(
    r"\$[{(]|\$[A-Za-z_]\w*$|%[A-Za-z_]+%$|%\(|[{<*(\[]|[A-Za-z_][\w.]*[(\[]|[~.]{0,2}/"
    r"|(?:os|process|self|env|config)\.|[A-Za-z]:\\"
)
_NO_PASSWORD = re.compile(
    r"(?:[^\s@]+@[\w-]+(?:\.[\w-]+)+|\d+-?[A-Za-z]+(?:-[A-Za-z]+)*|[A-Za-z]+[.-]\d+(?:\.\d+)*)$"
    r"|[A-Za-z][A-Za-z0-9+.-]*://|\d{4}-\d\d-\d\d"
    r"|(?i:sha|md|aes|iso|rsa|utf|pci|nist|bcrypt|argon|pbkdf|base|fido|oauth|gpg|pgp)-?\d[\d.]*"
    r"(?:-|$)"
)
"""Addresses, counts, versions, dates, standards and algorithms: what sentences say of passwords."""
_NAME = r"(?:[A-Za-z]++(?:\d{1,6}[A-Za-z]{0,24})?|\d{1,12})"
_NAMES = re.compile(rf"_*{_NAME}(?:[-_./]+{_NAME})+")
"""Each letter can match in one way only; otherwise each further word would double the time."""
_STANDS_FOR = re.compile(r"(?i:your|token|example|placeholder|insert|replace|redacted)")
_WORDY = re.compile(r"[A-Za-z_.-]+")
_RUN = re.compile(r"[A-Za-z0-9]{12,}")
_LETTER, _DIGIT = re.compile(r"[A-Za-z]"), re.compile(r"\d")
_PART_OF_NAME = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SECOND_LETTERS = {
    "a": "bcdgilmnprst", "b": "aceijlorsuy", "c": "aehiklortu", "d": "abdefilorsu",
    "e": "acdflmnprstvx", "f": "aefilorstu", "g": "aeghilnorsu", "h": "aeiorstuy",
    "i": "acdeglmnoprstz", "j": "aeikopsuw", "k": "adegilnopstuw", "l": "adeilostuy",
    "m": "abeimopsuv", "n": "acdefginostv", "o": "abcdlmnoprstuw", "p": "aeiloprstuy",
    "q": "adilrsu", "r": "acdeimorstuy", "s": "acehiopstuy", "t": "aehiorstuy",
    "u": "abeilmnprst", "v": "aceimox", "w": "aehiklnors", "x": "acefimptvxy",
    "y": "acdeilmnoprst", "z": "aeiostuyz",
}  # fmt: skip
"""The letters that follow a letter in nine of ten pairs of letters in names of code.

Source: counted over the different words of 6,000 files of the Python packages that the tests
install. At `USUAL`, 0.1 % of their 27,000 names of 16 or more characters in both cases, with less
than two digits, are taken for random; 90 % of 24 random letters, and 96 % of 40, are told from
names.
"""
USUAL = 0.6
"""Minimum share of usual pairs in what words are made of; random letters have 0.42 of them."""
LEAST_PAIRS = 8
"""Minimum number of pairs for a decision."""


def crc_base62(body: str) -> str:
    """Return the checksum GitHub and npm put at the end of a token: CRC-32 in six base-62 digits.

    >>> crc_base62("zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ")
    '0mLq17'
    """
    number = zlib.crc32(body.encode())
    digits = ""
    for _ in range(CHECKSUM_CHARS):
        number, rest = divmod(number, 62)
        digits = BASE62[rest] + digits
    return digits


def checksum_holds(token: str) -> bool:
    """Return whether the checksum at the end of a GitHub or npm token is right."""
    body = token.partition("_")[2]
    return crc_base62(body[:-CHECKSUM_CHARS]) == body[-CHECKSUM_CHARS:]


def random(token: str) -> bool:
    """Tell random characters from a placeholder such as ``xxxxxxxx``, by their variety."""
    return len(set(token)) >= LEAST_VARIED


def _unreadable(token: str) -> bool:
    """Tell random letters of both cases from identifiers, by letter pairs rare in words."""
    if token.islower() or token.isupper():
        return False
    parts = [part.lower() for part in _PART_OF_NAME.findall(token)]
    pairs = [pair for part in parts for pair in pairwise(part)]
    usual = sum(second in _SECOND_LETTERS[first] for first, second in pairs)
    return len(pairs) >= LEAST_PAIRS and usual < USUAL * len(pairs)


def mixed(token: str) -> bool:
    """Tell random characters from hyphenated words: digits among them, or unlikely letters."""
    both = bool(_LETTER.search(token)) and len(_DIGIT.findall(token)) > 1
    return random(token) and (both or _unreadable(token))


def cased(token: str) -> bool:
    """Tell random characters after a long prefix from words: digits or capitals among them."""
    body = token.rpartition("secret_")[2]
    return random(token) and not (body.islower() and not _DIGIT.search(body))


def dense(token: str) -> bool:
    """Tell random characters after a prefix as short as ``sk-`` from words with hyphens."""
    return any(_LETTER.search(run) and _DIGIT.search(run) for run in _RUN.findall(token))


def jwt(token: str) -> bool:
    """Recognise a JSON Web Token by its header, which names an algorithm."""
    header = token.partition(".")[0]
    try:
        fields = json.loads(base64.urlsafe_b64decode(header + "=" * (-len(header) % 4)))
    except (binascii.Error, ValueError):
        return False
    return isinstance(fields, dict) and ("alg" in fields or "enc" in fields)


def discord(token: str) -> bool:
    """Recognise a bot token by its first part, which is the bot's number in Base64."""
    first = token.partition(".")[0]
    try:
        return base64.b64decode(first + "=" * (-len(first) % 4)).isdigit()
    except (binascii.Error, ValueError):
        return False


def user_and_password(token: str) -> bool:
    """Recognise basic authentication: the Base64 of ``user:password``.

    A pair of placeholders, such as ``user:password`` itself, is an example.
    """
    try:
        said = base64.b64decode(token + "=" * (-len(token) % 4), validate=True).decode()
    except (binascii.Error, ValueError):
        return False
    user, colon, password = said.partition(":")
    example = user.lower() in _PLACEHOLDERS and password.lower() in _PLACEHOLDERS
    return bool(colon and password) and said.isprintable() and not example


def chosen(value: str) -> bool:
    """Tell a chosen password from a variable, a path, a placeholder or a plain word."""
    word = value.partition(")")[0]  # the last argument of a call
    if value.startswith(MARK) or word.lower() in _PLACEHOLDERS or _VARIABLE.match(value):
        return False
    return len(set(value)) > 2 and not _WORDY.fullmatch(value)  # noqa: PLR2004 - "xxx", "***"


def url_password(value: str) -> bool:
    """Tell a password in a URL from a placeholder; here plain words are real passwords."""
    shown = value.startswith(MARK) or value.lower() in _PLACEHOLDERS or _VARIABLE.match(value)
    return not shown and len(value) >= LEAST_IN_ADDRESS and len(set(value)) > 2  # noqa: PLR2004 - "xxxx"


def spoken(value: str) -> bool:
    """Tell a password in a sentence from an address, a quantity or the name of a standard."""
    mixed = bool(_LETTER.search(value)) and bool(_DIGIT.search(value))
    return mixed and chosen(value) and not _NO_PASSWORD.match(value)


def typed(value: str) -> bool:
    """Tell a password after a command-line option from a plain word or number."""
    return chosen(value) and bool(_LETTER.search(value)) and bool(_DIGIT.search(value))


def keyed(value: str) -> bool:
    """Tell a key from an identifier, a path, or words and numbers joined by punctuation."""
    named = _NAMES.fullmatch(value) and not _unreadable(value)
    return _chosen_or_word(value) and mixed(value) and not named


def borne(value: str) -> bool:
    """Tell a token after ``Authorization:`` from a placeholder."""
    mixed = bool(_DIGIT.search(value)) or not (value.islower() or value.isupper())
    return mixed and random(value) and _chosen_or_word(value) and not _STANDS_FOR.search(value)


def _chosen_or_word(value: str) -> bool:
    return not value.startswith(MARK) and not _VARIABLE.match(value)
