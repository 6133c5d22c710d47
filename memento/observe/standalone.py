"""Return whether a sentence says something that lasts without the sentences around it. Pure.

Talk is full of sentences that look like a class and hold nothing: "Especially with exams." is no
rule, "I like both about the same." no preference, "I had seven classes." no lasting fact. Only
wordings that say so plainly are refused: a list of permitted wordings would refuse each rule whose
verb it lacks. The turn that holds a refused sentence is kept all the same.
"""

from __future__ import annotations

import re

from memento.observe.signals import Signal


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.VERBOSE)


_OPENING = r"""^\W*(?:(?:ok|okay|also|and|so|but|then|well|hey|hi|hello|right|alright|oh|yeah|yes
    |yep|no|nope|nah|just|now|btw|by\s+the\s+way|actually|sure|ha|haha|hmm+|um+|uh+|honestly|tbh
    )\W+){0,6}"""
"""Words before what is said."""
_ORDERS = r"""(?:please|pls|always|never|must|should|shall|do\s+not|don't|use|write|keep|every|each
    |any|only|rules?|whenever|my|me)"""
"""Words that make an instruction of a sentence with any beginning."""
_HALF = _compiled(
    rf"""{_OPENING}(?:or|especially|particularly|because|cuz|'?cause|except|like|though|although
      |that's\s+why|thats\s+why|such\s+as|which|who|including|mostly|basically|maybe|than|so\s+that
      |whereas|wow|oo+h|lol|sorry|thanks|thank|with|without
      |i\s+(?:just\s+)?(?:mean|(?:don't|dont|do\s+not)\s+(?:really\s+)?(?:know|think|remember)))\b
      (?!.*\b{_ORDERS}\b) (?!.*,\s*(?!of\s+course|you\s+know|i\s+\w+)\w+\s+\w+)"""
)
"""The start of half a sentence, or of a reaction."""
_CUT = re.compile(
    r"\b(?:and|or|because|the|an|my|our|your|their|than|i'm|we're|he's|she's)\W*$", re.IGNORECASE
)
"""The end of a sentence that goes on in the next message."""
_FREES = _compiled(
    r"""^(?!.*\b(?:please|always|never|must|only|every|each|when\w*|before|first|my|me|explain\w*
        |ask\w*|apologi\w+|repeat\w*)\b).*\byou\s+(?:really\s+)?(?:dont|don't|do\s+not)\s+(?:even\s+|really\s+)?(?:need|have\s+to)\b
    | ^\W*if\s+you\s+(?:don't|dont|do\s+not)\s+mind\b(?!\W+\w+\W+\w+\W+\w+)
    | \brather\s+not\s+(?:say|tell|talk|think|know)\b"""
)
"""Wordings for things that nobody has to do."""
_YOURS = _compiled(
    rf"""{_OPENING}(?:(?:if|when|once|because|since|that)\b[^,]{{0,80}}?\b)?you(?:'d)?\s+
      (?:(?:also|just|only|really|totally|definitely|probably|still|usually|kinda|kind\s+of)\s+)*
      (?:could|got|gotta|had|would|served?|know|said|mean|look|sound|seem|might|did|were|feel
        |burn|studied|talked|called|took)\b (?!.*\b{_ORDERS}\b)"""
)
"""Remarks about the other person, or about anybody: "You gotta try it"."""
_PASSING_TASTE = _compiled(
    rf"""{_OPENING}(?:(?:i|we)\s+(?:(?:also|just|really|actually|so|totally|only)\s+)*(?:
      (?:think|thought|guess|guessed|felt|mean|meant|bet|hope|suppose|heard)\b
        (?!.*\b(?:prefer\w*|favou?rite|best|better|most|rather|easier|clearer)\b)
    | (?:can't|cannot|couldn't)\s+(?:choose|decide|wait|imagine|believe|tell|say|help|complain)\b
    | (?:don't|do\s+not|didn't)\s+(?:underst\w*|know|remember|blame|believe)\b
    | (?:liked|loved|enjoyed|hated)\b
    | (?:like|love|hate|enjoy)\s+(?:that|how\s+you|what\s+you|your)\b(?!.*\b(?:answer|repl)\w*) )
    | how\b | that's\b)"""
)
"""A judgement of the moment, or of something that was just said or shown."""
_NOTHING = r"""(?:it|that|this|those|these|them|him|her|he|she|they|you|your|yours|both|one|ones|two
    |mine|ours|theirs|there|here|so|too|as|well|either|also|much|more|less|lot|lots|same|all|any
    |some|something|anything|everything|nothing|stuff|things?|kinds?|sorts?|way|bit|really|very|just
    |actually|about|of|for|to|the|a|an|and|or|but|if|in|on|at|with|by|from|though|then|than
    |now|again|already|always|never|ever|even|only|still|pretty|quite|kinda|definitely|totally
    |probably|usually|sometimes|mostly|personally|honestly|other|others|few|many|most|none
    |how|what|when|where|who|why|which|because|cause|cuz|i|im|me|my|myself|we|us|our|like|likes
    |liked|love|loves|loved|hate|hates|hated|prefer|enjoy|enjoyed|dislike|is|are|am|was|were|be|been
    |do|does|did|dont|don|t|s|m|ve|re|ll|d|have|has|had|not|no|yes|yeah|oh|ha|haha|lol|can|could
    |would|will|got|get|getting|good|great|cool|nice|bad|better|best|idea|know|think|guess|say|said
    |tell|mean|see|feel|sure|fine|right|okay|ok|ya|yep|nope|nah|u|unfortunately|anyway|anymore|went
    |go|going|done|makes?|made|especially|alone|lately|time|times)"""
