"""Chains of memories: what they may show, and when there are none."""

from __future__ import annotations

from datetime import timedelta

import pytest
from beside import read_sql
from hypothesis import given, settings
from hypothesis import strategies as st

from memento import MemoryManager
from memento.errors import InvalidInput
from memento.insight import names
from memento.ledger import links
from memento.testing import HashEmbedder

QUESTION = "In which city is the office of the company of Nina Park?"
FACTS = (
    "Nina Park leads the billing team at Northwind",
    "The office of Northwind is in Utrecht",
    "Utrecht lies in the country of Holland",
)


@pytest.fixture
def told(memory):
    """A store with three facts that share names."""
    for fact in FACTS:
        memory.add(fact)
    return memory


def texts(chain):
    """Return the texts of a chain."""
    return [fact.text for fact in chain.facts]


def shown(found):
    """Return every text that an answer shows."""
    chains = [text for chain in found.chains for text in texts(chain)]
    others = [one.text for conflict in found.conflicts for one in conflict.others]
    return {*chains, *others, *(hit.text for hit in found.hits or ())}


def test_a_chain_leads_over_shared_names(told):
    """The second fact is found by the name that the first one gives."""
    found = told.insight.reason(QUESTION)
    assert texts(found.chains[0]) == list(FACTS[:2])
    assert found.chains[0].names == ("nina park", "northwind")
    assert found.answer.text == FACTS[1]
    assert found.hits is None


def test_a_word_that_a_shown_memory_holds_is_covered(memory):
    """It may be a name of the memory, which no relation has among its words."""
    memory.add("Rami is allergic to nuts")
    memory.add("Rami's favourite dish is pad thai")
    found = memory.insight.reason("Why does Rami eat no nuts?")
    assert "nuts" in shown(found).pop() or len(shown(found)) > 1
    assert found.gaps == ("eat",)


def test_explain_prints_names_facts_and_ids(told):
    """Every step is shown with its name and its id."""
    found = told.insight.reason(QUESTION)
    said = found.explain()
    for name, fact in zip(found.chains[0].names, found.chains[0].facts, strict=True):
        assert f"{name} → {fact.text}  [{fact.id}]" in said
    assert "not covered: city, company" in said


def test_of_like_facts_the_newest_is_followed(told, clock):
    """The older value is a conflict, not a step."""
    clock.advance(timedelta(days=1))
    new = told.add("The office of Northwind is in Delft")
    found = told.insight.reason(QUESTION)
    assert found.answer == new
    (conflict,) = found.conflicts
    assert (conflict.memory, conflict.reason) == (new, "other value")
    assert [one.text for one in conflict.others] == [FACTS[1]]


def test_an_earlier_value_that_was_told_later_is_not_followed(told, clock):
    """The time of occurrence decides."""
    told.add("The office of Northwind is in Delft", occurred_at=clock() - timedelta(days=9))
    assert told.insight.reason(QUESTION).answer.text == FACTS[1]


@pytest.mark.parametrize("way", ["forget", "supersede", "expire", "erase", "quarantine"])
def test_hidden_memories_are_on_no_chain(told, clock, way):
    """The index follows every change."""
    assert told.insight.reason(QUESTION).answer.text == FACTS[1]
    middle = next(one for one in told.list() if one.text == FACTS[1])
    if way == "forget":
        told.forget(middle.id)
    elif way == "supersede":
        told.correct(middle.id, "Nobody knows where they moved")
    elif way == "expire":
        told.store.touch(middle.id, 60)
        clock.advance(timedelta(minutes=2))
    elif way == "erase":
        told.store.erase(middle.id)
    else:
        told.forget(middle.id)
        told.add("The office of Northwind is in Paris", source="web")
    found = told.insight.reason(QUESTION)
    assert FACTS[1] not in shown(found)
    assert not any("Paris" in text for text in shown(found))
    assert texts(found.chains[0]) == [FACTS[0]]


def test_an_erased_memory_leaves_no_name_in_ram(told):
    """The index of names is dropped with everything else that is derived."""
    told.insight.reason(QUESTION)
    told.store.erase(next(one.id for one in told.list() if one.text == FACTS[1]))
    index = told._engine.names.hold(1)
    assert not index.holders
    told.insight.reason(QUESTION)
    assert "utrecht" in index.holders, "the third fact has it still"
    assert not any("office" in fact.reading.relation for fact in index.facts.values())


def test_a_correction_is_followed_at_once(told):
    """An update changes the names of a memory."""
    middle = next(one for one in told.list() if one.text == FACTS[1])
    told.insight.reason(QUESTION)
    told.update(middle.id, text="The office of Northwind is in Delft")
    found = told.insight.reason(QUESTION)
    assert found.answer.text == "The office of Northwind is in Delft"
    assert found.conflicts == ()


