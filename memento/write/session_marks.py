"""Sessions: begin and end one, write its checkpoints, and find those that broke off."""

from __future__ import annotations

import json
import os
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path

from memento.base.scopes import contains, resolved
from memento.config import SessionConfig
from memento.ledger import changes, links, memories, model_rows, quotes, scope_rows
from memento.ledger import session_rows as rows
from memento.ledger.contract import Ledger, Transaction, Work
from memento.ledger.rows import Row
from memento.ledger.session_rows import Begun, Noted

NOBODY = ""
"""The owner of a session that nobody works on."""
COMMAND = "command"
"""The owner of a session of the command line, whose processes end at once: it is open until it has
been idle for long, and can be continued all the same."""

_PROC = Path("/proc")
_STARTED = 19
"""Index of the start time in ``/proc/PID/stat``, counted after the program name."""

_ENDED = (["Z"], ["X"])
"""States of a process that has ended but was not reaped by its parent yet."""

MINUTE = 60_000_000
"""Microseconds."""

COMPACTION = "compaction"
"""Kind of the checkpoint before the conversation is shortened: the policy begins a new epoch."""
KINDS = ("task", "decision", "error", COMPACTION)
"""Kinds of checkpoints."""

_numbers = count(1)
_open: weakref.WeakKeyDictionary[Ledger, int] = weakref.WeakKeyDictionary()
_ledgers: weakref.WeakValueDictionary[str, Ledger] = weakref.WeakValueDictionary()
"""The open stores of this process by number: looked up, never iterated."""


_passing = ContextVar("_passing", default=False)


@contextmanager
def passing() -> Iterator[None]:
    """Begin sessions that belong to no process: this one ends with its command."""
    token = _passing.set(True)
    try:
        yield
    finally:
        _passing.reset(token)


def name(ledger: Ledger) -> str:
    """Return the owner that stands for this process and its open store."""
    if _passing.get():
        return COMMAND
    number = _open.get(ledger)
    if number is None:
        number = _open[ledger] = next(_numbers)
        _ledgers[str(number)] = ledger
    return f"{_place()}:{os.getpid()}:{_start_of(os.getpid())}:{number}"


def is_gone(owner: str) -> bool:
    """Return whether an owner has certainly ended.

    False for a process of another container, of which nothing is known.
    """
    try:
        boot, space, process, start, number = owner.split(":")
        pid = int(process)
    except ValueError:
        return owner != COMMAND  # nobody, or damage
    if boot != _place().split(":")[0]:
        return True
    if space != _place().split(":")[1]:
        return False
    if pid == os.getpid() and start == _start_of(pid):
        ledger = _ledgers.get(number)
        return ledger is None or ledger.closed
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        pass
    return start != _start_of(pid) or _told_of(pid)[:1] in _ENDED


@cache
def _place() -> str:
    """Identify the boot of the machine and the PID namespace (container) of this process."""
    boot = _read(_PROC / "sys/kernel/random/boot_id").strip().replace("-", "")
    try:
        space = str((_PROC / "self/ns/pid").readlink()).strip("pid:[]")
    except OSError:
        space = ""
    return f"{boot}:{space}"


def _start_of(pid: int) -> str:
    """Return the start time of a process as in ``/proc``; ``""`` if it is unknown."""
    told = _told_of(pid)
    return told[_STARTED] if len(told) > _STARTED else ""


def _told_of(pid: int) -> list[str]:
    """Return the fields of ``/proc/PID/stat`` after the program name."""
    return _read(_PROC / str(pid) / "stat").rpartition(")")[2].split()


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii", errors="replace")
    except OSError:
        return ""


