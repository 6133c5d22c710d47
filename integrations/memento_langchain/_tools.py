"""Tools for agents that decide for themselves what to store, look up and correct.

A tool shows a block of data (see ``memento.prompt``) whose records name their ids. A mistake of the
model's, such as an id that does not exist or is locked, is told to the model; a store that cannot
be read or written raises its error through the agent.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Iterable
from typing import Annotated, Any, Literal

from langchain_core.tools import BaseTool, StructuredTool, ToolException

from memento import Hit, Memory, MemoryManager, Trust
from memento.aio import GLANCE, settle
from memento.check import WAIT, check_seconds, said_moment
from memento.errors import InvalidInput, LockedMemory, NotFound, UntrustedSource
from memento.frameworks import check_manager
from memento.prompt import TOKENS, Relevant, new_nonce, render
from memento_langchain.namespaces import Namespace, Views

KindName = Literal[
    "fact", "preference", "rule", "decision", "procedure", "episode", "relation", "emotion",
    "opinion", "context", "question", "article", "plan",
]  # fmt: skip
"""The members of ``memento.Kind``, for the schema that the model sees."""
Opinion = Literal["used", "ignored", "wrong", "harmful"]
"""The verdicts that an agent's word carries; it cannot confirm its own memories."""
Id = Annotated[str, "Id of a memory, as recall and search show it."]
Text = Annotated[str, "One self-contained statement that makes sense without the conversation."]
Day = Annotated[str | None, "A day or time: ISO 8601, or words such as last monday."]
Few = Annotated[int, "Maximum number of memories to return, 1 to 50."]


def memory_tools(
    manager: MemoryManager, *, wait: float = WAIT, namespace: Namespace | None = None
) -> list[BaseTool]:
    """Return the tools ``remember``, ``recall``, ``search``, ``forget``, ``correct`` and ``rate``.

    Args:
        manager: The manager of the store to use; pass ``manager.of(user)`` for the memories of one
            user.
        wait: Maximum number of seconds for which ``recall`` and ``search`` wait until the newest
            memories are available to semantic search, up to a day; 0 to search at once. An async
            agent does not block a thread while waiting.
        namespace: A function that returns the labels of the namespace for each run, as for
            ``MementoMiddleware``, so that one agent can serve many users; None for the manager's
            own namespace.

    Returns:
        The tools, to pass to an agent or bind to a model; each works in sync and async code.

    Raises:
        InvalidInput: If it is not a ``MemoryManager``, or ``wait`` is not a number of seconds.
    """
    views = Views(check_manager(manager), namespace)
    verbs = _Verbs(views, check_seconds("wait", wait))
    waited = _Verbs(views, min(wait, GLANCE))

    async def settled(query: object) -> None:
        if str(query or "").strip():
            await settle(views.of_run(), wait)

    return [
        _tool(getattr(verbs, name), getattr(waited, name), settled, views)
        for name in ("remember", "recall", "search", "forget", "correct", "rate")
    ]


