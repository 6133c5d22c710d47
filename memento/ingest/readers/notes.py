"""Read text and Markdown: a fact for each paragraph, with the fields of the note's header.

The header of a note gives its tags, its date and other metadata. ``[[links]]`` become the names of
the notes that they lead to; the caller that stores the facts links them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from memento.check import MAX_ITEMS
from memento.ingest.paragraphs import (
    document,
    facts,
    front_matter,
    markdown_blocks,
    paragraphs,
    under_headings,
)
from memento.ingest.readers.common import How, items, moment, tag, word
from memento.ingest.readers.memories import LINKS
from memento.ingest.source import Head, Item, lines
from memento.types import Draft, Source, Trust

SUFFIXES = frozenset({".md", ".markdown"})
_LINK = re.compile(r"(!?)\[\[([^\]\[|#^\n]*)(?:[#^][^\]\[|\n]*)?(?:\|([^\]\[\n]*))?\]\]")
_COMMENT = re.compile(r"%%.*?%%", re.DOTALL)
_BLOCK_ID = re.compile(r"[ \t]\^[A-Za-z0-9-]+[ \t]*$", re.MULTILINE)
_PERMALINK = re.compile(r"^permalink:", re.MULTILINE)
_OBSERVATION = re.compile(r"[-*] \[([^\]\[\n]{1,60})\] (.+?)(?: \(([^()\n]*)\))?")
_RELATION = re.compile(r"[-*] (?:([^\[\n]*?) )?\[\[([^\]|#^\n]++)[^\]\n]*+\]\].*")
_TAG = re.compile(r"(?:^|\s)#([^\s#]+)")
LONGEST_HEADER, DEEPEST = 1 << 18, 16
"""Maximum number of characters in a header, and of levels in it: a reader in Python takes minutes
for more."""
LONGEST_FIELD = 1_000
"""Maximum number of characters in a field of a header, as text."""


def read_text(item: Item, _how: How) -> Iterator[Draft]:
    """Read plain text: a fact for each paragraph, which is also found by its neighbours."""
    like = replace(document(item.plain_name, session=item.plain_name), metadata={})
    for paragraph in paragraphs(line for _, line in lines(item)):
        yield from facts(paragraph, like)


def is_markdown(head: Head) -> bool:
    """Recognise Markdown by its suffix."""
    return head.suffix in SUFFIXES


def read_markdown(item: Item, how: How) -> Iterator[Draft]:
    """Read Markdown: a fact for each paragraph, with its headings, tags and links."""
    header, rest = front_matter(line for _, line in lines(item))
    like = _like(item.plain_name, header_fields(header, how), how)
    for paragraph, headings in under_headings(markdown_blocks(rest)):
        yield from _facts(paragraph, like, headings)


def is_basic_memory(head: Head) -> bool:
    """Recognise basic-memory: Markdown with a permalink in its header."""
    header = head.text.split("\n---", 1)[0]
    return is_markdown(head) and header.startswith("---") and bool(_PERMALINK.search(header))


def read_basic_memory(item: Item, how: How) -> Iterator[Draft]:
    """Read a note of basic-memory: each observation and each relation is a separate fact."""
    header, rest = front_matter(line for _, line in lines(item))
    told = header_fields(header, how)
    title = word(told.get("title"))
    source = Source(Trust.AGENT, item.plain_name)
    like = replace(_like(item.plain_name, told, how), source=source)
    for paragraph, headings in under_headings(markdown_blocks(rest)):
        rows = [line.strip() for line in paragraph.split("\n") if line.strip()]
        known = [row for row in rows if _OBSERVATION.fullmatch(row) or _RELATION.fullmatch(row)]
        others = [row for row in rows if row not in known]
        for row in known:
            yield from _observed(row, title, like)
        if not known:
            yield from _facts(paragraph, like, headings)
        elif others != headings[-1:]:
            yield from _facts("\n".join(others), like, headings)


def _observed(row: str, title: str, like: Draft) -> Iterator[Draft]:
    seen = _OBSERVATION.fullmatch(row)
    if seen is None:
        relation = _RELATION.fullmatch(row)
        kind, target = (relation[1] or "relates to", relation[2]) if relation else ("", "")
        words = f"{title} {kind.replace('_', ' ')} {target}".strip()
        yield from facts(words, _with(like, (), {LINKS: [target], "relation": kind}))
        return
    text, tags = _TAG.sub("", seen[2]).strip(), tuple(_TAG.findall(seen[2]))
    more = {"category": seen[1], **({"context": seen[3]} if seen[3] else {})}
    yield from _facts(text, _with(like, tags, more), ())


def _with(like: Draft, tags: Iterable[str], metadata: Mapping[str, Any]) -> Draft:
    every = tuple(dict.fromkeys((*like.tags, *tags)))[:MAX_ITEMS]
    return replace(like, tags=every, metadata={**like.metadata, **metadata})


def _facts(paragraph: str, like: Draft, headings: Iterable[str]) -> Iterator[Draft]:
    """Yield the facts of a paragraph; links become names in the text and in the metadata."""
    text = _BLOCK_ID.sub("", _COMMENT.sub("", paragraph))
    links = [found[2].strip() for found in _LINK.finditer(text) if not found[1]]
    names = list(dict.fromkeys(filter(None, links)))[:MAX_ITEMS]
    plain = _LINK.sub(lambda found: "" if found[1] else found[3] or found[2] or "", text)
    more = {LINKS: names} if names else {}
    yield from facts(plain, _with(like, (), more), [*headings]) if plain.strip() else ()


def _like(name: str, told: Mapping[str, Any], how: How) -> Draft:
    """Return a draft without text, with the fields that a note's header gives its facts."""
    names = [one for field in ("tags", "tag") for one in _several(told.get(field))]
    tags = [one.removeprefix("#") for one in names]
    aliases = [one for one in _several(told.get("aliases"), ",") if tag(one)]
    dates = (moment(told.get(field), how.zone) for field in ("date", "created", "created_at"))
    rest = {key: value for key, value in told.items() if key not in ("tags", "tag", "aliases")}
    return document(
        name,
        tags=tuple(dict.fromkeys(one for one in tags if tag(one)))[:MAX_ITEMS],
        aliases=tuple(dict.fromkeys(aliases))[:MAX_ITEMS],
        occurred_at=next(filter(None, dates), None),
        metadata={key: value for key, value in rest.items() if len(str(value)) <= LONGEST_FIELD},
    )


