"""Conditions of rules: read, and held against a message."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from memento import MemoryManager
from memento.prompt.conditions import facts, holding, parse, shown

SET = Path(__file__).parents[2] / "benchmarks" / "sets" / "conditions.json"


def holds(condition, message, context=None, near=None):
    """Tell whether one condition holds."""
    return holding([condition], message, context or {}, near=near, at=0.2)[0]


@pytest.mark.parametrize(
    ("condition", "clause"),
    [
        ("When I ask about recipes", "recipes"),
        ("whenever you write SQL,", "SQL"),
        ("before every release", "release"),
        ("if the build fails", "build fails"),
        ("recipes", "recipes"),
        ("when", "when"),
    ],
)
def test_the_opening_of_a_clause_is_left_out(condition, clause):
    """The rest of the clause is compared with the message."""
    assert parse(condition).clause == clause


def test_a_condition_is_shown_without_its_first_word():
    """The block says ``when`` itself."""
    assert (shown("Whenever I cook"), shown("before a release")) == ("I cook", "before a release")


@pytest.mark.parametrize(
    ("condition", "message", "right"),
    [
        ("when I ask about recipes", "A recipe, please", True),
        ("when I ask about recipes", "What did I ask?", False),
        ("before every release", "We released it", True),
        ("when writing unit tests", "the test fails", True),
        ("when you write", "please write a poem", False),
    ],
)
def test_a_word_that_says_something_is_enough(condition, message, right):
    """Its ending makes no difference; words that are in every message do not count."""
    assert holds(condition, message) is right


def test_meaning_is_asked_only_where_no_word_matches():
    """From the least cosine on; a condition that holds by a word is not embedded."""
    asked = []

    def near(clauses):
        asked.extend(clauses)
        return [0.2 if one == "trip" else 0.19 for one in clauses]

    found = holding(
        ["when planning a trip", "when I cook soup", "when I sing"],
        "soup and trains", {}, near=near, at=0.2,
    )  # fmt: skip
    assert len(asked) == 2
    assert found[1]
    assert not found[2]


def test_a_structured_condition_needs_all_that_it_says():
    """Words, all words, and patterns for the context."""
    both = json.dumps({"words": ["deploy"], "context": {"tool": "git*"}})
    assert holds(both, "deploying now", {"tool": "github"})
    assert not holds(both, "deploying now", {"tool": "svn"})
    assert not holds(both, "hello", {"tool": "git"})
    all_of = json.dumps({"all_words": ["red", "door"]})
    assert holds(all_of, "the red doors")
    assert not holds(all_of, "the red house")
    assert not holds("{}", "anything")
    assert not holds('{"unknown": 1}', "hello")


def test_the_form_of_a_message_is_context():
    """Code, a traceback, a list of three items or more."""
    assert facts("hello") == {}
    assert facts("```\nx\n```") == {"has_code": "true"}
    assert "has_traceback" in facts("Traceback (most recent call last):\n  File")
    assert facts("- a\n- b\n3. c") == {"items": "true"}
    assert holds('{"context": {"items": "true"}}', "- a\n- b\n- c")


def measured(clauses, messages, near_of):
    """Return recall, and how many hold per message."""
    hits = wanted = on = 0
    for message, right in messages:
        held = holding(clauses, message, {}, near=near_of(message), at=0.2)
        found = {n for n, one in enumerate(held) if one}
        hits, wanted, on = hits + len(found & set(right)), wanted + len(right), on + len(found)
    return hits / wanted, on / len(messages)


def test_the_set_of_the_repository_and_its_control(tmp_path):
    """Most conditions that hold are found, few others; with shuffled messages, few are."""
    said = json.loads(SET.read_text(encoding="utf-8"))
    clauses, messages = said["conditions"], said["messages"]
    with MemoryManager(tmp_path / "m") as memory:
        recall, on = measured(clauses, messages, memory.rules._near)
        assert recall >= 0.85
        assert on <= 2
        by_words, _ = measured(clauses, messages, lambda _: None)
        assert by_words < recall
        rights = [right for _, right in messages]
        turned = [(text, rights[n - 7]) for n, (text, _) in enumerate(messages)]
        assert measured(clauses, turned, memory.rules._near)[0] < 0.3


@pytest.mark.parametrize(
    "unit", ["\n", " \n", "\n    ", "    x;", "\n- ", "\n1.", "\n    at x(", "(", ") ("]
)
def test_the_form_of_a_message_is_read_in_linear_time(unit):
    """A message of blank lines once took minutes."""
    began = time.process_time()
    facts((unit * 200_000)[:200_000] + "x")
    facts(" at " + (unit * 200_000)[:200_000])
    assert time.process_time() - began < 2


def test_items_and_traces_are_seen_after_blank_lines():
    """They need not stand on the line after another."""
    assert facts("Look:\n\n\n  - a\n\n  - b\n\n  2. c") == {"items": "true"}
    assert facts("It says\n\n   at main(app.js:1)\n") == {"has_traceback": "true"}
