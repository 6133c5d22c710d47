"""The list of commands: its sections, aliases, and hints for names that are not commands."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand, TyperGroup

SECTIONS = {
    "Remember": ("add", "ingest", "observe"),
    "Find": ("retrieve", "list", "show", "prompt", "insight", "open"),
    "Correct": (
        "edit", "set", "correct", "forget", "restore", "undo", "changes", "conflicts", "feedback",
    ),
    "Rules": ("rules", "quarantine"),
    "Sessions": ("session", "scopes"),
    "Maintain": (
        "stats", "doctor", "sleep", "backup", "export", "import", "erase", "config",
    ),
    "Agents": ("init", "setup", "onboard", "mcp", "serve"),
}  # fmt: skip
"""The commands as the help lists them, by what they are for: the module of each is
``memento.cli.group_`` and the name of its section, but for a few."""

HIDDEN = {"demo": "agents", "history": "find", "value": "find"}
"""Commands that are a part of another one by now, and the demo, which the help names above the
list; the help does not list them."""

APART = {"edit": "edit", "insight": "insight", "open": "open", "serve": "serve", "set": "edit"}
"""Commands in modules of their own."""

ALIASES = {
    "ask": "retrieve",
    "cat": "show",
    "delete": "forget",
    "find": "retrieve",
    "get": "show",
    "log": "changes",
    "ls": "list",
    "memories": "list",
    "note": "add",
    "query": "retrieve",
    "recall": "retrieve",
    "remember": "add",
    "remove": "forget",
    "resolve": "conflicts",
    "rm": "forget",
    "save": "add",
    "search": "retrieve",
    "status": "stats",
    "update": "edit",
    "vi": "edit",
}
"""Aliases of commands; the help does not list them."""

ELSEWHERE = {
    "archive": "set ID --archived",
    "checkpoint": "session checkpoint",
    "diff": "insight diff",
    "direct": "rules direct",
    "dossier": "insight dossier",
    "expire": "set ID --expires-in TIME",
    "health": "insight health",
    "keys": "stats --by key",
    "lineage": "insight lineage",
    "lock": "set ID --lock",
    "move": "set ID --tier TIER",
    "namespaces": "stats --by namespace",
    "pin": "set ID --pin",
    "policy": "rules policy",
    "promote": "set ID --scope SCOPE",
    "reason": "insight reason",
    "recent": "list --session SESSION --newest-first",
    "redo": "undo NUMBER",
    "reindex": "doctor --reindex",
    "resume": "session resume",
    "revert": "undo --key KEY",
    "salvage": "doctor --salvage",
    "sessions": "stats --by session",
    "stale": "insight stale",
    "strength": "insight strength",
    "tag": "set ID --tag +NAME",
    "tags": "stats --by tag",
    "timeline": "insight timeline",
    "touch": "set ID --expires-in TIME",
    "unarchive": "set ID --no-archived",
    "unlock": "set ID --no-lock",
    "unpin": "set ID --no-pin",
    "untag": "set ID --tag -NAME",
    "usage": "stats --usage",
    "wonder": "insight wonder",
}
"""Names that are part of another command, and how to type that."""


_TYPE = re.compile(r" <[^>]*>\Z")
"""The Python type that Typer puts behind the name of an argument."""


class Command(TyperCommand):
    """A command whose help names no Python types."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the names and help texts of the arguments and options."""
        write = formatter.write_dl

        def plainly(rows: list[tuple[str, str]], **layout: Any) -> None:
            write([(_TYPE.sub("", name), said) for name, said in rows], **layout)

        formatter.write_dl = plainly
        try:
            super().format_options(ctx, formatter)
        finally:
            formatter.write_dl = write


class Menu(TyperGroup):
    """A list of commands in sections, with aliases."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Replace an alias by the command's name, and ``help X`` by ``X --help``."""
        if args and args[0] == "help" and "help" not in self.commands:
            args = [*args[1:], "--help"]
        elif args and args[0] == "version" and ctx.parent is None:
            args = ["--version"]
        if args and args[0] not in self.commands and ALIASES.get(args[0]) in self.commands:
            args = [ALIASES[args[0]], *args[1:]]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command; if the name is part of another command, say how to type that."""
        if ctx.parent is None and args[0] not in self.commands and args[0] in ELSEWHERE:
            ctx.fail(f"use `memento {ELSEWHERE[args[0]]}` instead of {args[0]!r}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each section with its commands and their summaries."""
        listed = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        seen = {name: one for name, one in listed if one is not None and not one.hidden}
        sections = SECTIONS if ctx.parent is None else {"Commands": tuple(seen)}
        width = max(map(len, seen))
        for title, names in sections.items():
            rows = [
                (name.ljust(width), seen[name].get_short_help_str(formatter.width))
                for name in names
                if name in seen
            ]
            with formatter.section(title):
                formatter.write_dl(rows)
