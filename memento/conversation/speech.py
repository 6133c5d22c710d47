"""Tell what a message says from what only travels in it. Pure.

Two things in a message are no speech: a block that memento rendered for a prompt, which a front end
stores with the question, and a payload, such as a picture as base64. The block would come back as
the user's own words, and outlive the memories that it shows.
"""

from __future__ import annotations

import re
from collections import Counter

from memento.admit.redact import redact
from memento.base import blocks

LEAST = 200
"""Minimum number of characters in a run of base64 that is a payload; keys and digests are
shorter."""
_URI = re.compile(
    r"""\bdata:(?:[\w.+-]{1,99}/[\w.+-]{1,99}(?:;[\w.+-]{1,99}(?:=[^\s;,]{0,99})?){0,9}|;base64)
    ,[^\s"'<>()\[\]`]*""",
    re.IGNORECASE | re.VERBOSE,
)
_RUN = re.compile(
    r"(?<![\w+/.=-])[\w+/-]{56,}(?:\r?\n[ \t]*[\w+/-]{56,})*(?:\r?\n[ \t]*[\w+/-]{4,}(?==))?={0,2}",
    re.ASCII,
)
"""Base64 on one line or on lines of equal length."""
_SORTS = [re.compile(sort) for sort in ("[a-z]", "[A-Z]", "[0-9]")]
"""Sorts of characters that base64 of this length always has, and a word or a rule never."""
_AROUND = 80
"""Characters beside a run that tell whether it is part of a secret."""


def spoken(text: str) -> str:
    """Return a message with notes in the places of memento's own blocks and of payloads.

    >>> spoken("Here: data:image/png;base64,iVBORw0KGgo=")
    'Here: [data: 12 characters]'
    """
    text = blocks.hide(text)
    if "data:" in text.lower():
        text = _URI.sub(lambda found: _note(found[0].partition(",")[2]), text)
    return _RUN.sub(_run, text) if len(text) >= LEAST else text


def _run(found: re.Match[str]) -> str:
    """Replace a payload by a note; a secret stays for whatever takes out secrets."""
    run = found[0]
    if len(run) < LEAST or not all(sort.search(run) for sort in _SORTS):
        return run
    around = found.string[max(0, found.start() - _AROUND) : found.end() + _AROUND]
    return run if redact(around, Counter()) != around else _note(run)


def _note(payload: str) -> str:
    return f"[data: {len(payload):,} characters]"
