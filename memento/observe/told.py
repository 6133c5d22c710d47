"""Judge a sentence by its wording where the detector is not sure. Pure.

"My name is Steven." says what it says, whatever the likeness of its name to other sentences. A
denial, a change and a state that began say something if the store has what they deny or change.
"""

from __future__ import annotations

import re

from memento.observe.anchors import licenses
from memento.observe.signals import Detection, Signal
from memento.observe.slots import slot_of
from memento.observe.wording import without_lead

_DENIES = re.compile(
    r"""^\W*(?:(?:and|but|so|well|oh|also|ok|okay|by\s+the\s+way|btw|sadly|unfortunately)\W+)*
      (?:i|we|my|our)\b[^.;:?]{0,80}?
      (?:\bno\s+longer\b|(?:n't|\bnot)\b[^.;:?]{0,80}\bany\s?(?:more|longer)\b)""",
    re.IGNORECASE | re.VERBOSE,
)
"""A plain denial: "I'm no longer married"."""
_FROM_TO = re.compile(
    r"""^\W*(?:(?:and|so|also|ok|okay|well|btw|by\s+the\s+way)\W+)*(?:i|we)(?:'ve|\s+have)?\s+
      (?:(?:just|now|finally|recently)\s+)?(?:moved|migrated|switched|changed|gone|went|upgraded)\b
      [^.;:?]{0,40}\bfrom\s[^.;:?]{1,60}\sto\s\w""",
    re.IGNORECASE | re.VERBOSE,
)
"""A change with both values: "We've moved from npm to pnpm"."""
_BEGAN = re.compile(
    r"""^(?=.*\bnow\b)(?!.*\b(?:if|when)\b)[^.;:?]{1,120}?
      (?: (?:\b(?:is|are|am)|'(?:s|re|m))\s+now\s+\w
        | (?:\b(?:is|are|am|lives?|works?|uses?|runs?|has|have|costs?|takes?)|'(?:s|re|m))\b
          [^.;:?]{1,60}\bnow\W*$ )""",
    re.IGNORECASE | re.VERBOSE,
)
"""A state that began: "The limit is 500 now"."""
_MY_VALUE = re.compile(
    r"(?i:my)\b(?:.{3,40}?[A-Z0-9@/]|(?i: (?:first )?name(?: is|'s) )[a-z]+[.!]?$)"
)
_OUR_VALUE = re.compile(
    r"(?i:our|the project's) (?:[\w-]+ ){1,3}?(?i:is|are) (?:now )?"
    r"[A-Z0-9][\w.+#-]*(?: [\w.+#-]+){0,2}[.!]?"
)
_USES = re.compile(
    r"(?P<we>we)\s+(?:also\s+|all\s+)?use\s+\S"
    r"|(?:(?:please|always|only|just)\s+)*(?:use|indent\s+with|stick\s+(?:to|with))\s+\S"
    r"(?!.*\b(?:this|that|here|it)\b)",
    re.IGNORECASE,
)
_NAMED = frozenset(
    f"user/{one}" for one in ("name", "pronouns", "timezone", "language", "email", "phone", "age")
)
"""Slots whose names are said of nothing but their values."""


def judged_by_wording(
    detection: Detection, said: str, store_at: float, doubt_at: float
) -> Detection:
    """Judge by its wording what the detector is not sure of; anything else stays as it is.

    Args:
        detection: The detector's opinion.
        said: The sentence.
        store_at: Least probability of a sure candidate.
        doubt_at: Least probability of a candidate.
    """
    if detection.signal is not None and detection.is_sure(store_at):
        return detection
    plain = said.replace("’", "'")  # noqa: RUF001 - a real apostrophe
    named = _named(without_lead(plain))
    if named is not None and licenses(named, plain):
        reasons = (*detection.reasons, "names a value")
        return Detection(named, store_at, licensed=True, reasons=reasons)
    if _DENIES.match(plain):
        return _doubted(detection, Signal.CORRECTION, "denies", store_at, doubt_at)
    if _FROM_TO.match(plain):
        return _doubted(detection, Signal.CORRECTION, "tells a change", store_at, doubt_at)
    if _BEGAN.match(plain):
        signal = detection.signal or Signal.FACT
        return _doubted(detection, signal, "tells a state that began", store_at, doubt_at)
    return detection


def _doubted(
    detection: Detection, signal: Signal, reason: str, store_at: float, doubt_at: float
) -> Detection:
    """Return a statement in doubt: it is stored only if the store has what it changes."""
    known = detection.signal is not None and doubt_at <= detection.probability < store_at
    return Detection(
        signal,
        detection.probability if known else doubt_at,
        licensed=doubt_at < store_at,
        reasons=(*detection.reasons, reason),
    )


def _named(plain: str) -> Signal | None:
    """Return the class of a sentence that gives a value by its name.

    "My time zone is UTC+1" gives one of the user's, "Our CI is Jenkins" one of the project's, and
    "use tabs" one of the values that exclude each other.
    """
    if _MY_VALUE.match(plain):
        slot = slot_of(plain, Signal.IDENTITY)
        return Signal.IDENTITY if slot is not None and slot.key in _NAMED else None
    if _OUR_VALUE.fullmatch(plain):
        slot = slot_of(plain, Signal.FACT)
        return Signal.FACT if slot is not None and slot.key.startswith("project/") else None
    used = _USES.match(plain)
    if used is None or slot_of(plain, Signal.RULE) is None:
        return None
    return Signal.FACT if used["we"] else Signal.RULE
