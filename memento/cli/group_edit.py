"""Commands that change a memory in place: ``set`` by options, ``edit`` in the user's editor."""

from __future__ import annotations

import json
import math
import os
import shlex
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any

import typer

from memento import Draft, MemoryManager
from memento.base.clock import in_zone
from memento.base.display import one_line
from memento.cli.local import short, zone
from memento.cli.options import (
    ID,
    Id,
    Ids,
    coming_moment_of,
    command,
    condition_of,
    moment_option,
    option,
    seconds_of,
)
from memento.cli.output import Shown, each, id_of, one_memory
from memento.errors import InvalidInput, MementoError
from memento.types import Kind, Memory, Tier
from memento.views import together

app = typer.Typer()

EDITED = (
    "tier", "kind", "importance", "scope", "key", "tags", "aliases", "pinned", "condition",
    "due_at", "expires_at", "valid_until",
)  # fmt: skip
"""Fields that ``edit`` shows above the text."""
_MOMENTS = {"due_at", "expires_at", "valid_until"}
_LISTS = {"tags", "aliases"}


def _expiry(text: str) -> float:
    """Parse a length of time, or ``never``."""
    return math.inf if text == "never" else seconds_of(text)


@command(
    app,
    f"memento set {ID} --tag +ops --tag -draft --tier long",
    f"memento set {ID} --pin --lock",
    f"memento set {ID} --expires-in 7d --importance 0.9",
    f"memento set {ID} --archived",
    name="set",
)
def set_(
    memory: MemoryManager,
    ids: Ids,
    *,
    tag: list[str] | None = option("--tag", "+NAME adds a tag, -NAME removes it; repeatable."),
    alias: list[str] | None = option(
        "--alias", "+NAME adds an alias, -NAME removes it; repeatable."
    ),
    metadata: list[str] | None = option(
        "--metadata", "Set a metadata field; -NAME removes it.", metavar="NAME=VALUE"
    ),
    tier: Tier | None = option("--tier", "Tier to move the memory to."),
    kind: Kind | None = option("--kind", "Kind of statement."),
    importance: float | None = option("--importance", "Importance, from 0 to 1."),
    scope: str | None = option("--scope", "Scope that it applies to; '' for everywhere."),
    key: str | None = option(
        "--key", "Store the same text under this key, superseding this memory."
    ),
    condition: str | None = option(
        "--condition", "For a rule: when it applies, in plain language; '' for always."
    ),
    due_at: datetime | None = moment_option(
        "--due", "For a plan: when it is due.", parser=coming_moment_of
    ),
    expires_in: float | None = option(
        "--expires-in",
        "Hide the memory after this time, such as 7d, or never.",
        parser=_expiry,
        metavar="TIME",
    ),
    pin: bool | None = option("--pin/--no-pin", "Protect the memory from fading, or let it fade."),
    lock: bool | None = option(
        "--lock/--no-lock", "Lock the memory against changes, or unlock it."
    ),
    archived: bool | None = option(
        "--archived/--no-archived", "Archive the memory, or restore it from the archive."
    ),
) -> Shown:
    """Change tags, tier, expiry, pin, lock or scope.

    To change the text, use `memento edit` or `memento correct`. A locked memory must be unlocked
    before it can be changed, though `memento erase` removes it regardless. An archived memory is
    found only with --archived or by a query that contains its key or an alias.
    """
    given: dict[str, Any] = {
        "tier": tier,
        "kind": kind,
        "importance": importance,
        "scope": scope,
        "due_at": due_at,
        "pinned": pin,
    }
    fixed = {name: value for name, value in given.items() if value is not None}
    if condition is not None:
        fixed["condition"] = condition or None
    if expires_in is not None:
        fixed["expires_in"] = None if expires_in == math.inf else expires_in
    if lock is not None:
        fixed["lock"] = "user" if lock else None
    lists = any((tag, alias, metadata))
    if not fixed and not lists and key is None and archived is None:
        raise InvalidInput("ID", "specify what to set, such as --tag +NAME or --pin")

    memory = together(memory)  # one change for `undo`

    def change(name: str) -> Memory:
        old = memory.get(name)
        if archived is False:
            old = memory.sleep.unarchive(name)
        own = _lists(old, tag or (), alias or (), metadata or ()) if lists else {}
        if fixed or own:
            old = memory.update(name, **fixed, **own)
        if key is not None and key != old.key:
            old = _rekeyed(memory, old, key)
        return memory.sleep.archive(old.id) if archived else old

    return each(memory, ids, change, _state)


