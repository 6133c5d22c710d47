"""Insert values into a JSON or TOML text and remove them again; every other byte stays. Pure.

The text is not parsed and written anew: a scanner finds where values begin and end, and the edit is
made there. JSON may have comments and trailing commas, as most agents allow. An inserted value can
be removed even after others were added beside it, and the original bytes remain.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_TRIVIA = re.compile(r"(?:[\s\ufeff]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SCALAR = re.compile(r"[^\s,\]}/\[{]+")
_STEP = re.compile(r"\n([ \t]+)\S")

Path = Sequence[str]
"""Names that lead from the root to a member."""


class Unreadable(ValueError):
    """The text cannot be edited; the message says why, and where if known."""


@dataclass(slots=True)
class Node:
    """A value and its position in the text.

    Attributes:
        start: Index of its first character.
        end: Index after its last one.
        value: The value itself.
        members: The members of a container: name (``""`` in an array), start of the name, node.
    """

    start: int
    end: int = 0
    value: Any = None
    members: list[tuple[str, int, Node]] = field(default_factory=list)

    def member(self, name: str) -> Node | None:
        """Return the member of an object by name; of several, the last one counts."""
        found = [one for called, _, one in self.members if called == name]
        return found[-1] if found and isinstance(self.value, dict) else None


def load(text: str) -> Node | None:
    """Parse a text; None if it is blank.

    Raises:
        Unreadable: If it is not JSON.
    """
    at = _skip(text, 0)
    if at == len(text):
        return None
    try:
        node = _scan(text, at)
    except RecursionError:
        raise Unreadable("is nested too deeply") from None
    if (rest := _skip(text, node.end)) != len(text):
        raise _at(text, rest, "more than one value")
    return node


def find(text: str, path: Path) -> Node | None:
    """Return the node at a path; None if there is none."""
    node = load(text)
    for name in path:
        node = None if node is None else node.member(name)
    return node


def put(text: str, path: Path, value: Any, *, each: bool = False) -> str:
    """Insert a value at a path, and create the containers that are missing.

    Args:
        text: The text; blank for an empty object.
        path: Names of the members that lead to it. Without ``each``, nothing may be there yet.
        value: A JSON value.
        each: Whether to append the value to the array at the path.

    Raises:
        Unreadable: If the text is not JSON, something is at the path, or a container on the way is
            of the wrong type.
    """
    node = load(text)
    if node is None:
        return text + json.dumps(_nested(path, value, each=each), indent=2) + "\n"
    for at, name in enumerate(path):
        if not isinstance(node.value, dict):
            raise _at(text, node.start, "expected an object")
        inner = node.member(name)
        if inner is None:
            return _inserted(text, node, name, _nested(path[at + 1 :], value, each=each))
        node = inner
    if not (each and isinstance(node.value, list)):
        raise _at(text, node.start, "expected an array" if each else "a value already exists here")
    return _inserted(text, node, "", value)


def take(text: str, path: Path, ours: Callable[[Any], bool] | None = None) -> str:
    """Return the text without a member, or without the array elements that ``ours`` accepts."""
    while True:
        holder = find(text, path if ours else path[:-1])
        mine = [
            at
            for at, (name, _, one) in enumerate(holder.members if holder else ())
            if (ours(one.value) if ours else name == path[-1])
        ]
        if holder is None or not mine:
            return text
        text = _without(text, holder, mine[-1])


def _nested(path: Path, value: Any, *, each: bool) -> Any:
    made = [value] if each else value
    for name in reversed(path):
        made = {name: made}
    return made


def _skip(text: str, at: int) -> int:
    found = _TRIVIA.match(text, at)
    return found.end() if found else at


def _at(text: str, at: int, problem: str) -> Unreadable:
    line = text.count("\n", 0, at) + 1
    return Unreadable(f"line {line}, column {at - text.rfind(chr(10), 0, at)}: {problem}")


def _scan(text: str, at: int) -> Node:
    if text[at : at + 1] in ("{", "["):
        return _scan_container(text, at)
    found = _STRING.match(text, at) or _SCALAR.match(text, at)
    if found is None:
        raise _at(text, at, "expected a value")
    try:
        return Node(at, found.end(), json.loads(found[0]))
    except ValueError:
        raise _at(text, at, f"{found[0]!r:.40} is not JSON") from None


def _scan_container(text: str, at: int) -> Node:
    node, named = Node(at), text[at] == "{"
    close, at = "}" if named else "]", _skip(text, at + 1)
    while text[at : at + 1] != close:
        begins, name = at, ""
        if named:
            found = _STRING.match(text, at)
            if found is None:
                raise _at(text, at, "expected a name in double quotes")
            name, at = _scan(text, at).value, _skip(text, found.end())
            if text[at : at + 1] != ":":
                raise _at(text, at, "expected a colon")
            at = _skip(text, at + 1)
        node.members.append((name, begins, _scan(text, at)))
        at = _skip(text, node.members[-1][2].end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != close:
            raise _at(text, at, f"expected a comma or {close!r}")
    node.end = at + 1
    values = [(name, one.value) for name, _, one in node.members]
    node.value = dict(values) if named else [value for _, value in values]
    return node


def _inserted(text: str, node: Node, name: str, value: Any) -> str:
    """Return the text with a new last member of a container, on its own line."""
    end = "\r\n" if "\r\n" in text else "\n"
    found = _STEP.search(text)
    step = found[1] if found else "  "
    first = text.rfind("\n", 0, node.start) + 1
    outer = text[first : first + len(text[first:]) - len(text[first:].lstrip(" \t"))]
    spelt = f"{json.dumps(name)}: " if isinstance(node.value, dict) else ""
    spelt += json.dumps(value, indent=step, ensure_ascii=False)
    line = end + (outer + step + spelt.replace("\n", f"\n{outer}{step}")).replace("\n", end)
    last = len(text[: node.end - 1].rstrip())
    if not node.members:
        return text[:last] + line + text[last:]
    before = node.members[-1][2].end
    if text[_skip(text, before)] == ",":
        return f"{text[:last]}{line},{text[last:]}"
    return f"{text[:before]},{text[before:last]}{line}{text[last:]}"


def _without(text: str, node: Node, at: int) -> str:
    """Return the text without a member, its comma, and the line break before it."""
    _, begin, one = node.members[at]
    comma = _skip(text, one.end)
    after = text[one.end : comma] + text[comma + 1 :] if text[comma] == "," else text[one.end :]
    before = text[:begin].rstrip(" \t")
    if before.endswith("\n"):
        before = before[:-1].removesuffix("\r")
    if text[comma] != "," and at:
        ends = node.members[at - 1][2].end
        gone = _skip(text, ends)
        before = before[:gone] + before[gone + 1 :]
    return before + after


def put_table(text: str, path: Path, values: Mapping[str, str | list[str]]) -> str:
    """Append a table to a TOML text.

    Raises:
        Unreadable: If the text is not TOML, or something has the table's name already.
    """
    wanted = _toml(text)
    end = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{'.'.join(path)}]", *(f"{name} = {json.dumps(values[name])}" for name in values)]
    made = text + (end if text else "") + end.join(lines) + end
    inner: Any = wanted
    for name in path[:-1]:
        inner = inner.setdefault(name, {}) if isinstance(inner, dict) else None
    if not isinstance(inner, dict):
        raise Unreadable(f"{'.'.join(path[:-1])} is not a table")
    inner[path[-1]] = dict(values)
    if _toml(made) != wanted:
        raise Unreadable(f"{'.'.join(path)} cannot be appended to the file")
    return made


def table(text: str, path: Path) -> dict[str, Any] | None:
    """Return a table of a TOML text; None if it has no such table.

    Raises:
        Unreadable: If the text is not TOML.
    """
    inner: Any = _toml(text)
    for name in path:
        inner = inner.get(name) if isinstance(inner, dict) else None
    return inner if isinstance(inner, dict) else None


def take_table(text: str, path: Path) -> str:
    """Return a TOML text without a table, its subtables, and the empty line above, if it is there.

    Raises:
        Unreadable: If the text is not TOML, or the table cannot be separated from the rest.
    """
    wanted = _toml(text)
    inner: Any = wanted
    for name in path[:-1]:
        inner = inner.get(name) if isinstance(inner, dict) else None
    if not isinstance(inner, dict) or inner.pop(path[-1], None) is None:
        return text
    names = r"\s*\.\s*".join(f'"?{re.escape(name)}"?' for name in path)
    lines = rf"^[ \t]*\[\s*{names}\s*[.\]].*\n?(?:(?![ \t]*\[).*\n|(?![ \t]*\[).+\Z)*"
    head = re.compile(f"(?:{lines})+", re.MULTILINE)
    made = text
    while found := head.search(made):
        end = found.start() + len(_without_tail(found[0]))
        before, after = made[: found.start()], made[end:]
        if not after or _BLANK_ABOVE.search(before):
            before = re.sub(r"\r?\n\Z", "", before)
        made = before + after
    if _toml(made) not in (wanted, _bare(wanted, path)):
        raise Unreadable(f"{'.'.join(path)} cannot be separated from the surrounding text")
    return made


def _without_tail(table: str) -> str:
    """Drop comments and empty lines at the end of a table: they may belong to the next one."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", table)
    while lines and lines[-1].lstrip(" \t")[:1] in ("", "#", "\r", "\n"):
        lines.pop()
    return "".join(lines)


_BLANK_ABOVE = re.compile(r"(?:\A|\n)\r?\n\Z")


def _bare(values: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the values without the first table of a path, if that is empty now."""
    return {name: one for name, one in values.items() if name != path[0] or one}


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Unreadable(str(error)) from None
