"""Arguments that mean nothing or contradict each other are refused before anything is done."""

import json

import pytest

from memento.cli import main


@pytest.mark.parametrize(
    "line",
    [
        ["serve", "--add-token", ""],
        ["serve", "--revoke-token", ""],
        ["serve", "--rate", "-1"],
        ["mcp", "--add-token", ""],
        ["mcp", "--revoke-token", ""],
        ["mcp", "--http", ""],
    ],
)
def test_an_empty_name_starts_no_server(line, tmp_path, monkeypatch, capsys):
    """An unset variable in a script gives an empty name, which is not the same as no option."""
    monkeypatch.setattr("memento.serve.running.run", lambda *_: pytest.fail("a server started"))
    monkeypatch.setattr("memento.cli.group_agents.serve", lambda *_: pytest.fail("a server ran"))
    root = tmp_path / "store"
    status = main([*line, "--root", str(root), "--embedder", "none"])
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert err.startswith("memento: ")
    assert not root.exists()


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Return a function that runs a command on a store with one memory."""
    monkeypatch.chdir(tmp_path)
    assert main(["add", "tea\tat \u202efour", "--root", "s", "--embedder", "none"]) == 0
    capsys.readouterr()

    def run(*words):
        return (main([*words, "--root", "s"]), *capsys.readouterr())

    return run


@pytest.mark.parametrize("name", ["no.db", "backups/monday.db"])
def test_restore_names_what_it_was_given(run, name):
    """A file that is not there is not only a memory that is not there."""
    assert run("restore", name) == (
        3, "", f"memento: '{name}' is neither a backup file nor a memory in this namespace\n"
    )  # fmt: skip


def test_a_backup_is_not_written_to_a_file_called_dash(run, tmp_path):
    """It cannot be written to stdout either, so the error names the command that can."""
    status, out, err = run("backup", "-")
    assert (status, out) == (2, "")
    assert "`memento export - --root s`" in err
    assert not (tmp_path / "-").exists()


@pytest.mark.parametrize("form", ["--csv", "--nl"])
def test_one_form_of_output_excludes_another(run, form):
    """Neither is ignored."""
    status, out, err = run("list", form, "--json")
    assert (status, out, json.loads(err)["status"]) == (2, "", 2)


def test_csv_for_a_program_is_not_altered(run, monkeypatch):
    """A terminal gets no control characters."""
    assert "tea\tat \u202efour" in run("list", "--csv")[1]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert "tea at \N{REPLACEMENT CHARACTER}four" in run("list", "--csv")[1]


@pytest.mark.parametrize(
    ("words", "plural"), [(("serve", "--list-tokens"), "tokens"), (("config",), "settings")]
)
def test_json_is_one_object(run, words, plural):
    """Items are listed under a plural name."""
    assert isinstance(json.loads(run(*words, "--json")[1])[plural], list)
