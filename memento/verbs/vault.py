"""Sync the memories of a namespace with a folder of notes, in both directions.

Each memory is one Markdown file. The file ``STATE`` of the folder has digests of both from when
they were last the same, which tell which of them changed since. A sync that was killed is finished
by the next one: every step makes the two sides more alike.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from secrets import token_hex
from typing import Any, Literal, NamedTuple, NoReturn

import uuid_utils

from memento.base.files import (
    explain_os,
    open_regular,
    opened_folder,
    path_outside,
    remove_litter,
    write_atomically,
)
from memento.check import MAX_ITEMS
from memento.errors import IdConflict, InvalidInput, LockedMemory, NotFound, StoreBusy
from memento.ingest.readers.common import moment
from memento.ledger import links, memories, meta
from memento.ledger.contract import Transaction, Work
from memento.ledger.filters import filters_of
from memento.ledger.predicate import Filters
from memento.ledger.rows import Row
from memento.ledger.schema import SEQ_BITS
from memento.types import Draft, Kind, Memory, Source, Status, Trust
from memento.upkeep.vault_note import (
    EDITED,
    FIELDS,
    NEW,
    Note,
    Value,
    digest,
    digests,
    folded,
    merge,
    name_of,
    parse,
    values_of,
    written,
)
from memento.verbs.changes import shown_number
from memento.views import View
from memento.write import change
from memento.write.steps import Run

SAVES = 64
"""Number of the last saves of a vault's state that the ledger knows."""
STATE = ".memento.json"
"""File of a vault with digests of its notes and memories from when they were last the same."""
SHOWN = (Status.ACTIVE, Status.ARCHIVED)
"""Statuses of memories that have a note."""
NOTE_BYTES = 1_000_000
"""Maximum size of a note, bytes."""
FEW, SHARE = 5, 0.2
"""If more notes, and a larger share of all, are missing, no memory is forgotten for it."""
_TEMPORARY = re.compile(rf"(.+\.md|{re.escape(STATE)})\.[0-9a-f]{{8}}\.tmp", re.IGNORECASE)
_LINK = re.compile(r"\[\[([^\]|#^\n]+)")
_ANEW = "write `memento: new` in it to keep it as a separate memory"
_MEANWHILE = "it changed during the sync; sync again"

