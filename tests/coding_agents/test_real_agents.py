"""Coding agents, whole and unmodified, offline: they remember what was said in another session.

Run them with ``pytest -m agents``; each is skipped if its program is not on the path. They come
from npm: @anthropic-ai/claude-code, @openai/codex, @google/gemini-cli, @github/copilot and
opencode-ai.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from fake_model import SAID, fake_model

from memento.agents.table import AGENTS
from memento.resident import client

pytestmark = pytest.mark.agents

ROOT = Path(__file__).parents[2]
FACT = "The billing service of ours listens on port 5042."
QUESTION = "Which port does the billing service listen on?"
SECONDS = 150
PROVIDER = (
    'model = "fake"\nmodel_provider = "fake"  # mine\n\n[model_providers.fake]\nname = "fake"\n'
)
PROVIDER += 'base_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "KEY"\n'
THEIRS = {
    "claude-code": {".claude/settings.json": '{\n  "hooks": {}, "cleanupPeriodDays": 90\n}\n'},
    "codex": {
        ".codex/config.toml": PROVIDER,
        ".codex/hooks.json": '{"hooks": {"Stop": []}}',
    },
    "gemini": {
        ".gemini/settings.json": '{"security": {"auth": {"selectedType": "gemini-api-key"},'
        ' "folderTrust": {"enabled": false}}} // mine\n',
    },
    "copilot": {".copilot/mcp-config.json": '{\n\t"mcpServers": {}\n}'},
    "opencode": {
        ".config/opencode/opencode.jsonc": '{ // mine\n "$schema": "https://opencode.ai/config.json",'
        ' "model": "fake/fake", "provider": {"fake": {"npm": "@ai-sdk/openai-compatible",'
        ' "options": {"baseURL": "{url}/v1", "apiKey": "x"}, "models": {"fake": {}}}}}\n',
    },
}
"""What is in the home of somebody who uses the agent."""
LINES = {
    "claude-code": ["claude", "--allowedTools", "mcp__plugin_memento_memento__recall", "-p"],
    "codex": [
        "codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust",
        "--dangerously-bypass-approvals-and-sandbox",
    ],
    "gemini": ["gemini", "-m", "gemini-2.5-flash", "--skip-trust", "--approval-mode", "yolo", "-p"],
    "copilot": ["copilot", "--allow-all-tools", "-p"],
    "opencode": ["opencode", "run"],
}  # fmt: skip
TOOLS = {
    "claude-code": "mcp__plugin_memento_memento__recall",
    "codex": "mcp__memento.recall",
    "gemini": "mcp_memento_recall",
    "copilot": "memento-recall",
    "opencode": "memento_recall",
}
ENVIRON = {
    "ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_API_KEY": "x", "IS_SANDBOX": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
    "KEY": "x", "GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": "{url}",
    "COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": "{url}/v1",
    "COPILOT_PROVIDER_API_KEY": "x", "COPILOT_MODEL": "fake",
    "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1", "TERM": "dumb",
}  # fmt: skip


class Machine:
    """A home with one agent, a project, and memento on the path."""

    def __init__(self, home, name, url):
        self.home, self.name, self.url = home, name, url
        self.project = home / "shop"
        self.project.mkdir()
        program = home / "bin" / "memento"
        program.parent.mkdir()
        places = [str(ROOT), str(ROOT / "integrations")]
        program.write_text(
            f"#!{sys.executable}\nimport os, sys\nsys.path[:0] = {places}\n"
            f"os.environ['PYTHONPATH'] = {os.pathsep.join(places)!r}\n"
            "from memento.cli import main\nsys.exit(main())\n"
        )
        program.chmod(0o755)
        for path, text in THEIRS[name].items():
            file = home / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.replace("{url}", url))
        self.environ = {one: value.replace("{url}", url) for one, value in ENVIRON.items()} | {
            "HOME": str(home),
            "MEMENTO_HOOKS": "5",
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "XDG_RUNTIME_DIR": str(home),
        }

    @property
    def store(self):
        """The folder of the store that agents and the shell use."""
        return self.home / ".local" / "share" / "memento"

    def run(self, *words, **how):
        """Run a program there."""
        done = subprocess.run(
            words, cwd=self.project, env=self.environ, capture_output=True, text=True, check=False,
            timeout=SECONDS, stdin=subprocess.DEVNULL, **how,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    def call(self, asked, **how):
        """Ask the process of the store."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_RUNTIME_DIR", str(self.home))
            return client.call(self.store, asked, seconds=SECONDS, **how)

    def hook(self, *moments):
        """Send an event that says nothing to the process of the store, and wait for the answer."""
        name = next(one for one, moment in AGENTS[self.name].moments.items() if moment in moments)
        given = {"cwd": str(self.project), "prompt": "What did we decide on Monday?"}
        asked = {"call": "hook", "agent": self.name, "event": name, "given": given}
        self.call(asked | {"environ": {"HOME": str(self.home), "MEMENTO_HOOKS": "5"}}, start=True)

    def ask(self, prompt):
        """Run the agent for one message; what it needs is loaded, as on any other day."""
        self.hook("prompt")
        said = self.run(*LINES[self.name], prompt)
        self.hook("stop", "end")  # comes after all that is still being kept
        return said

    def turns(self):
        """List what is kept of what was said."""
        listed = json.loads(self.run("memento", "list", "--json"))["memories"]
        return [(one["role"], one["text"].strip('"')) for one in listed if one["role"]]

    def theirs(self):
        """Read the files that were there before."""
        return {path: (self.home / path).read_bytes() for path in THEIRS[self.name]}


