"""Turns: several answers, one outcome."""

from __future__ import annotations

from datetime import timedelta

import pytest
from beside import read_sql

from memento import Loop
from memento.errors import InvalidInput
from memento.ledger import strength_fold

HOUR = timedelta(hours=1)


@pytest.fixture
def three(memory):
    """A store with three memories about tea."""
    for name in ("green", "black", "mint"):
        memory.add(f"Rami keeps {name} tea in the kitchen", "medium", id=name)
    return memory


def table(memory):
    """Return the rows of the table."""
    query = "SELECT loop, session, closed_at IS NULL, shown, outcome FROM loops ORDER BY opened_at"
    return read_sql(memory, query)


def worths(memory):
    """Return the worth of each memory."""
    return {one: memory.feedback.strength(one).worth for one in ("green", "black", "mint")}


def test_an_outcome_goes_to_what_was_shown(three):
    """By the best rank in any answer of the turn."""
    with three.feedback.loop(session="s7") as turn:
        first = [hit.id for hit in turn.retrieve("Where is the tea?", record=False)]
        turn.retrieve("mint tea", 1, record=False)
        turn.outcome(1.0)
    found = worths(three)
    assert found["mint"] == pytest.approx(0.2)
    (second,) = [one for one in first[1:2] if one != "mint"] or [first[2]]
    assert 0 < found[second] < 0.2
    assert turn.closed


def test_a_bad_outcome_lowers_places(three):
    """Worth is an effect on the order."""
    before = [hit.id for hit in three.retrieve("Where is the tea?", record=False)]
    with three.feedback.loop() as turn:
        turn.retrieve("Where is the tea?", 1, record=False)
        turn.outcome(-1.0)
    after = three.retrieve("Where is the tea?", record=False)
    assert after[-1].id == before[0]
    assert after[-1].terms["worth"] < 0


@pytest.mark.parametrize("source", ["tool", "web", "import"])
def test_nobody_else_decides(three, source):
    """Outcomes by other sources are kept and have no effect; the agent's count half."""
    with three.feedback.loop() as turn:
        turn.retrieve("green tea", 1, record=False)
        turn.outcome(1.0, source=source)
    assert set(worths(three).values()) == {0.0}
    for _ in range(3):
        with three.feedback.loop() as turn:
            turn.retrieve("green tea", 1, record=False)
            turn.outcome(1.0, source="agent")
    assert worths(three)["green"] == pytest.approx(0.1)


def test_silence_is_no_verdict(three, clock):
    """A turn that nobody closes expires, and is dropped a day later."""
    three.feedback.open_loop(timeout=60).retrieve("green tea", record=False)
    late = three.feedback.open_loop(timeout=60)
    clock.advance(HOUR)
    with pytest.raises(InvalidInput, match="is closed"):
        late.outcome(1.0)
    three.feedback.open_loop()
    assert [row[2] for row in table(three)] == [0, 0, 1]
    clock.advance(48 * HOUR)
    three.feedback.open_loop()
    assert [row[2] for row in table(three)] == [0, 1]
    assert set(worths(three).values()) == {0.0}


def test_an_exception_closes_without_outcome(three):
    """And so does an end without one."""

    def fail(turn):
        with turn:
            turn.retrieve("green tea", record=False)
            raise KeyError("agent")

    turns = [three.feedback.loop(), three.feedback.loop()]
    with pytest.raises(KeyError):
        fail(turns[0])
    with turns[1]:
        turns[1].retrieve("green tea", record=False)
    assert all(turn.closed for turn in turns)
    assert [row[2:] for row in table(three)] == [(0, "{}", None)] * 2
    assert set(worths(three).values()) == {0.0}


def test_another_process_can_close_it(three, open_memory):
    """By its id; what was shown is on the disk."""
    turn = three.feedback.open_loop("s")
    turn.retrieve("green tea", 1, record=False)
    other = open_memory()
    assert other.feedback.finalize(turn.id, 0.5) == ("green",)
    assert worths(other)["green"] == pytest.approx(0.1)
    with pytest.raises(InvalidInput, match="is closed"):
        turn.retrieve("green tea", record=False)


def test_a_correction_is_added(three):
    """With the session of the turn."""
    with three.feedback.loop(session="s7") as turn:
        turn.retrieve("green tea", record=False)
        kept = turn.outcome(-0.5, "The green tea is in the cellar")
    assert (kept.text, kept.session) == ("The green tea is in the cellar", "s7")
    assert three.retrieve("cellar", record=False)[0].id == kept.id


def test_outcomes_can_be_taken_back(three):
    """One, or all of a source."""
    for _ in range(2):
        with three.feedback.loop() as turn:
            turn.retrieve("green tea", 1, record=False)
            turn.outcome(1.0)
    once = three.feedback.belief("green").evidence
    assert [one.verdict for one in once] == ["outcome", "outcome"]
    assert three.feedback.retract(source="user") == 2
    assert set(worths(three).values()) == {0.0}


def test_folded_again_it_is_equal(three):
    """Outcomes come from the log like every verdict."""
    for value in (1.0, -0.3, 0.2):
        with three.feedback.loop() as turn:
            turn.retrieve("Where is the tea?", record=False)
            turn.outcome(value)
    before, settings = worths(three), three.store.config.dynamics
    three._engine.ledger.write(strength_fold.drop_rows)
    while three._engine.ledger.write(lambda c: strength_fold.catch_up(c, settings, 1)):
        pass
    assert worths(three) == before


def test_an_erased_memory_is_named_nowhere(three):
    """Not in a turn that showed it either."""
    turn = three.feedback.open_loop()
    turn.retrieve("Where is the tea?", record=False)
    assert "green" in table(three)[0][3]
    three.store.erase("green")
    assert "green" not in table(three)[0][3]
    assert "mint" in three.feedback.finalize(turn, 1.0)


def test_another_namespace_has_no_such_turn(three):
    """Neither by its id nor by the object."""
    turn = three.feedback.open_loop()
    for key in (turn, turn.id, "nobodys"):
        with pytest.raises(InvalidInput, match="unknown loop"):
            three.of("other").feedback.finalize(key)


@pytest.mark.parametrize("value", [2, -1.1, float("nan"), "good", True])
def test_an_outcome_is_a_number(three, value):
    """In [-1, 1]; a refused one leaves the turn open."""
    turn = three.feedback.open_loop()
    with pytest.raises(InvalidInput, match="outcome"):
        turn.outcome(value)
    assert not turn.closed
    assert turn.outcome(0.0) is None


def test_a_turn_tells_what_it_is(three, clock):
    """Its id, its session and its times."""
    turn = three.feedback.open_loop("s", timeout=60)
    assert isinstance(turn, Loop)
    assert (turn.session, turn.expires_at - turn.opened_at) == ("s", timedelta(seconds=60))
    assert turn.opened_at == clock()
    for wrong in (-1, "x", 100_000):
        with pytest.raises(InvalidInput, match="timeout"):
            three.feedback.open_loop(timeout=wrong)