def _several(value: object, between: str = ", ") -> list[str]:
    """Return a list in a header, which may be one string with one of some characters between."""
    parts = re.split(f"[{between}]", value) if isinstance(value, str) else map(word, items(value))
    return [one.strip() for one in parts if one.strip()]


def header_fields(header: list[str], how: How) -> dict[str, Any]:
    """Parse the header of a note; {}, with a remark, if it is not plain YAML, see `_is_plain`."""
    if not header:
        return {}
    import yaml  # noqa: PLC0415 - for notes with a header only

    text, found = "\n".join(header), None
    try:
        if len(text) <= LONGEST_HEADER and _is_plain(yaml.parse(text, yaml.SafeLoader)):
            found = yaml.load(text, yaml.BaseLoader)  # noqa: S506 - texts, lists and mappings only
    except (yaml.YAMLError, ValueError, RecursionError):
        found = None
    if found is None:
        how.note("a header that is not plain YAML was skipped")
    return found if isinstance(found, dict) and all(isinstance(key, str) for key in found) else {}


def _is_plain(events: Iterable[Any]) -> bool:
    """Return whether YAML is not deep and has no aliases, a few of which can fill all memory."""
    from yaml import AliasEvent, CollectionEndEvent, CollectionStartEvent  # noqa: PLC0415 - as above

    depth = 0
    for one in events:
        depth += isinstance(one, CollectionStartEvent) - isinstance(one, CollectionEndEvent)
        if isinstance(one, AliasEvent) or depth > DEEPEST:
            return False
    return True
