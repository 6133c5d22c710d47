"""Write articles: several statements about one topic, put together in one text.

An article adds and never replaces. It quotes its sources word for word, each with its date, and
names them; they stay active and are found as before. It is made of active statements of one scope
that are trusted, have no end, and that nobody pinned; never of rules, questions or other articles.
If a source changes, the article is withdrawn with that change, see ``ledger.quotes``, and this step
writes it again from what is left.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from memento.admit.draft import Entry, admit
from memento.admit.novelty import Novelty
from memento.admit.redact import Secrets
from memento.base.clock import day_in, from_micros
from memento.config import Config
from memento.ledger import changes, links, memories, namespaces, quotes, sleep_rows, vectors
from memento.ledger.contract import Transaction, Work
from memento.ledger.quotes import is_mine, lasts
from memento.ledger.rows import Row, strings_in
from memento.sleep.night import Night, Plan, Step
from memento.text.alike import read
from memento.text.sentences import PIECE
from memento.text.words import Cue
from memento.types import Draft, Kind, Reason, Source, Tier, Trust
from memento.write.remember import remember
from memento.write.steps import FOUND

COMMON = 0.05
"""Maximum share of the statements that contain a word, for that word to name a topic."""
WIDEST = 200
"""Maximum number of statements that contain such a word."""
_LETTERS = 3
"""Minimum number of letters in such a word."""
_REPEATS = 0.7
"""Weight of the cosine to a statement already chosen, relative to that to the centroid."""

NEAR = 0.55
"""Minimum cosine of a statement to another one of its topic."""
OVERLAP = 0.15
"""The same for a store without an embedder, whose vectors are those of `_of_words`."""
FEWEST, LARGEST = 4, 40
"""Minimum and maximum number of statements in an article."""
CHARS = 1_200
"""Maximum number of characters in an article."""
MOST = 20_000
"""Maximum number of statements of a scope that are considered, the newest ones."""
_SAME = 0.5
"""Minimum share of an article's sources in a topic, for the article to belong to the topic."""
_NEVER = frozenset({Kind.ARTICLE, Kind.RULE, Kind.QUESTION})
IMPORTANCE = 0.6
"""Importance of an article, see ``admit.importance``."""
_IDS = uuid.UUID("6d0b6f5c-6f0e-5f0c-9d3f-2a7f1c1f6a11")
"""Name space of the ids of articles, RFC 9562."""

Floats: TypeAlias = NDArray[np.float32]
Topic: TypeAlias = tuple[int, ...]
"""The numbers of its statements, ascending."""


def _topics_of(
    words: Mapping[int, frozenset[str]],
    points: Callable[[Sequence[int]], Floats],
    near: float,
) -> list[Topic]:
    """Find the topics of some statements, the largest first; each statement is in one at most.

    Args:
        words: Maps the number of each statement to its content words.
        points: Returns the vectors of some of them, (n, dim), length <= 1.
        near: Minimum cosine of each to another one, [0, 1].
    """
    found: set[Topic] = set()
    for members in _sharing(words):
        found.update(_linked(members, points(members), near))
    taken: set[int] = set()
    chosen: list[Topic] = []
    for topic in sorted(found, key=lambda one: (-len(one), one)):
        left = tuple(member for member in topic if member not in taken)
        if len(left) >= FEWEST and 2 * len(left) >= len(topic):
            chosen.append(left)
            taken.update(left)
    return chosen


def _sharing(words: Mapping[int, frozenset[str]]) -> list[Topic]:
    """Return the groups of statements that share a rare word, each group once."""
    by_word: dict[str, list[int]] = defaultdict(list)
    for number in sorted(words):
        for word in words[number]:
            if len(word) >= _LETTERS and not word.isdigit():
                by_word[word].append(number)
    most = min(WIDEST, max(LARGEST, int(COMMON * len(words))))
    groups = {tuple(one) for one in by_word.values() if FEWEST <= len(one) <= most}
    return sorted(groups)


