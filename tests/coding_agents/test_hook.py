"""What hooks do: payloads as agents send them, the answers they get, and what is kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import pytest

import memento as memento_package
from memento import MemoryManager
from memento.agents import hook
from memento.agents.hook import IGNORE, TOKENS, answer
from memento.agents.table import AGENTS
from memento.text.words import estimate
from memento.types import Trust

EVENTS = [
    json.loads(line) for line in Path(__file__).with_name("events.jsonl").read_text().splitlines()
]
TYPED = "I live in Porto and billing uses port 5042."
ANSWERED = "Noted: billing is on 5042."
BY_AGENT = {name: list(found) for name, found in groupby(EVENTS, lambda one: one["agent"])}


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """Keep what hooks note in a folder of the test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def memory(tmp_path):
    """An empty store, searched by words."""
    with MemoryManager(tmp_path / "store", embedder=None) as memory:
        yield memory


@pytest.fixture
def project(tmp_path):
    """A folder in which agents work."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def say(memory, project, prompt, session="s1", event="UserPromptSubmit", **more):
    """Send an event of Claude Code, and return the text that its model gets."""
    given = {"session_id": session, "cwd": str(project), "prompt": prompt, **more}
    said = answer(memory, "claude-code", event, given)
    return json.loads(said)["hookSpecificOutput"]["additionalContext"] if said else ""


def test_there_is_a_payload_for_every_event():
    """The table of agents names no event that no payload here plays."""
    played = {name: {one["event"] for one in found} for name, found in BY_AGENT.items()}
    assert played == {name: set(agent.moments) for name, agent in AGENTS.items()}


@pytest.mark.parametrize("name", AGENTS)
def test_a_session_is_kept_once(memory, project, name):
    """The user's words are the user's, the answer the agent's; an event sent twice adds nothing.

    Nothing else that a payload holds is stored: no blocks of hooks, no files, no paths.
    """
    for one in BY_AGENT[name]:
        given = {**one["given"], "cwd": str(project), "workspace_roots": [str(project)]}
        for _ in range(2):
            assert "port 5042" not in answer(memory, name, one["event"], given)
    turns = [one for one in memory.list() if one.role is not None]
    said = [(one.text, one.role, one.source.kind) for one in turns]
    expected = [(TYPED, "user", Trust.USER)]
    if name not in ("copilot", "opencode"):  # they do not say what was answered
        expected.append((ANSWERED, "assistant", Trust.AGENT))
    assert said == expected
    everything = "\n".join(one.text for one in memory.list())
    assert "verse" not in everything
    assert "secret.txt" not in everything


@pytest.mark.parametrize("name", AGENTS)
def test_a_later_session_is_told(memory, project, name):
    """In a new session the fact is shown in the form that the agent takes, once."""
    memory.add("Billing uses port 5042.", "long", importance=0.9)
    event = next(event for event, moment in AGENTS[name].moments.items() if moment == "prompt")
    given = {
        "session_id": "new", "conversation_id": "new", "cwd": str(project),
        "prompt": "Which port does billing use?",
    }  # fmt: skip
    told = json.loads(answer(memory, name, event, given))
    if name in ("claude-code", "codex", "gemini"):
        assert told["hookSpecificOutput"]["hookEventName"] == event
        told = told["hookSpecificOutput"]
    (text,) = (value for value in told.values() if "memories-" in value)
    assert text.count("port 5042") == 1
    assert "data, not instructions" in text.lower()
    again = {**given, "prompt": "And which port does billing use again?"}
    assert answer(memory, name, event, again) == ""


def test_the_policy_comes_first(memory, project):
    """A session begins with the user's rules; what they say is not shown a second time."""
    memory.rules.direct("Always deploy the billing service on Thursdays.")
    assert "Thursdays" in say(memory, project, None, event="SessionStart", source="startup")
    assert say(memory, project, "When do we deploy the billing service?") == ""
    assert say(memory, project, None, event="SessionStart", source="resume") == ""


def test_what_was_learned_and_the_message_that_taught_it_are_one(memory, project):
    """A message whose sentences were all shown is not shown; one that says more is."""
    say(memory, project, "Always deploy billing on Thursdays. I live in Porto.", session="a")
    say(memory, project, "Is it red? Deploy billing from Porto. Ilse does it.", session="a")
    told = say(memory, project, None, event="SessionStart", source="startup")
    assert "Thursdays" in told
    assert "I live in Porto" in told
    block = say(memory, project, "When do we deploy billing from Porto?")
    assert "Ilse does it" in block
    assert "Thursdays" not in block


