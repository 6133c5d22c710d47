"""What the hooks of coding agents show: seldom what nobody asked for, mostly what answers.

    python benchmarks/hooks.py FILE... [--keep FOLDER] [--limit N] [--sweep] [--json OUT]
    python benchmarks/hooks.py --client

FILE is LoCoMo, BEAM or LongMemEval (see dialogues.py), which you bring yourself. Every conversation
gets a store of its own, and every prompt goes through ``memento.agents.hook.show``, as the resident
process calls it for an event of Claude Code. What counts is what stands in the block that the model
gets, each prompt in a session of its own.

Off topic are questions about the other conversations of the file, ``GENERAL`` prompts to a coding
agent, and what nothing answers in ``sets/life_baker.json``. Last, all questions of a conversation
are put in one session, in which nothing may be shown twice.

``--sweep`` repeats this with other values of ``hook.NEAR``. ``--client`` measures the process that
an agent starts: its CPU time beside that of an empty Python, the round trip with a resident process
that is warm, the same while that process stands still, and the exit status after bad events.

Exits with 1 if a floor is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from common import ROOT, Figure, measured, median, percentile, table, write_json
from dialogues import ADVERSARIAL, Conversation, load
from stores import opened

from memento import MemoryManager
from memento.agents import hook
from memento.cli.hook import SECONDS
from memento.resident.client import call
from memento.text.words import estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

AGENT, EVENT = "claude-code", "UserPromptSubmit"
FOREIGN = 40
"""Questions about other conversations that each store is asked."""
NEARS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
GENERAL = (
    "Fix the failing test in tests/test_parser.py and run the suite again",
    "Rename the function load_config to read_config everywhere",
    "Why does this loop never end?",
    "Add type hints to the whole module",
    "Write a Dockerfile for a Flask app with gunicorn",
    "Explain the difference between a mutex and a semaphore",
    "Undo the last commit but keep the changes",
    "Make the button on the settings page blue and round its corners",
    "What does git rebase --onto do?",
    "Upgrade all dependencies and tell me what breaks",
    "Please review the diff before I push it",
    "How do I read a CSV file with pandas and skip the header?",
    "The build fails with undefined reference to pthread_create",
    "Split this file into smaller modules",
    "Translate the error messages into Spanish",
    "Write a regular expression that matches an IPv4 address",
    "Profile the import step and make it faster",
    "Create a migration that adds an index to the orders table",
    "Which Node version does this project need?",
    "Continue with the next step of the plan",
    "Remove the dead code in utils and the imports it leaves behind",
    "Show me how to mock the clock in a unit test",
    "Sort the list by date, newest first",
    "Generate a changelog from the commits since the last tag",
    "Is there a memory leak in the worker pool?",
    "Replace print with logging in the server",
    "Convert this callback code to async and await",
    "Add a progress bar to the upload",
    "What is the time complexity of heapsort?",
    "Bump the version to 2.4.0 and tag it",
)
"""Prompts to a coding agent that no conversation about somebody's life answers."""
RUNS, ROUNDS, STILL, BAD = 30, 200, 5, 1_000
"""Empty processes, round trips, prompts to a process that stands still, and bad
events."""
LONGEST = SECONDS + 0.25
"""Most seconds until a hook has ended, whatever happens: its deadline, and the start of Python."""


@dataclass(slots=True)
class Run:
    """What was shown.

    Attributes:
        off: For each kind of prompt that nothing answers, whether it was shown anything.
        right: By category of questions, whether a memory that answers was shown.
        tokens: Size of each block that was shown.
        records: Number of memories in each.
        twice: Texts that were shown again in the same session.
    """

    off: dict[str, list[bool]] = field(default_factory=dict)
    right: dict[str, list[bool]] = field(default_factory=dict)
    tokens: list[int] = field(default_factory=list)
    records: list[int] = field(default_factory=list)
    twice: int = 0


def measure(conversations: Sequence[Conversation], options: argparse.Namespace) -> Run:
    """Put all prompts to all stores."""
    run = Run()
    general = {"general": GENERAL, "nothing known": unanswered()}
    for at, conversation in enumerate(conversations):
        others = [one.text for other in conversations if other is not conversation
                  for one in other.queries]  # fmt: skip
        foreign = random.Random(at).sample(others, min(FOREIGN, len(others)))
        with opened(conversation, keep=options.keep) as memory, state():
            for name, prompts in {"other people": foreign, **general}.items():
                shown = (shown_for(memory, prompt) for prompt in prompts)
                run.off.setdefault(name, []).extend(bool(block) for block in shown)
            questions = [one for one in conversation.queries if one.category != ADVERSARIAL]
            texts = {str(one.metadata["turn"]): one.text for one in conversation.drafts}
            for one in questions:
                block = shown_for(memory, one.text)
                said = records(block)
                answers = any(shows(text, texts[turn]) for text in said for turn in one.turns)
                run.right.setdefault(one.category, []).append(answers)
                run.tokens += [estimate(block)] if block else []
                run.records += [len(said)] if block else []
            session = [
                text for one in questions for text in records(shown_for(memory, one.text, "all"))
            ]
            run.twice += sum(count - 1 for count in Counter(session).values())
    return run


