"""Recognise inputs that ask the world, not a memory: sums, conversions, poems, timers. Pure.

"12 stone in kilos" and "write me a haiku about rain" share words and meaning with memories about a
weight or the rain, and none of those bears on them.
"""

from __future__ import annotations

import re

from memento.text.fast_pattern import Small

_LONGEST = 15
"""Maximum number of words; a longer request says what it is about, and memories of that may
help."""
_UNIT = (
    r"(?:celsius|fahrenheit|centigrade|kelvin|miles?|kilomet(?:er|re)s?|km|met(?:er|re)s?|cm|feet|ft"
    r"|foot|inch(?:es)?|yards?|stones?|pounds?|lbs?|ounces?|oz|kilos?|kilograms?|kgs?|grams?|pints?"
    r"|gallons?|lit(?:er|re)s?|ml|cups?|teaspoons?|tablespoons?|knots?|mph|kph|acres?|hectares?"
    r"|dollars?|euros?|yen|usd|eur|gbp|degrees?|hours?|minutes?|seconds?|days?|weeks?)"
)
_NUMBER = r"(?:\d[\d.,]*|an?|one|two|three|ten|hundred)"
_WORK = (
    r"(?:poem|haiku|limerick|sonnet|rhyme|joke|riddle|pun|story|tale|song|lyrics|rap|quiz|essay"
    r"|trivia|tongue\ twister|fun\ fact|crossword|regex|regular\ expression|shell\ script|slogan)"
)
_WORLDLY = Small(
    rf"""
    ^\W*(?:please\ )?convert\ {_NUMBER}\b
    | ^\W*(?:what(?:['’]s|\ is)\ |how\ much\ is\ )?{_NUMBER}\ {_UNIT}
        \ (?:in(?:to)?|to|as)\ {_UNIT}\W*$
    | ^\W*how\ many\ {_UNIT}\ (?:are\ )?(?:there\ )?(?:in|to)\ {_NUMBER}\ {_UNIT}\W*$
    | ^\W*(?:what(?:['’]s|\ is)\ |how\ much\ is\ |calculate\ )?-?\d[\d.,]*
        (?:\ ?[-+*/x×÷^]\ ?|\ (?:times|plus|minus|divided\ by|over|to\ the\ power\ of)\ )\d
    | ^\W*(?:what(?:['’]s|\ is)\ )?the\ (?:square|cube)\ root\ of\b
    | ^\W*(?:(?:please|can\ you|could\ you|would\ you|now)\ )*
        (?:write|tell|make|compose|sing|give|draw|invent|generate|create|do)\ (?:me\ |us\ )?
        (?:up\ )?(?:an?|some|another|the)\ (?:[\w-]+\ ){{0,2}}{_WORK}s?\b
    | ^\W*(?:(?:please|can\ you|could\ you)\ )*translate\b
    | ^\W*how\ do\ (?:you|i)\ say\ .+\ in\ \w+\W*$
    | ^\W*(?:(?:please|can\ you|could\ you)\ )*(?:set|start|stop)\ (?:an?|the|my)\ (?:\w+\ )?
        (?:timer|alarm|stopwatch)\b
    | ^\W*turn\ (?:(?:on|off|up|down)\ )?the\ (?:lights?|music|volume|heating|tv|radio)\b
    | ^\W*(?:play|pause|skip|stop)\ (?:some\ |the\ |this\ )?(?:music|songs?|jazz|radio)\W*$
    | ^\W*(?:what(?:['’]s|\ is|\ will)\ (?:the\ )?weather\b|will\ it\ (?:rain|snow)\b
        |is\ it\ (?:raining|snowing|sunny|windy)\b)
    | ^\W*what(?:\ time\ is\ it|(?:['’]s|\ is)\ the\ time)(?:\ now|\ in\ \w+)?\W*$
    """,  # noqa: RUF001 - real apostrophes and signs
    re.VERBOSE,
)


def is_worldly(text: str) -> bool:
    """Return whether an English input asks for something that is in no memory.

    >>> is_worldly("30 fahrenheit in celsius"), is_worldly("write me a haiku about rain")
    (True, True)
    >>> is_worldly("how many kilos did I lose?"), is_worldly("write to Ada about the poem")
    (False, False)
    """
    return len(text.split()) <= _LONGEST and _WORLDLY.found_in(text)
