"""Tell the tense of a question, and whether it has a subject beside the time it asks for. Pure."""

from __future__ import annotations

import re

from memento.language.tongues import ENGLISH, FRENCH, GERMAN, SPANISH, tongues, words_in
from memento.language.words import META_WORDS, STOP_WORDS, words

_ENGLISH_AND_ANOTHER = 2


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)


_PAST = {
    "en": _words(
        "did|was|were|had|happened|said|told|talked|went|got|have (?:i|we)|been|occurred|took place"
    ),
    "de": _words(
        "(?:ist|sind)\\b.{0,80}\\bpassiert|passierten?|geschah(?:en)?|geschehen|war(?:en|st)?"
        "|wurden?|haben?|hatten?|gab|lief|gesagt|gemacht"
    ),
    "fr": _words(
        "passée?s?|fait|faisai[st]|faisions|dit|avons|ai|été|étai[st]|étaient|avai[st]|avaient"
    ),
    "es": _words(
        "pasó|pasado|hice|hicimos|dije|dijo|fue|fueron|hablamos|había|hubo|estuve"
        "|sucedió|sucedieron|ocurrió|ocurrieron"
    ),
    "ja": re.compile("ました|でした|だった|った|いた|んだ"),
    "zh": re.compile("[了过過]"),
}
_FUTURE = {
    "en": _words(
        "will|going to|upcoming|coming up|planned|plans?|schedul\\w+|agenda|appointments?"
        "|do (?:i|we) have|am i|are we|shall|due"
    ),
    "de": _words("werden?|steht|stehen|geplant|termine?|vorhaben|anstehen"),
    "fr": _words("prévue?s?|vais|allons|rendez-vous|sera|seront|aura"),
    "es": _words("tengo|tenemos|haré|haremos|planead[oa]s?|citas?|previst[oa]s?"),
    "ja": re.compile("予定|つもり|でしょう"),
    "zh": re.compile("安排|计划|計劃|打算|将要|要做"),
}
"""Words that tell whether a question is about the past or about the future, by language."""
_HOLLOW = {
    ENGLISH.name: words_in(
        """happen happens happened happening say says talk talking speak speaking spoke
        chat chatted chatting go going went gone on new news up plan plans planned
        planning schedule scheduled agenda calendar appointment appointments event
        events coming memory memories note notes noted remember recall anything
        everything something nothing thing things stuff ask asked get got cover
        covered leave left off stop previous last else us there today know learn
        learned since until before after between start end again important interesting"""
    ),
    GERMAN.name: words_in(
        """was passiert geschehen geschah los war waren wurde wurden habe haben hat
        hatten ich wir du es gab gibt ist sind denn alles etwas gemacht getan gesagt
        erzahlt besprochen geredet gesprochen uber steht stehen an termin termine
        plane geplant in im am den dem der die das mir mich uns noch so wer wie
        woruber zuletzt letzte letzten letztes unterhalten von vom zum bei beim bis
        ab seit vor nach zwischen und"""
    ),
    FRENCH.name: words_in(
        """que quoi qu qui est ce il passe ai je j avons nous fait dit parle discute s
        y a t eu le la les l de du des d en au aux prevu prevue quel quels quelle
        quelles etait sont un une mon mes ma agenda rendez vous avait derniere
        depuis entre et avant apres"""
    ),
    SPANISH.name: words_in(
        """que el los las la lo un una paso hice hicimos dije dijo dijimos hablamos
        hemos he hay tengo tenemos mi mis para por de del al en se me nos fue ha
        cita citas planes planeado ocurrio ocurrido pasado ultima sucedio desde
        hasta entre y antes despues"""
    ),
}
"""Words, folded, that ask for no subject, beside `STOP_WORDS` and `META_WORDS`."""
_TELLING = frozenset(["how", "why", "not", "no"])
"""Stop words with which a question asks for more than what happened: "How are you today?"."""
_EMPTY_EAST = re.compile(
    r"""から|何|なに|なん|どんな|こと|事|もの|あり|ある|あっ|まし|です|でし|だっ|しま|し[たてま]|する|され|起こ[りっ]|起き|話し|話|言[いっ]|予定
    |は|が|を|に|の|と|で|も|か|た|て|ん|い|っ|よ|ね|私|僕|我々|たち|話題|会話|教えて|以[来降]
    |什么|什麼|甚么|哪些|发生|發生|事情|事|有|做|说|說|过|過|了|我们|我們|我|你|吗|嗎|呢|的|在|是|和|到|安排|计划|計劃|聊|谈|談|讲|講|都|要
    |从|從|自|以来|以來|起|那|里|裡|些|啊""",
    re.VERBOSE,
)
"""Parts of questions in Japanese and Chinese that ask for no subject."""


def tense_of(text: str) -> int:
    """Tell whether a question is about the past, -1, or the future, 1; 0 if it is not clear."""
    names = [tongue.name for tongue, _ in tongues(text) if tongue.name]
    names = names[1:] if len(names) == _ENGLISH_AND_ANOTHER else names  # "was" is also German
    past = any(_PAST[name].search(text) for name in names)
    future = any(_FUTURE[name].search(text) for name in names)
    return int(future) - int(past)


def has_subject(rest: str, text: str) -> bool:
    """Tell whether a question has a word that is not about time or asking as such."""
    empty = STOP_WORDS.union(
        META_WORDS, *(_HOLLOW.get(tongue.name, ()) for tongue, _ in tongues(text))
    )
    left = words(_EMPTY_EAST.sub(" ", rest))
    return any(word not in empty or word in _TELLING for word in left)
