"""Run a job in a thread of its own, which nobody has to wait for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


def apart(job: Callable[[], T]) -> Future[T]:
    """Begin a job; the end of the process does not wait for it.

    If the job is cancelled, or exits, it fails with a ``RuntimeError``: the caller goes on.
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(job())
        except Exception as error:  # noqa: BLE001 - the caller who waits gets it
            done.set_exception(error)
        except BaseException as error:  # noqa: BLE001 - it ends this thread, not the caller
            done.set_exception(RuntimeError(f"ended by {type(error).__name__}"))

    Thread(target=run, name="memento-llm", daemon=True).start()
    return done
