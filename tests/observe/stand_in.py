"""A stand-in for the reader: it knows some wordings and nothing else.

What becomes of a statement is decided behind the reader, so that a reader that is trained again
changes no test of it.
"""

from __future__ import annotations

import re

import numpy as np

from memento.observe.reader import Reading
from memento.observe.signals import Signal

CLASSES = tuple(Signal)
KNOWN = [
    (r"\bmy name is \w+\.", Signal.IDENTITY, 1.0),
    (r"\bI live in \w+\.", Signal.IDENTITY, 1.0),
    (r"\bI've moved to \w+\.?", Signal.CORRECTION, 1.0),
    (r"\bno, [^.!?]+[.!?]?", Signal.CORRECTION, 1.0),
    (r"\bforget [^.!?]+[.!?]?", Signal.FORGET, 1.0),
    (r"\b(?:please )?(?:don't|do not) store [^.!?]+[.!?]?", Signal.FORGET, 1.0),
    (r"\b(?:always|never) [^.!?]+[.!?]?", Signal.RULE, 0.3),
    (r"\bI guess [^.!?]+[.!?]?", Signal.FACT, 0.75),
    (r"\bwe live in [^.!?]+[.!?]?", Signal.IDENTITY, 0.85),
    (r"\bcall me \w+\.?", Signal.IDENTITY, 0.9),
]
"""Pattern, class of its words, and their chance to be of it."""
LEFT = 0.15
"""Chance of all other words to state a fact: a reader leaves them, a model may point at them."""


class StandIn:
    """Reads a message as ``Reader.read`` does, by a table of wordings.

    Attributes:
        known: The table; a later row wins where two meet.
    """

    def __init__(self, known=KNOWN):
        self.known = known

    def read(self, masked, _previous=None):
        """Give each word the chance that the table says."""
        places = [match.span() for match in re.finditer(r"\w+|[^\w\s]", masked)]
        places = np.array(places, np.int64).reshape(-1, 2)
        chances = np.zeros((len(places), 1 + len(CLASSES)), np.float32)
        chances[:, 0] = 1 - LEFT
        chances[:, 1 + CLASSES.index(Signal.FACT)] = LEFT
        for pattern, signal, chance in self.known:
            for match in re.finditer(pattern, masked, re.IGNORECASE):
                inside = (places[:, 0] >= match.start()) & (places[:, 1] <= match.end())
                chances[inside] = 0
                chances[inside, 0] = 1 - chance
                chances[inside, 1 + CLASSES.index(signal)] = chance
        return Reading(text=masked, places=places, chances=chances, classes=CLASSES)
