"""`memento demo`: what a stranger sees first."""

import importlib.util
import io
import json
import os
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from memento import MemoryManager, Retrieval, Tier, ingest
from memento.cli import demo, main, tables
from memento.cli.demo import NAMESPACE, story


def painter():
    """Load the script that draws the README's picture."""
    path = Path(__file__).parents[2] / "scripts" / "demo_svg.py"
    spec = importlib.util.spec_from_file_location("demo_svg", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def shown():
    """What the demo prints, whatever the settings of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as printed:
        for name in [name for name in os.environ if name.startswith("MEMENTO_")]:
            patch.delenv(name)
        assert main(["demo"]) == 0
    return printed.getvalue()


def test_the_picture_shows_the_demo_of_today():
    """The README's picture has the words of the demo; if not, run `scripts/demo_svg.py`."""
    draw = painter()
    kept = draw.PICTURE.read_text(encoding="utf-8")
    assert draw.texts(kept) == draw.texts(draw.drawn(draw.played()))


def test_the_picture_shows_the_set_up_of_today():
    """So has the picture of the how-to for coding agents."""
    draw = painter()
    kept = draw.AGENTS.read_text(encoding="utf-8")
    assert draw.texts(kept) == draw.texts(draw.drawn(draw.set_up(), "memento init"))


def test_every_answer_is_the_right_one(shown):
    """Below each question stands the memory that answers it, with tier, date and score."""
    for question in (*story.QUESTIONS, story.CHANGED):
        answer = " ".join(shown.split(question.text)[1].split("score")[0].split())
        assert question.holds in answer, question.text
    assert all(f"    {tier} tier | " in shown for tier in Tier)
    assert "Theo 2025-03-01" in shown


def test_the_demo_tells_its_story(shown):
    """It shows what a changed fact replaced, that reopening loses nothing, and what to try next."""
    assert story.BEFORE.text in shown.split(story.AFTER.text)[1]
    count = len(list(ingest.read(story.CONVERSATION))) + len(story.NOTES) + 1
    assert f"{count} of {count} memories are back" in shown
    assert "memento demo --root demo_memory" in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_the_demo_shows_what_it_learns(shown):
    """A correction with its chain."""
    lesson = shown.split(demo.LEARNS)[1].split("How long")[0]
    assert 'instead of "Please use tabs."' in lesson
    assert '"Please use tabs." (superseded), "use spaces." (active)' in lesson


def test_the_demo_leaves_nothing_behind(memento, tmp_path):
    """Without --root it works in a temporary folder and removes it."""
    ended = memento("demo")
    assert (ended.status, ended.err) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_a_kept_demo_can_be_asked_and_run_again(memento, tmp_path):
    """With --root it stays, in a namespace of its own; a second run adds nothing."""
    assert memento("demo", "--root", tmp_path / "kept").status == 0
    assert memento("demo", "--root", tmp_path / "kept").status == 0
    with MemoryManager(tmp_path / "kept", embedder=None) as memory:
        assert memory.list() == []
        assert memory.of(NAMESPACE).store.stats().memories == 59
    words = ["retrieve", "which berth do they have?", "--root", tmp_path / "kept"]
    answer = memento(*words, "--namespace", NAMESPACE, "--embedder", "default", "--json").data
    assert "number 27" in answer["hits"][0]["text"]


def test_the_conversation_is_as_described():
    """About fifty turns of two speakers on four dates, and notes in all three tiers."""
    turns = list(ingest.read(story.CONVERSATION))
    assert len(turns) == 51
    assert {turn.actor for turn in turns} == {"Nadia", "Theo"}
    assert len({turn.occurred_at for turn in turns}) == 4
    assert {note.tier for note in story.NOTES} == set(Tier)
    json.loads(story.CONVERSATION.read_text(encoding="utf-8"))


def test_no_answer_is_said_in_words(capsys):
    """If nothing is found, the demo says so rather than showing the least bad."""
    demo._show(tables.console(), Retrieval("where is the moon?"))
    assert "nothing found" in capsys.readouterr().out
