"""Memory for ``create_agent``: recall before each model call, keep each turn once.

A turn is kept when every other middleware has had its say, so that what ``PIIMiddleware`` takes out
is never written, wherever it stands in the list: the user's just before the model is called, the
model's before it is called again or when the agent ends. Messages before the user's last one
are kept when the agent starts, before ``SummarizationMiddleware`` can drop it; but not what a run
that failed left behind in the thread, which other middleware may have refused.
"""

from __future__ import annotations

import asyncio
import copy
import secrets
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from hashlib import blake2b
from itertools import takewhile
from typing import Annotated, Any, NotRequired, Self, cast

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import ModelRequest, ModelResponse, PrivateStateAttr
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.config import get_config
from langgraph.runtime import Runtime

from memento import MemoryManager
from memento.aio import settle
from memento.check import MAX_INTEGER, check_count, check_flag, check_seconds
from memento.errors import InvalidInput
from memento.policy import TOKENS, Relevant, render
from memento.scopes import parse_namespace
from memento_langchain._keeping import Turn, forget_leftover, keep_drafts
from memento_langchain._turns import (
    MOST,
    WAIT,
    check_manager,
    memory_id,
    pieces,
    recall,
)

REMEMBERED = 10_000
"""Messages held in RAM as kept, so that a long thread is not offered to the ledger each time."""
CHECKPOINTER = "__pregel_checkpointer"
"""Where LangGraph tells what it runs of its checkpointer."""


class MementoState(AgentState[Any]):
    """The state of its runs that a thread keeps in its checkpoints.

    Attributes:
        memento_running: Id of the user's message that the last run began with; None once it ended.
        memento_refused: Ids of the messages that runs which never ended left behind.
    """

    memento_running: NotRequired[Annotated[str | None, PrivateStateAttr]]
    memento_refused: NotRequired[Annotated[list[str], PrivateStateAttr]]


