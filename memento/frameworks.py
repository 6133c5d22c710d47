"""Shared by the adapters for agent frameworks: recall, keep, and survive outages of the store.

An adapter reads the framework's messages as turns and puts two texts into its request; the rest is
here. The memory is an addition to the agent: in an outage of the store, that is logged as an error,
and the agent goes on without memory, unless ``strict=True`` is given. A closed or read-only store,
and a label or an argument that is not valid, are mistakes of the program and raise their typed
error.
"""

from __future__ import annotations

import asyncio
import copy
import json
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypedDict
from uuid import uuid4

from memento.admit import Redaction
from memento.aio import settle
from memento.base.plain import composed
from memento.base.scopes import parse_namespace, parse_scope
from memento.check import (
    MAX_TOKENS,
    TALK_TOKENS,
    WAIT,
    check_count,
    check_flag,
    check_seconds,
    check_share,
    member,
    type_name,
)
from memento.conversation import MOST, keep_new, kept_here, mended, outlived, session_of
from memento.conversation.keeping import digest_of
from memento.conversation.turns import PIECE, PlacedTurn, Recalled, Turn, placed, turns_of
from memento.errors import InvalidInput
from memento.manager import MemoryManager
from memento.status import having
from memento.types import Hit, Memory, Status, Trust
from memento.views import view_of

HELD = 1_000
"""Answers held in RAM, one for each message that is being answered."""
MOST_LISTED = 10_000
"""Maximum number of memories that a service lists at once."""
ALL = 1_000_000
"""Maximum number of memories of one transcript that are read."""
FORMAT, MESSAGE, PLACE = "format", "message", "place"
"""Metadata of a message in a transcript: its format, the message, and the path to its text."""
CONTENTS = ("content", "contents", "output")
"""Where messages of agent frameworks have their content."""

Labels = str | int | Sequence[str | int]
Namespace = Callable[[Any], Labels]
"""Makes the labels of a namespace from what a framework knows of a run."""

log = logging.getLogger("memento.frameworks")


@dataclass(frozen=True, slots=True)
class Given:
    """What a model receives in addition to the conversation.

    Attributes:
        head: The policy for the system message, which stays the same throughout a session; ``""``
            for none.
        block: Memories, and the policy's tail, as data; ``""`` for none. It stays the same until
            the user's next message. Put it after the user's last message, but not into the history.
        recalled: The memories.
    """

    head: str = ""
    block: str = ""
    recalled: Recalled = field(default=Recalled(), compare=False, repr=False)


class Options(TypedDict, total=False):
    """Keyword arguments of ``AgentMemory``, as the adapters pass them on."""

    k: int
    tokens: int | None
    wait: float
    policy: bool
    observe: bool
    scope: str
    speaker: Trust | str
    strict: bool
    min_confidence: float | None


class RunOptions(Options, total=False):
    """`Options` of adapters whose framework identifies the user of a run."""

    namespace: Namespace | None


