"""Learn from what the user says, without a language model.

Shows ``observe``: a name, a rule and its correction; ``undo``; and rules stated with ``direct``.

Prints:

    new: My name is Priya.
    new: Please use tabs.
    replaced: use spaces instead of tabs.
    now: use spaces instead of tabs.
    after undo: Please use tabs.
    locked: Never commit .env files
"""

from tempfile import TemporaryDirectory

from memento import MemoryManager

TALK = [
    ("My name is Priya. Please use tabs.", "Hello Priya! Tabs it is."),
    ("What does git stash do?", "It puts your changes aside."),
    ("No, use spaces instead of tabs.", "Spaces from now on."),
]

with TemporaryDirectory() as root, MemoryManager(root=root) as memory:
    for said, answer in TALK:
        seen = memory.observe(said, answer, session="monday")
        for one in seen.learned:
            print(f"{one.action}: {one.memory.text}")

    indent = memory.value("style/indent")
    print("now:", indent and indent.text)
    if seen.change is not None:
        memory.undo(seen.change)
    indent = memory.value("style/indent")
    print("after undo:", indent and indent.text)

    (rule,) = memory.rules.direct("Never commit .env files", lock=True)
    print("locked:", rule.text)
