"""All settings of memento: ``Config`` combines the small configs of its parts.

The settings of the tiers and of the read path are in this file; those of ``admit``, ``claims`` and
``dynamics`` are beside the code that they tune.

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
from urllib.parse import urlsplit

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
    """How articles are written."""

    OFF = "off"
    """No articles are written automatically; ``sleep.run(steps=["articles"])`` still writes them,
    quoting their sources."""
    EXTRACTIVE = "extractive"
    """memento writes articles that quote their sources word for word."""


@dataclass(frozen=True, slots=True)
class Articles:
    """Settings for the ``articles`` step of sleep.

    Attributes:
        writer: ``off`` or ``extractive``, see ``Writer``.
    """

    writer: Writer | Literal["off", "extractive"] = Writer.OFF

    def __post_init__(self) -> None:
        check_word("articles.writer", self.writer, Writer)


@dataclass(frozen=True, slots=True)
class LLMConfig:
    """Settings for the optional language model, and limits on its use.

    Limits apply per namespace and per day (UTC). They are hard limits: before sending a request,
    every process that uses the store reserves the maximum that the request could use.

    Attributes:
        model: A name such as ``openai:gpt-5-mini``, which is used through
            ``memento.llm.PydanticAI`` with the key from the environment; an object with ``name``
            and ``complete``; or None for no model.
        calls_a_day: Maximum number of requests per day, >= 0.
        tokens_a_day: Maximum number of tokens sent and received per day, >= 0.
        seconds_a_day: Maximum time to spend waiting for replies per day, in seconds, >= 0.
        seconds: Maximum time that one task may take, in seconds, > 0.
        attempts: Maximum number of requests per task, >= 1. A request is retried if there is no
            reply or the reply cannot be parsed.
        background: Whether ``observe`` returns without waiting for the model. Messages are then
            sent to it one at a time: after a pause, at the end of their session, or when
            ``flush(wait=True)`` is called. Waiting messages are stored in the ledger and survive a
            restart.
        quiet_seconds: Number of seconds to wait after the last message before sending messages, >=
            0.
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
FORGETS = ("ask", "hide")


@dataclass(frozen=True, slots=True)
class ObserveConfig:
    """Settings for learning from conversations.

    Attributes:
        mode: ``off`` uses no language model. ``assist`` sends the model in ``Config.llm`` only
            messages that contain a doubtful statement or a correction of something that was not
            found. ``full`` sends it every user message. The model only selects sentences; it never
            writes any.
        store_at: Minimum probability for a statement to be stored, (0, 1]. Rules are held to a
            stricter standard: the probability that a rule is wrong may be at most 0.4 times as
            high, so at 0.5, a rule requires 0.8. At 0.5, about 80 of 100 statements stored for
            people not seen in training were labelled as worth storing.
        forget: How to handle a request to forget something. ``hide`` immediately hides the memories
            that are clearly meant and the message with the request; ``ask`` only lists them.
    """

    mode: Literal["off", "assist", "full"] = "off"
    store_at: float = 0.5
    forget: Literal["ask", "hide"] = "hide"

    def __post_init__(self) -> None:
        check_word("observe.mode", self.mode, MODES)
        check_word("observe.forget", self.forget, FORGETS)
        check_number("observe.store_at", self.store_at, ABOVE_0, 1.0)


@dataclass(frozen=True, slots=True)
class PolicyConfig:
    """Settings for the policy block of a prompt.

    Attributes:
        open: Maximum number of plans in the tail, >= 0.
        ahead_days: Number of days before its due date on which a plan is first shown, >= 0.
    """

    open: int = 5
    ahead_days: int = 1

    def __post_init__(self) -> None:
        check_count("policy.open", self.open, least=0)
        check_count("policy.ahead_days", self.ahead_days, least=0)


_CALIBRATED = "all-MiniLM-L6-v2"  # the model in the package, as an embedder names it


