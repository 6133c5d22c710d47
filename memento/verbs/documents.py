"""Ingest files, and store documents in parts that follow their changes.

A document is known by its name, session and scope. Each part gets an id made of these and of its
own text. So the same document again finds its parts, and a changed one adds only what is new.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from difflib import SequenceMatcher
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from memento.admit.redact import Redaction
from memento.base.scopes import parse_scope
from memento.check import (
    MAX_ITEMS,
    check_metadata,
    check_progress,
    check_source,
    member,
    names,
    short_name,
    shown,
    storable,
    type_name,
)
from memento.config import Config
from memento.errors import InvalidInput
from memento.ingest.formats import Format, format_of
from memento.ingest.paragraphs import PART_LIMIT, parts, without_front_matter
from memento.ingest.paragraphs import Part as Passage
from memento.ingest.readers.common import How
from memento.ingest.source import Item, lines, plain_name
from memento.ingest.survey import Survey
from memento.ledger import copies, links, memories
from memento.ledger.contract import Transaction
from memento.ledger.filters import filters_of
from memento.ledger.parts import PART
from memento.ledger.rows import PINNED, Row, mapping_in, sound, to_memory
from memento.protocols import Progress
from memento.status import having
from memento.types import (
    Draft,
    Kind,
    KindName,
    Memories,
    Memory,
    Source,
    Status,
    Tier,
    TierName,
    Trust,
    TrustName,
)
from memento.verbs.ingesting import Ingested, ingest
from memento.views import Part, View, id_of_content
from memento.write import change, locks
from memento.write.steps import Run

BATCH = 500
"""Maximum number of parts in a document written in one transaction."""
DOCUMENT, HEADING = "document", "heading"
"""Metadata of parts, beside the number: the document's name, and the headings above the part."""
_READ = (Format.TEXT, Format.MARKDOWN)
_MARKDOWN = (Format.MARKDOWN, Format.BASIC_MEMORY, Format.MEMPALACE)
_CURRENT, _ASIDE = having("current"), having("by_name")
_SAME = ("text", "tier", "kind", "importance", "actor", "occurred_at")
"""Fields in which a stored part and a draft are compared, if the draft has a value."""


