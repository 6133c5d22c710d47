"""Memory for ``create_agent``: recall before each model call, keep each turn once.

Turns are kept as soon as they are there: the user's when the agent starts, the model's after each
model call. So nothing is lost when ``SummarizationMiddleware``, wherever it stands in the list,
drops old messages, nor when the run fails half way.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from hashlib import blake2b
from typing import Any

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.config import get_config
from langgraph.runtime import Runtime

from memento import Draft, MemoryManager
from memento.errors import IdConflict, InvalidInput
from memento.prompt import render
from memento_langchain._turns import MOST, SAID, memory_id, pieces, recall, role_of, turn

REMEMBERED = 10_000
"""Ids of kept turns held in RAM, so that a long thread is not offered to the ledger each time."""
SUMMARY = "Here is a summary of the conversation to date:"
"""How ``SummarizationMiddleware`` begins; older versions of langchain leave no other mark."""


class MementoMiddleware(AgentMiddleware[AgentState[Any], Any]):
    """Lets an agent remember across threads and restarts.

    Before each model call, what is remembered about the user's last message is put at the end of
    the system message, as a block of data (see ``memento.prompt``); what the conversation shows
    anyway, and what the user merely asked before, is left out. Each turn of the user and of the
    model is kept once, by the id of its message, in the session named like the thread.

    Without a checkpointer there is no thread, and messages may get new ids at each call: then
    equal turns are kept once, by their text.

    Args:
        manager: Where to keep and look.
        k: Most memories to recall, 1 to 1,000.
        tokens: Most tokens of the block, >= 1; None for no limit.
        namespace: Makes the labels of the namespace from ``runtime.context``, such as
            ``lambda context: ("acme", context.user_id)``; None for the manager's own.
        save: Whether to keep the turns; with False it only recalls.

    Raises:
        InvalidInput: If ``k`` or ``tokens`` is out of range.
    """

    def __init__(
        self,
        manager: MemoryManager,
        k: int = 8,
        *,
        tokens: int | None = None,
        namespace: Callable[[Any], str | Sequence[str]] | None = None,
        save: bool = True,
    ) -> None:
        super().__init__()
        if not 1 <= k <= MOST:
            raise InvalidInput("k", f"must be from 1 to {MOST:,}, not {k}")
        if tokens is not None and tokens < 1:
            raise InvalidInput("tokens", f"must be at least 1, not {tokens}")
        self._manager = manager
        self._k = k
        self._tokens = tokens
        self._namespace = namespace
        self._save = save
        self._secret = secrets.token_bytes(16)
        self._kept: OrderedDict[tuple[tuple[str, ...], str], str] = OrderedDict()

    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Keep what the user says."""
        self._keep(state, runtime)

    async def abefore_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Keep what the user says."""
        await asyncio.to_thread(self._keep, state, runtime)

    def after_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Keep what the model says."""
        self._keep(state, runtime)

    async def aafter_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Keep what the model says."""
        await asyncio.to_thread(self._keep, state, runtime)

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Put what is remembered into the system message of this call."""
        return handler(self._recall(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Put what is remembered into the system message of this call."""
        return await handler(await asyncio.to_thread(self._recall, request))

    def _recall(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        asked = next((m for m in reversed(request.messages) if _is_users(m)), None)
        if asked is None:
            return request
        shown = {piece for message in request.messages for piece in pieces(str(message.text))}
        hits = recall(self._view(request.runtime), str(asked.text), shown, self._k)
        block = render(hits, nonce=self._nonce(asked), tokens=self._tokens)
        if not block:
            return request
        return request.override(system_message=_with(request.system_message, block))

    def _nonce(self, asked: BaseMessage) -> str:
        """Name the block: the same through one turn, so that providers can cache the prompt."""
        name = f"{asked.id}\0{asked.text}".encode(errors="surrogatepass")
        return blake2b(name, key=self._secret, digest_size=8).hexdigest()

    def _keep(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        if not self._save:
            return
        view, thread = self._view(runtime), _thread()
        fresh = [
            draft
            for message in state["messages"]
            if _is_users(message) or isinstance(message, AIMessage)
            for draft in _drafts(message, thread)
            if self._kept.get((view.namespace, draft.id or draft.text)) != _said(draft)
        ]
        try:
            view.add_many(fresh)
        except IdConflict:  # a message was edited in the thread
            for draft in fresh:
                _keep_edited(view, draft)
        self._note(((view.namespace, draft.id or draft.text), _said(draft)) for draft in fresh)

    def _note(self, said: Iterable[tuple[tuple[tuple[str, ...], str], str]]) -> None:
        self._kept.update(said)
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
        return self._manager.of(*([labels] if isinstance(labels, str) else labels))


def _drafts(message: AnyMessage, thread: str | None) -> list[Draft]:
    """Make the memories of one message; an edited one has the same ids."""
    named = thread is not None and message.id is not None
    return [
        turn(
            piece,
            role_of(message),
            session=thread,
            memory_id=memory_id(thread, message.id, str(at)) if named else None,
        )
        for at, piece in enumerate(pieces(str(message.text)))
    ]


def _said(draft: Draft) -> str:
    return str(draft.metadata.get(SAID, ""))


def _keep_edited(view: MemoryManager, draft: Draft) -> None:
    """Keep a draft; if its message was edited since it was kept, correct the memory.

    What the thread still says as it did was corrected in the memory itself, and stays so.
    """
    try:
        view.add_many([draft])
    except IdConflict as conflict:
        kept = view.get(conflict.memory_id)
        if kept.metadata.get(SAID) != _said(draft):
            said = {**kept.metadata, **draft.metadata}
            view.update(kept.id, text=draft.text, kind=draft.kind, metadata=said)


def _is_users(message: BaseMessage) -> bool:
    """Tell what a person said from what LangChain says in the user's name, such as summaries."""
    return (
        isinstance(message, HumanMessage)
        and "lc_source" not in message.additional_kwargs
        and not str(message.text).startswith(SUMMARY)
    )


def _with(system: SystemMessage | None, block: str) -> SystemMessage:
    if system is None:
        return SystemMessage(content=block)
    if isinstance(system.content, str):
        return system.model_copy(update={"content": f"{system.content}\n\n{block}"})
    part = {"type": "text", "text": block}
    return system.model_copy(update={"content": [*system.content, part]})


def _thread() -> str | None:
    thread = get_config().get("configurable", {}).get("thread_id")
    return None if thread is None else str(thread)
