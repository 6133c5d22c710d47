"""A set of our own for chains: facts about invented people and places, questions of several hops.

Everything is made from a seed. A quarter of the facts is told again later with another value; the
answer follows the later one. Facts and questions use different words for the same relation.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from random import Random

WRITTEN = Path(__file__).parent / "sets" / "reason_written.json"
FACTS = 500
QUESTIONS = 88
REPLACED = 0.25
"""Share of the facts that are told again with another value."""

RELATIONS: dict[tuple[str, str], tuple[tuple[str, ...], tuple[str, ...]]] = {
    ("person", "city"): (
        ("{0} was born in the town of {1}", "The birthplace of {0} is {1}"),
        ("the place of birth of {}", "the town in which {} came into the world"),
    ),
    ("person", "company"): (
        ("{0} works for {1}", "{0} is employed by {1}"),
        ("the employer of {}", "the firm that pays {}"),
    ),
    ("person", "person"): (
        ("{0} is married to {1}",),
        ("the spouse of {}", "the husband or wife of {}"),
    ),
    ("person", "sport"): (
        ("{0} is known for playing {1}", "{0} is associated with the sport of {1}"),
        ("the sport that {} plays", "the sport of {}"),
    ),
    ("person", "language"): (
        ("{0} speaks the language of {1}", "{0} writes in {1}"),
        ("the language spoken by {}", "the language in which {} writes"),
    ),
    ("work", "person"): (
        ("The author of {0} is {1}", "{0} was written by {1}"),
        ("the author of {}", "the writer of {}"),
    ),
    ("work", "company"): (
        ("{0} was published by {1}",),
        ("the publisher of {}", "the company that published {}"),
    ),
    ("company", "person"): (
        ("The chief executive officer of {0} is {1}", "{0} is led by {1} as director"),
        ("the chief executive of {}", "the director of {}"),
    ),
    ("company", "city"): (
        ("The headquarters of {0} is located in the city of {1}",),
        ("the city of the headquarters of {}", "the city where {} has its head office"),
    ),
    ("city", "country"): (
        ("{0} is located in the country of {1}", "The town of {0} belongs to {1}"),
        ("the country of {}", "the country in which {} lies"),
    ),
    ("country", "city"): (
        ("The capital of {0} is {1}",),
        ("the capital of {}", "the capital city of {}"),
    ),
    ("country", "person"): (
        ("The name of the current head of state in {0} is {1}", "{0} is governed by {1}"),
        ("the head of state of {}", "the person who governs {}"),
    ),
    ("country", "language"): (
        ("The official language of {0} is {1}",),
        ("the official language of {}", "the language used by the state of {}"),
    ),
    ("sport", "country"): (
        ("{0} was created in the country of {1}", "{0} comes from {1}"),
        ("the country of origin of {}", "the country where {} was invented"),
    ),
}
"""(Kind of the subject, kind of the value): how facts say it, and how questions ask for it."""

_ONSET_LIST = "b br c d dr f g gr h j k l m n p pr r s st t tr v w z"
_ONSETS = _ONSET_LIST.split()
_NUCLEI = ["a", "e", "i", "o", "u", "ai", "ei", "ou"]
_CODAS = ["", "", "l", "m", "n", "r", "s", "th", "x"]
_SPORT_LIST = """
    ring toss;sand hockey;tower ball;pole fencing;canal racing;kite wrestling;ice bowls;net running;
    hill polo;drum archery;raft jousting;barrel cricket
"""
_SPORTS = [name.strip() for name in _SPORT_LIST.split(";")]
_WORKS = ("The {0} of {1}", "{0} and {1}", "A Winter in {1}", "{0}")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the answers that count, and how many facts lead there."""

    question: str
    answers: tuple[str, ...]
    hops: int


@dataclass(frozen=True, slots=True)
class Set:
    """Facts in order, the later ones hold, and questions about them."""

    name: str
    facts: tuple[str, ...]
    questions: tuple[Asked, ...]


