"""Recognise inputs that ask about the world, or about the person who asks. Pure.

"12 stone in kilos" and "write me a haiku about rain" share words and meaning with memories about a
weight or the rain, but none of these is an answer: sums, conversions, poems and timers are in no
memory. People ask their own memory about themselves ("who treats my sore arm?") because they told
it; a question that names nobody may as well ask the world. Requests ("give me a name for a cat")
and instructions for everyone ("how do I get wine out of a carpet") also have such words, and are
about nobody.
"""

from __future__ import annotations

import re

from memento.text.fast_pattern import Small

_ONESELF = Small(
    r"\b(?:i|im|ive|my|mine|me|myself|we|our|ours|us|ich|mir|mich|meine?[mnrs]?|wir|uns|unsere?[mnrs]?"
    r"|yo|mis?|nosotr[oa]s|nuestr[oa]s?|je|mon|ma|mes|nous|notre|nos|moi)\b"
)
_ASKS = Small(
    r"""\W*(?:(?:and|so|but|hey|hi|hello|please|ok|okay)\b\W*)*(?:
      what|which|who|whose|whom|when|where|how|is|are|am|was|were|do|does|did|have|has|had|may|must
    | can|could|will|would|should|shall
    | was|wer|wen|wem|wie|wo|wann|welche[mnrs]?|darf|kann|muss|soll|habe|bin|ist|sind
    | qué|cuándo|cuánt[oa]s?|dónde|quién|cuál|que|quel(?:le)?s?|quand|où|qui|combien|comment
    )\b|.*\?\W*$""",
    re.VERBOSE,
)
_OF_NOBODY = Small(
    r"""\W*(?:(?:and|so|but|hey|hi|hello|please|ok|okay)\b\W*)*(?:
      how\ (?:do|can|should|would|could|to)\ (?:i|we|you)\b(?!.*\b(?:my|our)\b)
    | (?:what|which|where|when|who|how)\b.*\b(?:should|can|could|would)\ (?:i|we)\b
    | (?:can|could|would|will|do|did|are|have)\ you\b | what\ (?:can|do|could|are|did)\ you\b
    | do\ (?:i|we)\ need\b | (?:do|did)\ (?:i|we)\ make\ (?:any\ )?sense\b
    | how\ are\ we\ (?:all\ )?doing\ ?(?:today|now|so\ far)?\W*$
    | (?:\w+\ ){0,3}will\ we\ ever\b
    | (?:\w+\ ){0,3}(?:will|would|did)\ we\b.*\b(?:on|to|reach|colon\w+)\ (?:the\ )?
      (?:moon|mars|venus|jupiter|saturn|stars)\b
    | what\ (?:are|were)\ (?:i|we)\b
    | am\ i\ (?:right|wrong|talking|speaking|chatting|making|allowed\ to\ ask)\b
    | (?:may|can|could|shall|should)\ (?:i|we)\ (?:ask|talk|say|speak|start|chat|begin|meet)\b
    )""",
    re.VERBOSE,
)
_QUOTED = re.compile(
    r"""["“”„][^"“”„]{0,200}["“”] | «[^»]{0,200}» | (?<!\w)['\u2018].{0,200}?['\u2019](?!\w)""",
    re.VERBOSE,
)
_SMALL_WORD = re.compile(r"\b[^\W\d_A-ZÀ-Þ]{2,}")
_NAMED = re.compile(
    r"""(?<=\w\ )(?: [A-ZÀ-Þ][^\W\d_]+\ I(?:ve)?\b(?!['\u2019](?:m|ve|d|ll)\b)
    | (?:My|Mine|Me|We|Ours?|U[sS]|Mir|Mis?|Yo|Ma|Mon|Mes|Je|Nous|Moi)\b )""",
    re.VERBOSE,
)
"""A name or title within a sentence: "World War I", "the US", "Jack Ma"."""
_OF_ALL = re.compile(
    r"\bour (?:own |home )?(?:planet|galaxy|solar system|universe"
    r"|sun(?! (?:cream|lotion|hat|shade|bed|room|umbrella)))\b",
    re.IGNORECASE,
)


def asks_of_oneself(text: str) -> bool:
    """Return whether the last line of a query asks about the person who asks, or their people.

    >>> asks_of_oneself("who treats my sore arm"), asks_of_oneself("can I carry 25 kilos?")
    (True, True)
    >>> asks_of_oneself("give me a name for a cat"), asks_of_oneself("how do I boil an egg")
    (False, False)
    """
    line = text.strip().rpartition("\n")[2]
    asks = _ONESELF.found_in(line) and _ASKS.begins(line) and not _OF_NOBODY.begins(line)
    return asks and _ONESELF.found_in(_own_words(line))


def _own_words(line: str) -> str:
    """Leave out quotations, names and titles, and general phrases such as "our planet"."""
    bare = _QUOTED.sub("", line)
    if not _SMALL_WORD.search(bare):  # all is quoted, or its capitals tell nothing
        bare = line
    elif not bare.islower():
        bare = _NAMED.sub("", bare)
    return _OF_ALL.sub("", bare)


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