Action = Literal[
    "added", "updated", "forgotten", "written", "removed", "conflict", "left", "withheld"
]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a sync did, would do, or left undone.

    Attributes:
        action: ``added``: a new note became a memory. ``updated``: a memory was changed to match
            its note. ``forgotten``: a memory was forgotten because its note was deleted.
            ``written`` and ``removed``: a note was written or removed. ``conflict``: both sides
            changed; the note won, and the memory's version is in its history. ``left``: nothing was
            done, see ``why``. ``withheld``: so many notes are missing that their memories were not
            forgotten.
        path: The note, relative to the folder.
        id: The memory; ``""`` if there is none.
        why: The reason, if any.
    """

    action: Action
    path: str
    id: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Synced:
    """The result of a sync.

    Attributes:
        folder: The vault.
        steps: Everything that was done, or would be.
        unchanged: Number of notes that match their memories.
        foreign: Number of notes that do not belong to memento and are never changed.
        dry_run: Whether nothing was done.
        run: Number to pass to ``undo(run=...)`` to undo the changes to memories; None if there are
            none.
    """

    folder: Path
    steps: tuple[Step, ...]
    unchanged: int
    foreign: int
    dry_run: bool
    run: int | None = None

    def of(self, *actions: Action) -> list[Step]:
        """Return the steps of some kinds."""
        return [step for step in self.steps if step.action in actions]


class _Base(NamedTuple):
    """A note when it was last the same as its memory; ``said`` is None if it never was."""

    path: str
    data: str
    said: Mapping[str, str] | None


class _File(NamedTuple):
    """A file of the vault: its bytes, and why it cannot be a note."""

    path: str
    data: bytes = b""
    problem: str = ""


def sync(
    view: View,
    folder: str | Path,
    filters: Filters,
    *,
    trust: Trust,
    allow_deletes: bool,
    dry_run: bool,
) -> Synced:
    """Sync a folder of notes with the memories, see ``Store.sync_vault``."""
    root = Path(os.path.realpath(path_outside("folder", folder, view.root)))
    store = Path(os.path.realpath(view.root))
    if not str(folder) or root in (store, *store.parents):
        raise InvalidInput("folder", "must be a separate folder, not the store folder")
    if os.path.lexists(root) and not root.is_dir():
        raise InvalidInput("folder", "is a file; specify a folder")
    kinds = filters.kinds or tuple(kind.value for kind in Kind if kind is not Kind.EPISODE)
    asked = replace(filters, kinds=kinds, statuses=SHOWN)
    run = _Sync(view, root, asked, trust, allow_deletes=allow_deletes, dry_run=dry_run)
    if dry_run and not root.exists():
        return run.done()
    try:
        root.mkdir(parents=True, exist_ok=True)
        with opened_folder(root) as held:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise StoreBusy(root, "is being synced by another process; try again") from None
            return run.done()
    except OSError as error:
        raise explain_os(Path(error.filename or root), error) from error


class _Sync:
    """One sync: reads both sides, then handles one note after the other."""

    def __init__(
        self,
        view: View,
        root: Path,
        filters: Filters,
        trust: Trust,
        *,
        allow_deletes: bool,
        dry_run: bool,
    ) -> None:
        self._view, self._root, self._filters, self._trust = view, root, filters, trust
        self._allow_deletes, self._dry_run = allow_deletes, dry_run
        self._vault, self._saves = "", list[str]()
        self._bases: dict[str, _Base] = {}
        self._notes: dict[str, _File] = {}
        self._new: set[str] = set()
        self._live: dict[str, Memory] = {}
        self._hidden: dict[str, Row] = {}
        self._heirs: dict[str, tuple[str, _Base]] = {}
        self._places: dict[str, str] = {}
        self._related: dict[str, list[str]] = defaultdict(list)
        self._steps: list[Step] = []
        self._unchanged = self._foreign = 0
        self._moving = False
        self._run = Run()

    def done(self) -> Synced:
        """Sync, and return what was done."""
        self._read_state()
        files = self._scan()
        self._match(files)
        if self._new:
            self._save()  # from here on a new note has its id, whatever happens
        before = dict(self._bases)
        self._look()
        self._place(files)
        withheld = self._missing_too_many()
        gone = {name for name in self._bases if name not in self._notes and name in self._live}
        self._moving = bool(gone) and not self._scan().keys() <= files.keys()
        for name in [*dict.fromkeys([*self._bases, *self._notes, *self._live])]:
            self._one(name, withheld=name in withheld)
        for heir, (name, base) in self._heirs.items():
            if heir in self._bases and not self._bases[heir].data:  # its note was left as it is
                del self._bases[heir]
                self._bases[name] = base
        if self._new or self._bases != before or not (self._root / STATE).exists():
            self._save()
        return Synced(
            self._root,
            tuple(self._steps),
            self._unchanged,
            self._foreign,
            self._dry_run,
            shown_number(self._run.first),
        )

    # --- reading

    def _read_state(self) -> None:
        try:
            state = json.loads(_bytes_of(self._root / STATE))
            self._vault, saved = state["vault"], state["saved"]
            bases = {
                name: _Base(path, data, said and dict(zip(FIELDS, said, strict=True)))
                for name, (path, data, said) in state["notes"].items()
            }
        except FileNotFoundError:
            self._vault = token_hex(8)
            return
        except (ValueError, TypeError, KeyError, AttributeError):
            problem = f"its {STATE} is damaged; remove that file, and sync again"
            raise InvalidInput("folder", problem) from None

        known = self._view.ask(lambda db, ns: meta.get(db, self._mark(ns)))
        if known is None:
            problem = (
                "is the vault of another store or namespace; use a different folder, or delete"
            )
            raise InvalidInput("folder", f"{problem} its {STATE} to start over")
        self._saves = str(known).split()
        if saved in self._saves:  # else the store was restored from an earlier state
            self._bases = bases

    def _mark(self, ns: int) -> str:
        """Return the name under which the ledger knows this vault."""
        return f"vault:{ns} {self._vault}"

    def _save(self) -> None:
        saves = [*self._saves[1 - SAVES :], token_hex(8)]

        def note(work: Work) -> None:
            meta.put(work.db, self._mark(work.ns), " ".join(saves))

        if self._dry_run:
            return
        notes = {
            name: [base.path, base.data, base.said and [base.said[one] for one in FIELDS]]
            for name, base in self._bases.items()
        }
        self._view.write(note)
        self._saves = saves
        state = {"vault": self._vault, "saved": saves[-1], "notes": notes}
        if any(step.action == "written" for step in self._steps):
            os.sync()  # notes must be on the disk before their state
        text = json.dumps(state, ensure_ascii=False, separators=(",", ":"))
        write_atomically(self._root / STATE, text.encode())

    def _scan(self) -> dict[str, _File]:
        """Read the Markdown files of the vault; links and hidden folders are not followed."""
        files: dict[str, _File] = {}
        for place, folders, names in os.walk(
            self._root, onerror=_raise if self._root.exists() else None
        ):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                path = Path(place, name)
                if (left := _TEMPORARY.fullmatch(name)) and not self._dry_run:
                    remove_litter(path.with_name(left[1]))
                if name[0] != "." and ".sync-conflict" not in name and path.suffix.lower() == ".md":
                    shown = path.relative_to(self._root).as_posix()
                    files[shown] = _read(shown, path)
        return files

    def _match(self, files: Mapping[str, _File]) -> None:
        """Find out which file is the note of which memory; unmoved files come first."""
        at = {folded(base.path): name for name, base in self._bases.items()}
        homes = {shown: at.get(folded(shown), "") for shown in files}
        for shown, name in homes.items():
            base = self._bases.get(name)
            if base is not None and base.said and digest(files[shown].data) == base.data:
                self._notes[name] = files[shown]
        for shown in sorted(files, key=lambda one: not homes[one]):
            if files[shown] is not self._notes.get(homes[shown]):
                self._read_note(files[shown], homes[shown])

    def _read_note(self, file: _File, name: str) -> None:
        """Find out by its content whose note a file is.

        Args:
            file: The file, which may have changed.
            name: The memory whose note was there the last time; ``""`` for none.
        """
        shown, base = file.path, self._bases.get(name)
        note, problem = None, file.problem
        try:
            note = parse(file.data)
        except InvalidInput as error:
            problem = error.problem
        if note is None and base is not None and base.said:
            lost = problem or "its front matter was removed"
            self._notes[name] = file._replace(problem=lost)
        elif note is None and problem and not file.problem:
            self._leave(shown, "", problem)
        elif note is None:
            self._foreign += 1
        elif note.id == NEW:
            made = name if base is not None and base.said is None else str(uuid_utils.uuid7())
            self._notes[made] = file
            self._new.add(made)
            self._bases[made] = _Base(shown, "", None)
        elif note.id in self._notes:
            problem = f"it has the same id as {self._notes[note.id].path}; {_ANEW}"
            if base is None or name in self._notes:
                self._leave(shown, note.id, problem)
            else:  # another note was copied over it; its memory is not forgotten
                self._notes[name] = file._replace(problem=problem)
        else:
            self._notes[note.id] = file

    def _look(self) -> None:
        """Read the memories that have a note, or are to have one."""
        named = [*dict.fromkeys([*self._bases, *self._notes])]

        def look(db: Transaction, ns: int) -> tuple[dict[str, Row], dict[str, str]]:
            rows = memories.by_ids(db, ns, named)
            return rows, {name: links.head(db, row) for name, row in rows.items()}

        rows, heads = self._view.ask(look) or ({}, {})
        ids = [*dict.fromkeys([*rows, *heads.values()])]
        now = self._view.engine.now()
        for asked in [self._filters, *([filters_of(now, ids=ids, statuses=SHOWN)] if ids else [])]:
            found = self._view.listed(asked, limit=1_000_000)
            self._live |= {one.id: one for one in found}
        self._hidden = {name: row for name, row in rows.items() if name not in self._live}
        for name in self._hidden:  # a superseded memory's note becomes that of its successor
            heir = heads[name]
            if name in self._bases and heir in self._live and heir not in named:
                named.append(heir)
                self._heirs[heir] = (name, base := self._bases.pop(name))
                self._bases[heir] = base._replace(data="")
                if name in self._notes:
                    self._notes[heir] = self._notes.pop(name)

    def _place(self, files: Mapping[str, _File]) -> None:
        """Name a note for each memory without one, and find what memories are related to."""
        taken = {folded(path) for path in files}
        self._places = {name: file.path for name, file in self._notes.items()}
        for name, memory in self._live.items():
            if name not in self._places and name not in self._bases:
                self._places[name] = path = name_of(memory, taken)
                taken.add(folded(path))
        ids = {one.seq: name for name, one in self._live.items()}
        for src, dst in self._view.ask(lambda c, ns: _pairs(c, ns, [*ids])) or []:
            if place := self._places.get(ids[dst]):
                self._related[ids[src]].append(PurePosixPath(place).stem)

    def _missing_too_many(self) -> set[str]:
        """Return the memories whose notes are missing, if they are suspiciously many."""
        missing = {name for name in self._bases if name not in self._notes and name in self._live}
        many = len(missing) > FEW and len(missing) > SHARE * len(self._bases)
        return missing if many and not self._allow_deletes else set()

    def _unseen(self, path: str) -> str:
        """Say why a missing note may be there all the same; ``""`` if it was deleted."""
        if self._moving:
            return _MEANWHILE
        above = (self._root / path).parent
        linked = os.path.realpath(above) != str(above)
        return "its folder is a link, which is not followed" if linked else ""

    # --- writing

    def _one(self, name: str, *, withheld: bool) -> None:
        """Do what a memory and its note need."""
        file, memory = self._notes.get(name), self._live.get(name)
        path = self._places.get(name) or (self._bases[name].path if name in self._bases else "")
        try:
            if file is not None and file.problem:
                self._leave(path, name, file.problem)
            elif file is not None and memory is not None:
                self._compare(memory, file)
            elif file is not None and name in self._new and name not in self._hidden:
                self._add(name, file)
            elif file is not None:
                self._let_go(name, file)
            elif withheld:
                self._steps.append(Step("withheld", path, name))
            elif memory is None:
                del self._bases[name]
            elif name in self._bases and (why := self._unseen(path)):
                self._leave(path, name, why)
            elif name in self._bases:
                self._change("forget", lambda work: change.forget(work, name, self._trust))
                self._steps.append(Step("forgotten", path, name))
                del self._bases[name]
            else:
                self._write(memory, path, None, None, FIELDS)
        except (InvalidInput, LockedMemory, IdConflict, NotFound) as error:
            self._leave(
                path, name, error.problem if isinstance(error, InvalidInput) else str(error)
            )

    def _leave(self, path: str, name: str, why: str) -> None:
        self._steps.append(Step("left", path, name, why))

    def _compare(self, memory: Memory, file: _File) -> None:
        """Sync a note and its memory, field by field."""
        base = self._bases.get(memory.id, _Base("", "", None))
        is_same = bool(base.said) and digest(file.data) == base.data
        note = None if is_same else parse(file.data)
        said = dict(base.said or {}) if note is None else digests(note.said)
        merged = merge(base.said, said, digests(self._values(memory)))
        if note is not None and merged.taken:
            memory = self._update(memory, {one: note.said[one] for one in merged.taken})
            clash = memory.id not in self._new and bool(merged.clashing)
            why = ", ".join(merged.clashing if clash else merged.taken)
            self._steps.append(Step("conflict" if clash else "updated", file.path, memory.id, why))
        if note is not None and merged.refused:
            told = ", ".join(f"{one} {note.said[one]}" for one in merged.refused)
            self._leave(file.path, memory.id, f"a note cannot set {told}: see `memento set`")
        now, planned = digests(self._values(memory)), merged.taken if self._dry_run else ()
        changed = [one for one in said if said[one] != now[one] and one not in planned]
        if changed or (note is not None and note.id != memory.id):
            self._write(memory, file.path, file.data, note or parse(file.data), changed)
            return
        self._unchanged += not merged.taken
        self._bases[memory.id] = _Base(file.path, digest(file.data), now)

    def _add(self, name: str, file: _File) -> None:
        """Make a memory of a new note; nothing of the note changes but its id."""
        note = parse(file.data)
        assert note is not None  # noqa: S101 - it was one a moment ago
        names = {folded(PurePosixPath(place).stem): one for one, place in self._places.items()}
        words = " ".join([str(note.said["text"]), *note.said.get("related", ())])
        found = (names.get(folded(one.strip())) for one in _LINK.findall(words))
        ends = [one for one in dict.fromkeys(found) if one in self._live]
        given = {one: note.said[one] for one in EDITED if note.said.get(one)}
        source = Source(
            self._trust, None if self._trust is Trust.USER else f"vault:{self._root.name}"
        )
        draft = Draft(
            **{"text": "", **given},  # type: ignore[arg-type]
            key=str(note.said.get("key", "")) or None,
            occurred_at=moment(note.said.get("date", "")),
            related=ends[:MAX_ITEMS],
            source=source,
            id=name,
        )
        self._steps.append(Step("added", file.path, name))
        if self._dry_run:
            return
        try:
            (row,) = self._view.engine.add(self._view.namespace, [draft], run=self._run)
        except (InvalidInput, IdConflict):
            self._steps.pop()
            raise
        memory = self._view.memory(row)
        self._related[name] = [PurePosixPath(self._places[one]).stem for one in draft.related]
        now = digests(self._values(memory))
        changed = [one for one, said in digests(note.said).items() if said != now[one]]
        self._write(memory, file.path, file.data, note, changed)

    def _let_go(self, name: str, file: _File) -> None:
        """Remove the note of a memory no longer shown, unless the note was changed."""
        base, row = self._bases.get(name), self._hidden.get(name)
        if row is not None and row.status == Status.QUARANTINED:
            self._unchanged += 1
            return
        note = parse(file.data)
        said = {} if note is None else digests(note.said)
        if base is not None and base.said and all(base.said[one] == said[one] for one in said):
            self._put(file.path, None, file.data)
            self._steps.append(Step("removed", file.path, name))
            del self._bases[name]
            return
        became = (
            f"was {row.status}"
            if row is not None
            else "was erased"
            if base
            else "is not in this store"
        )
        became = "has expired" if row is not None and row.status in SHOWN else became
        self._leave(file.path, name, f"its memory {became}; delete the note, or {_ANEW}")

    def _update(self, memory: Memory, said: Mapping[str, Value]) -> Memory:
        """Change a memory as its note was changed, unless it changed since it was read."""
        base = self._bases.get(memory.id)
        unknown = base is None or not base.said  # perhaps no person wrote it
        author = Trust.least([self._trust, memory.source.kind]) if unknown else self._trust
        asked: dict[str, Any] = {**said, "source": author}
        if "aliases" in said:
            names = asked.pop("aliases")
            asked["add_aliases"] = [one for one in names if one not in memory.aliases]
            asked["remove_aliases"] = [one for one in memory.aliases if one not in names]
        accepted = change.accept(asked, now=self._view.engine.now(), config=self._view.config)

        def update(work: Work) -> Row:
            if memories.by_id(work.db, work.ns, memory.id).version != memory.version:
                raise InvalidInput("note", _MEANWHILE)
            return change.update(work, memory.id, accepted)

        rows = self._change("update", update)
        return self._view.memory(rows[0]) if rows else memory

    def _change(self, verb: str, job: Callable[[Work], Row]) -> Sequence[Row]:
        """Change a memory; all changes of a sync are one run."""
        ns = self._view.ns
        if self._dry_run or ns is None:
            return ()
        engine, room = self._view.engine, verb == "forget"
        return engine.in_bites(
            ns,
            [0],
            lambda work, _: [job(work)],
            engine.now(),
            verb=verb,
            makes_room=room,
            run=self._run,
        )

    def _values(self, memory: Memory) -> dict[str, Value]:
        return values_of(memory, self._related.get(memory.id, ()))

    def _write(
        self,
        memory: Memory,
        path: str,
        before: bytes | None,
        note: Note | None,
        changed: Sequence[str],
    ) -> None:
        """Write changed fields into the note of a memory."""
        values = self._values(memory)
        data = written(memory.id, values, note, changed)
        self._put(path, data, before)
        self._steps.append(Step("written", path, memory.id))
        self._bases[memory.id] = _Base(path, digest(data), digests(values))

    def _put(self, shown: str, data: bytes | None, before: bytes | None) -> None:
        """Replace or remove a file, if it is still as it was read and in the folder it was in."""
        if self._dry_run:
            return
        path = self._root / shown

        def check() -> None:
            now = None
            with suppress(FileNotFoundError):
                now = _bytes_of(path)
            if now != before or os.path.realpath(path.parent) != str(path.parent):
                raise InvalidInput("note", _MEANWHILE)

        try:
            path.parent.mkdir(exist_ok=True)
        except FileExistsError:
            problem = f"{path.parent.name} is a file, but the note requires a folder"
            raise InvalidInput("note", problem) from None
        if data is not None:
            write_atomically(path, data, check=check, wait=False)
        else:
            check()
            path.unlink()


def _raise(error: OSError) -> NoReturn:
    raise error


def _bytes_of(path: Path) -> bytes:
    with open_regular(path, follow=False) as file:
        return file.read()


def _read(shown: str, path: Path) -> _File:
    """Read a file, unless it is a link or too long for a note."""
    try:
        if path.lstat().st_size > NOTE_BYTES:
            return _File(shown, problem=f"it is longer than {NOTE_BYTES:,} bytes")
        return _File(shown, _bytes_of(path))
    except OSError as error:
        return _File(shown, problem=f"it is a link, or cannot be read: {error.strerror}")


def _pairs(db: Transaction, ns: int, seqs: Sequence[int]) -> list[tuple[int, int]]:
    """Return (from, to) of what is related, as sequence numbers."""
    first = ns << SEQ_BITS
    found = links.pairs(db, [first | seq for seq in seqs], ("related",))
    return [(src - first, dst - first) for src, dst in found]
