"""Write articles: several statements about one topic, put together in one text.

An article adds and never replaces. It quotes its sources word for word, each with its date, and
names them; they stay active and are found as before. It is made of active statements of one scope
that are trusted, have no end, and that nobody pinned; never of rules, questions or other articles.
If a source changes, the article is withdrawn with that change, see ``ledger.quotes``, and this step
writes it again from what is left.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from memento.clock import day_in, from_micros
from memento.config import Config
from memento.config.articles import Writer
from memento.consolidate import synthesis
from memento.consolidate.night import Left, Night, Plan, Step
from memento.errors import BudgetSpent, MissingExtra, SynthesisFailed
from memento.forks import whole
from memento.language.alike import read
from memento.language.facts import lost
from memento.language.statements import PIECE
from memento.language.words import Cue
from memento.ledger import changes, memories, quotes, sleeping, vectors
from memento.ledger.contract import Ledger, Session, Work
from memento.ledger.quotes import is_mine, lasts
from memento.ledger.rows import Row, strings_in
from memento.lifecycle import articles
from memento.lifecycle.articles import Text
from memento.llm.asking import ask
from memento.status import having
from memento.types import Kind, Reason

if TYPE_CHECKING:
    from memento.consolidate.topics import Floats

MOST = 20_000
"""Most statements of a scope that are looked at, the newest ones."""
_SOURCES = 3
"""A model gets sources of so many times the characters of an article."""
_SAME = 0.5
"""Share of an article's sources that a topic has, from which the article is that topic's."""
_NEVER = frozenset({Kind.ARTICLE, Kind.RULE, Kind.QUESTION})
_FOUND = frozenset(having("found"))

Writing: TypeAlias = tuple[int, tuple[int, ...]]
"""Row id of an article, 0 for a new one, and of the memories it is to be made of: none to
withdraw it."""


def plan(session: Session, night: Night) -> Plan:
    """Find the articles to write, to write again and to withdraw."""
    shelf = _Shelf(session, night, quotes.of_namespace(session, night.ns))
    told = Counter[str]()
    by_scope: dict[str, deque[Row]] = defaultdict(lambda: deque(maxlen=MOST))
    if night.config.articles.writer != Writer.OFF:
        for row in sleeping.active(session, night.ns):
            if may_join(row, night.config):
                by_scope[row.scope].append(row)
    things: list[Writing] = []
    for scope in sorted(by_scope):
        for topic, chosen in _topics(session, night, by_scope[scope], told):
            things += shelf.writing(topic, chosen, told)
    if night.config.articles.writer == Writer.MODEL:
        room = max(0, night.config.articles.calls - night.done)
        told["left to the next sleep"] += len(things[room:])
        things = things[:room]
    things += shelf.outdated()
    looked = sum(map(len, by_scope.values()))
    return Plan(things, looked, +told)


def may_join(row: Row, config: Config) -> bool:
    """Tell whether an article may quote a memory."""
    trusted = row.trust not in config.untrusted
    short = 0 < len(row.text) <= PIECE and not row.cues & Cue.QUESTION
    return trusted and short and row.kind not in _NEVER and not row.pinned and lasts(row)


def _topics(
    session: Session, night: Night, rows: Sequence[Row], told: Counter[str]
) -> Iterator[tuple[list[Row], list[Row]]]:
    """Yield the topics of one scope: their statements, and those that an article quotes."""
    with whole():
        from memento.consolidate import topics  # noqa: PLC0415 - needs NumPy

    settings, config = night.config.articles, night.config
    model = vectors.current_model(session) if night.embeds else None
    known = {row.docid: row for row in rows}
    if model is not None:
        there = vectors.having(session, list(known), model[0])
        told["without a vector"] += len(known) - len(there)
        known = {docid: row for docid, row in known.items() if docid in there}
    words = {docid: read(row.text).content for docid, row in known.items()}

    def points(docids: Sequence[int]) -> Floats:
        if model is None:
            return topics.of_words([words[docid] for docid in docids])
        blobs = vectors.read(session, docids, model[0])
        return topics.of_blobs([blobs[docid] for docid in docids])

    near = settings.overlap if model is None else settings.cosine
    size = topics.Size(settings.least, settings.most, near)
    for topic in topics.topics(words, points, size):
        prices = [len(line(known[docid], config)) + 1 for docid in topic]
        chosen = topics.central(topic, points(topic), prices, _room(config))
        if len(chosen) >= settings.least:
            yield [known[docid] for docid in topic], [known[docid] for docid in chosen]


def _room(config: Config) -> int:
    """Return the most characters of the sources of one article."""
    chars, most = config.articles.chars, config.limits.text_chars
    if config.articles.writer == Writer.MODEL:
        return min(_SOURCES * chars, most - chars)
    return min(chars, most)


@dataclass(slots=True)
class _Shelf:
    """The articles that are there, and which topic each one is about.

    Attributes:
        session: Of the job.
        night: The sleep.
        every: The articles, whatever their status.
        parents: The ids of the sources of each.
        used: Row ids of those whose topic was found.
        shown: Ids that were retrieved since a moment, by that moment.
    """

    session: Session
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
        """Say what is to be written about a topic: at most one article."""
        article = self._about(topic)
        if article is None:
            named = articles.id_of(self.session, self.night.ns, chosen)
            taken = memories.by_ids(self.session, self.night.ns, [named])
            told["the id is taken"] += len(taken)
            return [] if taken else [(0, tuple(row.docid for row in chosen))]
        self.used.add(article.docid)
        if why := self._why_not(article, chosen):
            told[why] += 1
            return []
        return [(article.docid, tuple(row.docid for row in chosen))]

    def _about(self, topic: Sequence[Row]) -> Row | None:
        """Return the article of a topic: half of its sources are of the topic."""
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
        """Say why an article is not written again; nothing if it is."""
        undone = quotes.last_reason(self.session, article) == Reason.UNDONE
        if article.pinned:
            return "locked"
        if article.status not in _FOUND:
            return "" if quotes.is_withdrawn(self.session, article) else "taken back"
        if not quotes.is_true(self.session, article):
            return ""
        if {row.id for row in chosen} == set(strings_in(article.source_parents)):
            return "as they are"
        asked_for = not undone and self._asked_for(article)
        return "" if asked_for else "taken back" if undone else "not asked for since"

    def _asked_for(self, article: Row) -> bool:
        """Tell whether an article was retrieved since it was written."""
        moment = article.updated_at
        if moment not in self.shown:
            self.shown[moment] = quotes.shown_since(self.session, self.night.ns, moment)
        return article.id in self.shown[moment]

    def outdated(self) -> list[Writing]:
        """Return the articles that are not true any more and have no topic left."""
        return [
            (article.docid, ())
            for article in self.every
            if article.docid not in self.used
            and article.status in _FOUND
            and not article.pinned
            and not quotes.is_true(self.session, article)
        ]


def line(row: Row, config: Config) -> str:
    """Return a source as an article quotes it: when, by whom, and its words."""
    day = day_in(config.zone, from_micros(row.occurred_at)).isoformat()
    said_by = row.actor or (row.role if row.role != "user" else None)
    about = f"{day}, {said_by}" if said_by else day
    return f"{about}: {' '.join(row.text.split())}"


def compose(rows: Sequence[Row], config: Config) -> Text:
    """Quote sources in the order of time."""
    return Text("\n".join(line(row, config) for row in _ordered(rows)))


def _ordered(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row.occurred_at, row.docid))


@dataclass(frozen=True, slots=True)
class Ready:
    """An article that can be written.

    Attributes:
        docid: Row id of the article, 0 for a new one.
        members: Row ids of its sources; none to withdraw it.
        text: The text that a model wrote; None to quote the sources.
        read: Digest of the sources that the model read.
    """

    docid: int
    members: tuple[int, ...]
    text: Text | None = None
    read: str = ""


def prepare(ledger: Ledger, night: Night, thing: Writing, now: int) -> Ready | Left:
    """Ask the model for the text of an article, if the settings name one as the writer."""
    docid, members = thing
    if night.config.articles.writer != Writer.MODEL or not members:
        return Ready(docid, members)
    rows = ledger.read(lambda c: _sources(c, night, members))
    if not rows:
        return Left("changed meanwhile")
    lines, chars = compose(rows, night.config).said.splitlines(), night.config.articles.chars
    task = synthesis.task_of(lines, chars)
    try:
        reply = ask(task, ledger=ledger, ns=night.ns, config=night.config.llm, now=now)
    except BudgetSpent:
        return Left("the budget of the model is spent")
    except (SynthesisFailed, MissingExtra):
        return Left("the model gave no reply")
    said = synthesis.accepted(reply.value, [row.text for row in _ordered(rows)], lines, chars)
    text = None if said is None else Text(said, reply.model)
    return Ready(docid, members, text, quotes.digest(rows))


def _sources(session: Session, night: Night, members: Sequence[int]) -> list[Row]:
    """Read the sources of an article; none if one of them may not be quoted any more."""
    found = memories.by_docids(session, night.ns, members)
    rows = [row for row in found.values() if may_join(row, night.config)]
    whole = len(rows) == len(members) and len({row.scope for row in rows}) == 1
    return rows if whole else []


def carry_out(work: Work, night: Night, thing: Ready) -> Sequence[Row]:
    """Write or withdraw one article, unless it or a source changed in the meantime."""
    article = memories.by_docids(work.db, work.ns, [thing.docid]).get(thing.docid)
    if thing.docid and (article is None or article.pinned or not is_mine(article)):
        return []
    if not thing.members and article is not None:
        changes.begin(work)
        quotes.withdraw(work, article)
        return [article]
    rows = _sources(work.db, night, thing.members)
    if not rows or thing.read not in ("", quotes.digest(rows)):
        return []
    text = compose(rows, night.config) if thing.text is None else thing.text
    if any(lost([row.text for row in rows], text.said)):
        return []
    return articles.write(work, article, rows, text, night.config)


STEP = Step("articles", plan, carry_out, prepare)
