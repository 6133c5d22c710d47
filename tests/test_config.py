"""Settings: composed, checked, and each of them used."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path

import pytest

import memento
from memento import Config
from memento.check import Limits
from memento.config import ShortConfig
from memento.errors import InvalidInput

SOURCE = {path: path.read_text() for path in Path(inspect.getfile(memento)).parent.rglob("*.py")}


def parts(kind=Config, above=""):
    """List every config class that Config is composed of, with the path to it."""
    yield above, kind
    for field in dataclasses.fields(kind):
        value = getattr(kind(), field.name)
        if dataclasses.is_dataclass(value):
            yield from parts(type(value), f"{above}{field.name}.")


FIELDS = [(path, kind, f.name) for path, kind in parts() for f in dataclasses.fields(kind)]


@pytest.mark.parametrize(("path", "kind", "name"), FIELDS, ids=[p + n for p, _, n in FIELDS])
def test_every_field_is_documented_and_read(path, kind, name):
    """An option nobody reads is a defect; so is one that nobody explains."""
    assert re.search(rf"^\s+{name}: ", inspect.getdoc(kind), re.MULTILINE)
    read = re.compile(rf"\.{name}\b")
    assert any(read.search(text) for text in SOURCE.values()), f"{path}{name} is read nowhere"


def test_every_part_is_frozen():
    """Settings do not change under a running store."""
    for _, kind in parts():
        assert kind.__dataclass_params__.frozen


@pytest.mark.parametrize(
    "make",
    [
        lambda: Config(long_index="Auto"),
        lambda: Config(secrets="keep"),
        lambda: Config(short=ShortConfig(capacity=0)),
        lambda: Config(limits=Limits(text_chars=0)),
        lambda: Config(limits=Limits(metadata_bytes=1)),
        lambda: Config(close_seconds=-1),
        lambda: Config(close_seconds=float("nan")),
    ],
)
def test_a_config_that_cannot_work_is_refused(make):
    """Said when it is made, not when it first hurts."""
    with pytest.raises(InvalidInput):
        make()


def test_limits_are_those_of_the_config(open_memory):
    """The refusals of add follow the settings."""
    memory = open_memory(config=Config(limits=Limits(text_chars=5, metadata_bytes=10)))
    assert memory.add("12345", metadata={"a": 1}).text == "12345"
    for options in ({"text": "123456"}, {"text": "1", "metadata": {"abc": "def"}}):
        with pytest.raises(InvalidInput):
            memory.add(**options)
