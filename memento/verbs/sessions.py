"""Sessions: begin one, note where its work stands, and go on after it broke off."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from types import TracebackType
from typing import Any, Self, Unpack

from uuid_utils import uuid7

from memento.admit.redact import Redaction
from memento.base import blocks
from memento.base.clock import from_micros
from memento.base.scopes import parse_scope
from memento.check import (
    MAX_TOKENS,
    TALK_TOKENS,
    check_count,
    check_flag,
    check_text,
    check_word,
    optional_name,
    short_name,
    shown,
)
from memento.errors import InvalidInput
from memento.ledger import memories, namespaces, quotes, vectors
from memento.ledger import session_rows as rows
from memento.ledger.contract import Transaction, Work
from memento.ledger.filters import filters_of
from memento.ledger.rows import Row
from memento.ledger.schema import SEQ_MASK
from memento.ledger.session_rows import Begun, Noted
from memento.types import Draft, Kind, Memories, Memory, Source, Trust
from memento.verbs import session_extract, session_handle
from memento.verbs.session_extract import Section, render
from memento.verbs.session_handle import (
    Checkpoint,
    CheckpointKind,
    CheckpointParts,
    Named,
    Resumption,
    SessionInfo,
)
from memento.views import Part
from memento.write import session_marks

TURNS = 8
"""Maximum number of turns after the checkpoint that ``resume`` shows."""
FEW = 8
"""Maximum number of decisions, rules, preferences and plans that ``resume`` shows and an extract
quotes."""
Infos = list[SessionInfo]
Begins = list[Begun]
Notes = list[Noted]
Rows = list[Row]
"""Named here, because inside the class ``list`` is a method."""
_TOLD = [one for one in Kind if one not in (*session_extract.LEARNT, Kind.ARTICLE)]
CENTRAL_OF = 200
"""Newest turns of the user that are searched for the most central ones."""


class Session(Named):
    """A work session, as returned by ``memory.sessions.start()``.

    When it is used as a context manager, the session ends at the end of the block, or is marked as
    interrupted after an exception.

    Attributes:
        id: Name of the session; pass it as ``session`` to ``add`` and ``keep``.
    """

    __slots__ = ("_sessions",)

    def __init__(self, sessions: Sessions, session: str) -> None:
        super().__init__(session)
        self._sessions = sessions

    @property
    def info(self) -> SessionInfo:
        """The session in its current state.

        Raises:
            InvalidInput: If the session was never started or was erased.
        """
        return self._sessions.info(self.id)

    def checkpoint(self, **said: Unpack[CheckpointParts]) -> Checkpoint:
        """Save a checkpoint; see ``Sessions.checkpoint``."""
        return self._sessions.checkpoint(self.id, **said)

    def resume(self, tokens: int = TALK_TOKENS) -> Resumption | None:
        """Return where the work left off; see ``Sessions.resume``."""
        return self._sessions.resume(self.id, tokens=tokens)

    def end(self, outcome: str | None = None, summary: str | None = None) -> Memory | None:
        """End the session and store a summary of it as a memory.

        Args:
            outcome: How it ended, such as ``done`` or ``given up``.
            summary: The text to store. None for an extract of at most 150 tokens, in the session's
                words: what was decided and learned, the last next step, and the user's most central
                turns.

        Returns:
            The summary, an ``article`` in the long tier whose ``source.parents`` are the memories
            that it quotes. None if the session has no content or had already ended; then nothing
            changes.

        Raises:
            InvalidInput: If an argument is invalid.
            SecretFound: As for ``add``.
            StoreError: If the write fails.
        """
        return self._sessions.end(self.id, outcome, summary)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.end()
        else:
            self._sessions.interrupt(self.id)


class Sessions(Part):
    """Manages work sessions that can be resumed; available as ``memory.sessions``."""

    def start(
        self,
        id: str | None = None,  # noqa: A002 - the field's own name
        *,
        goal: str | None = None,
        scope: str = "",
    ) -> Session:
        """Start a session, or continue one.

        Args:
            id: Name of the session; None for a new session. An existing session is continued, even
                if it has ended.
            goal: The task in one sentence; None to leave it unchanged.
            scope: Scope in which it applies, as a path; ``""`` to leave it unchanged.

        Returns:
            The session, which is a context manager that ends the session on exit; see ``Session``.

        Raises:
            InvalidInput: If an argument is invalid.
            SecretFound: If the goal contains a secret and ``Config.secrets`` is ``"reject"``.
            StoreError: If the write fails.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     work = memory.sessions.start("s1", goal="Move the tests to pytest")
        ...     noted = work.checkpoint(done=["fixtures"], next=["parametrize test_rank.py"])
        ...     memory.sessions.resume("s1").checkpoint.next
        ('parametrize test_rank.py',)
        """
        name = str(uuid7()) if id is None else short_name("id", id)
        said = session_handle.line("goal", goal)
        clean = Redaction(self._view.engine.config.secrets)
        said, path = clean.name("goal", said), parse_scope(scope)

        owner = session_marks.name(self._view.engine.ledger)

        def job(work: Work) -> None:
            namespaces.make(work.db)
            session_marks.begin(work, name, goal=said, scope=path, owner=owner)

        self._view.write(job)
        return Session(self, name)

    def list(
        self,
        open: bool | None = None,  # noqa: A002 - the state that is asked for
        scope: str | None = None,
        limit: int = 50,
    ) -> Infos:
        """List the sessions, most recently used first.

        Sessions that were never started and appear only in the ``session`` field of memories are
        not included.

        Args:
            open: True for sessions that have not ended, False for those that have; None for all.
            scope: Only sessions in this scope or below it; None for all.
            limit: Maximum number of sessions to return, 1 to 10,000.

        Raises:
            InvalidInput: If an argument is invalid.
        """
        check_count("limit", limit)
        wanted = None if open is None else check_flag("open", open)
        path = parse_scope("" if scope is None else scope)

        def job(c: Transaction, ns: int) -> Begins:
            found = session_marks.within(c, ns, path, open_only=wanted is True)
            fitting = (one for one in found if wanted in (None, one.ended is None))
            return [*islice(fitting, limit)]

        return [self._info(one) for one in (self._view.ask(job) or [])]

    def checkpoint(
        self,
        session: str | Named,
        *,
        goal: str | None = None,
        done: Sequence[str] = (),
        next: Sequence[str] = (),  # noqa: A002 - what comes next
        blocked: Sequence[str] = (),
        files: Sequence[str] | Mapping[str, str] = (),
        note: str = "",
        kind: CheckpointKind = "task",
        data: Mapping[str, Any] | None = None,
    ) -> Checkpoint:
        """Save a checkpoint of the work in a session. It is on disk when the call returns.

        A checkpoint is not a memory: no query finds it, and only
        ``resume`` puts it into a prompt. Only the newest ``SessionConfig.checkpoints`` checkpoints
        of a session are kept. Secrets are removed, as from memories. If the session does not exist,
        it is started.

        Args:
            session: The session, or its name.
            goal: The task in one sentence; None to keep the current one.
            done: Completed work, up to 64 items of up to 1,000 characters.
            next: The next steps, in order, with the same limits.
            blocked: What blocks the work, with the same limits.
            files: Paths of the affected files, or a mapping from paths to digests that you compute.
            note: Anything else worth noting, up to 4,000 characters.
            kind: ``task``, ``decision``, ``error`` or ``compaction``. Use ``compaction`` before the
                conversation is shortened; it recompiles the session's policy.
            data: A JSON object with custom data, up to 64 kB.

        Raises:
            InvalidInput: If an argument is invalid.
            SecretFound: If the content contains a secret and ``Config.secrets`` is ``"reject"``.
            StoreError: If the write fails.
        """
        name = session_handle.name_of(session)
        clean = Redaction(self._view.engine.config.secrets)
        body: dict[str, object] = {
            "kind": check_word("kind", kind, session_marks.KINDS),
            "goal": clean.name("goal", session_handle.line("goal", goal)),
            "done": session_handle.lines("done", done, clean),
            "next": session_handle.lines("next", next, clean),
            "blocked": session_handle.lines("blocked", blocked, clean),
            "files": session_handle.files(files, clean),
            "note": clean.text("note", session_handle.note(note)),
            "data": json.loads(clean.json("data", session_handle.data(data))),
        }
        keep = self._view.engine.config.sessions.checkpoints
        owner = session_marks.name(self._view.engine.ledger)
        return _checkpoint(
            self._view.write(lambda work: session_marks.note(work, name, body, owner, keep))
        )

    def resume(
        self, session: str | Named | None = None, *, scope: str = "", tokens: int = TALK_TOKENS
    ) -> Resumption | None:
        """Return where an interrupted session left off.

        Args:
            session: The session or its name, in any state. None selects the last interrupted
                session. It must have a goal or a checkpoint, must not have ended, and its process
                must have exited or written nothing for ``SessionConfig.idle_minutes``.
            scope: Without ``session``: only sessions in this scope or below it.
            tokens: Maximum number of tokens in ``Resumption.text``, >= 1.

        Returns:
            The task, the last checkpoint, the turns since then and what was learned; None if there
            is no such session. To continue it, pass its id to ``start``.

        Raises:
            InvalidInput: If an argument is invalid.
        """
        name = None if session is None else session_handle.name_of(session)
        path = parse_scope(scope)
        check_count("tokens", tokens, most=MAX_TOKENS)
        now, settings = self._view.engine.now(), self._view.config.sessions

        def job(c: Transaction, ns: int) -> tuple[Begun, Notes, Rows, Rows, bytes | None] | None:
            if name is None:
                begun = session_marks.interrupted(c, ns, path, now, settings)
            else:
                begun = rows.find(c, ns, name)
            if begun is None:
                return None
            noted = rows.checkpoints(c, ns, begun.id, 1)
            filters = filters_of(now, session=begun.id, kind=_TOLD)
            newest = memories.select(
                c, ns, filters, memories.Page(newest_first=True, limit=2 * TURNS)
            )
            rev = noted[0].rev if noted else 0
            since = [row for row in newest if row.docid & SEQ_MASK > rev]
            return begun, noted, since[:TURNS], self._learnt(c, ns, begun.id), namespaces.read(c)

        found = self._view.ask(job)
        if found is None:
            return None
        begun, noted, since, learnt, known = found
        last = _checkpoint(noted[0]) if noted else None
        turns, told = self._view.read(reversed(since)), self._view.read(reversed(learnt))
        sections = _sections(begun.goal, last, turns, told)
        texts = [item for section in sections for item in section.items]
        tag = blocks.tag(known or b"", [self._view.namespace, begun.id, "resume"], texts)
        text, used = render(sections, tag, tokens, self._view.engine.count_tokens)
        return Resumption(self._info(begun), last, tuple(turns), tuple(told), text, used)

    def _learnt(self, c: Transaction, ns: int, session: str) -> Rows:
        """Read what was decided, learned and planned in a session, the newest first."""
        filters = filters_of(self._view.engine.now(), session=session, kind=session_extract.LEARNT)
        return memories.select(c, ns, filters, memories.Page(newest_first=True, limit=FEW))

    def _info(self, one: Begun) -> SessionInfo:
        now, settings = self._view.engine.now(), self._view.engine.config.sessions
        broken = session_marks.is_interrupted(one, now, settings)
        return SessionInfo(
            id=one.id,
            namespace=self._view.namespace,
            scope=one.scope,
            goal=one.goal,
            started_at=from_micros(one.started),
            touched_at=from_micros(one.touched),
            ended_at=None if one.ended is None else from_micros(one.ended),
            outcome=one.outcome,
            state="ended" if one.ended is not None else "interrupted" if broken else "open",
        )

    def info(self, session: str) -> SessionInfo:
        """Return the current state of a session.

        Raises:
            InvalidInput: If the session was never started or was erased.
        """
        name = short_name("session", session)
        found = self._view.ask(lambda c, ns: rows.find(c, ns, name))
        if found is None:
            raise InvalidInput(
                "session", f"{shown(session)} is not a known session; start it first"
            )
        return self._info(found)

    def end(
        self, session: str, outcome: str | None = None, summary: str | None = None
    ) -> Memory | None:
        """End a session and store a summary of it as a memory; see ``Session.end``."""
        # An extract quotes memories that were read before. If one was erased, hidden or changed
        # since, the extract is made again: what is erased must not come back as a quotation.
        clean = Redaction(self._view.engine.config.secrets)
        how = clean.name("outcome", session_handle.line("outcome", outcome))
        session = short_name("session", session)
        text = None if summary is None else check_text(summary, self._view.engine.config.limits)
        while True:
            quoted: Rows = []
            said = text
            if said is None:
                said, quoted = self._extract(session, how)
            if not said:
                self._view.write(lambda work: session_marks.end(work, session, how))
                return None
            draft = self._summary(session, said, quoted)
            guard = partial(_ended_with, session=session, outcome=how, quoted=quoted)
            quote = partial(session_marks.quote, quoted=quoted)
            try:
                kept = self._view.engine.add(
                    self._view.namespace, [draft], verb="end", guard=guard, then=quote
                )
            except _Ended:
                return None
            except _Outdated:
                continue
            return self._view.memory(kept[0])

    def interrupt(self, session: str) -> None:
        """Mark a session as interrupted: it has not ended, but nobody is working on it.

        A session used as a context manager is marked as interrupted if its block raises an
        exception.

        Args:
            session: Name of the session.

        Raises:
            InvalidInput: If the name is invalid.
            StoreError: If the write fails.
        """
        name = short_name("session", session)
        self._view.write(lambda work: session_marks.leave(work, name))

    def _summary(self, session: str, text: str, quoted: Sequence[Row]) -> Draft:
        """Make the draft of the summary of a session."""
        source = Source(Trust.AGENT)
        if quoted:
            parents = tuple(row.id for row in quoted)
            source = Source(Trust.AGENT, quotes.SESSION, parents=parents)
        return Draft(
            text=text,
            tier="long",
            kind=Kind.ARTICLE,
            scope=self.info(session).scope,
            session=session,
            source=source,
            metadata={quotes.SOURCES: quotes.digest(quoted)} if quoted else {},
        )

    def _extract(self, session: str, outcome: str | None) -> tuple[str, Rows]:
        """Write the extract of a session; returns it and the memories that it quotes."""
        filters = filters_of(self._view.engine.now(), session=session, role="user", source="user")

        def job(
            c: Transaction, ns: int
        ) -> tuple[Begun | None, list[Noted], list[Row], list[Row], dict[int, bytes]]:
            said = memories.select(
                c, ns, filters, memories.Page(newest_first=True, limit=CENTRAL_OF)
            )
            model = vectors.current_model(c)
            docids = [row.docid for row in said]
            known = {} if model is None else vectors.read(c, docids, model[0])
            noted = rows.checkpoints(c, ns, session, 1)
            return rows.find(c, ns, session), noted, self._learnt(c, ns, session), said, known

        begun, noted, *found, known = self._view.ask(job) or (None, [], [], [], {})
        if begun is None or begun.ended is not None:
            return "", []
        # an extract never expires, so it quotes nothing that does
        learnt, said = ([row for row in some if row.expires_at is None] for some in found)
        by_id = {row.id: known[row.docid] for row in said if row.docid in known}
        turns = session_extract.central(self._view.read(reversed(said)), by_id)
        steps = _checkpoint(noted[0]).next if noted else ()
        text, ids = session_extract.compose(
            begun.goal, outcome, self._view.read(reversed(learnt)), steps, turns
        )
        read = {row.id: row for row in (*said, *learnt)}
        return text, [read[one] for one in ids]

    def recent(self, n: int | None = None, *, session: str | None = None) -> Memories:
        """Return the newest memories in a session's ring buffer, oldest first.

        Args:
            n: Maximum number of memories to return; None for the entire ring buffer.
            session: The session; None for memories without one.

        Raises:
            InvalidInput: If ``n`` is not a positive whole number.
        """
        if n is not None:
            check_count("n", n)
        name = optional_name("session", session)
        if (ns := self._view.ns) is None:
            return Memories()
        return self._view.read(self._view.engine.short.recent(ns, name, n, self._view.engine.now()))


class _Ended(Exception):
    """The session had ended before."""


class _Outdated(Exception):
    """A memory that an extract quotes is no longer as it was read."""


def _ended_with(work: Work, *, session: str, outcome: str | None, quoted: Sequence[Row]) -> None:
    """End a session in the transaction that writes its summary.

    Raises:
        _Ended: If it had ended before.
        _Outdated: If a quoted memory was erased, hidden or changed since it was read.
    """
    if not session_marks.end(work, session, outcome):
        raise _Ended
    if not session_marks.are_as_read(work, quoted):
        raise _Outdated


def _sections(
    goal: str | None, last: Checkpoint | None, turns: Sequence[Memory], learnt: Sequence[Memory]
) -> list[Section]:
    """Arrange what is to be said, the most important first."""
    said = [f"{one.role or one.actor or 'note'}: {one.text}" for one in turns]
    task = [] if goal is None else [goal]
    found = [f"{one.kind}: {one.text}" for one in learnt]
    if last is None:
        parts = [Section("You were", task)]
    else:
        parts = [
            Section("You were", task),
            Section("Next", last.next),
            Section("Done, do not repeat", last.done, newest_first=True),
            Section("Blocked by", last.blocked),
            Section("Note", [last.note] if last.note else []),
            Section("Files", [*last.files]),
        ]
    return [
        *parts,
        Section("Decided and learnt", found, newest_first=True),
        Section("Since then", said, newest_first=True),
    ]


def _checkpoint(noted: Noted) -> Checkpoint:
    body = json.loads(noted.body)
    return Checkpoint(
        session=noted.session,
        number=noted.number,
        at=from_micros(noted.at),
        kind=body["kind"],
        goal=body["goal"],
        done=tuple(body["done"]),
        next=tuple(body["next"]),
        blocked=tuple(body["blocked"]),
        files=body["files"],
        note=body["note"],
        data=body["data"],
    )