def made(seed: int, *, phrasing: int, facts: int = FACTS) -> Set:
    """Make a set.

    Args:
        seed: Of everything that is chosen.
        phrasing: Which of the two ways the questions use for a relation, 0 or 1.
        facts: Number of facts. People, works, places and firms grow with it, relations do not.
    """
    chance = Random(seed)
    things = _things(chance, facts / FACTS)
    told, values = _told(chance, things, facts)
    questions: dict[str, Asked] = {}
    while len(questions) < QUESTIONS:
        hops = chance.choice((2, 2, 3, 3, 4))
        if (asked := _asked(chance, things, values, hops, phrasing)) is not None:
            questions.setdefault(asked.question, asked)
    return Set(f"{facts} facts from seed {seed}", tuple(told), tuple(questions.values()))


def written(half: int) -> Set:
    """Return one half of the set that was written by hand, 0 or 1."""
    found = json.loads(WRITTEN.read_text(encoding="utf-8"))
    asked = [
        Asked(one["question"], tuple(one["answers"]), one["hops"]) for one in found["questions"]
    ]
    return Set("written by hand", tuple(found["facts"]), tuple(asked[half::2]))


def _things(chance: Random, times: float) -> dict[str, list[str]]:
    def several(count: int) -> range:
        return range(round(count * times))

    words: set[str] = set()
    while len(words) < round(420 * times):
        words.add(_word(chance))
    pool = sorted(words)
    chance.shuffle(pool)
    take = iter(pool)
    return {
        "person": [f"{next(take)} {next(take)}" for _ in several(70)],
        "city": [next(take) for _ in several(40)],
        "company": [
            f"{next(take)} {chance.choice(('Works', 'Group', 'Press', ''))}".strip()
            for _ in several(30)
        ],
        "work": [chance.choice(_WORKS).format(next(take), next(take)) for _ in several(30)],
        "country": [next(take) for _ in several(18)],
        "language": [f"{next(take)}ish" for _ in several(14)],
        "sport": list(_SPORTS),
    }


def _word(chance: Random) -> str:
    syllables = [
        chance.choice(_ONSETS) + chance.choice(_NUCLEI) + chance.choice(_CODAS)
        for _ in range(chance.choice((2, 2, 3)))
    ]
    return "".join(syllables).capitalize()


def _told(
    chance: Random, things: dict[str, list[str]], facts: int
) -> tuple[list[str], dict[tuple[str, str, str], str]]:
    """Return the facts in order, and the value that holds of each (thing, from, to)."""
    subjects = [(thing, start, end) for start, end in RELATIONS for thing in things[start]]
    chance.shuffle(subjects)
    subjects = subjects[: round(facts / (1 + REPLACED))]
    values = {one: _other(chance, things[one[2]], one[0]) for one in subjects}
    says = {one: chance.choice(RELATIONS[one[1], one[2]][0]) for one in subjects}
    again = chance.sample(subjects, min(len(subjects), facts - len(subjects)))
    later = {one: _other(chance, things[one[2]], one[0], values[one]) for one in again}
    first = [says[one].format(one[0], values[one]) for one in subjects]
    second = [says[one].format(one[0], value) for one, value in later.items()]
    chance.shuffle(second)
    return [*first, *second], values | later


def _other(chance: Random, among: list[str], *without: str) -> str:
    return chance.choice([one for one in among if one not in without])


def _asked(
    chance: Random,
    things: dict[str, list[str]],
    values: dict[tuple[str, str, str], str],
    hops: int,
    phrasing: int,
) -> Asked | None:
    """Walk over the facts that hold and ask for the end; None if the walk ends too early."""
    start = chance.choice(list(things))
    thing = chance.choice(things[start])
    said, seen, kind = thing, {thing}, start
    for _ in range(hops):
        ways = [end for begin, end in RELATIONS if begin == kind and (thing, kind, end) in values]
        if not ways:
            return None
        end = chance.choice(ways)
        asks = RELATIONS[kind, end][1]
        said = asks[phrasing % len(asks)].format(said)
        thing, kind = values[thing, kind, end], end
        if thing in seen:
            return None
        seen.add(thing)
    word = "Who" if kind == "person" else "What"
    return Asked(f"{word} is {said}?", (thing,), hops)
