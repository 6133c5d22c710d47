"""The surface of the command line: its list of commands, their other names, and their tables."""

from __future__ import annotations

import json
import re
import sys

import pytest
import typer

from memento import __version__
from memento.cli.menu import ALIASES, ELSEWHERE, HIDDEN, SECTIONS
from memento.cli.program import app

ANSI = re.compile(r"\x1b\[[0-9;]*m")
LONG = "The harbour office in Porto opens at nine and closes at half past four, except on Fridays"


def commands():
    """Return the commands at the top, by name."""
    return typer.main.get_command(app).commands


def everything():
    """Yield (words, command) for each command, those of groups too."""
    for name, one in commands().items():
        yield name, one
        yield from (
            (f"{name} {inner}", deep) for inner, deep in getattr(one, "commands", {}).items()
        )


def test_the_list_of_commands_is_short_and_in_sections():
    """At most 35 commands; each is in one section; the first two have the everyday ones."""
    listed = [name for names in SECTIONS.values() for name in names]
    assert sorted([*listed, *HIDDEN]) == sorted(commands())
    assert len(listed) <= 35
    assert len(SECTIONS["Remember"] + SECTIONS["Find"]) >= 8


@pytest.mark.parametrize(("words", "command"), [*everything()])
def test_a_summary_is_not_cut(words, command):
    """It is one line of at most 55 characters, so that it stands whole at 80 columns."""
    summary = (command.help or "").split("\n\n")[0]
    assert 0 < len(summary) <= 55, words
    assert command.get_short_help_str(70) == summary.rstrip(".") or summary.endswith(".")


@pytest.mark.parametrize("width", ["80", "120"])
def test_the_help_has_the_sections(memento, monkeypatch, width):
    """No summary ends in dots, and `help` and nothing at all print the same."""
    monkeypatch.setenv("COLUMNS", width)
    shown = memento("help").out
    assert [title for title in SECTIONS if f"\n{title}:\n" in shown] == list(SECTIONS)
    assert "..." not in shown.split("Remember:")[1]
    assert memento("--help").out == shown
    assert memento("help", "session", "start").out == memento("session", "start", "--help").out


@pytest.mark.parametrize("alias", sorted(ALIASES))
def test_another_name_is_the_command(memento, alias):
    """What people type works, and the help does not list it."""
    assert ALIASES[alias] in commands()
    assert alias not in commands()
    assert memento(alias, "--help").out.startswith(f"Usage: memento {ALIASES[alias]} ")


