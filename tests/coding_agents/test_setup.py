"""Set-up: what it writes for each agent, and that undoing it leaves every byte of others."""

from __future__ import annotations

import json
import tomllib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_splice import documents

from memento.agents import splice
from memento.agents.setup import BACKUP, agents_of, carry_out, plan
from memento.agents.table import AGENTS, Entries, Program
from memento.errors import InvalidInput

RUN = Program(("/opt/memento/bin/memento",))
LATER = Program(("/home/ada lovelace/bin/python", "-P", "-m", "memento"), ("--root", "/data/m"))
SHARED = [
    (name, edit.path.name)
    for name, agent in AGENTS.items()
    for edit in agent.edits(agent.folder({}), RUN)
    if isinstance(edit, Entries)
]
"""Each file of JSON that set-up shares with others."""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """An empty home."""
    for agent in AGENTS.values():
        monkeypatch.delenv(agent.home[0] or "NONE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def tree(folder):
    """Read every file below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def do(name, *, undo=False, run=RUN):
    """Set an agent up, or take memento out."""
    carry_out(plan(AGENTS[name], run, undo=undo))


@pytest.mark.parametrize("name", AGENTS)
def test_an_empty_home_is_empty_again(home, name):
    """Set up, set up again, undone: the second run changes nothing, the third leaves nothing."""
    do(name)
    made = tree(home)
    assert made
    assert plan(AGENTS[name], RUN) == []
    do(name, undo=True)
    assert tree(home) == {}
    assert plan(AGENTS[name], RUN, undo=True) == []


@pytest.mark.parametrize("name", AGENTS)
def test_another_program_takes_the_place(home, name):
    """A later set-up renews what an earlier one wrote: each event has one hook of ours."""
    do(name)
    do(name, run=LATER)
    everything = b"\n".join(tree(home).values()).decode()
    assert RUN.words[0] not in everything
    assert "ada lovelace" in everything
    assert "/data/m" in everything
    do(name, undo=True)
    assert tree(home) == {}


@pytest.mark.parametrize("name", AGENTS)
def test_every_event_has_its_hook(home, name):
    """The files name each event of the table, and the command of that event."""
    do(name)
    written = b"\n".join(tree(home).values()).decode()
    for event in AGENTS[name].moments:
        quoted = f'hook("{event}"' if name == "opencode" else f"memento hook {name} {event}"
        assert quoted in written
    assert "mcp" in written


@example('{"hooks": {"Stop": null, "SessionStart": "me"}}', ["set up"])
@settings(max_examples=40)
@given(documents(), st.lists(st.sampled_from(["set up", "renew", "undo", "theirs"]), max_size=6))
@pytest.mark.parametrize(("name", "called"), SHARED)
def test_any_document_survives_any_order(tmp_path_factory, name, called, text, steps):
    """Whatever a file holds and whatever others add in between, undoing leaves it to the byte."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        file = AGENTS[name].folder() / called
        file.parent.mkdir(parents=True)
        file.write_bytes(text.encode())
        file.chmod(0o640)
        theirs = {}
        for number, step in enumerate([*steps, "undo"]):
            if step == "theirs":
                theirs[f"new {number}"] = number
                held = file.read_bytes().decode()
                file.write_bytes(splice.put(held, [f"new {number}"], number).encode())
                continue
            try:
                do(name, undo=step == "undo", run=LATER if step == "renew" else RUN)
            except InvalidInput:
                continue
        assert file.stat().st_mode & 0o777 == 0o640
        left = file.read_bytes().decode()
        assert not file.with_name(file.name + BACKUP).exists()
        if not theirs:
            assert left == text
        for added in reversed(theirs):
            left = splice.take(left, [added])
        assert left == text


@pytest.mark.parametrize("before", ["# mine", "model = 'o1'", "# mine\n\n[tui]\nx = 1\n"])
def test_codex_settings_come_back(home, before):
    """The table of Codex stands at the end, and the rest is there to the byte when it is gone."""
    file = home / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text(before)
    do("codex")
    server = tomllib.loads(file.read_text())["mcp_servers"]["memento"]
    assert server == {"command": RUN.words[0], "args": ["mcp"]}
    assert file.read_text().startswith(before)
    approved = "[mcp_servers.memento.tools.recall]\napproval_mode = 'approve'\n"
    file.write_text(file.read_text() + approved + "[projects.'/p']\ntrust_level = 'trusted'\n")
    assert plan(AGENTS["codex"], RUN) == []
    do("codex", undo=True)
    assert file.read_text().startswith(before)
    assert file.read_text().endswith("[projects.'/p']\ntrust_level = 'trusted'\n")
    assert "memento" not in file.read_text()


def test_what_the_user_wrote_by_hand_stays(home):
    """A server of memento that was there before set-up is neither changed nor taken out."""
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    by_hand = '{"mcpServers": {"memento": {"command": "memento", "args": ["mcp", "--more"]}}}\n'
    file.write_text(by_hand)
    toml = home / ".codex" / "config.toml"
    toml.parent.mkdir()
    toml.write_text('[mcp_servers.memento]\ncommand = "memento"\nargs = ["mcp", "--more"]\n')
    before = tree(home)
    for name in ("cursor", "codex"):
        do(name)
    assert {one: tree(home)[one] for one in before} == before
    for name in ("cursor", "codex"):
        do(name, undo=True)
    assert tree(home) == before


def test_a_link_is_followed(home):
    """A file that is a link into a collection of dotfiles stays one, and its target is edited."""
    target = home / "dotfiles" / "hooks.json"
    target.parent.mkdir()
    target.write_text("{}\n")
    (home / ".codex").mkdir()
    (home / ".codex" / "hooks.json").symlink_to(target)
    do("codex")
    assert (home / ".codex" / "hooks.json").is_symlink()
    assert "memento" in target.read_text()
    do("codex", undo=True)
    assert target.read_text() == "{}\n"


@pytest.mark.parametrize(
    "text", ["[1]", '{"hooks": 3}', '{"hooks": {"Stop": {}}}', "{} {}", "\xff"]
)
def test_a_file_that_cannot_be_edited_is_named(home, text):
    """Nothing at all is written, and the message says which file and what is wrong."""
    file = home / ".codex" / "hooks.json"
    file.parent.mkdir()
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidInput, match=r"hooks\.json"):
        do("codex")
    assert tree(home) == {".codex/hooks.json": text.encode("latin-1")}


