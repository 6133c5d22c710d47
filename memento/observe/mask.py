"""Hide what is not the user's own statement: code, quotations, logs, tables, memento's own blocks.

Pure. The result has the length of the text and the same line breaks, so that a span of one is a
span of the other.
"""

from __future__ import annotations

import re

HIDDEN = "\ufffc"
"""The character that stands for each hidden one."""

OWN = re.compile(r"<([a-z]+-[0-9A-Za-z]{8,64})>.*?(?:</\1>|\Z)", re.DOTALL)
"""A block that memento rendered for a prompt; see ``memento.prompt.rendering``. An open one hides
the rest, so that a cut block cannot be learnt."""
_FENCE = re.compile(
    r"^[ \t]*(?P<fence>`{3,}|~{3,})[^\n]*(?:\n.*?)?(?:^[ \t]*(?P=fence)[`~]*[ \t]*$|\Z)",
    re.DOTALL | re.MULTILINE,
)
_INLINE = re.compile(r"(`{1,2})(?!`)[^`\n]+\1")
_QUOTATIONS = re.compile(
    r"""
      "(?:[^"\n]|\n(?![^\S\n]*\n)){1,2000}" | “[^“”]{1,2000}” | „[^„“”]{1,2000}[“”]
    | «[^«»]{1,2000}» | »[^«»]{1,2000}« | ‹[^‹›]{1,2000}› | 「[^「」]{1,2000}」
    | 『[^『』]{1,2000}』
    | (?<![\w'’])['‘](?=\w)[^‘\n]{1,200}?['’](?!\w)
    """,  # noqa: RUF001 - real quotation marks
    re.VERBOSE,
)
"""Quotations, none longer than people quote, so that a lone mark costs no time."""
_TWO_WORDS = re.compile(r"\w[^\w'’]+\w|[\u3040-\u30ff\u4e00-\u9fff]{2}")  # noqa: RUF001 - a real apostrophe
_LINE = re.compile(
    r"""
      [ \t]{0,3}>.*                                             # a block quote
    | [^\n|]*\|[^\n|]*\|.*                                      # a row of a table
    | [^\n\t]+\t[^\n\t]+\t.*
    | \s*\[?\d{4}-\d\d-\d\d[T ,_]\d\d:\d\d.*                     # a log line
    | \s*\[?\d{4}-\d\d-\d\d\]?\s+(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b.*
    | \s*\[?\d\d:\d\d:\d\d[.,\]\s].*
    | \s*\[?(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\]?(?::|\s).*
    | \s*(?:npm\sERR!|Traceback\s\(|Caused\sby:|Exception\sin\s|Segmentation\sfault).*
    | \s*(?:[\w.]+\.)?\w*(?:Error|Exception|Warning):.*
    | \s*File\s"[^"\n]*",\sline\s\d.*
    | \s+at\s[\w.$<>/]+\(.*
    | \s*[$#%]\s(?=[a-z./])[a-z./][^\n]*                         # a shell prompt
    | \s*(?:def|class|import|from|const|let|var|function|return|public|private|static|async|fn|func
        |package|using|\#include|export|elif|else:|try:|except|for|while|if)\b
        [^\n]*(?:[;{}]|\)\s*:|\)\s*:\s.*|=>.*|\bimport\s\w+)\s*
    | \s*(?:[\w.\[\]]+\s*[+*/-]?=(?!=)\s*)[^\n]*                # an assignment
    | \s*(?:SELECT|INSERT\sINTO|UPDATE|DELETE\sFROM|CREATE\sTABLE|ALTER\sTABLE)\s[^\n]*
    | \s*</?[a-zA-Z][^\n>]*>.*                                  # a line of markup
    | \s*[{}()\[\];]+\s*
    | \s*(?:[-*+•]\s+|\d+[.)]\s+)?\*\*[^*\n]+\*\*.*         # an outline
    | \#{1,6}\s.*
    | \s*(?i:assistant|ai|bot|chatgpt|system|developer|observation
        |(?:tool|function)(?:[ _](?:call|output|result))?)\s*:\s.*        # a turn of another one
    """,
    re.VERBOSE,
)
_INDENTED = re.compile(r"(?: {4}|\t)(?![ \t]*(?:[-*+•]|\d+[.)])\s)")


def hide(text: str) -> str:
    """Hide all that is not the user's own statement.

    Hidden are blocks that memento rendered, fenced and indented code, inline code, block quotes,
    log lines, stack traces, tables, lines of code, quotations of at least two words, and lines of
    other speakers. What a message carries without such a form is not hidden; see ``carried``.

    Args:
        text: A message, word for word.

    Returns:
        A text of the same length with the same line breaks, hidden characters as ``HIDDEN``.

    >>> hide("Say `rm` and go").replace(HIDDEN, "*")
    'Say **** and go'
    """
    for pattern in (OWN, _FENCE):
        text = pattern.sub(_covered, text)
    text = "".join(_lines(text))
    text = _INLINE.sub(_covered, text)
    return _QUOTATIONS.sub(_covered_if_several_words, text)


def _lines(text: str) -> list[str]:
    """Hide whole lines: quoted, logged, tabulated, and code that is indented after an empty one."""
    kept: list[str] = []
    after_gap = True
    in_code = False
    for line in text.splitlines(keepends=True):
        empty = not line.strip()
        if not empty:
            in_code = _INDENTED.match(line) is not None and (after_gap or in_code)
        kept.append(_cover(line) if in_code or _LINE.fullmatch(line.rstrip("\r\n")) else line)
        after_gap = empty
    return kept


def _covered_if_several_words(found: re.Match[str]) -> str:
    """Hide a quotation; one word in quotation marks is a name and stays."""
    return _cover(found[0]) if _TWO_WORDS.search(found[0]) else found[0]


def _covered(found: re.Match[str]) -> str:
    return _cover(found[0])


def _cover(text: str) -> str:
    """Replace every character but the line breaks."""
    return re.sub(r"[^\r\n]", HIDDEN, text)
