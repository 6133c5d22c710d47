"""Draw the terminal of the README and of the how-to for coding agents; its clock stands still.

    python scripts/demo_svg.py

Writes ``docs/demo.svg`` and ``docs/agents.svg``. Nothing in them depends on the machine or the day,
so a run that changes a file shows that the output has changed.
"""

from __future__ import annotations

import html
import json
import os
import re
from contextlib import redirect_stdout
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from memento import MemoryManager, ingest
from memento.agents.hook import answer
from memento.cli import demo
from memento.cli import main as memento
from memento.cli.demo import story
from memento.testing import ManualClock

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "demo.svg"
AGENTS = PICTURE.with_name("agents.svg")
WIDTH = 96
ASKED = (1, 3, 5)
"""The questions of the story that the picture has room for."""
FORMAT = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
"""Rich's own format without its web fonts: a picture that loads nothing."""


def _console() -> Console:
    return Console(
        record=True, width=WIDTH, file=StringIO(), force_terminal=True, color_system="truecolor"
    )


def set_up() -> Console:
    """Set up two agents in a temporary home, and let one be told and asked."""
    out = _console()
    clock = ManualClock(datetime(2025, 6, 1, 9, tzinfo=UTC))
    with TemporaryDirectory() as folder:
        home = Path(folder, "ada")
        for name in (".claude", ".codex", "shop"):
            (home / name).mkdir(parents=True)
        before, here = dict(os.environ), Path.cwd()
        os.environ.update(HOME=str(home), PATH="", XDG_STATE_HOME=str(home / "state"))
        os.chdir(home / "shop")
        try:
            with redirect_stdout(StringIO()) as said:
                memento(["init", "--yes", "--embedder", "none", "--root", str(home / "store")])
            _say(out, "$ memento init --yes", *_plain(said.getvalue(), home))
            with MemoryManager(home / "store", clock=clock, embedder=None) as memory:
                for session, prompt in (
                    ("monday", "We decided that the billing service listens on port 5042."),
                    ("tuesday", "Which port does the billing service listen on?"),
                ):
                    given = {"session_id": session, "cwd": str(home / "shop"), "prompt": prompt}
                    text = answer(memory, "claude-code", "UserPromptSubmit", given)
                    _say(out, f"\n{session} > {prompt}", *_shown(text))
        finally:
            os.chdir(here)
            os.environ.clear()
            os.environ.update(before)
    return out


def _say(out: Console, typed: str, *lines: str) -> None:
    out.print(Text(typed, "bold"))
    for line in lines:
        out.print(Text(line, overflow="ellipsis", no_wrap=True))


def _plain(said: str, home: Path) -> list[str]:
    """Return what ``init`` prints, with the paths that a user has."""
    named = said.replace(str(home / "store"), "~/.local/share/memento").replace(str(home), "~")
    return named.splitlines()


def _shown(text: str) -> list[str]:
    """Return what the model is given beside the message, with a tag that stays."""
    if not text:
        return ["  (remembered)"]
    block = json.loads(text)["hookSpecificOutput"]["additionalContext"]
    lines = re.sub(r"-[0-9a-f]{16}>", "-9f3c2a71d05be846>", block).splitlines()
    return ["  the model is given:", *(f"  {line}" for line in lines)]


def played() -> Console:
    """Play the scenes in a temporary store; returns the console that recorded them."""
    out = _console()
    clock = ManualClock(datetime(2025, 6, 1, 9, tzinfo=UTC))
    out.print(Text("$ memento demo", "bold"))
    with (
        TemporaryDirectory() as folder,
        MemoryManager(folder, namespace=demo.NAMESPACE, clock=clock) as memory,
    ):
        memory.add_many(ingest.read(story.CONVERSATION))
        memory.add_many([*story.NOTES, story.BEFORE])
        memory.flush(wait=True)
        demo.heading(out, "Ask")
        for number in ASKED:
            demo.ask(out, memory, story.QUESTIONS[number].text)
        demo.change(out, memory)
    demo.heading(out, demo.LEARNS)
    with TemporaryDirectory() as folder, MemoryManager(folder, clock=clock) as memory:
        demo.learn(memory, lambda text: demo.line(out, text))
    return out


def drawn(console: Console, title: str = "memento demo") -> str:
    """Return the recorded scenes as an SVG."""
    svg = console.export_svg(title=title, code_format=FORMAT, unique_id="demo")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def texts(svg: str) -> str:
    """Return the words of a picture, without its layout."""
    found = re.findall(r"<text[^>]*>(.*?)</text>", svg)
    return " ".join(html.unescape(" ".join(found)).replace("\xa0", " ").split())


def main() -> None:
    """Write the pictures."""
    PICTURE.write_text(drawn(played()), encoding="utf-8")
    AGENTS.write_text(drawn(set_up(), "memento init"), encoding="utf-8")


if __name__ == "__main__":
    main()