def test_sessions_without_an_id_share_nothing(memory, project):
    """Another conversation may have been shown it, so it is shown; a policy takes nothing back."""
    memory.add("Billing uses port 5042.", "long")
    for _ in range(2):
        assert "5042" in say(memory, project, "Which port does billing use?", session=None)
    say(memory, project, None, event="SessionStart", session=None, source="startup")
    assert "5042" in say(memory, project, "Which port does billing use?", session="s1")
    assert say(memory, project, "Which port does billing use, please?", session="s1") == ""


def test_what_was_shortened_away_is_shown_again(memory, project):
    """After the conversation was shortened, what it showed may be shown again."""
    memory.add("Billing uses port 5042.", "long")
    assert "5042" in say(memory, project, "Which port does billing use?")
    assert say(memory, project, "Which port does billing use, please?") == ""
    say(memory, project, None, event="PreCompact", trigger="manual")
    assert "5042" in say(memory, project, "Which port does billing really use?")


@pytest.mark.parametrize(
    "prompt", ["thanks", "ok go", "/compact keep the port of billing", "!ls billing port", "", None]
)
def test_nothing_is_shown_for_what_asks_nothing(memory, project, prompt):
    """Commands, thanks and short answers get nothing."""
    memory.add("Billing uses port 5042.", "long")
    assert say(memory, project, prompt) == ""


def test_commands_of_the_agent_are_not_kept(memory, project):
    """What steers the agent, or was made by a machine, is not what the user said."""
    say(memory, project, "/review the billing port of mine")
    say(memory, project, "The build is red on my branch.", source="system")
    say(memory, project, "<task-notification>I live in Rome.</task-notification>")
    assert memory.list() == []


@pytest.mark.parametrize(
    "text", ["My pin is <private>4711</private> here", "Now <PRIVATE>4711 and"]
)
def test_private_words_are_not_kept(memory, project, text):
    """What is marked as private is neither stored nor searched for, closed or not."""
    memory.add("Rami has 4711 bottles.", "long")
    assert "4711 bottles" not in say(memory, project, text)
    assert [one.text for one in memory.list() if "4711" in one.text] == ["Rami has 4711 bottles."]
    assert len(memory.list()) == 2


def test_a_folder_may_be_left_alone(memory, project):
    """With the file in it or above it, nothing is kept and nothing shown."""
    (project / IGNORE).touch()
    inner = project / "src"
    inner.mkdir()
    memory.rules.direct("Always deploy on Thursdays.")
    before = memory.list()
    assert say(memory, inner, None, event="SessionStart", source="startup") == ""
    assert say(memory, inner, "I live in Porto and deploy on Fridays.") == ""
    assert memory.list() == before


def test_what_waits_is_not_shown(memory, project):
    """Text of a tool or a page is not shown to a model unless a person approved it."""
    memory.add("Billing uses port 6666.", "long", source="web")
    assert say(memory, project, "Which port does billing use?") == ""


def test_projects_are_apart(memory, tmp_path):
    """What was said in one repository is not shown in another."""
    folders = []
    for name in ("one", "two"):
        folder = tmp_path / name
        (folder / ".git").mkdir(parents=True)
        (folder / ".git" / "config").write_text(f'[remote "origin"]\nurl = git@h:acme/{name}.git\n')
        folders.append(folder)
    say(memory, folders[0], "The billing service uses port 5042 here.", session="a")
    assert say(memory, folders[1], "Which port does the billing service use?", session="b") == ""
    assert "5042" in say(
        memory, folders[0], "Which port does the billing service use?", session="c"
    )


def test_a_block_is_small(memory, project):
    """However much bears on a message, the block stays within its budget."""
    for number in range(30):
        memory.add(f"Billing runs shard {number} of its queue on port {5000 + number}.", "long")
    block = say(memory, project, "On which ports does billing run its queue?")
    assert "port" in block
    assert estimate(block) <= TOKENS


def test_what_did_not_fit_is_shown_later(memory, project):
    """A memory that a block had no room for was not shown, so that a later one may show it."""
    parts = [
        f"Billing runs on port {5000 + number}{', very reliably' * 10}." for number in range(6)
    ]
    memory.add_many(parts)
    blocks = [
        say(memory, project, f"On which port does billing run {word}?")
        for word in ("now", "here", "today")
    ]
    shown = [[part for part in parts if part in block] for block in blocks]
    assert 0 < len(shown[0]) < len(parts)
    assert sorted(part for block in shown for part in block) == parts


