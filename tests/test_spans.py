"""Spans of OpenTelemetry: how long and how much, and no word of a memory."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from memento.base import spans
from memento.errors import InvalidInput

SECRETS = ("Zanzibar", "quokka", "carol", "trip/city")
VERBS = ["add", "retrieve", "observe", "sleep", "flush"]


@pytest.fixture
def finished(monkeypatch):
    """The spans that end, in a provider of this test alone."""
    trace = pytest.importorskip("opentelemetry.trace")
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    ended = []

    class Collector(sdk.SpanProcessor):
        def on_end(self, span):
            ended.append(span)

    monkeypatch.delenv("OTEL_SDK_DISABLED", raising=False)  # CrewAI's tests set it
    provider = sdk.TracerProvider()
    provider.add_span_processor(Collector())
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    return ended


def lead(memory):
    """Call each verb that has a span, with words that no span may hold."""
    memory.add("The quokka lives in Zanzibar", "long", key="trip/city", actor="carol")
    memory.retrieve("Where does the quokka live?", actor="carol")
    memory.observe("I moved to Zanzibar.", session="carol")
    memory.sleep.run()
    memory.flush(wait=True)


def test_each_verb_is_a_span(memory, finished):
    """With numbers of what it dealt with."""
    lead(memory)
    found = {span.name: dict(span.attributes) for span in finished}
    assert {f"memento.{verb}" for verb in VERBS} <= set(found)
    assert found["memento.retrieve"]["memento.hits"] >= 1
    values = [value for facts in found.values() for value in facts.values()]
    assert all(isinstance(value, int | float) for value in values)


def test_no_span_holds_a_word_of_a_memory(memory, finished):
    """Nor does the span of a call that failed: it has the name of the error alone."""
    lead(memory)
    with pytest.raises(InvalidInput, match="quokka"):
        memory.retrieve("Zanzibar", match="quokka")
    told = "".join(span.to_json() for span in finished)
    assert not any(word in told for word in SECRETS)
    assert finished[-1].attributes["error.type"] == "InvalidInput"
    assert not finished[-1].status.is_ok


def test_without_a_provider_nothing_is_traced(memory, monkeypatch):
    """Also where the package is loaded; where it is not, memento does not load it."""
    assert spans._configured() is None
    monkeypatch.delitem(sys.modules, "opentelemetry.trace", raising=False)
    lead(memory)
    assert "opentelemetry.trace" not in sys.modules


def test_a_package_that_is_only_half_imported_is_none(memory, monkeypatch):
    """Chroma's import in the background thread may be in the middle of it."""
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", ModuleType("opentelemetry.trace"))
    assert memory.add("the kettle is blue").text == "the kettle is blue"
