"""The command line says why something was found."""

from __future__ import annotations

from dataclasses import fields
from io import StringIO

import pytest
from rich.console import Console

from memento.cli.tables import explained
from memento.retrieve.evidence import Weights
from memento.retrieve.usage_boost import TERMS
from memento.types import BECAUSE


def said(found):
    """Render an explanation, each line without its padding."""
    console = Console(width=200, file=StringIO())
    console.print(explained(found))
    return [line.strip() for line in console.file.getvalue().splitlines()]


@pytest.fixture
def talk(open_memory):
    """A short conversation and a named fact."""
    memory = open_memory()
    memory.add_many(
        [
            {"text": "A beagle mix. We went to the vet last Friday", "actor": "Nadia"},
            {"text": "My dog hates the vet", "actor": "Rami"},
            {"text": "Helix is the editor", "actor": "Rami", "key": "rami/editor"},
        ]
    )
    return memory


def test_every_piece_of_evidence_has_words():
    """No line of an explanation falls back on an internal name."""
    assert BECAUSE.keys() == {*TERMS, *(field.name for field in fields(Weights))}


def test_the_first_says_what_puts_it_before_the_next(talk):
    """The named person decides, and the explanation says so with its amount."""
    lines = said(talk.retrieve("when was Nadia at the vet?", 2))
    before = next(line for line in lines if line.startswith("before the next:"))
    assert "said by the person asked about (+2.50)" in before
    assert any("% sure: " in line and "of the query's words" in line for line in lines)
    assert lines[-1].endswith("sure that an answer is among them")


def test_a_name_is_the_reason(talk):
    """Called by its key, a memory is first for that reason."""
    lines = said(talk.retrieve("the rami editor hates what?", 2))
    assert any(line.startswith("the query names its key") for line in lines)
    assert "before the next: the query names it" in lines


def test_nothing_found_is_said(talk):
    """An empty answer is also explained."""
    assert said(talk.retrieve("zebra"))[-1] == "nothing found"
