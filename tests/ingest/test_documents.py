"""Text and Markdown become facts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento.ingest import read
from memento.ingest.paragraphs import PARAGRAPH_LIMIT, markdown_blocks
from memento.types import Kind, Source, Trust


def test_text_becomes_paragraphs(file):
    """Each paragraph of a text is one fact of the session named after the file."""
    drafts = list(read(file("log.txt", "\ufeffFirst line\nsecond line\r\n\n \n\nAnother.\n")))
    assert [draft.text for draft in drafts] == ["First line\nsecond line", "Another."]
    assert {(draft.kind, draft.session) for draft in drafts} == {(Kind.FACT, "log.txt")}
    assert drafts[0].source == Source(Trust.USER, "log.txt")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "---\n\nBudget: 400 euros\n\n---\n\nAnna: the owner\n",
            ["Budget: 400 euros", "Anna: the owner"],
        ),
        ("---\nThis is prose, really.\n\n---\nMore.\n", ["This is prose, really.", "More."]),
    ],
)
def test_a_text_between_two_rules_is_no_header(file, text, said):
    """A header has no blank line and begins with a name."""
    assert [draft.text for draft in read(file("a.md", text))] == said


def test_long_paragraph_is_split_at_sentences(file):
    """A paragraph over the limit is split at a sentence end and loses no word."""
    text = "A sentence of some length is here. " * 200
    pieces = [draft.text for draft in read(file("a.txt", text))]
    assert all(len(piece) <= PARAGRAPH_LIMIT for piece in pieces)
    assert all(piece.endswith(".") for piece in pieces)
    assert " ".join(pieces) == text.strip()


def test_markdown_keeps_headings(file):
    """A paragraph carries the headings it stands under, and a list says the nearest itself."""
    text = (
        "---\ntitle: Guide\n---\nIntro.\n\n# Setup ##\nGet a key.\n\n"
        "## Linux\n- one\n- two\n\n***\nMore.\n"
        "# In C#\nLast.\n\nTitle\n=====\nUnder it.\n"
    )
    drafts = [*read(file("a.md", text))]
    assert [(draft.metadata.get("heading"), draft.text) for draft in drafts] == [
        (None, "Intro."),
        ("Setup", "Get a key."),
        ("Setup > Linux", "Linux\n\n- one\n- two"),
        ("Setup > Linux", "More."),
        ("In C#", "Last."),
        ("Title", "Under it."),
    ]
    told = {(draft.tags, draft.session, draft.metadata["document"]) for draft in drafts}
    assert told == {((), None, "a.md")}


def test_markdown_keeps_fenced_code_whole(file):
    """Neither a blank line nor a hash inside a fence breaks the block."""
    code = "Run:\n```sh\n# not a heading\n\n---\nls\n```"
    assert [draft.text for draft in read(file("a.md", f"# Top\n{code}\n\nAfter."))] == [
        code,
        "After.",
    ]


@given(st.text(alphabet="ab# \n`~-=*\t\r", max_size=80))
def test_any_markdown_is_read(text):
    """No text makes the Markdown reader fail or yield an empty paragraph."""
    blocks = markdown_blocks(text.split("\n"))
    assert all(level or block.strip() for level, block in blocks)
