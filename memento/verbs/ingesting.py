"""Store what a survey of files found and what is new in it, and link notes to each other.

What is stored already is left as it is, and what was taken out here stays out, see
``memento.ledger.copies``. Only a message that was edited at its source gets its new text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import PurePosixPath

from memento.admit.redact import Redaction
from memento.base.clock import from_micros
from memento.check import MAX_ITEMS, storable
from memento.errors import IdConflict, LockedMemory, UntrustedSource
from memento.ingest.readers.memories import CALLED, LINKS
from memento.ingest.survey import Found, Survey
from memento.ledger import copies, memories
from memento.ledger.contract import Transaction
from memento.ledger.rows import Row
from memento.protocols import Progress
from memento.types import Draft, Source, Status, Trust
from memento.views import View

BATCH = 256
"""Maximum number of drafts of a file written in one transaction."""
VERB = "ingest"
"""Name of the change that an edit at the source of a message makes here."""


@dataclass(frozen=True, slots=True)
class Ingested:
    """The result of ingesting a file, or the files of an export.

    Attributes:
        name: The file, folder or archive.
        format: Its format; ``""`` if it was not read.
        called: A description of the format, such as ``a ChatGPT export``.
        is_export: Whether it comes from another system that assigns ids to its memories.
        read: Number of memories in it.
        new: Number of these that were stored by this call.
        changed: Number of these whose text was updated to the new text in the file.
        taken_out: Number of these that were skipped because all of their text had already been
            removed from the store.
        waiting: Number of the new ones that are quarantined until the user approves them.
        notes: Remarks on how the file was read.
        problem: Why it was not read; ``""`` if it was.
        left_out: Whether it was found in a folder rather than specified by the user, so that
            skipping it is not an error.
    """

    name: str
    format: str = ""
    called: str = ""
    is_export: bool = False
    read: int = 0
    new: int = 0
    changed: int = 0
    taken_out: int = 0
    waiting: int = 0
    notes: tuple[str, ...] = ()
    problem: str = ""
    left_out: bool = False


def ingest(view: View, survey: Survey, progress: Progress | None = None) -> list[Ingested]:
    """Store what a survey found, see ``Documents.ingest``."""
    adding = _Adding(view, sum(one.count for one in survey.found), progress)
    reports = [adding.add(survey, one) for one in survey.found]
    adding.link()
    return reports


class _Adding:
    """Adds drafts in batches, and remembers what notes are called and what they point to."""

    def __init__(self, view: View, total: int, progress: Progress | None) -> None:
        self._view, self._total, self._progress = view, total, progress
        self._redaction = Redaction(view.config.secrets)
        self._done = 0
        self._called: dict[str, str] = {}
        self._pointing: list[Draft] = []

    def add(self, survey: Survey, one: Found) -> Ingested:
        """Add what is in a file or an export."""
        if (kind := one.format) is None:
            return Ingested(one.name, problem=one.problem, left_out=one.left_out, notes=one.notes)
        counts = Counter[str]()
        for batch in _batches(survey.drafts(one, self._view.config.zone)):
            counts.update(self._batch(batch))
            self._done += len(batch)
            if self._progress is not None:
                self._progress(self._done, self._total)
        return Ingested(
            one.name,
            kind.value,
            kind.called,
            is_export=kind.names_all,
            read=one.count,
            new=counts["new"],
            changed=counts["changed"],
            taken_out=counts["taken_out"],
            waiting=counts["waiting"],
            notes=one.notes,
        )

    def _batch(self, batch: Sequence[Draft]) -> dict[str, int]:
        """Add some drafts; returns numbers of ``Ingested``."""
        known = self._known(one.id for one in batch)
        fresh = {one.id: one for one in batch if self._is_due(one, known.get(one.id or ""))}
        began = from_micros(self._view.engine.now())
        kept = self._view.add([*fresh.values()], again=True)
        changed = sum(self._edit(one, known[one.id or ""]) for one in batch if one.id in known)
        for one in batch:
            self._note(one)
        new = [one for one in kept if one.id not in known and one.created_at >= began]
        return {
            "new": len(new),
            "changed": changed,
            "taken_out": len(fresh) - len(kept),
            "waiting": sum(one.status is Status.QUARANTINED for one in new),
        }

    def _known(self, ids: Iterable[str | None]) -> dict[str, Row]:
        every = [one for one in ids if one is not None]
        return self._view.ask(lambda c, ns: memories.by_ids(c, ns, every)) or {}

    def _is_due(self, draft: Draft, row: Row | None) -> bool:
        """Return whether a draft is new, or a trusted copy of a quarantined memory."""
        if row is None:
            return True
        return row.status == Status.QUARANTINED and _trust(draft) not in self._view.config.untrusted

    def _edit(self, draft: Draft, row: Row) -> bool:
        """Take over the text of a message that was edited at its source, and not here."""
        if not draft.metadata.get("edited"):
            return False
        if row.status not in (Status.ACTIVE, Status.QUARANTINED):
            return False
        text = self._redaction.text("text", storable("text", draft.text))
        text = self._view.ask(lambda c, ns: _left(c, ns, draft, row, text)) or ""
        if text in ("", row.text):
            return False
        try:
            self._view.update(row.id, {"text": text, "source": _trust(draft)}, VERB)
        except (UntrustedSource, LockedMemory):
            return False  # the user approved or locked it as it is
        return True

    def _note(self, draft: Draft) -> None:
        """Remember what a draft is called, and that it points to others."""
        name = draft.metadata.get("document")
        place = PurePosixPath(str(name or ""))
        titles = [draft.metadata.get(CALLED), draft.metadata.get("title") if name else None]
        for called in (*draft.aliases, *titles, place.stem if name else None):
            if isinstance(called, str) and called:
                self._called.setdefault(called.casefold(), draft.id or "")
        if draft.metadata.get(LINKS):
            self._pointing.append(draft)

    def link(self) -> None:
        """Link what points to others, now that these are there."""
        linked = (replace(one, related=self._ends(one)) for one in self._pointing)
        for batch in _batches(one for one in linked if one.related):
            known = self._known(chain(*((one.id, *one.related) for one in batch)))
            there = (
                replace(one, related=tuple(end for end in one.related if end in known))
                for one in batch
                if one.id not in known or known[one.id].text == one.text
            )
            same = [one for one in there if one.related]
            try:
                self._view.add(same, again=True)
            except IdConflict:  # one of them was given another speaker or day here
                for one in same:
                    self._link_alone(one)

    def _link_alone(self, draft: Draft) -> None:
        try:
            self._view.add([draft], again=True)
        except IdConflict:
            return  # somebody changed it here

    def _ends(self, draft: Draft) -> tuple[str, ...]:
        names = (PurePosixPath(str(name)).name.casefold() for name in draft.metadata[LINKS])
        found = (self._called.get(name.removesuffix(".md")) for name in names)
        ends = dict.fromkeys(end for end in found if end and end != draft.id)
        return tuple(ends)[:MAX_ITEMS]


def _left(db: Transaction, ns: int, draft: Draft, row: Row, text: str) -> str:
    """Return an edited text without what was taken out; ``""`` if somebody changed it here."""
    if copies.by_somebody(db, row):
        return ""
    names = (copies.source_of(draft), draft.session)
    found = copies.left(db, ns, names, {row.id: text}).get(row.id)
    return text if found is None else found.text


def _trust(draft: Draft) -> Trust:
    source = draft.source
    return Trust(source.kind) if isinstance(source, Source) else Trust.USER


def _batches(drafts: Iterable[Draft]) -> Iterator[list[Draft]]:
    rest = iter(drafts)
    while batch := [*islice(rest, BATCH)]:
        yield batch
