"""The limits of a day hold whatever a model does, and everything that is used is counted."""

from __future__ import annotations

import threading
from asyncio import CancelledError
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memento import Config, MemoryManager
from memento.config import LLMConfig
from memento.errors import BudgetSpent, InvalidInput, SynthesisFailed
from memento.ledger import model_rows
from memento.ledger.model_rows import Spent
from memento.llm.asking import FRAME, ask
from memento.protocols import Reply, Synthesizer, Task
from memento.testing import FailingLLM, ManualClock, ScriptedLLM, SlowLLM

TASK = Task("observe", 1, "Say", "this", {"type": "object"}, max_tokens=100)
SENT = FRAME + len("Say") + len("this") + len('{"type": "object"}')
DAY = "2025-01-01"


@pytest.fixture
def store(tmp_path):
    """A store with one namespace and a clock that stands still."""
    with MemoryManager(tmp_path / "store", embedder=None, clock=ManualClock()) as memory:
        memory.add("I live in Porto")
        yield memory._engine


def asked(store, model, **limits):
    """Ask for the task."""
    config = LLMConfig(model=model, **limits)
    return ask(TASK, ledger=store.ledger, ns=1, config=config, now=store.now())


def spent(store):
    """Return the counts of the day."""
    return sum(store.ledger.read(lambda c: model_rows.on_day(c, 1, DAY)).values(), Spent())


def test_a_reply_is_counted(store):
    """Requests, tokens both ways, under the name of the model."""
    reply = asked(store, ScriptedLLM([{"items": []}]))
    assert reply.model == "scripted"
    counts = store.ledger.read(lambda c: model_rows.on_day(c, 1, DAY))
    assert list(counts) == ["scripted"]
    used = counts["scripted"]
    assert (used.calls, used.tokens_in, used.tokens_out) == (1, reply.tokens_in, reply.tokens_out)
    assert used.failures == 0


def test_calls_a_day(store):
    """The third request of two is not sent; the next day there are two more."""
    model = ScriptedLLM(lambda _: {})
    for _ in range(2):
        asked(store, model, calls_a_day=2)
    with pytest.raises(BudgetSpent) as caught:
        asked(store, model, calls_a_day=2)
    assert (caught.value.limit, caught.value.reason, len(model.tasks)) == (
        "calls_a_day", "spent", 2,
    )  # fmt: skip
    store.clock.advance(timedelta(days=1))
    asked(store, model, calls_a_day=2)


def test_attempts_are_what_is_left(store):
    """A task for which two attempts are set gets one if one request is left."""
    model = ScriptedLLM(lambda _: {})
    asked(store, model, calls_a_day=2, attempts=2)
    asked(store, model, calls_a_day=2, attempts=2)
    assert [task.attempts for task in model.tasks] == [2, 1]


def test_tokens_a_day(store):
    """The most that a request may use must be left, not only its later use."""
    model = ScriptedLLM(lambda _: {})
    most = SENT + TASK.max_tokens
    asked(store, model, tokens_a_day=most, attempts=1)
    with pytest.raises(BudgetSpent, match="tokens_a_day"):
        asked(store, model, tokens_a_day=most, attempts=1)
    assert len(model.tasks) == 1


def test_seconds_a_day(store):
    """A task that may take longer than what is left is not sent."""
    model = ScriptedLLM(lambda _: {})
    with pytest.raises(BudgetSpent, match="seconds_a_day"):
        asked(store, model, seconds_a_day=1.0, seconds=2.0)
    assert (model.tasks, spent(store)) == ([], Spent())


def test_a_model_that_is_too_slow_keeps_what_was_counted(store):
    """It may still use all of it, so nothing is given back; the caller goes on."""
    model = SlowLLM([{}])
    with pytest.raises(SynthesisFailed) as caught:
        asked(store, model, seconds=0.05, attempts=1)
    assert caught.value.reason == "timeout"
    assert model.asked.is_set()
    used = spent(store)
    assert (used.calls, used.tokens_in, used.tokens_out, used.failures) == (1, SENT, 100, 1)
    model.released.set()


