"""The same manager for asyncio: every method runs in a worker thread.

There is no second implementation: each method calls the method of ``MemoryManager`` or of its views
with the same name and parameters, and you await its result. Nothing here belongs to an event loop,
so one object may serve several loops, one after the other or at the same time.

A call that waits for the indexer (``wait``) occupies no thread in the meantime: asyncio has few of
them, and the whole program needs them, for example for name look-ups.

A cancelled call is not undone. A write that has begun is finished by its thread and is on disk; a
write that has not begun never happens. In neither case does anything stay locked.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Never, ParamSpec, Self, TypeVar, Unpack

from memento.base.scopes import DEFAULT_NAMESPACE
from memento.check import TALK_TOKENS, WAIT, check_seconds
from memento.ledger.filters import filters_of
from memento.manager import MemoryManager
from memento.tiers.indexer import POLL_SECONDS
from memento.types import Trust
from memento.verbs.changes import Changes
from memento.verbs.documents import Documents
from memento.verbs.feedback import Feedback, Loop
from memento.verbs.insight import Insight
from memento.verbs.quarantine import Quarantine
from memento.verbs.rules import Rules
from memento.verbs.scopes import Scopes
from memento.verbs.session_handle import Checkpoint, CheckpointParts, Named, Resumption, SessionInfo
from memento.verbs.sessions import Session, Sessions
from memento.verbs.sleep import Sleep
from memento.verbs.slots import Slots
from memento.verbs.store import Store
from memento.views import Part, View, view_of

if TYPE_CHECKING:
    from memento.config import Config
    from memento.engine import Engine
    from memento.protocols import Clock, Embedder, Progress, Reranker
    from memento.tiers.queue import Wish
    from memento.types import Memory, Retrieval

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=Part)
C = TypeVar("C", bound=Callable[..., Any])

GLANCE = 1e-6
"""Wait of a call after `settle`, in seconds: so short that it only reports what is missing."""
FIRST_LOOK = 0.005
"""Seconds until the first check whether a flush is done; doubled after each check."""


class AsyncPart(Generic[S]):
    """A manager or a part of it whose methods run in a worker thread."""

    def __init__(self, part: S) -> None:
        self._sync = part

    def __copy__(self) -> Self:
        """Return itself: the store is not copied."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> Never:
        self._sync.__reduce__()

    def __repr__(self) -> str:
        return f"<Async{repr(self._sync)[1:]}"


async def settle(
    memory: Part, seconds: float, *, session: str | Sequence[str] | None = None
) -> float:
    """Wait as ``retrieve(wait=seconds)`` does, but without holding a thread.

    Use this in coroutines that run the sync manager in worker threads.

    Args:
        memory: The manager, or a part of it, whose namespace is searched.
        seconds: Maximum number of seconds to wait, up to a day; 0 to return at once.
        session: The session or sessions that are searched; None for all.

    Returns:
        The ``wait`` to pass to the subsequent call of ``retrieve`` or ``store.nearest``. That call
        does not wait any longer, but reports in ``missing`` what is not embedded yet. 0 if
        ``seconds`` is 0; ``seconds`` if the memory belongs to a service, which waits itself.

    Raises:
        InvalidInput: If an argument is invalid.
        StoreError: If the ledger cannot be read.
    """
    deadline = monotonic() + check_seconds("wait", seconds)
    sessions = filters_of(0, session=session).sessions
    if not seconds:
        return 0.0
    view = view_of(memory)
    if view.is_remote:
        return seconds
    engine = view.engine
    wish = await asyncio.to_thread(engine.wish, view.namespace, sessions)
    if wish is not None:
        await _fulfilled(engine, wish, deadline)
    return min(seconds, GLANCE)


async def _fulfilled(engine: Engine, wish: Wish, deadline: float) -> None:
    """Wait until a wish is fulfilled or given up, at most until a ``monotonic`` deadline."""
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


async def _drained(view: View, seconds: float | None, progress: Progress | None = None) -> bool:
    """Wait like ``flush(wait=True)``, but without occupying a thread."""
    deadline = None if seconds is None else monotonic() + seconds
    engine, pause = view.engine, FIRST_LOOK
    owed = None
    if progress is not None:
        owed = await asyncio.to_thread(engine.owed, view.namespace, progress)
    while (done := await asyncio.to_thread(engine.drained, view.namespace)) is None:
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
    method: Callable[Concatenate[S, P], R],
) -> Callable[Concatenate[AsyncPart[S], P], Coroutine[Any, Any, R]]:
    """Return a coroutine method that runs ``method`` in a worker thread."""
    verb = method.__name__

    @functools.wraps(method)
    async def run(self: AsyncPart[S], /, *args: P.args, **kwargs: P.kwargs) -> R:
        found: R = await asyncio.to_thread(getattr(self._sync, verb), *args, **kwargs)
        return found

    return _named(run, method)


