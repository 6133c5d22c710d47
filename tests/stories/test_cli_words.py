"""The command line is brief, uses its own words, and is clean in a pipe."""

from __future__ import annotations

import io
import json
import logging
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memento import MemoryManager, cli
from memento.cli.options import moment_of
from memento.cli.output import warn
from memento.ledger.lite import gate
from memento.ledger.lite.library import sqlite3


def test_a_group_without_a_command_prints_its_help(capsys):
    """In lines, as it is meant to be read, and exits with 2."""
    assert cli.main(["quarantine"]) == 2
    said = capsys.readouterr().err
    assert "\n  approve" in said
    assert said.startswith("Usage: memento quarantine")


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (("history",), "memento history"),
        (("list", "--nope"), "memento list"),
        (("quarantine", "reject"), "memento quarantine reject"),
        (("nonsense",), "memento"),
        (("--nope",), "memento"),
    ],
)
def test_a_usage_error_points_to_the_help_of_its_command(memento, words, command):
    """Not to the list of all commands, where the answer is not."""
    ended = memento(*words)
    assert ended.status == 2
    assert ended.err.endswith(f"see `{command} --help`\n")


def test_add_joins_words_as_retrieve_does(memento):
    """Quotes are a matter of taste."""
    assert memento("add", "Rami", "eats", "no", "nuts").status == 0
    (kept,) = json.loads(memento("list", "--json").out)["memories"]
    assert kept["text"] == "Rami eats no nuts"


def test_a_pipe_gets_no_blanks_at_the_end_of_lines(memento):
    """Tables do not pad what goes into a file; texts of several lines neither."""
    memento("add", "first line\nsecond, longer line\nthird")
    (kept,) = json.loads(memento("list", "--json").out)["memories"]
    for words in (("list",), ("show", kept["id"]), ("stats",), ("history", kept["id"])):
        shown = memento(*words).out
        assert [line for line in shown.splitlines() if line != line.rstrip()] == []
        assert shown


def test_messages_name_flags_and_not_arguments(memento, capsys):
    """Messages of the library about Python arguments name the options of the command line."""
    memento("add", "one")
    memento("backup", "one.db")
    again = memento("backup", "one.db")
    assert again.err.endswith("use another name, or use --overwrite\n")
    for words in (
        ("add", "x " * 100_000),
        ("retrieve", "one", "--embedder", "foo"),
        ("list", "-n", "abc"),
        ("list", "--columns", "foo"),
        ("export",),
    ):
        said = memento(*words).err
        assert not any(
            word in said
            for word in ("documents.add", "None", "Embedder", "parse", "--columns: --columns")
        )
    assert " - for stdout" in said
    warn("2 memories are waiting to be embedded; flush(wait=True) waits for them")
    assert "flush" not in capsys.readouterr().err


def test_a_text_that_begins_with_a_dash_needs_a_hint(memento):
    """It is taken for an option; a misspelt option gets no such hint."""
    assert "put -- before" in memento("add", "-5 degrees").err
    assert "put -- before" not in memento("list", "--nope").err
    assert memento("add", "--embedder", "none", "--", "-5 degrees").status == 0


def test_a_source_from_which_nothing_waits_is_told_those_that_have(memento):
    """A part of an address is not the address; the message has the whole one to copy."""
    memento("add", "hello", "--trust", "import", "--source", "whatsapp:Lotte")
    for verb in ("approve", "list"):
        said = memento("quarantine", verb, "--source", "whatsapp").out
        assert said == "nothing quarantined from there, only from whatsapp:Lotte\n"
    assert "active" in memento("quarantine", "approve", "--source", "whatsapp:Lotte", "-y").out
    assert memento("quarantine", "list").out == "nothing quarantined\n"


def test_restoring_what_is_superseded_says_why_not(memento):
    """Nothing was forgotten, so nothing comes back; never silently."""
    memento("add", "uses vim", "--key", "editor", "--id", "old")
    memento("add", "uses emacs", "--key", "editor", "--id", "new")
    ended = memento("restore", "old")
    assert ended.status == 2
    assert "superseded by 'new'" in ended.err
    assert memento("restore", "new").out == "new  active\n"


