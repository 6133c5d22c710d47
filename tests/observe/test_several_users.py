"""Several users of one namespace, told apart by ``actor``: none replaces what another says."""

from __future__ import annotations

import pytest


def texts(memory, **filters):
    """Return what was learned, without the turns."""
    return {one.text for one in memory.list(limit=99, **filters) if one.role is None}


@pytest.mark.parametrize(
    ("ann", "bob", "later"),
    [
        ("I live in Porto", "I live in Oslo", "I live in Bergen"),
        ("My name is Ann", "My name is Bob", "My name is Robert"),
        ("I work at Acme", "I work at Initech", "I now work at Globex"),
    ],
)
def test_each_user_has_a_value_of_their_own(memory, ann, bob, later):
    """The first keeps the plain slot; a later value replaces that of the same user."""
    memory.observe(ann, session="a", actor="ann")
    (first,) = memory.observe(bob, session="b", actor="bob").learned
    assert texts(memory) == {ann, bob}
    (seen,) = memory.observe(later, session="b", actor="bob").learned
    assert (seen.replaced, texts(memory)) == ((first.memory.id,), {ann, later})
    assert first.memory.key.endswith("@by-bob")
    assert memory.value(first.memory.key).text == later
    assert memory.value(first.memory.key.partition("@")[0]).text == ann


def test_undo_and_saying_it_again_keep_the_slots_apart(memory):
    """A repeat is one of the same user."""
    memory.observe("I live in Porto", session="a", actor="ann")
    memory.observe("I live in Oslo", session="b", actor="bob")
    moved = memory.observe("I live in Bergen", session="b", actor="bob")
    memory.undo(moved.change)
    assert texts(memory) == {"I live in Porto", "I live in Oslo"}
    (again,) = memory.observe("I live in Oslo", session="c", actor="bob").learned
    assert again.action == "repeated"
    assert memory.value("user/home@by-bob").text == "I live in Oslo"


def test_nobody_repeats_or_takes_back_what_another_says(memory):
    """The same words, and a denial."""
    memory.observe("I'm allergic to nuts", session="a", actor="ann")
    memory.observe("I live in Porto", session="a", actor="ann")
    (seen,) = memory.observe("I'm allergic to nuts", session="b", actor="bob").learned
    assert seen.action == "new"
    memory.observe("I don't live in Porto", session="b", actor="bob")
    assert memory.value("user/home").text == "I live in Porto"


@pytest.mark.parametrize(("first", "second"), [(None, None), ("ann", "ann"), (None, "ann")])
def test_one_user_has_one_value(memory, first, second):
    """With or without a name."""
    memory.observe("I live in Porto", session="a", actor=first)
    memory.observe("I live in Oslo", session="b", actor=second)
    assert texts(memory) == {"I live in Oslo"}
    assert memory.value("user/home").text == "I live in Oslo"


def test_what_users_share_is_replaced_by_any_of_them(memory):
    """A decision of the project is nobody's own."""
    memory.observe("We use Postgres for the database", session="a", actor="ann")
    before = texts(memory)
    memory.observe("We switched to MySQL for the database", session="b", actor="bob")
    assert before.isdisjoint(texts(memory))


def test_a_policy_names_the_users_if_there_are_several(memory):
    """Of one user there is nothing to tell apart."""
    memory.observe("I live in Porto", session="a", actor="ann")
    assert "ann" not in memory.rules.policy("hi").head
    memory.observe("I live in Oslo. Never use emojis.", session="b", actor="bob")
    head = memory.rules.policy("hi").head
    assert '"I live in Porto" (by "ann")' in head
    assert '"Never use emojis." (by "bob")' in head or '"Never use emojis" (by "bob")' in head


@pytest.mark.parametrize(
    ("said", "request_"),
    [
        ("I have asthma.", "Please forget that I have asthma."),
        ("I live in Porto.", "Please forget where Ann lives."),
        ("I live in Porto.", "Please forget my address."),
        ("My salary is 5100 euros.", "Please forget what Ann said about her salary."),
        ("Always answer me in German.", "Please forget the rule about German."),
    ],
)
@pytest.mark.parametrize("session", ["a", "b"])
def test_nobody_asks_away_what_another_said(memory, said, request_, session):
    """In the same conversation, or later; the request itself goes."""
    memory.observe(said, session="a", actor="ann")
    before = {one.text for one in memory.list(limit=99)}
    (asked,) = memory.observe(request_, session=session, actor="bob").forget
    assert before <= {one.text for one in memory.list(limit=99)}
    assert not asked.found


@pytest.mark.parametrize(("speaker", "asker"), [("ann", "ann"), (None, "ann"), ("ann", None)])
def test_a_request_hides_what_the_asker_or_nobody_named_said(memory, speaker, asker):
    """Without a name, it is not known to be another's."""
    memory.observe("I have asthma.", session="a", actor=speaker)
    memory.observe("Please forget that I have asthma.", session="b", actor=asker)
    assert not memory.list(limit=99)


def test_what_another_said_too_stays_theirs(memory):
    """Both said it: only the asker's goes."""
    for who in ("ann", "bob"):
        memory.observe("My phone number is 555 010 4477.", session=who, actor=who)
    memory.observe("Please forget my phone number.", session="b", actor="bob")
    assert {one.actor for one in memory.list(limit=99)} == {"ann"}
