"""Rules for the text that reaches a model: how memories are rendered into a prompt."""

from memento.check import PROMPT_TOKENS as TOKENS
from memento.prompt.rendering import Cut, Relevant, escape, new_nonce, render

__all__ = ["TOKENS", "Cut", "Relevant", "escape", "new_nonce", "render"]
