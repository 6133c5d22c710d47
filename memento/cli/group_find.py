"""Commands that find memories and show them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from csv import writer
from datetime import datetime
from enum import StrEnum
from io import StringIO
from typing import Annotated, Any

import typer

from memento import MemoryManager
from memento.base.display import data, one_line, plain, spelt
from memento.check import PROMPT_TOKENS
from memento.cli.options import (
    ID,
    Filters,
    KnownAt,
    Query,
    SlotScope,
    argument,
    command,
    count_of,
    moment_option,
    option,
)
from memento.cli.output import Shown, elsewhere, id_of, memories, one_memory, rows, warn
from memento.cli.store import Store
from memento.errors import InvalidInput, NotFound
from memento.types import Memory, Status, Tier

app = typer.Typer()


AsOf = Annotated[datetime | None, moment_option("--as-of", "Show the value at this time.")]


class Match(StrEnum):
    """How ``retrieve`` treats names in the query."""

    AUTO = "auto"
    NAMES = "names"
    TEXT = "text"


@command(
    app,
    'memento retrieve "what can Rami not eat?"',
    'memento retrieve "release plan" -k 3 --since 2025-05-01 --explain',
    "memento retrieve deadline --tier long --json",
    "memento retrieve deadline --actor Ruth --where city=Utrecht",
    'memento retrieve "who leads the team?" --as-of 2025-03-01',
)
def retrieve(
    memory: MemoryManager,
    query: Query,
    *,
    k: str = option(
        "-n",
        "-k",
        "--count",
        "Maximum number of hits; auto chooses the number based on the query.",
        default="5",
        metavar="N",
    ),
    match: Match = option(
        "--match",
        "Keys and aliases in the query: prefer (auto), require (names) or ignore (text).",
        default=Match.AUTO,
    ),
    filters: Filters,
    min_score: float = option("--min-score", "Minimum score of a hit, 0 to 1.", default=0.0),
    min_confidence: float = option(
        "--min-confidence", "Return nothing if the confidence is below this, 0 to 1.", default=0.0
    ),
    cutoff: float = option(
        "--cutoff", "Drop hits below this fraction of the best score, 0 to 1.", default=0.0
    ),
    tokens: int | None = option("--tokens", "Maximum total number of tokens in the hits."),
    superseded: bool = option("--superseded", "Include superseded memories."),
    archived: bool = option("--archived", "Include archived memories."),
    quarantined: bool = option("--quarantined", "Include quarantined memories."),
    own: bool = option("--own", "Exclude memories shared by other namespaces."),
    explain: bool = option("--explain", "Show why each hit was found."),
) -> Shown:
    """Find the memories relevant to QUERY, best first.

    The exit status is 0 even if nothing is found.
    """
    found = memory.retrieve(
        " ".join(query),
        count_of(k),
        match=match.value,
        min_score=min_score,
        min_confidence=min_confidence,
        cutoff=cutoff,
        tokens=tokens,
        include_superseded=superseded,
        include_archived=archived,
        include_quarantined=quarantined,
        shared=not own,
        **filters,
    )
    for part, why in found.missing.items():
        warn(f"{part} tier not searched: {why}" if part in tuple(Tier) else f"{part}: {why}")
    if explain:
        return Shown(found, lambda tables: tables.explained(found))
    hits = (lambda tables: tables.hits(found)) if found else ()
    here = "" if found else elsewhere(memory).removeprefix("nothing here")
    return Shown(found, hits, empty=f"nothing found{here}")


@command(
    app,
    'memento prompt "what may Rami eat?"',
    'memento prompt "plans for the release" --tokens 800 --scope project/x',
)
def prompt(
    memory: MemoryManager,
    query: Query,
    *,
    k: str = option(
        "-n",
        "-k",
        "--count",
        "Maximum number of memories; auto chooses the number based on the query.",
        default="auto",
        metavar="N",
    ),
    tokens: int = option(
        "--tokens", "Maximum number of tokens in the block; 0 for no limit.", default=PROMPT_TOKENS
    ),
    ids: bool = option("--ids", "Show the id of each memory."),
    filters: Filters,
) -> Shown:
    """Print memories relevant to QUERY for use in a prompt.

    The output is a block that you can paste into any prompt; if nothing is found, it is empty.
    Stored text cannot break out of the block. Long memories are shortened to the relevant passage.
    """
    block = memory.prompt(
        " ".join(query),
        count_of(k),
        tokens=tokens or None,
        show_ids=ids,
        **filters,
    )
    return Shown({"prompt": block}, [block] if block else (), empty="")


COLUMNS = ("id", "occurred_at", "tier", "kind", "status", "scope", "key", "tags", "text")
"""Fields of a memory that ``list --csv`` writes if none are named."""


def columns_of(text: str) -> list[str]:
    """Parse a comma-separated list of a memory's fields."""
    names, known = text.split(","), Memory.__dataclass_fields__
    for name in names:
        if name not in known:
            raise ValueError(f"{name!r:.60} is not one of: {', '.join(known)}")
    return names


