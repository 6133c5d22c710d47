"""The weights are those of the training data, whole, and loaded when they are needed."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memento.errors import EmbedderError
from memento.observe import features
from memento.observe.detect import MANIFEST, WEIGHTS, Detector, from_bytes
from memento.observe.signals import Signal

ROOT = Path(__file__).parents[2]
TRAINING = ROOT / "training" / "observe"
MANIFESTED = json.loads(MANIFEST.read_text(encoding="utf-8"))


def sentences():
    """Return all sentences of the training data with their classes."""
    return [
        json.loads(line)
        for path in sorted(TRAINING.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]


def test_the_weights_were_trained_on_the_sentences_in_the_repository():
    """After a change of a sentence it has to be trained again; the script compares all bytes."""
    digest = hashlib.sha256()
    for path in sorted(TRAINING.glob("*.json*")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    assert MANIFESTED["sentences"] == digest.hexdigest()


def test_the_weights_are_small_and_hold_no_pickle():
    """At most 300 kB, eight bits a weight."""
    assert WEIGHTS.stat().st_size <= 300_000
    with np.load(WEIGHTS, allow_pickle=False) as arrays:
        assert arrays["full_weights"].dtype == np.int8
        assert arrays["ngrams_weights"].shape == (2 * features.BUCKETS, len(Signal) + 1)


def test_damaged_weights_are_refused():
    """One changed byte, or another version of the features."""
    held = WEIGHTS.read_bytes()
    with pytest.raises(EmbedderError, match="sha256"):
        from_bytes(held[:-1] + b"x", MANIFESTED)
    with pytest.raises(EmbedderError, match="features"):
        from_bytes(held, MANIFESTED | {"features": 0})


def test_importing_loads_no_weights():
    """The detector is loaded by the first message, and not even numpy before."""
    script = """
import sys
import memento, memento.observe.candidates
print("memento.observe.detect" in sys.modules, "numpy" in sys.modules)
memento.observe.candidates.find("My name is Bo.")
print("memento.observe.detect" in sys.modules, "onnxruntime" in sys.modules)
"""
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert ran.stdout.split() == ["False", "False", "True", "False"]


def test_half_of_the_sentences_hold_nothing_and_none_is_tested_with():
    """The training never sees the test file."""
    rows = sentences()
    nothing = sum(row["signal"] is None for row in rows)
    assert len(rows) >= 1_500
    assert 0.4 <= nothing / len(rows) <= 0.6
    tested = {
        json.loads(line)["text"].lower()
        for line in (ROOT / "benchmarks/sets/observe_test.jsonl").read_text().splitlines()
    }
    assert not tested & {row["text"].lower() for row in rows}


def test_shuffled_classes_teach_nothing():
    """A null control: a model of the n-grams with shuffled classes is right by chance only."""
    source = np.random.default_rng(7)
    rows = [row for row in sentences() if row["signal"] in ("rule", "fact")]
    inputs = np.stack([features.vector(row["text"]) for row in rows])
    labels = np.array([row["signal"] == "rule" for row in rows])
    half = source.random(len(rows)) < 0.5

    def right(taught):
        """Return the share of the other half that the nearest mean names rightly."""
        means = [inputs[half & (taught == value)].mean(axis=0) for value in (False, True)]
        guessed = inputs[~half] @ means[1] > inputs[~half] @ means[0]
        return float((guessed == labels[~half]).mean())

    assert right(labels) >= 0.75
    assert right(source.permutation(labels)) <= 0.65


@settings(max_examples=30)
@given(st.text(max_size=60))
def test_features_are_the_same_everywhere(text):
    """Buckets are in range and ordered, and each group of the vector has unit length or none."""
    found = features.buckets(text)
    assert found == sorted(set(found))
    assert all(0 <= bucket < 2 * features.BUCKETS for bucket in found)
    row = features.vector(text)
    for group in (row[: features.BUCKETS], row[features.BUCKETS :]):
        assert np.linalg.norm(group) == pytest.approx(1, abs=1e-5)


def test_buckets_do_not_change_between_versions():
    """The hash is part of the format: other buckets need another version."""
    assert features.VERSION == 1
    assert features.buckets("I like tea.")[:4] == [207, 499, 923, 1400]


def test_an_empty_list_gives_an_empty_list():
    """Nothing to judge is judged without a model."""
    assert Detector.load().detect([]) == []
