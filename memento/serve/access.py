"""Who calls, and what they may do: rights, namespaces and trust. Pure except `caller_of`.

A caller sees the namespace of its token and those below it. What it writes is trusted no more than
its token, whatever the arguments say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from memento.base.scopes import DEFAULT_NAMESPACE, parse_namespace
from memento.check import member
from memento.conversation.turns import Turn, turns_of
from memento.errors import InvalidInput, NotAllowed, UntrustedSource
from memento.manager import MemoryManager
from memento.remote.routes import TRUSTED, WHOLE, Acts, Rights, Route
from memento.resident import tokens
from memento.sleep.run import FOLD
from memento.sleep.tick_values import StepDone, Tick
from memento.types import Draft, Source, Trust
from memento.upkeep.lineage import Stats, per_namespace
from memento.views import view_of

HEADER = "memento-namespace"
"""The header that names a namespace: labels joined with "/", each percent-encoded."""


_SCHEMES = ("bearer", "token")
"""How a token is sent: ours, and mem0's."""


class Caller(NamedTuple):
    """Who calls.

    Attributes:
        name: Name of the token.
        labels: Namespace that it sees, with those below it; ``()`` for the whole store.
        rights: What it may do.
        trust: Maximum trust of what it writes.
    """

    name: str
    labels: tuple[str, ...]
    rights: Rights
    trust: Trust

    @property
    def is_owner(self) -> bool:
        """Whether it may see the whole store, and details of the machine in errors."""
        return not self.labels and self.rights is Rights.ADMIN


OWNER = Caller("owner", (), Rights.ADMIN, Trust.USER)
"""The caller at the service's Unix socket, which only the user of the store can open."""


def caller_of(root: Path, authorization: str) -> Caller:
    """Return the caller to whom the token of a request belongs.

    Raises:
        NotAllowed: If the token is unknown or expired, or is bound to a scope and so for agents.
        StoreUnusable: If the tokens cannot be read.
    """
    scheme, _, given = authorization.partition(" ")
    found = tokens.holder(root, given.strip()) if scheme.lower() in _SCHEMES else None
    if found is None:
        raise NotAllowed("a valid token is required: `Authorization: Bearer TOKEN`", known=False)
    if found.scope:
        raise NotAllowed(
            f"the token is limited to the scope {found.scope}, so it is valid only for agents"
        )
    labels = tuple(found.namespace.split("/")) if found.namespace else ()
    return Caller(found.name, labels, Rights(found.rights), Trust(found.trust))


def namespace_of(caller: Caller, header: str | None) -> tuple[str, ...]:
    """Return the namespace of a call.

    Raises:
        InvalidScope: If the header is not a valid namespace.
        NotAllowed: If the caller does not see it.
    """
    if header is None:
        return caller.labels or parse_namespace(DEFAULT_NAMESPACE)
    labels = parse_namespace([unquote(label) for label in header.split("/")])
    _see(caller, labels)
    return labels


def _see(caller: Caller, labels: tuple[str, ...]) -> None:
    if labels[: len(caller.labels)] != caller.labels:
        raise NotAllowed("the token does not grant access to this namespace")


def counted(memory: MemoryManager, below: tuple[str, ...]) -> dict[tuple[str, ...], int]:
    """Count the active memories of a namespace and of each below it, by their labels."""
    engine = view_of(memory).engine
    return per_namespace(engine.ledger, engine.now(), below)


def allow(caller: Caller, route: Route) -> None:
    """Check whether a caller may call a method at all, before the body is read.

    Raises:
        NotAllowed: If its rights are too low, or the method concerns the whole store.
        UntrustedSource: If its trust is too low for the method.
    """
    if not caller.rights.includes(route.rights):
        raise NotAllowed(f"{route.name} requires the {route.rights} right")
    if route.name in WHOLE and caller.labels:
        raise NotAllowed(
            f"{route.name} applies to the whole store, but this token is limited to one namespace"
        )
    least = {Acts.USER: Trust.USER, Acts.AGENT: Trust.AGENT}.get(route.acts)
    if least is not None and Trust.outranks(least, caller.trust):
        raise UntrustedSource(
            "source", f"{route.name} requires a token with the trust class {least}"
        )


def limited(caller: Caller, route: Route, bound: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call, with trust lowered to that of the caller.

    Raises:
        NotAllowed: If an argument reaches beyond the caller's namespaces.
        UntrustedSource: If the caller may not speak for the assistant.
        InvalidInput: If a source, message or item is invalid.
    """
    said = dict(bound)
    if caller.rights is Rights.READ and "record" in route.arguments:
        said["record"] = False  # a use that is recorded changes what is found later
    if said.get("all_namespaces") and caller.labels:
        raise NotAllowed("the token does not grant access to all namespaces")
    if "with_namespace" in said:
        _see(caller, parse_namespace(said["with_namespace"]))
    if caller.trust is Trust.USER or route.acts is not Acts.SOURCE:
        return said
    for name in TRUSTED:
        if name in route.arguments:
            default = route.arguments[name].default
            said[name] = _capped(said.get(name, default), caller.trust)
    if said.get("assistant") is not None and Trust.outranks(Trust.AGENT, caller.trust):
        raise UntrustedSource("assistant", "requires a token with the trust class agent")
    if "items" in said:
        said["items"] = [*_capped_items(said["items"], caller.trust)]
    if said.get("messages") is not None:
        said["messages"] = [*_capped_turns(said["messages"], caller.trust)]
    return said


def visible(caller: Caller, result: Any) -> Any:
    """Return a result without numbers that count the work of all namespaces together."""
    if caller.labels and isinstance(result, Stats):
        return replace(result, ledger_bytes=0)
    if caller.labels and isinstance(result, Tick) and FOLD in result.steps:
        return replace(result, steps={**result.steps, FOLD: StepDone(0, 0)})
    return result


def _capped(source: Any, most: Trust) -> Any:
    """Return a source with at most this trust; None stands for the user."""
    if source is None:
        return most
    if isinstance(source, Source):
        return replace(source, kind=Trust.least([most, source.kind]))
    return Trust.least([most, member(Trust, "source", source)])


def _capped_turns(messages: Any, most: Trust) -> Iterator[Turn]:
    for turn in turns_of(messages):
        least = (
            most if turn.trust is None else Trust.least([most, member(Trust, "trust", turn.trust)])
        )
        yield replace(turn, trust=least)


def _capped_items(items: Any, most: Trust) -> Iterator[Draft]:
    for number, item in enumerate(items if isinstance(items, list) else [items]):
        if isinstance(item, Draft):
            yield replace(item, source=_capped(item.source, most))
        elif isinstance(item, str):
            yield Draft(item, source=most)
        else:  # not the arguments of `add`
            raise InvalidInput(f"items[{number}]", "must be a string or the arguments of add")
