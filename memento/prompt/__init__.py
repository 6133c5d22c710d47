"""Memories and rules as the text of a prompt.

rendering      the block of memories (``prompt``, ``recall``): what fits its budget, what is
               shortened (``NOTE``)
choosing       which hits a prompt shows, of a doubtful answer (``DOUBTED``, ``FEW``, ``HARDLY``)
               and as possible news (``NEWS``, ``AMONG``), and in which order
zones          the head of the policy (``rules.policy``): which zone a memory is in, their order,
               and which loses lines first; ``HEAD``, ``ORDERS``
tail           the end of the policy: what changed, holds for this message, or is open
conditions     whether the condition of a rule holds for a message; ``MANY_ITEMS``
policy_values  what ``rules.policy`` returns; titles of the zones (``ZONES``), budget (``TOKENS``)

``memento.verbs.rules`` has the tail's numbers and the cosine from which a condition holds;
``memento.base.blocks`` has the frame around the blocks.
"""

from memento.check import PROMPT_TOKENS as TOKENS
from memento.prompt.rendering import Cut, Relevant, escape, new_nonce, render

__all__ = ["TOKENS", "Cut", "Relevant", "escape", "new_nonce", "render"]
