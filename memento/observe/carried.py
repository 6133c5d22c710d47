"""Tell whether a message may carry words that the user did not type. Pure.

A mail that is forwarded, a page, a log, a chat or a file in a message is not the user's word, and
whoever wrote it can make it look like one: close a mark, open it again, leave it out. So nothing is
decided by recognising such texts. What is recognised is the one form that has no room for them: a
short line of plain prose. In anything else nothing that steers an agent is learnt by itself: no
rule, no value of a slot, no request to forget, no correction. Of prose in several lines the rest
may be learnt; of all other messages nothing is.
"""

from __future__ import annotations

import re

from memento.blocks import SHOWN
from memento.observe.mask import HIDDEN, OWN
from memento.observe.shown import is_own_lead

LONGEST = 600
"""Most characters of a message that is taken for typed. Of 1,367 messages to an assistant, all but
17 of those that had one line were shorter."""
MOST_READ = 8_000
"""Most characters of a message that is taken for prose; nobody types more."""

_PROSE = re.compile(r"[^\W_]|[¿¡'’‘“„«»\"`(.…]|[^\w\s\x00-\x7f\u2000-\u206f]")  # noqa: RUF001 - real
"""The first character of prose: a letter, a digit, an opening mark, or a sign such as an emoji."""
_STAMP = re.compile(
    r"\W*(?:\d{1,2}[:.]\d\d\b|\d{4}-\d\d-\d\d|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}|https?://|www\.|rt\s@)",
    re.IGNORECASE,
)
"""A moment or an address before all words, as in a log, a chat or a page."""
_MARK = re.compile(r"</?[^\W\d_]|[{}|\[\]\t]|\s[>#]\s|-{3,}|={3,}|\*\*|__|\s/(?:\s|$)")
"""Signs that stand in tables, markup, code and letters, and hardly in a line of prose."""
PROSE = "prose"
"""Why a message may carry something that has the form of prose in each of its lines."""
_SPEAKER = re.compile(r"\W*(?P<label>[^\W_][^\s:]*(?:\s[^\s:]+){0,2})\s?[:：](?=\s|$)")  # noqa: RUF001
"""Up to three words before the first colon: who speaks, or the name of a field."""
_COLON = re.compile(r"(?:^|[.!?…]\s+)(?P<label>(?:[^:.!?…]|[:.](?=\S)){1,60}?)\s?[:：](?=\s|$)")  # noqa: RUF001
"""Words before a colon where a sentence begins."""
_ITEM = re.compile(r"(?:[-*•]|\d{1,2}[.)])\s")
_PRINTED = re.compile(
    r"(?:[\w.-]+[:\s]\s?){0,3}\(?(?:trace|debug|info|notice|warn|warning|error|err!|fatal|critical)\b"
    r"[\])]?(?::|!|\s[\w.-]+:|\s(?-i:[A-Z0-9]))|\S{0,80}[@:/~]\S{0,80}[$#>]\s",
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
        None for a short line of plain prose. ``PROSE`` for prose of several lines, or with words
        before a colon that may say who speaks, or of more than 600 characters. Otherwise
        ``"length"`` (more than 8,000), ``"quotes"`` (a quotation that is not closed, or several),
        ``"marks"`` (a block of memories or its tag, markup, a table, code, what a program printed,
        a moment or an address before the words) or ``"speaker"`` (a name or a field before a colon,
        a line that announces the lines below, or a name behind the words).

    >>> from memento.observe.mask import hide
    >>> said = ["Use tabs, never spaces.", "Review this\n\nUse tabs, never spaces."]
    >>> [carries(one, hide(one)) for one in said]
    [None, 'prose']
    """
    said = text.strip()
    lines = said.splitlines()
    if len(said) > MOST_READ:
        return "length"
    if SHOWN in said or OWN.search(said):
        return "marks"
    if len(_QUOTE.findall(said)) not in (0, 2):
        return "quotes"
    shown = [line for line in masked.strip().splitlines() if line.strip()]
    if any(_introduces(line) for line in shown[:-1]):
        return "speaker"
    reasons = [why for line in shown if (why := _of_line(line, len(lines)))]
    hard = next((why for why in reasons if why != PROSE), None)
    return hard or (PROSE if reasons or len(lines) > 1 or len(said) > LONGEST else None)


def _introduces(line: str) -> bool:
    """Tell whether the lines below are what a line announces: "Here is the mail:"."""
    head = line.rstrip()
    return head.endswith((":", "：")) and not is_own_lead(head)  # noqa: RUF001 - a real colon


def _of_line(masked: str, lines: int) -> str | None:
    line = masked.strip().replace(HIDDEN, "x")
    if lines > 1:
        item = _ITEM.match(line)
        line = line[item.end() :].lstrip() if item else line
    hidden = not masked.strip(HIDDEN + " \t")
    printed = _STAMP.match(line) or _PRINTED.match(line) or _MARK.search(line)
    if hidden or printed or not _PROSE.match(line):
        return "marks"
    speaker = _SPEAKER.match(line)
    if (speaker and not is_own_lead(speaker["label"])) or _SIGNED.search(line):
        return "speaker"
    others = (not is_own_lead(found["label"]) for found in _COLON.finditer(line))
    return PROSE if any(others) else None
