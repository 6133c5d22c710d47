"""Identifiers of many kinds, each hidden in one memory among thousands. Deterministic; no file.

Twenty kinds, ten of each, drawn from few parts, so that many are near twins of another: a search
that takes them apart into words confuses them.
"""

from __future__ import annotations

import random
import uuid
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

SEED = 11
EACH = 10


class Case(NamedTuple):
    """An identifier, the sentence that holds it, and a question that names it."""

    kind: str
    identifier: str
    text: str
    question: str


_VERBS = ("parse", "load", "merge", "sync", "check", "flush")
_NOUNS = ("invoice", "order", "user", "cart", "token", "report")
_HOSTS = ("status", "docs", "git", "files")
_TOPS = ("northmill.example", "arvento.example", "kolvane.example")

KINDS: dict[str, Callable[[random.Random], str]] = {
    "ticket": lambda r: f"ticket{r.randrange(10_000, 11_000)}",
    "issue": lambda r: f"{r.choice(('OPS', 'WEB', 'PAY'))}-{r.randrange(4_100, 4_200)}",
    "number": lambda r: f"#{r.randrange(7_300, 7_400)}",
    "snake": lambda r: f"{r.choice(_VERBS)}_{r.choice(_NOUNS)}_{r.choice(_NOUNS)}",
    "camel": lambda r: "".join(
        part.title() for part in (r.choice(_VERBS), r.choice(_NOUNS), r.choice(_NOUNS))
    ),
    "constant": lambda r: f"{r.choice(_NOUNS)}_{r.choice(_VERBS)}_LIMIT".upper(),
    "module": lambda r: f"{r.choice(_NOUNS)}.{r.choice(_VERBS)}.{r.choice(_NOUNS)}",
    "method": lambda r: f"{r.choice(_NOUNS).title()}::{r.choice(_VERBS)}_{r.choice(_NOUNS)}",
    "url": lambda r: (
        f"https://{r.choice(_HOSTS)}.{r.choice(_TOPS)}/{r.choice(_NOUNS)}/{r.randrange(90)}"
    ),
    "mail": lambda r: f"{r.choice(_VERBS)}.{r.choice(_NOUNS)}@{r.choice(_TOPS)}",
    "uuid": lambda r: str(uuid.UUID(int=r.getrandbits(128), version=4)),
    "hash": lambda r: f"{r.getrandbits(160):040x}",
    "commit": lambda r: f"c{r.getrandbits(20):05x}7",
    "version": lambda r: f"v{r.randrange(4)}.{r.randrange(20)}.{r.randrange(20)}",
    "path": lambda r: f"/srv/{r.choice(_NOUNS)}/{r.choice(_VERBS)}_{r.randrange(99)}.yaml",
    "windows": lambda r: f"C:\\data\\{r.choice(_NOUNS)}\\{r.choice(_VERBS)}{r.randrange(99)}.ini",
    "address": lambda r: f"10.{r.randrange(4)}.{r.randrange(30)}.{r.randrange(200)}",
    "package": lambda r: f"@{r.choice(_NOUNS)}/{r.choice(_VERBS)}-{r.choice(_NOUNS)}",
    "image": lambda r: f"{r.choice(_NOUNS)}-{r.choice(_VERBS)}:{r.randrange(30)}.{r.randrange(9)}",
    "serial": lambda r: f"SN-{r.randrange(100, 200)}-{r.choice('ABCDEF')}{r.randrange(10, 99)}",
}

TEXTS = (
    "The nightly run stopped at {id} and had to be started by hand.",
    "{id} is the one that Halina was looking for last week.",
    "Please leave {id} alone until the audit is over.",
    "We found the leak: it comes from {id}, not from the cache.",
    "Radu wrote down {id} on the whiteboard and circled it twice.",
    "After the move, {id} has to be entered in the inventory again.",
)
QUESTIONS = (
    "what do we know about {id}?",
    "Why was there trouble with {id}?",
    "Did anybody say what to do with {id} next",
    "I came across {id} today, what is it?",
    "Is {id} still open, and who looked at it last?",
)


def cases(seed: int = SEED) -> list[Case]:
    """Make the cases; no identifier is part of another."""
    pick = random.Random(seed)
    made: list[Case] = []
    for kind, make in KINDS.items():
        while sum(case.kind == kind for case in made) < EACH:
            name = make(pick)
            if not any(name in one.identifier or one.identifier in name for one in made):
                text, question = pick.choice(TEXTS), pick.choice(QUESTIONS)
                made.append(Case(kind, name, text.format(id=name), question.format(id=name)))
    return made
