"""Settings of language models."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from memento.check import check_count, check_flag, short_name
from memento.errors import InvalidInput
from memento.protocols import Synthesizer


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
        for name in ("calls_a_day", "tokens_a_day"):
            value = getattr(self, name)
            if type(value) is not int or value < 0:
                raise InvalidInput(f"llm.{name}", f"must be an integer >= 0, not {value!r}")
        check_count("llm.attempts", self.attempts)
        _check_time("seconds_a_day", self.seconds_a_day)
        _check_time("seconds", self.seconds)
        _check_time("quiet_seconds", self.quiet_seconds)
        check_flag("llm.background", self.background)
        if self.seconds == 0:
            raise InvalidInput("llm.seconds", "must be above 0, not 0")


def _check_time(name: str, value: object) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value < inf:  # type: ignore[operator]
        raise InvalidInput(f"llm.{name}", f"must be at least 0 and finite, not {value!r}")
