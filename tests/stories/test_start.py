"""The fast start and the slow one do the same, and what is imported is what is needed."""

import importlib
import json
import subprocess
import sys

import pytest
import typer

from memento import MemoryManager
from memento.cli import main, mcp
from memento.cli.menu import APART, HIDDEN, SECTIONS
from memento.cli.program import app

HOMES = {
    name: APART.get(name, title.lower()) for title, names in SECTIONS.items() for name in names
}
GROUPS = sorted({*HOMES.values()})
HEAVY = {"typer", "pydantic", "click", "rich", "numpy", "memento.config", "memento.engine"}

LOADED = """
import sys
from memento.cli import main
{before}
main({words!r})
print(sorted({heavy!r} & sys.modules.keys()), file=sys.stderr)
"""


def loaded(words, before="", sent=b""):
    """Run a command in a process of its own; return the heavy modules that it loaded."""
    script = LOADED.format(words=words, heavy=HEAVY, before=before)
    ran = subprocess.run(
        [sys.executable, "-c", script], input=sent, capture_output=True, check=True
    )
    return set(json.loads(ran.stderr.splitlines()[-1].replace(b"'", b'"')))


@pytest.mark.parametrize("group", GROUPS)
def test_the_table_has_every_command_of_its_module(group):
    """No command of a module is missing in the help, and none is listed that there is not."""
    theirs = importlib.import_module(f"memento.cli.group_{group}").app
    shown = {name for name, home in (HOMES | HIDDEN).items() if home == group}
    assert {*typer.main.get_group(theirs).commands} - {"help", "version"} == shown


def test_a_command_is_made_as_it_would_be_among_all():
    """Its name, help, options and their order."""
    made = typer.main.get_command(app).commands
    for group in GROUPS:
        module = importlib.import_module(f"memento.cli.group_{group}")
        for name, whole in typer.main.get_group(module.app).commands.items():
            alone = made[name]
            assert (alone.name, alone.help, alone.epilog) == (whole.name, whole.help, whole.epilog)
            assert [one.opts for one in alone.params] == [one.opts for one in whole.params]
            subs = {**getattr(whole, "commands", {})}
            assert [*getattr(alone, "commands", {})] == [*subs]


def test_the_version_loads_nothing():
    """Nor is it another one than with the command line's library."""
    assert loaded(["--version"]) == set()


@pytest.mark.parametrize(("args", "ours"), [("", True), ("['--version']", False)])
def test_only_a_process_of_its_own_is_spared_the_collector(args, ours):
    """A program that calls the command line keeps its collector as it was."""
    script = (
        "import gc, sys; from memento.cli import main; before = gc.get_threshold();"
        f"sys.argv = ['memento', '--version']; main({args});"
        "print(gc.get_threshold() != before, gc.get_freeze_count() > 0)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == f"{ours} {ours}"


def test_an_unknown_option_beside_the_version_is_refused(capsys):
    """The fast path takes `--version` alone."""
    assert main(["--wrong", "--version"]) == 2
    assert "No such option" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["add", "Tea", "--tag", "a"], ["retrieve", "Tea?", "--json"]])
def test_a_command_that_gives_text_alone_loads_no_pydantic(tmp_path, words):
    """Typer has it check every option otherwise, those that are not given as well."""
    root = tmp_path / "s"
    MemoryManager(root, embedder=None).close()
    assert "pydantic" not in loaded([*words, "--root", str(root), "--embedder", "none"])


def test_the_server_answers_before_the_store_is_there():
    """Neither the command line's library nor memento's engine is loaded."""
    before = "import memento_mcp._wire as wire; wire.Server._send = lambda *_: None"
    before += "; import memento_mcp; memento_mcp.Doors.warm = lambda _: None"
    sent = b'{"jsonrpc": "2.0", "id": 1, "method": "initialize"}\n'
    assert loaded(["mcp", "--alone"], before, sent) == set()


@pytest.mark.parametrize(
    "words",
    [
        [], ["--root", "x"], ["--root=x"], ["--namespace", "a/b", "--embedder=none"],
        ["--scope", "team/a", "--read-only"], ["--everywhere", "--more", "--alone"],
        ["--root", "x", "--root", "y"],
    ],
)  # fmt: skip
@pytest.mark.parametrize("variable", [None, "MEMENTO_ROOT", "MEMENTO_NAMESPACE"])
def test_a_plain_line_is_read_as_the_command_reads_it(monkeypatch, words, variable):
    """The same settings come out of both."""
    if variable:
        monkeypatch.setenv(variable, "named")
    seen = []
    monkeypatch.setattr("memento.cli.group_agents.doors_of", seen.append)
    monkeypatch.setattr("memento.cli.group_agents.serve", lambda _: None)
    fast = mcp.settings_of(words)
    typer.main.get_command(app).main(["mcp", *words], standalone_mode=False)
    assert seen == [fast]


@pytest.mark.parametrize(
    "words",
    [
        ["--help"], ["--print-tools"], ["--tokens", "500"], ["--root"], ["--root", "-x"],
        ["--scope="], ["--more=1"], ["--wrong"], ["stray"], ["--rea"], ["--"],
    ],
)  # fmt: skip
def test_any_other_line_is_left_to_the_command(words):
    """Help, mistakes and rare options have one reader."""
    assert mcp.settings_of(words) is None
