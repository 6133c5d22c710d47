"""Sessions: begun, listed, written to, ended, left, and the words that are left of one."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from datetime import timedelta

import pytest
from beside import written

from memento import AsyncMemoryManager, Config
from memento.config import SessionConfig
from memento.errors import InvalidInput, SecretFound
from memento.testing import HashEmbedder
from memento.write import session_marks

KEY = "AKIA" + "Q3EGRIPAZ2WXNB7D"
"""A made-up key of the form of an AWS access key id."""


def test_a_session_is_a_row_once_it_was_begun(memory):
    """A memory that only names a session begins none; a checkpoint does."""
    memory.add("hello", session="a")
    assert memory.sessions.list() == []
    memory.sessions.start("b", goal="paint the door", scope="home/door/")
    memory.sessions.checkpoint("c", goal="oil the hinge")
    named = {one.id: (one.goal, one.scope, one.state) for one in memory.sessions.list()}
    assert named == {
        "b": ("paint the door", "home/door", "open"),
        "c": ("oil the hinge", "", "open"),
    }


def test_a_session_without_a_name_gets_one(memory):
    """Each a new one."""
    assert memory.sessions.start().id != memory.sessions.start().id


def test_a_write_of_the_session_moves_it(memory, clock):
    """The session written to last is the first of the list, and going on keeps what it had."""
    memory.sessions.start("old", goal="first")
    clock.advance(timedelta(minutes=1))
    memory.sessions.start("new")
    clock.advance(timedelta(minutes=1))
    memory.add("still here", session="old")
    assert [one.id for one in memory.sessions.list()] == ["old", "new"]
    assert memory.sessions.list()[0].touched_at == clock()
    clock.advance(timedelta(minutes=1))
    again = memory.sessions.start("old").info
    assert (again.goal, again.started_at) == ("first", clock() - timedelta(minutes=3))


def test_the_list_can_be_narrowed(memory):
    """By state, by scope, by number."""
    memory.sessions.start("a", scope="x/y")
    memory.sessions.start("b", scope="x").end("done")
    memory.sessions.start("c", scope="xy")
    assert {one.id for one in memory.sessions.list(open=True)} == {"a", "c"}
    assert [one.id for one in memory.sessions.list(open=False)] == ["b"]
    assert {one.id for one in memory.sessions.list(scope="x")} == {"a", "b"}
    assert len(memory.sessions.list(limit=1)) == 1


def test_a_session_that_ended_can_go_on(memory):
    """Ending twice changes nothing; beginning it again opens it."""
    work = memory.sessions.start("s")
    work.end("given up")
    assert work.end("done") is None
    assert (work.info.state, work.info.outcome) == ("ended", "given up")
    assert memory.sessions.start("s").info.state == "open"


def test_a_context_manager_ends_or_leaves(memory):
    """Without an error it ends; with one it is interrupted at once."""
    with memory.sessions.start("good") as work:
        pass
    assert work.info.state == "ended"
    with pytest.raises(ZeroDivisionError), memory.sessions.start("bad", goal="divide") as broken:
        _ = 1 / 0
    assert broken.info.state == "interrupted"
    assert memory.sessions.resume().session.id == "bad"


def test_a_session_breaks_off_with_its_process(open_memory, tmp_path):
    """The session of a killed process is interrupted; that of a live one is not."""
    script = (
        "import sys; from memento import MemoryManager\n"
        "m = MemoryManager(sys.argv[1], embedder=None)\n"
        "m.sessions.start('theirs', goal='weigh the anchor')\n"
        "print('ready', flush=True); sys.stdin.read()\n"
    )
    root = tmp_path / "store"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout.readline() == "ready\n"
        memory = open_memory(root, clock=None)
        assert memory.sessions.resume() is None
        assert memory.sessions.list()[0].state == "open"
        child.kill()
        child.wait()
    assert memory.sessions.list()[0].state == "interrupted"
    assert memory.sessions.resume().session.goal == "weigh the anchor"


def test_a_session_breaks_off_when_its_store_is_closed(open_memory):
    """Also in a process that goes on."""
    first, second = open_memory(), open_memory()
    first.sessions.start("s")
    assert second.sessions.list()[0].state == "open"
    first.close()
    assert second.sessions.list()[0].state == "interrupted"


def test_a_silent_session_counts_as_broken_off(open_memory, clock):
    """After the minutes of the settings, although its process is there."""
    memory = open_memory(config=Config(sessions=SessionConfig(idle_minutes=5)))
    memory.sessions.start("s", goal="wait")
    clock.advance(timedelta(minutes=4))
    assert memory.sessions.resume() is None
    clock.advance(timedelta(minutes=2))
    assert memory.sessions.resume().session.id == "s"


@pytest.mark.parametrize("owner", ["", "garbage", "other boot:1:1:1:1"])
def test_an_owner_that_is_not_there_is_gone(owner):
    """Nobody, damage, and a process from before the machine was started."""
    assert session_marks.is_gone(owner)


def test_a_process_number_given_again_is_not_the_owner(memory):
    """The start of the process tells the two apart."""
    place, space, pid, start, number = session_marks.name(memory._engine.ledger).split(":")
    assert pid == str(os.getpid())
    assert session_marks.is_gone(f"{place}:{space}:{os.getppid()}:{start}0:{number}")
    assert session_marks.is_gone(f"{place}:{space}:{pid}:{start}:{number}00")
    assert not session_marks.is_gone(f"{place}:other:{pid}:{start}0:{number}")


def test_what_is_left_of_a_session_is_its_own_words(memory):
    """An article of the long tier that quotes what was learnt, the next step and turns."""
    work = memory.sessions.start("s", goal="Plan the regatta", scope="club")
    said = [
        memory.add(text, session="s", role="user")
        for text in ("The regatta needs a jury boat", "Who steers the jury boat of the regatta?")
    ]
    memory.add("I will ask the harbour", session="s", role="assistant")
    rule = memory.add("We sail in May", kind="decision", session="s")
    work.checkpoint(next=["call the harbour"])
    kept = work.end("paused")
    assert (kept.kind, kept.tier, kept.scope, kept.session) == ("article", "long", "club", "s")
    assert "Decided: We sail in May" in kept.text
    assert "Next: call the harbour" in kept.text
    assert said[0].text in kept.text
    assert "I will ask" not in kept.text
    assert set(kept.source.parents) <= {rule.id, *(one.id for one in said)}
    assert rule.id in kept.source.parents


@pytest.mark.parametrize("embedder", [None, HashEmbedder(64)], ids=["words", "vectors"])
def test_the_turns_that_are_left_are_of_several_topics(open_memory, embedder):
    """Three turns of one topic are not quoted three times."""
    memory = open_memory(embedder=embedder)
    work = memory.sessions.start("talk")
    for n in range(3):
        memory.add(f"the boat has a red sail {n}", session="talk", role="user")
    memory.add("bread rises slowly in winter", session="talk", role="user")
    memory.flush(wait=True)
    text = work.end().text
    assert text.count("red sail") == 1
    assert "bread" in text


def test_a_session_without_words_leaves_nothing(memory):
    """A goal alone is no memory; a summary of the caller's is one, word for word."""
    assert memory.sessions.start("a", goal="nothing came of it").end() is None
    assert (
        memory.sessions.start("b").end(summary="All doors are green.").text
        == "All doors are green."
    )