def test_failures_are_counted(store):
    """With the requests that were sent."""
    with pytest.raises(SynthesisFailed):
        asked(store, FailingLLM("refused"))
    used = spent(store)
    assert (used.calls, used.tokens_in, used.failures) == (1, 0, 1)


class Own:
    """A model of a program, which does as it likes."""

    name = "own"

    def __init__(self, result):
        self.result = result

    def complete(self, _task):
        """Return or raise what the test says."""
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (ValueError("sk-secret"), "error"),
        (KeyError("x"), "error"),
        (CancelledError(), "error"),
        (GeneratorExit(), "error"),
        (SystemExit(), "error"),
        (SynthesisFailed(None, "x", calls=1), "error"),
        (None, "invalid"),
        ({"items": []}, "invalid"),
        (Reply([1], "own"), "invalid"),
        (Reply("text", "own"), "invalid"),
    ],
)
def test_any_end_of_a_model_is_one_error(store, result, reason):
    """And its message has no words of the model's own.

    A client that cancels its own work, or exits, gave no reply; nobody cancelled the caller.
    """
    with pytest.raises(SynthesisFailed) as caught:
        asked(store, Own(result))
    assert caught.value.reason == reason
    assert "sk-secret" not in str(caught.value)
    assert (spent(store).calls, spent(store).failures) == (1, 1)


NO_COUNTS = (-5, None, "3", 2.5, True, 10**5000)


@pytest.mark.parametrize("count", NO_COUNTS, ids=["below", "none", "text", "half", "true", "huge"])
@pytest.mark.parametrize("failing", [False, True])
def test_observe_takes_no_wrong_counts(tmp_path, count, failing):
    """Neither with a reply nor with a failure do they raise, or reach the caller."""
    ended = Reply({"items": []}, "own", count, count, count)
    if failing:
        ended = SynthesisFailed("error", "x")
        ended.calls = ended.tokens_in = ended.tokens_out = count
    llm = Config(llm=LLMConfig(model=Own(ended)))
    with MemoryManager(tmp_path / "own", embedder=None, config=llm) as memory:
        part = memory.observe("I usually work from the cabin behind our house.", mode="full").model
        assert part.failure == ("error" if failing else None)
        assert (part.calls, part.tokens_in, part.tokens_out) == (1, 0, 0)
        assert memory.store.usage().total.calls == 1


def test_no_crash_gets_past_a_limit(store, monkeypatch):
    """The first count stays if the process dies while the model works."""

    class Death(BaseException):
        """The end of the process."""

    class Dying(Own):
        def complete(self, _task):
            monkeypatch.setattr(model_rows, "add", _never)
            raise Death

    def _never(*_args):
        raise Death

    with pytest.raises(Death):
        asked(store, Dying(None), attempts=2)
    used = spent(store)
    assert (used.calls, used.tokens_in, used.tokens_out) == (2, 2 * SENT, 200)


def test_threads_share_a_limit(store):
    """Twelve at once, five requests."""
    model = ScriptedLLM(lambda _: {})
    gate = threading.Barrier(12)

    def one(_):
        gate.wait()
        try:
            return asked(store, model, calls_a_day=5, attempts=1).calls
        except BudgetSpent:
            return 0

    with ThreadPoolExecutor(12) as threads:
        assert sum(threads.map(one, range(12))) == 5
    assert len(model.tasks) == 5


def test_namespaces_pay_for_themselves(store):
    """And old days are dropped."""
    add = model_rows.add
    for ns, day in ((1, "2023-01-01"), (2, "2023-01-01"), (1, DAY), (11, DAY)):
        store.ledger.write(lambda c, ns=ns, day=day: add(c, ns, day, "m", Spent(calls=ns)))
    read = store.ledger.read(lambda c: model_rows.since(c, 1, "0"))
    assert {day: counts["m"].calls for day, counts in read.items()} == {DAY: 1}
    assert list(store.ledger.read(lambda c: model_rows.since(c, 2, "0"))) == ["2023-01-01"]


