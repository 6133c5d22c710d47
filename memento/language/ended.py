"""Find the things of which a statement says that they ended or were replaced. Pure.

"Fiona has left, Gareth runs our team now", "she took me off bisoprolol", "no more violin": what was
said before about Fiona, bisoprolol or the violin may no longer hold.
"""

from __future__ import annotations

import re

from memento.language.words import STOP_WORDS, words

_LONGEST = 400
_SHORTEST = 2
_VAGUE = frozenset(
    """off on out up down over back new old second first last one everything nothing something all
    more less time day week month year way thing things lot""".split()  # noqa: SIM905 - words read better as one text
)
_THING = r"(?P<thing>(?:[\w'’-]+ ){0,2}[\w'’-]+)"  # noqa: RUF001 - a real apostrophe
_UNTIL = _THING.replace("{0,2}", "{0,2}?")
"""The same as short as can be, before words that end it."""
_GONE = (
    r"left|retired|quit|gone(?= (?:to|from|for|back|off)\b|[^\w ]|$)|stopped|resigned|died|closed"
    r"|shut|given up|moved away|broken|finished"
)
_LOST = "promoted|cancell?ed|stolen|scrapped|fired|let go|shut down|switched off|run over"
_HAS = "(?:'s| has| have| is| are) (?:now )?"
_MINE = "(?:the |my |our |his |her )?"
_BEGINS = r"(?:^|[.,;!?] *|\band |\bso |\bas )"
_TO = r"(?= (?:to|off|back|forward|from|until|till)\b)"
_FOR = r"(?= (?:for|with|by|against|to)\b|[.,;]|$)"
_OF_ITS_KIND = r"(?= (?:one|account|contract|subscription)\b|[.,;]|$)"
_NOT_TO = r"(?!(?:to|for|by|at|in|on|from|against|after|before)\b)"
"""Words before something that did not end: "the mill was sold to Ruiz"."""
_WRITTEN = (
    _BEGINS + _MINE + _THING + _HAS + rf"(?:{_GONE}|over|cancell?ed)\b",
    _BEGINS + _MINE + _THING + r" (?:retired|resigned|died|quit|broke down)\b",
    _BEGINS + _MINE + _THING + rf" (?:was|were|got) (?:{_LOST})\b",
    rf"\b(?:closed|ended|terminated|got rid of|threw (?:out|away)) {_MINE}{_UNTIL}{_OF_ITS_KIND}",
    rf"\b(?:swapped|replaced|replaces|exchanged|traded|changed) {_MINE}{_UNTIL}{_FOR}",
    rf"\b(?:took|taken|came|come|weaned) (?:me |him |her |us )?off {_MINE}{_THING}",
    rf"\b(?:no more|no longer|instead of|rather than) (?:an? |any )?{_MINE}{_THING}",
    r"\b(?:gave up|given up|sold|scrapped|lost|cancelled|stopped) (?:with )?"
    + (_NOT_TO + _MINE + _THING),
    rf"(?:^|[.;!] *)no {_THING}",
    rf"\b(?:moved|put|postponed|shifted|switched) (?:back )?{_MINE}{_UNTIL}{_TO}",
    _BEGINS + _MINE + _THING + r" (?:has |have |was |been )*(?:moved|switched|gone) (?:to|over)\b",
    rf"\b(?:statt|anstatt|keinen?|keine[mr]?) {_THING}(?= mehr\b)?",
    rf"\b(?:au lieu (?:de |d'|du )|en vez de |en lugar de |em vez de ){_THING}",
)
_ENDED = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _WRITTEN)


def ended(text: str) -> frozenset[frozenset[str]]:
    """Return the things that ended, each as its words, folded; none for a long text.

    >>> [sorted(one) for one in ended("Dr Anand has swapped the atorvastatin for rosuvastatin")]
    [['atorvastatin']]
    """
    if len(text) > _LONGEST:
        return frozenset()
    found = (
        frozenset(_telling(match["thing"]))
        for pattern in _ENDED
        for match in pattern.finditer(text)
    )
    return frozenset(thing for thing in found if thing)


def _telling(thing: str) -> list[str]:
    """Keep the words of a thing that tell which one it is; none if one of them tells nothing."""
    said = [word for word in words(thing) if word not in STOP_WORDS]
    kept = [word for word in said if word not in _VAGUE and len(word) > _SHORTEST]
    return kept if len(kept) == len(said) else []
