"""The coding agents that memento can be set up for: their configuration and their hook formats.

``Agent.edits`` says what set-up writes, as data; ``Agent.moments`` maps the agent's events to
`Moment`; ``Agent.flat`` says how it takes text for its model. Formats as of November 2026.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple

from memento.base.home import is_server, shown, without
from memento.errors import InvalidInput

Moment = Literal["start", "prompt", "stop", "compact", "end"]
"""What an event means: a session starts, the user asks, the agent has answered, the conversation is
about to be compacted, the session ends."""
SECONDS = 5
"""Time-out that set-up gives agents for a hook, in seconds; a hook ends long before."""


class Program(NamedTuple):
    """How agents start memento: the command line, and the options that name its store."""

    words: tuple[str, ...]
    root: tuple[str, ...] = ()

    @classmethod
    def here(cls, root: str | None = None) -> Program:
        """Return how to start the running memento from any working folder."""
        options: tuple[str, ...] = ()
        if root is not None and is_server(root):
            if shown(root) != without(root):
                problem = "contains a password; put it in ~/.pgpass, not in the agents' settings"
                raise InvalidInput("--root", problem)
            options = ("--root", root)
        elif root is not None:
            options = ("--root", str(Path(root).absolute()))
        script = shutil.which(sys.argv[0]) if Path(sys.argv[0]).name == "memento" else None
        if script is not None:
            return cls((str(Path(script).absolute()),), options)
        return cls((sys.executable, "-P", "-m", "memento"), options)

    def hook(self, agent: str, event: str) -> str:
        """Return the shell command that runs a hook."""
        return shlex.join([*self.words, "hook", agent, event, *self.root])

    @property
    def server(self) -> dict[str, Any]:
        """The MCP server's entry in the configuration of most agents."""
        return {"command": self.words[0], "args": [*self.words[1:], "mcp", *self.root]}


@dataclass(frozen=True, slots=True)
class Own:
    """A file that only memento writes."""

    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A member of a JSON object, or with ``each`` an element of the array at that path."""

    path: tuple[str, ...]
    value: Any
    each: bool = False


@dataclass(frozen=True, slots=True)
class Entries:
    """Entries of a JSON file that others write too; ``fresh`` is what a new file starts with."""

    path: Path
    entries: tuple[Entry, ...]
    fresh: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a TOML file that others write too."""

    path: Path
    name: tuple[str, ...]
    values: Mapping[str, Any]


Edit = Own | Entries | Table


@dataclass(frozen=True, eq=False)
class Agent:
    """One coding agent.

    Attributes:
        name: What it is called on the command line.
        title: What people call it.
        program: Its command.
        home: Environment variable that names its folder (``""`` for none), and the folder below the
            user's home if that is not set.
        moments: What each of its events means.
        flat: The JSON field in which it takes text for the model; ``""`` if within
            ``hookSpecificOutput``.
        edits: Returns what set-up writes, given its folder and how memento is started.
        next: What the user has to do after set-up.
    """

    name: str
    title: str
    program: str
    home: tuple[str, str]
    moments: Mapping[str, Moment]
    flat: str
    edits: Callable[[Path, Program], tuple[Edit, ...]]
    next: str = ""

    def folder(self, environ: Mapping[str, str] = os.environ) -> Path:
        """Return the folder of its configuration."""
        variable, below = self.home
        named = environ.get(variable, "")
        if variable == "XDG_CONFIG_HOME":
            return Path(named or Path.home() / ".config") / below
        return Path(named) if named else Path.home() / below

    @property
    def found(self) -> bool:
        """Whether it is on this machine: its program is on the path, or its folder exists."""
        return shutil.which(self.program) is not None or self.folder().is_dir()

    def said(self, event: str, text: str) -> str:
        """Return the JSON by which a hook gives the agent text for its model."""
        if self.flat:
            return json.dumps({self.flat: text}, ensure_ascii=False)
        inner = {"hookEventName": event, "additionalContext": text}
        return json.dumps({"hookSpecificOutput": inner}, ensure_ascii=False)


_CLAUDE: dict[str, Moment] = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "Stop": "stop",
    "PreCompact": "compact",
    "SessionEnd": "end",
}
_CODEX: dict[str, Moment] = {
    **{name: moment for name, moment in _CLAUDE.items() if name != "SessionEnd"},
    "Stop": "end",
}
_GEMINI: dict[str, Moment] = {
    "SessionStart": "start",
    "BeforeAgent": "prompt",
    "AfterAgent": "stop",
    "SessionEnd": "end",
}
_CURSOR: dict[str, Moment] = {
    "sessionStart": "start",
    "beforeSubmitPrompt": "prompt",
    "afterAgentResponse": "stop",
    "preCompact": "compact",
    "sessionEnd": "end",
}
_OPENCODE: dict[str, Moment] = {
    "start": "start",
    "prompt": "prompt",
    "compact": "compact",
    "end": "end",
}


