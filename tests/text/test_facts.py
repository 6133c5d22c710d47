"""The facts of a text, and which of them another text has lost."""

import pytest

from memento.sleep.articles import facts, lost


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("The rent is 950 EUR", "The rent is 905 EUR"),
        ("The rent is 950 EUR", "The rent is 9500 EUR"),
        ("Rami moved to Lyon", "Somebody moved to Lyon"),
        ("Rami moved to Lyon", "Rami moved away"),
        ("The key max_size is 3", "The key min_size is 3"),
        ("The page is at https://a.io/x", "The page is at https://a.io/y"),
        ('She calls it "the red book"', "She calls it the blue book"),
        ("We do not fly on Friday", "We fly on Friday"),
        ("We meet on Friday", "We meet soon"),
        ("It began on 2024-05-01", "It began on 2024-05-02"),
    ],
)
def test_a_lost_fact_is_noticed(source, said):
    """A number, name, identifier, address, quotation, denial, day or date."""
    assert lost([source], said) != [frozenset()]


def test_a_text_in_other_words_may_keep_them_all():
    """Order, case and possessives do not matter."""
    sources = ["Rami's rent is 950 EUR", "The day is Monday"]
    assert lost(sources, "On monday rami pays 950 eur, as every month") == [
        frozenset(),
        frozenset(),
    ]


def test_a_text_keeps_its_own_facts():
    """Nothing is lost in a copy."""
    text = 'Anna, not Bob, paid 12.50 EUR for "the red book" at https://a.io/x?y=1 (ID-77).'
    assert facts(text)
    assert lost([text], text) == [frozenset()]
