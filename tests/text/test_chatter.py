"""Inputs that ask for nothing, and such that only look like it."""

from __future__ import annotations

import pytest

from memento.text.chatter import is_acknowledgement, is_chatter

IDLE = [
    "ok", "Ok!", "thanks", "Thanks, that is all!", "thank you so much", "haha nice one", "lol",
    "good morning", "Good night then", "hi there", "got it", "sounds good", "never mind",
    "yes please", "no thanks", "one moment please", "wow", "really?", "great, go on",
    "see you later", "danke, alles klar", "guten Morgen", "merci beaucoup", "d'accord, merci",
    "muchas gracias", "obrigado", "dziękuję", "спасибо", "ありがとう", "了解です", "谢谢",
    "감사합니다", "👍",
    "...", "",
]  # fmt: skip
ASKING = [
    "ok, where is it?", "thanks, and when is the dentist?", "night", "the weekend", "day care",
    "Ada", "4711", "E-4417", "what is it", "good dentist", "yes, the blue one", "stop the boiler",
    "nice restaurants", "hello world program", "is the door code right", "see the contract",
    "ok ok ok ok ok ok ok ok ok", "gute Zahnärzte", "merci de me dire où", "谢谢你的书", "うんどう",
]  # fmt: skip


ACKNOWLEDGING = [
    "OK.", "Noted.", "Noted, thanks!", "Got it, I'll remember that.", "I've noted that down.",
    "Understood.", "Will do!", "You're welcome!", "Roger that", "I'll keep that in mind.",
    "Happy to help!", "My pleasure.", "Verstanden, danke!", "Ist notiert.", "Wird gemacht.",
    "Kein Problem", "Gern geschehen", "C'est noté.", "C\u2019est noté, merci !", "Bien reçu.",
    "De rien", "Entendido.", "Tomo nota.", "De nada.", "Capito, grazie!", "Va bene.", "Preso nota.",
    "Genoteerd.", "Begrepen, dank je wel!", "Anotado.", "Entendido, obrigado!", "Combinado.",
    "Rozumiem.", "Понял, спасибо!", "Tamam, teşekkürler", "承知しました。", "明白了",
    "알겠습니다", "👍", "",
]  # fmt: skip
TELLING = [
    "Lisbon.", "In the evening.", "Yes, at noon.", "No, in Porto", "Noted: gate 4", "Blue", "5",
    "Thanks for the bike", "We have a dog", "Mein Hund", "Ho un cane", "Tengo un perro", "Ada",
    "好书",
    "Happy birthday Ada", "My memory is bad", "Done with Acme", "I don't like it", "Noted?",
    "Estoy de acuerdo con Ana", "We got married", "I'm happy", "ok ok ok ok ok ok ok ok ok",
]  # fmt: skip


@pytest.mark.parametrize("text", ACKNOWLEDGING)
def test_acknowledges(text):
    """A turn without a word of content, in the languages that the product reads."""
    assert is_acknowledgement(text)


@pytest.mark.parametrize("text", TELLING)
def test_tells_something(text):
    """One word of content is enough, also in an answer of one word."""
    assert not is_acknowledgement(text)


@pytest.mark.parametrize("reply", ["OK.", "Noted.", "Thanks!", "C'est noté.", "Entendido."])
def test_an_acknowledgement_is_never_shown(memory, reply):
    """Neither found nor recalled nor in a prompt, though few other memories compete."""
    memory.observe("The kettle is blue.", reply, session="s")
    memory.observe("The teapot is red.", reply, session="s")
    memory.add(reply, session="s", role="assistant")
    for query in ("Where is the kettle?", "kettle", reply, f"{reply} kettle", "yesterday"):
        assert reply not in [hit.text for hit in memory.retrieve(query, 10)]
        assert reply not in memory.prompt(query)
        told = memory.recall([{"role": "user", "content": query}], min_confidence=0)
        assert reply not in [hit.text for hit in told.hits]


@pytest.mark.parametrize("text", IDLE)
def test_asks_for_nothing(text):
    """Greetings, thanks, reactions, pictograms."""
    assert is_chatter(text)


@pytest.mark.parametrize("text", ASKING)
def test_asks_for_something(text):
    """One word of content is enough; so is a topic that also stands in greetings."""
    assert not is_chatter(text)


def test_nothing_gets_into_a_prompt_for_it(memory):
    """Though memories share its words."""
    memory.add("Thanks to Ruth the morning shift is ok")
    memory.add("Good night stories are on the blue shelf")
    assert memory.retrieve("ok thanks")[0].confidence == 0
    for text in IDLE:
        assert memory.prompt(text) == ""
    assert "blue shelf" in memory.prompt("where are the good night stories")
    assert "Ruth" in memory.prompt("ok thanks", min_confidence=0)


def test_a_name_is_no_greeting(memory):
    """Somebody may be called like one."""
    memory.add("sings in the choir", key="people/bye", aliases=["Bye"])
    assert "choir" in memory.prompt("Bye")


def test_least_confidence(memory):
    """Nothing is returned below it, everything as before above it."""
    memory.add("The boiler is serviced in October by Mr Hale")
    found = memory.retrieve("when is the boiler serviced")
    assert memory.retrieve("when is the boiler serviced", min_confidence=found.confidence)
    above = min(1.0, found.confidence + 0.01)
    assert not memory.retrieve("when is the boiler serviced", min_confidence=above)
