"""Find what a statement says has ended, and whether it takes back an earlier one. Pure.

"Fiona has left", "I left Siemens", "no more violin": what was said before of Fiona, Siemens or the
violin may no longer hold. An earlier statement that says hardly more is taken back, as is one that
is denied, or corrected ("It's Thursday, not Friday"). In doubt both stay.
"""

from __future__ import annotations

import re

from memento.observe.wording import without_lead
from memento.text.opposed import LONGEST, marks, opposed, spoken, stance
from memento.text.words import STOP_WORDS, words

_VAGUE = frozenset(
    """off on out up down over back new old second first last one everything nothing something all
    more less time day week month year way thing things lot""".split()  # noqa: SIM905 - words read better as one text
)
_TITLES = frozenset({"dr", "mr", "mrs", "ms", "prof", "herr", "frau", "señor", "señora"})
"""Words before a name that another mention of it may lack."""
_THING = r"(?P<thing>(?:[\w'’-]+ ){0,2}[\w'’-]+)"  # noqa: RUF001 - a real apostrophe
_UNTIL = _THING.replace("{0,2}", "{0,2}?")
"""The same, as short as possible, before words that end it."""
_GONE = (
    r"retired|quit|gone(?= (?:to|from|for|back|off|bust|bankrupt)\b|[^\w ]|$)|stopped|resigned"
    r"|died|passed away|closed(?! on \w+s\b)|shut|given up|moved (?:away|out)|broken|finished"
    r"|folded|collapsed|split up|run out|expired|packed it in|fallen through|burn(?:t|ed) down"
)
_LOST = (
    r"promoted|cancell?ed|stolen|scrapped|fired|let go|shut down|switched off|run over|sacked"
    r"|laid off|made redundant|demolished|(?:torn|pulled|knocked|burn(?:t|ed)|closed) down"
    r"|called off|discontinued|withdrawn|written off|disbanded|abolished|towed away|given away"
)
_WENT = (
    r"retired|resigned|quit(?! \w+ing\b)"
    r"|(?:died|passed away|(?:broke|closed|shut|burn(?:t|ed)) down"
    r"|fell through|fell apart|went (?:bust|bankrupt)|folded|collapsed|ran out|expired|split up"
    r"|moved (?:away|out)|packed it in)(?! (?:the|an?|her|his|my|our|their|on)\b)"
)
_NOT_LEFT = "hand|foot|leg|arm|knee|ear|eye|side|my|her|his|our|their|an?|some|it|them|open"
_LET_GO = (
    r"called off|withdrew|binned|ditched|dumped|packed in(?! a\b)|gave (?:away|back)|donated"
    r"|put away|wrote off|pulled out of|broke up with|split up with|divorced|parted with"
    r"|said goodbye to|unsubscribed from|resigned from|notice at|outgrew|(?:finished|done) with"
    r"|dropped out of|stopped (?:using|taking|going to|seeing)"
)
_GIVEN = "gave up|given up|sold|scrapped|lost|cancelled|stopped"
_TAKEN_BACK = "withdrew|withdrawn|cancell?ed|called off|revoked"
_AGREED = "order|booking|contract|offer|appointment|request|subscription|plans?"
_FIRM = "practice|business|shop|store|company|firm|surgery|garage|studio|restaurant|farm|office"
_HAD = "(?:'s| has| have) (?:now |just |already )?"
_HAS = "(?:'s| has| have| is| are) (?:now |just |already )?"
_MINE = "(?:the |my |our |his |her |their |its |your )?"
_BEGINS = r"(?:^|[.,;:!?] *|\band |\bso |\bas |\bbut |\bsince |\bbecause |\bnow that )"
_TO = r"(?= (?:to|off|back|forward|from|until|till)\b)"
_FOR = r"(?= (?:for|with|by|against|to)\b|[.,;]|$)"
_OF_ITS_KIND = r"(?= (?:one|account|contract|subscription)\b|[.,;]|$)"
_STOP = (
    r"(?= (?:to|for|and|but|because|so|since|as|when|after|before|last|this|yesterday|today|on|in"
    r"|at|of|from|with|now|again|too|i|we|he|she|they|it)\b|[^\w '’-]|$)"  # noqa: RUF001 - as above
)
_NOT_TO = r"(?!(?:to|for|by|at|in|on|from|against|after|before)\b)"
"""Words before something that did not end: "the mill was sold to Ruiz"."""
_NOT = r"(?:n['’]t|\bnot|\bnever) "  # noqa: RUF001 - as above
_WRITTEN = (
    _BEGINS + _MINE + _THING + _HAD + rf"left(?! (?:{_NOT_LEFT})\b)\b",
    _BEGINS + _MINE + _THING + _HAS + rf"(?:{_GONE}|over|cancell?ed)\b",
    _BEGINS + _MINE + _THING + rf" (?:{_WENT})\b",
    _BEGINS + _MINE + _THING + rf" (?:was|were|got|is being|has been) (?:{_LOST})\b",
    _BEGINS
    + _MINE
    + _THING
    + r" (?:has |have |is |are )?(?:sold|selling|gave up|given up|giving up)"
    + rf" (?:down )?(?:the|her|his|their|its) (?:{_FIRM})\b",
    rf"\b(?:closed|ended|terminated|got rid of|threw (?:out|away)) {_NOT_TO}{_MINE}{_UNTIL}"
    + _OF_ITS_KIND,
    rf"\b(?:{_LET_GO}) {_MINE}{_UNTIL}{_STOP}",
    rf"\b(?:put|gave|given|threw|thrown) {_MINE}{_UNTIL} (?:away|aside)\b",
    rf"\b(?:call|calls|called) {_MINE}{_UNTIL} off\b",
    rf"\b(?:shut|shutting|closed|closing) {_MINE}{_UNTIL} down\b",
    rf"\b(?:wants|wanted|needs|needed) (?:her|his|their) {_UNTIL} back\b",
    rf"\b(?:swapped|replaced|replaces|exchanged|traded|changed) {_MINE}{_UNTIL}{_FOR}",
    (
        r"\b(?:switched|changed|moved|went|upgraded|downgraded|transferred) from "
        rf"{_MINE}{_UNTIL}(?= to\b)"
    ),
    rf"\b(?:took|taken|came|come|weaned) (?:me |him |her |us )?off {_MINE}{_THING}",
    rf"\b(?:took|takes|taken|taking) over (?:from|for) {_MINE}{_UNTIL}{_STOP}",
    rf"\b(?:no more|no longer|instead of|rather than) (?:an? |any )?{_MINE}{_THING}",
    rf"{_NOT}(?:\w+ ){{0,3}}{_THING}(?= any ?(?:more|longer)\b)",
    rf"\b(?:{_TAKEN_BACK}) {_MINE}(?:{_AGREED}) (?:for|of|with) {_MINE}{_UNTIL}{_STOP}",
    rf"\b(?:{_GIVEN}) (?:with )?{_NOT_TO}{_MINE}{_UNTIL}{_STOP}",
    rf"\b(?:{_GIVEN}) (?:with )?{_NOT_TO}{_MINE}{_THING}",
    rf"(?:^|[.;!] *)no {_THING}",
    rf"^(?:i|we)(?:'ve| have)? (?:just )?(?:left|dropped|quit) {_MINE}{_UNTIL}(?=[,.;!]|$)",
    rf"\b(?:moved|put|postponed|shifted|switched) (?:back )?{_MINE}{_UNTIL}{_TO}",
    _BEGINS + _MINE + _THING + r" (?:has |have |was |been )*(?:moved|switched|gone) (?:to|over)\b",
    rf"\b(?:statt|anstatt|keinen?|keine[mr]?) {_THING}(?= mehr\b)?",
    rf"\b(?:au lieu (?:de |d'|du )|en vez de |en lugar de |em vez de ){_THING}",
)
_DENIES = re.compile(
    r"\bno longer\b|\bnot\b.{0,80}\b(?:any ?more|any longer|after all)\b"
    r"|\b(?:turns out|it turned out|actually)\b.{0,20}\bnot\b",
    re.IGNORECASE,
)
_TURNS_OUT = re.compile(r"^(?:it )?(?:turns|turned) out (?:that )?| after all$", re.IGNORECASE)
_CORRECTED = (
    re.compile(r"\A(?P<new>[^,;.]{1,60}?),? (?:and )?not (?P<old>[^,;.]{1,60})$", re.IGNORECASE),
    re.compile(r"\Anot (?P<old>[^,;.]{1,60})[,;.] ?(?:but )?(?P<new>[^,;.]{1,60})$", re.IGNORECASE),
    re.compile(
        r"\A(?P<new>[^,;.]{1,60}?) (?:instead of|rather than) (?P<old>[^,;.]{1,60})$", re.IGNORECASE
    ),
    re.compile(
        r"\A[^,;.]{0,40}?\bfrom (?P<old>[^,;.]{1,30}?) to (?P<new>[^,;.]{1,40})$", re.IGNORECASE
    ),
)
_TOLD_WHEN = re.compile(
    r",? (?:now|today|yesterday|(?:last|this) (?:week|month|year)|for good|at last"
    r"|in (?:jan|febr|mar|apr|ma|jun|jul|aug|sept|oct|nov|dec)[a-z]{0,6})$",
    re.IGNORECASE,
)
_LITTLE = frozenset(
    """it that i we you my your our his her got wrong no not instead of than rather from to use at
    on in and meant""".split()  # noqa: SIM905 - words read better as one text
)
_FRAME = 4
"""Maximum number of other words in the old statement and in the new one."""
_ENDED = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _WRITTEN)