async def _left(leave: Callable[..., object], *args: object) -> None:
    """Call what leaves a block in a worker thread; the task ends only when that is done.

    A cancelled scope of anyio, as of a web server whose client went away, cancels every ``await``;
    the block around this one must still not be left before.
    """
    call = functools.partial(copy_context().run, leave, *args)
    leaving = asyncio.get_running_loop().run_in_executor(None, call)
    cancelled: asyncio.CancelledError | None = None
    while not leaving.done():
        try:
            await asyncio.shield(leaving)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled from leaving.exception()
    leaving.result()


def _waiting(
    method: Callable[Concatenate[S, P], R], *, of_session: bool = True
) -> Callable[Concatenate[AsyncPart[S], P], Coroutine[Any, Any, R]]:
    """Like `_threaded`, but ``wait`` occupies no thread; it may concern one session only."""
    verb = method.__name__

    @functools.wraps(method)
    async def run(self: AsyncPart[S], /, *args: P.args, **kwargs: P.kwargs) -> R:
        given: dict[str, Any] = dict(kwargs)
        session = given.get("session") if of_session else None
        given["wait"] = await settle(self._sync, given.get("wait", WAIT), session=session)
        found: R = await asyncio.to_thread(getattr(self._sync, verb), *args, **given)
        return found

    return _named(run, method)


def _named(run: C, method: Callable[..., Any]) -> C:
    """Give a coroutine method the name and documentation of the method that it wraps."""
    owner, _, verb = method.__qualname__.partition(".")
    run.__qualname__ = f"Async{owner}.{verb}"
    run.__module__ = __name__
    run.__doc__ = f"Like ``{owner}.{verb}``, as a coroutine."
    return run


class AsyncSession(Named):
    """Like ``Session``, with methods that you await.

    Use it as a context manager: ``async with await memory.sessions.start("s1") as work``.
    """

    __slots__ = ("_sync",)

    def __init__(self, session: Session) -> None:
        super().__init__(session.id)
        self._sync = session

    async def info(self) -> SessionInfo:
        """Like ``Session.info``, as a coroutine."""
        return await asyncio.to_thread(lambda: self._sync.info)

    async def checkpoint(self, **said: Unpack[CheckpointParts]) -> Checkpoint:
        """Like ``Session.checkpoint``, as a coroutine."""
        return await asyncio.to_thread(self._sync.checkpoint, **said)

    async def resume(self, tokens: int = TALK_TOKENS) -> Resumption | None:
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
        await _left(self._sync.__exit__, kind, error, trace)


class AsyncLoop:
    """Like ``Loop``, with methods that you await.

    Use it as a context manager: ``async with await memory.feedback.loop("s1") as turn``.
    """

    __slots__ = ("_sync",)

    def __init__(self, loop: Loop) -> None:
        self._sync = loop

    @property
    def id(self) -> str:
        """Its id; another process can pass it to ``finalize``."""
        return self._sync.id

    @property
    def closed(self) -> bool:
        """Whether it was closed through this object."""
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
        await _left(self._sync.__exit__, kind, error, trace)


class AsyncChanges(AsyncPart[Changes]):
    """Like ``Changes``, with methods that you await."""

    list = _threaded(Changes.list)
    history = _threaded(Changes.history)
    head = _threaded(Changes.head)
    evolution = _threaded(Changes.evolution)
    diff = _threaded(Changes.diff)


class AsyncDocuments(AsyncPart[Documents]):
    """Like ``Documents``, with methods that you await."""

    add = _threaded(Documents.add)
    ingest = _threaded(Documents.ingest)


class AsyncFeedback(AsyncPart[Feedback]):
    """Like ``Feedback``, with methods that you await."""

    rate = _threaded(Feedback.rate)
    cite = _threaded(Feedback.cite)
    retract = _threaded(Feedback.retract)
    belief = _threaded(Feedback.belief)
    strength = _threaded(Feedback.strength)

    async def open_loop(
        self,
        session: str | None = None,
        *,
        timeout: float = 3600.0,  # noqa: ASYNC109 - the parameters of its namesake
    ) -> AsyncLoop:
        """Like ``Feedback.open_loop``, as a coroutine."""
        return AsyncLoop(await asyncio.to_thread(self._sync.open_loop, session, timeout=timeout))

    async def loop(
        self,
        session: str | None = None,
        *,
        timeout: float = 3600.0,  # noqa: ASYNC109 - the parameters of its namesake
    ) -> AsyncLoop:
        """Like ``Feedback.loop``, as a coroutine."""
        return await self.open_loop(session, timeout=timeout)

    async def finalize(
        self,
        loop: AsyncLoop | str,
        outcome: float | None = None,
        *,
        source: Trust | str = Trust.USER,
    ) -> tuple[str, ...]:
        """Like ``Feedback.finalize``, as a coroutine."""
        turn = loop._sync if isinstance(loop, AsyncLoop) else loop  # noqa: SLF001 - the turn itself
        return await asyncio.to_thread(self._sync.finalize, turn, outcome, source=source)

    async def show(self, loop: AsyncLoop | str, ids: Sequence[str]) -> None:
        """Like ``Feedback.show``, as a coroutine."""
        await asyncio.to_thread(self._sync.show, loop if isinstance(loop, str) else loop.id, ids)


