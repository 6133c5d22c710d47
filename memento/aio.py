"""The same manager for asyncio: every method runs in a worker thread.

There is no second implementation: each method calls the method of ``MemoryManager`` or of its views
with the same name and parameters, and you await its result. Nothing here belongs to an event loop,
so one object may serve several loops, one after the other or at the same time.

A call that waits for the indexer (``wait``) holds no thread during that time: asyncio has few of
them, and name look-ups of the whole program need them too.

A cancelled call is not undone. A write that has begun is finished by its thread and is on the disk;
a write that has not begun never happens. In both cases nothing stays locked.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    Never,
    ParamSpec,
    Self,
    TypeVar,
    Unpack,
    overload,
)

from memento.base.scopes import DEFAULT_NAMESPACE
from memento.check import check_seconds
from memento.ledger.filters import filters_of
from memento.manager import MemoryManager
from memento.tiers.indexer import POLL_SECONDS
from memento.types import Trust
from memento.verbs.feedback import Loop
from memento.verbs.quarantine import QuarantineView
from memento.verbs.session_handle import TOKENS, Checkpoint, Named, Resumption, Said, SessionInfo
from memento.verbs.sessions import Session
from memento.verbs.slots import SlotValues, Versions
from memento.views import StoreView, View

if TYPE_CHECKING:
    from memento.config import Config
    from memento.engine import Engine
    from memento.protocols import Clock, Embedder, Progress, Reranker
    from memento.tiers.queue import Wish
    from memento.types import Memory, Retrieval

P = ParamSpec("P")
R = TypeVar("R")
V = TypeVar("V", bound=View)
C = TypeVar("C", bound=Callable[..., Any])

GLANCE = 1e-6
"""Wait of a call after `settle`, in seconds: so short that it only reports what is missing."""
FIRST_LOOK = 0.005
"""Seconds to the first look whether a flush is done; doubles from look to look."""


class AsyncView(Generic[V]):
    """A view whose methods run in a worker thread; its properties need no thread."""

    def __init__(self, view: V) -> None:
        self._sync = view

    @property
    def root(self) -> Path:
        """Folder of the store."""
        return self._sync.root

    @property
    def namespace(self) -> tuple[str, ...]:
        """Labels of the namespace that is read and written."""
        return self._sync.namespace

    @property
    def closed(self) -> bool:
        """Whether the store was closed."""
        return self._sync.closed

    @property
    def read_only(self) -> bool:
        """Whether the store cannot be written."""
        return self._sync.read_only

    @property
    def config(self) -> Config:
        """Settings that the manager was made with."""
        return self._sync.config

    @property
    def prompt_confidence(self) -> float:
        """Default of ``min_confidence`` for ``prompt`` and for adapters that fill a prompt."""
        return self._sync.prompt_confidence

    @property
    def clock(self) -> Clock:
        """The clock that the manager uses."""
        return self._sync.clock

    def __copy__(self) -> Self:
        """Like ``View.__copy__``: a view of the same store."""
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__)
        return view

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.__copy__()

    def __reduce__(self) -> Never:
        self._sync.__reduce__()

    def __repr__(self) -> str:
        return f"<Async{repr(self._sync)[1:]}"


async def settle(
    memory: MemoryManager, seconds: float, *, session: str | Sequence[str] | None = None
) -> float:
    """Wait as ``retrieve(wait=seconds)`` does, but without holding a thread.

    For coroutines that use the sync manager in worker threads.

    Args:
        memory: The store, and the namespace that is asked.
        seconds: Seconds to wait at most, up to a day; 0 to return at once.
        session: The session, or sessions, that are asked about; None for all.

    Returns:
        The ``wait`` for the call of ``retrieve`` or ``nearest`` that follows: no further wait, and
        reports in ``missing`` what has no vector yet, as after a wait. 0 if ``seconds`` is 0.

    Raises:
        InvalidInput: If an argument cannot be accepted.
        StoreError: If the ledger cannot be read.
    """
    deadline = monotonic() + check_seconds("wait", seconds)
    sessions = filters_of(0, session=session).sessions
    if not seconds:
        return 0.0
    engine = memory._view.engine
    wish = await asyncio.to_thread(engine.wish, memory.namespace, sessions)
    if wish is not None:
        await _fulfilled(engine, wish, deadline)
    return min(seconds, GLANCE)


async def _fulfilled(engine: Engine, wish: Wish, deadline: float) -> None:
    """Wait until a wish is fulfilled or cannot be, or until a ``monotonic`` moment."""
    bell, loop = asyncio.Event(), asyncio.get_running_loop()

    def ring() -> None:
        with suppress(RuntimeError):  # the loop was closed
            loop.call_soon_threadsafe(bell.set)

    wish.ring = ring
    with engine.indexer.wishes.hold(wish):
        while await asyncio.to_thread(engine.indexer.look, wish) is None:
            if (left := deadline - monotonic()) <= 0:
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(bell.wait(), min(POLL_SECONDS, left))
            bell.clear()


async def _drained(memory: View, seconds: float | None, progress: Progress | None = None) -> bool:
    """Wait as ``flush(wait=True)`` does, but without holding a thread."""
    deadline = None if seconds is None else monotonic() + seconds
    engine, pause = memory._view.engine, FIRST_LOOK
    owed = None
    if progress is not None:
        owed = await asyncio.to_thread(engine.owed, memory.namespace, progress)
    while (done := await asyncio.to_thread(engine.drained, memory.namespace)) is None:
        if owed is not None:
            await asyncio.to_thread(owed.glance)
        if deadline is not None and (left := deadline - monotonic()) <= 0:
            return False
        await asyncio.sleep(pause if deadline is None else min(pause, left))
        pause = min(2 * pause, POLL_SECONDS)
    if owed is not None:
        await asyncio.to_thread(owed.report)
    return done


def _threaded(
    method: Callable[Concatenate[V, P], R],
) -> Callable[Concatenate[AsyncView[V], P], Coroutine[Any, Any, R]]:
    """Return a coroutine method that runs ``method`` in a worker thread."""

    @functools.wraps(method)
    async def run(self: AsyncView[V], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(method, self._sync, *args, **kwargs)

    return _named(run, method)


def _waiting(
    method: Callable[Concatenate[MemoryManager, P], R], *, of_session: bool = True
) -> Callable[Concatenate[AsyncView[MemoryManager], P], Coroutine[Any, Any, R]]:
    """Like `_threaded`, but ``wait`` holds no thread; it may be for the given session alone."""

    @functools.wraps(method)
    async def run(self: AsyncView[MemoryManager], /, *args: P.args, **kwargs: P.kwargs) -> R:
        given: dict[str, Any] = dict(kwargs)
        if wait := given.get("wait"):
            session = given.get("session") if of_session else None
            given["wait"] = await settle(self._sync, wait, session=session)
        return await asyncio.to_thread(method, self._sync, *args, **given)

    return _named(run, method)


def _named(run: C, method: Callable[..., Any]) -> C:
    """Give a coroutine method the name and the documentation of its namesake."""
    kind, _, verb = method.__qualname__.partition(".")
    owner = kind if kind.endswith("View") else MemoryManager.__name__  # else a base of it
    run.__qualname__ = f"Async{owner}.{verb}"
    run.__module__ = __name__
    run.__doc__ = f"Like ``{owner}.{verb}``, as a coroutine."
    return run


class AsyncQuarantineView(AsyncView[QuarantineView]):
    """Like ``QuarantineView``, with methods that you await."""

    list = _threaded(QuarantineView.list)
    approve = _threaded(QuarantineView.approve)
    reject = _threaded(QuarantineView.reject)
    forget_source = _threaded(QuarantineView.forget_source)
    restore_source = _threaded(QuarantineView.restore_source)


class AsyncStoreView(AsyncView[StoreView]):
    """Like ``StoreView``, with methods that you await."""

    stats = _threaded(StoreView.stats)
    namespaces = _threaded(StoreView.namespaces)
    backup = _threaded(StoreView.backup)
    export = _threaded(StoreView.export)
    import_from = _threaded(StoreView.import_from)
    doctor = _threaded(StoreView.doctor)
    erase = _threaded(StoreView.erase)

    async def reindex(
        self,
        *,
        wait: bool = False,
        timeout: float | None = None,  # noqa: ASYNC109 - the parameters of its namesake
        progress: Progress | None = None,
    ) -> int:
        """Like ``StoreView.reindex``, as a coroutine."""
        if wait is not True:
            return await asyncio.to_thread(
                self._sync.reindex, wait=wait, timeout=timeout, progress=progress
            )
        owed = await asyncio.to_thread(self._sync.reindex, progress=progress)
        await _drained(self._sync, timeout, progress)
        return owed


class AsyncSession(Named):
    """Like ``Session``, with methods that you await.

    Use it as a context manager: ``async with await memory.session("s1") as work``.
    """

    __slots__ = ("_sync",)

    def __init__(self, session: Session) -> None:
        super().__init__(session.id)
        self._sync = session

    async def info(self) -> SessionInfo:
        """Like ``Session.info``, as a coroutine."""
        return await asyncio.to_thread(lambda: self._sync.info)

    async def checkpoint(self, **said: Unpack[Said]) -> Checkpoint:
        """Like ``Session.checkpoint``, as a coroutine."""
        return await asyncio.to_thread(self._sync.checkpoint, **said)

    async def resume(self, tokens: int = TOKENS) -> Resumption | None:
        """Like ``Session.resume``, as a coroutine."""
        return await asyncio.to_thread(self._sync.resume, tokens)

    async def end(self, outcome: str | None = None, summary: str | None = None) -> Memory | None:
        """Like ``Session.end``, as a coroutine."""
        return await asyncio.to_thread(self._sync.end, outcome, summary)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self._sync.__exit__, kind, error, trace)


class AsyncLoop:
    """Like ``Loop``, with methods that you await.

    Use it as a context manager: ``async with await memory.loop("s1") as turn``.
    """

    __slots__ = ("_sync",)

    def __init__(self, loop: Loop) -> None:
        self._sync = loop

    @property
    def id(self) -> str:
        """Its id; with it another process can ``finalize`` the turn."""
        return self._sync.id

    @property
    def closed(self) -> bool:
        """Whether it was closed with this object."""
        return self._sync.closed

    async def retrieve(self, query: str, k: int | None = 5, **options: Any) -> Retrieval:
        """Like ``Loop.retrieve``, as a coroutine."""
        return await asyncio.to_thread(self._sync.retrieve, query, k, **options)

    async def outcome(
        self, value: float, correction: str | None = None, *, source: Trust | str = Trust.USER
    ) -> Memory | None:
        """Like ``Loop.outcome``, as a coroutine."""
        return await asyncio.to_thread(self._sync.outcome, value, correction, source=source)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self._sync.__exit__, kind, error, trace)


class AsyncMemoryManager(AsyncView[MemoryManager]):
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
        memory = MemoryManager(
            root,
            namespace=namespace,
            config=config,
            embedder=embedder,
            clock=clock,
            reranker=reranker,
        )
        super().__init__(memory)

    @property
    def quarantine(self) -> AsyncQuarantineView:
        """Like ``MemoryManager.quarantine``."""
        return AsyncQuarantineView(self._sync.quarantine)

    @property
    def store(self) -> AsyncStoreView:
        """Like ``MemoryManager.store``."""
        return AsyncStoreView(self._sync.store)

    def of(self, *labels: str) -> AsyncMemoryManager:
        """Like ``MemoryManager.of``; it does no I/O, so it is not a coroutine."""
        view = object.__new__(type(self))
        view._sync = self._sync.of(*labels)
        return view

    add = _threaded(MemoryManager.add)
    add_many = _threaded(MemoryManager.add_many)
    add_document = _threaded(MemoryManager.add_document)
    retrieve = _waiting(MemoryManager.retrieve)
    nearest = _waiting(MemoryManager.nearest)
    embed = _threaded(MemoryManager.embed)
    prompt = _waiting(MemoryManager.prompt)
    keep = _threaded(MemoryManager.keep)
    recall = _waiting(MemoryManager.recall, of_session=False)
    get = _threaded(MemoryManager.get)
    update = _threaded(MemoryManager.update)
    forget = _threaded(MemoryManager.forget)
    forget_many = _threaded(MemoryManager.forget_many)
    sweep = _threaded(MemoryManager.sweep)
    touch = _threaded(MemoryManager.touch)
    restore = _threaded(MemoryManager.restore)
    move = _threaded(MemoryManager.move)
    list = _threaded(MemoryManager.list)
    counts = _threaded(MemoryManager.counts)
    recent = _threaded(MemoryManager.recent)
    value = _threaded(MemoryManager.value)
    revert = _threaded(MemoryManager.revert)
    full_id = _threaded(MemoryManager.full_id)
    related = _threaded(MemoryManager.related)
    consolidate = _threaded(MemoryManager.consolidate)
    stale = _threaded(MemoryManager.stale)
    anomalies = _threaded(MemoryManager.anomalies)
    archive = _threaded(MemoryManager.archive)
    unarchive = _threaded(MemoryManager.unarchive)
    observe = _threaded(MemoryManager.observe)
    confirm = _threaded(MemoryManager.confirm)
    direct = _threaded(MemoryManager.direct)
    foresee = _threaded(MemoryManager.foresee)
    lock = _threaded(MemoryManager.lock)
    unlock = _threaded(MemoryManager.unlock)
    conflicts = _threaded(MemoryManager.conflicts)
    resolve = _threaded(MemoryManager.resolve)
    pin = _threaded(MemoryManager.pin)
    unpin = _threaded(MemoryManager.unpin)
    feedback = _threaded(MemoryManager.feedback)
    cite = _threaded(MemoryManager.cite)
    retract = _threaded(MemoryManager.retract)
    belief = _threaded(MemoryManager.belief)
    strength = _threaded(MemoryManager.strength)
    correct = _threaded(MemoryManager.correct)
    changes = _threaded(MemoryManager.changes)
    undo = _threaded(MemoryManager.undo)
    head = _threaded(MemoryManager.head)
    evolution = _threaded(MemoryManager.evolution)
    diff = _threaded(MemoryManager.diff)
    sessions = _threaded(MemoryManager.sessions)
    resume = _threaded(MemoryManager.resume)
    checkpoint = _threaded(MemoryManager.checkpoint)
    reason = _threaded(MemoryManager.reason)
    policy = _threaded(MemoryManager.policy)
    snapshot = _threaded(MemoryManager.snapshot)
    timeline = _threaded(MemoryManager.timeline)
    lineage = _threaded(MemoryManager.lineage)
    dossier = _threaded(MemoryManager.dossier)
    health = _threaded(MemoryManager.health)
    usage = _threaded(MemoryManager.usage)
    wonder = _threaded(MemoryManager.wonder)
    scopes = _threaded(MemoryManager.scopes)
    define_scope = _threaded(MemoryManager.define_scope)
    infer_scope = _threaded(MemoryManager.infer_scope)
    merge_scopes = _threaded(MemoryManager.merge_scopes)
    unmerge = _threaded(MemoryManager.unmerge)
    share = _threaded(MemoryManager.share)
    unshare = _threaded(MemoryManager.unshare)
    promote = _threaded(MemoryManager.promote)
    promotable = _threaded(MemoryManager.promotable)
    close = _threaded(MemoryManager.close)

    async def open_loop(
        self,
        session: str | None = None,
        *,
        timeout: float = 3600.0,  # noqa: ASYNC109 - the parameters of its namesake
    ) -> AsyncLoop:
        """Like ``MemoryManager.open_loop``, as a coroutine."""
        return AsyncLoop(await asyncio.to_thread(self._sync.open_loop, session, timeout=timeout))

    async def loop(
        self,
        session: str | None = None,
        *,
        timeout: float = 3600.0,  # noqa: ASYNC109 - the parameters of its namesake
    ) -> AsyncLoop:
        """Like ``MemoryManager.loop``, as a coroutine."""
        return await self.open_loop(session, timeout=timeout)

    async def finalize(
        self,
        loop: AsyncLoop | str,
        outcome: float | None = None,
        *,
        source: Trust | str = Trust.USER,
    ) -> tuple[str, ...]:
        """Like ``MemoryManager.finalize``, as a coroutine."""
        turn = loop._sync if isinstance(loop, AsyncLoop) else loop  # noqa: SLF001 - the turn itself
        return await asyncio.to_thread(self._sync.finalize, turn, outcome, source=source)

    async def session(
        self,
        id: str | None = None,  # noqa: A002 - the field's own name
        *,
        goal: str | None = None,
        scope: str = "",
    ) -> AsyncSession:
        """Like ``MemoryManager.session``, as a coroutine."""
        begun = await asyncio.to_thread(self._sync.session, id, goal=goal, scope=scope)
        return AsyncSession(begun)

    @overload
    async def history(self, id: str, *, chain: bool = False) -> Versions: ...

    @overload
    async def history(self, *, key: str, scope: str = "") -> SlotValues: ...

    async def history(
        self,
        id: str | None = None,  # noqa: A002 - the field's own name
        *,
        key: str | None = None,
        scope: str = "",
        chain: bool = False,
    ) -> Versions | SlotValues:
        """Like ``MemoryManager.history``, as a coroutine."""
        history: Any = self._sync.history  # the checks of the overloads are the namesake's
        found: Versions | SlotValues = await asyncio.to_thread(
            history, id, key=key, scope=scope, chain=chain
        )
        return found

    async def flush(
        self,
        *,
        wait: bool = False,
        timeout: float | None = None,  # noqa: ASYNC109 - the parameters of its namesake
        progress: Progress | None = None,
    ) -> bool:
        """Like ``MemoryManager.flush``, as a coroutine."""
        if wait is not True:
            return await asyncio.to_thread(
                self._sync.flush, wait=wait, timeout=timeout, progress=progress
            )
        await asyncio.to_thread(self._sync.flush, timeout=timeout, progress=progress)
        return await _drained(self._sync, timeout, progress)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