def _ended(text: str) -> frozenset[frozenset[str]]:
    """Return the things that ended, each as its words, folded; none for a long text.

    >>> [sorted(one) for one in _ended("Dr Anand has swapped the atorvastatin for rosuvastatin")]
    [['atorvastatin']]
    """
    if len(text) > LONGEST:
        return frozenset()
    found = (
        frozenset(_telling(match["thing"]))
        for pattern in _ENDED
        for match in pattern.finditer(text)
    )
    return frozenset(thing for thing in found if thing)


def _telling(thing: str) -> list[str]:
    """Return the words that identify a thing; none if one of them is too vague."""
    said = [word for word in words(thing) if word not in STOP_WORDS and word not in _TITLES]
    kept = [word for word in said if word not in _VAGUE and word[2:]]
    return kept if len(kept) == len(said) else []


def retracts(new: str, old: str, *, value: str | None = None) -> bool:
    """Return whether a statement takes back an earlier one of the same person.

    Args:
        new: The statement.
        old: The earlier one.
        value: The value that the earlier one gives its slot, folded: a plain "not" takes it back,
            and the value may stand anywhere in it. None if it fills none.

    >>> retracts("It's Thursday, not Friday.", "The demo is on Friday.")
    True
    >>> retracts("I'm no longer married to Tom.", "I'm married.")
    False
    >>> retracts("I left Siemens.", "I work at Siemens."), retracts("I left Siemens.", "Siemens")
    (True, False)
    >>> retracts("I left Siemens.", "I work at Siemens as a welder.", value="siemens")
    True
    """
    plain = without_lead(new.replace("’", "'")).strip().rstrip(".! ")  # noqa: RUF001 - real
    plain = _TOLD_WHEN.sub("", plain)
    denies = value is not None or _DENIES.search(new.replace("n't", " not"))
    if denies and _denies(_TURNS_OUT.sub("", plain), old):
        return True
    if any(_is_about(old, plain, said) for one in _CORRECTED if (said := one.match(plain))):
        return True
    filled = frozenset(words(value or ""))
    return any(
        (one == filled or _says_little_but(old, one))
        and _says_little_but(plain, one, anywhere=True)
        for one in _ended(plain)
    )


def _denies(new: str, old: str) -> bool:
    """Return whether a statement denies another one, or its beginning."""
    denied, known = stance(new), stance(old)
    if not denied.denied or known.denied:
        return False
    said = denied.about
    begins = said and said == known.about[: len(said)] and marks(new) <= marks(old)
    return opposed(new, old) or (bool(begins) and len(known.about) <= len(said) + _FRAME)


def _is_about(old: str, new: str, corrected: re.Match[str]) -> bool:
    """Return whether ``old`` has the value that ``new`` takes back, and most of its other words.

    False if it has the new value as well: "It's Friday and Monday".
    """
    said, value, instead = {*spoken(old)}, spoken(corrected["old"]), spoken(corrected["new"])
    added = {*spoken(new)} - said - _LITTLE
    return (
        bool(value)
        and said.issuperset(value)
        and len(added) <= len(value)
        and not added.isdisjoint(instead)
    )


def _says_little_but(text: str, thing: frozenset[str], *, anywhere: bool = False) -> bool:
    """Return whether a short statement ends with a thing, or has it: "I work at Siemens"."""
    said = spoken(text)
    there = thing.issubset(said) if anywhere else thing == {*said[-len(thing) :]}
    return there and 0 < len(said) - len(thing) <= _FRAME
