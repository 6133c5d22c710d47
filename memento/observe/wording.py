"""The wording of a statement: its lead, its condition, whether it can stand alone. Pure.

Nothing is ever reworded: a part of the sentence is taken, and a quotation, or the subject that the
part leaves out, is added.
"""

from __future__ import annotations

import re

from memento.text.chatter import is_chatter
from memento.text.words import STOP_WORDS

_LEAD = re.compile(
    r"(?:(?:(?:oh|ah|no|nope|nah|sorry|wait|hang on|hold on|ok|well|actually) ){0,2}"
    r"(?:oh|ah|hey|hi|hello|ok|okay|so|well|and|also|but|right|sure|thanks|thank you|yes|yeah"
    r"|hang on|hold on"
    r"|yep|no|nope|nah|sorry|wait|actually|honestly|btw|by the way|fyi|for your information"
    r"|just so you know|for the record|one more thing|as an aside|to be clear|in short|please note"
    r"|correction|rule|note|decision|final answer|sorry,? i misspoke|i misspoke|scratch that"
    r"|that changed|that's (?:wrong|not right)|that is wrong|that was wrong|you got it backwards"
    r"|i told you already|hi there|hey there|just a note|heads up|quick note|remember|don't forget"
    r")(?:\s*[,:;.!\u2013-]+\s*|\s+\u2014\s*)"
    r"|(?:(?:please )?(?:note|remember|keep in mind)|just so you know|fyi|for the record|btw"
    r"|by the way|actually)[,:]?\s+(?:that\s+)?(?=\w))",
    re.IGNORECASE,
)
_MOST_LEADS = 3
_AS_WHOLE = 2  # words that a statement must have left after its lead


def without_lead(sentence: str) -> str:
    """Return a sentence without the words that only open it; the rest is as it was said.

    >>> without_lead("By the way, I moved to Porto.")
    'I moved to Porto.'
    >>> without_lead("Oh no wait, it's Porto.")
    "it's Porto."
    """
    rest = sentence.strip()
    for _ in range(_MOST_LEADS):
        match = _LEAD.match(rest)
        if match is None or len(rest[match.end() :].split()) < _AS_WHOLE:
            break
        rest = rest[match.end() :]
    return rest


_LABEL = re.compile(
    r"(?P<label>my (?:[\w-]+ ){0,2}?"
    r"(?:name|phone|mobile|number|e-?mail|address|birthday|time ?zone|pronouns)):(?= )",
    re.IGNORECASE,
)


def labelled(statement: str) -> str:
    """Return a statement with "is" instead of the colon after a label such as "My name".

    >>> labelled("My phone number: 555 010 4477")
    'My phone number is 555 010 4477'
    """
    return _LABEL.sub(r"\g<label> is", statement, count=1)


_OPENS = re.compile(
    r"(?P<clause>(?:when(?:ever)?|every time|each time|any time|if|before|after|once|while|until"
    r"|as soon as|on|in|for|during|at)\b[^,;:]{2,100}),\s*\w",
    re.IGNORECASE,
)
_OPENS_SURELY = re.compile(
    r"(?:when(?:ever)?|every time|each time|any time|if|before|after|once|while|until"
    r"|as soon as)\b",
    re.IGNORECASE,
)
_NO_CONDITION = re.compile(
    r"(?:from now on|in (?:the )?future|for now|on the other hand|in general|for the rest\b.*"
    r"|in this (?:repo|repository|project)|for this (?:repo|project)|in fact|at least|at first"
    r"|in short|for me|after a lot\b.*|once (?:again|more)|before i forget|if possible|if you can"
    r"|when possible|for example|in my opinion|after all|at the moment|if (?:i|we) remember\b.*)",
    re.IGNORECASE,
)
_ORDERS = re.compile(
    r"\b(?:please|kindly|always|never|don['’]t|do not|use|give|write|answer|reply|respond|keep|stop"  # noqa: RUF001 - a real apostrophe
    r"|make|put|show|add|call|send|list|leave|avoid)\b",
    re.IGNORECASE,
)
"""Words of an order: "in future kindly give steps, one a line" opens with no clause of its own."""
_CLOSES = re.compile(
    r"\s(?P<clause>(?:when(?:ever)?|every time|each time|if|before|after|while|until"
    r"|as long as)\s+[^,;:]{3,100})$",
    re.IGNORECASE,
)


_EXCEPTED = re.compile(
    r"\b(?:unless|except(?:ing)?(?: for)?|but not|other than|apart from|not)\s*$", re.IGNORECASE
)
"""Words before a clause that says when an instruction does not apply."""
_DENIED = re.compile(
    r"\bunless\b|(?:n['’]t|\bnot|\bnever|\bno longer)\b",  # noqa: RUF001 - a real apostrophe
    re.IGNORECASE,
)


