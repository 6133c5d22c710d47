"""Chat messages into memories and back: what the adapters of this package share.

A turn is kept in the short tier of its session, whence the ring buffer pushes it on. A message
that only asks is kept as a question, and recall gives questions few places: what the user once
asked looks more like the next question than the fact that answers it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from hashlib import blake2b

from langchain_core.messages import BaseMessage

from memento import Config, Draft, Hit, Kind, Memory, MemoryManager, Retrieval, Source, Tier, Trust
from memento.admit import Redaction
from memento.check import short_name
from memento.errors import InvalidInput
from memento.language.questions import beyond, merely_asks

ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
TELLING = tuple(kind for kind in Kind if kind is not Kind.QUESTION)
"""The kinds whose memories answer."""
ASKED = 4
"""One place in so many is for what the user asked before."""
LOOK = 50
"""Former questions looked through for one that tells something; the nearest merely ask again."""
QUERY_CHARS = 2_000
"""Most characters of a message that are looked up; the question is rarely longer."""
MOST = 1_000
"""Most hits asked for, however much the conversation shows."""
WAIT = 5.0
"""Seconds to wait at most, by default, until the latest turn is also found by its meaning.

An agent asks right after it was told, often in other words.
"""
PIECE_CHARS = 16_000
"""Most characters of a turn in one memory; a longer turn is kept in pieces."""
ID = "lc-"
"""Prefix of the ids of kept turns."""

_log = logging.getLogger("memento.langchain")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_MADE = re.compile(rf"{ID}[0-9a-f]{{32}}(-[0-9]+)?")


def role_of(message: BaseMessage) -> str:
    """Return the chat role of a message: ``user``, ``assistant``, ``tool`` ..."""
    return ROLES.get(message.type, message.type)


def kind_of(text: str) -> Kind:
    """Tell a mere question from a turn that says something.

    >>> kind_of("Hi! What is my dog called?").value
    'question'
    >>> kind_of("My dog is called Rex, did you know?").value
    'episode'
    """
    return Kind.QUESTION if merely_asks(text) else Kind.EPISODE


def source_of(role: str) -> Source:
    """Say how far a turn is trusted, by who said it."""
    return Source({"user": Trust.USER, "tool": Trust.TOOL}.get(role, Trust.AGENT))


def made_here(memory: Memory) -> bool:
    """Tell whether a class of this package wrote a memory.

    Its id alone does not tell, since a file chooses the ids of what it brings; but whatever comes
    from a file names a source (see ``_replay``), and what is written here names none.
    """
    return memory.source.uri is None and _MADE.fullmatch(memory.id) is not None


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
    return f"{ID}{blake2b(repr(parts).encode(errors='surrogatepass'), digest_size=16).hexdigest()}"


def session_of(thread: str) -> str:
    """Name the session of a thread: like it, or by its digest if no session can be called so.

    >>> session_of("monday"), session_of("")
    ('monday', 'thread-cae66941d9efbd404e4d88758ea67670')
    """
    try:
        return short_name("thread_id", thread)
    except InvalidInput:
        digest = blake2b(thread.encode(errors="surrogatepass"), digest_size=16)
        return f"thread-{digest.hexdigest()}"


def pieces(text: str, config: Config) -> list[str]:
    """Cut a text into what fits a memory, and mend what no database can hold.

    Cuts fall between lines or words where there are any, and never inside a secret: those are
    taken out before. A NUL or a lone surrogate becomes the replacement character; a blank text
    gives nothing.

    >>> pieces("  ", Config()), pieces("tea", Config())
    ([], ['tea'])
    """
    clean = _UNSTORABLE.sub("\ufffd", text)
    most = min(PIECE_CHARS, config.limits.text_chars)
    if len(clean) > most:
        clean = Redaction(config.secrets).text("text", clean)
    found: list[str] = []
    while len(clean) > most:
        gaps = (clean.rfind(gap, most // 2, most) for gap in ("\n", " "))
        cut = next((gap + 1 for gap in gaps if gap >= 0), most)
        found.append(clean[:cut])
        clean = clean[cut:]
    return [piece for piece in (*found, clean) if piece.strip()]


def recall(manager: MemoryManager, query: str, shown: set[str], k: int, wait: float) -> list[Hit]:
    """Find the best k memories about a query that the conversation does not show anyway.

    Answers come first. Former questions get the last quarter of the places, and the places left
    over, since some questions tell a fact: first those that say most beyond the query. A tier that
    could not be searched is a warning in the log; the others are searched all the same.

    Args:
        manager: Where to look.
        query: A message of the user's; of a long one the beginning counts.
        shown: Texts the model sees in any case.
        k: Most hits, >= 1.
        wait: Seconds to wait at most for the newest memories, see ``MemoryManager.retrieve``.
    """
    asked = query.strip()[:QUERY_CHARS]
    if not asked:
        return []
    room = min(k + len(shown), MOST)
    sure = manager.prompt_confidence
    found = manager.retrieve(asked, room, min_confidence=sure, kinds=TELLING, wait=wait)
    warn(found)
    before = manager.retrieve(
        asked, min(room + LOOK, MOST), min_confidence=sure, kinds=Kind.QUESTION, record=False
    )
    told, asking = _unseen(found, shown), _telling(_unseen(before, shown), asked)
    told = told[: k - min(k // ASKED, len(asking))]
    return [*told, *asking[: k - len(told)]]


def warn(found: Retrieval) -> None:
    """Log what could not be asked."""
    for tier, why in found.missing.items():
        _log.warning("recalled without the %s tier: %s", tier, why)


def _unseen(found: Retrieval, shown: set[str]) -> list[Hit]:
    return [hit for hit in found if hit.text not in shown]


def _telling(before: Sequence[Hit], query: str) -> list[Hit]:
    """Sort former questions by what they say beyond the query; what says nothing more is left out.

    Those that only ask again differ from it in little, but score highest; hence the square.
    """
    news = {hit.id: hit.score * beyond(hit.text, query) ** 2 for hit in before}
    return sorted(
        (hit for hit in before if news[hit.id] > 0), key=lambda hit: news[hit.id], reverse=True
    )


def check_manager(manager: object) -> MemoryManager:
    """Accept what the adapters stand on.

    Raises:
        InvalidInput: If it is no MemoryManager.
    """
    if not isinstance(manager, MemoryManager):
        raise InvalidInput(
            "manager",
            f"must be a MemoryManager, not {type(manager).__name__}; the adapters are sync and"
            " async over the sync one",
        )
    return manager
