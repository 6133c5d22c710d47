"""Messages of a conversation as turns, and turns as drafts of memories. Pure.

A turn is kept in the short tier of its session; the ring buffer moves it on. A message that only
asks gets the kind ``question``, because it is more similar to the next question than the fact that
answers it.

Two things in a message are not speech and are replaced by notes: a payload, such as a picture as
base64, and a block that memento rendered for a prompt, which a front end passes back with the
question. Stored as the user's words, the block would outlive the memories that it shows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

from memento.admit import Redaction
from memento.admit.redact import redact
from memento.base import blocks
from memento.base.blocks import own_words
from memento.base.plain import composed, mended, worded
from memento.base.scopes import short_form
from memento.check import MAX_NAME, member, optional_name, short_name, type_name
from memento.config import Config
from memento.errors import InvalidInput
from memento.ledger.replays import AFTER, SAID, TURN, Told
from memento.messages import named, read
from memento.messages import trust_of as trust_of_role
from memento.text.sentences import merely_asks
from memento.types import Draft, Hit, Kind, Memory, Retrieval, Source, Tier, Trust

LEAST = 200
"""Minimum number of characters in a run of base64 that is a payload; keys and digests are
shorter."""
_URI = re.compile(
    r"""\bdata:(?:[\w.+-]{1,99}/[\w.+-]{1,99}(?:;[\w.+-]{1,99}(?:=[^\s;,]{0,99})?){0,9}|;base64)
    ,[^\s"'<>()\[\]`]*""",
    re.IGNORECASE | re.VERBOSE,
)
_RUN = re.compile(
    r"(?<![\w+/.=-])[\w+/-]{56,}(?:\r?\n[ \t]*[\w+/-]{56,})*(?:\r?\n[ \t]*[\w+/-]{4,}(?==))?={0,2}",
    re.ASCII,
)
"""Base64 on one line or on lines of equal length."""
_SORTS = [re.compile(sort) for sort in ("[a-z]", "[A-Z]", "[0-9]")]
"""Base64 of this length has all these kinds of characters; a word or a line of dashes does not."""
_AROUND = 80
"""Characters beside a run that tell whether it is part of a secret."""


def spoken(text: str) -> str:
    """Replace memento's blocks and payloads in a message by notes.

    >>> spoken("Here: data:image/png;base64,iVBORw0KGgo=")
    'Here: [data: 12 characters]'
    """
    text = blocks.hide(text)
    if "data:" in text.lower():
        text = _URI.sub(lambda found: _note(found[0].partition(",")[2]), text)
    return _RUN.sub(_run, text) if len(text) >= LEAST else text


def _run(found: re.Match[str]) -> str:
    """Replace a payload by a note; leave a secret for redaction."""
    run = found[0]
    if len(run) < LEAST or not all(sort.search(run) for sort in _SORTS):
        return run
    around = found.string[max(0, found.start() - _AROUND) : found.end() + _AROUND]
    return run if redact(around, Counter()) != around else _note(run)


def _note(payload: str) -> str:
    return f"[data: {len(payload):,} characters]"