def condition_of(sentence: str) -> str | None:
    """Return the clause that says when an instruction applies, or None if it always does.

    An instruction with an exception always applies, and names the exception itself: "Be brief
    unless I ask for details".

    >>> condition_of("When I ask about recipes, leave out the mushrooms.")
    'When I ask about recipes'
    >>> condition_of("Run the smoke tests before every release.")
    'before every release'
    """
    plain = without_lead(sentence).strip().rstrip(".!;: ")
    opening, closing = _OPENS.match(plain), _CLOSES.search(plain)
    if opening and not _OPENS_SURELY.match(plain) and _ORDERS.search(opening["clause"]):
        opening = None
    for found in (opening, closing):
        if found and not _NO_CONDITION.fullmatch(found["clause"]):
            excepted = _EXCEPTED.search(plain[: found.start("clause")])
            denied = excepted or _DENIED.search(found["clause"])
            return None if denied else found["clause"].strip()
    return None


def without_condition(sentence: str) -> str:
    """Return an instruction without an opening clause that says when it applies.

    >>> without_condition("When you write SQL, use spaces")
    'use spaces'
    """
    opening = _OPENS.match(sentence)
    if opening is None or not _OPENS_SURELY.match(sentence):
        return sentence
    if _NO_CONDITION.fullmatch(opening["clause"]):
        return sentence
    return sentence[opening.end("clause") :].lstrip(", ")


_LEANS = re.compile(
    r"(?:it|it's|its|that|that's|this|these|those|they|they're|he|he's|she|she's|him|her|them|not"
    r"|the (?:same|other|second|first|latter|former)|neither|both|same|one)\b",
    re.IGNORECASE,
)
_CONTENT = re.compile(r"[^\W_]{3,}|\d+")
_LITTLE = 4
_FEW = 3  # words before a statement that say what it is about
_SMALL = frozenset(
    """the and but for not was were are is its it's that this with you your have has had from they
    them there here what when will would can could should all any now just than then too very our
    use don't does did been being his her she him her who out off instead""".split()  # noqa: SIM905 - words read better as one text
)


def stands_alone(sentence: str, *, correction: bool) -> bool:
    """Return whether a sentence makes sense without what it answers.

    Args:
        sentence: Without its lead.
        correction: Whether it corrects something; a short one then leans on that.

    >>> stands_alone("It's Thursday, not Friday.", correction=True)
    False
    >>> stands_alone("I prefer vim.", correction=False)
    True
    """
    if _LEANS.match(sentence):
        return False
    if not correction:
        return True
    content = {word.casefold() for word in _CONTENT.findall(sentence)} - _SMALL
    return len(content) >= _LITTLE


_NO_THING = (
    r"(?!(?:['’]s|\sis|\swas|\swould\sbe)\s[\w\s]{1,30}\s(?:that|to|for)\b|\s(?:when|if|that)\b)"  # noqa: RUF001
)
_POINTS = re.compile(
    rf"\b(?:it{_NO_THING}|its|they|they['’](?:re|ve|ll)|them|their|he|he['’]s|him|his|she|she['’]s|hers?"  # noqa: RUF001
    r"|th(?:at|is|ese|ose)(?=\W*$)|there(?=\W*$))\b",
    re.IGNORECASE,
)
"""A word for something that was named before; "it is important that" names nothing."""
_NAMED = re.compile(
    r"\b(?i:my|our|the|an?|no|some|every|all|both|\d+)\s(?!\w+ing\b)\w+|\beveryone\b"
    r"|(?<![.!?]\s)\b(?!(?:I|We|They|He|She|It|You|That|This|These|Those|There)\b)[A-Z][a-z]+"
)
"""Something that a statement itself names."""
_POLITE = frozenset("yes yep nope okay please thanks thank great good grand fine nice cool".split())  # noqa: SIM905 - as above


def leans_back(sentence: str) -> bool:
    """Return whether a sentence, without its lead, points to something named before it.

    >>> leans_back("I sell it at the road for 60 kr"), leans_back("My dog hates it")
    (True, False)
    >>> leans_back("It is important to me that you cite"), leans_back("I love it when you sing")
    (False, False)
    """
    points = _POINTS.search(sentence)
    return points is not None and not _NAMED.search(sentence, 0, points.start())


