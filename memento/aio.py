"""The same manager for asyncio: every method runs in a worker thread.

There is no second implementation: each method calls the method of ``MemoryManager`` with the same
name and parameters, and you await its result. Nothing here belongs to an event loop, so one object
may serve several loops, one after the other or at the same time.

A cancelled call is not undone. A write that has begun is finished by its thread and is on the disk;
a write that has not begun never happens. In both cases nothing stays locked.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Never, ParamSpec, Self, TypeVar

from memento.manager import MemoryManager
from memento.scopes import DEFAULT_NAMESPACE

if TYPE_CHECKING:
    from memento.config import Config
    from memento.protocols import Clock, Embedder, Reranker

P = ParamSpec("P")
R = TypeVar("R")


def _threaded(
    method: Callable[Concatenate[MemoryManager, P], R],
) -> Callable[Concatenate[AsyncMemoryManager, P], Coroutine[Any, Any, R]]:
    """Return a coroutine method that runs ``method`` in a worker thread."""

    @functools.wraps(method)
    async def run(self: AsyncMemoryManager, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(method, self._memory, *args, **kwargs)

    run.__qualname__ = f"AsyncMemoryManager.{method.__name__}"
    run.__module__ = __name__
    run.__doc__ = f"Like ``MemoryManager.{method.__name__}``, as a coroutine."
    return run


class AsyncMemoryManager:
    """Like ``MemoryManager``, with methods that you await.

    The constructor opens the store, which takes some milliseconds: call it before the event loop is
    busy, or in ``asyncio.to_thread``.

    >>> import asyncio, tempfile
    >>> async def talk(root):
    ...     async with AsyncMemoryManager(root, embedder=None) as memory:
    ...         await memory.add("Rami drinks tea without sugar", "long")
    ...         return (await memory.retrieve("How does Rami drink tea?"))[0].text
    >>> with tempfile.TemporaryDirectory() as root:
    ...     asyncio.run(talk(root))
    'Rami drinks tea without sugar'
    """

    def __init__(
        self,
        root: str | Path = "agent_memory",
        *,
        namespace: str | Sequence[str] = DEFAULT_NAMESPACE,
        config: Config | None = None,
        embedder: str | Embedder | None = "default",
        clock: Clock | None = None,
        reranker: Reranker | None = None,
    ) -> None:
        self._memory = MemoryManager(
            root,
            namespace=namespace,
            config=config,
            embedder=embedder,
            clock=clock,
            reranker=reranker,
        )

    @property
    def root(self) -> Path:
        """Folder of the store."""
        return self._memory.root

    @property
    def namespace(self) -> tuple[str, ...]:
        """Labels of the namespace that this manager reads and writes."""
        return self._memory.namespace

    @property
    def closed(self) -> bool:
        """Whether the store was closed."""
        return self._memory.closed

    @property
    def read_only(self) -> bool:
        """Whether the store cannot be written."""
        return self._memory.read_only

    @property
    def config(self) -> Config:
        """Settings this manager was made with."""
        return self._memory.config

    @property
    def clock(self) -> Clock:
        """The clock that this manager uses."""
        return self._memory.clock

    def of(self, *labels: str) -> AsyncMemoryManager:
        """Like ``MemoryManager.of``; it does no I/O, so it is not a coroutine."""
        view = object.__new__(type(self))
        view._memory = self._memory.of(*labels)
        return view

    add = _threaded(MemoryManager.add)
    add_many = _threaded(MemoryManager.add_many)
    add_document = _threaded(MemoryManager.add_document)
    retrieve = _threaded(MemoryManager.retrieve)
    nearest = _threaded(MemoryManager.nearest)
    embed = _threaded(MemoryManager.embed)
    prompt = _threaded(MemoryManager.prompt)  # type: ignore[arg-type]  # mypy: **filters may name self
    get = _threaded(MemoryManager.get)
    update = _threaded(MemoryManager.update)
    forget = _threaded(MemoryManager.forget)
    forget_many = _threaded(MemoryManager.forget_many)
    sweep = _threaded(MemoryManager.sweep)
    touch = _threaded(MemoryManager.touch)
    erase = _threaded(MemoryManager.erase)
    restore = _threaded(MemoryManager.restore)
    quarantine = _threaded(MemoryManager.quarantine)
    approve = _threaded(MemoryManager.approve)
    reject = _threaded(MemoryManager.reject)
    forget_source = _threaded(MemoryManager.forget_source)
    restore_source = _threaded(MemoryManager.restore_source)
    move = _threaded(MemoryManager.move)
    list = _threaded(MemoryManager.list)
    counts = _threaded(MemoryManager.counts)
    recent = _threaded(MemoryManager.recent)
    history = _threaded(MemoryManager.history)
    related = _threaded(MemoryManager.related)
    stats = _threaded(MemoryManager.stats)
    backup = _threaded(MemoryManager.backup)
    export = _threaded(MemoryManager.export)
    import_from = _threaded(MemoryManager.import_from)
    doctor = _threaded(MemoryManager.doctor)
    reindex = _threaded(MemoryManager.reindex)
    flush = _threaded(MemoryManager.flush)
    close = _threaded(MemoryManager.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __copy__(self) -> Self:
        """Like ``MemoryManager.__copy__``: a view of the same store."""
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__)
        return view

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.__copy__()

    def __reduce__(self) -> Never:
        self._memory.__reduce__()

    def __repr__(self) -> str:
        return f"<Async{repr(self._memory)[1:]}"
