"""Two values of the same size: what a question for the present one compares."""

import pytest

from memento.text.amounts import asked


@pytest.mark.parametrize(
    ("question", "older", "newer"),
    [
        ("how much is the gym", "The gym is 38 a month", "They want 41.50 for it from May"),
        ("which desk is mine", "I sit at desk 14", "They put me at desk 22 by the door"),
        ("how many goats are there", "We keep twelve goats", "Nine goats left after the winter"),
        ("what do I pay for the loft", "The loft is 1,200", "The landlord asks 1,310 now"),
        ("when is yoga", "Yoga is on Mondays", "Yoga, Thursdays, the hall was taken"),
        ("wann ist Yoga", "Yoga ist montags um sechs", "Yoga jetzt am Freitag"),
        ("what time does the pool shut", "The pool shuts at nine", "They lock up at eight"),
        ("wie viel kostet die Garage", "Die Garage kostet 80", "Er will 95 für den Platz"),
    ],
)
def test_two_values_of_the_same_size_are_told_apart_from_other_statements(question, older, newer):
    """The newer text gives another value of the same kind; the same value again is no change."""
    other = asked(question)
    assert other is not None
    assert other(older, newer)
    assert not other(older, older)
    assert not other(older, "The piano was tuned")


@pytest.mark.parametrize(
    ("question", "older", "newer"),
    [
        ("how much does Sorin pay", "Sorin pays 210 euros", "Sorin takes them for two weeks"),
        ("how much is the boiler", "The boiler is 900", "The boiler was built in 2019"),
        ("how many hens do we keep", "We keep 14 hens", "The vet saw the hens on 12 March"),
        ("how much is the part", "The part is 40", "The part is AB-42-C"),
        ("when does the shop open", "The shop opens at nine", "The shop shuts on Monday at six"),
    ],
)
def test_numbers_of_another_size_or_kind_are_no_other_value(question, older, newer):
    """Years, dates, parts of identifiers and numbers of another size are no other value."""
    other = asked(question)
    assert other is not None
    assert not other(older, newer)


@pytest.mark.parametrize(
    ("question", "older", "newer"),
    [
        ("how many units at lunch", "Leo takes 8 units at lunch", "Leo takes 12 units at dinner"),
        ("how tall is Ben?", "Ben is 180 cm tall", "Ben's brother is 190 cm tall"),
        ("how much is my rent", "My rent is 840 a month", "Tom pays 910 rent a month"),
        ("how much is my rent", "My rent is 840 a month", "My parents pay 910"),
        ("how much is my rent", "My rent is 840 a month", "The rent of the garage is 910"),
        ("how much does Rex weigh", "Rex weighs 20 kilos", "The vet weighed Luna at 25 kilos"),
        ("how much is Ada's rent?", "Ada's rent is 840", "Tom's rent is 900"),
        ("how much is my gym", "My gym costs 40 a month", "Tom's gym costs 55 a month"),
        (
            "what does the bus to Ghent cost",
            "The bus to Ghent costs 12",
            "The Ghent train costs 19",
        ),
        ("when does Tom work?", "Tom works on Mondays", "Anna works on Fridays"),
        ("when is the physics exam?", "The physics exam is on Monday", "The maths exam is Friday"),
        ("how much is the club fee?", "The club fee is 20", "The club fee is not 30"),
        ("how much is the club fee?", "The club fee is 20", "The club fee was 30 in 2010"),
        ("how much is the club fee?", "The club fee is 20", "The club fee will be 30 in May"),
        ("when does the truck come?", "The truck comes on Monday", "It did not come on Friday"),
        ("when is the market?", "The market is on Saturdays", "This week the market is on Sunday"),
    ],
)
def test_a_value_of_another_thing_or_moment_is_no_other_value(question, older, newer):
    """The same measure of another thing, person or moment takes no first place."""
    other = asked(question)
    assert other is not None
    assert not other(older, newer)


@pytest.mark.parametrize(
    "question",
    [
        "how much was the gym",
        "what did the gym cost",
        "when did we go",
        "who runs the gym",
        "",
        "how much does room 4 cost",
        "when does group two meet",
        "what does Room B cost",
    ],
)
def test_a_question_about_the_past_or_about_something_else_compares_nothing(question):
    """A question about the past or about something else compares nothing."""
    assert asked(question) is None
