"""The tables and the chart of ``peers.py``, from its results alone. Pure but for ``write_page``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from charts import chart
from common import ROOT, Figure, median
from peers_setup import PEERS, Peer

from memento.cli.plots import Panel

if TYPE_CHECKING:
    from pathlib import Path

PAGE = ROOT / "docs" / "explanation" / "peers.md"
OURS = "memento"
Table = tuple[Sequence[str], list[list[str]]]

SPEED_HEADERS = (
    "memory",
    "add p50, ms",
    "adds/s",
    "CPU per add, ms",
    "bulk, texts/s",
    "retrieve p50, ms",
    "CPU per retrieve, ms",
    "peak RSS, MB",
    "disk, MB",
    "fsyncs per add",
    "kept after kill -9",
)
RECALL_MEASURES = ("any@1", "any@5", "any@10", "all@10", "nDCG@10")
RECALL_HEADERS = ("memory", *RECALL_MEASURES)


def speed_rows(results: Mapping[str, Any]) -> Table:
    """Return the table of speed, a row for each peer that was tried."""
    known = results["speed"].get("peers", {})
    rows = [
        [peer.title, *failed_or(known[peer.name], speed_cells, SPEED_HEADERS)]
        for peer in PEERS
        if peer.name in known
    ]
    return SPEED_HEADERS, rows


def speed_cells(result: Mapping[str, Any]) -> list[str]:
    """Return the cells of a peer: medians over the rounds."""
    fsyncs, kept, told = result["fsyncs"], result["after_kill"], result["acknowledged"]
    return [
        short(median(result["add"])),
        f"{median(result['adds_per_s']):,.0f}",
        short(median(result["add_cpu"])),
        f"{result['fill_per_s']:,.0f}",
        short(median(result["retrieve"])),
        short(median(result["retrieve_cpu"])),
        f"{result['rss_mb']:.0f}",
        f"{result['disk_mb']:.1f}",
        "not counted" if fsyncs is None else f"{fsyncs:.1f}",
        "all" if kept == told else f"{kept:,} of {told:,}",
    ]


def remarks(known: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a line for each peer that refused some of the queries."""
    return [
        f"{peer.title}: {known[peer.name]['raised']}; such a query counts as nothing found."
        for peer in PEERS
        if known.get(peer.name, {}).get("raised")
    ]


def recall_rows(dataset: Mapping[str, Any]) -> Table:
    """Return the table of what was found in one benchmark file."""
    known = dataset["peers"]
    rows = [
        [peer.title, *failed_or(known[peer.name], recall_cells, RECALL_HEADERS)]
        for peer in PEERS
        if peer.name in known
    ]
    return RECALL_HEADERS, rows


def recall_title(name: str, dataset: Mapping[str, Any]) -> str:
    """Return the name of a benchmark and how much of it there was."""
    return (
        f"{name}: {dataset['questions']:,} questions to {dataset['texts']:,} texts "
        f"in {dataset['stores']} stores"
    )


def recall_cells(result: Mapping[str, Any]) -> list[str]:
    """Return the cells of a peer, with the interval of any@10, which is what is compared."""
    cells = [f"{100 * result['all'][measure]['mean']:.1f}" for measure in RECALL_MEASURES]
    ten = result["all"]["any@10"]
    at = RECALL_MEASURES.index("any@10")
    cells[at] += f" ({100 * ten['low']:.0f}-{100 * ten['high']:.0f})"
    return cells


def failed_or(result: Mapping[str, Any], cells: Any, headers: Sequence[str]) -> list[str]:
    """Return the cells of a result, or the reason why there is none and blanks."""
    if "failed" in result:
        return [result["failed"], *[""] * (len(headers) - 2)]
    return list(cells(result))


def short(value: float) -> str:
    """Return three significant digits, never in powers of ten.

    >>> short(0.04567), short(123.4)
    ('0.046', '123')
    """
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def settings_rows(results: Mapping[str, Any]) -> Table:
    """Return how each peer that was tried is set up, and its version."""
    tried = {**results["speed"].get("peers", {})}
    for dataset in results["recall"].values():
        tried = {**dataset["peers"], **tried}
    rows = [
        [peer.title, tried[peer.name].get("version") or pinned(peer), peer.settings]
        for peer in PEERS
        if peer.name in tried
    ]
    return ("memory", "version", "settings"), rows


def pinned(peer: Peer) -> str:
    """Return the version that was asked for, of a peer that could not be asked for its own."""
    return peer.requirements[0].partition("==")[2] or "none"


