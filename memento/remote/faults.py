"""Convert errors of memento to problems of RFC 9457, and back to the same errors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from memento import errors
from memento.errors import MementoError, ServiceError
from memento.remote.values import hints_of, plain, reader

TYPE = "urn:memento:error:"
"""Prefix of the ``type`` of a problem; the name of the error's class follows."""
STATUSES: dict[type[MementoError], int] = {
    errors.AmbiguousId: 409,
    errors.UntrustedSource: 403,
    errors.InvalidInput: 422,
    errors.NotFound: 404,
    errors.IdConflict: 409,
    errors.ChangedSince: 409,
    errors.TurnErased: 409,
    errors.LockedMemory: 409,
    errors.TooManyLocks: 409,
    errors.NothingToUndo: 409,
    errors.StoreClosed: 503,
    errors.StoreBusy: 503,
    errors.StorageFull: 507,
    errors.TargetExists: 409,
    errors.ArchiveDamaged: 422,
    errors.ArchiveFromTheFuture: 422,
    errors.MomentUnknown: 422,
    errors.StoreError: 500,
    errors.TierUnavailable: 503,
    errors.EmbeddingMismatch: 409,
    errors.EmbedderError: 502,
    errors.RerankerError: 502,
    errors.SynthesisFailed: 502,
    errors.NotAllowed: 403,
    errors.TooMuch: 429,
    errors.Unanswered: 504,
    errors.NotHere: 501,
    errors.ServiceError: 500,
    errors.MissingExtra: 501,
    errors.MementoError: 500,
}
"""The status of each error; one that is not named has that of the nearest class above it."""
ABOUT_THE_CALL = (
    errors.InvalidInput, errors.NotFound, errors.IdConflict, errors.ChangedSince,
    errors.TurnErased, errors.LockedMemory, errors.TooManyLocks, errors.NothingToUndo,
    errors.ServiceError,
)  # fmt: skip
"""Errors that reveal only what the caller sent or may see. The others may reveal the machine."""


def status_of(error: MementoError) -> int:
    """Return the HTTP status for an error."""
    if isinstance(error, errors.NotAllowed) and not error.known:
        return 401
    if isinstance(error, errors.TooMuch) and error.wait is None:
        return 413
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def problem_of(error: MementoError, *, whole: bool) -> dict[str, Any]:
    """Return the problem of an error.

    Args:
        error: What was raised.
        whole: Whether the caller may see details of the machine: paths, messages of libraries.
    """
    kind = type(error)
    title = (kind.__doc__ or "").partition("\n")[0]
    told = whole or isinstance(error, ABOUT_THE_CALL)
    facts = {name: plain(value) for name, value in vars(error).items()} if told else {}
    return {
        "type": f"{TYPE}{kind.__name__}",
        "title": title,
        "status": status_of(error),
        "detail": str(error) if told else title,
        "facts": facts,
    }


def error_of(problem: Mapping[str, Any]) -> MementoError:
    """Return the error of a problem; a `ServiceError` if its type is not one of memento's."""
    name = str(problem.get("type", "")).removeprefix(TYPE)
    kind = kinds().get(name)
    detail = problem.get("detail") or problem.get("title") or "the service gave no reason"
    if kind is None:
        return ServiceError(f"the service responded with status {problem.get('status')}: {detail}")
    hints = hints_of(kind)
    facts = problem.get("facts") or {}
    error = kind.__new__(kind, detail)
    error.args = (detail,)
    error.__dict__.update(
        {
            name: None if facts.get(name) is None else reader(hint)(facts[name])
            for name, hint in hints.items()
        }
    )
    return error


@cache
def kinds() -> dict[str, type[MementoError]]:
    """Return every subclass of ``MementoError`` by name."""
    found: dict[str, type[MementoError]] = {}
    left: list[type[MementoError]] = [MementoError]
    while left:
        kind = left.pop()
        found[kind.__name__] = kind
        left += [one for one in kind.__subclasses__() if one.__module__ == errors.__name__]
    return found
