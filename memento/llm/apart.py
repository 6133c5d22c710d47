"""Run a job in a daemon thread, so that neither a caller nor the process has to wait for it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from threading import Thread, current_thread, get_ident
from typing import Any, TypeVar

T = TypeVar("T")
_NAME = "memento-llm"
_awaited: dict[int, Future[Any]] = {}
"""The job for which a thread waits, by the thread's identifier."""


class Abandoned(Exception):
    """Another thread ended the wait for the result; see ``abandon``."""


def apart(job: Callable[[], T]) -> Future[T]:
    """Start a job in a thread; the end of the process does not wait for it.

    If the job raises ``SystemExit``, ``CancelledError`` or the like, the result is a
    ``RuntimeError``, so that the caller goes on.
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
    """Return whether this thread runs a job of ``apart``."""
    return current_thread().name == _NAME


def awaited(done: Future[T], seconds: float) -> T:
    """Wait for a job.

    Raises:
        Abandoned: If another thread ended the wait, see ``abandon``.
        TimeoutError: If it takes longer than ``seconds``.
    """
    _awaited[get_ident()] = done
    try:
        return done.result(seconds)
    finally:
        del _awaited[get_ident()]


def abandon(thread: Thread) -> None:
    """End a thread's wait for a job, if it waits for one; the job itself goes on."""
    done = _awaited.get(thread.ident or 0)
    if done is not None:
        with suppress(InvalidStateError):  # it has just ended
            done.set_exception(Abandoned())
