"""Spans of OpenTelemetry, if the program that uses memento has set it up.

Nothing is imported, set up or sent here. A span says how long a verb took, how much it dealt with
and which error ended it. No text, name or id of a memory is in it, nor the message of an error,
which may repeat a value.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def traced(
    verb: str, told: Callable[[Any], Mapping[str, float]]
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let each call of a function be a span ``memento.VERB``.

    Args:
        verb: Name of the verb.
        told: Makes attributes of the result: numbers alone.
    """

    def decorate(call: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(call)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            trace = _configured()
            if trace is None:
                return call(*args, **kwargs)
            tracer = trace.get_tracer("memento")
            with tracer.start_as_current_span(
                f"memento.{verb}", record_exception=False, set_status_on_exception=False
            ) as span:
                try:
                    result = call(*args, **kwargs)
                except BaseException as error:  # also an interruption ends the span
                    span.set_attribute("error.type", type(error).__name__)
                    span.set_status(trace.StatusCode.ERROR)
                    raise
                for name, value in told(result).items():
                    span.set_attribute(f"memento.{name}", value)
                return result

        return run

    return decorate


def _configured() -> Any:
    """Return the tracing of OpenTelemetry; None unless a provider was set."""
    trace = sys.modules.get("opentelemetry.trace")
    try:
        proxy = trace is None or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
    except (AttributeError, NameError):  # another thread is importing it at this moment
        return None
    return None if proxy else trace