@contextmanager
def state() -> Iterator[None]:
    """Keep what hooks note, such as what was shown, in a folder of its own."""
    with TemporaryDirectory(prefix="memento-hooks-") as folder:
        before = os.environ.get("XDG_STATE_HOME")
        os.environ["XDG_STATE_HOME"] = folder
        try:
            yield
        finally:
            del os.environ["XDG_STATE_HOME"]
            os.environ |= {} if before is None else {"XDG_STATE_HOME": before}


def unanswered() -> list[str]:
    """Return the inputs of the baker that nothing answers."""
    life = json.loads((ROOT / "benchmarks" / "sets" / "life_baker.json").read_text("utf-8"))
    return [one["text"] for one in life["questions"] if not one["answers"]]


def shown_for(memory: MemoryManager, prompt: str, session: str | None = None) -> str:
    """Return the block that the model gets beside a prompt; without a session, in a new one."""
    given = {"session_id": session or uuid4().hex, "cwd": "/", "prompt": prompt}
    said = hook.show(memory, AGENT, EVENT, given)
    return json.loads(said)["hookSpecificOutput"]["additionalContext"] if said else ""


def records(block: str) -> list[str]:
    """Return the texts that a block shows."""
    return [json.loads(line)["text"] for line in block.splitlines() if line.startswith("{")]


def shows(text: str, memory: str) -> bool:
    """Return whether a text is a memory or passages of it."""
    parts = [part.strip() for part in text.split("…")]
    return text == memory or (len(parts) > 1 and all(part in memory for part in parts))


def of_file(
    name: str, conversations: Sequence[Conversation], options: argparse.Namespace
) -> list[Figure]:
    """Return what was measured beside its floors; what is found has them on LoCoMo alone.

    People of BEAM ask for what others ask for too, programs among it, and name nobody: there a
    prompt of somebody else is not always off topic.
    """
    run = measure(conversations, options)
    off = [shown for prompts in run.off.values() for shown in prompts]
    right = [shown for answers in run.right.values() for shown in answers]
    most, least = (5, 80) if name == "locomo" else (None, None)
    rows = [
        Figure("off topic, shown anything", share(off), most, None, "%"),
        *(Figure(f"  {kind}", share(shown), unit="%") for kind, shown in run.off.items() if shown),
        Figure("answerable, shown an answer", share(right), least, None, "%", higher=True),
        *(Figure(f"  {kind}", share(shown), unit="%") for kind, shown in sorted(run.right.items())),
    ]
    if run.tokens:
        rows += [
            Figure("tokens of a block, median", median(run.tokens), 250, None, ""),
            Figure("tokens of a block, most", max(run.tokens), hook.TOKENS, None, ""),
            Figure("memories in a block, most", max(run.records), hook.MOST, None, ""),
            Figure("memories in a block, mean", sum(run.records) / len(run.records), unit=""),
        ]
    return [*rows, Figure("shown twice in a session", run.twice, 0, None, "")]


def share(values: Sequence[bool]) -> float:
    """Return the share that is true, in per cent."""
    return 100 * sum(values) / len(values)


def swept(files: Sequence[tuple[str, Sequence[Conversation]]], options: argparse.Namespace) -> None:
    """Print the figures that follow from each value of ``NEAR``."""
    rows = []
    for near in NEARS:
        hook.NEAR = near
        for name, conversations in files:
            run = measure(conversations, options)
            off = [shown for prompts in run.off.values() for shown in prompts]
            right = [shown for answers in run.right.values() for shown in answers]
            mean = sum(run.records) / max(1, len(run.records))
            cells = f"{share(off):.1f}", f"{share(right):.1f}", f"{mean:.2f}"
            rows.append([name, f"{near:g}", *cells, str(median(run.tokens or [0]))])
    print(table(["file", "NEAR", "off topic, %", "answers, %", "memories", "tokens"], rows))


def client() -> list[Figure]:
    """Measure the process that an agent starts, in a folder of its own."""
    with TemporaryDirectory(prefix="memento-hooks-") as folder, chdir(folder):
        return client_in(Path(folder))


