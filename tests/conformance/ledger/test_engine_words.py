"""The full text on every engine: expressions, rows not indexed yet, invariants."""

from __future__ import annotations

import threading
from copy import deepcopy
from dataclasses import FrozenInstanceError, fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memento.ledger import memories
from memento.ledger.match import All, Any, In, Phrase, Start, Word
from memento.ledger.rows import columns_of, docid_of
from memento.text.words import Columns, columns

LARGE = 1_100
"""Rows that every engine indexes at once."""
SHELF = [
    {"text": "The red kite circled over the old barn."},
    {"text": "Kites fly in the wind; a red one is best.", "actor": "Ada"},
    {"text": "Das Café an der Straße serves tea.", "key": "cafe"},
    {"text": "猫が好き and dogs too"},
    {"text": "NOT every AND is an OR, nor NEAR a star *."},
    {"text": "running runs and ran", "tags": ["sport"]},
    {"text": "mail to ada@example.com about build-42.log"},
    {"text": 'she said "the red barn" twice', "aliases": ["quotation"]},
]
FINDS = {
    "a word": (Word("kite"), [1, 2]),
    "in another case": (Word("KITE"), [1, 2]),
    "in another form": (Word("running"), [6]),
    "of a stem": (Word("run"), [6]),
    "with an accent": (Word("café"), [3]),
    "without its accent": (Word("cafe"), [3]),
    "a word nobody wrote": (Word("heron"), []),
    "in another script, by its start": (Start("猫"), [4]),
    "a speaker's name": (Word("ada"), [2, 7]),
    "a tag": (Word("sport"), [6]),
    "an alias": (Word("quotation"), [8]),
    "an operator is a word": (Word("AND"), [4, 5, 6]),
    "another is one too": (Word("NEAR"), [5]),
    "several words are one place": (Word("red barn"), [8]),
    "an address is its parts in order": (Word("ada@example.com"), [7]),
    "a quoted word is the word": (Word('"kite"'), [1, 2]),
    "a word with a star is the word": (Word("kit*"), []),
    "no letters at all": (Word("!?"), []),
    "an empty word": (Word(""), []),
    "only quotes": (Word('""'), []),
    "a lone quote": (Word('"'), []),
    "what would be an expression": (Word('heron" OR "kite'), []),
    "a start that would be one": (Start('heron" OR "ki'), []),
    "a phrase that would be one": (Phrase(("heron", '" OR "kite')), []),
    "a column that would be another": (In("title", Word('heron" OR head : "kite')), []),
    "a start": (Start("ki"), [1, 2]),
    "a longer start": (Start("circ"), [1]),
    "a start in capitals": (Start("KI"), [1, 2]),
    "a phrase": (Phrase(("red", "kite")), [1]),
    "a phrase the other way round": (Phrase(("kite", "red")), []),
    "a phrase of one word": (Phrase(("barn",)), [1, 8]),
    "all of several": (All((Word("red"), Word("barn"))), [1, 8]),
    "all of one": (All((Word("red"),)), [1, 2, 8]),
    "all, and one is nowhere": (All((Word("red"), Word("heron"))), []),
    "all, and one is no word": (All((Word("red"), Word("!"))), []),
    "any of several": (Any((Word("tea"), Word("dogs"))), [3, 4]),
    "any of one": (Any((Word("tea"),)), [3]),
    "any, and one is nowhere": (Any((Word("heron"), Word("tea"))), [3]),
    "any, and one is no word": (Any((Word("!"), Word("tea"))), [3]),
    "all of anys": (All((Word("red"), Any((Word("wind"), Word("twice"))))), [2, 8]),
    "any of alls": (Any((All((Word("red"), Word("wind"))), Word("tea"))), [2, 3]),
    "all after an any": (All((Any((Word("tea"), Word("kite"))), Word("red"))), [1, 2]),
    "deeper": (All((Word("red"), All((Any((Word("kite"), Word("tea"))), Word("wind"))))), [2]),
    "a title": (In("title", Word("ada")), [2]),
    "a title that is a key": (In("title", Word("cafe")), [3]),
    "not in a title": (In("title", Word("kite")), []),
    "a head": (In("head", Word("kite")), [1, 2]),
    "the start of a word in a head": (In("head", Start("ki")), [1, 2]),
    "a phrase in a head": (In("head", Phrase(("red", "kite"))), [1]),
    "a column and a word": (All((In("title", Word("ada")), Word("wind"))), [2]),
    "a column or a word": (Any((In("title", Word("cafe")), Word("dogs"))), [3, 4]),
}
MARKS = "\"'*()^:+-{}.,;\\\0\ud800 "
"""Characters that mean something to some engine, or nothing to any."""
WORDS = ["red", "kite", "barn", "wind", "tea"]