def _linked(members: Sequence[int], points: Floats, near: float) -> list[Topic]:
    """Group statements whose cosine is at least ``near``, the nearest first, `LARGEST` at most."""
    cosines = points @ points.T
    rows, columns = np.nonzero(np.triu(cosines >= near, k=1))
    pairs = zip((-cosines[rows, columns]).tolist(), rows.tolist(), columns.tolist(), strict=True)
    groups = {at: [at] for at in range(len(members))}
    for _, a, b in sorted(pairs):
        one, other = groups[a], groups[b]
        if one is not other and len(one) + len(other) <= LARGEST:
            one += other
            groups.update(dict.fromkeys(other, one))
    unique = {id(group): group for group in groups.values() if len(group) >= FEWEST}
    return [tuple(sorted(members[at] for at in group)) for group in unique.values()]


def _central(members: Sequence[int], points: Floats, prices: Sequence[int], room: int) -> Topic:
    """Choose the statements that stand for a topic: near its middle, and unlike each other.

    Args:
        members: Numbers of its statements.
        points: Their vectors, (n, dim), length <= 1.
        prices: Number of characters that each takes.
        room: Maximum number of characters in all.
    """
    middle = points.sum(axis=0)
    to_middle = points @ (middle / max(float(np.linalg.norm(middle)), 1e-9))
    near, chosen = points @ points.T, list[int]()

    def worth(at: int) -> tuple[float, int]:
        repeated = max((float(near[at, other]) for other in chosen), default=0.0)
        return round(float(to_middle[at]) - _REPEATS * repeated, 6), -at

    left = list(range(len(members)))
    while left:
        best = max(left, key=worth)
        left.remove(best)
        if prices[best] <= room:
            room -= prices[best]
            chosen.append(best)
    return tuple(sorted(members[at] for at in chosen))


def _of_words(said: Sequence[frozenset[str]]) -> Floats:
    """Return vectors of the words that several texts share, (n, words + 1), length <= 1."""
    counts = Counter(word for each in said for word in each)
    places = {word: at for at, word in enumerate(sorted(w for w, n in counts.items() if n > 1))}
    points = np.zeros((len(said), len(places) + 1), np.float32)
    for at, each in enumerate(said):
        shared = [places[word] for word in each if word in places]
        points[at, shared] = 1.0 / max(1.0, float(np.sqrt(len(each))))
    return points


def id_of(session: Transaction, ns: int, sources: Sequence[Row]) -> str:
    """Return the id of a new article made from some memories; it is the same in every store."""
    named = [list(namespaces.labels_of(session, ns)), sorted(row.id for row in sources)]
    return str(uuid.uuid5(_IDS, json.dumps(named, ensure_ascii=False)))


Writing: TypeAlias = tuple[int, tuple[int, ...]]
"""Row id of an article, 0 for a new one; and the row ids of its sources, empty to withdraw it."""


def plan(session: Transaction, night: Night) -> Plan:
    """Find the articles to write, to rewrite and to withdraw."""
    shelf = _Shelf(session, night, quotes.of_namespace(session, night.ns))
    told = Counter[str]()
    by_scope: dict[str, deque[Row]] = defaultdict(lambda: deque(maxlen=MOST))
    if night.config.articles.writer != "off":
        for row in sleep_rows.active(session, night.ns):
            if may_join(row, night.config):
                by_scope[row.scope].append(row)
    things: list[Writing] = []
    for scope in sorted(by_scope):
        for topic, chosen in _topics(session, night, by_scope[scope], told):
            things += shelf.writing(topic, chosen, told)
    things += shelf.outdated()
    looked = sum(map(len, by_scope.values()))
    return Plan(things, looked, +told)


def may_join(row: Row, config: Config) -> bool:
    """Return whether an article may quote a memory."""
    trusted = row.trust not in config.untrusted
    short = 0 < len(row.text) <= PIECE and not row.cues & Cue.QUESTION
    return trusted and short and row.kind not in _NEVER and not row.pinned and lasts(row)


