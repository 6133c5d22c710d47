"""Questions whose words have another spelling than the memory that answers them."""

from datetime import timedelta

import pytest

from memento.retrieve import answer, by_words, spellings
from memento.retrieve.spellings import Vocabulary
from memento.testing import HashEmbedder
from memento.text import words
from memento.types import Status

CODES = [
    "E-4417: the label printer jams when it is humid",
    "E-4471: the label printer is out of ribbon",
    "Fault E2207 means that the pump runs dry",
    "The parcel from Oslo has number KL 1583",
    "The parcel from Bergen has number KL 1538",
    "DSP-1561: night export stops after ten minutes",
    "DSP-1516: night export writes an empty file",
    "The landlord's account is DE89 3704 0044 0532 0130 00",
    "The landlord before had DE12 5001 0517 0648 4898 90",
    "The lease number is 66210449",
    "The caretaker's phone is 0170 4455 667",
    "Billing runs on srv-bil07, the archive on srv-arc07",
    "I paid 4471 euros for the roof",
]


@pytest.fixture
def told(open_memory):
    """Open a store with some memories, by words alone."""

    def tell(*texts):
        memory = open_memory()
        memory.add_many(list(texts))
        return memory

    return tell


def first(memory, question, **options):
    """Return the text of the first hit, or None."""
    hits = memory.retrieve(question, **options)
    return hits[0].text if hits else None


@pytest.mark.parametrize(
    ("question", "at"),
    [
        ("E4471", 1), ("what was e 4471 again", 1), ("E-4417", 0), ("e4417?", 0), ("and 4471?", 1),
        ("E-2207", 2), ("what does fault e 2207 mean", 2), ("kl1583", 3), ("KL-1583", 3),
        ("where is KL 1538 from", 4), ("kl1538", 4), ("DSP1561", 5), ("dsp 1561 what was it", 5),
        ("is dsp1516 done", 6), ("whose is DE89370400440532013000", 7),
        ("DE12500105170648489890", 8), ("lease 6621 0449", 9), ("who has 01704455667", 10),
        ("what runs on srv bil07", 11), ("SRVBIL 07 or srv-bil-07", 11),
    ],
)  # fmt: skip
def test_an_identifier_in_another_spelling_comes_first(told, question, at):
    """However it is split; its digits decide between two that look alike."""
    memory = told(*CODES)
    assert first(memory, question) == CODES[at]
    assert memory.retrieve(question)[0].ranks["exact"] == 1


def test_a_number_finds_a_code_that_is_one_word(told):
    """The index has no such word, but the namespace has the code."""
    memory = told("Fault E5512 means no oil", "The boat is called Freya")
    assert first(memory, "and 5512?") == "Fault E5512 means no oil"


def test_a_code_is_never_corrected(told):
    """Another one that differs by two digits is not meant."""
    assert not told("E-4417: the label printer jams").retrieve("E4471")
    assert not told("Fault E2207 means a dry pump").retrieve("E2270")


TYPOS = [
    "My accountant is Ylva Brandt",
    "The dental hygienist is on Thursday",
    "The appointment at the bank moved to noon",
    "The dishwasher takes coarse salt only",
    "My train leaves from platform nine",
    "I receive the parcels at the neighbour's",
    "The passport is in the blue folder",
    "Strawberries give Emil a rash",
    "The sourdough wants feeding on Sundays",
    "Grandpa's watch is at the jeweller's",
    "Мой бухгалтер работает по вторникам",
]


@pytest.mark.parametrize(
    ("question", "at"),
    [
        ("who is my acountant", 0), ("acountants name?", 0), ("hygenist", 1), ("hygeinist when", 1),
        ("apointment bank", 2), ("dishwaser salt", 3), ("how do I fill the dihswasher", 3),
        ("trian platform", 4), ("where do I recieve parcels", 5), ("pasport", 6),
        ("strawberrys", 7), ("strawbery rash", 7), ("sourdogh", 8), ("where is the wach", 9),
        ("бухгатлер", 10),
    ],
)  # fmt: skip
def test_a_typing_error_finds_its_word(told, question, at):
    """In the only content word, or in one of several."""
    assert first(told(*TYPOS), question) == TYPOS[at]


@pytest.mark.parametrize(
    "question", ["december", "who is marta", "when do I brake", "what is impossible", "ab", "zzzz"]
)
def test_a_common_word_or_a_short_one_is_not_corrected(told, question):
    """A word that is right need not be in any memory."""
    memory = told("I remember the day", "Martha swims", "The break is at ten", "It is possible")
    assert not memory.retrieve(question)


def test_a_corrected_word_counts_less(shelf):
    """The same memory covers less of the question than it does with the right word."""
    shelf.add("The accountant is Ylva")
    right, wrong = shelf.find("accountant").found[0], shelf.find("acountant").found[0]
    assert wrong.terms["cover"] == pytest.approx(spellings.CORRECTED * right.terms["cover"])
    assert wrong.confidence < right.confidence


