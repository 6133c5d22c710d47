"""Every setting of the effects can be seen from outside; one that does nothing is a defect."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta

import pytest

from memento import Config
from memento.dynamics.formulas import Effect
from memento.ledger import learnt_weights
from memento.retrieve import usage_boost

QUESTION = "Where is the deploy runbook?"
HOURS, DAY = timedelta(hours=2), timedelta(days=1)


def terms(memory):
    """Return the effects on each hit."""
    return {
        hit.id: [round(hit.terms.get(name, 0.0), 3) for name in ("use", "belief", "worth")]
        for hit in memory.retrieve(QUESTION, 10, record=False)
    }


def judged(memory, clock):
    """Tell what verdicts move."""
    memory.feedback.rate("Heron", verdict="confirmed")
    memory.feedback.rate("Egret", verdict="harmful")
    clock.advance(HOURS)
    return terms(memory)


def taught(memory, clock):
    """Tell what uses move after some lessons."""
    for _ in range(4):
        clock.advance(HOURS)
        found = memory.retrieve(QUESTION, 10, record=False)
        memory.feedback.rate(next(hit for hit in found if hit.id == "Heron"), useful=True)
    return terms(memory)


def linked(memory, clock):
    """Tell what is moved by memories that are used together."""
    for _ in range(4):
        clock.advance(HOURS)
        memory.feedback.rate(["Heron", "Plover"], verdict="used")
    hits = memory.retrieve(QUESTION, 10, record=False)
    return {hit.id: round(hit.terms.get("associated", 0.0), 3) for hit in hits}


def rivalled(memory, clock):
    """Tell what happens to a claim beside one that was used."""
    for name in ("Vim", "Helix"):
        memory.add(f"My editor is {name}", "medium", id=name)
    memory.sleep.run(steps=["fold"])
    found = memory.retrieve("Which editor do I use?", 10, record=False)
    memory.feedback.rate(next(hit for hit in found if hit.id == "Helix"), verdict="used")
    clock.advance(HOURS)
    return [memory.feedback.strength(name).worth for name in ("Vim", "Heron")]


def faded(memory, clock):
    """Tell what fades after thirty days on which the store was used."""
    for _ in range(30):
        clock.advance(DAY)
        memory.feedback.rate("Heron", verdict="ignored")
    return {hit.id: hit.fading for hit in memory.retrieve(QUESTION, 10, record=False)}


PROBES = {
    "use": (taught, 0.1, 1.0),
    "learn": (taught, True, False),
    "bound": (judged, 0.5, 3.0),
    "rivals": (rivalled, 0.0, 0.5),
}
"""Each setting to a story that shows it, and two values."""


def test_every_setting_has_a_probe():
    """One that is added later needs one."""
    assert {one.name for one in fields(Effect)} == set(PROBES)


@pytest.mark.parametrize(
    ("module", "name", "story", "values"),
    [
        (learnt_weights, "LEARN_RATE", taught, (0.01, 0.5)),
        (usage_boost, "BELIEF_WEIGHT", judged, (0.5, 2.0)),
        (usage_boost, "WORTH_WEIGHT", judged, (0.1, 2.0)),
        (usage_boost, "LINK_WEIGHT", linked, (0.2, 0.8)),
        (usage_boost, "FADE_BELOW", faded, (0.01, 0.9)),
    ],
)
def test_a_constant_acts(open_memory, clock, tmp_path, monkeypatch, module, name, story, values):
    """The same story ends differently with another value."""
    seen = []
    for value in values:
        monkeypatch.setattr(module, name, value)
        seen.append(story(projects(open_memory(root=tmp_path / str(value))), clock))
    assert seen[0] != seen[1]


def projects(memory):
    """Add what the stories are about."""
    for project in ("Heron", "Egret", "Plover"):
        text = f"The deploy runbook of project {project} is here"
        memory.add(text, "medium", id=project, kind="episode")
    return memory


@pytest.mark.parametrize("name", PROBES)
def test_a_setting_acts(open_memory, clock, tmp_path, name):
    """The same story ends differently with another value."""
    story, *values = PROBES[name]
    seen = []
    for value in values:
        config = Config(effect=Effect(**{name: value}))
        memory = open_memory(root=tmp_path / str(value), config=config)
        seen.append(story(projects(memory), clock))
    assert seen[0] != seen[1]
