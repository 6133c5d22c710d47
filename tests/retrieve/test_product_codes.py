"""Product codes: what is found by them, and what is said if faiss is not there."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memento import Config
from memento.config import tiers
from memento.config.tiers import ChooseConfig
from memento.errors import InvalidInput, MissingExtra
from memento.retrieve.product import Product
from memento.testing import HashEmbedder

needs_faiss = pytest.mark.skipif(
    find_spec("faiss") is None, reason="pip install 'agent-memento[faiss]'"
)
sizes = st.tuples(st.integers(1, 60), st.sampled_from([1, 4, 7, 32, 65]), st.integers(0, 9))


def some(n, dim, seed):
    """Make vectors of unit length."""
    rows = np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def made(vectors):
    """Return what finds these vectors."""
    coder = Product.learn(vectors)
    return coder.finder(coder.encode(vectors))


@needs_faiss
@given(sizes, st.integers(0, 60))
@settings(max_examples=25, deadline=None)
def test_the_code_of_a_vector_depends_on_no_other(size, cut):
    """With the same centres, read from bytes, a part of the rows has the same codes."""
    vectors = some(*size)
    coder = Product.learn(vectors)
    assert coder.learned.shape == (Product.learns(size[1]),)
    whole = coder.encode(vectors)
    assert whole.itemsize == Product.bytes_of(size[1])
    again = Product.load(coder.learned.copy(), size[1])
    assert again.encode(vectors[cut:]).tobytes() == whole[cut:].tobytes()
    read = Product.read(b"abc" + whole.tobytes(), 3, len(vectors), size[1])
    assert read.tobytes() == whole.tobytes()


@needs_faiss
def test_candidates_are_the_nearest_allowed_rows():
    """No other row is one; if fewer pass than are wanted, all of them are."""
    vectors = some(500, 64, 3)
    finder = made(vectors)
    allowed = np.random.default_rng(1).random(500) < 0.4
    for count in (1, 40, 100, int(allowed.sum()), 500):
        found = finder.candidates(vectors[5], allowed, count)
        assert np.all(np.diff(found) > 0)
        assert allowed[found].all()
        assert len(found) >= min(count, allowed.sum())
    near = np.argsort(-(vectors @ vectors[5]))
    assert np.isin(near[allowed[near]][:3], finder.candidates(vectors[5], allowed, 40)).all()
    assert np.isin(near[:3], finder.candidates(vectors[5], np.ones(500, np.bool_), 40)).all()


@needs_faiss
def test_all_of_many_equal_vectors_are_candidates():
    """Nothing is nearer than another, and the newest is to be found."""
    equal = np.repeat(some(1, 64, 0), 200, axis=0)
    finder = made(np.concatenate([equal, some(300, 64, 1)]))
    found = finder.candidates(equal[0], np.ones(500, np.bool_), 20)
    assert set(range(200)) <= set(found.tolist())


@needs_faiss
def test_faiss_may_have_as_many_threads_as_before():
    """Ours is one, and only while it computes: others in the process may use faiss as well."""
    import faiss  # noqa: PLC0415 - an extra

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(3)
    try:
        made(some(50, 8, 0)).candidates(some(1, 8, 1)[0], np.ones(50, np.bool_), 5)
        assert faiss.omp_get_max_threads() == 3
    finally:
        faiss.omp_set_num_threads(before)


def test_a_missing_package_is_named_when_the_store_is_opened(open_memory, monkeypatch):
    """Not by the first question of a large namespace, weeks later."""
    monkeypatch.setattr(tiers, "find_spec", lambda _name: None)
    open_memory(embedder=HashEmbedder(8)).close()
    config = Config(choose=ChooseConfig(codes="product"))
    with pytest.raises(MissingExtra, match=r"pip install 'agent-memento\[faiss\]'") as told:
        open_memory(embedder=HashEmbedder(8), config=config)
    assert told.value.extra == "faiss"


def test_codes_of_another_name_are_refused():
    """The setting is one of two words."""
    with pytest.raises(InvalidInput, match=r"choose\.codes"):
        Config(choose=ChooseConfig(codes="bytes"))


@needs_faiss
def test_a_store_that_is_not_scanned_loads_no_faiss(tmp_path):
    """It takes a tenth of a second, for which few stores have a use."""
    program = (
        "import sys; from memento import Config, MemoryManager\n"
        "from memento.config.tiers import ChooseConfig\n"
        "from memento.testing import HashEmbedder\n"
        "config = Config(choose=ChooseConfig(codes='product'))\n"
        "with MemoryManager(sys.argv[1], embedder=HashEmbedder(8), config=config) as memory:\n"
        "    memory.add('the kettle is red')\n"
        "    assert memory.retrieve('kettle').hits\n"
        "assert 'faiss' not in sys.modules\n"
    )
    path = os.pathsep.join(part for part in sys.path if part)
    subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "store")],
        check=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": path},
    )
