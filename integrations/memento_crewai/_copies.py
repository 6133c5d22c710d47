"""Keep a memory through the copies that CrewAI makes of agents.

``Agent.copy()``, and with it ``Crew.copy()`` and ``kickoff_for_each``, dumps an agent to a
dictionary and builds another from it. Any subclass of ``Memory`` silently becomes a plain
``Memory``, with another store and an LLM. The token below travels through the dump in the field
``storage``; a plain ``Memory`` made from it becomes a ``MementoCrewMemory`` again. A plain
``Memory`` over ``MementoStorage``, given or installed, becomes a ``StrictMemory``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Self, TypeVar, cast

from crewai.memory.unified_memory import Memory

from memento import MemoryManager
from memento.errors import InvalidInput
from memento_crewai._storage import MementoStorage
from memento_crewai._strict import StrictMemory

K = TypeVar("K", bound=type[Memory])

NAME = "memento-crew-memory"
"""Text of the token; in JSON nothing else is left of it."""


class Token(str):
    """A string that stands for the store in a dump and refers to it.

    Attributes:
        manager: The store.
        strict: See ``MementoCrewMemory``.
        wait: See there.
    """

    __slots__ = ("__dict__",)
    manager: MemoryManager
    strict: bool
    wait: float

    def __new__(cls, manager: MemoryManager, *, strict: bool, wait: float) -> Self:
        """Make the token of one memory."""
        token = super().__new__(cls, NAME)
        token.manager, token.strict, token.wait = manager, strict, wait
        return token

    def __deepcopy__(self, memo: dict[int, Any]) -> Token:
        """Return itself: a store is shared, not copied."""
        return self


def reviving(kind: K) -> K:
    """Turn every plain ``Memory`` that is built from a token into a memory of this class."""
    original = cast("Callable[[Any, Any], None]", Memory.model_post_init)

    @wraps(original)
    def model_post_init(self: Any, context: Any, /) -> None:
        if self.storage != NAME:
            original(self, context)
            plain = type(self) is Memory
            if plain and isinstance(self._storage, MementoStorage):
                self.__class__ = StrictMemory
                self._failures = []
            return
        if not isinstance(self.storage, Token):
            raise InvalidInput(
                "memory",
                "was loaded from a file, which cannot contain a store; assign a "
                "MementoCrewMemory to the restored crew or agent",
            )
        self.__class__ = kind
        token = self.storage
        self.__dict__.update(manager=token.manager, strict=token.strict, wait=token.wait)
        kind.model_post_init(self, context)

    Memory.model_post_init = model_post_init  # type: ignore[method-assign, assignment]
    return kind
