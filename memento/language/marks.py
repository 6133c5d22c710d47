"""The mark that ends a text. Pure."""

from __future__ import annotations

QUESTION_MARKS = "?\uff1f\u061f"
"""Question marks: of Latin, full-width and Arabic script."""


def ends_in_question(text: str, marks: str = QUESTION_MARKS) -> bool:
    """Tell whether no word comes after the last question mark of a text.

    A regular expression would take quadratic time for many question marks in a row.

    Args:
        text: Any text.
        marks: The question marks.

    >>> ends_in_question('Where is it?")'), ends_in_question("Where is it? Here.")
    (True, False)
    """
    for char in reversed(text):
        if char in marks:
            return True
        if char == "_" or char.isalnum():
            return False
    return False
