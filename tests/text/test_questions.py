"""A mere question is told from a statement; in doubt it is a statement."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento.text.sentences import merely_asks


@pytest.mark.parametrize(
    "text",
    [
        "I'm allergic to peanuts, did you know?",
        "Did I tell you that my sister Ana moved to Oslo?",
        "Did you know that my dog is called Rex?",
        "Have I mentioned my son Tim is vegan?",
        "Didn't I tell you I quit smoking?",
        "Do you remember my sister Ana who lives in Oslo?",
        "My name is Ada and I am allergic to nuts, what should I cook?",
        "I live in Oslo, ok?",
        "Ana lives in Oslo, right?",
        "My cat is Tom?",
        "I'm Ada. What's up?",
        "What does he eat? My dog is called Rex.",
        "By the way, my son is vegan - what can he eat?",
        "Is it OK that I gave my son Tim peanuts although the doctor told us last week to wait?",
        "Soy alérgico a los cacahuetes, ¿sabías?",
        "私の犬はレックスです。何を食べますか？",  # noqa: RUF001 - a real question mark
        "I like tea",
        "",
        "?",
    ],
)
def test_telling(text):
    """A text that states something is not a mere question, whatever mark ends it."""
    assert not merely_asks(text)


@pytest.mark.parametrize(
    "text",
    [
        "What may I not eat?",
        "Hi! What is my dog called?",
        "Good morning! Which bike do I ride?",
        "Hey Claude, what's my name?",
        "Is there any food I should avoid?",
        "If I go to Oslo, what should I wear?",
        "In which city do I live?",
        "Did I tell you where I live?",
        "Do you know where I live?",
        "Do you remember what my dog is called?",
        "Can you tell me what my dog is called?",
        "Did you know?",
        'She asked "what?"',
        "Wie heißt mein Hund?",
        "¿Cómo se llama mi perro?",
        "我的狗叫什么名字？",  # noqa: RUF001 - a real question mark
        "ما اسم كلبي؟",
    ],
)
def test_asking(text):
    """A text that asks and states nothing is a mere question, in any language."""
    assert merely_asks(text)


@given(st.text(max_size=80))
def test_any_text(text):
    """Any text is one or the other; without a question mark it tells."""
    assert merely_asks(text) in (True, False)
    assert not merely_asks(text.translate({ord(mark): None for mark in "?？؟"}))  # noqa: RUF001 - real question marks
