"""The fakes users need too."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from memento.errors import InvalidInput
from memento.testing import HashEmbedder, ManualClock


def test_shared_words_are_near():
    """Texts that share words are nearer than texts that do not; case and order do not matter."""
    tea, also_tea, bike = HashEmbedder().embed(["green tea leaves", "Leaves, GREEN!", "a red bike"])
    assert tea @ also_tea > tea @ bike + 0.3
    one, other = HashEmbedder().embed(["green tea", "Tea? Green."])
    assert np.array_equal(one, other)


def test_hash_is_the_same_everywhere():
    """The vector of a word is fixed for good: stored test data stays valid."""
    (vector,) = HashEmbedder(8).embed(["tea"])
    assert vector.tolist() == [-1, 0, 0, 0, 0, 0, 0, 0]


def test_hash_identity():
    """Vectors of two lengths never mix."""
    assert HashEmbedder(8).name != HashEmbedder(16).name
    with pytest.raises(InvalidInput, match="dim"):
        HashEmbedder(0)


def test_clock_stands_still():
    """The clock moves when told, also backwards."""
    clock = ManualClock(datetime(2030, 5, 1, tzinfo=UTC))
    assert clock() == clock()
    clock.advance(timedelta(days=1))
    assert clock() == datetime(2030, 5, 2, tzinfo=UTC)
    clock.advance(timedelta(days=-2))
    assert clock() == datetime(2030, 4, 30, tzinfo=UTC)


def test_clock_needs_a_timezone():
    """A start without timezone is refused."""
    with pytest.raises(InvalidInput, match="start"):
        ManualClock(datetime(2030, 5, 1))  # noqa: DTZ001 - the fault under test
