"""The memories and questions of the demo. The people, the boat and the letters are invented."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from memento.types import Draft, Kind, Tier

CONVERSATION = Path(__file__).with_name("conversation.json")
"""Four talks of Nadia and Theo, who mend an old wooden boat."""

LAUNCH = "kittiwake/launch"
"""The slot of the fact that changes."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the words of its answer.

    Attributes:
        text: The question.
        holds: Words of the memory that answers it.
    """

    text: str
    holds: str


NOTES = (
    Draft("Nadia is allergic to hazelnuts.", Tier.LONG, key="nadia/allergy", id="demo-allergy"),
    Draft(
        "Give distances in nautical miles and temperatures in Celsius.",
        Tier.LONG,
        kind=Kind.RULE,
        id="demo-units",
    ),
    Draft(
        "Theo wants to hear bad news first, and on the phone.",
        Tier.LONG,
        kind=Kind.PREFERENCE,
        id="demo-bad-news",
    ),
    Draft(
        "Kittiwake is insured with Havn & Sø until March 2026, policy HS-2214-77.",
        Tier.MEDIUM,
        id="demo-policy",
    ),
    Draft("The diesel takes four and a half litres of 15W-40.", Tier.MEDIUM, id="demo-oil"),
    Draft("The varnish on the hatch stays wet until tomorrow noon.", Tier.SHORT, id="demo-hatch"),
    Draft("Theo is at the dentist until four.", Tier.SHORT, id="demo-dentist"),
)
"""Facts that an agent was told directly, in all three tiers."""

BEFORE = Draft(
    "Kittiwake goes into the water on 7 June.",
    key=LAUNCH,
    occurred_at=datetime(2025, 3, 22, 18, 40, tzinfo=UTC),
    id="demo-launch-1",
)
AFTER = Draft(
    "The launch of Kittiwake is put off to 12 July: the mast has to be mended first.",
    key=LAUNCH,
    occurred_at=datetime(2025, 5, 17, 21, 30, tzinfo=UTC),
    id="demo-launch-2",
)
"""A new value for the same slot: it supersedes ``BEFORE``."""

QUESTIONS = (
    Question("Is the varnish on the hatch dry yet?", "wet until tomorrow noon"),
    Question("What is Nadia allergic to?", "hazelnuts"),
    Question("In which units do they want distances?", "nautical miles"),
    Question("Who taught Theo to sail?", "grandmother Elsbeth"),
    Question("What was in the tin behind the bunk?", "letters, tied with sail thread"),
    Question("Who insures them under HS-2214-77?", "Havn & Sø"),
)
CHANGED = Question("When is the launch?", "12 July")
