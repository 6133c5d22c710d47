"""The filters of the command line: the same for retrieve, prompt and list."""

import inspect
import json
from datetime import UTC, datetime

import pytest
import typer

from memento import Draft, MemoryManager, Source
from memento.cli import options
from memento.cli.program import app

KETTLE, TEAPOT = "the blue kettle is full", "the blue teapot is empty"


@pytest.fixture(autouse=True)
def _store(tmp_path):
    kettle = Draft(
        KETTLE,
        "long",
        id="kettle",
        kind="rule",
        scope="home/kitchen",
        session="s1",
        tags=["tea", "hot"],
        key="kitchen/kettle",
        actor="Ruth",
        role="user",
        source=Source("user", uri="https://a.example/1"),
        metadata={"city": "Utrecht", "price": 12},
        occurred_at=datetime(2024, 1, 1, tzinfo=UTC),
    )
    teapot = Draft(
        TEAPOT,
        "medium",
        id="teapot",
        scope="office",
        session="s2",
        tags=["tea"],
        actor="Omar",
        role="assistant",
        source="agent",
        metadata={"city": "Delft", "price": 3},
        occurred_at=datetime(2025, 1, 1, tzinfo=UTC),
    )
    with MemoryManager(tmp_path / "agent_memory", embedder=None) as memory:
        memory.add_many([kettle, teapot])


FILTERS = [
    ("--tier", "long"),
    ("--kind", "rule"),
    ("--scope", "home/kitchen"),
    ("--within", "home"),
    ("--session", "s1"),
    ("--tag", "hot", "--tag", "tea"),
    ("--any-tag", "hot", "--any-tag", "cold"),
    ("--key", "kitchen/kettle"),
    ("--actor", "Ruth"),
    ("--role", "user"),
    ("--source", "https://a.example/1"),
    ("--source", "user"),
    ("--where", "city=Utrecht"),
    ("--where", '{"price": {"$gt": 3}}'),
    ("--without", "teapot"),
    ("--until", "2024-06-01"),
    ("--as-of", "2024-06-01"),
]


@pytest.mark.parametrize("command", ["retrieve", "prompt", "list"])
def test_each_filter_leaves_out_what_does_not_pass(memento, command):
    """Every command that finds memories understands the same options."""
    query = [] if command == "list" else ["blue"]
    assert "teapot" in memento(command, *query).out
    for given in FILTERS:
        shown = memento(command, *query, *given)
        assert (shown.status, shown.err) == (0, ""), given
        assert "kettle" in shown.out, given
        assert "teapot" not in shown.out, given


@pytest.mark.parametrize("command", ["retrieve", "prompt", "list"])
def test_a_filter_that_cannot_be_is_refused(memento, command):
    """With the option in the message, and without a traceback."""
    query = [] if command == "list" else ["blue"]
    for given, told in (
        (("--where", "city"), "--where: 'city' is neither KEY=VALUE nor a JSON object"),
        (("--where", "{city}"), "is not a JSON object"),
        (("--where", "n=1", "--where", "n=2"), "given twice"),
        (("--where", '{"n": {"$more": 1}}'), "is not one of: $eq"),
        (("--without", "no-such-id"), "no memory 'no-such-id'"),
        (("--role", "x" * 1000), "role: "),
    ):
        failed = memento(command, *query, *given)
        assert failed.status != 0
        assert told in failed.err


def test_an_option_has_the_same_words_everywhere():
    """Name, help and order of each filter are the same in the help of the three commands."""
    commands = typer.main.get_command(app).commands
    names = [name for name in inspect.signature(options.filters_of).parameters if name != "memory"]
    told = [
        [
            (one.name, one.opts, one.help, one.multiple)
            for one in commands[command].params
            if one.name in names
        ]
        for command in ("retrieve", "prompt", "list")
    ]
    assert [name for name, *_ in told[0]] == names
    assert told[0] == told[1] == told[2]


def test_the_hits_of_a_filter_are_those_of_the_method(memento, tmp_path):
    """The command line passes its options on."""
    found = memento("retrieve", "blue", "--role", "assistant", "--role", "user", "--json")
    with MemoryManager(tmp_path / "agent_memory", embedder=None) as memory:
        asked = memory.retrieve("blue", role=["assistant", "user"])
    assert [hit["id"] for hit in json.loads(found.out)["hits"]] == [hit.id for hit in asked]
