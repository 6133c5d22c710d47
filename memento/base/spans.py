"""OpenTelemetry spans, if the calling program has set up OpenTelemetry.

Nothing is imported, set up or sent here. A span records how long a verb took, some counts, and the
type of the error that ended it. It holds no text, name or id of a memory, and no error message,
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
    """Record each call of a function as a span ``memento.VERB``.

    Args:
        verb: Name of the verb.
        told: Returns the attributes for a result: only numbers.
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
                except BaseException as error:  # KeyboardInterrupt, too
                    span.set_attribute("error.type", type(error).__name__)
                    span.set_status(trace.StatusCode.ERROR)
                    raise
                for name, value in told(result).items():
                    span.set_attribute(f"memento.{name}", value)
                return result

        return run

    return decorate


def _configured() -> Any:
    """Return the module ``opentelemetry.trace``; None unless a provider was set."""
    trace = sys.modules.get("opentelemetry.trace")
    try:
        proxy = trace is None or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
    except (AttributeError, NameError):  # another thread is importing it at this moment
        return None
    return None if proxy else trace