def test_the_time_of_a_message_is_read(memento, tmp_path):
    """Exports call it ``time`` as often as ``timestamp``."""
    file = tmp_path / "chat.jsonl"
    file.write_text('{"role": "user", "content": "hello", "time": "2024-05-01T10:00:00Z"}\n')
    assert memento("ingest", file).status == 0
    with MemoryManager("agent_memory", embedder=None) as memory:
        assert memory.list()[0].occurred_at.year == 2024


@contextmanager
def our_gate():
    """Hold what other processes of memento wait at."""
    held = gate.Gate(Path("agent_memory").absolute() / "ledger.db", 30)
    held.enter()
    yield held.leave
    held.close()


@contextmanager
def sqlites_lock():
    """Hold the lock of SQLite, as a program does that knows no gate."""
    other = sqlite3.connect("agent_memory/ledger.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    yield other.rollback
    other.close()


@pytest.mark.parametrize("holds", [our_gate, sqlites_lock])
def test_whoever_waits_for_another_writer_is_told(memento, monkeypatch, holds):
    """After two seconds one line says so; the command goes on when the other is done."""
    memento("add", "first")
    monkeypatch.setattr(gate, "PATIENCE", 0.0)
    with holds() as let_go:

        class Release(logging.Handler):
            def emit(self, record):
                assert "waiting" in record.getMessage()
                let_go()

        release = Release()
        gate.log.addHandler(release)
        try:
            ended = memento("add", "second")
        finally:
            gate.log.removeHandler(release)
    assert ended.status == 0
    assert ended.err == "memento: another process is writing; waiting up to 30 s for it to finish\n"


def test_reading_from_a_terminal_says_so(memento, monkeypatch):
    """Nothing else would tell why nothing happens."""

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("sys.stdin", Terminal("typed by hand"))
    ended = memento("add", "-")
    said = ["reading from stdin; end with Ctrl-D", "created a new store in agent_memory"]
    assert ended.status == 0
    assert ended.err == "".join(f"memento: {one}\n" for one in said)
    for command in ("observe",), ("ingest", "-"), ("import", "-"):
        typed = io.TextIOWrapper(io.BytesIO(b"user: I live in Porto"))
        monkeypatch.setattr(typed, "isatty", lambda: True)
        monkeypatch.setattr("sys.stdin", typed)
        assert said[0] in memento(*command).err, command
    monkeypatch.setattr("sys.stdin", io.StringIO("from a pipe"))
    assert memento("add", "-").err == ""


def test_json_is_the_same_everywhere(memento):
    """One implementation, ``to_dict``: a memory has the same fields in each command."""
    memento("add", "Rami drinks tea", "--id", "tea")
    (listed,) = json.loads(memento("list", "--json").out)["memories"]
    answer = json.loads(memento("retrieve", "tea", "--json").out)
    got = json.loads(memento("show", "tea", "--json").out)["memory"]
    assert listed == got
    assert {name: answer["hits"][0][name] for name in got} == got


def test_one_line_for_each_memory(memento):
    """For grep and awk: the id first, and a text of several lines on one, however long."""
    memento("add", "first line\nsecond \x1b[31mline", "--id", "a", "--tag", "t")
    memento("add", "another " + "x" * 300)
    first, second = memento("list").out.splitlines()
    assert first.split()[0] == "a"
    assert first.endswith("  #t  first line second \N{REPLACEMENT CHARACTER}[31mline")
    assert second.endswith("  another " + "x" * 300)


def test_what_exists_can_be_listed(memento):
    """Namespaces, sessions, tags and keys, each with its number."""
    memento("add", "one", "--session", "standup", "--tag", "ops", "--key", "rami/editor")
    memento("add", "two", "--session", "standup", "--tag", "ops", "--tag", "a\x1bb")
    memento("add", "three", "--namespace", "acme/rami")
    for thing, said in (
        ("session", {"standup": 2}),
        ("tag", {"a\x1bb": 1, "ops": 2}),
        ("key", {"rami/editor": 1}),
        ("namespace", {"acme/rami": 1, "default": 2}),
    ):
        assert memento("stats", "--by", thing, "--json").data == said
        shown = memento("stats", "--by", thing).out
        lines = [line.split(None, 1) for line in shown.splitlines()]
        assert [int(count) for count, _ in lines] == list(said.values())
        assert "\x1b" not in shown
    assert memento("stats", "--by", "key", "--namespace", "acme/rami").out == "nothing here\n"


def test_an_embedder_can_be_in_the_environment(memento, monkeypatch):
    """As the folder and the namespace can; a word that is none of them is refused."""
    memento("add", "milk")
    monkeypatch.setenv("MEMENTO_EMBEDDER", "foo")
    assert cli.main(["list"]) == 2
    monkeypatch.setenv("MEMENTO_EMBEDDER", "none")
    assert cli.main(["list"]) == 0


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("now", "2025-05-03T10:20:30+00:00"),
        ("today", "2025-05-03T00:00:00+00:00"),
        ("Yesterday", "2025-05-02T00:00:00+00:00"),
        ("7d", "2025-04-26T10:20:30+00:00"),
        ("90m ago", "2025-05-03T08:50:30+00:00"),
        ("2w", "2025-04-19T10:20:30+00:00"),
        ("an hour ago", "2025-05-03T09:20:30+00:00"),
        ("3 days ago", "2025-04-30T00:00:00+00:00"),
        ("last Monday", "2025-04-28T00:00:00+00:00"),
        ("monday", "2025-04-28T00:00:00+00:00"),
        ("the last ten years", "2015-05-03T00:00:00+00:00"),
        ("tomorrow at 9am", "2025-05-04T09:00:00+00:00"),
        ("yesterday 14:30", "2025-05-02T14:30:00+00:00"),
        ("gestern", "2025-05-02T00:00:00+00:00"),
        ("in March", "2025-03-01T00:00:00+00:00"),
        ("2025-05-01T12:00+02:00", "2025-05-01T12:00:00+02:00"),
        ("20250501", "2025-05-01T00:00:00+00:00"),
        ("last november", "2024-11-01T00:00:00+00:00"),
        ("last christmas", "2024-12-25T00:00:00+00:00"),
        ("in the last month", "2025-04-01T00:00:00+00:00"),
        ("yesterday evening", "2025-05-02T00:00:00+00:00"),
        ("last monday morning", "2025-04-28T00:00:00+00:00"),
        ("the evening of 5 April", "2025-04-05T00:00:00+00:00"),
        ("Tuesday at 3pm", "2025-04-29T15:00:00+00:00"),
        ("at 3pm yesterday", "2025-05-02T15:00:00+00:00"),
        ("before march", "2025-03-01T00:00:00+00:00"),
        ("until friday", "2025-05-03T00:00:00+00:00"),
        ("after 20 April", "2025-04-21T00:00:00+00:00"),
        ("between March and May", "2025-03-01T00:00:00+00:00"),
        ("before 2020", "2020-01-01T00:00:00+00:00"),
        ("vor 2020", "2020-01-01T00:00:00+00:00"),
        ("last weekend", "2025-04-26T00:00:00+00:00"),
        ("a week ago", "2025-04-26T00:00:00+00:00"),
        ("a fortnight ago", "2025-04-19T00:00:00+00:00"),
        ("the Monday after Easter", "2025-04-21T00:00:00+00:00"),
        ("the week before Christmas", "2024-12-18T00:00:00+00:00"),
        ("2024", "2024-01-01T00:00:00+00:00"),
        ("march", "2025-03-01T00:00:00+00:00"),
        ("May", "2025-05-01T00:00:00+00:00"),
        ("gestern Abend", "2025-05-02T00:00:00+00:00"),
        ("先週", "2025-04-21T00:00:00+00:00"),
    ],
)
def test_a_moment_may_be_relative_to_now(text, moment):
    """A word, or a length of time before now."""
    now = datetime(2025, 5, 3, 10, 20, 30, tzinfo=UTC)
    assert moment_of(text, lambda: now) == datetime.fromisoformat(moment)