class Documents(Part):
    """Stores documents of any length in parts; available as ``memory.documents``."""

    def ingest(self, survey: Survey, *, progress: Progress | None = None) -> list[Ingested]:
        """Store the contents of files: notes, tables, and exports of chats or memory systems.

        Each memory gets an id derived from its id in the file, or from its text, so ingesting the
        same file again adds nothing, and a later export of a chat adds only new messages. To
        complete an interrupted call, repeat it. Sentences that were erased, forgotten, corrected or
        reworded in the store are omitted, as in ``add_many``. Notes are linked to the notes that
        they reference with ``[[links]]``. Times without a zone are in ``Config.timezone``.

        Args:
            survey: The result of ``memento.ingest.survey`` for the files.
            progress: Called with the number of memories processed and the total.

        Returns:
            A report for each file, or for each export of several files.

        Raises:
            InvalidInput: If ``survey`` is not a result of ``memento.ingest.survey``.
            SecretFound: If the content contains a secret and ``Config.secrets`` is ``"reject"``.
            StoreError: If the write fails.

        >>> import tempfile
        >>> from pathlib import Path
        >>> from memento import MemoryManager
        >>> from memento.ingest import survey
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     note = Path(tmp, "boat.md")
        ...     _ = note.write_text("The boat is called Petrel.")
        ...     found = survey(note)
        ...     [(one.read, one.new) for _ in range(2) for one in memory.documents.ingest(found)]
        [(1, 1), (1, 0)]
        """
        given: object = survey
        if not isinstance(given, Survey):
            problem = f"must be the result of memento.ingest.survey, not {shown(given)}"
            raise InvalidInput("survey", problem)
        check_progress(progress)
        return ingest(self._view, survey, progress)

    def add(
        self,
        document: str | Path,
        *,
        name: str | None = None,
        session: str | None = None,
        format: Literal["text", "markdown"] | None = None,  # noqa: A002 - the word for it
        tier: Tier | TierName | None = Tier.LONG,
        kind: Kind | KindName = Kind.FACT,
        importance: float | None = None,
        scope: str = "",
        actor: str | None = None,
        source: Source | Trust | TrustName | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        occurred_at: datetime | None = None,
        expires_in: timedelta | float | None = None,
        progress: Progress | None = None,
    ) -> Memories:
        r"""Store a text of any length in parts that can be found separately.

        The text is split at headings and paragraphs, and within long paragraphs at the ends of
        sentences, into parts of about 300 to 1,000 characters. Fenced code is kept whole up to that
        length. The parts are stored in order in a single session, and each can also be found
        through its neighbours. The ``metadata`` of each part contains ``document`` (the name),
        ``part`` (its number, from 1) and ``heading`` (``"Terms > Penalties"``); the innermost
        heading is also a tag.

        A document is identified by its name, session, scope and namespace. Adding it again
        unchanged does nothing. Adding a changed version keeps unchanged parts, supersedes parts
        that were replaced, and forgets parts that were removed (``restore`` makes them active
        again). Sentences that were erased, forgotten by another call (until ``restore``), corrected
        or reworded are not stored again, even if they now appear in a different part or under a
        different heading. A document from an untrusted source never hides an active part. To
        complete an interrupted call, repeat it. Everything a call replaces or forgets is recorded
        as a single run, so ``undo(run=...)`` restores the document to its previous state.

        Args:
            document: The text, or a ``pathlib.Path`` to a text or Markdown file, which may be
                gzipped. A string is never interpreted as a file name.
            name: The document's name; None for the file name or, for a string, a name derived from
                the text, so a changed text is a different document. It also becomes the
                ``source.uri`` of the parts if ``source`` has none.
            session: Transaction that contains the parts; None to use the document's name.
            format: ``"text"`` or ``"markdown"``; None to use the file's suffix, or Markdown for a
                string.
            tier: As for ``add``. This and the arguments below apply to every part.
            kind: Kind of statement.
            importance: Importance, [0, 1]; None to estimate it for each part.
            scope: Scope in which it applies.
            actor: Who wrote it.
            source: Source of the text; None for the user.
            tags: Labels to filter by.
            metadata: A JSON object with custom fields.
            occurred_at: When it was written (timezone-aware); None for now.
            expires_in: Seconds or a timedelta after which it expires and is no longer found.
            progress: Called after every few hundred parts with the number of parts on disk and the
                total; see ``memento.protocols.Progress``.

        Returns:
            The parts, in order, except any whose text was completely erased.

        Raises:
            InvalidInput: If a value is invalid, the file cannot be read, or the file is a
                conversation (to read conversations, use ``memento.ingest.read``).
            SecretFound: If the content contains a secret and ``Config.secrets`` is ``"reject"``.
            StoreError: If the write fails.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     parts = memory.documents.add("# Tea\n\nGreen.\n\n# Coffee\n\nBlack.", name="menu")
        ...     [(part.metadata["part"], part.text) for part in parts]
        [(1, '# Tea\n\nGreen.'), (2, '# Coffee\n\nBlack.')]
        """
        check_progress(progress)
        like = Draft(
            "", tier, kind, importance, scope=scope, session=session, actor=actor, source=source,
            tags=tags, metadata={} if metadata is None else metadata, occurred_at=occurred_at,
            expires_in=expires_in,
        )  # fmt: skip
        called, drafts = _split(self._view.config, document, like, name=name, format=format)
        return self._view.read(_keep(self._view, called, drafts, progress))