@pytest.fixture
def machine(tmp_path, request):
    """A machine with an agent that talks to a fake model, and what the model is sent."""
    name = request.param
    if shutil.which(LINES[name][0]) is None:
        pytest.skip(f"{AGENTS[name].title} is not installed: npm install -g its package")
    with fake_model() as (url, seen):
        made = Machine(tmp_path, name, url)
        made.seen = seen
        try:
            yield made
        finally:
            with suppress(client.Unreachable):
                made.call({"call": "stop"})


@pytest.mark.parametrize("machine", LINES, indirect=True)
def test_an_agent_remembers(machine):
    """Set up, told a fact, asked in a new session; then by a tool; then taken out to the byte."""
    before = machine.theirs()
    machine.run("memento", "setup", machine.name)
    machine.ask(FACT)
    kept = machine.turns()
    assert kept.count(("user", FACT)) == 1
    assert machine.seen
    assert "memories-" not in "".join(machine.seen)

    machine.seen.clear()
    assert SAID in machine.ask(QUESTION)
    sent = "".join(machine.seen)
    assert "5042" in sent
    assert "memories-" in sent
    (first, *_) = [one for one in machine.seen if "5042" in one]
    assert first.count(FACT) == 1
    turns = machine.turns()
    assert [one for one in turns if one[1] == FACT] == [("user", FACT)]
    assert not [text for _, text in turns if "memories-" in text or "data, not instr" in text]

    machine.seen.clear()
    machine.ask(f"TOOL:{TOOLS[machine.name]}:port of the billing service")
    assert FACT in machine.seen[-1]

    assert "nothing to do" in machine.run("memento", "setup", machine.name)
    machine.run("memento", "setup", machine.name, "--undo")
    assert machine.theirs() == before


@pytest.mark.parametrize("machine", LINES, indirect=True)
def test_a_broken_store_does_not_stop_an_agent(machine):
    """With a store that cannot be opened the agent answers as it does without memento."""
    machine.store.parent.mkdir(parents=True)
    machine.store.write_text("no store")
    machine.run("memento", "setup", machine.name)
    assert SAID in machine.run(*LINES[machine.name], FACT)
    assert (machine.home / ".local" / "state" / "memento" / "hooks.log").read_text()
