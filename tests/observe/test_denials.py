"""A plain denial takes back what the user said before, also where words alone are compared."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memento import MemoryManager, Status
from memento.observe.candidates import find
from memento.observe.derive import derive
from memento.observe.ended import retracts
from memento.observe.signals import Signal
from memento.types import Kind

DENIED = [
    ("I'm married.", "I'm no longer married."),
    ("We use Jenkins.", "We no longer use Jenkins."),
    ("I work at Siemens.", "I no longer work at Siemens."),
    ("My brother is a nurse.", "My brother is no longer a nurse."),
    ("Our office is in Lyon.", "Our office is not in Lyon any more."),
    ("The demo is on Friday.", "Actually the demo is on Thursday, not on Friday."),
    ("I'm allergic to penicillin.", "Turns out I'm not allergic after all."),
    ("My manager is Fiona.", "Fiona has left the company."),
    ("We host the docs on Netlify.", "Netlify is gone, the docs are on Pages now."),
]
KEPT = [
    ("I'm married.", "I'm no longer tired."),
    ("I'm allergic to nuts.", "I'm no longer allergic to milk."),
    ("I'm married.", "I'm no longer sure that I'm married to the idea."),
    ("I work at Siemens.", "My brother left the works council at Siemens."),
    ("My bank is ING.", "My bank is closed now."),
    ("I'm married to Tom.", "My sister got divorced."),
]


def observed(tmp_path, first, second):
    """Return the status of a known statement after the user says a second one."""
    with MemoryManager(tmp_path, embedder=None) as memory:
        known = memory.add(first, kind="fact")
        memory.observe(second, session="2")
        return memory.get(known.id).status


@pytest.mark.parametrize(("first", "second"), DENIED)
def test_a_plain_denial_supersedes_what_it_denies(tmp_path, first, second):
    """Every word of it is accounted for, so nothing else can be meant."""
    assert observed(tmp_path, first, second) is Status.SUPERSEDED


@pytest.mark.parametrize(("first", "second"), KEPT)
def test_a_denial_of_something_else_supersedes_nothing(tmp_path, first, second):
    """One word more, or another one, and both stay."""
    assert observed(tmp_path, first, second) is Status.ACTIVE


@pytest.mark.parametrize("said", [None, "I'm married."])
def test_a_denial_in_doubt_ends_nothing(memory, hearing, said):
    """Whether there is something to deny or not."""
    if said is not None:
        memory.add(said, kind="fact")
    hearing.knows("I'm no longer married.", "correction", 0.4)
    seen = memory.observe("I'm no longer married.")
    assert (len(seen.learned), len(seen.doubtful)) == (0, 1)


@pytest.mark.parametrize("role", ["assistant", "tool"])
def test_nobody_but_the_user_denies(memory, role):
    """The words of an assistant or a tool take nothing back."""
    known = memory.add("I'm married.", kind="fact")
    memory.observe(messages=[{"role": role, "content": "I'm no longer married."}], session="2")
    assert memory.get(known.id).status is Status.ACTIVE


@pytest.mark.parametrize(
    ("new", "old", "ends"),
    [
        ("I'm married.", "I'm married.", False),
        ("I left Siemens.", "I work at Siemens.", True),
        ("I left Siemens.", "Siemens is our largest customer.", False),
        ("Netlify is gone.", "We host the docs on Netlify.", True),
        ("The milk is gone.", "We host the docs on Netlify.", False),
        ("It's Thursday, not Friday.", "The demo is on Friday.", True),
        ("It's Thursday, not Friday.", "The demo is on Monday.", False),
    ],
)
def test_an_end_names_what_ended(new, old, ends):
    """A short statement that closes with it; in doubt both stay."""
    assert retracts(new, old) is ends


def test_a_plain_not_takes_back_the_value_of_a_slot_only(memory, hearing):
    """What ended stays for questions about the past, and leaves the head of the policy."""
    hearing.knows("My name is Bob.", "identity")
    hearing.knows("My name isn't Bob.", "identity")
    (first,) = memory.observe("My name is Bob.", session="1").learned
    memory.observe("My name isn't Bob.", session="2")
    old = memory.get(first.memory.id)
    assert (old.status, old.valid_until is not None) == (Status.SUPERSEDED, True)
    assert "My name is Bob" not in memory.rules.policy().text
    assert not retracts("I don't like rain.", "I like rain.")
    assert retracts("I don't live in Oslo.", "I live in Oslo.", value="oslo")


@pytest.mark.parametrize(
    "said",
    [
        "No tengo hijos.",
        "No soy médico.",
        "No trabajo los lunes.",
        "No como carne.",
        "No tienes razón en eso.",
        "Não tenho filhos.",
        "Não tinha dinheiro para isso.",
        "Non ho figli.",
        "Je n'ai pas d'enfants.",
        "Ich habe keine Kinder.",
        "Ik heb geen kinderen.",
    ],
)
def test_a_denial_in_another_language_is_no_rule(said):
    """It begins with the word that an English order may begin with."""
    assert not [one for one in lessons(said) if one.kind is Kind.RULE]


@pytest.mark.parametrize(
    "said",
    [
        "No uses emojis.",
        "No hables de política.",
        "No, responde en español siempre.",
        "Nein, antworte immer auf Deutsch.",
        "Não use emojis.",
    ],
)
def test_an_order_in_another_language_is_a_rule(said):
    """Also as a correction."""
    assert [one.kind for one in lessons(said)] == [Kind.RULE]


def lessons(said):
    """Return what is learned of a message."""
    now = datetime(2025, 5, 5, tzinfo=UTC)
    made = (derive(one, answered=None, said_at=now) for one in find(said).candidates)
    return [one for one in made if one is not None]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("J'habite à Lyon.", "Je n'habite plus à Lyon."),
        ("Ich wohne in Graz.", "Ich wohne nicht mehr in Graz."),
        ("Vivo en Sevilla.", "Ya no vivo en Sevilla."),
        ("Abito a Roma con la mia famiglia.", "Non abito più a Roma."),
        ("Moro em Lisboa.", "Já não moro em Lisboa."),
        ("Ik woon in Gent.", "Ik woon niet meer in Gent."),
    ],
)
def test_a_denial_in_another_language_takes_the_slot_and_is_in_the_head(tmp_path, first, second):
    """An agent must not be told what the user took back as if it held."""
    with MemoryManager(tmp_path, embedder=None) as memory:
        memory.observe(first, session="1")
        memory.observe(second, session="2")
        assert memory.value("user/home").text == second
        assert second in memory.rules.policy().head


@pytest.mark.parametrize("said", ["Ich bin kein Vegetarier mehr.", "Je ne suis plus médecin."])
def test_a_denial_of_what_has_no_slot_is_of_the_class_of_what_it_denies(said):
    """So that the head shows both."""
    assert [one.signal for one in lessons(said)] == [Signal.IDENTITY]


@pytest.mark.parametrize(
    ("first", "corrections", "named"),
    [
        (
            "My sister's wedding is on Friday in Ghent",
            ("No, it's on Saturday, not Friday", "It's in Bruges, not Ghent"),
            ("sister's wedding", "Saturday", "Bruges"),
        ),
        (
            "Our team offsite is in May at the lake house",
            ("No, it's in June, not May", "It's at the old mill, not the lake house"),
            ("team offsite", "June", "old mill"),
        ),
    ],
)
def test_a_correction_keeps_what_it_is_about(memory, first, corrections, named):
    """So that the next correction of the same thing finds its words in it."""
    for said in (first, *corrections):
        seen = memory.observe(said, "ok", session="a")
    (last,) = seen.learned
    assert last.action == "replaced"
    assert [one.text for one in memory.list(limit=99) if one.role is None] == [last.memory.text]
    assert all(one in last.memory.text for one in named)
    memory.undo(seen.change)
    (left,) = (one.text for one in memory.list(limit=99) if one.role is None)
    assert named[1] in left
    assert named[2] not in left