class AsyncInsight(AsyncPart[Insight]):
    """Like ``Insight``, with methods that you await."""

    snapshot = _threaded(Insight.snapshot)
    timeline = _threaded(Insight.timeline)
    lineage = _threaded(Insight.lineage)
    dossier = _threaded(Insight.dossier)
    health = _threaded(Insight.health)
    wonder = _threaded(Insight.wonder)
    reason = _threaded(Insight.reason)
    related = _threaded(Insight.related)


class AsyncQuarantine(AsyncPart[Quarantine]):
    """Like ``Quarantine``, with methods that you await."""

    list = _threaded(Quarantine.list)
    approve = _threaded(Quarantine.approve)
    approve_all = _threaded(Quarantine.approve_all)
    reject = _threaded(Quarantine.reject)
    forget_source = _threaded(Quarantine.forget_source)
    restore_source = _threaded(Quarantine.restore_source)


class AsyncRules(AsyncPart[Rules]):
    """Like ``Rules``, with methods that you await."""

    policy = _threaded(Rules.policy)
    direct = _threaded(Rules.direct)
    foresee = _threaded(Rules.foresee)
    confirm = _threaded(Rules.confirm)
    doubtful = _threaded(Rules.doubtful)


class AsyncScopes(AsyncPart[Scopes]):
    """Like ``Scopes``, with methods that you await."""

    list = _threaded(Scopes.list)
    define = _threaded(Scopes.define)
    infer = _threaded(Scopes.infer)
    merge = _threaded(Scopes.merge)
    unmerge = _threaded(Scopes.unmerge)
    share = _threaded(Scopes.share)
    unshare = _threaded(Scopes.unshare)
    promote = _threaded(Scopes.promote)
    promotable = _threaded(Scopes.promotable)


class AsyncSessions(AsyncPart[Sessions]):
    """Like ``Sessions``, with methods that you await."""

    list = _threaded(Sessions.list)
    info = _threaded(Sessions.info)
    checkpoint = _threaded(Sessions.checkpoint)
    resume = _threaded(Sessions.resume)
    interrupt = _threaded(Sessions.interrupt)
    end = _threaded(Sessions.end)
    recent = _threaded(Sessions.recent)

    async def start(
        self,
        id: str | None = None,  # noqa: A002 - the field's own name
        *,
        goal: str | None = None,
        scope: str = "",
    ) -> AsyncSession:
        """Like ``Sessions.start``, as a coroutine."""
        begun = await asyncio.to_thread(self._sync.start, id, goal=goal, scope=scope)
        return AsyncSession(begun)


class AsyncSleep(AsyncPart[Sleep]):
    """Like ``Sleep``, with methods that you await."""

    run = _threaded(Sleep.run)
    stale = _threaded(Sleep.stale)
    anomalies = _threaded(Sleep.anomalies)
    archive = _threaded(Sleep.archive)
    unarchive = _threaded(Sleep.unarchive)


class AsyncSlots(AsyncPart[Slots]):
    """Like ``Slots``, with methods that you await."""

    history = _threaded(Slots.history)
    revert = _threaded(Slots.revert)
    conflicts = _threaded(Slots.conflicts)
    resolve = _threaded(Slots.resolve)


class AsyncStore(AsyncPart[Store]):
    """Like ``Store``, with methods that you await; its properties are plain."""

    stats = _threaded(Store.stats)
    namespaces = _threaded(Store.namespaces)
    backup = _threaded(Store.backup)
    export = _threaded(Store.export)
    move = _threaded(Store.move)
    sync_vault = _threaded(Store.sync_vault)
    import_from = _threaded(Store.import_from)
    doctor = _threaded(Store.doctor)
    erase = _threaded(Store.erase)
    counts = _threaded(Store.counts)
    full_id = _threaded(Store.full_id)
    sweep = _threaded(Store.sweep)
    touch = _threaded(Store.touch)
    embed = _threaded(Store.embed)
    usage = _threaded(Store.usage)
    nearest = _waiting(Store.nearest)

    @property
    def root(self) -> Path:
        """The store folder."""
        return self._sync.root

    @property
    def namespace(self) -> tuple[str, ...]:
        """Labels of the namespace that the manager reads and writes."""
        return self._sync.namespace

    @property
    def closed(self) -> bool:
        """Whether the store has been closed."""
        return self._sync.closed

    @property
    def read_only(self) -> bool:
        """Whether the store is read-only."""
        return self._sync.read_only

    @property
    def config(self) -> Config:
        """Settings with which the manager was created."""
        return self._sync.config

    @property
    def prompt_confidence(self) -> float:
        """Default ``min_confidence`` for ``prompt`` and for adapters that fill a prompt."""
        return self._sync.prompt_confidence

    @property
    def clock(self) -> Clock:
        """The clock that the manager uses."""
        return self._sync.clock

    async def reindex(
        self,
        *,
        wait: bool = False,
        timeout: float | None = None,  # noqa: ASYNC109 - the parameters of its namesake
        progress: Progress | None = None,
    ) -> int:
        """Like ``Store.reindex``, as a coroutine."""
        if wait is not True or view_of(self._sync).is_remote:
            return await asyncio.to_thread(
                self._sync.reindex, wait=wait, timeout=timeout, progress=progress
            )
        owed = await asyncio.to_thread(self._sync.reindex, progress=progress)
        await _drained(view_of(self._sync), timeout, progress)
        return owed