def _state(found: Memory) -> str:
    """Return the settable fields that are set, on one line."""
    parts = [found.status.value, found.tier.value, f"importance {found.importance:.2f}"]
    parts += ["pinned"] * found.pinned + ["locked"] * (found.lock is not None)
    parts += [f"key {found.key}"] * bool(found.key) + [f"#{tag}" for tag in found.tags]
    parts += [f"in {found.scope}"] * bool(found.scope)
    return one_line(", ".join(parts))


def _signed(now: Iterable[str], name: str, given: Sequence[str]) -> list[str]:
    """Return the names after adding those of ``+NAME`` and removing those of ``-NAME``."""
    left = list(now)
    for one in given:
        sign, word = (one[0], one[1:]) if one[:1] in {"+", "-"} else ("+", one)
        if sign == "-" and word not in left:
            raise InvalidInput(name, f"{word!r:.60} is not among {left}")
        left = [other for other in left if other != word] + [word] * (sign == "+")
    return left


def _lists(
    old: Memory, tags: Sequence[str], aliases: Sequence[str], metadata: Sequence[str]
) -> dict[str, Any]:
    """Return the arguments of ``update`` for changes of tags, aliases and metadata."""
    changes: dict[str, Any] = {}
    if tags:
        changes["tags"] = _signed(old.tags, "--tag", tags)
    if aliases:
        changes |= _aliases(old, _signed(old.aliases, "--alias", aliases))
    if metadata:
        own = dict(old.metadata)
        for one in metadata:
            if one.startswith("-"):
                own.pop(one[1:], None)
            else:
                own |= condition_of("--metadata", one)
        changes["metadata"] = own
    return changes


def _aliases(old: Memory, wanted: Sequence[str]) -> dict[str, Any]:
    added = [one for one in wanted if one not in old.aliases]
    gone = [one for one in old.aliases if one not in wanted]
    return {"add_aliases": added, "remove_aliases": gone}


def _rekeyed(memory: MemoryManager, old: Memory, key: str) -> Memory:
    """Give a memory another key: a new memory of the same content supersedes it."""
    names = {field.name for field in fields(Draft)} & {field.name for field in fields(Memory)}
    same = {name: getattr(old, name) for name in names - {"id", "key"}}
    expires = None if old.expires_at is None else old.expires_at - memory.store.clock()
    (new,) = memory.add_many(
        [Draft(**same, key=key or None, expires_in=expires, supersedes=old.id)]
    )
    return new


@command(app, f"memento edit {ID}")
def edit(memory: MemoryManager, id: Id) -> Shown:
    """Change a memory in your editor.

    The command opens the memory's fields and text in $VISUAL or $EDITOR and applies your changes
    when the editor exits. If the file is unchanged or empty, nothing happens. `memento undo` undoes
    the edit.
    """
    memory = together(memory)
    old = memory.get(id_of(memory, id))
    before = _written(old)
    file, after = _edited(before, old)
    if not after.strip() or after == before:
        file.unlink()
        return Shown({"memories": []}, [], empty="nothing was changed")
    try:
        wanted, text = _read(after)
        changes = _changes(old, wanted, text, memory.store.clock())
        key = wanted.get("key", "")
        new = memory.update(old.id, **changes) if changes else old
        if key != (old.key or ""):
            new = _rekeyed(memory, new, key)
    except (tomllib.TOMLDecodeError, ValueError, MementoError) as error:
        raise InvalidInput(
            str(file), f"{error}; nothing was changed, and the file was kept"
        ) from None
    file.unlink()
    return one_memory(new)