@pytest.mark.parametrize("word", sorted(ELSEWHERE))
def test_a_word_for_a_part_of_a_command_is_answered_with_it(memento, word):
    """One line with what to type, which begins with a command that there is."""
    refused = memento(word, "x")
    assert (refused.status, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert f"`memento {ELSEWHERE[word]}`" in refused.err
    parts = ELSEWHERE[word].split()
    known = dict(everything())
    assert parts[0] in known
    assert not getattr(known[parts[0]], "commands", None) or " ".join(parts[:2]) in known


@pytest.mark.parametrize("words", [("-V",), ("version",), ("--version",)])
def test_the_version_has_three_names(memento, words):
    """As other programs have it."""
    assert memento(*words).out.endswith(f"memento {__version__}\n")


def test_n_is_the_limit_everywhere():
    """Every option that limits what is shown is also `-n`."""
    for words, command in everything():
        names = [one.opts for one in command.params if {"--limit", "--count"} & set(one.opts)]
        assert all("-n" in opts for opts in names), words


def test_json_is_an_option_of_every_command():
    """All but the server and the demo, which print no values."""
    for words, command in everything():
        if not hasattr(command, "commands") and words not in {"mcp", "demo"}:
            assert "--json" in [name for one in command.params for name in one.opts], words


@pytest.fixture
def terminal(memento, monkeypatch):
    """Run a command as on a terminal of a width; returns what it prints, without colours."""

    def run(width, *words):
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("TERM", "xterm")
        with monkeypatch.context() as patch:
            patch.setattr(type(sys.stdout), "isatty", lambda _self: True)
            return ANSI.sub("", memento(*words).out)

    return run


def squeezed(text):
    """Drop all white space."""
    return "".join(text.split())


@pytest.mark.parametrize("width", [80, 120])
def test_no_table_cuts_a_text(memento, terminal, width):
    """Every table has the whole text of each memory, and no line is wider than the terminal."""
    old = memento("add", f"{LONG} once", "--key", "porto/the-office-of-the-harbour").out.split()[0]
    new = memento("add", f"{LONG} now", "--key", "porto/the-office-of-the-harbour", "--tag", "a")
    new = new.out.split()[0]
    web = memento("add", f"{LONG} they say", "--trust", "web").out.split()[0]
    for words, texts in {
        ("list",): ["now"],
        ("list", "--status", "superseded"): ["once"],
        ("list", "--columns", "id,text"): ["now"],
        ("show", new): ["now", "once"],
        ("history", old): ["once"],
        ("history", "--key", "porto/the-office-of-the-harbour"): ["once", "now"],
        ("value", "porto/the-office-of-the-harbour"): ["now"],
        ("retrieve", "harbour office"): ["now"],
        ("retrieve", "harbour office", "--explain"): ["now"],
        ("quarantine", "list"): ["they say"],
    }.items():
        shown = terminal(width, *words)
        for end in texts:
            assert squeezed(f"{LONG} {end}") in squeezed(shown), words
        assert max(map(len, shown.splitlines())) <= width, words
    assert web[-8:] in terminal(width, "quarantine", "list")


@pytest.mark.parametrize("width", [80, 120])
def test_every_table_fits(memento, terminal, width):
    """Nothing of a short memory is wider than the terminal."""
    memento("add", "the kettle is blue", "--key", "kettle", "--tag", "kitchen", "--scope", "home")
    memento("add", "the kettle is red", "--key", "kettle", "--scope", "home")
    memento("session", "start", "s", "--goal", "boil water")
    for words in (
        ("stats",), ("stats", "--by", "tag"), ("doctor",), ("changes",), ("session", "list"),
        ("scopes", "list"), ("conflicts",), ("insight", "timeline"),
    ):  # fmt: skip
        assert max(map(len, terminal(width, *words).splitlines())) <= width, words


def test_a_line_of_the_list_at_eighty_columns(memento, terminal):
    """Golden: id, day, key or tags, and the text, which goes on below itself."""
    memento("add", f"{LONG}.", "--id", "office", "--key", "porto/office", "--at", "2025-05-01")
    memento("add", "Rami drinks tea", "--id", "tea", "--tag", "ops", "--at", "2025-05-02")
    assert [line.rstrip() for line in terminal(80, "list").splitlines()] == [
        "office  2025-05-01  porto/office  The harbour office in Porto opens at nine and",
        "                                  closes at half past four, except on Fridays.",
        "tea     2025-05-02  #ops          Rami drinks tea",
    ]


def test_columns_csv_and_lines_of_json(memento):
    """The fields that are named, in a form for a spreadsheet and for a program."""
    memento("add", 'He said "no", twice', "--id", "a", "--key", "k")
    assert memento("list", "--columns", "key,text", "--csv").out == (
        'key,text\nk,"He said ""no"", twice"\n'
    )
    assert json.loads(memento("list", "--columns", "id,key", "--nl").out) == {"id": "a", "key": "k"}
    assert json.loads(memento("list", "--nl").out)["text"] == 'He said "no", twice'
    assert memento("list", "--columns", "id,scope").out == "a  -\n"
    refused = memento("list", "--columns", "id,nonsense")
    assert (refused.status, "'nonsense' is not one of: id," in refused.err) == (2, True)


def test_a_long_list_goes_into_the_pager(memento, terminal, monkeypatch):
    """On a terminal that is lower than the list, and only there."""
    for n in range(9):
        memento("add", f"turn {n}")
    paged = []
    monkeypatch.setattr("pydoc.pager", paged.append)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setenv("LINES", "50")
    assert "turn 8" in terminal(80, "list")
    monkeypatch.setenv("LINES", "5")
    assert terminal(80, "list") == ""
    assert "turn 8" in paged[0]