def _topics(
    session: Transaction, night: Night, rows: Sequence[Row], told: Counter[str]
) -> Iterator[tuple[list[Row], list[Row]]]:
    """Yield the topics of one scope: their statements, and those that an article quotes."""
    config = night.config
    model = vectors.current_model(session) if night.embeds else None
    known = {row.docid: row for row in rows}
    if model is not None:
        there = vectors.read(session, list(known), model[0])
        told["without a vector"] += len(known) - len(there)
        known = {docid: row for docid, row in known.items() if docid in there}
    words = {docid: read(row.text).content for docid, row in known.items()}

    def points(docids: Sequence[int]) -> Floats:
        if model is None:
            return _of_words([words[docid] for docid in docids])
        blobs = vectors.read(session, docids, model[0])
        joined = b"".join(blobs[docid] for docid in docids)
        return np.frombuffer(joined, np.float32).reshape(len(docids), -1)

    near = OVERLAP if model is None else NEAR
    for topic in _topics_of(words, points, near):
        prices = [len(_line(known[docid], config)) + 1 for docid in topic]
        room = min(CHARS, config.limits.text_chars)
        chosen = _central(topic, points(topic), prices, room)
        if len(chosen) >= FEWEST:
            yield [known[docid] for docid in topic], [known[docid] for docid in chosen]