def begin(work: Work, session: str, *, goal: str | None, scope: str, owner: str) -> Begun:
    """Begin a session, or continue it, even one that had ended.

    A goal of None and a scope of ``""`` leave the stored ones as they are.
    """
    known = rows.find(work.db, work.ns, session)
    if known is None:
        made = Begun(
            ns=work.ns, id=session, scope=scope, goal=goal, started=work.now, touched=work.now,
            ended=None, outcome=None, owner=owner, epoch=0, head=None,
        )  # fmt: skip
    else:
        made = replace(
            known,
            goal=known.goal if goal is None else goal,
            scope=scope or known.scope,
            touched=max(known.touched, work.now),
            ended=None,
            outcome=None,
            owner=owner,
        )
    rows.put(work.db, made)
    return made


def renewed(one: Begun) -> Begun:
    """Return a session whose policy is compiled again at the next request."""
    return replace(one, epoch=one.epoch + 1, head=None)


def note(work: Work, session: str, body: dict[str, object], owner: str, keep: int) -> Noted:
    """Write a checkpoint and keep the newest ``keep``; begin the session if nobody did.

    A goal of None in ``body`` stands for that of the session.
    """
    goal = body["goal"]
    begun = begin(
        work, session, goal=goal if isinstance(goal, str) else None, scope="", owner=owner
    )
    if body["kind"] == COMPACTION:
        rows.put(work.db, renewed(begun))
    said = json.dumps(body | {"goal": begun.goal}, ensure_ascii=False)
    rev = memories.latest_rev(work.db, work.ns)
    return rows.put_checkpoint(work.db, Noted(work.ns, session, 0, work.now, rev, said), keep)


def end(work: Work, session: str, outcome: str | None) -> bool:
    """End a session; return False if it is unknown or had ended."""
    known = rows.find(work.db, work.ns, session)
    if known is None or known.ended is not None:
        return False
    over = replace(
        known, touched=max(known.touched, work.now), ended=work.now, outcome=outcome, owner=NOBODY
    )
    rows.put(work.db, renewed(over))
    model_rows.hurry(work.db, work.ns, session)
    return True


def are_as_read(work: Work, read: Sequence[Row]) -> bool:
    """Return whether memories still have the status, the content and the trust that were read."""
    present = memories.by_ids(work.db, work.ns, [row.id for row in read])
    return all(
        row.id in present and present[row.id].status == row.status for row in read
    ) and quotes.digest(present.values()) == quotes.digest(read)


def quote(work: Work, written: Sequence[Row], *, quoted: Sequence[Row]) -> list[Row]:
    """Link a session's extract to the memories that it quotes, to be withdrawn with them."""
    for article in written:
        for row in quoted:
            changes.link(work, article.docid, row.docid, links.QUOTES)
    return []


def leave(work: Work, session: str) -> None:
    """Release a session that has not ended: from now on it is interrupted."""
    known = rows.find(work.db, work.ns, session)
    if known is not None and known.ended is None:
        rows.put(work.db, replace(known, owner=NOBODY))


def is_interrupted(one: Begun, now: int, settings: SessionConfig) -> bool:
    """Return whether an open session broke off: its owner is gone, or it was idle for long."""
    if one.ended is not None:
        return False
    silent = now - one.touched >= settings.idle_minutes * MINUTE
    return silent or is_gone(one.owner)


def interrupted(
    db: Transaction, ns: int, scope: str, now: int, settings: SessionConfig
) -> Begun | None:
    """Return the latest interrupted session that has a task, at a scope or below it.

    One without a goal and without a checkpoint, such as a chat thread that only has a policy, has
    nothing to continue.
    """
    for one in within(db, ns, scope, open_only=True):
        has_task = one.goal is not None or rows.checkpoints(db, ns, one.id, 1)
        if has_task and (one.owner == COMMAND or is_interrupted(one, now, settings)):
            return one
    return None


def within(db: Transaction, ns: int, scope: str, *, open_only: bool = False) -> Iterator[Begun]:
    """Yield the sessions at a scope or below it, the last one used first."""
    merges = scope_rows.merges(db, ns) if scope else {}
    where = resolved(scope, merges)
    found = rows.newest(db, ns, open_only=open_only)
    return (one for one in found if contains(where, resolved(one.scope, merges)))
