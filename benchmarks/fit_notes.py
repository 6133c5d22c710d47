"""Fit the weights of notes (`Config.retrieve.alone`) to lives.

    python benchmarks/fit_notes.py LIFE.json [LIFE.json ...]

A life is as for everyday.py; use development lives only. Every life gets the same mass. The
evidence is read off ``Hit.terms``, so it is what the product sees, and only the weights of notes
change: those of turns stay as shipped. The model is that of fit_weights.py, with L2 0.01 on the
differences to the weights of turns. With several lives, each is first measured with weights fitted
on the others; then the weights fitted on all are printed; round them. Questions about nothing but a
time, about the past and follow-ups, which these weights do not decide, are left out.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from common import embedder_named
from everyday import LIVES, Telling, telling
from fit_weights import CANDIDATES, NAMES, RATE
from lives import Asked, Life, read

from memento.retrieve import evidence

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

L2 = 1e-2
STEPS = 300
LEFT_OUT = frozenset({"follow-up", "previous value", "time", "off-topic"})
TURNS = np.array([getattr(evidence.TURNS, name) for name in NAMES])
NOTES = np.array([getattr(evidence.NOTES, name) for name in NAMES])


@dataclass(frozen=True, slots=True)
class Case:
    """One question.

    Attributes:
        notes: (candidates, signals) evidence; 0 for a turn.
        turns: (candidates,) what the weights of turns give; 0 for a note.
        right: (candidates,) which are right.
    """

    notes: NDArray[np.float64]
    turns: NDArray[np.float64]
    right: NDArray[np.bool_]

    def sums(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add the evidence up."""
        added: NDArray[np.float64] = self.turns + self.notes @ weights
        return added


def cases(life: Life) -> Iterator[Case]:
    """Tell a life and put its questions, each at its moment."""
    left = list(life.memories)
    with telling(life, embedder_named("default")) as store:
        for question in sorted(life.questions, key=lambda one: one.at):
            due = [one for one in left if one.at <= question.at]
            left = left[len(due) :]
            if due:
                store.tell(due)
            if question.kind not in LEFT_OUT:
                yield case(store, question)


def case(store: Telling, question: Asked) -> Case:
    """Put one question."""
    store.clock.advance(question.at - store.clock())
    hits = store.memory.retrieve(question.text, k=CANDIDATES, record=False)
    alone = np.array([hit.memory.session is None for hit in hits], np.bool_)
    terms = np.array([[hit.terms.get(name, 0.0) for name in NAMES] for hit in hits])
    table = terms.reshape(len(hits), len(NAMES)) * alone[:, None]
    turns = np.where(alone, 0.0, terms.reshape(len(hits), len(NAMES)).sum(axis=1))
    right = [bool(store.names[hit.id] & question.answers) for hit in hits]
    return Case(table / np.where(NOTES > 0, NOTES, 1), turns, np.array(right, np.bool_))


def fit(lives: Sequence[Sequence[Case]]) -> NDArray[np.float64]:
    """Fit weights >= 0 by Adam; every life has the same mass."""
    weights, speed, force = NOTES.copy(), np.zeros(len(NAMES)), np.zeros(len(NAMES))
    found = [[one for one in life if one.right.any()] for life in lives]
    for step in range(1, STEPS + 1):
        pulls = [np.mean([pull(one, weights) for one in life], axis=0) for life in found]
        slope = 2 * L2 * (weights - TURNS) + np.mean(pulls, axis=0)
        speed, force = 0.9 * speed + 0.1 * slope, 0.999 * force + 0.001 * slope**2
        moment = np.sqrt(force / (1 - 0.999**step)) + 1e-8
        weights = np.maximum(0, weights - RATE * speed / (1 - 0.9**step) / moment)
    return weights


def pull(one: Case, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the slope of the loss of one question."""
    sums = one.sums(weights)
    share = np.exp(sums - sums.max())
    slope: NDArray[np.float64] = one.notes.T @ (share / share.sum() - one.right / one.right.sum())
    return slope


def measured(life: Sequence[Case], weights: NDArray[np.float64]) -> str:
    """Say how often a right memory is first, among three, among ten by the evidence alone."""
    orders = [one.right[np.argsort(-one.sums(weights), kind="stable")] for one in life]
    shares = (100 * sum(order[:n].any() for order in orders) / len(life) for n in (1, 3, 10))
    return " / ".join(f"{share:.1f}" for share in shares)


def main() -> None:
    """Run the fit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", nargs="*", type=Path, metavar="LIFE.json", help="default: ours")
    lives = {life.name: list(cases(life)) for life in map(read, parser.parse_args().files or LIVES)}
    for name, life in lives.items():
        print(f"{name}: {len(life)} questions, as shipped {measured(life, NOTES)}")
        others = [cases for other, cases in lives.items() if other != name]
        if others:
            print(f"    fitted on the others: {measured(life, fit(others))}")
    weights = fit(list(lives.values()))
    for name, life in lives.items():
        print(f"{name}, fitted on all: {measured(life, weights)}")
    for name, value in zip(NAMES, weights, strict=True):
        print(f"    {name}={value:.2f}")


if __name__ == "__main__":
    main()
