"""Print what a reader of memento has to hold in mind: lines, files and functions of each room.

    python scripts/size.py            a table of the rooms, and the functions' lengths
    python scripts/size.py --trace    module switches of one add and of one retrieve as well

A room is a folder of ``memento/``; its files in no folder are the room ``memento``. Code is counted
without blank lines, comments and docstrings. A function's length is from its ``def`` to its last
line, docstring included. Module switches are counted along the calls in their order: a reader who
follows them opens another file that often.
"""

from __future__ import annotations

import argparse
import ast
import io
import sys
import tempfile
import tokenize
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("memento", "integrations")
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass
class Size:
    """The size of some files.

    Attributes:
        lines: All lines.
        code: Lines that hold code.
        docs: Lines of docstrings.
        files: Number of files.
        functions: Length of each function, lines.
    """

    lines: int = 0
    code: int = 0
    docs: int = 0
    files: int = 0
    functions: list[int] = field(default_factory=list)

    def add(self, other: Size) -> None:
        """Add the size of other files."""
        self.lines += other.lines
        self.code += other.code
        self.docs += other.docs
        self.files += other.files
        self.functions += other.functions


def measure(source: str) -> Size:
    r"""Measure the source text of one file.

    >>> measure('def f():\n    "Say."\n\n    return 1  # one\n')
    Size(lines=4, code=2, docs=1, files=1, functions=[4])
    """
    tree = ast.parse(source)
    docs: set[int] = set()
    functions: list[int] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            functions.append((node.end_lineno or node.lineno) - node.lineno + 1)
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            docs.update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    code = set(_lines_of_code(source)) - docs
    return Size(len(source.splitlines()), len(code), len(docs), 1, functions)


def _lines_of_code(source: str) -> Iterator[int]:
    silent = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in silent:
            yield from range(token.start[0], token.end[0] + 1)


def rooms() -> dict[str, Size]:
    """Measure each room, those of the adapters included."""
    found: dict[str, Size] = {}
    for package in PACKAGES:
        top = ROOT / package
        for path in sorted(top.rglob("*.py")):
            parts = path.relative_to(top).parts
            room = "/".join((package, *parts[:-1][: 1 if package == "memento" else 2]))
            found.setdefault(room, Size()).add(measure(path.read_text(encoding="utf-8")))
    return found


def visited(work: Callable[[], Any]) -> list[tuple[str, str]]:
    """List the calls of some work in memento, in order: the module, and the function."""
    calls: list[tuple[str, str]] = []
    package = str(ROOT / "memento")

    def watch(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(package) and code.co_name[0] != "<":
            module = code.co_filename.removeprefix(package).removesuffix(".py")
            module = module.removesuffix("/__init__").strip("/").replace("/", ".")
            calls.append((module, code.co_qualname))

    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def traced() -> dict[str, list[tuple[str, str]]]:
    """List the calls of one add and one retrieve in a store of three memories; see `visited`."""
    from memento import MemoryManager  # noqa: PLC0415 - the table needs no store

    with tempfile.TemporaryDirectory() as folder, MemoryManager(folder) as memory:
        for number in range(3):
            memory.add(f"Rami told Ada about the {number}th ferry to Porto", "long")
        memory.flush(wait=True)
        memory.retrieve("What did Rami tell?")
        return {
            "add": visited(lambda: memory.add("The taxi to the ferry comes at eight", "medium")),
            "retrieve": visited(lambda: memory.retrieve("Which ferry goes to Porto", 5)),
        }


def percentile(values: Iterable[int], share: float) -> int:
    """Return the value that a share of all do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trace", action="store_true", help="count module switches as well")
    asked = parser.parse_args()
    print(f"{'room':34} {'lines':>7} {'code':>7} {'docs':>6} {'files':>6} {'functions':>10}")
    both = {package: Size() for package in PACKAGES}
    for room, size in rooms().items():
        both[room.partition("/")[0]].add(size)
        _row(room, size)
    everything = Size()
    for package, size in both.items():
        _row(f"all of {package}", size)
        everything.add(size)
    _row("all", everything)
    lengths = both["memento"].functions
    print(
        f"\nfunctions of memento: median {percentile(lengths, 0.5)}, 95th percentile"
        f" {percentile(lengths, 0.95)}, longest {max(lengths)} lines"
    )
    if asked.trace:
        for verb, calls in traced().items():
            count = sum(one != other for (one, _), (other, _) in pairwise(calls))
            print(f"module switches of one {verb}: {count}")


def _row(name: str, size: Size) -> None:
    print(
        f"{name:34} {size.lines:7,} {size.code:7,} {size.docs:6,} {size.files:6,}"
        f" {len(size.functions):10,}"
    )


if __name__ == "__main__":
    main()
