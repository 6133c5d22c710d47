"""Add memento to the configuration of agents, and remove it again.

Everything is planned first, as the old and the new content of each file. A plan can be shown; it is
carried out file by file, each atomically. Before a file that is not memento's own is first changed,
it is copied beside itself. Whatever the copy holds stays when memento is removed; without the copy,
only hooks are removed, since they can be recognised.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memento.agents import splice
from memento.agents.table import AGENTS, Agent, Edit, Entries, Own, Program, Table
from memento.base.files import read_regular, write_atomically
from memento.errors import InvalidInput, StoreUnusable

BACKUP = ".before-memento"
"""Suffix of the copy of a file from before set-up."""
_NEW = 0o600
_FOLDER = 0o700


@dataclass(frozen=True, slots=True)
class Change:
    """A planned change of one file.

    Attributes:
        path: The file.
        old: Its present content; None if it does not exist.
        new: Its new content; None to remove it.
        top: The agent's folder; it and folders below it are removed if they become empty.
        backup: Whether to copy the present content beside it, even if there is none; with ``undo``,
            whether there is such a copy.
        undo: Whether memento is being removed.
    """

    path: Path
    old: str | None
    new: str | None
    top: Path
    backup: bool = False
    undo: bool = False

    @property
    def word(self) -> str:
        """``removed``, ``new`` or ``changed``."""
        return "removed" if self.new is None else "new" if self.old is None else "changed"

    @property
    def diff(self) -> str:
        """The change as a patch."""
        old, new = ((one or "").splitlines(keepends=True) for one in (self.old, self.new))
        before = "/dev/null" if self.old is None else str(self.path)
        after = "/dev/null" if self.new is None else str(self.path)
        made = difflib.unified_diff(old, new, before, after)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in made)


def agents_of(names: Iterable[str]) -> list[Agent]:
    """Return agents by name; without names, those on this machine.

    Raises:
        InvalidInput: If a name is not that of an agent.
    """
    named = list(names)
    for name in named:
        if name not in AGENTS:
            raise InvalidInput("agent", f"{name!r:.60} is not one of {', '.join(AGENTS)}")
    return [one for name, one in AGENTS.items() if (name in named if named else one.found)]


def plan(agent: Agent, run: Program, *, undo: bool = False) -> list[Change]:
    """Return the changes that set an agent up, or with ``undo`` remove memento; [] if none.

    Raises:
        InvalidInput: If a file cannot be edited.
    """
    home = Path(os.path.realpath(agent.folder()))
    step = _undone if undo else _done
    return [
        change
        for edit in map(_resolved, agent.edits(home, run))
        if (change := step(edit, home, agent)).old != change.new or (undo and change.backup)
    ]


def carry_out(changes: Iterable[Change]) -> None:
    """Write what was planned.

    Raises:
        InvalidInput: If a file was changed since it was planned.
        StoreError: If a file cannot be written.
    """
    for change in changes:
        _write(change)


def _resolved(edit: Edit) -> Edit:
    """Follow links, so that a linked file is edited in place, as in a dotfiles repository."""
    return replace(edit, path=Path(os.path.realpath(edit.path)))


def _done(edit: Edit, home: Path, agent: Agent) -> Change:
    old = _text(edit.path)
    if isinstance(edit, Own):
        return Change(edit.path, old, edit.text, home)
    before = _text(_backup_of(edit.path))
    known = (old or "") if before is None else before
    new = _edited(_with, edit, old or "", known, agent)
    return Change(edit.path, old, new, home, backup=before is None)


def _undone(edit: Edit, home: Path, agent: Agent) -> Change:
    old, before = _text(edit.path), _text(_backup_of(edit.path))
    new = None
    if not isinstance(edit, Own) and old is not None:
        known = old if before is None else before
        new = _edited(_without, edit, old, known, agent)
        if before is not None and new != old and _is_empty(edit, new) and _is_empty(edit, before):
            new = before or None  # as before set-up: missing, or with nothing in it
    return Change(edit.path, old, new, home, backup=before is not None, undo=True)


def _is_empty(edit: Entries | Table, text: str) -> bool:
    """Return whether a file holds nothing but what set-up starts a new file with."""
    if isinstance(edit, Table):
        return not text.strip()
    root = splice.load(text)
    return root is None or root.value in ({}, dict(edit.fresh))


def _edited(
    how: Callable[..., str], edit: Entries | Table, text: str, before: str, agent: Agent
) -> str:
    try:
        return how(edit, text, before, agent)
    except splice.Unreadable as error:
        problem = f"cannot be edited: {error}; fix the file, then run the command again"
        raise InvalidInput(str(edit.path), problem) from None


def _with(edit: Entries | Table, text: str, before: str, agent: Agent) -> str:
    """Add what is missing, and replace what an earlier set-up added."""
    if isinstance(edit, Table):
        if _says(text, edit) or _theirs(before, edit):
            return text
        bare = splice.take_table(text, edit.name)
        return splice.put_table(bare, edit.name, edit.values)
    if not text.strip() and edit.fresh:
        text = json.dumps(edit.fresh, indent=2) + "\n"
    for entry in edit.entries:
        there = splice.find(text, entry.path)
        if entry.each:
            held = there.value if there and isinstance(there.value, list) else ()
            mine = [one for one in held if is_hook(one, agent)]
            if mine == [entry.value]:
                continue
            text = splice.take(text, entry.path, lambda one: is_hook(one, agent))
        elif there is not None:
            if there.value == entry.value or splice.find(before, entry.path) is not None:
                continue
            text = splice.take(text, entry.path)
        text = splice.put(text, entry.path, entry.value, each=entry.each)
    return text


def _without(edit: Entries | Table, text: str, before: str, agent: Agent) -> str:
    """Remove memento's entries; keep what was there before and what others added."""
    if isinstance(edit, Table):
        return text if _theirs(before, edit) else splice.take_table(text, edit.name)
    for entry in edit.entries:
        if entry.each:
            text = splice.take(text, entry.path, lambda one: is_hook(one, agent))
        elif splice.find(before, entry.path) is None:
            text = splice.take(text, entry.path)
    made = {
        entry.path[:n] for entry in edit.entries for n in range(1, len(entry.path) + entry.each)
    }
    for path in sorted(made, key=len, reverse=True):
        there = splice.find(text, path)
        if there is not None and there.value in ({}, []) and splice.find(before, path) is None:
            text = splice.take(text, path)
    return text


