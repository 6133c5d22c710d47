"""Run a job in a thread of its own, which nobody has to wait for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from threading import Thread, current_thread, get_ident
from typing import Any, TypeVar

T = TypeVar("T")
_NAME = "memento-llm"
_awaited: dict[int, Future[Any]] = {}
"""Jobs for which threads wait, by the numbers of the threads."""


class Abandoned(Exception):
    """Nobody waits for the result any more."""


def apart(job: Callable[[], T]) -> Future[T]:
    """Begin a job; the end of the process does not wait for it.

    If the job is cancelled, or exits, it fails with a ``RuntimeError``: the caller goes on.
    """
    done: Future[T] = Future()

    def run() -> None:
        with suppress(InvalidStateError):  # it was abandoned
            try:
                result = job()
            except Exception as error:  # noqa: BLE001 - the caller who waits gets it
                done.set_exception(error)
            except BaseException as error:  # noqa: BLE001 - it ends this thread, not the caller
                done.set_exception(RuntimeError(f"ended by {type(error).__name__}"))
            else:
                done.set_result(result)

    Thread(target=run, name=_NAME, daemon=True).start()
    return done


def is_apart() -> bool:
    """Return whether this is the thread of such a job."""
    return current_thread().name == _NAME


def awaited(done: Future[T], seconds: float) -> T:
    """Wait for a job.

    Raises:
        Abandoned: If another thread said so, see ``abandon``.
        TimeoutError: If it takes longer.
    """
    _awaited[get_ident()] = done
    try:
        return done.result(seconds)
    finally:
        del _awaited[get_ident()]


def abandon(thread: Thread) -> None:
    """Let a thread wait no longer for a job, if it does; the job goes on."""
    done = _awaited.get(thread.ident or 0)
    if done is not None:
        with suppress(InvalidStateError):  # it just ended
            done.set_exception(Abandoned())
