"""Return whether a statement takes another one back in so many words. Pure.

"It's Thursday, not Friday", "I'm no longer married", "turns out I'm not allergic", "I left
Siemens". It must name what it takes back and say little else: in doubt both statements stay.
"""

from __future__ import annotations

import re

from memento.observe.wording import without_lead
from memento.text.opposed import opposed, spoken, stance

_DENIES = re.compile(
    r"\bno longer\b|\bnot\b.{0,80}\b(?:any ?more|any longer|after all)\b"
    r"|\b(?:turns out|it turned out|actually)\b.{0,20}\bnot\b",
    re.IGNORECASE,
)
_TURNED = (
    re.compile(r"(?P<new>[^,;.]{1,60}?),? (?:and )?not (?P<old>[^,;.]{1,60})$", re.IGNORECASE),
    re.compile(r"not (?P<old>[^,;.]{1,60})[,;.] ?(?:but )?(?P<new>[^,;.]{1,60})$", re.IGNORECASE),
    re.compile(r"[^,;.]{1,60}? (?:instead of|rather than) (?P<old>[^,;.]{1,60})$", re.IGNORECASE),
    re.compile(r".*\bfrom (?P<old>[^,;.]{1,40}?) to (?P<new>[^,;.]{1,40})$", re.IGNORECASE),
)
_ENDS = (
    re.compile(
        r"(?:i|we)(?:'ve| have)? (?:just |finally |recently )?(?:left|quit|cancell?ed|dropped"
        r"|stopped using|got rid of|gave up|sold|ditched) (?:the |my |our )?(?P<old>[^,;.]{2,40})$",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?P<old>[^,;.]{2,40}?) (?:is|are|has|have|was|were) (?:now |finally |been )?"
        r"(?:gone|over|cancell?ed|discontinued|called off|scrapped)$",
        re.IGNORECASE,
    ),
)
_TOLD_WHEN = re.compile(
    r",? (?:now|today|yesterday|last (?:week|month|year)|this (?:week|month)|for good|at last"
    r"|in (?:january|february|march|april|may|june|july|august|september|october|november"
    r"|december))$",
    re.IGNORECASE,
)
_LITTLE = frozenset(
    """it that i we you my our your his her got wrong no not instead of than rather from to use at
    on in and meant""".split()  # noqa: SIM905 - words read better as one text
)


def retracts(new: str, old: str) -> bool:
    """Return whether a statement says of an earlier one of the same person that it ended.

    >>> retracts("It's Thursday, not Friday.", "The demo is on Friday.")
    True
    >>> retracts("I'm no longer married to Tom.", "I'm married.")
    False
    >>> retracts("I left Siemens.", "I work at Siemens."), retracts("I left Siemens.", "Siemens")
    (True, False)
    """
    plain = without_lead(new.replace("’", "'")).strip().rstrip(".! ")  # noqa: RUF001 - real
    plain = _TOLD_WHEN.sub("", plain)
    if _DENIES.search(new.replace("n't", " not")) and stance(plain).denied:
        told = re.sub(r"^it (?:turns|turned) out (?:that )?|^turns out (?:that )?", "", plain,
                      flags=re.IGNORECASE)  # fmt: skip
        if opposed(re.sub(r" after all$", "", told, flags=re.IGNORECASE), old):
            return True
    if any(_is_about(old, plain, match["old"]) for match in _matches(_TURNED, plain)):
        return True
    return any(_ends(old, match["old"]) for match in _matches(_ENDS, plain))


def _matches(patterns: tuple[re.Pattern[str], ...], plain: str) -> list[re.Match[str]]:
    return [match for pattern in patterns if (match := pattern.match(plain))]


def _is_about(old: str, new: str, value: str) -> bool:
    """Return whether a statement has the value that a correction names, and all else it names."""
    said, named = spoken(old), spoken(value)
    if not named or f" {' '.join(named)} " not in f" {' '.join(said)} ":
        return False
    unknown = {*spoken(new)} - {*said} - _LITTLE
    return len(unknown) <= max(len(named), 1)


def _ends(old: str, value: str) -> bool:
    """Return whether a short statement ends with what is over: "I work at Siemens"."""
    said, named = spoken(old), spoken(value)
    return (
        bool(named)
        and len(said) > len(named)
        and said[-len(named) :] == named
        and (len(said) <= len(named) + _FRAME)
    )


_FRAME = 4
"""Maximum number of words beside the value: "I work as a welder at Siemens"."""
