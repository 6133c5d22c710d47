"""The family of errors: as drawn, catchable as one, and able to travel between processes."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from datetime import UTC, datetime

import pytest

from memento import errors
from memento.errors import MementoError

NEW_YEAR = datetime(2025, 1, 1, tzinfo=UTC)
EXAMPLES = [
    errors.InvalidInput("text", "is empty"),
    errors.AmbiguousId("0198c2f0", ["0198c2f0-1", "0198c2f0-2"]),
    errors.InvalidSetting("/x/memento.toml", "short.capacity", "must be at least 1"),
    errors.InvalidScope("scope", "is relative"),
    errors.SecretFound("text", {"github-token": 2}),
    errors.UntrustedSource("kind", "a web page cannot make a rule"),
    errors.NotFound("abc"),
    errors.IdConflict("abc"),
    errors.TurnErased(["turn-abc"]),
    errors.ChangedSince("abc", 2),
    errors.LockedMemory("abc", "user"),
    errors.TooManyLocks(100),
    errors.NothingToUndo(7, "there is no change 7"),
    errors.StoreError("/x", "broke"),
    errors.StoreClosed("/x"),
    errors.StoreFromTheFuture("/x", found=9, known=1),
    errors.StoreUnusable("/x", "is a file"),
    errors.StoreGone("/x", "ledger.db was removed"),
    errors.StoreBusy("/x", "busy"),
    errors.CommitUnknown("postgresql://x/y", "731", ["a"]),
    errors.ServiceError("answered with a page"),
    errors.NotAllowed("this token may only read"),
    errors.TooMuch("calls", "20 calls a second are allowed", 0.5),
    errors.Unanswered("no answer in 30 s"),
    errors.NotHere("only where the store is"),
    errors.ReadOnlyStore("/x", "read-only"),
    errors.TargetExists("/x", "already exists"),
    errors.ArchiveDamaged("/x", "is cut off"),
    errors.ArchiveFromTheFuture("/x", found=9, known=1),
    errors.MomentUnknown("/x", NEW_YEAR, NEW_YEAR),
    errors.StorageFull("/x", "full"),
    errors.StorageFailed("/x", "broken"),
    errors.TierUnavailable("long", "is elsewhere"),
    errors.EmbedderError("failed"),
    errors.EmbeddingMismatch("a (3)", "b (4)"),
    errors.RerankerError("failed"),
    errors.SynthesisFailed("timeout", "no reply within 60 s", calls=2, tokens_in=90),
    errors.BudgetSpent("calls_a_day", 200),
    errors.MissingExtra("openai", "httpx"),
]
CLASSES = {
    name: kind
    for name, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, MementoError)
}


def drawn():
    """Read the tree in the docstring as {class: class above it}."""
    above, parents = [], {}
    for line in errors.__doc__.splitlines():
        match = re.match(r"( {4}[│├└─ ]*)([A-Z]\w+)", line)
        if match:
            depth = (len(match[1]) - 4) // 4
            above[depth:] = [match[2]]
            parents[match[2]] = above[depth - 1] if depth else None
    return parents


def test_the_tree_is_the_classes():
    """Every class is drawn under the one it derives from, and nothing else is drawn."""
    real = {name: kind.__mro__[1].__name__ for name, kind in CLASSES.items()}
    assert drawn() == real | {"MementoError": None}


def test_there_is_an_example_of_each():
    """The tests below cover every class but the base."""
    assert {type(error) for error in EXAMPLES} == set(CLASSES.values()) - {MementoError}


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize(
    "travel",
    [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))],  # noqa: S301 - our own
)
def test_each_survives_copy_and_pickle(error, travel):
    """Message and facts arrive: pools and queues send errors between processes."""
    arrived = travel(error)
    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
    assert vars(arrived) == vars(error)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda e: type(e).__name__)
def test_each_carries_the_facts_it_documents(error):
    """Attributes named in the docstring are there."""
    documented = re.findall(r"^ {4}(\w+): ", inspect.getdoc(type(error)), re.MULTILINE)
    for name in documented:
        assert hasattr(error, name)


def test_builtins_catch_what_they_should():
    """A caller that knows nothing of us catches values, look-ups and imports by their builtins."""
    assert issubclass(errors.InvalidInput, ValueError)
    assert issubclass(errors.NotFound, LookupError)
    assert issubclass(errors.MissingExtra, ImportError)


def test_no_error_shadows_a_builtin():
    """Names of ours mean one thing."""
    assert not {name for name in CLASSES if name in dir(__builtins__)}


def test_a_complaint_can_be_placed():
    """About one item of several: kind and problem stay, the place comes first."""
    placed = errors.InvalidScope("scope", "is relative").within("items[3]")
    assert type(placed) is errors.InvalidScope
    assert str(placed) == "items[3].scope: is relative"