@pytest.mark.parametrize(
    "text",
    ["", "soon", "d", "7", "-7d", "9999999999w", "7 days", "on Bob", "yesterday or monday", "3pm"],
)
def test_what_is_not_a_moment_is_refused(text):
    """With examples of what is."""
    with pytest.raises(ValueError, match=r"is not a date or time such as .* last monday or 7d"):
        moment_of(text)


def test_since_takes_a_length_of_time(memento):
    """Only what was said in the last week."""
    memento("add", "long ago", "--at", "30d")
    memento("add", "lately", "--at", "yesterday")
    found = json.loads(memento("list", "--since", "7d", "--json").out)["memories"]
    assert [one["text"] for one in found] == ["lately"]


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("show", "nope", "--json"), 3),
        (("list", "--limit", "x", "--json"), 2),
        (("add", " ", "--json"), 2),
        (("list", "--json", "--root", "nowhere"), 4),
    ],
)
def test_an_error_is_json_if_the_output_would_be(memento, words, status):
    """One object with the message and the exit status; nothing on stdout."""
    memento("add", "one")
    ended = memento(*words)
    said = json.loads(ended.err)
    assert (ended.status, ended.out, said["status"]) == (status, "", status)
    assert said["error"]


def test_a_text_that_looks_like_an_option_is_not_one(memento):
    """After ``--`` no word asks for JSON."""
    memento("add", "one")
    ended = memento("show", "--embedder", "none", "--", "nope", "--json")
    assert ended.err.startswith("memento: ")


