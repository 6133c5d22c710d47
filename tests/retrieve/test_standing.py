"""The order of conflicting candidates, and the guards of the newer statement."""

from types import SimpleNamespace

import numpy as np
import pytest

from memento.retrieve.candidates import Candidate
from memento.retrieve.order import _same_frame
from memento.retrieve.standings import Standings
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


def test_an_answer_without_pairs_asks_the_ledger_once(memory):
    """One look at an index: no rows and no sums are read."""
    memory.add("My airline is Heron Air")
    memory.add("The kettle is blue")
    memory.flush(wait=True)
    assert all(hit.conflicts == () for hit in memory.retrieve("airline kettle", k=5))


def candidate(row, pull, **terms):
    """Make a candidate whose score follows its pull."""
    return Candidate(row, pull / 20, 0.5, terms, 0, -1, question=False, pull=pull)


def placed(*ranked, pairs):
    """Order candidates whose row ids are their rows."""
    standings = Standings(SimpleNamespace(docid=np.arange(9)), lambda _: pairs)
    return [one.row for one in standings.first(ranked, {})]


def test_the_higher_one_takes_the_place_that_the_lower_one_had_without_the_doubt():
    """A memory that speaks of neither value comes before neither of them."""
    plan, present = candidate(0, 11.0), candidate(1, 10.0)
    former = candidate(2, 9.5, belief=-2.0)
    assert placed(plan, present, former, pairs=[(1, 2)]) == [1, 0, 2]
    assert placed(plan, present, former, pairs=[]) == [0, 1, 2]
    better = candidate(0, 12.0)
    assert placed(better, present, former, pairs=[(1, 2)]) == [0, 1, 2]


def test_one_that_is_named_keeps_its_place_before_a_pair():
    """However relevant the lower one was."""
    named, present = candidate(0, 3.0, exact=1.0), candidate(1, 10.0)
    former = candidate(2, 9.5, belief=-2.0)
    assert placed(named, present, former, pairs=[(1, 2)]) == [0, 1, 2]


def test_of_a_chain_of_values_only_the_present_one_is_raised():
    """The others stay where their doubts put them."""
    plan, last = candidate(0, 11.0), candidate(3, 8.0)
    middle, former = candidate(2, 9.0, belief=-1.0), candidate(1, 9.5, belief=-2.0)
    pairs = [(3, 2), (3, 1), (2, 1)]
    assert placed(plan, former, middle, last, pairs=pairs) == [3, 0, 2, 1]
