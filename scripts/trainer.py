"""What the scripts that train the readers of ``memento/observe`` share: network, loop and build.

Each network is all-MiniLM-L6-v2 with a head of its own. The word embeddings stay as they are, so
that the built file takes them from ``model.onnx`` beside it. Training adds in an order that depends
on the machine, so a second run gives other weights of the same quality: the built files are
committed.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import build_minilm
import numpy as np
import onnx
import torch
from build_minilm import DIM, HEAD_SIZE, IR_VERSION, LAYERS, OPSET, TARGET, Graph
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from torch import nn
from transformers import BertModel

DATA = Path(__file__).resolve().parents[1] / "training"
TRAINED = (2, 3, 4)
"""Rests of the numbers of the voices that are trained on, divided by 5."""
JOINTS = (
    ". ", " ", "\n", ", ", " and ", ", so ", " but ", "; ", " — ", ", also ", "... ", " because ",
    " btw ", ", anyway ",
)  # fmt: skip
"""How people join statements."""
LOWERED = 0.3
"""Share of the joined messages in lower case."""
WARM = 0.06
"""Share of the steps in which the rate rises."""
SMOOTH = 0.02
ALIKE = 20
"""Batches whose examples are sorted by length together."""


def rows(path: Path) -> list[dict[str, Any]]:
    """Read a file of one JSON object a line."""
    return [*map(json.loads, path.read_text(encoding="utf-8").splitlines())]


class Example(NamedTuple):
    """Token ids, and the class and the weight of each place; a class of -100 counts for nothing."""

    ids: list[int]
    classes: list[int]
    weights: Sequence[float] = ()


class Encoder:
    """Turns texts into tokens as the readers do."""

    def __init__(self, source: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._first, self._last = self._tokenizer.encode("").ids

    def _tokens(self, text: str) -> Any:
        return self._tokenizer.encode(text, add_special_tokens=False)


class Network(nn.Module):
    """all-MiniLM-L6-v2 with some classes for each token, or for the first one alone."""

    def __init__(self, source: Path, classes: int, *, first_alone: bool = False) -> None:
        super().__init__()
        self.bert = BertModel.from_pretrained(source, add_pooling_layer=False)
        self.bert.embeddings.word_embeddings.weight.requires_grad_(False)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(DIM, classes)
        self.first_alone = first_alone

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return (examples, places, classes) logits."""
        states = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state
        return self.head(self.drop(states[:, :1] if self.first_alone else states))


