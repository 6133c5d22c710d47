"""All settings of memento: ``Config`` combines the small configs of its parts.

The settings of the tiers and of the read path are in this folder, below the code they tune; those
of ``admit`` stand beside their code.

``Config()`` is right for most uses. ``Config.from_env()`` reads the ``MEMENTO_*`` variables of the
environment once; besides it, only the command line reads any of them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import tzinfo
from enum import StrEnum
from math import inf
from types import MappingProxyType
from typing import Any, Literal

from memento.admit.importance import TierChoice
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
)
from memento.claims.settings import Conflicts
from memento.dynamics.association import Association
from memento.dynamics.formulas import Effect
from memento.dynamics.settings import Dynamics, Stability
from memento.errors import InvalidInput
from memento.protocols import Synthesizer
from memento.types import Kind, KindName, Trust, TrustName


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
        cosine: Least cosine of a statement to another one of its topic, [0, 1].
        overlap: The same for a store without an embedder, as the cosine of their words, [0, 1].
        least: Fewest statements of which an article is made, 2 to 40.
        most: Most statements of one topic, from ``least`` to 100.
        chars: Most characters of an article, 200 to 20,000.
    """

    writer: Writer | Literal["off", "extractive"] = Writer.OFF
    cosine: float = 0.55
    overlap: float = 0.15
    least: int = 4
    most: int = 40
    chars: int = 1_200

    def __post_init__(self) -> None:
        check_word("articles.writer", self.writer, Writer)
        check_share("articles.cosine", self.cosine)
        check_share("articles.overlap", self.overlap)
        check_count("articles.least", self.least, least=2, most=40)
        check_count("articles.most", self.most, least=self.least, most=100)
        check_count("articles.chars", self.chars, least=200, most=20_000)


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
            raise InvalidInput("llm.model", f"its name must be a text, not {self.model.name!r}")
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
        doubt_at: Least probability at which a statement is returned as doubtful, (0, ``store_at``].
        sentences: Most sentences of a message that are read, >= 1; the rest is taken for pasted
            text.
        forget: What a request to forget does: ``ask`` only names what it would hide; ``named``
            hides at once what fills a slot that the request names; ``all`` also hides what has
            every word that it names.
    """

    mode: Literal["off", "assist", "full"] = "off"
    store_at: float = 0.8
    doubt_at: float = 0.5
    sentences: int = 40
    forget: Literal["ask", "named", "all"] = "named"

    def __post_init__(self) -> None:
        check_word("observe.mode", self.mode, MODES)
        check_word("observe.forget", self.forget, FORGETS)
        check_number("observe.store_at", self.store_at, ABOVE_0, 1.0)
        check_number("observe.doubt_at", self.doubt_at, ABOVE_0, self.store_at)
        check_count("observe.sentences", self.sentences, most=MAX_INTEGER)


@dataclass(frozen=True, slots=True)
class PolicyConfig:
    """The way in which the policy of a prompt is compiled.

    Attributes:
        holds_at: Least cosine of a condition to the message from which it holds, [0, 1]. On the
            repository's own set 0.2 finds nine of ten that hold and one in ten of the others: a
            rule too many costs 15 tokens, one that is missed costs a correction.
        turnover: Share of the head's budget that the changes since it was made may take before it
            is made again, (0, 1].
        open: Most plans in the tail, >= 0.
        ahead_days: Days before it is due from which a plan is shown, >= 0.
    """

    holds_at: float = 0.2
    turnover: float = 0.25
    open: int = 5
    ahead_days: int = 1

    def __post_init__(self) -> None:
        check_share("policy.holds_at", self.holds_at)
        check_share("policy.turnover", self.turnover)
        check_count("policy.open", self.open, least=0)
        check_count("policy.ahead_days", self.ahead_days, least=0)


_CALIBRATED = "all-MiniLM-L6-v2"  # the model in the package, as an embedder names it


@dataclass(frozen=True, slots=True)
class Weights:
    """Weight of each piece of evidence: what a memory that has it fully adds to its sum.

    Fitted together (listwise softmax, L2 1e-3) on the development halves of two public
    benchmarks, LoCoMo and BEAM, each with half of the mass, by ``benchmarks/fit_weights.py``;
    then rounded. Unit: nats of that softmax. All >= 0. Only ``calendar`` was raised afterwards,
    from 3.3 to 4.0: the words of a date are no longer looked up, so the other words of a question
    with a date earn more than they did in the fit. ``form`` was fitted with the others held fixed.
    When a piece for the words of the session was taken out, seven weights were moved in steps of
    0.2 and 0.3, until neither file lost in any@10 or nDCG@10.

    Attributes:
        window: BM25 of the memory and its neighbours' heads, relative to the best candidate.
        cover: Share of the query's words, by rarity, in the memory and its neighbours' heads.
        meaning: Cosine to the query, smoothed over neighbours, min-max over the candidates.
        own_meaning: Its own cosine to the query, min-max over the candidates.
        session_meaning: Best cosine in its session, min-max over the candidates.
        speaker: The query names one participant, who said it.
        calendar: It was said at a time that the query names, or soon after.
        said_date: Its text mentions a time that the query names.
        when: The query asks when, and it has a word about time.
        digit: The query asks how many, and it has a digit.
        first_person: It is in the first person.
        user: It is not from an assistant or tool, and the query does not ask for a summary.
        opens: It is the user's first turn of the session.
        standing: It is a standing instruction.
        form: It holds the kind of answer that the query wants: a name, a time, a number, a place, a
            negation, or it is a decision or a rule.
        answers: The turn before it is a question like this one, by cosine or shared words.
        importance: Its importance; a bounded prior, not fitted.
        reranked: The reranker's score, min-max over the memories it scored; only with a reranker.
    """

    window: float = 3.2
    cover: float = 1.5
    meaning: float = 2.5
    own_meaning: float = 0.0
    session_meaning: float = 1.8
    speaker: float = 2.5
    calendar: float = 4.0
    said_date: float = 1.3
    when: float = 1.4
    digit: float = 1.8
    first_person: float = 1.1
    user: float = 2.6
    opens: float = 1.0
    standing: float = 1.9
    form: float = 0.5
    answers: float = 1.4
    importance: float = 0.3
    reranked: float = 1.0


def _alone() -> Weights:
    return Weights(
        window=2.0,
        cover=2.2,
        meaning=3.5,
        own_meaning=0.9,
        user=3.9,
        form=2.0,
        first_person=0.3,
        standing=1.8,
    )


@dataclass(frozen=True, slots=True)
class Sure:
    """Logistic functions that give the confidence: a factor for each sign, then a constant.

    Fitted on the development halves of LoCoMo and BEAM, where half of the questions belong to
    another store than the one that is asked (``benchmarks/reliability.py --fit``), and on two
    lives, each as one store and as stores of 25 memories, to which other people's questions, small
    talk and general questions were put as well. Then rounded. The factors of cosine, cover and fit
    in ``answer`` are older and were held. The signs are those of `confidence.Signs`; the cosine is
    the one above noise, and for the share its natural logarithm is used.

    Attributes:
        hit: Cosine, cover, share, unknown, constant: chance that a hit is an answer.
        hit_by_words: Cover, share, unknown, constant: the same without vectors.
        answer: Cosine, cover, fit, unknown, constant: chance that an answer is among the hits. On
            LoCoMo and BEAM, half way between that and the chance that the question belongs to this
            store.
        answer_by_words: Cover, fit, unknown, constant: the same without vectors.
        near: Cosine, constant: chance that a hit of a search by vector alone is an answer.
        lacks: Factor of the sign of that name in all four: how much less likely an answer is if the
            kind of thing asked for is missing. From its frequency among answered questions of five
            lives (2 %) and among unanswerable ones about the same persons and things (21 %): their
            logarithmic ratio is -2.4, rounded towards 0.
        oneself: Added to the logit of the chance that an answer is among the hits, if the query
            asks about the person who asks and a note is the first hit. On ten lives the chance of
            such questions was too low: 0.49 said and 0.80 seen in stores of 30 to 60 notes, 0.59
            and 0.88 in larger ones, and of all others 0.52 and 0.48, 0.60 and 0.75. Fitted 1.5,
            rounded towards 0.
    """

    hit: tuple[float, float, float, float, float] = (5.0, 1.0, 0.9, -2.7, -0.6)
    hit_by_words: tuple[float, float, float, float] = (1.0, 1.0, -5.0, -0.5)
    answer: tuple[float, float, float, float, float] = (8.0, 3.0, 11.0, -2.0, -10.0)
    answer_by_words: tuple[float, float, float, float] = (3.6, 9.9, -3.3, -8.6)
    near: tuple[float, float] = (6.7, -5.7)
    lacks: float = -2.0
    oneself: float = 0.8


@dataclass(frozen=True, slots=True)
class RetrieveConfig:
    """Settings of search and ranking in ``retrieve``.

    Attributes:
        weights: Weight of each piece of evidence for a turn of a session.
        alone: The same for a memory outside any session, whose neighbours lend it nothing: its
            meaning counts more and a single shared word less. Fitted to two development lives of
            short notes and chats, with ``weights`` held fixed; L2 0.01 on the differences.
        arm: Candidates that each search proposes, >= 1. 30 loses 3 points of any@10 on BEAM
            500K, 400 gains none.
        terms: Most words of a query that are looked up, >= 1; the first ones are taken.
        cap: Most rows read for one word, >= 1. For a more frequent word, only the rows that also
            have a rarer word of the query are read, or else the newest rows.
        k1: BM25 saturation of repeated words, > 0 (the usual 1.2).
        b: BM25 share of length normalisation, [0, 1]. 0.5 finds more here than the usual 0.75.
        near: Weight of a word in the head of the previous or next turn; 1 for the memory itself.
        far: The same for the second previous and second next turn.
        smooth: Weight of each neighbour's vector; 1 for the memory's own. Short turns only.
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
        kept_mb: Megabytes of outlines and vectors that the read path keeps in RAM between
            queries, for all namespaces together, >= 1. A namespace takes 8 KB, each of its
            memories 90 to 180 bytes, and 1.5 to 3 KB more if it is searched exactly. Namespaces
            used least recently are evicted first; reading one again takes 10 µs per memory.
        rerank: Candidates that a reranker scores, if there is one, >= 1.
        prompt_confidence: Least chance that an answer is among the hits for ``prompt`` and the
            adapters to show any, [0, 1]; for the default embedder, for which the confidence is
            calibrated. In four development lives 0.24 keeps 93 % of the answers found, and drops
            91 % of small talk, general questions and questions about what nobody told. In stores
            of 30 memories it keeps fewer, 88 % of four of them.
        prompt_confidence_by_words: The same without an embedder. In two development lives 0.16
            keeps 87 % of the answers found, and drops 88 % of what nothing answers.
        echo: Share of its score that a memory keeps if it only repeats the query, [0, 1].
        sure: Parameters of the confidence.
    """

    weights: Weights = field(default_factory=Weights)
    alone: Weights = field(default_factory=_alone)
    arm: int = 200
    terms: int = 32
    cap: int = 2000
    k1: float = 1.2
    b: float = 0.5
    near: float = 0.5
    far: float = 0.2
    smooth: float = 0.5
    few: int = 5
    many: int = 30
    passage: int | None = 240
    long: int | None = 1000
    noise: float = 0.2
    prompt_confidence: float = 0.24
    prompt_confidence_by_words: float = 0.16
    echo: float = 0.25
    kept_mb: int = 256
    rerank: int = 30
    sure: Sure = field(default_factory=Sure)

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
    """Settings of guesses, of promotions and of what other namespaces share.

    Attributes:
        shared: Whether ``retrieve`` and ``rules.policy`` show what other namespaces share.
        write_at: Confidence from which ``observe`` stores in the scope that it guesses, [0, 1]; 1
            for never, as no guess is certain.
        known_by: Memories with a vector that a scope must have to be guessed by its meaning, >= 1.
        margin: How much nearer than the next scope it must be for that, in cosine, [0, 1].
        alike: Cosine from which memories of several scopes say the same, [0, 1].
        siblings: Scopes side by side that must say the same before that may be promoted, >= 2.
    """

    shared: bool = True
    write_at: float = 0.8
    known_by: int = 5
    margin: float = 0.05
    alike: float = 0.9
    siblings: int = 3

    def __post_init__(self) -> None:
        check_flag("scopes.shared", self.shared)
        check_count("scopes.known_by", self.known_by)
        check_count("scopes.siblings", self.siblings, least=2)
        for name in ("write_at", "margin", "alike"):
            check_share(f"scopes.{name}", getattr(self, name))


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
        promote_at: Long strength from which a memory goes to the long tier, >= 0.
        demote_at: Long strength below which it goes back to the medium tier, if its importance did
            not bring it there, in [0, ``promote_at``].
        tier_share: Most memories that change their tier in one sleep, share of the active ones.
        archive_below: Retention below which a memory that nobody used may be archived, [0, 1]; 0
            for never.
        fade_below: Retention below which ``stale`` shows a memory, [0, 1].
        archive_share: Most memories that are archived in one sleep for that, share of the active
            ones.
        perishable: Kinds that may be archived for that.
        archive_importance: Importance from which a memory is not archived for that, [0, 1].
        most_active: Most active memories of a namespace; None for no limit. To keep it, the
            most forgotten of the perishable kinds are archived, and then the most forgotten and
            least important of the others; never one that has a key, was used, is pinned or locked.
        move_given: Whether to change a tier that the caller chose as well.
        replay: Memories that are replayed on an active day, share of the active ones, [0, 1].
        most_replayed: Most memories that are replayed on an active day, >= 0.
        fold_jaccard: Least share of common words of statements that say the same, (0, 1].
        fold_cosine: Least cosine of their vectors, [-1, 1].
        lease: Seconds after which the sleep of a process that died is taken over, >= 0.
    """

    auto: Auto | Literal["idle", "all", "off"] = Auto.IDLE
    bite: int = 200
    promote_at: float = 0.25
    demote_at: float = 0.10
    tier_share: float = 0.05
    archive_below: float = 0.05
    fade_below: float = 0.3
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
    most_replayed: int = 200
    fold_jaccard: float = 0.8
    fold_cosine: float = 0.9
    lease: float = 60.0

    def __post_init__(self) -> None:
        check_word("sleep.auto", self.auto, Auto)
        if not isinstance(self.perishable, tuple) or not set(self.perishable) <= set(Kind):
            raise InvalidInput("sleep.perishable", f"{self.perishable!r} is no tuple of kinds")
        check_flag("sleep.move_given", self.move_given)
        for name, (least, most) in _RANGES.items():
            check_number(f"sleep.{name}", getattr(self, name), least, most)
        check_count("sleep.bite", self.bite, most=500)
        check_count("sleep.most_replayed", self.most_replayed, least=0, most=1_000_000)
        if self.most_active is not None:
            check_count("sleep.most_active", self.most_active, most=1 << 40)
        if self.demote_at > self.promote_at:
            raise InvalidInput("sleep.demote_at", "must not be above promote_at")


