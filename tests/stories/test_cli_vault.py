"""`memento export`: a vault of notes, and files for other programs, as a user types it."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def notes(memento, tmp_path):
    """A vault with the note of one memory."""
    memento("add", "Rami lives in Oslo", "--key", "rami/city")
    made = memento("export", "--vault", str(tmp_path / "notes"))
    assert made.out.endswith("1 note written, 0 unchanged\n")
    return tmp_path / "notes"


def note_of(folder):
    """Return the one note."""
    (path,) = folder.rglob("*.md")
    return path


def test_a_plan_is_shown_before_memories_change(memento, notes):
    """Without a terminal nobody could agree, so it asks for --yes."""
    note = note_of(notes)
    note.write_text(note.read_text().replace("Oslo", "Paris"))
    shown = memento("export", "--vault", str(notes), "--dry-run")
    assert shown.out.splitlines()[0] == f"updated fact/{note.name}: text"
    refused = memento("export", "--vault", str(notes))
    assert (refused.status, "--yes" in refused.err) == (2, True)
    assert "Oslo" in memento("list").out
    done = memento("export", "--vault", str(notes), "--yes").out.splitlines()
    assert "Paris" in memento("list").out
    number = done[-1].split("--run ")[1].split("`")[0]
    memento("undo", "--run", number)
    assert "Oslo" in memento("list").out


def test_a_plan_is_agreed_to_at_a_terminal(memento, notes, monkeypatch):
    """It says what it will do, and does it after a y."""
    note_of(notes).unlink()
    monkeypatch.setattr("memento.cli.group_maintain.sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda *_words, **_more: True)
    done = memento("export", "--vault", str(notes))
    assert done.err.splitlines()[0].startswith("forgotten fact/rami city")
    assert memento("list").out == "" or "Oslo" not in memento("list").out


def test_what_went_wrong_is_said(memento, notes):
    """Left notes in the list, and the way out of many missing ones on stderr."""
    note_of(notes).write_text("---\nmemento: [x\n---\n")
    assert "left " in memento("export", "--vault", str(notes)).out
    for number in range(8):
        memento("add", f"note {number} of eight")
    memento("export", "--vault", str(notes))
    for path in notes.rglob("note*.md"):
        path.unlink()
    told = memento("export", "--vault", str(notes))
    assert (told.out.count("withheld"), "--allow-deletes" in told.err) == (8, True)


def test_json_has_every_step(memento, notes):
    """For programs."""
    assert json.loads(memento("export", "--vault", str(notes), "--json").out)["unchanged"] == 1


def test_a_file_for_another_program(memento, tmp_path):
    """It says what that format cannot hold."""
    memento("add", "Rami lives in Oslo", "--tag", "home")
    done = memento("export", str(tmp_path / "m.jsonl"), "--format", "server-memory")
    assert done.out.endswith("1 memory\n")
    assert "cannot represent: tags of 1" in done.err
    assert json.loads((tmp_path / "m.jsonl").read_text())["observations"] == ["Rami lives in Oslo"]


@pytest.mark.parametrize("words", [(), ("x", "--vault", "y"), ("--vault", "y", "--format", "csv")])
def test_one_target_at_a_time(memento, words):
    """A file or a vault, and the options of each."""
    memento("add", "tea")
    assert memento("export", *words).status == 2
