"""The verbs of the manager that conversations are made of; the manager is a room above."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from memento.config import Config
from memento.engine import Engine
from memento.policy import Relevant
from memento.types import Draft, Memory, Retrieval

Memories = list[Memory]
"""Named here, because inside the class ``list`` is a method."""


class Verbs(Protocol):
    """The methods of ``MemoryManager`` that ``keep`` and ``recall`` use; see there."""

    _engine: Engine

    @property
    def config(self) -> Config:
        """The settings."""
        ...

    @property
    def namespace(self) -> tuple[str, ...]:
        """The labels of the namespace."""
        ...

    def _cut_for(self, found: Retrieval, *, budget: bool) -> Relevant:
        """Return what shortens long memories."""
        ...

    def add_many(self, items: Sequence[Draft], *, replace: bool = False) -> Memories:
        """Remember several texts."""
        ...

    def get(self, memory_id: str, /) -> Memory:
        """Return one memory."""
        ...

    def list(self, **filters: Any) -> Memories:
        """List memories."""
        ...

    def update(self, memory_id: str, /, **changes: Any) -> Memory:
        """Change a memory."""
        ...

    def forget(self, memory_id: str, /) -> Memory:
        """Hide a memory."""
        ...

    def retrieve(self, query: str, k: int, /, **options: Any) -> Retrieval:
        """Find memories."""
        ...