def leaves():
    """Draw expressions of one word, start or column."""
    word = st.sampled_from(WORDS)
    return st.one_of(word.map(Word), word.map(lambda w: Start(w[:2])))


EXPRESSIONS = st.recursive(
    leaves(),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: All(tuple(parts))),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: Any(tuple(parts))),
    ),
    max_leaves=6,
)


def matches(expression, words):
    """Tell whether an expression matches a text of these words: the model."""
    if isinstance(expression, Word):
        return expression.text in words
    if isinstance(expression, Start):
        return any(word.startswith(expression.text) for word in words)
    held = [matches(part, words) for part in expression.parts]
    return all(held) if isinstance(expression, All) else any(held)


@pytest.fixture
def shelf(bench):
    """A namespace with the memories of ``SHELF``, indexed, and a neighbour's with others."""
    bench.of("other").add("a red kite", "a heron in the barn")
    bench.of("other").index()
    bench.add(*SHELF)
    bench.index()
    return bench


class TestPostings:
    """Each expression finds exactly its rows."""

    @pytest.mark.parametrize(("expression", "expected"), FINDS.values(), ids=FINDS)
    def test_what_it_finds(self, shelf, expression, expected):
        """In the index, and alike in the tail of a ledger whose rows wait."""
        assert shelf.find(expression) == expected

    @pytest.mark.parametrize(("expression", "expected"), FINDS.values(), ids=FINDS)
    def test_what_waits_is_found_alike(self, bench, expression, expected):
        """The tail finds in waiting rows what the index will find in them."""
        bench.add(*SHELF)
        tail = bench.ledger.make_tail()
        bench.ledger.read(lambda s: tail.follow(s, bench.ns, len(SHELF)))
        assert bench.find(expression) == []
        (found,) = tail.postings(bench.ns, [expression], 100)
        assert found.tolist() == expected

    def test_several_at_once(self, shelf):
        """One answer for each expression, in the order asked."""
        assert shelf.find(Word("tea"), Word("heron"), Word("kite")) == [[3], [], [1, 2]]

    @pytest.mark.parametrize("limit", [1, 2, 3, 5, 9])
    def test_the_newest_so_many(self, bench, limit):
        """The largest places, ascending."""
        bench.add(*(f"tea {n}" for n in range(5)))
        bench.index()
        assert bench.find(Word("tea"), limit=limit) == [1, 2, 3, 4, 5][-limit:]

    def test_what_one_snapshot_read_before_is_no_less(self, bench):
        """Each look gets as many as it asks for, whatever an earlier one got."""
        far = (1, 5_000, 9_000)
        documents = [(docid_of(bench.ns, seq), Columns("", "tea", "cup")) for seq in far]
        bench.ledger.write(lambda s: s.words.index_next(bench.ns, documents))

        def looks(words):
            asked = [(Word("tea"), 1), (Word("tea"), 9), (Word("tea"), 2), (Word("cup"), 9)]
            asked += [(In("head", Word("tea")), 2), (In("head", Word("cup")), 9)]
            return [words.postings(bench.ns, [one], limit)[0].tolist() for one, limit in asked]

        every = [*far]
        assert bench.words(looks) == [every[-1:], every, every[-2:], every, every[-2:], []]

    def test_a_namespace_knows_its_own(self, shelf):
        """A neighbour's words are not found, nor do they use up the limit."""
        assert shelf.find(Word("heron")) == []
        assert shelf.find(Word("kite"), limit=2) == [1, 2]

    @settings(max_examples=50)
    @given(value=st.text(st.one_of(st.sampled_from(MARKS), st.characters()), max_size=12))
    def test_no_value_is_syntax(self, bench, value):
        """Any text is looked up as a word, a start or a phrase without an error."""
        space = bench.of("syntax")
        if not space.read(memories.latest_rev):
            space.add("red kite")
            space.index()
        for one in (Word(value), Start(value), Phrase((value, "x")), In("head", Word(value))):
            for asked in (one, All((one, Word("red"))), Any((one, Word("red")))):
                (found,) = space.words(lambda w, e=asked: w.postings(space.ns, [e], 5))
                assert set(found.tolist()) <= {1}
        assert space.find(Any((Word(value), Word("red")))) == [1]

    @settings(max_examples=60)
    @given(expression=EXPRESSIONS)
    def test_brackets_are_kept(self, bench, expression):
        """Nested expressions mean what they say, whichever operator binds tighter."""
        texts = [("red", "kite"), ("barn",), ("red", "wind", "tea"), ("kite", "barn"), ("tea",)]
        space = bench.of("nested")
        if not space.read(memories.latest_rev):
            space.add(*(" ".join(words) for words in texts))
            space.index()
        expected = [at for at, words in enumerate(texts, start=1) if matches(expression, words)]
        assert space.find(expression) == expected

    @pytest.mark.parametrize("expression", [e for e, _ in list(FINDS.values())[::6]])
    def test_an_expression_is_a_key(self, expression):
        """Equal ones are one key of a cache, and cannot be changed."""
        again = deepcopy(expression)
        assert (again, hash(again)) == (expression, hash(expression))
        with pytest.raises(FrozenInstanceError):
            setattr(expression, fields(expression)[0].name, "other")