class AgentMemory:
    """Recalls and stores memories for the agents of a framework.

    Args:
        manager: The manager of the store to use.
        namespace: A function that returns the labels of the namespace for a run, given the
            framework's context of the run; None for the manager's own namespace. A label may be an
            integer.
        k: Maximum number of memories to recall, 1 to 1,000.
        tokens: Maximum number of tokens in the block of memories, >= 1; None for no limit.
        wait: Maximum number of seconds to wait until semantic search includes the newest turns, up
            to a day; 0 to search at once. In async code, this does not block a thread.
        policy: Whether to provide the user's rules, see ``Rules.policy``.
        observe: Whether to learn from what the user says, see ``MemoryManager.observe``.
        scope: Scope in which the agent works, for the policy and for what is learned.
        speaker: Who writes the user's messages: ``user``, or ``agent`` if an LLM does, as in a
            subagent.
        strict: Whether to raise an error if the store is unavailable; with False, the error is
            logged, and the agent continues.
        min_confidence: Minimum probability that the memories contain an answer, [0, 1]; None for
            the manager's ``prompt_confidence``.

    Raises:
        InvalidInput: If an argument is invalid.
    """

    def __init__(
        self,
        manager: MemoryManager,
        *,
        namespace: Namespace | None = None,
        k: int = 8,
        tokens: int | None = TALK_TOKENS,
        wait: float = WAIT,
        policy: bool = False,
        observe: bool = False,
        scope: str = "",
        speaker: Trust | str = Trust.USER,
        strict: bool = False,
        min_confidence: float | None = None,
    ) -> None:
        self.manager = check_manager(manager)
        self._namespace: Namespace | None = _checked(namespace)
        self._k = check_count("k", k, most=MOST)
        self._tokens = None if tokens is None else check_count("tokens", tokens, most=MAX_TOKENS)
        self._wait = check_seconds("wait", wait)
        self._policy = check_flag("policy", policy)
        self._observe = check_flag("observe", observe)
        self._scope = parse_scope(scope)
        self._speaker = member(Trust, "speaker", speaker)
        self._strict = check_flag("strict", strict)
        self._sure = (
            None if min_confidence is None else check_share("min_confidence", min_confidence)
        )
        self._held: OrderedDict[tuple[Any, ...], Given] = OrderedDict()

    def of(self, run: object) -> Self:
        """Return an equivalent object for the namespace of a run.

        Raises:
            InvalidInput: If the namespace depends on the run, and there is no run.
            InvalidScope: If the function returns malformed labels.
        """
        if self._namespace is None:
            return self
        if run is None:
            raise InvalidInput("context", "is missing, but the namespace depends on it")
        return self.over(self.manager.of(*labels(self._namespace(run))))

    def over(self, manager: MemoryManager, speaker: Trust | None = None) -> Self:
        """Return an equivalent object for another manager and, if given, another speaker."""
        mine = copy.copy(self)
        mine.manager, mine._namespace = manager, None
        mine._speaker = speaker or self._speaker  # noqa: SLF001 - of this class
        return mine

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Copy the settings; the copy remembers in the same place."""
        return copy.copy(self)

    def outlived(self, what: str) -> outlived:
        """Let the agent continue during an outage of the store, unless ``strict``."""
        return outlived(what, strict=self._strict)

    def recall(
        self, turns: Iterable[Turn], session: str | None = None, *, asked: str | None = None
    ) -> Given:
        """Find memories relevant to the user's last message.

        Args:
            turns: The conversation so far, as the model sees it.
            session: Name of the conversation; any string.
            asked: What identifies the user's last message; None for everything said up to it.
        """
        talk = self._talk(turns, session, asked)
        with self.outlived("recalling"):
            return self._recalled(talk, self._wait)
        return Given()

    async def arecall(
        self, turns: Iterable[Turn], session: str | None = None, *, asked: str | None = None
    ) -> Given:
        """Recall as ``recall`` does, without blocking a thread while waiting."""
        talk = self._talk(turns, session, asked)
        with self.outlived("recalling"):
            known = talk.at is None or self._answering(talk) is not None
            wait = 0.0 if known else await settle(self.manager, self._wait)
            return await asyncio.to_thread(self._recalled, talk, wait)
        return Given()

    def cite(
        self, turns: Iterable[Turn], session: str | None = None, *, asked: str | None = None
    ) -> None:
        """Record which memories the model's last answer used; see ``Feedback.cite``.

        Args:
            turns: The conversation with the answer; the others as for ``recall``.
            session: Name of the conversation.
            asked: What identifies the user's last message.
        """
        talk = self._talk(turns, session, asked)
        found = self._held.pop(talk.name, None)
        last = talk.turns[-1] if talk.turns else Turn("")
        if found and found.recalled.hits and last.role == "assistant" and last.text.strip():
            with self.outlived("recording which memories its answer used"):
                self.manager.feedback.cite(found.recalled.as_retrieval(), last.text)

    async def afind(
        self, turns: str | Iterable[Turn], session: str | None = None, *, k: int | None = None
    ) -> list[Hit]:
        """Return the hits that ``arecall`` shows, for a framework that renders memories itself.

        For a long text, ``Hit.passage`` is the part relevant to the question.

        Args:
            turns: The conversation so far, or a question outside of any.
            session: Name of the conversation; any string.
            k: Maximum number of memories; None for the agent's own.
        """
        said = turns_of(turns)
        with self.outlived("recalling"):
            found = await asyncio.to_thread(
                self.manager.recall,
                turns if isinstance(turns, str) else said,
                session=session,
                k=k or self._k,
                tokens=self._tokens,
                wait=await settle(self.manager, self._wait),
            )
            return [hit for hit in found.hits if hit.id in found.shown]
        return []

    def keep(self, turns: Iterable[Turn], session: str | None = None) -> None:
        """Store what the user and the agent said, each turn once; see ``MemoryManager.keep``.

        Args:
            turns: The conversation from its beginning, as far as it is known. Only turns of the
                user and the agent are stored.
            session: Name of the conversation; any string.
        """
        said = turns_of(turns)
        self.store([one for one in said if one.role in {"user", "assistant"}], session)

    def store(self, turns: Iterable[Turn], session: str | None = None, *, now: bool = True) -> None:
        """Store turns with any role, each once, and learn from the user's if ``observe`` is set.

        Args:
            turns: The turns.
            session: Name of the conversation; any string.
            now: Whether the last of them are being said now.
        """
        said = turns_of(turns)
        with self.outlived("storing the conversation"):
            keep = _keep_new_there if view_of(self.manager).is_remote else keep_new
            fresh = keep(self.manager, said, session=session, speaker=self._speaker, now=now)
            for one, turn_id in fresh if self._observe and self._speaker is Trust.USER else ():
                if one.turn.role == "user":
                    self._learn(one.turn.text, session, turn_id)

    async def akeep(self, turns: Iterable[Turn], session: str | None = None) -> None:
        """Store as ``keep`` does, in a worker thread."""
        await asyncio.to_thread(self.keep, turns, session)

    def _learn(self, text: str, session: str | None, turn_id: str) -> None:
        name = None if session is None else session_of(session)
        scope = self._scope or None
        self.manager.observe(mended(text), session=name, scope=scope, keep=False, turn_id=turn_id)

    def _recalled(self, talk: _Talk, wait: float) -> Given:
        if (held := self._answering(talk)) is not None:
            return held
        head, tail = self._rules(talk)
        recalled = self.manager.recall(
            talk.turns,
            session=talk.session,
            k=self._k,
            tokens=self._tokens,
            min_confidence=self._sure,
            wait=wait,
        )
        for tier, why in recalled.missing.items():
            log.warning("recalled without the %s tier: %s", tier, why)
        block = "\n".join(part for part in (tail, recalled.block) if part)
        given = Given(head, block, recalled)
        if talk.at is not None and not recalled.missing:
            self._held[talk.name] = given
            while len(self._held) > HELD:
                self._held.popitem(last=False)
        return given

    def _rules(self, talk: _Talk) -> tuple[str, str]:
        """Return head and tail of the policy; ``""`` as tail if there is no message of the user."""
        if not self._policy:
            return "", ""
        message = None if talk.at is None else talk.turns[talk.at].text
        name = None if talk.session is None else session_of(talk.session)
        found = self.manager.rules.policy(message, scope=self._scope, session=name, recall=0)
        return found.head, "" if message is None else found.tail

    def _talk(self, turns: Iterable[Turn], session: str | None, asked: str | None) -> _Talk:
        said = turns_of(turns)
        at = max((n for n, turn in enumerate(said) if turn.role == "user"), default=None)
        until = said[: 0 if at is None else at + 1]
        name = asked or hash(tuple((turn.role, turn.text) for turn in until))
        return _Talk(said, session, at, (self.manager.store.namespace, session, name))

    def _answering(self, talk: _Talk) -> Given | None:
        """Return what was recalled before, if the user's last message is still being answered."""
        if talk.at is None or talk.at == len(talk.turns) - 1:
            return None
        return self._held.get(talk.name)


