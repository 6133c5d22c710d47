"""Does the confidence mean what it says? Reliability of hits and of answers, and its figures.

                                     [--keep FOLDER] [--json OUT]

FILE is LoCoMo or BEAM (see dialogues.py). Each store is asked its own questions and as many of the
next conversation, put in the names of this one, through the public interface, ten hits each. Right
is a hit that the benchmark names; an answer is right if one of its ten hits is. So half of the
questions have nothing to be found, and the confidence is to be read for such a mix.

ECE is the expected calibration error over ten bins of equal width: how far, on average, the
confidence is from the share that is right. AUC is that of the answer's confidence between own and
foreign questions. ``--fit`` also prints the logistics fitted on all files, each with the same mass,
and the ECE on each file of those fitted on the others.

Source: Guo et al., On Calibration of Modern Neural Networks, ICML 2017, for ECE.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from common import table, write_json
from dialogues import ADVERSARIAL, Conversation, Dataset, load
from own import auc, people, renamed
from stores import opened

from memento.retrieve import judging

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from memento.types import Retrieval

DEPTH = 10
BINS = 10
L2 = 1e-6
STEPS = 30
SIGNS = {
    "hit": ("above noise", "cover", "log share", "unknown"),
    "hit_by_words": ("cover", "log share", "unknown"),
    "answer": ("above noise", "cover", "fit", "unknown"),
    "answer_by_words": ("cover", "fit", "unknown"),
    "near": ("cosine",),
}
"""The signs each logistic of `memento.retrieve.judging` reads, before its constant."""


@dataclass(frozen=True, slots=True)
class Case:
    """One confidence and what came of it.

    Attributes:
        file: Name of the benchmark.
        kind: ``hit`` or ``answer``.
        chance: The confidence.
        right: Whether it was right.
        own: Whether the question was the store's own.
        signs: What the confidence was read from.
    """

    file: str
    kind: str
    chance: float
    right: bool
    own: bool
    signs: Mapping[str, float]


def cases(dataset: Dataset, options: argparse.Namespace) -> Iterator[Case]:
    """Put to each store its own questions and those of the next."""
    every = dataset.conversations
    for n, conversation in enumerate(every):
        other = every[(n + 1) % len(every)]
        with opened(conversation, embed=not options.no_embedder, keep=options.keep) as memory:
            for text, gold in questions(conversation, other):
                found = memory.retrieve(text, DEPTH, record=False)
                yield from judged(dataset.name, found, gold)


def questions(
    conversation: Conversation, other: Conversation
) -> Iterator[tuple[str, frozenset[str] | None]]:
    """Yield questions with their right turns; None for another conversation's."""
    for query in conversation.queries:
        if query.category != ADVERSARIAL:
            yield query.text, query.turns
    for query in other.queries:
        if query.category != ADVERSARIAL:
            yield renamed(query.text, people(other), people(conversation)), None


def judged(file: str, found: Retrieval, gold: frozenset[str] | None) -> Iterator[Case]:
    """Compare what was found with what is right."""
    right = [str(hit.metadata["turn"]) in (gold or ()) for hit in found]
    signs = [read(hit.signs) for hit in found]
    for hit, good, seen in zip(found, right, signs, strict=True):
        yield Case(file, "hit", hit.confidence, good, gold is not None, seen)
    if found:
        best = {name: max(seen[name] for seen in signs) for name in signs[0]}
        yield Case(file, "answer", found.confidence, any(right), gold is not None, best)


def read(signs: Mapping[str, float]) -> dict[str, float]:
    """Return the signs of a hit as the logistics read them."""
    known = dict(signs, **{"log share": float(np.log(max(signs["share"], 1e-6)))})
    if "cosine" in signs:
        known["above noise"] = signs["cosine"] - signs["noise"]
    return known


def bins(chances: Sequence[float], right: Sequence[bool]) -> list[tuple[float, float, int]]:
    """Sort into bins of equal width.

    Returns:
        Mean confidence, share that is right, and number of cases of each bin that has any.

    >>> bins([0.05, 0.95, 0.91], [False, True, False])
    [(0.05, 0.0, 1), (0.93, 0.5, 2)]
    """
    at = [min(BINS - 1, int(chance * BINS)) for chance in chances]
    held = []
    for n in sorted(set(at)):
        inside = [i for i, place in enumerate(at) if place == n]
        said = sum(chances[i] for i in inside) / len(inside)
        held.append((round(said, 4), sum(right[i] for i in inside) / len(inside), len(inside)))
    return held


def calibration_error(held: Sequence[tuple[float, float, int]]) -> float:
    """Return the expected calibration error of bins, [0, 1].

    >>> calibration_error([(0.1, 0.1, 3), (0.9, 0.5, 1)])
    0.1
    """
    total = sum(n for *_, n in held)
    return sum(n * abs(said - seen) for said, seen, n in held) / total


def fit(groups: Sequence[Sequence[Case]], names: Sequence[str]) -> NDArray[np.float64]:
    """Fit a logistic by Newton's method; every group has the same mass."""
    weights = np.zeros(len(names) + 1)
    tables = [design(group, names) for group in groups]
    for _ in range(STEPS):
        slope, bend = L2 * weights, L2 * np.eye(len(weights))
        for signs, right in tables:
            chance = 1 / (1 + np.exp(-signs @ weights))
            slope = slope + signs.T @ (chance - right) / len(right)
            bend = bend + (signs * (chance * (1 - chance))[:, None]).T @ signs / len(right)
        weights = weights - np.linalg.solve(bend, slope)
    return weights


