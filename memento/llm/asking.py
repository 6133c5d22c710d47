"""Ask a model within the limits of the day; every failure of the model is a ``SynthesisFailed``.

The most that a task may use is counted in the ledger before anything is sent, so that a limit holds
across threads, processes and crashes. Afterwards the count is corrected.
"""

from __future__ import annotations

import json
from concurrent.futures import TimeoutError as TooLate
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from time import monotonic

from memento.config import LLMConfig
from memento.errors import BudgetSpent, InvalidInput, SynthesisFailed
from memento.ledger import model_rows
from memento.ledger.contract import Ledger, Transaction
from memento.ledger.model_rows import Spent
from memento.llm.apart import Abandoned, apart, awaited
from memento.llm.pydantic_ai import PydanticAI
from memento.protocols import Reply, Synthesizer, Task

FRAME = 1000
"""Tokens that a client library may add to one request: names of roles, the schema as a function."""
MOST = 1 << 40
"""Largest count of a model that is accepted as true."""
REASONS = frozenset({"unreachable", "refused", "timeout", "invalid", "error", "spent"})
"""Reasons of a ``SynthesisFailed``."""
STOPPED = "stopped"
"""Reason if the wait for the reply ended because the store is being closed."""


def model_of(config: LLMConfig) -> Synthesizer:
    """Return the model of the settings.

    Raises:
        InvalidInput: If the settings name no model, or one that cannot be used.
        MissingExtra: If its package is not installed.
    """
    if config.model is None:
        raise InvalidInput("llm.model", "is None; choose a model with LLMConfig(model=...)")
    if isinstance(config.model, str):
        return _named(config.model, config.seconds)
    return config.model


