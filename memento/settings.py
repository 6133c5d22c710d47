"""Read the settings from ``memento.toml`` and from the environment, and say where each came from.

The user's file comes first, then the file in the store's folder, then the environment: a later one
wins. A store may come from somebody else, so its file may only hold what `OF_A_STORE` names. See
``docs/adr/0035``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from memento.base import layout
from memento.base.display import cut
from memento.base.files import path_of, read_regular
from memento.base.home import is_server
from memento.check import check_word
from memento.config import PRESETS, Config, of_preset
from memento.errors import InvalidInput, InvalidSetting

PREFIX = "MEMENTO_"
ELSEWHERE = frozenset({
    "MEMENTO_ROOT", "MEMENTO_CACHE", "MEMENTO_URL", "MEMENTO_TOKEN", "MEMENTO_NAMESPACE",
    "MEMENTO_EMBEDDER", "MEMENTO_HOOKS",
})  # fmt: skip
"""Variables that are no settings: they name the store or a service, the namespace and the embedder,
and turn hooks off."""
ENVIRONMENT = "environment"
DEFAULT = "default"
PRESET = "preset"
"""A setting of files and of the environment only: the preset to which the others are added."""
OF_A_STORE = frozenset({
    PRESET, "long_index", "short.capacity", "dynamics.pace",
    "dynamics.stability", "dynamics.half_life", "association.rate", "association.budget",
    "retrieve.few", "retrieve.many", "retrieve.passage", "retrieve.long",
})  # fmt: skip
"""What the file of a store may hold: the settings on which all processes of a store should agree,
and the size of its answers. None of them decides what is trusted or let in, which namespaces are
read, or what leaves the machine. They say how fast memories fade, and so which ones a sleep
archives first; whether it sleeps by itself is the user's. A new setting is not among them by
itself."""
SECRET = frozenset({"chroma.token"})
"""Settings whose values are not shown."""
_MOST_BYTES = 65_536
_SOME = 3


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Attributes:
        name: Its name, such as ``short.capacity``.
        value: Its value.
        source: Where it comes from: ``default``, a file, ``environment``, or a preset specified
            there.
    """

    name: str
    value: object
    source: str

    @property
    def line(self) -> str:
        """Its line in a ``memento.toml``."""
        return f"{self.name} = {_toml(self.value)}"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in effect for a store.

    Attributes:
        config: All of them, as passed to ``MemoryManager``.
        each: One by one, with their sources.
    """

    config: Config
    each: tuple[Setting, ...]


def load(root: str | Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Read the settings of a store from its files and the environment.

    Args:
        root: The store folder, which need not exist; None to ignore the store's file.
        environ: The environment; None for that of the process.

    Raises:
        InvalidSetting: If a file or a variable contains an unknown setting or an invalid value.

    >>> load(environ={"MEMENTO_LONG_INDEX": "exact"}).config.long_index
    'exact'
    """
    environ = os.environ if environ is None else environ
    given: dict[str, tuple[object, str]] = {}
    if (users := user_file(environ)) is not None:
        given |= _of_file(users, known())
    if root is not None and not is_server(root):
        given |= _of_file(path_of("root", root) / layout.SETTINGS, known() & OF_A_STORE, users)
    given |= _of_environment(environ)
    base, sources = Config(), {name: source for name, (_, source) in given.items()}
    try:
        if PRESET in given:
            chosen, source = given.pop(PRESET)
            base = of_preset(check_word(PRESET, chosen, PRESETS))
            changed = [
                name for name in known() - {PRESET} if _at(base, name) != _at(Config(), name)
            ]
            sources = dict.fromkeys(changed, f"preset {chosen!r}, {source}") | sources
        config = _changed(base, {name: value for name, (value, _) in given.items()})
    except InvalidInput as error:
        raise InvalidSetting(
            sources.get(error.field, DEFAULT), error.field, error.problem
        ) from None
    return Settings(
        config,
        tuple(Setting(name, _shown(config, name), sources.get(name, DEFAULT)) for name in _hints()),
    )


def user_file(environ: Mapping[str, str]) -> Path | None:
    """Return the path of the user's file; None if the environment names no home folder."""
    kept = "Library/Application Support" if sys.platform == "darwin" else ".config"
    folder = Path(environ.get("XDG_CONFIG_HOME", ""))
    if not folder.is_absolute():  # the specification says to ignore it then
        folder = Path(environ.get("HOME", "")) / kept
    return folder / "memento" / layout.SETTINGS if folder.is_absolute() else None


@cache
def known() -> frozenset[str]:
    """Return the names of all settings that a file may hold."""
    return frozenset(_hints()) | {PRESET}


@cache
def variables() -> Mapping[str, str]:
    """Map environment variables to settings; a setting that is a table has no variable."""
    tables = {name for name, hint in _hints().items() if get_origin(hint) is Mapping}
    return {f"{PREFIX}{one.upper().replace('.', '_')}": one for one in sorted(known() - tables)}


