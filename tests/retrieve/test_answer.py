import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shelves import NOW, Shelf

from memento.ledger.lite.fulltext import expression
from memento.ledger.match import In
from memento.ledger.predicate import Filters
from memento.retrieve.question import parse
from memento.retrieve.spellings import match_term
from memento.retrieve.visible import allow
from memento.text.words import terms

FACTS = [
    "The office coffee machine is on the third floor",
    "Rami is allergic to peanuts",
    "The deployment target is Kubernetes on Hetzner",
    "Backups run every night at two",
    "The quarterly report is due in April",
]


@pytest.fixture
def facts(shelf):
    """Give a store of plain facts."""
    for fact in FACTS:
        shelf.add(fact)
    return shelf


@pytest.mark.parametrize(
    ("query", "fact"),
    [
        ("coffee machine", 0),
        ("what is Rami allergic to?", 1),
        ("deployment target", 2),
        ("when do backups run", 3),
    ],
)
def test_plain_facts(facts, query, fact):
    """A store of plain facts answers an exact question first and with a high score."""
    answer = facts.find(query)
    assert facts.text_of[answer.found[0].docid] == FACTS[fact]
    assert answer.found[0].score > 0.7
    assert answer.confidence > 0.7


def test_vague_scores_are_low(facts):
    """One common word of many gives a low score and a low confidence."""
    answer = facts.find("which floor sweeper and window cleaner serves the neighbouring building")
    assert all(one.score < 0.5 and one.confidence < 0.5 for one in answer.found)


@pytest.mark.parametrize("query", ["", "   ", "?!", "zebra crossing", "\x00\ud800"])
def test_nothing_above_noise_is_empty(facts, query):
    """No word and no vector: an empty answer, not the least bad."""
    assert facts.find(query).found == ()


def test_vector_noise(shelf):
    """Without a common word a memory needs a cosine above the noise."""
    near, far = shelf.add("alpha"), shelf.add("beta")
    shelf.embed({near: [0.8, 0.6], far: [0.1, 0.995]})
    found = shelf.find("gamma", np.array([1, 0], np.float32)).found
    assert [one.docid for one in found] == [near]


SYNTAX = """ " ' * ( ) NEAR AND OR NOT : ^ head { } - + a cat 猫 ก็ é % ; -- title: """
evil = st.text() | st.lists(st.sampled_from([*SYNTAX.split(), "\x00", "\ud800"])).map(" ".join)


@settings(max_examples=200)
@given(evil)
def test_no_query_is_syntax(query):
    """The index takes any question, and nothing outside the namespace comes back."""
    shelf = _few()
    answer = shelf.find(query)
    assert {one.docid for one in answer.found} <= set(shelf.text_of)
    assert all(0 <= one.score <= 1 and 0 <= one.confidence <= 1 for one in answer.found)
    assert answer == shelf.find(query)


@given(evil)
def test_no_memory_is_syntax(text):
    """Any text can be asked for, and is found if it has a word."""
    shelf = Shelf()
    docid = shelf.add(text)
    found = shelf.find(text, match="text").found
    if any(term.isascii() for term in terms(text)):
        assert [one.docid for one in found] == [docid]


def _few():
    shelf = Shelf()
    shelf.add("the cat NEAR the head", key="cat/title", aliases=("AND", "*"))
    shelf.add("猫が好き é NOT", session="s")
    shelf.add('say "OR" (twice)', session="s", actor="Ada")
    return shelf


@given(st.text(min_size=1))
def test_terms_are_quoted(term):
    """Every term is one FTS5 string, whatever is in it."""
    match = expression(In("head", match_term(term)))
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE VIRTUAL TABLE f USING fts5(head)")
        database.execute("SELECT * FROM f WHERE f MATCH ?", (match,)).fetchall()


def test_filters_come_before_limits(shelf):
    """A filter that leaves one row finds it, however many better ones there are."""
    only = shelf.add("red cat", tier="long")
    for _ in range(300):
        shelf.add("red cat red cat")
    snap = shelf.roster.view()
    mask = allow(snap, Filters(now=0, tiers=("long",)))
    assert [one.docid for one in shelf.find("red cat", allowed=mask).found] == [only]


@given(st.permutations(range(6)))
@settings(max_examples=20, deadline=None)
def test_same_call_same_answer(order):
    """Equal memories come newest first, whatever their neighbours in the index."""
    shelf = Shelf()
    for i in order:
        shelf.add(f"cat {i}")
    assert shelf.find("cat", k=6) == shelf.find("cat", k=6)
    assert [one.docid for one in shelf.find("cat", k=6).found] == sorted(
        shelf.text_of, reverse=True
    )


