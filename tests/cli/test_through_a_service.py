"""Every command through a service: it works as with a folder, or says what to do instead."""

from __future__ import annotations

import os
import shlex

import pytest
import typer

from memento import MemoryManager
from memento.cli import main
from memento.cli.program import app
from memento.resident import tokens
from memento.serve.app import Settings
from memento.serve.limits import Limits
from tests.served import served

WRITER = """
    add 'The tram leaves at nine'
    observe 'I live in Porto'
    observe 'I live in Porto' --dry-run
    ingest note.md --document
    retrieve tram
    list
    list --namespace acme/empty
    show ID
    prompt tram
    insight reason tram
    insight timeline
    insight lineage ID
    insight dossier tram
    insight health
    insight wonder
    insight diff --since 1d
    insight strength ID
    insight stale
    edit ID
    set ID --pin --tag +ops
    correct ID 'The ferry leaves at ten'
    forget ID
    restore ID
    undo --yes
    changes
    conflicts
    feedback ID --right
    rules policy
    rules direct 'Never commit secrets'
    quarantine list
    quarantine approve --source web --yes
    quarantine list --source nowhere
    quarantine approve WAITING
    quarantine reject OTHER
    session start s1
    session list
    session checkpoint s1 --done half
    session resume s1
    session end s1
    scopes list
    scopes define project/shop
    scopes infer shop
    scopes merge web project/site
    scopes unmerge web
    scopes share ops --with acme/other
    scopes unshare ops --with acme/other
    scopes promotable
    stats
    stats --by tag
    stats --usage
    stats --plot
    config
    init --yes
    setup codex --dry-run
    onboard project
    mcp --print-tools
    history ID
    value tram/line
"""
"""Commands for a token that writes as the user."""
OWNER = """
    stats --by namespace
    doctor
    sleep
    backup kept.db
    export kept.jsonl
    import kept.jsonl --trust user
    erase WHOLE --yes --namespace acme
"""
"""Commands for an administrator of the whole store."""
NOT_SERVED = {
    "ingest note.md": "run `memento ingest` where the store is",
    "export --vault notes --yes": "--vault is not available through a service",
    "export --move-to other": "--move-to is not available through a service",
    "restore kept.db": "run it there",
    "open --no-browser": "run it there",
    "serve": "run it there",
    "serve --add-token laptop": "run it there",
    "mcp --add-token laptop": "run it there",
}
"""Commands that no service offers, and what they say."""
SILENT = {"prompt tram"}
"""Commands that may print nothing."""
APART = {"demo"}
"""It makes a store of its own."""


def lines(text):
    """Return the command lines of a text."""
    return [line.strip() for line in text.splitlines() if line.strip()]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """Serve a store to tokens; yields the store, and a function that makes a token."""
    root = tmp_path_factory.mktemp("service") / "store"
    settings = Settings(limits=Limits(rate=0))
    with MemoryManager(root, namespace="acme", embedder=None) as memory:
        given = {
            "writer": tokens.add(root, "w", namespace="acme", trust="user"),
            "admin": tokens.add(root, "d", namespace="acme", rights="admin", trust="user"),
            "owner": tokens.add(root, "a", namespace="", rights="admin", trust="user"),
        }
        with served(memory, settings, "127.0.0.1:0") as (url, _):
            yield memory, url, given


@pytest.fixture
def run(service, tmp_path, monkeypatch, capsys):
    """Return a function that runs a command line with a token."""
    memory, url, given = service
    for name in [name for name in os.environ if name.startswith("MEMENTO_")]:
        monkeypatch.delenv(name)
    for name, value in (("HOME", tmp_path), ("XDG_DATA_HOME", tmp_path / "data"),
                        ("EDITOR", "sed -i s/leaves/departs/"), ("MEMENTO_URL", url)):  # fmt: skip
        monkeypatch.setenv(name, str(value))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "note.md").write_text("# Trams\n\nThe tram to the sea is yellow.\n")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "README.md").write_text("# Shop\n\nThe shop opens at nine.\n")

    def run(line, token):
        monkeypatch.setenv("MEMENTO_TOKEN", given.get(token, token))
        found = memory.add(f"The tram leaves at nine, says {line}", "long")
        named = {"ID": found.id[-8:], "WHOLE": found.id}
        for name in ("WAITING", "OTHER"):
            if name in line:
                named[name] = memory.add(f"Page {line}", "long", source="web").id
        if "tram/line" in line:
            memory.add("The line is 28", key="tram/line")
        status = main([named.get(word, word) for word in shlex.split(line)])
        return (status, *capsys.readouterr())

    return run


@pytest.mark.parametrize("line", lines(WRITER))
def test_a_token_that_writes_is_enough(run, line):
    """The command succeeds."""
    status, out, err = run(line, "writer")
    assert (status, bool(out) or line in SILENT) == (0, True), err


def test_an_owner_maintains_the_store(run):
    """What concerns the whole store requires the token of its owner; without, the error says so."""
    for line in lines(OWNER):
        status, _, err = run(line, "writer")
        assert (status, "--rights admin" in err) == (5, True), (line, err)
        status, _, err = run(line, "owner")
        assert status == 0, (line, err)


@pytest.mark.parametrize("line", NOT_SERVED)
def test_what_is_not_served_says_what_to_do(run, line, tmp_path):
    """No local store is made, opened or named."""
    (tmp_path / "kept.db").write_text("x")
    status, out, err = run(line, "writer")
    assert (status, out) == (5, "")
    assert NOT_SERVED[line] in err
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("how", ["option", "variable"])
@pytest.mark.parametrize("line", ["list", "add 'a note'", "erase --yes"])
def test_the_default_namespace_is_not_that_of_the_token(line, how, run, service, monkeypatch):
    """Named outright, it is meant: a token of another one neither reads, writes nor erases it."""
    kept = service[0].add(f"kept through {line} by {how}")
    if how == "variable":
        monkeypatch.setenv("MEMENTO_NAMESPACE", "default")
    if how == "option" or line == "erase --yes":
        line = f"{line} --namespace default"
    status, _, err = run(line, "admin")
    assert (status, "does not grant access" in err) == (5, True), err
    assert service[0].get(kept.id)
    assert "a note" not in {one.text for one in service[0].list(limit=1_000)}


@pytest.mark.parametrize("token", ["", "mm_unknown"])
def test_a_missing_token_is_named_as_the_shell_knows_it(run, token):
    """In the variable that holds it."""
    status, _, err = run("list", token)
    assert (status, err) == (5, "memento: set MEMENTO_TOKEN to a valid token of the service\n")


@pytest.mark.parametrize("line", ["stats", "init --yes"])
def test_the_store_of_a_service_is_named_by_its_address(run, service, line):
    """Not by the folder that a local command would use."""
    said = run(line, "writer")[1].splitlines()[0]
    assert service[1] in said
    assert "share" not in said


def test_every_command_is_tried():
    """A new command, or one of a group, is in a list above."""
    tried = [line.split() for line in (*lines(WRITER), *lines(OWNER), *NOT_SERVED)]
    known = typer.main.get_command(app).commands
    for name in known.keys() - APART:
        parts = getattr(known[name], "commands", {None: None})
        for part in parts:
            words = [name] if part is None else [name, part]
            assert any(line[: len(words)] == words for line in tried), words