def figures(results: Mapping[str, Any]) -> list[Figure]:
    """Return the ratios that have a floor: medians over the rounds of one run."""
    known = results["speed"].get("peers", {})
    wanted = [
        ("add p50, faster than langchain-chroma by", "langchain-chroma", "add", 10, 30),
        ("retrieve p50 at 1k against langchain-chroma", "langchain-chroma", "retrieve", 1.2, 0.7),
        ("retrieve p50 at 1k against mem0, infer=False", "mem0", "retrieve", 0.5, 0.25),
    ]
    found: list[Figure] = []
    for what, name, measure, floor, aim in wanted:
        ours, theirs = known.get(OURS, {}), known.get(name, {})
        higher = measure == "add"
        if "run" not in ours or ours["run"] != theirs.get("run"):
            note = "not measured in one run"
            found.append(Figure(what, None, floor, aim, higher=higher, note=note))
            continue
        pairs = list(zip(ours[measure], theirs[measure], strict=True))
        ratio = median([b / a if higher else a / b for a, b in pairs])
        found.append(Figure(what, ratio, floor, aim, higher=higher, note="median over the rounds"))
    return found


# --- Markdown


def markdown(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; all columns but the first to the right."""
    rule = ["---", *["---:"] * (len(headers) - 1)]
    lines = [[plain(cell) for cell in cells] for cells in (headers, rule, *rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def plain(text: str) -> str:
    """Return text in which Markdown sees neither the end of a cell nor a tag."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def parts(results: Mapping[str, Any]) -> dict[str, str]:
    """Return what is written into the page, by the name of the place."""
    headers, rows = settings_rows(results)
    left = markdown(headers, rows).replace("---:", "---")
    ratios = [figure.cells()[:5] for figure in figures(results)]
    return {
        "speed": noted(speed_rows(results), results["speed"].get("peers", {})),
        "ratios": markdown(("what", "measured", "floor", "aim", "holds"), ratios),
        "recall": "\n\n".join(
            f"**{recall_title(name, dataset)}**\n\n" + noted(recall_rows(dataset), dataset["peers"])
            for name, dataset in results["recall"].items()
        ),
        "settings": left,
        "machine": machine(results),
    }


def noted(shown: Table, known: Mapping[str, Any]) -> str:
    """Return a table in Markdown with its remarks below."""
    return "\n\n".join([markdown(*shown), *(plain(line) for line in remarks(known))])


def machine(results: Mapping[str, Any]) -> str:
    """Return on what it was measured, as a sentence."""
    known = results["speed"].get("machine")
    if known is None:
        return "Speed was not measured."
    runs = {peer["run"] for peer in results["speed"]["peers"].values() if "run" in peer}
    return (
        f"Measured with Python {known['python']} on {known['cpus']} cores ({known['machine']}), "
        f"{results['speed']['size']:,} texts, {results['speed']['rounds']} rounds, "
        f"{len(runs)} {'run' if len(runs) == 1 else 'runs'}."
    )


def filled(page: str, texts: Mapping[str, str]) -> str:
    """Put texts between ``<!-- name -->`` and ``<!-- /name -->``, instead of the present ones.

    Raises:
        ValueError: If the page has no such place.
    """
    for name, text in texts.items():
        place = re.search(rf"<!-- {name} -->(.*?)<!-- /{name} -->", page, re.DOTALL)
        if not place:
            raise ValueError(f"the page has no place <!-- {name} --> ... <!-- /{name} -->")
        page = f"{page[: place.start(1)]}\n\n{text}\n\n{page[place.end(1) :]}"
    return page


def write_page(folder: Path, results: Mapping[str, Any]) -> None:
    """Write the tables into ``peers.md`` and the chart to ``peers.svg``.

    A folder without the page gets the one of the documentation, with these figures.
    """
    page = folder / "peers.md"
    text = (page if page.exists() else PAGE).read_text(encoding="utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    page.write_text(filled(text, parts(results)), encoding="utf-8")
    (folder / "peers.svg").write_text(
        chart(panels(results), "memento beside other memories", ours=OURS), encoding="utf-8"
    )


# --- chart


def panels(results: Mapping[str, Any]) -> list[Panel]:
    """Return what the chart shows: what is found in each file, then speed."""
    found = [
        Panel(
            f"{name}: any@10, % (more is better)",
            bars(dataset["peers"], lambda result: 100 * result["all"]["any@10"]["mean"]),
        )
        for name, dataset in results["recall"].items()
    ]
    known = results["speed"].get("peers", {})
    speed = [
        Panel(
            f"{what} (less is better)", bars(known, lambda r, measure=measure: median(r[measure]))
        )
        for what, measure in (
            ("retrieve p50, ms", "retrieve"),
            ("add p50 until it returns, ms", "add"),
            ("CPU per retrieve, ms", "retrieve_cpu"),
            ("CPU per add with all indexing, ms", "add_cpu"),
        )
    ]
    return [panel for panel in (*found, *speed) if panel.bars]


def bars(known: Mapping[str, Mapping[str, Any]], value: Any) -> list[tuple[str, float, str]]:
    """Return a bar for each peer that was measured."""
    drawn: list[tuple[str, float, str]] = []
    for peer in _measured(known):
        length = value(known[peer.name])
        drawn.append((peer.title, length, short(length)))
    return drawn


def _measured(known: Mapping[str, Mapping[str, Any]]) -> list[Peer]:
    return [p for p in PEERS if p.name in known and "failed" not in known[p.name]]