class TestCatchUp:
    """The index takes rows in order of arrival, and may be behind."""

    def test_a_new_row_waits(self, bench):
        """A single row is not in the index yet."""
        bench.one("a heron")
        assert bench.find(Word("heron")) == []
        assert bench.words(lambda w: w.behind()) == [bench.ns]

    def test_after_catching_up_none_waits(self, bench):
        """It is found, and the namespace is no longer behind."""
        bench.one("a heron")
        bench.index()
        assert bench.find(Word("heron")) == [1]
        assert bench.words(lambda w: w.behind()) == []

    def test_it_takes_so_many(self, bench):
        """The oldest first; it tells whether there may be more."""
        bench.add("tea a", "tea b", "tea c")
        more = bench.ledger.write(lambda s: s.words.catch_up(bench.ns, 2))
        assert (more, bench.find(Word("tea"))) == (True, [1, 2])
        more = bench.ledger.write(lambda s: s.words.catch_up(bench.ns, 2))
        assert (more, bench.find(Word("tea"))) == (False, [1, 2, 3])

    def test_many_rows_are_indexed_at_once(self, bench):
        """A large batch is in the index when it is committed, with what waited before it."""
        bench.one("tea first")
        bench.add(*(f"tea {n}" for n in range(LARGE)))
        assert len(bench.find(Word("tea"), limit=9999)) == LARGE + 1

    def test_what_is_due(self, bench):
        """One row is not, a batch is, and one of the next rows once very many wait."""
        first = bench.one("a").docid

        def due(newest, count):
            return bench.write(lambda s, _: s.words.is_due(newest, count))

        assert not due(first + 1, 1)
        assert due(first + LARGE, LARGE)
        assert any(due(first + 100_000 + more, 1) for more in range(100))

    def test_a_failed_job_indexes_nothing(self, bench):
        """The full text is of the same transaction."""
        bench.one("a heron")

        def job(session):
            session.words.catch_up(bench.ns)
            raise LookupError

        with pytest.raises(LookupError):
            bench.ledger.write(job)
        assert bench.find(Word("heron")) == []

    def test_words_that_wait(self, bench):
        """Those of the rows the index does not know, and no others."""
        bench.one("a heron")
        bench.index()
        bench.one("blue kites")
        words = bench.words(lambda w: w.waiting_words(bench.ns))
        assert {"blue", "kites"} <= words
        assert "heron" not in words

    @pytest.mark.parametrize(("word", "held"), [("heron", True), ("herons", True), ("kite", False)])
    def test_whether_a_word_is_held(self, bench, word, held):
        """By an indexed row, in any form."""
        bench.of("other").one("a kite")
        bench.of("other").index()
        bench.one("the heron")
        bench.index()
        assert bench.words(lambda w: w.unheard(bench.ns, [word, "owl"])) == (
            {"owl"} if held else {word, "owl"}
        )

    def test_another_process_sees_what_was_taken(self, bench, opened):
        """Catching up is a commit like any other."""
        other = opened()
        bench.one("a heron")
        other.write(lambda s: s.words.catch_up(bench.ns))
        assert bench.find(Word("heron")) == [1]


