"""Answer the hooks of coding agents: one event in, one text out.

What the user types is observed; nothing else is taken for the user's words. The answer is the
relevant memories that this session has not shown yet. No language model is asked.

Nothing is stored or shown for a folder with a file ``.memento-ignore`` in it or above it. Text
between ``<private>`` and ``</private>`` is neither stored nor searched for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from memento.agents.table import AGENTS, Moment
from memento.base.clock import system_clock
from memento.base.files import write_atomically
from memento.base.home import state_folder
from memento.errors import InvalidInput, MementoError
from memento.ingest.readers.common import spoken
from memento.ledger.filters import MAX_CHOICES
from memento.prompt import rendering
from memento.text.gist import gist
from memento.text.sentences import SENTENCE, merely_asks
from memento.text.words import terms
from memento.types import Hit, Kind, Memory

if TYPE_CHECKING:
    from memento import MemoryManager
    from memento.prompt.policy_values import Shown
    from memento.resident.server import Resident

IGNORE = ".memento-ignore"
"""A file of this name keeps memento out of its folder and those below."""
TOKENS = 250
"""Maximum number of tokens in what is shown beside a message; see ``benchmarks/hooks.py``."""
POLICY_TOKENS, TAIL_TOKENS = 450, 150
"""Maximum number of tokens in what is shown at the start of a session."""
MOST = 6
"""Maximum number of memories shown beside a message."""
NEAR = 0.6
"""Minimum share of the best memory's score; a lower one is about something else. See
``benchmarks/hooks.py --sweep``."""
FEWEST_WORDS = 3
"""Fewest terms of a message to search for; a shorter one has no topic, or answers the agent."""
BEFORE = 2
"""Number of earlier messages of the user that are searched for together with the last one."""
LINE = 300
"""Maximum number of characters in what a checkpoint quotes."""
_PRIVATE = re.compile(r"<private>.*?(?:</private>|\Z)", re.DOTALL | re.IGNORECASE)
_COMMAND = re.compile(r"/[\w:-]+(?:\s|\Z)|!")
_MACHINES = ("system", "loop", "schedule")
_KINDS = [kind for kind in Kind if kind is not Kind.QUESTION]
_OLD = 30 * 86_400
_in_turn = Lock()
"""Agents do not wait for ``keep``; the lock runs one call at a time, so turns do not overlap."""


def answer(memory: MemoryManager, agent: str, event: str, given: Mapping[str, Any]) -> str:
    """Handle an event of an agent: ``show``, then ``keep``.

    Args:
        memory: The memories of the user.
        agent: Name of the agent.
        event: The agent's name for the event.
        given: The agent's JSON about the event.

    Returns:
        Text for the agent's model, in the agent's output format; ``""`` for nothing.
    """
    text = show(memory, agent, event, given)
    keep(memory, agent, event, given)
    return text


def show(memory: MemoryManager, agent: str, event: str, given: Mapping[str, Any]) -> str:
    """Return the text for the agent's model, and store nothing of the event; see ``answer``."""
    told = _Told(memory, _moment(agent, event), given)
    text = "" if told.ignored else told.shown()
    return AGENTS[agent].said(event, text) if text else ""


def keep(memory: MemoryManager, agent: str, event: str, given: Mapping[str, Any]) -> None:
    """Store what an event says; see ``answer``."""
    told = _Told(memory, _moment(agent, event), given)
    if not told.ignored:
        with _in_turn:
            told.kept()


def _moment(agent: str, event: str) -> Moment:
    """Return the ``Moment`` that an agent's event corresponds to."""
    if agent not in AGENTS:
        raise InvalidInput("agent", f"unknown agent: {agent!r:.60}")
    if event not in AGENTS[agent].moments:
        raise InvalidInput("event", f"unknown event for {agent}: {event!r:.60}")
    return AGENTS[agent].moments[event]


