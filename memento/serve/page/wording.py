"""What the page says about a memory: marked words, differences, moments, reasons. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from difflib import SequenceMatcher

from memento.base.clock import day_in, in_zone
from memento.text.words import content, terms
from memento.types import BECAUSE, Change, Hit, Kind, Memory

Piece = tuple[str, str]
"""How a run of text is shown (``""`` as it is, ``mark``, ``ins`` or ``del``), and the run."""

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_SHORTEST = 3
"""Letters of a stem that two words must share to count as the same word."""
_LONG = 2_000
"""Tokens from which two versions are compared by lines, so that no text takes a second."""
_TELLING = 0.05
COLOURS = 5
"""Number of colours for the pieces of evidence."""

TIERS = {"short": "short-term", "medium": "medium-term", "long": "long-term"}
KINDS = {
    "episode": "said", "question": "asked", "relation": "people", "context": "background",
    "procedure": "how-to", "article": "summary",
}  # fmt: skip
"""Each kind in the words of the page, if they are others."""
SOURCES = {
    "user": "you", "agent": "the agent", "web": "the web", "tool": "a tool", "import": "an import",
}  # fmt: skip
WORDS = {**BECAUSE, "exact": "mentioned in the question"}
"""Each kind of evidence in words."""
WAYS = {"text": "by words", "meaning": "by meaning", "name": "by name", "past": "by earlier words"}
TURNS = (Kind.EPISODE, Kind.QUESTION)
"""Kinds of what was said in a conversation."""
ENDINGS = ("th", "st", "nd", "rd")
STATUS = {
    "superseded": "replaced", "quarantined": "waiting for approval",
}  # fmt: skip
"""Each status in the words of the page, if they are others."""
ENDED = {
    "superseded": "replaced", "updated": "changed", "merged": "repeated",
    "unarchived": "restored from the archive",
}  # fmt: skip
"""Why a state ended, in the words of the page, if they are others."""
VERBS = {
    "add": "Added", "add_document": "Stored a document", "confirm": "Remembered",
    "approve": "Approved", "archive": "Archived", "correct": "Corrected",
    "direct": "Added a rule", "forget": "Forgotten", "forget_many": "Forgotten",
    "forget_source": "Rejected a source", "keep": "Stored turns", "lock": "Locked",
    "merge_scopes": "Merged scopes", "move": "Moved", "observe": "Learned from a conversation",
    "pin": "Pinned", "promote": "Moved to a wider scope", "reject": "Rejected",
    "resolve": "Settled a conflict", "restore": "Restored", "restore_source": "Restored a source",
    "revert": "Restored the earlier value", "sleep": "Tidied up",
    "unarchive": "Restored from the archive",
    "unlock": "Unlocked", "unpin": "Unpinned", "undo": "Undone", "update": "Changed",
}  # fmt: skip
"""What each kind of change did, in the words of its toast."""


def did(change: Change) -> str:
    """Return what a change did, in words."""
    return VERBS.get(change.kind, change.kind.replace("_", " ").capitalize())


def against(reason: str) -> str:
    """Return why two statements were flagged, in words.

    >>> against("another user/favourite-tea")
    'They give different values for “favourite tea”.'
    """
    said, _, slot = reason.partition("another ")
    if slot:
        return f"They give different values for “{slot.rsplit('/')[-1].replace('-', ' ')}”."
    opposite = said == "the opposite"
    return (
        "One says the opposite of the other." if opposite else "They seem to contradict each other."
    )


def redoable(change: Change, touched: Sequence[Memory]) -> bool:
    """Return whether a change gets an undo button; undoing an undo must not approve a memory.

    One that altered only links, such as settling that two statements are both right, gets none.
    """
    if not (change.changed or change.added):
        return False
    return change.kind != "undo" or all(one.status != "quarantined" for one in touched)


def marked(text: str, query: str) -> list[Piece]:
    """Split a text into runs; those with words of the query are marked.

    >>> marked("He drinks tea.", "what does he drink?")
    [('', 'He '), ('mark', 'drinks'), ('', ' tea.')]
    """
    wanted = {_stem(word) for word in content(terms(query))} if query.strip() else set()
    pieces: list[Piece] = []
    for token in _TOKEN.findall(text):
        has = (
            bool(wanted) and token[0].isalnum() and not wanted.isdisjoint(map(_stem, terms(token)))
        )
        kind = "mark" if has else ""
        if pieces and pieces[-1][0] == kind == "":
            pieces[-1] = ("", pieces[-1][1] + token)
        else:
            pieces.append((kind, token))
    return pieces


def _stem(word: str) -> str:
    """Cut the commonest English endings, so that ``drink`` and ``drinks`` are equal."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
            return word[: -len(ending)]
    return word


def compared(before: str, after: str) -> list[Piece]:
    """Compare two versions of a text word by word: runs that stayed, were deleted or inserted.

    >>> compared("He drinks tea", "He drinks mint tea")
    [('', 'He drinks '), ('ins', 'mint '), ('', 'tea')]
    """
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    if len(old) + len(new) > _LONG:
        old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    pieces: list[Piece] = []
    went, came = "", ""
    steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for at, (what, a, b, c, d) in enumerate(steps):
        gone, new_run = "".join(old[a:b]), "".join(new[c:d])
        between = 0 < at < len(steps) - 1 and not gone.strip()
        if what != "equal" or between:  # adjacent changed words form one run
            went, came = went + gone, came + new_run
            continue
        pieces += [("del", went), ("ins", came), ("", gone)]
        went, came = "", ""
    return [one for one in (*pieces, ("del", went), ("ins", came)) if one[1]]