class TestChange:
    """A changed row is found by its present text, and a deleted row is not found."""

    @pytest.mark.parametrize("indexed", [True, False])
    def test_a_new_text_replaces_the_old_one(self, bench, indexed):
        """Whether or not the index knew the row."""
        row = bench.one("a heron")
        if indexed:
            bench.index()
        row.text = "a kite"
        bench.ledger.write(lambda s: s.words.replace(row.docid, columns_of(row)))
        assert bench.find(Word("heron"), Word("kite")) == [[], [1]]

    def test_removed_rows_are_gone(self, bench):
        """Only those, and it says how many it had."""
        rows = bench.add("tea a", "tea b", "tea c")
        bench.index()
        gone = [rows[0].docid, rows[2].docid, rows[2].docid + 7]
        assert bench.ledger.write(lambda s: s.words.remove(gone)) == 2
        assert bench.find(Word("tea")) == [2]

    def test_merging_changes_no_answer(self, bench):
        """It ends, and what is found stays the same."""
        for number in range(12):
            bench.one(f"tea {number}")
            bench.index()
        for _ in range(100):
            if not bench.ledger.write(lambda s: s.words.merge()):
                break
        else:
            pytest.fail("there is always more to merge")
        assert bench.find(Word("tea")) == list(range(1, 13))

    def test_a_sound_index_is_intact(self, shelf):
        """Nothing is missing, nothing stray."""
        assert shelf.ledger.words_intact()
        assert shelf.words(lambda w: (w.misindexed(), w.strays())) == ([], 0)

    def test_rows_that_wait_are_not_missing(self, bench):
        """They are not due yet."""
        bench.one("waits")
        assert bench.words(lambda w: len(w.misindexed())) == 0

    def test_a_missing_entry_is_counted(self, shelf):
        """As one that is indexed wrongly."""
        shelf.ledger.write(lambda s: s.words.remove([(shelf.ns << 40) + 2]))
        assert shelf.words(lambda w: len(w.misindexed())) == 1

    def test_so_is_one_of_another_text(self, shelf):
        """The entry must be of the text as it is."""
        row = shelf.read(memories.by_docids, [(shelf.ns << 40) + 2])[(shelf.ns << 40) + 2]
        row.text = "something else"
        shelf.ledger.write(lambda s: s.words.replace(row.docid, columns_of(row)))
        assert shelf.words(lambda w: len(w.misindexed())) == 1

    def test_strays_are_counted_and_dropped(self, bench):
        """Entries whose memory is not there."""
        row = bench.one("a heron")
        bench.index()
        bench.ledger.write(
            lambda s: s.words.index_next(bench.ns, [(row.docid + 5, columns_of(row))])
        )
        assert bench.words(lambda w: w.strays()) == 1
        bench.ledger.write(lambda s: s.words.drop_strays())
        assert bench.words(lambda w: w.strays()) == 0
        assert bench.find(Word("heron")) == [1]

    def test_it_can_be_built_again(self, shelf):
        """From the memories alone, with the same answers and another edition."""
        before = shelf.words(lambda w: w.edition())
        shelf.ledger.write(lambda s: s.words.remove([(shelf.ns << 40) + n for n in (1, 2, 3)]))
        built = shelf.ledger.write(lambda s: s.words.rebuild())
        assert built == len(SHELF) + 2
        assert shelf.words(lambda w: w.edition()) != before
        assert [shelf.find(e) for e, _ in FINDS.values()] == [found for _, found in FINDS.values()]

    def test_the_edition_stays_while_it_is_not(self, bench):
        """Adding and catching up are no new edition."""
        before = bench.words(lambda w: w.edition())
        bench.one("a heron")
        bench.index()
        assert bench.words(lambda w: w.edition()) == before


