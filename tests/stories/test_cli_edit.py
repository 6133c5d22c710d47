"""Changing memories in place: `set` by options, `edit` in an editor; and `undo`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

TOOL = """
import pathlib, sys
file = pathlib.Path(sys.argv[-1])
text = file.read_text()
pathlib.Path("seen").write_text(text)
for pair in sys.argv[1:-1]:
    old, new = pair.split("=>")
    assert old in text, old
    text = text.replace(old, new)
file.write_text(text)
"""


def shown(memento, memory_id):
    """Return the fields of a memory."""
    return memento("show", memory_id, "--json").data["memory"]


@pytest.fixture
def editor(monkeypatch):
    """Make the editor a program that replaces parts of the file."""
    Path("tool.py").write_text(TOOL)

    def make(*pairs):
        words = [sys.executable, str(Path("tool.py").absolute()), *pairs]
        monkeypatch.setenv("EDITOR", shlex.join(words))
        monkeypatch.delenv("VISUAL", raising=False)

    return make


@pytest.mark.parametrize(
    ("options", "field", "value"),
    [
        (["--tag", "+ops", "--tag", "-draft"], "tags", ["keep", "ops"]),
        (["--tag", "ops"], "tags", ["draft", "keep", "ops"]),
        (["--tier", "long"], "tier", "long"),
        (["--kind", "preference"], "kind", "preference"),
        (["--importance", "0.25"], "importance", 0.25),
        (["--scope", "home/kitchen"], "scope", "home/kitchen"),
        (["--alias", "+the pot"], "aliases", ["the pot"]),
        (["--metadata", "n=3", "--metadata", "city=Delft"], "metadata", {"n": 3, "city": "Delft"}),
        (["--pin"], "pinned", True),
        (["--lock"], "lock", "user"),
        (["--archived"], "status", "archived"),
        (["--expires-in", "never"], "expires_at", None),
    ],
)
def test_set_changes_one_thing(memento, options, field, value):
    """Each option changes its field and no other, and `--json` shows the memory as it is then."""
    one = memento.add("the kettle is blue", "--tag", "draft", "--tag", "keep", "--expires-in", "7d")
    before = shown(memento, one)
    (told,) = memento("set", one[-8:], *options, "--json").data["memories"]
    after = shown(memento, one)
    assert after == told
    assert sorted(after[field]) == value if field == "tags" else after[field] == value
    moved = {"updated_at", "version", "expires_at", "seq", field}
    assert {name: after[name] for name in after if name not in moved} == {
        name: before[name] for name in before if name not in moved
    }


def test_set_takes_several_ids_and_takes_back(memento):
    """What a `--no-` option takes away is as it was."""
    both = [memento.add(text) for text in ("the kettle is blue", "the cup is red")]
    memento("set", *both, "--pin", "--lock", "--metadata", "a=1")
    assert [shown(memento, one)["pinned"] for one in both] == [True, True]
    memento("set", *both, "--no-lock", "--no-pin", "--metadata", "-a")
    assert [shown(memento, one)["lock"] for one in both] == [None, None]
    assert [shown(memento, one)["metadata"] for one in both] == [{}, {}]
    memento("set", both[0], "--archived")
    assert "active" in memento("set", both[0], "--no-archived").out


def test_set_moves_a_memory_into_another_slot(memento):
    """A new memory of the same content fills it, and supersedes what was there."""
    old = memento.add("Rami uses Vim", "--key", "rami/editor")
    one = memento.add("Rami uses Helix", "--tag", "tools", "--pin")
    (moved,) = memento("set", one, "--key", "rami/editor", "--json").data["memories"]
    assert (moved["text"], moved["tags"], moved["pinned"]) == ("Rami uses Helix", ["tools"], True)
    assert memento("value", "rami/editor", "--json").data["id"] == moved["id"]
    assert [shown(memento, name)["status"] for name in (old, one)] == ["superseded"] * 2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "--tag +NAME"),
        (["--tag", "-nope"], "'nope'"),
        (["--expires-in", "soon"], "12h"),
        (["--importance", "7"], "importance"),
        (["--metadata", "n"], "--metadata"),
    ],
)
def test_set_refuses_in_one_line(memento, options, says):
    """And changes nothing."""
    one = memento.add("the kettle is blue")
    refused = memento("set", one, *options)
    assert (refused.status, refused.err.count("\n"), refused.out) == (2, 1, "")
    assert says in refused.err
    assert shown(memento, one)["version"] == 1


def test_edit_applies_what_was_changed(memento, editor):
    """Text and fields, in place; `undo` takes it back."""
    one = memento.add("the ketle is blue", "--tag", "draft")
    editor("ketle=>kettle", '["draft"]=>["ops", "home"]', 'tier = "medium"=>tier = "long"')
    memento("set", one, "--tier", "medium")
    assert "the kettle is blue" in memento("edit", one[-8:]).out
    after = shown(memento, one)
    assert (after["text"], after["tier"]) == ("the kettle is blue", "long")
    assert sorted(after["tags"]) == ["home", "ops"]
    assert memento("undo", "--yes").status == 0
    assert shown(memento, one)["text"] == "the ketle is blue"


@pytest.mark.parametrize(
    "text", ["plain", "+++\nin the text\n+++", 'quo"tes\\ and\ttabs\n\ntwo', "é\x7f"]
)
def test_an_unchanged_file_changes_nothing(memento, editor, text):
    """Whatever the text looks like; an emptied file neither."""
    one = memento.add(text, "--key", "a/b", "--tag", "t", "--due", "2027-01-01", "--kind", "plan")
    before = shown(memento, one)
    editor()
    assert memento("edit", one).out == "nothing was changed\n"
    editor(Path("seen").read_text() + "=>")
    assert memento("edit", one).out == "nothing was changed\n"
    assert shown(memento, one) == before
    editor("pinned = false=>pinned = true")
    memento("edit", one)
    after = shown(memento, one)
    assert (after["pinned"], after["text"], after["due_at"]) == (True, text, before["due_at"])


@pytest.mark.parametrize(
    ("pair", "says"),
    [
        ("pinned = false=>pinned = maybe", "line 9"),
        ('tier = "=>tier = "far', "tier"),
        ("importance=>imprtance", "imprtance"),
        ("importance = =>importance = 7 # ", "importance"),
        ("tags = []=>tags = 3", "tags"),
        ("tags = []=>tags = [3]", "tags"),
        ('key = ""=>key = 3', "key"),
        ("pinned = false=>pinned = 3", "pinned"),
        ('expires_at = ""=>expires_at = "sometime"', "sometime"),
        ('due_at = ""=>due_at = [1]', "[1]"),
        ('kind = "fact"=>kind = 3', "kind"),
        ("+++\n=>---\n", "between two +++ lines"),
    ],
)
def test_a_mistake_in_the_fields_keeps_the_file(memento, editor, pair, says):
    """One line that says where; nothing is changed, and what was typed is not lost."""
    one = memento.add("the kettle is blue")
    before = shown(memento, one)
    editor(pair)
    refused = memento("edit", one)
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert says in refused.err
    kept = Path(refused.err.split()[1].rstrip(":"))
    assert "the kettle is blue" in kept.read_text()
    kept.unlink()
    assert shown(memento, one) == before


def test_an_editor_that_fails_changes_nothing(memento, monkeypatch):
    """One that is not there, and one that ends with an error."""
    one = memento.add("the kettle is blue")
    for command, says in (("no-such-editor", "cannot be run"), ("false", "exited with status 1")):
        monkeypatch.setenv("VISUAL", command)
        refused = memento("edit", one)
        assert (refused.status, says in refused.err) == (2, True)


def test_edit_without_a_terminal_starts_no_editor_of_its_own(memento, monkeypatch):
    """It names what to use instead; a program that was named may need no terminal."""
    for name in ("EDITOR", "VISUAL"):
        monkeypatch.delenv(name, raising=False)
    one = memento.add("the kettle is blue")
    refused = memento("edit", one)
    assert (refused.status, "there is no terminal" in refused.err) == (2, True)
    monkeypatch.setenv("EDITOR", "true")
    assert memento("edit", one).out == "nothing was changed\n"


def test_undo_takes_back_the_last_change(memento):
    """It says what it will do; again it takes back the one before."""
    one = memento.add("The rent is 560 euros", "--key", "rent")
    told = memento("add", "The rent is 640 euros", "--key", "rent")
    assert f"replaces {one[-8:]}: The rent is 560 euros (undo: `memento undo 1`)" in told.out
    memento("set", one, "--tag", "+old")
    done = memento("undo", "--yes")
    assert f"{one[-8:]} goes back to: The rent is 560 euros" in done.err
    assert memento("value", "rent", "--json").data["text"] == "The rent is 640 euros"
    done = memento("undo", "--yes")
    assert "will be forgotten: The rent is 640 euros" in done.err
    assert memento("value", "rent", "--json").data["text"] == "The rent is 560 euros"
    assert "there is no change to undo" in memento("undo", "--yes").err


@pytest.mark.parametrize(("answer", "text"), [(True, "tea"), (False, "coffee")])
def test_undo_asks_on_a_terminal(memento, monkeypatch, answer, text):
    """No leaves all as it is; without a terminal it needs `--yes`."""
    memento.add("tea", "--key", "drink")
    memento.add("coffee", "--key", "drink")
    refused = memento("undo")
    assert (refused.status, "--yes" in refused.err) == (2, True)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda *_args, **_more: answer)
    assert memento("undo").status == (0 if answer else 130)
    assert memento("value", "drink", "--json").data["text"] == text


def test_undo_says_that_an_added_memory_is_forgotten_otherwise(memento):
    """A memory that replaced nothing is no change; what takes it back is named."""
    memento.add("tea", "--key", "drink")
    memento.add("coffee", "--key", "drink")
    last = memento.add("the kettle is blue")
    assert f"to hide it: `memento forget {last[-8:]}`" in memento("undo", "--yes").err


def test_a_secret_is_said_to_be_left_out(memento):
    """With its kind, for people and in JSON."""
    key = "sk-proj-" + "abcdefghij0123456789" * 3
    assert "a secret was removed (openai-key)" in memento("add", f"api key {key}").out
    told = memento("add", f"another key {key}", "--json").data
    assert told["notes"] == ["a secret was removed (openai-key)"]


def test_a_new_store_is_named(memento):
    """Once, on stderr."""
    assert memento("add", "one").err == "memento: created a new store in agent_memory\n"
    assert memento("add", "two").err == ""


def test_no_conflicts_is_said(memento):
    """And two statements that contradict each other are found by the next command."""
    memento("add", "My editor is Vim")
    assert memento("conflicts").out == "no conflicts\n"
    memento("add", "My editor is Helix")
    (pair,) = memento("conflicts", "--json").data["conflicts"]
    assert "Helix" in memento("conflicts").out
    settled = memento("resolve", pair["a"]["id"], pair["b"]["id"], "--keep", "a")
    assert (settled.status, memento("conflicts").out) == (0, "no conflicts\n")
    assert memento("conflicts", "x").status == memento("conflicts", "--keep", "a").status == 2


def test_moments_are_shown_in_the_users_zone(memento, monkeypatch):
    """That of MEMENTO_TIMEZONE, else that of the system; they are read in it, too."""
    monkeypatch.setenv("MEMENTO_TIMEZONE", "Asia/Tokyo")
    memento.add("tea", "--key", "drink", "--at", "2025-03-15T01:00")
    told = memento("list", "--json").data["memories"][0]["occurred_at"]
    assert told == "2025-03-14T16:00:00+00:00"
    assert "2025-03-15" in memento("list").out
    monkeypatch.delenv("MEMENTO_TIMEZONE")
    monkeypatch.setenv("TZ", "America/New_York")
    assert "2025-03-14" in memento("list").out
    assert "2025-03-14 12:00:00" in memento("insight", "timeline").out


def test_an_empty_namespace_says_where_memories_are(memento):
    """In each command that finds nothing there."""
    memento.add("tea", "--namespace", "demo")
    for words in (["list"], ["retrieve", "tea"], ["stats"]):
        assert "1 other namespace contains 1 memory: --namespace demo" in memento(*words).out
    memento.add("coffee", "--namespace", "acme/rami")
    assert "2 other namespaces contain 2 memories" in memento("list").out


@pytest.mark.parametrize("moment", ["2027-01-02", "2027-01-02T00:00:00", '"2027-01-02"'])
def test_a_moment_is_edited_as_it_is_typed(memento, editor, moment):
    """A date or a time of TOML, or words in quotes; empty again for none."""
    one = memento.add("Water the plants", "--kind", "plan")
    editor(f'valid_until = ""=>valid_until = {moment}', f'due_at = ""=>due_at = {moment}')
    assert memento("edit", one).status == 0
    after = shown(memento, one)
    assert after["due_at"] == after["valid_until"] == "2027-01-02T00:00:00+00:00"
    editor('valid_until = 2027-01-02T00:00:00+00:00=>valid_until = ""')
    assert memento("edit", one).status == 0
    assert shown(memento, one)["valid_until"] is None


def test_a_locked_memory_keeps_what_was_typed(memento, editor):
    """It is not changed, and the file with the text is named."""
    one = memento.add("the kettle is blue")
    memento("set", one, "--lock")
    editor("blue=>red")
    refused = memento("edit", one)
    assert (refused.status, "the file was kept" in refused.err) == (2, True)
    assert shown(memento, one)["text"] == "the kettle is blue"


def test_a_key_without_a_value_names_the_last_that_had_it(memento):
    """An archived memory is shown and brought back by its key, and a forgotten one is shown."""
    memento("add", "the door is 4921", "--key", "door/code")
    memento("set", "door/code", "--archived")
    assert "archived" in memento("show", "door/code").out
    assert "active" in memento("set", "door/code", "--no-archived").out
    memento("forget", "door/code")
    assert "forgotten" in memento("show", "door/code").out
    assert memento("set", "door/code", "--pin").status == 3


def test_a_key_restores_what_was_forgotten_last(memento):
    """Of several forgotten values of a key it is the one that was just hidden."""
    memento("add", "the code is 1", "--key", "door/code", "--id", "v1")
    memento("add", "the code is 2", "--key", "door/code", "--id", "v2")
    memento("undo", "--yes")
    assert "v1" in memento("forget", "door/code").out
    assert "v1" in memento("restore", "door/code").out