@dataclass(frozen=True, slots=True)
class RetrieveConfig:
    """Settings for retrieval: the size of answers, minimum confidence and cost.

    Attributes:
        few: Number of hits to return if the caller does not specify one, >= 1.
        many: Number of hits to return for a query that asks for several things (see
            ``question.Query``). If this equals ``few``, such queries are treated like any other.
        passage: Number of characters to show of each memory if the query asks for several things
            and there is a token budget, >= 1; None to show as much as for other queries.
        long: Length in characters from which a memory counts as long, >= 1. In a prompt, or within
            a token budget, only the relevant passage of a long memory is shown, limited to this
            many characters. 1,000 characters of English are about 250 tokens. With None, every
            memory is shown in full, except that a prompt with a budget still shortens a memory that
            does not fit.
        noise: Minimum cosine similarity at which a memory that shares no word with the query is
            considered, [-1, 1]. With the default model and our English test set, the cosine between
            a query and an unrelated fact averages 0.07 and exceeds 0.22 in one pair out of twenty;
            the lowest cosine for an answer with entirely different wording is 0.12.
        prompt_confidence: Minimum confidence that the hits contain an answer; below it, ``prompt``
            and the adapters show nothing, [0, 1]. It applies to the default embedder, for which the
            confidence is calibrated. In four development data sets, 0.24 keeps 93 % of the answers
            found and drops 91 % of small talk, general questions, and questions that the store
            cannot answer. In four stores of 30 memories, it keeps only 88 %.
        prompt_confidence_by_words: The same value for stores without an embedder. In two
            development data sets, 0.16 keeps 87 % of the answers found and drops 88 % of the
            queries that the store cannot answer.
        kept_mb: Size of the in-memory cache for retrieval, in megabytes, shared by all namespaces,
            >= 1. A namespace takes 8 KB plus 90 to 180 bytes for each of its memories. A memory
            that is searched exactly takes another 1.5 to 3 KB. The least recently used namespaces
            are evicted first; reloading one takes 10 µs per memory.
        rerank: Number of candidates to pass to the reranker, if there is one, >= 1.
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
        """Return the minimum confidence for a prompt to show hits, > 0.

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
    """Settings for shared and guessed scopes.

    Attributes:
        shared: Whether ``retrieve`` and ``rules.policy`` include what other namespaces share.
        write_at: Minimum confidence for ``observe`` to use the scope that it guesses, [0, 1]; with
            1, it never does, because no guess is certain.
    """

    shared: bool = True
    write_at: float = 0.8

    def __post_init__(self) -> None:
        check_flag("scopes.shared", self.shared)
        check_share("scopes.write_at", self.write_at)


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """Settings for interrupted sessions and their checkpoints.

    Attributes:
        idle_minutes: Minutes without a write after which an open session counts as interrupted,
            even if its process is still running, > 0.
        checkpoints: Number of checkpoints to keep per session; older ones are dropped, >= 1.
    """

    idle_minutes: float = 30.0
    checkpoints: int = 50

    def __post_init__(self) -> None:
        check_count("sessions.checkpoints", self.checkpoints)
        check_number("sessions.idle_minutes", self.idle_minutes, ABOVE_0)


class Auto(StrEnum):
    """How much the background thread does on its own when idle."""

    IDLE = "idle"
    """Only update strengths from uses and verdicts."""
    ALL = "all"
    """Run every step of sleep, at most once an hour per namespace."""
    OFF = "off"
    """Do nothing; strengths are updated when they are read."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """Settings for ``sleep.run`` and for automatic sleep.

    Attributes:
        auto: ``idle``, ``all`` or ``off``, see ``Auto``.
        bite: Maximum number of memories to change in one transaction, 1 to 500.
        tier_share: Maximum share of the active memories that may change tier in one sleep, [0, 1].
        archive_below: Retention below which a memory that was never used may be archived, [0, 1]; 0
            for never.
        archive_share: Maximum share of the active memories that one sleep may archive for low
            retention, [0, 1].
        perishable: Kinds of memory that may be archived for low retention.
        archive_importance: Importance from which a memory is never archived for low retention, [0,
            1].
        most_active: Maximum number of active memories in a namespace; None for no limit. Above it,
            the most faded memories of perishable kinds are archived first, then the most faded and
            least important of the others. Memories that have a key, have been used, are pinned or
            are locked are never archived for this reason.
        move_given: Whether sleep may also change a tier that the caller chose.
        replay: Share of the active memories to replay on each active day, [0, 1].
        lease: Seconds after which another process takes over the sleep of one that died, >= 0.
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