def _split(
    config: Config,
    document: object,
    like: Draft,
    *,
    name: str | None,
    format: str | None,  # noqa: A002 - the word for it
) -> tuple[str, list[Draft]]:
    """Read a document and split it; returns its name and its parts.

    Secrets are removed before the text is split, as a cut within one would hide it.
    """
    text, kind = text_of(document, format)
    text = Redaction(config.secrets).text("document", storable("document", text))
    if name is None and isinstance(document, Path):
        name = plain_name(document)
    elif name is None:
        name = f"document-{sha256(text.encode()).hexdigest()[:12]}"
    called = short_name("name", name)
    source = check_source(like.source)
    like = replace(
        like,
        scope=parse_scope(like.scope),
        session=called if like.session is None else short_name("session", like.session),
        source=source if source.uri else replace(source, uri=called),
        tags=names("tags", like.tags),
        metadata=json.loads(check_metadata(like.metadata, config.limits)),
    )
    split = text.split("\n")
    markdown = kind is Format.MARKDOWN
    found = parts(
        without_front_matter(split) if markdown else split,
        markdown=markdown,
        limit=min(PART_LIMIT, config.limits.text_chars),
    )
    drafts = [*_drafts(found, called, like)]
    if not drafts:
        raise InvalidInput("document", "contains no text")
    return called, drafts


def _keep(view: View, name: str, drafts: Sequence[Draft], progress: Progress | None) -> list[Row]:
    """Store a document, or bring the stored one up to date; returns its parts in order."""
    before, author = _stored(view, name, drafts[0]), check_source(drafts[0].source).kind
    known = {row.id: row for row in before}
    drafts, away, left = _left_alone(view, drafts, known)
    wanted, heads = {draft.id for draft in drafts}, _heads(view, left)
    gone = [
        row for row in before if not (row.id in wanted | heads or Trust.outranks(row.trust, author))
    ]
    if author in view.config.untrusted:  # they hide nothing active
        gone = [row for row in gone if row.status == Status.QUARANTINED]
    changed: list[Draft] = []
    there = [draft for draft in drafts if draft.id not in away]
    for draft in _followed(there, before, {row.id for row in gone}):
        row = known.get(draft.id or "")
        if row is None:
            changed.append(draft)
        elif row.status in _ASIDE or not _says_so(to_memory(row, view.namespace), draft):
            changed.append(replace(draft, pinned=bool(row.pinned & PINNED)))
    locks.guard([*gone, *(known[one.id or ""] for one in changed if one.id in known)])
    total, run = len(drafts), Run()
    for start in range(0, len(changed), BATCH):
        if progress is not None:
            progress(total - len(changed) + start, total)
        part = changed[start : start + BATCH]
        rows = view.add_again(part, replace=True, verb="add_document", run=run)
        known |= {row.id: row for row in rows if row is not None}
    superseded = {memory_id for draft in changed for memory_id in draft.supersedes}
    _hide(view, [row.docid for row in gone if row.id not in superseded], run)
    if progress is not None:
        progress(total, total)
    known |= away
    return [known[name] for draft in drafts if (name := draft.id or "") in known]


def _left_alone(
    view: View, drafts: Sequence[Draft], known: Mapping[str, Row]
) -> tuple[list[Draft], dict[str, Row], list[Row]]:
    """Leave out what somebody took out of the document, in whatever part it is now.

    Returns:
        The drafts left; by id the memories that stand for parts and that somebody hid, corrected
        or changed; and all such memories.
    """
    of_all = drafts[0]

    def look(db: Transaction, ns: int) -> tuple[dict[str, copies.Left], dict[str, Row]]:
        rows = memories.by_ids(db, ns, [draft.id or "" for draft in drafts])
        away = {name: row for name, row in rows.items() if copies.by_somebody(db, row)}
        fresh = {one.id or "": one.text for one in drafts if one.id not in {**known, **away}}
        return copies.left(db, ns, [copies.source_of(of_all), of_all.session], fresh), away

    found, away = view.ask(look) or ({}, {})
    there: list[Draft] = []
    for draft in drafts:
        left = found.get(draft.id or "")
        if left is not None and left.text:
            named = id_of_content(DOCUMENT, draft.id, left.text)
            there.append(replace(draft, text=left.text, id=named))
        elif left is None or left.rows:
            there.append(draft)
            away |= {} if left is None else {draft.id or "": left.rows[0]}
    return there, away, [*away.values(), *(row for one in found.values() for row in one.rows)]


def _heads(view: View, rows: Iterable[Row]) -> set[str]:
    """Return the ids of the last corrections of parts, which are no parts themselves."""
    found = view.ask(lambda c, _: {links.head(c, row) for row in rows})
    return found or set()


