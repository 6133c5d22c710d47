"""Sleep, stale memories and the archive at the command line."""

import json

import pytest
from typer.testing import CliRunner

from memento import MemoryManager
from memento.cli.program import app


@pytest.fixture
def run(tmp_path):
    """Run a command on a store with two near-equal statements."""
    root = tmp_path / "store"
    with MemoryManager(root, embedder=None) as memory:
        memory.add("The blue bike of Anna is kept in the old shed", id="bike-in-the-shed")
        memory.add("The blue bike of Anna is always kept in the old shed", id="bike-always-there")

    def call(*words):
        done = CliRunner().invoke(app, [*words, "--root", str(root), "--embedder", "none"])
        assert done.exit_code == 0, done.output
        return done.output

    return call


def test_sleep_says_what_it_does_and_can_be_undone(run):
    """First what it would do, then that it did, then back."""
    assert "duplicates examined 2, changed 1" in run("sleep", "--dry-run")
    said = run("sleep", "--seconds", "5")
    assert "to undo: memento undo --run 1" in said
    assert json.loads(run("list", "--json"))["memories"][0]["id"] == "bike-always-there"
    run("undo", "--run", "1")
    assert len(json.loads(run("list", "--json"))["memories"]) == 2
    assert json.loads(run("sleep", "--json"))["done"] is True


def test_the_archive_takes_short_ids(run):
    """A part of an id is enough; what is archived is found on request."""
    assert "archived" in run("set", "in-the-shed", "--archived")
    assert "in-the-shed" not in run("retrieve", "blue bike", "--json")
    assert "in-the-shed" in run("retrieve", "blue bike", "--json", "--archived")
    assert "active" in run("set", "in-the-shed", "--no-archived")


def test_stale_says_why(run):
    """A memory that is believed less than before is one that somebody should look at."""
    assert run("insight", "stale") == "nothing is stale\n"
    run("feedback", "in-the-shed", "--wrong")
    assert "bike-in-the-shed  doubted" in run("insight", "stale")
    assert json.loads(run("insight", "stale", "--json"))["stale"][0]["reasons"] == ["doubted"]


def test_articles_are_written_when_they_are_asked_for(run):
    """Only by their step; what they quote is shown beside them."""
    for place in ("shed", "cellar", "attic", "garage"):
        run("add", f"The {place} of the old mill has a wooden door")
    assert "articles" not in run("sleep")
    assert "articles   examined" in run("sleep", "--steps", "articles")
    (article,) = json.loads(run("list", "--kind", "article", "--json"))["memories"]
    assert "wooden door" in article["text"]
    assert "quotes (active)" in run("show", article["id"])