SUBJECTS = [
    "The CEO of Acme is", "My favourite editor is", "I live in the city of", "The database runs on",
    "The meeting with Lena takes place in", "Our main supplier is", "My dog is called",
    "The password manager we use is", "The release branch is named", "Tom's desk is next to",
]  # fmt: skip
QUESTIONS = [
    "who is the CEO of Acme?", "which editor is my favourite?", "which city do I live in?",
    "what does the database run on?", "where does the meeting with Lena take place?",
    "who is our main supplier?", "what is my dog called?", "which password manager do we use?",
    "what is the release branch named?", "what is Tom's desk next to?",
]  # fmt: skip
OBJECTS = ["Alpha", "Beta Gamma", "the old Delta", "Epsilon", "Zeta Eta Theta", "Iota"]


@given(
    st.integers(0, 9),
    st.permutations(OBJECTS),
    st.integers(0, 3),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_newer_of_two_alike(subject, objects, between, with_vectors, seed):
    """Of two statements alike but for their object, the newer comes first."""
    shelf = Shelf()
    old = shelf.add(f"{SUBJECTS[subject]} {objects[0]}.")
    for i in range(between):
        shelf.add(f"Something else entirely, number {i}.")
    new = shelf.add(f"{SUBJECTS[subject]} now {objects[1]}.")
    vector = None
    if with_vectors:
        random = np.random.default_rng(seed)
        vector, a, b = (
            x / np.linalg.norm(x) for x in random.normal(size=(3, 8)).astype(np.float32)
        )
        shelf.embed({old: a, new: b})
    found = [one.docid for one in shelf.find(QUESTIONS[subject], vector).found]
    assert found.index(new) < found.index(old)


def test_the_older_when_it_is_asked_for(shelf):
    """A question that names the older object finds the older statement."""
    shelf.add("The CEO of Acme is Alice.")
    shelf.add("The CEO of Acme is Bob.")
    assert shelf.hits("was Alice the CEO of Acme?")[0] == "The CEO of Acme is Alice."


def test_an_earlier_question_is_no_answer(shelf):
    """The same question asked before does not come before the fact."""
    shelf.add("Lena's birthday is the fourth of June.")
    shelf.add("When is Lena's birthday?", role="user")
    shelf.add("when is lena's birthday??", role="user")
    assert shelf.hits("When is Lena's birthday?")[0].startswith("Lena's birthday is")


def test_different_numbers_do_not_fold(shelf):
    """One digit makes another statement."""
    shelf.add("Room 12 is free")
    shelf.add("Room 13 is free")
    assert len(shelf.find("free room").found) == 2


def test_k_hits_in_spite_of_duplicates(shelf):
    """Duplicates do not crowd out other hits."""
    for _ in range(100):
        shelf.add("cat")
    for i in range(5):
        shelf.add(f"cat number {i} sat on a very long mat in the hall")
    assert len(shelf.find("cat", k=6).found) == 6


@pytest.mark.parametrize(
    "name",
    [
        "ticket4711",
        "foo_bar",
        "https://example.org/x?y=1",
        "src/app.py",
        "a-17-b",
        "ada@example.org",
        "#17",
        "@bar/app",
        "4f9c1e7",
    ],
)
def test_identifiers_come_first(shelf, name):
    """The memory that holds an identifier letter for letter comes first among thousands alike."""
    decoy = "foo bar foo.bar https example org x y src app py a b 17 ada"
    rows = [shelf.row(f"ticket{i} {decoy} {i}") for i in range(300)]
    rows.insert(150, shelf.row(f"long story about {name} and other things " + "filler words " * 30))
    shelf.roster.apply(rows)
    found = shelf.find(f"what about {name}?").found
    assert name in shelf.text_of[found[0].docid]
    assert found[0].ranks["exact"] == 1


@pytest.mark.parametrize(
    ("question", "older", "newer"),
    [
        ("what happened with #17?", "Ada closed #17 today.", "Ada closed 17 doors today."),
        ("who broke foo_bar?", "Ada broke foo_bar today.", "Ada broke foo bar, both, today."),
        ('who said "red cat"?', "Ada said red cat today.", "Ada said cat, not red, today."),
    ],
)
def test_a_newer_one_without_the_identifier_stays_below(shelf, question, older, newer):
    """A newer statement alike but for its spelling does not replace the one letter for letter."""
    shelf.add(older)
    shelf.add(newer)
    found = shelf.find(question).found
    assert shelf.text_of[found[0].docid] == older
    assert ["exact" in one.terms for one in found] == [True, False]


def test_a_newer_one_without_the_name_stays_below(shelf):
    """A newer statement alike but for its object does not replace the one called by name."""
    shelf.add("The editor of the team is vim.", aliases=("team editor",))
    shelf.add("The editor of the team is emacs.")
    assert shelf.hits("is the team editor good on Windows?")[0] == "The editor of the team is vim."


@pytest.mark.parametrize("ask", ["which editor does Ada use?", "What editor does Ada use?"])
def test_the_kind_asked_for_does_not_speak_for_the_older(shelf, ask):
    """The newer statement comes first though only the older names the kind of thing asked for."""
    shelf.add("Ada has decided to use the editor vim.")
    shelf.add("Ada has decided to use emacs.")
    assert shelf.hits(ask)[0] == "Ada has decided to use emacs."


@pytest.mark.parametrize(
    ("fact", "question"),
    [
        ("Заседания кафедры проходят по вторникам.", "когда заседание кафедры?"),
        ("يعمل أخي مهندسا في المستشفى.", "أين المهندس؟"),
        ("회의는 매주 화요일에 열립니다.", "회의가 언제인가요?"),
        ("Die Versammlungen sind dienstags.", "wann ist Versammlungstag"),
    ],
)
def test_other_forms_of_a_word_are_found(shelf, fact, question):
    """A question finds a fact whose words it has in other forms, in any script, without vectors."""
    shelf.add("Rami is allergic to peanuts")
    shelf.add(fact)
    assert shelf.hits(question) == [fact]


def test_quoted_phrases_come_first(shelf):
    """A quoted part of the query is matched as it stands."""
    shelf.add("works it does, on my machine, machine works on it, my my")
    shelf.add("He said it works on my machine yesterday in the long meeting about other things")
    assert shelf.hits('who said "it works on my machine"?')[0].startswith("He said")


@pytest.fixture
def keyed(shelf):
    """Give a store of facts with keys."""
    shelf.add("vim", key="user/editor")
    shelf.add("teal", key="favourite_colour", aliases=("preferred hue",))
    shelf.add("Which editor is best, editor wars, editor editor")
    shelf.add("Hetzner in Falkenstein", key="deploy/target")
    return shelf


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("editor", ["vim", "Which editor is best, editor wars, editor editor"]),
        ("what is the editor?", ["vim", "Which editor is best, editor wars, editor editor"]),
        ("user/editor", ["vim", "Which editor is best, editor wars, editor editor"]),
        ("favourite colour", ["teal"]),
        ("favorite_colour", ["teal"]),
        ("preferred hue", ["teal"]),
        ("prefered hue", ["teal"]),
        ("deploy target?", ["Hetzner in Falkenstein"]),
    ],
)
def test_a_name_alone(keyed, query, expected):
    """A query that is a name and nothing else gives its memory first, then what has its words."""
    assert keyed.hits(query) == expected


