"""Render memories and rules into the text of a prompt."""

from memento.check import PROMPT_TOKENS as TOKENS
from memento.prompt.rendering import Cut, Relevant, escape, new_nonce, render

__all__ = ["TOKENS", "Cut", "Relevant", "escape", "new_nonce", "render"]
