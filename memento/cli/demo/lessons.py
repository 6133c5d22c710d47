"""The second half of the demo: what a memory learns from a user, and what it does with it.

Every line that is printed comes from the store: a lesson that was not learnt would not be shown.
"""

from __future__ import annotations

from collections.abc import Callable

from memento import MemoryManager

SAID = (
    ("Please use tabs.", "Tabs it is."),
    ("No, use spaces.", "Spaces from now on."),
    ("I live in Utrecht.", "Noted."),
)
"""Messages of a user, and the answers of the assistant."""
OPPOSED = ("My landlord is Mr Adler.", "My landlord is Ms Baum.")
"""Two statements of which one must be wrong."""
ALIKE = {
    "heron": "Runbook Heron restores the ledger.",
    "plover": "Runbook Plover restores the ledger.",
    "egret": "Runbook Egret restores the ledger.",
}
"""Memories that answer a question equally well."""
QUESTION = "Which runbook restores the ledger?"
NEAR = (
    "The blue bike of Anna is kept in the old shed.",
    "The blue bike of Anna is always kept in the old shed.",
)
"""Two memories that say nearly the same."""

Say = Callable[[str], None]


def learn(memory: MemoryManager, say: Say) -> None:
    """Observe a conversation: a rule, its correction, a fact; then show what an agent is told."""
    for user, assistant in SAID:
        seen = memory.observe(user, assistant, session="monday")
        for one in seen.learned:
            before = [memory.get(old).text for old in one.replaced]
            instead = f', instead of "{before[0]}"' if before else ""
            say(f'user: "{user}" -> {one.memory.kind} {one.memory.key}{instead}')
    told = [memory.text for memory in memory.policy().memories]
    say(f"the policy of the next session: {_quoted(told)}")
    (old, new) = (value.memory for value in memory.history(key="style/indent"))
    say(f'the chain of style/indent: "{old.text}" ({old.status}), "{new.text}" ({new.status})')


def conflict(memory: MemoryManager, say: Say) -> None:
    """Tell a contradiction: both stay, flagged, and a person settles it."""
    for text in OPPOSED:
        memory.add(text)
    memory.flush(wait=True)
    for found in memory.conflicts():
        say(f"flagged ({found.reason}): {_quoted([found.b.text, found.a.text])}")
        memory.resolve(found.a.id, found.b.id, "a")
    say(f"a person keeps the newer one; open conflicts: {len(memory.conflicts())}")


def judge(memory: MemoryManager, say: Say) -> None:
    """Say that a memory is wrong, and see the order of an answer turn round."""
    for name, text in ALIKE.items():
        memory.add(text, id=name)
    memory.flush(wait=True)
    (before,) = memory.retrieve(QUESTION, 1)
    say(f'{QUESTION} First comes "{before.text}"')
    memory.feedback(before, verdict="harmful", note="it restored the wrong day")
    (after,) = memory.retrieve(QUESTION, 1)
    say(f'The user says that it did harm. Now first comes "{after.text}"')


def sleep(memory: MemoryManager, say: Say) -> None:
    """Let the store tidy up, and take it back."""
    for text in NEAR:
        memory.add(text)
    memory.flush(wait=True)
    tick = memory.consolidate(steps=["duplicates"])
    (folded,) = (one for one in memory.list(status="superseded") if one.text in NEAR)
    say(f'the sleep folds what says the same: "{folded.text}" is superseded')
    memory.undo(run=tick.run)
    say(f"undo of the sleep: it is {memory.get(folded.id).status} again")


def resume(memory: MemoryManager, say: Say) -> None:
    """Note where a task stands, and go on as another process would."""
    memory.session("move", goal="Move the blog to the new host")
    memory.checkpoint("move", done=["exported the posts"], next=["import them", "switch DNS"])
    left = memory.resume("move")
    assert left is not None  # noqa: S101 - it was begun above
    lines = left.text.splitlines()
    for line in lines[2:-1]:
        say(line)


def _quoted(texts: list[str]) -> str:
    return ", ".join(f'"{text}"' for text in texts)
