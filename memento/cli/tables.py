"""Lay out memento's values for the command line: tables, progress bars and JSON.

Stored text may come from anywhere, so all output goes through ``plain``, which replaces control
characters.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, TextIO, cast

from rich.cells import cell_len
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from memento.base.display import one_line, plain, spelt
from memento.cli.local import moment, short
from memento.types import BLOCK

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memento.types import Finding, Hit, Memory, Related, Retrieval, SlotValue, Version
    from memento.upkeep.lineage import Stats

PIPE_WIDTH = 100
"""Columns of a table if the output is not a terminal."""

LABEL = 20
"""Maximum number of characters in a key or of tags in a line of a list; they are cut, the text is
not."""

WHO = 11
"""Characters for a speaker's name in a line of facts."""

LINKS = {
    ("supersedes", True): "supersedes",
    ("supersedes", False): "superseded by",
    ("proposes", True): "supersedes, once approved",
    ("proposes", False): "superseded by, once that is approved",
}
"""Each relation of a link, and whether it leads away from the memory shown, in words."""

STYLES = {"short": "cyan", "medium": "yellow", "long": "green"}
"""Colour of each tier."""


def console(*, error: bool = False) -> Console:
    """Return a console as wide as the terminal, or ``PIPE_WIDTH`` columns without a terminal."""
    stream = sys.stderr if error else sys.stdout
    width = None if stream.isatty() else PIPE_WIDTH
    file = cast("IO[str]", stream if stream.isatty() else _Trimmed(stream))
    return Console(file=file, width=width, highlight=False, soft_wrap=False)


class _Trimmed:
    """A stream that drops the trailing spaces that tables have."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write text without trailing spaces; Rich writes whole lines."""
        return self._stream.write("\n".join(line.rstrip(" ") for line in text.split("\n")))


def hits(found: Sequence[Hit]) -> Group:
    """Lay out hits, best first: a line of facts and the text below it."""
    entries = [
        _entry(f"{rank:>2}  {hit.score:.2f}   ", hit.memory, hit.passage)
        for rank, hit in enumerate(found, start=1)
    ]
    return Group(_header(" #  score  "), *entries)


def explained(found: Retrieval) -> Group:
    """Lay out hits with the evidence for each, and why it ranks before the next one."""
    blocks: list[Any] = [_header(" #  score  ")]
    for rank, hit in enumerate(found, start=1):
        told = Text(plain(hit.explain(*found[rank : rank + 1])))
        told.highlight_regex(f"{BLOCK}+", "blue")
        told.highlight_regex(r"\A.*", "dim")
        entry = _entry(f"{rank:>2}  {hit.score:.2f}   ", hit.memory, hit.passage)
        blocks += [entry, Padding(told, (0, 0, 1, 4), expand=False)]
    blocks.append(Text(plain(found.sure()), "dim"))
    return Group(*blocks)


def show(found: RenderableType) -> None:
    """Print a table; if it is longer than the terminal, in the user's pager."""
    out = console()
    if not (out.is_terminal and sys.stdin.isatty()):
        out.print(found)
        return
    with out.capture() as drawn:
        out.print(found)
    text = drawn.get()
    if text.count("\n") < out.height:
        out.file.write(text)
        return
    os.environ.setdefault("LESS", "FRX")  # colours; no pager for one page
    import pydoc  # noqa: PLC0415 - only a screen that is too small needs it

    pydoc.pager(text)


