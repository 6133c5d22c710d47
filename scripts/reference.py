"""Write docs/reference/{api,cli,configuration,http}.md from the code.

    python scripts/reference.py

A test fails while they differ from what this would write.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer

import memento
from memento import check, config, errors, settings, types
from memento.agents.table import Program, claude_plugin
from memento.claims import settings as claims_config
from memento.cli import __doc__ as cli_words
from memento.cli.program import app
from memento.dynamics import association, formulas
from memento.dynamics import settings as dynamics_config
from memento.insight import findings as insights
from memento.ledger import filters
from memento.manager import KEEP, MemoryManager
from memento.observe import values as observed
from memento.prompt import policy_values
from memento.remote.faults import STATUSES
from memento.remote.routes import HERE, ROUTES, Acts
from memento.serve.openapi import document
from memento.upkeep import backup, erase, export, import_, lineage
from memento.verbs import scopes as scoping_values
from memento.verbs import session_handle as sessions_values
from memento.verbs.feedback import Loop
from memento.verbs.sessions import Session
from memento.verbs.spending import ModelUse, Usage

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
MADE = "<!-- Made by scripts/reference.py; change the code's own words, then run it. -->\n"
WIDTH = 88

API_WORDS = """\
Import everything here from `memento`, and errors from `memento.errors`. `AsyncMemoryManager` has
the same methods as coroutines.
"""
CLI_WORDS = """\
Instead of `--root`, `--namespace` and `--embedder` you can set `MEMENTO_ROOT`, `MEMENTO_NAMESPACE`
and `MEMENTO_EMBEDDER`. The other `MEMENTO_*` variables are described in
[configuration](configuration.md).

By default, the store is the folder `agent_memory` in the current folder or the nearest one above
it, up to your home folder; failing that, `memento` in your data folder, which is `~/.local/share`
unless you moved it. To give a project a store of its own, run `mkdir agent_memory`. A folder that
belongs to another user is refused unless you name it. `memento mcp` and `MemoryManager()` find the
store in the same way.

The tiers are short, medium and long; the statuses are active, superseded and forgotten.
"""
CONFIG_WORDS = """\
Every setting has a default that suits most users. To change settings in Python, pass a `Config`:

```python
from memento import Config, MemoryManager
from memento.config import ShortConfig

memory = MemoryManager(embedder=None, config=Config(short=ShortConfig(capacity=20)))
```

In that case nothing else is read. Without a `Config`, the command line, MCP and `MemoryManager()`
read settings from these places, the first of which takes precedence:

1. environment variables: `MEMENTO_` and the name of the setting, as in `MEMENTO_SHORT_CAPACITY=20`;
   separate the items of a list with commas;
2. `memento.toml` in the folder of the store;
3. `memento/memento.toml` in the user's folder for settings: `$XDG_CONFIG_HOME`, or `~/.config`, on
   macOS `~/Library/Application Support`;
4. the defaults.

```toml
preset = "task agent"
timezone = "Asia/Tokyo"
sleep.auto = "all"

[short]
capacity = 20
```

`preset` is `chatbot`, `task agent`, `personal assistant` or `researcher`. All other settings
override it, wherever it is set. An empty string stands for None.

`memento config` shows the settings in effect and where each comes from, in the form of such a file.
An unknown name or an invalid value raises `InvalidSetting`; it is never ignored. To change what was
read: `replace(memento.settings.load("agent_memory").config, secrets="reject")`.

A store may come from somebody else, in a backup or a shared folder. Its file may therefore set only
what all users of the store should agree on, and the size of answers:

STORE_SETTINGS