def client_in(folder: Path) -> list[Figure]:
    """Measure it in the present folder."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ.pop("MEMENTO_ROOT", None)
    for name in ("STATE_HOME", "RUNTIME_DIR", "DATA_HOME"):
        (folder / name).mkdir(0o700)
        os.environ[f"XDG_{name}"] = str(folder / name)
    root = folder / "DATA_HOME" / "memento"
    with MemoryManager(root) as memory:
        memory.add_many([f"The service {n} listens on port {7000 + n}" for n in range(1_000)])
        memory.flush(wait=True)
    words = [AGENT, EVENT]  # what set-up writes: the store is the user's own
    told = [event(folder, number) for number in range(ROUNDS + STILL)]
    run_hook([AGENT, "SessionStart"], told[0])  # it starts the resident process
    time.sleep(2)
    warm = [run_hook(words, one) for one in told[:3]]
    idle = [ended([sys.executable, "-c", "pass"], b"").cpu for _ in range(RUNS)]
    done = [run_hook(words, one) for one in told[:ROUNDS]]
    cpu = sorted(one.cpu for one in done)
    wall = [one.wall for one in done]
    resident = call(root, {"call": "status"}, seconds=10)["pid"]
    os.kill(resident, signal.SIGSTOP)
    still = [run_hook(words, one) for one in told[ROUNDS:]]
    os.kill(resident, signal.SIGCONT)
    bad = [run_hook(*one) for one in bad_events(str(root))]
    call(root, {"call": "stop"}, seconds=30)
    everyone = [*warm, *done, *still, *bad]
    return [
        Figure("CPU of an empty Python, median", 1e3 * median(idle), unit="ms"),
        Figure("CPU of a hook, least", 1e3 * cpu[0], None, 20, "ms"),
        Figure("CPU of a hook, median", 1e3 * median(cpu), None, 20, "ms"),
        Figure("CPU of a hook, beside an empty Python", median(cpu) / median(idle), 2.2, 1.7),
        Figure("round trip, p50", 1e3 * median(wall), unit="ms"),
        Figure("round trip, p95", 1e3 * percentile(wall, 0.95), 150, 60, "ms"),
        Figure("process stands still: longest", max(one.wall for one in still), LONGEST, None, "s"),
        Figure("bad events: longest", max(one.wall for one in bad), LONGEST, None, "s"),
        Figure(
            "ends other than with 0",
            sum(one.failed for one in everyone),
            0,
            None,
            "",
            note=f"of {len(everyone):,}",
        ),
    ]


def event(folder: Path, number: int) -> bytes:
    """Write a message of the user, in a session of its own."""
    said = f"Which port does the service {number} use?"
    return json.dumps({"session_id": f"s{number}", "cwd": str(folder), "prompt": said}).encode()


class Ended(NamedTuple):
    """Seconds that a process took, on the wall and of CPU, and whether it failed or complained."""

    wall: float
    cpu: float
    failed: bool


def run_hook(words: Sequence[str], told: bytes) -> Ended:
    """Run ``memento hook`` as an agent does."""
    return ended([sys.executable, "-P", "-m", "memento", "hook", *words], told)


def ended(command: Sequence[str], told: bytes) -> Ended:
    """Run a process to its end."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, input=told, check=False, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Ended(time.perf_counter() - began, cpu, done.returncode != 0 or bool(done.stderr))


def bad_events(root: str) -> Iterator[tuple[list[str], bytes]]:
    """Yield the words and the input of events as no agent should send them, in random order."""
    dice = random.Random(0)
    fields = ("session_id", "cwd", "prompt", "source", "prompt_id", "workspace_roots")
    values: tuple[Any, ...] = (
        *(None, 7, -0.5, True, [], [None], {}, {"a": [1]}),
        *("", "\x00", "\ud800", "x" * 10_000),
    )
    whole = json.dumps({"session_id": "s", "cwd": "/", "prompt": "What was decided?"}).encode()
    agents, events = (AGENT, "codex", "nobody", ""), (EVENT, "Stop", "PreCompact", "Nothing", "")
    for _ in range(BAD):
        words = [dice.choice(agents), dice.choice(events), "--root", root]
        strange = {one: dice.choice(values) for one in dice.sample(fields, 3)}
        told = dice.choice((
            whole[: dice.randrange(len(whole))],
            bytes(dice.randrange(256) for _ in range(50)),
            dice.choice((b"", b"[]", b"7", b"null", b'"text"', b"[" * 100_000, b" " * (4 << 20))),
            json.dumps(strange).encode(),
            json.dumps({**json.loads(whole), **strange}).encode(),
        ))  # fmt: skip
        yield words[: dice.choice((0, 1, 3, 4, 4, 4, 4))], told


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "files", nargs="*", type=Path, metavar="FILE", help="LoCoMo, BEAM, LongMemEval"
    )
    parser.add_argument("--limit", type=int, help="only the first N conversations of a file")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the filled stores there")
    parser.add_argument("--sweep", action="store_true", help="the figures by hook.NEAR")
    parser.add_argument("--client", action="store_true", help="the process that an agent starts")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the result there")
    options = parser.parse_args(arguments)
    if not options.files and not options.client:
        parser.error("name a file, or --client")
    loaded = [load(path) for path in options.files]
    files = [(one.name, one.conversations[: options.limit]) for one in loaded]
    if options.sweep:
        swept(files, options)
        return 0
    groups: dict[str, Callable[[], list[Figure]]] = {
        name: partial(of_file, name, some, options) for name, some in files
    }
    if options.client:
        groups["client"] = client
    found, failed = measured(groups)
    write_json(options.json, {**found, "failed": failed})
    missed = any(row.verdict == "MISSED" for rows in found.values() for row in rows)
    return int(missed or bool(failed))


if __name__ == "__main__":
    sys.exit(main())
