"""Claims of statements and how two of them relate: oracles, properties, and the null control."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento.claims.claim_reader import LONGEST, NOTHING, read
from memento.claims.keys import keys_of
from memento.claims.relation import relation, restates
from memento.claims.standing import Stand, stands_higher

ORACLE = [
    ("I live in Ghent.", "I moved from Ghent to Turku last week.", "updates"),
    ("I live in Ghent.", "I no longer live in Ghent.", "updates"),
    ("I live in Ghent.", "I live in Turku.", "contradicts"),
    ("I live in Ghent.", "I live in Turku now.", "updates"),
    ("I live in Ghent.", "I live in Ghent.", "repeats"),
    ("I live in Ghent.", "I live in Ghent Sint-Amandsberg.", "refines"),
    ("I live in Ghent.", "My sister lives in Turku.", "distinct"),
    ("I live in Ghent.", "I used to live in Turku.", "distinct"),
    ("I live in Ghent.", "I might move to Turku.", "distinct"),
    ("I live in Ghent.", "Do I live in Turku?", "distinct"),
    ("My dentist is Dr. Bakker", "My dentist is Dr. Silva", "contradicts"),
    ("I live in St. Gallen.", "I live in Mt. Vernon now.", "updates"),
    ("My dentist is Dr. Silva", "My dentist, Dr. Silva, is kind. My boss is Dr. Ode.", "distinct"),
    ("I like Ghent.", "I like Turku.", "distinct"),
    ("My boss is great.", "My boss is Fiona.", "distinct"),
    ("Alice reviewed the patch.", "Bob reviewed the patch.", "distinct"),
    ("See ticket 4711 for this bug.", "See ticket 4712 for this bug.", "distinct"),
    ("The alarm of the shop is on.", "The alarm of the shop is off.", "contradicts"),
    ("We always eat meat at home.", "We never eat meat at home.", "contradicts"),
    ("The lift holds six people.", "The lift holds eight people.", "contradicts"),
    ("Ana leads the audit team.", "Bo took over the audit team from Ana.", "updates"),
    ("The budget of Heron is 40,000 euros.", "The Heron budget is 55,000 euros.", "contradicts"),
    ("The budget of Heron is 40,000 euros.", "The Egret budget is 55,000 euros.", "distinct"),
    ("Ich wohne in Graz.", "Ich wohne nicht mehr in Graz.", "updates"),
    ("Ich wohne in Graz.", "Ich bin von Graz nach Linz umgezogen.", "updates"),
    ("J'habite à Lyon.", "J'habite à Nantes maintenant.", "updates"),
    ("Mi editor es Vim.", "Mi editor es Helix.", "contradicts"),
    ("Moro em Braga.", "Já não moro em Braga, moro em Faro.", "updates"),
    ("我住在上海", "我现在住在北京", "updates"),
]
FLAGS = {"updates", "contradicts"}
words = st.text(alphabet=st.characters(codec="utf-8"), max_size=80)


@pytest.mark.parametrize(("old", "new", "kind"), ORACLE)
def test_two_statements_relate_as_a_person_would_say(old, new, kind):
    """Conflicts are seen; another subject, the past, a plan or a question is no conflict."""
    assert relation(read(new), read(old)).kind == kind


def test_an_update_is_explicit_if_it_names_the_old_value():
    """Only such an update may supersede without asking."""
    old = read("I live in Ghent")
    assert relation(read("I moved from Ghent to Turku"), old).explicit
    assert not relation(read("I live in Turku now"), old).explicit


def test_nothing_is_said_of_i_if_two_people_speak():
    """The same words of another speaker are about somebody else."""
    one, other = read("I live in Turku now"), read("I live in Ghent")
    assert relation(one, other, same_speaker=False).kind == "distinct"
    named, before = read("The Heron budget is 55 euros now"), read("The Heron budget is 40 euros")
    assert relation(named, before, same_speaker=False).kind == "updates"


def test_without_the_subject_alice_and_bob_would_not_both_survive():
    """Null control: comparing values without their subjects flags what must be kept."""
    alice, bob = read("Alice lives in Ghent."), read("Bob lives in Turku.")
    assert relation(bob, alice).kind == "distinct"
    (one,), (other,) = alice.claims, bob.claims
    assert (one.attribute, one.value) != (other.attribute, other.value)
    assert one.attribute == other.attribute  # so a detector without subjects would flag it


@pytest.mark.parametrize(
    "text",
    [
        "x = {1: 2}", "- a list item", "print(x)", "word " * (LONGEST + 11), "", "???",
        "**Budget**: 40 euros", "a" * 500,
    ],
)  # fmt: skip
def test_code_lists_and_long_texts_are_not_read(text):
    """They claim nothing, and so conflict with nothing."""
    assert not read(text).claims
    assert relation(read(text), read("I live in Ghent")).kind == "distinct"


@given(words, words)
def test_any_two_texts_can_be_compared(one, other):
    """There is a verdict on every pair; with a text that was not read, it is distinct."""
    verdict = relation(read(one), read(other))
    assert verdict.kind in {"repeats", "refines", "distinct", *FLAGS}
    assert relation(read(one), NOTHING).kind == "distinct"


@given(words)
def test_a_statement_never_conflicts_with_itself(text):
    """The same words again are a repeat, or were not read."""
    assert relation(read(text), read(text)).kind in {"repeats", "distinct"}


@given(st.sampled_from(ORACLE))
def test_statements_that_conflict_have_a_number_in_common(pair):
    """So the settling pass finds every pair that it would flag."""
    old, new, kind = pair
    if kind in FLAGS:
        assert keys_of(read(old), 1) & keys_of(read(new), 1)
    assert not keys_of(read(old), 1) & keys_of(read(old), 2)


def test_an_echo_says_the_same_again():
    """Word for word after a filler, or the same value in other words."""
    said = read("I live in Ghent")
    assert restates(read("Noted: I live in Ghent."), said)
    assert not restates(read("I live in Turku."), said)


@pytest.mark.parametrize(
    ("higher", "lower"),
    [
        (Stand("user", None, 1, 1), Stand("agent", None, 9, 9)),
        (Stand("user", None, 1, 1), Stand("user", "assistant", 9, 9)),
        (Stand("agent", None, 1, 1), Stand("web", None, 9, 9)),
        (Stand("user", None, 2, 1), Stand("user", None, 1, 9)),
        (Stand("user", None, 1, 2), Stand("user", None, 1, 1)),
        (Stand("user", None, 1, 1, -3.0), Stand("agent", None, 9, 9, 3.0)),
        (Stand("agent", None, 1, 1, 0.0), Stand("web", None, 9, 9, 9.0)),
        (Stand("user", None, 1, 1, 0.0), Stand("user", None, 9, 9, -1.2)),
        (Stand("user", None, 9, 9, -1.0), Stand("user", None, 1, 1, 0.0)),
    ],
)
def test_trust_decides_before_belief_and_belief_before_time(higher, lower):
    """And exactly one of two stands higher."""
    assert stands_higher(higher, lower)
    assert not stands_higher(lower, higher)