class AsyncMemoryManager(AsyncPart[MemoryManager]):
    """Like ``MemoryManager``, with methods that you await.

    The constructor opens the store, which takes a few milliseconds, so call it before the event
    loop is busy, or in ``asyncio.to_thread``.

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
        root: str | Path | None = None,
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
    def changes(self) -> AsyncChanges:
        """Like ``MemoryManager.changes``."""
        return AsyncChanges(self._sync.changes)

    @property
    def documents(self) -> AsyncDocuments:
        """Like ``MemoryManager.documents``."""
        return AsyncDocuments(self._sync.documents)

    @property
    def feedback(self) -> AsyncFeedback:
        """Like ``MemoryManager.feedback``."""
        return AsyncFeedback(self._sync.feedback)

    @property
    def insight(self) -> AsyncInsight:
        """Like ``MemoryManager.insight``."""
        return AsyncInsight(self._sync.insight)

    @property
    def quarantine(self) -> AsyncQuarantine:
        """Like ``MemoryManager.quarantine``."""
        return AsyncQuarantine(self._sync.quarantine)

    @property
    def rules(self) -> AsyncRules:
        """Like ``MemoryManager.rules``."""
        return AsyncRules(self._sync.rules)

    @property
    def scopes(self) -> AsyncScopes:
        """Like ``MemoryManager.scopes``."""
        return AsyncScopes(self._sync.scopes)

    @property
    def sessions(self) -> AsyncSessions:
        """Like ``MemoryManager.sessions``."""
        return AsyncSessions(self._sync.sessions)

    @property
    def sleep(self) -> AsyncSleep:
        """Like ``MemoryManager.sleep``."""
        return AsyncSleep(self._sync.sleep)

    @property
    def slots(self) -> AsyncSlots:
        """Like ``MemoryManager.slots``."""
        return AsyncSlots(self._sync.slots)

    @property
    def store(self) -> AsyncStore:
        """Like ``MemoryManager.store``."""
        return AsyncStore(self._sync.store)

    def of(self, *labels: str) -> AsyncMemoryManager:
        """Like ``MemoryManager.of``; it does no I/O, so it is not a coroutine."""
        view = object.__new__(type(self))
        view._sync = self._sync.of(*labels)
        return view

    add = _threaded(MemoryManager.add)
    add_many = _threaded(MemoryManager.add_many)
    observe = _threaded(MemoryManager.observe)
    keep = _threaded(MemoryManager.keep)
    get = _threaded(MemoryManager.get)
    list = _threaded(MemoryManager.list)
    value = _threaded(MemoryManager.value)
    update = _threaded(MemoryManager.update)
    correct = _threaded(MemoryManager.correct)
    forget = _threaded(MemoryManager.forget)
    forget_many = _threaded(MemoryManager.forget_many)
    restore = _threaded(MemoryManager.restore)
    undo = _threaded(MemoryManager.undo)
    close = _threaded(MemoryManager.close)
    retrieve = _waiting(MemoryManager.retrieve)
    prompt = _waiting(MemoryManager.prompt)
    recall = _waiting(MemoryManager.recall, of_session=False)

    async def flush(
        self,
        *,
        wait: bool = False,
        timeout: float | None = None,  # noqa: ASYNC109 - the parameters of its namesake
        progress: Progress | None = None,
    ) -> bool:
        """Like ``MemoryManager.flush``, as a coroutine."""
        if wait is not True or view_of(self._sync).is_remote:
            return await asyncio.to_thread(
                self._sync.flush, wait=wait, timeout=timeout, progress=progress
            )
        await asyncio.to_thread(self._sync.flush, timeout=timeout, progress=progress)
        return await _drained(view_of(self._sync), timeout, progress)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await _left(self._sync.close)
