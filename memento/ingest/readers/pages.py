"""Read web pages into facts, like Markdown.

Every step takes time linear in the size of the file, even if no element is closed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from html import unescape
from itertools import islice
from typing import NamedTuple

from memento.ingest.paragraphs import BLOCK_CHARS, document, facts, under_headings
from memento.ingest.readers.common import How
from memento.ingest.source import Head, Item, bounded
from memento.types import Draft

BLOCKS = frozenset({
    *("address", "article", "aside", "blockquote", "body", "details", "div", "dl", "fieldset"),
    *("figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "head"),
    *("header", "hr", "html", "main", "nav", "ol", "p", "pre", "section", "table", "ul"),
})  # fmt: skip
"""Elements that start a new paragraph."""
_VOID = frozenset({
    *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param"),
    *("source", "track", "wbr"),
})  # fmt: skip
"""Elements without content."""
_RAW = ("script", "style", "title", "noscript", "iframe", "noembed", "noframes")
_NESTED = ("template", "svg", "audio", "video", "canvas", "object", "datalist")
_UNSEEN = {
    **{name: re.compile(rf"<(/){name}(?=[\s/>]|\Z)", re.IGNORECASE) for name in _RAW},
    **{name: re.compile(rf"<(/?){name}(?=[\s/>]|\Z)", re.IGNORECASE) for name in _NESTED},
}
"""Elements whose content is not text of the page, with their ends; some may hold another one."""
_CELLS, _GROUPS = ("td", "th"), ("tbody", "thead", "tfoot")
_TABLE = frozenset({"table", "caption", "tr", *_CELLS, *_GROUPS})
_SPECIAL = BLOCKS | _TABLE | {"li", "dt", "dd", "option", "select", "button"}
_AROUND_ITEM = _SPECIAL - {"address", "div", "p", "li", "dt", "dd"}
_IMPLIED: dict[str, tuple[tuple[str, ...], frozenset[str]]] = {
    "li": (("li",), _AROUND_ITEM),
    **dict.fromkeys(("dt", "dd"), (("dt", "dd"), _AROUND_ITEM)),
    **dict.fromkeys(_CELLS, (_CELLS, frozenset({"table", "tr"}))),
    "tr": (("tr",), frozenset({"table"})),
    **dict.fromkeys(_GROUPS, (_GROUPS, frozenset({"table"}))),
    "option": (("option",), frozenset({"select"})),
}
"""Elements whose start ends an open one: those it ends, and those within which it does not look."""
_DEEP = 100
"""Open elements among which an end tag looks for its start; bounds the work."""

_TAG = re.compile(r"<(/?[a-zA-Z][^\s/>]*+)")
_ATTRIBUTE = re.compile(
    r"""[\s/]*+([^\s/>][^\s/>=]*+)(?:\s*+=\s*+(?:"([^"]*+)"?|'([^']*+)'?|([^\s>]*+)))?+"""
)
_END = re.compile(r"[\s/]*+>")
_CSS_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_STYLE = re.compile(
    r"(?:^|;)(?:display:none|visibility:(?:hidden|collapse)|opacity:0*+(?:\.0*+)?%?(?=[;!]|$)"
    r"|font-size:0*+(?:\.0*+)?[a-z%]*+(?=[;!]|$))"
)


class Tag(NamedTuple):
    """A tag: its name, with ``/`` before it if it is an end tag, and its attributes."""

    name: str
    attributes: dict[str, str]


def visible(page: str) -> Iterator[tuple[str, str]]:
    """Yield (name of a tag, ``""``) and (``""``, text) in order; an end tag begins with ``/``.

    >>> list(visible("<p>Tea</p><p hidden>coffee"))
    [('p', ''), ('', 'Tea'), ('/p', '')]
    """
    opened = _Open()
    for piece in _pieces(page):
        if isinstance(piece, str):
            if not opened.hidden:
                yield "", piece
            continue
        before = opened.hidden
        opened.take(piece)
        if not ((before and opened.hidden) or _is_hidden(piece)):
            yield piece.name, ""


class _Open:
    """The stack of open elements.

    Attributes:
        hidden: Number of hidden elements among them.
    """

    def __init__(self) -> None:
        self._stack: list[tuple[str, bool]] = []
        self._count: Counter[str] = Counter()
        self.hidden = 0

    def take(self, tag: Tag) -> None:
        """Open or close elements for a tag."""
        name = tag.name
        if name.startswith("/"):
            name = name[1:]
            self._close((name,), _around(name))
            return
        if name in BLOCKS or name in ("li", "dt", "dd"):
            self._close(("p",), _TABLE | {"button"})
        if name in _IMPLIED:
            self._close(*_IMPLIED[name])
        if name not in _VOID:
            hidden = _is_hidden(tag)
            self._stack.append((name, hidden))
            self._count[name] += 1
            self.hidden += hidden

    def _close(self, names: Collection[str], around: Collection[str]) -> None:
        """Close the innermost element with one of the names, unless it is outside an ``around``."""
        if not any(self._count[name] for name in names):
            return
        for depth, (name, _) in enumerate(islice(reversed(self._stack), _DEEP), start=1):
            if name in names:
                self._drop(depth)
                return
            if name in around:
                return

    def _drop(self, depth: int) -> None:
        for name, hidden in self._stack[-depth:]:
            self._count[name] -= 1
            self.hidden -= hidden
        del self._stack[-depth:]


