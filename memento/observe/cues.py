"""Cue tables: patterns to classify sentences in languages other than English.

A table is a file ``languages/xx.toml``: common words by which the language is recognised, patterns
that refuse a sentence, and patterns for each class. They are few and precise; a sentence without a
cue is only kept in its turn.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from memento.observe.signals import Signal

LANGUAGES = ("de", "fr", "es", "zh", "it", "pt", "nl", "ja")
"""Languages with a table, the ones with the most patterns first."""
CERTAIN = 0.9
"""Probability of a class whose cue matches: about the share that is right."""
_OF_ANOTHER = ("reports", "drafts", "plays")
"""Reasons to refuse a sentence that tell of words which are not the user's."""
_NEVER = ("(?!)",)
_NO_FORGET = {
    "asking": "",
    "opens": _NEVER,
    "politely": _NEVER,
    "whole": _NEVER,
    "of_user": _NEVER,
}
"""What is said of requests to forget in a table that does not tell."""
_FOLDER = Path(__file__).parent / "languages"


@dataclass(frozen=True, slots=True)
class Table:
    """The cues of one language.

    Attributes:
        common: Words by which the language is recognised, lower case.
        refuses: Reason of a veto to its pattern.
        denies: The words that make a sentence say that something does not hold.
        keeps: A wish that something is not forgotten or removed.
        opens: Interjections and the like before a sentence.
        politely: A request to forget that is put as a question.
        asking: Words of requests to forget that name nothing.
        whole: Means all that was told of something, not one thing.
        of_user: Speaks of the user as such, or of all that the user said.
        cues: Class and pattern, in the order in which they are tried.
    """

    common: frozenset[str]
    refuses: Mapping[str, re.Pattern[str]]
    denies: re.Pattern[str] | None
    keeps: re.Pattern[str]
    opens: re.Pattern[str]
    politely: re.Pattern[str]
    asking: frozenset[str]
    whole: re.Pattern[str]
    of_user: re.Pattern[str]
    cues: tuple[tuple[Signal, re.Pattern[str]], ...]

    def refuse(self, sentence: str) -> str | None:
        """Return why a sentence must not be learned, or None."""
        said = _in_one_line(sentence)
        if self.politely.search(self.opens.sub("", said, count=1)) and not self.keeps.search(said):
            return None
        return next((why for why, each in self.refuses.items() if each.search(said)), None)

    def signal(self, sentence: str) -> Signal | None:
        """Return the class of the first cue that a sentence has, or None."""
        said = _in_one_line(sentence)
        if self.asks_to_forget(said) and not self.keeps.search(said):
            return Signal.FORGET
        found = (signal for signal, each in self.cues if each.search(said))
        return next((one for one in found if one is not Signal.FORGET), None)

    def denied(self, sentence: str) -> str:
        """Return what a sentence denies: the sentence without its negation; ``""`` if it has none.

        >>> load("fr").denied("Je n'habite plus à Lyon"), load("fr").denied("J'habite à Lyon")
        ("J'habite à Lyon", '')
        """
        said = _in_one_line(sentence)
        affirmed = said if self.denies is None else self.denies.sub("", said).strip()
        return "" if affirmed == said else affirmed

    def is_rule(self, sentence: str) -> bool:
        """Return whether a sentence, or what follows its first comma, has the cue of a rule."""
        said = _in_one_line(sentence)
        rule = dict(self.cues).get(Signal.RULE)
        parts = said, said.partition(",")[2].strip()
        return rule is not None and any(rule.search(part) for part in parts)

    def asks_to_forget(self, sentence: str) -> bool:
        """Return whether a sentence has a cue of a request to forget."""
        said = self.opens.sub("", _in_one_line(sentence), count=1)
        asks = (each for one, each in self.cues if one is Signal.FORGET)
        return any(each.search(said) for each in (self.politely, *asks))

    def is_anothers(self, line: str) -> bool:
        """Return whether a line quotes somebody else, or has a text written, changed or played."""
        return any(self.refuses[why].search(line) for why in _OF_ANOTHER)


def _in_one_line(sentence: str) -> str:
    return " ".join(sentence.split())


@cache
def load(code: str) -> Table:
    """Read the table of a language, once.

    Args:
        code: One of ``LANGUAGES``.
    """
    written = tomllib.loads((_FOLDER / f"{code}.toml").read_text(encoding="utf-8"))
    forget = {**_NO_FORGET, **written.get("forget", {})}
    return Table(
        common=frozenset(written["common"].split()),
        refuses={why: _any(patterns) for why, patterns in written["refuses"].items()},
        denies=_any(written["denies"]) if "denies" in written else None,
        keeps=_any(written["keeps"]),
        asking=frozenset(forget["asking"].split()),
        **{name: _any(forget[name]) for name in ("opens", "politely", "whole", "of_user")},
        cues=tuple((Signal(name), _any(patterns)) for name, patterns in written["cues"].items()),
    )


def _any(patterns: Iterable[str]) -> re.Pattern[str]:
    """Compile some patterns into one that finds any of them, in upper or lower case."""
    return re.compile("|".join(f"(?:{each})" for each in patterns), re.IGNORECASE)
