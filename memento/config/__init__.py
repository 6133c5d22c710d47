"""All settings of memento: ``Config`` combines the small configs of its parts.

The settings of the tiers and of the read path are in this folder, below the code they tune; those
of ``admit`` stand beside their code.

``Config()`` is right for most uses. ``Config.from_env()`` reads the ``MEMENTO_*`` variables of the
environment once; besides it, only the command line reads any of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import tzinfo
from enum import StrEnum
from typing import Any, Literal, cast

from memento.admit.redact import Secrets
from memento.admit.tier_choice import TierChoice
from memento.check import Limits
from memento.claims.config import Conflicts
from memento.clock import zone_of
from memento.config.articles import Articles, Writer
from memento.config.llm import LLMConfig
from memento.config.observe import ObserveConfig
from memento.config.policy import PolicyConfig
from memento.config.presets import LINKED, PRESETS
from memento.config.retrieve import RetrieveConfig
from memento.config.scopes import ScopeConfig
from memento.config.sessions import SessionConfig
from memento.config.sleep import Sleep
from memento.config.tiers import (
    IndexConfig,
    LongConfig,
    LongIndex,
    ShortConfig,
)
from memento.dynamics.association import Association
from memento.dynamics.config import Dynamics
from memento.dynamics.effect import Effect
from memento.errors import InvalidInput
from memento.types import Trust, TrustName

PREFIX = "MEMENTO_"


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
        sleep: What ``consolidate`` does, and how much of it happens by itself.
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
        _check_choice("long_index", self.long_index, LongIndex)
        _check_choice("secrets", self.secrets, Secrets)
        zone_of(self.timezone)
        if not isinstance(self.untrusted, tuple):
            raise InvalidInput("untrusted", f"must be a tuple, not {self.untrusted!r}")
        for source in self.untrusted:
            _check_choice("untrusted", source, Trust)
        for name, value, least in (
            ("short.capacity", self.short.capacity, 1),
            ("short.sessions", self.short.sessions, 1),
            ("short.snapshot_seconds", self.short.snapshot_seconds, 0),
            ("limits.text_chars", self.limits.text_chars, 1),
            ("limits.metadata_bytes", self.limits.metadata_bytes, 2),
            ("close_seconds", self.close_seconds, 0),
            ("retrieve.k1", self.retrieve.k1, 0),
            ("retrieve.near", self.retrieve.near, 0),
            ("retrieve.far", self.retrieve.far, 0),
            ("retrieve.smooth", self.retrieve.smooth, 0),
        ):
            if not _is_number(value) or not least <= value < float("inf"):
                raise InvalidInput(name, f"must be at least {least} and finite, not {value!r}")
        for name in ("arm", "terms", "cap", "few", "many", "passage", "long", "kept_mb", "rerank"):
            value = getattr(self.retrieve, name)
            if value is None and name in ("passage", "long"):
                continue
            if type(value) is not int or value < 1:
                raise InvalidInput(f"retrieve.{name}", f"must be an integer >= 1, not {value!r}")
        for name, least in (("b", 0), ("echo", 0), ("noise", -1)):
            value = getattr(self.retrieve, name)
            if not _is_number(value) or not least <= value <= 1:
                raise InvalidInput(f"retrieve.{name}", f"must be in [{least}, 1], not {value!r}")

    def _check_parts(self) -> None:
        for part in fields(self):
            kind: object = part.default_factory
            if isinstance(kind, type) and not isinstance(value := getattr(self, part.name), kind):
                problem = f"must be a {kind.__name__}, not {type(value).__name__}"
                raise InvalidInput(part.name, problem)
        if self.articles.writer == Writer.MODEL and self.llm.model is None:
            raise InvalidInput("articles.writer", "needs a model, as in LLMConfig(model=...)")

    @property
    def zone(self) -> tzinfo:
        """The time zone that ``timezone`` names."""
        return zone_of(self.timezone)

    @classmethod
    def chatbot(cls) -> Config:
        """Return settings for a chatbot: it forgets slowly, and archives small talk."""
        return cls._preset("chatbot")

    @classmethod
    def task_agent(cls) -> Config:
        """Return settings for an agent with short tasks: it forgets fast, facts as well."""
        return cls._preset("task agent")

    @classmethod
    def personal_assistant(cls) -> Config:
        """Return settings for a personal assistant: the default ones.

        >>> Config.personal_assistant() == Config()
        True
        """
        return cls._preset("personal assistant")

    @classmethod
    def researcher(cls) -> Config:
        """Return settings for research: it forgets very slowly, and archives nothing."""
        return cls._preset("researcher")

    @classmethod
    def _preset(cls, name: str) -> Config:
        dynamics, sleep = PRESETS[name]
        return cls(dynamics=dynamics, sleep=sleep, association=LINKED.get(name, Association()))

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Config:
        """Read settings from ``MEMENTO_*`` variables.

        The names are ``MEMENTO_SHORT_CAPACITY``, ``MEMENTO_SNAPSHOT_SECONDS``,
        ``MEMENTO_TEXT_CHARS``, ``MEMENTO_LONG_INDEX``, ``MEMENTO_SECRETS``,
        ``MEMENTO_UNTRUSTED`` (names joined with commas, empty for none),
        ``MEMENTO_ALLOW_NETWORK`` (0 or 1), ``MEMENTO_TIMEZONE``, ``MEMENTO_PRESET``
        (``chatbot``, ``task agent``, ``personal assistant`` or ``researcher``), ``MEMENTO_SLEEP``
        (``idle``, ``all`` or ``off``), ``MEMENTO_OBSERVE_MODE`` (``off``, ``assist`` or ``full``),
        ``MEMENTO_LLM_MODEL`` (such as ``openai:gpt-5-mini``), and ``MEMENTO_ROOT``,
        ``MEMENTO_NAMESPACE`` and ``MEMENTO_EMBEDDER``, which only the command line reads.

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
                config = _READERS[name](config, text)
        return config


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_choice(name: str, value: object, choices: type[StrEnum]) -> None:
    if value not in tuple(choices):
        raise InvalidInput(name, f"{value!r} is not one of: {', '.join(choices)}")