@dataclass(slots=True)
class _Shelf:
    """The existing articles, matched to the topics that were found.

    Attributes:
        session: The session of the job.
        night: The sleep.
        every: The articles, regardless of their status.
        parents: The ids of the sources of each.
        used: Row ids of the articles that were matched to a topic.
        shown: Maps a moment to the ids that were retrieved since.
    """

    session: Transaction
    night: Night
    every: Sequence[Row]
    parents: Sequence[frozenset[str]] = field(init=False)
    used: set[int] = field(default_factory=set)
    shown: dict[int, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.parents = [frozenset(strings_in(one.source_parents)) for one in self.every]

    def writing(
        self, topic: Sequence[Row], chosen: Sequence[Row], told: Counter[str]
    ) -> list[Writing]:
        """Return what to write about a topic: at most one article."""
        article = self._about(topic)
        if article is None:
            named = id_of(self.session, self.night.ns, chosen)
            taken = memories.by_ids(self.session, self.night.ns, [named])
            told["the id is taken"] += len(taken)
            return [] if taken else [(0, tuple(row.docid for row in chosen))]
        self.used.add(article.docid)
        if why := self._why_not(article, chosen):
            told[why] += 1
            return []
        return [(article.docid, tuple(row.docid for row in chosen))]

    def _about(self, topic: Sequence[Row]) -> Row | None:
        """Return the article with the most sources in a topic, at least `_SAME` of them."""
        ids = {row.id for row in topic}
        shares = [
            (len(ids & parents) / len(parents), -at)
            for at, parents in enumerate(self.parents)
            if parents
            and not ids.isdisjoint(parents)
            and self.every[at].docid not in self.used
            and self.every[at].scope == topic[0].scope
        ]
        share, at = max(shares, default=(0.0, 0))
        return self.every[-at] if share >= _SAME else None

    def _why_not(self, article: Row, chosen: Sequence[Row]) -> str:
        """Return why an article is not rewritten; empty if it is."""
        undone = quotes.last_reason(self.session, article) == Reason.UNDONE
        if article.pinned:
            return "locked"
        if article.status not in FOUND:
            return "" if quotes.is_withdrawn(self.session, article) else "taken back"
        if not quotes.is_true(self.session, article):
            return ""
        if {row.id for row in chosen} == set(strings_in(article.source_parents)):
            return "as they are"
        asked_for = not undone and self._asked_for(article)
        return "" if asked_for else "taken back" if undone else "not asked for since"

    def _asked_for(self, article: Row) -> bool:
        """Return whether an article was retrieved since it was written."""
        moment = article.updated_at
        if moment not in self.shown:
            self.shown[moment] = quotes.shown_since(self.session, self.night.ns, moment)
        return article.id in self.shown[moment]

    def outdated(self) -> list[Writing]:
        """Return the articles to withdraw: no longer true, and matched to no topic."""
        return [
            (article.docid, ())
            for article in self.every
            if article.docid not in self.used
            and article.status in FOUND
            and not article.pinned
            and not quotes.is_true(self.session, article)
        ]


def _line(row: Row, config: Config) -> str:
    """Return a source as an article quotes it: when, by whom, and its words."""
    day = day_in(config.zone, from_micros(row.occurred_at)).isoformat()
    said_by = row.actor or (row.role if row.role != "user" else None)
    about = f"{day}, {said_by}" if said_by else day
    return f"{about}: {' '.join(row.text.split())}"


def _sources(session: Transaction, night: Night, members: Sequence[int]) -> list[Row]:
    """Read the sources of an article; empty if one of them may no longer be quoted."""
    found = memories.by_docids(session, night.ns, members)
    rows = [row for row in found.values() if may_join(row, night.config)]
    whole = len(rows) == len(members) and len({row.scope for row in rows}) == 1
    return rows if whole else []


def _write(work: Work, article: Row | None, sources: Sequence[Row], config: Config) -> list[Row]:
    """Write a new article, or rewrite an existing one.

    Returns:
        The article; empty if its text contains a secret to redact, or its id is taken.
    """
    named = id_of(work.db, work.ns, sources) if article is None else article.id
    if article is None and memories.by_ids(work.db, work.ns, [named]):
        return []
    entry = _entry(work, named, sources, config)
    if entry.redacted:
        return []
    changes.begin(work)
    before = [] if article is None else links.pairs(work.db, [article.docid], [links.QUOTES], "src")
    rows, again, _ = remember(work, [entry], Novelty(), replace=True)
    for src, dst in before:
        changes.unlink(work, src, dst, links.QUOTES)
    for row in sources:
        changes.link(work, rows[0].docid, row.docid, links.QUOTES)
    return [*rows, *again]


def _entry(work: Work, named: str, sources: Sequence[Row], config: Config) -> Entry:
    """Make the entry of an article: its sources in the order of time."""
    ordered = sorted(sources, key=lambda row: (row.occurred_at, row.docid))
    trust = Trust.least(Trust(row.trust) for row in sources)
    parents = tuple(sorted(row.id for row in sources))
    draft = Draft(
        text="\n".join(_line(row, config) for row in ordered),
        tier=Tier.LONG,
        kind=Kind.ARTICLE,
        importance=IMPORTANCE,
        scope=sources[0].scope,
        source=Source(trust, quotes.URI, None, parents),
        metadata={quotes.SOURCES: quotes.digest(sources)},
        occurred_at=from_micros(ordered[-1].occurred_at),
        id=named,
    )
    entry = admit(
        draft,
        now=work.now,
        limits=config.limits,
        secrets=Secrets.ALLOW if config.secrets == Secrets.ALLOW else Secrets.REDACT,
    )
    entry.by = Trust.USER  # it replaces no memory but its own earlier text
    return entry


def carry_out(work: Work, night: Night, thing: Writing) -> Sequence[Row]:
    """Write or withdraw one article, unless it or a source changed in the meantime."""
    docid, members = thing
    article = memories.by_docids(work.db, work.ns, [docid]).get(docid)
    if docid and (article is None or article.pinned or not is_mine(article)):
        return []
    if not members and article is not None:
        changes.begin(work)
        quotes.withdraw(work, article)
        return [article]
    rows = _sources(work.db, night, members)
    return _write(work, article, rows, night.config) if rows else []


STEP = Step("articles", plan, carry_out)
