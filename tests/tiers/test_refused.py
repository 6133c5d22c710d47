"""The report of refused texts does not depend on the order in which they were tried."""

from __future__ import annotations

import itertools

import pytest

from memento.errors import EmbedderError
from memento.ledger.schema import SEQ_BITS
from memento.ledger.vectors import Owed
from memento.tiers.work import Refused

LINES = [(1 << SEQ_BITS) + at for at in range(1, 4)]


class Ledger:
    """A ledger in which every refused text still lacks its vector."""

    def read(self, job):
        """Answer the only job there is here."""
        return list(job.__closure__[0].cell_contents)


@pytest.mark.parametrize("order", [*itertools.permutations(LINES)])
def test_the_newest_one_is_quoted(order):
    """Neighbours change which text is tried last, and must not change what is reported."""
    refused = Refused(Ledger())
    for docid in order:
        line = Owed(**dict.fromkeys(Owed._fields, ""))._replace(docid=docid, rev=1, id=f"m{docid}")
        refused.note(line, EmbedderError("no"))
    assert refused.told(lambda _ns: True) == f"texts refused: 3, most recently m{LINES[-1]}: no"
