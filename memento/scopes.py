"""Namespaces (who may see a memory) and scope paths (where it applies). Pure."""

from __future__ import annotations

from collections.abc import Sequence

from memento.errors import InvalidScope

MAX_LABEL = 256
"""Longest namespace label or scope path, in characters."""

DEFAULT_NAMESPACE = ("default",)


def parse_namespace(labels: str | Sequence[str]) -> tuple[str, ...]:
    """Validate namespace labels.

    Args:
        labels: One label, or several from the widest to the narrowest, such as
            ``("acme", "rami")``. No label is a wildcard.

    Returns:
        The labels as a tuple of one or more non-empty strings.

    Raises:
        InvalidScope: If there is no label, or one is empty, too long or not printable.

    >>> parse_namespace("acme")
    ('acme',)
    """
    if not isinstance(labels, Sequence):
        raise InvalidScope("namespace", f"{labels!r:.60} is not a label or a list of labels")
    parts = (labels,) if isinstance(labels, str) else tuple(labels)
    if not parts:
        raise InvalidScope("namespace", "needs at least one label")
    for label in parts:
        if not isinstance(label, str) or not label.strip():
            raise InvalidScope("namespace", f"label {label!r:.60} is not a non-empty string")
        _check("namespace", label)
    return parts


def parse_scope(path: str, field: str = "scope") -> str:
    """Validate a scope path and bring it to its one spelling.

    Args:
        path: Segments joined by ``/``; ``""`` is everywhere. Slashes at either end are dropped.
        field: What to call it in a refusal.

    Returns:
        The path without empty segments.

    Raises:
        InvalidScope: If a segment is empty or ``.`` or ``..``, or the path too long.

    >>> parse_scope("/project/alpha/")
    'project/alpha'
    """
    if not isinstance(path, str):
        raise InvalidScope(field, f"{path!r:.60} is not a string")
    trimmed = path.strip("/")
    if not trimmed:
        return ""
    _check(field, trimmed)
    for segment in trimmed.split("/"):
        if not segment.strip() or segment in {".", ".."}:
            raise InvalidScope(field, f"{path!r:.60} has an empty or relative segment")
    return trimmed


def contains(outer: str, inner: str) -> bool:
    """Tell whether ``inner`` lies in ``outer``, segment by segment.

    >>> contains("a", "a/b"), contains("a", "ab"), contains("", "anything")
    (True, False, True)
    """
    return not outer or inner == outer or inner.startswith(f"{outer}/")


def ancestors(path: str) -> tuple[str, ...]:
    """List a scope and everything it lies in, widest first.

    >>> ancestors("project/alpha")
    ('', 'project', 'project/alpha')
    """
    if not path:
        return ("",)
    segments = path.split("/")
    return ("", *("/".join(segments[: n + 1]) for n in range(len(segments))))


def _check(field: str, value: str) -> None:
    if len(value) > MAX_LABEL:
        raise InvalidScope(field, f"longer than {MAX_LABEL} characters")
    if not value.isprintable():
        raise InvalidScope(field, f"{value!r:.60} has characters that cannot be printed")
