"""Two stores of the same user's: in one of them untrusted sources speak in between.

The user's memories, what a stranger says among them, in which every field is the stranger's choice,
and every answer that the user can see, as plain values to be compared.
"""

from __future__ import annotations

import random
import re
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from memento import MemoryManager, Source
from memento.errors import MementoError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from memento import Memory, Retrieval

NONCE = re.compile(r"(?<=memories)-[0-9a-f]{16}")
"""The part that differs between any two prompts."""
NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
PEOPLE = ("Ada", "Ben Nevis", "Carl")
THINGS = ("kettle", "door code", "allergy", "train", "kubernetes")

USERS: dict[str, tuple[Any, ...]] = {
    "text": tuple(
        f"{who} {verb} the {thing}{end}"
        for who, verb, end in (
            ("Ada", "cleaned", " last Friday"),
            ("I", "paid 40 euros for", " on 5 May"),
            ("Ben", "never liked", ""),
            ("Who", "has seen", "?"),
        )
        for thing in THINGS
    ),
    "tier": ("short", "medium", "long"),
    "kind": ("fact", "episode", "rule"),
    "session": (None, "s1", "s1", "s2"),
    "actor": (None, *PEOPLE),
    "role": (None, "user", "assistant"),
    "key": (None, None, "kettle", "home/code"),
    "aliases": ((), (), ("kubernetes",), ("the big train",)),
    "scope": ("", "work", "work/alpha"),
    "tags": ((), ("home",)),
    "metadata": (None, {"room": 1}),
    "importance": (0.3, 0.5, 0.8),
    "occurred_at": tuple(
        NOW - timedelta(days=days) for days in (0, 1, 5, 15, 16, 40, 380, 380, 800)
    ),
}
"""The values that the user may give, field by field."""
UNNAMED = {**USERS, "key": (None,)}
"""The same where nothing supersedes another. Whether a memory that is superseded got its vector
before is a matter of moments, so with vectors no two stores of it need be alike."""

MOMENTS = (
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(1900, 1, 1, tzinfo=UTC),
    datetime(2026, 5, 5, tzinfo=UTC),
    datetime(2100, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, tzinfo=UTC),
)
THEIRS: dict[str, tuple[Any, ...]] = {
    **USERS,
    "text": (
        *USERS["text"][::3],
        *(f"The {thing} is free, said Ada on 5 May 2026. Order it now!" for thing in THINGS),
        "kettlle kuberntes zanzibar 4711",
        "!!!",
    ),
    "kind": ("fact", "question", "rule"),
    "session": (None, "s1", "s2", "theirs"),
    "actor": (*PEOPLE, "ADA", "ada byron", "Ben", "kettle", "the", "may", "user"),
    "role": (None, "user", "assistant", "tool", "system"),
    "key": (None, "kettle", "home/code", "kubernets", "the"),
    "aliases": ((), ("kubernets", "kettel"), ("the big train", "door", "what", "5 may")),
    "scope": ("", "work", "elsewhere"),
    "tags": ((), ("home", "web")),
    "metadata": (None, {"room": 1, "format": "x"}),
    "importance": (None, 0.0, 1.0),
    "occurred_at": (None, *MOMENTS),
    "expires_in": (None, None, 10.0),
    "valid_until": (None, None, MOMENTS[-1]),
    "pinned": (False, False, False, True),
    "source": ("web", "tool", "import"),
    "uri": (None, "https://example.org/page"),
    "parents": ((), (), ("u0",), ("u1", "absent")),
    "supersedes": ((), (), ("u0",), ("u2", "u3")),
    "related": ((), (), ("u1",)),
    "id": (None, None, "u0", "u4", "p1"),
    "replace": (False, False, True),
    "then": ("", "", "reject", "update", "forget", "restore"),
    "copies": (False, False, False, True),
}
"""The values that a stranger may choose; ``then`` is the later fate of the memory, and with
``copies`` it repeats the user's last memory in all that makes two of them equal."""

QUESTIONS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("what about the kettle?", {}),
    ("kettle kubernetes", {"k": None}),
    ("who cleaned the kettle on 5 May?", {}),
    ("what did Ada say about the train in May?", {}),
    ("what did Ben do last Friday?", {"session": "s1"}),
    ("kubernets", {}),
    ("the kubernets of Carl", {"match": "names"}),
    ("door code zanzi", {"k": 10}),
    ('"the train" 4711', {}),
    ("list all that was paid for the allergy at Easter", {"k": None, "tokens": 60}),
    ("how many kettles in December?", {"scope": "work"}),
    ("train", {"include_superseded": True, "k": 20, "fold": False}),
    ("train", {"as_of": NOW - timedelta(hours=1), "k": 20}),
    ("", {}),
)

Fields = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Script:
    """The memories to add, in order.

    Attributes:
        mine: The user's memories.
        theirs: The stranger's, each with how many of the user's are said before it.
    """

    mine: Sequence[Fields]
    theirs: Sequence[tuple[int, Fields]] = field(default=())


