"""No text is code, a pattern or a path: evil strings as every parameter of every public method.

Each string goes in as it is, in a list and in a mapping, wherever a caller may put a value. The
call may succeed or raise one of memento's own errors; never another error, never a neighbour's
memory, never a file where none belongs. The control puts its values into the SQL it runs.

Alone: ``python benchmarks/trust.py --full --only evil``.
"""

from __future__ import annotations

import inspect
import random
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from trust_result import TrustResult

from memento import Kind, MemoryManager, Retrieval
from memento.base.display import data
from memento.errors import MementoError
from memento.ingest import survey
from memento.learning import Confirming
from memento.ledger.filters import Filtering, Retrieving
from memento.observe.signals import Signal, Span
from memento.observe.values import Candidate
from memento.verbs.rules import Rules
from memento.views import Part

EVIL = (
    "' OR 1=1 --", '" OR ""="', "'; DROP TABLE memories; --", "\\'; --", "%", "_", "*", "?", "?1",
    ":ns", "@x", "$x", "NULL", "null", "None", "0", "-1", "1e309", "NaN", "true", "[]", "{}",
    '{"a": 1}', "$.a", "$[0]", "a.b", 'a"b', "a'b", "a`b", "a;b", "a,b", "(a", "a)", "[a]", "AND",
    "OR", "NOT", "NEAR(a b, 2)", "a AND", "title:a", "-a", "+a", "^a", "a*", '"unclosed', '""',
    "{a b}:c", "memories_fts", "../../etc/passwd", "/etc/passwd", "..\\..\\x", "C:\\x", "~", ".",
    "${HOME}", "$(id)", "`id`", "<script>", "%00", "%s%n%d", "{0.__class__}", "nul\0byte", "\ud800",
    "\u202e", "\ufeff", "İ", "ﬁ", "東京", "x" * 70_000,
)  # fmt: skip
SIGN = "neighbours-secret"
WRITABLE = ("deep/store/", "deep/notes")
"""Where files may be made: the store, and the notes of a vault."""
PATHS = {"path", "file", "folder"}
"""Parameters that are paths by their nature: the caller's own choice of where to write."""
LEFT_OUT = {"backup", "export", "flush", "import_from", "move", "reindex"}
"""Methods that take no value but a path or a stream, or how long to wait."""
DOUBTED = Candidate(
    "a green door", Span(0, 1, "a"), "user", Signal.FACT, Kind.FACT, None, None, None, "", 0.6
)
USUAL: dict[str, Any] = {
    "text": "a green door", "document": "a door", "items": ["a green door"],
    "query": "a green door", "id": "mine", "short": "mine-1", "key": "door",
    "messages": ["a green door"], "seen": "mine",
    "tier": "long", "uri": "https://example.org", "texts": ["a green door"], "vector": [1.0],
    "ids": ["mine"], "expires_in": 60, "by": "kind", "labels": "mine",
    "key_or_id": "door", "since": datetime(2025, 1, 1, tzinfo=UTC),
    "session": "mine",
    "rules": "a green door", "candidate": DOUBTED,
    "target": "mine", "retrieval": Retrieval("a green door"), "answer": "The door is green.",
    "question": "a green door", "topic": "a green door",
    "at": datetime(2025, 1, 1, tzinfo=UTC),
    "a": "mine", "b": "mine-1", "keep": "both",
    "loop": "one",
    "path": "project/mine", "src": "project/mine", "dst": "project/other", "scope": "project/mine",
    "with_namespace": "other",
    "survey": survey(),
}  # fmt: skip


class Interpolating:
    """The control: a store that writes its values into the SQL text."""

    def __init__(self) -> None:
        self._db = sqlite3.connect(":memory:")
        self._db.execute("CREATE TABLE memories (ns, id, text)")
        self._db.execute("INSERT INTO memories VALUES ('theirs', 'x', ?)", (SIGN,))

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    def get(self, id: str) -> object:  # noqa: A002 - as in memento
        """Read one memory of the namespace ``mine``."""
        query = f"SELECT text FROM memories WHERE ns = 'mine' AND id = '{id}'"
        return self._db.execute(query).fetchall()


