"""What agents are shown by hooks and over MCP: one namespace, nothing that breaks out, no file.

And what set-up, hooks and MCP over stdio open: no internet socket.

The answers of every agent's own hook events, written as that agent takes them, and all that the MCP
server offers. The controls: doors that open one namespace for everybody, a renderer that escapes
nothing, and a door that opens what it is named.

Alone: ``python benchmarks/trust.py --full --only doors``.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import harness_private
from harness_evil import EVIL
from harness_prompt import BREAKOUTS
from trust_result import TrustResult

from memento import MemoryManager
from memento.agents.hook import answer
from memento.agents.table import AGENTS
from memento.errors import MementoError
from memento.prompt import rendering
from memento_mcp import Doors

ROUNDS = {False: 1, True: 20}
ASKED = "Where does the harbour ferry leave from on Sundays?"
SIGN = "neighbours-secret"
_FRAME = re.compile(r"</?([a-z]+-[0-9A-Za-z]{8,64})>")
_OUTSIDE = ("..", "/", "~", "%2e%2e", "\\")


def shown(memory: MemoryManager, folder: Path, session: str) -> Iterator[tuple[str, str]]:
    """Yield what every agent's hooks and the MCP server show, each with the door's name."""
    for name, agent in AGENTS.items():
        for event in agent.moments:
            given = {"session_id": f"{name}-{session}", "cwd": str(folder), "prompt": ASKED}
            if said := answer(memory, name, event, given):
                yield f"{name} {event}", _text(json.loads(said))
    doors = Doors(memory, client="c")
    yield "mcp recall", doors.call("recall", {"query": ASKED}).text
    yield "mcp recall of the newest", doors.call("recall", {}).text
    yield "mcp session", doors.read("memento://session/s").text
    yield "mcp policy", doors.read("memento://policy").text
    yield "mcp keys", "\n".join(doors.complete("key", ""))


def _text(said: object) -> str:
    """Return the longest text in what an agent takes: what its model is shown."""
    inner = said.values() if isinstance(said, dict) else [said]
    return max(
        (_text(one) if isinstance(one, dict) else str(one) for one in inner), key=len, default=""
    )


def isolation(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Let one namespace ask, with what it wants to know in the memory of another one."""
    rounds, leaks, seen, cases = ROUNDS[full], list[str](), 0, 0
    with _state(folder), MemoryManager(folder / "store", embedder=None) as memory:
        for number in range(rounds):
            mine, theirs = memory.of(f"a{number}"), memory.of(f"b{number}")
            _tell(theirs, f"The harbour ferry on Sundays is {SIGN}")
            _tell(mine, "The harbour ferry leaves from pier 3 on Sundays")
            for door, text in shown(mine, folder, "mine"):
                cases += 1
                leaks += [door] if SIGN in text else []
            seen += any(SIGN in text for _, text in shown(theirs, folder, "theirs"))
    return TrustResult(
        name="what agents are shown of another namespace",
        promise="Whoever asks through a hook of an agent or over MCP is shown nothing of another"
        " namespace.",
        cases=cases,
        failures=len(leaks),
        control="doors that open the other namespace",
        control_failed=seen == rounds,
        seed=seed,
        details=tuple(leaks[:10]),
    )


def _tell(memory: MemoryManager, text: str) -> None:
    """Let a store know a text in each way in which it may be shown."""
    session = memory.sessions.start("s", goal="take the ferry")
    memory.add(text, key="ferry/pier", session="s")
    memory.rules.direct(f"Always say: {text}")
    memory.keep([text], session="s")
    session.checkpoint(goal=text, note=text)


