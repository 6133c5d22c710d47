"""Import a module at its first use: most programs need few of the verbs.

Imports make up most of the start-up time of ``memento``. Modules that one verb needs, but ``add``
and ``retrieve`` do not, are named with `later`::

    if TYPE_CHECKING:
        from memento.upkeep import doctor
    else:
        doctor = later("memento.upkeep.doctor")
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from memento.base.forks import whole
from memento.errors import MissingExtra


class _Later:
    """A stand-in for a module, which it imports at the first access to an attribute."""

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
        with whole():  # a fork would interrupt the import
            return import_module(name)


def later(name: str) -> Any:
    """Return a stand-in for a module, which is imported when one of its names is used.

    >>> later("memento.base.plain").plain("text")
    'text'
    """
    return _Later(name)


def names_of(
    package: str, homes: Mapping[str, str], needs: Mapping[str, tuple[str, str]]
) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package that imports each of its names at its first use.

    Args:
        package: Full name of the package.
        homes: Maps each name to the module of the package that defines it.
        needs: Maps each package that may be missing to the two arguments of the ``MissingExtra``
            that is raised in that case.

    >>> names_of("memento.base", {"plain": "plain"}, {})("plain")("text")
    'text'
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return getattr(import_module(f"{package}.{homes[name]}"), name)
        except ModuleNotFoundError as error:
            missing = needs.get((error.name or "").partition(".")[0])
            if missing is None:
                raise
            raise MissingExtra(*missing) from error

    return find


def _is_whole(module: object) -> bool:
    """Return whether a module has been imported completely."""
    return not getattr(getattr(module, "__spec__", None), "_initializing", False)
