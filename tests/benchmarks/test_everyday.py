"""A life is read with clear errors, told as it happened, and every figure counts what it says."""

import json
from collections import Counter
from datetime import UTC, datetime

import everyday
import lives
import metrics
import pytest
from bare import Vectors, Words

from memento.testing import HashEmbedder
from memento.text.words import STOP_WORDS, terms

TINY = {
    "about": "somebody with a quince tree",
    "today": "2025-03-10T18:00:00Z",
    "memories": [
        {"id": "old", "at": "2025-01-05T09:00:00Z", "key": "me/phone",
         "text": "My phone is a Rook 2"},
        {"id": "quince", "at": "2025-02-01T09:00:00Z",
         "text": "I planted the quince by the shed"},
        {"id": "new", "at": "2025-02-02T09:00:00Z", "key": "me/phone",
         "text": "My phone is a Rook 3"},
        {"id": "a", "at": "2025-02-03T09:00:00Z", "session": "s", "role": "user", "kind": "episode",
         "text": "should the kayak go to Tom?"},
        {"id": "b", "at": "2025-02-03T09:01:00Z", "session": "s", "role": "assistant",
         "kind": "episode", "text": "Tom offered 90 for the kayak"},
        {"id": "web", "at": "2025-02-04T09:00:00Z", "source": "web", "approve": True,
         "text": "The ferry leaves at seven"},
        {"id": "web2", "at": "2025-02-04T10:00:00Z", "source": "web",
         "text": "The quince is a rook"},
        {"id": "late", "at": "2025-03-09T09:00:00Z", "text": "The quince has died"},
    ],
    "questions": [
        {"id": "q1", "class": "changed", "text": "which phone", "answers": ["new"], "not": ["old"]},
        {"id": "q2", "class": "what", "text": "where is the quince planted",
         "today": "2025-02-20T18:00:00Z", "answers": ["quince"]},
        {"id": "q3", "class": "what", "text": "how much for it", "answers": ["b"],
         "previous_turns": ["I sold the kayak to Tom"]},
        {"id": "q4", "class": "what", "text": "when does the ferry leave", "answers": ["web"]},
        {"id": "q5", "class": "off-topic", "text": "ok", "answers": []},
    ],
}  # fmt: skip


def changed(where, n, **fields):
    """Return the tiny life with one item changed."""
    life = json.loads(json.dumps(TINY))
    life[where][n] |= fields
    return life


@pytest.fixture(scope="module")
def answered():
    """The tiny life, told and asked."""
    cases = everyday.ask_all(lives.life_of(TINY, "tiny"), HashEmbedder(256))
    return {case.question.id: case for case in cases}


@pytest.fixture(scope="module")
def own_life():
    """The life of this project."""
    return lives.read(everyday.LIVES[0])


@pytest.mark.parametrize(
    ("life", "message"),
    [
        ([], "the file: must be an object, not list"),
        ({"today": "2025-01-01T00:00:00Z", "memories": []}, r"missing fields \['questions'\]"),
        ({**TINY, "questions": []}, "questions: must be a list that is not empty"),
        ({**TINY, "today": "2025-03-10"}, "today: must be like 2025-03-14T09:30:00Z"),
        (changed("memories", 0, colour="red"), r"memories\[0\]: unknown fields \['colour'\]"),
        (changed("memories", 1, text=" "), r"memories\[1\] \(quince\): text: must be a text"),
        (changed("memories", 1, at="soon"), r"\(quince\): at: must be like .* not 'soon'"),
        (changed("memories", 1, valid_until="x"), r"\(quince\): valid_until: must be like"),
        (changed("memories", 1, approve=1), r"\(quince\): approve: must be true or false"),
        (changed("memories", 1, id="old"), r"memories: ids that occur twice: \['old'\]"),
        (changed("memories", 0, at="2025-02-28T00:00:00Z"), "quince is told at .* before old"),
        (
            changed("memories", 1, related=["late"]),
            r"quince: related: no earlier memory \['late'\]",
        ),
        (changed("questions", 1, id="q1"), r"questions: ids that occur twice: \['q1'\]"),
        (changed("questions", 1, answers="quince"), r"\(q2\): answers: must be a list of texts"),
        (changed("questions", 1, answers=["late"]), r"q2: answers: no memory told until .*'late'"),
        (changed("questions", 0, **{"not": ["new"]}), r"q1: in answers and in not: \['new'\]"),
    ],
)
def test_a_file_of_another_shape_is_refused(life, message):
    """The error names the place and what is expected there."""
    with pytest.raises(ValueError, match=message):
        lives.life_of(life, "tiny")


