"""The user's rules in the backstory of an agent."""

from __future__ import annotations

import re
from typing import TypeVar

from crewai.agents.agent_builder.base_agent import BaseAgent

from memento import MemoryManager
from memento.frameworks import check_manager

A = TypeVar("A", bound=BaseAgent)

_BLOCK = re.compile(r"(?<!\n)\n*+<policy-([0-9a-f]{12})>\n.*\n</policy-\1>\s*\Z", re.DOTALL)
"""The head of an earlier call at the end of a backstory."""


def with_policy(
    agent: A, manager: MemoryManager, *, scope: str = "", session: str | None = None
) -> A:
    """Append the head of the policy to an agent's backstory; call this before the kickoff.

    The head from an earlier call is replaced. For recall, use ``memory=``.

    Args:
        agent: The agent; its backstory is changed.
        manager: The store and namespace.
        scope: Scope in which the agent works, see ``Rules.policy``.
        session: The session whose head stays the same, or None.

    Returns:
        The same agent.

    Raises:
        InvalidInput: If an argument cannot be accepted.
        StoreError: If the store cannot be read.
    """
    head = check_manager(manager).rules.policy(scope=scope, session=session).head
    own = _BLOCK.sub("", agent.backstory)
    # CrewAI takes what stands in braces for its own variables; a JSON string can spell them apart.
    spelt = head.replace("{", "\\u007b").replace("}", "\\u007d")
    agent.backstory = f"{own}\n\n{spelt}" if spelt else own
    return agent