CHATBOT = Dynamics(pace="slow", stability={
    "episode": 60.0, "context": 30.0, "question": 30.0, "emotion": 120.0, "preference": 365.0,
    "decision": 365.0, "procedure": 365.0, "article": 365.0,
})  # fmt: skip
TASK_AGENT = Dynamics(pace="fast", half_life=45.0, stability={
    "episode": 7.0, "context": 3.0, "question": 3.0, "emotion": 14.0, "fact": 60.0,
    "relation": 60.0, "opinion": 30.0, "preference": 180.0, "decision": 180.0, "procedure": 180.0,
    "article": 180.0,
})  # fmt: skip
RESEARCHER = Dynamics(pace="slowest", half_life=720.0, stability={
    "episode": 365.0, "context": 180.0, "question": 180.0, "emotion": 365.0, "fact": 1825.0,
    "relation": 1825.0, "opinion": 730.0, "preference": 1825.0, "decision": 1825.0,
    "procedure": 1825.0, "article": 1825.0,
})  # fmt: skip
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
"""Settings of each preset, by name; all other settings have their defaults."""


def of_preset(name: str) -> Config:
    """Return the settings of a preset."""
    dynamics, sleep, association = PRESETS[name]
    return Config(dynamics=dynamics, sleep=sleep, association=association)


@dataclass(frozen=True, slots=True)
class ShortConfig:
    """Settings for the short tier.

    Attributes:
        capacity: Number of turns to keep per session, >= 1; older turns move to medium.
        snapshot_seconds: Maximum delay before a change is written to the JSON snapshot, in seconds,
            > 0.
    """

    capacity: int = 50
    snapshot_seconds: float = 5.0

    def __post_init__(self) -> None:
        check_count("short.capacity", self.capacity, most=MAX_INTEGER)
        check_number("short.snapshot_seconds", self.snapshot_seconds)


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """Timing of the background indexer.

    Attributes:
        start_seconds: Seconds to wait before starting work, so that a burst of writes is processed
            together and a short-lived process can exit before the model is loaded, >= 0.
        poll_seconds: Seconds between checks for writes by other processes, > 0. On a server, up
            to four times as long if there was nothing to do.
        retry_seconds: Seconds to wait after the first failure, > 0; doubled after each further one,
            up to 60 s.
    """

    start_seconds: float = 0.05
    poll_seconds: float = 0.5
    retry_seconds: float = 1.0

    def __post_init__(self) -> None:
        check_number("index.start_seconds", self.start_seconds)
        check_number("index.poll_seconds", self.poll_seconds, ABOVE_0)
        check_number("index.retry_seconds", self.retry_seconds, ABOVE_0)


class LongIndex(StrEnum):
    """Which index answers a search by meaning."""

    AUTO = "auto"
    """Exact search in a small namespace; Chroma in a large one, if this process has it open."""
    CHROMA = "chroma"
    """Chroma, unless its results would be incomplete."""
    EXACT = "exact"
    """Always exact search."""


@dataclass(frozen=True, slots=True)
class ChromaConfig:
    """Settings for the Chroma index of the long tier.

    Attributes:
        url: Address of a Chroma server with an index for all machines, such as
            ``http://chroma:8000``; None for a folder in the store. A server that is not written in
            Rust must have version 1.5.9 or later.
        token: Token to send to the server with every call, as ``Authorization: Bearer`` and as
            ``X-Chroma-Token``; None for no token.
        call_seconds: Maximum time that a call to the server may take, in seconds, > 0. After that,
            exact search is used until the server works again.
    """

    url: str | None = None
    token: str | None = field(default=None, repr=False)
    call_seconds: float = 2.0

    def __post_init__(self) -> None:
        check_number("chroma.call_seconds", self.call_seconds, ABOVE_0)
        word = self.token if isinstance(self.token, str) else ""
        if self.token is not None and (not word.isascii() or word.split() != [word]):
            raise InvalidInput("chroma.token", "must be a single word of ASCII characters")
        if self.url is not None:
            self.place()

    def place(self) -> tuple[str, int, bool]:
        """Return host and port of the server, and whether it is reached by TLS.

        >>> ChromaConfig(url="http://chroma:8000").place()
        ('chroma', 8000, False)
        """
        problem = "must consist of http:// or https://, a host and, optionally, a port"
        if not isinstance(self.url, str):
            raise InvalidInput("chroma.url", problem)
        try:
            parts = urlsplit(self.url)
            port = parts.port
        except ValueError as error:
            raise InvalidInput("chroma.url", problem) from error
        tls = parts.scheme == "https"
        more = parts.username or parts.password or parts.path.strip("/") or parts.query
        if more or parts.fragment or not parts.hostname or parts.scheme not in ("http", "https"):
            raise InvalidInput("chroma.url", problem)
        return parts.hostname, port or (443 if tls else 8000), tls