def test_no_correction_where_the_word_exists(told):
    """A memory with the word as it is asked for stands alone, be it a typing error."""
    memory = told("Our acountant moved to Lund", "My accountant is Ylva")
    assert [hit.text for hit in memory.retrieve("acountant")] == ["Our acountant moved to Lund"]


def test_correction_follows_every_change(open_memory, clock):
    """A new word corrects at once; one that is gone, replaced or not yet approved does not."""
    memory = open_memory()
    assert not memory.retrieve("hygenist")
    kept = memory.add("The hygienist is on Thursday")
    assert first(memory, "hygenist") == kept.text
    clock.advance(timedelta(days=1))
    memory.update(kept.id, text="The dentist is on Thursday")
    assert not memory.retrieve("hygenist")
    web = memory.add("The hygienist wears green", source="web")
    assert web.status is Status.QUARANTINED
    assert not memory.retrieve("hygenist")
    memory.quarantine.approve(web.id)
    assert first(memory, "hygenist") == web.text
    memory.forget(web.id)
    assert not memory.retrieve("hygenist")
    memory.restore(web.id)
    assert first(memory, "hygenist") == web.text
    memory.store.erase(web.id)
    assert not memory.retrieve("hygenist")


class TestIsolation:
    """Only the asker's own words correct a question."""

    QUESTIONS = ("who is my acountant", "acountant", "5512", "sourdogh recipie")

    @staticmethod
    def answers(memory):
        """Return everything that the answers to the questions tell."""
        asked = [memory.retrieve(one, record=False) for one in TestIsolation.QUESTIONS]
        return [[(hit.text, hit.score, hit.confidence, hit.terms) for hit in one] for one in asked]

    def test_of_other_namespaces(self, open_memory):
        """Words of another namespace change nothing, neither a hit nor a score."""
        memory = open_memory()
        memory.add_many(["My accounting book is blue", "I swim on Mondays"])
        before = self.answers(memory)
        other = memory.of("somebody")
        other.add_many(["My accountant is Ylva", "Fault E5512", "sourdough recipe"])
        assert first(other, "acountant") == "My accountant is Ylva"
        assert self.answers(memory) == before

    def test_of_quarantined_memories(self, open_memory):
        """Neither the right word nor the wrong one is used while it is in quarantine."""
        memory = open_memory()
        memory.add_many(["The accountant is Ylva", "I swim on Mondays"])
        before = self.answers(memory)
        assert before[1]
        for text in ["acountant", "acountants cheat", "Fault E5512 is nothing", "sourdough recipe"]:
            assert memory.add(text, source="web").status is Status.QUARANTINED
        assert self.answers(memory) == before

    def test_does_not_depend_on_what_was_asked_before(self, open_memory):
        """A store that was asked all along answers like one that was just opened."""
        memory = open_memory()
        for at, text in enumerate(TYPOS):
            memory.add(text)
            memory.retrieve(f"acountant {at}", record=False)
        memory.forget(memory.retrieve("dishwasher")[0].id)
        before = self.answers(memory)
        memory.close()
        assert self.answers(open_memory()) == before


OWNERS = [
    "Dipa gets married in Frome in August",
    "Nell goes to Bath with the school on Friday",
    "My boss is Ulla Stern",
    "Dad turns 75 in July",
    "Otis is allergic to hazelnuts",
    "Chris moved to the third floor",
]


@pytest.mark.parametrize(
    ("question", "at"),
    [
        ("whens dipas marriage", 0), ("wheres nells school going", 1), ("whos my boss", 2),
        ("dads 75th", 3), ("what cant otis have", 4), ("otiss allergy", 4), ("chriss floor", 5),
        ("hows dad", 3), ("whats with nell", 1), ("isnt dipa getting married", 0),
    ],
)  # fmt: skip
def test_a_missing_apostrophe(told, question, at):
    """Neither in a contraction nor in a possessive does it hide the word that matters."""
    assert first(told(*OWNERS), question) == OWNERS[at]


@pytest.mark.parametrize("question", ["whats the plan of Ada's", "adas plan", "Adas plan?"])
def test_a_possessive_names_the_speaker(shelf, question):
    """With or without its apostrophe."""
    shelf.add("Ada and I made a plan", actor="Bo", session="s")
    shelf.add("The plan is to sail", actor="Ada", session="s")
    assert "speaker" in shelf.find(question).found[0].terms
    assert shelf.hits(question)[0] == "The plan is to sail"


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("when was the boiler last serviced", "The boiler has a sticker from May", "Last day"),
        ("what is the ferry called", "The ferry to Gozo is blue", "Somebody called twice"),
        ("which editor do I want to use", "Helix is my editor", "I want to use it"),
        ("what happened at the harbour", "The harbour crane fell over", "It happened again"),
        ("do we have a new kettle", "The kettle whistles", "A new one"),
        ("who was first in Porto", "Porto in the rain", "Me first"),
        ("wie heisst der Hund", "Der Hund schnarcht", "Sie heisst so"),
        ("ultima visita del fontanero", "El fontanero trae llaves", "La ultima vez"),
    ],
)
def test_a_strong_word_beats_weak_ones(told, question, right, wrong):
    """Though the memory with the weak word is shorter and newer."""
    assert first(told(right, wrong), question) == right


