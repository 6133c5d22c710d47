"""Memory for ``create_agent``: recall before each model call, and store each turn once.

A turn is kept when every other middleware has had its say, so that what ``PIIMiddleware`` takes out
is never written, wherever it stands in the list: the user's just before the model is called, the
model's before it is called again or when the agent ends. Messages before the user's last one
are kept when the agent starts, before ``SummarizationMiddleware`` can drop it; but not what a run
that failed left behind in the thread, which other middleware may have refused.
"""

from __future__ import annotations

import asyncio
import copy
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import takewhile
from typing import Annotated, Any, Literal, NotRequired, Self, TypeVar, cast, get_args

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import ModelRequest, ModelResponse, PrivateStateAttr
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.runtime import Runtime

from memento import MemoryManager, Recalled, Trust, Turn
from memento.aio import settle
from memento.base.scopes import parse_scope
from memento.check import MAX_TOKENS, check_count, check_flag, check_seconds, check_share, member
from memento.conversation import MOST, keep_new, mended, outlived, session_of
from memento.errors import InvalidInput
from memento.frameworks import WAIT, check_manager
from memento.prompt import TOKENS
from memento_langchain._structured import Wanted, answered, chosen, with_words
from memento_langchain._turns import text_of, turn_of, warn
from memento_langchain.namespaces import Namespace, Views, settings_of_run

Place = Literal["user", "system"]
BLOCKS = 1_000
"""Answers of ``recall`` held in RAM, one for each question that is being answered."""
CHECKPOINTER = "__pregel_checkpointer"
"""Where LangGraph tells what it runs of its checkpointer."""


NESTED = "|"
"""Where LangGraph's name of a place in a run goes down into another graph."""
M = TypeVar("M", bound=BaseMessage)
H = TypeVar("H")


class MementoState(AgentState[Any]):
    """The state of runs that a thread keeps in its checkpoints.

    Attributes:
        memento_running: Id of the user's message that the last run began with; None once it ended.
        memento_refused: Ids of the messages that runs which never ended left behind.
    """

    memento_running: NotRequired[Annotated[str | None, PrivateStateAttr]]
    memento_refused: NotRequired[Annotated[list[str], PrivateStateAttr]]


