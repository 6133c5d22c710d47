"""The namespace of a run, which a function of yours derives from its context and settings.

The adapters for LangChain and LangGraph share it: a run of either has the same settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Any

from langchain_core.runnables.config import ensure_config

from memento import MemoryManager
from memento.errors import InvalidInput
from memento.frameworks import Labels, labels

Namespace = Callable[[Any], Labels] | Callable[[Any, Mapping[str, Any]], Labels]
"""Makes labels from the context of the run, or from the context and the settings of the run."""
RUNTIME = "__pregel_runtime"
"""Where LangGraph keeps the runtime of a run."""
_PLACES = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_BOTH = 2  # parameters of a function of context and settings
_PROBLEM = "must be a function of the context, or of the context and the settings, giving labels"


class Views:
    """Chooses the namespace of a manager for a run.

    Args:
        manager: The manager.
        namespace: A function of the run's context that returns labels, such as ``lambda context:
            ("acme", context.user_id)``, or of the context and the settings
            (``config["configurable"]``), such as ``lambda _, settings: settings["user_id"]``; None
            for the manager's own namespace. A label may be an integer.

    Raises:
        InvalidInput: If it is not such a function.
    """

    def __init__(self, manager: MemoryManager, namespace: Namespace | None) -> None:
        self._manager = manager
        self._namespace: Callable[..., Labels] | None = namespace
        self._both = namespace is not None and _takes_both(namespace)

    def of_run(self, context: Any = None) -> MemoryManager:
        """Return the view for the current run.

        Args:
            context: Context of the run, if the caller has it; None to look it up.

        Raises:
            InvalidInput: If the function requires the context, and the run has none.
            InvalidScope: If the labels are malformed.
        """
        if self._namespace is None:
            return self._manager
        settings = settings_of_run()
        if context is None:
            context = getattr(settings.get(RUNTIME), "context", None)
        if self._both:
            return self._manager.of(*labels(self._namespace(context, settings)))
        if context is None:
            raise InvalidInput(
                "context", "is missing, but the namespace depends on it: invoke(..., context=...)"
            )
        return self._manager.of(*labels(self._namespace(context)))


def check_namespace(namespace: object) -> None:
    """Refuse anything that cannot return labels.

    Raises:
        InvalidInput: If it is not a function of the context, or of the context and the settings.
    """
    if namespace is not None:
        _takes_both(namespace)


def settings_of_run() -> Mapping[str, Any]:
    """Return the settings of the run, such as its thread; empty outside of a run."""
    return ensure_config().get("configurable", {})


def _takes_both(namespace: object) -> bool:
    """Return whether a function takes the context and the settings, or the context alone."""
    if not callable(namespace):
        raise InvalidInput("namespace", _PROBLEM)
    try:
        known = signature(namespace)
    except ValueError:  # some functions written in C do not tell
        return False
    needed = [
        one
        for one in known.parameters.values()
        if one.kind in _PLACES and one.default is Parameter.empty
    ]
    both = len(needed) == _BOTH
    try:
        known.bind(*[None] * (_BOTH if both else 1))
    except TypeError as error:
        raise InvalidInput("namespace", _PROBLEM) from error
    return both
