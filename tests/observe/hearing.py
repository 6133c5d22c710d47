"""A stand-in for what finds statements: it knows some sentences and nothing else.

The rules under test begin behind it, so that a reader trained again changes no test.
"""

from __future__ import annotations

from collections import Counter

from memento.observe.signals import Candidate, Found, Signal, Span


class Hearing:
    """Finds known sentences in a message, word for word.

    Attributes:
        known: Sentence to its class and probability.
        answered: The turns before the messages that were read.
    """

    def __init__(self):
        self.known = {}
        self.answered = []

    def knows(self, sentence, signal, probability=0.95):
        """Know one more sentence."""
        self.known[sentence] = (Signal(signal), probability)

    def find(self, text, *, previous=None, store_at=0.5, doubt_at=0.25, **_options):
        """Read a message as ``candidates.find`` does."""
        self.answered.append(previous)
        found = [
            Candidate(Span(at, at + len(one), one), signal, sure, sure >= store_at, ("known",))
            for one, (signal, sure) in self.known.items()
            if (at := text.find(one)) >= 0 and sure >= doubt_at
        ]
        found.sort(key=lambda one: one.span.start)
        return Found(tuple(found), Counter(), 0, "en", "model")