def _written(found: Memory) -> str:
    """Return the fields of a memory as TOML between two ``+++`` lines, and its text."""
    said = {name: getattr(found, name) for name in EDITED}
    lines = [f"{name} = {_toml(value)}" for name, value in said.items()]
    return "\n".join(["+++", *lines, "+++", found.text, ""])


def _toml(value: Any) -> str:
    """Format a value as TOML; None becomes an empty string."""
    if isinstance(value, datetime):
        return in_zone(zone(), value).isoformat()
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps("" if value is None else value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _edited(text: str, old: Memory) -> tuple[Path, str]:
    """Let the user edit a text; return the file and its new content."""
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not named and not (sys.stdin.isatty() and sys.stdout.isatty()):
        problem = "must be set when there is no terminal; or use `memento correct` or `memento set`"
        raise InvalidInput("$EDITOR", problem)
    editor = named or "vi"
    number, name = tempfile.mkstemp(".md", f"memento-{short(old.id)[:20]}-".replace("/", "-"))
    file = Path(name)
    with os.fdopen(number, "w", encoding="utf-8") as out:
        out.write(text)
    try:
        status = subprocess.run([*shlex.split(editor), name], check=False).returncode  # noqa: S603 - the user's own
    except OSError as error:
        file.unlink()
        raise InvalidInput("$EDITOR", f"{editor!r:.60} cannot be run: {error.strerror}") from None
    if status:
        file.unlink()
        raise InvalidInput(
            "$EDITOR", f"{editor!r:.60} exited with status {status}; nothing was changed"
        )
    try:
        return file, file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InvalidInput(name, "is not UTF-8 text; nothing was changed") from None


def _read(text: str) -> tuple[Mapping[str, Any], str]:
    """Parse the fields and the text of an edited memory."""
    lines = text.split("\n")
    fences = [number for number, line in enumerate(lines) if line.rstrip() == "+++"][:2]
    if len(fences) != 2 or fences[0]:  # noqa: PLR2004 - one at each end
        raise InvalidInput("line 1", "the fields must be between two +++ lines")
    wanted = tomllib.loads("\n".join(["", *lines[1 : fences[1]]]))
    for name in wanted:
        if name not in EDITED:
            raise InvalidInput(name, f"is not one of: {', '.join(EDITED)}")
    wanted = {name: _value(name, value) for name, value in wanted.items()}
    return wanted, "\n".join(lines[fences[1] + 1 :]).strip("\n")


def _value(name: str, value: Any) -> Any:
    """Return the value of a field, with moments in words parsed; check what `update` does not."""
    if name in _MOMENTS and value != "" and getattr(value, "tzinfo", None) is None:
        return coming_moment_of(str(value))
    if name in _LISTS and not (isinstance(value, list) and {*map(type, value)} <= {str}):
        raise InvalidInput(name, "must be a list of strings")
    if name == "key" and not isinstance(value, str):
        raise InvalidInput(name, "must be a string")
    return value


def _changes(old: Memory, wanted: Mapping[str, Any], text: str, now: datetime) -> dict[str, Any]:
    """Return the arguments of ``update`` for fields that differ; a removed line changes nothing."""
    changes = {
        name: (value if value != "" or name == "scope" else None)
        for name, value in wanted.items()
        if name != "key" and _toml(value) != _toml(getattr(old, name))
    }
    if "aliases" in changes:
        changes |= _aliases(old, changes.pop("aliases") or ())
    if "expires_at" in changes:
        at = changes.pop("expires_at")
        changes["expires_in"] = None if at is None else at - now
    return changes | ({"text": text} if text and text != old.text.strip("\n") else {})