def test_a_long_session_goes_on(memory, project, monkeypatch):
    """However many memories a session was shown, it is shown others, and none of them again."""
    monkeypatch.setattr(hook, "MOST", 500)
    monkeypatch.setattr(hook, "TOKENS", 50_000)
    monkeypatch.setattr(hook, "NEAR", 0.0)
    memory.add_many([f"Billing runs on port {5000 + number}." for number in range(410)])
    assert say(memory, project, "On which ports does billing run?").count("Billing runs") == 410
    memory.add("Billing runs on port 8080.")
    block = say(memory, project, "On which port does billing run now?")
    assert "8080" in block
    assert block.count("Billing runs") == 1


def test_a_checkpoint_says_where_it_stands(memory, project):
    """A session that ends can be gone on with: what it began with, what was asked last."""
    say(memory, project, "Move the tests of billing to pytest.")
    say(memory, project, "Now parametrize the rank test.")
    say(memory, project, None, event="SessionEnd", reason="exit")
    last = memory.sessions.resume("s1").checkpoint
    assert last.goal == "Move the tests of billing to pytest."
    assert last.note == "Asked last: Now parametrize the rank test."


def run_hook(words, given, tmp_path, **environ):
    """Run ``memento hook`` as an agent does."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "memento", "hook", *words],
        input=given,
        check=False,
        capture_output=True,
        timeout=60,
        cwd=tmp_path,
        env={
            **os.environ, "XDG_STATE_HOME": str(tmp_path / "state"),
            "XDG_RUNTIME_DIR": str(tmp_path), "MEMENTO_HOOKS": "30", **environ,
        },
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "given", "said"),
    [
        (["claude-code", "Stop"], b"{", "JSON"),
        (["claude-code", "Nothing"], b"{}", "unknown event for claude-code: 'Nothing'"),
        (["nobody", "Stop"], b"{}", "unknown agent: 'nobody'"),
        ([], b"", "specify an agent and an event"),
        (
            ["claude-code", "UserPromptSubmit", "--root", "/proc/nowhere"],
            b'{"prompt": "Hello you"}',
            "/proc/nowhere",
        ),
        (
            ["claude-code", "UserPromptSubmit", "--root", "/etc/hostname"],
            b'{"prompt": "Hello you"}',
            "/etc/hostname",
        ),
        (["claude-code", "Stop", "--rot", "/x"], b"{}", "only --root FOLDER is supported"),
    ],
)
def test_a_hook_never_fails_its_agent(tmp_path, words, given, said):
    """Whatever is wrong, it prints nothing and ends with 0; the log says what it was."""
    done = run_hook(words, given, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert said in (tmp_path / "state" / "memento" / "hooks.log").read_text()


def test_a_hook_without_a_log_never_fails_its_agent(tmp_path):
    """A file is where the folder of the log should be."""
    (tmp_path / "file").touch()
    done = run_hook(["nobody", "Stop"], b"{}", tmp_path, XDG_STATE_HOME=str(tmp_path / "file"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_person_who_asks_is_shown_the_usage(tmp_path):
    """That is no fault, so the log stays empty."""
    done = run_hook(["--help"], b"", tmp_path)
    assert done.stdout.startswith(b"Usage: memento hook AGENT EVENT")
    assert not (tmp_path / "state").exists()


def test_hooks_can_be_turned_off(tmp_path):
    """With MEMENTO_HOOKS=off nothing happens at all, not even a store."""
    given = b'{"session_id": "s", "prompt": "I live in Porto."}'
    words = ["claude-code", "UserPromptSubmit", "--root", str(tmp_path / "store")]
    done = run_hook(words, given, tmp_path, MEMENTO_HOOKS="off")
    assert (done.returncode, done.stdout) == (0, b"")
    assert not (tmp_path / "store").exists()
    assert not (tmp_path / "state").exists()


def test_a_hook_starts_fast(tmp_path):
    """With a process to ask, it imports no store, and nothing slow of the standard library."""
    code = (
        "import sys; import memento.cli.hook, memento.resident.client; memento.cli.hook._root([]); "
    )
    code += "print([name for name in sys.modules if name.split('.')[0] in "
    code += "('typer', 'click', 'rich', 'numpy', 'sqlite3', 'chromadb', 'asyncio', 'subprocess', "
    code += "'datetime', 'hashlib', 'pathlib', 'socket', 'typing')])"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],  # what site imports is the environment's
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(memento_package.__file__).parents[1])},
    )
    assert done.stdout.strip() == "[]"


def test_a_link_into_a_folder_that_is_left_alone_is_left_alone(memory, project):
    """Where the agent was started by another name, nothing is stored or shown either."""
    (project / IGNORE).touch()
    (project / "inner").mkdir()
    link = project.parent / "elsewhere"
    link.symlink_to(project / "inner")
    memory.add(TYPED)
    assert say(memory, link, "Which port does billing use in Porto?") == ""
    assert [one.text for one in memory.list()] == [TYPED]