def is_hook(value: Any, agent: Agent) -> bool:
    """Return whether an element of a list of hooks is memento's, whatever version wrote it."""
    return re.search(rf"\bmemento['\"\\]* hook {agent.name} \w", json.dumps(value)) is not None


def _says(text: str, table: Table) -> bool:
    """Return whether a TOML file has the values that set-up writes; others may be beside them."""
    there = splice.table(text, table.name)
    return there is not None and {**there, **table.values} == there


def _theirs(before: str, table: Table) -> bool:
    """Return whether the table was there before set-up."""
    return splice.table(before, table.name) is not None


def _backup_of(path: Path) -> Path:
    return path.with_name(path.name + BACKUP)


def _text(path: Path) -> str | None:
    """Return the content of a file; None if it does not exist.

    Raises:
        InvalidInput: If it is not UTF-8 text.
        StoreUnusable: If it cannot be read.
    """
    try:
        return read_regular(path).decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise InvalidInput(str(path), "is not UTF-8 text, so it cannot be edited") from None
    except OSError as error:
        raise StoreUnusable(path, f"cannot be read: {error.strerror}") from error


def _write(change: Change) -> None:
    path, kept = change.path, _backup_of(change.path)
    mode = _NEW if change.old is None else path.stat().st_mode & 0o7777

    def check() -> None:
        if _text(path) != change.old:
            raise InvalidInput(str(path), "was modified in the meantime; run the command again")

    if change.new is None:
        check()
        path.unlink(missing_ok=True)
    elif change.new != change.old:
        path.parent.mkdir(_FOLDER, parents=True, exist_ok=True)
        if change.backup and not change.undo:
            write_atomically(kept, (change.old or "").encode(), mode=mode)
        write_atomically(path, change.new.encode(), check=check, mode=mode)
    if change.undo:
        kept.unlink(missing_ok=True)
        _tidy(path.parent, change.top)


def _tidy(folder: Path, top: Path) -> None:
    """Remove empty folders from this one up to ``top``, the agent's folder."""
    while top in (folder, *folder.parents) and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
