"""Hide what is not the user's own statement: code, quotations, logs, tables, memento's own blocks.

Pure. The result has the length of the text and the same line breaks, so that a span of one is a
span of the other.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter

HIDDEN = "\ufffc"
"""The character that stands for each hidden one."""

_OWN = re.compile(r"<([a-z]+-[0-9A-Za-z]{8,64})>.*?(?:</\1>|\Z)", re.DOTALL)
"""A block that memento rendered for a prompt; see ``memento.policy.prompt``. An open one hides the
rest, so that a cut block cannot be learnt."""
_FENCE = re.compile(
    r"^[ \t]*(?P<fence>`{3,}|~{3,})[^\n]*(?:\n.*?)?(?:^[ \t]*(?P=fence)[`~]*[ \t]*$|\Z)",
    re.DOTALL | re.MULTILINE,
)
_OPENS = re.compile(
    r"^[ \t]*(?:<([A-Za-z][\w:.-]{0,63})(?:\s[^<>\n]{0,500})?>|\[([^\]\[\n/]{1,40})\])",
    re.MULTILINE,
)
"""The mark that opens a block of a document, such as ``<page>`` or ``[tool result]``."""
_CLOSES = re.compile(r"</([A-Za-z][\w:.-]{0,63})[ \t]*>|\[/([^\]\[\n]{1,40})\]")
_MATERIAL = re.compile(
    r"""
    ^[ \t]*(?:(?:please|(?:can|could|would)[^\S\n]+you)[^\S\n]+){0,4}  # on one line: see below
    (?: (?:summari[sz]e|translate|proofread|paraphrase|rephrase|rewrite)\b[^\n:]{0,80}:
      | (?: (?:shorten|explain|analy[sz]e|review|edit|check|classify|reply\s+to|respond\s+to)\b
          | (?:here(?:['’]s|\s+is|\s+are)|this\s+is|below\s+is|see)\s+
            (?:the|a|an|this|that|his|her|their|its|some)\b[^\n:]{0,60}\b
            (?:readme|e-?mail|mail|page|article|logs?|issue|ticket|documents?|docs?|file|transcript
              |output|post|thread|error|letter|comment|prompt|spec|code|snippet|text|paper|contract)\b
          | (?!(?:i|we)\b)[^\n:]{1,80}?\b(?:says|said|reads|states|prints|printed|returned|wrote)\b
        )[^\n:]{0,80}:[ \t]*$
    )
    """,  # noqa: RUF001 - a real apostrophe
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
"""A request about a text, or the words that introduce one; all that follows is that text.

The polite words stay within a line and have a bound: a loop over lines that begins again at each
line takes hours for a megabyte."""
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
    | \s*File\s".*",\sline\s\d+.*
    | \s+at\s[\w.$<>/]+\(.*
    | \s*[$#%]\s(?=[a-z./])[a-z./][^\n]*                         # a shell prompt
    | \s*(?:def|class|import|from|const|let|var|function|return|public|private|static|async|fn|func
        |package|using|\#include|export|elif|else:|try:|except|for|while|if)\b
        [^\n]*(?:[;{}]|\)\s*:|\)\s*:\s.*|=>.*|\bimport\s\w+)\s*
    | \s*(?:[\w.\[\]]+\s*[+*/-]?=(?!=)\s*)[^\n]*                # an assignment
    | \s*(?:SELECT|INSERT\sINTO|UPDATE|DELETE\sFROM|CREATE\sTABLE|ALTER\sTABLE)\s[^\n]*
    | \s*</?[a-zA-Z][^\n>]*>.*                                  # a line of markup
    | \s*[{}()\[\];]+\s*
    | \s*(?:[-*+•]\s+|\d+[.)]\s+)?\*\*[^*\n]+\*\*\s*:?.*   # an outline
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
    log lines, stack traces, tables, lines of code, quotations of at least two words, blocks of
    documents between marks, lines of other speakers, and the text that a request is about.

    Args:
        text: A message, word for word.

    Returns:
        A text of the same length with the same line breaks, hidden characters as ``HIDDEN``.

    >>> hide("Say `rm` and go").replace(HIDDEN, "*")
    'Say **** and go'
    """
    for pattern in (_OWN, _FENCE):
        text = pattern.sub(_covered, text)
    text = _without_material(_without_blocks(text))
    text = "".join(_lines(text))
    text = _INLINE.sub(_covered, text)
    return _QUOTATIONS.sub(_covered_if_several_words, text)


def _without_blocks(text: str) -> str:
    """Hide the blocks of documents that stand between two marks.

    If a name is closed more often than it is opened, a document may have tried to end its own
    block: then the block goes on to the last of these marks.
    """
    opened = list(_OPENS.finditer(text))
    ends: dict[str, list[int]] = {}
    for found in _CLOSES.finditer(text) if opened else ():
        ends.setdefault(_name_of(found), []).append(found.end())
    begun = Counter(_name_of(found) for found in opened)
    pieces: list[str] = []
    at = 0
    for found in opened:
        name = _name_of(found)
        after = ends.get(name, [])
        first = bisect_right(after, found.end())
        if found.start() < at or first == len(after):
            continue
        end = after[-1] if len(after) > begun[name] else after[first]
        pieces += [text[at : found.start()], _cover(text[found.start() : end])]
        at = end
    return "".join((*pieces, text[at:]))


def _name_of(mark: re.Match[str]) -> str:
    return (f"<{mark[1]}" if mark[1] else f"[{mark[2]}").casefold()


def _without_material(text: str) -> str:
    """Hide the text that a request is about, or that some words introduce."""
    found = _MATERIAL.search(text)
    return text if found is None else text[: found.end()] + _cover(text[found.end() :])


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
