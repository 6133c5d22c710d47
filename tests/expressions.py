"""Every regular expression of memento and its adapters, and texts made from each.

A text is drawn from what `re` itself reads in an expression, so a new one needs no sample.
"""

from __future__ import annotations

import importlib
import pkgutil
import random
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

_parser = re._parser  # type: ignore[attr-defined]
_POOL = [*map(chr, range(9, 127)), *"éßıſ\u00a0\u0301\u2019\u201c«»。、日本東ーのはひカ한я?א"]
"""What stands for "any character": at least one of each class that an expression may name."""
_CLASSES = {
    "CATEGORY_DIGIT": str.isdecimal,
    "CATEGORY_SPACE": str.isspace,
    "CATEGORY_WORD": lambda char: char.isalnum() or char == "_",
}
REPEATS = {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}
_CALL = re.compile(
    r"\b(\w+)(?:\[[^\]]*\])?\.(search|match|fullmatch|finditer|findall|subn?|split)\b"
)
LONGEST_PUMP = 200
MANY = 16
"""From this number of repetitions on a repeat is looked at as if it had no limit."""


ADAPTERS = (
    "memento_agent_framework",
    "memento_crewai",
    "memento_google_adk",
    "memento_haystack",
    "memento_langchain",
    "memento_langgraph",
    "memento_llama_index",
    "memento_mcp",
    "memento_openai_agents",
    "memento_pydantic_ai",
    "memento_strands",
)


def modules() -> Iterator[Any]:
    """Import every module of memento, and of those adapters whose frameworks are installed."""
    for package in ("memento", *ADAPTERS):
        with warnings.catch_warnings(), suppress(ImportError):
            warnings.simplefilter("ignore")  # of the frameworks
            root = importlib.import_module(package)
            for one in pkgutil.walk_packages(root.__path__, f"{package}."):
                if not one.name.endswith("__main__"):
                    yield importlib.import_module(one.name)


def patterns() -> dict[str, re.Pattern[Any]]:
    """Find every compiled expression that a module holds, by itself or in a container."""
    found: dict[int, tuple[str, re.Pattern[Any]]] = {}
    for module in modules():
        for name, value in vars(module).items():
            for where, one in _within(value, f"{module.__name__}.{name}", 5):
                found.setdefault(id(one), (where, one))
    return dict(sorted(found.values()))


def _within(value: Any, where: str, depth: int) -> Iterator[tuple[str, re.Pattern[Any]]]:
    if isinstance(value, re.Pattern):
        yield where, value
    elif depth and isinstance(value, Mapping):
        for key, item in value.items():
            yield from _within(item, f"{where}[{key!r}]", depth - 1)
    elif depth and isinstance(value, list | tuple | set | frozenset):
        for at, item in enumerate(value):
            yield from _within(item, f"{where}[{at}]", depth - 1)
    elif depth and type(value).__module__.split(".")[0].startswith("memento"):
        for name in (*getattr(type(value), "__dataclass_fields__", {}), *_properties(type(value))):
            yield from _within(getattr(value, name, None), f"{where}.{name}", depth - 1)


@cache
def _properties(kind: type) -> tuple[str, ...]:
    return tuple(
        name
        for name, made in vars(kind).items()
        if isinstance(made, property)
        and "Pattern" in str(getattr(made.fget, "__annotations__", {}).get("return"))
    )


def tree(pattern: re.Pattern[Any]) -> Any:
    """Return what `re` reads in an expression."""
    source = (
        pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin")
    )
    return _parser.parse(source, pattern.flags & ~re.LOCALE)


def drawn(nodes: Iterable[Any], rng: random.Random, groups: dict[int, str] | None = None) -> str:
    """Draw a text that an expression takes, but for what it asks of the text around it."""
    groups = {} if groups is None else groups
    return "".join(_drawn(str(op), value, rng, groups) for op, value in nodes)


def _drawn(op: str, value: Any, rng: random.Random, groups: dict[int, str]) -> str:
    if op == "LITERAL":
        return chr(value)
    if op in {"NOT_LITERAL", "ANY", "IN"}:
        return rng.choice(members(op, tuple(value) if op == "IN" else value))
    if op in REPEATS:
        least, most, body = value
        times = rng.choice([least, min(int(most), least + rng.randrange(8))])
        return "".join(drawn(body, rng, groups) for _ in range(times))
    if op == "BRANCH":
        return drawn(rng.choice(value[1]), rng, groups)
    if op in {"SUBPATTERN", "ATOMIC_GROUP"}:
        number, body = (value[0], value[-1]) if op == "SUBPATTERN" else (0, value)
        groups[number] = drawn(body, rng, groups)
        return groups[number]
    return groups.get(value, "") if op == "GROUPREF" else ""