Loss: TypeAlias = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""Of logits, classes and weights; see ``Example``."""


def mean_loss(logits: torch.Tensor, classes: torch.Tensor, _weights: torch.Tensor) -> torch.Tensor:
    """Return the mean loss of all places that count."""
    flat = logits.view(-1, logits.shape[-1]), classes.view(-1)
    return nn.functional.cross_entropy(*flat, ignore_index=-100, label_smoothing=SMOOTH)


def batches(
    examples: Sequence[Example], size: int, chance: random.Random
) -> Iterator[tuple[torch.Tensor, ...]]:
    """Yield ids, mask, classes and weights of examples of about the same length."""
    mixed = chance.sample(examples, len(examples))
    chunks = []
    for start in range(0, len(mixed), size * ALIKE):
        alike = sorted(mixed[start : start + size * ALIKE], key=lambda one: len(one.ids))
        chunks += [alike[at : at + size] for at in range(0, len(alike), size)]
    chance.shuffle(chunks)
    for chunk in chunks:
        ids = _padded([one.ids for one in chunk], 0)
        mask = _padded([[1] * len(one.ids) for one in chunk], 0)
        classes = _padded([one.classes for one in chunk], -100)
        yield ids, mask, classes, _padded([one.weights for one in chunk], 0.0)


def _padded(lists: Sequence[Sequence[float]], rest: float) -> torch.Tensor:
    tensors = [torch.tensor(one) for one in lists]
    return nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=rest)


def train(
    network: Network,
    epochs: Sequence[Sequence[Example]],
    chance: random.Random,
    rates: tuple[float, float],
    *,
    size: int = 16,
    loss_of: Loss = mean_loss,
    short: bool = True,
) -> None:
    """Train on some epochs.

    Args:
        network: What to train.
        epochs: The examples of each.
        chance: The order.
        rates: Highest rates of the layers and of the head.
        size: Examples in a batch.
        loss_of: What to minimise.
        short: Whether to multiply floats of 16 bits.
    """
    moving = [(name, one) for name, one in network.named_parameters() if one.requires_grad]
    groups = [
        {"params": [one for name, one in moving if "head" not in name]},
        {"params": [one for name, one in moving if "head" in name]},
    ]
    optimiser = torch.optim.AdamW(groups, weight_decay=0.01)
    total, step = sum(-(-len(one) // size) for one in epochs), 0
    network.train()
    for number, epoch in enumerate(epochs):
        began, summed = time.monotonic(), 0.0
        for ids, mask, classes, weights in batches(epoch, size, chance):
            share = min(1.0, step / (total * WARM)) * max(0.02, 1 - step / total)
            for group, rate in zip(optimiser.param_groups, rates, strict=True):
                group["lr"] = rate * share
            with torch.autocast("cpu", torch.bfloat16, enabled=short):
                logits = network(ids, mask)
            loss = loss_of(logits.float(), classes, weights)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_([one for _, one in moving], 1.0)
            optimiser.step()
            step += 1
            summed += loss.item()
        took = f"loss {summed:.1f}, {time.monotonic() - began:.0f} s"
        print(f"epoch {number}: {len(epoch)} examples, {took}", flush=True)


def fill(network: Network, path: Path) -> Network:
    """Give a network the weights of a built model, with its integers as floats again."""
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
    own = network.state_dict()
    if len(held["head.bias"]) == len(own["head.bias"]):  # else the head is for something else
        state |= {"head.weight": held["head.weight"].T, "head.bias": held["head.bias"]}
    tensors = {name: torch.from_numpy(np.array(one, np.float32)) for name, one in state.items()}
    network.load_state_dict(own | tensors)  # the words are those of the source
    return network


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


def built(network: Network, name: str, base: Path) -> onnx.ModelProto:
    """Return the graph of a trained network; its word embeddings stay in ``base``."""
    weights = {
        name.removeprefix("bert."): value.detach().numpy().astype(np.float32)
        for name, value in network.state_dict().items()
    }
    g = Graph()
    build_minilm.shared_constants(g)
    states = build_minilm.embeddings(g, weights)
    for number in range(LAYERS):
        states = build_minilm.encoder_layer(g, states, number, weights)
    places: int | str = "tokens"
    if network.first_alone:
        states, places = g.op("Gather", states, "int0", axis=1), 1
    scores = g.op("MatMul", states, g.const("head.weight", weights["head.weight"].T))
    bias = g.const("head.bias", weights["head.bias"])
    g.nodes.append(helper.make_node("Add", [scores, bias], ["logits"]))
    _leave_in(g, "words", base)
    shape = [1, places, len(weights["head.bias"])]
    graph = helper.make_graph(
        g.nodes,
        f"memento-{name}-int8",
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


def build(network: Network, name: str, about: Mapping[str, Any], target: Path) -> None:
    """Write a model and its manifest beside the default embedder's."""
    model = built(network, name, target / "model.onnx")
    (target / f"{name}.onnx").write_bytes(model.SerializeToString(deterministic=True))
    files = (f"{name}.onnx", "model.onnx", "tokenizer.json")
    sums = {"sha256": {file: build_minilm.sha256(target / file) for file in files}}
    text = json.dumps({**about, **sums}, indent=2) + "\n"
    (target / f"{name}.json").write_text(text, encoding="utf-8")


def run(
    doc: str,
    name: str,
    trained: Callable[..., Network],
    about: Mapping[str, Any],
    **options: str,
) -> None:
    """Train and build by the command line.

    Args:
        doc: What the script does; the first line is shown.
        name: Name of the model's files.
        trained: Trains it: by the folder of the embedder, ``quick``, and the options.
        about: What the manifest says besides the sums.
        options: Further flags, with what they do.
    """
    parser = argparse.ArgumentParser(description=doc.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few steps; writes nothing")
    parser.add_argument("--threads", type=int, default=2)
    for flag, said in options.items():
        parser.add_argument(f"--{flag}", action="store_true", help=said)
    args = vars(parser.parse_args())
    torch.set_num_threads(args.pop("threads"))
    network = trained(build_minilm.source_folder(), **args).eval()
    if not args["quick"]:
        build(network, name, about, TARGET)
        return
    with tempfile.TemporaryDirectory() as folder:
        for file in ("model.onnx", "tokenizer.json"):
            (Path(folder) / file).write_bytes((TARGET / file).read_bytes())
        build(network, name, about, Path(folder))