class MementoMiddleware(AgentMiddleware[MementoState, Any]):
    """Lets an agent remember across threads and restarts.

    Before each model call, what is remembered about the user's last message is put at the end of
    the system message, as a block of data (see ``memento.policy``). Memories that
    the conversation shows anyway are left out, and former questions get the last places. Each turn
    of the user and of the model is kept once, by the id of its message, in the session named like
    the thread; a thread whose id can be no session's name has one made from it, ``thread-`` and 32
    hexadecimal digits.

    Without a checkpointer messages get new ids at each call: then turns are told apart by their
    text, and in a thread also by how often it was said there.

    With a checkpointer, what a run that ended in an error left in the thread is kept as far as the
    model was called with it; the rest may be what other middleware refused, and is not.

    Args:
        manager: Where to keep and look.
        k: Most memories to recall, 1 to 1,000.
        tokens: Most tokens of the block, >= 1; None for no limit. Of a long text it shows the
            passage that is relevant to the message.
        namespace: Makes the labels of the namespace from ``runtime.context``, such as
            ``lambda context: ("acme", context.user_id)``; None for the manager's own. If it gives
            what is no label, the run ends with ``InvalidScope``.
        save: Whether to keep the turns; with False it only recalls.
        wait: Seconds that a recall waits at most until the newest turns can be found by their
            meaning, up to a day; 0 to search at once. An async agent holds no thread meanwhile.

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
        namespace: Callable[[Any], str | Sequence[str]] | None = None,
        save: bool = True,
        wait: float = WAIT,
    ) -> None:
        super().__init__()
        if namespace is not None and not callable(namespace):
            raise InvalidInput("namespace", "must be a function of the context that gives labels")
        self._manager = check_manager(manager)
        self._k = check_count("k", k, most=MOST)
        self._tokens = None if tokens is None else check_count("tokens", tokens, most=MAX_INTEGER)
        self._namespace = namespace
        self._save = check_flag("save", save)
        self._wait = check_seconds("wait", wait)
        self._secret = secrets.token_bytes(16)
        self._kept: OrderedDict[tuple[tuple[str, ...], str], str] = OrderedDict()

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Copy the settings; the copy remembers in the same place."""
        return copy.copy(self)

    def before_agent(self, state: MementoState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Keep what was said before the user's last message, and note that a run begins."""
        if not self._save:
            return None
        messages = state["messages"]
        last = next((one for one in reversed(messages) if _is_users(one)), None)
        refused = _refused(state, last)
        self._keep([one for one in messages if one is not last and one.id not in refused], runtime)
        return {
            "memento_running": None if last is None else last.id,
            "memento_refused": [one.id for one in messages if one.id in refused],
        }

    async def abefore_agent(
        self, state: MementoState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Keep what was said before the user's last message, and note that a run begins."""
        return await asyncio.to_thread(self.before_agent, state, runtime)

    def after_agent(self, state: MementoState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Keep what was said, and note that the run ended."""
        if not self._save:
            return None
        self._keep_said(state, runtime)
        return {"memento_running": None}

    async def aafter_agent(
        self, state: MementoState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Keep what was said, and note that the run ended."""
        return await asyncio.to_thread(self.after_agent, state, runtime)

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Keep what was said, and put what is remembered into the system message of this call."""
        self._keep_of(request)
        return handler(self._recall(request, self._wait))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Keep what was said, and put what is remembered into the system message of this call."""
        await asyncio.to_thread(self._keep_of, request)
        wait = await self._settled(request)
        return await handler(await asyncio.to_thread(self._recall, request, wait))

    async def _settled(self, request: ModelRequest[Any]) -> float:
        """Wait for the newest turns without a thread; return how long the recall waits after it."""
        asked = _asked(request)
        if asked is None or not str(asked.text).strip():
            return 0.0
        return await settle(self._view(request.runtime), self._wait)

    def _keep_of(self, request: ModelRequest[Any]) -> None:
        if self._save:
            self._keep_said(cast("MementoState", request.state), request.runtime)

    def _keep_said(self, state: MementoState, runtime: Runtime[Any]) -> None:
        refused = set(state.get("memento_refused", ()))
        self._keep([one for one in state["messages"] if one.id not in refused], runtime)

    def _recall(self, request: ModelRequest[Any], wait: float) -> ModelRequest[Any]:
        asked = _asked(request)
        if asked is None:
            return request
        view = self._view(request.runtime)
        shown = {
            piece
            for message in request.messages
            for piece in pieces(str(message.text), view.config)
        }
        hits = recall(view, str(asked.text), shown, self._k, wait)
        cut = Relevant(str(asked.text), view.config.retrieve.long)
        block = render(hits, nonce=self._nonce(asked), tokens=self._tokens, cut=cut)
        if not block:
            return request
        return request.override(system_message=_with(request.system_message, block))

    def _nonce(self, asked: BaseMessage) -> str:
        """Name the block: the same through one turn, so that providers can cache the prompt."""
        name = f"{asked.id}\0{asked.text}".encode(errors="surrogatepass")
        return blake2b(name, key=self._secret, digest_size=8).hexdigest()

    def _keep(self, messages: Iterable[AnyMessage], runtime: Runtime[Any]) -> None:
        view = self._view(runtime)
        said = {(view.namespace, one.key): one for one in _turns(messages)}
        fresh = {
            key: (one, one.drafts(view.config))
            for key, one in said.items()
            if self._kept.get(key) != one.digest
        }
        keep_drafts(view, [draft for _, drafts in fresh.values() for draft in drafts])
        forget_leftover(view, [(one, len(drafts)) for one, drafts in fresh.values()])
        self._kept.update((key, one.digest) for key, (one, _) in fresh.items())
        while len(self._kept) > REMEMBERED:
            self._kept.popitem(last=False)

    def _view(self, runtime: Runtime[Any]) -> MemoryManager:
        if self._namespace is None:
            return self._manager
        if runtime.context is None:
            raise InvalidInput(
                "context", "is missing, and the namespace is made from it: invoke(..., context=...)"
            )
        labels = self._namespace(runtime.context)
        return self._manager.of(*parse_namespace(labels))


def _turns(messages: Iterable[AnyMessage]) -> list[Turn]:
    """Name what the user and the model said.

    Only a checkpointer makes ids last. Without one the application sends the talk again, and a turn
    is called by what it says and how often that was said before.
    """
    settings = get_config().get("configurable", {})
    thread, lasting = settings.get("thread_id"), settings.get(CHECKPOINTER) is not None
    before: Counter[tuple[str, str]] = Counter()
    found = []
    for message in messages:
        if not (_is_users(message) or isinstance(message, AIMessage)):
            continue
        text = str(message.text)
        said = (message.type, text)
        name = message.id if lasting else memory_id(*said, str(before[said]))
        before[said] += 1
        found.append(Turn(message, None if thread is None else str(thread), name, text))
    return found


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


def _with(system: SystemMessage | None, block: str) -> SystemMessage:
    if system is None:
        return SystemMessage(content=block)
    if isinstance(system.content, str):
        return system.model_copy(update={"content": f"{system.content}\n\n{block}"})
    part = {"type": "text", "text": block}
    return system.model_copy(update={"content": [*system.content, part]})
