"""A format is one line of the registry: the docs and the command line name the same ones."""

import re
from pathlib import Path

import typer

from memento.cli.group_remember import app
from memento.ingest import Format

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "ingest-your-past.md"


def test_the_page_lists_every_format():
    """The table of the how-to names each format once, and no other."""
    named = re.findall(r"(?m)^\| `([\w-]+)` \|", PAGE.read_text(encoding="utf-8"))
    assert sorted(named) == sorted(Format)


def test_the_command_line_lists_every_format():
    """The help of ``--format`` names each format, and no other."""
    command = typer.main.get_command(app).commands["ingest"]
    told = next(one.help for one in command.params if one.name == "format")
    words = re.findall(r"[\w-]+", told.partition(";")[0])
    assert sorted(set(words) - {"or"}) == sorted(Format)
