"""Find out which kind of answer a question wants, and whether a text holds it. Pure.

"Who helps Dad?" wants a person, "what can't Otis eat?" a negation. A text with a name or a "no" is
not necessarily an answer, but of two texts that fit the question equally well it is the likelier.
English, with the commonest question words of German, Spanish and French.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from memento.text.fast_pattern import Small
from memento.text.sentences import ends_in_question
from memento.text.words import words

_READ = 400  # characters of a text
_QUOTE = "['’]?"  # noqa: RUF001 - a real apostrophe


def _any_word(*alternatives: str, needs: str | None = None) -> Small:
    """Return a pattern that finds any of some words.

    Args:
        alternatives: The words, as patterns.
        needs: Parts of the ASCII words, separated by spaces, see `Small`; None if it is cheap.
    """
    parts = None if needs is None else needs.split()
    return Small(rf"\b(?:{'|'.join(alternatives)})\b", needs=parts)


_ASKS_WHO = _any_word(
    rf"who|who{_QUOTE}s|whose|whom|name of",
    r"(?:which|what)\s+(?:person|people|teacher|doctor|friend|man|woman|guy|colleague|company)",
    r"(?:which|what)\s+name",
    "wer|wen|wem|wessen|qui|quién|quien",
    needs="who name person people teacher doctor friend man guy colleague company"
    " wer wen wem wess qui",
)
_ASKS_NOT = _any_word(
    rf"not|cannot|(?:ca|is|are|do|does|did|wo|must|should|would|could|was|were|has|have)n{_QUOTE}t",
    "never|nobody|no one|none|without|avoid|forbidden|allergic|dislikes?|hates?|off[- ]limits",
    "banned",
    "nicht|kein(?:e[nmrs]?)?|nie|no puede|ne pas",
    needs="not n't nt never nobod no none without avoid forbid allergic like hate off banned"
    " nich kein nie ne",
)
_ASKS_WHEN = _any_word(
    rf"when|when{_QUOTE}s|how long|what time|due|deadline|birthday",
    r"(?:which|what)\s+(?:date|day|year|month|night|evening|week|weekday|hour)",
    "wann|cuándo|cuando|quand",
    needs="when long time due deadline day date year month night evening week hour"
    " wann cuando quand",
)
_ASKS_HOW_OLD = _any_word(
    r"how\s+old", r"what\s+age", r"wie\s+alt", r"quel\s+âge", needs="old age alt"
)
_ASKS_COLOUR = _any_word(
    r"(?:which|what)(?:\s+is\s+the)?\s+colou?r",
    r"colou?r\s+of",
    r"welche\s+farbe",
    r"qué\s+color",
    needs="colo farbe",
)
_ASKS_HOW_MANY = _any_word(
    r"how\s+(?:many|much|long|far|tall|big|high|heavy|wide)",
    "number|amount|price|costs?|balance|total|pin|code|quote|size|salary|rent|fee|percentage",
    "distance|temperature|weight|height|rates?|pay|earn|charged?",
    r"wie\s*viele?|cuánt[oa]s?|combien",
    needs="how number amount price cost balance total pin code quote size salary rent fee"
    " percentage distance temperature weight height rate pay earn charge wie combien",
)
_ASKS_HOW_OFTEN = _any_word(r"how\s+(?:often|frequently)", r"wie\s*oft", needs="oft frequent")
_ASKS_WHERE = _any_word(
    rf"where|where{_QUOTE}s|wo|wohin|dónde|donde|où",
    r"(?:which|what)\s+(?:room|place|city|town|street|floor|shop|station)",
    needs="where wo donde room place city town street floor shop station",
)
_ASKS_DECISION = _any_word(
    r"decid\w+|agreed?|settled?|chose|chosen|choose|picked", needs="deci agree settle cho picked"
)
_ASKS_RULE = _any_word(
    rf"may|can|can{_QUOTE}t|allowed|should|shouldn{_QUOTE}t|must|mustn{_QUOTE}t|avoid",
    "forbidden|ok|okay",
    needs="may can allowed should must avoid forbidden ok",
)
_OPENS_QUESTION = Small(
    r"\W*(?:how (?:many|much|do|does|did|can|should|long|often|old|far|is|are)"
    r"|(?:what|which|who|whose|why)\b|whats|whos|(?:can|could|should|shall|do|does|did|is|are|am|was|were|will|would)"
    r" (?:i|we|you|he|she|it|they|the|there|that|this|my|our)\b)"
)

_NEGATION = Small(
    r"\b(?:no|not|never|none|nobody|nothing|neither|nor|cannot|without|avoid\w*|forbidden|refus\w+"
    r"|allergic|hates?|dislikes?|banned|instead|only|stop(?:ped)?|nicht|kein\w*|nie|ohne|sin|jamais)\b"
    r"|n['’]t\b"  # noqa: RUF001 - a real apostrophe
)
_SPELLED = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred"
    " thousand dozen"
)
_NUMBER_WORDS = f"{_SPELLED} one half third once twice couple"
_NUMBER = Small(
    rf"\d|\b(?:{'|'.join(_NUMBER_WORDS.split())})\b", needs=(*"0123456789", *_NUMBER_WORDS.split())
)
_SPELLED_NUMBER = Small(rf"^\D*\b(?:{'|'.join(_SPELLED.split())})\b\D*$", needs=_SPELLED.split())
"""For text without digits: these are evidence already, see ``retrieve.evidence.Weights``."""
_A_NUMBER = rf"(?:\d{{1,3}}|{'|'.join(_SPELLED.split())})"
_AGE = Small(
    r"\b(?:born|birthday|aged?|years?\s+old|year-old|(?:19|20)\d\d"
    rf"|{_A_NUMBER}\s+(?:this|next|last|in|on)"
    rf"|(?:turn(?:s|ed|ing)?|is|was|am|are|be|now|already)\s+{_A_NUMBER})\b"
)
_COLOUR = _any_word(
    r"black|white|red|green|blue|yellow|brown|orange|purple|pink|gr[ae]y|silver|gold(?:en)?|beige",
    "cream|navy|turquoise|maroon|violet|scarlet|crimson|dark|bronze|copper|ivory|magenta|tan",
    "olive|lilac|teal|burgundy|sage|mint|khaki|plum|mustard|charcoal|coral|amber|ochre|lavender",
    "indigo|cyan|aqua|peach|salmon|mauve|fuchsia|rust|sand|wine|lime|emerald|ruby|sapphire|taupe",
    "noire?s?|blanc(?:he)?s?|rouges?|verte?s?|bleue?s?|jaunes?|roses?",
    r"(?:schwarz|wei(?:ß|ss)|rot|grün|blau|gelb|braun|grau)(?:e[mnrs]?)?",
    "negr[oa]|blanc[oa]|roj[oa]|verde|azul|amarill[oa]|gris",
)
_OFTEN = _any_word(
    r"every(?!\s*(?:one|body|thing|where)\b)", "each", "once", "twice", "weekly", "daily",
    "monthly", "yearly", "times", "always", "never", "alternate", r"fortnight\w*",
    "(?:odd|even) weeks", "(?:mon|tues|wednes|thurs|fri|satur|sun)days", "jede[nrsm]?",
)  # fmt: skip
_TIME = Small(
    r"\b\d{1,2}(?:st|nd|rd|th|am|pm|[:.]\d{2})\b|\b(?:19|20)\d\d\b|\d[月日]"
    r"|\b(?:noon|midnight|half|quarter|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february"
    r"|march|april|may|june|july|august|september|october|november|december|tomorrow|tonight"
    r"|yesterday|weeks?|months?|days?|years?|daily|every|mornings?|evenings?|afternoons?|nights?"
    r"|lunch\w*)\b|\bo['’]clock\b",  # noqa: RUF001 - a real apostrophe
    needs=(
        "day", "night", "morning", "week", "month", "year", "noon", "half", "quarter", "evening",
        "every", "daily", "tomorrow", "lunch", "clock", "january", "february", "march", "april",
        "may", "june", "july", "august", "september", "october", "november", "december",
        *"0123456789",
    ),
)  # fmt: skip
_PLACE = _any_word(
    "in|at|on|under|behind|next to|near|from|above|below|inside|beside|between|opposite|by|road",
    "street|floor|room|drawer|shelf|cupboard|upstairs|downstairs|left|right|im|am|auf|unter|en|dans",
)
_AT = re.compile(r"(?=[ian])\b(?:in|at|near|into) (?:the )?(?:[A-ZÀ-Þ][\w'’-]+ ?)+")  # noqa: RUF001 - a real apostrophe
_FIRST = re.compile(r"[A-ZÀ-Þ][a-zà-ÿ]{2,}(?=['’]s | \w)")  # noqa: RUF001 - a real apostrophe
_NAME = re.compile(  # the letter comes first: it is rare, and what stands before it is asked late
    r"(?=[A-ZÀ-Þ])(?:(?<![.!?:\n\"“(] )(?<!^)(?<!\n)\b[A-ZÀ-Þ][a-zà-ÿ]+\b"
    r"|\b[A-ZÀ-Þ][a-zà-ÿ]+ [A-ZÀ-Þ][a-zà-ÿ]+\b)"
)
NO_NAMES = frozenset(
    """monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays
    thursdays fridays saturdays sundays
    january february march april may june july august september october
    november december english german french spanish christmas easter the and but""".split()  # noqa: SIM905 - words read better as one text
)

_HELD = (
    (_ASKS_NOT, _NEGATION, 0.7),
    (_ASKS_WHEN, _TIME, 0.7),
    (_ASKS_HOW_MANY, _NUMBER, 0.3),
    (_ASKS_HOW_MANY, _SPELLED_NUMBER, 0.7),
    (_ASKS_HOW_OLD, _AGE, 0.7),
    (_ASKS_COLOUR, _COLOUR, 0.7),
    (_ASKS_HOW_OFTEN, _OFTEN, 0.7),
    (_ASKS_WHERE, _PLACE, 0.3),
)
"""Pattern of a question, pattern of its answer, and the weight of the latter."""
_LOOSE = frozenset({_TIME, _OFTEN})
"""Signs that answers often lack, because they say when in many other ways."""
_ASKS_KIND = {"decision": _ASKS_DECISION, "rule": _ASKS_RULE}
_KIND_NAMES = frozenset(
    {"decision", "opinion", "plan", "preference", "procedure", "question", "rule"}
)
"""Kinds of memory that people ask for by name; the other names are everyday words."""
_KIND = 0.6


@dataclass(frozen=True, slots=True)
class Form:
    """The kind of answer that a question wants.

    Attributes:
        who: Whether it wants a person.
        held: Patterns to be found in an answer, each with its value.
        kinds: Kinds of memory that an answer is likely to have, to their value.
        spoken: Words of the question, which do not count as an answer.
        strict: Whether a note without that is hardly an answer: a number, an age, a colour, a place
            or a negation is wanted. People and times are expressed in many ways.
    """

    who: bool
    held: tuple[tuple[Small, float], ...]
    kinds: tuple[tuple[str, float], ...]
    spoken: frozenset[str]
    strict: bool

    @property
    def may_be_rule(self) -> bool:
        """Whether a rule may be the answer: the question wants one, or no person or thing."""
        return not (self.who or self.held) or any(kind == "rule" for kind, _ in self.kinds)

    def fit(self, text: str, kind: str, common: Callable[[str], bool] | None = None) -> float:
        """Rate how much of what the question wants a text holds, [0, 1].

        Args:
            text: The text.
            kind: The kind of the memory.
            common: Returns whether a lower-case word is common; such a first word of a text is no
                name. None if a first word never counts as a name.
        """
        read = text[:_READ]
        value = sum(worth for pattern, worth in self.held if pattern.found_in(read))
        value += sum(worth for wanted, worth in self.kinds if wanted == kind)
        if self.who and self._names_another(read, common):
            value += 1.0
        if value and (ends_in_question(read) or _OPENS_QUESTION.begins(read)):
            return 0.0
        return min(1.0, value)

    def _names_another(self, text: str, common: Callable[[str], bool] | None) -> bool:
        """Return whether a text has a name that is not in the question and is not of a place."""
        found = [
            part.lower() for name in _NAME.findall(_AT.sub(" … ", text)) for part in name.split()
        ]
        first = _FIRST.match(text) if common is not None else None
        if first is not None and common is not None and not common(first[0].lower()):
            found.append(first[0].lower())
        return any(part not in self.spoken and part not in NO_NAMES for part in found)


def wanted(text: str) -> Form | None:
    """Read from the last line of a question which kind of answer it wants; None if it is open.

    >>> form = wanted("who helps Ada in the morning")
    >>> form is not None and form.fit("From now on Joyce helps Ada", "fact")
    1.0
    >>> wanted("the boiler") is None
    True
    """
    lines = text.strip().splitlines()
    question = lines[-1] if lines else ""
    spoken = words(question)
    named = kind_named(spoken)
    held = tuple((holds, worth) for asks, holds, worth in _HELD if asks.found_in(question))
    said = {kind for kind, asks in _ASKS_KIND.items() if asks.found_in(question)}
    kinds = tuple((kind, _KIND) for kind in sorted({*said, *([named] if named else [])}))
    who = _ASKS_WHO.found_in(question)
    if not (who or held or kinds):
        return None
    strict = bool(held) and not who and _LOOSE.isdisjoint(holds for holds, _ in held)
    return Form(who, held, kinds, frozenset(_without_possessives(spoken)), strict)


def kind_named(spoken: Sequence[str]) -> str | None:
    """Return the kind of memory that folded words name, the first of several.

    >>> kind_named(["what", "are", "my", "preferences"]), kind_named(["who", "rules", "norway"])
    ('preference', 'rule')
    """
    singular = (word.removesuffix("s") for word in spoken)
    return next((word for word in singular if word in _KIND_NAMES), None)


def _without_possessives(spoken: Collection[str]) -> set[str]:
    return {*spoken, *(word[:-1] for word in spoken if word.endswith("s"))}