@cache
def members(op: str, value: Any) -> list[str]:
    """List characters that one step of an expression takes."""
    if op == "ANY":
        return _POOL
    if op == "NOT_LITERAL":
        return [char for char in _POOL if ord(char) != value]
    told = [(str(kind), what) for kind, what in value]
    ends = [chr(code) for kind, what in told if kind == "RANGE" for code in what]
    ends += [chr(what) for kind, what in told if kind == "LITERAL"]
    negated = told[0][0] == "NEGATE"
    return [c for c in [*_POOL, *ends] if negated != any(_takes(*one, c) for one in told)] or ends


def _takes(kind: str, what: Any, char: str) -> bool:
    if kind == "LITERAL":
        return ord(char) == what
    if kind == "RANGE":
        return bool(what[0] <= ord(char) <= what[1])
    if kind == "CATEGORY":
        name = str(what).replace("_NOT_", "_").replace("UNI_", "")
        return _CLASSES[name](char) != ("_NOT_" in str(what))
    return False


def repeats(nodes: Iterable[Any], rng: random.Random, lead: str = "") -> Iterator[tuple[str, str]]:
    """Yield what stands before each long repeat of an expression, and once what it repeats."""
    for node in nodes:
        op, value = str(node[0]), node[1]
        if op in REPEATS:
            if value[1] >= MANY:
                yield lead, drawn(value[2], rng)
            yield from repeats(value[2], rng, lead)
        elif op == "BRANCH":
            for branch in value[1]:
                yield from repeats(branch, rng, lead)
        elif op in {"SUBPATTERN", "ASSERT", "ASSERT_NOT"}:
            yield from repeats(value[-1], rng, lead)
        elif op == "ATOMIC_GROUP":
            yield from repeats(value, rng, lead)
        lead += drawn([node], rng)


def letters(nodes: Iterable[Any], rng: random.Random) -> Iterator[str]:
    """Yield one character for each step of an expression that takes one."""
    for op, value in nodes:
        name = str(op)
        if name in {"LITERAL", "NOT_LITERAL", "ANY", "IN"}:
            yield _drawn(name, value, rng, {})
        elif name == "BRANCH":
            for branch in value[1]:
                yield from letters(branch, rng)
        elif name in {*REPEATS, "SUBPATTERN", "ASSERT", "ASSERT_NOT"}:
            yield from letters(value[-1], rng)
        elif name == "ATOMIC_GROUP":
            yield from letters(value, rng)


def pumped(pattern: re.Pattern[Any], rng: random.Random) -> Iterator[tuple[str, str]]:
    """Yield what to put before, and what to repeat, so as to make an expression slow."""
    nodes = tree(pattern)
    chars = sorted(set(letters(nodes, rng)))
    some = rng.sample(chars, min(6, len(chars)))
    pumps = {("", char) for char in [*some, " ", "\n", "a", "1"]}
    pumps |= {("", a + b) for a in [*some[:3], "a"] for b in " \n,.'-"}
    whole = drawn(nodes, rng)
    pumps |= {("", whole), ("", whole[:-1]), ("", whole[: len(whole) // 2])}
    for lead, body in repeats(nodes, rng):
        pumps |= {(lead, body), ("", body), ("", lead + body), ("", lead)}
    yield from sorted((lead, pump) for lead, pump in pumps if 0 < len(pump) <= LONGEST_PUMP)


@cache
def ways(name: str) -> set[str]:
    """Find by which methods an expression is called: by its name, or by one that stands for it."""
    module = max((one for one in sys.modules if name.startswith(f"{one}.")), key=len)
    held = re.findall(r"(?:^|\]\.)(\w+)", name.removeprefix(f"{module}."))[-1]
    here = _called(module)
    by_name = here.get(held) or set[str]().union(
        *(_called(one).get(held, set()) for one in [*sys.modules] if one.startswith("memento"))
    )
    loose = set[str]().union(*(how for who, how in here.items() if who.islower() and who != "re"))
    return by_name or (loose - {"split"}) or {"finditer"}


@cache
def _called(module: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    source = Path(sys.modules[module].__file__ or "").read_text(encoding="utf-8")
    for name, method in _CALL.findall(source):
        found.setdefault(name, set()).add(method)
    return found
