"""Read the framework's messages as memento's turns."""

from __future__ import annotations

from agent_framework import Message

from memento import Turn


def turn_of(message: Message) -> Turn:
    """Convert a message to a turn; a call or a thought has no text."""
    return Turn(_text_of(message), str(message.role), actor=message.author_name)


def _text_of(message: Message) -> str:
    texts = [one.text for one in message.contents if one.type == "text"]
    if message.role == "tool":
        texts += [str(one.result) for one in message.contents if one.type == "function_result"]
    return "\n".join(text for text in texts if text)
