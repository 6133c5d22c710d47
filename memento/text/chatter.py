"""Recognise inputs that ask for nothing: greetings, thanks, short reactions. Pure.

No memory bears on "ok" or "thanks, that is all!", whatever word or vector it shares with one.
"""

from __future__ import annotations

import re

from memento.text.words import words

MOST_WORDS = 8
"""Longer inputs say something, even if every word of them is common."""

_WORD = re.compile(r"\w+")
_PHATIC_WORDS = """
righto rightio ta tata cheerio howdy yo aye morning mornin evenin okey
ok okay k kk thanks thank thx ty cheers please great good nice cool perfect fine awesome wonderful
lovely excellent brilliant amazing yes yeah yep yup no nope nah sure wait stop gotcha haha hahaha
ha hehe lol hm hmm mhm hello hi hey bye goodbye never nevermind sounds really funny right alright
exactly agreed continue wow oh ah aha indeed absolutely definitely true np bless cu go got that
thats makes see danke vielen bitte ja nein genau klar gut gute guten hallo tschüss prima super
merci oui non bonjour bonsoir salut bonne accord parfait bien gracias muchas sí si vale hola
buenos buenas adiós claro perfecto genial grazie mille sì ciao buongiorno bene obrigado obrigada
sim não olá bom boa certo dziękuję dzięki tak nie cześć dobrze świetnie dobranoc спасибо да нет
привет хорошо ладно пока dank nee hoi goed tack hej kiitos はい うん いいえ
ありがとう ありがとうございます おはよう おはようございます こんにちは おやすみ 了解 了解です
谢谢 谢谢你 你好 好 好的 是的 晚安 早上好 再见 감사합니다 네 아니요 안녕
"""
_PHATIC = frozenset(_PHATIC_WORDS.split())
_BESIDE_WORDS = """
a i it me s the to too you u is it's all and for of so then there well very much now on ahead day
night morning evening afternoon weekend moment minute second sec one later soon mind again
everything nothing else will do sense fair enough deal done course problem worries welcome talk
take care tag morgen nacht dank schön alles beaucoup nuit journée d très días noches tardes va dia
tarde tudo je wel
"""
_BESIDE = frozenset(_BESIDE_WORDS.split())
"""Words that may stand beside the others, but mean something when alone."""
_EITHER = _PHATIC | _BESIDE


def is_chatter(text: str) -> bool:
    """Tell whether an input only greets, thanks, agrees or laughs.

    >>> is_chatter("Thanks, that is all!"), is_chatter("ok"), is_chatter("ok, where is it?")
    (True, True, False)
    """
    spoken = _spoken(text)
    if len(spoken) > MOST_WORDS:
        return False
    said = set(spoken if text.isascii() else _WORD.findall(text.casefold()))
    if not said:
        return True  # punctuation, pictograms
    return said <= _EITHER and not said.isdisjoint(_PHATIC)


def _spoken(text: str) -> list[str]:
    """List the words of a text; in small letters, and at a fifth of the cost, if it is ASCII."""
    if text.isascii():
        return words(text) if "_" not in text else _WORD.findall(text.casefold())
    return _WORD.findall(text)