def scripted(
    seed: int, mine: int, theirs: int, *, mine_from: Mapping[str, tuple[Any, ...]] = USERS
) -> Script:
    """Make a script up.

    Args:
        seed: The same seed gives the same script.
        mine: How many memories are the user's.
        theirs: How many are the stranger's.
        mine_from: What the user may say.
    """
    dice = random.Random(seed)

    def one(table: Mapping[str, tuple[Any, ...]]) -> Fields:
        return {name: dice.choice(told) for name, told in table.items()}

    return Script(
        [one(mine_from) for _ in range(mine)],
        [(dice.randrange(mine + 1), one(THEIRS)) for _ in range(theirs)],
    )


def look_at(
    folder: Path,
    script: Script,
    seen: Callable[[MemoryManager], T],
    *,
    poisoned: bool,
    **options: Any,
) -> T:
    """Fill a store and look at it.

    Args:
        folder: Where the store is made.
        script: What is said.
        seen: Looks at the store; what it returns is returned.
        poisoned: Whether the stranger speaks.
        options: Of the `MemoryManager`.
    """
    with MemoryManager(folder, clock=lambda: NOW, **options) as memory:
        for at in range(len(script.mine) + 1):
            if at:
                said = script.mine[at - 1]
                memory.add(**said, id=f"u{at - 1}")
            if poisoned:
                for place, theirs in script.theirs:
                    if place == at:
                        speak(memory, theirs, script.mine[:at])
        memory.flush(wait=True, timeout=60)
        return seen(memory)


def speak(memory: MemoryManager, theirs: Fields, before: Sequence[Fields]) -> None:
    """Let the stranger say something; claims that are refused are dropped.

    An id that the user is going to choose is not taken before: what then is put over the
    stranger's memory keeps its place in the order of arrival, and its versions.
    """
    said = dict(theirs)
    if said["id"] in {f"u{n}" for n in range(len(before), len(before) + 10)}:
        said["id"] = None
    then, copies = said.pop("then"), said.pop("copies")
    said["source"] = Source(said["source"], said.pop("uri"), None, said.pop("parents"))
    if copies:
        same = ("text", "key", "session", "actor", "role", "scope", "occurred_at")
        said |= {name: before[-1][name] for name in same if before}
    if said["replace"] and said["id"] is None:
        said["replace"] = False
    try:
        kept = memory.add(**said)
    except MementoError:
        claims = ("kind", "pinned", "replace", "id", "valid_until", "supersedes", "related")
        kept = memory.add(**{name: said[name] for name in said if name not in claims})
    with suppress(MementoError):
        _then(memory, kept, then)


def _then(memory: MemoryManager, kept: Memory, then: str) -> None:
    if kept.source.kind == "user":
        return  # it only repeated what the user said
    if then == "update":
        memory.update(kept.id, text="Ada Byron cleaned all", add_aliases=["code"], source="web")
    elif then in {"reject", "restore"}:
        memory.quarantine.reject(kept.id)
    elif then == "forget":
        memory.forget(kept.id)
    if then == "restore":
        memory.restore(kept.id)


def answers(memory: MemoryManager) -> dict[str, Any]:
    """Ask everything; returns each answer by its question, with every field the user can see."""
    found: dict[str, Any] = {
        f"{query} {options}": _retrieved(memory.retrieve(query, **{"record": False, **options}))
        for query, options in QUESTIONS
    }
    for query, _ in QUESTIONS[:4]:
        found[f"prompt {query}"] = NONCE.sub("", memory.prompt(query, 20, show_ids=True))
    found["list"] = [shown(one) for one in memory.list(limit=1000)]
    for session in (None, "s1", "s2"):
        found[f"recent {session}"] = [shown(one) for one in memory.sessions.recent(session=session)]
        found[f"list {session}"] = [shown(one) for one in memory.list(session=session or "s2")]
    for by in ("scope", "tag", "kind", "tier", "session", "actor"):
        found[f"counts {by}"] = memory.store.counts(by)
    found["tiers"] = dict(memory.store.stats().tiers)
    if memory.store.stats().embedders:
        vectors = memory.store.embed(["the kettle of Ada", "train"])
        found["nearest"] = [
            _retrieved(memory.store.nearest(one, 8, record=False)) for one in vectors
        ]
    return found


def shown(one: Memory) -> Fields:
    """Return the fields of a memory, but for its place in the ledger's order of arrival."""
    return {each.name: getattr(one, each.name) for each in fields(one) if each.name != "seq"}


def _retrieved(answer: Retrieval) -> Fields:
    hits = [
        {
            "memory": shown(hit.memory),
            **{each.name: getattr(hit, each.name) for each in fields(hit) if each.name != "memory"},
        }
        for hit in answer
    ]
    return {"hits": hits, "missing": dict(answer.missing), "confidence": answer.confidence}


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Name what two looks do not agree on."""
    return [name for name in one if one[name] != other[name]]
