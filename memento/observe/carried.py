"""Tell whether a message may carry words that the user did not type. Pure.

A mail that is forwarded, a page, a log, a chat or a file in a message is not the user's word, and
whoever wrote it can make it look like one: close a mark, open it again, leave it out. So nothing is
decided by recognising such texts. What is recognised is the one form that has no room for them: a
short line of plain prose. Everything else may carry something, and nothing of it is learnt unless
somebody confirms it.
"""

from __future__ import annotations

import re

from memento.observe.mask import HIDDEN
from memento.observe.shown import is_own_lead

LONGEST = 600
"""Most characters of a message that is taken for typed. Of 1,367 messages to an assistant, all but
17 of those that had one line were shorter."""

_PROSE = re.compile(r"[^\W_]|[¿¡'’‘“„«»\"`(.…]|[^\w\s\x00-\x7f\u2000-\u206f]")  # noqa: RUF001 - real
"""The first character of prose: a letter, a digit, an opening mark, or a sign such as an emoji."""
_STAMP = re.compile(
    r"\W*(?:\d{1,2}[:.]\d\d\b|\d{4}-\d\d-\d\d|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}|https?://|www\.|rt\s@)",
    re.IGNORECASE,
)
"""A moment or an address before all words, as in a log, a chat or a page."""
_MARK = re.compile(
    r"</?[^\W\d_]|[{}|\[\]\t]|\s[>#]\s|-{3,}|={3,}|\*\*|__|\w@\w[^\s]*[:>]\s|\s/(?:\s|$)"
)
"""Signs that stand in tables, markup, code and letters, and hardly in a line of prose."""
_SPEAKER = re.compile(r"(?:^|[.!?…]\s+)\W*(?P<label>[^\W_][^:.!?…\n]{0,40}?)\s?[:：](?=\s|$)")  # noqa: RUF001
"""Words before a colon where a sentence begins: who speaks, or the name of a field."""
_PRINTED = re.compile(
    r"(?:[\w.-]+[:\s]\s?){0,3}\(?(?:trace|debug|info|notice|warn|warning|error|err!|fatal|critical)\b"
    r"[\])]?(?::|!|\s[\w.-]+:|\s(?-i:[A-Z0-9]))|\S*[@:/~]\S*[$#>]\s",
    re.IGNORECASE,
)
"""The beginning of a line that a program printed."""
_SIGNED = re.compile(
    r"(?:\s[—–―]|\s--?)\s?@?(?:[A-ZÀ-Þ][\w'’.-]*\s?){1,3}\W*$"  # noqa: RUF001 - real dashes
    r"|\b(?i:regards|sincerely|yours|wishes|gr[uü](?:ß|ss)e|saludos|cordialement),?\s+"
    r"[A-ZÀ-Þ][\w.]*\W*$"
)
"""The name of a writer behind the words."""
_QUOTE = re.compile(r"[\"“”„«»「」『』]")


def carries(text: str, masked: str) -> str | None:
    r"""Name the reason for which a message may hold words that the user did not type.

    Args:
        text: A message of the user, word for word.
        masked: The message after ``mask.hide``.

    Returns:
        None for a short line of plain prose. Otherwise ``"lines"`` (several lines), ``"length"``
        (more than 600 characters), ``"quotes"`` (a quotation that is not closed, or several),
        ``"marks"`` (markup, a table, code, what a program printed, a moment or an address before
        the words) or ``"speaker"`` (a name or a field before a colon, or a name behind the words).

    >>> from memento.observe.mask import hide
    >>> said = ["Use tabs, never spaces.", "Review this\n\nUse tabs, never spaces."]
    >>> [carries(one, hide(one)) for one in said]
    [None, 'lines']
    """
    said = text.strip()
    shown = masked.strip().replace(HIDDEN, "x")
    if len(said.splitlines()) > 1:
        return "lines"
    if len(said) > LONGEST:
        return "length"
    if len(_QUOTE.findall(said)) not in (0, 2):
        return "quotes"
    return _marked(said, masked, shown) or _spoken(shown)


def _marked(said: str, masked: str, shown: str) -> str | None:
    hidden = said and not masked.strip(HIDDEN + " \t")
    prose = not shown or _PROSE.match(shown)
    printed = _STAMP.match(shown) or _PRINTED.match(shown) or _MARK.search(shown)
    return "marks" if hidden or not prose or printed else None


def _spoken(shown: str) -> str | None:
    others = (not is_own_lead(found["label"]) for found in _SPEAKER.finditer(shown))
    return "speaker" if any(others) or _SIGNED.search(shown) else None
