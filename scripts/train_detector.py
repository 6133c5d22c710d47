"""Train the detector of ``memento/observe`` and write its weights; ``--check`` only compares them.

The sentences are in ``training/observe/*.jsonl``: invented, one a line with its class, or null for
a sentence with nothing to store. They are repeated with other openings and marks, and sentences
from templates are added. The same sentences give the same file, byte for byte, on one machine.

    python scripts/train_detector.py [--check] [--shuffle]

scikit-learn is a tool of this script, not of the package.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memento.embed.onnx import default_embedder
from memento.observe import features
from memento.observe.detect import MANIFEST, NOTHING, WEIGHTS, from_bytes, shown_as
from memento.observe.mask import hide
from memento.observe.signals import Signal

if TYPE_CHECKING:
    from numpy.typing import NDArray

DATA = Path(__file__).parents[1] / "training" / "observe"
CLASSES = [NOTHING, *(str(signal) for signal in Signal)]
SEED = 20261123
STEPS = 200
EASE = 30.0
"""Inverse of the regularisation."""
MEANING = 1.5
"""Weight of the embedding beside the n-grams, each of unit length."""
SHARP = {"full": 1.7, "ngrams": 2.0}
"""Factor of the logits: regularised models are less sure than they are right."""
OPENED, LOWERED = 0.3, 0.3
"""Shares of the sentences that are repeated with an opening, and in lower case."""
OPENINGS = (
    "By the way, ", "Also, ", "Oh, and ", "Hi, ", "Hey, ", "Ok, ", "And ", "So ", "Well, ",
    "Btw ", "One more thing: ", "Just to let you know, ", "Hello! ", "Right, ", "Alright, ",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence as the detector reads it, the place of its class, and its weight."""

    text: str
    label: int
    weight: float = 1.0


def read(folder: Path = DATA) -> list[Example]:
    """Read the sentences written by hand, in the order of the files."""
    return [
        Example(shown_as(hide(row["text"])), CLASSES.index(row["signal"] or NOTHING))
        for path in sorted(folder.glob("*.jsonl"))
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())
    ]


def varied(examples: list[Example], source: random.Random) -> list[Example]:
    """Repeat sentences as other people would type them: with an opening, or without marks."""
    found = []
    for one in examples:
        text = one.text
        if source.random() < OPENED:
            opening = source.choice(OPENINGS)
            keep = text.startswith(("I ", "I'", "TODO")) or text[:2].isupper()
            text = opening + (text if keep else text[0].lower() + text[1:])
        elif source.random() < LOWERED:
            text = text.lower().rstrip(".!")
        elif text.endswith("."):
            text = source.choice((text[:-1], f"{text[:-1]}!"))
        if text != one.text:
            found.append(Example(text, one.label, 0.5))
    return found


def templated(source: random.Random) -> list[Example]:
    """Make sentences of the templates in ``templates.json``, a fixed number for each class."""
    held = json.loads((DATA / "templates.json").read_text(encoding="utf-8"))
    found = []
    for name, patterns in held["templates"].items():
        for pattern in patterns:
            for _ in range(held["each"]):
                text = pattern
                while "{" in text:
                    before, _, rest = text.partition("{")
                    word, _, after = rest.partition("}")
                    text = f"{before}{source.choice(held['words'][word])}{after}"
                found.append(Example(text, CLASSES.index(name), 0.5))
    return list(dict.fromkeys(found))


def matrix(examples: list[Example]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return (n, 384) meanings and (n, 2 * BUCKETS) n-grams."""
    embed = default_embedder().embed
    meanings = np.stack([embed([one.text])[0] for one in examples])
    return meanings, np.stack([features.vector(one.text) for one in examples])


def fit(inputs: NDArray[np.float32], examples: list[Example], sharp: float) -> dict[str, object]:
    """Fit one linear model and round its weights to eight bits, a scale for each class."""
    from scipy import sparse  # noqa: PLC0415 - a tool of this script
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - as above
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - comes with scikit-learn

    model = LogisticRegression(C=EASE, max_iter=STEPS)
    with threadpool_limits(1):  # several threads add in any order
        model.fit(
            sparse.csr_matrix(inputs),
            [one.label for one in examples],
            sample_weight=[one.weight for one in examples],
        )
    weights = model.coef_.T
    scale = np.abs(weights).max(axis=0) / 127
    return {
        "weights": np.round(weights / scale).astype(np.int8),
        "scale": np.round(scale * sharp, 6).astype(np.float32),
        "bias": np.round(model.intercept_ * sharp, 4).astype(np.float32),
    }


def trained(*, shuffle: bool = False) -> tuple[bytes, dict[str, object]]:
    """Train on all sentences; return the file of weights and its manifest.

    Args:
        shuffle: Give the sentences each other's classes: a null control.
    """
    source = random.Random(SEED)  # noqa: S311 - it only has to be repeatable
    examples = read()
    examples += varied(examples, source) + templated(source)
    if shuffle:
        labels = [one.label for one in examples]
        source.shuffle(labels)
        examples = [
            Example(one.text, label, one.weight)
            for one, label in zip(examples, labels, strict=True)
        ]
    meanings, grams = matrix(examples)
    heads = {
        "full": fit(np.hstack([meanings * MEANING, grams]), examples, SHARP["full"]),
        "ngrams": fit(grams, examples, SHARP["ngrams"]),
    }
    return packed(heads)


def packed(heads: dict[str, dict[str, object]]) -> tuple[bytes, dict[str, object]]:
    """Write the models as one file without compression, whose bytes depend on no library."""
    buffer = io.BytesIO()
    np.savez(
        buffer,
        **{f"{name}_{part}": value for name, head in heads.items() for part, value in head.items()},
    )
    held = buffer.getvalue()
    manifest = {
        "sha256": hashlib.sha256(held).hexdigest(),
        "features": features.VERSION,
        "meaning": MEANING,
        "embedder": default_embedder().name,
        "classes": CLASSES,
        "sentences": source_digest(),
    }
    return held, manifest


def source_digest() -> str:
    """Return the sha256 of all files that the weights are made of."""
    digest = hashlib.sha256()
    for path in sorted(DATA.glob("*.json*")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def main() -> int:
    """Train, and write the file or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if it differs")
    parser.add_argument("--shuffle", action="store_true", help="shuffle the classes first")
    parser.add_argument("--to", type=Path, default=WEIGHTS, help="where to write the weights")
    given = parser.parse_args()
    held, manifest = trained(shuffle=given.shuffle)
    from_bytes(held, manifest)
    if given.check:
        same = WEIGHTS.read_bytes() == held and json.loads(MANIFEST.read_text()) == manifest
        print("the weights are the same" if same else "the weights differ; train them again")
        return 0 if same else 1
    given.to.write_bytes(held)
    manifest_path = given.to.with_name(MANIFEST.name)
    manifest_path.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    print(f"{len(held):,} bytes written to {given.to}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