PIECE_CHARS = 16_000
"""Maximum number of characters of a turn in one memory; a longer turn is stored in pieces."""
PIECE = "piece"
"""Metadata field that numbers the pieces of a long turn with metadata, from 1 for the second."""
_TALKING = ("user", "assistant")
"""Roles that count in ``PlacedTurn.after``; what programs add may change each time."""
_MADE = re.compile(rf"{TURN}[0-9a-f]{{32}}")


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation, for ``keep`` and ``recall``.

    Attributes:
        text: Its text; blank turns are not stored.
        role: Role of the speaker: ``user``, ``assistant``, ``tool`` or ``system``.
        id: A stable id of the message in its conversation, or None.
        actor: Name of the speaker, or None.
        trust: Trust class, if lower than that of its role; None for that of its role.
        metadata: A JSON object to store with each of its memories, such as the message in the
            format of a framework. A long turn has several memories, and those after the first are
            numbered there under ``piece``.
    """

    text: str
    role: str = "user"
    id: str | None = None
    actor: str | None = None
    trust: Trust | str | None = None
    metadata: Mapping[str, Any] | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class Recalled:
    """The result of ``recall``: memories to show to a model that continues a conversation.

    Attributes:
        block: The memories as a block for a prompt; ``""`` if none is relevant. The same memories
            always produce the same block.
        hits: The memories, best first, each text once. The block may contain fewer, as many as fit.
            With a budget, ``Hit.passage`` is the relevant part of a long text.
        missing: Each part that could not be searched, with the reason.
        confidence: Estimated probability that the hits contain an answer, [0, 1].
        query: The query that was derived from the user's last message; ``""`` if nothing was asked.
        shown: Ids of the memories in the block.
    """

    block: str = ""
    hits: tuple[Hit, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    confidence: float = 0.0
    query: str = ""
    shown: tuple[str, ...] = ()

    def as_retrieval(self) -> Retrieval:
        """Return these results as a ``Retrieval``, for ``feedback.cite`` and ``feedback.rate``."""
        return Retrieval(self.query, self.hits, self.missing, self.confidence)


def turns_of(messages: str | Iterable[str | Mapping[str, Any] | Turn]) -> list[Turn]:
    """Read the messages of a conversation.

    Args:
        messages: Turns, mappings as chat APIs have them, see ``memento.messages``, or texts of the
            user; or one text.

    Raises:
        InvalidInput: If one is none of these, does not say who speaks, or has no words where they
            are searched for; names its position.
    """
    if isinstance(messages, str):
        return [Turn(messages)]
    if isinstance(messages, bytes | Mapping) or not isinstance(messages, Iterable):
        raise InvalidInput("messages", f"must be a list of messages, not {type_name(messages)}")
    return [_turn_of(one, f"messages[{at}]") for at, one in enumerate(messages)]


def _turn_of(message: object, where: str) -> Turn:
    if isinstance(message, str | Turn):
        turn = Turn(message) if isinstance(message, str) else message
    elif isinstance(message, Mapping):
        said = read(message, where)
        actor = said.fields.get("actor", said.fields.get("name"))
        trust = message.get("trust", said.fields.get("trust"))
        name = said.fields.get("id", said.fields.get("uuid"))
        turn = Turn(said.text, said.role, name, actor, trust)
    else:
        raise InvalidInput(
            where, f"must be a Turn, a mapping or a string, not {type_name(message)}"
        )
    if not isinstance(turn.text, str):
        raise InvalidInput(where, f"text must be a string, not {type_name(turn.text)}")
    if not isinstance(turn.id, str | None):
        raise InvalidInput(where, f"id must be a string, not {type_name(turn.id)}")
    role = short_form(turn.role, MAX_NAME) if isinstance(turn.role, str) else turn.role
    role = named(short_name(f"{where} role", role))
    name = turn.actor  # a framework takes it from anywhere
    if not isinstance(name, str | None):
        raise InvalidInput(where, f"name must be a string, not {type_name(name)}")
    actor = short_form(mended(name), MAX_NAME) if name and name.strip() else None
    return replace(turn, role=role, actor=actor, id=turn.id and composed(turn.id))


@dataclass(frozen=True, slots=True)
class PlacedTurn:
    """A turn with its place in a conversation.

    Attributes:
        turn: The turn.
        session: The conversation, or None.
        name: Identifier of the turn in the conversation: a digest of its role and id, or without an
            id of its role, its text and ``count``.
        source: Its source, with its trust class.
        count: How often the same was said before; None if the turn has an id.
        after: Digest of what was said before it in this conversation, ``""`` for nothing; None if
            it has an id or may have been passed alone.
        cut: Cache of its pieces, shared with copies of the turn under other names.
    """

    turn: Turn
    session: str | None
    name: str
    source: Source
    count: int | None = None
    after: str | None = None
    cut: list[str] = field(default_factory=list, compare=False, repr=False)

    @property
    def words(self) -> str:
        """The text without blocks of memories, normalized."""
        return words_of(self.turn.text)

    @property
    def key(self) -> str:
        """Its identity: session and name; without a session and an id, its role and words."""
        if self.nameless:
            return turn_id(self.turn.role, self.words)
        return turn_id(self.session, self.name)

    @property
    def nameless(self) -> bool:
        """Whether it has neither a session nor an id."""
        return self.session is None and self.turn.id is None

    def numbered(self, count: int) -> PlacedTurn:
        """Return the turn as if the same had been said ``count`` times before."""
        return replace(self, name=turn_id(self.turn.role, self.words, str(count)), count=count)

    def pieces(self, config: Config) -> list[str]:
        """Return its pieces, see `pieces`; computed once, as searching for secrets is slow."""
        if not self.cut:
            self.cut.extend(pieces(self.turn.text, config))
        return self.cut

    def told(self, config: Config) -> dict[str, Told]:
        """Map the ids of its pieces to the digests that identify them; {} if nameless."""
        named = ((self.piece_id(at), one) for at, one in enumerate(self.pieces(config)))
        return {name: Told(digest_of(one), self.after) for name, one in named if name is not None}

    def drafts(self, config: Config) -> list[Draft]:
        """Make its memories, one per piece."""
        session = None if self.session is None else session_of(self.session)
        role = self.turn.role
        if role == "user" and self.source.kind is not Trust.USER:
            role = self.source.kind.value  # a prompt must not show it as said by the user
        return [
            Draft(
                piece,
                Tier.SHORT,
                kind=kind_of(piece),
                role=role,
                actor=self.turn.actor,
                source=self.source,
                session=session,
                metadata=self._noted(at, piece),
                id=self.piece_id(at),
            )
            for at, piece in enumerate(self.pieces(config))
        ]

    def _noted(self, at: int, piece: str) -> dict[str, Any]:
        """Return the caller's metadata, with the digests that identify a piece later."""
        given = {**(self.turn.metadata or {}), **({PIECE: at} if self.turn.metadata and at else {})}
        if self.nameless:
            return given
        after = {} if self.after is None else {AFTER: self.after}
        return {**given, SAID: digest_of(piece), **after}

    def piece_id(self, at: int) -> str | None:
        """Return the id of a piece; an edited piece keeps it. None if the turn is nameless."""
        return None if self.nameless else turn_id(self.session, self.name, str(at))