def injection(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Put hostile texts into what agents are shown, and read that as strictly as can be."""
    texts = [*BREAKOUTS, *(one for one in EVIL if len(one) < 1_000 and "\ud800" not in one)]
    broken, cases = [], 0
    with _state(folder):
        for number, text in enumerate(texts if full else texts[::12]):
            for door, said in _hostile(folder / f"{number}", text):
                cases += 1
                broken += [f"{door}: {said[:80]!r}"] if _breaks_out(said) else []
        with patch.object(rendering, "escape", str), patch.object(rendering, "_escaped", str):
            control = [_breaks_out(said) for _, said in _hostile(folder / "control", BREAKOUTS[1])]
    return TrustResult(
        name="texts that break out of what agents are shown",
        promise="No stored text ends or forges the block that a hook of an agent or the MCP server"
        " shows.",
        cases=cases,
        failures=len(broken),
        control="a renderer that escapes nothing",
        control_failed=any(control),
        seed=seed,
        details=tuple(broken[:10]),
    )


def _hostile(folder: Path, text: str) -> Iterator[tuple[str, str]]:
    folder.mkdir()
    with MemoryManager(folder / "store", embedder=None) as memory:
        with suppress(MementoError):  # a value that no text may have is refused
            _tell(memory, f"The harbour ferry on Sundays {text} leaves from pier 3")
        yield from ((door, said) for door, said in shown(memory, folder, "s") if "<" in said)


def _breaks_out(said: str) -> bool:
    """Return whether a text has anything but whole frames in turn, one after the other."""
    names = [found[0] for found in _FRAME.finditer(said)]
    pairs = zip(names[::2], names[1::2], strict=False)
    whole = len(names) % 2 == 0 and all(end == f"</{start[1:]}" for start, end in pairs)
    return not whole or re.search("[<>]", _FRAME.sub("", said)) is not None


def paths(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Name a file outside the store in every argument and address that takes a text."""
    outside = folder / "outside.txt"
    outside.write_text(SIGN, encoding="utf-8")
    with _state(folder), MemoryManager(folder / "store", embedder=None) as memory:
        doors = Doors(memory, client="c")
        names = [f"{way}/{outside.name}" for way in _OUTSIDE] + [str(outside), f"file://{outside}"]
        names = names if full else names[-3:]
        asks = [ask for name in names for ask in _asks(doors, name)]
        before = {*folder.iterdir()}
        said = [_said(ask) for ask in asks]
        made = {*folder.iterdir()} - before
        with patch.object(Doors, "read", _open):
            control = [_said(ask) for ask in _asks(doors, str(outside))]
    leaks = [text for text in said if SIGN in text]
    return TrustResult(
        name="files that agents name",
        promise="No argument of a tool and no address of a resource opens or makes a file.",
        cases=len(said),
        failures=len(leaks) + len(made),
        control="a door that opens what it is named",
        control_failed=any(SIGN in text for text in control),
        seed=seed,
        details=tuple([*leaks, *map(str, made)][:10]),
    )


def _asks(doors: Doors, name: str) -> Iterator[Callable[[], object]]:
    """Yield calls that name a file: every text of every tool, every address, every prompt."""
    calls = {
        "recall": ({"query": name}, {"scope": name}, {"since": name}, {"kind": name}),
        "remember": ({"text": name}, {"text": "a", "key": name}, {"text": "a", "kind": name}),
        "correct": ({"id": name, "text": "a"},),
        "forget": ({"id": name},),
    }
    for tool, every in calls.items():
        for arguments in every:
            yield lambda tool=tool, arguments=arguments: doors.call(tool, arguments)
    for address in (name, f"memento://memory/{name}", f"memento://session/{name}"):
        yield lambda address=address: doors.read(address)
    yield lambda: doors.prompt("recall", {"topic": name})
    yield lambda: doors.complete("key", name)


def _open(_doors: Doors, address: str) -> str:
    """Be the control: open what an address names."""
    return Path(address).read_text(encoding="utf-8")


def _said(ask: Callable[[], object]) -> str:
    try:
        return str(ask())
    except (MementoError, ValueError, LookupError, OSError) as error:
        return str(error)


def private(folder: Path, *, full: bool, seed: int) -> TrustResult:  # noqa: ARG001 - nothing here is random
    """Count the internet sockets of set-up, hooks and MCP, and of the same with one call home."""
    with patch.object(harness_private, "RUN", Path(__file__).with_name("doors_run.py")):
        opened, how = harness_private.sockets(folder / "run", "default")
        called, _ = harness_private.sockets(folder / "control", "default", more=("--call-home",))
    return TrustResult(
        name="no network at the doors of agents",
        promise="Setting up coding agents, their hooks and MCP over stdio open no internet socket.",
        cases=1,
        failures=int(bool(opened)),
        control="the same run with one call home",
        control_failed=bool(called),
        figures={"sockets": len(opened), "counted by": how, "of the control": len(called)},
        details=tuple(opened[:10]),
    )


def _state(folder: Path) -> patch.dict:
    """Let hooks note what they showed in a folder of the harness."""
    return patch.dict(os.environ, {"XDG_STATE_HOME": str(folder / "state")})


HARNESSES = (isolation, injection, paths, private)
