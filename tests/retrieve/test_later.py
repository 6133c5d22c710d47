"""Statements that say that something ended: found by what finds the earlier ones, placed first."""

import pytest

from memento.ledger.schema import SEQ_MASK
from memento.observe.ended import ended


@pytest.mark.parametrize(
    ("text", "things"),
    [
        ("Ottilie has retired, Benno runs the office now", {"ottilie"}),
        ("Dr Abend swapped the metoprolol for nebivolol", {"metoprolol"}),
        ("She took me off metoprolol", {"metoprolol"}),
        ("No more cello for Ida", {"cello", "cello ida"}),
        ("The pottery course has moved to Tuesdays", {"course pottery"}),
        ("We moved Cardiff to October", {"cardiff"}),
        ("Ottilie was promoted, Benno runs the office", {"ottilie"}),
        ("Costa retired to Faro", {"costa"}),
        ("My bike got stolen outside the baths", {"bike"}),
        ("Opened an account with Nordkasse and closed the Firefly one", {"firefly"}),
        ("Matej put the trumpet away and sings now", {"trumpet"}),
        ("Our planks come from Italy, Korvina burnt down", {"korvina"}),
        ("I sold the cottage to pay for the roof", {"cottage", "cottage pay"}),
        ("Professor Kral withdrew the order for the cello", {"order", "cello"}),
        ("Dr Halloran sold the practice", {"practice", "halloran"}),
        ("Leon's mother wants her garage back", {"garage"}),
        ("We don't use the boiler any more", {"boiler"}),
        ("I switched from oat milk to soy", {"milk oat"}),
        ("Only salt is left", set()),
        ("Ana's left foot hurts", set()),
        ("Ana has left her keys here", set()),
        ("Ada packed in a hurry", set()),
        ("Ada died her hair red", set()),
        ("Piet collapsed on the sofa", set()),
        ("Nina folded the laundry", set()),
        ("The kiosk is closed on Mondays", set()),
        ("I want my money back", set()),
        ("The passport expires in May", set()),
        ("Ottilie has a new coat", set()),
        ("Ottilie was asked to stay", set()),
        ("The kiln was sold to Ruiz for 532 crowns", set()),
        ("The train stopped at Ruiz", set()),
        ("They have gone", set()),
        ("x" * 500, set()),
    ],
)
def test_the_thing_that_ended_is_named(text, things):
    """Each as its telling words; a vague one is left out."""
    found = {" ".join(sorted(thing)) for thing in ended(text)}
    assert found == things


def told(memory, *texts, **more):
    """Add statements and wait until they are compared."""
    ids = [memory.add(text, **more).id for text in texts]
    memory.flush(wait=True)
    return ids


def test_the_successor_is_found_by_words_that_only_the_earlier_one_has(memory):
    """And is placed first, as it says that the earlier one no longer holds."""
    old, new = told(
        memory, "My line manager is Ottilie Kern", "Ottilie has retired, Benno runs it all now"
    )
    told(memory, "The kettle is blue")
    hits = memory.retrieve("line manager", k=5)
    assert [hit.id for hit in hits][:2] == [new, old]
    assert hits[1].newer == new


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("The band plays in Leon's garage", "Leon's mother wants her garage back"),
        ("The kiln is in the shed", "Put the kiln away yesterday"),
    ],
)
def test_a_statement_that_claims_nothing_succeeds_as_well(memory, earlier, later):
    """There is nothing in it to compare but what ended."""
    old, new = told(memory, earlier, later)
    seqs = [memory.get(one).seq for one in (old, new)]
    assert [docid & SEQ_MASK for docid in pairs_of(memory)[0]] == seqs
    memory.update(new, pinned=True)
    memory.flush(wait=True)
    assert len(pairs_of(memory)) == 1
    assert claims_in(memory, repair=False).ok


def test_a_question_about_the_past_lends_nothing_to_what_came_later(memory):
    """The news of a change is no answer to what was before it."""
    old, new = told(
        memory, "My blood pressure tablet is metoprolol", "She took me off metoprolol, all is well"
    )
    asked = "which blood pressure tablet did I have before?"
    assert [hit.id for hit in memory.retrieve(asked, k=5)] == [old]
    assert {hit.id for hit in memory.retrieve("blood pressure tablet", k=5)} == {old, new}


@pytest.mark.parametrize(
    "more",
    [{"session": "s1", "kind": "episode"}, {"role": "assistant"}, {"kind": "episode"}],
)
def test_nothing_succeeds_in_a_conversation(memory, more):
    """There people speak of one thing again and again."""
    told(memory, "My line manager is Ottilie Kern", "Ottilie has retired, Benno runs it", **more)
    pairs = memory._engine.ledger.read(
        lambda session: session.execute("SELECT * FROM successions").fetchall()
    )
    assert pairs == []


def test_what_is_erased_leaves_no_pair(memory):
    """Neither of the two may be told from what is left."""
    old, new = told(memory, "My manager is Ottilie Kern", "Ottilie has retired, Benno runs it")
    count = "SELECT count(*) FROM successions"
    assert memory._engine.ledger.read(lambda c: c.execute(count).fetchone()) == (1,)
    memory.store.erase(old)
    assert memory._engine.ledger.read(lambda c: c.execute(count).fetchone()) == (0,)
    assert memory.get(new).text


def pairs_of(memory):
    """Return the stored pairs of statements."""
    query = "SELECT older, newer FROM successions ORDER BY 1, 2"
    return memory._engine.ledger.read(lambda session: session.execute(query).fetchall())


def claims_in(memory, *, repair):
    """Return the finding of doctor about the claims."""
    return next(one for one in memory.store.doctor(repair=repair) if one.check == "claims")


def test_doctor_misses_lost_pairs_and_finds_them_again(memory):
    """They are derived: a store that lost them gets the very same ones back."""
    told(memory, "My manager is Ottilie Kern", "Ottilie has retired, Benno runs it")
    told(memory, "The porter is called Wendelin", "Wendelin has left")
    before = pairs_of(memory)
    assert len(before) == 2
    assert claims_in(memory, repair=False).ok
    memory._engine.ledger.write(lambda c: c.execute("DELETE FROM successions"))
    assert not claims_in(memory, repair=False).ok
    assert claims_in(memory, repair=True).repaired
    assert pairs_of(memory) == before


def test_a_rebuild_does_not_depend_on_what_came_later(memory):
    """A name that was rare when its bearer left may be common by now."""
    told(memory, "My manager is Ottilie Kern", "Ottilie has retired, Benno runs it")
    told(memory, *(f"Ottilie sent postcard {n} from the coast" for n in range(12)))
    before = pairs_of(memory)
    assert len(before) == 1
    memory._engine.ledger.write(lambda c: c.execute("DELETE FROM claims"))
    assert claims_in(memory, repair=True).repaired
    assert pairs_of(memory) == before