class MementoMiddleware(AgentMiddleware[MementoState, Any]):
    """Lets an agent remember across threads and restarts.

    Before each model call, the memories that are relevant to the user's last message (see
    ``MemoryManager.recall``) are added after it as a block of data (see ``memento.prompt``). The
    block is part of that request only, never of the thread; while the model calls tools to answer
    one message, it stays the same, byte for byte. Each turn of the user and the model is stored
    once, identified by its message id, in a session named after the thread. If the thread's id
    cannot be the name of a session, the name is ``thread-`` and 32 hexadecimal digits made from it.
    Once the model has answered, the memories that its answer used are recorded as used, see
    ``Feedback.cite``.

    Without a checkpointer, messages get new ids at each call. Turns are then identified by their
    text and, in a thread, by how often it was said there.

    Inside another agent, the human messages are written by an LLM; see ``speaker``.

    If the store has an outage, such as a full disk, the agent goes on without memory and an error
    is logged, unless ``strict``; what was said meanwhile is stored with a later turn of the thread.
    A closed or read-only store, and a label that is not valid, end the run with their typed error.

    With a checkpointer, messages that a failed run left in the thread are stored only if the model
    was called with them; other middleware may have refused the rest.

    Args:
        manager: The manager of the store to use.
        k: Maximum number of memories to recall, 1 to 1,000.
        tokens: Maximum number of tokens in the block, >= 1; None for no limit. Long texts are cut
            to the passage that is relevant to the message.
        namespace: A function that returns the labels of the namespace, given ``runtime.context``,
            such as ``lambda context: ("acme", context.user_id)``, or given the context and the
            settings of the run, such as ``lambda _, settings: settings["user_id"]``; None for the
            manager's own namespace. A label may be an integer. If the result is not a valid label,
            the run ends with ``InvalidScope``.
        save: Whether to store turns and record which memories were used; with False, it only
            recalls.
        keep: Which messages to store: roles, such as ``("user",)``, or a function that decides for
            each message of the user or the model; None for all.
        structured: Whether to store structured answers too, from an agent with ``response_format``
            or as a single JSON object; they are stored as lines of names and values.
        min_confidence: Minimum probability that the memories contain an answer, [0, 1]; None for
            the manager's ``prompt_confidence``.
        place: Where to put the block: ``user``, after the text of the user's last message, so that
            everything before it is the same as in the previous request and providers can cache it;
            or ``system``, at the end of the system message.
        speaker: Who writes the human messages: ``user`` or ``agent``. None means the user, or the
            agent if this agent runs inside another one, such as a subagent in a tool, because an
            LLM wrote those messages.
        policy: Whether to add the policy of the thread to the request, see ``Rules.policy``: its
            head to the system message, where it stays the same, and its tail with the block of
            memories before the text of the user's last message; ``place`` then has no effect.
        observe: Whether to learn from what the user says, without a language model; see
            ``MemoryManager.observe``.
        scope: Scope in which the agent works, for the policy and for what is learned.
        wait: Maximum number of seconds for which a recall waits until the newest turns can be found
            by meaning, up to a day; 0 to search at once. An async agent does not block a thread
            meanwhile.
        strict: Whether an outage of the store ends the run with its typed error.

    Raises:
        InvalidInput: If an argument is not as described.
    """

    state_schema = MementoState

    def __init__(
        self,
        manager: MemoryManager,
        k: int = 8,
        *,
        tokens: int | None = TOKENS,
        namespace: Namespace | None = None,
        save: bool = True,
        keep: Wanted | Collection[str] | None = None,
        structured: bool = False,
        min_confidence: float | None = None,
        place: Place = "user",
        speaker: Trust | str | None = None,
        policy: bool = False,
        observe: bool = False,
        scope: str = "",
        wait: float = WAIT,
        strict: bool = False,
    ) -> None:
        super().__init__()
        self._views = Views(check_manager(manager), namespace)
        self._k = check_count("k", k, most=MOST)
        self._tokens = None if tokens is None else check_count("tokens", tokens, most=MAX_TOKENS)
        self._save = check_flag("save", save)
        self._wanted = chosen(keep)
        self._structured = check_flag("structured", structured)
        self._sure = (
            None if min_confidence is None else check_share("min_confidence", min_confidence)
        )
        if place not in get_args(Place):
            raise InvalidInput("place", f"must be 'user' or 'system', not {place!r}")
        self._place: Place = place
        self._speaker = None if speaker is None else member(Trust, "speaker", speaker)
        self._policy = check_flag("policy", policy)
        self._observe = check_flag("observe", observe)
        if self._observe and not self._save:
            raise InvalidInput("observe", "requires save=True, because it learns from stored turns")
        self._scope = parse_scope(scope)
        self._wait = check_seconds("wait", wait)
        self._outlived = partial(outlived, strict=check_flag("strict", strict))
        self._recalled: OrderedDict[tuple[Any, ...], Recalled] = OrderedDict()
        self._policies: OrderedDict[tuple[Any, ...], tuple[str, str]] = OrderedDict()

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Copy the settings; the copy remembers in the same place."""
        return copy.copy(self)

    def before_agent(self, state: MementoState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Store what was said before the user's last message, and record that a run begins."""
        messages = state["messages"]
        last = next((one for one in reversed(messages) if _is_users(one)), None)
        if last is not None:
            name = self._name(last, runtime)
            self._recalled.pop(name, None)  # a run looks for itself
            self._policies.pop(name, None)
        if not self._save:
            return None
        refused = _refused(state, last)
        before = [one for one in messages if one is not last and one.id not in refused]
        self._keep(before, runtime, now=False)
        return {
            "memento_running": None if last is None else last.id,
            "memento_refused": [one.id for one in messages if one.id in refused],
        }

    async def abefore_agent(
        self, state: MementoState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Store what was said before the user's last message, and record that a run begins."""
        return await asyncio.to_thread(self.before_agent, state, runtime)

    def after_agent(self, state: MementoState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Store what was said, and record that the run ended and which memories its answer used."""
        if not self._save:
            return None
        self._keep_said(state, runtime)
        if self._structured:
            given = cast("dict[str, Any]", state).get("structured_response")
            last = answered(state["messages"], given)
            self._keep([] if last is None else [last], runtime)
        self._cite(state["messages"], runtime)
        return {"memento_running": None}

    async def aafter_agent(
        self, state: MementoState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Store what was said, and record that the run ended and which memories its answer used."""
        return await asyncio.to_thread(self.after_agent, state, runtime)

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Store what was said, and add memories to the request."""
        self._keep_of(request)
        return handler(self._with_block(request, self._wait))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Store what was said, and add memories to the request."""
        await asyncio.to_thread(self._keep_of, request)
        wait = await self._settled(request)
        return await handler(await asyncio.to_thread(self._with_block, request, wait))

    async def _settled(self, request: ModelRequest[Any]) -> float:
        """Wait for the newest turns without a thread; return how long the recall waits after it."""
        asked = _asked(request)
        if (
            asked is None
            or not text_of(asked).strip()
            or self._name(asked, request.runtime) in self._recalled
        ):
            return 0.0
        with self._outlived("waiting for the newest turns"):
            return await settle(self._view(request.runtime), self._wait)
        return 0.0

    def _keep_of(self, request: ModelRequest[Any]) -> None:
        if self._save:
            self._keep_said(cast("MementoState", request.state), request.runtime)

    def _keep_said(self, state: MementoState, runtime: Runtime[Any]) -> None:
        refused = set(state.get("memento_refused", ()))
        self._keep([one for one in state["messages"] if one.id not in refused], runtime)

    def _with_block(self, request: ModelRequest[Any], wait: float) -> ModelRequest[Any]:
        """Return the request with the block of memories that its last human message calls for."""
        asked = _asked(request)
        block = "" if asked is None else self._block(asked, request, wait)
        if self._policy:
            return self._with_policy(request, asked, block)
        if asked is None or not block:
            return request
        if self._place == "system":
            system = request.system_message or SystemMessage(content="")
            return request.override(system_message=_with(system, block))
        shown = [_with(one, block) if one is asked else one for one in request.messages]
        return request.override(messages=shown)

    def _with_policy(
        self, request: ModelRequest[Any], asked: AnyMessage | None, block: str
    ) -> ModelRequest[Any]:
        """Return the request with the policy, and the block of memories behind its tail."""
        head, tail = self._policy_for(asked, request.runtime)
        ending = "\n".join(part for part in (tail, block) if part)
        if head:
            system = request.system_message or SystemMessage(content="")
            request = request.override(system_message=_with(system, head))
        if asked is None or not ending:
            return request
        shown = [_before(one, ending) if one is asked else one for one in request.messages]
        return request.override(messages=shown)

    def _policy_for(self, asked: AnyMessage | None, runtime: Runtime[Any]) -> tuple[str, str]:
        """Return head and tail for a message, which stay the same until it is answered."""
        name = None if asked is None or asked.id is None else self._name(asked, runtime)
        if name is not None and (known := self._policies.get(name)) is not None:
            return known
        thread = _thread()
        with self._outlived("its policy"):
            found = self._view(runtime).rules.policy(
                None if asked is None else text_of(asked),
                scope=self._scope,
                session=None if thread is None else session_of(thread),
                recall=0,
            )
            if name is not None:
                _hold(self._policies, name, (found.head, found.tail))
            return found.head, found.tail
        return "", ""

    def _block(self, asked: BaseMessage, request: ModelRequest[Any], wait: float) -> str:
        """Return the block for a message, which stays the same until it is answered."""
        name = self._name(asked, request.runtime)
        if (known := self._recalled.get(name)) is not None:
            return known.block
        found = Recalled()
        with self._outlived("recalling"):
            found = self._view(request.runtime).recall(
                _turns(request.messages, tools=True),
                session=_thread(),
                k=self._k,
                tokens=self._tokens,
                min_confidence=self._sure,
                wait=wait,
            )
            warn(found.missing)
            if asked.id is not None and not found.missing:
                _hold(self._recalled, name, found)
        return found.block

    def _cite(self, messages: Sequence[AnyMessage], runtime: Runtime[Any]) -> None:
        """Note which of the memories shown the model's last answer rests on."""
        asked = next((one for one in reversed(messages) if _is_users(one)), None)
        answer = messages[-1] if messages else None
        if asked is None or not isinstance(answer, AIMessage):
            return
        found = self._recalled.pop(self._name(asked, runtime), None)
        if found is not None and found.hits and text_of(answer).strip():
            with self._outlived("noting what its answer used"):
                self._view(runtime).feedback.cite(found.as_retrieval(), text_of(answer))

    def _name(self, asked: BaseMessage, runtime: Runtime[Any]) -> tuple[Any, ...]:
        return (self._view(runtime).store.namespace, _thread(), asked.id, text_of(asked))

    def _keep(
        self, messages: Iterable[AnyMessage], runtime: Runtime[Any], *, now: bool = True
    ) -> None:
        speaker = self._speaker or (Trust.AGENT if _is_inside_another() else Trust.USER)
        wanted = (one for one in messages if self._wanted is None or self._wanted(one))
        said_so = with_words(wanted) if self._structured else wanted
        view, thread = self._view(runtime), _thread()
        with self._outlived("keeping what is said"):
            fresh = keep_new(view, _turns(said_so), session=thread, speaker=speaker, now=now)
            for said in fresh if self._observe and speaker is Trust.USER else ():
                if said.turn.role == "user":
                    session = None if thread is None else session_of(thread)
                    text, name = mended(said.turn.text), said.piece_id(0)  # no thread: no name
                    view.observe(text, session=session, scope=self._scope, keep=False, turn_id=name)

    def _view(self, runtime: Runtime[Any]) -> MemoryManager:
        return self._views.of_run(runtime.context)


def _turns(messages: Iterable[AnyMessage], *, tools: bool = False) -> list[Turn]:
    """Read what the user and the model said, and if wanted what tools said.

    Only a checkpointer makes ids last. Without one the application sends the talk again, and a turn
    is known by what it says and how often that was said before.
    """
    lasting = settings_of_run().get(CHECKPOINTER) is not None
    kinds = (AIMessage, ToolMessage) if tools else (AIMessage,)
    said = (one for one in messages if _is_users(one) or isinstance(one, kinds))
    return [turn_of(one, lasting=lasting) for one in said]


def _thread() -> str | None:
    thread = settings_of_run().get("thread_id")
    return None if thread is None else str(thread)


def _is_inside_another() -> bool:
    """Return whether this agent runs inside a node of another graph, such as a tool of an agent."""
    place = settings_of_run().get("checkpoint_ns", "")
    return NESTED in str(place)


def _refused(state: MementoState, last: AnyMessage | None) -> set[str | None]:
    """Name what earlier runs left behind that never ended, but for the user's last message.

    Such a run left the user's message it began with, and what follows up to the user's next; of
    what a summary swallowed meanwhile nothing is left.
    """
    refused: set[str | None] = set(state.get("memento_refused", ()))
    running = state.get("memento_running")
    if running is not None:
        messages = state["messages"]
        ids = [message.id for message in messages]
        began = ids.index(running) if running in ids else -1
        rest = takewhile(lambda one: not _is_users(one), messages[began + 1 :])
        refused |= {running, *(one.id for one in rest)}
    return refused - {None if last is None else last.id}


def _asked(request: ModelRequest[Any]) -> AnyMessage | None:
    """Return the user's last message."""
    return next((one for one in reversed(request.messages) if _is_users(one)), None)


def _is_users(message: BaseMessage) -> bool:
    """Tell what a person said from what LangChain says in the user's name, such as summaries."""
    return isinstance(message, HumanMessage) and "lc_source" not in message.additional_kwargs


def _with(message: M, block: str) -> M:
    """Return a copy of a message with the block after its text."""
    if not isinstance(message.content, str):
        part = {"type": "text", "text": block}
        return message.model_copy(update={"content": [*message.content, part]})
    content = f"{message.content}\n\n{block}" if message.content else block
    return message.model_copy(update={"content": content})


def _hold(held: OrderedDict[tuple[Any, ...], H], name: tuple[Any, ...], value: H) -> None:
    """Hold a value, and let the oldest go beyond `BLOCKS`."""
    held[name] = value
    while len(held) > BLOCKS:
        held.popitem(last=False)


def _before(message: M, block: str) -> M:
    """Return a copy of a message with the block before its text."""
    if not isinstance(message.content, str):
        part = {"type": "text", "text": block}
        return message.model_copy(update={"content": [part, *message.content]})
    return message.model_copy(update={"content": f"{block}\n\n{message.content}"})
