"""What each tool, resource and prompt does in the store of one user.

A mistake of the model (an unknown id, an extra argument) is answered by a refusal that says what to
do. So is an unusable store, since an agent goes on without its memory. What the agent says is
stored with the agent's trust, never as a rule. No argument can name another namespace.

Names of memento are written out where they are used, as ``memento.Kind``, so that they are imported
only after the server has answered its client.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import replace
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, NamedTuple

import memento
from memento.base.home import VARIABLE, root_option
from memento.base.scopes import contains, parse_scope
from memento.errors import InvalidInput, MementoError, NotFound, StoreError, UntrustedSource
from memento_mcp import _table
from memento_mcp._arguments import faults, plain

if TYPE_CHECKING:
    from memento import Hit, Memory, MemoryManager, Source, Trust
    from memento.types import TrustName

TOKENS = 4_000
"""Default for the maximum number of tokens in an answer."""
MOST_TOKENS = 10_000
TIDIED = 40
"""Memories that the prompt ``reflect`` shows."""
RECENT = 20
"""Memories that the resource ``recent`` shows."""
PATIENCE = 15.0
"""Seconds that a call may take, the opening of the store and the wait for others included."""
ALIKE = 0.8
"""Cosine from which a statement counts as similar to one in another slot."""
MOST_VALUES = 100
"""Maximum number of values of a completion; the protocol has no more."""
NOTHING = "Nothing is remembered about this."
BUSY = (
    "The memory is busy: another program is writing to it, or it is being opened. Try again in a"
    " moment; this call may have completed by then."
)
_FRAME = 2
"""Line ends of a block that are not those of its records."""
_SECRET = re.compile(r"\[redacted:([\w-]+)\]")

log = logging.getLogger("memento_mcp")


class Answer(NamedTuple):
    """The reply of a tool to the model.

    Attributes:
        text: The text.
        refused: Whether the tool refused the call.
    """

    text: str
    refused: bool = False


class Doors:
    """The tools of the server, for one namespace of a store. Thread-safe.

    Args:
        memory: The manager to use, or a function that opens it. The function is called once, on
            first use, and ``close`` closes the manager that it opened.
        scope: Scope in which the agent works: it stores memories in that scope and sees memories
            that apply there. ``""`` is everywhere.
        client: Name of the calling program; it becomes part of the source of the memories that it
            stores.
        session: Session of the memories that are stored, if the agent has one.
        read_only: Whether to offer only tools that read; the use of memories is not recorded then.
        more: Whether to also offer ``history`` and ``rate``.
        tokens: Maximum number of tokens in one answer, 100 to 10,000.
        trust: Trust class of the memories that are stored: ``agent`` or lower, but never ``user``,
            because a model writes them.
        bound: Whether the agent is confined to its scope: it can then see only memories that apply
            there, change only memories that belong there, and store nothing for all projects.

    Raises:
        InvalidInput: If an argument cannot be accepted.
    """

    def __init__(
        self,
        memory: MemoryManager | Callable[[], MemoryManager],
        *,
        scope: str = "",
        client: str = "",
        session: str | None = None,
        read_only: bool = False,
        more: bool = False,
        tokens: int = TOKENS,
        trust: Trust | TrustName = "agent",
        bound: bool = False,
    ) -> None:
        if not callable(memory):
            from memento.frameworks import check_manager  # noqa: PLC0415 - agents wait for a start

            check_manager(memory)
        self.client = client
        self.scope = parse_scope(scope)
        self._bound = self.scope if bound else ""
        self._session = session
        self._records = not read_only
        if tokens != TOKENS:
            memento.check.check_count("tokens", tokens, least=100, most=MOST_TOKENS)
        self._tokens = tokens
        self._trust = trust
        if trust != "agent":
            memento.check.check_word("trust", trust, set(memento.Trust) - {memento.Trust.USER})
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._named: tuple[str, str] | None = None
        self._open = memory if callable(memory) else None
        self._memory = None if callable(memory) else memory
        offered = _table.TOOLS + (_table.MORE_TOOLS if more else ())
        self.tools = [
            tool for tool in offered if not read_only or tool["annotations"]["readOnlyHint"]
        ]
        """The tools that are offered, as the protocol lists them."""

    @property
    def memory(self) -> MemoryManager:
        """The manager, which is opened at first use."""
        with self._lock:  # the warm-up thread and the first call may coincide
            if self._memory is None:
                if self._open is None:
                    raise InvalidInput("memory", "is closed")
                self._memory = self._open()
            return self._memory

    @property
    def waits(self) -> str:
        """What a call that takes long waits for."""
        opening = self._memory is None
        return "opening the memory" if opening else "waiting for the memory: others may write to it"

    def warm(self) -> None:
        """Open the store and load the model, so that the first call does not have to wait."""
        try:
            self.memory.retrieve("anything", 1, wait=0, record=False)
        except MementoError as error:  # the first call reports it to the model
            log.warning("the store cannot be used: %s", error)

    def close(self) -> None:
        """Close the store if this object opened it."""
        with self._lock:
            if self._open is not None and self._memory is not None:
                self._memory.close()
                self._memory = self._open = None

    def call(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Call a tool.

        Args:
            name: Name of an available tool.
            arguments: Its arguments.

        Raises:
            LookupError: If there is no such tool.
        """
        tool = next((tool for tool in self.tools if tool["name"] == name), None)
        if tool is None:
            raise LookupError(f"unknown tool {memento.check.shown(name)}")
        given = plain(tool["inputSchema"], arguments)
        if wrong := faults(tool["inputSchema"], given):
            return Answer("; ".join(wrong), refused=True)
        return self._said(lambda: str(getattr(self, f"_{name}")(**given)))

    def read(self, uri: str) -> Answer:
        """Read a resource.

        Args:
            uri: ``memento://recent``, ``memento://policy``, or ``memento://memory/`` or
                ``memento://session/`` and an id.

        Raises:
            LookupError: If there is no such resource, memory or session.
        """
        kind, _, name = uri.removeprefix(_table.SCHEME).partition("/")
        reads: dict[str, Callable[[], str]] = {
            _table.RECENT: lambda: self._newest(RECENT),
            _table.POLICY: lambda: self.memory.rules.policy(scope=self.scope).text,
            _table.MEMORY + name: lambda: self._whole(name),
            _table.SESSION + name: lambda: self._session_told(name),
        }
        if uri not in reads or (not name and kind not in {"recent", "policy"}):
            raise LookupError(f"no resource {memento.check.shown(uri)}")
        try:
            return self._said(reads[uri], InvalidInput, NotFound)
        except (InvalidInput, NotFound) as error:
            raise LookupError(str(error)) from error

    def complete(self, name: str, begun: str) -> list[str]:
        """Complete an argument: existing keys for a topic, or names of sessions.

        Args:
            name: ``topic`` of the prompt ``recall``, or ``id`` of the resource of a session.
            begun: The text typed so far.

        Returns:
            Values that start with this text, followed by those that contain it elsewhere; none if
            the store cannot be used.
        """

        def found() -> str:
            if name == "topic":
                known = [*self.memory.store.counts("key", scope=self.scope or None)]
            else:
                known = [one.id for one in self.memory.sessions.list(scope=self.scope or None)]
            like = [one for one in known if one and begun.lower() in one.lower()]
            return "\n".join(
                sorted(like, key=lambda one: not one.lower().startswith(begun.lower()))
            )

        said = self._said(found)
        return [] if said.refused else said.text.splitlines()

    def prompt(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Compose a prompt.

        Args:
            name: ``recall`` or ``reflect``.
            arguments: For ``recall``, the ``topic``.

        Raises:
            LookupError: If there is no such prompt, or the topic is missing.
        """
        if name == "reflect":
            return self._said(lambda: f"{_table.REFLECT}\n\n{self._newest(TIDIED)}")
        if name != "recall":
            raise LookupError(f"no prompt {memento.check.shown(name)}")
        topic = arguments.get("topic")
        if not isinstance(topic, str) or not topic.strip():
            raise LookupError("topic is missing")
        return self._said(lambda: self._recall(topic))

    def _said(self, verb: Callable[[], str], *others: type[Exception]) -> Answer:
        """Run a verb; errors become refusals, except ``others``.

        Args:
            verb: Returns what to say.
            others: Errors that the caller handles.
        """
        try:
            return self._in_time(verb)
        except others:
            raise
        except StoreError as error:
            log.warning("the store cannot be used", exc_info=True)
            return Answer(f"The memory cannot be used: {error}", refused=True)
        except MementoError as error:
            return Answer(str(error), refused=True)

    def _in_time(self, verb: Callable[[], str]) -> Answer:
        """Run a verb after earlier ones have ended; after a time-out it goes on in its thread."""
        if not self._turn.acquire(timeout=PATIENCE):
            return Answer(BUSY, refused=True)
        done: Future[str] = Future()

        def carry_out() -> None:
            try:
                done.set_result(verb())
            except BaseException as error:  # noqa: BLE001 - raised below, where the caller waits
                done.set_exception(error)
            finally:
                self._turn.release()

        threading.Thread(target=carry_out, name="memento-mcp-call", daemon=True).start()
        waited = wait([done], PATIENCE)
        return Answer(done.result()) if waited.done else Answer(BUSY, refused=True)

    @property
    def _zone(self) -> tzinfo:
        return self.memory.store.config.zone

    def _recall(
        self,
        query: str = "",
        k: int = _table.USUAL,
        kind: str | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> str:
        now = self.memory.store.clock().astimezone(self._zone)
        chosen: dict[str, Any] = {
            "kind": kind,
            "since": memento.check.said_moment("since", since, now),
            "until": memento.check.said_moment("until", until, now),
            "scope": self.scope or None,
        }
        if not query.strip():
            return self._shown(self.memory.list(newest_first=True, limit=k, **chosen)) or NOTHING
        found = self.memory.retrieve(query, k, record=self._records, **chosen)
        block = self._shown(found, query) or NOTHING
        if found.missing:
            return f"{block}\nCould not look everywhere: {', '.join(sorted(found.missing))}."
        return block

    def _remember(
        self, text: str, kind: str = "fact", key: str | None = None, *, everywhere: bool = False
    ) -> str:
        if everywhere and self._bound:
            raise InvalidInput(
                "everywhere", f"is not available: you can work only in {self._bound}"
            )
        scope = "" if everywhere else self.scope
        before = None if key is None else self.memory.value(key, scope=scope)
        if key is not None and before is None and (like := self._alike(text, key, scope)):
            return like
        kept = self.memory.add(
            text,
            kind=memento.Kind(kind),
            key=key,
            scope=scope,
            session=self._session,
            source=self._source,
        )
        return self._kept(kept, before, text)

    def _alike(self, text: str, key: str, scope: str) -> str:
        """Return a refusal if another slot has a similar memory; ``""`` if none, or if repeated."""
        if self._named == (text, key):
            return ""
        for hit in self.memory.retrieve(text, 5, record=False, scope=scope or None):
            other = hit.memory.key
            same = other is not None and other.rpartition("/")[2] == key.rpartition("/")[2]
            if other not in {None, key} and (same or hit.signs.get("cosine", 0.0) >= ALIKE):
                self._named = (text, key)
                return (
                    f"Not kept yet: {hit.id} in the slot {memento.check.shown(other)} is similar."
                    " Use that key if it is about the same, or correct it; to keep both, say this"
                    " again."
                )
        return ""

    def _whole(self, name: str) -> str:
        found, nonce = self._seen(name), memento.prompt.new_nonce()
        return memento.prompt.render([found], nonce=nonce, ids=True, zone=self._zone)

    def _seen(self, name: str) -> Memory:
        """Return a memory; ``NotFound`` if it does not apply in the scope that binds the agent."""
        found = self.memory.get(name)
        if self._bound and not contains(found.scope, self._bound):
            raise NotFound(name)
        return found

    def _own(self, name: str) -> Memory:
        """Return a memory to change; ``NotFound`` outside the scope that binds the agent."""
        found = self.memory.get(name)
        if not contains(self._bound, found.scope):
            raise NotFound(name)
        return found

    def _session_told(self, name: str) -> str:
        found = self.memory.sessions.resume(name)
        known = self.memory.sessions.list(scope=self._bound, limit=10_000) if self._bound else ()
        if self._bound and name not in {one.id for one in known}:
            found = None
        if found is None:
            raise InvalidInput("session", f"{name!r:.60} is not a known session")
        return found.text

    def _kept(self, kept: Memory, before: Memory | None, text: str) -> str:
        """Return what happened to a text, for the model."""
        note = _left_out(kept, text)
        if kept.status is memento.Status.QUARANTINED:
            return f"{kept.id} waits for the user: {self._command('quarantine', 'list')}.{note}"
        if before is not None and memento.Trust.outranks(before.source.kind, kept.source.kind):
            stays = f"Remembered as {kept.id}, in conflict with {before.id}, which the user said"
            settle = f"until the user settles it: {self._command('conflicts')}"
            return f"{stays} and which holds {settle}.{note}"
        if kept.reinforced:
            return f"Known already as {kept.id}.{note}"
        if before is not None and before.id != kept.id:
            return f"Remembered as {kept.id}; it replaces {before.id}.{note}"
        return f"Remembered as {kept.id}.{note}"

    @property
    def _source(self) -> Source:
        return memento.Source(
            memento.Trust(self._trust), f"mcp:{self.client}" if self.client else "mcp"
        )

    def _correct(self, id: str, text: str) -> str:  # noqa: A002 - the argument's name in the table
        self._own(id)
        try:
            kept = self.memory.update(id, text=text, source=self._trust)
        except UntrustedSource:
            before = self.memory.get(id)
            kept = self.memory.add(
                text,
                kind=memento.Kind.FACT if before.kind is memento.Kind.RULE else before.kind,
                scope=before.scope,
                session=self._session,
                source=self._source,
                supersedes=id,
            )
            return self._kept(kept, before, text)
        return f"Corrected {kept.id}; its history is kept.{_left_out(kept, text)}"

    def _forget(self, id: str) -> str:  # noqa: A002 - as above
        self._own(id)
        try:
            gone = self.memory.forget(id, source=self._trust).id
        except UntrustedSource as error:
            raise InvalidInput(
                "id",
                f"only the user can forget {id!r}, by running: {self._command('forget', id)}",
            ) from error
        return f"Forgotten {gone}; {self._command('restore', gone)} brings it back."

    def _command(self, *words: str) -> str:
        """Return the command with which the user can act on this store in their own shell."""
        theirs = {name: value for name, value in os.environ.items() if name != VARIABLE}
        return f"`memento {' '.join(words)}{root_option(self.memory.store.root, theirs)}`"

    def _history(self, id: str) -> str:  # noqa: A002 - as above
        present = self._seen(id)
        told = [
            replace(present, text=state.text, occurred_at=state.valid_from or present.occurred_at)
            for state in self.memory.changes.history(id)
        ]
        return self._shown(told)

    def _rate(self, id: str, verdict: str) -> str:  # noqa: A002 - as above
        self._own(id)
        self.memory.feedback.rate(id, verdict=verdict, source=self._trust)
        return f"Rated {id}."

    def _newest(self, most: int) -> str:
        chosen: dict[str, Any] = {"scope": self.scope or None}
        found = self.memory.list(newest_first=True, limit=most, **chosen)
        return self._shown(found) or "Nothing is remembered yet."

    def _shown(self, found: Sequence[Hit | Memory], query: str = "") -> str:
        """Render memories as a block of data, with the number of those that did not fit."""
        config = self.memory.store.config
        cut = memento.prompt.Relevant(query, config.retrieve.long)
        nonce, zone = memento.prompt.new_nonce(), config.zone
        block = memento.prompt.render(
            found, nonce=nonce, tokens=self._tokens, ids=True, cut=cut, zone=zone, query=query
        )
        left = len(found) - max(0, block.count("\n") - _FRAME)
        return f"{block}\n{left} more did not fit; ask for fewer." if left else block


def _left_out(kept: Memory, text: str) -> str:
    """Return a note on the secrets that were removed from a text; ``""`` if there are none."""
    gone = sorted(set(_SECRET.findall(kept.text)) - set(_SECRET.findall(text)))
    return f" A secret was left out ({', '.join(gone)})." if gone else ""
