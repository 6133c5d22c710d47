"""Fit the weights of the read path to questions whose answers are known.

    python benchmarks/fit_weights.py FILE [FILE ...] [--no-embedder] [--folds 5]
                                     [--keep FOLDER]

FILE is as for quality.py; use development halves only. Every file gets the same mass. The evidence
for each candidate is read off ``Hit.terms``, so it is what the product sees. The model is a
listwise softmax: the right turns of a question share the mass of its candidates. First each
conversation is scored by weights fitted on the others, then the weights fitted on all are printed;
round them.

Source: Cao et al., Learning to Rank: From Pairwise Approach to Listwise Approach, ICML 2007.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from dialogues import ADVERSARIAL, Conversation, load
from metrics import score, summary
from stores import opened

from memento.retrieve.evidence import TURNS, Weights

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

CANDIDATES = 300
"""Hits looked at for each question."""
NAMES = [field.name for field in fields(Weights) if field.name != "importance"]
L2 = 1e-3
STEPS, RATE = 400, 0.05


@dataclass(frozen=True, slots=True)
class Question:
    """One question: its candidates' evidence, and which of them are right."""

    store: str
    evidence: NDArray[np.float64]
    turns: list[str]
    gold: frozenset[str]

    @property
    def right(self) -> NDArray[np.bool_]:
        """Mark the candidates that are right."""
        return np.array([turn in self.gold for turn in self.turns], np.bool_)


def questions(conversation: Conversation, *, embed: bool, keep: Path | None) -> Iterator[Question]:
    """Put the questions of a conversation to its store."""
    unit = np.array([getattr(TURNS, name) or 1.0 for name in NAMES])  # 0 / 1 is no evidence
    with opened(conversation, embed=embed, keep=keep) as memory:
        for query in conversation.queries:
            if query.category != ADVERSARIAL:
                hits = memory.retrieve(query.text, k=CANDIDATES, record=False)
                terms = [[hit.terms.get(name, 0.0) for name in NAMES] for hit in hits]
                turns = [str(hit.metadata["turn"]) for hit in hits]
                table = np.array(terms).reshape(len(hits), len(NAMES)) / unit
                yield Question(conversation.id, table, turns, query.turns)


def fit(groups: Sequence[Sequence[Question]]) -> NDArray[np.float64]:
    """Fit weights >= 0 by Adam; every group has the same mass.

    Source: Kingma & Ba, Adam: A Method for Stochastic Optimization, ICLR 2015.
    """
    weights, speed, force = np.ones(len(NAMES)), np.zeros(len(NAMES)), np.zeros(len(NAMES))
    stacked = [_Stack.of([one for one in group if one.right.any()]) for group in groups]
    for step in range(1, STEPS + 1):
        slope = 2 * L2 * weights + sum(one.slope(weights) for one in stacked) / len(stacked)
        speed = 0.9 * speed + 0.1 * slope
        force = 0.999 * force + 0.001 * slope**2
        moment = np.sqrt(force / (1 - 0.999**step)) + 1e-8
        weights = np.maximum(0, weights - RATE * speed / (1 - 0.9**step) / moment)
    return weights


@dataclass(frozen=True, slots=True)
class _Stack:
    """The candidates of many questions in one table, so that a step is a few array sums.

    Attributes:
        evidence: (candidates, signals).
        target: The share of its question's mass that each candidate should have.
        question: Number of the question each candidate belongs to, ascending.
        first: Where the candidates of each question begin.
    """

    evidence: NDArray[np.float32]
    target: NDArray[np.float32]
    question: NDArray[np.intp]
    first: NDArray[np.intp]

    @classmethod
    def of(cls, asked: Sequence[Question]) -> _Stack:
        sizes = np.array([len(one.turns) for one in asked])
        return cls(
            np.concatenate([one.evidence for one in asked]).astype(np.float32),
            np.concatenate([one.right / one.right.sum() for one in asked]).astype(np.float32),
            np.repeat(np.arange(len(asked)), sizes),
            np.concatenate([[0], np.cumsum(sizes)[:-1]]),
        )

    def slope(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the slope of the mean loss of a question."""
        sums = self.evidence @ weights.astype(np.float32)
        mass = np.exp(sums - np.maximum.reduceat(sums, self.first)[self.question])
        share = mass / np.add.reduceat(mass, self.first)[self.question]
        return self.evidence.T @ (share - self.target) / len(self.first)


def rows(asked: Sequence[Question], weights: NDArray[np.float64]) -> list[dict[str, float]]:
    """Measure weights on questions."""
    orders = [np.argsort(-(one.evidence @ weights), kind="stable") for one in asked]
    return [
        score([one.turns[i] for i in order[:20]], one.gold, 10)
        for one, order in zip(asked, orders, strict=True)
    ]


def cross_validated(
    groups: Sequence[Sequence[Question]], folds: int
) -> list[list[dict[str, float]]]:
    """Measure each conversation with weights fitted on the others."""
    fold_of = {}
    for group in groups:
        for n, store in enumerate(sorted({one.store for one in group})):
            fold_of[store] = n % folds
    measured: list[list[dict[str, float]]] = [[] for _ in groups]
    for fold in range(folds):
        weights = fit([[one for one in g if fold_of[one.store] != fold] for g in groups])
        for found, group in zip(measured, groups, strict=True):
            found.extend(rows([one for one in group if fold_of[one.store] == fold], weights))
    return measured


def main() -> None:
    """Run the fit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--no-embedder", action="store_true")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the filled stores there")
    options = parser.parse_args()
    groups = []
    for path in options.files:
        stores = load(path).conversations
        embed = not options.no_embedder
        asked = [one for s in stores for one in questions(s, embed=embed, keep=options.keep)]
        groups.append(asked)
        print(f"{path.name}: {len(asked)} questions")
    for path, found in zip(options.files, cross_validated(groups, options.folds), strict=True):
        print(f"{path.name}, cross-validated: {summary(found)}")
    for name, value in zip(NAMES, fit(groups), strict=True):
        print(f"    {name}: float = {value:.2f}")


if __name__ == "__main__":
    main()