def test_weak_words_alone_count_fully():
    """Without a stronger word that any memory has, they are all there is."""
    terms = ("last", "boiler")
    assert by_words.weights(terms, {"last": True, "boiler": False}) == [1, 1]
    assert by_words.weights(terms, {"last": True, "boiler": True}) == [0.5, 1]


SIGNS = [
    "I write C++ at work", "I write C# at home", "The night was at -5", "The day was at +5",
    "Ida has blood group A+", "Jon has blood group A-", "The .NET course is on Monday",
    "The net over the pond has a hole", "C is on the keyboard to the left",
]  # fmt: skip


@pytest.mark.parametrize(
    ("question", "at"),
    [
        ("where do I write C++", 0), ("where do I write C#", 1), ("C++?", 0), ("c#", 1),
        ("when was it -5", 2), ("when was it +5", 3), ("who has A+", 4), ("who has A-?", 5),
        (".NET", 6), ("is there something about .net", 6),
    ],
)  # fmt: skip
def test_symbols_tell_words_apart(told, question, at):
    """The memory with the same sign comes first."""
    assert first(told(*SIGNS), question) == SIGNS[at]


def test_only_the_newest_memories_correct_in_a_very_large_namespace(shelf, monkeypatch):
    """So that the vocabulary has a bound; an exact word is found however old it is."""
    monkeypatch.setattr(by_words, "_BLOCK", 2)
    monkeypatch.setattr(by_words, "_BLOCKS", 1)
    shelf.add("The accountant is Ylva")
    shelf.add("The hygienist is Bo")
    assert shelf.hits("acountant")
    shelf.add("I swim")
    shelf.add("I row")
    assert not shelf.hits("acountant")
    assert shelf.hits("accountant")


def test_a_frequent_code_is_narrowed_like_a_word(shelf, monkeypatch):
    """Its alternatives are one expression, also beside rarer words and in heads."""
    for at in range(8):
        shelf.add(f"Fault E-2207 on pump {at}", session="s", actor="Bo")
    shelf.add("Fault E2207 on the winch", session="s", actor="Bo")
    monkeypatch.setattr(answer, "CAP", 3)
    assert shelf.hits("E 2207 winch")[0] == "Fault E2207 on the winch"


def known(*texts):
    """The words of some texts."""
    found = Vocabulary()
    for at, text in enumerate(texts, 1):
        found.put(at, words.words(text))
    return found


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("who is my acountant", "who is my accountant"),
        ("Phisioterapist, when?", "physiotherapist, when?"),
        ("what bothers the accountant", "what bothers the accountant"),
        ("and the bisoprolol of Brothar", "and the bisoprolol of Brothar"),
        ("order phisio-77 and E-acountant", "order phisio-77 and E-acountant"),
    ],
)
def test_a_question_is_embedded_with_the_words_that_the_memories_spell_otherwise(written, read):
    """Common words, their forms, words of memories, names and codes stay as they are."""
    vocabulary = known("Our accountant and his brothers", "My physiotherapist", "bisoprolol")
    assert spellings.meant(written, lambda: vocabulary, {"brothar"}) == read


def test_a_question_of_common_words_does_not_ask_for_the_vocabulary():
    """It costs nothing where there is nothing to correct."""
    assert spellings.meant("where do we keep the old keys", pytest.fail) == (
        "where do we keep the old keys"
    )


def test_a_typing_error_does_not_change_the_vector_of_a_question(open_memory):
    """A memory that is near in meaning is found by the mistyped question too."""
    memory = open_memory(embedder="default")
    memory.add("The physiotherapist comes on Mondays")
    other = memory.add("Ola does the exercises for the knee with her")
    memory.flush(wait=True)
    cosines = [
        next(hit.signs["cosine"] for hit in memory.retrieve(query, k=5) if hit.id == other.id)
        for query in ("exercises of the phisioterapist", "exercises of the physiotherapist")
    ]
    assert cosines[0] == cosines[1]


def test_a_mistyped_question_is_embedded_once(open_memory):
    """Only as it was meant: the model costs more than all the rest of a question."""
    asked = []

    class Counting(HashEmbedder):
        def embed_queries(self, texts):
            asked.extend(texts)
            return self.embed(texts)

    memory = open_memory(embedder=Counting())
    memory.add("The physiotherapist comes on Mondays")
    memory.flush(wait=True)
    assert memory.retrieve("when does the phisioterapist come")
    assert asked == ["when does the physiotherapist come"]