class _Verbs:
    """The verbs of the tools; the model reads their docstrings."""

    def __init__(self, views: Views, wait: float) -> None:
        self._views = views
        self._wait = wait

    @property
    def _manager(self) -> MemoryManager:
        """The view for the run that calls a tool."""
        return self._views.of_run()

    def remember(
        self,
        text: Text,
        kind: Annotated[KindName, "The kind of memory."] = "fact",
        importance: Annotated[float | None, "How much it matters, 0 to 1."] = None,
    ) -> str:
        """Keep something worth knowing in later conversations."""
        kept = self._manager.add(text, kind=kind, importance=importance, source=Trust.AGENT)
        return f"Remembered as {kept.id}."

    def recall(self, query: Annotated[str, "The subject, in plain words."], k: Few = 5) -> str:
        """Recall what is remembered about something, best first."""
        return self._found(query, k)

    def search(
        self,
        query: Annotated[str | None, "Words to look for; leave out to list the newest."] = None,
        kind: Annotated[KindName | None, "Only memories of this kind."] = None,
        since: Day = None,
        until: Day = None,
        k: Few = 10,
    ) -> str:
        """Search memories by kind and time, with or without a query."""
        now = self._manager.store.clock().astimezone(self._manager.store.config.zone)
        chosen: dict[str, Any] = {
            "kind": kind,
            "since": said_moment("since", since, now),
            "until": said_moment("until", until, now),
        }
        if query is None or not query.strip():
            return self._shown(self._manager.list(newest_first=True, limit=_few(k), **chosen), "")
        return self._found(query, k, **chosen)

    def forget(self, memory_id: Id) -> str:
        """Forget a memory that is wrong or no longer wanted."""
        return f"Forgotten: {self._manager.forget(memory_id, source=Trust.AGENT).id}."

    def correct(self, memory_id: Id, text: Text) -> str:
        """Replace what a memory says; its history is kept."""
        try:
            kept = self._manager.update(memory_id, text=text, source=Trust.AGENT)
        except UntrustedSource:
            scope = self._manager.get(memory_id).scope
            kept = self._manager.add(text, scope=scope, source=Trust.AGENT, supersedes=memory_id)
            return f"Remembered as {kept.id}; {memory_id} stays until the user settles the two."
        return f"Corrected: {kept.id}."

    def rate(
        self,
        memory_id: Id,
        verdict: Annotated[Opinion, "Your opinion of the memory."],
        note: Annotated[str | None, "Why, in one sentence."] = None,
    ) -> str:
        """Say whether a memory was of use, or is wrong; it then ranks higher or lower."""
        self._manager.feedback.rate(memory_id, verdict=verdict, source=Trust.AGENT, note=note)
        return f"Rated: {memory_id}."

    def _found(self, query: str, k: int, **chosen: Any) -> str:
        found = self._manager.retrieve(query, _few(k), wait=self._wait, **chosen)
        block = self._shown(found, query)
        if found.missing:
            return f"{block}\nCould not look everywhere: {', '.join(sorted(found.missing))}."
        return block

    def _shown(self, found: Iterable[Hit | Memory], query: str) -> str:
        config = self._manager.store.config
        cut = Relevant(query, config.retrieve.long)
        block = render(
            found,
            nonce=new_nonce(),
            tokens=TOKENS,
            ids=True,
            cut=cut,
            zone=config.zone,
            query=query,
        )
        return block or "Nothing is remembered about this."


def _tool(
    verb: Callable[..., str],
    waited: Callable[..., str],
    settled: Callable[[object], Awaitable[None]],
    views: Views,
) -> BaseTool:
    """Make the tool of a verb.

    Args:
        verb: The verb.
        waited: The same verb without a wait, for async code, which has waited already.
        settled: Waits without occupying a thread, if there is a query.
        views: Chooses the namespace.
    """

    @functools.wraps(verb)
    async def arun(*args: Any, **kwargs: Any) -> str:
        await settled(kwargs.get("query"))
        return await asyncio.to_thread(_mendable(waited, views), *args, **kwargs)

    return StructuredTool.from_function(
        func=_mendable(verb, views), coroutine=arun, handle_tool_error=True
    )


def _mendable(verb: Callable[..., str], views: Views) -> Callable[..., str]:
    """Wrap a verb so that errors that the model can correct are reported to the model."""

    @functools.wraps(verb)
    def run(*args: Any, **kwargs: Any) -> str:
        views.of_run()  # an error here is the application's: raise it
        try:
            return verb(*args, **kwargs)
        except (InvalidInput, LockedMemory, NotFound) as error:
            raise ToolException(str(error)) from error

    return run


def _few(k: int) -> int:
    if not 1 <= k <= 50:  # noqa: PLR2004 - as the schema says
        raise InvalidInput("k", f"must be from 1 to 50, not {k}")
    return k