PASSED_ON: dict[Any, Any] = {
    MemoryManager.prompt: Retrieving,
    Rules.confirm: Confirming,
}
"""Methods whose further arguments are no filters."""


def parameters(method: Any) -> Iterator[str]:
    """List what a method takes, the filters it passes on included."""
    for name, parameter in list(inspect.signature(method).parameters.items())[1:]:
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            yield name
        else:
            yield from PASSED_ON.get(method, Filtering).__annotations__


def calls(memory: MemoryManager, evil: str) -> Iterator[tuple[str, Any, list[Any], dict[str, Any]]]:
    """Compose every call with a string in one place: (what, method, arguments, keywords)."""
    named = inspect.getmembers(type(memory), lambda one: isinstance(one, property))
    parts = [getattr(memory, name) for name, _ in named]
    usual = {**USUAL, "folder": Path(memory._view.root).parent / "notes"}
    for view in (memory, *(part for part in parts if isinstance(part, Part))):
        yield from _calls(view, evil, usual)


def _calls(
    view: MemoryManager | Part, evil: str, usual: Mapping[str, Any]
) -> Iterator[tuple[str, Any, list[Any], dict[str, Any]]]:
    for name, method in inspect.getmembers(type(view), inspect.isfunction):
        if name.startswith("_") or name in LEFT_OUT:
            continue
        required = {
            other: usual[other]
            for other, one in list(inspect.signature(method).parameters.items())[1:]
            if one.default is inspect.Parameter.empty
            and one.kind not in {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
        }
        for place in parameters(method):
            if place in PATHS:
                continue
            for value in (evil, [evil], {evil: evil}):
                bound = getattr(view, name)
                if place == "labels":
                    yield f"{name}({place})", bound, [value], {}
                else:
                    yield f"{name}({place})", bound, [], {**required, place: value}


def tried(memory: MemoryManager, strings: tuple[str, ...]) -> tuple[int, list[str]]:
    """Make every call; return how many, and what went wrong."""
    wrong: list[str] = []
    count = 0
    for evil in strings:
        for what, method, given, named in calls(memory, evil):
            count += 1
            try:
                answer = method(*given, **named)
            except MementoError as error:
                answer = error
            except Exception as error:  # noqa: BLE001 - that is what is looked for
                wrong.append(f"{what} {evil[:20]!r}: {type(error).__name__}: {str(error)[:80]}")
                continue
            if SIGN in repr(data(answer)):
                wrong.append(f"{what} {evil[:20]!r}: shows a neighbour's memory")
    return count, wrong


def control_fails(strings: tuple[str, ...]) -> bool:
    """Tell whether the control shows what it should not, or breaks."""
    with closing(Interpolating()) as control:
        for evil in strings:
            try:
                if SIGN in repr(data(control.get(evil))):
                    return True
            except (sqlite3.Error, ValueError):
                return True
    return False


def nothing_is_code(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Try the strings on a store with a neighbour, then look at the neighbour and at the disk."""
    strings = EVIL if full else tuple(random.Random(seed).sample(EVIL, 6))
    root = folder / "deep" / "store"
    with MemoryManager(root, namespace="mine", embedder=None) as memory:
        secret = memory.of("theirs").add(SIGN, key="k", tags=["t"], session="s", id="theirs")
        memory.add("a green door", id="mine")
        memory.flush()
        before = {str(one.relative_to(folder)) for one in folder.rglob("*")}
        count, wrong = tried(memory, strings)
        if memory.of("theirs").list() != [secret]:
            wrong.append("the neighbour's memory changed")
        wrong += [finding.detail for finding in memory.store.doctor(repair=False) if not finding.ok]
    made = {str(one.relative_to(folder)) for one in folder.rglob("*")} - before
    wrong += [f"made a file: {one}" for one in sorted(made) if not one.startswith(WRITABLE)]
    return TrustResult(
        name="evil strings",
        promise="No value is read as SQL, as query syntax, as a pattern or as a path.",
        cases=count,
        failures=len(wrong),
        control="a store that writes values into its SQL text",
        control_failed=control_fails(EVIL),
        seed=seed,
        figures={"strings": len(strings), "calls": count},
        details=tuple(wrong[:10]),
    )


HARNESSES = (nothing_is_code,)