@given(
    key=st.sampled_from(["ferry", "travel/ferry", "a/b/ferry"]),
    before=st.integers(0, 3),
    after=st.integers(0, 3),
    ask=st.sampled_from(["ferry", "Ferry?", "what about the ferry", "the ferry"]),
)
def test_a_name_hides_nothing_that_has_the_word(key, before, after, ask):
    """Wherever the slot stands among memories with its word, it is first and they all follow."""
    shelf = Shelf()
    others = [f"Trip {n}: we missed the ferry by {n} minutes" for n in range(before + after)]
    for text in others[:before]:
        shelf.add(text)
    shelf.add("Leaves at nine from pier three", key=key)
    for text in others[before:]:
        shelf.add(text)
    first, *rest = shelf.hits(ask, k=20)
    assert first == "Leaves at nine from pier three"
    assert sorted(rest) == others


MISSPELT = np.eye(2, dtype=np.float32)[0]
FAR = np.eye(2, dtype=np.float32)[1]


@pytest.mark.parametrize(("vector", "found"), [(MISSPELT, True), (FAR, False)])
def test_a_typing_error_needs_meaning(shelf, vector, found):
    """A mistyped name lifts only what is nearer to the question in meaning than by chance."""
    shelf.embed({shelf.add("teal", aliases=("preferred hue",)): vector, shelf.add("Rain"): FAR})
    hits = shelf.find("prefered hue", MISSPELT, match="names").found
    assert bool(hits) is found
    assert shelf.find("preferred hue", MISSPELT, match="names").found


def test_a_name_and_more(keyed):
    """A query that names a memory and asks more has it first, and the rest after it."""
    found = keyed.hits("is the editor best for wars")
    assert found[0] == "vim"
    assert len(found) > 1


def test_speaker_named(shelf):
    """Of the same words, those of the participant the question names come first."""
    shelf.add("I went hiking in the hills", actor="Ada Lovelace", session="s")
    shelf.add("I went hiking in the woods", actor="Tom", session="s")
    assert shelf.hits("where did Ada go hiking?")[0].endswith("hills")