def _keep_new_there(
    manager: MemoryManager,
    turns: Sequence[Turn],
    *,
    session: str | None,
    speaker: Trust,
    now: bool,
) -> list[tuple[PlacedTurn, str]]:
    """Do what ``keep_new`` does in a store of a service, by what it holds before and afterwards.

    A turn that is said again after it was forgotten has another id there, and is not named.
    """
    said = placed(turns, None if session is None else composed(session), speaker)
    config = view_of(manager).config
    told = {name: part for one in said for name, part in one.told(config).items()}
    ids, every = [*told], list(Status)
    known = {
        one.id: one
        for at in range(0, len(ids), MOST_LISTED)
        for one in manager.list(ids=ids[at : at + MOST_LISTED], status=every, limit=MOST_LISTED)
    }
    kept = manager.keep(turns, session=session, speaker=speaker, now=now)
    words = {(one.role, one.text): one.id for one in kept if not one.reinforced}
    there, found = {one.id for one in kept}, list[tuple[PlacedTurn, str]]()
    for one in {one.key: one for one in said}.values():
        parts = one.told(config)
        if one.nameless:
            first = one.drafts(config)[:1]
            name = words.get((first[0].role, first[0].text)) if first else None
        elif all(part in known and digest_of(known[part]) == told[part].said for part in parts):
            name = None
        else:
            name = one.piece_id(0)
        if name in there:
            found.append((one, str(name)))
    return found


