"""A long text is split where a sentence ends."""

from hypothesis import given
from hypothesis import strategies as st

from memento.ingest.paragraphs import SENTENCE_END
from memento.ingest.paragraphs import pieces as pieces_of


@given(st.text(st.sampled_from("ab .!?\n\u3000\u3002"), max_size=60), st.integers(4, 20))
def test_long_paragraphs_are_cut_where_they_were(text, limit):
    """Cutting in one pass gives the pieces that cutting off the head again and again gives."""

    def pieces(text):
        while len(text) > limit:
            head = text[:limit]
            ends = [end.end() for end in SENTENCE_END.finditer(head, limit // 2)]
            cut = ends[-1] if ends else head.rfind(" ") + 1 or limit
            yield text[:cut].strip()
            text = text[cut:].strip()
        if text:
            yield text

    assert list(pieces_of(text, limit)) == list(pieces(text))
