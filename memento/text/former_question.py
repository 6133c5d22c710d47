"""Recognise a question for a value that no longer holds, and which one it asks for. Pure.

"Which laptop did I have before?" asks for the former value; "What should I do before lunch?" does
not. A superseded memory is shown for the first and never for the second, so a doubtful question
counts as one about the present.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from memento.text.fast_pattern import Small
from memento.text.sentences import SENTENCE, ends_in_question
from memento.text.words import STOP_WORDS, terms

_LONGEST = 500  # characters of a question that are read: its end
_MARKS = "?\uff1f"
"""Question marks that are searched for: of Latin and full-width script."""
_FORMER = Small(
    r"""
    \b(?: previous(?:ly)? | former(?:ly)? | originally | at\ first | to\ (?:begin|start)\ with
        | (?:at|in)\ the\ (?:start|beginning)(?!\ of) | back\ then | in\ the\ past
        | until\ recently | last\ year | (?:months?|years?)\ ago
        | earlier(?!\s+(?:than|today|this)\b)
        | (?:the|my|our|his|her|its|their|your|\w+['’]s)\s+old(?!\s+(?:man|woman|people|lady)\b)
        | did\b.*\buse\s+to | prior\s+to\s+(?:this|that)
        | before\s+(?:this|that|the\s+(?:current|present|new)(?:\s+one)?|now)\b
        | (?:did|was|were|had)\b.*\bbefore(?!\s+(?:\d|i\b|we\b|you\b|he\b|she\b|they\b|it\b))
        # German
        | früher(?:e[rsnm]?)? | vorher(?:ig\w*)? | zuvor | ehemal(?:s|ig\w*) | damals | ursprünglich
        | (?:der|die|das|den|dem|mein\w*|unser\w*|sein\w*|ihr\w*)\s+alte[nrsm]? | letztes\s+jahr
        # Spanish
        | antes(?!\s+del?\b) | antes\s+de\s+est[ea] | anterior(?:es|mente)? | antigu[oa]s?
        | originalmente | sol[ií]a\w* | (?:el\s+)?año\s+pasado
        # French
        | auparavant | précédent\w* | ancien(?:ne)?s? | autrefois | jadis | à\ l['’]origine
        | avant\s+(?:cela|ça|celui|celle) | l['’]an(?:née)?\s+(?:dernière?|passée?)
    )\b
    | \b(?:before|avant)\W*$ | ^\W*old\s+(?!(?:man|woman|people|lady)\b)
    # Japanese and Chinese
    | 以前 | (?<![一-鿿])前[のは] | 昔 | かつて | もともと | 元の | 去年
    | 之前 | 原来 | 原來 | 从前 | 從前 | 曾经 | 曾經 | 前任
    """,  # noqa: RUF001 - real apostrophes
    re.VERBOSE,
    needs=(
        "befor", "old", "use", "ago", "original", "first", "previous", "former", "start", "begin",
        "then", "past", "recent", "year", "earlier", "prior", "vorher", "zuvor", "ehemal", "damals",
        "alte", "jahr", "antes", "anterior", "antigu", "soli", "auparavant", "ancien", "autrefois",
        "jadis", "avant",
    ),
)  # fmt: skip
_BEFORE_A_NAME = re.compile(
    r"^\W*(?i:who|which|what|where)\b.*\bbefore\s+(?:the\s+)?(?:(?:Dr|Mr|Mrs|Ms|Miss)\.?\s+)?"
    r"(?!(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|January|February|March|April|May|June|July"
    r"|August|September|October|November|December|Christmas|Easter|I)\b)[A-ZÀ-Þ]"
)
"""A question for the predecessor of something that has a name."""
_USED_TO = re.compile(r"\bused\s+to\b", re.IGNORECASE)
_IS_USED_TO = re.compile(
    r"\b(?:am|is|are|was|were|be|been|being|get|gets|got|getting|['’](?:m|s|re))\s+"  # noqa: RUF001
    r"(?:[\w-]+\s+){0,3}used\s+to\b",
    re.IGNORECASE,
)
_PRESENT = Small(
    r"(?<!before )\b(?:now|currently|nowadays|these days|at the moment|right now|replaces?|replaced"
    r"|instead of|jetzt|aktuell|ahora|actualmente|maintenant|actuellement)\b|現在|今は|现在"
)
_FIRST = re.compile(
    r"\b(?:originally|at first|to (?:begin|start) with|(?:at|in) the (?:start|beginning)(?! of)"
    r"|ursprünglich|originalmente)\b|\bà l['’]origine\b|もともと",  # noqa: RUF001
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"\bbefore\s+(.+)|\bprior\s+to\s+(.+)|\b(?:avant|antes\s+de)\s+(.+)", re.IGNORECASE
)
_SUCCESSOR = re.compile(r"(?<=\w)\s+before\s+[^?.!\n]+\W*$", re.IGNORECASE)


_ENDS = frozenset(".!?")


@dataclass(frozen=True, slots=True)
class Former:
    """Which of the former values a question asks for.

    Attributes:
        first: Whether it is the first one of all, rather than the last before the present one.
        before: Folded words of the value that followed it; empty for the present value.
    """

    first: bool = False
    before: frozenset[str] = frozenset()


@lru_cache(maxsize=8)  # the same question is read for the filters and for the ranking
def asked(text: str) -> Former | None:
    """Read which former value a question asks for; None if it asks for what holds now.

    Of a text with several lines or questions, only the last one is read.

    >>> asked("Which car did we have before the Kia?").before >= {"kia"}
    True
    >>> asked("What was my old address?"), asked("Where did I live originally?").first
    (Former(first=False, before=frozenset()), True)
    >>> asked("What should I do before lunch?"), asked("How old is Otis?")
    (None, None)
    """
    question = _question(text)
    used_to = _asks_what_was_used(question)
    named = "before" in question and _BEFORE_A_NAME.search(question)
    if not used_to and not named and not _FORMER.found_in(question):  # nearly always: comes first
        return None
    if _PRESENT.found_in(question):
        return None
    found = _BEFORE.search(question)
    after = next(filter(None, found.groups()), "") if found else ""
    return Former(_FIRST.search(question) is not None, frozenset(terms(after)))


def without_successor(text: str) -> str:
    """Drop the value that followed the wanted one: the answer is not near it in meaning.

    It is kept if the question has no other word of content.

    >>> without_successor("Which car did we have before the Kia?")
    'Which car did we have'
    >>> without_successor("What did we have before the Kia?")
    'What did we have before the Kia?'
    """
    if len(text) > _LONGEST or "before" not in text or asked(text) is None:
        return text
    left = _SUCCESSOR.sub("", text)
    return left if any(word not in STOP_WORDS for word in terms(left)) else text


def _asks_what_was_used(question: str) -> bool:
    if "used" not in question.lower() and question.isascii():  # nearly always
        return False
    return _USED_TO.search(question) is not None and not _IS_USED_TO.search(question)


def _question(text: str) -> str:
    """Return the last question of a text, or else its last line."""
    last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
    if last.isascii() and _ENDS.isdisjoint(last[:-1]):  # one sentence: nearly always
        return last[-_LONGEST:]
    sentences = SENTENCE.split(last)
    found = next((one for one in reversed(sentences) if ends_in_question(one, _MARKS)), last)
    return found[-_LONGEST:]
