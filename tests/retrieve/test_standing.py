"""The order of conflicting candidates, and the guards of the newer statement."""

import pytest

from memento.retrieve.order import _same_frame
from memento.text.words import words


@pytest.mark.parametrize(
    ("older", "newer", "same"),
    [
        ("The CEO of Juniper is Ana Prado", "The CEO of Juniper is Bo Lind", True),
        ("Ana Prado is the CEO of Juniper", "Bo Lind is the CEO of Juniper", True),
        ("Ana Prado leads the design team", "Bo Lind leads the design team", True),
        ("Sunita is on call for billing", "Tom is on call for billing", True),
        ("We deploy on Monday", "We deploy on Friday", True),
        ("The standup is at 10 am", "The standup is at half past four", True),
        ("The blanket is delayed again", "The concert is delayed again", False),
        (
            "The deploy runbook of project Heron lives in folder lamp-12",
            "The deploy runbook of project Avocet lives in folder kettle-34",
            False,
        ),
        ("The runbook of Heron is stored here", "The runbook of Avocet is stored here", False),
    ],
)  # fmt: skip
def test_only_an_object_or_the_holder_of_a_role_is_replaced(older, newer, same):
    """Two statements that differ in their subject are about two things."""
    assert _same_frame(words(older), words(newer)) is same


def first(memory, query):
    """Return the text of the first hit."""
    return memory.retrieve(query, k=1, record=False)[0].text


def test_a_pair_that_a_person_settled_is_not_turned_round(memory):
    """Without the verdict the newer one is first; with "both" the better match is."""
    old = memory.add("We deploy from the stable branch on Monday, stable")
    new = memory.add("We deploy from the trunk branch on Monday, stable")
    assert first(memory, "deploy branch Monday") == new.text
    settled = memory.add("Our gate code is 4471 at the back door")
    other = memory.add("Our gate code is 9013 at the back door")
    query = "gate code 4471 or gate code at the back door"
    assert first(memory, "gate code back door") == other.text
    memory.slots.resolve(settled.id, other.id, keep="both")
    assert first(memory, query) == settled.text
    assert old.text != new.text


def test_a_judged_memory_is_not_overtaken_for_its_age(memory):
    """A verdict says more than the date does."""
    old = memory.add("The pool opens at seven in the morning, the pool")
    new = memory.add("The pool opens at eight in the morning, the pool")
    assert first(memory, "when does the pool open in the morning") == new.text
    memory.feedback.rate(old.id, verdict="confirmed")
    order = [hit.id for hit in memory.retrieve("pool opens seven morning", k=2)]
    assert order[0] == old.id