@dataclass(frozen=True, slots=True)
class Config:
    """All settings of a store.

    Attributes:
        limits: Maximum size of texts and metadata that ``add`` accepts.
        secrets: How to handle an API key or password in a text to remember: ``redact``, ``reject``
            or ``allow``; see ``memento.admit.redact``.
        untrusted: Sources, as values of ``Trust``, whose memories are quarantined until approved
            and cannot become rules or be pinned; empty to trust all sources equally.
        short: Settings for the short tier.
        index: Settings for the background indexer.
        long_index: The index for semantic search: ``auto``, ``chroma`` or ``exact``.
        chroma: The Chroma index of the long tier: a folder in the store, or a server.
        retrieve: Settings for retrieval: the size of answers, the minimum confidence and the cost.
        dynamics: How uses and verdicts affect the strength of memories.
        effect: How strength affects the order of results.
        sessions: Settings for interrupted sessions and their checkpoints.
        conflicts: How conflicting statements are handled.
        association: How memories that are used together are linked.
        sleep: What ``sleep.run`` does, and which parts of it run automatically.
        articles: Whether sleep writes articles about topics with several memories.
        observe: Settings for learning from conversations.
        policy: Settings for the policy block of a prompt.
        llm: Settings for the optional language model, and limits on its use.
        scopes: How scopes are guessed, and whether shared memories are visible.
        close_seconds: Maximum number of seconds that ``close`` waits for the indexer to finish its
            current batch and for a background request to a language model to complete, >= 0.
        allow_network: Whether to allow a store on a file system that is not known to be local,
            where a second machine or process can damage it unnoticed.
        timezone: IANA name of the user's time zone, such as ``Asia/Tokyo``. It is used for
            "yesterday" or "in December" in a query, for dates in a prompt, and for times without a
            zone on the command line and in ingested files. Times are always stored in UTC.
    """

    limits: Limits = field(default_factory=Limits)
    secrets: Secrets | Literal["redact", "reject", "allow"] = Secrets.REDACT
    untrusted: tuple[Trust | TrustName, ...] = (Trust.TOOL, Trust.WEB, Trust.IMPORT)
    short: ShortConfig = field(default_factory=ShortConfig)
    index: IndexConfig = field(default_factory=IndexConfig)
    long_index: LongIndex | Literal["auto", "chroma", "exact"] = LongIndex.AUTO
    chroma: ChromaConfig = field(default_factory=ChromaConfig)
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
        for part in fields(self):
            kind: object = part.default_factory
            if isinstance(kind, type) and not isinstance(value := getattr(self, part.name), kind):
                problem = f"must be a {kind.__name__}, not {type(value).__name__}"
                raise InvalidInput(part.name, problem)
        check_word("long_index", self.long_index, LongIndex)
        check_word("secrets", self.secrets, Secrets)
        zone_of(self.timezone)
        _check_words("untrusted", self.untrusted, Trust)
        check_number("close_seconds", self.close_seconds)
        check_flag("allow_network", self.allow_network)

    @property
    def zone(self) -> tzinfo:
        """The time zone that ``timezone`` names."""
        return zone_of(self.timezone)

    @staticmethod
    def chatbot() -> Config:
        """Return settings for a chatbot: it forgets slowly and archives small talk."""
        return of_preset("chatbot")

    @staticmethod
    def task_agent() -> Config:
        """Return settings for an agent with short tasks: it forgets quickly, even facts."""
        return of_preset("task agent")

    @staticmethod
    def personal_assistant() -> Config:
        """Return settings for a personal assistant; these are the defaults.

        >>> Config.personal_assistant() == Config()
        True
        """
        return of_preset("personal assistant")

    @staticmethod
    def researcher() -> Config:
        """Return settings for research: memories fade very slowly and are never archived."""
        return of_preset("researcher")
