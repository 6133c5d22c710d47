"""Rules for the text that reaches a model: how memories are rendered into a prompt."""

from memento.policy.prompt import escape, new_nonce, render

__all__ = ["escape", "new_nonce", "render"]