def placed(turns: Iterable[Turn], session: str | None, speaker: Trust) -> list[PlacedTurn]:
    """Give each turn its place in a conversation.

    Args:
        turns: The turns from the beginning, in order.
        session: Name of the conversation, or None.
        speaker: Trust class of turns with the role ``user``.
    """
    before: Counter[tuple[str, str]] = Counter()
    found, after = [], ""
    for one in turns:
        text = spoken(one.text)
        turn = one if text == one.text else replace(one, text=text)
        said = (turn.role, words_of(turn.text))
        named = PlacedTurn(turn, session, turn_id(turn.role, turn.id), trust_of(turn, speaker))
        if turn.id is None:
            named = replace(named.numbered(before[said]), after=after)
        found.append(named)
        before[said] += 1
        if turn.role in _TALKING and said[1]:
            after = digest_of(repr((after, *said)))
    return found


def trust_of(turn: Turn, speaker: Trust = Trust.USER) -> Source:
    """Return the source of a turn: the trust class of its role, or its own if that is lower."""
    by_role = speaker if turn.role == "user" else trust_of_role(turn.role)
    if turn.trust is None:
        return Source(by_role)
    return Source(Trust.least([by_role, member(Trust, "trust", turn.trust)]))


def kind_of(text: str) -> Kind:
    """Return ``question`` for a text that only asks, else ``episode``.

    >>> kind_of("Hi! What is my dog called?").value
    'question'
    >>> kind_of("My dog is called Rex, did you know?").value
    'episode'
    """
    return Kind.QUESTION if merely_asks(text) else Kind.EPISODE


def kept_here(memory: Memory) -> bool:
    """Return whether ``keep`` wrote a memory.

    Its id alone is no proof, since an imported file chooses ids; but everything imported has a
    source URI, and what ``keep`` writes has none.
    """
    return memory.source.uri is None and _MADE.fullmatch(memory.id) is not None


def turn_id(*parts: str | None) -> str:
    """Return an id made of the parts; equal parts give equal ids."""
    return (
        f"{TURN}{blake2b(repr(parts).encode(errors='surrogatepass'), digest_size=16).hexdigest()}"
    )


def words_of(text: str) -> str:
    """Return a text in normalized form, without notes that replaced blocks of memories."""
    return worded(own_words(text))


def digest_of(text: str) -> str:
    """Return a short digest of ``words_of`` a text."""
    return blake2b(words_of(text).encode(errors="surrogatepass"), digest_size=8).hexdigest()


def session_of(name: str) -> str:
    """Return the session for a conversation: its name, or a digest if that is no valid session.

    >>> session_of("monday"), session_of("")
    ('monday', 'thread-cae66941d9efbd404e4d88758ea67670')
    """
    try:
        return optional_name("session", name) or ""
    except InvalidInput:
        digest = blake2b(name.encode(errors="surrogatepass"), digest_size=16)
        return f"thread-{digest.hexdigest()}"


def pieces(text: str, config: Config) -> list[str]:
    """Cut a text into pieces that fit a memory, and replace what a database cannot store.

    Cuts are between lines or words if possible, and never inside a secret: a long text is redacted
    first. A blank text has no pieces.

    >>> pieces("  ", Config()), pieces("tea", Config())
    ([], ['tea'])
    """
    clean = mended(text)
    most = min(PIECE_CHARS, config.limits.text_chars)
    if len(clean) > most:
        clean = composed(Redaction(config.secrets).text("text", clean)).strip()
    found: list[str] = []
    while len(clean) > most:
        gaps = (clean.rfind(gap, most // 2, most) for gap in ("\n", " "))
        cut = next((gap + 1 for gap in gaps if gap >= 0), most)
        found.append(clean[:cut])
        clean = clean[cut:]
    return [piece for piece in (*found, clean) if own_words(piece).strip()]
