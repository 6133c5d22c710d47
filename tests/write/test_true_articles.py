"""Articles that are shown quote only what is active, after any change of their sources."""

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from memento import MemoryManager
from memento.errors import MementoError
from memento.testing import ManualClock

WHO = ("Anna", "Bob", "Carla", "Dirk", "Eva", "Finn")
DEEDS = ("forget", "restore", "update", "correct", "archive", "unarchive", "undo", "erase", "sleep")


def do(memory, deed, who):
    """Do something; what cannot be done is left."""
    try:
        match deed:
            case "forget" | "restore":
                getattr(memory, deed)(who)
            case "archive" | "unarchive":
                getattr(memory.sleep, deed)(who)
            case "update":
                memory.update(who, text=f"{who} digs in the garden of the mill")
            case "correct":
                memory.correct(who, f"{who} sings in the garden of the mill")
            case "undo":
                memory.undo(memory.changes.list(limit=1)[0].number, force=True)
            case "erase":
                memory.store.erase(who)
            case "sleep":
                memory.sleep.run(steps=["articles"])
    except (MementoError, IndexError):
        return


def untrue(memory):
    """Return the lines of articles that no active memory says."""
    said = {one.text for one in memory.list(limit=1000) if one.kind != "article"}
    lines = [line for one in memory.list(kind="article") for line in one.text.splitlines()]
    return [line for line in lines if line.split(": ", 1)[1] not in said]


@settings(max_examples=8, deadline=None)
@given(deeds=st.lists(st.tuples(st.sampled_from(DEEDS), st.sampled_from(WHO)), max_size=10))
def test_an_article_never_outlives_a_source(tmp_path_factory, deeds):
    """After each deed, and after the sleep at the end."""
    clock = ManualClock()
    folder = tmp_path_factory.mktemp("articles") / "store"
    with MemoryManager(folder, embedder=None, clock=clock) as memory:
        for who in WHO:
            memory.add(f"{who} works in the garden of the mill", id=who)
        memory.sleep.run(steps=["articles"])
        assert memory.list(kind="article")
        for deed, who in [*deeds, ("sleep", "")]:
            clock.advance(timedelta(hours=1))
            do(memory, deed, who)
            assert untrue(memory) == []


def test_the_check_above_sees_an_untrue_article(tmp_path, monkeypatch):
    """The null control: if no change withdraws an article, it shows what is forgotten."""
    monkeypatch.setattr("memento.ledger.changes.quotes.withdraw_outdated", lambda _work: None)
    with MemoryManager(tmp_path / "store", embedder=None) as memory:
        for who in WHO:
            memory.add(f"{who} works in the garden of the mill", id=who)
        memory.sleep.run(steps=["articles"])
        memory.forget("Anna")
        assert untrue(memory) != []