Other settings, such as which model to send text to or which sources to trust, are refused there.
"""

SECTIONS = ("Args", "Attributes", "Returns", "Raises")
VALUES = (
    filters.Filtering,
    types.Memory,
    types.Draft,
    types.Source,
    types.Hit,
    types.Retrieval,
    types.Version,
    types.SlotValue,
    types.Change,
    types.Undone,
    types.Diff,
    insights.Reasoning,
    insights.Chain,
    insights.Conflict,
    observed.Observation,
    observed.Assistance,
    observed.Learned,
    observed.Candidate,
    observed.ForgetRequest,
    observed.Foresight,
    insights.Moment,
    insights.Lineage,
    insights.Dossier,
    insights.Entry,
    insights.Health,
    insights.Wonder,
    Usage,
    ModelUse,
    types.Related,
    types.Belief,
    types.Evidence,
    types.Strength,
    Loop,
    types.Finding,
    policy_values.Policy,
    policy_values.Shown,
    policy_values.Dropped,
    policy_values.Conflict,
    Session,
    sessions_values.SessionInfo,
    sessions_values.Checkpoint,
    sessions_values.Resumption,
    scoping_values.ScopeInfo,
    scoping_values.ScopeGuess,
    scoping_values.Promotion,
    lineage.Stats,
    backup.Backup,
    backup.Restored,
    erase.Erasure,
    export.Exported,
    import_.Imported,
)
VOCABULARY = (types.Tier, types.Kind, types.Status, types.Trust, types.Reason, types.Event)
CONFIGS = (
    ("Config", config.Config),
    ("limits", check.Limits),
    ("short", config.ShortConfig),
    ("index", config.IndexConfig),
    ("retrieve", config.RetrieveConfig),
    ("dynamics", dynamics_config.Dynamics),
    ("sleep", config.Sleep),
    ("articles", config.Articles),
    ("sessions", config.SessionConfig),
    ("scopes", config.ScopeConfig),
    ("policy", config.PolicyConfig),
    ("llm", config.LLMConfig),
    ("association", association.Association),
    ("conflicts", claims_config.Conflicts),
    ("observe", config.ObserveConfig),
    ("effect", formulas.Effect),
)


def docstring(text: str | None) -> str:
    """Turn a Google docstring into Markdown; doctests are left out."""
    lines = inspect.cleandoc(text or "").replace("``", "`").splitlines()
    paragraphs = "\n".join(lines).split("\n\n")
    return "\n\n".join(_paragraph(part) for part in paragraphs if ">>>" not in part)


def _paragraph(part: str) -> str:
    head, _, rest = part.partition("\n")
    if head.rstrip(":") not in SECTIONS or not head.endswith(":"):
        return part
    name = head.rstrip(":")
    body = inspect.cleandoc(rest)
    if name == "Returns":
        return f"Returns: {' '.join(body.split())}"
    return f"{name}:\n\n" + "\n".join(f"- {item}" for item in _items(body))


def _items(body: str) -> Iterator[str]:
    """Yield the items of a section, each on one line, its name in code."""
    for item in re.split(r"\n(?! )", body):
        name, colon, words = " ".join(item.split()).partition(": ")
        yield f"`{name}`: {words}" if colon else name


def signature(name: str, function: Callable[..., Any]) -> str:
    """Spell a signature, a parameter a line if it is long."""
    found = inspect.signature(function)
    parts: list[str] = []
    starred = False
    for parameter in found.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        parts.append(_parameter(parameter))
    returns = "" if inspect.isclass(function) else f" -> {found.return_annotation}"
    text = f"{name}({', '.join(parts)}){returns}"
    if len(text) > WIDTH:
        text = f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){returns}"
    return f"```text\n{text}\n```"


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    text = f"{stars}{parameter.name}: {parameter.annotation}"
    default = parameter.default
    if default is parameter.empty:
        return text
    if default is KEEP:
        return f"{text} = UNCHANGED"
    return f"{text} = {default.value if isinstance(default, enum.Enum) else default!r}"


def api() -> str:
    """Compose the reference of the Python interface."""
    parts = [
        "# API\n",
        MADE,
        API_WORDS,
        "## MemoryManager\n",
        signature("MemoryManager", MemoryManager) + "\n",
        docstring(MemoryManager.__doc__) + "\n",
    ]
    parts += _public("", MemoryManager)
    for name, kind in _parts():
        parts += [f"## memory.{name}\n", docstring(kind.__doc__) + "\n", *_public(f"{name}.", kind)]
    parts.append("## Without a manager\n")
    parts += _member("memento.upkeep.backup.restore", backup.restore)
    parts.append("## Values\n")
    for kind in VALUES:
        parts += [f"### {kind.__name__}\n", docstring(kind.__doc__) + "\n", *_methods(kind)]
    parts.append("## Vocabulary\n")
    for words in VOCABULARY:
        listed = ", ".join(f"`{item.value}`" for item in words)
        parts += [f"### {words.__name__}\n", f"{docstring(words.__doc__)} {listed}.\n"]
    tree = docstring(errors.__doc__).replace("`", "")
    parts += ["## Errors\n", f"```text\n{tree}\n```"]
    return "\n".join(parts)


def _parts() -> Iterator[tuple[str, type]]:
    """Yield the parts of a manager, by name, as its properties declare them."""
    for name, member in vars(MemoryManager).items():
        if isinstance(member, property) and not name.startswith("_"):
            home = importlib.import_module(f"memento.verbs.{name}")  # imported when it is used
            yield name, getattr(home, inspect.get_annotations(member.fget)["return"])


def _public(before: str, kind: type) -> list[str]:
    """Describe what a class itself adds to its base."""
    return [
        part
        for name, member in vars(kind).items()
        if not name.startswith("_")
        for part in _member(before + name, member)
    ]


def _member(name: str, member: Any) -> list[str]:
    if isinstance(member, property):
        return [f"### {name}\n", docstring(member.__doc__) + "\n"]
    return [f"### {name}\n", signature(name, member) + "\n", docstring(member.__doc__) + "\n"]


def _methods(kind: type) -> list[str]:
    """List properties and methods of a value, one line each."""
    lines = [
        f"- `{name}{'' if isinstance(member, property) else '()'}`: "
        f"{docstring(member.__doc__).splitlines()[0]}"
        for name, member in vars(kind).items()
        if not name.startswith("_") and (isinstance(member, property) or inspect.isfunction(member))
    ]
    return ["Also:\n", "\n".join(lines) + "\n"] if lines else []


def cli() -> str:
    """Compose the reference of the command line."""
    group: Any = typer.main.get_command(app)
    kinds = ", ".join(kind.value for kind in types.Kind)
    words = inspect.cleandoc(cli_words or "").replace("``", "")
    parts = [
        "# Command line\n",
        MADE,
        f"```text\nmemento {memento.__version__}\n\n{words}\n```\n",
        f"{CLI_WORDS}Kinds are {kinds}.\n",
    ]
    for name, command in group.commands.items():
        for inner, one in getattr(command, "commands", {"": command}).items():
            if one.hidden:
                continue
            parts += _command(f"{name} {inner}".strip(), one)
    return "\n".join(parts).rstrip() + "\n"


def _command(name: str, command: Any) -> list[str]:
    arguments = [p for p in command.params if not p.opts[0].startswith("-")]
    options = [p for p in command.params if p.opts[0].startswith("-")]
    usage = " ".join([p.metavar or p.name.upper() for p in arguments] + ["[OPTIONS]"])
    examples = inspect.cleandoc(command.epilog.split("Examples:")[1])
    told = [f"- `{p.metavar or p.name.upper()}`: {p.help}" for p in arguments]
    return [
        f"## memento {name}\n",
        f"{inspect.cleandoc(command.help)}\n",
        f"```text\nmemento {name} {usage}\n```\n",
        "\n".join(told + [_option(p) for p in options]) + "\n",
        f"```text\n{examples}\n```\n",
    ]


def _option(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    default = option.default
    shown = default.value if isinstance(default, enum.Enum) else default
    flag = isinstance(default, bool) or default is None or default == ""
    return f"- {names}: {option.help}" + ("" if flag else f" Default: {shown}.")


def configuration() -> str:
    """Compose the reference of the settings."""
    listed = ", ".join(f"`{name}`" for name in sorted(settings.OF_A_STORE)) + "."
    parts = [
        "# Configuration\n",
        MADE,
        CONFIG_WORDS.replace("STORE_SETTINGS", listed),
    ]
    for place, kind in CONFIGS:
        name = f"Config.{place}" if place != "Config" else "Config"
        defaults = [
            f"- `{field.name}`: {_default(field)}"
            for field in dataclasses.fields(kind)
            if not dataclasses.is_dataclass(field.default_factory)
        ]
        parts += [f"## {name}\n", docstring(kind.__doc__) + "\n"]
        parts += ["Defaults:\n", "\n".join(defaults) + "\n"] if defaults else []
    return "\n".join(parts).rstrip() + "\n"


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return f"{field.default_factory()}"
    value = field.default
    return f"{value.value if isinstance(value, enum.Enum) else value}"


HTTP_WORDS = """\
What `memento serve` answers; see [share a store](../how-to/several-processes.md). Each method is
called by `POST` with its arguments as a JSON object, and `/v1/openapi.json` has the type of each.
Moments are ISO 8601, lengths of time are seconds. A right includes those above it: `read`, `write`,
`admin`. *Acts as* says whose trust is needed: `source` is whoever the call names, at most as the
token is trusted; `agent` and `user` need a token that is trusted so.
"""


def http() -> str:
    """Compose the reference of the interface over HTTP."""
    parts = ["# HTTP\n", MADE, HTTP_WORDS, "## Methods\n"]
    parts.append("| path | effect | right | acts as |\n|---|---|---|---|")
    for route in sorted(ROUTES.values(), key=lambda one: one.path):
        first = (route.method.__doc__ or "").partition("\n")[0].replace("``", "`")
        acts = "" if route.acts is Acts.NOBODY else route.acts.value
        parts.append(f"| `{route.path}` | {first} | {route.rights} | {acts} |")
    parts += ["\n## Others\n", "| path | answer |\n|---|---|"]
    others = {path: one["get"] for path, one in document()["paths"].items() if "get" in one}
    parts += [f"| `GET {path}` | {one['summary']} |" for path, one in others.items()]
    parts += ["\n## Errors\n", "| error | status |\n|---|---|"]
    statuses = sorted(STATUSES.items(), key=lambda one: one[0].__name__)
    parts += [f"| `{kind.__name__}` | {status} |" for kind, status in statuses]
    parts += ["\n## Only where the store is\n", "| method | why |\n|---|---|"]
    parts += [f"| `{name}` | {why} |" for name, why in HERE.items()]
    return "\n".join(parts)


PAGES: dict[str, Callable[[], str]] = {
    "api.md": api,
    "cli.md": cli,
    "configuration.md": configuration,
    "http.md": http,
}


PLUGIN = FOLDER.parents[1] / "integrations" / "claude_code"
"""The plugin that the marketplace of this repository offers to Claude Code."""


def main() -> None:
    """Write every page, and the plugin."""
    for name, compose in PAGES.items():
        (FOLDER / name).write_text(compose().rstrip() + "\n", encoding="utf-8")
        print(FOLDER / name)
    for one in claude_plugin(PLUGIN, Program(("memento",))):
        one.path.parent.mkdir(parents=True, exist_ok=True)
        one.path.write_text(one.text, encoding="utf-8")
        print(one.path)


if __name__ == "__main__":
    main()