def test_secrets_do_not_get_into_a_session(open_memory):
    """Redacted in every part, or refused, as the settings say."""
    memory = open_memory()
    memory.sessions.start("s", goal=f"use {KEY}")
    memory.sessions.checkpoint(
        "s", done=[KEY], next=[KEY], blocked=[KEY], files=[f"/etc/{KEY}"], note=KEY, data={"k": KEY}
    )
    memory.sessions.start("s").end(f"with {KEY}", summary=f"It was {KEY}")
    memory.close()
    assert KEY.encode() not in written(memory.store.root)
    strict = open_memory(memory.store.root, config=Config(secrets="reject"))
    with pytest.raises(SecretFound):
        strict.sessions.checkpoint("s", note=f"the key is {KEY}")


@pytest.mark.parametrize(
    "said",
    [
        {"kind": "taks"},
        {"goal": ""},
        {"done": "a string"},
        {"next": [3]},
        {"next": ["x"] * 65},
        {"blocked": ["x" * 1_001]},
        {"files": {"a": 3}},
        {"note": "x" * 4_001},
        {"data": {"a": "x" * 70_000}},
        {"data": [1]},
    ],
)
def test_a_checkpoint_that_cannot_be_accepted_is_refused(memory, said):
    """By the name of the field, and nothing is written."""
    with pytest.raises(InvalidInput) as caught:
        memory.sessions.checkpoint("s", **said)
    assert caught.value.field.split("[")[0] in said
    assert memory.sessions.list() == []


def test_a_repeat_of_a_setting_that_is_wrong_is_refused():
    """Numbers of the settings have bounds."""
    for wrong in ({"idle_minutes": 0}, {"idle_minutes": True}, {"checkpoints": 0}):
        with pytest.raises(InvalidInput):
            SessionConfig(**wrong)


def test_the_same_awaited(tmp_path):
    """An asynchronous session checkpoints, resumes and ends."""

    async def work() -> None:
        async with AsyncMemoryManager(tmp_path / "m", embedder=None) as memory:
            async with await memory.sessions.start("s", goal="g") as session:
                await session.checkpoint(next=["one"])
                assert (await memory.sessions.checkpoint(session, done=["one"])).number == 2
                assert (await session.resume()).checkpoint.done == ("one",)
                assert (await session.info()).state == "open"
            assert (await memory.sessions.list())[0].state == "ended"

    asyncio.run(work())
