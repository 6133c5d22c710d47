"""Two stores in which one namespace shows the same scope to another one.

They differ in what else the owner has. Every answer of the namespace that is shown the scope, as
plain values to be compared.
"""

from __future__ import annotations

import random
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from memento import Config, MemoryManager
from memento.base.display import data
from memento.errors import MementoError
from memento.testing import HashEmbedder, ManualClock

NONCE = re.compile(r"(?<=-)[0-9a-f]{12,16}\b")
"""The part that differs between any two prompts."""
SHOWN = ("ops", "ops/night", "ops/night/late")
HIDDEN = ("", "opsx", "home", "home/ops")
WHO = ("Ada", "Ben Nevis", "Carl", None)
THINGS = ("blue pipeline", "kettle", "door code", "red gate", "violin", "kubernetes", "payroll")
SECRETS = ("pregnancy", "layoffs", "merger", "kubernets", "dismissal", "zanzibar", "4711")
QUESTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("how do deploys of the blue pipeline go?", {}),
    ("how do deploys of the kubernets go?", {"k": None}),
    ("deploys", {"k": 3, "cutoff": 0.5}),
    ("blue pipeline", {"match": "names"}),
    ("what did Ada say about the kettle in May?", {"k": 20}),
    ("list all deploys on Friday", {"k": None, "tokens": 80}),
    ("what did Carl deploy first?", {"within": "ops/night"}),
    ("deploys", {"scope": "ops", "kind": "rule", "fold": False}),
    ("deploys that were replaced", {"include_superseded": True, "include_quarantined": True}),
    ("deploys and the violin", {"min_confidence": 0.3}),
    ("deploys at night", {"tag": "night", "wait": 5.0}),
    *((f"{word} deploy", {}) for word in SECRETS),
    *((f"{word[:-2]}{word[-1]}{word[-2]} kettle", {"min_score": 0.1}) for word in SECRETS[:3]),
)


@dataclass
class Owner:
    """The namespace that shows a scope, and what it has besides.

    Attributes:
        view: The namespace.
        dice: Makes its choices: of what it shows, the same in both stores; or of what it hides.
    """

    view: MemoryManager
    dice: random.Random

    def add(self, number: int, scopes: tuple[str, ...], words: tuple[str, ...]) -> None:
        """Add a memory in one of some scopes."""
        dice = self.dice
        text = f"Deploys of the {dice.choice(words)} went by {dice.choice(THINGS)}"
        kept = {
            "key": dice.choice([None, None, "deploy/how", "payroll"]),
            "aliases": dice.choice([(), (), (dice.choice(words),)]),
            "actor": dice.choice(WHO), "session": dice.choice([None, "s1", "s1"]),
            "kind": dice.choice(["fact", "rule", "episode"]),
            "tags": dice.choice([(), ("night",)]),
            "importance": dice.choice([0.2, 0.8]),
            "tier": dice.choice(["medium", "long"]),
        }  # fmt: skip
        when = self.view.store.clock() - timedelta(days=dice.choice([0, 1, 9, 400, 4000]))
        end = dice.choice(["", ".", f" on Friday, note {number % 7}", f" on 5 May by {number}"])
        self.view.add(
            text + end, scope=dice.choice(scopes), id=f"{scopes[0] or 'own'}-{number}",
            occurred_at=when, **kept,
        )  # fmt: skip

    def live(self, number: int) -> None:
        """Do something with what is not shown."""
        view, dice = self.view, self.dice
        self.add(number, HIDDEN, SECRETS + THINGS)
        hidden = [one for one in view.list(limit=1000) if not one.scope.startswith("ops")]
        mine = [one.id for one in hidden if one.id.startswith("own-")]
        if not mine:
            return
        chosen = dice.choice(mine)
        verbs = (
            lambda: view.update(
                chosen, text=f"The {dice.choice(SECRETS)} of {dice.choice(THINGS)}"
            ),
            lambda: view.correct(chosen, f"No, the {dice.choice(SECRETS)} is off"),
            lambda: view.forget(chosen),
            lambda: view.store.erase(chosen, timeout=0),
            lambda: view.feedback.rate(chosen, verdict=dice.choice(["used", "wrong", "confirmed"])),
            lambda: view.retrieve(f"deploys of the {dice.choice(SECRETS + THINGS)}", 3),
            lambda: view.add(f"The {dice.choice(SECRETS)} page", scope="ops", source="web"),
            lambda: view.update(chosen, tier="short"),
        )
        with suppress(MementoError):
            dice.choice(verbs)()


def answers(
    folder: Path, seed: str, *, members: int, hidden: int, embedder: int = 0
) -> dict[str, Any]:
    """Fill a store and ask everything; returns each answer, with every field that can be seen.

    Args:
        folder: Where the store is made.
        seed: What decides all choices.
        members: Memories in the scope that is shown.
        hidden: Things that the owner does besides, among them.
        embedder: Places of its vectors; 0 for no embedder.
    """
    clock = ManualClock()
    config = Config(long_index="exact")
    made = HashEmbedder(embedder) if embedder else None
    with MemoryManager(folder, embedder=made, clock=clock, config=config) as memory:
        owner, reader = memory.of("owner"), memory.of("reader")
        shown = Owner(owner, random.Random(f"{seed} shown"))
        private = Owner(owner, random.Random(f"{seed} hidden"))
        when = random.Random(f"{seed} when")
        owner.scopes.share("ops", "reader")
        for n in range(5):
            reader.add(f"My deploys of the {THINGS[n]} wait for Ada", id=f"mine-{n}")
        moments = sorted(when.randrange(members) for _ in range(hidden))
        for n in range(members):
            clock.advance(timedelta(hours=1))
            shown.add(n, SHOWN, THINGS)
            for at in range(moments.count(n)):
                private.live(100 * n + at)
            if n % 4 == 3:
                reader.retrieve("deploys of the kettle", 3, record=False)
            if n % 5 == 4:
                owner.update(f"ops-{n - 1}", text=f"Deploys of the {THINGS[n % 7]} are late")
                with suppress(MementoError):
                    owner.forget(f"ops-{n - 3}")
                    owner.update(f"ops-{n - 2}", scope="away")  # out of the share, or into it
                    owner.update(f"ops-{n // 2}", scope="ops")
        memory.flush(wait=True, timeout=60)
        return _asked(reader)


def _asked(reader: MemoryManager) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for query, options in QUESTIONS:
        told = reader.retrieve(query, **{"record": False, **options})
        found[f"{query} {options}"] = [
            told.confidence, dict(told.missing), [data(hit) for hit in told]
        ]  # fmt: skip
        found[f"explain {query} {options}"] = told.explain()
    for query, _ in QUESTIONS[:3]:
        found[f"prompt {query}"] = NONCE.sub("", reader.prompt(query, 20, show_ids=True))
        found[f"recall {query}"] = NONCE.sub("", reader.recall(query, record=False).block)
        found[f"policy {query}"] = NONCE.sub("", reader.rules.policy(query, scope="ops/night").text)
    found["scopes"] = data(reader.scopes.list())
    found["list"] = data(reader.list(limit=1000))
    found["counts"] = reader.store.counts("scope")
    found["guess"] = data(reader.scopes.infer("deploys of the merger"))
    return found


def differing(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Name the answers that are not the same, with what differs."""
    return [f"{name}: {one[name]!r} | {other[name]!r}" for name in one if one[name] != other[name]]
