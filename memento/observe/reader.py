"""The reader: which words of a message state something worth a memory, and of which class.

A small transformer over the whole message gives each of its tokens a probability for each class; a
run of clauses whose tokens are probably worth something is a statement. It shares the word
embeddings and the tokenizer of the default embedder. ``scripts/train_reader.py`` trains and builds
it. English only; the other languages have cue tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from memento.embed.onnx import MINILM
from memento.embed.session import REPAIR, OnnxModel, packaged
from memento.errors import EmbedderError
from memento.observe.signals import Signal, Span
from memento.observe.split import all_sentences
from memento.observe.wording import belongs_to_last

if TYPE_CHECKING:
    from numpy.typing import NDArray

MANIFEST = MINILM / "reader.json"
BEFORE_TOKENS, MESSAGE_TOKENS = 40, 160
"""Maximum tokens of the turn before and of the message that are read at once, as in training."""
BEGINS_AT, GOES_ON_AT = 0.5, 0.4
"""Minimum mean probability that a clause is worth a memory, to begin or continue a statement."""
LENGTH_POWER, EVEN, SUREST = 1.1, 80.0, 0.9995
"""Fitted on the development voices and on 1,320 messages of other strangers: the exponent of the
number of tokens in the odds of a statement, their divisor, and the upper limit of a mean."""
_CUTS = re.compile(
    r"[,;:](?=\s|$) | \s[-–—]+\s | [()] | \s(?=(?:so|because|bc|but|and)\s)",  # noqa: RUF001
    re.IGNORECASE | re.VERBOSE,
)
"""Where a clause of a sentence ends."""
_WORDS = re.compile(
    r"""(?:(?:and|but|so|because|bc|also|plus)\s+|[-*]\s+|[^\w"'“‘«(#@$€£+*-]+)*  # left out
    (?P<words>.*?)[\s,;:(–—-]*\Z""",  # noqa: RUF001 - real dashes
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
"""What is stored of a statement: without the word or the mark that joins it to its neighbours."""


@dataclass(frozen=True, slots=True)
class Statement:
    """Some clauses of one sentence that may be worth a memory.

    Attributes:
        start: Index of its first character in the message.
        end: Index after its last character.
        signal: The likeliest class.
        probability: How probable it is that it is worth a memory, (0, 1).
    """

    start: int
    end: int
    signal: Signal
    probability: float


@dataclass(frozen=True, slots=True)
class Reading:
    """The probabilities of the tokens of a message.

    Attributes:
        text: The message as it was read.
        places: (n, 2) start and end of each token in the message.
        chances: (n, 1 + classes) probabilities; the first is that it is worth nothing.
        classes: The other classes, in order.
    """

    text: str
    places: NDArray[np.int64]
    chances: NDArray[np.float32]
    classes: tuple[Signal, ...]

    def statements(self) -> Iterator[Statement]:
        """Yield the runs of clauses that are probably worth a memory, in order.

        A statement is one or more clauses of one sentence, so that nothing is cut within a clause.
        A clause that belongs to the one before it goes with it, whatever it is worth by itself: it
        may say when the statement does not hold.
        """
        worth = 1 - self.chances[:, 0]
        for sentence in all_sentences(self.text, self.text):
            told: list[tuple[int, int]] = []
            last = -1
            for start, end in self._clauses(sentence):
                if worth[start:end].mean() >= (GOES_ON_AT if told else BEGINS_AT):
                    told.append((start, end))
                elif told and not belongs_to_last(self._words(start, end)):
                    yield self._statement(told, last)
                    told = []
                last = end
            if told:
                yield self._statement(told, last)

    def _words(self, first: int, end: int) -> str:
        """Return the words of some tokens."""
        return self.text[int(self.places[first, 0]) : int(self.places[end - 1, 1])]

    def _clauses(self, sentence: Span) -> Iterator[tuple[int, int]]:
        """Yield the first token of each clause and the one after its last; each has a word."""
        starts, begin = self.places[:, 0], sentence.start
        at = int(np.searchsorted(starts, begin))
        cuts = [cut.end() for cut in _CUTS.finditer(self.text, begin, sentence.end)]
        for place in (*cuts, sentence.end):
            parts = self.text[begin:place], self.text[place : sentence.end]
            if place < sentence.end and not all(any(map(str.isalnum, part)) for part in parts):
                continue
            end = int(np.searchsorted(starts, place))
            if end > at:
                yield at, end
            at, begin = end, place

    def _statement(self, told: list[tuple[int, int]], end: int) -> Statement:
        """Make a statement of the clauses that tell something, with all words up to a token."""
        chances = np.concatenate([self.chances[first:last] for first, last in told])
        worth = np.sort(1 - chances[:, 0])
        start, stop = int(self.places[told[0][0], 0]), int(self.places[end - 1, 1])
        words = _WORDS.match(self.text, start, stop)
        if words is not None and words["words"]:
            start, stop = words.span("words")
        return Statement(
            start,
            stop,
            self.classes[int(chances[:, 1:].mean(axis=0).argmax())],
            _probable(float(worth[len(worth) // 2 :].mean()), len(worth)),
        )

    def without(self, signal: Signal) -> Reading:
        """Return the same with a class's probabilities added to "nothing"."""
        chances = self.chances.copy()
        at = 1 + self.classes.index(signal)
        chances[:, 0] += chances[:, at]
        chances[:, at] = 0
        return replace(self, chances=chances)

    def within(self, start: int, end: int) -> dict[Signal, float]:
        """Return the mean probability of each class in a part of the message."""
        inside = (self.places[:, 0] >= start) & (self.places[:, 1] <= end)
        if not inside.any():
            return dict.fromkeys(self.classes, 0.0)
        means = self.chances[inside, 1:].mean(axis=0)
        return dict(zip(self.classes, map(float, means), strict=True))


def _probable(worth: float, tokens: int) -> float:
    """Return how probable it is that a statement is worth a memory.

    The mean over the tokens of a statement is too high, and the fewer they are the more so: a lone
    noun that answers a question looks like a statement.
    """
    worth = min(worth, SUREST)
    odds: float = worth / (1 - worth) * tokens**LENGTH_POWER / EVEN
    return odds / (1 + odds)


class Reader:
    """Reads messages. Make one with ``Reader.load``; several threads may use it."""

    def __init__(self, model: OnnxModel, classes: tuple[Signal, ...]) -> None:
        self._model, self._classes = model, classes

    @classmethod
    def load(cls) -> Reader:
        """Return the reader of the package; its weights are read with the first message.

        Raises:
            EmbedderError: If its manifest is missing or damaged.
        """
        return _loaded()

    def read(self, masked: str, previous: str | None = None) -> Reading:
        """Read one message.

        Args:
            masked: The message after ``mask.hide``; a hidden run is one unknown word.
            previous: The assistant's turn that it answers; only its end is read.

        Raises:
            EmbedderError: If a file of the model is missing or damaged.
        """
        model = self._model.loaded()
        said = model.tokenizer.encode(masked, add_special_tokens=False)
        before = []
        if previous:
            before = model.tokenizer.encode(previous, add_special_tokens=False).ids
        rows = [np.empty((0, 1 + len(self._classes)), np.float32)]
        for start, end in _windows(said.offsets, masked):
            lead = [model.first, *(before[-BEFORE_TOKENS:] if start == 0 else ()), model.last]
            row = model.run([*lead, *said.ids[start:end], model.last])[0]
            rows.append(row[len(lead) : len(lead) + end - start])
        logits = np.concatenate(rows)
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        places = np.array(said.offsets, np.int64).reshape(-1, 2)
        return Reading(masked, places, powers / powers.sum(axis=1, keepdims=True), self._classes)


def _windows(offsets: list[tuple[int, int]], text: str) -> Iterator[tuple[int, int]]:
    """Cut a long message into windows of tokens, if possible after a line or a sentence."""
    start = 0
    while start < len(offsets):
        end = min(start + MESSAGE_TOKENS, len(offsets))
        if end < len(offsets):
            ends = (
                at for at in range(end, start + MESSAGE_TOKENS // 2, -1) if _ends(offsets, text, at)
            )
            end = next(ends, end)
        yield start, end
        start = end


def _ends(offsets: list[tuple[int, int]], text: str, at: int) -> bool:
    between = text[offsets[at - 1][1] : offsets[at][0]]
    return "\n" in between or (between != "" and text[offsets[at - 1][1] - 1] in ".!?")


@cache
def _loaded() -> Reader:
    manifest, model = packaged(MANIFEST)
    try:
        return Reader(model, tuple(map(Signal, manifest["classes"])))
    except (ValueError, KeyError, TypeError) as error:
        raise EmbedderError(f"{MANIFEST}: cannot be read ({error}); {REPAIR}") from error
