"""Namespaces (who may see a memory) and scope paths (where it applies). Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b

from memento.base.plain import composed, mended
from memento.errors import InvalidScope

MAX_LABEL = 256
"""Maximum length of a namespace label or scope path, in characters."""
MAX_LABELS = 32
MAX_NAMESPACE = 2048
"""Maximum number of characters in all labels of a namespace together."""
DEFAULT_NAMESPACE = ("default",)


def short_form(name: str, most: int = 64) -> str:
    """Return a framework's name shortened to at most ``most`` characters.

    Frameworks take any text as a name, such as the description of an agent's role. A name that is
    too long, or that a database cannot store, becomes its (mended) beginning and a digest: equal
    names give equal forms, different names different ones.

    >>> short_form("notes"), short_form("x" * 999, 40)
    ('notes', 'xxxxxxx~e68a93cffe0690eabbe295ba99146deb')
    """
    clean = mended(name)
    if clean == name and len(name) <= most:
        return name
    digest = blake2b(name.encode(errors="surrogatepass"), digest_size=16).hexdigest()
    return f"{clean[: most - len(digest) - 1]}~{digest}"


def parse_namespace(labels: str | Sequence[str]) -> tuple[str, ...]:
    """Validate one namespace label, or several from the widest to the narrowest.

    No label is a wildcard.

    Raises:
        InvalidScope: If there is no label or too many, they are too long together, or one is
            empty, too long or not printable.

    >>> parse_namespace("acme")
    ('acme',)
    """
    if not isinstance(labels, Sequence):
        raise InvalidScope(
            "namespace",
            f"a namespace must be a label or a list of labels, not {type(labels).__name__}",
        )
    parts = (labels,) if isinstance(labels, str) else tuple(labels)
    parts = tuple(composed(part) if isinstance(part, str) else part for part in parts)
    if not parts:
        raise InvalidScope("namespace", "requires at least one label")
    if len(parts) > MAX_LABELS:
        raise InvalidScope("namespace", f"has {len(parts)} labels; the maximum is {MAX_LABELS}")
    for label in parts:
        if not isinstance(label, str) or not label.strip():
            raise InvalidScope("namespace", f"label {_shown(label)} is not a non-empty string")
        _check("namespace", label)
    if sum(map(len, parts)) > MAX_NAMESPACE:
        raise InvalidScope("namespace", f"the labels exceed {MAX_NAMESPACE} characters in total")
    return parts


def parse_scope(path: str, field: str = "scope", *, most: int = MAX_LABEL) -> str:
    """Validate a scope path and return its one normal form, without slashes at either end.

    Its segments are joined by ``/``; ``""`` means everywhere.

    Raises:
        InvalidScope: If a segment is empty, ``.`` or ``..``, or it is too long; names the field.

    >>> parse_scope("/project/alpha/")
    'project/alpha'
    """
    if not isinstance(path, str):
        raise InvalidScope(field, f"{_shown(path)} is not a string")
    if type(path) is str and not path:  # nearly always; a class of its own may do anything
        return ""
    path = composed(path)
    trimmed = path.strip("/")
    if not trimmed:
        return ""
    _check(field, trimmed, most)
    for segment in trimmed.split("/"):
        if not segment.strip() or segment in {".", ".."}:
            raise InvalidScope(field, f"{path!r:.60} has an empty or relative segment")
    return trimmed


def contains(outer: str, inner: str) -> bool:
    """Return whether scope ``inner`` is inside ``outer`` or equal to it, segment by segment.

    >>> contains("a", "a/b"), contains("a", "ab"), contains("", "anything")
    (True, False, True)
    """
    return not outer or inner == outer or inner.startswith(f"{outer}/")


def resolved(path: str, merges: Mapping[str, str]) -> str:
    """Return what a scope is called after merges of scopes into others.

    >>> resolved("web/api", {"web": "site", "site": "project"})
    'project/api'
    """
    for _ in range(len(merges) + 1):  # ends even if damage has made a cycle
        merged = next((outer for outer in reversed(ancestors(path)) if outer in merges), None)
        if merged is None:
            break
        path = merges[merged] + path[len(merged) :]
        path = path.strip("/")
    return path


def folded(name: str) -> str:
    """Return a form of a scope's name that is equal for its different spellings.

    >>> folded("Front-End"), folded("front_end")
    ('front end', 'front end')
    """
    return " ".join(re.sub(r"[-_\s]+", " ", name.casefold()).split())


def ancestors(path: str) -> tuple[str, ...]:
    """List a scope and all scopes that contain it, widest first.

    >>> ancestors("project/alpha")
    ('', 'project', 'project/alpha')
    """
    if not path:
        return ("",)
    segments = path.split("/")
    return ("", *("/".join(segments[: n + 1]) for n in range(len(segments))))


def _shown(value: object) -> str:
    """Format a value for a message: its ``repr`` if that cannot fail, else the name of its type."""
    plain = value is None or type(value) in {str, int, float, bool}
    return f"{value!r:.60}" if plain else f"this {type(value).__name__}"


def _check(field: str, value: str, most: int = MAX_LABEL) -> None:
    if len(value) > most:
        raise InvalidScope(field, f"is longer than {most} characters")
    if not value.isprintable():
        raise InvalidScope(field, f"{value!r:.60} contains unprintable characters")
