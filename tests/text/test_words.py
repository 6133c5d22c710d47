import re
import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento.text import words as spelling
from memento.text.words import Cue

CUT_SHORT = re.compile("[\u0400-\u04ff\u0600-\u06ff]")


@given(st.text())
def test_fold_is_idempotent_in_what_it_indexes(text):
    """Folding twice gives the words that folding once gives, where neither cut nor stemmed."""
    once = spelling.words(text)
    if not any(spelling.is_unspaced(word) or CUT_SHORT.search(word) for word in once):
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
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(
            "CREATE VIRTUAL TABLE f USING fts5(title, head, rest,"
            " tokenize='porter unicode61 remove_diacritics 2')"
        )
        database.execute("INSERT INTO f VALUES (?, ?, ?)", spelling.columns(text))
        find = "SELECT 1 FROM f WHERE f MATCH ?"
        for term in spelling.terms(text[: spelling.HEAD])[:5]:
            if len(text) <= spelling.HEAD and term.isalnum() and term.isascii():
                assert database.execute(find, (f'"{term}"',)).fetchone()


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
        ("новый", "новые"),
        ("встречалась", "встречает"),
        ("кошками", "кошка"),
        ("весенний", "весеннего"),
        ("المكتبة", "مكتبات"),
        ("وبالمدينة", "مدينتي"),
        ("للمهندس", "مهندسهم"),
        ("كتابهم", "كتاب"),
    ],
)
def test_spellings_that_fold_together(one, other):
    """Case, accents, width and optional vowels do not matter."""
    assert spelling.words(one) == spelling.words(other)


@given(st.text(alphabet="абвгенстойь", min_size=1, max_size=10))
def test_cyrillic_words_keep_their_start(word):
    """A stem is a start of the folded word, of three letters at least where the word has them."""
    folded = spelling.squeeze(word)
    (stem,) = spelling.words(word)
    assert folded.startswith(stem)
    assert len(stem) >= min(3, len(folded))


@given(st.text(alphabet="ابتكلمنهويسف", min_size=1, max_size=10))
def test_arabic_words_keep_two_letters(word):
    """A stem is a part of the folded word, of two letters at least where the word has them."""
    (stem,) = spelling.words(word)
    assert stem in spelling.squeeze(word)
    assert len(stem) >= min(2, len(word))


def test_persian_words_are_no_arabic_ones():
    """A word with a letter that Arabic does not have stands as it is."""
    assert spelling.words("پوشه والگو گفتگوهای") == ["پوشه", "والگو", "گفتگوهای"]


@given(st.text())
def test_exact_comparison_knows_no_stems(text):
    """Text that is compared letter for letter keeps its letters, in every script."""
    assert spelling.squeeze(text).replace(" ", "") == "".join(spelling._plain(text).split())


def test_hangul_is_cut_into_pairs():
    """A Korean word is found without the particle that follows it."""
    assert spelling.terms("회의록") == ["회의", "의록"]
    assert set(spelling.terms("회의록")) <= set(spelling.words("회의록을 읽었다"))


def test_a_mark_after_no_letter_is_no_part_of_a_word():
    """A digit beside a sign without a letter is found, whatever SQLite thinks of the sign."""
    assert spelling.columns("\u0c570").head.split() == ["0"]
    assert spelling.terms("\u0c570") == ["0"]


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
        ("who closed #17 or #4711?", ["#17", "#4711"]),
        ("we are #1, in C#, #tagged", ["C#"]),
        ("install @acme/ui-kit, @acme/core", ["@acme/ui-kit", "@acme/core"]),
        ("ask @ada or @bob/", []),
        ("reverted 4f9c1e7 and 0a1b2c3d4e5f", ["4f9c1e7", "0a1b2c3d4e5f"]),
        ("the 1990s, 3dprint, 4x4x4, 100000th, 2024年5月の会議", []),
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


said = st.sampled_from([
    *("always", "Never", "from", "now", "on", "going", "forward", "in", "future", "whenever", "I"),
    *("ask", "please", "to", "remember", "use", "Show", "tea", "\u017fhow", "\u2122", "2024", "-"),
])  # fmt: skip
gaps = st.sampled_from([" ", " ", " ", ", ", "_", "  ", "\n"])


@given(st.lists(st.tuples(said, gaps), max_size=7).map(lambda parts: "".join(map("".join, parts))))
def test_instructions_are_those_of_the_pattern(text):
    """The look at the words first rules out no text that the pattern would find."""
    standing = bool(spelling.cues(text, None) & Cue.STANDING)
    assert standing == bool(spelling._STANDING.search(text))


def test_instructions_are_a_person_s():
    """A message of an assistant is not a standing instruction."""
    assert not Cue(spelling.cues("Always answer in French", "assistant")) & Cue.STANDING


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_words_of_ascii_are_those_of_the_pattern(text):
    """The table is a faster way to the same words."""
    assert spelling._words_in(text) == spelling._WORD.findall(text)


@pytest.mark.parametrize(("text", "cue"), [("a1234", False), ("1 in 2024.", True), ("2024", True)])
def test_a_year_is_a_word_of_its_own(text, cue):
    """A year is found by itself, and not inside a longer word."""
    assert bool(spelling.cues(text, None) & Cue.TIME_WORD) is cue


@given(st.lists(st.sampled_from(["who", "mention", "rust", "the", "vim"]), min_size=1))
def test_content_never_drops_everything(words):
    """Some word is always left to look for: subjects, else all but stop words, else all."""
    telling = [word for word in words if word not in spelling.STOP_WORDS]
    subjects = [word for word in telling if word not in spelling.META_WORDS]
    assert spelling.content(words) == (subjects or telling or words)


@given(st.text(alphabet="ab_1 .-é", max_size=12), st.text(alphabet="ab_1 .-é", max_size=3))
def test_a_phrase_is_held_as_a_pattern_would_find_it(text, phrase):
    """Letter for letter, and not as a part of a longer word."""
    pattern = re.compile(rf"(?<!\w){re.escape(phrase)}(?!\w)")
    assert spelling.holds(text, phrase) is bool(pattern.search(text))


@given(st.text(st.characters(max_codepoint=127)))
def test_words_in_ascii_are_the_words_of_the_folded_text(text: str) -> None:
    """The short way for ASCII gives the same as the long one, control characters included."""
    assert spelling.words(text) == spelling.terms(text) == spelling._words_in(spelling.fold(text))