_EMPTY = _compiled(rf"{_NOTHING}\Z")
_WORD = re.compile(r"[^\W_]+")
_EPISODE = _compiled(
    rf"""{_OPENING}(?:i|we)\s+
      (?:(?:also|just|only|really|even|actually|finally|already|kinda|totally|once|then)\s+)*
      (?:(?:was|were)\s+\w+ing | did(?:n't|\s+not)? | saw|came|thought|felt|tried|heard|ate|drank
        |watched|talked|asked|liked|loved|wanted|needed|looked|walked|slept|woke|told|said|forgot
      | (?:had|took|got)\s+(?:an?|some|the|one|two|three|four|five|six|seven|eight|nine|\d+)\b)\b
      (?!.*\b(?:diagnos\w+|born|raised|since|until|surgery|stroke|allerg\w*|pacemaker|operat\w+
        |married|engaged|divorced|twins?|sons?|daughters?|bab(?:y|ies)|child\w*|years?|months?
        |promot\w+|hired|fired|jobs?|degree|ph\.?d|graduat\w+|named?|called|vaccin\w+|transplant\w*
        |heart|cancer|removed|dogs?|cats?|now|replaced|instead|moved?|bought|raise|loan)\b)"""
)
"""One thing that happened to the speaker, which is over."""
_OPINION = _compiled(
    rf"""{_OPENING}i\s+(?:(?:also|just|only|really|do|don't|do\s+not|personally)\s+)*(?:
      (?:think|thought|guess|mean|bet|agree|hope|suppose)\b | have\s+no\s+idea\b | know\W*$ )"""
)
"""An opinion of the speaker about something else."""
_NOUN_ALONE = _compiled(
    rf"""{_OPENING}(?:my|our|his|her|the|an?)\s+(?!\w+(?:s|ed)\b)[\w-]+(?:\s+
      (?!(?:am|is|are|was|were|has|have|had|do|does|did|can|could|will|would|should|must|may|might)\b
        |\w+(?:s|ed|n't)\b|(?:i|we|they|who)\b)[\w-]+){{0,1}}\W*$"""
)
"""A thing without a verb: "My student ID"."""
_SOMEBODY = _compiled(
    rf"""{_OPENING}(?:(?:that|because|since|when|if)\s+)?(?:he|she|they|him|his|her|hers|theirs?
      |shes|hes)\b(?!/)(?!.*\b(?:my|our|me|us|i|we)\b)"""
)
"""A subject that only the sentence before it names."""
_OTHERS = frozenset({Signal.FACT, Signal.PREFERENCE, Signal.RELATION, Signal.DECISION})
"""Classes of which a subject, or a word of content, must be named."""
_THINGS = frozenset({Signal.FACT, Signal.IDENTITY, Signal.RELATION})
"""Classes in which the name of a thing alone is nothing."""
_SHORT = 4
"""Maximum number of spaces in an instruction that needs a word of content: "Use it then"."""


def stands(signal: Signal, said: str) -> bool:
    """Return whether an English sentence says enough for its class, in its own words.

    Args:
        signal: The class that the detector found.
        said: The sentence, with plain apostrophes.

    >>> stands(Signal.RULE, "Especially with exams."), stands(Signal.RULE, "No emojis.")
    (False, True)
    >>> stands(Signal.PREFERENCE, "I like it too"), stands(Signal.PREFERENCE, "I like jazz too")
    (False, True)
    """
    if _CUT.search(said):
        return False
    if signal is Signal.RULE:
        half = any(one.search(said) for one in (_HALF, _FREES, _YOURS))
        return not half and (said.count(" ") > _SHORT or _content(said))
    if signal in _OTHERS and not _content(said):
        return False
    if (signal in _THINGS and _NOUN_ALONE.search(said)) or (
        signal in _OTHERS and _SOMEBODY.search(said)
    ):
        return False
    if signal is Signal.PREFERENCE:
        return not _PASSING_TASTE.search(said)
    return signal is not Signal.FACT or not (_EPISODE.search(said) or _OPINION.search(said))


def _content(said: str) -> bool:
    """Return whether a sentence has a word that says what it is about."""
    return any(not _EMPTY.match(word) for word in _WORD.findall(said))
