"""The ``memento`` command. Each subcommand makes one or two calls to ``MemoryManager``.

If ``memento`` is not on your PATH, use ``python -m memento`` instead.

Exit status: 0 success, even if nothing was found; 1 a problem was found or work remains
(``doctor``, ``undo``); 2 invalid command or argument; 3 no such memory, or nothing to
undo; 4 the store cannot be used; 5 any other error; 130 interrupted. Errors are printed to stderr
as a single line that explains what to do, or with ``--json`` as a JSON object with ``error`` and
``status``.

With ``--json``, every command prints a single object: either one item with its fields, or a list of
items under a plural name (``memories``, ``hits``, ``changes``, ``sessions`` ...). Side effects,
such as a memory that was replaced, are listed under ``notes``, if there are any.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, cast

import typer

from memento.cli import logs
from memento.cli.menu import APART, HIDDEN, SECTIONS, Menu
from memento.cli.options import epilog, option
from memento.cli.output import ABSENT, INTERRUPTED, OTHER, STORE, USAGE, fail, interrupted
from memento.cli.store import root_option
from memento.errors import InvalidInput, MementoError, NotFound, NothingToUndo, StoreError

# Typer contains its own copy of click since 0.2x and used the real one before.
_ClickError = cast(
    "type[Exception]",
    next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"),
)


class _Commands(dict[str, Any]):
    """The commands by name, each made at its first use."""

    def __init__(self) -> None:
        self._homes = {
            name: APART.get(name, title.lower())
            for title, names in SECTIONS.items()
            for name in names
        } | HIDDEN
        super().__init__(dict.fromkeys(self._homes))

    def __getitem__(self, name: str) -> Any:
        if (found := super().__getitem__(name)) is None:
            found = self[name] = _made(name, self._homes[name])
        return found

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default  # noqa: SIM401 - this is what `get` does

    def values(self) -> Any:
        return [self[name] for name in self]

    def items(self) -> Any:
        return [(name, self[name]) for name in self]


def _made(name: str, group: str) -> Any:
    """Import the module of a command and let Typer make only that command."""
    theirs: typer.Typer = import_module(f"memento.cli.group_{group}").app
    alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    alone.registered_groups = [one for one in theirs.registered_groups if one.name == name]
    alone.registered_commands = [
        one
        for one in theirs.registered_commands
        if name == (one.name or one.callback.__name__)  # type: ignore[union-attr]  # never None
    ]
    made: Any = typer.main.get_command(alone)
    if alone.registered_groups:
        made = made.commands[name]
    made.hidden = made.hidden or name in HIDDEN
    for one in (made, *getattr(made, "commands", {}).values()):
        one.get_params = partial(_quick_params, one.get_params)
    return made


def _quick_params(given: Callable[[Any], list[Any]], context: Any) -> list[Any]:
    return _quick(given(context))


def _quick(options: list[Any]) -> list[Any]:
    """Skip Typer's check of options that are text or not given.

    Recent versions of Typer use pydantic for it, which takes longer to import than all the rest.
    """
    for one in options:
        kind = getattr(getattr(one, "type_descriptor", None), "annotation", None)
        if kind is not None and "process_value" not in vars(one):
            one.process_value = partial(_processed, one, kind, one.process_value)
    return options


def _processed(
    option: Any, kind: object, checked: Callable[[Any, Any], Any], context: Any, value: Any
) -> Any:
    """Return the value of an option as Typer would, checked only if necessary."""
    several = option.multiple or option.nargs == -1
    if value is None and not option.required:
        value = () if several else None
    elif not _fits(value, kind):
        return checked(context, value)
    return value if option.callback is None else option.callback(context, option, value)


def _fits(value: object, kind: object) -> bool:
    """Return whether a value has its option's type already."""
    if isinstance(value, list | tuple):
        return kind == list[str] and {*map(type, value)} == {str}
    return type(value) is kind


class _Program(Menu):
    """The command ``memento`` itself."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = _Commands()

    def get_params(self, context: Any) -> list[Any]:
        """Return the options, including ``--help``."""
        return _quick(super().get_params(context))


app = typer.Typer(
    name="memento",
    cls=_Program,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from memento import __version__  # noqa: PLC0415 - read only for this option

        typer.echo(f"memento {__version__}")
        raise typer.Exit


@app.callback(
    invoke_without_command=True,
    epilog=epilog(
        "memento demo",
        'memento add "Rami is allergic to nuts" --tier long',
        'memento retrieve "what can Rami not eat?"',
        "memento ingest chat.jsonl",
        "memento help retrieve",
    ),
)
def memento(
    context: typer.Context,
    *,
    version: bool = option(  # noqa: ARG001 - acted on in its callback
        "--version",
        "-V",
        "Print the version.",
        callback=_show_version,
        is_eager=True,
        default=False,
    ),
) -> None:
    """Durable, tiered, offline memory for AI agents, with keyword and semantic search."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(args: Sequence[str]) -> int:
    """Run a command and return its exit status."""
    root_option.set("")
    logs.attach()
    as_json = _wants_json(args)
    try:
        status = typer.main.get_command(app).main(args, prog_name="memento", standalone_mode=False)
    except _ClickError as error:
        return _misused(error, args, as_json=as_json)
    except MementoError as error:
        return fail(str(error), _status_of(error), as_json=as_json)
    except typer.Abort:
        return fail("nothing was done", INTERRUPTED, as_json=as_json)
    if status == INTERRUPTED:
        return interrupted()
    return status if isinstance(status, int) else 0


def _wants_json(args: Sequence[str]) -> bool:
    """Return whether ``--json`` is among the options, before any ``--``."""
    options = args[: args.index("--")] if "--" in args else args
    return "--json" in options


_OPTION = re.compile(r"-[A-Za-z]+|--[A-Za-z][\w-]*(=.*)?", re.DOTALL)
_NUMBER = re.compile(r"Input should be (a valid \w+), unable to parse string .*")


def _misused(error: Exception, args: Sequence[str], *, as_json: bool) -> int:
    """Report an error in the command line, with a pointer to the help; return the exit status."""
    if type(error).__name__ == "NoArgsIsHelpError":  # a group without a command: this is its help
        typer.echo(error.format_message(), err=True)  # type: ignore[attr-defined]  # see below
        return USAGE
    context = getattr(error, "ctx", None)
    command = "memento" if context is None else context.command_path
    problem = _problem_of(error)
    if type(error).__name__ == "NoSuchOption" and any(
        one.startswith("-") and not _OPTION.fullmatch(one) for one in args
    ):
        problem += "; put -- before text that begins with a dash"
    return fail(f"{problem}; see `{command} --help`", USAGE, as_json=as_json)


def _problem_of(error: Exception) -> str:
    """Return Typer's message without the name of the exception that it wraps."""
    message: str = error.format_message()  # type: ignore[attr-defined]  # every click error has it
    return _NUMBER.sub(r"must be \1", message.replace("Value error, ", "")).rstrip(".")


def _status_of(error: MementoError) -> int:
    statuses = {InvalidInput: USAGE, NotFound: ABSENT, NothingToUndo: ABSENT, StoreError: STORE}
    return next((code for kind, code in statuses.items() if isinstance(error, kind)), OTHER)
