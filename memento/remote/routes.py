"""What can be called over HTTP: one table, made from the public methods of the manager.

Each method is called by ``POST /v1/NAME`` or ``POST /v1/PART/NAME`` with its arguments as a JSON
object. Only who may call it is written down here. A method that `_MAY` does not name is not served,
and a test fails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cached_property
from importlib import import_module
from inspect import Parameter, signature
from typing import Any, NamedTuple, get_args

from memento.errors import InvalidInput
from memento.ledger.filters import check_names
from memento.manager import MemoryManager
from memento.remote.values import Convert, hints_of, reader
from memento.views import Part


class Rights(StrEnum):
    """What a token allows; each value includes those before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def includes(self, other: Rights) -> bool:
        """Return whether these rights include the others."""
        return self is other or self is Rights.ADMIN or other is Rights.READ


class Acts(StrEnum):
    """As whom a method acts, which decides how far the token must be trusted."""

    NOBODY = "nobody"
    """Changes no memory: any trust is enough."""
    SOURCE = "source"
    """As its argument says, limited to the trust of the token."""
    AGENT = "agent"
    """As the agent, whose progress it stores."""
    USER = "user"
    """As the user; the token must have trust ``user``."""


_MAY = {
    (Rights.READ, Acts.NOBODY): """
        retrieve recall prompt get list value
        changes.head changes.evolution changes.diff changes.list changes.history
        feedback.belief feedback.strength
        insight.timeline insight.lineage insight.dossier insight.health
        insight.wonder insight.reason insight.related
        quarantine.list rules.policy rules.foresee rules.doubtful
        scopes.list scopes.infer scopes.promotable
        sessions.list sessions.resume sessions.info sessions.recent
        sleep.stale sleep.anomalies slots.history slots.conflicts
        store.stats store.counts store.full_id store.embed store.nearest store.usage
    """,
    (Rights.WRITE, Acts.NOBODY): """
        flush feedback.open_loop feedback.show
    """,
    (Rights.WRITE, Acts.SOURCE): """
        add add_many observe keep update correct forget documents.add
        feedback.rate feedback.cite feedback.finalize
    """,
    (Rights.WRITE, Acts.AGENT): """
        sessions.start sessions.checkpoint sessions.interrupt sessions.end
    """,
    (Rights.WRITE, Acts.USER): """
        forget_many restore undo feedback.retract
        quarantine.approve quarantine.approve_all quarantine.reject
        quarantine.forget_source quarantine.restore_source
        rules.confirm rules.direct
        scopes.define scopes.merge scopes.unmerge scopes.share scopes.unshare scopes.promote
        sleep.archive sleep.unarchive slots.revert slots.resolve store.touch
    """,
    (Rights.ADMIN, Acts.USER): """
        sleep.run store.backup store.export store.import_from store.doctor store.reindex
        store.erase store.sweep store.namespaces
    """,
}
"""The methods by the rights that they need, and by whom they act as."""
WHOLE = frozenset({"store.backup", "store.doctor", "store.namespaces", "store.reindex"})
"""Methods about all namespaces; only for callers that may see the whole store."""
HERE = {
    "close": "it only closes the client's connection",
    "of": "it only selects another namespace",
    "documents.ingest": "it reads local files; pass their drafts to `add_many` instead",
    "insight.snapshot": "use `known_at` with other methods instead",
    "feedback.loop": "use `feedback.open_loop` instead",
    "store.move": "it opens another store on the service's machine; run it there",
    "store.sync_vault": "it syncs a folder on the store's own machine; run it there",
}
"""Methods that are not served, and why."""
UNSENT = frozenset({"progress", "count_tokens"})
"""Arguments that are functions, which cannot be sent."""
SENDS = {"store.import_from": "source"}
"""Methods that take a file, and the argument for it: the file is the body of the request."""
ANSWERS = {"store.backup": "file", "store.export": "target"}
"""Methods that write a file, and the argument for it: the file is the body of the answer."""
HANDLES = frozenset({"sessions.start", "feedback.open_loop"})
"""Methods that return an object with methods of its own."""
TRUSTED = ("source", "speaker", "trust")
"""Arguments that name a trust class."""


class Argument(NamedTuple):
    """An argument of a method, as it is sent.

    Attributes:
        hint: Its type.
        default: Its default; ``Parameter.empty`` if it is required.
    """

    hint: Any
    default: Any

    def read(self, value: Any) -> Any:
        """Convert JSON to the type; if it does not fit, return it for the method to refuse."""
        try:
            return reader(self.hint, exact=True)(value)
        except (TypeError, ValueError, KeyError, OverflowError):
            return value


class Route:
    """A method that is served.

    Attributes:
        name: Its name, with that of its part: ``sessions.start``.
        rights: The rights that a caller needs.
        acts: As whom it acts.
        method: The function of the manager or of its part.
    """

    def __init__(self, name: str, rights: Rights, acts: Acts, method: Callable[..., Any]) -> None:
        self.name, self.rights, self.acts, self.method = name, rights, acts, method

    @property
    def path(self) -> str:
        """Its URL path."""
        return f"/v1/{self.name.replace('.', '/')}"

    @cached_property
    def arguments(self) -> Mapping[str, Argument]:
        """Its arguments by name, including each single filter."""
        hints = hints_of(self.method)
        found: dict[str, Argument] = {}
        for name, one in list(signature(self.method).parameters.items())[1:]:
            if one.kind is Parameter.VAR_KEYWORD:
                (parts,) = get_args(hints[name])
                found |= {key: Argument(hint, None) for key, hint in hints_of(parts).items()}
            elif name not in UNSENT:
                found[name] = Argument(hints[name], one.default)
        return found

    def check_names(self, name: str, given: Mapping[str, object]) -> None:
        """Refuse an unknown filter, as the method does."""
        check_names(given, get_args(hints_of(self.method)[name])[0], self.method)

    @cached_property
    def read_result(self) -> Convert:
        """Converts JSON to its result; for a method of `HANDLES`, the client does that."""
        if self.name in HANDLES:
            return lambda said: said
        return reader(hints_of(self.method)["return"])

    def bind(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Convert the JSON arguments of a call.

        Raises:
            InvalidInput: If one is unknown or missing.
        """
        for name in given:
            if name not in self.arguments:
                raise InvalidInput(name, f"is not an argument of {self.name}")
        for name, one in self.arguments.items():
            if one.default is Parameter.empty and name not in given:
                raise InvalidInput(name, "is missing")
        return {name: self.arguments[name].read(value) for name, value in given.items()}

    def call(self, memory: MemoryManager, bound: Mapping[str, Any]) -> Any:
        """Call it on a manager."""
        part, _, verb = self.name.rpartition(".")
        return getattr(getattr(memory, part) if part else memory, verb)(**bound)


def parts() -> dict[str, type[Part]]:
    """Return the parts of the manager by name; the manager itself is ``""``."""
    found: dict[str, type[Part]] = {"": MemoryManager}
    for name, one in vars(MemoryManager).items():
        if isinstance(one, property):
            kind = one.fget.__annotations__["return"]
            found[name] = getattr(import_module(f"memento.verbs.{name}"), kind)
    return found


def _served() -> dict[str, Route]:
    known = parts()
    found = {}
    for (rights, acts), names in _MAY.items():
        for name in names.split():
            part, _, verb = name.rpartition(".")
            found[name] = Route(name, rights, acts, vars(known[part])[verb])
    return found


ROUTES = _served()
"""Everything that is served, by name."""