_RANGES = {
    "promote_at": (0.0, inf),
    "demote_at": (0.0, inf),
    "tier_share": (0.0, 1.0),
    "archive_below": (0.0, 1.0),
    "fade_below": (0.0, 1.0),
    "archive_share": (0.0, 1.0),
    "archive_importance": (0.0, 1.0),
    "replay": (0.0, 1.0),
    "fold_jaccard": (0.01, 1.0),
    "fold_cosine": (-1.0, 1.0),
    "lease": (0.0, 86_400.0),
}


CHATBOT = Dynamics(
    decay=0.4,
    stability=Stability(
        episode=60.0,
        context=30.0,
        question=30.0,
        emotion=120.0,
        fact=180.0,
        relation=180.0,
        opinion=90.0,
        preference=365.0,
        decision=365.0,
        procedure=365.0,
        article=365.0,
    ),
    a1=0.10,
    a2=0.003,
    mu2=0.06,
)
TASK_AGENT = Dynamics(
    decay=0.6,
    stability=Stability(
        episode=7.0,
        context=3.0,
        question=3.0,
        emotion=14.0,
        fact=60.0,
        relation=60.0,
        opinion=30.0,
        preference=180.0,
        decision=180.0,
        procedure=180.0,
        article=180.0,
    ),
    a1=0.35,
    a2=0.010,
    mu2=0.25,
    half_life=45.0,
)
RESEARCHER = Dynamics(
    decay=0.4,
    stability=Stability(
        episode=365.0,
        context=180.0,
        question=180.0,
        emotion=365.0,
        fact=1825.0,
        relation=1825.0,
        opinion=730.0,
        preference=1825.0,
        decision=1825.0,
        procedure=1825.0,
        article=1825.0,
    ),
    a1=0.05,
    a2=0.001,
    mu2=0.06,
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


def _settings_of(preset: str) -> dict[str, Any]:
    return dict(zip(("dynamics", "sleep", "association"), PRESETS[preset], strict=True))


@dataclass(frozen=True, slots=True)
class ShortConfig:
    """Sizes of the short tier.

    Attributes:
        capacity: Turns in the ring of a session, >= 1; older ones move to medium.
        sessions: Rings kept in RAM and in the snapshot, those used last, >= 1.
        snapshot_seconds: Longest time until a change is in the JSON snapshot, > 0.
    """

    capacity: int = 50
    sessions: int = 256
    snapshot_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """Sizes and pauses of the background indexer.

    Attributes:
        bite_texts: Texts embedded in one batch, after which waiting queries go first, >= 1.
        bite_chars: Characters embedded in one batch, >= 1; about 4 per token.
        index_rows: Rows written to the long tier at once, 1 to 64.
        behind_rows: Backlog, in rows, above which it gives way only to queries and no longer to a
            stream of adds, >= 0.
        start_seconds: Pause before work starts, so that a burst of writes is processed together
            and a short-lived process ends before the model is loaded, >= 0.
        poll_seconds: Seconds between checks for writes of other processes, > 0.
        retry_seconds: First pause after a failure; doubles up to 60 s, > 0.
        checkpoint_bytes: Size of the write-ahead log from which it is checkpointed, >= 0.
    """

    bite_texts: int = 16
    bite_chars: int = 8_192
    index_rows: int = 64
    behind_rows: int = 512
    start_seconds: float = 0.05
    poll_seconds: float = 0.5
    retry_seconds: float = 1.0
    checkpoint_bytes: int = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class LongConfig:
    """Settings of the long tier and its use of Chroma.

    Attributes:
        batch: Rows written to Chroma in one call, >= 1. More rows are cheaper per row and delay
            searches longer: 100 rows of 384 take 72 ms of CPU.
        probe_seconds: Time limit of the child process that checks a suspect folder, > 0.
        max_resets: Most resets after damage per process and folder, >= 0. Without a limit, a disk
            that corrupts files would cause endless rebuilding and fill up.
        settled_after: Number of calls after which an unclean end no longer leads to a rebuild,
            >= 1: a folder whose owner dies early twice is rebuilt, one whose owner is killed daily
            is probed.
        drain_seconds: Longest wait for running calls before closing, >= 0.
    """

    batch: int = 64
    probe_seconds: float = 20.0
    max_resets: int = 3
    settled_after: int = 256
    drain_seconds: float = 10.0


class LongIndex(StrEnum):
    """The choice of the index that answers a search by meaning."""

    AUTO = "auto"
    """Exact search up to 12,000 vectors, Chroma beyond, where this process has it open."""
    CHROMA = "chroma"
    """Chroma, unless its answer would be incomplete."""
    EXACT = "exact"
    """Always exact search."""


PREFIX = "MEMENTO_"
_LEAST = {
    "short.capacity": 1,
    "short.sessions": 1,
    "short.snapshot_seconds": 0,
    "limits.text_chars": 1,
    "limits.metadata_bytes": 2,
    "retrieve.k1": 0,
    "retrieve.near": 0,
    "retrieve.far": 0,
    "retrieve.smooth": 0,
}
"""Settings that only have a least value."""


@dataclass(frozen=True, slots=True)
class Config:
    """Settings of one store.

    Attributes:
        limits: Largest texts and metadata that ``add`` accepts.
        secrets: ``redact``, ``reject`` or ``allow``: how to treat an API key or password in a text
            to remember, see ``memento.admit.redact``.
        untrusted: Sources whose memories are quarantined until approved, cannot be rules and cannot
            be pinned: values of ``Trust``; empty to trust all sources equally.
        tier_choice: Which importance leads to which tier.
        short: Ring buffers and their snapshot.
        index: The background indexer.
        long: Chroma.
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
    tier_choice: TierChoice = field(default_factory=TierChoice)
    short: ShortConfig = field(default_factory=ShortConfig)
    index: IndexConfig = field(default_factory=IndexConfig)
    long: LongConfig = field(default_factory=LongConfig)
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
        if not isinstance(self.untrusted, tuple):
            raise InvalidInput("untrusted", f"must be a tuple, not {self.untrusted!r}")
        for source in self.untrusted:
            check_word("untrusted", source, Trust)
        check_number("close_seconds", self.close_seconds)
        for place, least in _LEAST.items():
            check_number(place, _at(self, place), least)
        for name in ("arm", "terms", "cap", "few", "many", "passage", "long", "kept_mb", "rerank"):
            value = getattr(self.retrieve, name)
            if value is not None or name not in ("passage", "long"):
                check_count(f"retrieve.{name}", value, most=MAX_INTEGER)
        for name, lowest in (("b", 0.0), ("echo", 0.0), ("noise", -1.0)):
            check_number(f"retrieve.{name}", getattr(self.retrieve, name), lowest, 1.0)

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

    @classmethod
    def chatbot(cls) -> Config:
        """Return settings for a chatbot: it forgets slowly, and archives small talk."""
        return cls(**_settings_of("chatbot"))

    @classmethod
    def task_agent(cls) -> Config:
        """Return settings for an agent with short tasks: it forgets fast, facts as well."""
        return cls(**_settings_of("task agent"))

    @classmethod
    def personal_assistant(cls) -> Config:
        """Return settings for a personal assistant: the default ones.

        >>> Config.personal_assistant() == Config()
        True
        """
        return cls(**_settings_of("personal assistant"))

    @classmethod
    def researcher(cls) -> Config:
        """Return settings for research: it forgets very slowly, and archives nothing."""
        return cls(**_settings_of("researcher"))

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Config:
        """Read settings from ``MEMENTO_*`` variables.

        The names are ``MEMENTO_SHORT_CAPACITY``, ``MEMENTO_SNAPSHOT_SECONDS``,
        ``MEMENTO_TEXT_CHARS``, ``MEMENTO_LONG_INDEX``, ``MEMENTO_SECRETS``,
        ``MEMENTO_UNTRUSTED`` (names joined with commas, empty for none),
        ``MEMENTO_ALLOW_NETWORK`` (0 or 1), ``MEMENTO_TIMEZONE``, ``MEMENTO_PRESET``
        (``chatbot``, ``task agent``, ``personal assistant`` or ``researcher``), ``MEMENTO_SLEEP``
        (``idle``, ``all`` or ``off``), ``MEMENTO_OBSERVE_MODE`` (``off``, ``assist`` or ``full``),
        ``MEMENTO_LLM_MODEL`` (such as ``openai:gpt-5-mini``). ``MEMENTO_ROOT`` names
        the default store; ``MEMENTO_NAMESPACE`` and ``MEMENTO_EMBEDDER`` are read by the command
        line alone.

        Args:
            environ: The environment; None for that of the process.

        Raises:
            InvalidInput: If a value cannot be read, or a ``MEMENTO_*`` name is not known.

        >>> Config.from_env({"MEMENTO_LONG_INDEX": "exact"}).long_index
        'exact'
        """
        environ = os.environ if environ is None else environ
        config = cls()
        for name, text in sorted(environ.items()):
            if name.startswith(PREFIX) and name not in _ELSEWHERE:
                if name not in _READERS:
                    known = ", ".join(sorted((*_READERS, *_ELSEWHERE)))
                    raise InvalidInput(name, f"is not a setting of memento; known: {known}")
                place, read = _READERS[name]
                config = _with(config, place, read(name, text))
        return config


def _at(config: Config, place: str) -> object:
    part, _, name = place.rpartition(".")
    return getattr(getattr(config, part), name)


def _with(config: Config, place: str, value: Any) -> Config:
    """Set the value at a place such as ``short.capacity``; ``Config`` checks it."""
    if place == "preset":
        return replace(config, **value)
    part, _, name = place.rpartition(".")
    if part:
        name, value = part, replace(getattr(config, part), **{name: value})
    return replace(config, **{name: value})


_ELSEWHERE = frozenset({"MEMENTO_ROOT", "MEMENTO_NAMESPACE", "MEMENTO_EMBEDDER"})


def _number(kind: Callable[[str], Any]) -> Callable[[str, str], Any]:
    def read(name: str, text: str) -> Any:
        try:
            return kind(text)
        except ValueError:
            raise InvalidInput(name, f"{text!r} is not a number") from None

    return read


def _word(_name: str, text: str) -> str:
    return text


def _zone(name: str, text: str) -> str:
    zone_of(text, name)
    return text


def _preset(name: str, text: str) -> dict[str, Any]:
    return _settings_of(check_word(name, text, PRESETS))


_READERS: dict[str, tuple[str, Callable[[str, str], Any]]] = {
    "MEMENTO_SHORT_CAPACITY": ("short.capacity", _number(int)),
    "MEMENTO_SNAPSHOT_SECONDS": ("short.snapshot_seconds", _number(float)),
    "MEMENTO_TEXT_CHARS": ("limits.text_chars", _number(int)),
    "MEMENTO_LONG_INDEX": ("long_index", _word),
    "MEMENTO_SECRETS": ("secrets", _word),
    "MEMENTO_UNTRUSTED": (
        "untrusted",
        lambda _name, text: tuple(part.strip() for part in text.split(",") if text),
    ),
    "MEMENTO_ALLOW_NETWORK": (
        "allow_network",
        lambda name, text: check_word(name, text, ("0", "1")) == "1",
    ),
    "MEMENTO_LLM_MODEL": ("llm.model", lambda _name, text: text or None),
    "MEMENTO_OBSERVE_MODE": ("observe.mode", _word),
    "MEMENTO_PRESET": ("preset", _preset),
    "MEMENTO_SLEEP": ("sleep.auto", _word),
    "MEMENTO_TIMEZONE": ("timezone", _zone),
}
"""Variable to the place of its setting and how its text is read. A preset is read before the
settings that change a part of it: variables are read in the order of their names."""
