"""Memory for ``create_agent``: recall before each model call, and store each turn once.

A turn is stored after all other middleware has run, so that what ``PIIMiddleware`` removes is never
written, whatever the order of the list: the user's turn just before the model is called, the
model's before the next call or when the agent ends. Messages before the user's last one are stored
when the agent starts, before ``SummarizationMiddleware`` can drop them; but not messages that a
failed run left in the thread, which other middleware may have refused.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from itertools import takewhile
from typing import Annotated, Any, Literal, NotRequired, Self, TypeVar, cast, get_args

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import (
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
)
from langchain_core.messages import (
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
)
from langgraph.runtime import Runtime
from langgraph.types import Command

from memento import MemoryManager, Trust, Turn
from memento.check import WAIT, check_flag, member
from memento.conversation import session_of
from memento.errors import InvalidInput
from memento.frameworks import AgentMemory, Given, check_manager
from memento.prompt import TOKENS
from memento_langchain._removed import (
    Branch,
    forget_others,
    marked,
    new_branch,
    seen,
    without,
)
from memento_langchain._structured import Wanted, answered, chosen, with_words
from memento_langchain._turns import role_of, text_of, turn_of
from memento_langchain.namespaces import Namespace, Views, settings_of_run

Place = Literal["user", "system"]
OnRemove = Literal["keep", "forget"]
CHECKPOINTER = "__pregel_checkpointer"
"""Setting in which LangGraph passes the checkpointer to a run."""


NESTED = "|"
"""Separator in LangGraph's checkpoint namespace between a graph and one nested in it."""
M = TypeVar("M", bound=BaseMessage)


class MementoState(AgentState[Any]):
    """The state of runs that a thread keeps in its checkpoints.

    Attributes:
        memento_running: Id of the user's message with which the last run began; None once it ended.
        memento_refused: Ids of the messages left by runs that never ended.
        memento_branch: What the branch shows and once showed, with ``on_remove="forget"``.
    """

    memento_running: NotRequired[Annotated[str | None, PrivateStateAttr]]
    memento_refused: NotRequired[Annotated[list[str], PrivateStateAttr]]
    memento_branch: NotRequired[Annotated[Branch, PrivateStateAttr]]


