"""LifeBench: does use tell what is needed again? The scenarios need, null and loop."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from time import monotonic, sleep

from life_world import PRODUCT, Item, Scores, World

TOPICS = (
    "deploy runbook", "invoice template", "on-call rota", "test dataset", "release checklist",
    "budget sheet", "design brief", "incident report", "meeting notes", "training plan",
    "supplier contract", "backup script",
)  # fmt: skip
PROJECTS = ("Heron", "Egret", "Bittern", "Plover", "Dunlin", "Avocet")
TAILS = (
    "lives in folder {k}",
    "was filed under {k}",
    "is kept at shelf {k}",
    "has the number {k}",
)
NOUNS = [
    "bakery",
    "bridge",
    "ticket",
    "harbour",
    "printer",
    "garden",
    "museum",
    "ladder",
    "station",
    "kettle",
    "balcony",
    "parcel",
    "market",
    "lamp",
    "concert",
    "tram",
    "library",
    "blanket",
    "orchard",
    "stove",
    "fence",
    "poster",
    "river",
    "carpet",
    "kitchen",
    "tunnel",
    "notebook",
    "sofa",
    "window",
    "tower",
]
ASKED, FIRST, SPAN = 900, 300, 150.0
"""Questions, of which the first are not counted, and the days over which they are spread."""
PERSISTENT, TOLD = 0.85, 0.5
"""Share of the questions whose need follows the past, and of those that get a verdict."""
ORACLE = "oracle"


def need(seeds: Sequence[int], *, persistent: bool = True) -> Scores:
    """Ask for one of six memories that are alike; the needed one follows past needs.

    Args:
        seeds: One world for each.
        persistent: Whether it does; if not, every need is drawn evenly.
    """
    scores = Scores()
    for seed in seeds:
        _need(seed, scores, persistent=persistent)
    return scores


def _need(seed: int, scores: Scores, *, persistent: bool) -> None:
    rng = random.Random(f"need/{seed}")
    with World() as world:
        items = [
            (topic, Item(_sheet(rng, topic, project, at + seed), rng.uniform(0, 5)))
            for topic in TOPICS
            for at, project in enumerate(rng.sample(PROJECTS, len(PROJECTS)))
        ]
        world.add([item for _, item in items])
        of = {
            topic: [n for n, (about, _) in enumerate(items) if about == topic] for topic in TOPICS
        }
        past: dict[str, dict[int, list[float]]] = {t: defaultdict(list) for t in TOPICS}
        for asked in range(ASKED):
            day, topic = 6 + SPAN * asked / ASKED, rng.choice(TOPICS)
            world.at(day)
            odds = {n: sum(max(day - t, 0.02) ** -0.7 for t in at) for n, at in past[topic].items()}
            if persistent and odds and rng.random() < PERSISTENT:
                needed = rng.choices(list(odds), list(odds.values()))[0]
            else:
                needed = rng.choice(of[topic])
            past[topic][needed].append(day)
            if asked >= FIRST and odds:
                ideal = sorted(of[topic], key=lambda n: -odds.get(n, 0))
                scores.place(ORACLE, ideal, needed)
            told = rng.random() < TOLD
            _ask(world, f"Where is the {topic}?", needed, scores, day, told, asked >= FIRST)


def _sheet(rng: random.Random, topic: str, project: str, tail: int) -> str:
    where = TAILS[tail % len(TAILS)].format(k=f"{rng.choice(NOUNS)}-{rng.randint(10, 99)}")
    return f"The {topic} of project {project} {where}."


def _ask(
    world: World,
    question: str,
    needed: int,
    scores: Scores,
    day: float,
    told: bool,
    counted: bool,
) -> None:
    """Ask once with every way to order, and say which hit was of use if it is told."""
    found = world.ask(question)
    orders = world.orders(question, day)
    if counted:
        scores.place(PRODUCT, world.numbers(found), needed)
        for way, order in orders.items():
            scores.place(way, order, needed)
    for way, order in orders.items():
        world.histories[way].note(order[:3], day)
        if told:
            world.histories[way].note([needed], day)
    if told:
        for hit in found:
            if world.number(hit) == needed:
                world.memory.feedback.rate(hit, useful=True)


def loop(seeds: Sequence[int]) -> Scores:
    """Show the same memories again and again, then add a better one for each topic."""
    scores = Scores()
    for seed in seeds:
        _loop(seed, scores)
    return scores


SHOWN = 600


def _loop(seed: int, scores: Scores) -> None:
    rng = random.Random(f"loop/{seed}")
    topics = [f"{a} {b}" for a, b in zip(NOUNS[:15], NOUNS[15:], strict=True)]
    with World() as world:
        world.add(
            [
                Item(
                    f"Somebody said something about the {topic} in room {rng.randint(1, 99)}.",
                    rng.uniform(0, 10),
                )
                for topic in topics
                for _ in range(5)
            ]
        )
        first: dict[str, Counter[int]] = defaultdict(Counter)
        for asked in range(SHOWN):
            day, topic = 11 + asked / 20, rng.choice(topics)
            world.at(day)
            question = f"What about the {topic}?"
            first[PRODUCT][world.numbers(world.ask(question, record=True))[0]] += 1
            for way, order in world.orders(question, day).items():
                first[way][order[0]] += 1
                world.histories[way].note(order[:3], day)
        _await_fold(world, f"What about the {topics[0]}?")
        for way, counts in first.items():
            scores.note(way, gini=_gini(list(counts.values()), len(topics) * 5))
        _better(world, rng, topics, scores)


def _better(world: World, rng: random.Random, topics: Sequence[str], scores: Scores) -> None:
    """Add a better memory for each topic, and see whether it comes first at once."""
    world.at(42)
    sold = [
        Item(
            f"The {topic} was sold to {rng.choice(['Ruiz', 'Olsen', 'Tanaka'])} for"
            f" {rng.randint(100, 999)} crowns.",
            42.0,
        )
        for topic in topics
    ]
    fresh = world.add(sold)
    world.at(43)
    for topic, n in zip(topics, fresh, strict=True):
        question = f"For how many crowns was the {topic} sold?"
        scores.note(PRODUCT, first=world.numbers(world.ask(question))[0] == n)
        for way, order in world.orders(question, 43).items():
            scores.note(way, first=order[0] == n)


def _await_fold(world: World, question: str) -> None:
    """Wait until the background thread has folded what was shown."""
    world.memory.flush()
    until = monotonic() + 30
    while not any("use" in hit.terms for hit in world.ask(question)):
        if monotonic() > until:
            raise TimeoutError("nothing that was shown was folded within 30 s")
        sleep(0.5)


def _gini(counts: Sequence[int], among: int) -> float:
    """Return how unequal counts are, [0, 1): 0 if all are equal; absent ones are 0."""
    values = sorted([*counts, *[0] * (among - len(counts))])
    total, n = sum(values), len(values)
    return sum((2 * at - n + 1) * value for at, value in enumerate(values)) / (n * total)
