"""The stored form of addresses: one Unicode form, limited length, no secrets. Pure.

A key or label that contains a secret is part of an item's address. It cannot be stored as it is,
nor be replaced by a mere marker, which would be the same for all secrets. So it becomes the marker
and a digest of the whole. Both the original and this stand-in find the item.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar
from unicodedata import normalize

from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp

from memento.admit import Redaction, Secrets
from memento.base.scopes import short_form

AnyOp = TypeVar("AnyOp", GetOp, SearchOp, ListNamespacesOp, PutOp)


def address(text: str, policy: Secrets) -> str:
    """Return a key or label as it is stored: unchanged, unless it contains a secret.

    Raises:
        SecretFound: If it contains a secret and ``Config.secrets`` is ``"reject"``.

    >>> address("food", Secrets.REDACT)
    'food'
    >>> kept = address("db password=xK9-vTq2!w", Secrets.REDACT)
    >>> kept
    'db password=[redacted:password]~b9cda31e9de5d017f33e8561914dc376'
    >>> address(kept, Secrets.REDACT) == kept
    True
    """
    if isinstance(text, str):  # anything else is refused where it is used
        text = normalize("NFC", text)
    kept = _kept([text], policy)
    if kept is None or kept[0] == text:
        return text
    digest = blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()
    return f"{kept[0]}~{digest}"


def addressed(op: AnyOp, policy: Secrets) -> AnyOp:
    """Return an operation with its addresses as they are stored.

    Raises:
        SecretFound: If one contains a secret and ``Config.secrets`` is ``"reject"``.
    """
    if isinstance(op, SearchOp):
        return op._replace(namespace_prefix=_labels(op.namespace_prefix, policy))
    if isinstance(op, ListNamespacesOp):
        conditions = op.match_conditions
        return op._replace(
            match_conditions=conditions and tuple(_condition(one, policy) for one in conditions)
        )
    return op._replace(namespace=_labels(op.namespace, policy), key=address(op.key, policy))


def _kept(texts: Sequence[str], policy: Secrets) -> list[str] | None:
    """Return keys as metadata stores them; None if that is the same, or a key is invalid."""
    if not all(isinstance(text, str) for text in texts):
        return None  # refused where it is used
    spelt = json.dumps([{"key": text} for text in texts], ensure_ascii=False)
    kept = Redaction(policy).json("key", spelt)
    return None if kept == spelt else [one["key"] for one in json.loads(kept)]


def _labels(labels: tuple[str, ...], policy: Secrets) -> tuple[str, ...]:
    kept = (address(label, policy) for label in labels)
    return tuple(short_form(one) if isinstance(one, str) else one for one in kept)


def _condition(condition: MatchCondition, policy: Secrets) -> MatchCondition:
    return MatchCondition(condition.match_type, _labels(tuple(condition.path), policy))
