"""Draw the README's picture of ``memento demo``: the same scenes, with a clock that stands still.

    python scripts/demo_svg.py

Writes ``docs/demo.svg``. Nothing in it depends on the machine or the day, so a run that changes
the file shows that the demo's output has changed.
"""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from memento import MemoryManager, ingest
from memento.cli import demo
from memento.cli.demo import story
from memento.testing import ManualClock

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "demo.svg"
WIDTH = 96
ASKED = (1, 3, 5)
"""The questions of the story that the picture has room for."""
FORMAT = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
"""Rich's own format without its web fonts: a picture that loads nothing."""


def played() -> Console:
    """Play the scenes in a temporary store; returns the console that recorded them."""
    out = Console(
        record=True, width=WIDTH, file=StringIO(), force_terminal=True, color_system="truecolor"
    )
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
    title = next(iter(demo.LESSONS))
    demo.heading(out, title)
    with TemporaryDirectory() as folder, MemoryManager(folder, clock=clock) as memory:
        demo.LESSONS[title](memory, lambda text: demo.line(out, text))
    return out


def drawn(console: Console) -> str:
    """Return the recorded scenes as an SVG."""
    svg = console.export_svg(title="memento demo", code_format=FORMAT, unique_id="demo")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def texts(svg: str) -> str:
    """Return the words of a picture, without its layout."""
    found = re.findall(r"<text[^>]*>(.*?)</text>", svg)
    return " ".join(html.unescape(" ".join(found)).replace("\xa0", " ").split())


def main() -> None:
    """Write the picture."""
    PICTURE.write_text(drawn(played()), encoding="utf-8")


if __name__ == "__main__":
    main()