def test_filters_limit_the_chains(memory):
    """A fact in another scope is no step."""
    memory.add(FACTS[0], scope="a")
    memory.add(FACTS[1], scope="b")
    assert memory.insight.reason(QUESTION, within=["a", "b"]).answer.text == FACTS[1]
    assert shown(memory.insight.reason(QUESTION, within="a")) == {FACTS[0]}
    first = memory.list(within="a")[0]
    assert shown(memory.insight.reason(QUESTION, ids=[first.id])) == {FACTS[0]}


def test_without_a_known_name_it_searches_as_usual(told):
    """The answer says so."""
    found = told.insight.reason("where is the office?")
    assert found.chains == ()
    assert found.hits[0].text == FACTS[1]
    assert "no known name in the question" in found.explain()


def test_an_empty_namespace_has_no_chain(memory):
    """Nothing is found and nothing is made."""
    found = memory.of("nobody").insight.reason(QUESTION)
    assert not found.chains
    assert not found.hits
    assert found.answer is None


def test_keys_and_aliases_are_names(memory):
    """A memory is reached by the names that stand beside its text."""
    memory.add("lives in a small town", key="user/home", aliases=["Grandma Rose"])
    found = memory.insight.reason("Where does Grandma Rose live?")
    assert [chain.names for chain in found.chains] == [("grandma rose",)]


def test_a_link_that_contradicts_is_a_conflict(told):
    """Links of the relation ``contradicts`` are reported."""
    other = told.add("The head office moved to Ghent", related=())
    rows = {one.text: one.seq for one in told.list()}
    engine = told._engine
    first, second = (1 << 40 | rows[text] for text in (FACTS[1], other.text))
    engine.ledger.write(lambda session: links.link(session, second, first, "contradicts"))
    (conflict,) = told.insight.reason(QUESTION).conflicts
    assert (conflict.reason, [one.id for one in conflict.others]) == ("contradicts", [other.id])
    told.forget(other.id)
    assert told.insight.reason(QUESTION).conflicts == ()


@pytest.mark.parametrize(
    "wrong",
    [{"question": 7}, {"hops": 0}, {"hops": 7}, {"hops": "2"}, {"k": 0}, {"k": 101}, {"scope": 7}],
)
def test_wrong_arguments_are_refused(told, wrong):
    """Nothing is guessed."""
    with pytest.raises(InvalidInput):
        told.insight.reason(**{"question": QUESTION, **wrong})


def test_reading_writes_nothing(told):
    """No event, no use."""
    before = read_sql(told, "SELECT count(*) FROM events")[0]
    told.insight.reason(QUESTION)
    told.insight.reason("where is the office?")
    told._engine.background.accesses.log()
    after = read_sql(told, "SELECT count(*) FROM events")[0]
    assert before == after


NAMES = ["Ada Lind", "Bob Marsh", "Northwind", "Utrecht", "Heron", "Delft"]
VERBS = ["works for", "is married to", "lies in", "is led by"]
facts = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(VERBS), st.sampled_from(NAMES)), max_size=12
)


@settings(max_examples=25)
@given(mine=facts, theirs=facts, name=st.sampled_from(NAMES), verb=st.sampled_from(VERBS))
def test_neighbours_share_the_stated_name_and_are_visible(
    tmp_path_factory, mine, theirs, name, verb
):
    """Each fact of a chain has the name by which it was reached, and so has the one before."""
    root = tmp_path_factory.mktemp("chains")
    with MemoryManager(root, embedder=HashEmbedder(32)) as memory:
        neighbour = memory.of("theirs")
        for owner, told in ((memory, mine), (neighbour, theirs)):
            for place, (one, says, other) in enumerate(told):
                kept = owner.add(f"{one} {says} {other}")
                if place % 4 == 3:
                    owner.forget(kept.id)
        active = {one.id for one in memory.list()}
        found = memory.insight.reason(f"Who {verb} the one of {name}?", hops=4)
        for chain in found.chains:
            read = [names.read(fact.text).names for fact in chain.facts]
            assert chain.names[0] in found.names
            assert all(step in own for step, own in zip(chain.names, read, strict=True))
            assert all(step in own for step, own in zip(chain.names[1:], read, strict=False))
            assert len({fact.id for fact in chain.facts}) == len(chain.facts)
            assert {fact.id for fact in chain.facts} <= active
        groups = [{fact.id for fact in chain.facts} for chain in found.chains]
        assert not any(a <= b for at, a in enumerate(groups) for b in groups[at + 1 :])
