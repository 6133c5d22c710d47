"""A document in parts: whole paragraphs with their headings, in order, and stable under edits."""

from hypothesis import given
from hypothesis import strategies as st

from memento.ingest.paragraphs import ENOUGH, PART_LIMIT, parts

SENTENCE = "The pump on the third floor was replaced in the spring. "


def split(text, *, markdown=True):
    """Split a text."""
    return list(parts(text.split("\n"), markdown=markdown))


def test_short_paragraphs_go_together():
    """Paragraphs are joined until a part is long enough; a short rest joins the part before."""
    text = "\n\n".join([SENTENCE * 3] * 4 + ["The end."])
    found = split(text)
    assert [len(part.text) >= ENOUGH for part in found] == [True, True]
    assert found[-1].text.endswith("The end.")
    assert "\n\n".join(part.text for part in found).split() == text.split()


def test_headings_stay_with_their_text():
    """A heading begins a part, stays in its text, and names the later parts of its section."""
    text = "# Pump\n\n## Repair\n\n" + f"{SENTENCE * 12}\n\n" * 3 + "## Costs\n\nNone."
    found = split(text)
    assert found[0].text.startswith("# Pump\n\n## Repair\n\nThe pump")
    assert {part.headings for part in found[:-1]} == {("Pump", "Repair")}
    assert (found[-1].text, found[-1].tags) == ("## Costs\n\nNone.", ("Costs",))


def test_plain_text_has_no_headings():
    """In plain text a line with a number sign is text."""
    (part,) = split("# one\n\ntwo", markdown=False)
    assert (part.text, part.headings) == ("# one\n\ntwo", ())


def test_an_edit_changes_only_the_parts_around_it():
    """After a new paragraph at the start, most parts are what they were."""
    paragraphs = [f"{n}. {SENTENCE * (1 + n % 7)}".strip() for n in range(60)]
    before = [part.text for part in split("\n\n".join(paragraphs))]
    after = [part.text for part in split("\n\n".join(["A new beginning.", *paragraphs]))]
    assert len(set(after) - set(before)) <= 3
    assert len(set(before) - set(after)) <= 3


@given(st.text("ab#`~=-. \n漢。", max_size=4000), st.booleans())
def test_no_part_is_too_long_or_blank(text, markdown):
    """Each part of any document has text and fits the limit."""
    for part in split(text, markdown=markdown):
        assert part.text.strip()
        assert len(part.text) <= PART_LIMIT


@given(st.lists(st.text("ab. ", min_size=1, max_size=900), max_size=12))
def test_plain_text_loses_no_word(paragraphs):
    """The words of plain text are those of its parts, in order."""
    text = "\n\n".join(paragraphs)
    found = split(text, markdown=False)
    assert "".join(part.text for part in found).replace("\n", "").replace(" ", "") == (
        text.replace("\n", "").replace(" ", "")
    )
