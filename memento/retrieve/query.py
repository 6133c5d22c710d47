"""Take a question apart. Pure: the text and what is known of the namespace in, a `Query` out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from memento import text as spelling
from memento.retrieve.dates import Period, asked

_WHEN = re.compile(
    r"\s*(when|what (year|month|date|day|time)|how long|since when)\b", re.IGNORECASE
)
_COUNT = re.compile(r"\s*how (many|much|old|long|often|far|tall|big)\b", re.IGNORECASE)
_KIND = re.compile(r"\b(?:which|what)\s+(\w+)", re.IGNORECASE)
_SUMMARY = re.compile(r"summar|overview|recap", re.IGNORECASE)
_SINGULAR = (
    r"(?!(?:is|was|does|has|this|his|us|gas|bus|class|address|status|process|business|less|basis"
    r"|news)\b)"
)
_PLURAL = rf"{_SINGULAR}[\w'-]*(?:[^sui]s|ies)\b"  # or what looks like one
_LIST = re.compile(
    rf"""  # which kinds of books; which of her many books did; what has she; what are; list all
    \b(?:what|which)\s+(?:(?:are|were|kinds?|types?|sorts?|all|other|different|various|of|the
        |some|my|our|his|her|their|have|main|key|specific|recent|new|\w+ly)\s+)*{_PLURAL}
    |\b(?:what|which)\s+(?:[\w'-]+\s+){{0,4}}?{_PLURAL}\s+
        (?:do|does|did|has|have|had|are|were|would|will|might|could|can|should)\b
    |^\W*(?:what|where|which|who)\b(?:\s+\w+){{0,4}}?\s+(?:has|have)\b(?!\s+to\b)
        (?!.*\b(?:last|ago)\b)
    |^\W*(?:what|who|which)\s+are\b|\bwhat\s+(?:other|else)\b
    |\b(?:list|enumerate|name\s+(?:all|the|every|some)|all\s+(?:the|of|my|our|his|her|their)
        |every|each|everything|both)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_SEVERAL = re.compile(
    r"""  # counts, comparisons, orders
    \bhow\s+(?:many|often|frequently)\b|\bin\s+total\b|\btotal\s+(?:number|of)\b
    |\b(?:compared?|comparison|differ(?:s|ences?)?|versus|vs|in\s+common)\b
    |\bin\s+(?:what|which)\s+order\b|\border\s+(?:in|of)\b|\bin\s+order\b(?!\s+to)
    |\bchronolog\w*|\btimeline\b|\bsequence\s+of\b|\bover\s+time\b|\bevol(?:ve|ution)\w*
    |\bhistory\s+of\b|\bthroughout\b|\bacross\s+(?:all|my|our)\b|\bsteps\b""",
    re.IGNORECASE | re.VERBOSE,
)
MAX_TEXT = 4000
"""Characters of a query that are looked at; the rest is left to the embedding."""


@dataclass(frozen=True, slots=True)
class Query:
    """A question, taken apart.

    Attributes:
        text: As given.
        words: All its words in order, folded.
        terms: The words to look up, each once, in order.
        topic: Those of ``terms`` that name no participant (all, if only participants are named).
        kinds: Those of ``terms`` that say what kind of thing is asked for: "which editor ...".
        exact: Identifiers and quoted phrases, to be matched letter for letter, as given.
        periods: Times it asks about.
        speaker: Code of the one participant it names, or None.
        wants_time: It asks when.
        wants_number: It asks how many.
        wants_summary: It asks for a summary.
        wants_several: One memory is not enough: it asks for a list, a count, a comparison, an
            order or a summary. Read off the words of an English question, so never certain.
    """

    text: str
    words: tuple[str, ...]
    terms: tuple[str, ...]
    topic: frozenset[str]
    kinds: frozenset[str]
    exact: tuple[str, ...]
    periods: tuple[Period, ...]
    speaker: int | None
    wants_time: bool
    wants_number: bool
    wants_summary: bool
    wants_several: bool


def parse(
    text: str,
    *,
    now: date,
    years: range,
    people: dict[str, int],
    max_terms: int,
) -> Query:
    """Take a question apart.

    Args:
        text: The question, any string.
        now: The day it is asked.
        years: Years that the memories speak of.
        people: Folded name of each participant to its code; -1 for a name that several share.
        max_terms: Most words to look up, >= 1.
    """
    seen = text[:MAX_TEXT]
    words = tuple(spelling.terms(seen))
    named = _named(words, people)
    terms = tuple(dict.fromkeys(spelling.content(words)))[:max_terms]
    spoken = {part for name in people for part in name.split()} if named else set[str]()
    topic = frozenset(terms) - spoken
    return Query(
        text=text,
        words=words,
        terms=terms,
        topic=topic or frozenset(terms),
        kinds=frozenset(terms).intersection(spelling.terms(" ".join(_KIND.findall(seen)))),
        exact=tuple(dict.fromkeys([*spelling.quoted(seen), *spelling.identifiers(seen)])),
        periods=tuple(asked(seen, now, years)),
        speaker=next(iter(named)) if len(named) == 1 else None,
        wants_time=bool(_WHEN.match(seen)),
        wants_number=bool(_COUNT.match(seen)),
        wants_summary=bool(_SUMMARY.search(seen)),
        wants_several=wants_several(seen),
    )


def wants_several(text: str) -> bool:
    """Tell whether a question wants several memories, as far as its words say so.

    >>> wants_several("Which books did Ada read?"), wants_several("Which book did Ada read first?")
    (True, False)
    """
    return any(shape.search(text) for shape in (_LIST, _SEVERAL, _SUMMARY))


def match_term(term: str) -> str:
    """Write the FTS5 expression that finds one word, whatever is in it.

    Args:
        term: The word; a single character of a script without spaces finds every run with it.

    >>> match_term("near"), in_column("head", match_term("猫"))
    ('"near"', '{head} : "猫" *')
    """
    quoted = '"{}"'.format(term.replace('"', '""'))
    single = len(term) == 1 and spelling.is_unspaced(term)
    return quoted + (" *" if single else "")


def match_start(start: str) -> str:
    """Write the FTS5 expression that finds every word that starts so."""
    return match_term(start) + " *"


def in_column(column: str, match: str) -> str:
    """Narrow the FTS5 expression of one word to a column."""
    return f"{{{column}}} : {match}"


def _named(words: tuple[str, ...], people: dict[str, int]) -> set[int]:
    """Return the codes of the participants a query names."""
    longest = max((name.count(" ") + 1 for name in people), default=0)
    found = {
        people.get(" ".join(words[at : at + length]), -1)
        for length in range(1, longest + 1)
        for at in range(len(words) - length + 1)
    }
    return found - {-1}