def test_errors_name_the_file(tmp_path):
    """Whether it is not JSON or not a life."""
    path = tmp_path / "life.json"
    for text, message in (("{", "is not JSON"), ("[]", "the file: must be")):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=rf"life\.json: {message}"):
            lives.read(path)


def test_a_memory_that_the_store_refuses_is_named():
    """A memory that ``add`` refuses is an error with the name of that memory."""
    life = lives.life_of(changed("memories", 1, kind="gossip"), "tiny")
    with pytest.raises(ValueError, match=r"memory quince: .*kind"):
        everyday.ask_all(life, None)


def test_memories_are_told_at_their_moments():
    """The clock of the store stands at ``at``, and links name what was told before."""
    record = changed("memories", 7, supersedes=["quince"], occurred_at="2025-03-01T00:00:00Z")
    life = lives.life_of(record, "tiny")
    with everyday.telling(life, None) as store:
        store.tell(life.memories)
        ids = {name: stored for stored, names in store.names.items() for name in names}
        late = store.memory.get(ids["late"])
        assert late.created_at == datetime(2025, 3, 9, 9, tzinfo=UTC)
        assert late.occurred_at == datetime(2025, 3, 1, tzinfo=UTC)
        assert store.memory.get(ids["quince"]).superseded_by == late.id
        assert store.memory.get(ids["b"]).session == "s"
        assert store.memory.get(ids["web"]).status.value == "active"


def test_questions_are_asked_at_their_moments(answered):
    """Later texts are not known yet; a previous value and unapproved texts stay hidden."""
    assert answered["q2"].rank("memento") == 1
    assert not any({"late"} & names for found in answered["q2"].found.values() for names in found)
    assert not any({"old"} & names for names in answered["q1"].found["memento"])
    for case in answered.values():
        assert not any({"web2"} & names for names in case.found["memento"])


def test_plain_indexes_hold_everything(answered):
    """They know neither slots nor trust."""
    for arm in ("vectors alone", "words alone"):
        assert {"old"} in answered["q1"].found[arm][:2]
        assert len(answered["q1"].found[arm]) >= 2


def test_previous_turns_are_part_of_the_query():
    """They come first, unless the question is asked alone."""
    question = lives.life_of(TINY, "tiny").questions[2]
    assert everyday.query_of(question, alone=False) == "I sold the kayak to Tom\nhow much for it"
    assert everyday.query_of(question, alone=True) == "how much for it"


def test_the_figures_count(answered):
    """Each figure is what the questions behind it say."""
    result = everyday.report(list(answered.values()))
    groups = result["groups"]
    counts = [(name, one["questions"]) for name, one in groups.items()]
    assert counts == [("changed", 1), ("what", 3), ("all", 4)]
    for arm in ("memento", "vectors alone", "words alone"):
        ranks = [one["rank"][arm] for one in result["questions"] if one["answers"]]
        for name, depth in everyday.DEPTHS.items():
            assert groups["all"][arm][name]["right"] == sum(
                rank is not None and rank <= depth for rank in ranks
            )
    assert result["off-topic in prompt"]["n"] == 1
    assert result["shown"]["n"] == sum(
        one["rank"]["memento"] is not None for one in result["questions"]
    )
    assert sum(one["n"] for one in result["calibration"]) == 5


