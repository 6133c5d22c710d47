"""What is each signal worth? Every one taken away, and weights carried from one file to the other.

    python benchmarks/ablation.py FILE [FILE ...] [--keep FOLDER] [--page OUT] [--json OUT]

FILE is as for quality.py. The evidence is read off ``Hit.terms`` through the public interface, as
in fit_weights.py. First each signal is taken away, once with the other weights as shipped, once
with the others fitted again on all files without it, and what is lost is given with its 95 %
interval (paired bootstrap over questions). Then the leave-one-file-out table: weights fitted on the
other files, measured on this one, beside the shipped ones and those fitted on this file itself.
``--page`` writes the tables as Markdown.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from common import table, write_json
from dialogues import load
from fit_weights import NAMES, Question, fit, questions, rows
from metrics import RESAMPLES

from memento.retrieve.evidence import TURNS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

MEASURES = ("any@10", "all@10", "nDCG@10")
TOGETHER = {
    "all vectors": ("meaning", "session_meaning"),
    "all words": ("window", "cover"),
    "all sessions": ("session_meaning", "opens"),
    "all dates": ("calendar", "said_date", "when"),
}
"""Signals that are also taken away together; the candidates stay those that all ways of looking
proposed, so this is what they are worth for the order, not for finding."""

Table = list[list[str]]
Scores = list[dict[str, float]]


def shipped() -> NDArray[np.float64]:
    """Return the weights of the product, in the order of the evidence."""
    return np.array([getattr(TURNS, name) for name in NAMES])


def without(
    groups: Mapping[str, Sequence[Question]], gone: Sequence[str]
) -> dict[str, list[Question]]:
    """Return the questions with some evidence taken away."""
    keep = np.array([name not in gone for name in NAMES], np.float64)
    return {
        file: [Question(one.store, one.evidence * keep, one.turns, one.gold) for one in group]
        for file, group in groups.items()
    }


def change(now: Scores, before: Scores, measure: str) -> str:
    """Describe the mean change of a measure in points, with its 95 % interval.

    Source: paired percentile bootstrap, Efron, Annals of Statistics 1979.
    """
    gain = 100 * np.array([a[measure] - b[measure] for a, b in zip(now, before, strict=True)])
    picks = np.random.default_rng(7).integers(len(gain), size=(RESAMPLES, len(gain)))
    low, high = np.percentile(gain[picks].mean(axis=1), [2.5, 97.5])
    sure = "**" if low > 0 or high < 0 else ""
    return f"{sure}{gain.mean():+.1f}{sure} [{low:+.1f}, {high:+.1f}]"


def ablated(groups: Mapping[str, Sequence[Question]], *, anew: bool) -> Table:
    """Take each signal away; the other weights as shipped, or fitted again."""
    start = fit(list(groups.values())) if anew else shipped()
    before = {file: rows(group, start) for file, group in groups.items()}
    lines: Table = []
    for label, gone in [*((name, (name,)) for name in NAMES), *TOGETHER.items()]:
        left = without(groups, gone)
        weights = fit(list(left.values())) if anew else shipped()
        now = {file: rows(group, weights) for file, group in left.items()}
        cells = [change(now[file], before[file], m) for file in groups for m in MEASURES]
        lines.append([label, *cells])
    return lines


def carried(groups: Mapping[str, Sequence[Question]]) -> Table:
    """Measure weights fitted on the other files, beside the shipped and the file's own."""
    everything = fit(list(groups.values()))
    lines: Table = []
    for file, group in groups.items():
        others = [asked for name, asked in groups.items() if name != file]
        ways = {
            "shipped": shipped(),
            "fitted on all": everything,
            "fitted on this file": fit([group]),
        }
        ways |= {"fitted on the others": fit(others)} if others else {}
        base = rows(group, shipped())
        for label, weights in ways.items():
            found = rows(group, weights)
            means = [f"{100 * sum(r[m] for r in found) / len(found):.1f}" for m in MEASURES]
            lines.append([file, label, *means, change(found, base, "any@10")])
    return lines


def fitted(groups: Mapping[str, Sequence[Question]]) -> Table:
    """Lay out the fitted weights beside the shipped ones."""
    columns = [shipped(), fit(list(groups.values())), *(fit([group]) for group in groups.values())]
    return [[name, *(f"{column[n]:.2f}" for column in columns)] for n, name in enumerate(NAMES)]


def sections(groups: Mapping[str, Sequence[Question]]) -> dict[str, tuple[list[str], Table]]:
    """Put all tables together: title to headers and lines."""
    columns = [f"{file} {measure}" for file in groups for measure in MEASURES]
    return {
        "One signal removed, other weights as shipped": (
            ["without", *columns],
            ablated(groups, anew=False),
        ),
        "One signal removed, other weights refitted": (
            ["without", *columns],
            ablated(groups, anew=True),
        ),
        "Leave one file out": (
            ["measured on", "weights", *MEASURES, "any@10 against shipped"],
            carried(groups),
        ),
        "Weights": (["signal", "shipped", "fitted on all", *groups], fitted(groups)),
    }


INTRODUCTION = """# What each piece of evidence is worth

This page was generated by `python benchmarks/ablation.py FILE FILE --page
docs/explanation/ablation.md` on the development halves of LoCoMo (turns, 760 questions) and BEAM
100K (messages, 179 questions). Figures are percentage points. The 95 % intervals in square brackets
come from a paired bootstrap over questions. A difference is in bold if its interval does not
contain zero. `Weights` in `memento/retrieve/evidence.py` explains the signal names.

Removing a signal does not change which candidates the searches propose, so the figures show only
how the signal affects their order. `python benchmarks/quality.py FILE --no-embedder` measures the
total contribution of vectors."""


def markdown(found: Mapping[str, tuple[list[str], Table]]) -> str:
    """Write the tables as Markdown."""
    parts = [INTRODUCTION]
    for title, (headers, lines) in found.items():
        ruled = ["|".join(["", *(" --- " for _ in headers), ""])]
        body = [f"| {' | '.join(cells)} |" for cells in [headers, *lines]]
        parts.append("\n".join([f"## {title}", "", body[0], *ruled, *body[1:]]))
    return "\n\n".join(parts) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", type=Path, nargs="+", help="LoCoMo or BEAM, gzipped or not")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the filled stores there")
    parser.add_argument("--page", type=Path, metavar="OUT", help="write the tables as Markdown")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the result there")
    options = parser.parse_args(arguments)
    groups: dict[str, list[Question]] = {}
    for path in options.files:
        dataset = load(path)
        groups[dataset.name] = [
            one
            for conversation in dataset.conversations
            for one in questions(conversation, embed=True, keep=options.keep)
        ]
    found = sections(groups)
    for title, (headers, lines) in found.items():
        print(f"\n{title}\n\n{table(headers, lines)}")
    if options.page:
        options.page.write_text(markdown(found), encoding="utf-8")
    write_json(options.json, {title: lines for title, (_, lines) in found.items()})


if __name__ == "__main__":
    main()
