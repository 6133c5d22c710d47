"""``memento hook AGENT EVENT``: an agent runs it and waits, so it imports next to nothing.

It passes the agent's event to the resident process of the store and prints the answer. If anything
fails, it prints nothing, exits with status 0 in time, and writes a line to the log: an agent must
not fail because of its memory. ``MEMENTO_HOOKS`` is ``off``, or the maximum time in seconds.
"""

from __future__ import annotations

import _thread
import json
import os
import sys
import time
from contextlib import suppress

TYPE_CHECKING = False  # as in ``typing``, which is slow to import
if TYPE_CHECKING:
    from typing import Any

SWITCH = "MEMENTO_HOOKS"
SECONDS = 2.0
"""Default maximum time that an agent waits, in seconds."""
_MARGIN = 0.1
_SENT = 0.05
"""Seconds allowed for the second call: enough to send it, and to finish if the process is warm."""
_MOST_BYTES = 4 << 20
_LOG_BYTES = 1 << 20
USAGE = """\
Usage: memento hook AGENT EVENT [--root FOLDER]

Handle an event from a coding agent: read the event as JSON from stdin, and print text for the
agent's model. `memento setup` adds this command to the agent's configuration.
"""


def run(words: list[str]) -> None:
    """Answer one event and exit the process; return only if hooks are off, or after the help."""
    if {"-h", "--help"} & {*words}:
        sys.stdout.write(USAGE)
        return
    switch = os.environ.get(SWITCH, "")
    if switch in ("off", "0"):
        return
    try:
        seconds = float(switch or SECONDS)
        _thread.start_new_thread(_end_late, (seconds,))
        _answer(words, time.monotonic() + seconds - _MARGIN)
    except BaseException as error:  # noqa: BLE001 - an agent must not fail; the log says why
        note(f"{' '.join(words[:2])}: {type(error).__name__}: {error}")
    os._exit(0)


def _end_late(seconds: float) -> None:
    time.sleep(seconds)
    note("timed out")
    os._exit(0)


def _answer(words: list[str], end: float) -> None:
    """Ask the resident process of the store; if it cannot be reached, open the store here."""
    if len(words) < 2:  # noqa: PLR2004 - these two
        raise ValueError("specify an agent and an event; see `memento hook --help`")
    agent, event, *options = words
    raw = sys.stdin.buffer.read(_MOST_BYTES + 1)
    if len(raw) > _MOST_BYTES:
        raise ValueError("the event is too long")
    given = json.loads(raw or b"{}")
    given.setdefault("cwd", os.getcwd())  # noqa: PTH109 - pathlib is slow to import
    asked = {"call": "hook", "agent": agent, "event": event, "given": given}
    for name, default in (("namespace", "default"), ("embedder", "default")):
        asked[name] = os.environ.get(f"MEMENTO_{name.upper()}") or default
    root = _root(options)
    from memento.base.home import is_server  # noqa: PLC0415 - as above

    if is_server(root):
        _print(_here(root, asked)["text"])
        return
    from memento.resident import client  # noqa: PLC0415 - after the switch

    asked["environ"] = client.settings_here()
    try:
        found = client.call(root, asked, seconds=end - time.monotonic(), start=True)
    except client.Unreachable as error:
        note(f"{agent} {event}: {error}")
        if time.monotonic() > end:  # out of time: a process may still be working on it
            return
        found = _here(root, asked)
    if "error" in found:
        raise RuntimeError(found["error"])
    _print(str(found["text"]))
    if found.get("more"):
        with suppress(client.Unreachable):  # it is sent; no need to wait
            client.call(root, {**asked, "kept": True}, seconds=_SENT)


def _print(text: str) -> None:
    if text:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def _here(root: str, asked: dict[str, Any]) -> dict[str, str]:
    """Answer in this process."""
    from memento.agents.hook import answer  # noqa: PLC0415 - as above
    from memento.cli.store import open_at  # noqa: PLC0415 - as above

    with open_at(root, asked["namespace"], asked["embedder"]) as memory:
        return {"text": answer(memory, asked["agent"], asked["event"], asked["given"])}


def _root(options: list[str]) -> str:
    """Return the folder after ``--root``, or the default one."""
    from memento.base.home import default_path  # noqa: PLC0415 - as above

    match options:
        case []:
            return default_path()
        case ["--root", folder] if folder:
            return folder
        case [word] if word.startswith("--root=") and word != "--root=":
            return word.removeprefix("--root=")
    raise ValueError("unknown option; only --root FOLDER is supported (see `memento hook --help`)")


def note(line: str) -> None:
    """Append a line to the log of hooks; a log of more than 1 MiB is started anew.

    If there can be no log, the line is lost: an agent must not fail because of it.
    """
    from memento.base.home import state_folder  # noqa: PLC0415 - only where something is wrong

    with suppress(OSError, RuntimeError):  # the latter without a home
        folder = state_folder()
        folder.mkdir(0o700, parents=True, exist_ok=True)
        path = folder / "hooks.log"
        long = path.exists() and path.stat().st_size > _LOG_BYTES
        with path.open("w" if long else "a", encoding="utf-8", errors="replace") as file:
            file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {' '.join(line.split())[:500]}\n")