@given(
    calls=st.lists(
        st.tuples(st.integers(1, 3), st.integers(0, 2000), st.integers(0, 100), st.booleans()),
        max_size=12,
    ),
    limit=st.integers(0, 6),
    tokens=st.integers(0, 12_000),
)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_limit_is_ever_passed(store, calls, limit, tokens):
    """An honest model uses any part of its allowance."""
    store.ledger.write(lambda c: c.execute("DELETE FROM meta WHERE name LIKE 'llm %'"))
    for wanted, sent, received, fails in calls:

        def work(task, wanted=wanted, sent=sent, received=received, fails=fails):
            used = min(wanted, task.attempts)
            counts = used, used * min(sent, SENT), used * min(received, task.max_tokens)
            if fails:
                raise SynthesisFailed(
                    "refused", "no", calls=counts[0], tokens_in=counts[1], tokens_out=counts[2]
                )
            return Reply({}, "own", counts[1], counts[2], counts[0])

        model = Own(None)
        model.complete = work
        with suppress(SynthesisFailed):
            asked(store, model, calls_a_day=limit, tokens_a_day=tokens, attempts=3)
        used = spent(store)
        assert used.calls <= limit
        assert used.tokens_in + used.tokens_out <= tokens


@pytest.mark.parametrize(
    "field", ["calls_a_day", "tokens_a_day", "seconds_a_day", "seconds", "attempts"]
)
@pytest.mark.parametrize("value", [-1, "1", None, True, float("nan"), float("inf")])
def test_limits_are_numbers(field, value):
    """Anything else is refused."""
    with pytest.raises(InvalidInput, match=field):
        replace(LLMConfig(), **{field: value})


def test_a_model_is_a_model():
    """A name, an object that completes, or None."""
    assert isinstance(ScriptedLLM(), Synthesizer)
    with pytest.raises(InvalidInput, match=r"llm\.model"):
        LLMConfig(model=3)
    nameless = ScriptedLLM()
    nameless.name = None
    with pytest.raises(InvalidInput, match="name"):
        LLMConfig(model=nameless)


def test_without_a_model_nothing_is_asked(store):
    """The error names the setting."""
    with pytest.raises(InvalidInput, match=r"llm\.model"):
        asked(store, None)


class Sly(dict):
    """A JSON object that raises once it is read."""

    def items(self):
        """Raise."""
        raise RuntimeError("not now")


class Shout(str):
    """A text that raises once it is used."""

    __slots__ = ()

    def split(self, *_):
        """Raise."""
        raise RuntimeError("not now")


def test_a_reply_is_plain(store):
    """An object of a class of the model's own is copied as JSON, or refused before it is used."""
    reply = asked(store, Own(Reply({"said": Shout("a b")}, "own")))
    assert type(reply.value["said"]) is str
    for value, reason in ((Sly(a=1), "error"), ({"a": {1}}, "invalid"), ({"a": 1j}, "invalid")):
        with pytest.raises(SynthesisFailed) as caught:
            asked(store, Own(Reply(value, "own")))
        assert caught.value.reason == reason


def test_a_reply_has_no_more_requests_than_were_allowed(store):
    """A model that says otherwise is not believed."""
    assert asked(store, Own(Reply({}, "own", calls=1_000_000)), attempts=2).calls == 2
    assert spent(store).calls == 2


@pytest.mark.parametrize("name", ["x" * 257, "a\0b", "a\ud800", " "])
def test_a_model_has_a_name_that_can_be_stored(name):
    """As a name, and as that of an object; otherwise it would be paid for nothing."""
    for model in (name, ScriptedLLM(name=name)):
        with pytest.raises(InvalidInput) as caught:
            LLMConfig(model=model)
        assert caught.value.field == "llm.model"
