"""A sentence that says nothing by itself is no memory, whatever class it looks like."""

from __future__ import annotations

import time

import pytest

from memento.observe.candidates import find
from memento.observe.signals import Signal
from memento.observe.standalone import stands

HALVES = [
    (Signal.RULE, "Especially with midterms."),
    (Signal.RULE, "Without giving too much away, of course."),
    (Signal.RULE, "You gotta wear many hats there."),
    (Signal.RULE, "If you don't mind me asking"),
    (Signal.RULE, "you don't even need a tent"),
    (Signal.RULE, "no you dont"),
    (Signal.RULE, "I'd rather not say here."),
    (Signal.PREFERENCE, "I like both about the same."),
    (Signal.PREFERENCE, "I can't choose"),
    (Signal.PREFERENCE, "I liked the second film better."),
    (Signal.PREFERENCE, "I love how you put that."),
    (Signal.FACT, "I had seven classes."),
    (Signal.FACT, "I have no idea about law school though."),
    (Signal.FACT, "my streaming career."),
    (Signal.RELATION, "They are the best, and super smart too!"),
    (Signal.RELATION, "my poor dad."),
    (Signal.IDENTITY, "my student ID"),
    (Signal.IDENTITY, "I'm"),
    (Signal.RELATION, "My mom has a degree in design and"),
]
WHOLE = [
    (Signal.RULE, "No emojis."),
    (Signal.RULE, "Be brief."),
    (Signal.RULE, "Two spaces for indentation."),
    (Signal.RULE, "Cap every list at five items."),
    (Signal.RULE, "Answers in Dutch from here on."),
    (Signal.RULE, "Thanks, and always reply in French."),
    (Signal.RULE, "You may only read from the replica."),
    (Signal.RULE, "You don't need to explain git to me."),
    (Signal.RULE, "When I say later, I mean next week."),
    (Signal.RULE, "You must never share my address."),
    (Signal.RULE, "Variable names go in snake case."),
    (Signal.PREFERENCE, "Not big on surprises."),
    (Signal.PREFERENCE, "Most of all I like a short summary."),
    (Signal.PREFERENCE, "I think better with tea, I prefer it to coffee."),
    (Signal.FACT, "I had my gallbladder removed."),
    (Signal.FACT, "I got a new job at the port."),
    (Signal.FACT, "I've been playing the cello for nine years."),
    (Signal.FACT, "I know some Portuguese."),
    (Signal.RELATION, "My boyfriend is a nurse."),
    (Signal.RELATION, "My brother became a monk."),
    (Signal.RELATION, "My brother sang bass."),
    (Signal.IDENTITY, "Everyone calls me Bee."),
    (Signal.IDENTITY, "Zie/zir for me."),
]


@pytest.mark.parametrize(("signal", "said"), HALVES)
def test_half_a_sentence_is_no_memory(signal: Signal, said: str) -> None:
    """A reaction, a judgement of the moment or a thing without a verb is refused."""
    assert not stands(signal, said)


@pytest.mark.parametrize(("signal", "said"), WHOLE)
def test_a_whole_sentence_may_be_a_memory(signal: Signal, said: str) -> None:
    """A sentence that says something by itself is left to the detector."""
    assert stands(signal, said)


@pytest.mark.parametrize(
    "part", ["you ", "if you ", "no\t", "that's ", "i\t", "my a", "with,x ", "and "]
)
def test_the_time_is_bounded(part: str) -> None:
    """A sentence of twenty thousand words is judged in less than a second."""
    for signal in Signal:
        started = time.process_time()
        stands(signal, part * 20_000)
        assert time.process_time() - started < 1, signal


@pytest.mark.parametrize(
    "said", ["No, I'm in the upper electives.", "Nah, that dog is fine as it is."]
)
def test_a_denial_of_nothing_corrects_nothing_for_sure(said: str) -> None:
    """Without a turn before it, "no" alone is no sign of a correction."""
    found = [one for one in find(said).candidates if one.signal is Signal.CORRECTION]
    assert not any(one.sure for one in found)


def test_a_denial_of_the_turn_before_corrects_it() -> None:
    """The turn before says what is denied."""
    found = find("No, it is the 5th.", previous="So the deadline is the 4th.").candidates
    assert [(one.signal, one.sure) for one in found] == [(Signal.CORRECTION, True)]


@pytest.mark.parametrize("said", ["No, use uv instead of pip.", "No, my surname is Okoro."])
def test_a_denial_that_names_what_is_denied_corrects_without_a_turn(said: str) -> None:
    """Both values, or the property, say what is corrected."""
    found = find(said).candidates
    assert [(one.signal, one.sure) for one in found] == [(Signal.CORRECTION, True)]
