"""The command ``memento``. Every command is one or two calls of ``MemoryManager``.

If the program is not on the path, ``python -m memento`` does the same.

Exit status: 0 success (also if nothing was found), 1 a problem was found or work is left
(``doctor``, ``reindex``), 2 the command or a value in it cannot be accepted, 3 no such memory,
4 the store cannot be used, 5 any other error of memento, 130 interrupted. An error is one line on
stderr that says what to do; with ``--json`` it is a JSON object with ``error`` and ``status``.

With ``--json`` every command prints one object: a thing with its fields, or several things under
the name of what they are (``memories``, ``hits``, ``changes``, ``sessions`` ...). ``notes`` are the
lines that say what else happened, such as what was replaced; it is absent if there are none.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Annotated, cast

import typer

from memento.cli import (
    group_agents,
    group_correct,
    group_edit,
    group_find,
    group_insight,
    group_maintain,
    group_remember,
    group_rules,
    group_sessions,
)
from memento.cli.menu import Menu
from memento.cli.options import epilog, moment_of, option
from memento.cli.output import (
    ABSENT,
    INTERRUPTED,
    OTHER,
    STORE,
    UNWRITTEN,
    USAGE,
    Told,
    fail,
    fill_streams,
    unwritten,
    warn,
)
from memento.errors import InvalidInput, MementoError, NotFound, StoreError
from memento.text.when import seconds_of

__all__ = ["app", "main", "moment_of", "seconds_of"]

# Typer contains its own copy of click since 0.2x and used the real one before.
_ClickError = cast(
    "type[Exception]",
    next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"),
)

_WAITS = Told()

app = typer.Typer(
    name="memento",
    cls=Menu,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for family in (
    group_remember,
    group_find,
    group_insight,
    group_edit,
    group_correct,
    group_rules,
    group_sessions,
    group_maintain,
    group_agents,
):
    app.add_typer(family.app)


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
    version: Annotated[  # noqa: ARG001 - acted on in its callback
        bool,
        option("--version", "-V", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Tiered memory for AI agents: durable, found by words and by meaning, offline."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status.

    Args:
        args: The arguments; None for those of the process.
    """
    fill_streams()
    try:
        status = _run(sys.argv[1:] if args is None else args)
        sys.stdout.flush()
    except OSError as error:
        if error.errno not in UNWRITTEN:
            raise
        return unwritten(error)
    return status


def _run(args: Sequence[str]) -> int:
    logging.getLogger("memento").addHandler(logging.NullHandler())
    _WAITS.said.clear()
    for name in ("memento.ledger.lite.gate", "memento.ingest.source"):
        logging.getLogger(name).addHandler(_WAITS)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that is not UTF-8
    as_json = _wants_json(args)
    try:
        status = typer.main.get_command(app).main(args, prog_name="memento", standalone_mode=False)
    except _ClickError as error:
        return _misused(error, as_json=as_json)
    except MementoError as error:
        return fail(str(error), _status_of(error), as_json=as_json)
    except typer.Abort:
        return fail("nothing was done", INTERRUPTED, as_json=as_json)
    if status == INTERRUPTED:
        warn("interrupted; everything reported as done is kept, and running it again is safe")
    return status if isinstance(status, int) else 0


def _wants_json(args: Sequence[str]) -> bool:
    """Tell whether ``--json`` is among the options, before any ``--``."""
    options = args[: args.index("--")] if "--" in args else args
    return "--json" in options


def _misused(error: Exception, *, as_json: bool) -> int:
    """Report an error in the command line and where its help is; returns the exit status."""
    if type(error).__name__ == "NoArgsIsHelpError":  # a group without a command: this is its help
        typer.echo(error.format_message(), err=True)  # type: ignore[attr-defined]  # see below
        return USAGE
    context = getattr(error, "ctx", None)
    command = "memento" if context is None else context.command_path
    return fail(f"{_problem_of(error)}; see `{command} --help`", USAGE, as_json=as_json)


def _problem_of(error: Exception) -> str:
    """Return Typer's message without the name of the exception that it wraps."""
    message: str = error.format_message()  # type: ignore[attr-defined]  # every click error has it
    return message.replace("Value error, ", "").rstrip(".")


def _status_of(error: MementoError) -> int:
    statuses = {InvalidInput: USAGE, NotFound: ABSENT, StoreError: STORE}
    return next((code for kind, code in statuses.items() if isinstance(error, kind)), OTHER)
