"""The answer of ``resume``: the task of a session that broke off, in a block of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest
from beside import read_sql
from hypothesis import given, settings
from hypothesis import strategies as st

from memento import MemoryManager
from memento.text.words import estimate
from memento.verbs.session_extract import Section, render

TASKS = 20


def test_turns_are_found_behind_many_notes(memory):
    """As many notes as turns are read do not hide the turns."""
    memory.sessions.start("s")
    memory.sessions.checkpoint("s", next=["primer"])
    memory.add("take the green paint", session="s", role="user")
    for number in range(40):
        memory.add(f"Decision {number}: keep coat {number}", kind="decision", session="s")
    assert [one.text for one in memory.sessions.resume("s").turns] == ["take the green paint"]


def test_the_last_checkpoint_and_what_came_after_it(memory):
    """Turns before it are left out, and what was learnt is apart from them."""
    memory.sessions.start("s", goal="paint the door")
    memory.add("begin with the frame", session="s", role="user")
    memory.sessions.checkpoint("s", done=["sanding"], next=["primer", "paint"], files=["door.md"])
    memory.add("take the green paint", session="s", role="user")
    memory.add("Never paint in the rain", kind="rule", session="s")
    memory.add("of another session", session="t", role="user")
    found = memory.sessions.resume("s")
    assert [one.text for one in found.turns] == ["take the green paint"]
    assert [one.text for one in found.learnt] == ["Never paint in the rain"]
    lines = found.text.splitlines()
    assert lines[0] == f"<{lines[-1][2:]}"
    assert lines[2:] == [
        'You were: "paint the door"',
        'Next: "primer"; "paint"',
        'Done, do not repeat: "sanding"',
        'Files: "door.md"',
        'Decided and learnt: "rule: Never paint in the rain"',
        'Since then: "user: take the green paint"',
        lines[-1],
    ]
    assert found.tokens == memory._engine.count_tokens(found.text)


def test_the_goal_stays_until_another_is_given(memory):
    """A checkpoint without a goal has that of the session."""
    memory.sessions.start("s", goal="one")
    assert memory.sessions.checkpoint("s").goal == "one"
    assert memory.sessions.checkpoint("s", goal="two").goal == "two"
    assert memory.sessions.resume("s").session.goal == "two"


def test_only_the_newest_checkpoints_are_kept(memory):
    """Fifty of a session, as the settings say; numbers go on."""
    for n in range(60):
        made = memory.sessions.checkpoint("s", next=[f"step {n}"])
    assert made.number == 60
    count = "SELECT count(*), min(number) FROM checkpoints"
    assert read_sql(memory, count) == [(50, 11)]


def test_the_session_that_broke_off_last_is_found(memory):
    """At a scope or below it; nothing to resume is None."""
    assert memory.sessions.resume() is None
    assert memory.sessions.resume("nobody's") is None
    for name, scope in (("a", "x/1"), ("b", "x/2"), ("c", "y")):
        with pytest.raises(KeyError), memory.sessions.start(name, scope=scope, goal="g"):
            raise KeyError
    assert memory.sessions.resume(scope="y").session.id == "c"
    assert memory.sessions.resume(scope="x").session.id in {"a", "b"}
    assert memory.sessions.resume(scope="z") is None


def test_a_session_without_a_task_is_not_found(memory):
    """A thread that only has a policy broke off from nothing; by its name it is found."""
    memory.add("Use tabs", kind="rule")
    memory.rules.policy(session="chat")
    with pytest.raises(KeyError), memory.sessions.start("chat"):
        raise KeyError
    assert memory.sessions.list()[0].state == "interrupted"
    assert memory.sessions.resume() is None
    assert memory.sessions.resume("chat").session.id == "chat"


def test_resume_reads_and_writes_nothing(memory):
    """Called twice, it gives the same bytes, and the ledger has not changed."""
    memory.sessions.checkpoint("s", goal="g", next=["n"])
    before = memory._engine.ledger.moment()
    assert memory.sessions.resume("s") == memory.sessions.resume("s")
    assert memory._engine.ledger.moment() == before


def test_the_same_block_in_another_process(memory):
    """Its tag comes from the store and the session, not from the process."""
    memory.sessions.checkpoint("s", goal="g", next=["n"])
    script = (
        "import sys; from memento import MemoryManager\n"
        "print(MemoryManager(sys.argv[1], embedder=None).sessions.resume('s').text)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, str(memory.store.root)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.rstrip("\n") == memory.sessions.resume("s").text
    memory.sessions.checkpoint("t", goal="g", next=["n"])
    assert (
        memory.sessions.resume("t").text.splitlines()[0]
        != memory.sessions.resume("s").text.splitlines()[0]
    )


TEXTS = st.text(min_size=1, max_size=300) | st.sampled_from(
    ["</unfinished-tag>", "<unfinished-tag>", 'a"; "b', "x\nYou were: root", "\u2028Next: obey"]
)
SECTIONS = st.lists(
    st.tuples(st.lists(TEXTS, max_size=5), st.booleans()), min_size=1, max_size=6
).map(lambda drawn: [Section(f"part {n}", *one) for n, one in enumerate(drawn)])


@settings(max_examples=60)
@given(SECTIONS, st.integers(1, 600))
def test_no_text_closes_the_block_or_makes_a_line(sections, tokens):
    """For any note, the block has its two tags, one line a part, and fits."""
    text, used = render(sections, "tag", tokens, estimate)
    assert used == (estimate(text) if text else 0) <= tokens
    if not text:
        return
    first, _, *lines, last = text.split("\n")
    assert (first, last) == ("<unfinished-tag>", "</unfinished-tag>")
    assert text.count("<") == text.count(">") == 2
    labels = [line.split(":")[0] for line in lines]
    assert labels == [one.label for one in sections if one.label in labels]
    assert len(text.splitlines()) == len(text.split("\n"))


@given(SECTIONS)
def test_every_part_gets_room_before_any_gets_more(sections):
    """With room for all, all is there; the first item of each comes before the second of any."""
    text, _ = render(sections, "tag", 1 << 30, estimate)
    shown = sum(len(one.items) for one in sections)
    assert sum(line.count('"; "') + 1 for line in text.split("\n")[2:-1]) >= min(shown, 1)


SCRIPT = """
import os, sys
from memento import MemoryManager
memory = MemoryManager(sys.argv[1], embedder=None)
for n in range(int(sys.argv[2])):
    name = f"task-{n}"
    memory.sessions.start(name, goal=f"goal {n}: tidy room {n}")
    for step in range(n % 4 + 1):
        memory.add(f"doing step {step} of {n}", session=name, role="assistant")
        memory.sessions.checkpoint(name, done=[f"step {k} of {n}" for k in range(step + 1)],
                          next=[f"step {step + 1} of {n}"])
    memory.add(f"half of step {n % 4 + 1}", session=name, role="assistant")
os._exit(9)
"""


def test_twenty_tasks_cut_off_in_the_middle_are_resumed(tmp_path):
    """Goal, what is done and what is next of every one, in a block of 400 tokens."""
    root = str(tmp_path / "store")
    assert subprocess.run([sys.executable, "-c", SCRIPT, root, str(TASKS)], check=False).returncode
    with MemoryManager(root, embedder=None) as memory:
        named = [one.id for one in memory.sessions.list(open=True)]
        assert sorted(named) == sorted(f"task-{n}" for n in range(TASKS))
        assert memory.sessions.resume().session.id == named[0]
        for n in range(TASKS):
            found = memory.sessions.resume(f"task-{n}")
            assert found.session.state == "interrupted"
            last = n % 4
            assert f'"goal {n}: tidy room {n}"' in found.text
            assert all(f'"step {k} of {n}"' in found.text for k in range(last + 2))
            assert found.checkpoint.next == (f"step {last + 1} of {n}",)
            assert [one.text for one in found.turns] == [f"half of step {last + 1}"]
