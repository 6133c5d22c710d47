"""Chat messages into memories and back: what the adapters of this package share.

A turn is kept in the short tier of its session, whence the ring buffer pushes it on. A message
that only asks is kept as a question, and recall leaves questions out: what the user once asked
looks more like the next question than the fact that answers it.
"""

from __future__ import annotations

import logging
import re
from hashlib import blake2b

from langchain_core.messages import BaseMessage

from memento import Draft, Hit, Kind, MemoryManager, Source, Tier, Trust

ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
TELLING = tuple(kind.value for kind in Kind if kind is not Kind.QUESTION)
"""The kinds that recall returns."""
QUERY_CHARS = 2_000
"""Most characters of a message that are looked up; the question is rarely longer."""
MOST = 1_000
"""Most hits asked for, however much the conversation shows."""
SETTLE = 5.0
"""Seconds to wait at most until what was just said can be found by its meaning."""
PIECE_CHARS = 16_000
"""Most characters of a turn in one memory; a longer turn is kept in pieces."""

_log = logging.getLogger("memento.langchain")
_SENTENCE = re.compile(r"[^.!?\u3002\uff01\uff1f\u061f\n]+[.!?\u3002\uff01\uff1f\u061f]*")
_ASKS = ("?", "\uff1f", "\u061f")
_GREETING_WORDS = 3


def role_of(message: BaseMessage) -> str:
    """Return the chat role of a message: ``user``, ``assistant``, ``tool`` ..."""
    return ROLES.get(message.type, message.type)


def kind_of(text: str) -> Kind:
    """Tell a mere question from a turn that says something.

    >>> kind_of("Hi! What is my dog called?").value
    'question'
    >>> kind_of("My dog is called Rex. What does he eat?").value
    'episode'
    """
    sentences = [part.strip() for part in _SENTENCE.findall(text) if part.strip()]
    asks = [sentence.endswith(_ASKS) for sentence in sentences]
    says = [
        not asking and len(sentence.split()) > _GREETING_WORDS
        for sentence, asking in zip(sentences, asks, strict=True)
    ]
    return Kind.QUESTION if any(asks) and not any(says) else Kind.EPISODE


def source_of(role: str) -> Source:
    """Say how far a turn is trusted, by who said it."""
    return Source({"user": Trust.USER, "tool": Trust.TOOL}.get(role, Trust.AGENT))


SAID = "langchain_said"
"""Metadata: digest of what the message said when it was kept, whatever the memory says by now."""


def turn(text: str, role: str, *, session: str | None, memory_id: str | None) -> Draft:
    """Make the draft of one turn; an id keeps equal turns apart, no id merges them."""
    said = blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()
    return Draft(
        text,
        Tier.SHORT,
        kind=kind_of(text),
        role=role,
        source=source_of(role),
        session=session,
        metadata={SAID: said} if memory_id else {},
        id=memory_id,
    )


def memory_id(*parts: str | None) -> str:
    """Derive a memory's id from what a message is called; equal parts, equal id."""
    return f"lc-{blake2b(repr(parts).encode(errors='surrogatepass'), digest_size=16).hexdigest()}"


def pieces(text: str) -> list[str]:
    """Cut a text into what fits a memory, and mend what no database can hold.

    Cuts fall between lines or words where there are any. A NUL or a lone surrogate becomes the
    replacement character; a blank text gives nothing.

    >>> pieces("  "), pieces("tea")
    ([], ['tea'])
    """
    clean = "".join("\ufffd" if c == "\0" or "\ud800" <= c <= "\udfff" else c for c in text)
    found: list[str] = []
    while len(clean) > PIECE_CHARS:
        gaps = (clean.rfind(gap, PIECE_CHARS // 2, PIECE_CHARS) for gap in ("\n", " "))
        cut = next((gap + 1 for gap in gaps if gap >= 0), PIECE_CHARS)
        found.append(clean[:cut])
        clean = clean[cut:]
    return [piece for piece in (*found, clean) if piece.strip()]


def settle(manager: MemoryManager) -> None:
    """Wait until what was just said is found by its meaning too, if this process can see to it.

    An agent asks right after it was told, often in other words.
    """
    if not manager.read_only:
        manager.flush(wait=True, timeout=SETTLE)


def recall(manager: MemoryManager, query: str, shown: set[str], k: int) -> list[Hit]:
    """Find the best k memories about a query that the conversation does not show anyway.

    What could not be asked is a warning in the log; the rest is found all the same.

    Args:
        manager: Where to look.
        query: A message of the user's; of a long one the beginning counts.
        shown: Texts the model sees in any case.
        k: Most hits, >= 1.
    """
    asked = query.strip()[:QUERY_CHARS]
    if not asked:
        return []
    settle(manager)
    found = manager.retrieve(asked, min(k + len(shown), MOST), kinds=TELLING)
    for tier, why in found.missing.items():
        _log.warning("recalled without the %s tier: %s", tier, why)
    return [hit for hit in found if hit.text not in shown][:k]
