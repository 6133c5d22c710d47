"""Does anything make it stumble? Many random texts kept and many random queries asked.

    python benchmarks/fuzz.py [--cases 100000] [--seed 1] [--embedder hash|none|default]

Texts and queries are put together at random from what parsers trip over: FTS5 and SQL syntax,
quotes, control characters, lone surrogates, marks without letters, dates that do not exist, long
words, every plane of Unicode, and plain words. One in five cases is a text to keep, the others are
queries, spread over stores of a few hundred memories each. Allowed results: a text is kept, or
refused with ``InvalidInput``; a query is answered. Anything else ends the run with its case. On the
way it is checked that the same call gives the same order, that every score and confidence is in
[0, 1], and that a probe answers after all the queries, none of which was recorded, as before.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from common import embedder_named

from memento import MemoryManager
from memento.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memento.protocols import Embedder

TEXTS_IN_STORE = 300
QUERIES_OF_STORE = 1200
AGAIN = 20
"""One query in so many is asked twice."""
PROBES = (
    "red kettle",
    "when did Ada meet Bob in May 2023?",
    "東京タワー",
    "how many?",
    "ticket4711",
)
_SYNTAX = r"""
    AND OR NOT NEAR NEAR(a,b,2) * ^ : - + " ' ( ) { } [ ] \ / % _ ; -- /* */ head:x rowid MATCH
    SELECT DROP TABLE memories NULL x'00' ${jndi} {{7*7}} <b> </memories> “quoted_phrase” «»,
    "unbalanced `` https://a.b/c?d=e#f C:\x\y ticket4711 foo_bar #123 a@b.c 0x7f 1e999 -0
"""
_DATES = """
    31.2.2023,0000-00-00,2023-13-45,9999-12-31,99999-1-1,1/1/1,29/02/2023,yesterday,in May,
    last Friday,Feb 30,next year,a couple of weeks ago,999 years ago,easter 1
"""
_ASKS = "how many,which kinds of,summarize,always,from now on,what did,in total,is,the,when,list"
_WORDS = """
    red kettle Ada Bob piano meeting invoice server garden straße İstanbul 東京タワー ภาษาไทย مدرسة
    привет 한국어 नमस्ते 👩‍👩‍👧‍👦
"""
_ODD = (
    *("\x00", "\x1b[31m", "\ud800", "\udfff", "\ufeff", "\u202e", "\u2028", "\u0301", "\u200d"),
    *("\U000e0041", "\t", "\r\n", "x" * 300, "a." * 100, " " * 20, "\n" * 5, "é" * 50),
)
PIECES = (
    *_SYNTAX.split(),
    *(date.strip() for date in _DATES.split(",")),
    *_ASKS.split(","),
    *_WORDS.split(),
    *_ODD,
)
"""Parts of texts and queries, beside characters of any plane."""


class Failure(Exception):
    """A case that did what no case may."""


def anything(rng: random.Random) -> str:
    """Make a text or query."""
    parts = [
        rng.choice(PIECES) if rng.random() < 0.8 else strange(rng)
        for _ in range(rng.choice((0, 1, 1, 2, 3, 5, 8, 13, 40)))
    ]
    return rng.choice((" ", " ", "", ", ")).join(parts)


def strange(rng: random.Random) -> str:
    """Make a few characters of one plane of Unicode, surrogates included."""
    start = rng.choice((0, 0x300, 0x600, 0x900, 0x3000, 0xAC00, 0xD7F0, 0xFE00, 0x1F300, 0xE0000))
    return "".join(chr(start + rng.randrange(256)) for _ in range(rng.randint(1, 6)))


def options_of(rng: random.Random) -> dict[str, Any]:
    """Choose the other arguments of a query."""
    return {
        "k": rng.choice((None, 1, 5, 50)),
        "match": rng.choice(("auto", "auto", "names", "text")),
        "tokens": rng.choice((None, None, 1, 200)),
        "min_score": rng.choice((0.0, 0.0, 0.5)),
        "cutoff": rng.choice((0.0, 0.0, 0.9)),
    }


def keep(memory: MemoryManager, rng: random.Random, told: Counter[str]) -> None:
    """Keep one text, or have it refused."""
    names = (None, "Ada", anything(rng)[:40])
    try:
        memory.add(
            anything(rng),
            session=rng.choice((None, "s1", "s2")),
            actor=rng.choice(names) or None,
            key=rng.choice((None, None, "user/editor")),
            aliases=[anything(rng)[:40]] if rng.random() < 0.1 else (),
        )
        told["kept"] += 1
    except InvalidInput:
        told["refused"] += 1


def ask(memory: MemoryManager, rng: random.Random, told: Counter[str]) -> None:
    """Ask one query.

    Raises:
        Failure: If the answer breaks a promise.
    """
    query, options = anything(rng), options_of(rng)
    try:
        found = memory.retrieve(query, record=False, **options)
        again = (
            memory.retrieve(query, record=False, **options) if rng.randrange(AGAIN) == 0 else found
        )
    except Exception as error:
        raise Failure(f"{query!r} {options}: {type(error).__name__}: {error}") from error
    if found.hits != again.hits:
        raise Failure(f"{query!r} {options}: two orders")
    measured = [found.confidence, *(x for hit in found for x in (hit.score, hit.confidence))]
    if not all(0 <= value <= 1 for value in measured):
        raise Failure(f"{query!r} {options}: {measured}")
    told["answered" if found else "empty"] += 1


def stores(cases: int, seed: int) -> Iterator[tuple[int, int, int]]:
    """Yield the seed of each store, its texts and its queries, until there are enough cases."""
    left, number = cases, 0
    while left > 0:
        texts = min(TEXTS_IN_STORE, -(-left // 5))
        queries = min(QUERIES_OF_STORE, left - texts)
        yield seed * 1_000_003 + number, texts, queries
        left -= texts + queries
        number += 1


def run(cases: int, seed: int, embedder: Embedder | None) -> Counter[str]:
    """Run all cases; return how many came out how.

    Raises:
        Failure: At the first case that does what none may.
    """
    told: Counter[str] = Counter()
    for own_seed, texts, queries in stores(cases, seed):
        rng = random.Random(own_seed)
        with (
            TemporaryDirectory(prefix="memento-fuzz-") as root,
            MemoryManager(root=root, embedder=embedder) as memory,
        ):
            for _ in range(texts):
                keep(memory, rng, told)
            memory.flush(wait=True)
            before = [memory.retrieve(probe, 20, record=False).hits for probe in PROBES]
            for _ in range(queries):
                ask(memory, rng, told)
            if before != [memory.retrieve(probe, 20, record=False).hits for probe in PROBES]:
                raise Failure(f"store {own_seed}: queries that were not recorded changed an answer")
        print(f"{told.total()} cases", end="\r", file=sys.stderr, flush=True)
    return told


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark; exit status 1 at the first failure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cases", type=int, default=100_000, help="texts and queries in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--embedder", choices=("hash", "none", "default"), default="hash")
    options = parser.parse_args(arguments)
    try:
        told = run(options.cases, options.seed, embedder_named(options.embedder))
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
    print(f"{told.total()} cases, no exception, no answer changed: {dict(told)}")


if __name__ == "__main__":
    main()