@cache
def _hints() -> Mapping[str, Any]:
    """Return the name and the type of each setting."""
    return dict(_walked(Config, ""))


def _walked(kind: type, above: str) -> Iterator[tuple[str, Any]]:
    hints = get_type_hints(kind)
    for one in fields(kind):
        part = hints[one.name]
        if isinstance(part, type) and is_dataclass(part):
            yield from _walked(part, f"{above}{one.name}.")
        else:
            yield above + one.name, part


def _of_file(
    path: Path, allowed: Iterable[str], users: Path | None = None
) -> dict[str, tuple[object, str]]:
    """Read a file; {} if there is none. ``users``: the file for settings that it may not have."""
    source = str(path)
    try:
        data = read_regular(path, _MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        if not os.access(path.parent, os.X_OK):
            return {}  # no access to the folder: opening the store reports that
        raise InvalidSetting(source, "", f"cannot be read: {error.strerror}") from None
    if len(data) > _MOST_BYTES:
        raise InvalidSetting(source, "", f"is larger than {_MOST_BYTES:,} bytes")
    import tomllib  # noqa: PLC0415 - few have such a file, and all would wait for it

    try:
        told = dict(_flat(tomllib.loads(data.decode("utf-8-sig")), ""))
    except (ValueError, RecursionError) as error:  # it names the line
        raise InvalidSetting(source, "", f"is not TOML: {cut(str(error))}") from None
    for name in told:
        if name not in known():
            raise InvalidSetting(source, cut(name), _unknown(name, known()))
        if name not in allowed:
            problem = (
                f"cannot be set in the file of a store; set it in {users} or with {_named(name)}"
            )
            raise InvalidSetting(source, name, problem)
    return {name: (_from_toml(name, value), source) for name, value in told.items()}


def _flat(table: Mapping[str, object], above: str) -> Iterator[tuple[str, object]]:
    """Yield (name, value) for the settings in a TOML table, with dotted names."""
    for key, value in table.items():
        name = above + key
        if isinstance(value, dict) and name not in known():
            yield from _flat(value, f"{name}.")
        else:
            yield name, value


def _of_environment(environ: Mapping[str, str]) -> dict[str, tuple[object, str]]:
    found: dict[str, tuple[object, str]] = {}
    for variable, text in sorted(environ.items()):
        if variable.startswith(PREFIX) and variable not in ELSEWHERE:
            if variable not in variables():
                problem = _unknown(variable, {*variables(), *ELSEWHERE})
                raise InvalidSetting(ENVIRONMENT, variable, problem)
            name = variables()[variable]
            try:
                value = _from_text(name, text)
            except ValueError:
                problem = f"{text!r:.60} is not a number"
                raise InvalidSetting(ENVIRONMENT, variable, problem) from None
            found[name] = value, f"{ENVIRONMENT} ({variable})"
    return found


def _named(name: str) -> str:
    return next((one for one, setting in variables().items() if setting == name), "Config")


def _unknown(name: str, among: Iterable[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only who mistyped waits for it

    near = get_close_matches(name, among, _SOME, cutoff=0.5)
    listed = ", ".join(near or sorted({one.partition(".")[0] for one in among}))
    return f"is not a memento setting; {'did you mean' if near else 'known settings'}: {listed}"


def _toml(value: object) -> str:
    """Format a value as TOML; None becomes "".

    >>> _toml({"fact": 9.0}), _toml(("web", "tool")), _toml(None)
    ('{"fact" = 9.0}', '["web", "tool"]', '""')
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_toml(key)} = {_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    plain = isinstance(value, str | int | float) and not isinstance(value, Enum)
    return json.dumps("" if value is None else value if plain else str(value))


def _from_toml(name: str, value: object) -> object:
    if value == "" and NoneType in _choices(name):
        return None
    return tuple(value) if isinstance(value, list) else value


def _from_text(name: str, text: str) -> object:
    choices = _choices(name)
    if not text and NoneType in choices:
        return None
    if bool in choices:
        return {"0": False, "1": True}.get(text, text)
    if int in choices or float in choices:
        return int(text) if int in choices else float(text)
    if any(get_origin(one) is tuple for one in choices):
        return tuple(part.strip() for part in text.split(",") if text)
    return text


def _choices(name: str) -> tuple[Any, ...]:
    hint = _hints().get(name, str)
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _at(config: Config, name: str) -> object:
    found: object = config
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _shown(config: Config, name: str) -> object:
    value = _at(config, name)
    return "..." if value is not None and name in SECRET else value


def _changed(base: Config, values: Mapping[str, object]) -> Config:
    """Return the settings with some replaced, by name; ``Config`` and its parts check them."""
    parts: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        part, _, own = name.rpartition(".")
        parts.setdefault(part, {})[own] = value
    changes = parts.pop("", {})
    changes |= {part: replace(getattr(base, part), **own) for part, own in parts.items()}
    return replace(base, **changes)
