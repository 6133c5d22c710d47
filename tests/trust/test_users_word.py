"""What the user says stands: by a change of a memory, and beside what is approved."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memento.errors import MementoError, UntrustedSource
from memento.types import Status, Trust


def a_minute_later(memory):
    """Advance the clock."""
    memory.store.clock.advance(timedelta(minutes=1))


def added(memory, source):
    """Return an accepted memory of some source."""
    one = memory.add("The office opens at nine.", source=source)
    return memory.quarantine.approve(one) if one.status is Status.QUARANTINED else one


@pytest.mark.parametrize("source", ["agent", "tool", "web", "import"])
def test_what_the_user_rewords_is_the_users(memory, source):
    """Nobody else changes it back, forgets it or replaces it, and it can be a rule and pinned."""
    one = added(memory, source)
    mine = memory.update(one.id, text="The office opens at ten.")
    assert mine.source.kind is Trust.USER
    for other in ("agent", "tool", "web", "import"):
        with pytest.raises(UntrustedSource):
            memory.update(one.id, text="The office opens at nine.", source=other)
    with pytest.raises(MementoError):
        memory.add("The office opens at nine.", id=one.id, source=source, replace=True)
    assert memory.update(one.id, kind="rule", pinned=True).pinned
    assert memory.get(one.id).text == "The office opens at ten."


def test_what_the_user_only_files_stays_its_sources(memory):
    """Tags and importance are no words: the text stays whose it was."""
    one = added(memory, "agent")
    assert memory.update(one.id, tags=["office"], importance=0.9).source.kind is Trust.AGENT
    assert memory.update(one.id, text="It opens at ten.", source="agent").text == "It opens at ten."


def test_what_waits_is_the_users_only_once_it_is_approved(memory):
    """The user may mend what is quarantined: it still waits, and comes from where it came."""
    one = memory.add("The office opens at nine.", source="web")
    mended = memory.update(one.id, text="The office opens at ten.")
    assert (mended.status, mended.source.kind) == (Status.QUARANTINED, Trust.WEB)


@pytest.mark.parametrize("newer", [True, False])
@pytest.mark.parametrize("source", ["web", "tool", "import"])
def test_an_older_claim_is_approved_into_the_history(memory, source, newer):
    """The value that the user said after a page stays; before it, the page's takes its place."""
    memory.add("Office opens at nine", key="office/hours")
    a_minute_later(memory)
    claim = memory.add("Office opens at ten", key="office/hours", source=source)
    a_minute_later(memory)
    if newer:
        memory.add("Office opens at eleven", key="office/hours")
    a_minute_later(memory)
    approved = memory.quarantine.approve(claim)
    last = "eleven" if newer else "ten"
    assert memory.value("office/hours").text == f"Office opens at {last}"
    said = [one.memory.text.split()[-1] for one in memory.slots.history("office/hours")]
    assert sorted(said) == sorted(["nine", "ten", "eleven"][: 2 + newer])
    assert (approved.status is Status.SUPERSEDED) is newer
    if newer:
        assert approved.valid_until is not None
