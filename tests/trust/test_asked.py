"""The words of a query, filter or name are kept nowhere: no file, log or long message."""

from __future__ import annotations

import json
import logging

import pytest

from memento import Config, MemoryManager
from memento.cli import main
from memento.errors import InvalidInput, NotFound
from memento.testing import HashEmbedder

KEY = "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"
"""A key as people paste them; it is taken out of what is stored, and here it is never stored."""
WORD = "heron4711qxzv"
"""A word that nothing takes out."""
MOST_SHOWN = 60
"""Most characters of a value that a message may repeat."""

FILTERS = [
    {"tag": [0]}, {"any_tag": [0]}, {"where": {"n": 0}}, {"where": {0: "n"}}, {"ids": [0]},
    {"session": 0}, {"scope": 0}, {"within": 0}, {"kind": 0}, {"tier": 0},
    {"where": {"n": {0: 0}}}, {"where": {0: {}}}, {"where": 0}, {"scope": "0//x"}, {"since": 0},
    {"where": {"n": {"$gt": 0}}}, {"where": {"n": {"$0": 1}}}, {"where": {"$0": 1}},
    {"key": 0}, {"actor": 0}, {"role": [0]}, {"source": 0},
]  # fmt: skip
"""The values that each filter may have; a 0 stands for the word to look for."""


def filled(shape, asked):
    """Put the word to look for into the shape of a filter."""
    if isinstance(shape, dict):
        return {filled(key, asked): filled(value, asked) for key, value in shape.items()}
    if isinstance(shape, list):
        return [filled(item, asked) for item in shape]
    return str(shape).replace("0", asked)


def questions(memory, asked):
    """List every way of asking for something, as functions without arguments."""
    (vector,) = memory.store.embed(["kettle"])
    yield from (
        lambda: memory.retrieve(asked),
        lambda: memory.retrieve(f"where is {asked}?", None, wait=1.0),
        lambda: memory.retrieve("kettle", match=asked),
        lambda: memory.prompt(asked),
        lambda: memory.store.embed([asked]),
        lambda: memory.store.counts(asked),
        lambda: memory.list(order=asked),
        lambda: memory.get(asked),
        lambda: memory.changes.history(asked),
        lambda: memory.insight.related(asked),
        lambda: memory.insight.related("k", status=asked),
        lambda: memory.update(asked, text="x"),
        lambda: memory.update("k", source=asked),
        lambda: memory.update("k", remove_aliases=[asked]),
        lambda: memory.forget(asked),
        lambda: memory.restore(asked),
        lambda: memory.update("k", tier=asked),
        lambda: memory.store.touch(asked, 60),
        lambda: memory.quarantine.approve(asked),
        lambda: memory.quarantine.reject(asked),
        lambda: memory.sessions.recent(session=asked),
        lambda: memory.quarantine.forget_source(asked),
        lambda: memory.quarantine.forget_source(asked, dry_run=True),
        lambda: memory.quarantine.restore_source(asked),
        lambda: memory.store.erase(asked),
        lambda: memory.store.erase(source=asked),
        lambda: memory.store.erase(session=asked),
        lambda: memory.of(asked).retrieve(asked),
        lambda: memory.of(asked).list(),
        lambda: memory.of(asked).get("k"),
        lambda: memory.add("x", kind=asked),
        lambda: memory.add("x", source=asked),
        lambda: memory.add("x", key=KEY if asked.startswith(KEY) else asked * 100),
    )
    for shape in FILTERS:
        given = filled(shape, asked)
        yield lambda given=given: memory.retrieve("kettle", **given)
        yield lambda given=given: memory.list(**given)
        yield lambda given=given: memory.store.nearest(vector, **given)
        yield lambda given=given: memory.store.counts(**given)
        yield lambda given=given: memory.forget_many(**given)


def ask_all(memory, asked):
    """Ask in every way; returns what was said of what cannot be asked."""
    said = []
    for number, ask in enumerate(questions(memory, asked)):
        try:
            ask()
        except (InvalidInput, NotFound, OSError) as error:
            said.append((number, str(error)))
        except Exception as error:
            raise AssertionError(f"question {number}: {error!r}") from error
    return said