def moment(at: datetime, now: datetime, zone: tzinfo) -> str:
    """Format a moment: the time if it is today, else the day.

    >>> from datetime import UTC
    >>> moment(datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 5, 2, tzinfo=UTC), UTC)
    '2 Mar 2026'
    """
    there, today = in_zone(zone, at), in_zone(zone, now)
    if there.date() == today.date():
        return f"today {there:%H:%M}"
    return f"{there.day} {there:%b %Y}"


def percent(share: float) -> str:
    """Format a probability, never as 0 % or 100 %.

    >>> percent(0.004), percent(0.9), percent(0.999)
    ('< 1 %', '90 %', '> 99 %')
    """
    least, most = 0.01, 0.99
    if share < least:
        return "< 1 %"
    return "> 99 %" if share > most else f"{share:.0%}".replace("%", " %")


def ordinal(number: int) -> str:
    """Format a rank.

    >>> ordinal(1), ordinal(12), ordinal(23)
    ('1st', '12th', '23rd')
    """
    teens, last = (11, 12, 13), number % 10
    ending = 0 if number % 100 in teens or last >= len(ENDINGS) else last
    return f"{number}{ENDINGS[ending]}"


@dataclass(frozen=True, slots=True)
class Reason:
    """One piece of evidence for a hit.

    Attributes:
        said: The evidence in words.
        value: Its contribution, nats; negative if it is against the hit.
        width: Its size relative to the strongest evidence, 0 to 100.
        colour: Number of its colour, 1 to `COLOURS`, the same for the same kind of evidence.
    """

    said: str
    value: float
    width: int
    colour: int


def reasons(hit: Hit) -> list[Reason]:
    """List the evidence for and against a hit, from the strongest for to the strongest against."""
    told = {name: value for name, value in hit.terms.items() if name != "exact"}
    top = max(map(abs, told.values()), default=0.0) or 1.0
    order = sorted(told.items(), key=lambda one: (-one[1], one[0]))
    return [
        Reason(WORDS.get(name, name), value, round(100 * abs(value) / top), colour_of(name))
        for name, value in order
        if abs(value) >= _TELLING
    ]


def colour_of(name: str) -> int:
    """Return the colour of a kind of evidence."""
    groups = ("meaning", "window cover digit when form", "speaker first_person user", "importance")
    return next((at for at, names in enumerate(groups, 1) if _in(name, names)), COLOURS)


def _in(name: str, names: str) -> bool:
    return any(one in name for one in names.split())


def telling(hit: Hit, others: Sequence[Hit]) -> list[Reason]:
    """Pick up to three reasons that distinguish a hit from the others of its answer.

    Evidence that all of them share, such as that people said them, is left out.
    """
    common = _common(others)
    lead = {name: value - common.get(name, 0.0) for name, value in hit.terms.items()}
    if "user" in common:  # the degree does not distinguish them
        lead.pop("user", None)
    best = sorted((one for one in lead if lead[one] >= _TELLING), key=lambda one: -lead[one])[:3]
    whole = sum(lead[name] for name in best) or 1.0
    return [
        Reason(WORDS.get(name, name), lead[name],
               round(100 * lead[name] / whole), colour_of(name))
        for name in best
    ]  # fmt: skip


def _common(hits: Sequence[Hit]) -> Mapping[str, float]:
    """Return the evidence that all hits share, at its minimum; {} for fewer than three hits."""
    if len(hits) <= 2:  # noqa: PLR2004 - of two, what they share may still be the answer
        return {}
    names = set.intersection(*(set(hit.terms) for hit in hits))
    return {name: min(hit.terms[name] for hit in hits) for name in names}


def lead(hit: Hit, after: Hit | None) -> str:
    """Return why a hit ranks before the next one, in words; ``""`` for the last."""
    return "" if after is None else hit.explain(after).rsplit("\n", 1)[-1]


def title(memory: Memory) -> str:
    """Return a short title of a memory: the first 26 characters of its text."""
    most = 26
    line = " ".join(memory.text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"


def days(rows: Sequence[Memory], zone: tzinfo) -> Iterator[tuple[datetime, list[Memory]]]:
    """Group memories, in the order given, by the day on which they occurred."""
    group: list[Memory] = []
    for one in rows:
        if group and _day(one, zone) != _day(group[0], zone):
            yield in_zone(zone, group[0].occurred_at), group
            group = []
        group.append(one)
    if group:
        yield in_zone(zone, group[0].occurred_at), group


def entries(rows: Sequence[Memory]) -> list[tuple[str, list[Memory]]]:
    """Gather the turns of each conversation; any other memory is an entry of its own.

    Args:
        rows: Memories, newest first.

    Returns:
        For each entry, its session (``""`` for a single memory) and its memories, oldest first.
        Entries are in the order of their newest memories.
    """
    found: list[tuple[str, list[Memory]]] = []
    talks: dict[str, list[Memory]] = {}
    for one in rows:
        session = one.session if one.session and one.role and one.kind in TURNS else ""
        if session in talks:
            talks[session].insert(0, one)
            continue
        found.append((session, [one]))
        if session:
            talks[session] = found[-1][1]
    return found


def _day(memory: Memory, zone: tzinfo) -> object:
    return day_in(zone, memory.occurred_at)
