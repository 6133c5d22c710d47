"""Return whether a sentence shows words that are to be worked on, read or played. Pure.

"Count the words in: never merge on a Friday" states no rule. The words before the colon tell:
they ask something, name a kind of text, or say that someone else speaks. English only.
"""

from __future__ import annotations

import re

_HEAD = re.compile(r"(?P<head>[^:\n]{1,120}):(?=\s|$)")
_UNIT = r"""(?:prompts?|sentences?|phrase|text|line|quote|quotation|saying|proverb|motto|lyrics?
    |verse|paragraph|passage|excerpt|extract|snippet|example|sample|template|instruction|fixture|input
    |output|dialog(?:ue)?|script|scene|chapter|poem|haiku|story|novel|sign|poster|banner|sticker
    |billboard|t-?shirt|mug|headline|caption|tweet|slogan|review|transcript|readme|homework|exercise
    |assignment|quiz|riddle|puzzle|complaint|role-?play|translation)"""
_OWN = frozenset(
    """about agreed always answer background bio btw change clear context convention conventions
    correction corrections decided decision decisions do fact facts future fyi goal goals heads
    info intro know mind never note notes now plan plans policies policy preference preferences
    procedure process ps record remember reminder request requests routine rule rules setup
    situation sorry steps task tasks thing things todo update way workflow choice method recipe
    verdict erinnerung hinweis jetzt korrektur merke notiz regel regeln sofort wichtig important
    maintenant rappel règle règles remarque souviens ahora corrección importante nota
    preferencia recordatorio recuerda regla reglas promemoria regola regole ricorda correção
    lembrete lembre regra regras herinnering onthoud regels 规则 记住 请记住 备注 注意 提醒
    更正 从现在起 从现在开始 重要 覚えておいて ルール メモ 注意 訂正 今後 重要""".split()  # noqa: SIM905 - words read better as one text
)
"""Words that announce a statement of the user's own."""
_BESIDE = frozenset(
    """a after again all also an and another basic be by final first for from further fun
    general here heres house in is it just keep last me memory mine more my myself new next of
    ok okay on one our ours please pls project quick repo se self small so some still the these
    this to today up us we you your yourself ab an bitte dir eine für meine mir neue noch von
    zur une ma mes pour toi nouvelle à partir de a mi mis una para ti mia una nuova per te da
    minha uma mijn een nieuwe voor""".split()  # noqa: SIM905
)
"""Words that may stand beside one of them. No name is among either, nor a word for others."""
_LEFT_OUT = re.compile("[.'\u2019]")
_LEAD_WORD = re.compile(r"[^\s,:-]+")
_SHOWS = re.compile(
    rf"""^\W*(?:is|are|does|do\s+(?:you|i|we|they|these)|did|which|whose|who|how\s+(?:many|much|often|do\s+(?:you|i|we)|would)
        |what(?:'s|\s+(?:is|are|does|do|did|would|happens|kind|tense))|can|could|would|should)\b
    | \b(?:would|might|could)\s+(?:be|say|write|type|ask|answer|read|look\s+like)\W*(?:this\W*)?$
    | ^\W*(?:(?:the|this|an?|here(?:'s|\s+is)|sample|test|example|negative|positive|first|second
        |next|my)\s+)*(?:case|{_UNIT})s?(?:\s+(?:\d+|one|two|three|four|[a-d]))?\W*$
    | \b(?:(?:the|this|that|an?|my|our|his|her|their|old|bad|good|sample|following|\d+|two|three
        |four|five|ten)\s+){{1,3}}(?:[\w-]+\s+){{0,2}}?{_UNIT}\b
    | (?<!\bi\s)(?<!\bwe\s)\b(?:says?|said|reads?|writes?|wrote|shouts?|yells?|whispers?|mutters?
        |types?|answers?|answered|asks?|asked|replies|replied|sings?|sang|screams?|claims?)
        (?:\s+(?:me|us|him|her|back|this))?\W*$
    | \b(?:sent|gave|gives|showed|forwarded|handed|texted|mailed|e-?mailed|told|messaged)\s+
        (?:me|us|him|her|them|everyone)\b
    | \bi\s+(?:just\s+)?(?:saw|found|read|heard|overheard|received|came\s+across|stumbled)\b
    | ^\W*(?:please\s+)?(?:turn|put|make|convert|change|classify|label|rate|score|judge|grade
        |shorten|expand|continue|complete|finish|say|read|repeat|check|correct|fix|improve|evaluate|tag
        |guess|analy[sz]e|explain|parse|interpret|annotate|tokeni[sz]e|spell-?check|proofread
        |summari[sz]e|paraphrase|rephrase|reword|rewrite|translate|simplify|transcribe)\b
        (?:\s+(?:[\w'-]+\s+){{0,6}}?(?:this|these|the\s+following|into\s+\w+|in\s+\w+)\b.*)?$
    | ^\W*(?:please\s+)?(?:count|find|underline|identify|highlight|mark|list|name|spot)\b.*
        \b(?:in|of|from|here)\W*$
    | ^\W*(?:please\s+)?(?:give|write|show|send|suggest)\s+(?:me\s+|us\s+)?(?:\w+\s+){{0,3}}?
        (?:variations?|versions?|synonyms?|alternatives?|sentences?|paraphrases?|translations?)\b""",
    re.IGNORECASE | re.VERBOSE,
)


def shows(sentence: str) -> bool:
    """Return whether the words after the colon of a sentence are shown, not stated.

    >>> shows("Count the words in: never merge on a Friday"), shows("New rule: no merges on Friday")
    (True, False)
    """
    found = _HEAD.match(sentence)
    return (
        found is not None and not is_own_lead(found["head"]) and bool(_SHOWS.search(found["head"]))
    )


def is_own_lead(head: str) -> bool:
    """Return whether the words before a colon announce a statement of the user's own.

    >>> is_own_lead("One more rule"), is_own_lead("Plan B"), is_own_lead("Note from Ann")
    (True, False, False)
    """
    words = {_LEFT_OUT.sub("", word) for word in _LEAD_WORD.findall(head.casefold())}
    return words <= _OWN | _BESIDE and not words.isdisjoint(_OWN)


def before_colon(sentence: str) -> str:
    """Return the part of a sentence before its first colon; all of it if it has none.

    >>> before_colon("Translate into French: never merge")
    'Translate into French'
    """
    found = _HEAD.match(sentence)
    return sentence if found is None else found["head"]
