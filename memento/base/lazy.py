"""Import a module at its first use: most programs need few of the verbs.

A start of ``memento`` costs what it imports. The rooms that one verb needs, and ``add`` and
``retrieve`` do not, are named with `later`::

    if TYPE_CHECKING:
        from memento.upkeep import doctor
    else:
        doctor = later("memento.upkeep.doctor")
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from memento.base.forks import whole


class _Later:
    """Stands for a module until it is used, and passes every look at its names on to it."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._load(), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._load(), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._load(), name)

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]  # of the module, for ``vars``
        found: dict[str, Any] = vars(self._load())
        return found

    def _load(self) -> Any:
        name: str = object.__getattribute__(self, "_name")
        if (found := sys.modules.get(name)) is not None and _is_whole(found):
            return found
        with whole():  # a fork would cut the import in two
            return import_module(name)


def later(name: str) -> Any:
    """Return what stands for a module that is imported when one of its names is used.

    >>> later("memento.base.plain").plain("text")
    'text'
    """
    return _Later(name)


def _is_whole(module: object) -> bool:
    """Return whether a module is not being imported by another thread."""
    return not getattr(getattr(module, "__spec__", None), "_initializing", False)