def ask(task: Task, *, ledger: Ledger, ns: int, config: LLMConfig, now: int) -> Reply:
    """Send a task to the model of the settings, within the limits of the day.

    Args:
        task: The task. ``attempts`` is set from the settings, and from what is left of the day.
        ledger: Where requests and tokens are counted.
        ns: The namespace whose limits apply.
        config: The model and its limits.
        now: The present moment, microseconds.

    Raises:
        BudgetSpent: If the limits leave too little for one request; nothing was sent.
        SynthesisFailed: If there is no reply, for whatever reason.
        InvalidInput: If the settings name no model that can be used.
        MissingExtra: If its package is not installed.
        StoreError: If the count cannot be written; nothing was sent.
    """
    model, day = model_of(config), model_rows.day_of(now)
    name = model.name

    def reserve(session: Transaction) -> tuple[Task, Spent]:
        counted = sum(model_rows.on_day(session, ns, day).values(), Spent())
        attempts, most = _affordable(task, counted, config)
        model_rows.add(session, ns, day, name, most)
        return replace(task, attempts=attempts), most

    def correct(used: Spent) -> None:
        right = replace(used, millis=int(1000 * (monotonic() - began))) - most
        ledger.write(lambda session: model_rows.add(session, ns, day, name, right), spaces=(ns,))

    allowed, most = ledger.write(reserve, spaces=(ns,))
    began = monotonic()
    try:
        reply = _complete(model, allowed, config.seconds)
    except SynthesisFailed as error:
        late = error.reason == "timeout"  # the server may have done all of it
        if error.reason == STOPPED:
            correct(Spent(1, most.tokens_in // most.calls, most.tokens_out // most.calls))
        else:
            correct(replace(most, calls=max(1, error.calls), failures=1) if late else _spent(error))
        raise
    correct(_spent(reply))
    return replace(reply, model=name)


def _complete(model: Synthesizer, task: Task, seconds: float) -> Reply:
    """Ask a model; raise ``SynthesisFailed`` if there is no reply, whatever the reason."""
    try:
        return awaited(apart(lambda: _plain_reply(model, task)), seconds)
    except SynthesisFailed as error:
        if error.reason not in REASONS:  # a custom model may have set anything
            error.reason = "error"
        error.calls = _counted(error.calls, 1)
        error.tokens_in = _counted(error.tokens_in)
        error.tokens_out = _counted(error.tokens_out)
        raise
    except Abandoned:
        raise SynthesisFailed(STOPPED, f"{model.name}: the store is being closed") from None
    except TooLate:
        raise SynthesisFailed(
            "timeout", f"{model.name}: no reply within {seconds:g} s", calls=task.attempts
        ) from None
    except Exception as error:  # a custom model may raise anything
        problem = f"{model.name}: {type(error).__name__}"
        raise SynthesisFailed("error", problem, calls=1) from error


def _plain_reply(model: Synthesizer, task: Task) -> Reply:
    """Ask a model and return a plain copy of its reply, which cannot raise or change later.

    Raises:
        SynthesisFailed: If the reply is not a JSON object.
    """
    reply = model.complete(task)
    value = None
    if isinstance(reply, Reply):
        with suppress(TypeError, ValueError, RecursionError):
            value = json.loads(json.dumps(reply.value))
    if not isinstance(value, dict):
        raise SynthesisFailed("invalid", f"{model.name}: the reply is not a JSON object", calls=1)
    return Reply(
        value,
        model.name,
        calls=min(max(1, _counted(reply.calls, 1)), task.attempts),
        tokens_in=_counted(reply.tokens_in),
        tokens_out=_counted(reply.tokens_out),
    )


def _counted(value: object, otherwise: int = 0) -> int:
    """Return a count of a model if it is an integer from 0 to `MOST`, else ``otherwise``."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST:
        return int(value)
    return otherwise


def _spent(done: Reply | SynthesisFailed) -> Spent:
    """Return the usage that a reply or a failure reports."""
    failures = int(isinstance(done, SynthesisFailed))
    return Spent(done.calls, done.tokens_in, done.tokens_out, failures)


def _affordable(task: Task, counted: Spent, config: LLMConfig) -> tuple[int, Spent]:
    """Return how many requests the limits allow for a task, and the most that these may use.

    The tokens of a text are estimated by its bytes, which are never fewer.

    Raises:
        BudgetSpent: If they do not allow one.
    """
    words = (task.instructions, task.data, json.dumps(dict(task.schema)))
    sent = FRAME + sum(len(one.encode("utf-8", "replace")) for one in words)
    millis = int(1000 * config.seconds)
    if counted.millis + millis > 1000 * config.seconds_a_day:
        raise BudgetSpent("seconds_a_day", config.seconds_a_day)
    calls = min(config.attempts, config.calls_a_day - counted.calls)
    if calls < 1:
        raise BudgetSpent("calls_a_day", config.calls_a_day)
    left = config.tokens_a_day - counted.tokens_in - counted.tokens_out
    calls = min(calls, left // (sent + task.max_tokens))
    if calls < 1:
        raise BudgetSpent("tokens_a_day", config.tokens_a_day)
    return calls, Spent(calls, calls * sent, calls * task.max_tokens, millis=millis)


def trouble(ledger: Ledger, ns: int | None, config: LLMConfig, now: int) -> dict[str, str]:
    """Return the reached limit of the day under ``llm``; {} if none is, or there is no model."""
    if config.model is None or ns is None:
        return {}
    error = lacking_for(_LEAST, ledger=ledger, ns=ns, config=config, now=now)
    return {} if error is None else {"llm": str(error)}


def lacking_for(
    task: Task, *, ledger: Ledger, ns: int, config: LLMConfig, now: int
) -> BudgetSpent | None:
    """Return the error for the limit of the day that a task would exceed; None if none."""
    day = model_rows.day_of(now)
    counted = sum(ledger.read(lambda c: model_rows.on_day(c, ns, day), space=ns).values(), Spent())
    try:
        _affordable(task, counted, config)
    except BudgetSpent as error:
        return error
    return None


_LEAST = Task("none", 0, "", "", {}, max_tokens=1)
"""The smallest possible task."""


@lru_cache(maxsize=8)
def _named(name: str, seconds: float) -> Synthesizer:
    return PydanticAI(name, timeout=seconds)