@command(
    app,
    "memento list --tier long",
    "memento list --session standup --newest-first -n 5",
    "memento list --since 7d | grep deploy",
    "memento list --key user/editor --status superseded",
    'memento list --where city=Utrecht --where \'{"price": {"$lt": 9}}\'',
    "memento list --columns id,key,text --csv > memories.csv",
    name="list",
)
def list_(
    memory: MemoryManager,
    *,
    filters: Filters,
    status: list[Status] | None = option("--status", "Only memories with this status; repeatable."),
    newest_first: bool = option("--newest-first", "--reverse", "List the newest first."),
    limit: int = option("-n", "--limit", "Maximum number of memories.", default=100),
    offset: int = option("--offset", "Number of memories to skip.", default=0),
    columns: Any = option(
        "--columns",
        "Fields to print, such as id,key.",
        default=None,
        parser=columns_of,
        metavar="NAMES",
    ),
    csv: bool = option("--csv", "Print CSV with a header line."),
    nl: bool = option("--nl", "Print one JSON object per line."),
) -> Shown:
    """List memories, one per line, in order of arrival.

    Each line shows the end of the id, the date, the key or tags, and the text. Every command except
    erase accepts the end of an id instead of the whole id. When the output is piped, each memory is
    printed on a single line, regardless of its length.
    """
    found = memory.list(
        status=status or None, newest_first=newest_first, limit=limit, offset=offset, **filters
    )
    if csv and nl:
        raise InvalidInput("--csv", "cannot be combined with --nl")
    names = columns or COLUMNS
    if nl:
        few = ({name: one.to_dict()[name] for name in names} for one in found)
        lines = (json.dumps(data(one), ensure_ascii=False) for one in (few if columns else found))
        return Shown({"memories": found}, lines, empty="", form="--nl")
    if csv:
        return Shown({"memories": found}, _csv(found, names), empty="", form="--csv")
    if columns:
        cells = [[one_line(spelt(one.to_dict()[name])) or "-" for name in names] for one in found]
        return Shown({"memories": found}, rows(cells), empty="")
    return memories(found, elsewhere(memory) if not found else "")


def _csv(found: Sequence[Memory], names: Sequence[str]) -> Iterator[str]:
    """Yield lines of CSV; characters that could harm a terminal are replaced only on one."""
    shown = sys.stdout.isatty()
    cells = ([spelt(one.to_dict()[name]) for name in names] for one in found)
    for row in (names, *cells):
        line = StringIO()
        writer(line, lineterminator="").writerow(map(plain, row) if shown else row)
        yield line.getvalue()


@command(
    app,
    f"memento show {ID}",
    "memento show user/editor",
    "memento show user/editor --as-of 2025-05-01",
    "memento show door --all --json",
)
def show(
    memory: MemoryManager,
    id: str = argument("Memory id, part of an id, or key.", metavar="ID|KEY"),
    *,
    everything: bool = option(
        "--all", "Include related memories that are forgotten or quarantined."
    ),
    scope: SlotScope = "",
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Shown:
    """Show everything about a memory.

    The output includes the memory's fields, earlier states and related memories, even if the memory
    is not active. For a key, it shows the current value, or the memory that was changed last if
    there is none; with --as-of or --known-at, an earlier value. If there is no such memory, the
    exit status is 3.
    """
    found = memory.value(id, scope=scope, as_of=as_of, known_at=known_at)
    if found is None and (as_of or known_at or scope):
        raise NoValue(id)
    found = found or memory.get(id_of(memory, id, *Status))
    past = memory.changes.history(found.id)
    linked = memory.insight.related(found.id, status=list(Status) if everything else None)
    told = {"memory": found, "history": past, "related": linked}
    return Shown(told, lambda tables: tables.whole(found, past, linked))


@command(app, "memento value user/editor", "memento value user/editor --as-of 2025-05-01")
def value(
    memory: MemoryManager,
    key: str = argument("The key, such as user/editor."),
    *,
    scope: SlotScope = "",
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Shown:
    """Show the current value of a key on one line.

    The exit status is 3 if the key has no value.
    """
    found = memory.value(key, scope=scope, as_of=as_of, known_at=known_at)
    if found is None:
        raise NoValue(key)
    return one_memory(found)


class NoValue(NotFound):
    """The key has no value."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.args = (f"no value for the key {key!r}; `memento stats --by key` lists the keys",)


@command(
    app,
    f"memento history {ID}",
    f"memento history {ID} --chain",
    "memento history --key user/editor",
)
def history(
    context: typer.Context,
    store: Store,
    id: str | None = argument("Memory id, part of an id, or key.", metavar="ID|KEY"),
    *,
    key: str | None = option("--key", "Show the values of this key instead."),
    scope: SlotScope = "",
    chain: bool = option("--chain", "Include memories that it superseded or that superseded it."),
) -> Shown:
    """Show every state of a memory, or every value of a key.

    The oldest state comes first.
    """
    if (id is None) == (key is None) or (key is None and scope) or (id is None and chain):
        raise typer.BadParameter(
            "specify either an id, or --key and optionally --scope", ctx=context
        )
    with store.open() as memory:
        if key is not None:
            values = memory.slots.history(key, scope=scope)
            shown = (lambda tables: tables.slot_values(values)) if values else ()
            return Shown({"values": values}, shown)
        assert id is not None  # noqa: S101 - checked above
        states = memory.changes.history(id_of(memory, id), chain=chain)
        return Shown({"states": states}, lambda tables: tables.versions(states))
