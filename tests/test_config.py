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
from memento.claims.settings import Conflicts
from memento.config import Articles, ScopeConfig, ShortConfig, Sleep
from memento.dynamics.association import Association
from memento.dynamics.settings import Dynamics
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


OUT_OF_RANGE = [
    (Config, {"long_index": "Auto"}),
    (Config, {"secrets": "keep"}),
    (Config, {"close_seconds": -1}),
    (Config, {"close_seconds": float("nan")}),
    (ShortConfig, {"capacity": 0}),
    (Limits, {"text_chars": 0}),
    (Limits, {"metadata_bytes": 1}),
    (ScopeConfig, {"shared": 1}),
    (ScopeConfig, {"write_at": 1.5}),
    (Conflicts, {"pairs": -1}),
    (Articles, {"writer": "poet"}),
    (Association, {"rate": 2}),
    (Association, {"rate": True}),
    (Association, {"budget": 0}),
    (Association, {"budget": "x"}),
    (Dynamics, {"pace": "faster"}),
    (Dynamics, {"agent": 2}),
    (Dynamics, {"stability": ()}),
    (Dynamics, {"stability": {"fact": 0}}),
    (Dynamics, {"stability": {"fax": 9.0}}),
    (Dynamics, {"half_life": float("nan")}),
    (Dynamics, {"half_life": "9"}),
    (Sleep, {"auto": "some"}),
    (Sleep, {"bite": 0}),
    (Sleep, {"bite": 501}),
    (Sleep, {"archive_below": 2}),
    (Sleep, {"perishable": ["episode"]}),
    (Sleep, {"perishable": ("walk",)}),
    (Sleep, {"most_active": 0}),
    (Sleep, {"move_given": 1}),
    (Sleep, {"replay": True}),
    (Sleep, {"lease": float("inf")}),
]


@pytest.mark.parametrize(("part", "wrong"), OUT_OF_RANGE, ids=str)
def test_a_setting_out_of_its_range_is_refused(part, wrong):
    """The error names the setting, and comes when it is made, not when it first hurts."""
    with pytest.raises(InvalidInput) as refused:
        part(**wrong)
    assert refused.value.field.rpartition(".")[2] in wrong


def test_limits_are_those_of_the_config(open_memory):
    """The refusals of add follow the settings."""
    memory = open_memory(config=Config(limits=Limits(text_chars=5, metadata_bytes=10)))
    assert memory.add("12345", metadata={"a": 1}).text == "12345"
    for options in ({"text": "123456"}, {"text": "1", "metadata": {"abc": "def"}}):
        with pytest.raises(InvalidInput):
            memory.add(**options)