def answered(resident: Resident, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Answer the call ``hook`` of a client of the resident process.

    An agent waits for the text, not for storing: if the answer has ``more``, the client calls again
    with ``kept`` and need not wait. At the start of a session, a thread loads what the first
    message will need.
    """
    memory = resident.memory(dict(asked))
    event = asked["agent"], asked["event"], asked["given"]
    if asked.get("kept"):
        keep(memory, *event)
        return {"text": ""}
    moment = _moment(asked["agent"], asked["event"])
    if moment == "prompt":
        return {"text": show(memory, *event), "more": True}
    text = answer(memory, *event)
    if moment == "start":
        Thread(target=_warm, args=(memory,), daemon=True).start()
    return {"text": text}


def _warm(memory: MemoryManager) -> None:
    """Load the parts that search and learn; nothing is stored."""
    with suppress(MementoError):  # the first message reports it
        memory.recall("What did we decide?", wait=0, record=False)
        memory.rules.foresee("I live in Porto.")


class _Told:
    """One event of an agent, with the folder and session it belongs to."""

    def __init__(self, memory: MemoryManager, moment: Moment, given: Mapping[str, Any]) -> None:
        self._memory, self._moment, self._given = memory, moment, given
        roots = given.get("workspace_roots") or [""]
        self._folder = Path(given.get("cwd") or roots[0] or Path.cwd())
        self._session = str(given.get("session_id") or given.get("conversation_id") or "") or None

    @property
    def ignored(self) -> bool:
        """Whether a ``.memento-ignore`` applies to the folder."""
        both = (self._folder, self._folder.resolve())  # where a link is, and where it leads
        return any((one / IGNORE).exists() for at in both for one in (at, *at.parents))

    def shown(self) -> str:
        """Return the text for the model."""
        if self._moment == "start":
            return self._begun()
        return self._asked() if self._moment == "prompt" else ""

    def kept(self) -> None:
        """Store what was said."""
        if self._moment == "prompt":
            self._observed()
        elif self._moment != "start":
            self._answered()
        if self._moment in ("compact", "end") and self._session is not None:
            self._noted(self._session)

    @property
    def _scope(self) -> str:
        from memento.agents.project import project_scope  # noqa: PLC0415 - a hook seldom needs it

        return project_scope(self._folder)

    def _begun(self) -> str:
        """Return the policy; ``""`` for a resumed conversation, which has it already."""
        if self._given.get("source") == "resume":
            return ""
        policy = self._memory.rules.policy(
            scope=self._scope, session=self._session, tokens=POLICY_TOKENS, tail_tokens=TAIL_TOKENS
        )
        if self._session is not None:
            self._seen.forget()
            self._seen.add(policy.memories, policy.text)
        return policy.text

    @property
    def _said(self) -> str:
        """What the user typed; ``""`` if a program wrote the prompt."""
        return "" if self._given.get("source") in _MACHINES else words_of(self._given.get("prompt"))

    def _observed(self) -> None:
        """Observe the user's message."""
        own_id = self._given.get("prompt_id") or self._given.get("generation_id")
        named = None if own_id is None else str(own_id)
        if self._said:
            self._memory.observe(self._said, session=self._session, scope=self._scope, id=named)

    def _asked(self) -> str:
        """Return a block of the memories that are relevant to the user's message."""
        said = self._said
        shown = self._bearing(said) if len(terms(said)) >= FEWEST_WORDS else ()
        if not shown:
            return ""
        block = rendering.compose(
            shown,
            nonce=rendering.new_nonce(),
            tokens=TOKENS,
            cut=rendering.Relevant(said, self._memory.store.config.retrieve.long),
            zone=self._memory.store.config.zone,
            query=said,
        )
        if self._session is not None:  # else there is no telling whose conversation it is
            held = [hit.memory for hit in shown if hit.id in block.shown]
            self._seen.add(held, block.text)
        return block.text

    def _bearing(self, said: str) -> Sequence[Hit]:
        """Find memories that are relevant to a message and not in the conversation yet."""
        seen, turns = self._seen, self._turns()
        before = [one.text for one in turns if one.role == "user"][:BEFORE]
        without = [*(one.id for one in turns), *reversed(seen.ids)][:MAX_CHOICES]
        found = self._memory.recall(
            [*reversed(before), said],
            k=MOST,
            wait=0,
            record=False,
            filters={"scope": self._scope or None, "kind": _KINDS, "without": without or None},
        ).hits
        best = [hit for hit in found if hit.score >= NEAR * found[0].score]
        return [hit for hit in best if not seen.says(hit.text)]

    def _turns(self) -> Sequence[Memory]:
        """List the memories of this session since it was last compacted, newest first."""
        if self._session is None:
            return ()
        since = self._seen.since
        return self._memory.list(session=self._session, since=since, newest_first=True)

    def _answered(self) -> None:
        """Observe the agent's answer, as said by the assistant."""
        fields = ("last_assistant_message", "prompt_response", "text")
        said = words_of(next((self._given[one] for one in fields if self._given.get(one)), ""))
        if said:
            self._memory.observe(assistant=said, session=self._session, scope=self._scope)

    def _noted(self, session: str) -> None:
        """Save a checkpoint: the first request of the session as its goal, and the last one."""
        asked = self._memory.list(session=session, role="user", limit=1)
        last = self._memory.list(session=session, role="user", limit=1, newest_first=True)
        if not asked:
            return
        short = self._moment == "compact"
        self._memory.sessions.checkpoint(
            session,
            goal=_line(asked[0].text),
            note=f"Asked last: {_line(last[0].text)}" if last[0].id != asked[0].id else "",
            kind="compaction" if short else "task",
        )
        if short:
            self._seen.forget()

    @cached_property
    def _seen(self) -> _Seen:
        return _Seen(f"{self._memory.store.root} {self._session}")


class _Seen:
    """The memories that a session has shown: a file with ids and digests, without their texts.

    Args:
        name: Unique name of the session.
    """

    def __init__(self, name: str) -> None:
        self._path = state_folder() / "seen" / f"{sha256(name.encode()).hexdigest()[:16]}.json"
        self._known: dict[str, Any] = {}
        with suppress(OSError, ValueError):
            self._known = json.loads(self._path.read_text(encoding="utf-8"))

    @property
    def ids(self) -> list[str]:
        return list(self._known.get("ids", ()))

    @property
    def since(self) -> datetime | None:
        """When the conversation was last started or compacted; None if not known."""
        said = self._known.get("since")
        return None if said is None else datetime.fromisoformat(said)

    def says(self, text: str) -> bool:
        """Return whether this text has been shown, or each sentence of it that states something.

        What was learned from a message repeats sentences of it.
        """
        known = {*self._known.get("texts", ())}
        told = {_digest(one) for one in SENTENCE.split(text) if not merely_asks(one)}
        return _digest(text) in known or (bool(told) and told <= known)

    def add(self, shown: Sequence[Memory | Shown], block: str) -> None:
        """Add memories that are shown now, and those of their sentences that are in the block."""
        ids = [*self.ids, *(one.id for one in shown)]
        parts = (part for one in shown for part in SENTENCE.split(one.text))
        told = [part for part in parts if rendering.escape(part)[1:-1] in block]
        digests = map(_digest, [*(one.text for one in shown), *told])
        texts = dict.fromkeys([*self._known.get("texts", ()), *digests])
        self._write({**self._known, "ids": ids, "texts": [*texts]})

    def forget(self) -> None:
        """Note that nothing is shown any more, and remove files older than 30 days."""
        self._write({"since": system_clock().isoformat()})
        present = system_clock().timestamp()
        for other in self._path.parent.iterdir():
            with suppress(FileNotFoundError):  # another hook removed it
                if other.stat().st_mtime < present - _OLD:
                    other.unlink()

    def _write(self, known: dict[str, Any]) -> None:
        self._known = known
        self._path.parent.mkdir(0o700, parents=True, exist_ok=True)
        write_atomically(self._path, json.dumps(known).encode())


def _digest(text: str) -> str:
    return sha256(gist(text).encode(errors="surrogatepass")).hexdigest()[:12]


def words_of(said: object) -> str:
    """Return a message without its private parts; ``""`` for a ``/`` or ``!`` command.

    >>> words_of("My key <private>is 1234</private> is red."), words_of("/compact now")
    ('My key  is red.', '')
    """
    if not isinstance(said, str):
        return ""
    text = spoken(_PRIVATE.sub("", said))
    return "" if _COMMAND.match(text) else text


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LINE else f"{line[: LINE - 1]}…"
