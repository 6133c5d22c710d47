"""Find what a finished task leaves worth remembering, by rules. Pure.

CrewAI hands over the task and its result as one text. The task is a question, and is not kept:
it would be found before its own answer. The result is taken apart by ``memento.observe``. What a
user says in a conversation is kept, questions too: people tell in questions.
"""

from __future__ import annotations

import re

from memento.observe.statements import PIECE, QUESTION_MARKS, cut, statements

TERSE = 5
"""A result of fewer words says nothing without its question: both are kept together."""

_TASK = re.compile(
    r"Task: (?P<asked>.*?)\nAgent: .*?\nExpected result: .*?\nResult: ?(?P<said>.*)", re.DOTALL
)
_TALK = re.compile(r"Input: (?P<asked>.*?)\nAgent: .*?\nResult: ?(?P<said>.*)", re.DOTALL)
_FINAL = "Final Answer:"


def extract(content: str) -> list[str]:
    r"""Take a text apart into statements worth remembering.

    Args:
        content: What CrewAI hands over after a task or a conversation, or any other text.

    Returns:
        Statements in order, each once, at most ``PIECE`` characters. What merely asks is left
        out, but for what the user says in a conversation.

    >>> extract("Task: Find a venue\nAgent: Scout\nExpected result: a name\n"
    ...         "Result: The venue is the Old Mill.\n\nIt seats 80.")
    ['The venue is the Old Mill.', 'It seats 80.']
    """
    if task := _TASK.fullmatch(content.strip()):
        return _once(_answer(task["asked"], task["said"]))
    if talk := _TALK.fullmatch(content.strip()):
        asked = talk["asked"]
        answer = _answer("" if statements(asked) else asked, talk["said"])
        return _once([*statements(asked, questions=True), *answer])
    return _once(statements(content))


def _answer(asked: str, said: str) -> list[str]:
    """Return the statements of a result; a bare value together with what was asked."""
    result = said.rpartition(_FINAL)[2].strip()
    told = statements(result)
    if asked.strip() and told and len(result.split()) < TERSE:
        question = cut(" ".join(asked.split()), PIECE // 2)[0]
        return cut(f"{question}{'' if question.endswith(QUESTION_MARKS) else ':'} {result}")
    return told


def _once(pieces: list[str]) -> list[str]:
    return list(dict.fromkeys(pieces))
