"""Conversations: keep each turn once, and recall what bears on the next answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from memento.base.plain import composed, mended
from memento.check import (
    MAX_TOKENS,
    check_count,
    check_flag,
    check_seconds,
    check_share,
    member,
    shown,
)
from memento.conversation import keeping, recalling
from memento.conversation.keeping import keep_new
from memento.conversation.turns import (
    Recalled,
    Turn,
    kept_here,
    kind_of,
    pieces,
    placed,
    session_of,
    turns_of,
)
from memento.errors import InvalidInput
from memento.ledger.filters import Filtering, members
from memento.prompt.rendering import TOKENS
from memento.types import Kind, Trust
from memento.verbs.documents import Texts
from memento.views import Memories

__all__ = [
    "MOST",
    "Conversations",
    "Messages",
    "keep_new",
    "kept_here",
    "kind_of",
    "mended",
    "pieces",
    "session_of",
]

MOST = 1_000
"""Most memories that an adapter should put into one prompt."""

Messages = str | Iterable[str | Mapping[str, Any] | Turn]


class Conversations(Texts):
    """Verbs of the manager that keep and serve conversations."""

    def keep(
        self,
        messages: Messages,
        *,
        session: str | None = None,
        speaker: Trust | str = Trust.USER,
    ) -> Memories:
        """Keep the turns of a conversation, each exactly once, however often it is given.

        A turn is known by its session and its ``id``. Without an id it is known by its text and by
        how often that was said before, so give the conversation from its beginning. With neither a
        session nor an id, equal texts of one role are stored once.

        A turn that is edited, that is, has other words under its id, corrects its memory; the
        earlier words stay in the history. The edit of an untrusted source is quarantined beside a
        memory that was approved, and the edit of a turn that the user locked is left out.

        Nothing in a text is refused: a NUL or half of a surrogate pair becomes the replacement
        character, and a turn of more than 16,000 characters is kept in pieces. A block that memento
        rendered for a prompt is no part of what is said, and a payload, such as a picture as a
        ``data:`` URI, becomes a short note.

        A turn that was erased or forgotten stays away when it is given again, also in words that
        its message said earlier. A new message is stored, whatever its words: one with another id
        or other words, and without an id the last message of the user with what follows it, unless
        it stands behind the same turns as when it was taken out: then nobody can tell it from a
        retry. With neither a session nor an id the last message is always new, and what stands
        before it is given again.

        A turn is trusted as far as who wrote it: ``user`` as ``speaker``, ``tool`` as a tool, so it
        is quarantined by default, and everything else as an agent. Other names and spellings of
        ``tool``, such as ``function`` and ``TOOL``, are the same to this.

        Args:
            messages: The turns in order: ``Turn``, texts of the user, or mappings as chat APIs and
                frameworks have them: ``role`` and ``content``, ``type`` and ``parts``, also with
                ``id`` and ``name``; see the how-to on conversations. One that does not say who
                speaks, or holds words where none are known to be, is refused. Only blocks of text
                are kept: a file or a tool's result among the blocks is not what the speaker says,
                see ``add_document`` and ``add(source=...)``.
            session: Name of the conversation; any string.
            speaker: Who writes the turns of the role ``user``: ``agent`` if it is another agent, as
                in a subagent. These turns are then not shown as the user's.

        Returns:
            The memories, in order: one per turn, several for a long one, none for a blank or an
            erased one.

        Raises:
            InvalidInput: If an argument cannot be accepted.
            SecretFound: If a text holds a secret and ``Config.secrets`` says to refuse it.
            StoreError: If they could not be written.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     talk = [{"role": "user", "content": "My bike is red.", "id": "1"}]
        ...     for _ in range(2):
        ...         kept = memory.keep(talk, session="monday")
        ...     [one.text for one in memory.list()]
        ['My bike is red.']
        """
        said = placed(turns_of(messages), _session(session), member(Trust, "speaker", speaker))
        return keeping.keep(self, keeping.said_anew(self, said))

    def recall(
        self,
        messages: Messages,
        *,
        session: str | None = None,
        k: int = 8,
        tokens: int | None = TOKENS,
        min_confidence: float | None = None,
        fold: bool = True,
        diverse: bool = False,
        wait: float = 0.0,
        record: bool = True,
        filters: Filtering | None = None,
    ) -> Recalled:
        """Find what bears on the last message of the user, as a block for the prompt.

        The query is the last message, and beside it the last three messages of the user, which
        weigh less: so "And the sister?" is understood, and so is a new subject. After thanks or a
        greeting, and if nothing is likely to be an answer, the block is empty.

        Turns that the conversation shows are left out; give the same ``session`` and messages as to
        ``keep``. Equal texts are shown once, even if several people said them; of texts that say
        nearly the same the newest comes first and the others last. Earlier questions of the user
        come after statements, in at most a quarter of the places, and more only if they are free.

        Args:
            messages: The conversation so far, as for ``keep``; it ends with what is to be answered.
                One text is a question outside any conversation: it shows nothing that could be left
                out.
            session: Name of the conversation; memories of every session are found.
            k: Most memories, 1 to 10,000.
            tokens: Most tokens of the block, as for ``prompt``; None for no limit.
            min_confidence: Least chance that an answer is among them, [0, 1]; None for
                ``prompt_confidence``.
            fold: Show equal texts once, and near repetitions last; False shows each by itself.
            diverse: Give the places to memories that differ from each other in meaning, instead of
                to the best ones: what several agents report in other words then takes one place.
            wait: As for ``retrieve``.
            record: Record in the event log which memories the block shows.
            filters: Only memories that match; see ``Filtering``. ``without`` names memories that
                are shown already, beside those of the conversation.

        Returns:
            The block, and what was found.

        Raises:
            InvalidInput: If an argument cannot be accepted.
            StoreError: If the ledger cannot be read.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     for text in ("Bob repairs harps", "Bob's sister is Ines", "Lena's sister is Carla"):
        ...         fact = memory.add(text, "long")
        ...     talk = ["Tell me about Bob.", "And the sister?"]
        ...     memory.recall(talk, session="monday").hits[0].text
        "Bob's sister is Ines"
        """
        given = _filters(filters)
        kinds = members(Kind, "kinds", given.pop("kinds", None))
        wanted = recalling.Wanted(
            k=check_count("k", k),
            tokens=None if tokens is None else check_count("tokens", tokens, most=MAX_TOKENS),
            sure=self.prompt_confidence
            if min_confidence is None
            else check_share("min_confidence", min_confidence),
            shown=not isinstance(messages, str),
            fold=check_flag("fold", fold),
            diverse=check_flag("diverse", diverse),
            wait=check_seconds("wait", wait),
            filters=given,
            kinds=tuple(map(Kind, kinds)) or tuple(Kind),
        )
        check_flag("record", record)
        said = placed(turns_of(messages), _session(session), Trust.USER)
        found, shown = recalling.recall(self, said, wanted)
        if record and shown:
            self._engine.accessed(self._namespace, shown)
        return found


def _session(name: object) -> str | None:
    """Accept the name of a conversation: any string."""
    if not isinstance(name, str | None):
        raise InvalidInput("session", f"must be a string, not {type(name).__name__}")
    return None if name is None else composed(name)


def _filters(filters: object) -> dict[str, Any]:
    """Accept the filters of ``recall`` by name; their values are checked where they are used."""
    if filters is None:
        return {}
    if not isinstance(filters, Mapping):
        raise InvalidInput("filters", f"must map names of filters to values, not {shown(filters)}")
    for name in filters:
        if name not in Filtering.__annotations__:
            raise InvalidInput("filters", f"has no {shown(name)}; it takes what ``list`` takes")
    return dict(filters)
