"""The ``memento`` command: its commands, and what agents start without them.

program  which module is imported for a command; exit statuses, and what becomes of an error
menu     the commands, each in a section: ``SECTIONS``, ``APART``, ``ALIASES``, ``ELSEWHERE``
options  the options that commands share, and how their values are read
group_remember, group_find, group_open, group_insight    commands that add; that find and show
group_correct, group_edit, group_rules, group_sessions   that change memories; of rules and sessions
group_maintain, group_agents, group_serve                backup to sleep; set-up of agents; serving
mcp, hook  what an agent waits for, so without the menu: ``SECONDS``
mcp_http  the same server for clients that have a token, over HTTP: ``STARTS``
store    which store a command means
output, logs   how errors and values are printed (``UNWRITTEN``); the library's log on stderr
tables, plots, local   how values look; bars of ``stats``; short ids and local times
demo     ``memento demo``
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from io import TextIOWrapper

__all__ = ["main"]

UNCOLLECTED = 200_000
"""Objects that a command makes before the collector looks for cycles among them, instead of 700: it
finds none in what was imported, and took a seventh of a short command."""


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status.

    What a shell or an agent waits for, ``--version``, ``mcp`` and ``hook``, starts without the
    library that reads the other commands; so nothing may be imported here.

    Args:
        args: The arguments; None for those of the process.
    """
    try:
        return _main(args)
    except KeyboardInterrupt:  # while it imports, or prints; see also ``program.run``
        sys.stderr.write("memento: interrupted\n")
        return 130


def _main(args: Sequence[str] | None) -> int:
    ours = args is None  # the process ends with the command
    args = sys.argv[1:] if args is None else args
    if ours:
        gc.set_threshold(UNCOLLECTED)
    if None in {sys.stdin, sys.stdout, sys.stderr}:
        from memento.cli.output import fill_streams  # noqa: PLC0415 - see above

        fill_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that is not UTF-8
    try:
        status = _run(args)
        sys.stdout.flush()
    except OSError as error:
        from memento.cli.output import UNWRITTEN, unwritten  # noqa: PLC0415 - see above

        if error.errno not in UNWRITTEN:
            raise
        return unwritten(error)
    if ours:
        gc.freeze()  # else the interpreter looks through all that is left as it ends
    return status


def _run(args: Sequence[str]) -> int:
    if list(args) in (["--version"], ["-V"], ["version"]):
        from memento import __version__  # noqa: PLC0415 - see main

        sys.stdout.write(f"memento {__version__}\n")
        return 0
    if list(args[:1]) == ["mcp"] and (status := _served(args[1:])) is not None:
        return status
    if list(args[:1]) == ["hook"]:
        from memento.cli.hook import run as hook  # noqa: PLC0415 - see main

        hook(list(args[1:]))
        return 0
    from memento.cli.program import run  # noqa: PLC0415 - see main

    return run(args)


def _served(args: Sequence[str]) -> int | None:
    """Serve an agent if the command line is plain; a mistake in it is left to the command."""
    from memento.cli import logs, mcp  # noqa: PLC0415 - see main
    from memento.errors import InvalidInput  # noqa: PLC0415 - see main

    if (settings := mcp.settings_of(args)) is None:
        return None
    logs.attach()
    try:
        mcp.serve(settings)
    except InvalidInput:
        return None
    return 0