def rows(cells: Sequence[Sequence[str]]) -> Table:
    """Lay out rows of cells; the last cell, the text, is wrapped and never cut."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    *columns, _ = zip(*cells, strict=True)
    for number, column in enumerate(columns):
        width = min(max(map(cell_len, column)), max(LABEL, 36 * (number == 0)))
        if width:
            table.add_column(width=width, no_wrap=True, overflow="ellipsis", style="dim")
    table.add_column(overflow="fold")
    shown = [number for number, column in enumerate(columns) if any(column)]
    for row in cells:
        table.add_row(*(Text(row[number]) for number in shown), Text(row[-1]))
    return table


def memory(found: Memory) -> Table:
    """Lay out one memory: every field that is set, and its text last."""
    table = _table("", "", header=False)
    said = found.to_dict()
    text = said.pop("text")
    for name, value in said.items():
        if words := spelt(value):
            table.add_row(name, Text(plain(words)))
    table.add_row("text", Text(plain(text)))
    return table


def whole(found: Memory, past: Iterable[Version], linked: Sequence[Related]) -> Group:
    """Lay out all about one memory: its fields, its states, and its links."""
    parts: list[Any] = [memory(found), Text(), Text("history", "dim"), versions(past)]
    if linked:
        parts += [Text(), Text("related", "dim"), *map(_link, linked)]
    return Group(*parts)


def _link(one: Related) -> Group:
    relation = LINKS.get((one.relation, one.outgoing), plain(one.relation))
    words = f"{relation} ({one.memory.status})"
    return Group(Text(words), Padding(_entry("", one.memory), (0, 0, 0, 2), expand=False))


def versions(found: Iterable[Version]) -> Group:
    """Lay out the states of one memory: a line of facts, and the text below it."""
    return Group(*(_state(one) for one in found))


def _state(one: Version) -> Group:
    by = "" if one.by is None else f" by {one.by}"
    until = f"until {moment(one.until)}  {one.reason}{by}" if one.until else "present"
    facts = f"{one.version:>3}  {one.status:<11} {one.tier:<6}  {until}"
    return _block(facts, one.text)


def slot_values(found: Iterable[SlotValue]) -> Group:
    """Lay out the values of a slot: a line of facts, and the text below it."""
    return Group(*(_value(one) for one in found))


def _value(one: SlotValue) -> Group:
    until = f" to {moment(one.until)}" if one.until else ""
    facts = f"{short(one.memory.id)}  from {moment(one.since)}{until}  {one.reason}"
    return _block(facts, one.memory.text)


def _block(facts: str, text: str) -> Group:
    return Group(Text(facts, "dim"), Padding(Text(plain(text)), (0, 0, 0, 4), expand=False))


def stats(found: Stats, where: str) -> Group:
    """Lay out the contents of a namespace and the backlog of the indexes."""
    table = _table("", "", header=False)
    rows: Mapping[str, object] = {
        "memories": found.memories,
        **{f"  {tier}": count for tier, count in found.tiers.items()},
        **{status: count for status, count in found.hidden.items() if count},
        "not in semantic search yet": found.backlog.get("embed", 0),
        "not in the vector index yet": sum(found.backlog.values()) - found.backlog.get("embed", 0),
        **{f"vectors of {name}": count for name, count in found.embedders.items()},
        "ledger": f"{found.ledger_bytes / 1e6:.1f} MB",
        **{f"problem: {part}": why for part, why in found.trouble.items()},
    }
    for name, value in rows.items():
        table.add_row(Text(plain(name)), Text(plain(str(value))))
    return Group(Text(plain(where), "dim", overflow="fold"), table)


def findings(found: Iterable[Finding]) -> Table:
    """Lay out the findings of ``doctor``."""
    table = _table("", "check", "found", header=False)
    for finding in found:
        mark = Text("ok", "green") if finding.ok else Text("NOT OK", "bold red")
        mended = " (repaired)" if finding.repaired else ""
        table.add_row(mark, Text(plain(finding.check)), Text(plain(finding.detail) + mended))
    return table


class Bar:
    """A progress bar on stderr, drawn only on a terminal."""

    def __init__(self, what: str, total: int | None = None) -> None:
        from rich import progress  # noqa: PLC0415 - used by few commands

        self._progress = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeRemainingColumn(),
            console=console(error=True),
            disable=not sys.stderr.isatty(),
            transient=True,
        )
        self._task = self._progress.add_task(what, total=total)

    def to(self, done: int, total: int | None = None) -> None:
        """Show how many are done, and the total if that has changed."""
        self._progress.update(self._task, completed=done, total=total)

    @contextmanager
    def drawn(self) -> Iterator[Bar]:
        """Draw the bar while the block runs."""
        with self._progress:
            yield self


def _table(*columns: str, header: bool = True) -> Table:
    table = Table(box=None, show_header=header, header_style="dim", padding=(0, 2, 0, 0))
    for name in columns[:-1]:
        table.add_column(name, no_wrap=True, justify="right" if name == "score" else "left")
    table.add_column(columns[-1], overflow="fold")
    return table


def _header(lead: str = "") -> Text:
    return Text(f"{lead}tier    date        {'who':<{WHO}}  id        key", "dim")


def _entry(lead: str, memory: Memory, passage: str | None = None) -> Group:
    """Lay out one memory: a line of facts that fits 80 columns, and its whole text below it."""
    who = one_line(memory.actor or memory.role or memory.source.kind.value)[:WHO]
    facts = Text(lead)
    facts.append(f"{memory.tier:<6}", STYLES[memory.tier])
    facts.append(f"  {moment(memory.occurred_at)[:10]}  {who:<{WHO}}  ")
    facts.append(short(memory.id), "dim")
    if memory.key is not None:
        facts.append(f"  {one_line(memory.key)[:LABEL]}")
    return Group(facts, Padding(Text(plain(passage or memory.text)), (0, 0, 0, 4), expand=False))
