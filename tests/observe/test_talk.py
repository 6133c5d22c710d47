"""Words between friends and states of a day are not worth a memory."""

from __future__ import annotations

import pytest

from memento.embed.onnx import default_embedder
from memento.observe.anchors import licenses
from memento.observe.candidates import find
from memento.observe.signals import Signal

SAID_TO_SOMEBODY = [
    (Signal.CORRECTION, "No worries, Petra!"),
    (Signal.CORRECTION, "You're so right, Ben."),
    (Signal.CORRECTION, "I sent it to the wrong Andrea."),
    (Signal.CORRECTION, "Wait, no, I was reading the old page."),
    (Signal.TODO, "Monday told me everything I need to know."),
    (Signal.RULE, "Don't ever give up on your dream."),
    (Signal.RULE, "You should try the lentil soup some time!"),
    (Signal.RULE, "Let me know if you need anything."),
    (Signal.RULE, "For example, old maps make me want to write."),
    (Signal.DECISION, "Keep it up with the piano!"),
    (Signal.DECISION, "I won't give up, Nora!"),
    (Signal.FORGET, "That's a day I'll never forget!"),
    (Signal.FORGET, "I remember you telling me about that book."),
    (Signal.RELATION, "That's great news about your brother!"),
    (Signal.FACT, "I haven't slept properly since Sunday."),
    (Signal.FACT, "Our lift is out again."),
]
MEANT = [
    (Signal.CORRECTION, "No worries, but it's Clara, not Carla."),
    (Signal.CORRECTION, "You're right, it's Tuesday, not Monday."),
    (Signal.CORRECTION, "I gave you the wrong number, it's 12."),
    (Signal.RULE, "Don't ever send anything without asking me."),
    (Signal.RULE, "You should always try the tests before you push."),
    (Signal.RULE, "Let me know before you delete something."),
    (Signal.RULE, "You must take a backup first."),
    (Signal.RULE, "Never let users get admin rights."),
    (Signal.RULE, "Never quit the editor without saving."),
    (Signal.RULE, "Don't give up before five attempts."),
    (Signal.RULE, "Never let a test write to the network."),
    (Signal.FORGET, "Forget what I told you about the loan."),
    (Signal.FORGET, "Don't remember my address."),
    (Signal.FACT, "I've been vegan since 2015."),
    (Signal.FACT, "I was diagnosed with asthma this morning."),
    (Signal.DECISION, "I won't renew the lease."),
]


@pytest.mark.parametrize(("signal", "text"), SAID_TO_SOMEBODY)
def test_talk_has_no_licence(signal, text):
    """It comforts, cheers, agrees or tells of the day."""
    assert not licenses(signal, text)


@pytest.mark.parametrize(("signal", "text"), MEANT)
def test_a_statement_in_like_words_has_one(signal, text):
    """It is meant for the assistant, or holds beyond the day."""
    assert licenses(signal, text)


def test_only_marked_words_correct_without_a_turn_before():
    """Then it is in doubt at most, and the store may vouch for it."""
    for text in ("I keep typing the old table name.", "The rent is now higher than the wage."):
        assert not any(one.sure for one in find(text).candidates if one.signal == "correction")
    (one,) = find("We don't eat breakfast any more.").candidates
    assert (one.signal, one.sure) == ("correction", True)


@pytest.mark.parametrize(
    "said",
    ["Use plan B.", "Use door B.", "Please use option C.", "Utilise le plan B.", "Usa el plan B."],
)
def test_a_choice_by_its_letter_is_no_rule(said):
    """Only who was there knows what it is: it waits until somebody confirms it."""
    (one,) = find(said, embedder=default_embedder()).candidates
    assert (one.signal, one.sure) == (Signal.RULE, False)


@pytest.mark.parametrize("said", ["Use C.", "Never use C.", "Only use plain C.", "Use Python 3."])
def test_a_name_of_one_letter_is_a_name(said):
    """A language of one letter is no choice at hand."""
    (one,) = find(said, embedder=default_embedder()).candidates
    assert (one.signal, one.sure) == (Signal.RULE, True)