def _around(name: str) -> Collection[str]:
    """Return the elements that shield those outside them from this end tag."""
    if name in _TABLE:
        return () if name == "table" else ("table",)
    if name == "li":
        return _TABLE | {"ul", "ol"}
    return _TABLE if name in _SPECIAL else _SPECIAL


def _is_hidden(tag: Tag) -> bool:
    """Return whether a browser shows nothing of an element."""
    given = tag.attributes
    if tag.name == "dialog" and "open" not in given:
        return True
    if "hidden" in given or given.get("aria-hidden", "").strip().lower() == "true":
        return True
    style = _CSS_COMMENT.sub("", unescape(given.get("style", "")))
    return _STYLE.search("".join(style.lower().split())) is not None


def _pieces(page: str) -> Iterator[Tag | str]:
    """Yield tags and text in order, without comments and elements that are never shown."""
    at = 0
    while (begin := page.find("<", at)) != -1:
        if begin > at:
            yield page[at:begin]
        tag = _TAG.match(page, begin)
        if page.startswith("<!--", begin):
            at = _after(page, "-->", begin + 4)
        elif tag is not None:
            name = tag[1].lower()
            found, at = _attributes(page, tag.end())
            if name in _UNSEEN:
                at = _past(page, name, at)
            else:
                yield Tag(name, found)
        elif page[begin + 1 : begin + 2] in ("!", "?", "/"):
            at = _after(page, ">", begin)
        else:
            yield "<"
            at = begin + 1
    if at < len(page):
        yield page[at:]


def _attributes(page: str, at: int) -> tuple[dict[str, str], int]:
    """Return the attributes of a tag, and the position after the tag."""
    found: dict[str, str] = {}
    while (one := _ATTRIBUTE.match(page, at)) is not None:
        found.setdefault(one[1].lower(), one[2] or one[3] or one[4] or "")
        at = one.end()
    end = _END.match(page, at)
    return found, len(page) if end is None else end.end()


def _past(page: str, name: str, at: int) -> int:
    """Return the position after the end of an element that is never shown, from inside it."""
    depth = 1
    while depth:
        found = _UNSEEN[name].search(page, at)
        if found is None:
            return len(page)
        depth += -1 if found[1] else 1
        _, at = _attributes(page, found.end())
    return at


def _after(page: str, end: str, start: int) -> int:
    """Return the position after the next ``end``; the end of the page if there is none."""
    found = page.find(end, start)
    return len(page) if found == -1 else found + len(end)


_SPACE = re.compile(r"\s+")
_NUMBER = re.compile(r"&#0*([0-9]{1,8})[0-9]*")
"""A numeric character reference; Python refuses numbers of thousands of digits."""
_HEADING = re.compile(r"h[1-6]")
_PAGE = re.compile(r"\s*(?:<!doctype html|<html[\s>])", re.IGNORECASE)
_LINES = {"br", "li", "tr", "dt", "dd", "option", "caption"}


def is_html(head: Head) -> bool:
    """Recognise HTML by its suffix or its first tag."""
    return head.suffix in {".html", ".htm", ".xhtml"} or bool(_PAGE.match(head.text))


def read_html(item: Item, _how: How) -> Iterator[Draft]:
    """Read a web page: a fact for each paragraph, list or table, with its heading."""
    page = "\n".join(bounded(item, item.place))
    like = document(item.plain_name)
    for paragraph, headings in under_headings(html_blocks(page)):
        yield from facts(paragraph, like, headings)


def html_blocks(page: str) -> Iterator[tuple[int, str]]:
    """Yield (level, heading) and (0, paragraph) of a page in order, as a reader sees them.

    >>> list(html_blocks("<h2>Tea</h2><p>Green &amp; <b>black</b>.<script>x()</script>"))
    [(2, 'Tea'), (0, 'Green & black.')]
    """
    said: list[str] = []
    level = held = 0
    verbatim = False
    for tag, text in visible(page):
        name = tag.removeprefix("/")
        verbatim = tag == "pre" if name == "pre" else verbatim
        if not tag:
            shown = unescape(_NUMBER.sub(r"&#\1", text))
            said.append(shown if verbatim else _SPACE.sub(" ", shown))
            held += len(text)
        elif name in _LINES:
            said.append("\n- " if tag == "li" else "\n")
        elif tag in ("td", "th"):
            said.append(" | ")
        if name in BLOCKS or held > BLOCK_CHARS:
            yield from _closed(level, said)
            said, held = [], 0
            level = int(tag[1]) if _HEADING.fullmatch(tag) else 0
    yield from _closed(level, said)


def _closed(level: int, said: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield a block, if it is not blank."""
    tidy = [" ".join(line.split()).strip("| ") for line in "".join(said).split("\n")]
    text = "\n".join(line for line in tidy if line not in ("", "-"))
    if text:
        yield level, text.replace("\n", " ") if level else text
