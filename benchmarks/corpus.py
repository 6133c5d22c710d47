"""Made-up memories and questions, of the kind agents keep. Deterministic; needs no file.

Words are picked with a skew, so that some are common and many are rare as in real text; names of
people and services and ticket numbers add a long tail of words that stand in few memories.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SKEW = 2.2
"""Exponent of the pick: 1 is uniform; here the first tenth of a list gets a third of the picks."""


def _words(text: str) -> list[str]:
    return text.split()


THINGS = _words(
    "invoice server database meeting budget release ticket customer contract calendar flight "
    "hotel recipe bicycle guitar piano doctor garden kitchen laptop keyboard monitor printer "
    "router cluster gateway queue cache index backup certificate password token dashboard "
    "report survey newsletter campaign landing page brochure logo palette typeface sketch "
    "prototype blueprint sensor battery antenna turbine valve pump boiler radiator thermostat "
    "window roof fence ladder hammer drill varnish carpet curtain sofa lamp bookshelf drawer "
    "mirror bathtub towel soap blanket pillow mattress suitcase passport visa ticket boarding "
    "pass itinerary museum gallery theatre concert festival parade marathon triathlon yoga "
    "class swimming lesson climbing wall chess club choir orchestra violin cello trumpet drum "
    "novel poem essay dictionary atlas diary telescope microscope camera tripod lens album "
    "postcard stamp coin puzzle board game marble kite tent stove lantern compass canoe paddle "
    "anchor rope net hook sail mast harbour island glacier meadow orchard vineyard barn tractor "
    "plough harvest seed tulip fern cactus maple birch sparrow heron otter badger hedgehog "
    "labrador kitten parrot tortoise goldfish hamster stable saddle bridle pasture vaccine "
    "bandage thermometer prescription allergy peanut almond walnut oatmeal pancake dumpling "
    "noodle curry lentil soup salad olive cheese yoghurt honey cinnamon saffron ginger basil "
    "espresso matcha lemonade cider"
)
DOINGS = _words(
    "review deploy repair rewrite measure translate paint schedule cancel renew order return "
    "compare archive restore migrate rename publish postpone approve reject rehearse photograph "
    "assemble dismantle sharpen water prune bake roast knit sew frame hang polish inspect "
    "calibrate replace upgrade insure lease auction donate"
)
PLACES = _words(
    "Lisbon Oslo Kyoto Nairobi Quito Tallinn Ghent Porto Leeds Bergen Turin Graz Basel Bilbao "
    "Tartu Kaunas Gdansk Brno Split Varna Izmir Haifa Tunis Dakar Accra Kampala Pune Hanoi Cebu "
    "Perth Hobart Dunedin Cusco Rosario Valdivia Halifax Duluth Tucson Savannah Asheville"
)
TIMES = (
    "on Monday",
    "on Tuesday morning",
    "last Friday",
    "next week",
    "in the spring",
    "before the holidays",
    "in early June",
    "at the end of the quarter",
    "by the 14th",
    "every other Thursday",
)
TEMPLATES = (
    "{name} prefers the {thing} over the {other} when there is a choice",
    "Remember to {doing} the {thing} {time}, {name} is waiting for it",
    "{name} said the {thing} project moves to {place} because of the {other}",
    "The {service} service failed {time}: the {thing} ran full, fixed by restarting the {other}",
    "Met {name} about the {thing}; we decided to {doing} the {other} {time}",
    "{name} is responsible for the {thing} of {service}, ask before you {doing} it",
    "Customer {name} reports in {ticket} that the {thing} does not work with the {other}",
    "I live near {place} and keep a {thing} beside the {other}",
    "We went to {place} {time} to {doing} a {thing}, and {name} came along",
    "The limit for the {thing} in {service} is {number}, agreed with {name} {time}",
    "{name} is allergic to {thing} and never orders {other}",
    "To {doing} the {thing}: stop {service}, {doing} the {other}, then tell {name}",
)
QUESTIONS = (
    "what does {name} prefer, the {thing} or something else?",
    "who is responsible for the {thing} of {service}?",
    "why did the {service} service fail?",
    "when did we decide to {doing} the {other}?",
    "where did we {doing} a {thing} with {name}?",
    "what is the limit for the {thing}?",
    "what must be done before the {thing} can be used with the {other}?",
    "what did the customer report about the {thing}?",
)
_HEADS = _words(
    "Al Bel Cor Dor El Fen Gar Hel Is Jor Kal Lor Mar Nor Or Per Quen Ros Sel Tor Ul Ver Wil"
)
_MIDDLES = _words("an ber dri el fri gor hil in jan ken lin mor nel o pel ri sen ti vi")
_ENDS = _words("a ard en ette ia in is o on or us wyn")
_SERVICES = _words("billing search mail login export report sync media audit quota stock route")
_STAGES = _words("api worker proxy store agent relay")


class Corpus:
    """A stream of made-up texts; the same seed gives the same texts.

    Args:
        seed: Any integer.
    """

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self._count = 0

    def text(self, sentences: int = 2) -> str:
        """Return the next memory: so many sentences, some ten words each, unlike any other."""
        self._count += 1
        parts = [self._filled(TEMPLATES) for _ in range(sentences)]
        return ". ".join(parts) + f" (note {self._count})."

    def texts(self, n: int, sentences: int = 2) -> list[str]:
        """Return the next n memories."""
        return [self.text(sentences) for _ in range(n)]

    def questions(self, n: int) -> list[str]:
        """Return the next n questions."""
        return [self._filled(QUESTIONS) for _ in range(n)]

    def _filled(self, templates: Sequence[str]) -> str:
        pick = self._pick
        return pick(templates, 1).format(
            name=pick(_HEADS) + pick(_MIDDLES, 1) + pick(_ENDS),
            thing=pick(THINGS),
            other=pick(THINGS, 1),
            doing=pick(DOINGS),
            place=pick(PLACES),
            time=pick(TIMES, 1),
            service=f"{pick(_SERVICES)}-{pick(_STAGES)}-{self._random.randrange(40)}",
            ticket=f"ticket{self._random.randrange(10_000)}",
            number=self._random.randrange(5, 5_000),
        )

    def _pick(self, items: Sequence[str], skew: float = SKEW) -> str:
        return items[int(len(items) * self._random.random() ** skew)]