def files_with(root, canary):
    """Name the files below a folder that hold some bytes."""
    held = (path for path in root.rglob("*") if path.is_file())
    return [path.name for path in held if canary.encode() in path.read_bytes()]


@pytest.mark.parametrize("index", ["exact", "chroma"])
@pytest.mark.parametrize("canary", [KEY, WORD])
def test_what_is_asked_is_written_nowhere(tmp_path, caplog, index, canary):
    """Neither while the store is open nor when it is closed; and no logger is told of it."""
    caplog.set_level(logging.DEBUG)
    root = tmp_path / "store"
    config = Config(long_index=index)
    with MemoryManager(root, embedder=HashEmbedder(64), config=config) as memory:
        memory.add("the kettle is blue", "long", id="k", tags=["t"], session="s")
        memory.add("the kettle is hot", "short", id="turn", session="s")
        assert memory.flush(wait=True)
        said = ask_all(memory, canary)
        assert len(said) > 10
        assert memory.flush(wait=True)
        assert files_with(root, canary) == []
    assert files_with(root, canary) == []
    assert canary not in caplog.text


def test_the_search_of_the_files_finds_what_is_there(tmp_path):
    """The control: the same search finds what was stored."""
    with MemoryManager(tmp_path, embedder=None, config=Config(secrets="allow")) as memory:
        memory.add(f"{KEY} {WORD}", "short")
        memory.flush()
        assert set(files_with(tmp_path, KEY)) >= {"short.json"}
        assert files_with(tmp_path, KEY) == files_with(tmp_path, WORD)


def test_no_message_repeats_a_long_value(tmp_path):
    """The message of any refusal shows at most 60 characters of a value."""
    long = "".join(f"{n:04}" for n in range(1_000))
    with MemoryManager(tmp_path, embedder=HashEmbedder(64)) as memory:
        memory.add("the kettle is blue", id="k")
        for asked in (long, f"{long[:200]}\n"):
            said = ask_all(memory, asked)
            assert len(said) > 20
            assert [(n, what[:300]) for n, what in said if long[: MOST_SHOWN + 1] in what] == []


class Quoting(HashEmbedder):
    """An embedder that repeats a question in its error, as remote services do."""

    def embed_queries(self, texts):
        """Refuse it."""
        raise RuntimeError(f"400 cannot embed {texts!r}: " + texts[0])


class QuotingReranker:
    """A reranker that does."""

    def score(self, query, texts):
        """Refuse it."""
        raise ValueError(f"cannot judge {json.dumps(query)} with {len(texts)} texts")


@pytest.mark.parametrize("letter", ["x", "\u00e9", "\n"])
@pytest.mark.parametrize(
    "given",
    [{"embedder": Quoting(64)}, {"embedder": HashEmbedder(64), "reranker": QuotingReranker()}],
    ids=["embedder", "reranker"],
)
def test_missing_does_not_repeat_a_long_question(tmp_path, given, letter):
    """Not even where an embedder or a reranker quotes it; the reason stays."""
    asked = f"kettle {letter}" + "".join(f"{n:04}{letter}" for n in range(1_000))
    with MemoryManager(tmp_path, **given) as memory:
        memory.add("the kettle is blue", id="k")
        memory.add("the kettle is hot", id="h")
        assert memory.flush(wait=True)
        (said,) = memory.retrieve(asked, record=False).missing.values()
        assert "cannot" in said
        for spelt in (asked, repr(asked), json.dumps(asked)):
            runs = (spelt[at : at + MOST_SHOWN + 1] for at in range(len(spelt) - MOST_SHOWN))
            assert not any(run in said for run in runs)


def test_the_command_line_keeps_no_question(tmp_path, capsys):
    """Nor do its questions stay; what it prints is the caller's."""
    root = str(tmp_path / "store")
    assert main(["add", "the kettle is blue", "--root", root]) == 0
    assert main(["retrieve", f"{KEY} {WORD}", "--root", root]) == 0
    assert main(["list", "--tag", KEY, "--root", root]) in (0, 2)
    capsys.readouterr()
    assert files_with(tmp_path, KEY) == files_with(tmp_path, WORD) == []