_ELSEWHERE = frozenset({"MEMENTO_ROOT", "MEMENTO_NAMESPACE", "MEMENTO_EMBEDDER"})


def _number(name: str, text: str, kind: Callable[[str], Any]) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise InvalidInput(name, f"{text!r} is not a number") from None


def _capacity(config: Config, text: str) -> Config:
    capacity = _number("MEMENTO_SHORT_CAPACITY", text, int)
    return replace(config, short=replace(config.short, capacity=capacity))


def _snapshot(config: Config, text: str) -> Config:
    seconds = _number("MEMENTO_SNAPSHOT_SECONDS", text, float)
    return replace(config, short=replace(config.short, snapshot_seconds=seconds))


def _text_chars(config: Config, text: str) -> Config:
    chars = _number("MEMENTO_TEXT_CHARS", text, int)
    return replace(config, limits=replace(config.limits, text_chars=chars))


def _given(config: Config, **choices: str | tuple[str, ...]) -> Config:
    """Set choices that are not checked yet; ``Config`` checks them."""
    return replace(config, **cast("dict[str, Any]", choices))


def _long_index(config: Config, text: str) -> Config:
    return _given(config, long_index=text)


def _secrets(config: Config, text: str) -> Config:
    return _given(config, secrets=text)


def _untrusted(config: Config, text: str) -> Config:
    return _given(config, untrusted=tuple(part.strip() for part in text.split(",") if text))


def _timezone(config: Config, text: str) -> Config:
    zone_of(text, "MEMENTO_TIMEZONE")
    return _given(config, timezone=text)


def _preset(config: Config, text: str) -> Config:
    if text not in PRESETS:
        raise InvalidInput("MEMENTO_PRESET", f"{text!r} is not one of: {', '.join(PRESETS)}")
    dynamics, sleep = PRESETS[text]
    sleep, linked = replace(sleep, auto=config.sleep.auto), LINKED.get(text, Association())
    return replace(config, dynamics=dynamics, sleep=sleep, association=linked)


def _sleep(config: Config, text: str) -> Config:
    choice = cast("Any", text)
    return replace(config, sleep=replace(config.sleep, auto=choice))


def _observe_mode(config: Config, text: str) -> Config:
    return replace(config, observe=replace(config.observe, mode=cast("Any", text)))


def _llm_model(config: Config, text: str) -> Config:
    return replace(config, llm=replace(config.llm, model=text or None))


def _allow_network(config: Config, text: str) -> Config:
    if text not in {"0", "1"}:
        raise InvalidInput("MEMENTO_ALLOW_NETWORK", f"{text!r} is neither 0 nor 1")
    return replace(config, allow_network=text == "1")


_READERS: dict[str, Callable[[Config, str], Config]] = {
    "MEMENTO_SHORT_CAPACITY": _capacity,
    "MEMENTO_SNAPSHOT_SECONDS": _snapshot,
    "MEMENTO_TEXT_CHARS": _text_chars,
    "MEMENTO_LONG_INDEX": _long_index,
    "MEMENTO_SECRETS": _secrets,
    "MEMENTO_UNTRUSTED": _untrusted,
    "MEMENTO_ALLOW_NETWORK": _allow_network,
    "MEMENTO_LLM_MODEL": _llm_model,
    "MEMENTO_OBSERVE_MODE": _observe_mode,
    "MEMENTO_PRESET": _preset,
    "MEMENTO_SLEEP": _sleep,
    "MEMENTO_TIMEZONE": _timezone,
}