_JOINED = r"(?:(?:and|but|or|so|well|then|though|although|even|also)\b,?\s+){0,3}"
"""Words that join a clause to the one before it."""
_SUBORDINATE = re.compile(
    rf"{_JOINED}(?:if|unless|except|excepting|excluding|when(?:ever)?|while|until|till|once|after"
    r"|before|during|though|although|provided|providing|as (?:long|soon|far) as|in case|apart from"
    r"|aside from|other than|rather|otherwise|instead|at least|at most|no longer|nor)\b",
    re.IGNORECASE,
)
_ADVERB = re.compile(rf"{_JOINED}(?:only|just|not|never)\s+(?P<next>[\w'’]+)", re.IGNORECASE)  # noqa: RUF001 - as above
_CONTRASTS = re.compile(r"(?:but|though|although|however|yet)\b", re.IGNORECASE)
_SAME_VERB = re.compile(
    r"(?:and|or) (?:in|at|on|for|with|by|to|from|during)\b(?!.*\b(?:i|we|you|he|she|it|they)\b)",
    re.IGNORECASE,
)
"""A clause with the verb of the one before: "half the week in Porto and in Oslo the rest"."""
_OWN_SUBJECT = re.compile(rf"{_JOINED}(?:i|we|my|our)\b", re.IGNORECASE)
_ASKS = re.compile(
    rf"{_JOINED}(?:what|who|whom|which|how|why|where|please|pls|can|could|would|will|shall|should|do"
    r"|does|did|is|are|am|tell|help|give|show|find|let['’]?s|let me|any|(?:i|we) (?:need|want)"  # noqa: RUF001 - as above
    r"|(?:i|we)['’]?d (?:like|love))\b",  # noqa: RUF001 - as above
    re.IGNORECASE,
)
"""The beginning of a question or a request."""
_FRAGMENT, _ONLY_VERB = 3, 2
"""Maximum number of words in a clause without a subject, and in one that has nothing but a verb."""


def limits_last(clause: str) -> bool:
    """Return whether a clause says when the one before it holds, or points into that one.

    >>> limits_last("except in summer"), limits_last("but not on Sundays"), limits_last("he died")
    (True, True, True)
    >>> limits_last("and never eat meat"), limits_last("but work at Acme")
    (False, False)
    """
    adverb = _ADVERB.match(clause)
    if adverb is not None and adverb["next"].casefold() in STOP_WORDS:
        return True
    return _SUBORDINATE.match(clause) is not None or leans_back(clause)


def belongs_to_last(clause: str) -> bool:
    """Return whether a clause says nothing for itself, so that it belongs to the one before it.

    It limits that one or contrasts with it, or it has no subject or no more than a verb: "just
    kidding", "I think". A question, a request, thanks and what the user says of themselves are
    clauses of their own.

    >>> belongs_to_last("unless it's a hotfix"), belongs_to_last("I think")
    (True, True)
    >>> belongs_to_last("but I need a recipe for dinner"), belongs_to_last("so what should I cook?")
    (False, False)
    """
    plain = clause.strip(" .!,;:()")
    if clause.rstrip(" )").endswith("?") or _ASKS.match(plain) or is_chatter(plain):
        return False
    if limits_last(plain) or _SAME_VERB.match(plain):
        return True
    length = len(plain.split())
    if _OWN_SUBJECT.match(plain):
        return length <= _ONLY_VERB
    return length <= _FRAGMENT or _CONTRASTS.match(plain) is not None


_OF_SOMEBODY = re.compile(r"(?:he|she|they|his|hers?|their)\b", re.IGNORECASE)


def of_somebody(sentence: str) -> bool:
    """Return whether a sentence is about a person who was named before it.

    >>> of_somebody("She owes me 300 euros"), of_somebody("My sister owes her money")
    (True, False)
    """
    return _OF_SOMEBODY.match(without_lead(sentence)) is not None


MOST_QUOTED = 160
"""Maximum number of characters in an answered sentence, or in words before one, that are quoted."""
_ENDS = re.compile(r"(?<=[.!?])\s+|\n+")


def quoted(sentence: str, answered: str) -> str:
    """Add to a sentence the one that it answers, as a quotation.

    Args:
        sentence: The sentence, as said.
        answered: The turn before it. Its sentence that shares most words is quoted, or the last.
    """
    parts = [" ".join(part.split()) for part in _ENDS.split(answered) if part.strip()]
    if not parts:
        return sentence
    words = {word.casefold() for word in _CONTENT.findall(sentence)}
    best = max(
        enumerate(parts),
        key=lambda one: (len(words & {w.casefold() for w in _CONTENT.findall(one[1])}), one[0]),
    )[1]
    return _beside(sentence, best if len(best) <= MOST_QUOTED else f"{best[: MOST_QUOTED - 1]}…")


def after(sentence: str, before: str) -> str:
    """Add to a sentence the words before it as a quotation, if they are few and say anything."""
    said = " ".join(before.split())
    telling = {word.casefold() for word in _CONTENT.findall(said)} - _SMALL - _POLITE
    says = bool(telling) and len(said.split()) >= _FEW and not is_chatter(said)
    return _beside(sentence, said) if says and len(said) <= MOST_QUOTED else sentence


def _beside(sentence: str, words: str) -> str:
    plain = words.replace('"', "'").replace("(", "[").replace(")", "]")
    return f'{sentence} (about: "{plain}")'