@dataclass(frozen=True, slots=True)
class _Talk:
    """A conversation as it stands.

    Attributes:
        turns: What was said.
        session: Name of the conversation.
        at: Place of the user's last message in it; None if there is none.
        name: What that message is called.
    """

    turns: list[Turn]
    session: str | None
    at: int | None
    name: tuple[Any, ...]


class Transcript:
    """The messages of one conversation, stored exactly, each as memories that ``recall`` finds.

    The text of a message comes from its memories, so a correction shows up here, and a message that
    was forgotten or erased is missing. Imported memories are never treated as messages.

    Args:
        memory: The manager that stores the messages.
        session: Name of the conversation; any string.
        form: Name of the format of the messages.
    """

    def __init__(self, memory: AgentMemory, session: str, form: str) -> None:
        if not isinstance(session, str) or not session.strip():
            raise InvalidInput(
                "session", f"must be the name of a conversation, not {type_name(session)}"
            )
        self._memory = memory
        self._session = session
        self._form = form

    def add(self, messages: Iterable[tuple[Turn, Mapping[str, Any]]]) -> None:
        """Store messages, each as a turn with its text and speaker, and as JSON."""
        self._memory.store([self._turn(*one) for one in messages], self._session)

    def read(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return the newest messages, oldest first."""
        with self._memory.outlived("what was said before"):
            return [message for message, _ in self._newest(limit)][::-1]
        return []

    def pop(self) -> dict[str, Any] | None:
        """Forget the newest message and return it; None if there is none."""
        with self._memory.outlived("forgetting a message"):
            for message, memories in self._newest(1):
                self._memory.manager.forget_many(ids=[one.id for one in memories])
                return message
        return None

    def clear(self) -> None:
        """Forget all messages; what was learned from them stays."""
        with self._memory.outlived("forgetting a transcript"):
            self._memory.manager.forget_many(
                session=session_of(self._session), where={FORMAT: self._form}
            )

    def _turn(self, turn: Turn, message: Mapping[str, Any]) -> Turn:
        """Make a turn of a message; its text is stored only once, as the text of the memory."""
        config = self._memory.manager.store.config
        text = json.dumps(message, ensure_ascii=False, default=repr)
        spelt = json.loads(Redaction(config.secrets).json("message", text))
        said, role, place = turn.text, turn.role, _place_of_text(spelt)
        if not said.strip():
            said, role, place = "(no text)", "tool", None  # not speech, so never recalled
        elif place is not None:
            said, _at(spelt, place[:-1])[place[-1]] = _at(spelt, place), ""
        metadata = {FORMAT: self._form, MESSAGE: spelt, PLACE: place}
        if len(json.dumps(metadata)) > config.limits.metadata_bytes:
            log.warning(
                "attachments of a message were omitted because they exceed limits.metadata_bytes"
            )
            metadata[MESSAGE] = _without_payloads(spelt)
        return Turn(said, role, uuid4().hex, turn.actor, turn.trust, metadata)

    def _newest(self, limit: int | None) -> Iterator[tuple[dict[str, Any], list[Memory]]]:
        """Yield the newest messages and their memories, newest first."""
        most = ALL if limit is None else limit
        few = min(ALL, 2 * most + 8)
        for size in dict.fromkeys((few, ALL)):
            held = self._listed(size)
            found = list(_messages(held))[:most]
            if len(found) == most or len(held) < size:
                break
        yield from found

    def _listed(self, most: int) -> list[Memory]:
        found = self._memory.manager.list(
            session=session_of(self._session),
            where={FORMAT: self._form},
            status=having("current"),  # includes output of tools in quarantine
            newest_first=True,
            limit=most,
        )
        return [one for one in found if kept_here(one)]


def check_manager(manager: object) -> MemoryManager:
    """Accept the manager that was passed to an adapter.

    Raises:
        InvalidInput: If it is not a ``MemoryManager``.
    """
    if not isinstance(manager, MemoryManager):
        problem = f"must be a MemoryManager, not {type_name(manager)}"
        raise InvalidInput("manager", f"{problem}; the adapters provide async methods themselves")
    return manager


def labels(given: Any) -> tuple[str, ...]:
    """Check the labels of a namespace; an integer is converted to text.

    Raises:
        InvalidScope: If they are malformed.
    """
    parts = given if isinstance(given, list | tuple) else [given]
    return parse_namespace([str(one) if type(one) is int else one for one in parts])


def _checked(namespace: object) -> Any:
    if namespace is not None and not callable(namespace):
        raise InvalidInput("namespace", "must be a function that takes the run and returns labels")
    return namespace


def _messages(newest: Iterable[Memory]) -> Iterator[tuple[dict[str, Any], list[Memory]]]:
    """Yield each message with its memories; a message without its first memory is left out."""
    behind: list[Memory] = []
    for memory in newest:
        behind.append(memory)
        if not memory.metadata.get(PIECE):
            memories, behind = behind[::-1], []
            message, place = copy.deepcopy(memory.metadata[MESSAGE]), memory.metadata[PLACE]
            if place is not None:
                _at(message, place[:-1])[place[-1]] = "".join(one.text for one in memories)
            yield message, memories


def _place_of_text(message: Mapping[str, Any]) -> list[Any] | None:
    """Return the path to the only text of a message; None if there is none, or several."""
    places: list[list[Any]] = []
    for name in CONTENTS:
        content = message.get(name)
        if isinstance(content, str):
            places.append([name])
        elif isinstance(content, list):
            places += [
                [name, at, "text"]
                for at, one in enumerate(content)
                if isinstance(one, dict) and isinstance(one.get("text"), str)
            ]
    return places[0] if len(places) == 1 else None


def _at(message: Any, place: Sequence[Any]) -> Any:
    for step in place:
        message = message[step]
    return message


def _without_payloads(value: Any) -> Any:
    """Replace texts of more than 10,000 characters in a message by notes."""
    if isinstance(value, dict):
        return {key: _without_payloads(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_without_payloads(one) for one in value]
    long = isinstance(value, str) and len(value) > 10_000  # noqa: PLR2004 - no id or name is
    return f"[data: {len(value):,} characters]" if long else value
