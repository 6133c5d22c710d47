"""What does ``observe`` store of natural talk, and is it useful? Judged by hand.

    python benchmarks/observe_natural.py [--half seen|held] [--embedder none] [--junk]

``sets/natural_talk.json`` has what invented people say in passing about their day, at work, to
friends and to an assistant; hardly any of it is worth storing. Nothing of it is in the training.
Each person is one session of ``observe``. ``sets/natural_verdicts.jsonl`` says of each statement
that was stored whether it is worth knowing in a later conversation, whatever its class: one
reader's judgement. A stored statement without a verdict counts as junk, and the command fails.

The half ``seen`` was looked at before sentences like it were added to the training; the half
``held`` was written before the last training and judged once after it. What it showed (talk taken
for a correction) was mended in the rules afterwards, so for these it is not unseen any more.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memento import MemoryManager
from memento.observe import mask, split

if TYPE_CHECKING:
    from collections.abc import Iterator

SETS = Path(__file__).parent / "sets"
TALK, VERDICTS = SETS / "natural_talk.json", SETS / "natural_verdicts.jsonl"
MOST_JUNK = 1.0
"""Most statements stored of 100 sentences that are not useful."""


def verdicts() -> dict[str, bool]:
    """Return each judged statement and whether it is useful."""
    lines = VERDICTS.read_text(encoding="utf-8").splitlines()
    return {one["text"]: one["useful"] for one in map(json.loads, lines)}


def stored(said: list[str], *, ngrams: bool) -> Iterator[tuple[str, str]]:
    """Let a person talk to a new store; yield what it learnt: class and words."""
    options: dict[str, Any] = {"embedder": None} if ngrams else {}
    with tempfile.TemporaryDirectory() as folder, MemoryManager(folder, **options) as memory:
        for text in said:
            for one in memory.observe(text, session="talk").learned:
                yield str(one.signal), one.span.text


def main() -> int:
    """Measure and print; 1 if a floor is missed or a statement was not judged."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=("seen", "held"), action="append")
    parser.add_argument("--embedder", choices=("default", "none"), default="default")
    parser.add_argument("--junk", action="store_true", help="print what is not useful")
    given = parser.parse_args()
    missed, judged = [], verdicts()
    for half in given.half or ("seen", "held"):
        missed += measure(half, judged, ngrams=given.embedder == "none", junk=given.junk)
    for line in missed:
        print(f"MISSED {line}")
    return 1 if missed else 0


def measure(half: str, judged: dict[str, bool], *, ngrams: bool, junk: bool) -> list[str]:
    """Print the figures of one half; return what it misses."""
    people = [one for one in json.loads(TALK.read_text("utf-8"))["people"] if one["half"] == half]
    texts = [text for one in people for text in one["said"]]
    sentences = sum(len(split.sentences(mask.hide(text), text)) for text in texts)
    found = [pair for one in people for pair in stored(one["said"], ngrams=ngrams)]
    useful = sum(judged.get(text, False) for _, text in found)
    rate, junk_rate = (100 * n / max(1, sentences) for n in (len(found), len(found) - useful))
    print(
        f"{half}: {len(people)} people, {len(texts)} messages, {sentences} sentences; "
        f"{len(found)} stored ({rate:.1f} of 100), {useful} useful, {junk_rate:.1f} junk of 100"
    )
    for signal, text in found:
        if junk and not judged.get(text, False):
            print(f"  {signal:<11} {text}")
    missed = [f"{half}: not judged: {text}" for _, text in found if text not in judged]
    if junk_rate > MOST_JUNK:
        missed.append(f"{half}: {junk_rate:.1f} junk of 100 sentences, most {MOST_JUNK}")
    return missed


if __name__ == "__main__":
    sys.exit(main())
