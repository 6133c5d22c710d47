import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento import text as spelling
from memento.text import Cue


@given(st.text())
def test_fold_is_idempotent_in_what_it_indexes(text):
    """Folding twice gives the words that folding once gives, outside scripts without spaces."""
    once = spelling.words(text)
    if not any(spelling.is_unspaced(word) for word in once):
        assert spelling.words(" ".join(once)) == once


@given(st.text())
def test_folded_text_can_be_stored(text):
    """Nothing that SQLite refuses is left, NUL and lone surrogates included."""
    folded = spelling.fold(text)
    folded.encode()
    assert "\x00" not in folded


@given(st.text(alphabet="東京都猫犬カナ", min_size=2, max_size=12), st.data())
def test_any_part_of_an_unspaced_run_is_found(text, data):
    """Each pair of characters that follow each other is a word of the index, each one a prefix."""
    at = data.draw(st.integers(0, len(text) - 2))
    indexed = spelling.words(text)
    assert set(spelling.terms(text[at : at + 2])) <= set(indexed)
    assert any(word.startswith(text[at]) for word in indexed)


@given(st.text(max_size=600))
def test_columns_lose_nothing(text):
    """Head and rest together are the text, and the head is bounded."""
    head, rest = spelling.split_head(text)
    assert head + rest == text
    assert len(head) <= spelling.HEAD


@given(st.text(max_size=300))
def test_index_and_query_agree(text):
    """A query that repeats a text word by word matches it in a real index."""
    database = sqlite3.connect(":memory:")
    database.execute(
        "CREATE VIRTUAL TABLE f USING fts5(title, head, rest,"
        " tokenize='porter unicode61 remove_diacritics 2')"
    )
    database.execute("INSERT INTO f VALUES (?, ?, ?)", spelling.columns(text))
    for term in spelling.terms(text[: spelling.HEAD])[:5]:
        if len(text) <= spelling.HEAD and term.isalnum() and term.isascii():
            assert database.execute("SELECT 1 FROM f WHERE f MATCH ?", (f'"{term}"',)).fetchone()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ÇAĞRI", "cagri"),
        ("İstanbul", "istanbul"),
        ("\u0131s\u0131", "isi"),
        ("Straße", "STRASSE"),
        ("ﬁne", "fine"),
        ("\uff46ull", "full"),
        ("Müller", "muller"),
        ("كِتاب", "كتاب"),
        ("ёлка", "елка"),
    ],
)
def test_spellings_that_fold_together(one, other):
    """Case, accents, width and optional vowels do not matter."""
    assert spelling.words(one) == spelling.words(other)


def test_words_of_abugidas_stay_whole():
    """Vowel signs belong to the word."""
    assert spelling.words("हिन्दी भाषा") == ["हिन्दी", "भाषा"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("why did ticket4711 fail", ["ticket4711"]),
        ("what is foo_bar?", ["foo_bar"]),
        ("open https://example.org/a?b=c now", ["https://example.org/a?b=c"]),
        ("mail ada@example.org.", ["ada@example.org"]),
        ("see src/app/main.py and README.md", ["src/app/main.py", "README.md"]),
        ("JIRA-1234 and v1.2.3", ["JIRA-1234", "v1.2.3"]),
        ("std::vector", ["std::vector"]),
        ("on the 5th at 10am, 20kg, 80s, 3.5", []),
        ("a well-known and/or long-term thing, e.g. this", []),
        ("on 2024-05-01 or 01/05/2024", []),
        ("don't say Ada's", []),
    ],
)
def test_identifiers(text, found):
    """Tokens that only make sense letter for letter are told from words and amounts."""
    assert spelling.identifiers(text) == found


@pytest.mark.parametrize(
    ("text", "role", "expected"),
    [
        ("Always answer in French", "user", Cue.STANDING),
        ("Always answer in French", "assistant", Cue.ASSISTANT),
        ("Where is it?", None, Cue.QUESTION),
        ("I moved last week", "user", Cue.FIRST_PERSON | Cue.TIME_WORD | Cue.USER),
        ("3 cats", None, Cue.DIGIT),
        ("x" * 401, None, Cue(0)),
    ],
)
def test_cues(text, role, expected):
    """Each cue is seen."""
    assert Cue(spelling.cues(text, role)) & expected == expected


def test_instructions_are_a_person_s():
    """What an assistant says is no standing instruction."""
    assert not Cue(spelling.cues("Always answer in French", "assistant")) & Cue.STANDING


@given(st.lists(st.sampled_from(["who", "mention", "rust", "the", "vim"]), min_size=1))
def test_content_never_drops_everything(words):
    """Some word is always left to look for."""
    assert spelling.content(words)