def test_dates_asked_about(shelf):
    """A month named in the question finds what was said then, or of then."""
    then = datetime(2023, 5, 20, tzinfo=UTC)
    shelf.add("we went sailing", at=then - timedelta(days=200))
    shelf.add("we went sailing again", at=then)
    shelf.add("we went sailing once more", at=then + timedelta(days=200))
    assert shelf.hits("when in May 2023 did we go sailing?")[0] == "we went sailing again"


def test_a_date_said(shelf):
    """A date in the text is read from the day it was said."""
    on = datetime(2023, 5, 10, tzinfo=UTC)
    shelf.add("Sailing was great last Friday", at=on)
    shelf.add("Sailing was great last month", at=on)
    assert shelf.hits("what was great on 5 May 2023?")[0].endswith("Friday")


def test_context_of_neighbours(shelf):
    """A short answer is found by the question before it."""
    shelf.add("Which city did you move to?", actor="Ada", session="s")
    shelf.add("Lisbon, in spring.", actor="Tom", session="s")
    shelf.add("Nice weather today.", actor="Tom", session="t")
    assert "Lisbon, in spring." in shelf.hits("which city did Tom move to?")


def test_missing_vectors_do_not_harm():
    """A memory not embedded yet is found by its words among embedded ones."""
    store = Shelf()
    embedded = [store.add(f"about dogs {i}") for i in range(5)]
    fresh = store.add("the zebra is striped")
    store.embed({docid: [0.6, 0.8] for docid in embedded})
    assert store.find("zebra", np.array([1, 0], np.float32)).found[0].docid == fresh


@given(st.text(max_size=200))
def test_parse_is_total(text):
    """Any text is a query: few terms, each once, none empty."""
    query = parse(text, now=NOW.date(), years=range(2020, 2023), people={"ada": 0}, max_terms=8)
    assert len(set(query.terms)) == len(query.terms) <= 8
    assert all(query.terms)
    assert query.topic <= set(query.terms)


@pytest.mark.parametrize("year", [1, 1700, 2100, 9999])
def test_a_far_date_hides_no_day_of_the_year(shelf, year):
    """One memory of the user's own, dated "no end" or never, leaves dated answers as they are."""
    for month in range(1, 13):
        at = datetime(2025, month, 5, tzinfo=UTC)
        shelf.add(f"The meeting was about topic {month}", at=at)
    query = "what was the meeting in May about?"
    before = shelf.hits(query, k=1)
    shelf.add("The lease has no end", at=datetime(year, 12, 31, tzinfo=UTC))
    assert before == shelf.hits(query, k=1) == ["The meeting was about topic 5"]


def test_the_years_around_now_are_always_asked_about(shelf):
    """A memory about a day of this year is found though all others are old."""
    shelf.add("The meeting of old", at=datetime(1950, 5, 5, tzinfo=UTC))
    shelf.add("The meeting on 5 May is moved", at=datetime(1950, 5, 6, tzinfo=UTC))
    shelf.add("The meeting of May", at=datetime(2026, 5, 5, tzinfo=UTC))
    for now in (datetime(1951, 1, 1, tzinfo=UTC), NOW, datetime(9999, 12, 31, tzinfo=UTC)):
        found = shelf.find("meeting on 5 May", now=now).found
        assert {one.terms.get("calendar", 0) > 0 for one in found} == {True}


@pytest.mark.parametrize(
    ("older", "newer", "question"),
    [
        ("We settled on C++", "We settled on C#", "Did we settle on C++?"),
        ("We settled on C#", "We settled on C++", "Did we settle on C#?"),
        ("Otis got A+ in maths", "Otis got A- in maths", "Who got A+ in maths?"),
        ("Set the offset to +5", "Set the offset to -5", "offset +5"),
    ],
)
def test_a_symbol_makes_another_memory(shelf, older, newer, question):
    """Both stay in the answer, and the one that the question names is first, though it is older."""
    shelf.add(older)
    shelf.add(newer)
    assert shelf.hits(question) == [older, newer]


def test_the_one_that_is_named_stands_for_the_others(shelf):
    """Of memories that say the same, the one with the key that the query names is the hit."""
    named = shelf.add("The gate code is 4711.", key="gate/code")
    other = shelf.add("the gate code is 4711")
    (found,) = shelf.find("gate code").found
    assert (found.docid, found.folded) in {(named, (other,)), (named, ())}


def test_the_same_of_two_speakers_does_not_fold(shelf):
    """Two people who say the same are two memories."""
    shelf.add("I like tea", actor="Ada")
    shelf.add("I like tea", actor="Bob")
    assert len(shelf.find("tea").found) == 2
