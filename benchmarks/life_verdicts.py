"""LifeBench: do verdicts put the right memory first? The scenarios wrong and noise."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from unittest.mock import patch

from life_need import NOUNS
from life_world import PRODUCT, Item, Scores, World

from memento.dynamics import fold
from memento.dynamics.settings import Dynamics

KINDS = (
    ("The serial number of {x} is {v}.", "What is the serial number of {x}?",
     "{x} carries the serial number {v}."),
    ("{x} is stored in hall {v}.", "In which hall is {x} stored?", "You find {x} in hall {v}."),
    ("The contact for {x} is {v}.", "Who is the contact for {x}?", "Ask {v} about {x}."),
    ("{x} must be serviced every {v} days.", "How often must {x} be serviced?",
     "The service interval of {x} is {v} days."),
)  # fmt: skip
THINGS = [
    "the blue pump",
    "the north crane",
    "the small kiln",
    "the tin press",
    "the glass saw",
    "the ice mill",
    "the long belt",
    "the red winch",
    "the steam iron",
    "the dust fan",
    "the wire loom",
    "the salt oven",
    "the drum lift",
    "the paint rig",
    "the bell valve",
    "the stone drill",
    "the coil heater",
    "the sand mixer",
    "the rope hoist",
    "the box folder",
]
PEOPLE = ("Ruiz", "Olsen", "Mbeki", "Tanaka", "Kovac")
ROUNDS = (1, 3, 5, 10)
JUDGED, MISTAKEN = 0.5, 0.15
"""Share of the answers that get a verdict, and of the verdicts that are mistaken."""
PRAISES = 1_000
UNGUARDED = Dynamics(half_life=1e6)
"""With the caps taken away as well, verdicts of one day, source and memory add up without end."""


@dataclass(frozen=True, slots=True)
class Attack:
    """Somebody praises every wrong statement before the first question.

    Attributes:
        source: Class of trust.
        praises: How often each is praised, within a day.
        dynamics: Settings of the store.
    """

    source: str
    praises: int = PRAISES
    dynamics: Dynamics | None = None


ATTACKS = {
    "none": None,
    "tool": Attack("tool"),
    "agent": Attack("agent"),
    "no caps, no trust": Attack("user", 200, UNGUARDED),
}


def wrong(seeds: Sequence[int], attack: Attack | None = None) -> Scores:
    """Ask for things of which a right and a wrong statement are known; some answers are judged."""
    scores = Scores()
    for seed in seeds:
        with ExitStack() as opened:
            if attack is not None and attack.dynamics is UNGUARDED:
                caps = patch.multiple(fold, MASSED=0.0, DAY_CAP=1e6, BELIEF_CAP=1e4)
                opened.enter_context(caps)
            world = opened.enter_context(World(attack.dynamics if attack else None))
            _wrong(world, seed, scores, attack)
    return scores


def _wrong(world: World, seed: int, scores: Scores, attack: Attack | None) -> None:
    rng = random.Random(f"wrong/{seed}")
    items, questions = _statements(rng)
    world.add(items)
    if attack is not None:
        _praise(world, attack, [2 * at + 1 for at in range(len(questions))])
    for turn in range(max(ROUNDS)):
        day = 40.0 + 2 * turn
        world.at(day)
        for at, question in enumerate(questions):
            right, bad = 2 * at, 2 * at + 1
            found = world.ask(question)
            order = world.numbers(found)
            if turn + 1 in ROUNDS:
                scores.note(PRODUCT, **{f"round{turn + 1}": order[0] == right})
            for way, other in world.orders(question, day).items():
                if turn + 1 in ROUNDS:
                    scores.note(way, **{f"round{turn + 1}": other[0] == right})
                world.histories[way].note(other[:1], day)
            judged, mistaken = rng.random() < JUDGED, rng.random() < MISTAKEN
            if judged and order[0] in (right, bad):
                good = (order[0] == right) != mistaken
                world.memory.feedback.rate(found[0], verdict="confirmed" if good else "wrong")


def _statements(rng: random.Random) -> tuple[list[Item], list[str]]:
    """Make pairs of a right and a wrong statement, and a question for each pair."""
    items: list[Item] = []
    questions: list[str] = []
    for at, thing in enumerate(THINGS):
        plain, question, other = KINDS[at % len(KINDS)]
        values: list[object] = (
            list(rng.sample(PEOPLE, 2))
            if "contact" in plain
            else list(rng.sample(range(10, 99), 2))
        )
        forms = [plain, other]
        rng.shuffle(forms)
        for form, value in zip(forms, values, strict=True):
            text = form.format(x=thing, v=value)
            actor = f"agent{len(items)}"
            said = text[0].upper() + text[1:]
            items.append(Item(said, rng.uniform(0, 30), actor=actor, source="agent"))
        questions.append(question.format(x=thing))
    return items, questions


def _praise(world: World, attack: Attack, numbers: Sequence[int]) -> None:
    """Praise some memories again and again during one day."""
    ids = [world.ids[n] for n in numbers]
    for at in range(attack.praises):
        world.at(38.0 + 0.99 * at / attack.praises)
        world.memory.feedback.rate(ids, verdict="confirmed", source=attack.source)


CHAT = (
    "The {a} by the {b} was closed today.", "I bought a {a} for the {b}.",
    "We talked about the {a} at lunch.", "The {b} needs a new {a}.",
    "Somebody left a {a} near the {b}.", "I read an article about {a}s and {b}s.",
    "The {a} is delayed again.", "A {b} and a {a}, that was my day.",
)  # fmt: skip


def noise(seeds: Sequence[int]) -> Scores:
    """Ask for facts that were confirmed, beside lines that share more words with the question."""
    scores = Scores()
    for seed in seeds:
        with World() as world:
            _noise(world, random.Random(f"noise/{seed}"), scores)
    return scores


def _noise(world: World, rng: random.Random, scores: Scores) -> None:
    items: list[Item] = []
    facts = []
    for kind, cases in (("hard", HARD), ("easy", EASY)):
        for fact, question, lines in cases:
            facts.append((kind, question, len(items)))
            items.append(Item(fact, rng.uniform(0, 60)))
            items += [Item(line, rng.uniform(0, 180)) for line in lines]
    for _ in range(300):
        line = rng.choice(CHAT).format(a=rng.choice(NOUNS), b=rng.choice(NOUNS))
        items.append(Item(line, rng.uniform(0, 180)))
    world.add(items)
    confirmed = sorted(
        (rng.uniform(items[n].at + 1, 179), n)
        for _, _, n in facts
        for _ in range(rng.randint(3, 6))
    )
    for day, n in confirmed:
        world.at(day)
        world.memory.feedback.rate(world.ids[n], verdict="confirmed")
        for history in world.histories.values():
            history.note([n], day)
    world.at(180.0)
    for kind, question, n in facts:
        orders = {PRODUCT: world.numbers(world.ask(question)), **world.orders(question, 180.0)}
        for way, order in orders.items():
            place = order.index(n) if n in order else len(order)
            scores.note(way, **{f"{kind}1": place < 1, f"{kind}3": place < 3})


HARD = (
    (
        "Every morning we meet at half past nine for the standup.",
        "At what time is the standup?",
        (
            "The time of today's standup is 10:05 because of the demo.",
            "At what time did the standup start, Marta asked, it was 9:50.",
            "The standup at 9:40 was short.",
            "The time of the standup on Friday was 9:55.",
        ),
    ),
    (
        "For the office we transfer 4,200 euros to the landlord every month.",
        "How much is the rent of the office?",
        (
            "The rent of the office was 4,350 euros in May because of heating.",
            "The rent of the office next door is said to be 3,900 euros.",
            "Lena paid 4,150 euros of office rent by mistake.",
            "How much rent would the bigger office cost, 4,400 euros they said.",
        ),
    ),
    (
        "To get online here you pick gull-net.",
        "What is the name of the office wifi?",
        (
            "The name of the office wifi showed up as printer-77 yesterday.",
            "Bo said the name of the office wifi should be snail.",
            "The name of the guest wifi at the fair was owl-guest.",
            "The office wifi was down, the name of the hotspot was hotspot-3.",
        ),
    ),
    (
        "We ship on Thursdays.",
        "On which day is the release?",
        (
            "The day of the release was a Tuesday because of the holiday.",
            "A hotfix release came on Monday night.",
            "Somebody asked whether the day of the release could be Friday.",
            "The release of the old app was on a Sunday.",
        ),
    ),
    (
        "Pebble sleeps under the reception desk, she belongs to all of us.",
        "What is the name of our office dog?",
        (
            "A visitor thought the name of our office dog was Biscuit.",
            "The name of the office dog of the neighbours is Waffle.",
            "A dog of the name Rufus was in our office today.",
            "Ana wants the name of the next office dog to be Turnip.",
        ),
    ),
    (
        "Whatever customers complain about lands with Farida.",
        "Who gets the support tickets?",
        (
            "Emre got the support tickets this morning since Farida was ill.",
            "Two support tickets got to the wrong Dagny.",
            "Chidi got a support ticket in the night.",
            "Bo got the support tickets about billing last year.",
        ),
    ),
    (
        "Torrefa delivers our coffee.",
        "Where do the coffee beans come from?",
        (
            "The coffee beans of last week come from a supermarket.",
            "A guest brought coffee beans that come from Lima.",
            "Somebody says good coffee beans come from Kenya.",
            "The decaf coffee beans did come from Rosta once.",
        ),
    ),
    (
        "At the gate you type 5512.",
        "What is the parking code?",
        (
            "The parking code of the hotel was 7781.",
            "For the fair the parking code was 9090 for a day.",
            "Tom typed 5521 as parking code and it beeped.",
            "The parking code before was 1234.",
        ),
    ),
    (
        "From home you dial in through vpn2.heron.example.",
        "What is the address of the VPN gateway?",
        (
            "The address of the VPN gateway was vpn9.heron.example for an hour.",
            "The address of the VPN gateway of the customer is gate.egret.example.",
            "Karim tried vpn1.heron.example as address of the VPN gateway.",
            "A phishing mail gave vpn-heron.example as address of the VPN gateway.",
        ),
    ),
    (
        "On Wednesdays we all eat together at the Blue Door.",
        "Where is the team lunch?",
        (
            "The team lunch was at the Old Mill on Ana's birthday.",
            "The team lunch is at the canteen today because of the rain.",
            "Last month the team lunch was at Pho 21.",
            "Someone booked a team lunch at the Harbour Inn by mistake.",
        ),
    ),
)
"""A fact, a question that shares no word with it, and lines that do share words."""
EASY = (
    (
        "The standup is at 9:30.",
        "When is the standup?",
        (
            "Today's standup slipped to 10:05 because of the demo.",
            "Marta joined the standup from the train at 9:50.",
            "The standup on Friday ended at 9:55.",
        ),
    ),
    (
        "The rent of the shop is 4,200 euros.",
        "How much is the rent of the shop?",
        (
            "We paid 4,350 euros of shop rent in May because of heating.",
            "The rent of the shop next door is said to be 3,900 euros.",
            "The rent of the shop is 4,400 euros in the other street, the landlord said.",
        ),
    ),
    (
        "The wifi of the studio is called gull-net.",
        "What is the wifi of the studio called?",
        (
            "Yesterday the wifi of the studio was called printer-77 for an hour.",
            "Bo called the wifi of the studio a joke.",
            "The guest wifi of the studio was called owl-guest at the fair.",
        ),
    ),
    (
        "Newsletters go out on Thursday.",
        "On which day do newsletters go out?",
        (
            "The newsletter went out on Tuesday because of the holiday.",
            "On which day do newsletters go out, Lena asked, on Friday?",
            "One of the newsletters went out on a Sunday.",
        ),
    ),
    (
        "The code of the gate is 5512.",
        "What is the code of the gate?",
        (
            "The code of the gate of the hotel is 7781.",
            "For the fair the code of the gate was 9090 for a day.",
            "The code of the gate before was 1234.",
        ),
    ),
)
"""The same with a question that shares words with the fact."""
