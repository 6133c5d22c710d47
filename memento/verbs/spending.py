"""The use of language models: requests, tokens, time, and the rest of the day's limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from memento.check import check_moment
from memento.ledger import model_rows
from memento.ledger.model_rows import Spent
from memento.views import View


@dataclass(frozen=True, slots=True)
class ModelUse:
    """Usage of a single language model.

    Attributes:
        calls: Number of requests sent.
        tokens_in: Number of tokens sent, as counted by the server.
        tokens_out: Number of tokens received.
        failures: Number of tasks without a usable reply.
        seconds: Time spent waiting for replies, in seconds.
    """

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    failures: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Usage:
    """A namespace's language model usage.

    The maximum usage of a request is counted before it is sent, and is not corrected if the process
    dies or the reply arrives too late.

    Attributes:
        total: The total.
        models: The usage of each model, by name.
        days: The total for each day (UTC, as ``2026-01-31``), earliest first.
        calls_left: Number of requests still allowed today.
        tokens_left: Number of tokens still allowed today.
        waiting: Number of messages waiting for a model; see ``LLMConfig.background``.
    """

    total: ModelUse
    models: Mapping[str, ModelUse] = field(default_factory=dict)
    days: Mapping[str, ModelUse] = field(default_factory=dict)
    calls_left: int = 0
    tokens_left: int = 0
    waiting: int = 0


def used(view: View, since: datetime | None) -> Usage:
    """Do what ``Store.usage`` does; see there."""
    limits = view.config.llm
    first = "0" if since is None else model_rows.day_of(check_moment("since", since))
    now = model_rows.day_of(view.engine.now())
    days = view.ask(lambda c, ns: model_rows.since(c, ns, first)) or {}
    today = sum((view.ask(lambda c, ns: model_rows.on_day(c, ns, now)) or {}).values(), Spent())
    models: dict[str, Spent] = {}
    for counts in days.values():
        for name, spent in counts.items():
            models[name] = models.get(name, Spent()) + spent
    return Usage(
        total=_use(sum(models.values(), Spent())),
        models={name: _use(spent) for name, spent in sorted(models.items())},
        days={day: _use(sum(counts.values(), Spent())) for day, counts in days.items()},
        calls_left=max(0, limits.calls_a_day - today.calls),
        tokens_left=max(0, limits.tokens_a_day - today.tokens_in - today.tokens_out),
        waiting=view.ask(model_rows.count) or 0,
    )


def _use(spent: Spent) -> ModelUse:
    millis = spent.millis / 1000
    return ModelUse(spent.calls, spent.tokens_in, spent.tokens_out, spent.failures, millis)
