"""Questions about the person who asks are told from requests, advice and chat."""

import pytest

from memento.text.worldly import asks_of_oneself


@pytest.mark.parametrize(
    "question",
    [
        "who treats my sore arm",
        "which cupboard are our candles in?",
        "can I carry 25 kilos",
        "How did we get in that night?",
        "how do I measure my pulse",
        "painkillers for me?",
        "wo sind meine Schlüssel",
        "¿dónde están mis llaves?",
        "où sont mes clés",
        "When is Ada's party?\nand what do I bring",
        "where did I put 'My Fair Lady'?",
        '"Where are my keys?"',
        "Where Did I Park",
        "which flat in Rome I've seen has a lift?",
        "are my parents' keys in our brothers' car?",
        "who has my book about our galaxy?",
        "where is our sun cream",
        "when will we land in Lisbon",
        "how are we doing on the kitchen budget?",
    ],
)
def test_a_question_about_oneself_is_known(question):
    """With "I", "my" or "our", in a question."""
    assert asks_of_oneself(question)


@pytest.mark.parametrize(
    "said",
    [
        "who treats Ada's arm",
        "give me a name for a cat",
        "how do I boil an egg",
        "what should I cook tonight",
        "do we need a coat in Lisbon",
        "what can you do for me?",
        "am I talking to a person?",
        "may I ask a question",
        "I'm so tired today",
        "we should get going",
        "What do I bring?\nand Ada",
        "how are we doing?",
        "do I make sense?",
        "when will we land on Mars?",
        "will we ever cure hay fever?",
        "",
        "Who sings 'I Will Always Love You'?",
        'who wrote "My Ántonia"',
        "wer schrieb „Mein Name sei Gantenbein“?",
        "what is Type I diabetes",
        "who was Elizabeth I's mother?",
        "when did World War I end",
        "Who was Ma Rainey?",
        "where does Jack Ma live",
        "who is the president of the US?",
        "What is our galaxy called?",
        "how old is our solar system",
    ],
)
def test_requests_names_titles_and_what_is_everybodys_are_not_oneself(said):
    """Words such as "me" and "our" are in them as well."""
    assert not asks_of_oneself(said)
