"""A text without an anchor of a format of secrets holds none, so no look for it is ever missed."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import pytest
from expressions import REPEATS, drawn, tree
from secret_samples import MAKERS

from memento.admit import secret_validators
from memento.admit.redact import _suspected
from memento.admit.secrets import FORMATS, SecretFormat, SecretPlace

FOLDED = re.compile(r"[kis]", re.IGNORECASE)
"""Letters that stand for a letter beyond ASCII, too, where case does not count."""
DECODED = {
    secret_validators.jwt,
    secret_validators.discord,
    secret_validators.checksum_holds,
    secret_validators.user_and_password,
}
"""Proofs that characters drawn at random never stand."""
EACH = pytest.mark.parametrize("one", FORMATS, ids=lambda one: f"{one.kind}-{one.anchors[0]}")


def spelled(nodes: Iterable[Any], flags: int = 0) -> Iterator[str]:
    """Spell what every text that an expression takes has in it: letters, and a NUL for the rest.

    One text for each way through the expression. What may be absent is left out, and where case
    does not count, only ASCII letters are spelled that stand for no other.
    """
    yield from map("".join, product(*(list(_spelled(*node, flags)) for node in nodes)))


def _spelled(op: Any, value: Any, flags: int) -> Iterator[str]:
    name = str(op)
    if name == "LITERAL":
        char = chr(value)
        loose = flags & re.IGNORECASE and not flags & re.ASCII and FOLDED.match(char)
        yield "\0" if loose else char.lower() if flags & re.IGNORECASE else char
    elif name == "BRANCH":
        for branch in value[1]:
            yield from spelled(branch, flags)
    elif name == "SUBPATTERN":
        yield from spelled(value[3], (flags | value[1]) & ~value[2])
    elif name == "ATOMIC_GROUP":
        yield from spelled(value, flags)
    elif name in REPEATS and value[0] == value[1]:
        yield from map("".join, product(list(spelled(value[2], flags)), repeat=value[0]))
    else:
        yield "" if name in {"AT", "ASSERT", "ASSERT_NOT"} else "\0"


@EACH
def test_no_text_is_taken_that_has_no_anchor(one: SecretFormat):
    """Read from the expression itself: every way through it spells one of its anchors."""
    folded = one.place is not SecretPlace.RUN
    for pattern in filter(None, (one.pattern, one.over_lines)):
        for way in spelled(tree(re.compile(pattern))):
            said = way.lower() if folded else way
            assert any(anchor in said for anchor in one.anchors), way
    if folded:
        assert all(anchor == anchor.lower() for anchor in one.anchors)


@EACH
def test_every_key_that_a_format_takes_is_looked_for(one: SecretFormat):
    """However short it is, and in whichever of its alphabets: drawn from the expression."""
    rng = random.Random(one.pattern)
    nodes, taken = tree(one.finder), 0
    for _ in range(100):
        text = rng.choice(["{}", "see {} there", "a\n{}\nb", "{}b.c"]).format(drawn(nodes, rng))
        if (found := one.finder.search(text)) and one.proof(found[found.re.groups]):
            taken += 1
            assert one in _suspected(text)[0], text
    assert taken or one.proof in DECODED


@pytest.mark.parametrize("kind", MAKERS)
def test_every_key_that_is_made_has_an_anchor(kind: str):
    """What the measure of redaction makes of a kind is looked for as that kind."""
    for make in MAKERS[kind]:
        made = make(random.Random(kind))
        text = made if isinstance(made, str) else made[0]
        assert kind in {one.kind for one in _suspected(text)[0]}, text
