"""Hooks that recall for each call of an agent's model, and store what is said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self, Unpack

from haystack.components.agents.state.state import State
from haystack.components.agents.state.state_utils import replace_values
from haystack.dataclasses import ChatMessage
from haystack.hooks.protocol import Hook, HookPoint

from memento import MemoryManager, Turn
from memento.errors import InvalidInput
from memento.frameworks import AgentMemory, Given, RunOptions
from memento_haystack._places import arguments, written

OURS = "memento"
"""Metadata of the messages that hold what is remembered."""


def memory_hooks(
    manager: MemoryManager, **options: Unpack[RunOptions]
) -> dict[HookPoint, list[Hook]]:
    """Return hooks that give an ``Agent`` a memory: ``Agent(..., hooks=memory_hooks(manager))``.

    Before each call of the model, the memories that are relevant to the user's last message are
    added after it as a data message. While tools are called for a message, the block stays the
    same. At the end of the run, it is removed, so it is not in the result, and the turns of the
    user and the agent are stored, each once.

    Pass the conversation and the user in ``agent.run(..., hook_context={"session": "monday",
    "user": "ada"})``; without ``session``, identical texts are stored once.

    Args:
        manager: The manager of the store to use.
        options: ``namespace``, a function of the ``hook_context`` that returns labels, such as
            ``lambda context: ("acme", context["user"])``; ``k``, ``tokens``, ``wait``, ``policy``
            (its head is a system message), ``observe``, ``scope``, ``speaker`` and ``strict``, see
            ``memento.frameworks.AgentMemory``.

    Raises:
        InvalidInput: If an argument is invalid.
    """
    return {
        "before_llm": [MementoRecall(manager, **options)],
        "after_run": [MementoKeep(manager, **options)],
    }


class _MementoHook:
    """A hook with a memory."""

    def __init__(self, manager: MemoryManager, **options: Unpack[RunOptions]) -> None:
        self._options = options
        self._memory = AgentMemory(manager, **options)

    def to_dict(self) -> dict[str, Any]:
        """Write the hook; the settings of the manager are not part of it.

        Raises:
            InvalidInput: If its namespace is a function, which cannot be serialized.
        """
        if self._options.get("namespace") is not None:
            raise InvalidInput("namespace", "is a function, which cannot be serialized")
        return written(self, self._memory.manager, **self._options)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Make the hook that was written with ``to_dict``."""
        return cls(**arguments(data))

    def _of(self, state: State) -> tuple[AgentMemory, str | None]:
        """Return the memory for the user of the run, and the name of the conversation."""
        context = state.get("hook_context") or {}
        return self._memory.of(context), context.get("session")


class MementoRecall(_MementoHook):
    """Adds recalled memories after the user's last message."""

    def run(self, state: State) -> None:
        """Recall before a call of the model."""
        memory, session = self._of(state)
        said = _said(state)
        _put(state, said, memory.recall(map(_turn_of, said), session))

    async def run_async(self, state: State) -> None:
        """Recall as ``run`` does, without blocking a thread while it waits."""
        memory, session = self._of(state)
        said = _said(state)
        _put(state, said, await memory.arecall(map(_turn_of, said), session))


class MementoKeep(_MementoHook):
    """Removes the recalled memories, and stores what was said."""

    def run(self, state: State) -> None:
        """Store the conversation after a run."""
        memory, session = self._of(state)
        said = _said(state)
        state.set("messages", said, handler_override=replace_values)
        memory.keep(map(_turn_of, said), session)

    async def run_async(self, state: State) -> None:
        """Store as ``run`` does, in a worker thread."""
        memory, session = self._of(state)
        said = _said(state)
        state.set("messages", said, handler_override=replace_values)
        await memory.akeep(map(_turn_of, said), session)


def _said(state: State) -> list[ChatMessage]:
    return [one for one in state.get("messages") if OURS not in one.meta]


def _put(state: State, said: list[ChatMessage], given: Given) -> None:
    """Add the head after the system messages, and the block after the user's last message."""
    shown = list(said)
    if given.block:
        last = max(at for at, one in enumerate(said) if one.is_from("user"))
        shown.insert(last + 1, ChatMessage.from_user(given.block, meta={OURS: True}))
    if given.head:
        first = next((at for at, one in enumerate(said) if not one.is_from("system")), len(said))
        shown.insert(first, ChatMessage.from_system(given.head, meta={OURS: True}))
    state.set("messages", shown, handler_override=replace_values)


def _turn_of(message: ChatMessage) -> Turn:
    """Convert a message to a turn; a call has no text."""
    return Turn(
        "\n".join([*message.texts, *_results(message)]), message.role.value, actor=message.name
    )


def _results(message: ChatMessage) -> Iterable[str]:
    return (str(one.result) for one in message.tool_call_results)
