"""Judge a sentence by its wording where the detector is not sure. Pure.

"My name is Steven." says what it says, whatever the likeness of its name to other sentences. A
denial, a change and a state that began say something if the store has what they deny or change.
"""

from __future__ import annotations

import re

from memento.observe.anchors import licenses
from memento.observe.signals import Detection, Signal
from memento.observe.slots import is_choice, slot_of
from memento.observe.sorts import names
from memento.observe.wording import labelled, without_lead

_DENIES = re.compile(
    r"""^\W*(?:(?:and|but|so|well|oh|also|ok|okay|by\s++the\s++way|btw|sadly|unfortunately)\W+)*
      (?:i|we|my|our)\b[^.;:?]{0,80}?
      (?:\bno\s++longer\b|(?:n't|\bnot)\b[^.;:?]{0,80}\bany\s?(?:more|longer)\b)""",
    re.IGNORECASE | re.VERBOSE,
)
"""A plain denial: "I'm no longer married"."""
_FROM_TO = re.compile(
    r"""^\W*(?:(?:and|so|also|ok|okay|well|btw|by\s++the\s++way)\W+)*(?:i|we)(?:'ve|\s++have)?\s++
      (?:(?:just|now|finally|recently)\s++)?(?:moved|migrated|switched)\s++(?:over\s++)?
      from\s++(?P<old>[^.;:?,]{1,40}?)\s++to(?:\s++(?!(?:in|for|on|at|and|with|by)\b)[\w.+#-]+){1,3}[.!]?$""",
    re.IGNORECASE | re.VERBOSE,
)
"""A change with both values and nothing else: "We've moved from npm to pnpm"."""
_BEGAN = re.compile(
    r"""^(?=.*\bnow\b)(?!.*\b(?:if|when)\b)[^.;:?]{1,120}?
      (?: (?:\b(?:is|are|am)|'(?:s|re|m))\s++now\s++\w
        | (?:\b(?:is|are|am|lives?|works?|uses?|runs?|has|have|costs?|takes?)|'(?:s|re|m))\b
          [^.;:?]{1,60}\bnow\W*$ )""",
    re.IGNORECASE | re.VERBOSE,
)
"""A state that began: "The limit is 500 now"."""
_MY_NAME = re.compile(
    r"(?i:my (?:first |full )?name(?: is|'s)) (?P<name>[^\W\d_][\w'-]*(?: [^\W\d_a-z][\w'-]*){0,2})"
    r"(?:[.!]*|, .*)$"
)
"""A name, and nothing that goes on with the sentence."""
_MY_VALUE = re.compile(r"(?i:my)\b.{3,40}?[A-Z0-9@/]")
"""A value of the user's with a capital, a digit or a sign."""
_OUR_VALUE = re.compile(
    r"(?i:our|the project's) (?:[\w-]+ ){1,3}?(?i:is|are) (?:now )?(?P<value>"
    r"[A-Z0-9][\w.+#-]*(?: [A-Z0-9][\w.+#-]*){0,2})[.!]?"
)
"""A thing of the project's and a name, and nothing else."""
_USES = re.compile(
    r"(?P<we>we (?:all )?use)\s++(?P<it>\S+(?: \S+)?)(?: for (?:the |our |all )?[\w-]+)?"
    r"|(?:(?:please|always|only|just) )*(?:use|indent with|stick (?:to|with))"
    r" (?P<what>\S+(?: \S+)?)",
    re.IGNORECASE,
)
"""A value in use, with its purpose at most."""
_NO_NAME = re.compile(
    r"(?:mud|there|here|not|too|very|so|on|in|an?|the|long|short|hard|easy|rare|common|taken|used"
    r"|wrong|correct|right|missing|unusual|unique|private|secret|irrelevant|unimportant|different"
    r"|mine|yours|known|unknown|hidden|public|what|as|listed|gone|good|bad|ok|okay|fine|nice|new|old"
    r"|difficult|weird|funny|boring|confidential|real|fake|now|already|still|also|ruined|cursed"
    r"|everywhere|plain|cool|great|blocked|below|above|attached|cut|enough|printed|first|next|nobody"
    r"|somebody|someone|anything|nothing|biblical|tbd|tba|all|last|written|up|down|out|never|always"
    r"|often|just|only|at|by|from|for|with|my|your|his|her|our|their|it|this|that|(?:un|mis)\w+ed"
    r"|\w+(?:ing|able|ous|ed))"
)
"""Words in lower case that say something else about a name."""
_NAMED = frozenset(
    f"user/{one}"
    for one in ("pronouns", "timezone", "language", "email", "phone", "age", "birthday")
)
"""Slots whose names are said of nothing but their values."""


def judged_by_wording(
    detection: Detection, said: str, store_at: float, doubt_at: float
) -> Detection:
    """Judge by its wording what the detector is not sure of; anything else stays as it is.

    Args:
        detection: The detector's opinion.
        said: The sentence, with hidden parts masked.
        store_at: Minimum probability of a sure candidate.
        doubt_at: Minimum probability of a candidate.
    """
    if detection.signal is not None and detection.is_sure(store_at):
        return detection
    plain = said.replace("’", "'")  # noqa: RUF001 - a real apostrophe
    named = _named(labelled(without_lead(plain.replace("\u00a0", " "))))
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
    name = _MY_NAME.match(plain)
    if name is not None:
        return None if _NO_NAME.fullmatch(name["name"].casefold()) else Signal.IDENTITY
    if _MY_VALUE.match(plain):
        slot = slot_of(plain, Signal.IDENTITY)
        return Signal.IDENTITY if slot is not None and slot.key in _NAMED else None
    ours = _OUR_VALUE.fullmatch(plain)
    if ours is not None:
        slot = slot_of(plain, Signal.FACT)
        which = slot is not None and slot.key.startswith("project/") and names(ours["value"])
        return Signal.FACT if which else None
    used = _USES.fullmatch(plain.rstrip(".!"))
    if used is None or not is_choice(used["it"] or used["what"]):
        return None
    return Signal.FACT if used["we"] else Signal.RULE


def left_behind(said: str) -> str | None:
    """Return what a statement of a change and nothing else says is no longer used.

    >>> left_behind("We've moved from npm to pnpm.")
    'npm'
    """
    moved = _FROM_TO.match(said.replace("’", "'"))  # noqa: RUF001 - a real apostrophe
    return None if moved is None else " ".join(moved["old"].casefold().split())
