"""All settings of memento: ``Config`` combines the small configs of its parts.

The settings of the tiers and of the read path are in this folder, below the code they tune; those
of ``admit`` stand beside their code.

``Config()`` is right for most uses. ``memento.settings`` reads them from files and the environment.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import tzinfo
from enum import StrEnum
from types import MappingProxyType
from typing import Literal

from memento.admit.redact import Secrets
from memento.base.clock import zone_of
from memento.check import (
    ABOVE_0,
    MAX_INTEGER,
    Limits,
    check_count,
    check_flag,
    check_number,
    check_share,
    check_word,
    short_name,
    shown,
)
from memento.claims.settings import Conflicts
from memento.dynamics.association import Association
from memento.dynamics.formulas import Effect
from memento.dynamics.settings import Dynamics
from memento.errors import InvalidInput
from memento.protocols import Synthesizer
from memento.types import Kind, KindName, Trust, TrustName


def _check_words(field: str, value: object, known: Iterable[str]) -> None:
    if not isinstance(value, tuple):
        raise InvalidInput(field, f"must be a tuple, not {shown(value)}")
    for word in value:
        check_word(field, word, known)


class Writer(StrEnum):
    """Who writes the articles."""

    OFF = "off"
    """Nobody: no article is made by itself. ``sleep.run(steps=["articles"])`` makes them from the
    words of their sources."""
    EXTRACTIVE = "extractive"
    """memento: an article quotes its sources word for word."""


@dataclass(frozen=True, slots=True)
class Articles:
    """Settings of the step ``articles`` of the sleep.

    Attributes:
        writer: ``off`` or ``extractive``, see ``Writer``.
    """

    writer: Writer | Literal["off", "extractive"] = Writer.OFF

    def __post_init__(self) -> None:
        check_word("articles.writer", self.writer, Writer)


@dataclass(frozen=True, slots=True)
class LLMConfig:
    """The language model, if there is one, and how much of it may be used.

    The limits are those of one namespace and one day (UTC). They are hard: what a request may use
    at most is counted before it is sent, by every process of the store.

    Attributes:
        model: A name such as ``openai:gpt-5-mini``, for which ``memento.llm.PydanticAI`` is used
            and reads the key from the environment; an object with ``name`` and ``complete``; or
            None for no model.
        calls_a_day: Most requests, >= 0.
        tokens_a_day: Most tokens, sent and received, >= 0.
        seconds_a_day: Most time spent waiting for replies, seconds, >= 0.
        seconds: Most time that one task may take, seconds, > 0.
        attempts: Most requests for one task, >= 1: a reply that cannot be read, or no reply, is
            asked for again.
        background: Whether ``observe`` returns without waiting for the model. Messages are then
            shown to it one by one: after a pause, at the end of their session, and by
            ``flush(wait=True)``. Those that wait are in the ledger, and outlive the process.
        quiet_seconds: The pause after a message came, seconds, >= 0.
    """

    model: str | Synthesizer | None = None
    calls_a_day: int = 200
    tokens_a_day: int = 200_000
    seconds_a_day: float = 1800.0
    seconds: float = 30.0
    attempts: int = 2
    background: bool = False
    quiet_seconds: float = 20.0

    def __post_init__(self) -> None:
        if self.model is not None and not isinstance(self.model, str | Synthesizer):
            raise InvalidInput(
                "llm.model",
                f"must be a name, an object with name and complete, or None, not {self.model!r}",
            )
        if not isinstance(self.model, str | None) and not isinstance(self.model.name, str):
            raise InvalidInput("llm.model", f"its name must be a string, not {self.model.name!r}")
        if self.model is not None:  # it is stored with every memory that the model points at
            short_name("llm.model", self.model if isinstance(self.model, str) else self.model.name)
        check_count("llm.calls_a_day", self.calls_a_day, least=0, most=MAX_INTEGER)
        check_count("llm.tokens_a_day", self.tokens_a_day, least=0, most=MAX_INTEGER)
        check_count("llm.attempts", self.attempts)
        check_number("llm.seconds_a_day", self.seconds_a_day)
        check_number("llm.seconds", self.seconds, ABOVE_0)
        check_number("llm.quiet_seconds", self.quiet_seconds)
        check_flag("llm.background", self.background)


MODES = ("off", "assist", "full")
FORGETS = ("ask", "named", "all")


@dataclass(frozen=True, slots=True)
class ObserveConfig:
    """Settings of the learning from a conversation.

    Attributes:
        mode: ``off``: no language model is asked. ``assist``: the model of ``Config.llm`` sees
            messages with a statement in doubt, or with a correction of something that was not
            found. ``full``: it sees every message of the user. It only points at sentences.
        store_at: Least probability at which a statement is stored, (0, 1]. At 0.8 the detector was
            right about 95 of 100 sentences that it had not seen.
        forget: What a request to forget does: ``ask`` only names what it would hide; ``named``
            hides at once what fills a slot that the request names; ``all`` also hides what has
            every word that it names.
    """

    mode: Literal["off", "assist", "full"] = "off"
    store_at: float = 0.8
    forget: Literal["ask", "named", "all"] = "named"

    def __post_init__(self) -> None:
        check_word("observe.mode", self.mode, MODES)
        check_word("observe.forget", self.forget, FORGETS)
        check_number("observe.store_at", self.store_at, ABOVE_0, 1.0)


@dataclass(frozen=True, slots=True)
class PolicyConfig:
    """The way in which the policy of a prompt is compiled.

    Attributes:
        open: Most plans in the tail, >= 0.
        ahead_days: Days before it is due from which a plan is shown, >= 0.
    """

    open: int = 5
    ahead_days: int = 1

    def __post_init__(self) -> None:
        check_count("policy.open", self.open, least=0)
        check_count("policy.ahead_days", self.ahead_days, least=0)


_CALIBRATED = "all-MiniLM-L6-v2"  # the model in the package, as an embedder names it


@dataclass(frozen=True, slots=True)
class RetrieveConfig:
    """How much an answer shows, from which confidence, and what it may cost.

    Attributes:
        few: Hits if the caller does not give a number, >= 1.
        many: The same for a query that wants several memories; see `question.Query`. If it equals
            ``few``, such queries are treated like all others.
        passage: Characters shown of each memory if the query wants several and there is a token
            budget, >= 1; None to show as much as for other queries.
        long: Characters from which a memory is long, >= 1: in a prompt, and within a token budget,
            only its relevant passage is shown, of at most so many characters. 1,000 characters of
            English are about 250 tokens. None to show every memory whole; in a prompt with a budget
            one that does not fit is shortened even so.
        noise: Cosine below which a memory without any word of the query is not proposed, [-1, 1].
            With the default model and our English set, a question and an unrelated fact have a
            cosine of 0.07 on average, and one pair in twenty has more than 0.22; answers in quite
            different words begin at 0.12.
        prompt_confidence: Least chance that an answer is among the hits for ``prompt`` and the
            adapters to show any, [0, 1]; for the default embedder, for which the confidence is
            calibrated. In four development lives 0.24 keeps 93 % of the answers found, and drops
            91 % of small talk, general questions and questions about what nobody told. In stores
            of 30 memories it keeps fewer, 88 % of four of them.
        prompt_confidence_by_words: The same without an embedder. In two development lives 0.16
            keeps 87 % of the answers found, and drops 88 % of what nothing answers.
        kept_mb: Megabytes of outlines and vectors that the read path keeps in RAM between
            queries, for all namespaces together, >= 1. A namespace takes 8 KB, each of its
            memories 90 to 180 bytes, and 1.5 to 3 KB more if it is searched exactly. Namespaces
            used least recently are evicted first; reading one again takes 10 µs per memory.
        rerank: Candidates that a reranker scores, if there is one, >= 1.
    """

    few: int = 5
    many: int = 30
    passage: int | None = 240
    long: int | None = 1000
    noise: float = 0.2
    prompt_confidence: float = 0.24
    prompt_confidence_by_words: float = 0.16
    kept_mb: int = 256
    rerank: int = 30

    def __post_init__(self) -> None:
        for name in ("few", "many", "passage", "long", "kept_mb", "rerank"):
            value = getattr(self, name)
            if value is not None or name not in ("passage", "long"):
                check_count(f"retrieve.{name}", value, most=MAX_INTEGER)
        check_number("retrieve.noise", self.noise, -1.0, 1.0)
        check_share("retrieve.prompt_confidence", self.prompt_confidence)
        check_share("retrieve.prompt_confidence_by_words", self.prompt_confidence_by_words)

    def least_for(self, embedder: object) -> float:
        """Return the least confidence of hits for a prompt to show them, > 0.

        The confidence is calibrated for the default embedder and for full text alone. With another
        embedder, whose cosines lie elsewhere, only what answers nothing at all is left out.

        Args:
            embedder: Name of the embedder; None for full text alone.
        """
        if embedder is None:
            return self.prompt_confidence_by_words
        calibrated = embedder == "default" or str(embedder).startswith(_CALIBRATED)
        return self.prompt_confidence if calibrated else sys.float_info.min


@dataclass(frozen=True, slots=True)
class ScopeConfig:
    """What other namespaces share, and when a guessed scope is enough to store in it.

    Attributes:
        shared: Whether ``retrieve`` and ``rules.policy`` show what other namespaces share.
        write_at: Confidence from which ``observe`` stores in the scope that it guesses, [0, 1]; 1
            for never, as no guess is certain.
    """

    shared: bool = True
    write_at: float = 0.8

    def __post_init__(self) -> None:
        check_flag("scopes.shared", self.shared)
        check_share("scopes.write_at", self.write_at)


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """When a session counts as broken off, and how much of it is kept.

    Attributes:
        idle_minutes: Minutes without a write after which a session that has not ended counts as
            broken off, although its process may still be there, > 0.
        checkpoints: Checkpoints of a session that are kept, the newest ones, >= 1.
    """

    idle_minutes: float = 30.0
    checkpoints: int = 50

    def __post_init__(self) -> None:
        check_count("sessions.checkpoints", self.checkpoints)
        check_number("sessions.idle_minutes", self.idle_minutes, ABOVE_0)


class Auto(StrEnum):
    """How much the background thread does by itself in quiet moments."""

    IDLE = "idle"
    """It adds up uses and verdicts."""
    ALL = "all"
    """Every step of the sleep, at most once an hour for each namespace."""
    OFF = "off"
    """Nothing; uses and verdicts are added up when somebody asks for them."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """Settings of ``sleep.run``, and of how much of it happens by itself.

    Attributes:
        auto: ``idle``, ``all`` or ``off``, see ``Auto``.
        bite: Most memories that one transaction changes, 1 to 500.
        tier_share: Most memories that change their tier in one sleep, share of the active ones.
        archive_below: Retention below which a memory that nobody used may be archived, [0, 1]; 0
            for never.
        archive_share: Most memories that are archived in one sleep for that, share of the active
            ones.
        perishable: Kinds that may be archived for that.
        archive_importance: Importance from which a memory is not archived for that, [0, 1].
        most_active: Most active memories of a namespace; None for no limit. To keep it, the
            most forgotten of the perishable kinds are archived, and then the most forgotten and
            least important of the others; never one that has a key, was used, is pinned or locked.
        move_given: Whether to change a tier that the caller chose as well.
        replay: Memories that are replayed on an active day, share of the active ones, [0, 1].
        lease: Seconds after which the sleep of a process that died is taken over, >= 0.
    """

    auto: Auto | Literal["idle", "all", "off"] = Auto.IDLE
    bite: int = 200
    tier_share: float = 0.05
    archive_below: float = 0.05
    archive_share: float = 0.02
    perishable: tuple[Kind | KindName, ...] = (
        Kind.EPISODE,
        Kind.CONTEXT,
        Kind.EMOTION,
        Kind.QUESTION,
    )
    archive_importance: float = 0.5
    most_active: int | None = None
    move_given: bool = False
    replay: float = 0.01
    lease: float = 60.0

    def __post_init__(self) -> None:
        check_word("sleep.auto", self.auto, Auto)
        _check_words("sleep.perishable", self.perishable, Kind)
        check_flag("sleep.move_given", self.move_given)
        for name, (least, most) in _RANGES.items():
            check_number(f"sleep.{name}", getattr(self, name), least, most)
        check_count("sleep.bite", self.bite, most=500)
        if self.most_active is not None:
            check_count("sleep.most_active", self.most_active, most=1 << 40)


_RANGES = {
    "tier_share": (0.0, 1.0),
    "archive_below": (0.0, 1.0),
    "archive_share": (0.0, 1.0),
    "archive_importance": (0.0, 1.0),
    "replay": (0.0, 1.0),
    "lease": (0.0, 86_400.0),
}


CHATBOT = Dynamics(
    pace="slow",
    stability={
        "episode": 60.0,
        "context": 30.0,
        "question": 30.0,
        "emotion": 120.0,
        "preference": 365.0,
        "decision": 365.0,
        "procedure": 365.0,
        "article": 365.0,
    },
)
TASK_AGENT = Dynamics(
    pace="fast",
    stability={
        "episode": 7.0,
        "context": 3.0,
        "question": 3.0,
        "emotion": 14.0,
        "fact": 60.0,
        "relation": 60.0,
        "opinion": 30.0,
        "preference": 180.0,
        "decision": 180.0,
        "procedure": 180.0,
        "article": 180.0,
    },
    half_life=45.0,
)
RESEARCHER = Dynamics(
    pace="slowest",
    stability={
        "episode": 365.0,
        "context": 180.0,
        "question": 180.0,
        "emotion": 365.0,
        "fact": 1825.0,
        "relation": 1825.0,
        "opinion": 730.0,
        "preference": 1825.0,
        "decision": 1825.0,
        "procedure": 1825.0,
        "article": 1825.0,
    },
    half_life=720.0,
)
_FOUR = Sleep().perishable

PRESETS: Mapping[str, tuple[Dynamics, Sleep, Association]] = MappingProxyType(
    {
        "chatbot": (CHATBOT, Sleep(replay=0.005), Association()),
        "task agent": (
            TASK_AGENT,
            Sleep(replay=0.0, archive_below=0.10, perishable=(*_FOUR, Kind.FACT, Kind.OPINION)),
            Association(rate=0.25, budget=1.0),
        ),
        "personal assistant": (Dynamics(), Sleep(), Association()),
        "researcher": (
            RESEARCHER,
            Sleep(replay=0.02, archive_below=0.0),
            Association(rate=0.10, budget=4.0),
        ),
    }
)
"""Name of a preset to its settings; the other settings are the default ones."""


def of_preset(name: str) -> Config:
    """Return the settings of a preset."""
    dynamics, sleep, association = PRESETS[name]
    return Config(dynamics=dynamics, sleep=sleep, association=association)


@dataclass(frozen=True, slots=True)
class ShortConfig:
    """Sizes of the short tier.

    Attributes:
        capacity: Turns in the ring of a session, >= 1; older ones move to medium.
        snapshot_seconds: Longest time until a change is in the JSON snapshot, > 0.
    """

    capacity: int = 50
    snapshot_seconds: float = 5.0

    def __post_init__(self) -> None:
        check_count("short.capacity", self.capacity, most=MAX_INTEGER)
        check_number("short.snapshot_seconds", self.snapshot_seconds)


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """Pauses of the background indexer.

    Attributes:
        start_seconds: Pause before work starts, so that a burst of writes is processed together
            and a short-lived process ends before the model is loaded, >= 0.
        poll_seconds: Seconds between checks for writes of other processes, > 0.
        retry_seconds: First pause after a failure; doubles up to 60 s, > 0.
    """

    start_seconds: float = 0.05
    poll_seconds: float = 0.5
    retry_seconds: float = 1.0

    def __post_init__(self) -> None:
        check_number("index.start_seconds", self.start_seconds)
        check_number("index.poll_seconds", self.poll_seconds, ABOVE_0)
        check_number("index.retry_seconds", self.retry_seconds, ABOVE_0)


class LongIndex(StrEnum):
    """The choice of the index that answers a search by meaning."""

    AUTO = "auto"
    """Exact search up to 12,000 vectors, Chroma beyond, where this process has it open."""
    CHROMA = "chroma"
    """Chroma, unless its answer would be incomplete."""
    EXACT = "exact"
    """Always exact search."""


@dataclass(frozen=True, slots=True)
class Config:
    """Settings of one store.

    Attributes:
        limits: Largest texts and metadata that ``add`` accepts.
        secrets: ``redact``, ``reject`` or ``allow``: how to treat an API key or password in a text
            to remember, see ``memento.admit.redact``.
        untrusted: Sources whose memories are quarantined until approved, cannot be rules and cannot
            be pinned: values of ``Trust``; empty to trust all sources equally.
        short: Ring buffers and their snapshot.
        index: The background indexer.
        long_index: ``auto``, ``chroma`` or ``exact``: the index that answers a search by meaning.
        retrieve: Ranking.
        dynamics: How uses and verdicts turn into strengths.
        effect: How these strengths move memories in an answer.
        sessions: When a session counts as broken off, and how much of it is kept.
        conflicts: What happens when two statements conflict.
        association: How memories that are used together are linked.
        sleep: What ``sleep.run`` does, and how much of it happens by itself.
        articles: What the sleep writes about topics of which it knows several statements.
        observe: The learning from a conversation.
        policy: How the policy of a prompt is compiled.
        llm: The language model, if there is one, and how much of it may be used.
        scopes: Guesses of a scope, promotions, and whether shared memories are seen.
        close_seconds: Longest time, in seconds, that ``close`` lets the indexer finish its current
            batch, and a language model in the background its request, >= 0.
        allow_network: Whether the store may be on a file system that is not known to be local,
            where a second machine or a second process can damage it without notice.
        timezone: IANA name of the user's time zone, such as ``Asia/Tokyo``. Its days are meant by
            "yesterday" or "in December" in a query, by the dates in a prompt, and by a moment
            without a zone on the command line. Moments are stored in UTC, whatever it is.
    """

    limits: Limits = field(default_factory=Limits)
    secrets: Secrets | Literal["redact", "reject", "allow"] = Secrets.REDACT
    untrusted: tuple[Trust | TrustName, ...] = (Trust.TOOL, Trust.WEB, Trust.IMPORT)
    short: ShortConfig = field(default_factory=ShortConfig)
    index: IndexConfig = field(default_factory=IndexConfig)
    long_index: LongIndex | Literal["auto", "chroma", "exact"] = LongIndex.AUTO
    retrieve: RetrieveConfig = field(default_factory=RetrieveConfig)
    dynamics: Dynamics = field(default_factory=Dynamics)
    effect: Effect = field(default_factory=Effect)
    association: Association = field(default_factory=Association)
    sessions: SessionConfig = field(default_factory=SessionConfig)
    conflicts: Conflicts = field(default_factory=Conflicts)
    sleep: Sleep = field(default_factory=Sleep)
    articles: Articles = field(default_factory=Articles)
    observe: ObserveConfig = field(default_factory=ObserveConfig)
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    llm: LLMConfig = field(default_factory=LLMConfig)
    scopes: ScopeConfig = field(default_factory=ScopeConfig)
    close_seconds: float = 10.0
    allow_network: bool = False
    timezone: str = "UTC"

    def __post_init__(self) -> None:
        self._check_parts()
        check_word("long_index", self.long_index, LongIndex)
        check_word("secrets", self.secrets, Secrets)
        zone_of(self.timezone)
        _check_words("untrusted", self.untrusted, Trust)
        check_number("close_seconds", self.close_seconds)
        check_flag("allow_network", self.allow_network)

    def _check_parts(self) -> None:
        for part in fields(self):
            kind: object = part.default_factory
            if isinstance(kind, type) and not isinstance(value := getattr(self, part.name), kind):
                problem = f"must be a {kind.__name__}, not {type(value).__name__}"
                raise InvalidInput(part.name, problem)

    @property
    def zone(self) -> tzinfo:
        """The time zone that ``timezone`` names."""
        return zone_of(self.timezone)

    @staticmethod
    def chatbot() -> Config:
        """Return settings for a chatbot: it forgets slowly, and archives small talk."""
        return of_preset("chatbot")

    @staticmethod
    def task_agent() -> Config:
        """Return settings for an agent with short tasks: it forgets fast, facts as well."""
        return of_preset("task agent")

    @staticmethod
    def personal_assistant() -> Config:
        """Return settings for a personal assistant: the default ones.

        >>> Config.personal_assistant() == Config()
        True
        """
        return of_preset("personal assistant")

    @staticmethod
    def researcher() -> Config:
        """Return settings for research: it forgets very slowly, and archives nothing."""
        return of_preset("researcher")
