"""Find what is worth remembering in a finished task, using rules. Pure.

CrewAI hands over the task and its result as one text. The task is a question, and is not kept:
it would be found before its own answer. The result is taken apart by ``memento.text``. The
words of a user in a conversation are kept, questions included: people tell facts in questions.
"""

from __future__ import annotations

from collections.abc import Sequence

from memento import Kind
from memento.text.sentences import PIECE, QUESTION_MARKS, cut, merely_asks, statements

TERSE = 5
"""A result of fewer words says nothing without its question: both are kept together."""

_TASK = ("Task: ", "\nAgent: ", "\nExpected result: ", "\nResult:")
_TALK = ("Input: ", "\nAgent: ", "\nResult:")
"""Heads of the parts of CrewAI's texts, in order; the first part asks, the last answers."""
_FINAL = "Final Answer:"


def extract(content: str) -> list[str]:
    r"""Split a text into the statements worth remembering.

    Args:
        content: The text that CrewAI passes after a task or a conversation, or any other text.

    Returns:
        Statements in order, each once, at most ``PIECE`` characters. A mere question is left
        out, except in the user's part of a conversation.

    >>> extract("Task: Find a venue\nAgent: Scout\nExpected result: a name\n"
    ...         "Result: The venue is the Old Mill.\n\nIt seats 80.")
    ['The venue is the Old Mill.', 'It seats 80.']
    """
    text = content.strip()
    if task := parts(text, _TASK):
        return _once(_answer(*task))
    if talk := parts(text, _TALK):
        asked, said = talk
        answer = _answer("" if statements(asked) else asked, said)
        return _once([*statements(asked, questions=True), *answer])
    return _once(statements(content))


def kind_of(text: str) -> Kind:
    """Return ``question`` for a text that only asks; one word after the question makes it a fact.

    >>> kind_of("Who is the client?").value, kind_of("What is the budget? 42").value
    ('question', 'fact')
    """
    asks = text.rstrip().endswith(tuple(QUESTION_MARKS)) and merely_asks(text)
    return Kind.QUESTION if asks else Kind.FACT


def parts(text: str, heads: Sequence[str]) -> tuple[str, str] | None:
    r"""Cut a text at its headings; each is searched for once, after the one before it.

    Returns:
        The first part and the last; None if a head is missing.

    >>> parts("Input: Hi\nAgent: A\nResult: Ho", _TALK)
    ('Hi', 'Ho')
    """
    first, *others = heads
    if not text.startswith(first):
        return None
    at, ends = len(first), []
    for head in others:
        end = text.find(head, at)
        if end < 0:
            return None
        ends.append(end)
        at = end + len(head)
    return text[len(first) : ends[0]], text[at:].removeprefix(" ")


def _answer(asked: str, said: str) -> list[str]:
    """Return the statements of a result; a bare value together with the question."""
    result = said.rpartition(_FINAL)[2].strip()
    told = statements(result)
    if asked.strip() and told and len(result.split()) < TERSE:
        question = cut(" ".join(asked.split()), PIECE // 2)[0]
        return cut(f"{question}{'' if question.endswith(tuple(QUESTION_MARKS)) else ':'} {result}")
    return told


def _once(pieces: list[str]) -> list[str]:
    return list(dict.fromkeys(pieces))