def text_of(document: object, given: str | None) -> tuple[str, Format]:
    """Return the text of a document and how it is written."""
    kind = None if given is None else member(Format, "format", given)
    if isinstance(document, str):
        kind = kind or Format.MARKDOWN
        text = "\n".join(document.splitlines())
    elif isinstance(document, Path):
        kind = format_of(Item.of(document), kind, How())
        kind = Format.MARKDOWN if kind in _MARKDOWN else kind
        text = "\n".join(line for _, line in lines(document)) if kind in _READ else ""
    else:
        problem = f"must be a string or a pathlib.Path, not {type_name(document)}"
        raise InvalidInput("document", problem)
    if kind not in _READ:
        problem = f"{kind} is not text or markdown; use memento.ingest.read and add_many instead"
        raise InvalidInput("format", problem)
    return text, kind


def _drafts(found: Iterable[Passage], name: str, like: Draft) -> Iterator[Draft]:
    """Make a draft of each part; equal parts are told apart by how many came before."""
    seen: Counter[str] = Counter()
    for number, part in enumerate(found, start=1):
        seen[part.text] += 1
        place = {DOCUMENT: name, PART: number}
        under = {HEADING: " > ".join(part.headings)} if part.headings else {}
        yield replace(
            like,
            text=part.text,
            tags=tuple(dict.fromkeys((*like.tags, *part.tags)))[:MAX_ITEMS],
            metadata={**like.metadata, **place, **under},
            id=id_of_content(DOCUMENT, name, like.scope, like.session, part.text, seen[part.text]),
        )


def _stored(view: View, name: str, like: Draft) -> list[Row]:
    """Read the parts of the stored document that are not hidden, in the order of the document."""
    now = view.engine.now()
    filters = filters_of(now, session=like.session, where={DOCUMENT: name}, statuses=_CURRENT)
    rows = view.ask(lambda c, ns: memories.select(c, ns, filters)) or []
    mine = [sound(row) for row in rows if row.scope == like.scope]
    return sorted(mine, key=lambda row: (_number(row), row.docid))


def _number(row: Row) -> int:
    number = mapping_in(row.metadata).get(PART)
    return number if isinstance(number, int) else 0


def _followed(drafts: Sequence[Draft], before: Sequence[Row], gone: set[str]) -> Iterator[Draft]:
    """Yield the drafts; one in the place of a removed part supersedes that part."""
    old = [row.id for row in before]
    new = [draft.id or "" for draft in drafts]
    active = {row.id for row in before if row.status in having("found")} & gone
    heirs: dict[str, list[str]] = {}
    steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for step, start, end, first, last in steps:
        if step == "replace":
            for n, memory_id in enumerate(old[start:end]):
                heir = new[min(first + n, last - 1)]
                if memory_id in active and heir not in old:
                    heirs.setdefault(heir, []).append(memory_id)
    for draft in drafts:
        taken = heirs.get(draft.id or "", [])[:MAX_ITEMS]
        yield replace(draft, supersedes=tuple(taken)) if taken else draft


def _says_so(memory: Memory, draft: Draft) -> bool:
    """Return whether a stored part says what a draft says, and is trusted at least as much."""
    if draft.expires_in is not None or memory.expires_at is not None:
        return False
    given = {name: getattr(draft, name) for name in _SAME if getattr(draft, name) is not None}
    source = check_source(draft.source).kind
    return (
        all(getattr(memory, name) == value for name, value in given.items())
        and memory.tags == tuple(draft.tags)
        and memory.metadata == draft.metadata
        and Trust.least([source, memory.source.kind]) == source
    )


def _hide(view: View, docids: Sequence[int], run: Run) -> None:
    """Hide parts no longer in the document."""
    ns, now = view.ns, view.engine.now()
    if ns is None or not docids:
        return
    asked = filters_of(now, statuses=_CURRENT)
    view.engine.in_bites(
        ns,
        docids,
        lambda work, some: change.forget_those(work, some, asked),
        now,
        verb="add_document",
        makes_room=True,
        run=run,
    )
