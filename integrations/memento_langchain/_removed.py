"""Follow the messages that leave a thread: those removed from it, and those of abandoned branches.

A thread's state is that of one branch, so it can tell what was ever part of this branch: what it
shows, and what middleware such as a summary took out of it during a run. Whatever else was stored
of the thread belongs to a branch that was left, and what disappeared between two runs was removed.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import TypedDict
from uuid import uuid4

from langchain_core.messages import AnyMessage

from memento import MemoryManager, Turn
from memento.errors import LockedMemory
from memento_langchain._structured import ANSWER

THREAD, MESSAGE = "langchain_thread", "langchain_message"
"""Metadata of a turn: the thread, whatever its name, and the message in it."""
ALL = 1_000_000
"""Maximum number of memories of one thread that are looked through."""


class Branch(TypedDict):
    """What a branch of a thread knows of itself.

    Attributes:
        thread: Id of the thread, the same in all its branches.
        shown: Ids of the messages in it.
        gone: Ids of the messages that were taken out of it during a run, such as by a summary.
    """

    thread: str
    shown: list[str]
    gone: list[str]


def new_branch() -> Branch:
    """Return the branch of a new thread."""
    return Branch(thread=uuid4().hex, shown=[], gone=[])


def seen(branch: Branch, messages: Iterable[AnyMessage]) -> Branch:
    """Return a branch with the messages it has now; what is missing left it during a run."""
    shown = [one.id for one in messages if one.id is not None]
    gone = sorted({*branch["gone"], *branch["shown"]} - {*shown})
    return Branch(thread=branch["thread"], shown=shown, gone=gone)


def without(branch: Branch, messages: Iterable[AnyMessage]) -> Branch:
    """Return a branch without the messages that were removed since its last run."""
    left = {one.id for one in messages}
    shown = [name for name in branch["shown"] if name in left]
    return Branch(thread=branch["thread"], shown=shown, gone=branch["gone"])


def marked(turn: Turn, thread: str) -> Turn:
    """Return a turn that names its thread and its message."""
    return turn if turn.id is None else replace(turn, metadata={THREAD: thread, MESSAGE: turn.id})


def forget_others(view: MemoryManager, session: str, branch: Branch) -> None:
    """Forget what was stored of a thread and is not of this branch, and what was learned from it.

    What the user locked stays. ``MemoryManager.restore`` brings the rest back.
    """
    known = {*branch["shown"], *branch["gone"]}
    stored = view.list(session=session, where={THREAD: branch["thread"]}, limit=ALL)
    others = [one for one in stored if str(one.metadata[MESSAGE]).removesuffix(ANSWER) not in known]
    learned = [each for one in others for each in view.insight.lineage(one.id).derived]
    for name in dict.fromkeys(one.id for one in (*others, *learned)):
        with suppress(LockedMemory):
            view.forget(name)