def _group(command: str, timeout: int = SECONDS) -> dict[str, Any]:
    return {"hooks": [{"type": "command", "command": command, "timeout": timeout}]}


def _json(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"


@cache
def text_of(name: str) -> str:
    """Return a file of the package that set-up installs."""
    return (files(__package__) / "files" / name).read_text(encoding="utf-8")


def claude_plugin(folder: Path, run: Program) -> tuple[Own, ...]:
    """Return the files of the plugin for Claude Code."""
    from memento import __version__  # noqa: PLC0415 - a hook needs none of it

    about = {
        "name": "memento",
        "version": __version__,
        "description": "Long-term memory: remembers what you say, recalls what bears on it.",
    }
    hooks = {event: [_group(run.hook("claude-code", event))] for event in _CLAUDE}
    return (
        Own(folder / ".claude-plugin" / "plugin.json", _json(about)),
        Own(folder / "hooks" / "hooks.json", _json({"hooks": hooks})),
        Own(folder / ".mcp.json", _json({"mcpServers": {"memento": run.server}})),
        Own(folder / "skills" / "memento" / "SKILL.md", text_of("SKILL.md")),
    )


def _claude_code(home: Path, run: Program) -> tuple[Edit, ...]:
    return claude_plugin(home / "skills" / "memento", run)


def _codex(home: Path, run: Program) -> tuple[Edit, ...]:
    hooks = (
        Entry(("hooks", event), _group(run.hook("codex", event)), each=True) for event in _CODEX
    )
    return (
        Entries(home / "hooks.json", tuple(hooks)),
        Table(home / "config.toml", ("mcp_servers", "memento"), run.server),
    )


def _gemini(home: Path, run: Program) -> tuple[Edit, ...]:
    from memento import __version__  # noqa: PLC0415 - as above

    folder = home / "extensions" / "memento"
    about = {"name": "memento", "version": __version__, "mcpServers": {"memento": run.server}}
    hooks = {event: [_group(run.hook("gemini", event), SECONDS * 1000)] for event in _GEMINI}
    return (
        Own(folder / "gemini-extension.json", _json(about)),
        Own(folder / "hooks" / "hooks.json", _json({"hooks": hooks})),
    )


def _copilot(home: Path, run: Program) -> tuple[Edit, ...]:
    hooks = {
        event: [{"type": "command", "bash": run.hook("copilot", event), "timeoutSec": SECONDS}]
        for event in _CLAUDE
    }
    server = {"type": "local", **run.server, "tools": ["*"]}
    return (
        Own(home / "hooks" / "memento.json", _json({"version": 1, "hooks": hooks})),
        Entries(home / "mcp-config.json", (Entry(("mcpServers", "memento"), server),)),
    )


def _cursor(home: Path, run: Program) -> tuple[Edit, ...]:
    hooks = (
        Entry(
            ("hooks", event), {"command": run.hook("cursor", event), "timeout": SECONDS}, each=True
        )
        for event in _CURSOR
    )
    return (
        Entries(home / "hooks.json", tuple(hooks), {"version": 1}),
        Entries(home / "mcp.json", (Entry(("mcpServers", "memento"), run.server),)),
    )


def _opencode(home: Path, run: Program) -> tuple[Edit, ...]:
    text = text_of("opencode.js").replace("__COMMAND__", json.dumps(run.words))
    return (Own(home / "plugin" / "memento.js", text.replace("__ROOT__", json.dumps(run.root))),)


AGENTS = {
    agent.name: agent
    for agent in (
        Agent(
            "claude-code", "Claude Code", "claude", ("CLAUDE_CONFIG_DIR", ".claude"),
            _CLAUDE, "", _claude_code,
        ),
        Agent(
            "codex", "Codex", "codex", ("CODEX_HOME", ".codex"), _CODEX, "", _codex,
            "open Codex, enter /hooks and approve memento's hooks; until then Codex runs none",
        ),
        Agent(
            "gemini", "Gemini CLI", "gemini", ("", ".gemini"), _GEMINI, "", _gemini,
        ),
        Agent(
            "copilot", "Copilot CLI", "copilot", ("COPILOT_HOME", ".copilot"),
            _CLAUDE, "additionalContext", _copilot,
        ),
        Agent(
            "opencode", "opencode", "opencode", ("XDG_CONFIG_HOME", "opencode"),
            _OPENCODE, "additionalContext", _opencode,
        ),
        Agent(
            "cursor", "Cursor", "cursor", ("", ".cursor"),
            _CURSOR, "additional_context", _cursor,
        ),
    )
}  # fmt: skip
"""The agents by name."""