def case(confidence, found, *, answers=("x",), wrong=(), prompt=()):
    """Return a case that was made up."""
    at = datetime(2025, 1, 1, tzinfo=UTC)
    asked = lives.Asked("q", "who", "who?", at, frozenset(answers), frozenset(wrong))
    arms = {"memento": [frozenset({one}) for one in found], "words alone": [frozenset("x")]}
    return everyday.Answered("made-up", asked, arms, confidence, [frozenset({p}) for p in prompt])


def test_every_measure_of_a_case():
    """Sure and wrong, known wrong, shown, won and lost, on cases worked out by hand."""
    cases = [
        case(0.9, "xy", prompt="x"),
        case(0.5, "yx", wrong="y", prompt="y"),
        case(0.4, "y", wrong="x"),
        case(0.6, "y", answers=(), prompt="y"),
        case(0.0, "", answers=()),
    ]
    result = everyday.report(cases)
    counts = {
        name: (result[name]["right"], result[name]["n"])
        for name in ("off-topic in prompt", "shown", "sure and wrong", "sure and wrong, off-topic")
    }
    assert counts == {
        "off-topic in prompt": (1, 2),
        "shown": (1, 2),
        "sure and wrong": (1, 3),
        "sure and wrong, off-topic": (1, 2),
    }
    assert result["against"] == {"words alone": {"won": 0, "lost": 2}}
    assert result["known wrong first"]["memento"]["right"] == 1


def test_the_words_are_plain_bm25():
    """Any word matches, rarer ones weigh more, signs are not syntax; texts may come later."""
    words = Words()
    words.add(["the cat", "the dog", "the cat and the dog"])
    words.add(["the quince"])
    assert words.rank('the "quince" OR *', 10)[0] == 3
    assert set(words.rank("cat", 10)) == {0, 2}
    assert words.rank("?!", 10) == []
    words.close()


def test_the_vectors_are_a_plain_cosine():
    """Nearest first, ties in the order added."""
    vectors = Vectors(HashEmbedder(512).embed)
    vectors.add(["green tea", "a red bike", "green tea"])
    assert vectors.rank("green tea", 3) == [0, 2, 1]


@pytest.mark.parametrize(("right", "n", "low", "high"), [(0, 10, 0, 0.278), (5, 10, 0.237, 0.763)])
def test_wilson_is_that_of_the_textbook(right, n, low, high):
    """The interval of a share, as tables print it."""
    assert metrics.wilson(right, n) == pytest.approx((low, high), abs=0.001)


def test_our_own_life_has_every_class(own_life):
    """300 memories, 120 questions, at least eight in each class, some that nothing answers."""
    assert (len(own_life.memories), len(own_life.questions)) == (300, 120)
    classes = Counter(question.kind for question in own_life.questions)
    assert min(classes.values()) >= 8
    assert {q.kind for q in own_life.questions if not q.answers} == {"off-topic"}
    assert len({question.text for question in own_life.questions}) == 120


def test_synonyms_and_inferences_do_not_copy(own_life):
    """Such a question shares at most one word with what answers it, such as a name."""
    texts = {one.id: one.arguments["text"] for one in own_life.memories}
    for question in own_life.questions:
        if question.kind in {"synonym", "inference"}:
            asked = set(terms(question.text)) - STOP_WORDS
            shared = [asked & set(terms(texts[name])) for name in question.answers]
            assert max(map(len, shared)) <= 1, question.text


def test_the_command_prints_and_writes(tmp_path, capsys):
    """Two lives in one table, each with a line of its own, and the same as JSON."""
    paths = [tmp_path / name for name in ("one.json", "two.json")]
    for path in paths:
        path.write_text(json.dumps(TINY), encoding="utf-8")
    out = tmp_path / "out.json"
    everyday.main([*map(str, paths), "--no-embedder", "--misses", "--json", str(out)])
    printed = capsys.readouterr().out
    for text in ("all of one", "all of two", "words 10", "ECE", "wanted: nothing"):
        assert text in printed
    assert "vectors" not in printed
    written = json.loads(out.read_text(encoding="utf-8"))
    assert written["memories"] == {"one": 8, "two": 8}
    assert len(written["questions"]) == 10