class MementoMiddleware(AgentMiddleware[MementoState, Any]):
    """Lets an agent remember across threads and restarts.

    Before each model call, the memories that are relevant to the user's last message (see
    ``MemoryManager.recall``) are added after it as a data block (see ``memento.prompt``). The block
    is part of that request only, never of the thread; while the model calls tools to answer one
    message, it stays the same, byte for byte. Each turn of the user and the model is stored once,
    identified by its message id, in a session named after the thread. If the thread's id is not a
    valid session name, the name is ``thread-`` followed by 32 hexadecimal digits derived from the
    id. Once the model has answered, the memories that its answer used are recorded as used; see
    ``Feedback.cite``.

    Without a checkpointer, messages get new ids at each call. Turns are then identified by their
    text and, in a thread, by the number of earlier occurrences of that text.

    Inside another agent, the human messages are written by an LLM; see ``speaker``.

    If the store has an outage, such as a full disk, the agent continues without memory and an error
    is logged, unless ``strict``; the turns missed in the meantime are stored along with a later
    turn in the thread. A closed or read-only store and an invalid label end the run with their
    typed error.

    With a checkpointer, messages that a failed run left in the thread are stored only if the model
    was called with them; other middleware may have rejected the rest.

    Args:
        manager: The manager of the store to use.
        k: Maximum number of memories to recall, 1 to 1,000.
        tokens: Maximum number of tokens in the block, >= 1; None for no limit. Long texts are
            shortened to the passage that is relevant to the message.
        namespace: A function that returns the labels of the namespace, given ``runtime.context``,
            such as ``lambda context: ("acme", context.user_id)``, or given the context and the
            settings of the run, such as ``lambda _, settings: settings["user_id"]``; None for the
            manager's own namespace. A label may be an integer. If the result is not a valid label,
            the run ends with ``InvalidScope``.
        save: Whether to store turns and record which memories were used; with False, it only
            recalls.
        keep: Which messages to store: roles, such as ``("user",)``, or a function that decides for
            each message of the user or the model; None to store all.
        structured: Whether to also store structured answers, from an agent with ``response_format``
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
        wait: Maximum number of seconds for which a recall waits until the newest turns are
            available to semantic search, up to a day; 0 to search at once. An async agent does not
            block a thread while waiting.
        strict: Whether an outage of the store ends the run with its typed error.
        on_remove: What to do with stored messages that left the thread because they were removed
            between two runs, or because the thread continued from an earlier checkpoint: ``keep``
            or ``forget`` them, together with what was learned from them. This requires a
            checkpointer. Messages that middleware removes during a run, such as for a summary, are
            kept.

    Raises:
        InvalidInput: If an argument is invalid.
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
        on_remove: OnRemove = "keep",
    ) -> None:
        super().__init__()
        self._views = Views(check_manager(manager), namespace)
        self._memory = AgentMemory(
            manager,
            k=k,
            tokens=tokens,
            wait=wait,
            policy=policy,
            observe=observe,
            scope=scope,
            strict=strict,
            min_confidence=min_confidence,
        )
        self._save = check_flag("save", save)
        self._wanted = chosen(keep)
        self._structured = check_flag("structured", structured)
        if place not in get_args(Place):
            raise InvalidInput("place", f"must be 'user' or 'system', not {place!r}")
        self._place: Place = place
        self._speaker = None if speaker is None else member(Trust, "speaker", speaker)
        self._policy = policy
        if observe and not save:
            raise InvalidInput("observe", "requires save=True, because it learns from stored turns")
        if on_remove not in get_args(OnRemove):
            raise InvalidInput("on_remove", f"must be 'keep' or 'forget', not {on_remove!r}")
        self._forgets = on_remove == "forget"
        if self._forgets and not save:
            raise InvalidInput("on_remove", "requires save=True, because it forgets stored turns")

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Copy the settings; the copy remembers in the same place."""
        return copy.copy(self)

    def before_agent(self, state: MementoState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Store what was said before the user's last message, and record that a run begins."""
        messages = state["messages"]
        last = _asked(messages)
        if not self._save:
            return None
        refused = _refused(state, last)
        before = [one for one in messages if one is not last and one.id not in refused]
        branch = self._branch(state, begins=True)
        self._keep(before, runtime, branch, now=False)
        return {
            "memento_running": None if last is None else last.id,
            "memento_refused": [one.id for one in messages if one.id in refused],
            **self._followed(branch, messages, runtime),
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
        branch = self._branch(state)
        if self._structured:
            given = cast("dict[str, Any]", state).get("structured_response")
            last = answered(state["messages"], given)
            self._keep([] if last is None else [last], runtime, branch)
        if asked := _asked(state["messages"]):
            said = _turns(state["messages"], tools=True)
            self._of(runtime).cite(said, _thread(), asked=_name(asked))
        return {"memento_running": None, **self._followed(branch, state["messages"], runtime)}

    async def aafter_agent(
        self, state: MementoState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Store what was said, and record that the run ended and which memories its answer used."""
        return await asyncio.to_thread(self.after_agent, state, runtime)

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Store what was said, and add memories to the request."""
        self._keep_of(request)
        given = self._of(request.runtime).recall(**_question(request))
        return self._noted(request, handler(self._with(request, given)))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Store what was said, and add memories to the request."""
        await asyncio.to_thread(self._keep_of, request)
        given = await self._of(request.runtime).arecall(**_question(request))
        return self._noted(request, await handler(self._with(request, given)))

    def _keep_of(self, request: ModelRequest[Any]) -> None:
        if self._save:
            self._keep_said(cast("MementoState", request.state), request.runtime)

    def _keep_said(self, state: MementoState, runtime: Runtime[Any]) -> None:
        refused = set(state.get("memento_refused", ()))
        said = [one for one in state["messages"] if one.id not in refused]
        self._keep(said, runtime, self._branch(state))

    def _branch(self, state: MementoState, *, begins: bool = False) -> Branch | None:
        """Return the current branch of the thread; None unless removals are followed."""
        if not self._forgets or _is_inside_another() or not _has_checkpoints():
            return None
        branch = state.get("memento_branch")
        if branch is None:
            return new_branch() if begins else None
        ended = begins and state.get("memento_running") is None
        return without(branch, state["messages"]) if ended else branch

    def _followed(
        self, branch: Branch | None, messages: Sequence[AnyMessage], runtime: Runtime[Any]
    ) -> dict[str, Any]:
        """Forget what is not on the current branch; return the update of the state."""
        thread = _thread()
        if branch is None or thread is None:
            return {}
        now = seen(branch, messages)
        memory = self._of(runtime)
        with memory.outlived("forgetting what left the thread"):
            forget_others(memory.manager, session_of(thread), now)
        return {"memento_branch": now}

    def _noted(
        self, request: ModelRequest[Any], response: ModelResponse[Any]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Record the branch's messages at a model call, as a summary may replace them later."""
        state = cast("MementoState", request.state)
        branch = self._branch(state)
        if branch is None:
            return response
        update = {"memento_branch": seen(branch, state["messages"])}
        return ExtendedModelResponse(response, Command(update=update))

    def _with(self, request: ModelRequest[Any], given: Given) -> ModelRequest[Any]:
        """Return the request with the recalled memories and the head of the policy."""
        asked, ending = _asked(request.messages), given.block
        if self._place == "system" and not self._policy:
            given, ending = Given(given.block), ""
        if given.head:
            system = request.system_message or SystemMessage(content="")
            request = request.override(system_message=_put(system, given.head))
        if not ending:
            return request
        shown = [
            _put(one, ending, before=self._policy) if one is asked else one
            for one in request.messages
        ]
        return request.override(messages=shown)

    def _keep(
        self,
        messages: Iterable[AnyMessage],
        runtime: Runtime[Any],
        branch: Branch | None,
        *,
        now: bool = True,
    ) -> None:
        wanted = (one for one in messages if self._wanted is None or self._wanted(one))
        turns = _turns(with_words(wanted) if self._structured else wanted)
        if branch is not None:
            turns = [marked(one, branch["thread"]) for one in turns]
        self._of(runtime).store(turns, _thread(), now=now)

    def _of(self, runtime: Runtime[Any]) -> AgentMemory:
        """Return the memory of a run."""
        speaker = self._speaker or (Trust.AGENT if _is_inside_another() else Trust.USER)
        return self._memory.over(self._views.of_run(runtime.context), speaker)


def _turns(messages: Iterable[AnyMessage], *, tools: bool = False) -> list[Turn]:
    """Convert messages of the user and the model to turns, and if wanted those of tools.

    Ids last only with a checkpointer. Without one, the application sends the conversation again,
    and a turn is identified by its text and how often that was said before.
    """
    lasting = _has_checkpoints()
    roles = ("user", "assistant", "tool") if tools else ("user", "assistant")
    said = (one for one in messages if role_of(one) in roles and not _is_note(one))
    return [turn_of(one, lasting=lasting) for one in said]


def _has_checkpoints() -> bool:
    return settings_of_run().get(CHECKPOINTER) is not None


def _thread() -> str | None:
    thread = settings_of_run().get("thread_id")
    return None if thread is None else str(thread)


def _is_inside_another() -> bool:
    """Return whether this agent runs inside a node of another graph, such as a tool of an agent."""
    place = settings_of_run().get("checkpoint_ns", "")
    return NESTED in str(place)


def _refused(state: MementoState, last: AnyMessage | None) -> set[str | None]:
    """Return the ids of messages left by runs that never ended, except the user's last message.

    Such a run leaves the user's message with which it began, and what follows up to the user's next
    message, unless a summary has replaced them.
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


def _asked(messages: Sequence[AnyMessage]) -> AnyMessage | None:
    """Return the user's last message."""
    return next((one for one in reversed(messages) if _is_users(one)), None)


def _name(asked: BaseMessage) -> str | None:
    """Return the id and text of a message; a message edited by middleware counts as another."""
    return None if asked.id is None else repr((asked.id, text_of(asked)))


def _question(request: ModelRequest[Any]) -> dict[str, Any]:
    """Return the arguments for recalling."""
    asked = _asked(request.messages)
    return {
        "turns": _turns(request.messages, tools=True),
        "session": _thread(),
        "asked": None if asked is None else _name(asked),
    }


def _is_users(message: BaseMessage) -> bool:
    """Return whether a person wrote a message."""
    return role_of(message) == "user"


def _is_note(message: BaseMessage) -> bool:
    """Return whether LangChain wrote a message in the user's name, such as a summary."""
    return isinstance(message, HumanMessage) and "lc_source" in message.additional_kwargs


def _put(message: M, text: str, *, before: bool = False) -> M:
    """Return a copy of a message with a text appended, or prepended."""
    own = message.content
    if not isinstance(own, str):
        part = {"type": "text", "text": text}
        return message.model_copy(update={"content": [part, *own] if before else [*own, part]})
    parts = [text, own] if before else [own, text]
    return message.model_copy(update={"content": "\n\n".join(part for part in parts if part)})
