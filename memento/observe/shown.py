"""Tell whether a sentence shows words that are to be worked on, read or played. Pure.

"Count the words in: never merge on a Friday" states no rule. The words before the colon tell: they
ask something, name a kind of text, or say that someone else speaks. English only.
"""

from __future__ import annotations

import re

_HEAD = re.compile(r"(?P<head>[^:\n]{1,120}):(?=\s|$)")
_UNIT = r"""(?:prompts?|sentences?|phrase|text|line|quote|quotation|saying|proverb|motto|lyrics?
    |verse|paragraph|passage|excerpt|extract|snippet|example|sample|template|instruction|fixture|input
    |output|dialog(?:ue)?|script|scene|chapter|poem|haiku|story|novel|sign|poster|banner|sticker
    |billboard|t-?shirt|mug|headline|caption|tweet|slogan|review|transcript|readme|homework|exercise
    |assignment|quiz|riddle|puzzle|complaint|role-?play|translation)"""
_OWN = re.compile(
    r"""^\W*(?:(?:please|pls|also|and|so|ok(?:ay)?|one|another|more|an?|the|my|our|new|small|quick|final
        |last|first|further|general|house|basic|important|here(?:\ is|'s)|could\ you|can\ you)\W+)*
    (?:rules?|polic(?:y|ies)|remember|note|reminder|remind\ me|keep\ (?:this\ )?in\ mind
        |bear\ in\ mind|corrections?|update|decisions?|decided|preferences?|to-?\ ?dos?|tasks?|plan
        |conventions?|requests?|thing|things|fact|facts|intro|bio|steps?|process|procedure|workflow|routine
        |recipe|way|method|answer|choice|verdict|by\ the\ way|btw|fyi|for\ (?:the\ record|context
        |your\ information)|to\ be\ clear|just\ so\ you\ know|important|from\ now\ on|always|never
        |when(?:ever)?|if|before|after|in\ future)\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Leads of a statement of the user's own."""
_ABOUT_ME = re.compile(
    r"""\b(?:about\ (?:me|us|myself|ourselves)|how\ (?:i|we))\b
    | ^\W*(?:agreed|sorry|still\ to\ do|(?:(?:some|quick|more)\ )?context|heads[-\ ]?up
        |p\.?s\.?)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_FROM = re.compile(r"\b(?:from|by|of)\b(?!\s+(?:now|today|me|us|mine|the\s+way)\b)", re.IGNORECASE)
"""Words that say whose the statement is."""
_SHOWS = re.compile(
    rf"""^\W*(?:is|are|does|do\s+(?:you|i|we|they|these)|did|which|whose|who|how\s+(?:many|much|often|do\s+(?:you|i|we)|would)
        |what(?:'s|\s+(?:is|are|does|do|did|would|happens|kind|tense))|can|could|would|should)\b
    | \b(?:would|might|could)\s+(?:be|say|write|type|ask|answer|read|look\s+like)\W*(?:this\W*)?$
    | ^\W*(?:(?:the|this|an?|here(?:'s|\s+is)|sample|test|example|negative|positive|first|second
        |next|my)\s+)*(?:case|{_UNIT})s?(?:\s+(?:\d+|one|two|three|four|[a-d]))?\W*$
    | \b(?:(?:the|this|that|an?|my|our|his|her|their|old|bad|good|sample|following|\d+|two|three
        |four|five|ten)\s+){{1,3}}(?:[\w-]+\s+){{0,2}}?{_UNIT}\b
    | (?<!\bi\s)(?<!\bwe\s)\b(?:says?|said|reads?|writes?|wrote|shouts?|yells?|whispers?|mutters?
        |types?|answers?|answered|asks?|asked|replies|replied|sings?|sang|screams?|claims?)
        (?:\s+(?:me|us|him|her|back|this))?\W*$
    | \b(?:sent|gave|gives|showed|forwarded|handed|texted|mailed|e-?mailed|told|messaged)\s+
        (?:me|us|him|her|them|everyone)\b
    | \bi\s+(?:just\s+)?(?:saw|found|read|heard|overheard|received|came\s+across|stumbled)\b
    | ^\W*(?:please\s+)?(?:turn|put|make|convert|change|classify|label|rate|score|judge|grade
        |shorten|expand|continue|complete|finish|say|read|repeat|check|correct|fix|improve|evaluate|tag
        |guess|analy[sz]e|explain|parse|interpret|annotate|tokeni[sz]e|spell-?check|proofread
        |summari[sz]e|paraphrase|rephrase|reword|rewrite|translate|simplify|transcribe)\b
        (?:\s+(?:[\w'-]+\s+){{0,6}}?(?:this|these|the\s+following|into\s+\w+|in\s+\w+)\b.*)?$
    | ^\W*(?:please\s+)?(?:count|find|underline|identify|highlight|mark|list|name|spot)\b.*
        \b(?:in|of|from|here)\W*$
    | ^\W*(?:please\s+)?(?:give|write|show|send|suggest)\s+(?:me\s+|us\s+)?(?:\w+\s+){{0,3}}?
        (?:variations?|versions?|synonyms?|alternatives?|sentences?|paraphrases?|translations?)\b""",
    re.IGNORECASE | re.VERBOSE,
)


def shows(sentence: str) -> bool:
    """Tell whether the words after the colon of a sentence are shown, not stated.

    >>> shows("Count the words in: never merge on a Friday"), shows("New rule: no merges on Friday")
    (True, False)
    """
    found = _HEAD.match(sentence)
    return (
        found is not None and not is_own_lead(found["head"]) and bool(_SHOWS.search(found["head"]))
    )


def is_own_lead(head: str) -> bool:
    """Tell whether the words before a colon announce a statement of the user's own.

    >>> is_own_lead("New rule"), is_own_lead("Note from Ann"), is_own_lead("Ann")
    (True, False, False)
    """
    own = _OWN.match(head) or _ABOUT_ME.search(head)
    return own is not None and not _FROM.search(head)


def before_colon(sentence: str) -> str:
    """Return the part of a sentence before its first colon; all of it if it has none.

    >>> before_colon("Translate into French: never merge")
    'Translate into French'
    """
    found = _HEAD.match(sentence)
    return sentence if found is None else found["head"]
