"""Recognise texts without content: greetings, thanks, short reactions, acknowledgements. Pure.

No memory is relevant to "ok" or "thanks, that is all!", whatever words or vector they share, and a
turn that says "Noted." or "C'est noté, merci !" answers nothing.
"""

from __future__ import annotations

import re

from memento.text.words import words

MOST_WORDS = 8
"""Longer inputs say something, even if every word of them is common."""

_LONGEST = 80
"""Characters; a longer turn says something."""
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
"""Words that may accompany the others, but have content when alone."""
_EITHER = _PHATIC | _BESIDE


_ACKNOWLEDGING_WORDS = """
noted understood acknowledged roger copy received remembered saved stored recorded logged confirmed
remember pleasure appreciate appreciated done do welcome worries problem help
notiert vermerkt verstanden gemerkt gespeichert erledigt einverstanden gerne gern passt merke
notiere geschehen mache wird
noté note entendu compris reçu enregistré retenu volontiers souviendrai plaisir rien problème fait
anotado apuntado entendido recibido guardado acuerdo nada gusto anoto apunto nota cuenta hecho
listo memorizado problema
annotato segnato capito ricevuto inteso accordo prego salvato memorizzato registrato fatto
genoteerd begrepen bedankt oké duidelijk opgeslagen onthouden graag gedaan probleem
recebido combinado registado registrado salvo percebido entendi tá feito
zanotowane zanotowałem zanotowałam zapisane zapisałem zapisałam rozumiem zrozumiałem jasne
понял поняла понятно принято записал записала запомнил запомнила ясно пожалуйста договорились учту
noterat förstått uppfattat noteret forstået notert forstått selvä kiitti tamam anlaşıldı anladım
kaydettim teşekkürler
承知しました 承知いたしました わかりました 分かりました 了解しました 了解いたしました
かしこまりました 覚えました 覚えておきます メモしました 明白 明白了 知道了 收到
收到了 记住了 记下了 没问题 了解了
알겠습니다 알겠어요 기억할게요 메모했습니다
"""  # noqa: RUF001 - Turkish
_ACKNOWLEDGING = _PHATIC.union(_ACKNOWLEDGING_WORDS.split())
_LINKING_WORDS = """
i ve ll m d re have has am are be been my your me us this these it its keep make get down memory lot
let know not any anything if need don can happy glad can
ich mir das es ist habe hab mach wurde dir mich sehr kein keine ordnung in gemacht klingt dafür dich
c j l est ai ce bien tout pas de du d en compte avec je me vous te
lo la le he ha está esta tomo tendré en con sin muy todo todos mucho muchísimas
ho preso presa va di con piacere nessun molto tutto
je het is dat dit geen komt heb ik
o os as está com prazer sem foi muito eu um
mam to nie ma za co się dobrze я все всё это не за что det är jag har den
"""
_LINKING = _EITHER.union(_ACKNOWLEDGING, _LINKING_WORDS.split())
"""Words that may accompany those that acknowledge."""


def is_acknowledgement(text: str) -> bool:
    """Return whether a turn only acknowledges what was said before it, greets or thanks.

    >>> is_acknowledgement("Noted, thanks!"), is_acknowledgement("Das habe ich mir gemerkt.")
    (True, True)
    >>> is_acknowledgement("Noted: gate 4."), is_acknowledgement("Yes, at noon.")
    (False, False)
    """
    if "?" in text or len(text) > _LONGEST:
        return False
    spoken = _WORD.findall(text.casefold())
    said = set(spoken)
    return len(spoken) <= MOST_WORDS and (
        not said or (said <= _LINKING and not said.isdisjoint(_ACKNOWLEDGING))
    )


def is_chatter(text: str) -> bool:
    """Return whether an input only greets, thanks, agrees or laughs.

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
    """List the words of a text; in lower case, and at a fifth of the cost, if it is ASCII."""
    if text.isascii():
        return words(text) if "_" not in text else _WORD.findall(text.casefold())
    return _WORD.findall(text)