def test_a_shell_completes_commands(monkeypatch, capsys):
    """The script for bash asks the program itself."""
    monkeypatch.setenv("_MEMENTO_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "memento quar")
    monkeypatch.setenv("COMP_CWORD", "1")
    with pytest.raises(SystemExit):
        cli.main([])
    assert capsys.readouterr().out.split() == ["quarantine"]


def test_a_weekday_is_to_come_where_a_plan_is_due(memento):
    """``--due monday`` is the next one, ``--since monday`` the last."""
    memento("add", "Water the plants.", "--kind", "plan", "--due", "monday")
    (kept,) = json.loads(memento("list", "--since", "yesterday", "--json").out)["memories"]
    assert datetime.fromisoformat(kept["due_at"]) > datetime.now(UTC)


@pytest.mark.parametrize("name", ["notes.txt", "notes.md", "rows.csv", "chat.jsonl"])
def test_a_file_in_latin_1_is_read_with_a_note(memento, name):
    """Once, on stderr; a file that is UTF-8 up to a broken byte is refused."""
    said = '{"role": "user", "content": "Zoë lives in Köln"}\n'
    text = said if name == "chat.jsonl" else "id,text\n1,Zoë lives in Köln\n"
    Path(name).write_bytes(text.encode("latin-1"))
    ended = memento("ingest", name)
    assert ended.status == 0
    assert ended.err.count(f"{name} is not UTF-8; it is read as Windows-1252") == 1
    assert "Zoë lives in Köln" in memento("list").out
    Path("broken.txt").write_bytes("Zoë\n".encode() + b"K\xf6ln\n")
    refused = memento("ingest", "broken.txt")
    assert (refused.status, "broken.txt:2: is not UTF-8" in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("name", "start", "says"),
    [
        ("a.pdf", b"%PDF-1.7\n%\xe2\xe3\n", "is a PDF"),
        ("a.png", b"\x89PNG\r\n\x1a\n\x00", "is a PNG image"),
        ("a.docx", b"PK\x03\x04\x14\x00", "is not an archive that can be unpacked"),
        ("a.bin", b"\xe9\x01\x02\n", "is not UTF-8"),
        ("a.utf16.txt", "Zoë".encode("utf-16"), "is not UTF-8"),
        ("folder", None, "contains no files"),
    ],
)
def test_what_is_no_text_is_named(memento, name, start, says):
    """One line with what it is; nothing is kept."""
    if start is None:
        Path(name).mkdir()
    else:
        Path(name).write_bytes(start)
    refused = memento("ingest", name)
    assert (refused.status, refused.err.count("\n"), refused.out) == (2, 1, "")
    assert says in refused.err
    assert not Path("agent_memory").exists()