class TestTail:
    """Waiting rows in RAM: with the index, it knows every row at every moment."""

    def test_it_lets_go_of_what_the_index_knows(self, bench):
        """A row is in one of both."""
        bench.one("a heron")
        tail = bench.ledger.make_tail()
        bench.ledger.read(lambda s: tail.follow(s, bench.ns, 1))
        bench.index()
        bench.ledger.read(lambda s: tail.follow(s, bench.ns, 1))
        assert tail.postings(bench.ns, [Word("heron")], 5)[0].tolist() == []

    def test_it_goes_on_from_where_it_was(self, bench):
        """New rows are taken in beside the rows that wait for the index."""
        tail = bench.ledger.make_tail()
        for number in range(1, 4):
            bench.one(f"heron {number}")
            bench.ledger.read(lambda s, n=number: tail.follow(s, bench.ns, n))
        assert tail.postings(bench.ns, [Word("heron")], 2)[0].tolist() == [2, 3]

    def test_what_was_erased_is_gone(self, bench):
        """As soon as it is told."""
        rows = bench.add("heron a", "heron b")
        tail = bench.ledger.make_tail()
        bench.ledger.read(lambda s: tail.follow(s, bench.ns, 2))
        bench.ledger.read(lambda s: tail.follow(s, bench.ns, 2, [rows[0].docid]))
        assert tail.postings(bench.ns, [Word("heron")], 5)[0].tolist() == [2]

    def test_it_knows_namespaces_apart(self, bench):
        """A neighbour's waiting rows are a neighbour's."""
        other = bench.of("other")
        bench.one("heron")
        other.one("kite")
        tail = bench.ledger.make_tail()
        for space in (bench, other):
            space.ledger.read(lambda s, ns=space.ns: tail.follow(s, ns, 1))
        assert tail.postings(bench.ns, [Word("kite")], 5)[0].tolist() == []
        assert tail.postings(other.ns, [Word("kite")], 5)[0].tolist() == [1]

    def test_texts_of_another_moment_are_found_by_it_alone(self, bench):
        """Documents that it is given, which no row has; those of no namespace but their own."""
        bench.one("heron")
        tail, other = bench.ledger.make_tail(), bench.ns + 1
        words = [columns("kite"), columns("owl")]
        first = docid_of(bench.ns, 0)
        tail.hold(bench.ns, [])
        assert tail.postings(bench.ns, [Word("kite")], 5)[0].tolist() == []
        tail.hold(bench.ns, [(first + 3, words[0]), (first + 9, words[1])])
        found = tail.postings(bench.ns, [Word("kite"), Word("owl"), Word("heron")], 5)
        assert [one.tolist() for one in found] == [[3], [9], []]
        assert tail.postings(other, [Word("kite")], 5)[0].tolist() == []

    def test_one_never_asked_about_is_empty(self, bench):
        """It takes in nothing by itself."""
        bench.one("heron")
        tail = bench.ledger.make_tail()
        assert [one.tolist() for one in tail.postings(bench.ns, [Word("heron")] * 2, 5)] == [[], []]

    def test_no_row_is_ever_missed(self, bench, opened):
        """Asked before the index, it and the index together know all that was there."""
        writer, done, missed = opened(), threading.Event(), []
        tail = bench.ledger.make_tail()

        def catch_up():
            while not done.is_set():
                writer.write(lambda s: s.words.catch_up(bench.ns, 2))

        indexing = threading.Thread(target=catch_up)
        indexing.start()
        for number in range(1, 25):
            bench.one(f"heron {number}")
            bench.ledger.read(lambda s, n=number: tail.follow(s, bench.ns, n))
            waiting = tail.postings(bench.ns, [Word("heron")], 99)[0].tolist()
            found = {*waiting, *bench.find(Word("heron"))}
            missed += set(range(1, number + 1)) - found
        done.set()
        indexing.join(60)
        assert missed == []
