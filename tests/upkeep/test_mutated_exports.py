"""Exports with changed fields and a digest made right again are taken or refused, no less."""

from __future__ import annotations

import io
import json
import random
from collections import Counter
from hashlib import sha256

import pytest

from memento import MemoryManager, Source, Status
from memento.errors import MementoError
from memento.testing import HashEmbedder

ODD = (
    None, True, False, 0, -1, 2**53, 2**63, 2**70, 1e308, -0.0, "", "x", "\0", "\ud800", "a" * 5000,
    [], {}, [[]], {"a": []}, ["i1", "i1"], "user", "web", "rule", "active", "superseded",
    "forgotten", "quarantined", "short", "long", "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59Z", "no time",
    "i1", "default", "../x", "1" * 64, "zz" * 16,
)  # fmt: skip


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """The lines of an export with keys, parents, history, links and vectors."""
    root = tmp_path_factory.mktemp("theirs")
    with MemoryManager(root / "store", embedder=HashEmbedder(8)) as theirs:
        for at in range(12):
            trust, parents = ("user", "web", "agent")[at % 3], ("i0",) if at % 4 == 1 else ()
            theirs.add(
                f"memory {at}", id=f"i{at}", key=f"k{at % 3}", tags=["a"], aliases=["b"],
                metadata={"x": at}, session="s", source=Source(trust, f"u{at}", None, parents),
            )  # fmt: skip
        theirs.update("i3", text="changed")
        theirs.forget("i9")
        theirs.flush(wait=True)
        theirs.store.export(stream := io.StringIO(), vectors=True)
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def mutated(lines, rng):
    """Change one to four fields of any lines, or say a line twice."""
    changed = json.loads(json.dumps(lines))
    for _ in range(rng.choice([1, 1, 2, 4])):
        line = rng.choice(changed[:-1])
        name, how = rng.choice([*line]), rng.random()
        if how < 0.6:
            line[name] = rng.choice(ODD)
        elif how < 0.7:
            del line[name]
        elif how < 0.8:
            line["extra"] = rng.choice(ODD)
        elif how < 0.9 and line.get("versions"):
            version = rng.choice(line["versions"])
            version[rng.choice([*version])] = rng.choice(ODD)
        else:
            changed.insert(rng.randrange(1, len(changed) - 1), json.loads(json.dumps(line)))
    return changed


def spelt(lines):
    """Write lines as an export is, with the counts and the digest that they should have."""
    body = b"".join((json.dumps(line) + "\n").encode() for line in lines[:-1])
    kinds = Counter(str(line.get("type")) for line in lines[:-1])
    counts = {"memories": kinds["memory"], "links": kinds["link"], "events": kinds["event"]}
    end = {**lines[-1], **counts, "sha256": sha256(body).hexdigest()}
    return body + (json.dumps(end) + "\n").encode()


def seen(memory):
    """Return the state of the caller's own memories."""
    return {one.id: (one.text, one.status) for one in memory.list()}


def test_the_unchanged_lines_are_taken(lines, tmp_path):
    """The measure itself: with no field changed, the file that is written again is a good one."""
    with MemoryManager(tmp_path, embedder=None) as memory:
        memory.store.import_from(io.BytesIO(spelt(lines)), trust="user")
        count = sum(line.get("type") == "memory" for line in lines)
        assert len(memory.list(status=list(Status))) == count > 10


@pytest.mark.parametrize("seed", range(60))
def test_a_changed_field_breaks_nothing(lines, tmp_path, seed):
    """A typed error or an import; the store stays sound, and a stranger's file changes nothing."""
    rng = random.Random(seed)
    data, trust = spelt(mutated(lines, rng)), rng.choice(["import", "web", "agent", "user"])
    with MemoryManager(tmp_path / "store", embedder=None) as memory:
        memory.add("mine one", id="i2", key="k1")
        memory.add("mine", id="mine", key="k2")
        before = seen(memory)
        try:
            memory.store.import_from(io.BytesIO(data), trust=trust)
        except MementoError:
            assert seen(memory) == before
        assert trust in {"agent", "user"} or seen(memory) == before
        for one in memory.list(status=list(Status)):
            assert memory.get(one.id) == one
            memory.changes.history(one.id)
        memory.retrieve("memory", 50)
        memory.store.export(io.StringIO())
        memory.store.backup(tmp_path / "b.db")
        assert [found for found in memory.store.doctor(repair=False) if not found.ok] == []