def design(
    group: Sequence[Case], names: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the signs of the cases, with a constant, and whether each is right."""
    signs = np.array([[*(case.signs[name] for name in names), 1.0] for case in group])
    return signs, np.array([case.right for case in group], np.float64)


def fitted(groups: Mapping[str, Sequence[Case]], names: Sequence[str]) -> list[str]:
    """Describe the logistic of all files, and how one of the others does on each."""
    lines = [f"    {', '.join(f'{weight:.2f}' for weight in fit(list(groups.values()), names))}"]
    for name, group in groups.items():
        others = [cases for file, cases in groups.items() if file != name]
        if others:
            signs, right = design(group, names)
            chance = 1 / (1 + np.exp(-signs @ fit(others, names)))
            error = calibration_error(bins(chance.tolist(), right.astype(bool).tolist()))
            lines.append(f"    fitted on the others, {name}: ECE {error:.3f}")
    return lines


def show(known: Sequence[Case]) -> str:
    """Lay out ECE and AUC of each file and kind, and the bins below."""
    head: list[list[str]] = []
    body: list[list[str]] = []
    for file, kind, group in grouped(known):
        held = bins([case.chance for case in group], [case.right for case in group])
        own, foreign = (
            [case.chance for case in group if case.own is wanted] for wanted in (True, False)
        )
        apart = f"{auc(own, foreign):.3f}" if kind == "answer" else ""
        head.append([file, kind, str(len(group)), f"{calibration_error(held):.3f}", apart])
        body += [[file, kind, f"{said:.2f}", f"{seen:.2f}", str(n)] for said, seen, n in held]
    return "\n\n".join(
        (
            table(["file", "of", "n", "ECE", "AUC own/foreign"], head),
            table(["file", "of", "confidence", "right", "n"], body),
        )
    )


def grouped(known: Sequence[Case]) -> Iterator[tuple[str, str, list[Case]]]:
    """Yield the cases of each file and kind."""
    for file in dict.fromkeys(case.file for case in known):
        for kind in ("hit", "answer"):
            yield file, kind, [case for case in known if (case.file, case.kind) == (file, kind)]


# The picture

SIDE, GAP, PAD = 260, 70, 46
COLOURS = {"locomo": "#1f6feb", "beam": "#d9480f"}


def picture(known: Sequence[Case]) -> str:
    """Draw the reliability curves as SVG: hits on the left, answers on the right."""
    width, height = 2 * (SIDE + PAD) + GAP, SIDE + 2 * PAD
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"',
        ' font-family="sans-serif" font-size="12" fill="#57606a">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for n, kind in enumerate(("hit", "answer")):
        left = PAD + n * (SIDE + GAP)
        parts.append(frame(left, kind))
        for file, of, group in grouped(known):
            if of == kind:
                held = bins([case.chance for case in group], [case.right for case in group])
                parts.append(curve(left, held, COLOURS.get(file, "#57606a")))
    for n, file in enumerate(dict.fromkeys(case.file for case in known)):
        x = PAD + 12
        y = PAD + 18 + 16 * n
        colour = COLOURS.get(file, "#57606a")
        parts.append(f'<circle cx="{x}" cy="{y - 4}" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{x + 9}" y="{y}">{file}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def frame(left: int, kind: str) -> str:
    """Draw the axes of one panel and the diagonal, on which a confidence means what it says."""
    bottom = PAD + SIDE
    middle = left + SIDE // 2
    ticks = "".join(
        f'<text x="{left + SIDE * n // 4}" y="{bottom + 16}" text-anchor="middle">{n / 4:g}</text>'
        f'<text x="{left - 6}" y="{bottom - SIDE * n // 4 + 4}" text-anchor="end">{n / 4:g}</text>'
        for n in range(5)
    )
    return (
        f'<rect x="{left}" y="{PAD}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#d0d7de"/>'
        f'<line x1="{left}" y1="{bottom}" x2="{left + SIDE}" y2="{PAD}" stroke="#8c959f" '
        f'stroke-dasharray="4 4"/>{ticks}'
        f'<text x="{middle}" y="{PAD - 14}" text-anchor="middle" font-size="14">'
        f"confidence of {'hits' if kind == 'hit' else 'answers'}</text>"
        f'<text x="{middle}" y="{bottom + 34}" text-anchor="middle">said; upwards: right</text>'
    )


def curve(left: int, held: Sequence[tuple[float, float, int]], colour: str) -> str:
    """Draw one curve; the area of a point grows with its cases."""
    most = max(n for *_, n in held)
    at = [
        (left + SIDE * said, PAD + SIDE * (1 - seen), 2 + 5 * (n / most) ** 0.5)
        for said, seen, n in held
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in at)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}" fill="{colour}"/>' for x, y, size in at
    )
    return f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>{dots}'


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", type=Path, nargs="+", help="LoCoMo or BEAM, gzipped or not")
    parser.add_argument("--no-embedder", action="store_true", help="full text alone")
    parser.add_argument("--fit", action="store_true", help="also fit the logistics")
    parser.add_argument("--svg", type=Path, metavar="OUT", help="draw the curves there")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the filled stores there")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the result there")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    options = parsed(arguments)
    known = [case for file in options.files for case in cases(load(file), options)]
    print(show(known))
    if options.fit:
        suffix = "_by_words" if options.no_embedder else ""
        for kind in ("hit", "answer"):
            name = kind + suffix
            groups = {file: group for file, of, group in grouped(known) if of == kind}
            now = getattr(judging, name.upper())
            print(f"\n{name}, now {now}", *fitted(groups, SIGNS[name]), sep="\n")
        if not options.no_embedder:
            groups = {file: group for file, of, group in grouped(known) if of == "hit"}
            print(f"\nnear, now {judging.NEAR}", *fitted(groups, SIGNS["near"]), sep="\n")
    if options.svg:
        options.svg.write_text(picture(known), encoding="utf-8")
    write_json(options.json, {"cases": known})


if __name__ == "__main__":
    main()