def test_a_file_that_changes_meanwhile_is_left(home):
    """Between plan and writing somebody edits the file: their edit stays, and an error says so."""
    file = home / ".codex" / "hooks.json"
    file.parent.mkdir()
    file.write_text("{}")
    changes = plan(AGENTS["codex"], RUN)
    file.write_text('{"a": 1}')
    with pytest.raises(InvalidInput, match="meantime"):
        carry_out(changes)
    assert file.read_text() == '{"a": 1}'


def test_agents_are_found_by_program_or_folder(home, monkeypatch):
    """Without names, those are set up that are on the machine; a wrong name is refused."""
    monkeypatch.setenv("PATH", str(home))
    assert agents_of([]) == []
    (home / "codex").write_text("#!/bin/sh\n")
    (home / "codex").chmod(0o755)
    (home / ".gemini").mkdir()
    assert [one.name for one in agents_of([])] == ["codex", "gemini"]
    assert [one.name for one in agents_of(["cursor"])] == ["cursor"]
    with pytest.raises(InvalidInput, match="claude-code"):
        agents_of(["claude"])


def test_what_an_agent_reads_is_json(home):
    """Every JSON file that set-up makes is plain JSON: Claude Code drops one with a comment."""
    for name in AGENTS:
        do(name)
    for path in home.rglob("*.json"):
        json.loads(path.read_text())
    assert [one.name for one in (home / ".claude" / "skills").iterdir()] == ["memento"]
